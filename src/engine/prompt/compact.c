/* compact.c - apply a plan: the only place where tokens leave a sequence.
 *
 * Hidden rows, positions and the cache of the layers that have already run are
 * gathered where they are, in one graph, with the same list of rows. Positions move
 * along unchanged unless the caller asks for new ones; then later layers see rows without gaps, and
 * the keys of layers that had run are rotated together, so that the next row follows both. Merges are
 * applied before. What the first layers will still add to a row (deepstack) moves with it.
 */
#include "engine/prompt/steps.h"

#include "engine/decoder/draw.h"

#include <stdlib.h>
#include <string.h>

/* index: rows to keep, all present. The KV cache of layers [first, last), and the hidden rows if requested. */
static s2p_status gather_layers(s2v_session *session, const int32_t *index, int32_t n,
                                int32_t first, int32_t last, bool has_rows, s2p_error *error)
{
    s2v_graph *graph = &session->graph;
    const s2v_rows *rows = &session->rows;
    if (first >= last && !has_rows) return S2P_OK;
    TRY(s2v_graph_begin(graph, error));
    struct ggml_context *ctx = graph->ctx;
    struct ggml_tensor *list = s2v_graph_input(graph, GGML_TYPE_I32, n, 1, index);
    if (has_rows) { /* copied out before any of them is written */
        struct ggml_tensor *kept = ggml_get_rows(ctx, s2v_rows_view(ctx, rows, 0, rows->n), list);
        s2v_graph_expand(graph, ggml_cpy(ctx, kept, s2v_rows_view(ctx, rows, 0, n)));
        for (int32_t i = 0; rows->has_deepstack && i < rows->deepstack->ne[2]; i++) {
            kept = ggml_get_rows(ctx, s2v_rows_deepstack(ctx, rows, i, 0, rows->n), list);
            s2v_graph_expand(graph, ggml_cpy(ctx, kept, s2v_rows_deepstack(ctx, rows, i, 0, n)));
        }
    }
    s2v_past_keep(&session->past, graph, first, last, rows->n, list, index);
    return s2v_graph_compute(graph, error);
}

s2p_status s2v_compact(s2v_session *session, const int32_t *keep, int32_t n_keep, int32_t n_layers,
                       s2p_error *error)
{
    s2v_rows *rows = &session->rows;
    int32_t *index = malloc((size_t)n_keep * sizeof *index);
    float *zeros = calloc((size_t)rows->hidden->ne[0], sizeof *zeros);
    s2p_status st = S2P_OK;
    if (!index || !zeros) st = s2_fail_memory(error, (size_t)n_keep * sizeof *index, "kept rows");
    for (int32_t i = 0; st == S2P_OK && i < n_keep; i++) index[i] = keep[i] >= 0 ? keep[i] : 0;

    /* Layers of the CPU and of the device apart: in one graph the scheduler would gather the past of one
     * on the other. The hidden rows are on the device of the first layer. */
    const int32_t border = session->engine->model.decoder.first_on_device;
    const int32_t here = border < n_layers ? border : n_layers;
    if (st == S2P_OK) st = gather_layers(session, index, n_keep, 0, here, border > 0, error);
    if (st == S2P_OK)
        st = gather_layers(session, index, n_keep, here, n_layers, border == 0, error);
    s2v_past_narrow(&session->past);
    if (st == S2P_OK) s2v_rows_move(rows, keep, n_keep);
    for (int32_t i = 0; st == S2P_OK && i < n_keep; i++)
        if (keep[i] < 0) {
            s2v_rows_set(rows, i, 1, zeros);
            for (int32_t d = 0; rows->has_deepstack && d < rows->deepstack->ne[2]; d++)
                s2v_rows_deepstack_set(rows, d, i, 1, zeros);
        }
    free(index);
    free(zeros);
    return st;
}

/* --- positions ---------------------------------------------------------------------- */

/* Attention sees only distances, so a layer whose keys all turn by the same angle computes the same for a
 * query that turned with them. In chunks: no more memory than a chunk of the prompt takes. */
s2p_status s2v_shift_layer(s2v_session *session, int32_t layer, int32_t shift, s2p_error *error)
{
    const s2v_decoder *decoder = &session->engine->model.decoder;
    const int32_t n_slots = s2v_past_length(&session->past, layer), most = session->options.n_batch;
    s2v_graph *graph = &session->graph;
    if (shift == 0) return S2P_OK;
    int32_t *by = malloc((size_t)most * sizeof *by);
    if (!by) return s2_fail_memory(error, (size_t)most * sizeof *by, "positions");
    for (int32_t i = 0; i < most; i++) by[i] = shift;
    s2p_status st = S2P_OK;
    for (int32_t at = 0, n; st == S2P_OK && at < n_slots; at += n) {
        n = n_slots - at < most ? n_slots - at : most;
        st = s2v_graph_begin(graph, error);
        if (st != S2P_OK) break;
        s2v_draw_shift(graph, decoder, &session->past, layer, at,
                       s2v_graph_input(graph, GGML_TYPE_I32, n, 1, by));
        st = s2v_graph_compute(graph, error);
    }
    if (st == S2P_OK) s2v_past_shift(&session->past, layer, shift);
    free(by);
    return st;
}

/* --- merging ------------------------------------------------------------------------ */

s2p_status s2v_merge_rows(s2v_session *session, const s2p_plan *plan, const int32_t *alive,
                          const int32_t *row, int32_t n, s2p_error *error)
{
    int32_t n_merges;
    const s2p_merge *merge = s2p_plan_merges(plan, &n_merges);
    if (n_merges == 0) return S2P_OK;
    const s2v_rows *rows = &session->rows;
    const size_t width = (size_t)rows->hidden->ne[0], size = (size_t)n * width;
    float *before = malloc(2 * size * sizeof *before);
    if (!before) return s2_fail_memory(error, 2 * size * sizeof *before, "merged rows");
    float *after = before + size;
    const int32_t n_deepstack = rows->has_deepstack ? (int32_t)rows->deepstack->ne[2] : 0;
    for (int32_t d = -1; d < n_deepstack; d++) { /* the rows, then what is added to them later */
        if (d < 0) s2v_rows_read(rows, row, n, before);
        for (int32_t i = 0; d >= 0 && i < n; i++)
            s2v_rows_deepstack_get(rows, d, row[i], 1, before + (size_t)i * width);
        memcpy(after, before, size * sizeof *after);
        for (int32_t m = 0; m < n_merges; m++) {
            float *into = after + (size_t)s2v_place_of(alive, n, merge[m].into) * width;
            const float *from = before + (size_t)s2v_place_of(alive, n, merge[m].from) * width;
            const float weight = (float)merge[m].weight;
            for (size_t k = 0; k < width; k++) into[k] += weight * from[k];
        }
        if (d < 0) s2v_rows_write(rows, row, n, after);
        for (int32_t i = 0; d >= 0 && i < n; i++)
            s2v_rows_deepstack_set(rows, d, row[i], 1, after + (size_t)i * width);
    }
    free(before);
    return S2P_OK;
}
