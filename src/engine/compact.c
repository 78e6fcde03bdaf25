/* compact.c - apply a plan: the only place where tokens leave a sequence.
 *
 * Hidden rows, positions and the cache of the layers that have already run are
 * gathered on the device, in one graph, with the same list of rows. Positions move
 * along unchanged.
 */
#include "engine/session.h"

/* Gather rows of `from` and put them at the start of `to`, which may be the same memory: the rows
 * are copied out before anything is written. */
static void gather(s2v_graph *graph, struct ggml_tensor *from, struct ggml_tensor *index,
                   struct ggml_tensor *to)
{
    struct ggml_tensor *rows = ggml_get_rows(graph->ctx, from, index);
    s2v_graph_expand(graph, ggml_cpy(graph->ctx, rows, to));
}

s2p_status s2v_compact(s2v_session *session, const int32_t *keep, int32_t n_keep, int32_t n_layers,
                       s2p_error *error)
{
    s2v_graph *graph = &session->graph;
    s2v_rows *rows = &session->rows;
    s2v_kv *kv = &session->kv;
    s2p_status st = s2v_graph_begin(graph, error);
    if (st != S2P_OK) return st;

    struct ggml_context *ctx = graph->ctx;
    struct ggml_tensor *index = s2v_graph_input(graph, GGML_TYPE_I32, n_keep, 1, keep);
    gather(graph, s2v_rows_view(ctx, rows, 0, rows->n), index, s2v_rows_view(ctx, rows, 0, n_keep));
    for (int32_t i = 0; i < n_layers; i++) {
        const int32_t first = kv->n_cells[i] - rows->n; /* the prompt's rows are the last cells */
        gather(graph, s2v_kv_rows(ctx, kv->k[i], first, rows->n), index,
               s2v_kv_rows(ctx, kv->k[i], first, n_keep));
        gather(graph, s2v_kv_rows(ctx, kv->v[i], first, rows->n), index,
               s2v_kv_rows(ctx, kv->v[i], first, n_keep));
    }
    st = s2v_graph_compute(graph, error);
    if (st != S2P_OK) return st;

    for (int32_t i = 0; i < n_layers; i++) kv->n_cells[i] -= rows->n - n_keep;
    for (int32_t i = 0; i < n_keep; i++) {
        rows->unit[i] = rows->unit[keep[i]];
        rows->token[i] = rows->token[keep[i]];
        for (int plane = 0; plane < 3; plane++) rows->pos[plane][i] = rows->pos[plane][keep[i]];
    }
    rows->n = n_keep;
    return S2P_OK;
}
