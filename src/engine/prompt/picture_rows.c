/* picture_rows.c - a picture becomes rows of the decoder.
 *
 * The first view goes straight from the tower into the rows. What comes after it (a
 * tiled picture and newlines) is put together here, view by view, so that the tower
 * never needs more memory than one view takes. What was made once is in the engine's cache.
 */
#include "engine/prompt/steps.h"

#include "base/clock.h"
#include "engine/prompt/trace.h"
#include "engine/vision/tower_cache.h"

#include <stdlib.h>
#include <string.h>

/* The tower on one view. tokens: [tokens of a view][n_embd] out; NULL: they are the first rows of
 * the picture. probe: NULL, or where its attention is added. */
static s2p_status run_view(s2v_prefill *pf, s2v_graph *tower, int32_t index, int32_t view,
                           float *tokens, s2v_tower_probe *probe)
{
    s2v_session *s = pf->s;
    const s2v_model *model = &s->engine->model;
    const s2v_frame *f = &pf->frames[index];
    const int32_t n = s2v_part_tokens(&f->part[0]);
    const int32_t n_threads =
        s->options.n_threads > 0 ? s->options.n_threads : s->engine->devices.n_threads;
    s2v_tower_request request =
        s2v_tower_ask(model->tower.n_blocks, probe != NULL, s->trace.show != NULL);
    struct ggml_tensor *seen = NULL;
    s2p_status st = s2v_graph_begin(tower, pf->error);
    if (st == S2P_OK) {
        const double from = s->progress.from, each = (s->progress.to - from) / f->n_views;
        tower->watch = s2v_progress_watch(s, "tower", from + each * view, from + each * (view + 1));
        seen = model->arch->vision(tower, model, f, view, &request);
        if (tokens)
            ggml_set_output(seen);
        else
            seen = ggml_cpy(tower->ctx, seen,
                            s2v_rows_view(tower->ctx, &s->rows, pf->first_row[index], n));
        s2v_graph_expand(tower, seen);
        for (int32_t i = 0; s->rows.has_deepstack && i < model->decoder.p.n_deepstack; i++)
            s2v_graph_expand(tower, ggml_cpy(tower->ctx, request.deepstack[i],
                                             s2v_rows_deepstack(tower->ctx, &s->rows, i,
                                                                pf->first_row[index], n)));
        st = s2v_graph_compute(tower, pf->error);
    }
    if (st != S2P_OK) return st;
    if (tokens) ggml_backend_tensor_get(seen, tokens, 0, ggml_nbytes(seen));

    for (int32_t i = 0; i < request.n; i++) {
        const s2v_tower_qk *qk = &request.block[i];
        const double start = s2_now_ms();
        s2v_tower_reading reading;
        TRY(s2v_tower_read(&model->tower, &s->backends, n_threads, qk, &reading, pf->error));
        pf->stats.probe_ms += s2_now_ms() - start;
        if (probe && i == 0) s2v_tower_probe_add(probe, f, request.raster, view, &reading);
        if (s->trace.show)
            st = s2v_trace_tower(&s->trace, f, request.raster, qk->block, &reading, pf->error);
        s2v_tower_reading_free(&reading);
        if (st != S2P_OK) return st;
    }
    return S2P_OK;
}

static bool is_newline(const s2v_frame *f, int32_t row)
{
    for (int32_t p = 0; p < f->n_parts; p++) {
        const s2v_part *part = &f->part[p];
        const int32_t at = row - part->first;
        if (at >= 0 && at < part->grid.rows * part->pitch && at % part->pitch < part->grid.cols)
            return false;
    }
    return true;
}

/* The first view goes straight into the rows; those after it are blended here, view by view. */
static s2p_status make_rows(s2v_prefill *pf, s2v_graph *tower, int32_t index,
                            s2v_tower_probe *probe)
{
    const s2v_session *s = pf->s;
    const s2v_frame *f = &pf->frames[index];
    const int32_t first = pf->first_row[index], n_first = s2v_part_tokens(&f->part[0]);
    const int32_t n_rest = f->n_rows - n_first, width = s->engine->model.decoder.p.n_embd;
    const size_t row_bytes = (size_t)width * sizeof(float);
    TRY(run_view(pf, tower, index, 0, NULL, probe));
    if (s->trace.show) s2v_trace_rows(s, "vis.merged", index, first, n_first);
    for (int32_t i = 0; s->trace.show && i < s->engine->model.decoder.p.n_deepstack; i++)
        s2v_trace_deepstack(s, "vis.deepstack", i, first, n_first);
    if (n_rest == 0) return S2P_OK;

    s2p_status st = S2P_OK;
    float *rest = calloc((size_t)n_rest, row_bytes), *tokens = malloc((size_t)n_first * row_bytes);
    if (!rest || !tokens)
        st = s2_fail_memory(pf->error, (size_t)n_rest * row_bytes, "the rows of a picture");
    for (int32_t view = 1; st == S2P_OK && view < f->n_views; view++) {
        st = run_view(pf, tower, index, view, tokens, probe);
        if (st == S2P_OK && s->trace.show)
            s->trace.show("vis.merged", index, tokens, n_first, width, s->trace.user);
        for (size_t i = 0; st == S2P_OK && i < f->n_blend; i++) {
            const s2v_blend *b = &f->blend[i];
            if (b->view != view) continue;
            const float *from = tokens + (ptrdiff_t)b->token * width;
            float *to = rest + (ptrdiff_t)(b->row - n_first) * width;
            for (int32_t k = 0; k < width; k++) to[k] += b->weight * from[k];
        }
    }
    for (int32_t row = n_first; st == S2P_OK && row < f->n_rows; row++)
        if (is_newline(f, row))
            s2v_tensor_get(s->engine->model.tower.newline,
                           rest + (ptrdiff_t)(row - n_first) * width, 0, row_bytes, tower->traffic);
    if (st == S2P_OK) s2v_rows_set(&s->rows, first + n_first, n_rest, rest);
    free(rest);
    free(tokens);
    return st;
}

s2p_status s2v_picture_rows(s2v_prefill *pf, s2v_graph *tower, int32_t index)
{
    s2v_session *s = pf->s;
    const s2v_engine *engine = s->engine;
    const s2v_frame *f = &pf->frames[index];
    const bool remembers = s2v_session_remembers(s);
    const int32_t n_deepstack = engine->model.decoder.p.n_deepstack;
    const ptrdiff_t n_values = (ptrdiff_t)f->n_rows * engine->model.decoder.p.n_embd;
    s2v_tower_known known;
    s2v_tower_probe unasked = { .attn = NULL }, *probe = NULL;
    if (pf->needs & (S2P_NEED_VISION_ATTN | S2P_NEED_VISION_KEY)) probe = &pf->tower_probe[index];
    if (remembers && s2v_tower_recall(engine->cache, &engine->model, f, probe != NULL, &known)) {
        const int32_t first = pf->first_row[index];
        const size_t n = (size_t)s2v_frame_tokens(f);
        s2v_rows_set(&s->rows, first, f->n_rows, known.rows);
        for (int32_t i = 0; s->rows.has_deepstack && i < n_deepstack; i++)
            s2v_rows_deepstack_set(&s->rows, i, first, f->n_rows, known.rows + (i + 1) * n_values);
        pf->stats.saved_ms += known.made_ms;
        s2p_status st = S2P_OK;
        if (probe) st = s2v_tower_probe_init(probe, f, known.key_dim, pf->error);
        if (probe && st == S2P_OK) {
            memcpy(probe->attn, known.attn, n * sizeof *probe->attn);
            memcpy(probe->key, known.key, n * (size_t)known.key_dim * sizeof *probe->key);
        }
        if (st == S2P_OK && s->trace.show)
            s2v_trace_rows(s, "vis.merged", index, first, s2v_part_tokens(&f->part[0]));
        s2v_cache_release(engine->cache, known.block);
        return st;
    }

    if (remembers && s->options.keep_attention && !probe) probe = &unasked;
    s2p_status st = S2P_OK;
    if (probe) st = s2v_tower_probe_init(probe, f, engine->model.tower.head_dim, pf->error);
    pf->stats.tower_runs++;
    const double start = s2_now_ms();
    if (st == S2P_OK) st = make_rows(pf, tower, index, probe);
    if (st == S2P_OK && remembers) {
        float *rows;
        s2v_cache_block *block =
            s2v_tower_room(engine->cache, &engine->model, f, probe, s2_now_ms() - start, &rows);
        if (block) s2v_rows_get(&s->rows, pf->first_row[index], f->n_rows, rows);
        for (int32_t i = 0; block && s->rows.has_deepstack && i < n_deepstack; i++)
            s2v_rows_deepstack_get(&s->rows, i, pf->first_row[index], f->n_rows,
                                   rows + (i + 1) * n_values);
        if (block) s2v_tower_keep(engine->cache, f, block);
    }
    if (st != S2P_OK && probe) s2v_tower_probe_free(probe);
    s2v_tower_probe_free(&unasked);
    return st;
}
