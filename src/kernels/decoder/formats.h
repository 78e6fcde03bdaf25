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

#define S2K_BLOCK 256 /* weights, in every format */

typedef enum s2k_format {
    S2K_NO_FORMAT = -1, /* ggml multiplies with it */
    S2K_Q4_K,
    S2K_Q4_K_BY_8,
    S2K_Q6_K,
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

/* --- the table --------------------------------------------------------------------------------- */

typedef struct s2k_format_info {
    const char *name;
    int32_t gguf_type;   /* its number in files */
    int32_t interleaved; /* rows of one block: 1 as in the file, 8 as ggml packs it */
    size_t block_bytes;  /* of one row's S2K_BLOCK weights */
    size_t step_at;      /* byte of the block where the F16 step is */
    bool has_mins;       /* a multiple of the group's min is subtracted from each weight */
    void (*unpack)(const void *data, int32_t k, int32_t row, float *out); /* out: [k] */
} s2k_format_info;

static inline const s2k_format_info *s2k_format_of(s2k_format format)
{
    static const s2k_format_info info[S2K_N_FORMATS] = {
        [S2K_Q4_K] = { "Q4_K", 12, 1, sizeof(q4_k_block), offsetof(q4_k_block, step), true,
                       s2k_unpack_q4_k },
        [S2K_Q4_K_BY_8] = { "Q4_K by 8", 12, 8, sizeof(q4_k_block), 0, true, s2k_unpack_q4_k_by_8 },
        [S2K_Q6_K] = { "Q6_K", 14, 1, sizeof(q6_k_block), offsetof(q6_k_block, step), false,
                       s2k_unpack_q6_k },
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
            k % S2K_BLOCK == 0 && n % interleaved == 0)
            return (s2k_format)f;
    }
    return S2K_NO_FORMAT;
}

#endif /* S2_KERNELS_FORMATS_H */
