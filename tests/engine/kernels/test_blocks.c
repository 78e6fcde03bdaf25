/* test_blocks.c - products with weights in their blocks against double arithmetic on the weights ggml
 * unpacks, with the instructions of this machine and with those written out in C. */
#include "check.h"

#include "base/random.h"
#include "engine/model/blocks/blocks.h"
#include "engine/vision/kernels/tiles.h"

#include <ggml.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

emulated_tiles s2v_emulated_tiles;

/* The same files, compiled without the instructions. */
void emulated_turn(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                   int32_t last, void *out);
void emulated_product(const s2v_blocks *w, const void *turned, int32_t m, int32_t first,
                      int32_t last, float *out, ptrdiff_t pitch, void *scratch);
void emulated_round(const float *x, int32_t k, void *out);
void emulated_few(const s2v_blocks *w, const void *rows, int32_t m, int32_t first, int32_t last,
                  float *out, ptrdiff_t pitch);

typedef struct kernels {
    const char *name;
    void (*turn)(const float *, ptrdiff_t, int32_t, int32_t, int32_t, int32_t, void *);
    void (*product)(const s2v_blocks *, const void *, int32_t, int32_t, int32_t, float *, ptrdiff_t,
                    void *);
    void (*round)(const float *, int32_t, void *);
    void (*few)(const s2v_blocks *, const void *, int32_t, int32_t, int32_t, float *, ptrdiff_t);
} kernels;

static const kernels emulated = { "emulated", emulated_turn, emulated_product, emulated_round,
                                  emulated_few };
static const kernels native = { "native", s2v_blocks_turn_amx, s2v_blocks_product_amx,
                                s2v_few_round_vnni, s2v_few_product_vnni };

static void *take(size_t n)
{
    void *p = aligned_alloc(64, (n + 63) / 64 * 64);
    assert_non_null(p);
    memset(p, 0xff, n); /* NaN: what is read must have been written */
    return p;
}

static float *make_floats(size_t n, uint64_t seed, float size)
{
    s2_random random = { seed };
    float *x = take(n * sizeof *x);
    for (size_t i = 0; i < n; i++)
        x[i] = ((float)s2_random_below(&random, 20001) - 10000.0f) * 1e-4f * size *
               (s2_random_below(&random, 50) ? 1.0f : 20.0f);
    return x;
}

typedef struct trial {
    enum ggml_type type;
    int32_t k, n, m;
    float size; /* of the rows */
} trial;

/* out: [m][n], once in two parts as two threads would. */
static void run(const kernels *with, const trial *t, const void *data, const float *x, bool is_few,
                float *out)
{
    const s2v_blocks w = { t->type == GGML_TYPE_Q4_K ? S2V_Q4_K : S2V_Q6_K, t->k, t->n, data };
    const int32_t middle = t->n / 2 / S2V_BLOCKS_PANEL * S2V_BLOCKS_PANEL;
    void *rows = take(is_few ? s2v_few_bytes(t->k, t->m) : s2v_turned_bytes(t->k, t->m));
    void *scratch = take(s2v_blocks_scratch(t->m));
    if (is_few) {
        for (int32_t r = 0; r < t->m; r++)
            with->round(x + (ptrdiff_t)r * t->k, t->k, (char *)rows + s2v_few_bytes(t->k, r));
        with->few(&w, rows, t->m, 0, middle, out, t->n);
        with->few(&w, rows, t->m, middle, t->n, out, t->n);
    } else {
        with->turn(x, t->k, t->k, t->m, 0, (t->m + 15) / 16, rows);
        with->product(&w, rows, t->m, 0, middle, out, t->n, scratch);
        with->product(&w, rows, t->m, middle, t->n, out, t->n, scratch);
    }
    free(rows);
    free(scratch);
}

/* Half a step of each block of 256, or two roundings to BF16. */
static double bound_of(const float *x, const float *w, int32_t k, bool is_few)
{
    double bound = 1e-30;
    for (int32_t at = 0; at < k; at += 256) {
        double most = 0.0, weights = 0.0, both = 0.0;
        for (int32_t i = at; i < at + 256; i++) {
            most = fmax(most, fabs((double)x[i]));
            weights += fabs((double)w[i]);
            both += fabs((double)x[i] * (double)w[i]);
        }
        bound += is_few ? most / 16383.0 * 0.5001 * weights + both * 1e-5 : both * 0x1p-7;
    }
    return bound;
}

static void check_trial(const kernels *with, const trial *t, bool is_few)
{
    const size_t n_weights = (size_t)t->n * (size_t)t->k, n_out = (size_t)t->m * (size_t)t->n;
    float *weights = make_floats(n_weights, 3, 0.5f),
          *x = make_floats((size_t)t->m * (size_t)t->k, 9, t->size);
    char *data = take(ggml_row_size(t->type, t->k) * (size_t)t->n);
    (void)ggml_quantize_chunk(t->type, weights, data, 0, t->n, t->k, NULL);
    ggml_get_type_traits(t->type)->to_float(data, weights, (int64_t)n_weights);
    memset(x, 0, (size_t)t->k * sizeof *x); /* a row of zeros too */
    float *out = take(n_out * sizeof *out), *alone = take(n_out * sizeof *alone);
    run(with, t, data, x, is_few, out);
    for (int32_t r = 0; r < t->m; r++) {
        const float *row = x + (ptrdiff_t)r * t->k;
        for (int32_t o = 0; o < t->n; o++) {
            const float *w = weights + (ptrdiff_t)o * t->k;
            double sum = 0.0;
            for (int32_t i = 0; i < t->k; i++) sum += (double)row[i] * (double)w[i];
            const double got = (double)out[(ptrdiff_t)r * t->n + o];
            CHECK_CASE(fabs(got - sum) <= bound_of(row, w, t->k, is_few),
                       "%s %s %s, k %d, row %d, output %d: %g, expected %g", with->name,
                       is_few ? "few" : "many", ggml_type_name(t->type), t->k, r, o, got, sum);
        }
    }
    const trial one = { t->type, t->k, t->n, 1, t->size }; /* a row is what it is alone */
    for (int32_t r = 0; r < t->m; r++)
        run(with, &one, data, x + (ptrdiff_t)r * t->k, is_few, alone + (ptrdiff_t)r * t->n);
    assert_memory_equal(alone, out, n_out * sizeof *out);
    x[t->k + 5] = NAN; /* stays in its row */
    run(with, t, data, x, is_few, out);
    for (size_t i = 0; i < n_out; i++)
        CHECK_CASE(t->m < 2 || isnan(out[i]) == (i / (size_t)t->n == 1),
                   "%s: a NaN in row 1 and output %zu is %g", with->name, i, (double)out[i]);
    free(weights);
    free(x);
    free(data);
    free(out);
    free(alone);
}

static void check_kernels(const kernels *with, bool is_small)
{
    static const enum ggml_type types[] = { GGML_TYPE_Q4_K, GGML_TYPE_Q6_K };
    for (size_t i = 0; i < COUNT_OF(types); i++) {
        check_trial(with, &(trial){ types[i], 256, 33, 2, 1.0f }, true);
        check_trial(with, &(trial){ types[i], 768, 40, 8, 1e-6f }, true);
        check_trial(with, &(trial){ types[i], 512, 17, 5, 1e6f }, true);
        check_trial(with, &(trial){ types[i], 256, 33, 9, 1.0f }, false);
        check_trial(with, &(trial){ types[i], 1280, 71, 35, 1e4f }, false);
        if (is_small) continue;
        check_trial(with, &(trial){ types[i], 2304, 200, 103, 1.0f }, false);
        check_trial(with, &(trial){ types[i], 512, 130, 350, 1.0f }, false); /* two lots of rows */
    }
}

static void test_emulated(void **state)
{
    (void)state;
    check_kernels(&emulated, true);
    assert_int_equal(s2v_emulated_tiles.config.palette, 0); /* as it was before */
}

static void test_native(void **state)
{
    (void)state;
    if (!s2v_blocks_run_here()) skip();
    check_kernels(&native, false);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_emulated),
                                        cmocka_unit_test(test_native) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
