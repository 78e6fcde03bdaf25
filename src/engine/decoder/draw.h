/* draw.h - draw decoder layers [first, last), and the pieces they are made of. */
#ifndef S2_ENGINE_DRAW_H
#define S2_ENGINE_DRAW_H

#include "engine/backend/graph.h"
#include "engine/decoder/past.h"
#include "engine/products/decoder_products.h"

typedef struct s2v_batch_entry { /* one session's rows in a joint pass */
    s2v_past *past;
    int32_t n;
    struct ggml_tensor *const *mask; /* [n_layers], each as in s2v_span; NULL, or one that is, for a
                                        single row that sees every slot */
} s2v_batch_entry;

typedef struct s2v_span {     /* what a run of layers works on */
    int32_t n;                /* rows */
    struct ggml_tensor *pos;  /* I32: 4 planes of n for M-RoPE, n otherwise */
    struct ggml_tensor *mask; /* F16 [n_past + n, n]; NULL for a single row */
    struct ggml_tensor *const
        *window_mask;   /* [n_layers] the same of layers with a window; NULL, or one
                                               that is: `mask`, as they see all there is */
    bool last_row_only; /* the last layer need not compute the other rows; with entries: of each */
    bool is_unrounded;  /* attend to keys and values as they are, not as the past has them: */
    struct ggml_tensor *k, *v; /* F32 [n_kv_heads * head_dim, slots], written like the past; NULL:
                                  there is nothing before these rows */
    const s2v_batch_entry *entry; /* [n_entries] whose rows these are, in their order; padding rows
                                     follow them. NULL: all are rows of one session */
    struct ggml_tensor *const
        *deepstack; /* [n_deepstack] rows [n_embd, n] to add to what that layer
                                             made, or NULL */
    struct ggml_tensor *
        *made; /* out: what the last of the layers made, before that; NULL: unasked */
    int32_t n_entries;
    struct ggml_tensor *last; /* I32 [n_entries], with last_row_only: the last row of each */
} s2v_span;

/* Token rows [n_embd, n] of the vocabulary, as they enter layer 0. ids: I32 [n]. */
struct ggml_tensor *s2v_draw_embedding(s2v_graph *graph, const s2v_decoder *decoder,
                                       struct ggml_tensor *ids);

/* Queries and keys [head_dim, heads, n] of normed rows x [n_embd, n], not rotated yet. rows: of
 * x. */
struct ggml_tensor *s2v_draw_queries(s2v_graph *graph, const s2v_decoder_params *p,
                                     const s2v_layer *layer, s2v_product_rows *rows);
struct ggml_tensor *s2v_draw_keys(s2v_graph *graph, const s2v_decoder_params *p,
                                  const s2v_layer *layer, s2v_product_rows *rows);

/* Rotate x: [head_dim, heads, n] to the positions of its rows, as in s2v_span. */
struct ggml_tensor *s2v_draw_rope(struct ggml_context *ctx, const s2v_decoder_params *p,
                                  const s2v_layer *layer, struct ggml_tensor *x,
                                  struct ggml_tensor *pos);

/* Rotate the keys of slots at, at + 1, ... of a layer further by `by`: I32, a number of positions for
 * each of them. For decoders with one plane of positions. */
void s2v_draw_shift(s2v_graph *graph, const s2v_decoder *decoder, s2v_past *past, int32_t layer,
                    int32_t at, struct ggml_tensor *by);

/* The first slots of a cache (or of a copy of it) as attention wants them: [head_dim, slots,
 * kv_heads]. */
struct ggml_tensor *s2v_draw_cached(struct ggml_context *ctx, const s2v_decoder_params *p,
                                    struct ggml_tensor *cache, int32_t n_slots);

/* Hidden states [n_embd, n] in, the same (with last_row_only [n_embd, 1] or [n_embd, n_entries]) out.
 * Writes what each layer remembers of the rows behind its past; the caller appends them afterwards
 * (past.h). past: NULL with span->entry. */
struct ggml_tensor *s2v_draw_layers(s2v_graph *graph, const s2v_decoder *decoder, s2v_past *past,
                                    struct ggml_tensor *h, const s2v_span *span, int32_t first,
                                    int32_t last);

/* How many rows to run through the layers where the results of n_rows are needed: those that are more
 * are padding, and let the products use a faster function. */
int32_t s2v_decoder_rows_to_run(const s2v_graph *graph, const s2v_decoder *decoder, int32_t n_rows);

/* Logits [n_vocab, n] of hidden rows [n_embd, n]. */
struct ggml_tensor *s2v_draw_head(s2v_graph *graph, const s2v_decoder *decoder,
                                  struct ggml_tensor *h);

/* Two pieces towers are made of as well. */
static inline struct ggml_tensor *s2v_draw_rms_norm(struct ggml_context *ctx, struct ggml_tensor *x,
                                                    struct ggml_tensor *weight, float eps)
{
    return ggml_mul(ctx, ggml_rms_norm(ctx, x, eps), weight);
}

static inline struct ggml_tensor *s2v_draw_linear(struct ggml_context *ctx,
                                                  struct ggml_tensor *weight,
                                                  struct ggml_tensor *bias, struct ggml_tensor *x)
{
    return ggml_add(ctx, ggml_mul_mat(ctx, weight, x), bias);
}

#endif /* S2_ENGINE_DRAW_H */
