/* test_cost.c - the paper's efficiency table and FLOPS.md's table for every budget, digit by digit. */
#include "analyze/cost.h"
#include "check.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define MIB 1048576.0

/* As people round: halves go up. */
static double rounded(double value, double unit) { return floor(value / unit + 0.5) * unit; }

static void check_rounded(double got, double expected, double unit, const char *what)
{
    CHECK_CASE(fabs(rounded(got, unit) - expected) < 1e-6 * unit, "%s: %.6f, not %.3f", what, got,
               expected);
}

static void test_the_papers_eight_numbers(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        int32_t kept;
        double flops, kv, held;
    } rows[] = { { "full", 576, 8.181, 31.50, 31.50 },
                 { "fastv", 64, 1.839, 5.50, 5.50 },
                 { "gprune", 64, 1.352, 3.50, 3.50 },
                 { "vispruner", 64, 1.352, 3.50, 3.50 },
                 { "s2prune", 64, 1.596, 4.50, 3.50 } };
    const s2_model_size *size = s2_model_size_find("qwen2.5-vl-7b");
    const s2_text_mix pope = s2_text_mix_pope();
    assert_non_null(size);
    check_rounded(s2_text_mix_mean(&pope), 39.238, 0.001, "mean text");
    for (size_t i = 0; i < COUNT_OF(rows); i++) {
        const s2p_method *method = s2p_method_find(rows[i].method);
        const int32_t n_full = s2_full_layers(method, size->n_layers);
        check_rounded(s2_prefill_flops(size, 576, rows[i].kept, n_full, &pope) / 1e12,
                      rows[i].flops, 0.001, rows[i].method);
        check_rounded(s2_visual_kv_bytes(size, 576, rows[i].kept, n_full) / MIB, rows[i].kv, 0.01,
                      rows[i].method);
        check_rounded(s2_visual_kv_bytes(size, 576, rows[i].kept,
                                         s2p_method_about(method)->prunes_cache ? 0 : n_full) /
                          MIB,
                      rows[i].held, 0.01, rows[i].method);
    }
}

static void test_every_budget(void **state)
{
    (void)state;
    /* FLOPS.md, section 3: K full layers 0, 1, 2, 3, 8, then DART as published (K 2, B + 4). */
    static const struct {
        int32_t budget;
        double flops[6], kv[6];
    } rows[] = { { 192,
                   { 3.039, 3.223, 3.407, 3.590, 4.508, 3.456 },
                   { 10.50, 11.25, 12.00, 12.75, 16.50, 12.20 } },
                 { 128,
                   { 2.194, 2.408, 2.621, 2.835, 3.904, 2.670 },
                   { 7.00, 7.88, 8.75, 9.63, 14.00, 8.95 } },
                 { 64,
                   { 1.352, 1.596, 1.839, 2.083, 3.303, 1.888 },
                   { 3.50, 4.50, 5.50, 6.50, 11.50, 5.70 } },
                 { 32,
                   { 0.932, 1.191, 1.450, 1.708, 3.003, 1.498 },
                   { 1.75, 2.81, 3.88, 4.94, 10.25, 4.08 } } };
    static const int32_t n_full[6] = { 0, 1, 2, 3, 8, 2 };
    const s2_model_size *size = s2_model_size_find("qwen2.5-vl-7b");
    const s2_text_mix pope = s2_text_mix_pope();
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        for (size_t k = 0; k < 6; k++) {
            const int32_t kept = rows[i].budget + (k == 5 ? 4 : 0);
            char what[64];
            (void)snprintf(what, sizeof what, "budget %d, column %zu", rows[i].budget, k);
            check_rounded(s2_prefill_flops(size, 576, kept, n_full[k], &pope) / 1e12,
                          rows[i].flops[k], 0.001, what);
            check_rounded(s2_visual_kv_bytes(size, 576, kept, n_full[k]) / MIB, rows[i].kv[k], 0.01,
                          what);
        }
}

static void test_llava_onevision(void **state)
{
    (void)state;
    static const struct {
        int32_t kept, n_full;
        double flops;
    } rows[] = { { 729, 28, 10.547 }, { 160, 0, 2.891 }, { 80, 0, 1.835 }, { 40, 0, 1.309 },
                 { 160, 1, 3.164 },   { 80, 1, 2.146 },  { 40, 1, 1.639 }, { 160, 2, 3.437 },
                 { 80, 2, 2.457 },    { 40, 2, 1.969 } };
    const s2_model_size *size = s2_model_size_find("llava-onevision-7b");
    const s2_text_mix text = s2_text_mix_of(60.0);
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        check_rounded(s2_prefill_flops(size, 729, rows[i].kept, rows[i].n_full, &text) / 1e12,
                      rows[i].flops, 0.001, "llava");
    check_rounded(s2_visual_kv_bytes(size, 729, 729, 0) / MIB, 39.87, 0.01, "llava cache");
}

static void test_layer_and_tower(void **state)
{
    (void)state;
    const s2_model_size *size = s2_model_size_find("qwen2.5-vl-7b");
    /* F(n) = n (466092032 + 14336 n), in whole numbers. */
    assert_true(s2_layer_flops(size, 615.0) == 615.0 * (466092032.0 + 14336.0 * 615.0));
    check_rounded(s2_tower_flops(&size->tower, 576) / 1e12, 3.084, 0.001, "tower");
}

static void test_layers_of_methods(void **state)
{
    (void)state;
    assert_int_equal(s2_full_layers(s2p_method_find("full"), 28), 28);
    assert_int_equal(s2_full_layers(s2p_method_find("feather-8"), 28), 8);
    assert_int_equal(s2_full_layers(s2p_method_find("feather-8"), 4), 4);
    assert_int_equal(s2_full_layers(s2p_method_find("sparsevlm"), 28), -1);
    assert_int_equal(s2_published_tokens(s2p_method_find("dart"), 64), 68);
    assert_int_equal(s2_published_tokens(s2p_method_find("fastv"), 64), 64);
    for (size_t i = 0; s2p_method_at(i); i++) { /* who keeps what it likes is known to be so */
        const s2p_method *m = s2p_method_at(i);
        const bool is_own = s2p_method_about(m)->published &&
                            strstr(s2p_method_about(m)->published, "whatever the budget");
        CHECK_CASE(!is_own || s2_published_tokens(m, 64) == -1, "%s", s2p_method_about(m)->name);
    }
    assert_null(s2_model_size_find("gpt"));
    for (size_t i = 0; s2_model_size_at(i); i++)
        assert_ptr_equal(s2_model_size_find(s2_model_size_at(i)->name), s2_model_size_at(i));
}

/* Queries of Qwen3-VL 4B are wider than its rows: 32 heads of 128, rows of 2560. */
static void test_wide_queries(void **state)
{
    (void)state;
    const s2_model_size *size = s2_model_size_find("qwen3-vl-4b");
    const double n = 480.0, d = 2560.0, q = 4096.0, kv = 1024.0, m = 9728.0;
    const double expected = 2.0 * n * (2.0 * d * q + 2.0 * d * kv + 3.0 * d * m) + 4.0 * n * n * q;
    assert_true(s2_layer_flops(size, n) >= expected && s2_layer_flops(size, n) <= expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_wide_queries),    cmocka_unit_test(test_the_papers_eight_numbers),
        cmocka_unit_test(test_every_budget),    cmocka_unit_test(test_llava_onevision),
        cmocka_unit_test(test_layer_and_tower), cmocka_unit_test(test_layers_of_methods),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
