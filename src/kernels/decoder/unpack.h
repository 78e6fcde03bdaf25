/* unpack.h - blocks of weights to BF16, 32 at a time, in the order of the row.
 *
 * Four-bit weights have 16 possible values in a block: these are computed and rounded once, as a table,
 * and the nibbles look them up.
 */
#ifndef S2_ENGINE_BLOCKS_UNPACK_H
#define S2_ENGINE_BLOCKS_UNPACK_H

#include "kernels/decoder/block_types.h"

#define TILE_BYTES 1024 /* 16 rows of 64 bytes: 32 BF16 */

/* To nearest, ties to even. */
S2V_INLINE words32 bf16_pair(lanes first, lanes second)
{
#if defined(__AVX512BF16__)
    return (words32)_mm512_cvtne2ps_pbh((__m512)second, (__m512)first);
#else
    words32 out;
    for (int i = 0; i < 16; i++) {
        out[i] = s2v_bf16_of_float(first[i]);
        out[16 + i] = s2v_bf16_of_float(second[i]);
    }
    return out;
#endif
}

/* table[i & 31] for each i. */
S2V_INLINE words32 look_up(words32 table, words32 i)
{
#if defined(__AVX512BW__)
    return (words32)_mm512_permutexvar_epi16((__m512i)i, (__m512i)table);
#else
    words32 out;
    for (int n = 0; n < 32; n++) out[n] = table[i[n] & 31];
    return out;
#endif
}

S2V_INLINE void store_words(char *to, words32 v) { memcpy(to, &v, sizeof v); }

/* Numbers that are wanted one by one in all lanes: from memory that costs nothing, from a register a
 * permutation each, which GCC prefers unless it may not know that they are the same. */
S2V_INLINE void spread(float out[16], lanes v)
{
    store(out, v);
    __asm__ volatile("" : "+m"(*(float(*)[16])out));
}

S2V_INLINE lanes count_up(void)
{
    return (lanes){ 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
}

/* n_tiles times 32 weights from `row` on, whole blocks, go to out, out + TILE_BYTES, ... */
S2V_INLINE void unpack_q4_k(const char *row, int32_t n_tiles, char *out)
{
    const q4_k_block *w = (const q4_k_block *)(const void *)row;
    for (int32_t i = 0; i < n_tiles; i += 8, w++) {
        float scale[16];
        spread(scale, unpack_scales(w));
        for (int g = 0; g < 8; g += 2, out += 2 * (ptrdiff_t)TILE_BYTES) {
            const words32 table = bf16_pair(count_up() * all(scale[g]) - all(scale[8 + g]),
                                            count_up() * all(scale[g + 1]) - all(scale[9 + g]));
            const words32 both = widen_bytes(load_bytes(w->nibbles[g / 2]));
            store_words(out, look_up(table, both & 15));
            store_words(out + TILE_BYTES, look_up(table, (both >> 4) | 16));
        }
    }
}

/* Weights as 0 to 63 of two groups. */
S2V_INLINE void store_groups(char *out, bytes32 six, const float *scale, const float *middle)
{
    bytes16 half[2];
    memcpy(half, &six, sizeof half);
    store_words(out, bf16_pair(float_of_bytes(half[0]) * all(scale[0]) - all(middle[0]),
                               float_of_bytes(half[1]) * all(scale[1]) - all(middle[1])));
}

S2V_INLINE void unpack_q6_k(const char *row, int32_t n_tiles, char *out)
{
    const q6_k_block *w = (const q6_k_block *)(const void *)row;
    for (int32_t i = 0; i < n_tiles; i += 8, w++) {
        const lanes scales = widen_signed(w->scale) * step_at(&w->step);
        float scale[16], middle[16];
        spread(scale, scales);
        spread(middle, scales * all(32.0f));
        for (int h = 0; h < 2; h++, out += 4 * (ptrdiff_t)TILE_BYTES) {
            const float *s = scale + 8 * h, *m = middle + 8 * h;
            const bytes32 a = load_bytes(w->low[h][0]), b = load_bytes(w->low[h][1]);
            const bytes32 two = load_bytes(w->high[h]);
            store_groups(out, (a & 15) | ((two & 3) << 4), s, m);
            store_groups(out + TILE_BYTES, (b & 15) | ((two & 12) << 2), s + 2, m + 2);
            store_groups(out + 2 * TILE_BYTES, (a >> 4) | (two & 48), s + 4, m + 4);
            store_groups(out + 3 * TILE_BYTES, (b >> 4) | ((two >> 2) & 48), s + 6, m + 6);
        }
    }
}

#endif /* S2_ENGINE_BLOCKS_UNPACK_H */
