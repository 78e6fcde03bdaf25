/* test_blocks.c - products with weights in their blocks against double arithmetic on the weights ggml
 * unpacks, with the instructions of this machine and with those written out in C. */
#include "check.h"

#include "base/random.h"
#include "kernels/decoder/blocks.h"
#include "kernels/tower/tiles.h"

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
void emulated_words_round(const float *x, int32_t k, void *out);
void emulated_words_product(const s2v_blocks *w, const void *rows, int32_t m, int32_t first,
                            int32_t last, float *out, ptrdiff_t pitch);
void emulated_digits_round(const float *x, int32_t k, int32_t row, void *out);
void emulated_digits_product(const s2v_blocks *w, const void *rows, int32_t m, int32_t first,
                             int32_t last, float *out, ptrdiff_t pitch);

typedef void (*few_product)(const s2v_blocks *, const void *, int32_t, int32_t, int32_t, float *,
                            ptrdiff_t);

typedef struct kernels {
    const char *name;
    void (*turn)(const float *, ptrdiff_t, int32_t, int32_t, int32_t, int32_t, void *);
    void (*product)(const s2v_blocks *, const void *, int32_t, int32_t, int32_t, float *, ptrdiff_t,
                    void *);
    void (*words_round)(const float *, int32_t, void *);
    few_product words_product;
    void (*digits_round)(const float *, int32_t, int32_t, void *);
    few_product digits_product;
} kernels;

static const kernels emulated = { "emulated",
                                  emulated_turn,
                                  emulated_product,
                                  emulated_words_round,
                                  emulated_words_product,
                                  emulated_digits_round,
                                  emulated_digits_product };
static const kernels native = { "native",
                                s2v_blocks_turn_amx,
                                s2v_blocks_product_amx,
                                s2v_words_round_vnni,
                                s2v_words_product_vnni,
                                s2v_digits_round_amx,
                                s2v_digits_product_amx };

typedef enum form { TURNED, DIGITS, WORDS } form; /* of the rows */
static const char *const form_names[] = { "turned", "digits", "words" };

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

static size_t rows_bytes(const trial *t, form as)
{
    return as == WORDS    ? s2v_words_bytes(t->k, t->m)
           : as == DIGITS ? s2v_digits_bytes(t->k)
                          : s2v_turned_bytes(t->k, t->m);
}

static void make_rows(const kernels *with, const trial *t, const float *x, form as, char *rows)
{
    for (int32_t r = 0; as == WORDS && r < t->m; r++)
        with->words_round(x + (ptrdiff_t)r * t->k, t->k, rows + s2v_words_bytes(t->k, r));
    for (int32_t r = 0; as == DIGITS && r < S2V_FEW_ROWS; r++)
        with->digits_round(r < t->m ? x + (ptrdiff_t)r * t->k : NULL, t->k, r, rows);
    if (as == TURNED) with->turn(x, t->k, t->k, t->m, 0, (t->m + 15) / 16, rows);
}

/* out: [m][n], once in two parts as two threads would. */
static void run(const kernels *with, const trial *t, const void *data, const float *x, form as,
                float *out)
{
    const s2v_blocks w = { t->type == GGML_TYPE_Q4_K ? S2V_Q4_K : S2V_Q6_K, t->k, t->n, data };
    const int32_t end[] = { t->n / 2 / S2V_BLOCKS_PANEL * S2V_BLOCKS_PANEL, t->n };
    void *rows = take(rows_bytes(t, as)), *scratch = take(s2v_blocks_scratch(t->m));
    const few_product few = as == WORDS ? with->words_product : with->digits_product;
    make_rows(with, t, x, as, rows);
    for (int32_t part = 0, at = 0; part < 2; at = end[part++])
        if (as == TURNED)
            with->product(&w, rows, t->m, at, end[part], out, t->n, scratch);
        else
            few(&w, rows, t->m, at, end[part], out, t->n);
    free(rows);
    free(scratch);
}

/* Half a step of each block of 256, or two roundings to BF16. */
static double bound_of(const float *x, const float *w, int32_t k, form as)
{
    double bound = 1e-30;
    for (int32_t at = 0; at < k; at += 256) {
        double most = 0.0, weights = 0.0, both = 0.0;
        for (int32_t i = at; i < at + 256; i++) {
            most = fmax(most, fabs((double)x[i]));
            weights += fabs((double)w[i]);
            both += fabs((double)x[i] * (double)w[i]);
        }
        bound += as != TURNED ? most / 16383.0 * 0.5001 * weights + both * 1e-5 : both * 0x1p-7;
    }
    return bound;
}

static void check_trial(const kernels *with, const trial *t, form as)
{
    const size_t n_weights = (size_t)t->n * (size_t)t->k, n_out = (size_t)t->m * (size_t)t->n;
    float *weights = make_floats(n_weights, 3, 0.5f),
          *x = make_floats((size_t)t->m * (size_t)t->k, 9, t->size);
    char *data = take(ggml_row_size(t->type, t->k) * (size_t)t->n);
    (void)ggml_quantize_chunk(t->type, weights, data, 0, t->n, t->k, NULL);
    ggml_get_type_traits(t->type)->to_float(data, weights, (int64_t)n_weights);
    memset(x, 0, (size_t)t->k * sizeof *x); /* a row of zeros too */
    float *out = take(n_out * sizeof *out), *alone = take(n_out * sizeof *alone);
    run(with, t, data, x, as, out);
    for (int32_t r = 0; r < t->m; r++) {
        const float *row = x + (ptrdiff_t)r * t->k;
        for (int32_t o = 0; o < t->n; o++) {
            const float *w = weights + (ptrdiff_t)o * t->k;
            double sum = 0.0;
            for (int32_t i = 0; i < t->k; i++) sum += (double)row[i] * (double)w[i];
            const double got = (double)out[(ptrdiff_t)r * t->n + o];
            CHECK_CASE(fabs(got - sum) <= bound_of(row, w, t->k, as),
                       "%s %s %s, k %d, row %d, output %d: %g, expected %g", with->name,
                       form_names[as], ggml_type_name(t->type), t->k, r, o, got, sum);
        }
    }
    const trial one = { t->type, t->k, t->n, 1, t->size }; /* a row is what it is alone */
    for (int32_t r = 0; r < t->m; r++)
        run(with, &one, data, x + (ptrdiff_t)r * t->k, as, alone + (ptrdiff_t)r * t->n);
    assert_memory_equal(alone, out, n_out * sizeof *out);
    x[t->k + 5] = NAN; /* stays in its row */
    run(with, t, data, x, as, out);
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
        for (int few = DIGITS; few <= WORDS; few++) {
            check_trial(with, &(trial){ types[i], 256, 33, 2, 1.0f }, (form)few);
            check_trial(with, &(trial){ types[i], 768, 40, 4, 1e-6f }, (form)few);
            check_trial(with, &(trial){ types[i], 512, 17, 3, 1e6f }, (form)few);
        }
        check_trial(with, &(trial){ types[i], 768, 50, 8, 1e-6f }, DIGITS);
        check_trial(with, &(trial){ types[i], 512, 17, 5, 1e6f }, DIGITS);
        check_trial(with, &(trial){ types[i], 256, 33, 9, 1.0f }, TURNED);
        check_trial(with, &(trial){ types[i], 1280, 71, 35, 1e4f }, TURNED);
        if (is_small) continue;
        check_trial(with, &(trial){ types[i], 2304, 200, 103, 1.0f }, TURNED);
        check_trial(with, &(trial){ types[i], 512, 130, 350, 1.0f }, TURNED); /* two lots of rows */
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
