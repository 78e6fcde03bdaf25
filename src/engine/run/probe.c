/* probe.c - queries, keys and attention of a layer, beside its own work.
 *
 * Only the rows asked for are multiplied. A mean of queries is the query of the mean
 * row, since a projection is linear: one product instead of one for each row. Long
 * prompts go in chunks, attention in blocks of queries, so memory stays bounded.
 */
#include "engine/run/probe.h"

#include "engine/model/draw.h"

#include <math.h>
#include <stdlib.h>

#define BLOCK_FLOATS (4 << 20) /* attention weights of one block: 16 MiB */

typedef struct probing {
    s2v_session *s;
    const s2v_decoder_params *p;
    const s2v_layer *layer;
    const s2v_probe_request *request;
    int32_t first_query;
    s2v_probe *out;
    double *sum;   /* [n_means][n_embd] normed rows, added up */
    float *factor; /* [n_means][n_batch] of each row of a chunk in each sum: 0 or 1 */
    float *mean;   /* [n_means][n_embd] */
    s2p_error *error;
} probing;

/* Rows [first, first + n) as the layer's projections see them. */
static struct ggml_tensor *draw_normed(const probing *b, int32_t first, int32_t n)
{
    struct ggml_context *ctx = b->s->graph.ctx;
    return s2v_draw_rms_norm(ctx, s2v_rows_view(ctx, &b->s->rows, first, n), b->layer->attn_norm,
                             b->p->rms_eps);
}

/* Something to be read once the graph is computed. Of a view, its memory has to stay. */
static void keep(s2v_graph *graph, struct ggml_tensor *tensor)
{
    ggml_set_output(tensor->view_src ? tensor->view_src : tensor);
    s2v_graph_expand(graph, tensor);
}

/* --- chunks ---------------------------------------------------------------------- */

static s2p_status probe_keys(probing *b, int32_t first, int32_t n)
{
    s2v_graph *graph = &b->s->graph;
    s2p_status st = s2v_graph_begin(graph, b->error);
    if (st != S2P_OK) return st;
    struct ggml_tensor *plain = s2v_draw_keys(graph->ctx, b->p, b->layer, draw_normed(b, first, n));
    struct ggml_tensor *rotated = NULL;
    if (b->out->plain_key) keep(graph, plain);
    if (b->out->rotated_key) {
        rotated = s2v_draw_rope(graph->ctx, b->p, plain, s2v_rows_positions(b->s, first, n));
        keep(graph, rotated);
    }
    const size_t at = (size_t)first * (size_t)(b->p->n_kv_heads * b->p->head_dim);
    st = s2v_graph_compute(graph, b->error);
    if (st == S2P_OK && b->out->plain_key)
        st = s2v_read_floats(plain, b->out->plain_key + at, b->error);
    if (st == S2P_OK && rotated) st = s2v_read_floats(rotated, b->out->rotated_key + at, b->error);
    return st;
}

static s2p_status probe_queries(probing *b, int32_t first, int32_t n)
{
    s2v_graph *graph = &b->s->graph;
    s2p_status st = s2v_graph_begin(graph, b->error);
    if (st != S2P_OK) return st;
    struct ggml_tensor *q = s2v_draw_queries(graph->ctx, b->p, b->layer, draw_normed(b, first, n));
    q = s2v_draw_rope(graph->ctx, b->p, q, s2v_rows_positions(b->s, first, n));
    keep(graph, q);
    const size_t at = (size_t)(first - b->first_query) * (size_t)(b->p->n_heads * b->p->head_dim);
    st = s2v_graph_compute(graph, b->error);
    return st == S2P_OK ? s2v_read_floats(q, b->out->query + at, b->error) : st;
}

/* Add the chunk's normed rows to each sum they belong to: one product for all sums. */
static s2p_status add_rows(probing *b, int32_t first, int32_t n)
{
    s2v_graph *graph = &b->s->graph;
    const int32_t n_means = b->request->n_means;
    s2p_status st = s2v_graph_begin(graph, b->error);
    if (st != S2P_OK) return st;
    for (int32_t m = 0; m < n_means; m++)
        for (int32_t i = 0; i < n; i++)
            b->factor[m * n + i] = first + i < b->request->mean_rows[m] ? 1.0f : 0.0f;
    struct ggml_context *ctx = graph->ctx;
    struct ggml_tensor *factor = s2v_graph_input(graph, GGML_TYPE_F32, n, n_means, b->factor);
    struct ggml_tensor *x = ggml_cont(ctx, ggml_transpose(ctx, draw_normed(b, first, n)));
    struct ggml_tensor *sum = ggml_mul_mat(ctx, x, factor);
    keep(graph, sum);
    st = s2v_graph_compute(graph, b->error);
    if (st == S2P_OK) st = s2v_read_floats(sum, b->mean, b->error);
    const size_t n_floats = (size_t)n_means * (size_t)b->p->n_embd;
    for (size_t i = 0; st == S2P_OK && i < n_floats; i++) b->sum[i] += (double)b->mean[i];
    return st;
}

typedef s2p_status (*chunk_function)(probing *b, int32_t first, int32_t n);

static s2p_status in_chunks(probing *b, chunk_function chunk, int32_t first, int32_t last)
{
    const int32_t n_batch = b->s->options.n_batch;
    s2p_status st = S2P_OK;
    for (int32_t at = first; st == S2P_OK && at < last; at += n_batch)
        st = chunk(b, at, last - at < n_batch ? last - at : n_batch);
    return st;
}

/* --- queries without rotation ---------------------------------------------------- */

static s2p_status probe_last(probing *b)
{
    s2v_graph *graph = &b->s->graph;
    s2p_status st = s2v_graph_begin(graph, b->error);
    if (st != S2P_OK) return st;
    struct ggml_tensor *x = draw_normed(b, b->s->rows.n - 1, 1);
    struct ggml_tensor *q = s2v_draw_queries(graph->ctx, b->p, b->layer, x);
    keep(graph, q);
    st = s2v_graph_compute(graph, b->error);
    return st == S2P_OK ? s2v_read_floats(q, b->out->last_query, b->error) : st;
}

static s2p_status probe_means(probing *b)
{
    const int32_t n_means = b->request->n_means, width = b->p->n_embd;
    const size_t n_floats = (size_t)n_means * (size_t)width;
    int32_t longest = 0;
    for (int32_t m = 0; m < n_means; m++)
        if (b->request->mean_rows[m] > longest) longest = b->request->mean_rows[m];
    b->sum = calloc(n_floats, sizeof *b->sum);
    b->mean = malloc(n_floats * sizeof *b->mean);
    b->factor = malloc((size_t)n_means * (size_t)b->s->options.n_batch * sizeof *b->factor);
    if (!b->sum || !b->mean || !b->factor)
        return s2_fail_memory(b->error, n_floats * sizeof *b->sum, "mean queries");
    s2p_status st = in_chunks(b, add_rows, 0, longest);
    s2v_graph *graph = &b->s->graph;
    if (st == S2P_OK) st = s2v_graph_begin(graph, b->error);
    if (st != S2P_OK) return st;
    for (int32_t m = 0; m < n_means; m++)
        for (size_t i = (size_t)m * (size_t)width; i < (size_t)(m + 1) * (size_t)width; i++)
            b->mean[i] = (float)(b->sum[i] / b->request->mean_rows[m]);
    struct ggml_tensor *x = s2v_graph_input(graph, GGML_TYPE_F32, width, n_means, b->mean);
    struct ggml_tensor *q = s2v_draw_queries(graph->ctx, b->p, b->layer, x);
    keep(graph, q);
    st = s2v_graph_compute(graph, b->error);
    return st == S2P_OK ? s2v_read_floats(q, b->out->mean_query, b->error) : st;
}

/* --- a layer --------------------------------------------------------------------- */

void s2v_probe_free(s2v_probe *probe)
{
    free(probe->last_query);
    free(probe->mean_query);
    free(probe->plain_key);
    free(probe->rotated_key);
    free(probe->query);
    *probe = (s2v_probe){ .query = NULL };
}

static bool reserve(float **out, bool is_asked, int32_t n, int32_t heads, int32_t head_dim)
{
    if (!is_asked || n == 0) return true;
    *out = malloc((size_t)n * (size_t)heads * (size_t)head_dim * sizeof **out);
    return *out != NULL;
}

static bool reserve_all(const probing *b)
{
    const s2v_decoder_params *p = b->p;
    const uint32_t needs = b->request->needs;
    const int32_t n = b->s->rows.n;
    s2v_probe *o = b->out;
    return reserve(&o->last_query, needs & S2P_NEED_LAST_QUERY, 1, p->n_heads, p->head_dim) &&
           reserve(&o->mean_query, needs & S2P_NEED_MEAN_QUERY, b->request->n_means, p->n_heads,
                   p->head_dim) &&
           reserve(&o->plain_key, needs & S2P_NEED_PLAIN_KEY, n, p->n_kv_heads, p->head_dim) &&
           reserve(&o->rotated_key, needs & S2P_NEED_ROTATED_KEY, n, p->n_kv_heads, p->head_dim) &&
           reserve(&o->query, needs & (S2P_NEED_QUERY_ATTN | S2P_NEED_LAST_ATTN),
                   n - b->first_query, p->n_heads, p->head_dim);
}

s2p_status s2v_probe_layer(s2v_session *session, int32_t layer, const s2v_probe_request *request,
                           s2v_probe *out, s2p_error *error)
{
    const s2v_decoder *decoder = &session->engine->model.decoder;
    const int32_t n = session->rows.n;
    *out = (s2v_probe){ .query = NULL };
    probing b = { .s = session,
                  .p = &decoder->p,
                  .layer = &decoder->layers[layer],
                  .request = request,
                  .first_query =
                      request->needs & S2P_NEED_QUERY_ATTN ? request->first_query : n - 1,
                  .out = out,
                  .error = error };
    s2p_status st = S2P_OK;
    if (!reserve_all(&b)) st = s2_fail(error, S2P_ENOMEM, "out of memory for queries and keys");
    if (st == S2P_OK && out->last_query) st = probe_last(&b);
    if (st == S2P_OK && out->mean_query) st = probe_means(&b);
    if (st == S2P_OK && (out->plain_key || out->rotated_key)) st = in_chunks(&b, probe_keys, 0, n);
    if (st == S2P_OK && out->query) st = in_chunks(&b, probe_queries, b.first_query, n);
    free(b.sum);
    free(b.mean);
    free(b.factor);
    if (st != S2P_OK) s2v_probe_free(out);
    return st;
}

/* --- attention ------------------------------------------------------------------- */

/* Weights [cells, n, heads] of n queries [n_heads * head_dim, n] over the first cells. */
static struct ggml_tensor *draw_weights(s2v_session *s, int32_t layer, struct ggml_tensor *q,
                                        struct ggml_tensor *mask)
{
    const s2v_decoder_params *p = &s->engine->model.decoder.p;
    struct ggml_context *ctx = s->graph.ctx;
    const int32_t n_cells = (int32_t)mask->ne[0];
    struct ggml_tensor *k = s2v_kv_rows(ctx, s->kv.k[layer], 0, n_cells);
    if (k->type != GGML_TYPE_F32) k = ggml_cast(ctx, k, GGML_TYPE_F32);
    q = ggml_reshape_3d(ctx, q, p->head_dim, p->n_heads, q->ne[1]);
    q = ggml_permute(ctx, q, 0, 2, 1, 3);
    struct ggml_tensor *score = ggml_mul_mat(ctx, s2v_draw_cached(ctx, p, k, n_cells), q);
    return ggml_soft_max_ext(ctx, score, mask, 1.0f / sqrtf((float)p->head_dim), 0.0f);
}

/* Mean over heads of the cells from n_before on, filled up to n_rows with zeros: [n_rows, n]. */
static struct ggml_tensor *draw_mean(struct ggml_context *ctx, struct ggml_tensor *weight,
                                     int32_t n_before, int32_t n_rows)
{
    const int64_t n_seen = weight->ne[0] - n_before, n_heads = weight->ne[2];
    weight = ggml_view_3d(ctx, weight, n_seen, weight->ne[1], n_heads, weight->nb[1], weight->nb[2],
                          (size_t)n_before * weight->nb[0]);
    weight = ggml_cont(ctx, ggml_permute(ctx, weight, 1, 2, 0, 3)); /* heads first */
    weight = ggml_scale(ctx, ggml_sum_rows(ctx, weight), 1.0f / (float)n_heads);
    weight = ggml_reshape_2d(ctx, weight, n_seen, weight->ne[2]);
    return n_seen < n_rows ? ggml_pad(ctx, weight, (int)(n_rows - n_seen), 0, 0, 0) : weight;
}

/* Rows [first, first + n): they see the earlier turns, the rows before them and themselves. */
static s2p_status attention_block(s2v_session *s, int32_t layer, const float *query, int32_t first,
                                  int32_t n, float *out, s2p_error *error)
{
    const s2v_decoder_params *p = &s->engine->model.decoder.p;
    const int32_t n_before = s->kv.n_cells[layer] - s->rows.n;
    s2v_graph *graph = &s->graph;
    struct ggml_tensor *mask;
    s2p_status st = s2v_graph_begin(graph, error);
    if (st == S2P_OK) st = s2v_rows_mask(s, n_before + first, first, n, &mask, error);
    if (st != S2P_OK) return st;
    struct ggml_tensor *q =
        s2v_graph_input(graph, GGML_TYPE_F32, (int64_t)p->n_heads * p->head_dim, n, query);
    struct ggml_tensor *weight = draw_weights(s, layer, q, mask);
    weight = draw_mean(graph->ctx, weight, n_before, s->rows.n);
    keep(graph, weight);
    st = s2v_graph_compute(graph, error);
    return st == S2P_OK ? s2v_read_floats(weight, out, error) : st;
}

s2p_status s2v_probe_attention(s2v_session *session, int32_t layer, const float *query,
                               int32_t first_query, float *out, s2p_error *error)
{
    const s2v_decoder_params *p = &session->engine->model.decoder.p;
    const size_t width = (size_t)p->n_heads * (size_t)p->head_dim;
    const int32_t n_rows = session->rows.n, n_batch = session->options.n_batch;
    int64_t block = BLOCK_FLOATS / ((int64_t)session->kv.n_cells[layer] * p->n_heads);
    if (block > n_batch) block = n_batch; /* the mask has no more room */
    if (block < 1) block = 1;
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < n_rows - first_query; i += (int32_t)block) {
        const int32_t left = n_rows - first_query - i;
        st = attention_block(session, layer, query + (size_t)i * width, first_query + i,
                             left < block ? left : (int32_t)block, out + (size_t)i * (size_t)n_rows,
                             error);
    }
    return st;
}

/* --- the final norm -------------------------------------------------------------- */

s2p_status s2v_probe_normed(s2v_session *session, float *out, s2p_error *error)
{
    const s2v_decoder *decoder = &session->engine->model.decoder;
    const int32_t n_rows = session->rows.n, n_batch = session->options.n_batch;
    s2v_graph *graph = &session->graph;
    s2p_status st = S2P_OK;
    for (int32_t at = 0; st == S2P_OK && at < n_rows; at += n_batch) {
        const int32_t n = n_rows - at < n_batch ? n_rows - at : n_batch;
        st = s2v_graph_begin(graph, error);
        if (st != S2P_OK) break;
        struct ggml_tensor *x = s2v_rows_view(graph->ctx, &session->rows, at, n);
        x = s2v_draw_rms_norm(graph->ctx, x, decoder->output_norm, decoder->p.rms_eps);
        keep(graph, x);
        st = s2v_graph_compute(graph, error);
        if (st == S2P_OK)
            st = s2v_read_floats(x, out + (size_t)at * (size_t)decoder->p.n_embd, error);
    }
    return st;
}
