/* gguf_types.c - the tensor types a file may use, and whether their values are finite.
 *
 * Numbers, names and block sizes are ggml's. Numbers it has taken out of the
 * format (4, 5, 31 to 33, 36 to 38) have no row here, so they are unknown.
 */
#include "gguf/gguf.h"

typedef struct type_row {
    const char *name;
    int64_t block;      /* elements */
    size_t block_bytes; /* 0: no such type */
} type_row;

static const type_row types[] = {
    [0] = { "F32", 1, 4 },         [1] = { "F16", 1, 2 },         [2] = { "Q4_0", 32, 18 },
    [3] = { "Q4_1", 32, 20 },      [6] = { "Q5_0", 32, 22 },      [7] = { "Q5_1", 32, 24 },
    [8] = { "Q8_0", 32, 34 },      [9] = { "Q8_1", 32, 36 },      [10] = { "Q2_K", 256, 84 },
    [11] = { "Q3_K", 256, 110 },   [12] = { "Q4_K", 256, 144 },   [13] = { "Q5_K", 256, 176 },
    [14] = { "Q6_K", 256, 210 },   [15] = { "Q8_K", 256, 292 },   [16] = { "IQ2_XXS", 256, 66 },
    [17] = { "IQ2_XS", 256, 74 },  [18] = { "IQ3_XXS", 256, 98 }, [19] = { "IQ1_S", 256, 50 },
    [20] = { "IQ4_NL", 32, 18 },   [21] = { "IQ3_S", 256, 110 },  [22] = { "IQ2_S", 256, 82 },
    [23] = { "IQ4_XS", 256, 136 }, [24] = { "I8", 1, 1 },         [25] = { "I16", 1, 2 },
    [26] = { "I32", 1, 4 },        [27] = { "I64", 1, 8 },        [28] = { "F64", 1, 8 },
    [29] = { "IQ1_M", 256, 56 },   [30] = { "BF16", 1, 2 },       [34] = { "TQ1_0", 256, 54 },
    [35] = { "TQ2_0", 256, 66 },   [39] = { "MXFP4", 32, 17 },    [40] = { "NVFP4", 64, 36 },
    [41] = { "Q1_0", 128, 18 },    [42] = { "Q2_0", 64, 18 },
};

const char *s2v_gguf_tensor_type(uint32_t type, int64_t *block, size_t *block_bytes)
{
    if (type >= sizeof types / sizeof *types || !types[type].name) return NULL;
    if (block) *block = types[type].block;
    if (block_bytes) *block_bytes = types[type].block_bytes;
    return types[type].name;
}

/* A float is NaN or infinite exactly when all bits of its exponent are set. */
static bool exponent_is_full(const uint8_t *value, size_t size, uint64_t exponent)
{
    uint64_t bits = 0;
    for (size_t i = 0; i < size; i++) bits |= (uint64_t)value[i] << (8 * i);
    return (bits & exponent) == exponent;
}

bool s2v_gguf_count_odd(const s2v_gguf_tensor *tensor, s2v_gguf_odd *out)
{
    static const struct {
        uint32_t type;
        size_t size;
        uint64_t exponent;
    } floats[] = { { 0, 4, 0x7f800000u },
                   { 1, 2, 0x7c00u },
                   { 28, 8, UINT64_C(0x7ff0000000000000) },
                   { 30, 2, 0x7f80u } };

    *out = (s2v_gguf_odd){ 0, 0 };
    for (size_t f = 0; f < sizeof floats / sizeof *floats; f++) {
        if (floats[f].type != tensor->type || !tensor->data) continue;
        const size_t size = floats[f].size;
        for (uint64_t i = 0; i < tensor->n_bytes / size; i++) {
            if (!exponent_is_full(tensor->data + i * size, size, floats[f].exponent)) continue;
            if (out->count++ == 0) out->first = i;
        }
        return true;
    }
    return false;
}
