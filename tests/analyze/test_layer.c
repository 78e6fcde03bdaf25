/* test_layer.c - numbers by layer, of drawn-up trials whose means are known by hand. */
#include "analyze/analyses.h"
#include "check.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_SETTINGS = 5, N_QUESTIONS = 4 };

/* full; s2prune after 7, after 0; uniform before the decoder; s2prune where it prunes by itself */
static const float scores[N_SETTINGS][N_QUESTIONS] = {
    { 1, 1, 1, 0 }, { 1, 1, 0, 0 }, { 1, 0, 0, 0 }, { 0, 0, 0, 0 }, { 1, 1, 1, 1 }
};
static const char *const answers[N_SETTINGS][N_QUESTIONS] = { { "red", "3", "yes", "no" },
                                                              { "Red", "3", "no", "no" },
                                                              { "red", "4", "no", "no" },
                                                              { "blue", "5", "no", "maybe" },
                                                              { "red", "3", "yes", "yes" } };
static const double ms[N_SETTINGS] = { 100, 80, 40, 30, 40 };

static void fill(s2_trials *t, bool has_times, bool has_layers)
{
    static const int32_t after[N_SETTINGS] = { 0, 7, 0, S2P_BEFORE_DECODER, 0 };
    s2a_setting setting[N_SETTINGS] = { { .method = NULL } };
    for (int s = 0; s < N_SETTINGS; s++) {
        s2a_setting_use(&setting[s], s == 0 ? "full" : s == 3 ? "uniform" : "s2prune");
        setting[s].has_after = has_layers && s != 4;
        setting[s].after = after[s];
        if (s > 0) setting[s].budget.tokens = 64;
    }
    memset(t, 0, sizeof *t);
    for (int p = 0; p < 2; p++) {
        assert_int_equal(s2_trials_add_picture(t, p ? "b.jpg" : "a.jpg", p, NULL), S2P_OK);
        for (int q = 0; q < 2; q++)
            assert_int_equal(s2_trials_add_question(t, "What?", "red", "all", 2 * p + q, NULL),
                             S2P_OK);
    }
    assert_int_equal(s2_trials_set(t, setting, N_SETTINGS, NULL), S2P_OK);
    for (int s = 0; s < N_SETTINGS; s++)
        for (int q = 0; q < N_QUESTIONS; q++) {
            assert_int_equal(s2_trial_fill(t, s, q, scores[s][q], answers[s][q], (s2p_grid){ 0, 0 },
                                           NULL, 0, NULL),
                             S2P_OK);
            s2_trial *trial = s2_trial_at(t, s, q);
            trial->first_ms = has_times ? ms[s] + q : 0.0;
            trial->flops = 1e9 * ms[s];
            trial->n_used = s ? 60 + s : 576;
        }
}

static int32_t column(const s2_table *table, const char *key)
{
    for (int32_t c = 0; c < table->n_columns; c++)
        if (strcmp(table->column[c].key, key) == 0) return c;
    return -1;
}

/* The full model, and a row for each setting that names its layer. */
static void test_numbers(void **state)
{
    (void)state;
    s2_trials t;
    s2_study study = { .n = 0 };
    s2p_error error = { S2P_OK, "" };
    fill(&t, true, true);
    CHECK_CASE(s2_analyze_layer(&t, &study, &error) == S2P_OK, "%s", error.message);
    assert_int_equal(study.n, 2);
    assert_string_equal(study.item[0]->name, "layer_curves");
    const s2_table *table = &study.item[1]->table;
    assert_int_equal(s2_table_n_rows(table), 4);
    static const char *const names[4] = { "full", "s2prune", "s2prune", "uniform" };
    static const char *const keys[] = { "layer",     "tokens_used",    "accuracy",
                                        "agreement", "first_token_ms", "tflops" };
    static const double expected[4][6] = { { NAN, 576, 75, 100, 101.5, 0.1 },
                                           { 7, 61, 50, 75, 81.5, 0.08 },
                                           { 0, 62, 25, 50, 41.5, 0.04 },
                                           { -1, 63, 0, 0, 31.5, 0.03 } };
    for (int32_t r = 0; r < 4; r++) {
        assert_string_equal(s2_table_cell(table, r, 0)->text, names[r]);
        for (int k = 0; k < 6; k++) {
            const double found = s2_table_cell(table, r, column(table, keys[k]))->number;
            CHECK_CASE(isnan(expected[r][k]) ? isnan(found) : fabs(found - expected[r][k]) < 1e-9,
                       "%d %s: %g", r, keys[k], found);
        }
        const double low = s2_table_cell(table, r, column(table, "accuracy_low"))->number,
                     high = s2_table_cell(table, r, column(table, "accuracy_high"))->number;
        assert_true(low <= expected[r][2] && expected[r][2] <= high);
    }
    s2_study_free(&study);
    s2_trials_free(&t);
}

/* What no answer tells has no panel and no column. */
static void test_unknown(void **state)
{
    (void)state;
    s2_trials t;
    s2_study study = { .n = 0 };
    s2p_error error = { S2P_OK, "" };
    fill(&t, false, true);
    assert_int_equal(s2_analyze_layer(&t, &study, &error), S2P_OK);
    assert_int_equal(column(&study.item[1]->table, "first_token_ms"), -1);
    assert_true(column(&study.item[1]->table, "tflops") > 0);
    const char *svg = (const char *)study.item[0]->bytes.data;
    assert_null(strstr(svg, "ms to the first token<"));
    assert_non_null(strstr(svg, "right answers (%)"));
    s2_study_free(&study);
    s2_trials_free(&t);

    fill(&t, true, false);
    study = (s2_study){ .n = 0 };
    assert_int_equal(s2_analyze_layer(&t, &study, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "names the layer"));
    s2_study_free(&study);
    s2_trials_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_unknown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
