/* recorded.c - files to the signals of a view, by the table of signals. */
#include "plan/recorded.h"

#include <stdlib.h>
#include <string.h>

#define ALIVE_MAX_BYTES ((size_t)S2P_MAX_TOKENS * sizeof(int64_t) + 65536u) /* and a header */

s2p_signal_id s2_signal_named(const char *name)
{
    size_t id = S2P_PIXELS + 1;
    while (id < S2P_N_SIGNALS && strcmp(s2p_signal_at(id)->name, name) != 0) id++;
    return (s2p_signal_id)id;
}

s2_sizes s2_recorded_sizes(const s2_recorded *r)
{
    const int32_t n = r->n_alive > 0 ? r->n_alive : r->grid.rows * r->grid.cols;
    const int64_t rows = (int64_t)r->image_start + n + r->n_after;
    return (s2_sizes){ r->grid, r->n_after > 0 && rows <= INT32_MAX ? (int32_t)rows : 0,
                       r->n_alive };
}

s2p_status s2_recorded_take_alive(s2_recorded *recorded, const s2_array *array, const char *path,
                                  s2p_error *error)
{
    const int64_t n_tokens = (int64_t)recorded->grid.rows * recorded->grid.cols;
    if ((array->type != S2_I32 && array->type != S2_I64) || array->n_dims != 1 ||
        array->count == 0 || array->count > (size_t)n_tokens)
        return s2_fail(error, S2P_EFORMAT,
                       "alive: '%.80s' is not a list of 1 to %lld tokens, int32 or int64", path,
                       (long long)n_tokens);
    int32_t *alive = malloc(array->count * sizeof *alive);
    if (!alive) return s2_fail_memory(error, array->count * sizeof *alive, path);
    const int32_t *narrow = array->data;
    const int64_t *wide = array->data;
    int64_t least = 0;
    for (size_t i = 0; i < array->count; i++) {
        const int64_t token = array->type == S2_I32 ? narrow[i] : wide[i];
        if (token < least || token >= n_tokens) {
            free(alive);
            return s2_fail(error, S2P_EFORMAT,
                           "alive: element %zu of '%.80s' is %lld; tokens ascend from 0 to %lld", i,
                           path, (long long)token, (long long)(n_tokens - 1));
        }
        alive[i] = (int32_t)token;
        least = token + 1;
    }
    free(recorded->alive);
    recorded->alive = alive;
    recorded->n_alive = (int32_t)array->count;
    return S2P_OK;
}

s2p_status s2_recorded_read_alive(s2_recorded *recorded, const char *path, s2p_error *error)
{
    s2_array array;
    s2p_error why = { S2P_OK, "" };
    s2p_status st = s2_npy_read(path, ALIVE_MAX_BYTES, &array, &why);
    if (st != S2P_OK) return s2_fail(error, st, "alive: %s", why.message);
    st = s2_recorded_take_alive(recorded, &array, path, error);
    s2_array_free(&array);
    return st;
}

static void forget(s2_tensor *tensor)
{
    free(tensor->data);
    *tensor = (s2_tensor){ .data = NULL };
}

s2p_status s2_recorded_read(s2_recorded *recorded, s2p_signal_id signal, const char *path,
                            s2p_error *error)
{
    const s2_sizes sizes = s2_recorded_sizes(recorded);
    const s2p_signal_info *info = s2p_signal_at(signal);
    forget(&recorded->signal[signal]);
    return s2_tensor_read(path, info->name, info->shape, &sizes, &recorded->signal[signal], error);
}

s2p_status s2_recorded_take(s2_recorded *recorded, s2p_signal_id signal, const s2_array *array,
                            const char *path, s2p_error *error)
{
    const s2_sizes sizes = s2_recorded_sizes(recorded);
    const s2p_signal_info *info = s2p_signal_at(signal);
    forget(&recorded->signal[signal]);
    return s2_tensor_of_array(array, path, info->name, info->shape, &sizes,
                              &recorded->signal[signal], error);
}

void s2_recorded_view(const s2_recorded *recorded, s2p_view *view)
{
    view->alive = recorded->alive;
    view->n_alive = recorded->n_alive;
    view->first_row = recorded->image_start;
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) {
        const s2_tensor *t = &recorded->signal[id];
        if (t->data)
            view->signal[id] = (s2p_signal){ t->data, { t->shape[0], t->shape[1], t->shape[2] } };
    }
}

void s2_recorded_free(s2_recorded *recorded)
{
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) free(recorded->signal[id].data);
    free(recorded->alive);
    *recorded = (s2_recorded){ .method = NULL };
}
