/* picture_rows.c - a picture becomes rows of the decoder.
 *
 * The first view goes directly from the tower into the rows. The rest (a tiled picture and newlines) is
 * assembled here, view by view, so that the tower never needs more memory than for one view. Results
 * are in the engine's cache, except text between tiles, which is looked up.
 */
#include "engine/prompt/steps.h"

#include "base/clock.h"
#include "engine/decoder/draw.h"
#include "engine/prompt/trace.h"
#include "engine/vision/tower_cache.h"

#include <stdlib.h>
#include <string.h>

/* Stages of the tower, shown. */
static s2p_status show_stages(const s2v_prefill *pf, const s2v_frame *f,
                              const s2v_tower_request *request)
{
    for (int32_t i = 0; i < request->n_stages; i++)
        TRY(s2v_trace_stage(&pf->s->trace, f, request->raster, &request->stage[i], pf->error));
    return S2P_OK;
}

/* The tower on one view, with room for its stages if there is a trace. tokens: [tokens of a view][n_embd] out; NULL: they are the rows of part 0.
 * probe: NULL, or where its attention is added. */
static s2p_status run_stages(s2v_prefill *pf, s2v_graph *tower, int32_t index, int32_t view,
                             float *tokens, s2v_tower_probe *probe, s2v_tower_stage *stage)
{
    s2v_session *s = pf->s;
    const s2v_model *model = &s->engine->model;
    const s2v_frame *f = &pf->frames[index];
    const int32_t first = pf->first_row[index] + f->part[0].first, n = s2v_part_tokens(&f->part[0]);
    const int32_t n_threads =
        s->options.n_threads > 0 ? s->options.n_threads : s->engine->devices.n_threads;
    s2v_tower_request request =
        s2v_tower_ask(model->tower.n_blocks, probe != NULL, s->trace.show != NULL);
    request.stage = stage;
    struct ggml_tensor *seen = NULL;
    s2p_status st = s2v_graph_begin(tower, pf->error);
    if (st == S2P_OK) {
        const double from = s->progress.from, each = (s->progress.to - from) / f->n_views;
        tower->watch = s2v_progress_watch(s, "tower", from + each * view, from + each * (view + 1));
        seen = model->arch->vision(tower, model, f, view, &request);
        if (tokens)
            ggml_set_output(seen);
        else
            seen = ggml_cpy(tower->ctx, seen, s2v_rows_view(tower->ctx, &s->rows, first, n));
        s2v_graph_expand(tower, seen);
        for (int32_t i = 0; s->rows.has_deepstack && i < model->decoder.p.n_deepstack; i++)
            s2v_graph_expand(tower,
                             ggml_cpy(tower->ctx, request.deepstack[i],
                                      s2v_rows_deepstack(tower->ctx, &s->rows, i, first, n)));
        st = s2v_graph_compute(tower, pf->error);
    }
    if (st != S2P_OK) return st;
    if (tokens) ggml_backend_tensor_get(seen, tokens, 0, ggml_nbytes(seen));
    TRY(show_stages(pf, f, &request));

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

static s2p_status run_view(s2v_prefill *pf, s2v_graph *tower, int32_t index, int32_t view,
                           float *tokens, s2v_tower_probe *probe)
{
    if (!pf->s->trace.show) return run_stages(pf, tower, index, view, tokens, probe, NULL);
    const size_t n = (size_t)s2v_tower_stages(&pf->s->engine->model.tower);
    s2v_tower_stage *stage = calloc(n, sizeof *stage);
    if (!stage) return s2_fail_memory(pf->error, n * sizeof *stage, "stages of the tower");
    const s2p_status st = run_stages(pf, tower, index, view, tokens, probe, stage);
    free(stage);
    return st;
}

/* Rows that are neither tokens of the picture nor text get the model's newline. rows: [n_rows][width]. */
static s2p_status fill_newlines(const s2v_prefill *pf, const s2v_frame *f, float *rows,
                                size_t width, s2v_traffic *traffic)
{
    const struct ggml_tensor *newline = pf->s->engine->model.tower.newline;
    bool *is_token = newline ? calloc((size_t)f->n_rows, sizeof *is_token) : NULL;
    if (!newline) return S2P_OK;
    if (!is_token) return s2_fail_memory(pf->error, (size_t)f->n_rows, "the rows of a picture");
    for (int32_t p = 0; p < f->n_parts; p++)
        for (int32_t t = 0; t < s2v_part_tokens(&f->part[p]); t++)
            is_token[s2v_part_row(&f->part[p], t)] = true;
    for (int32_t row = 0; row < f->n_rows; row++)
        if (!is_token[row] && !(f->text && f->text[row] >= 0))
            s2v_tensor_get(newline, rows + (size_t)row * width, 0, width * sizeof *rows, traffic);
    free(is_token);
    return S2P_OK;
}

/* The first view goes straight into the rows; those after it are blended here, view by view. */
static s2p_status make_rows(s2v_prefill *pf, s2v_graph *tower, int32_t index,
                            s2v_tower_probe *probe)
{
    const s2v_session *s = pf->s;
    const s2v_frame *f = &pf->frames[index];
    const int32_t n_first = s2v_part_tokens(&f->part[0]), n_before = f->part[0].first;
    const int32_t first = pf->first_row[index] + n_before;
    const int32_t width = s->engine->model.decoder.p.n_embd;
    const size_t row_bytes = (size_t)width * sizeof(float);
    TRY(run_view(pf, tower, index, 0, NULL, probe));
    if (s->trace.show) s2v_trace_rows(s, "vis.merged", index, first, n_first);
    for (int32_t i = 0; s->trace.show && i < s->engine->model.decoder.p.n_deepstack; i++)
        s2v_trace_deepstack(s, "vis.deepstack", i, first, n_first);
    if (f->n_rows == n_first) return S2P_OK;

    s2p_status st = S2P_OK;
    float *rest = calloc((size_t)f->n_rows, row_bytes); /* part 0 is left out */
    float *tokens = malloc((size_t)n_first * row_bytes);
    if (!rest || !tokens)
        st = s2_fail_memory(pf->error, (size_t)f->n_rows * row_bytes, "the rows of a picture");
    for (int32_t view = 1; st == S2P_OK && view < f->n_views; view++) {
        st = run_view(pf, tower, index, view, tokens, probe);
        if (st == S2P_OK && s->trace.show)
            s->trace.show("vis.merged", index, tokens, n_first, width, s->trace.user);
        for (size_t i = 0; st == S2P_OK && i < f->n_blend; i++) {
            const s2v_blend *b = &f->blend[i];
            if (b->view != view) continue;
            const float *from = tokens + (ptrdiff_t)b->token * width;
            float *to = rest + (ptrdiff_t)s2v_part_row(&f->part[1], b->to) * width;
            for (int32_t k = 0; k < width; k++) to[k] += b->weight * from[k];
        }
    }
    if (st == S2P_OK) st = fill_newlines(pf, f, rest, (size_t)width, tower->traffic);
    const int32_t end = n_before + n_first, n_after = f->n_rows - end;
    if (st == S2P_OK && n_before > 0) s2v_rows_set(&s->rows, pf->first_row[index], n_before, rest);
    if (st == S2P_OK && n_after > 0)
        s2v_rows_set(&s->rows, first + n_first, n_after, rest + (ptrdiff_t)end * width);
    free(rest);
    free(tokens);
    return st;
}

/* Text between tiles is looked up like any other: the cache of towers does not know the decoder. */
static s2p_status write_text(s2v_prefill *pf, int32_t index)
{
    s2v_session *s = pf->s;
    const s2v_frame *f = &pf->frames[index];
    const size_t width = (size_t)s->engine->model.decoder.p.n_embd;
    int32_t n = 0;
    if (!f->text) return S2P_OK;
    int32_t *id = malloc(2 * (size_t)f->n_rows * sizeof *id), *row = id ? id + f->n_rows : NULL;
    for (int32_t i = 0; id && i < f->n_rows; i++) {
        if (f->text[i] < 0) continue;
        id[n] = f->text[i];
        row[n++] = pf->first_row[index] + i;
    }
    float *data = malloc(((size_t)n + 1) * width * sizeof *data);
    s2p_status st = S2P_OK;
    if (!id || !data)
        st = s2_fail_memory(pf->error, (size_t)n * width * sizeof *data, "text between tiles");
    if (st == S2P_OK && n > 0) st = s2v_graph_begin(&s->graph, pf->error);
    if (st == S2P_OK && n > 0) {
        struct ggml_tensor *ids = s2v_graph_input(&s->graph, GGML_TYPE_I32, n, 1, id);
        struct ggml_tensor *text = s2v_draw_embedding(&s->graph, &s->engine->model.decoder, ids);
        ggml_set_output(text);
        s2v_graph_expand(&s->graph, text);
        st = s2v_graph_compute(&s->graph, pf->error);
        if (st == S2P_OK) s2v_tensor_get(text, data, 0, ggml_nbytes(text), s->graph.traffic);
        if (st == S2P_OK) s2v_rows_write(&s->rows, row, n, data);
    }
    free(id);
    free(data);
    return st;
}

static s2p_status see_picture(s2v_prefill *pf, s2v_graph *tower, int32_t index)
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
            s2v_trace_rows(s, "vis.merged", index, first + f->part[0].first,
                           s2v_part_tokens(&f->part[0]));
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

s2p_status s2v_picture_rows(s2v_prefill *pf, s2v_graph *tower, int32_t index)
{
    TRY(see_picture(pf, tower, index));
    return write_text(pf, index);
}
