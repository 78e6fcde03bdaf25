/* quants.h - the quantized types of GGUF files, 32 weights of a row at a time as floats.
 *
 * Rows are as in the file: blocks of 32 weights, or of 256 for the types whose name ends in K. A file may
 * hold anything, so every pattern of bits has a value; a step that is infinite or NaN spreads to its block.
 */
#ifndef S2_KERNELS_TOWER_QUANTS_H
#define S2_KERNELS_TOWER_QUANTS_H

#include "kernels/decoder/formats.h"
#include "kernels/tower/kernels.h"

#define S2V_QUANT 32 /* weights that s2v_unpack_32 unpacks */

static inline bool s2v_is_quantized(s2v_element type) { return type >= S2V_ELEMENT_Q8_0; }

/* Weights of a block, and its bytes in the file. */
static inline int32_t s2v_quant_weights(s2v_element type)
{
    return type >= S2V_ELEMENT_Q4_K ? 256 : type >= S2V_ELEMENT_Q8_0 ? 32 : 1;
}

static inline size_t s2v_quant_bytes(s2v_element type)
{
    static const size_t bytes[] = {
        [S2V_ELEMENT_F32] = 4,    [S2V_ELEMENT_F16] = 2,    [S2V_ELEMENT_BF16] = 2,
        [S2V_ELEMENT_I8] = 1,     [S2V_ELEMENT_Q8_0] = 34,  [S2V_ELEMENT_Q4_0] = 18,
        [S2V_ELEMENT_Q4_1] = 20,  [S2V_ELEMENT_Q5_0] = 22,  [S2V_ELEMENT_Q5_1] = 24,
        [S2V_ELEMENT_Q4_K] = 144, [S2V_ELEMENT_Q5_K] = 176, [S2V_ELEMENT_Q6_K] = 210,
    };
    return bytes[type];
}

static inline float s2v_f16_at(const uint8_t *p)
{
    const uint16_t h = (uint16_t)(p[0] | p[1] << 8);
    return s2v_float_of_f16(h);
}

/* The whole numbers of block `first / 32` and their step, for the types that are no more than that:
 * Q8_0 and Q4_0. */
static inline float s2v_unpack_bytes(s2v_element type, const uint8_t *row, int32_t first,
                                     int8_t out[S2V_QUANT])
{
    const uint8_t *b = row + (size_t)(first / S2V_QUANT) * s2v_quant_bytes(type);
    if (type == S2V_ELEMENT_Q8_0)
        memcpy(out, b + 2, S2V_QUANT);
    else
        for (int i = 0; i < 16; i++) {
            out[i] = (int8_t)((b[2 + i] & 15) - 8);
            out[16 + i] = (int8_t)((b[2 + i] >> 4) - 8);
        }
    return s2v_f16_at(b);
}

/* Q4_1, Q5_0 and Q5_1: nibbles, a fifth bit each in 32 bits, a step and perhaps a least value. */
static inline void s2v_unpack_nibbles(s2v_element type, const uint8_t *row, int32_t first,
                                      float out[S2V_QUANT])
{
    const uint8_t *b = row + (size_t)(first / S2V_QUANT) * s2v_quant_bytes(type);
    const bool has_min = type != S2V_ELEMENT_Q5_0, has_fifth = type != S2V_ELEMENT_Q4_1;
    const float step = s2v_f16_at(b), least = has_min ? s2v_f16_at(b + 2) : -16.0f * step;
    const uint8_t *fifth = b + (has_min ? 4 : 2), *nibbles = fifth + (has_fifth ? 4 : 0);
    uint32_t fifths = 0;
    for (int i = 0; has_fifth && i < 4; i++) fifths |= (uint32_t)fifth[i] << 8 * i;
    for (int i = 0; i < 16; i++) {
        out[i] = (float)((nibbles[i] & 15u) | (fifths >> i & 1) << 4) * step + least;
        out[16 + i] = (float)(nibbles[i] >> 4 | (fifths >> (16 + i) & 1) << 4) * step + least;
    }
}

/* Q4_K and Q5_K: step * scale * nibble - min_step * min; Q5_K has a plane of fifth bits. */
static inline void s2v_unpack_mins(s2v_element type, const uint8_t *row, int32_t first,
                                   float out[S2V_QUANT])
{
    const uint8_t *b = row + (size_t)(first / 256) * s2v_quant_bytes(type);
    const int group = first % 256 / 32, shift = group % 2 * 4;
    const uint8_t *high = type == S2V_ELEMENT_Q5_K ? b + 16 : NULL;
    const uint8_t *low = b + (high ? 48 : 16) + group / 2 * 32;
    float scale, min;
    s2k_six_bits(b + 4, group, &scale, &min);
    scale *= s2v_f16_at(b);
    min *= s2v_f16_at(b + 2);
    for (int i = 0; i < S2V_QUANT; i++) {
        const int fifth = high ? (high[i] >> group & 1) << 4 : 0;
        out[i] = scale * (float)((low[i] >> shift & 15) | fifth) - min;
    }
}

static inline void s2v_unpack_q6_k(const uint8_t *row, int32_t first, float out[S2V_QUANT])
{
    const uint8_t *b = row + (size_t)(first / 256) * sizeof(q6_k_block);
    const int half = first % 256 / 128, quarter = first % 128 / 32;
    const uint8_t *low = b + half * 64 + quarter % 2 * 32, *high = b + 128 + half * 32;
    const uint8_t *scale = b + 192 + first % 256 / 16;
    const float step = s2v_f16_at(b + 208);
    for (int i = 0; i < S2V_QUANT; i++) {
        const int six = (low[i] >> quarter / 2 * 4 & 15) | (high[i] >> 2 * quarter & 3) << 4;
        out[i] = step * (float)(int8_t)scale[i / 16] * (float)(six - 32);
    }
}

/* Weights [first, first + 32) of a row of a quantized type; first is a multiple of 32. */
static inline void s2v_unpack_32(s2v_element type, const void *row, int32_t first,
                                 float out[S2V_QUANT])
{
    int8_t whole[S2V_QUANT];
    float step;
    switch (type) {
    case S2V_ELEMENT_Q8_0:
    case S2V_ELEMENT_Q4_0:
        step = s2v_unpack_bytes(type, row, first, whole);
        for (int i = 0; i < S2V_QUANT; i++) out[i] = (float)whole[i] * step;
        return;
    case S2V_ELEMENT_Q4_K:
    case S2V_ELEMENT_Q5_K:
        s2v_unpack_mins(type, row, first, out);
        return;
    case S2V_ELEMENT_Q6_K:
        s2v_unpack_q6_k(row, first, out);
        return;
    default:
        s2v_unpack_nibbles(type, row, first, out);
    }
}

#endif /* S2_KERNELS_TOWER_QUANTS_H */
