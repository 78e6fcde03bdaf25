/* compact.c - apply a plan: the only place where tokens leave a sequence.
 *
 * Hidden rows, positions and the cache of the layers that have already run are
 * gathered on the device, in one graph, with the same list of rows. Positions move
 * along unchanged. Rows that take others in do so before.
 */
#include "engine/run/prefill.h"

#include <stdlib.h>
#include <string.h>

#define PLANES 5 /* unit, token and three positions of a row */

/* Gather rows of `from` and put them at the start of `to`, which may be the same memory: the rows
 * are copied out before anything is written. */
static void gather(s2v_graph *graph, struct ggml_tensor *from, struct ggml_tensor *index,
                   struct ggml_tensor *to)
{
    struct ggml_tensor *rows = ggml_get_rows(graph->ctx, from, index);
    s2v_graph_expand(graph, ggml_cpy(graph->ctx, rows, to));
}

/* index: rows to keep, all there. */
static s2p_status gather_rows(s2v_session *session, const int32_t *index, int32_t n,
                              int32_t n_layers, s2p_error *error)
{
    s2v_graph *graph = &session->graph;
    s2v_rows *rows = &session->rows;
    s2v_kv *kv = &session->kv;
    s2p_status st = s2v_graph_begin(graph, error);
    if (st != S2P_OK) return st;
    struct ggml_context *ctx = graph->ctx;
    struct ggml_tensor *list = s2v_graph_input(graph, GGML_TYPE_I32, n, 1, index);
    gather(graph, s2v_rows_view(ctx, rows, 0, rows->n), list, s2v_rows_view(ctx, rows, 0, n));
    for (int32_t i = 0; i < n_layers; i++) {
        const int32_t first = kv->n_cells[i] - rows->n; /* the prompt's rows are the last cells */
        gather(graph, s2v_kv_rows(ctx, kv->k[i], first, rows->n), list,
               s2v_kv_rows(ctx, kv->k[i], first, n));
        gather(graph, s2v_kv_rows(ctx, kv->v[i], first, rows->n), list,
               s2v_kv_rows(ctx, kv->v[i], first, n));
    }
    st = s2v_graph_compute(graph, error);
    for (int32_t i = 0; st == S2P_OK && i < n_layers; i++) kv->n_cells[i] -= rows->n - n;
    return st;
}

/* Zeros belong to the unit of the row before them; they are no token of it. */
static void move_planes(s2v_rows *rows, const int32_t *keep, int32_t n, int32_t *old)
{
    int32_t *plane[PLANES] = { rows->unit, rows->token, rows->pos[0], rows->pos[1], rows->pos[2] };
    for (int p = 0; p < PLANES; p++) {
        memcpy(old, plane[p], (size_t)rows->n * sizeof *old);
        for (int32_t i = 0; i < n; i++)
            plane[p][i] = keep[i] >= 0 ? old[keep[i]] : p > 0 ? -1 : i > 0 ? plane[p][i - 1] : 0;
    }
}

static void clear_blanks(const s2v_rows *rows, const int32_t *keep, int32_t n, const float *zeros)
{
    for (int32_t i = 0; i < n; i++)
        if (keep[i] < 0) s2v_rows_write(rows, &i, 1, zeros);
}

s2p_status s2v_compact(s2v_session *session, const int32_t *keep, int32_t n_keep, int32_t n_layers,
                       s2p_error *error)
{
    s2v_rows *rows = &session->rows;
    const size_t room = (size_t)rows->n + (size_t)n_keep;
    int32_t *index = malloc(room * sizeof *index); /* [n_keep], and one plane as it was */
    float *zeros = calloc((size_t)rows->hidden->ne[0], sizeof *zeros);
    s2p_status st = S2P_OK;
    if (!index || !zeros) {
        st = s2_fail_memory(error, room * sizeof *index, "kept rows");
    } else {
        for (int32_t i = 0; i < n_keep; i++) index[i] = keep[i] >= 0 ? keep[i] : 0;
        st = gather_rows(session, index, n_keep, n_layers, error);
    }
    if (st == S2P_OK) {
        move_planes(rows, keep, n_keep, index + n_keep);
        clear_blanks(rows, keep, n_keep, zeros);
        rows->n = n_keep;
    }
    free(index);
    free(zeros);
    return st;
}

/* --- merging ------------------------------------------------------------------------ */

s2p_status s2v_merge_rows(s2v_session *session, const s2p_plan *plan, const int32_t *alive,
                          const int32_t *row, int32_t n, s2p_error *error)
{
    int32_t n_merges;
    const s2p_merge *merge = s2p_plan_merges(plan, &n_merges);
    if (n_merges == 0) return S2P_OK;
    const size_t width = (size_t)session->rows.hidden->ne[0], size = (size_t)n * width;
    float *before = malloc(2 * size * sizeof *before);
    if (!before) return s2_fail_memory(error, 2 * size * sizeof *before, "merged rows");
    float *after = before + size;
    s2v_rows_read(&session->rows, row, n, before);
    memcpy(after, before, size * sizeof *after);
    for (int32_t m = 0; m < n_merges; m++) {
        float *into = after + (size_t)s2v_place_of(alive, n, merge[m].into) * width;
        const float *from = before + (size_t)s2v_place_of(alive, n, merge[m].from) * width;
        const float weight = (float)merge[m].weight;
        for (size_t k = 0; k < width; k++) into[k] += weight * from[k];
    }
    s2v_rows_write(&session->rows, row, n, after);
    free(before);
    return S2P_OK;
}
