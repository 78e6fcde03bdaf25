/* source.h - the elements of weights as they are in the file. */
#ifndef S2_KERNELS_TOWER_SOURCE_H
#define S2_KERNELS_TOWER_SOURCE_H

#include "kernels/halves.h"
#include "kernels/tower/quants.h"

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

/* `count` inputs of a row of k from `first` on as floats, zeros after its end. They lie in one group of
 * 32, and the groups begin at the start of the row. */
static inline void s2v_inputs(const void *row, s2v_element type, int32_t first, int32_t count,
                              int32_t k, float *out)
{
    if (s2v_is_quantized(type)) { /* whole groups: k is whole blocks */
        float group[S2V_QUANT] = { 0 };
        if (first < k) s2v_unpack_32(type, row, first / S2V_QUANT * S2V_QUANT, group);
        memcpy(out, group + first % S2V_QUANT, (size_t)count * sizeof *out);
        return;
    }
    for (int32_t i = 0; i < count; i++)
        out[i] = first + i < k ? s2v_element_at(row, type, first + i) : 0.0f;
}

/* Row r of [n_parts * n][k] of a source, and its type. */
static inline const void *s2v_source_row(const s2v_source *source, int32_t n, int32_t k, int32_t r)
{
    const s2v_element type = source->type[r / n];
    const size_t size = (size_t)(k / s2v_quant_weights(type)) * s2v_quant_bytes(type);
    return (const char *)source->part[r / n] + (size_t)(r % n) * size;
}

static inline s2v_element s2v_source_type(const s2v_source *source, int32_t n, int32_t r)
{
    return source->type[r / n];
}

static inline bool s2v_source_is(const s2v_source *source, s2v_element type)
{
    for (int32_t i = 0; i < source->n_parts; i++)
        if (source->type[i] != type) return false;
    return true;
}

#endif /* S2_KERNELS_TOWER_SOURCE_H */
