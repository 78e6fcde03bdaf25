/* trace.c - show a prefill, and mask rows instead of removing them. */
#include "engine/prompt/trace.h"

#include "engine/prompt/steps.h"

#include <stdlib.h>
#include <string.h>

void s2v_session_set_trace(s2v_session *session, s2v_trace_callback show, void *user)
{
    session->trace.show = show;
    session->trace.user = user;
}

s2p_status s2v_trace_tower(const s2v_trace *trace, const s2v_frame *frame, const int32_t *raster,
                           int32_t block, const s2v_tower_reading *reading, s2p_error *error)
{
    const bool has_rotation = reading->plain_key != NULL;
    const int32_t n_patches = reading->n_patches, dim = reading->head_dim;
    const struct {
        const char *name;
        const float *data;
        int32_t width;
    } shown[] = {
        { "vis.attn_received", reading->received, 1 },
        { "vis.attn_nq", reading->n_queries, 1 },
        { "vis.key_mean", has_rotation ? reading->plain_key : reading->key, dim },
        { "vis.key_rope_mean", has_rotation ? reading->key : NULL, dim },
    };
    const size_t n = (size_t)n_patches * (size_t)dim;
    float *ordered = malloc(n * sizeof *ordered);
    if (!ordered) return s2_fail_memory(error, n * sizeof *ordered, "keys of the tower");
    for (size_t i = 0; i < sizeof shown / sizeof *shown; i++) {
        if (!shown[i].data) continue;
        s2v_tower_in_raster(frame, raster, shown[i].data, shown[i].width, ordered);
        trace->show(shown[i].name, block, ordered, n_patches, shown[i].width, trace->user);
    }
    free(ordered);
    return S2P_OK;
}

s2p_status s2v_trace_stage(const s2v_trace *trace, const s2v_frame *frame, const int32_t *raster,
                           const s2v_tower_stage *stage, s2p_error *error)
{
    const int32_t width = (int32_t)stage->rows->ne[0], n = (int32_t)stage->rows->ne[1];
    const size_t n_class =
        (size_t)(n - frame->n_patches) * (size_t)width; /* values of a class row */
    const size_t size = (size_t)n * (size_t)width;
    float *rows = malloc(2 * size * sizeof *rows);
    if (!rows) return s2_fail_memory(error, 2 * size * sizeof *rows, "a stage of the tower");
    ggml_backend_tensor_get(stage->rows, rows, 0, size * sizeof *rows);
    memcpy(rows + size, rows, n_class * sizeof *rows);
    s2v_tower_in_raster(frame, raster, rows + n_class, width, rows + size + n_class);
    trace->show(stage->name, stage->index, rows + size, n, width, trace->user);
    free(rows);
    return S2P_OK;
}

void s2v_trace_rows(const s2v_session *s, const char *name, int32_t index, int32_t first, int32_t n)
{
    const int32_t width = s->engine->model.decoder.p.n_embd;
    float *data = malloc((size_t)n * (size_t)width * sizeof *data);
    if (!data) return;
    s2v_rows_get(&s->rows, first, n, data);
    s->trace.show(name, index, data, n, width, s->trace.user);
    free(data);
}

void s2v_trace_deepstack(const s2v_session *s, const char *name, int32_t index, int32_t first,
                         int32_t n)
{
    const int32_t width = s->engine->model.decoder.p.n_embd;
    float *data = malloc((size_t)n * (size_t)width * sizeof *data);
    if (!data) return;
    s2v_rows_deepstack_get(&s->rows, index, first, n, data);
    s->trace.show(name, index, data, n, width, s->trace.user);
    free(data);
}

/* What layer i made, and with deepstack what the next one gets. */
static void trace_made(const s2v_session *s, int32_t i, int32_t n)
{
    const size_t size = (size_t)n * (size_t)s->rows.hidden->ne[0];
    const int32_t width = (int32_t)s->rows.hidden->ne[0];
    if (!s->rows.has_deepstack || i >= s->engine->model.decoder.p.n_deepstack) {
        s2v_trace_rows(s, "h", i + 1, 0, n);
        return;
    }
    float *data = malloc(2 * size * sizeof *data);
    if (!data) return;
    s2v_rows_get(&s->rows, 0, n, data);
    s->trace.show("h_ds", i + 1, data, n, width, s->trace.user);
    s2v_rows_deepstack_get(&s->rows, i, 0, n, data + size);
    for (size_t k = 0; k < size; k++) data[k] -= data[size + k];
    s->trace.show("h", i + 1, data, n, width, s->trace.user);
    free(data);
}

s2p_status s2v_trace_layers(s2v_session *s, int32_t first, int32_t last, float *erc,
                            s2p_error *error)
{
    if (!s->trace.show) return s2v_run_layers(s, first, last, erc, error);
    const s2v_decoder_params *p = &s->engine->model.decoder.p;
    const s2v_probed on = s2v_session_probed(s);
    const s2v_decoder_request request = { .needs = S2P_NEED_ROTATED_KEY | S2P_NEED_QUERY_ATTN };
    const int32_t n = s->rows.n;
    const size_t n_bytes = (size_t)n * (size_t)n * sizeof(float);
    for (int32_t i = first; i < last; i++) {
        if (i == 0) s2v_trace_rows(s, "h", 0, 0, n);
        if (!s->trace.attention || !s2v_attends(p, i)) {
            TRY(s2v_run_layers(s, i, i + 1, erc, error));
        } else { /* its keys before it runs, all of its attention after it */
            s2v_decoder_probe probe;
            TRY(s2v_decoder_probe_layer(&on, i, &request, &probe, error));
            s->trace.show("k_rope", i, probe.rotated_key, n, p->n_kv_heads * p->head_dim,
                          s->trace.user);
            s2p_status st = S2P_OK;
            float *attention = malloc(n_bytes);
            if (!attention) st = s2_fail_memory(error, n_bytes, "the attention of all rows");
            if (st == S2P_OK) st = s2v_run_layers(s, i, i + 1, erc, error);
            if (st == S2P_OK)
                st = s2v_decoder_probe_attention(&on, i, probe.query, 0, attention, error);
            if (st == S2P_OK) s->trace.show("attn", i, attention, n, n, s->trace.user);
            free(attention);
            s2v_decoder_probe_free(&probe);
            if (st != S2P_OK) return st;
        }
        trace_made(s, i, n);
    }
    return S2P_OK;
}

s2p_status s2v_trace_mask(s2v_session *session, const int32_t *keep, int32_t n_keep,
                          s2p_error *error)
{
    const size_t n = (size_t)session->rows.n;
    uint8_t *masked = malloc(n);
    if (!masked) return s2_fail_memory(error, n, "masked rows");
    memset(masked, 1, n);
    for (int32_t i = 0; i < n_keep; i++) masked[keep[i]] = 0;
    free(session->rows.masked);
    session->rows.masked = masked;
    return S2P_OK;
}

void s2v_trace_unmask(s2v_session *session)
{
    free(session->rows.masked);
    session->rows.masked = NULL;
}
