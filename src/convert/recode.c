/* recode.c - rows in, rows out; plain numbers here, blocks by the codec.
 *
 * Threads take small groups of rows from a shared counter; which thread takes which does not change
 * a bit of the result. Every value is looked at on the way: a NaN, or a number the new type cannot
 * hold, would ruin the model's answers without a word.
 */
#include "convert/recode.h"

#include "base/cores.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define SLAB_VALUES ((int64_t)2 << 20) /* per slab; a longer row makes a larger slab */
#define GROUP_VALUES ((int64_t)16 << 10)
#define ALONE_VALUES ((int64_t)128 << 10) /* not worth a second thread */
#define MAX_THREADS 256

typedef struct slab { /* what the threads work on */
    const s2v_recoding *recoding;
    const s2v_codec *codec;
    const uint8_t *in;
    uint8_t *out;
    int64_t n_rows, group;
    size_t in_row, out_row;
    atomic_llong next;   /* row */
    atomic_uint largest; /* bits of the largest magnitude met */
} slab;

typedef struct worker {
    pthread_t thread;
    slab *slab;
    float *scratch;
} worker;

struct s2v_recoder {
    const s2v_codec *codec;
    int32_t n_threads;
    uint8_t *in, *out[2];
    size_t n_in, n_out; /* bytes of each */
    float *scratch;     /* one group per thread */
    size_t n_scratch;   /* floats */
};

/* --- memory ---------------------------------------------------------------------------------- */

s2p_status s2v_recoder_create(s2v_recoder **out, const s2v_codec *codec, int32_t n_threads,
                              s2p_error *error)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return s2_fail_memory(error, sizeof **out, "a converter");
    (*out)->codec = codec;
    if (n_threads < 1) n_threads = s2_cores_usable("");
    (*out)->n_threads = n_threads < MAX_THREADS ? n_threads : MAX_THREADS;
    return S2P_OK;
}

void s2v_recoder_free(s2v_recoder *recoder)
{
    if (!recoder) return;
    free(recoder->in);
    free(recoder->out[0]);
    free(recoder->out[1]);
    free(recoder->scratch);
    free(recoder);
}

static bool reserve_bytes(uint8_t **buffer, size_t *has, size_t n)
{
    if (n <= *has) return true;
    free(*buffer);
    *buffer = malloc(n);
    *has = *buffer ? n : 0;
    return *buffer != NULL;
}

static s2p_status reserve_all(s2v_recoder *r, size_t n_in, size_t n_out, size_t group,
                              s2p_error *error)
{
    const size_t n_floats = group * (size_t)r->n_threads;
    size_t second = r->n_out;
    if (!reserve_bytes(&r->in, &r->n_in, n_in) || !reserve_bytes(&r->out[0], &r->n_out, n_out) ||
        !reserve_bytes(&r->out[1], &second, n_out)) {
        r->n_out = 0; /* the two are of one size or of none */
        return s2_fail_memory(error, n_in + 2 * n_out, "rows of a tensor");
    }
    if (n_floats > r->n_scratch) {
        free(r->scratch);
        r->scratch = malloc(n_floats * sizeof *r->scratch);
        r->n_scratch = r->scratch ? n_floats : 0;
        if (!r->scratch) return s2_fail_memory(error, 4 * n_floats, "rows of a tensor");
    }
    return S2P_OK;
}

/* --- values ---------------------------------------------------------------------------------- */

/* Bits of the largest magnitude; as integers, so that NaN and infinity are the largest of all. */
static uint32_t largest_f32(const uint8_t *values, int64_t n)
{
    uint32_t largest = 0;
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, values + 4 * i, 4);
        bits &= 0x7fffffffu;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

/* The same for 16-bit types, in their own bits. */
static uint32_t largest_16(const uint8_t *values, int64_t n)
{
    uint16_t largest = 0;
    for (int64_t i = 0; i < n; i++) {
        uint16_t bits;
        memcpy(&bits, values + 2 * i, 2);
        bits &= 0x7fffu;
        largest = bits > largest ? bits : largest;
    }
    return largest;
}

/* Bits of the largest magnitude as F32. The values are looked at where they are shortest. */
static uint32_t largest_of(s2v_tensor_type type, const uint8_t *values, int64_t n)
{
    if (type == S2V_TENSOR_F32) return largest_f32(values, n);
    if (type == S2V_TENSOR_BF16) return largest_16(values, n) << 16; /* the upper half of an F32 */
    if (type == S2V_TENSOR_F16) /* a finite one fits every type, so only infinity counts */
        return largest_16(values, n) >= 0x7c00u ? 0x7f800000u : 0;
    return 0; /* blocks: nothing to see */
}

/* F16 and BF16 to F32 and back, for finite values; others are refused by check_largest. Without a
 * branch, so that compilers make it wide. */
static void widen_f16(const uint8_t *in, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        uint32_t bits;
        memcpy(&half, in + 2 * i, 2);
        const uint32_t magnitude = half & 0x7fffu;
        const uint32_t normal = (magnitude << 13) + (112u << 23); /* exponents start at 127, 15 */
        const float subnormal = (float)(int32_t)magnitude * 0x1p-24f;
        memcpy(&bits, &subnormal, sizeof bits);
        const uint32_t is_subnormal = 0u - (magnitude < 0x400u); /* all bits or none */
        bits = (bits & is_subnormal) | (normal & ~is_subnormal) | (half & 0x8000u) << 16;
        memcpy(out + i, &bits, sizeof bits);
    }
}

/* To the nearest, of two equally near the even one. */
static void narrow_to_f16(const float *in, uint8_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, in + i, sizeof bits);
        const uint32_t sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
        const uint32_t normal = (magnitude - (112u << 23) + 0xfffu + (magnitude >> 13 & 1u)) >> 13;
        float sum; /* the last bit of 0.5 is that of a subnormal F16: the addition rounds */
        memcpy(&sum, &magnitude, sizeof sum);
        sum += 0.5f;
        memcpy(&bits, &sum, sizeof bits);
        const uint32_t subnormal = bits - (126u << 23);
        const uint32_t is_subnormal = 0u - (magnitude < 113u << 23);
        const uint16_t half =
            (uint16_t)(sign | (subnormal & is_subnormal) | (normal & ~is_subnormal));
        memcpy(out + 2 * i, &half, sizeof half);
    }
}

static void widen_bf16(const uint8_t *in, float *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint16_t half;
        memcpy(&half, in + 2 * i, 2);
        const uint32_t bits = (uint32_t)half << 16;
        memcpy(out + i, &bits, sizeof bits);
    }
}

static void narrow_to_bf16(const float *in, uint8_t *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        uint32_t bits;
        memcpy(&bits, in + i, sizeof bits);
        const uint16_t half = (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1u)) >> 16);
        memcpy(out + 2 * i, &half, sizeof half);
    }
}

/* "f16", "q4_K": as people write types in small letters. */
static const char *small_name(s2v_tensor_type type, char out[16])
{
    const char *name = s2v_gguf_tensor_type(type, NULL, NULL);
    size_t n = 0;
    for (; name[n] && n < 15; n++) {
        const bool is_k = name[n] == 'K';
        out[n] = name[n] >= 'A' && name[n] <= 'Z' && !is_k ? (char)(name[n] + 32) : name[n];
    }
    out[n] = '\0';
    return out;
}

static s2p_status check_largest(const s2v_recoding *recoding, uint32_t bits, s2p_error *error)
{
    const bool is_finite = bits < 0x7f800000u;
    uint32_t limit = 0x477ff000u; /* 65520 and more become infinite in F16, the scale of blocks */
    if (recoding->to == S2V_TENSOR_F32 || recoding->from == recoding->to) limit = 0x7f800000u;
    if (recoding->to == S2V_TENSOR_BF16 && recoding->from != recoding->to) limit = 0x7f7f8000u;
    if (bits < limit) return S2P_OK;
    if (!is_finite)
        return s2_fail(error, S2P_EFORMAT, "tensor '%.64s' holds values that are not finite",
                       recoding->name);
    char name[16];
    float value;
    memcpy(&value, &bits, sizeof value);
    return s2_fail(error, S2P_EFORMAT, "tensor '%.64s' holds %g, too large for %s; use bf16 or f32",
                   recoding->name, (double)value, small_name(recoding->to, name));
}

static void raise_to(atomic_uint *largest, uint32_t bits)
{
    unsigned before = atomic_load(largest);
    while (bits > before && !atomic_compare_exchange_weak(largest, &before, bits)) continue;
}

/* --- threads --------------------------------------------------------------------------------- */

/* In place; sums of halves are halves. */
static void add_to(float *values, int64_t n, float added, bool is_half)
{
    for (int64_t i = 0; i < n; i++) {
        uint8_t half[2];
        values[i] += added;
        if (!is_half) continue;
        narrow_to_f16(values + i, half, 1);
        widen_f16(half, values + i, 1);
    }
}

static void recode_rows(slab *s, int64_t row, int64_t n, float *scratch)
{
    const s2v_recoding *recoding = s->recoding;
    const uint8_t *in = s->in + (size_t)row * s->in_row;
    uint8_t *out = s->out + (size_t)row * s->out_row;
    const int64_t n_values = n * recoding->n_per_row;
    const float *values = scratch;
    float *to = recoding->to == S2V_TENSOR_F32 ? (float *)(void *)out : scratch;
    if (recoding->from == S2V_TENSOR_F16)
        widen_f16(in, to, n_values);
    else if (recoding->from == S2V_TENSOR_BF16)
        widen_bf16(in, to, n_values);
    else if (recoding->added == 0.0f)
        values = (const float *)(const void *)in;
    else
        memcpy(to, in, (size_t)n_values * sizeof *to);
    if (recoding->added != 0.0f)
        add_to(to, n_values, recoding->added, recoding->from == S2V_TENSOR_F16);
    raise_to(&s->largest, largest_of(recoding->from, in, n_values));
    if (recoding->to == S2V_TENSOR_F16)
        narrow_to_f16(values, out, n_values);
    else if (recoding->to == S2V_TENSOR_BF16)
        narrow_to_bf16(values, out, n_values);
    else if (recoding->to != S2V_TENSOR_F32)
        s->codec->encode(recoding->to, values, n, recoding->n_per_row, out);
}

static void *recode_work(void *user)
{
    worker *w = user;
    slab *s = w->slab;
    for (;;) {
        const int64_t row = atomic_fetch_add(&s->next, s->group);
        if (row >= s->n_rows) return NULL;
        const int64_t left = s->n_rows - row;
        recode_rows(s, row, left < s->group ? left : s->group, w->scratch);
    }
}

/* Compute one slab while `before` (the slab before, complete) leaves through the sink. */
static s2p_status run_slab(s2v_recoder *r, slab *s, const void *before, size_t n_before,
                           s2p_error *error)
{
    const s2v_recoding *recoding = s->recoding;
    worker workers[MAX_THREADS];
    const bool alone = s->n_rows * recoding->n_per_row < ALONE_VALUES;
    const int32_t n_threads = alone ? 1 : r->n_threads;
    int32_t n_started = 1; /* the first is this thread */
    workers[0] = (worker){ .slab = s, .scratch = r->scratch };
    for (int32_t i = 1; i < n_threads; i++) {
        workers[i].slab = s;
        workers[i].scratch = r->scratch + (size_t)i * (size_t)(s->group * recoding->n_per_row);
    }
    while (n_started < n_threads &&
           pthread_create(&workers[n_started].thread, NULL, recode_work, &workers[n_started]) == 0)
        n_started++; /* with fewer threads it takes longer, no more */
    const s2p_status st =
        n_before ? recoding->sink(recoding->user, before, n_before, error) : S2P_OK;
    recode_work(&workers[0]);
    for (int32_t i = 1; i < n_started; i++) (void)pthread_join(workers[i].thread, NULL);
    return st == S2P_OK ? check_largest(recoding, atomic_load(&s->largest), error) : st;
}

/* --- a tensor -------------------------------------------------------------------------------- */

/* The rows of a slab: where they are, or fetched into our buffer. */
static s2p_status get_rows(s2v_recoder *r, const s2v_recoding *recoding, int64_t row, int64_t n,
                           size_t row_bytes, const uint8_t **out, s2p_error *error)
{
    *out = recoding->rows ? recoding->rows + (size_t)row * row_bytes : r->in;
    return recoding->rows ? S2P_OK : recoding->fetch(recoding->user, row, n, r->in, error);
}

static s2p_status copy_rows(s2v_recoder *r, const s2v_recoding *recoding, int64_t slab_rows,
                            size_t row_bytes, s2p_error *error)
{
    for (int64_t row = 0; row < recoding->n_rows; row += slab_rows) {
        const int64_t n = recoding->n_rows - row < slab_rows ? recoding->n_rows - row : slab_rows;
        const uint8_t *in = NULL;
        TRY(get_rows(r, recoding, row, n, row_bytes, &in, error));
        TRY(check_largest(recoding, largest_of(recoding->from, in, n * recoding->n_per_row),
                          error));
        TRY(recoding->sink(recoding->user, in, (size_t)n * row_bytes, error));
    }
    return S2P_OK;
}

s2p_status s2v_recode(s2v_recoder *r, const s2v_recoding *recoding, s2p_error *error)
{
    const size_t in_row = s2v_gguf_row_bytes(recoding->from, recoding->n_per_row);
    const size_t out_row = s2v_gguf_row_bytes(recoding->to, recoding->n_per_row);
    int64_t slab_rows = SLAB_VALUES / recoding->n_per_row,
            group = GROUP_VALUES / recoding->n_per_row;
    if (slab_rows < 1) slab_rows = 1;
    if (slab_rows > recoding->n_rows) slab_rows = recoding->n_rows;
    if (group < 1) group = 1;
    const bool is_copy = recoding->from == recoding->to && recoding->added == 0.0f;
    if (!is_copy && !r->codec && s2v_gguf_block(recoding->to) > 1)
        return s2_fail(error, S2P_EINVAL, "tensor '%.64s': no codec for %s", recoding->name,
                       s2v_gguf_tensor_type(recoding->to, NULL, NULL));
    TRY(reserve_all(r, recoding->rows ? 0 : (size_t)slab_rows * in_row,
                    is_copy ? 0 : (size_t)slab_rows * out_row,
                    is_copy ? 0 : (size_t)(group * recoding->n_per_row), error));
    if (is_copy) return copy_rows(r, recoding, slab_rows, in_row, error);

    size_t n_before = 0;
    int side = 0;
    for (int64_t row = 0; row < recoding->n_rows; row += slab_rows, side = !side) {
        const int64_t n = recoding->n_rows - row < slab_rows ? recoding->n_rows - row : slab_rows;
        slab s = { .recoding = recoding,
                   .codec = r->codec,
                   .out = r->out[side],
                   .n_rows = n,
                   .group = group };
        s.in_row = in_row;
        s.out_row = out_row;
        TRY(get_rows(r, recoding, row, n, in_row, &s.in, error));
        TRY(run_slab(r, &s, r->out[!side], n_before, error));
        n_before = (size_t)n * out_row;
    }
    return recoding->sink(recoding->user, r->out[!side], n_before, error);
}
