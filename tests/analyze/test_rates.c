/* test_rates.c - accuracies, their intervals, paired tests and the table, worked out by hand. */
#include "analyze/rates.h"
#include "check.h"
#include "failing_malloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static s2a_setting setting_of(const char *method, int32_t budget)
{
    s2a_setting s = { .budget = { .tokens = budget } };
    s2a_setting_use(&s, method);
    return s;
}

/* One question about picture `picture` for each letter of `kinds`; letters are categories. */
typedef struct asked {
    const char *kinds;
    const char *full, *pruned; /* '1' right, '0' wrong, 'h' half right, '-' not asked */
} asked;

static void make(s2_trials *t, const asked *picture, int32_t n)
{
    const s2a_setting settings[] = { setting_of("full", 0), setting_of("s2prune", 64) };
    *t = (s2_trials){ .n_pictures = 0 };
    for (int32_t p = 0; p < n; p++) {
        assert_int_equal(s2_trials_add_picture(t, "p.png", p, NULL), S2P_OK);
        for (const char *kind = picture[p].kinds; *kind; kind++) {
            const char category[2] = { *kind, '\0' };
            assert_int_equal(s2_trials_add_question(t, "?", "yes", category, t->n_questions, NULL),
                             S2P_OK);
        }
    }
    assert_int_equal(s2_trials_set(t, settings, 2, NULL), S2P_OK);
    int32_t q = 0;
    for (int32_t p = 0; p < n; p++)
        for (size_t i = 0; picture[p].kinds[i]; i++, q++)
            for (int32_t s = 0; s < 2; s++) {
                const char letter = (s ? picture[p].pruned : picture[p].full)[i];
                if (letter == '-') continue;
                const float score = letter == '1' ? 1.0f : letter == 'h' ? 0.5f : 0.0f;
                assert_int_equal(
                    s2_trial_fill(t, s, q, score, "a", (s2p_grid){ 8, 8 }, NULL, 0, NULL), S2P_OK);
            }
}

static s2_rate rate_of(const s2_trials *t, int32_t setting, int32_t other, int32_t category,
                       const bool *wanted)
{
    s2_rate rate;
    assert_int_equal(s2_rate_of(t, setting, other, (s2_scope){ 0, category, wanted }, &rate),
                     S2P_OK);
    return rate;
}

static s2_test test_of(const s2_trials *t, int32_t setting, int32_t other)
{
    s2_test test;
    assert_int_equal(s2_rate_test(t, setting, other, &test), S2P_OK);
    return test;
}

static bool is_near(double a, double b) { return fabs(a - b) < 1e-9; }

/* Questions:     a    b    a    a    b
 * full           1    1    1    0    1     80 %; a 2/3, b 2/2
 * pruned         1    0    0    0    1     40 %; a 1/3, b 1/2 */
static const asked three[] = { { "ab", "11", "10" }, { "aa", "10", "00" }, { "b", "1", "1" } };

static void test_means(void **state)
{
    (void)state;
    s2_trials t;
    make(&t, three, 3);
    s2_rate r = rate_of(&t, 0, S2_NO_SETTING, S2_ALL_CATEGORIES, NULL);
    assert_true(is_near(r.value, 80.0) && r.n == 5);
    r = rate_of(&t, 1, S2_NO_SETTING, 0, NULL);
    assert_true(is_near(r.value, 100.0 / 3.0) && r.n == 3);
    r = rate_of(&t, 1, S2_NO_SETTING, 1, NULL);
    assert_true(is_near(r.value, 50.0) && r.n == 2);
    r = rate_of(&t, 1, 0, S2_ALL_CATEGORIES, NULL); /* paired: two questions lost of five */
    assert_true(is_near(r.value, -40.0) && r.n == 5);

    const bool outer[] = { true, false, true }, none[] = { false, false, false };
    r = rate_of(&t, 0, S2_NO_SETTING, S2_ALL_CATEGORIES, outer);
    assert_true(is_near(r.value, 100.0) && r.low == 100.0 && r.high == 100.0 && r.n == 3);
    r = rate_of(&t, 0, S2_NO_SETTING, S2_ALL_CATEGORIES, none);
    assert_true(isnan(r.value) && isnan(r.low) && isnan(r.high) && r.n == 0);

    s2_rate kept; /* 40 of 80 %, and the pruned minus the full in percent of the full */
    assert_int_equal(s2_rate_retained(&t, 1, S2_NO_SETTING, 0, S2_EVERYTHING, &kept), S2P_OK);
    assert_true(is_near(kept.value, 50.0) && kept.low <= 50.0 && kept.high >= 50.0);
    assert_int_equal(s2_rate_retained(&t, 1, 0, 0, S2_EVERYTHING, &kept), S2P_OK);
    assert_true(is_near(kept.value, -50.0));
    s2_trials_free(&t);
}

/* A question that one setting was not asked counts for none of them. */
static void test_unasked(void **state)
{
    (void)state;
    static const asked pictures[] = { { "aa", "11", "1-" }, { "a", "0", "1" } };
    s2_trials t;
    make(&t, pictures, 2);
    const s2_rate r = rate_of(&t, 0, S2_NO_SETTING, S2_ALL_CATEGORIES, NULL);
    assert_true(is_near(r.value, 50.0) && r.n == 2);
    const s2_test test = test_of(&t, 0, 1); /* one picture is the same, one is lost */
    assert_true(test.p == 1.0 && is_near(test.statistic, -0.5));
    s2_trials_free(&t);
}

/* Two pictures of ten questions, one all right and one all wrong. Drawing pictures gives 0, 50 or
 * 100 percent, a quarter of the rounds 0; drawing questions would stay near 50. */
static void test_pictures_are_drawn(void **state)
{
    (void)state;
    static const asked two[] = { { "aaaaaaaaaa", "1111111111", "1111111111" },
                                 { "aaaaaaaaaa", "0000000000", "0000000000" } };
    s2_trials t;
    make(&t, two, 2);
    s2_rate r = rate_of(&t, 0, S2_NO_SETTING, S2_ALL_CATEGORIES, NULL);
    assert_true(is_near(r.value, 50.0) && r.low == 0.0 && r.high == 100.0);
    r = rate_of(&t, 0, 1, S2_ALL_CATEGORIES, NULL); /* the same answers: no difference, surely */
    assert_true(r.value == 0.0 && r.low == 0.0 && r.high == 0.0 && r.n == 20);
    s2_trials_free(&t);
}

/* On seeded answers: the interval holds the value; a difference is minus the difference the other
 * way round; the whole is the mean of its categories weighted by their questions. */
static void test_promises(void **state)
{
    (void)state;
    uint32_t seed = 3;
    for (int round = 0; round < 20; round++) {
        char kinds[12][8], full[12][8], pruned[12][8];
        asked picture[12];
        const int32_t n = 2 + random_below(&seed, 11);
        for (int32_t p = 0; p < n; p++) {
            const int32_t n_asked = 1 + random_below(&seed, 7);
            for (int32_t i = 0; i < n_asked; i++) {
                kinds[p][i] = "abc"[random_below(&seed, 3)];
                full[p][i] = "01h"[random_below(&seed, 3)];
                pruned[p][i] = "01h"[random_below(&seed, 3)];
            }
            kinds[p][n_asked] = full[p][n_asked] = pruned[p][n_asked] = '\0';
            picture[p] = (asked){ kinds[p], full[p], pruned[p] };
        }
        s2_trials t;
        make(&t, picture, n);
        const s2_rate all = rate_of(&t, 1, S2_NO_SETTING, S2_ALL_CATEGORIES, NULL);
        CHECK_CASE(all.low <= all.value && all.value <= all.high, "round %d", round);
        CHECK_CASE(all.low >= 0.0 && all.high <= 100.0 && all.n == t.n_questions, "round %d",
                   round);
        const s2_rate gain = rate_of(&t, 1, 0, S2_ALL_CATEGORIES, NULL);
        const s2_rate loss = rate_of(&t, 0, 1, S2_ALL_CATEGORIES, NULL);
        CHECK_CASE(is_near(gain.value, -loss.value) && is_near(gain.low, -loss.high) &&
                       is_near(gain.high, -loss.low),
                   "round %d", round);
        double sum = 0.0;
        int32_t n_sum = 0;
        for (int32_t c = 0; c < t.n_categories; c++) {
            const s2_rate part = rate_of(&t, 1, S2_NO_SETTING, c, NULL);
            sum += part.value * part.n;
            n_sum += part.n;
        }
        CHECK_CASE(n_sum == all.n && is_near(sum / n_sum, all.value), "round %d", round);
        s2_trials_free(&t);
    }
}

/* Pictures are swapped, each with its questions: the first three are won by 2, 1 and 1/2, the last is
 * lost by 1/2. Of sixteen patterns those at least 3 away from 0 are all plus, all but either of the
 * halves, and their opposites. */
static void test_flips(void **state)
{
    (void)state;
    static const asked four[] = {
        { "aa", "11", "00" }, { "a", "1", "0" }, { "ab", "h1", "01" }, { "a", "h", "1" }
    };
    s2_trials t;
    make(&t, four, 4);
    assert_true(is_near(test_of(&t, 0, 1).p, 6.0 / 16.0));
    assert_true(is_near(test_of(&t, 1, 0).p, 6.0 / 16.0));
    assert_true(is_near(test_of(&t, 0, 1).statistic, 3.0 / 6.0));
    assert_true(test_of(&t, 0, 0).p == 1.0);
    s2_trials_free(&t);
}

/* The categories with most questions, in the order in which they came up; of equals the earlier. */
static void test_categories(void **state)
{
    (void)state;
    static const asked one[] = { { "abbcccdd", "11111111", "11111111" } };
    s2_trials t;
    make(&t, one, 1);
    s2_scope out[4];
    int32_t n_all;
    assert_int_equal(s2_rate_scopes(&t, 4, out, &n_all), 4);
    assert_int_equal(n_all, 4);
    for (int32_t i = 0; i < 4; i++) assert_true(out[i].category == i && out[i].part == 0);
    assert_int_equal(s2_rate_scopes(&t, 2, out, &n_all), 2);
    assert_true(n_all == 4 && out[0].category == 1 && out[1].category == 2); /* d comes after b */
    assert_int_equal(s2_rate_scopes(&t, 1, out, &n_all), 1);
    assert_int_equal(out[0].category, 2);
    assert_string_equal(s2_scope_name(&t, out[0]), "c");
    s2_trials_free(&t);
}

/* More kinds of questions than a table has columns: Acc. is the mean of all of them. Of fourteen kinds
 * the first has a right answer, so it is 100 / 14. */
static void test_many_categories(void **state)
{
    (void)state;
    static const asked one[] = { { "abcdefghijklmn", "10000000000000", "00000000000000" } };
    s2_trials t;
    s2_table table;
    make(&t, one, 1);
    s2_table_init(&table, "rates");
    assert_int_equal(s2_rate_table(&t, 0, NULL, &table), S2P_OK);
    for (int32_t c = 0; c < table.n_columns; c++)
        if (strcmp(table.column[c].key, "acc") == 0)
            assert_true(is_near(s2_table_cell(&table, 0, c)->number, 100.0 / 14.0));
    s2_table_free(&table);
    s2_trials_free(&t);
}

static double cell(const s2_table *table, int32_t row, const char *key)
{
    for (int32_t c = 0; c < table->n_columns; c++)
        if (strcmp(table->column[c].key, key) == 0) return s2_table_cell(table, row, c)->number;
    fail_msg("no column %s", key);
    return (double)NAN;
}

static void test_table(void **state)
{
    (void)state;
    s2_trials t;
    s2_table table;
    make(&t, three, 3);
    s2_table_init(&table, "rates");
    assert_int_equal(s2_rate_table(&t, 0, "full", &table), S2P_OK);
    assert_int_equal(s2_table_n_rows(&table), 2);
    assert_true(is_near(cell(&table, 0, "acc"), (200.0 / 3.0 + 100.0) / 2.0));
    assert_true(is_near(cell(&table, 1, "acc"), (100.0 / 3.0 + 50.0) / 2.0));
    assert_true(is_near(cell(&table, 0, "rel"), 100.0));
    assert_true(is_near(cell(&table, 1, "rel"), 50.0)); /* half of the full model's, both kinds */
    assert_true(is_near(cell(&table, 1, "a"), 100.0 / 3.0) && is_near(cell(&table, 1, "b"), 50.0));
    assert_true(is_near(cell(&table, 1, "all"), 40.0) && cell(&table, 1, "questions") == 5.0);
    assert_true(isnan(cell(&table, 0, "difference")) && isnan(cell(&table, 0, "p")));
    assert_true(is_near(cell(&table, 1, "difference"), -40.0));
    /* two pictures lost, none won: of four patterns two are as large; one test is a family of one */
    assert_true(is_near(cell(&table, 1, "p"), 0.5) && is_near(cell(&table, 1, "p_holm"), 0.5));
    /* pictures of 2, 2 and 1 questions lose 1, 1 and 0: residuals -.2, -.2 and .4 of a question */
    assert_true(is_near(cell(&table, 1, "smallest_difference"),
                        2.8015852181129683 * 100.0 * sqrt(1.5 * 0.24) / 5.0));
    assert_true(cell(&table, 1, "difference_low") <= -40.0);
    assert_true(cell(&table, 1, "difference_high") >= -40.0);
    s2_table_free(&table);

    s2_table_init(&table, "rates"); /* nothing to compare with */
    assert_int_equal(s2_rate_table(&t, S2_NO_SETTING, NULL, &table), S2P_OK);
    assert_true(isnan(cell(&table, 1, "rel")) && isnan(cell(&table, 1, "difference")));
    s2_table_free(&table);
    s2_trials_free(&t);
}

/* Every allocation that fails is S2P_ENOMEM, and the rate is then not a number. */
static void test_without_memory(void **state)
{
    (void)state;
    s2_trials t;
    make(&t, three, 3);
    s2p_status st = S2P_ENOMEM;
    int n_failed = 0;
    for (int n = 0; st == S2P_ENOMEM; n++) {
        s2_rate r;
        allocations_left = n;
        st = s2_rate_of(&t, 0, S2_NO_SETTING, S2_EVERYTHING, &r);
        allocations_left = -1;
        if (st == S2P_ENOMEM) assert_true(isnan(r.low) && isnan(r.high));
        n_failed += st == S2P_ENOMEM;
    }
    assert_int_equal(st, S2P_OK);
    assert_true(n_failed >= 2);
    s2_trials_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_means),
        cmocka_unit_test(test_unasked),
        cmocka_unit_test(test_pictures_are_drawn),
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_flips),
        cmocka_unit_test(test_categories),
        cmocka_unit_test(test_many_categories),
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
