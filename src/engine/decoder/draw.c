/* draw.c - the forward pass of the language model, from top to bottom.
 *
 * RMSNorm, grouped-query attention, (M-)RoPE, fused attention over the
 * cache, SwiGLU, GeGLU or experts. Keys and values go into the cache before attention reads it: the
 * copies are expanded into the graph first, and ggml runs nodes in that order. Where the
 * cache rounds them and a method reads the layer, attention uses them before rounding.
 */
#include "engine/decoder/draw.h"

#include "engine/decoder/delta.h"
#include "engine/products/decoder_products.h"

/* weight . x + bias, where there is one; rows: of x, shared by all its products. */
static struct ggml_tensor *draw_biased(s2v_graph *graph, struct ggml_tensor *weight,
                                       struct ggml_tensor *bias, s2v_product_rows *rows)
{
    struct ggml_tensor *product = s2v_draw_product(graph, weight, rows);
    return bias ? ggml_add(graph->ctx, product, bias) : product;
}

/* Of products with a query and a gate for each head: [head_dim, n_heads, n], the requested half. */
static struct ggml_tensor *half_of_heads(struct ggml_context *ctx, const s2v_decoder_params *p,
                                         struct ggml_tensor *x, size_t half)
{
    const size_t head = (size_t)p->head_dim * sizeof(float);
    return ggml_view_3d(ctx, x, p->head_dim, p->n_heads, x->ne[1], 2 * head, x->nb[1], half * head);
}

/* What rows attended to, times what their gates let through. x: [n_heads * head_dim, n]. */
static struct ggml_tensor *draw_gated(struct ggml_context *ctx, const s2v_decoder_params *p,
                                      struct ggml_tensor *x, struct ggml_tensor *product)
{
    if (!p->has_output_gate) return x;
    struct ggml_tensor *gate = ggml_cont(ctx, half_of_heads(ctx, p, product, 1));
    gate = ggml_reshape_2d(ctx, gate, (int64_t)p->n_heads * p->head_dim, product->ne[1]);
    return ggml_mul(ctx, x, ggml_sigmoid(ctx, gate));
}

/* Rows as heads, each normed where the model does that: [head_dim, n_heads, n]. */
static struct ggml_tensor *draw_heads(struct ggml_context *ctx, const s2v_decoder_params *p,
                                      struct ggml_tensor *x, int32_t n_heads,
                                      struct ggml_tensor *norm)
{
    x = ggml_reshape_3d(ctx, x, p->head_dim, n_heads, x->ne[1]);
    return norm ? s2v_draw_rms_norm(ctx, x, norm, p->rms_eps) : x;
}

/* product: of q, to be gated with; NULL: not requested. */
static struct ggml_tensor *draw_queries(s2v_graph *graph, const s2v_decoder_params *p,
                                        const s2v_layer *layer, s2v_product_rows *rows,
                                        struct ggml_tensor **product)
{
    const s2v_attention_weights *a = &layer->attention;
    struct ggml_tensor *q = draw_biased(graph, a->q, a->q_bias, rows);
    if (product) *product = q;
    if (!p->has_output_gate) return draw_heads(graph->ctx, p, q, p->n_heads, a->q_norm);
    q = half_of_heads(graph->ctx, p, q, 0);
    return a->q_norm ? s2v_draw_rms_norm(graph->ctx, q, a->q_norm, p->rms_eps)
                     : ggml_cont(graph->ctx, q);
}

struct ggml_tensor *s2v_draw_queries(s2v_graph *graph, const s2v_decoder_params *p,
                                     const s2v_layer *layer, s2v_product_rows *rows)
{
    return draw_queries(graph, p, layer, rows, NULL);
}

struct ggml_tensor *s2v_draw_keys(s2v_graph *graph, const s2v_decoder_params *p,
                                  const s2v_layer *layer, s2v_product_rows *rows)
{
    const s2v_attention_weights *a = &layer->attention;
    return draw_heads(graph->ctx, p, draw_biased(graph, a->k, a->k_bias, rows), p->n_kv_heads,
                      a->k_norm);
}

/* Devices raise the base to a power roughly, and a position multiplies the error: there the angle is
 * the position over a period that was computed here, and the base is one. */
struct ggml_tensor *s2v_draw_rope(struct ggml_context *ctx, const s2v_decoder_params *p,
                                  const s2v_layer *layer, struct ggml_tensor *x,
                                  struct ggml_tensor *pos)
{
    struct ggml_tensor *periods = layer->attention.rope_periods;
    const float base = periods ? 1.0f : layer->attention.rope_base;
    const float scale = layer->attention.rope_scale;
    if (p->n_planes == 1)
        return ggml_rope_ext(ctx, x, pos, periods, p->n_rotated,
                             p->rotates_neighbours ? GGML_ROPE_TYPE_NORMAL : GGML_ROPE_TYPE_NEOX,
                             p->n_ctx_train, base, scale, 0.0f, 1.0f, 32.0f, 1.0f);
    int sections[4] = { p->sections[0], p->sections[1], p->sections[2], p->sections[3] };
    const int mode = p->is_interleaved ? GGML_ROPE_TYPE_IMROPE : GGML_ROPE_TYPE_MROPE;
    return ggml_rope_multi(ctx, x, pos, periods, p->n_rotated, sections, mode, p->n_ctx_train, base,
                           scale, 0.0f, 1.0f, 32.0f, 1.0f);
}

void s2v_draw_shift(s2v_graph *graph, const s2v_decoder *decoder, s2v_past *past, int32_t layer,
                    int32_t at, struct ggml_tensor *by)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_decoder_params *p = &decoder->p;
    const int32_t n = (int32_t)by->ne[0];
    struct ggml_tensor *slots = s2v_slots_view(ctx, past->layer[layer].k, at, n);
    struct ggml_tensor *k = ggml_cast(ctx, slots, GGML_TYPE_F32);
    k = ggml_reshape_3d(ctx, k, p->head_dim, p->n_kv_heads, n);
    k = s2v_draw_rope(ctx, p, &decoder->layers[layer], k, by);
    k = ggml_reshape_2d(ctx, k, slots->ne[0], n);
    s2v_graph_expand(graph, ggml_cpy(ctx, k, slots));
}

struct ggml_tensor *s2v_draw_cached(struct ggml_context *ctx, const s2v_decoder_params *p,
                                    struct ggml_tensor *cache, int32_t n_slots)
{
    return ggml_view_3d(ctx, cache, p->head_dim, n_slots, p->n_kv_heads, cache->nb[1],
                        ggml_row_size(cache->type, p->head_dim), 0);
}

/* The last line of a mask of n rows. */
static struct ggml_tensor *last_line(struct ggml_context *ctx, struct ggml_tensor *mask)
{
    return ggml_view_2d(ctx, mask, mask->ne[0], 1, mask->nb[1],
                        (size_t)(mask->ne[1] - 1) * mask->nb[1]);
}

/* What rows q: [head_dim, n, heads] make of the slots they see: [head_dim, heads, n]. Fused, scores never
 * stand in memory; in steps they do, as floats. */
static struct ggml_tensor *draw_attended(struct ggml_context *ctx, const s2v_decoder_params *p,
                                         struct ggml_tensor *q, struct ggml_tensor *seen[2],
                                         struct ggml_tensor *mask, bool is_plain)
{
    const float scale = p->score_scale;
    if (!is_plain) return ggml_flash_attn_ext(ctx, q, seen[0], seen[1], mask, scale, 0.0f, 0.0f);
    struct ggml_tensor *scores = ggml_mul_mat(ctx, seen[0], q); /* [slots, n, heads] */
    ggml_prec_set_acc(scores, GGML_PREC_F32);
    scores = ggml_soft_max_ext(ctx, scores, mask, scale, 0.0f);
    struct ggml_tensor *v = seen[1]; /* blocks of quantized rows cannot be transposed */
    if (ggml_is_quantized(v->type)) v = ggml_cast(ctx, v, GGML_TYPE_F32);
    v = ggml_cont(ctx, ggml_transpose(ctx, v)); /* [slots, head_dim, kv_heads] */
    struct ggml_tensor *out = ggml_mul_mat(ctx, v, scores);
    return ggml_cont(ctx, ggml_permute(ctx, out, 0, 2, 1, 3));
}

/* Attention of rows that have caches of their own, in layer `i`. What a row attended to takes the place
 * of its query. */
static struct ggml_tensor *draw_entries(s2v_graph *graph, const s2v_decoder_params *p,
                                        const s2v_layer *layer, int32_t i, struct ggml_tensor *x,
                                        const s2v_span *span, bool is_last_only)
{
    struct ggml_context *ctx = graph->ctx;
    s2v_product_rows rows = { .x = x };
    struct ggml_tensor *product, *q = draw_queries(graph, p, layer, &rows, &product);
    struct ggml_tensor *k = s2v_draw_keys(graph, p, layer, &rows);
    struct ggml_tensor *v = draw_biased(graph, layer->attention.v, layer->attention.v_bias, &rows);
    q = s2v_draw_rope(ctx, p, layer, q, span->pos);
    k = s2v_draw_rope(ctx, p, layer, k, span->pos);
    struct ggml_tensor *const both[2] = { ggml_reshape_2d(ctx, k, v->ne[0], span->n), v };
    for (int32_t o = 0, at = 0, n; o < span->n_entries; o++, at += n) {
        const s2v_batch_entry *entry = &span->entry[o];
        const s2v_slots *slots = &entry->past->layer[i];
        n = entry->n;
        struct ggml_tensor *const cache[2] = { slots->k, slots->v };
        struct ggml_tensor *seen[2];
        for (int c = 0; c < 2; c++) {
            struct ggml_tensor *own = s2v_slots_view(ctx, both[c], at, n);
            s2v_graph_expand(graph, ggml_cpy(ctx, own, s2v_slots_view(ctx, cache[c], slots->n, n)));
            seen[c] = s2v_draw_cached(ctx, p, cache[c], slots->n + n);
        }
        const int32_t n_out = is_last_only ? 1 : n;
        struct ggml_tensor *mask = entry->mask ? entry->mask[i] : NULL;
        if (is_last_only && mask) /* without a window the last row sees every slot */
            mask = layer->window > 0 ? last_line(ctx, mask) : NULL;
        struct ggml_tensor *query = ggml_view_3d(ctx, q, p->head_dim, p->n_heads, n_out, q->nb[1],
                                                 q->nb[2], (size_t)(at + n - n_out) * q->nb[2]);
        struct ggml_tensor *out = draw_attended(ctx, p, ggml_permute(ctx, query, 0, 2, 1, 3), seen,
                                                mask, entry->past->is_plain);
        s2v_graph_expand(graph, ggml_cpy(ctx, out, query));
    }
    x = ggml_reshape_2d(ctx, q, (int64_t)p->n_heads * p->head_dim, span->n);
    x = draw_gated(ctx, p, x, product);
    if (is_last_only) x = ggml_get_rows(ctx, x, span->last);
    return s2v_draw_product(graph, layer->attention.out, &(s2v_product_rows){ .x = x });
}

/* Attention of one layer; `n_out` rows come out: all of them, or the last. */
static struct ggml_tensor *draw_attention(s2v_graph *graph, const s2v_decoder_params *p,
                                          const s2v_layer *layer, int32_t i, const s2v_past *past,
                                          struct ggml_tensor *x, const s2v_span *span,
                                          bool is_last_only)
{
    struct ggml_context *ctx = graph->ctx;
    const int64_t n = span->n, width = (int64_t)p->n_kv_heads * p->head_dim;
    s2v_product_rows rows = { .x = x };
    struct ggml_tensor *k = s2v_draw_keys(graph, p, layer, &rows);
    struct ggml_tensor *v = draw_biased(graph, layer->attention.v, layer->attention.v_bias, &rows);
    k = s2v_draw_rope(ctx, p, layer, k, span->pos);
    k = ggml_reshape_2d(ctx, k, width, n);

    /* Put them behind the slots the layer has; the rows attend to those or to the unrounded ones. */
    const s2v_slots *slots = &past->layer[i];
    struct ggml_tensor *const cache[2] = { slots->k, slots->v }, *const own[2] = { k, v };
    struct ggml_tensor *const held[2] = { span->k, span->v };
    struct ggml_tensor *seen[2];
    for (int c = 0; c < 2; c++) {
        s2v_graph_expand(graph,
                         ggml_cpy(ctx, own[c], s2v_slots_view(ctx, cache[c], slots->n, span->n)));
        struct ggml_tensor *from = cache[c];
        if (span->is_unrounded) from = held[c] ? held[c] : own[c];
        if (span->is_unrounded && held[c])
            s2v_graph_expand(graph,
                             ggml_cpy(ctx, own[c], s2v_slots_view(ctx, from, slots->n, span->n)));
        seen[c] = s2v_draw_cached(ctx, p, from, slots->n + span->n);
    }

    /* RoPE needs a row for each position, so q is rotated whole and cut afterwards. */
    struct ggml_tensor *product, *q = draw_queries(graph, p, layer, &rows, &product);
    q = s2v_draw_rope(ctx, p, layer, q, span->pos);
    struct ggml_tensor *mask = span->mask;
    if (layer->window > 0 && span->window_mask && span->window_mask[i]) mask = span->window_mask[i];
    int64_t n_out = n;
    if (is_last_only && n > 1) { /* without a window the last row sees every slot */
        q = ggml_view_3d(ctx, q, p->head_dim, p->n_heads, 1, q->nb[1], q->nb[2],
                         (size_t)(n - 1) * q->nb[2]);
        product = ggml_view_2d(ctx, product, product->ne[0], 1, product->nb[1],
                               (size_t)(n - 1) * product->nb[1]);
        mask = layer->window > 0 ? last_line(ctx, mask) : NULL;
        n_out = 1;
    }
    q = ggml_permute(ctx, q, 0, 2, 1, 3);
    struct ggml_tensor *out = draw_attended(ctx, p, q, seen, mask, past->is_plain);
    out = ggml_reshape_2d(ctx, out, (int64_t)p->n_heads * p->head_dim, n_out);
    out = draw_gated(ctx, p, out, product);
    return s2v_draw_product(graph, layer->attention.out, &(s2v_product_rows){ .x = out });
}

struct ggml_tensor *s2v_draw_embedding(s2v_graph *graph, const s2v_decoder *decoder,
                                       struct ggml_tensor *ids)
{
    struct ggml_tensor *rows = ggml_get_rows(graph->ctx, decoder->token_embd, ids);
    return decoder->p.text_scale == 1.0f ? rows
                                         : ggml_scale(graph->ctx, rows, decoder->p.text_scale);
}

/* The gate is x s(z) with z = x t, where s is the sigmoid and t = 2 sqrt(2/pi) (1 + 0.044715 x^2) is never
 * 0: SwiGLU of z and up / t. ggml's own GeGLU reads a table of halves. */
static struct ggml_tensor *draw_geglu(struct ggml_context *ctx, struct ggml_tensor *gate,
                                      struct ggml_tensor *up)
{
    const float slope = 1.5957691216057308f;
    struct ggml_tensor *t = ggml_scale_bias(ctx, ggml_sqr(ctx, gate), slope * 0.044715f, slope);
    return ggml_swiglu_split(ctx, ggml_mul(ctx, gate, t), ggml_div(ctx, up, t));
}

/* SwiGLU or GeGLU of every row. */
static struct ggml_tensor *draw_ffn(s2v_graph *graph, const s2v_decoder_params *p,
                                    const s2v_ffn_weights *f, struct ggml_tensor *x)
{
    s2v_product_rows rows = { .x = x };
    struct ggml_tensor *gate = s2v_draw_product(graph, f->gate, &rows);
    struct ggml_tensor *up = s2v_draw_product(graph, f->up, &rows);
    x = p->is_gelu ? draw_geglu(graph->ctx, gate, up) : ggml_swiglu_split(graph->ctx, gate, up);
    return s2v_draw_product(graph, f->down, &(s2v_product_rows){ .x = x });
}

/* The same with the top experts of the router for a row, each times its share of their probabilities. A
 * row's experts are added in order, so the result does not depend on other rows. */
static struct ggml_tensor *draw_experts(s2v_graph *graph, const s2v_decoder_params *p,
                                        const s2v_ffn_weights *f, struct ggml_tensor *x)
{
    struct ggml_context *ctx = graph->ctx;
    const int64_t n = x->ne[1], n_experts = p->n_experts, n_used = p->n_experts_used;
    struct ggml_tensor *likes = s2v_draw_product(graph, f->router, &(s2v_product_rows){ .x = x });
    likes = ggml_soft_max(ctx, likes); /* [n_experts, n] */
    /* Sorting needs numbers: a copy, clamped in its place, has them. The shares keep a NaN of damaged
     * weights, so that the result shows it. */
    struct ggml_tensor *order = ggml_clamp(ctx, ggml_dup(ctx, likes), 0.0f, 1.0f);
    struct ggml_tensor *chosen = ggml_argsort_top_k(ctx, order, (int)n_used); /* [n_used, n] */
    struct ggml_tensor *share =
        ggml_get_rows(ctx, ggml_reshape_3d(ctx, likes, 1, n_experts, n), chosen);
    share = ggml_reshape_2d(ctx, share, n_used, n);
    share = ggml_div(ctx, share, ggml_sum_rows(ctx, share));
    share = ggml_reshape_3d(ctx, share, 1, n_used, n);

    x = ggml_reshape_3d(ctx, x, p->n_embd, 1, n);
    struct ggml_tensor *gate = ggml_mul_mat_id(ctx, f->gate, x, chosen); /* [n_ff, n_used, n] */
    struct ggml_tensor *up = ggml_mul_mat_id(ctx, f->up, x, chosen);
    x = ggml_mul_mat_id(ctx, f->down, ggml_swiglu_split(ctx, gate, up), chosen);
    x = ggml_mul(ctx, x, share); /* [n_embd, n_used, n] */
    struct ggml_tensor *sum = ggml_view_2d(ctx, x, x->ne[0], n, x->nb[2], 0);
    for (int64_t i = 1; i < n_used; i++)
        sum = ggml_add(ctx, sum, ggml_view_2d(ctx, x, x->ne[0], n, x->nb[2], (size_t)i * x->nb[1]));
    return sum;
}

/* The expert for all rows, times the share that a row gives it. x: as the other experts get it. */
static struct ggml_tensor *draw_shared_expert(s2v_graph *graph, const s2v_decoder_params *p,
                                              const s2v_ffn_weights *f, struct ggml_tensor *x)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_ffn_weights shared = { .gate = f->shared_gate,
                                     .up = f->shared_up,
                                     .down = f->shared_down };
    struct ggml_tensor *share =
        ggml_sigmoid(ctx, ggml_sum_rows(ctx, ggml_mul(ctx, x, f->shared_router)));
    return ggml_mul(ctx, draw_ffn(graph, p, &shared, x), share);
}

struct ggml_tensor *s2v_draw_layers(s2v_graph *graph, const s2v_decoder *decoder, s2v_past *past,
                                    struct ggml_tensor *h, const s2v_span *span, int32_t first,
                                    int32_t last)
{
    struct ggml_context *ctx = graph->ctx;
    const s2v_decoder_params *p = &decoder->p;
    for (int32_t i = first; i < last; i++) {
        const s2v_layer *layer = &decoder->layers[i];
        const bool is_last_only = span->last_row_only && i == p->n_layers - 1;

        struct ggml_tensor *x = s2v_draw_rms_norm(ctx, h, layer->attn_norm, p->rms_eps);
        if (layer->kind == S2V_LAYER_DELTA_NET)
            x = s2v_draw_delta_net(graph, p, layer, i, past, x, span, is_last_only);
        else
            x = span->entry ? draw_entries(graph, p, layer, i, x, span, is_last_only)
                            : draw_attention(graph, p, layer, i, past, x, span, is_last_only);
        if (is_last_only) /* the rows that go on */
            h = span->entry ? ggml_get_rows(ctx, h, span->last)
                            : ggml_view_2d(ctx, h, h->ne[0], 1, h->nb[1],
                                           (size_t)(h->ne[1] - 1) * h->nb[1]);
        if (layer->attn_added) x = s2v_draw_rms_norm(ctx, x, layer->attn_added, p->rms_eps);
        h = ggml_add(ctx, h, x);
        s2v_graph_pause(graph, h);

        x = s2v_draw_rms_norm(ctx, h, layer->ffn_norm, p->rms_eps);
        struct ggml_tensor *made = layer->ffn.router ? draw_experts(graph, p, &layer->ffn, x)
                                                     : draw_ffn(graph, p, &layer->ffn, x);
        if (layer->ffn.shared_router)
            made = ggml_add(ctx, made, draw_shared_expert(graph, p, &layer->ffn, x));
        if (layer->ffn_added) made = s2v_draw_rms_norm(ctx, made, layer->ffn_added, p->rms_eps);
        h = ggml_add(ctx, h, made);
        s2v_graph_pause(graph, h);
        if (span->made && i == last - 1) *span->made = h;
        if (span->deepstack && i < p->n_deepstack) h = ggml_add(ctx, h, span->deepstack[i]);
    }
    return h;
}

int32_t s2v_decoder_rows_to_run(const s2v_graph *graph, const s2v_decoder *decoder, int32_t n_rows)
{
    int32_t most = n_rows;
    for (int32_t i = 0; i < decoder->p.n_layers; i++) {
        struct ggml_tensor *matrix[S2V_LAYER_MATRICES];
        const int32_t n_matrices = s2v_layer_matrices(&decoder->layers[i], matrix);
        for (int32_t m = 0; m < n_matrices; m++) {
            if (ggml_n_dims(matrix[m]) > 2) continue; /* experts take row by row */
            const int32_t n = s2v_rows_to_run(graph, matrix[m], n_rows);
            if (n > most) most = n;
        }
    }
    return most;
}

struct ggml_tensor *s2v_draw_head(s2v_graph *graph, const s2v_decoder *decoder,
                                  struct ggml_tensor *h)
{
    struct ggml_tensor *x =
        s2v_draw_rms_norm(graph->ctx, h, decoder->output_norm, decoder->p.rms_eps);
    return s2v_draw_product(graph, decoder->output, &(s2v_product_rows){ .x = x });
}
