/* test_decoder_products.c - products of several rows with every format against ggml's of one row, with
 * the weights where the engine puts them. Skipped where the kernels have no variant for them. */
#include "check.h"

#include "base/random.h"
#include "engine/products/decoder_products.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct shape { /* inputs, outputs, rows */
    int32_t k, n, m;
} shape;

static s2v_devices devices;
static s2v_backends backends;
static s2v_graph graph;

static float *make_floats(size_t n, uint64_t seed)
{
    s2_random random = { seed };
    float *x = malloc(n * sizeof *x);
    assert_non_null(x);
    for (size_t i = 0; i < n; i++)
        x[i] = ((float)s2_random_below(&random, 20001) - 10000.0f) * 3e-4f *
               (float)(1 + s2_random_below(&random, 5));
    return x;
}

typedef struct weights {
    shape is;
    struct ggml_context *ctx;
    ggml_backend_buffer_t buffer;
    struct ggml_tensor *tensor;
} weights;

static weights make_weights(enum ggml_type type, shape is)
{
    const int32_t k = is.k, n = is.n;
    weights w = { .is = is };
    const struct ggml_init_params params = { ggml_tensor_overhead() * 2, NULL, true };
    w.ctx = ggml_init(params);
    w.tensor = ggml_new_tensor_2d(w.ctx, type, k, n);
    ggml_backend_buffer_type_t where = s2v_fastest_buffer(&devices, w.tensor);
    if (!where) where = ggml_backend_dev_buffer_type(devices.cpu);
    w.buffer = ggml_backend_alloc_ctx_tensors_from_buft(w.ctx, where);
    assert_non_null(w.buffer);
    float *x = make_floats((size_t)k * (size_t)n, 3);
    void *bytes = malloc(ggml_nbytes(w.tensor));
    assert_non_null(bytes);
    (void)ggml_quantize_chunk(type, x, bytes, 0, n, k, NULL);
    ggml_backend_tensor_set(w.tensor, bytes, 0, ggml_nbytes(w.tensor));
    free(bytes);
    free(x);
    return w;
}

/* The product of n rows from row `first` on, by the kernels or by ggml. */
static void multiply(const weights *w, const float *x, int32_t n, bool is_ours, float *out)
{
    assert_int_equal(s2v_graph_begin(&graph, NULL), S2P_OK);
    struct ggml_tensor *in = s2v_graph_input(&graph, GGML_TYPE_F32, w->is.k, n, x);
    s2v_product_rows rows = { .x = in };
    if (is_ours) { /* rows serve several products: this one is the second */
        s2v_graph_expand(&graph, s2v_draw_product(&graph, w->tensor, &rows));
        assert_non_null(rows.packed[0]);
    }
    struct ggml_tensor *y = is_ours ? s2v_draw_product(&graph, w->tensor, &rows)
                                    : ggml_mul_mat(graph.ctx, w->tensor, in);
    assert_null(rows.packed[1]); /* packed once */
    ggml_set_output(y);
    s2v_graph_expand(&graph, y);
    assert_int_equal(s2v_graph_compute(&graph, NULL), S2P_OK);
    assert_int_equal(s2v_graph_read(y, out, NULL), S2P_OK);
}

/* What ours and ggml's may differ by, of the largest output: 2e-6 where the bytes of rows are the same;
 * where they are and ggml rounds their steps to F16, 1e-3; where their steps are of 32 and of 256 values,
 * what bytes of rows are worth. */
static double tolerance(enum ggml_type type)
{
    if (type == GGML_TYPE_Q4_K || type == GGML_TYPE_Q6_K) return 2e-6;
    return type == GGML_TYPE_Q8_0 || type == GGML_TYPE_Q4_0 ? 1e-3 : 2e-2;
}

/* n rows together against each alone. */
static void check_rows(const weights *w, const float *x, int32_t n, const float *expected)
{
    const double off = tolerance(w->tensor->type);
    const size_t n_out = (size_t)n * (size_t)w->is.n;
    float *got = malloc(n_out * sizeof *got);
    double largest = 0.0;
    assert_non_null(got);
    multiply(w, x, n, true, got);
    for (size_t i = 0; i < n_out; i++) largest = fmax(largest, fabs((double)expected[i]));
    for (size_t i = 0; i < n_out; i++)
        CHECK_CASE(fabs((double)got[i] - (double)expected[i]) <= off * largest,
                   "%s, %d rows, output %zu: %g, expected %g", ggml_type_name(w->tensor->type), n,
                   i, (double)got[i], (double)expected[i]);
    free(got);
}

static bool check_shape(enum ggml_type type, shape is)
{
    weights w = make_weights(type, is);
    float *x = make_floats((size_t)is.k * (size_t)is.m, 9);
    float *expected = malloc((size_t)is.m * (size_t)is.n * sizeof *expected);
    const bool is_there = s2v_products_for(devices.products, w.tensor, 1);
    assert_non_null(expected);
    memset(x + is.k, 0, (size_t)is.k * sizeof *x); /* a row of zeros too */
    for (int32_t r = 0; is_there && r < is.m; r++)
        multiply(&w, x + (ptrdiff_t)r * is.k, 1, false, expected + (ptrdiff_t)r * is.n);
    for (int32_t n = 1; is_there && n <= is.m; n += n < 11 ? 1 : 16) check_rows(&w, x, n, expected);
    ggml_backend_buffer_free(w.buffer);
    ggml_free(w.ctx);
    free(x);
    free(expected);
    return is_there;
}

static void check_type(enum ggml_type type)
{
    const bool is_there = check_shape(type, (shape){ 768, 88, 75 }); /* more than go at once */
    check_shape(type, (shape){ 11264, 16, 43 });                     /* 16 at once */
    if (type != GGML_TYPE_Q4_K && type != GGML_TYPE_Q4_0)
        check_shape(type, (shape){ 512, 83, 5 }); /* not in eights */
    if (type == GGML_TYPE_Q4_0 || type == GGML_TYPE_Q8_0)
        check_shape(type, (shape){ 896, 48, 7 }); /* no multiple of 256 */
    if (!is_there) skip();
}

static void test_q4(void **state)
{
    (void)state;
    check_type(GGML_TYPE_Q4_K);
}

static void test_q6(void **state)
{
    (void)state;
    check_type(GGML_TYPE_Q6_K);
}

static void test_q5(void **state)
{
    (void)state;
    check_type(GGML_TYPE_Q5_K);
}

static void test_iq4(void **state)
{
    (void)state;
    check_type(GGML_TYPE_IQ4_XS);
}

static void test_q8_0(void **state)
{
    (void)state;
    check_type(GGML_TYPE_Q8_0);
}

static void test_q4_0(void **state)
{
    (void)state;
    check_type(GGML_TYPE_Q4_0);
}

static int set_up(void **state)
{
    (void)state;
    assert_int_equal(s2v_devices_open(&devices, "CPU", NULL, 2, NULL), S2P_OK);
    assert_int_equal(s2v_backends_open(&backends, &devices, 2, NULL), S2P_OK);
    assert_int_equal(s2v_graph_init(&graph, &backends, 64, NULL), S2P_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    s2v_graph_free(&graph);
    s2v_backends_close(&backends);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_q4),   cmocka_unit_test(test_q6),
                                        cmocka_unit_test(test_q5),   cmocka_unit_test(test_iq4),
                                        cmocka_unit_test(test_q8_0), cmocka_unit_test(test_q4_0) };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
