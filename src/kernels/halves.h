/* halves.h - F16 and BF16 in plain C. */
#ifndef S2_KERNELS_HALVES_H
#define S2_KERNELS_HALVES_H

#include <stdint.h>
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

/* To nearest, ties to even; NaN stays NaN. */
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

#endif /* S2_KERNELS_HALVES_H */
