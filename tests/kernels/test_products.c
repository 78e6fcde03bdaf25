/* test_products.c - every variant of the decoder's products against the scalar reference, for every
 * format it takes: with the instructions of this machine, and with those it lacks written out in C. The
 * reference itself is compared with what ggml unpacks. */
#include "check.h"

#include "base/random.h"
#include "engine/backend/device.h"
#include "kernels/decoder/products.h"
#include "kernels/tower/kernels.h"
#include "kernels/tower/tiles.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

emulated_tiles s2v_emulated_tiles;

/* The same files, compiled without the instructions. */
extern const s2k_products emulated_words, emulated_digits, emulated_tiles_amx, emulated_bytes,
    emulated_nibbles;

static s2v_devices devices;

static void *take(size_t n)
{
    void *p = aligned_alloc(S2K_ALIGN, (n + S2K_ALIGN) / S2K_ALIGN * S2K_ALIGN);
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

/* --- weights ------------------------------------------------------------------------------------- */

/* [n][k] of a type as in a file. */
static char *quantise(enum ggml_type type, int32_t k, int32_t n)
{
    float *weights = make_floats((size_t)n * (size_t)k, 3, 0.5f);
    char *data = take(ggml_row_size(type, k) * (size_t)n);
    (void)ggml_quantize_chunk(type, weights, data, 0, n, k, NULL);
    free(weights);
    return data;
}

/* The same in the layout ggml packs it into; NULL: it does not on this machine. */
static char *pack(enum ggml_type type, int32_t k, int32_t n, const char *data)
{
    ggml_backend_buffer_type_t packing = NULL;
    for (int32_t i = 0; i < devices.n_extra; i++)
        if (strcmp(ggml_backend_buft_name(devices.extra[i]), "CPU_REPACK") == 0)
            packing = devices.extra[i];
    if (!packing || !devices.products) return NULL;
    const struct ggml_init_params params = { ggml_tensor_overhead() * 2, NULL, true };
    struct ggml_context *ctx = ggml_init(params);
    struct ggml_tensor *t = ggml_new_tensor_2d(ctx, type, k, n);
    ggml_backend_buffer_t buffer = ggml_backend_alloc_ctx_tensors_from_buft(ctx, packing);
    assert_non_null(buffer);
    ggml_backend_tensor_set(t, data, 0, ggml_nbytes(t));
    char *packed = take(ggml_nbytes(t));
    memcpy(packed, t->data, ggml_nbytes(t));
    ggml_backend_buffer_free(buffer);
    ggml_free(ctx);
    return packed;
}

static char *make_weights(s2k_format format, int32_t k, int32_t n)
{
    const s2k_format_info *info = s2k_format_of(format);
    char *data = quantise((enum ggml_type)info->gguf_type, k, n);
    if (info->interleaved == 1) return data;
    char *packed = pack((enum ggml_type)info->gguf_type, k, n, data);
    free(data);
    return packed;
}

/* What the reference unpacks is what ggml unpacks. */
static void formats_are_ggmls(void **state)
{
    const int32_t k = 768, n = 16;
    (void)state;
    for (int f = 0; f < S2K_N_FORMATS; f++) {
        const s2k_format_info *info = s2k_format_of((s2k_format)f);
        const enum ggml_type type = (enum ggml_type)info->gguf_type;
        char *file = quantise(type, k, n), *data = make_weights((s2k_format)f, k, n);
        float *expected = take((size_t)n * (size_t)k * sizeof(float)), got[768];
        assert_int_equal(ggml_row_size(type, k), info->block_bytes * (size_t)(k / info->block));
        ggml_get_type_traits(type)->to_float(file, expected, (int64_t)n * k);
        for (int32_t row = 0; data && row < n; row++) {
            info->unpack(data, k, row, got);
            for (int32_t i = 0; i < k; i++) {
                const double want = (double)expected[row * k + i];
                CHECK_CASE(fabs((double)got[i] - want) <= 1e-6 * (fabs(want) + 0.1),
                           "%s, row %d, weight %d: %g, expected %g", info->name, row, i,
                           (double)got[i], want);
            }
        }
        assert_int_equal(s2k_format_find(info->gguf_type, info->interleaved, k, n), f);
        assert_int_equal(
            s2k_format_find(info->gguf_type, info->interleaved, k + info->block / 2, n),
            S2K_NO_FORMAT);
        free(file);
        free(data);
        free(expected);
    }
    assert_int_equal(s2k_format_find(GGML_TYPE_Q4_K, 8, k, 12), S2K_NO_FORMAT);
    assert_int_equal(s2k_format_find(GGML_TYPE_Q2_K, 1, k, n), S2K_NO_FORMAT);
}

/* --- products ------------------------------------------------------------------------------------ */

typedef struct trial {
    int32_t k, n, m;
    float size; /* of the rows */
} trial;

/* out: [m][n], in two parts as two threads would. */
static void run(const s2k_products *p, const s2k_weights *w, const float *x, int32_t m, float *out)
{
    const int32_t end[] = { w->n / 2 / S2K_GRAIN * S2K_GRAIN, w->n };
    const int32_t n_groups = s2k_row_groups(p, m);
    void *rows = take(p->rows_bytes(w->k, m));
    void *scratch = take(p->scratch ? p->scratch(w->k, m) : 0);
    p->pack_rows(x, w->k, w->k, m, n_groups / 2, n_groups, rows);
    p->pack_rows(x, w->k, w->k, m, 0, n_groups / 2, rows);
    for (int32_t part = 0, at = 0; part < 2; at = end[part++])
        p->product(w, rows, m, at, end[part], out, w->n, scratch);
    free(rows);
    free(scratch);
}

static double bound_of(const s2k_products *p, const float *x, const float *w, int32_t k)
{
    double bound = 1e-30;
    for (int32_t at = 0; at < k; at += S2K_BLOCK) {
        double largest = 0.0;
        const int32_t end = k - at < S2K_BLOCK ? k : at + S2K_BLOCK;
        for (int32_t i = at; i < end; i++) largest = fmax(largest, fabs((double)x[i]));
        for (int32_t i = at; i < end; i++)
            bound += p->row_error * largest * fabs((double)w[i]) +
                     p->product_error * fabs((double)x[i] * (double)w[i]);
    }
    return bound;
}

static void check_trial(const s2k_products *p, s2k_format format, const trial *t)
{
    const size_t n_out = (size_t)t->m * (size_t)t->n;
    char *data = make_weights(format, t->k, t->n);
    if (!data) return;
    const s2k_weights w = { format, t->k, t->n, data };
    float *x = make_floats((size_t)t->m * (size_t)t->k, 9, t->size);
    memset(x, 0, (size_t)t->k * sizeof *x); /* a row of zeros too */
    float *out = take(n_out * sizeof *out), *expected = take(n_out * sizeof *out),
          *weight = take((size_t)t->k * sizeof *weight);
    run(p, &w, x, t->m, out);
    run(s2k_products_at(0), &w, x, t->m, expected);
    for (int32_t o = 0; o < t->n; o++) {
        s2k_format_of(format)->unpack(data, t->k, o, weight);
        for (int32_t r = 0; r < t->m; r++) {
            const ptrdiff_t at = (ptrdiff_t)r * t->n + o;
            const double off = fabs((double)out[at] - (double)expected[at]);
            CHECK_CASE(off <= bound_of(p, x + (ptrdiff_t)r * t->k, weight, t->k),
                       "%s, %s, k %d, %d rows, row %d, output %d: %g, expected %g", p->name,
                       s2k_format_of(format)->name, t->k, t->m, r, o, (double)out[at],
                       (double)expected[at]);
        }
    }
    for (int32_t r = 0; r < t->m; r++) /* a row has the same bits alone */
        run(p, &w, x + (ptrdiff_t)r * t->k, 1, expected + (ptrdiff_t)r * t->n);
    assert_memory_equal(expected, out, n_out * sizeof *out);
    x[t->k + 5 < t->m * t->k ? t->k + 5 : 5] = NAN; /* stays in its row */
    const size_t row = t->m > 1;
    run(p, &w, x, t->m, out);
    for (size_t i = 0; i < n_out; i++) {
        const bool is_row = i / (size_t)t->n == row;
        if (is_row && !p->keeps_nan) continue;
        CHECK_CASE(is_row ? isnan(out[i]) : memcmp(&out[i], &expected[i], sizeof *out) == 0,
                   "%s: a NaN in row %zu and output %zu is %g", p->name, row, i, (double)out[i]);
    }
    free(data);
    free(x);
    free(out);
    free(expected);
    free(weight);
}

static void check_products(const s2k_products *p, bool is_small)
{
    static const trial trials[] = {
        { 256, 40, 1, 1.0f },     { 768, 40, 4, 1e-6f },
        { 512, 24, 3, 1e6f },     { 256, 33, 2, 1.0f },
        { 512, 17, 5, 1e6f },     { 768, 50, 8, 1e-6f },
        { 256, 33, 9, 1.0f },     { 1280, 71, 35, 1e4f },
        { 768, 88, 75, 1.0f },    { 512, 83, 67, 1.0f },
        { 2304, 200, 103, 1.0f }, { 512, 136, 350, 1.0f }, /* several lots */
        { 11264, 16, 43, 1.0f },  { 896, 72, 13, 1.0f },
        { 4128, 40, 7, 1e3f }, /* one group of 32 past a whole panel */
    };
    for (int f = 0; f < S2K_N_FORMATS; f++) {
        if (!(p->formats & S2K_TAKES(f))) continue;
        for (size_t i = 0; i < COUNT_OF(trials); i++) {
            const trial *t = &trials[i];
            const s2k_format_info *info = s2k_format_of((s2k_format)f);
            const bool fits =
                t->m <= p->max_rows && t->n % info->interleaved == 0 && t->k % info->block == 0;
            if (fits && (!is_small || t->m < 40)) check_trial(p, (s2k_format)f, t);
        }
    }
}

static void every_variant_is_the_reference(void **state)
{
    const s2_cpu cpu = s2v_kernels_tested();
    const s2k_products *p;
    (void)state;
    for (size_t i = 0; (p = s2k_products_at(i)); i++)
        if (p->runs(&cpu)) check_products(p, i == 0);
}

static void emulated_variants_are_the_reference(void **state)
{
    (void)state;
    check_products(&emulated_words, true);
    check_products(&emulated_digits, true);
    check_products(&emulated_tiles_amx, true);
    check_products(&emulated_bytes, true);
    const s2_cpu cpu = s2_cpu_detect();
    if (s2_cpu_has_avx2_set(&cpu)) check_products(&emulated_nibbles, true); /* it packs with AVX2 */
    assert_int_equal(s2v_emulated_tiles.config.palette, 0);                 /* as it was before */
}

/* --- the choice ------------------------------------------------------------------------------------ */

static const s2_cpu haswell = { .avx2 = true, .fma = true, .f16c = true };
static const s2_cpu ice_lake = {
    .avx2 = true, .fma = true, .f16c = true, .avx512 = true, .avx512_vnni = true
};
static const s2_cpu sapphire_rapids = { .avx2 = true,
                                        .fma = true,
                                        .f16c = true,
                                        .avx512 = true,
                                        .avx512_vnni = true,
                                        .avx512_bf16 = true,
                                        .amx_bf16 = true,
                                        .amx_int8 = true };

static const char *chosen(const s2_cpu *cpu, bool is_packing_known, s2k_format format,
                          int32_t n_rows)
{
    const s2k_products *p =
        s2k_products_for(s2k_products_on(cpu, is_packing_known), format, n_rows);
    return p ? p->name : "ggml";
}

static void a_machine_gets_what_it_executes(void **state)
{
    (void)state;
    assert_string_equal(chosen(&haswell, true, S2K_Q4_K_BY_8, 1), "bytes-avx2");
    assert_string_equal(chosen(&haswell, true, S2K_Q6_K, 1000), "bytes-avx2");
    assert_string_equal(chosen(&haswell, true, S2K_Q4_K, 1), "ggml");
    assert_string_equal(chosen(&haswell, true, S2K_NO_FORMAT, 1), "ggml");
    assert_string_equal(chosen(&haswell, false, S2K_Q6_K, 1), "ggml");
    assert_string_equal(chosen(&haswell, true, S2K_Q8_0, 1), "ggml");
    assert_string_equal(chosen(&ice_lake, true, S2K_Q4_K_BY_8, 1), "nibbles-vnni");
    assert_string_equal(chosen(&ice_lake, true, S2K_Q6_K, 9), "nibbles-vnni");
    for (int32_t rows = 1; rows < 1000; rows *= 7) {
        assert_string_equal(chosen(&ice_lake, true, S2K_Q8_0, rows), "bytes-vnni");
        assert_string_equal(chosen(&ice_lake, true, S2K_Q4_0_BY_8, rows), "bytes-vnni");
        assert_string_equal(chosen(&ice_lake, true, S2K_Q5_K, rows), "bytes-vnni");
        assert_string_equal(chosen(&ice_lake, true, S2K_IQ4_XS, rows), "bytes-vnni");
        assert_string_equal(chosen(&ice_lake, false, S2K_Q8_0, rows), "ggml");
        assert_string_equal(chosen(&sapphire_rapids, true, S2K_Q8_0, rows), "ggml");
    }
    for (int missing = 0; missing < 3; missing++) { /* the kernel reads steps with F16C */
        s2_cpu less = haswell;
        *(bool *[]){ &less.f16c, &less.fma, &less.avx2 }[missing] = false;
        assert_string_equal(chosen(&less, true, S2K_Q4_K_BY_8, 1), "ggml");
        assert_string_equal(chosen(&less, true, S2K_Q6_K, 8), "ggml");
    }
    for (int known = 0; known < 2; known++) {
        assert_string_equal(chosen(&sapphire_rapids, known, S2K_Q4_K, 4), "words-vnni");
        assert_string_equal(chosen(&sapphire_rapids, known, S2K_Q4_K, 5), "digits-amx");
        assert_string_equal(chosen(&sapphire_rapids, known, S2K_Q6_K, 8), "digits-amx");
        assert_string_equal(chosen(&sapphire_rapids, known, S2K_Q6_K, 9), "tiles-amx");
        assert_string_equal(chosen(&sapphire_rapids, known, S2K_Q4_K_BY_8, 9), "ggml");
    }
    s2_cpu less = sapphire_rapids;
    less.amx_int8 = false; /* rows that are not words all their life are bytes */
    assert_string_equal(chosen(&less, true, S2K_Q6_K, 4), "nibbles-vnni");
}

/* The variants of a family cover all numbers of rows, for the same formats, which no other family of
 * the set has. */
static void sets_are_whole(void **state)
{
    static const s2_cpu *const machines[] = { &haswell, &ice_lake, &sapphire_rapids };
    (void)state;
    for (size_t i = 0; i < COUNT_OF(machines); i++) {
        const s2k_product_set *set = s2k_products_on(machines[i], true);
        uint32_t taken = 0;
        for (size_t f = 0; f < S2K_SET_MAX && set->family[f].by_rows[0]; f++) {
            const s2k_products *const *p = set->family[f].by_rows;
            assert_int_equal(p[0]->formats & taken, 0);
            taken |= p[0]->formats;
            for (; p[1]; p++) {
                assert_true(p[0]->max_rows < p[1]->max_rows);
                assert_int_equal(p[0]->formats, p[1]->formats);
            }
            assert_int_equal(p[0]->max_rows, S2K_ANY_ROWS);
            assert_int_equal(p[0]->piece % S2K_GRAIN, 0);
        }
    }
}

static void rows_keep_their_bits(void **state)
{
    (void)state;
    assert_int_equal(s2k_rows_with_same_bits(S2K_Q4_K, 1), 4);
    assert_int_equal(s2k_rows_with_same_bits(S2K_Q6_K, 4), 4);
    assert_int_equal(s2k_rows_with_same_bits(S2K_Q4_K, 5), 8);
    assert_int_equal(s2k_rows_with_same_bits(S2K_Q4_K, 9), S2K_ANY_ROWS);
    assert_int_equal(s2k_rows_with_same_bits(S2K_Q4_K_BY_8, 1), 4); /* on AMX as in the file */
    assert_int_equal(s2k_rows_with_same_bits(S2K_Q8_0, 1), 1);      /* by ggml on some machines */
    assert_int_equal(s2k_rows_with_same_bits(S2K_Q8_0, 9), S2K_ANY_ROWS);
    assert_int_equal(s2k_rows_with_same_bits(S2K_NO_FORMAT, 3), 3);
    assert_int_equal(s2k_rows_with_same_bits(S2K_NO_FORMAT, 8), 8);
    assert_int_equal(s2k_rows_with_same_bits(S2K_NO_FORMAT, 9), S2K_ANY_ROWS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(formats_are_ggmls),
        cmocka_unit_test(every_variant_is_the_reference),
        cmocka_unit_test(emulated_variants_are_the_reference),
        cmocka_unit_test(a_machine_gets_what_it_executes),
        cmocka_unit_test(sets_are_whole),
        cmocka_unit_test(rows_keep_their_bits),
    };
    if (s2v_devices_open(&devices, "CPU", NULL, 2, NULL) != S2P_OK) return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
