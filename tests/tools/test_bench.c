/* test_bench.c - spreads of repeats, when a speedup may be printed, and the estimates as a table. */
#include "bench/bench.h"

#include "analyze/cost.h"
#include "check.h"

#include <math.h>
#include <string.h>

static void test_spread(void **state)
{
    (void)state;
    const double value[] = { 5.0, 1.0, 3.0, 2.0, 4.0 };
    const bench_spread s = s2_bench_spread(value, 5);
    assert_true(s.median == 3.0 && s.low == 2.0 && s.high == 4.0);
}

static void test_ratio(void **state)
{
    (void)state;
    bool is_sure;
    /* Everything doubled in the third round: the ratios do not notice. */
    const double slow[] = { 100.0, 102.0, 204.0, 99.0, 101.0 };
    const double fast[] = { 50.0, 51.0, 102.0, 50.0, 50.0 };
    const bench_spread s = s2_bench_ratio(slow, fast, 5, &is_sure);
    assert_true(fabs(s.median - 2.0) < 0.01 && is_sure);
    /* Faster by a tenth, but between half and twice as fast from round to round. */
    const double noisy[] = { 50.0, 180.0, 91.0, 45.0, 170.0 };
    const bench_spread n = s2_bench_ratio(slow, noisy, 5, &is_sure);
    assert_true(n.high - n.low > fabs(n.median - 1.0) && !is_sure);
    (void)s2_bench_ratio(slow, fast, 2, &is_sure); /* two rounds say nothing */
    assert_false(is_sure);
}

static void test_machine(void **state)
{
    (void)state;
    bench_machine machine;
    s2_machine_start(&machine);
    s2_machine_stop(&machine);
    assert_true(machine.n_cores >= 1 && strlen(machine.cpu) > 0);
    assert_true(machine.others_percent <= 100.5);
    s2_memory_peak_reset();
    assert_true(s2_memory_peak() >= 0.0);
}

static s2p_status estimate(const char *models, const char *prompts, const char *layers, s2_table *t,
                           s2p_error *error)
{
    s2a_setting setting[2] = { { .budget = { .tokens = 64 } }, { .budget = { .tokens = 64 } } };
    s2a_setting_use(&setting[0], "full");
    s2a_setting_use(&setting[1], "s2prune");
    const bench_estimate job = { models, setting, 2, prompts, layers };
    s2_table_init(t, "estimate");
    const s2p_status st = s2_bench_estimate(&job, t, error);
    return st;
}

static void test_estimates(void **state)
{
    (void)state;
    s2_table t;
    s2p_error error;
    assert_int_equal(estimate("all", "pope,39", NULL, &t, &error), S2P_OK);
    int32_t n_sizes = 0;
    while (s2_model_size_at((size_t)n_sizes)) n_sizes++;
    assert_int_equal(s2_table_n_rows(&t), n_sizes * 2 * 2);
    s2_table_free(&t);
    assert_int_equal(estimate("qwen2.5-vl-7b", NULL, "0,1,8", &t, &error), S2P_OK);
    assert_int_equal(s2_table_n_rows(&t), 3);
    assert_true(fabs(s2_table_cell(&t, 2, 5)->number - 3.303) < 0.0005);
    s2_table_free(&t);
    assert_int_equal(estimate("qwen", NULL, NULL, &t, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "qwen2.5-vl-7b"));
    s2_table_free(&t);
    assert_int_equal(estimate("qwen2.5-vl-7b", "64x", NULL, &t, &error), S2P_EINVAL);
    s2_table_free(&t);
    assert_int_equal(estimate("qwen2.5-vl-7b", NULL, "-1", &t, &error), S2P_EINVAL);
    s2_table_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_spread),
        cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_machine),
        cmocka_unit_test(test_estimates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
