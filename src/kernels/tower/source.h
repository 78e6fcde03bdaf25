/* source.h - the elements of weights as they are in the file. */
#ifndef S2_KERNELS_TOWER_SOURCE_H
#define S2_KERNELS_TOWER_SOURCE_H

#include "kernels/halves.h"
#include "kernels/tower/kernels.h"

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

#endif /* S2_KERNELS_TOWER_SOURCE_H */
