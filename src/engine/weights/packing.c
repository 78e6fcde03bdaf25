/* packing.c - the parts of one matrix, or of those that are multiplied together. */
#include "engine/weights/packing.h"

#include <ggml.h>

bool s2v_origin_takes(const s2v_gguf_tensor *t)
{
    return t->type == GGML_TYPE_F32 || t->type == GGML_TYPE_F16 || t->type == GGML_TYPE_BF16;
}

s2v_element s2v_origin_type(const s2v_origin *origin)
{
    const uint32_t type = origin->part[0]->type;
    return type == GGML_TYPE_F32   ? S2V_ELEMENT_F32
           : type == GGML_TYPE_F16 ? S2V_ELEMENT_F16
                                   : S2V_ELEMENT_BF16;
}

void s2v_pack_part(const s2v_kernels *kernels, const s2v_packed *packed, const s2v_origin *origin,
                   int i, int n)
{
    s2v_source source = { .n_parts = packed->n_parts, .type = s2v_origin_type(origin) };
    for (int32_t part = 0; part < packed->n_parts; part++)
        source.part[part] = origin->part[part]->data;
    const int64_t n_panels = kernels->n_panels(packed);
    kernels->pack(packed, &source, (int32_t)(n_panels * i / n), (int32_t)(n_panels * (i + 1) / n));
}
