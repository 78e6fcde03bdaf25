/* packing.c - the parts of one matrix, or of those that are multiplied together. */
#include "engine/weights/packing.h"

#include "kernels/tower/quants.h"

#include <ggml.h>

/* S2V_N_ELEMENTS: no kernel reads it. */
static s2v_element element_of(uint32_t type)
{
    switch (type) {
    case GGML_TYPE_F32:
        return S2V_ELEMENT_F32;
    case GGML_TYPE_F16:
        return S2V_ELEMENT_F16;
    case GGML_TYPE_BF16:
        return S2V_ELEMENT_BF16;
    case GGML_TYPE_Q8_0:
        return S2V_ELEMENT_Q8_0;
    case GGML_TYPE_Q4_0:
        return S2V_ELEMENT_Q4_0;
    case GGML_TYPE_Q4_1:
        return S2V_ELEMENT_Q4_1;
    case GGML_TYPE_Q5_0:
        return S2V_ELEMENT_Q5_0;
    case GGML_TYPE_Q5_1:
        return S2V_ELEMENT_Q5_1;
    case GGML_TYPE_Q4_K:
        return S2V_ELEMENT_Q4_K;
    case GGML_TYPE_Q5_K:
        return S2V_ELEMENT_Q5_K;
    case GGML_TYPE_Q6_K:
        return S2V_ELEMENT_Q6_K;
    default:
        return S2V_N_ELEMENTS;
    }
}

const s2v_kernels *s2v_kernels_for(const s2v_kernels *floats, const s2v_kernels *quants,
                                   const s2v_gguf_tensor *t)
{
    const s2v_element type = element_of(t->type);
    return type == S2V_N_ELEMENTS ? NULL : s2v_is_quantized(type) ? quants : floats;
}

s2v_element s2v_origin_type(const s2v_origin *origin, int32_t n_parts)
{
    for (int32_t i = 1; i < n_parts; i++)
        if (origin->part[i]->type != origin->part[0]->type) return S2V_ELEMENT_F32;
    return element_of(origin->part[0]->type);
}

void s2v_pack_part(const s2v_kernels *kernels, const s2v_packed *packed, const s2v_origin *origin,
                   int i, int n)
{
    s2v_source source = { .n_parts = packed->n_parts };
    for (int32_t part = 0; part < packed->n_parts; part++) {
        source.part[part] = origin->part[part]->data;
        source.type[part] = element_of(origin->part[part]->type);
    }
    const int64_t n_panels = kernels->n_panels(packed);
    kernels->pack(packed, &source, (int32_t)(n_panels * i / n), (int32_t)(n_panels * (i + 1) / n));
}
