/* delta.c - a gated delta net in ggml's operators.
 *
 * For each row, with q, k and v of the convolution, S a matrix of each value head:
 *
 *     S <- exp(a softplus(alpha + dt_bias)) S
 *     S <- S + k (sigmoid(beta) (v - S^T k))^T
 *     out = S^T q / sqrt(head_dim)
 *
 * Rows go one after the other inside one node, so a prompt in chunks and one token at a time give what the
 * whole prompt gives. Hugging Face divides q and k by the root of their squares' sum and 1e-6, which is
 * what an RMS norm does with another factor.
 */
#include "engine/decoder/delta.h"

#include <math.h>

#define LENGTH_EPS 1e-6f

/* Heads of unit length. */
static struct ggml_tensor *draw_unit(struct ggml_context *ctx, struct ggml_tensor *heads)
{
    const float dim = (float)heads->ne[0];
    return ggml_scale(ctx, ggml_rms_norm(ctx, heads, LENGTH_EPS / dim), 1.0f / sqrtf(dim));
}

/* Rows of one session. qkv: [channels, n]; decay, beta: [value heads, n]. Returns [head_dim, value heads,
 * n]; the state changes once that is drawn. */
static struct ggml_tensor *draw_rows(s2v_graph *graph, const s2v_delta_params *d,
                                     const s2v_delta_weights *w, struct ggml_tensor *state,
                                     struct ggml_tensor *qkv, struct ggml_tensor *decay,
                                     struct ggml_tensor *beta)
{
    struct ggml_context *ctx = graph->ctx;
    const int64_t n = qkv->ne[1], n_before = d->n_taps - 1, channels = qkv->ne[0];
    const int64_t dim = d->head_dim, heads = d->n_value_heads;
    const size_t value = sizeof(float), head = (size_t)dim * value;

    /* The rows before and these, one below the other: [n_before + n, channels]. */
    struct ggml_tensor *before =
        ggml_view_2d(ctx, state, n_before, channels, (size_t)n_before * value, 0);
    struct ggml_tensor *all = ggml_concat(ctx, before, ggml_cont(ctx, ggml_transpose(ctx, qkv)), 0);
    struct ggml_tensor *latest =
        ggml_view_2d(ctx, all, n_before, channels, all->nb[1], (size_t)n * value);
    s2v_graph_expand(graph, ggml_cpy(ctx, latest, before));
    struct ggml_tensor *x = ggml_silu(ctx, ggml_ssm_conv(ctx, all, w->conv)); /* [channels, n] */

    const size_t keys = (size_t)d->n_key_heads * head;
    struct ggml_tensor *q = ggml_view_3d(ctx, x, dim, d->n_key_heads, n, head, x->nb[1], 0);
    struct ggml_tensor *k = ggml_view_3d(ctx, x, dim, d->n_key_heads, n, head, x->nb[1], keys);
    struct ggml_tensor *v = ggml_view_3d(ctx, x, dim, heads, n, head, x->nb[1], 2 * keys);
    struct ggml_tensor *matrix = ggml_view_3d(ctx, state, dim, dim, heads, head, (size_t)dim * head,
                                              (size_t)(n_before * channels) * value);
    decay = ggml_reshape_3d(ctx, decay, 1, heads, n);
    beta = ggml_reshape_3d(ctx, beta, 1, heads, n);
    struct ggml_tensor *both =
        ggml_gated_delta_net(ctx, draw_unit(ctx, q), draw_unit(ctx, k), v, decay, beta, matrix, 1);
    const size_t row = (size_t)heads * head;
    struct ggml_tensor *after =
        ggml_view_3d(ctx, both, dim, dim, heads, head, (size_t)dim * head, (size_t)n * row);
    s2v_graph_expand(graph, ggml_cpy(ctx, after, matrix));
    return ggml_view_3d(ctx, both, dim, heads, n, head, row, 0);
}

/* Columns [at, at + n) of a matrix. */
static struct ggml_tensor *some(struct ggml_context *ctx, struct ggml_tensor *x, int64_t at,
                                int64_t n)
{
    return ggml_view_2d(ctx, x, x->ne[0], n, x->nb[1], (size_t)at * x->nb[1]);
}

struct ggml_tensor *s2v_draw_delta_net(s2v_graph *graph, const s2v_decoder_params *p,
                                       const s2v_layer *layer, int32_t i, const s2v_past *past,
                                       struct ggml_tensor *x, const s2v_span *span,
                                       bool is_last_only)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_delta_params *d = &p->delta;
    const s2v_delta_weights *w = &layer->delta;
    const int64_t n = x->ne[1], dim = d->head_dim, heads = d->n_value_heads;
    s2v_product_rows rows = { .x = x };
    struct ggml_tensor *qkv = s2v_draw_product(graph, w->qkv, &rows);
    struct ggml_tensor *gate = s2v_draw_product(graph, w->gate, &rows);
    struct ggml_tensor *beta = ggml_sigmoid(ctx, s2v_draw_product(graph, w->beta, &rows));
    struct ggml_tensor *decay = ggml_add(ctx, s2v_draw_product(graph, w->alpha, &rows), w->dt_bias);
    decay = ggml_mul(ctx, ggml_softplus(ctx, decay), w->a);

    struct ggml_tensor *out;
    if (span->entry) { /* of each session; what comes out takes the place of what went in */
        for (int32_t o = 0, at = 0; o < span->n_entries; at += span->entry[o++].n) {
            const int32_t m = span->entry[o].n;
            struct ggml_tensor *own = some(ctx, qkv, at, m);
            out = draw_rows(graph, d, w, span->entry[o].past->layer[i].state, own,
                            some(ctx, decay, at, m), some(ctx, beta, at, m));
            out = ggml_cpy(
                ctx, out,
                ggml_view_3d(ctx, own, dim, heads, m, (size_t)dim * sizeof(float), own->nb[1], 0));
            s2v_graph_expand(graph, out);
        }
        out = ggml_view_3d(ctx, qkv, dim, heads, n, (size_t)dim * sizeof(float), qkv->nb[1], 0);
    } else {
        out = draw_rows(graph, d, w, past->layer[i].state, qkv, decay, beta);
    }
    out = s2v_draw_rms_norm(ctx, out, w->norm, p->rms_eps);
    out = ggml_mul(ctx, out, ggml_silu(ctx, ggml_reshape_3d(ctx, gate, dim, heads, n)));
    out = ggml_reshape_2d(ctx, out, dim * heads, n);
    if (is_last_only)
        out = span->entry ? ggml_get_rows(ctx, out, span->last) : some(ctx, out, n - 1, 1);
    return s2v_draw_product(graph, w->out, &(s2v_product_rows){ .x = out });
}
