/* readings.c - run layers up to a prune point, and read the signals of the method.
 *
 * Queries and keys are read before the layer they belong to runs, attention after it; a
 * method that looks ahead reads those of the layer that comes next. ERC is computed by
 * the layer's own graph, so that layer then runs alone.
 */
#include "engine/prompt/steps.h"

#include "base/clock.h"
#include "engine/prompt/trace.h"

#include <stdlib.h>

#define ATTENTION (S2P_NEED_LAST_ATTN | S2P_NEED_QUERY_ATTN)

void s2v_readings_free(s2v_readings *readings)
{
    s2v_decoder_probe_free(&readings->probe);
    free(readings->erc);
    free(readings->attention);
    free(readings->normed);
}

static s2p_status reserve_reading(const s2v_prefill *pf, size_t rows, size_t cols, float **out)
{
    *out = malloc(rows * cols * sizeof **out);
    if (!*out)
        return s2_fail_memory(pf->error, rows * cols * sizeof **out, "what a method looks at");
    return S2P_OK;
}

/* Queries and keys of a layer; and the rows whose attention will be needed. */
static s2p_status read_layer(s2v_prefill *pf, int32_t layer, s2v_readings *out)
{
    const double start = s2_now_ms();
    out->n_queries = pf->needs & S2P_NEED_QUERY_ATTN ? pf->n_text : 1;
    int32_t *ends = malloc((size_t)pf->n_units * sizeof *ends);
    if (!ends) return s2_fail(pf->error, S2P_ENOMEM, "out of memory");
    for (int32_t u = 0; u < pf->n_units; u++) {
        const s2v_unit *unit = &pf->unit[u];
        ends[u] = unit->n_alive > 0 ? unit->row[unit->n_alive - 1] + 1 : 1;
    }
    const s2v_decoder_request request = { .needs = pf->needs,
                                          .first_query = pf->s->rows.n - out->n_queries,
                                          .mean_rows = ends,
                                          .n_means = pf->n_units };
    const s2v_probed on = s2v_session_probed(pf->s);
    const s2p_status st = s2v_decoder_probe_layer(&on, layer, &request, &out->probe, pf->error);
    free(ends);
    pf->stats.probe_ms += s2_now_ms() - start;
    return st;
}

/* Of each part of each picture, in the order of its tokens. */
static s2p_status show_erc(const s2v_prefill *pf, const float *erc)
{
    const s2v_trace *trace = &pf->s->trace;
    for (int32_t i = 0; i < pf->prompt.n_images; i++)
        for (int32_t p = 0; p < pf->frames[i].n_parts; p++) {
            const s2v_part *part = &pf->frames[i].part[p];
            const int32_t n = s2v_part_tokens(part);
            float *tokens = malloc((size_t)n * sizeof *tokens);
            if (!tokens) return s2_fail_memory(pf->error, (size_t)n * sizeof *tokens, "a trace");
            for (int32_t t = 0; t < n; t++)
                tokens[t] = erc[pf->first_row[i] + s2v_part_row(part, t)];
            trace->show(p == 0 ? "erc" : "erc_tiles", i, tokens, n, 1, trace->user);
            free(tokens);
        }
    return S2P_OK;
}

s2p_status s2v_readings_take(s2v_prefill *pf, int32_t *at, int32_t layer, s2v_readings *out)
{
    s2v_session *s = pf->s;
    const bool reads_layer = pf->needs & S2V_READS_ATTENTION,
               is_ahead = s2p_method_about(pf->method)->ahead;
    const bool is_apart = (reads_layer && !is_ahead) || (pf->needs & S2P_NEED_ERC);
    if (is_apart && layer > *at) {
        TRY(s2v_trace_layers(s, *at, layer, NULL, pf->error));
        *at = layer;
    }
    if (reads_layer && !is_ahead) TRY(read_layer(pf, layer, out));
    if (pf->needs & S2P_NEED_ERC) TRY(reserve_reading(pf, (size_t)s->rows.n, 1, &out->erc));
    TRY(s2v_trace_layers(s, *at, layer + 1, out->erc, pf->error));
    *at = layer + 1;
    if (s->trace.show && out->erc && pf->stats.n_stages == 0) /* later stages have other rows */
        TRY(show_erc(pf, out->erc));

    /* What the rows attended to in the layer that has run, and how they look through the final norm. */
    const double start = s2_now_ms();
    const s2v_probed on = s2v_session_probed(s);
    const size_t n = (size_t)s->rows.n;
    if (pf->needs & ATTENTION) {
        TRY(reserve_reading(pf, (size_t)out->n_queries, n, &out->attention));
        TRY(s2v_decoder_probe_attention(&on, layer, out->probe.query, s->rows.n - out->n_queries,
                                        out->attention, pf->error));
    }
    if (pf->needs & S2P_NEED_NORMED) {
        TRY(reserve_reading(pf, n, (size_t)s->rows.hidden->ne[0], &out->normed));
        TRY(s2v_decoder_probe_normed(&on, out->normed, pf->error));
    }
    if (pf->needs & (ATTENTION | S2P_NEED_NORMED)) pf->stats.probe_ms += s2_now_ms() - start;
    return reads_layer && is_ahead ? read_layer(pf, layer + 1, out) : S2P_OK;
}
