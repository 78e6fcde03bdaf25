/* halves.h - F16 and BF16 in plain C. */
#ifndef S2_ENGINE_TOWER_HALVES_H
#define S2_ENGINE_TOWER_HALVES_H

#include "kernels/tower/kernels.h"

#include <string.h>

static inline float s2v_float_of_bits(uint32_t bits)
{
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static inline uint32_t s2v_bits_of_float(float f)
{
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return bits;
}

static inline float s2v_float_of_bf16(uint16_t h) { return s2v_float_of_bits((uint32_t)h << 16); }

/* To nearest, ties to even; a NaN stays one. */
static inline uint16_t s2v_bf16_of_float(float f)
{
    const uint32_t bits = s2v_bits_of_float(f);
    if ((bits & 0x7fffffffu) > 0x7f800000u) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fffu + (bits >> 16 & 1)) >> 16);
}

/* The bits shifted into place are the value times 2^-112, denormals included, for one product
 * undoes that; only infinities and NaN need their exponent set. */
static inline float s2v_float_of_f16(uint16_t h)
{
    const uint32_t sign = (uint32_t)(h & 0x8000u) << 16, rest = (uint32_t)(h & 0x7fffu) << 13;
    if (rest >= 0x0f800000u) return s2v_float_of_bits(sign | rest | 0x7f800000u);
    return s2v_float_of_bits(sign | s2v_bits_of_float(s2v_float_of_bits(rest) * 0x1p112f));
}

/* Element i of an array of F32, F16 or BF16; need not be aligned. */
static inline float s2v_element_at(const void *data, s2v_element type, ptrdiff_t i)
{
    uint16_t half;
    float f;
    if (type == S2V_ELEMENT_F32) {
        memcpy(&f, (const char *)data + 4 * i, sizeof f);
        return f;
    }
    memcpy(&half, (const char *)data + 2 * i, sizeof half);
    return type == S2V_ELEMENT_F16 ? s2v_float_of_f16(half) : s2v_float_of_bf16(half);
}

/* Row r of [n_parts * n][k] of a source. */
static inline const void *s2v_source_row(const s2v_source *source, int32_t n, int32_t k, int32_t r)
{
    const size_t size = source->type == S2V_ELEMENT_F32 ? 4 : 2;
    return (const char *)source->part[r / n] + (size_t)(r % n) * (size_t)k * size;
}

#endif /* S2_ENGINE_TOWER_HALVES_H */
