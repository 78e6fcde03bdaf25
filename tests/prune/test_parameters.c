/* test_parameters.c - parameters are rows of their method: defaults, text, ranges, sentences. */
#include "check.h"
#include "prune/method.h"

#include <math.h>
#include <string.h>

/* Rows that a caller can rely on: a name, a help, a range, room in s2p_parameters, no name twice. */
static void test_rows(void **state)
{
    (void)state;
    for (size_t m = 0; s2p_method_at(m); m++) {
        const s2p_method *method = s2p_method_at(m);
        s2p_parameters given;
        s2p_parameters_init(method, &given);
        size_t n = 0;
        for (; s2p_method_parameter(method, n); n++) {
            const s2p_parameter *p = s2p_method_parameter(method, n);
            CHECK_CASE(p->name && p->help && p->min <= p->max, "%s %zu",
                       s2p_method_about(method)->name, n);
            assert_true(given.value[n] == p->fallback);
            /* Not to be set, but meant: then the help says what happens. */
            const int is_rule = p->fallback < p->min || p->fallback > p->max;
            CHECK_CASE(is_rule == (strstr(p->help, "if not set") != NULL), "%s", p->name);
            for (size_t i = 0; i < n; i++)
                assert_string_not_equal(p->name, s2p_method_parameter(method, i)->name);
        }
        CHECK_CASE(n <= S2P_MAX_PARAMETERS, "%s", s2p_method_about(method)->name);
    }
}

static void test_values_from_text(void **state)
{
    (void)state;
    const s2p_method *holov = s2p_method_find("holov");
    s2p_parameters given;
    s2p_error error;
    s2p_parameters_init(holov, &given);
    assert_int_equal(s2p_parameters_set(holov, &given, "beta", "0.25", NULL), S2P_OK);
    assert_int_equal(s2p_parameters_set(holov, &given, "num_crops", "12", NULL), S2P_OK);
    assert_true(given.value[0] == 12.0 && given.value[1] == 1.0 && given.value[2] == 0.25);

    static const struct {
        const char *method, *name, *value, *sentence;
    } cases[] = {
        { "holov", "aplha", "1",
          "method 'holov' has no parameter 'aplha'; it has num_crops, "
          "alpha, beta" },
        { "full", "alpha", "1", "method 'full' has no parameter 'alpha', nor any other" },
        { "holov", "alpha", "much", "alpha 'much' is not a number from 1e-09 to 1000000" },
        { "holov", "alpha", "", "alpha '' is not a number from 1e-09 to 1000000" },
        { "holov", "alpha", "nan", "alpha 'nan' is not a number from 1e-09 to 1000000" },
        { "holov", "alpha", "1 ", "alpha '1 ' is not a number from 1e-09 to 1000000" },
        { "holov", "num_crops", "0", "num_crops '0' is not a whole number from 1 to 1048576" },
        { "holov", "num_crops", "2.5", "num_crops '2.5' is not a whole number from 1 to 1048576" },
        { "gprune", "iterations", "1001",
          "iterations '1001' is not a whole number from 1 to 1000" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const s2p_method *method = s2p_method_find(cases[i].method);
        s2p_parameters_init(method, &given);
        const s2p_parameters before = given;
        assert_int_equal(s2p_parameters_set(method, &given, cases[i].name, cases[i].value, &error),
                         S2P_EINVAL);
        assert_string_equal(error.message, cases[i].sentence);
        assert_memory_equal(&given, &before, sizeof given);
    }
}

/* What did not come through s2p_parameters_set is checked all the same. */
static void test_values_by_hand(void **state)
{
    (void)state;
    static const double bad[] = { NAN, INFINITY, -1.0, 1.5, 1e300 };
    const s2p_method *method = s2p_method_find("gridprune");
    static float numbers[4 * 4];
    for (int32_t i = 0; i < 16; i++) numbers[i] = (float)(i + 1);
    s2p_plan *plan;
    s2p_error error;
    s2p_parameters given;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 4, 4 }), S2P_OK);
    s2p_parameters_init(method, &given);
    const s2p_view view = { .budget = 4,
                            .signal = { [S2P_FEATURE] = { numbers, { 16, 1 } },
                                        [S2P_VISION_ATTN] = { numbers, { 1, 16 } },
                                        [S2P_TEXT] = { numbers, { 1, 1 } } },
                            .parameters = &given };
    assert_int_equal(s2p_method_run(method, &view, plan, &error), S2P_OK);
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        given.value[0] = bad[i];
        assert_int_equal(s2p_method_run(method, &view, plan, &error), S2P_EINVAL);
        assert_non_null(strstr(error.message, "is not a whole number from 1 to 4096"));
    }
    s2p_plan_free(plan);
}

/* Zones of one token rank by relevance alone what zones of four rank within. */
static void test_values_are_read(void **state)
{
    (void)state;
    const float feature[4] = { -1, 1, 1, 1 }, attn[4] = { 1, 0, 0, 0 }, text[1] = { 1 };
    const s2p_method *method = s2p_method_find("gridprune");
    s2p_plan *plan;
    s2p_parameters given;
    int32_t n;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 2, 2 }), S2P_OK);
    s2p_view view = {
        .budget = 1,
        .signal = { [S2P_FEATURE] = { feature, { 4, 1 } },
                    [S2P_VISION_ATTN] = { attn, { 1, 4 } },
                    [S2P_TEXT] = { text, { 1, 1 } } },
    };
    s2p_parameters_init(method, &given);
    view.parameters = &given;
    assert_int_equal(s2p_parameters_set(method, &given, "alpha", "0.9", NULL), S2P_OK);
    assert_int_equal(s2p_method_run(method, &view, plan, NULL), S2P_OK);
    assert_int_equal(s2p_plan_keep(plan, &n)[0], 0);
    assert_int_equal(s2p_parameters_set(method, &given, "alpha", "0.1", NULL), S2P_OK);
    assert_int_equal(s2p_method_run(method, &view, plan, NULL), S2P_OK);
    assert_int_equal(s2p_plan_keep(plan, &n)[0], 1);
    s2p_plan_free(plan);
}

static void test_who_draws(void **state)
{
    (void)state;
    const s2p_choice paper = { 0 }, share = { .allocator = "random" },
                     pick = { .selector = "random" };
    for (size_t m = 0; s2p_method_at(m); m++) {
        const s2p_method *method = s2p_method_at(m);
        const int is_random = strcmp(s2p_method_about(method)->name, "random") == 0;
        const int is_choice = strcmp(s2p_method_about(method)->name, "s2prune") == 0;
        CHECK_CASE(s2p_method_draws(method, &paper) == is_random, "%s",
                   s2p_method_about(method)->name);
        CHECK_CASE(s2p_method_draws(method, &share) == (is_random || is_choice), "%s",
                   s2p_method_about(method)->name);
        CHECK_CASE(s2p_method_draws(method, &pick) == (is_random || is_choice), "%s",
                   s2p_method_about(method)->name);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rows),           cmocka_unit_test(test_values_from_text),
        cmocka_unit_test(test_values_by_hand), cmocka_unit_test(test_values_are_read),
        cmocka_unit_test(test_who_draws),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
