/* packing.c - one matrix after the other. */
#include "engine/model/packing.h"

#include "base/error.h"

#include <stdlib.h>

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

void *s2v_packed_data(const struct ggml_tensor *tensor)
{
    const uintptr_t at = (uintptr_t)ggml_get_data(tensor), unit = S2V_KERNEL_ALIGN;
    return (void *)((at + unit - 1) / unit * unit);
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

void s2v_origin_release(const s2v_origin *origin)
{
    for (int32_t part = 0; part < 3 && origin->part[part]; part++)
        s2v_gguf_release_tensor(origin->file, origin->part[part]);
}

/* --- in the background ------------------------------------------------------------- */

s2p_status s2v_packing_add(s2v_packing *packing, s2v_packing_matrix matrix, s2p_error *error)
{
    if (packing->n == packing->capacity) {
        const size_t capacity = packing->capacity ? 2 * packing->capacity : 256;
        s2v_packing_matrix *more = realloc(packing->matrix, capacity * sizeof *more);
        if (!more) return s2_fail_memory(error, capacity * sizeof *more, "the list of matrices");
        packing->matrix = more;
        packing->capacity = capacity;
    }
    packing->matrix[packing->n++] = matrix;
    return S2P_OK;
}

static void *pack_all(void *user)
{
    s2v_packing *packing = user;
    for (size_t i = 0; i < packing->n && !atomic_load(&packing->stop); i++) {
        const s2v_packing_matrix *m = &packing->matrix[i];
        s2v_packed weights = *m->weights;
        weights.data = s2v_packed_data(m->tensor);
        s2v_pack_part(m->kernels, &weights, m->origin, 0, 1);
        s2v_origin_release(m->origin);
        m->origin->is_packed = true;
    }
    /* Each read brought neighbouring pages along. */
    s2v_gguf_release_pages(packing->matrix[0].origin->file);
    return NULL;
}

void s2v_packing_start(s2v_packing *packing)
{
    if (packing->n == 0) return;
    atomic_store(&packing->stop, false);
    packing->is_running = pthread_create(&packing->thread, NULL, pack_all, packing) == 0;
}

void s2v_packing_stop(s2v_packing *packing)
{
    if (!packing->is_running) return;
    atomic_store(&packing->stop, true);
    (void)pthread_join(packing->thread, NULL);
    packing->is_running = false;
}

void s2v_packing_free(s2v_packing *packing)
{
    s2v_packing_stop(packing);
    free(packing->matrix);
    packing->matrix = NULL;
    packing->n = packing->capacity = 0;
}
