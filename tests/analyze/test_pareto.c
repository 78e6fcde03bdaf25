/* test_pareto.c - the front by hand and against a slow rule; agreement, costs and tokens of drawn-up trials. */
#include "analyze/analyses.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void test_front_by_hand(void **state)
{
    (void)state;
    /* 1 costs as much as 0 and is better; 2 is better still for more; 3 costs more than 2 for less; 4 is 2 again;
     * 5 costs least; 6 has no cost */
    const double cost[] = { 4, 4, 6, 7, 6, 1, NAN }, value[] = { 50, 60, 90, 80, 90, 10, 99 };
    const bool expected[] = { false, true, true, false, true, true, false };
    bool front[7];
    s2_pareto_front(cost, value, 7, front);
    for (int i = 0; i < 7; i++) CHECK_CASE(front[i] == expected[i], "%d", i);
}

/* In the order of cost the front's values rise; whoever is not on it is beaten by one that is. */
static void test_front_promises(void **state)
{
    (void)state;
    uint32_t seed = 3;
    for (int round = 0; round < 500; round++) {
        double cost[12], value[12];
        bool front[12];
        for (int i = 0; i < 12; i++) {
            cost[i] = next_random(&seed) % 9u;
            value[i] = next_random(&seed) % 9u;
        }
        s2_pareto_front(cost, value, 12, front);
        for (int i = 0; i < 12; i++) {
            bool is_beaten = false;
            for (int k = 0; k < 12; k++) {
                const bool is_more = cost[k] < cost[i] || value[k] > value[i];
                is_beaten = is_beaten ||
                            (front[k] && cost[k] <= cost[i] && value[k] >= value[i] && is_more);
            }
            assert_int_equal(front[i], !is_beaten);
        }
    }
}

/* --- a whole analysis --------------------------------------------------------------- */

static const char *const answers[3][4] = { { "red", "3", "yes", "no" },
                                           { " Red ", "4", "yes", "no" }, /* agrees on three */
                                           { "blue", "3", "no", "no" } }; /* on two */
static const float scores[3][4] = { { 1, 1, 1, 0 }, { 1, 0, 1, 0 }, { 0, 1, 0, 0 } };
static const double ms[3] = { 100, 40, 60 };

static void fill(s2_trials *t, bool has_costs)
{
    s2a_setting setting[3] = { { .method = NULL } };
    s2a_setting_use(&setting[0], "full");
    s2a_setting_use(&setting[1], "s2prune");
    s2a_setting_use(&setting[2], "resize");
    setting[1].budget.tokens = setting[2].budget.tokens = 64;
    memset(t, 0, sizeof *t);
    for (int p = 0; p < 2; p++) {
        assert_int_equal(s2_trials_add_picture(t, p ? "b.jpg" : "a.jpg", p, NULL), S2P_OK);
        for (int q = 0; q < 2; q++)
            assert_int_equal(s2_trials_add_question(t, "What?", "red", "all", 2 * p + q, NULL),
                             S2P_OK);
    }
    assert_int_equal(s2_trials_set(t, setting, 3, NULL), S2P_OK);
    for (int s = 0; s < 3; s++)
        for (int q = 0; q < 4; q++) {
            assert_int_equal(s2_trial_fill(t, s, q, scores[s][q], answers[s][q], (s2p_grid){ 0, 0 },
                                           NULL, 0, NULL),
                             S2P_OK);
            if (!has_costs) continue;
            s2_trial *trial = s2_trial_at(t, s, q);
            trial->first_ms = ms[s] + q;
            trial->flops = 1e9 * ms[s];
            trial->n_used = s ? 60 + s : 576;
        }
}

static double number(const s2_table *table, int32_t row, const char *key)
{
    for (int32_t c = 0; c < table->n_columns; c++)
        if (strcmp(table->column[c].key, key) == 0) return s2_table_cell(table, row, c)->number;
    fail_msg("no column %s", key);
    return NAN;
}

static void test_table(void **state)
{
    (void)state;
    s2_trials t;
    s2_study study = { .n = 0 };
    s2p_error error = { S2P_OK, "" };
    fill(&t, true);
    CHECK_CASE(s2_analyze_pareto(&t, &study, &error) == S2P_OK, "%s", error.message);
    assert_int_equal(study.n, 3); /* two figures and a table */
    assert_string_equal(study.item[0]->name, "pareto_accuracy");
    assert_string_equal(study.item[1]->name, "pareto_agreement");
    const s2_table *table = &study.item[2]->table;
    assert_int_equal(s2_table_n_rows(table), 3);
    static const double expected[3][5] = { { 75, 100, 101.5, 0.1, 576 },
                                           { 50, 75, 41.5, 0.04, 61 },
                                           { 25, 50, 61.5, 0.06, 62 } };
    static const char *const keys[] = { "accuracy", "agreement", "first_token_ms", "tflops",
                                        "tokens_used" };
    for (int32_t r = 0; r < 3; r++)
        for (int k = 0; k < 5; k++)
            CHECK_CASE(fabs(number(table, r, keys[k]) - expected[r][k]) < 1e-9, "%d %s: %g", r,
                       keys[k], number(table, r, keys[k]));
    for (int32_t r = 0; r < 3; r++) {
        assert_true(number(table, r, "accuracy_low") <= number(table, r, "accuracy"));
        assert_true(number(table, r, "accuracy_high") >= number(table, r, "accuracy"));
        /* s2prune beats the smaller picture in all four */
        const char *front = s2_table_cell(table, r, table->n_columns - 1)->text;
        assert_string_equal(front, r == 2 ? "-"
                                          : "right, ms; right, FLOPs; agreement, ms; "
                                            "agreement, FLOPs");
    }
    size_t n_rings = 0;
    const char *svg = (const char *)study.item[0]->bytes.data;
    /* a colour of the style sheet, which knows dark paper */
    for (const char *at = svg; (at = strstr(at, "<circle class=\"front s1\"")); at++) n_rings++;
    assert_int_equal(n_rings, 4); /* two settings, two panels */
    size_t n_ranges = 0;
    for (const char *at = svg; (at = strstr(at, "<path class=\"range ")); at++, n_ranges++) {
        double x, low, high; /* intervals stay inside their panel, which is 22 to 212 */
        assert_int_equal(sscanf(strstr(at, " d="), " d=\"M%lf %lfV%lf", &x, &low, &high), 3);
        CHECK_CASE(low <= 212.0 && high >= 22.0, "from %g to %g", low, high);
    }
    assert_int_equal(n_ranges, 6);
    s2_study_free(&study);

    for (int s = 0; s < 3; s++) /* a run knows FLOPs only */
        for (int q = 0; q < 4; q++) s2_trial_at(&t, s, q)->first_ms = 0.0;
    study = (s2_study){ .n = 0 };
    assert_int_equal(s2_analyze_pareto(&t, &study, &error), S2P_OK);
    assert_int_equal(study.n, 4);
    assert_int_equal(study.item[2]->kind, S2_STUDY_NOTE);
    s2_study_free(&study);
    s2_trials_free(&t);

    fill(&t, false);
    study = (s2_study){ .n = 0 };
    assert_int_equal(s2_analyze_pareto(&t, &study, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "do not say what they cost"));
    s2_study_free(&study);
    s2_trials_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_front_by_hand),
        cmocka_unit_test(test_front_promises),
        cmocka_unit_test(test_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
