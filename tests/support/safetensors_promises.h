/* safetensors_promises.h - what is true of every safetensors file that was accepted. */
#ifndef TESTS_SAFETENSORS_PROMISES_H
#define TESTS_SAFETENSORS_PROMISES_H

#include "convert/safetensors.h"

#include <stdlib.h>
#include <string.h>

/* NULL, or the promise that is broken. Reads every byte of every tensor. */
static inline const char *safetensors_broken_promise(const s2v_safetensors *file, size_t n_bytes)
{
    const size_t n = s2v_safetensors_n_tensors(file);
    uint64_t end = 0;
    if (s2v_safetensors_n_bytes(file) != n_bytes) return "the size is the file's";
    if (s2v_safetensors_at(file, n)) return "there is nothing past the end";
    for (size_t i = 0; i < n; i++) {
        const s2v_st_tensor *t = s2v_safetensors_at(file, i);
        size_t width = 0;
        uint64_t n_values = 1;
        if (!t || !t->name[0]) return "every tensor has a name";
        if (!s2v_st_type_name(t->type, &width) || width == 0) return "every type is known";
        if (t->n_dims < 0 || t->n_dims > S2V_ST_MAX_DIMS) return "dimensions are within the limit";
        for (int d = 0; d < S2V_ST_MAX_DIMS; d++) n_values *= (uint64_t)t->shape[d];
        if (n_values != t->n_values || n_values * width != t->n_bytes) return "sizes add up";
        if (i > 0 && t->offset != end) return "no hole and no overlap";
        end = t->offset + t->n_bytes;
        if (end > n_bytes || t->offset < 10) return "data is inside the file";
        uint8_t *copy = malloc((size_t)t->n_bytes + 1);
        const bool is_read =
            copy && s2v_safetensors_read(file, t, 0, (size_t)t->n_bytes, copy, NULL) == S2P_OK;
        free(copy);
        if (!is_read) return "every byte can be read";
        if (s2v_safetensors_read(file, t, t->n_bytes, 1, &width, NULL) == S2P_OK)
            return "no byte past a tensor can be read";
    }
    return n == 0 || end == n_bytes ? NULL : "the tensors end with the file";
}

#endif /* TESTS_SAFETENSORS_PROMISES_H */
