/* formats.h - every block format the decoder's kernels read, described once.
 *
 * A format is a type of the GGUF file and the layout its rows have in memory: as in the file, or
 * packed by ggml, which interleaves eight rows for its own kernels. To add one: its block, its
 * function that unpacks a row to floats (the reference all kernels are tested against), a line in the
 * enum and in the table below; then one function in each variant that shall multiply with it.
 */
#ifndef S2_KERNELS_FORMATS_H
#define S2_KERNELS_FORMATS_H

#include "kernels/halves.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define S2K_BLOCK 256 /* weights of the larger blocks; of the smaller ones it is a whole number */
#define S2K_SMALL_BLOCK 32

typedef enum s2k_format {
    S2K_NO_FORMAT = -1, /* ggml multiplies with it */
    S2K_Q4_K,
    S2K_Q4_K_BY_8,
    S2K_Q6_K,
    S2K_Q5_K,
    S2K_IQ4_XS,
    S2K_Q8_0,
    S2K_Q4_0_BY_8,
    S2K_N_FORMATS
} s2k_format;

/* --- blocks -------------------------------------------------------------------------------- */

typedef struct q4_k_block {  /* 8 groups of 32 weights: step * scale * nibble - min_step * min */
    uint16_t step, min_step; /* F16 */
    uint8_t scales[12];      /* scales and mins, 6 bits each */
    uint8_t nibbles[4][32];  /* low ones: an even group; high ones: the odd group after it */
} q4_k_block;

typedef struct q4_k_by_8_block { /* one block of each of 8 rows */
    uint16_t step[8], min_step[8];
    uint8_t scales[8][12];     /* of each group: scales and mins of the 8 rows, 6 bits each */
    uint8_t nibbles[16][8][8]; /* 8 bytes of each row at a time */
} q4_k_by_8_block;

typedef struct q6_k_block { /* 16 groups of 16 weights: step * scale * (6 bits - 32) */
    uint8_t low[2][2][32], high[2][32];
    int8_t scale[16];
    uint16_t step;
} q6_k_block;

typedef struct q5_k_block { /* as q4_k_block, with a fifth bit for each weight */
    uint16_t step, min_step;
    uint8_t scales[12];
    uint8_t high[32]; /* bit g: of group g */
    uint8_t nibbles[4][32];
} q5_k_block;

typedef struct iq4_xs_block { /* 8 groups of 32 weights: step * (scale - 32) * s2k_iq4_level() */
    uint16_t step;
    uint16_t scales_high;   /* two bits of each scale */
    uint8_t scales_low[4];  /* four bits of each */
    uint8_t nibbles[8][16]; /* of a group: low ones the first 16 weights, high ones the others */
} iq4_xs_block;

typedef struct q8_0_block { /* 32 weights: step * byte */
    uint16_t step;
    int8_t byte[S2K_SMALL_BLOCK];
} q8_0_block;

typedef struct q4_0_by_8_block { /* one block of 32 weights of each of 8 rows */
    uint16_t step[8];
    uint8_t nibbles[2][8][8]; /* 8 bytes of each row at a time, as in iq4_xs; signed */
} q4_0_by_8_block;

_Static_assert(sizeof(q5_k_block) == 176 && sizeof(iq4_xs_block) == 136, "as in the GGUF format");
_Static_assert(sizeof(q8_0_block) == 34 && sizeof(q4_0_by_8_block) == 8 * 18,
               "as in the GGUF format");
_Static_assert(sizeof(q4_k_block) == 144 && sizeof(q6_k_block) == 210, "as in the GGUF format");
_Static_assert(sizeof(q4_k_by_8_block) == 8 * sizeof(q4_k_block), "as ggml packs it");

/* --- a row as floats ------------------------------------------------------------------------- */

/* Scale and min i of 8, of the 12 bytes that hold them. */
static inline void s2k_six_bits(const uint8_t *packed, int i, float *scale, float *min)
{
    const uint8_t *p = packed + i;
    *scale = (float)(i < 4 ? p[0] & 63 : (p[4] & 15) | p[-4] >> 6 << 4);
    *min = (float)(i < 4 ? p[4] & 63 : p[4] >> 4 | p[0] >> 6 << 4);
}

static inline void s2k_unpack_q4_k(const void *data, int32_t k, int32_t row, float *out)
{
    const q4_k_block *w = (const q4_k_block *)data + (ptrdiff_t)row * (k / S2K_BLOCK);
    for (int32_t i = 0; i < k; i++) {
        const q4_k_block *b = w + i / S2K_BLOCK;
        const int group = i % S2K_BLOCK / 32;
        float scale, min;
        s2k_six_bits(b->scales, group, &scale, &min);
        const int nibble = b->nibbles[group / 2][i % 32] >> group % 2 * 4 & 15;
        out[i] =
            s2v_float_of_f16(b->step) * scale * (float)nibble - s2v_float_of_f16(b->min_step) * min;
    }
}

static inline void s2k_unpack_q4_k_by_8(const void *data, int32_t k, int32_t row, float *out)
{
    const q4_k_by_8_block *w =
        (const q4_k_by_8_block *)data + (ptrdiff_t)(row / 8) * (k / S2K_BLOCK);
    const int r = row % 8;
    for (int32_t i = 0; i < k; i++) {
        const q4_k_by_8_block *b = w + i / S2K_BLOCK;
        const int group = i % S2K_BLOCK / 32, byte = group / 2 * 32 + i % 32;
        float scale, min;
        s2k_six_bits(b->scales[group], r, &scale, &min);
        const int nibble = b->nibbles[byte / 8][r][byte % 8] >> group % 2 * 4 & 15;
        out[i] = s2v_float_of_f16(b->step[r]) * scale * (float)nibble -
                 s2v_float_of_f16(b->min_step[r]) * min;
    }
}

static inline void s2k_unpack_q6_k(const void *data, int32_t k, int32_t row, float *out)
{
    const q6_k_block *w = (const q6_k_block *)data + (ptrdiff_t)row * (k / S2K_BLOCK);
    for (int32_t i = 0; i < k; i++) {
        const q6_k_block *b = w + i / S2K_BLOCK;
        const int half = i % S2K_BLOCK / 128, quarter = i % 128 / 32;
        const int low = b->low[half][quarter % 2][i % 32] >> quarter / 2 * 4 & 15;
        const int high = b->high[half][i % 32] >> 2 * quarter & 3;
        out[i] = s2v_float_of_f16(b->step) * (float)b->scale[i % S2K_BLOCK / 16] *
                 (float)((low | high << 4) - 32);
    }
}

static inline void s2k_unpack_q5_k(const void *data, int32_t k, int32_t row, float *out)
{
    const q5_k_block *w = (const q5_k_block *)data + (ptrdiff_t)row * (k / S2K_BLOCK);
    for (int32_t i = 0; i < k; i++) {
        const q5_k_block *b = w + i / S2K_BLOCK;
        const int group = i % S2K_BLOCK / 32;
        float scale, min;
        s2k_six_bits(b->scales, group, &scale, &min);
        const int low = b->nibbles[group / 2][i % 32] >> group % 2 * 4 & 15;
        const int high = b->high[i % 32] >> group & 1;
        out[i] = s2v_float_of_f16(b->step) * scale * (float)(low | high << 4) -
                 s2v_float_of_f16(b->min_step) * min;
    }
}

#define S2K_IQ4_LEVELS -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113

static inline int s2k_iq4_level(int nibble)
{
    static const int8_t level[16] = { S2K_IQ4_LEVELS };
    return level[nibble];
}

static inline void s2k_unpack_iq4_xs(const void *data, int32_t k, int32_t row, float *out)
{
    const iq4_xs_block *w = (const iq4_xs_block *)data + (ptrdiff_t)row * (k / S2K_BLOCK);
    for (int32_t i = 0; i < k; i++) {
        const iq4_xs_block *b = w + i / S2K_BLOCK;
        const int group = i % S2K_BLOCK / 32;
        const int low = b->scales_low[group / 2] >> group % 2 * 4 & 15;
        const int scale = (low | (b->scales_high >> 2 * group & 3) << 4) - 32;
        const int nibble = b->nibbles[group][i % 16] >> i % 32 / 16 * 4 & 15;
        out[i] = s2v_float_of_f16(b->step) * (float)scale * (float)s2k_iq4_level(nibble);
    }
}

static inline void s2k_unpack_q8_0(const void *data, int32_t k, int32_t row, float *out)
{
    const q8_0_block *w = (const q8_0_block *)data + (ptrdiff_t)row * (k / S2K_SMALL_BLOCK);
    for (int32_t i = 0; i < k; i++) {
        const q8_0_block *b = w + i / S2K_SMALL_BLOCK;
        out[i] = s2v_float_of_f16(b->step) * (float)b->byte[i % S2K_SMALL_BLOCK];
    }
}

static inline void s2k_unpack_q4_0_by_8(const void *data, int32_t k, int32_t row, float *out)
{
    const q4_0_by_8_block *w =
        (const q4_0_by_8_block *)data + (ptrdiff_t)(row / 8) * (k / S2K_SMALL_BLOCK);
    const int r = row % 8;
    for (int32_t i = 0; i < k; i++) {
        const q4_0_by_8_block *b = w + i / S2K_SMALL_BLOCK;
        const int nibble = b->nibbles[i % 16 / 8][r][i % 8] >> i % 32 / 16 * 4 & 15;
        out[i] = s2v_float_of_f16(b->step[r]) * (float)((nibble ^ 8) - 8);
    }
}

/* --- the table --------------------------------------------------------------------------------- */

typedef struct s2k_format_info {
    const char *name;
    int32_t gguf_type;   /* its number in files */
    int32_t interleaved; /* rows of one block: 1 as in the file, 8 as ggml packs it */
    int32_t block;       /* weights of one row in a block */
    size_t block_bytes;  /* of them */
    size_t step_at;      /* byte of the block where the F16 step is */
    bool has_mins;       /* a multiple of the group's min is subtracted from each weight */
    void (*unpack)(const void *data, int32_t k, int32_t row, float *out); /* out: [k] */
} s2k_format_info;

static inline const s2k_format_info *s2k_format_of(s2k_format format)
{
    static const s2k_format_info info[S2K_N_FORMATS] = {
        [S2K_Q4_K] = { "Q4_K", 12, 1, S2K_BLOCK, sizeof(q4_k_block), offsetof(q4_k_block, step),
                       true, s2k_unpack_q4_k },
        [S2K_Q4_K_BY_8] = { "Q4_K by 8", 12, 8, S2K_BLOCK, sizeof(q4_k_block), 0, true,
                            s2k_unpack_q4_k_by_8 },
        [S2K_Q6_K] = { "Q6_K", 14, 1, S2K_BLOCK, sizeof(q6_k_block), offsetof(q6_k_block, step),
                       false, s2k_unpack_q6_k },
        [S2K_Q5_K] = { "Q5_K", 13, 1, S2K_BLOCK, sizeof(q5_k_block), 0, true, s2k_unpack_q5_k },
        [S2K_IQ4_XS] = { "IQ4_XS", 23, 1, S2K_BLOCK, sizeof(iq4_xs_block), 0, false,
                         s2k_unpack_iq4_xs },
        [S2K_Q8_0] = { "Q8_0", 8, 1, S2K_SMALL_BLOCK, sizeof(q8_0_block), 0, false,
                       s2k_unpack_q8_0 },
        [S2K_Q4_0_BY_8] = { "Q4_0 by 8", 2, 8, S2K_SMALL_BLOCK, sizeof(q4_0_by_8_block) / 8, 0,
                            false, s2k_unpack_q4_0_by_8 },
    };
    return &info[format];
}

/* The format of [n][k] weights of this type and layout; S2K_NO_FORMAT: none has this shape. */
static inline s2k_format s2k_format_find(int32_t gguf_type, int32_t interleaved, int64_t k,
                                         int64_t n)
{
    for (int f = 0; f < S2K_N_FORMATS; f++) {
        const s2k_format_info *info = s2k_format_of((s2k_format)f);
        if (info->gguf_type == gguf_type && info->interleaved == interleaved &&
            k % info->block == 0 && n % interleaved == 0)
            return (s2k_format)f;
    }
    return S2K_NO_FORMAT;
}

#endif /* S2_KERNELS_FORMATS_H */
