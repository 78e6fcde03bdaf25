/* probe.c - queries, keys and attention of a layer, in addition to its own work.
 *
 * Only the requested rows are multiplied. A mean of queries is the query of the mean
 * row, since a projection is linear: one product instead of one for each row. Long
 * prompts go in chunks, attention in blocks of queries, so memory stays bounded.
 */
#include "engine/decoder/probe.h"

#include "engine/products/decoder_products.h"
#include "engine/decoder/draw.h"
#include "engine/decoder/sight.h"

#include <math.h>
#include <stdlib.h>

#define BLOCK_FLOATS (4 << 20) /* attention weights of one block: 16 MiB */

/* Rows [first, first + n) as the layer's projections see them. */
static struct ggml_tensor *draw_normed(const s2v_probed *on, const s2v_layer *layer, int32_t first,
                                       int32_t n)
{
    struct ggml_context *ctx = on->graph->ctx;
    return s2v_draw_rms_norm(ctx, s2v_rows_view(ctx, on->rows, first, n), layer->attn_norm,
                             on->decoder->p.rms_eps);
}

/* Something to be read once the graph is computed. Of a view, its memory has to stay. */
static void keep_output(s2v_graph *graph, struct ggml_tensor *tensor)
{
    ggml_set_output(tensor->view_src ? tensor->view_src : tensor);
    s2v_graph_expand(graph, tensor);
}

/* --- queries and keys --------------------------------------------------------------- */

/* Plain and rotated, of all rows, each as far as there is room for it. */
static s2p_status probe_keys(const s2v_probed *on, const s2v_layer *layer, s2v_decoder_probe *out,
                             s2p_error *error)
{
    const s2v_decoder_params *p = &on->decoder->p;
    s2v_graph *graph = on->graph;
    for (int32_t first = 0, n; first < on->rows->n; first += n) {
        const int32_t left = on->rows->n - first;
        n = left < on->n_batch ? left : on->n_batch;
        TRY(s2v_graph_begin(graph, error));
        struct ggml_tensor *x = draw_normed(on, layer, first, n);
        struct ggml_tensor *plain = s2v_draw_keys(graph, p, layer, &(s2v_product_rows){ .x = x });
        struct ggml_tensor *rotated = NULL;
        if (out->plain_key) keep_output(graph, plain);
        if (out->rotated_key) {
            rotated = s2v_draw_rope(graph->ctx, p, layer, plain,
                                    s2v_rows_positions(on->rows, graph, p->n_planes, first, n));
            keep_output(graph, rotated);
        }
        TRY(s2v_graph_compute(graph, error));
        const size_t at = (size_t)first * (size_t)(p->n_kv_heads * p->head_dim);
        if (out->plain_key) TRY(s2v_graph_read(plain, out->plain_key + at, error));
        if (rotated) TRY(s2v_graph_read(rotated, out->rotated_key + at, error));
    }
    return S2P_OK;
}

/* Of rows first_query and on, rotated. */
static s2p_status probe_queries(const s2v_probed *on, const s2v_layer *layer, int32_t first_query,
                                float *out, s2p_error *error)
{
    const s2v_decoder_params *p = &on->decoder->p;
    s2v_graph *graph = on->graph;
    for (int32_t first = first_query, n; first < on->rows->n; first += n) {
        const int32_t left = on->rows->n - first;
        n = left < on->n_batch ? left : on->n_batch;
        TRY(s2v_graph_begin(graph, error));
        struct ggml_tensor *x = draw_normed(on, layer, first, n);
        struct ggml_tensor *q = s2v_draw_queries(graph, p, layer, &(s2v_product_rows){ .x = x });
        q = s2v_draw_rope(graph->ctx, p, layer, q,
                          s2v_rows_positions(on->rows, graph, p->n_planes, first, n));
        keep_output(graph, q);
        TRY(s2v_graph_compute(graph, error));
        TRY(s2v_graph_read(q, out, error));
        out += (size_t)n * (size_t)(p->n_heads * p->head_dim);
    }
    return S2P_OK;
}

/* Queries of rows x [n_embd, n] that are in the graph being drawn, not rotated. */
static s2p_status probe_plain_queries(const s2v_probed *on, const s2v_layer *layer,
                                      struct ggml_tensor *x, float *out, s2p_error *error)
{
    s2v_graph *graph = on->graph;
    struct ggml_tensor *q =
        s2v_draw_queries(graph, &on->decoder->p, layer, &(s2v_product_rows){ .x = x });
    keep_output(graph, q);
    TRY(s2v_graph_compute(graph, error));
    return s2v_graph_read(q, out, error);
}

/* The normed rows of each mean are added up, one product for the rows of a chunk and all sums; then the
 * means are projected. out: [n_means][n_heads][head_dim]. */
static s2p_status probe_means(const s2v_probed *on, const s2v_layer *layer,
                              const s2v_decoder_request *request, float *out, s2p_error *error)
{
    const int32_t n_means = request->n_means, width = on->decoder->p.n_embd;
    const size_t n_floats = (size_t)n_means * (size_t)width;
    s2v_graph *graph = on->graph;
    double *sum = calloc(n_floats, sizeof *sum);
    float *mean = malloc(n_floats * sizeof *mean);
    float *factor = malloc((size_t)n_means * (size_t)on->n_batch * sizeof *factor);
    s2p_status st = S2P_OK;
    if (!sum || !mean || !factor)
        st = s2_fail_memory(error, n_floats * sizeof *sum, "mean queries");
    int32_t longest = 0;
    for (int32_t m = 0; m < n_means; m++)
        if (request->mean_rows[m] > longest) longest = request->mean_rows[m];
    for (int32_t first = 0, n; st == S2P_OK && first < longest; first += n) {
        n = longest - first < on->n_batch ? longest - first : on->n_batch;
        for (int32_t m = 0; m < n_means; m++)
            for (int32_t i = 0; i < n; i++)
                factor[m * n + i] = first + i < request->mean_rows[m] ? 1.0f : 0.0f;
        st = s2v_graph_begin(graph, error);
        if (st != S2P_OK) break;
        struct ggml_context *ctx = graph->ctx;
        struct ggml_tensor *of_chunk = s2v_graph_input(graph, GGML_TYPE_F32, n, n_means, factor);
        struct ggml_tensor *x = draw_normed(on, layer, first, n);
        struct ggml_tensor *product =
            ggml_mul_mat(ctx, ggml_cont(ctx, ggml_transpose(ctx, x)), of_chunk);
        keep_output(graph, product);
        st = s2v_graph_compute(graph, error);
        if (st == S2P_OK) st = s2v_graph_read(product, mean, error);
        for (size_t i = 0; st == S2P_OK && i < n_floats; i++) sum[i] += (double)mean[i];
    }
    if (st == S2P_OK) st = s2v_graph_begin(graph, error);
    if (st == S2P_OK) {
        for (size_t i = 0; i < n_floats; i++)
            mean[i] = (float)(sum[i] / request->mean_rows[i / (size_t)width]);
        struct ggml_tensor *x = s2v_graph_input(graph, GGML_TYPE_F32, width, n_means, mean);
        st = probe_plain_queries(on, layer, x, out, error);
    }
    free(sum);
    free(mean);
    free(factor);
    return st;
}

/* --- a layer --------------------------------------------------------------------- */

void s2v_decoder_probe_free(s2v_decoder_probe *probe)
{
    free(probe->last_query);
    free(probe->mean_query);
    free(probe->plain_key);
    free(probe->rotated_key);
    free(probe->query);
    *probe = (s2v_decoder_probe){ .query = NULL };
}

/* Allocate n rows of heads, if requested. */
static bool reserve_heads(float **out, bool is_asked, int32_t n, int32_t heads, int32_t head_dim)
{
    if (!is_asked || n == 0) return true;
    *out = malloc((size_t)n * (size_t)heads * (size_t)head_dim * sizeof **out);
    return *out != NULL;
}

s2p_status s2v_decoder_probe_layer(const s2v_probed *on, int32_t layer,
                                   const s2v_decoder_request *request, s2v_decoder_probe *out,
                                   s2p_error *error)
{
    const s2v_decoder *decoder = on->decoder;
    const s2v_layer *weights = &decoder->layers[layer];
    const int32_t heads = decoder->p.n_heads, kv_heads = decoder->p.n_kv_heads;
    const int32_t dim = decoder->p.head_dim, n = on->rows->n;
    const uint32_t needs = request->needs, attention = S2P_NEED_QUERY_ATTN | S2P_NEED_LAST_ATTN;
    const int32_t first_query = needs & S2P_NEED_QUERY_ATTN ? request->first_query : n - 1;
    s2v_decoder_probe p = { .query = NULL };
    s2p_status st = S2P_OK;
    if (!reserve_heads(&p.last_query, needs & S2P_NEED_LAST_QUERY, 1, heads, dim) ||
        !reserve_heads(&p.mean_query, needs & S2P_NEED_MEAN_QUERY, request->n_means, heads, dim) ||
        !reserve_heads(&p.plain_key, needs & S2P_NEED_PLAIN_KEY, n, kv_heads, dim) ||
        !reserve_heads(&p.rotated_key, needs & S2P_NEED_ROTATED_KEY, n, kv_heads, dim) ||
        !reserve_heads(&p.query, needs & attention, n - first_query, heads, dim))
        st = s2_fail(error, S2P_ENOMEM, "out of memory for queries and keys");
    if (st == S2P_OK && p.last_query) {
        st = s2v_graph_begin(on->graph, error);
        if (st == S2P_OK)
            st = probe_plain_queries(on, weights, draw_normed(on, weights, n - 1, 1), p.last_query,
                                     error);
    }
    if (st == S2P_OK && p.mean_query) st = probe_means(on, weights, request, p.mean_query, error);
    if (st == S2P_OK && (p.plain_key || p.rotated_key)) st = probe_keys(on, weights, &p, error);
    if (st == S2P_OK && p.query) st = probe_queries(on, weights, first_query, p.query, error);
    if (st != S2P_OK) s2v_decoder_probe_free(&p);
    *out = p;
    return st;
}

/* --- attention ------------------------------------------------------------------- */

/* Rows [first, first + n): they see the earlier turns, the rows before them and themselves. out: the mean
 * over heads, [n][rows.n]. */
static s2p_status probe_attention_block(const s2v_probed *on, int32_t layer, const float *query,
                                        int32_t first, int32_t n, float *out, s2p_error *error)
{
    const s2v_decoder_params *p = &on->decoder->p;
    const int32_t n_before = s2v_past_length(on->past, layer) - on->rows->n;
    s2v_graph *graph = on->graph;
    struct ggml_tensor *mask;
    TRY(s2v_graph_begin(graph, error));
    const s2v_sight sight = { .past = on->past,
                              .p = p,
                              .layer = layer,
                              .window = on->decoder->layers[layer].window,
                              .n_before = n_before,
                              .first = first,
                              .n = n,
                              .n_seen = s2v_sight_end(p, on->rows, first + n) };
    TRY(s2v_sight_mask(&sight, on->rows, graph, 0, &mask, error));
    struct ggml_context *ctx = graph->ctx;
    const int32_t n_slots = (int32_t)mask->ne[0];
    struct ggml_tensor *held =
        on->unrounded->n_held == layer + 1 ? on->unrounded->k : on->past->layer[layer].k;
    struct ggml_tensor *k = s2v_slots_view(ctx, held, 0, n_slots);
    if (k->type != GGML_TYPE_F32) k = ggml_cast(ctx, k, GGML_TYPE_F32);
    struct ggml_tensor *q =
        s2v_graph_input(graph, GGML_TYPE_F32, (int64_t)p->n_heads * p->head_dim, n, query);
    q = ggml_reshape_3d(ctx, q, p->head_dim, p->n_heads, q->ne[1]);
    q = ggml_permute(ctx, q, 0, 2, 1, 3);
    struct ggml_tensor *cached = s2v_draw_cached(ctx, p, k, n_slots);
    if (layer >= on->decoder->first_on_device) { /* strided, they are rounded there */
        cached = ggml_cont(ctx, cached);
        q = ggml_cont(ctx, q);
    }
    struct ggml_tensor *weight = ggml_mul_mat(ctx, cached, q); /* [slots, n, heads] */
    weight = ggml_soft_max_ext(ctx, weight, mask, p->score_scale, 0.0f);

    /* The prompt's slots, mean over heads, and zeros for the rows after the last one seen. */
    const int64_t n_seen = n_slots - n_before, n_heads = weight->ne[2];
    weight = ggml_view_3d(ctx, weight, n_seen, weight->ne[1], n_heads, weight->nb[1], weight->nb[2],
                          (size_t)n_before * weight->nb[0]);
    weight = ggml_cont(ctx, ggml_permute(ctx, weight, 1, 2, 0, 3)); /* heads first */
    weight = ggml_scale(ctx, ggml_sum_rows(ctx, weight), 1.0f / (float)n_heads);
    weight = ggml_reshape_2d(ctx, weight, n_seen, weight->ne[2]);
    if (n_seen < on->rows->n) weight = ggml_pad(ctx, weight, (int)(on->rows->n - n_seen), 0, 0, 0);
    keep_output(graph, weight);
    TRY(s2v_graph_compute(graph, error));
    return s2v_graph_read(weight, out, error);
}

s2p_status s2v_decoder_probe_attention(const s2v_probed *on, int32_t layer, const float *query,
                                       int32_t first_query, float *out, s2p_error *error)
{
    const s2v_decoder_params *p = &on->decoder->p;
    const size_t width = (size_t)p->n_heads * (size_t)p->head_dim;
    const int32_t n_rows = on->rows->n, n_batch = on->n_batch;
    int64_t block = BLOCK_FLOATS / ((int64_t)s2v_past_length(on->past, layer) * p->n_heads);
    if (block > n_batch) block = n_batch; /* the mask has no more room */
    if (block < 1) block = 1;
    for (int32_t i = 0; i < n_rows - first_query; i += (int32_t)block) {
        const int32_t left = n_rows - first_query - i;
        TRY(probe_attention_block(on, layer, query + (size_t)i * width, first_query + i,
                                  left < block ? left : (int32_t)block,
                                  out + (size_t)i * (size_t)n_rows, error));
    }
    return S2P_OK;
}

/* --- the final norm -------------------------------------------------------------- */

s2p_status s2v_decoder_probe_normed(const s2v_probed *on, float *out, s2p_error *error)
{
    const s2v_decoder *decoder = on->decoder;
    const int32_t n_rows = on->rows->n, n_batch = on->n_batch;
    s2v_graph *graph = on->graph;
    for (int32_t at = 0; at < n_rows; at += n_batch) {
        const int32_t n = n_rows - at < n_batch ? n_rows - at : n_batch;
        TRY(s2v_graph_begin(graph, error));
        struct ggml_tensor *x = s2v_rows_view(graph->ctx, on->rows, at, n);
        x = s2v_draw_rms_norm(graph->ctx, x, decoder->output_norm, decoder->p.rms_eps);
        keep_output(graph, x);
        TRY(s2v_graph_compute(graph, error));
        TRY(s2v_graph_read(x, out + (size_t)at * (size_t)decoder->p.n_embd, error));
    }
    return S2P_OK;
}
