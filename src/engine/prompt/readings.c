/* readings.c - run layers up to a prune point, and read off what the method asks for.
 *
 * Queries and keys are read before the layer they belong to runs, attention after it; a
 * method that looks ahead reads those of the layer that comes next. ERC is computed by
 * the layer's own graph, so that layer then runs alone.
 */
#include "engine/prompt/readings.h"

#include "base/clock.h"
#include "engine/session/trace.h"
#include "engine/prompt/units.h"

#include <stdlib.h>

#define ATTENTION (S2P_NEED_LAST_ATTN | S2P_NEED_QUERY_ATTN)
#define OF_A_LAYER                                                                           \
    (S2P_NEED_LAST_QUERY | S2P_NEED_MEAN_QUERY | S2P_NEED_PLAIN_KEY | S2P_NEED_ROTATED_KEY | \
     ATTENTION)

void s2v_readings_free(s2v_readings *readings)
{
    s2v_decoder_probe_free(&readings->probe);
    free(readings->erc);
    free(readings->attention);
    free(readings->normed);
}

static s2p_status reserve_reading(const s2v_job *j, size_t rows, size_t cols, float **out)
{
    *out = malloc(rows * cols * sizeof **out);
    if (!*out)
        return s2_fail_memory(j->error, rows * cols * sizeof **out, "what a method looks at");
    return S2P_OK;
}

/* Queries and keys of a layer; and the rows whose attention will be asked for. */
static s2p_status read_layer(s2v_job *j, int32_t layer, s2v_readings *out)
{
    const double start = s2_now_ms();
    out->n_queries = j->needs & S2P_NEED_QUERY_ATTN ? j->n_text : 1;
    int32_t *ends = malloc((size_t)j->n_units * sizeof *ends);
    if (!ends) return s2_fail(j->error, S2P_ENOMEM, "out of memory");
    for (int32_t u = 0; u < j->n_units; u++) {
        const s2v_unit *unit = &j->unit[u];
        ends[u] = unit->n_alive > 0 ? unit->row[unit->n_alive - 1] + 1 : 1;
    }
    const s2v_decoder_request request = { .needs = j->needs,
                                          .first_query = j->s->rows.n - out->n_queries,
                                          .mean_rows = ends,
                                          .n_means = j->n_units };
    const s2p_status st = s2v_decoder_probe_layer(j->s, layer, &request, &out->probe, j->error);
    free(ends);
    j->stats.probe_ms += s2_now_ms() - start;
    return st;
}

/* What the rows attended to in the layer that has run, and how they look through the final norm. */
static s2p_status read_rows(s2v_job *j, int32_t layer, s2v_readings *out)
{
    const double start = s2_now_ms();
    s2v_session *s = j->s;
    const size_t n = (size_t)s->rows.n;
    if (j->needs & ATTENTION) {
        TRY(reserve_reading(j, (size_t)out->n_queries, n, &out->attention));
        TRY(s2v_decoder_probe_attention(s, layer, out->probe.query, s->rows.n - out->n_queries,
                                        out->attention, j->error));
    }
    if (j->needs & S2P_NEED_NORMED) {
        TRY(reserve_reading(j, n, (size_t)s->rows.hidden->ne[0], &out->normed));
        TRY(s2v_decoder_probe_normed(s, out->normed, j->error));
    }
    j->stats.probe_ms += s2_now_ms() - start;
    return S2P_OK;
}

s2p_status s2v_readings_take(s2v_job *j, int32_t *at, int32_t layer, s2v_readings *out)
{
    s2v_session *s = j->s;
    const bool reads_layer = j->needs & OF_A_LAYER, is_ahead = j->method->ahead;
    const bool is_apart = (reads_layer && !is_ahead) || (j->needs & S2P_NEED_ERC);
    if (is_apart && layer > *at) {
        TRY(s2v_trace_layers(s, *at, layer, NULL, j->error));
        *at = layer;
    }
    if (reads_layer && !is_ahead) TRY(read_layer(j, layer, out));
    if (j->needs & S2P_NEED_ERC) TRY(reserve_reading(j, (size_t)s->rows.n, 1, &out->erc));
    TRY(s2v_trace_layers(s, *at, layer + 1, out->erc, j->error));
    *at = layer + 1;
    const bool is_shown = s->trace.show && out->erc && j->stats.n_stages == 0;
    for (int32_t i = 0; is_shown && i < j->prompt.n_images; i++) /* later stages have other rows */
        s->trace.show("erc", i, out->erc + j->first_row[i], s2v_part_tokens(&j->frames[i].part[0]),
                      1, s->trace.user);

    if (j->needs & (ATTENTION | S2P_NEED_NORMED)) TRY(read_rows(j, layer, out));
    return reads_layer && is_ahead ? read_layer(j, layer + 1, out) : S2P_OK;
}
