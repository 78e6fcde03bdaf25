/* test_tower_quants.c - quantized weights as the tower's kernels read them, against ggml: what a block
 * holds, and the product with a Q8_0 matrix. */
#include "check.h"

#include "base/random.h"
#include "kernels/tower/source.h"
#include "kernels/tower/tables.h"

#include <ggml-cpu.h>
#include <ggml.h>
#include <math.h>
#include <stdlib.h>

static const struct {
    enum ggml_type type;
    s2v_element element;
} types[] = {
    { GGML_TYPE_Q8_0, S2V_ELEMENT_Q8_0 }, { GGML_TYPE_Q4_0, S2V_ELEMENT_Q4_0 },
    { GGML_TYPE_Q4_1, S2V_ELEMENT_Q4_1 }, { GGML_TYPE_Q5_0, S2V_ELEMENT_Q5_0 },
    { GGML_TYPE_Q5_1, S2V_ELEMENT_Q5_1 }, { GGML_TYPE_Q4_K, S2V_ELEMENT_Q4_K },
    { GGML_TYPE_Q5_K, S2V_ELEMENT_Q5_K }, { GGML_TYPE_Q6_K, S2V_ELEMENT_Q6_K },
};

static void fill(float *p, size_t n, uint64_t seed)
{
    s2_random random = { seed };
    for (size_t i = 0; i < n; i++) {
        float x = 0.0f; /* a bell, and now and then a number far outside */
        for (int j = 0; j < 4; j++) x += (float)s2_random_below(&random, 20001) * 1e-4f - 1.0f;
        p[i] = s2_random_below(&random, 200) ? x : 20.0f * x;
    }
}

static void blocks_hold_what_ggml_says(void **state)
{
    (void)state;
    enum { K = 1024 };
    float x[K], want[K], got[S2V_QUANT];
    uint8_t packed[K * 4];
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        const size_t size = s2v_quant_bytes(types[t].element);
        assert_int_equal(size, ggml_type_size(types[t].type));
        assert_int_equal(s2v_quant_weights(types[t].element), ggml_blck_size(types[t].type));
        fill(x, K, 5 + t);
        assert_true(ggml_quantize_chunk(types[t].type, x, packed, 0, 1, K, NULL) > 0);
        ggml_get_type_traits(types[t].type)->to_float(packed, want, K);
        for (int32_t k = 0; k < K; k += S2V_QUANT) {
            s2v_unpack_32(types[t].element, packed, k, got);
            for (int i = 0; i < S2V_QUANT; i++)
                CHECK_CASE(fabsf(got[i] - want[k + i]) <= 1e-6f * fabsf(want[k + i]) + 1e-7f,
                           "%s [%d]: %g, not %g", ggml_type_name(types[t].type), k + i,
                           (double)got[i], (double)want[k + i]);
        }
    }
}

/* ggml's product of rows with a quantized matrix: [m][n]. */
static void multiply_by_ggml(enum ggml_type type, const void *weight, const float *x, int64_t m,
                             int64_t n, int64_t k, float *out)
{
    const struct ggml_init_params params = { 64u << 20, NULL, false };
    struct ggml_context *ctx = ggml_init(params);
    assert_non_null(ctx);
    struct ggml_tensor *a = ggml_new_tensor_2d(ctx, type, k, n);
    struct ggml_tensor *b = ggml_new_tensor_2d(ctx, GGML_TYPE_F32, k, m);
    memcpy(a->data, weight, ggml_nbytes(a));
    memcpy(b->data, x, ggml_nbytes(b));
    struct ggml_tensor *y = ggml_mul_mat(ctx, a, b);
    struct ggml_cgraph *graph = ggml_new_graph(ctx);
    ggml_build_forward_expand(graph, y);
    assert_int_equal(ggml_graph_compute_with_ctx(ctx, graph, 1), GGML_STATUS_SUCCESS);
    memcpy(out, y->data, ggml_nbytes(y));
    ggml_free(ctx);
}

static void *aligned(size_t n)
{
    void *p = aligned_alloc(S2V_KERNEL_ALIGN, (n / S2V_KERNEL_ALIGN + 1) * S2V_KERNEL_ALIGN);
    assert_non_null(p);
    return p;
}

/* Root mean square of the difference, as a share of b. */
static double apart(const float *a, const double *b, int n)
{
    double off = 0, size = 0;
    for (int i = 0; i < n; i++) {
        off += ((double)a[i] - b[i]) * ((double)a[i] - b[i]);
        size += b[i] * b[i];
    }
    return sqrt(off / size);
}

/* Q8_0: the same bytes, another order of adding, and steps that ggml rounds to F16. Types whose weights are
 * rounded again: not farther from the exact product than ggml is, but for a half. */
static void products_are_those_of_ggml(void **state)
{
    (void)state;
    enum { M = 21, N = 70, K = 1280 };
    float *w = malloc(sizeof *w * N * K), *x = malloc(sizeof *x * M * K);
    float *want = malloc(sizeof *want * M * N), *got = malloc(sizeof *got * M * N);
    double *exact = malloc(sizeof *exact * M * N), *whole = malloc(sizeof *whole * M * N);
    float *plain = malloc(sizeof *plain * N * K);
    void *packed = malloc((size_t)N * K * 4);
    assert_true(w && x && want && got && packed && exact && whole && plain);
    fill(w, N * K, 1);
    fill(x, M * K, 2);
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        (void)ggml_quantize_chunk(types[t].type, w, packed, 0, N, K, NULL);
        multiply_by_ggml(types[t].type, packed, x, M, N, K, want);
        ggml_get_type_traits(types[t].type)->to_float(packed, plain, N * K);
        for (int j = 0; j < M * N; j++) {
            whole[j] = (double)want[j];
            exact[j] = 0;
            for (int i = 0; i < K; i++)
                exact[j] += (double)x[j / N * K + i] * (double)plain[j % N * K + i];
        }
        const double theirs = apart(want, exact, M * N);
        for (size_t i = 0; s2v_kernels_at(i); i++) {
            const s2v_kernels *table = s2v_kernels_at(i);
            if (table->precision != S2V_PRECISION_Q8) continue;
            s2v_packed ours = { N, K, 1, false, table->stored(types[t].element), NULL };
            ours.data = aligned(table->packed_bytes(&ours));
            void *scratch = aligned(table->product_scratch(&ours));
            table->pack(&ours, &(s2v_source){ { packed }, 1, { types[t].element } }, 0,
                        table->n_panels(&ours));
            const s2v_product p = {
                .weights = &ours, .x = x, .x_pitch = K, .out = got, .out_pitch = N
            };
            table->product(&p, (s2v_share){ 0, M, 0, N }, scratch);
            const double ours_off = apart(got, exact, M * N), both = apart(got, whole, M * N);
            CHECK_CASE(types[t].type != GGML_TYPE_Q8_0 || both <= 1e-3, "%s: %g from ggml's",
                       table->name, both);
            CHECK_CASE(ours_off <= 1.5 * theirs, "%s, %s: off by %g, ggml by %g", table->name,
                       ggml_type_name(types[t].type), ours_off, theirs);
            free(scratch);
            free(ours.data);
        }
    }
    free(w);
    free(x);
    free(want);
    free(got);
    free(packed);
    free(exact);
    free(whole);
    free(plain);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_hold_what_ggml_says),
        cmocka_unit_test(products_are_those_of_ggml),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
