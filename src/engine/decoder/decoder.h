/* decoder.h - a decoder: hyper-parameters, and layers of one kind each.
 *
 * A layer mixes rows, then changes each row by itself. The kind says how it mixes them, and with that
 * what it remembers of rows it has seen (past.h):
 *
 *     attention    q, k and v with or without biases, norms of their heads, RoPE, slots of keys and values;
 *                  to all rows before, or to those in a window of positions
 *     delta net    a short convolution and a recurrent state that every row changes: no keys, no positions
 *
 * How it changes a row is its feed-forward part: SwiGLU or GeGLU, or the few of many that a router chooses
 * for the row (experts), with one for all rows besides. Both results may pass a norm of their own before
 * they are added.
 *
 * A model with layers of another kind adds a value to s2v_layer_kind, a struct of weights beside
 * s2v_attention_weights, a function that draws it (draw.c) and what it remembers (past.c).
 */
#ifndef S2_ENGINE_DECODER_H
#define S2_ENGINE_DECODER_H

#include "engine/weights/loader.h"

#define S2V_MAX_LAYERS 512
#define S2V_MAX_DEEPSTACK 8
#define S2V_MAX_EXPERTS 1024 /* published models have up to 512, */
#define S2V_MAX_USED 64      /* and use up to 10 for a row */

typedef struct s2v_decoder_style { /* how the decoders of one text architecture are built */
    const char *prefix;            /* general.architecture: what its keys begin with */
    bool has_biases;               /* of q, k and v */
    bool has_head_norms;           /* q and k of each head are normed before RoPE */
    bool is_interleaved;           /* M-RoPE takes time, row and column in turns, not in blocks */
    bool has_deepstack;            /* the first layers have picture rows added to their output */
    bool rotates_neighbours; /* RoPE turns values 2i and 2i + 1; otherwise i and i + head_dim / 2 */
    bool has_experts;        /* instead of one feed-forward part */
    bool has_post_norms;     /* what a layer adds to the rows is normed before, both times */
    bool is_gelu;            /* of gates: GELU in its tanh form; otherwise SiLU */
    bool scales_text;        /* embeddings of text are multiplied by the root of their width */
    int32_t
        window_period; /* of so many layers the last sees all rows before it, the others a window
                              of positions with a RoPE of their own; 0: every layer sees all */
    int32_t deepest;   /* with so many layers scores are divided by the root of n_embd / n_heads,
                              not of head_dim (Gemma 3 27B); 0: never */
    bool
        has_delta_nets; /* all layers but every n-th; attention then has an output gate, turns a part of
                            each head, and the file may have blocks for several tokens at once */
} s2v_decoder_style;

typedef struct s2v_delta_params {       /* of gated delta nets; all 0: the model has none */
    int32_t n_key_heads, n_value_heads; /* value head j reads key head j % n_key_heads */
    int32_t head_dim;                   /* of keys and of values */
    int32_t n_taps;                     /* rows a convolution sees, the present one included */
} s2v_delta_params;

typedef struct s2v_decoder_params {
    int32_t n_layers, n_embd, n_heads, n_kv_heads, n_vocab, n_ctx_train;
    int32_t n_ff;        /* of the feed-forward part, or of one expert */
    int32_t head_dim;    /* n_embd / n_heads unless the file has a key for it */
    int32_t n_rotated;   /* values of a head that RoPE turns, the first ones */
    int32_t sections[4]; /* M-RoPE; all 0: plain RoPE */
    int32_t n_planes;    /* of positions the rotation reads: 4 with M-RoPE, 1 without */
    bool is_interleaved; /* as in s2v_decoder_style */
    int32_t n_deepstack; /* layers after which rows of the tower are added */
    int32_t n_experts, n_experts_used; /* of a layer; chosen for a row; 0: no experts */
    int32_t n_shared_ff; /* width of the expert that every row goes through besides; 0: none */
    float rope_base, rms_eps;
    float rope_scale;  /* of positions before they are rotated by */
    float window_base; /* of the RoPE of layers with a window, whose positions are not scaled */
    float score_scale; /* of scores before the softmax */
    float text_scale;  /* of embeddings of text; 1: as they are */
    int32_t window;    /* positions a row sees back, its own included; 0: there are no windows */
    int32_t
        n_together; /* rows of a picture, which see each other both ways and run together; 0: a row
                           sees none after it */
    bool is_gelu;
    bool rotates_neighbours; /* as in s2v_decoder_style */
    bool has_output_gate;    /* q is twice as wide: of each head a query, then a gate */
    int32_t
        attends_every; /* layer i attends if (i + 1) % attends_every == 0; others are delta nets */
    s2v_delta_params delta; /* of these */
} s2v_decoder_params;

typedef enum s2v_layer_kind { S2V_LAYER_ATTENTION, S2V_LAYER_DELTA_NET } s2v_layer_kind;

typedef struct s2v_attention_weights { /* grouped queries, RoPE, slots of keys and values */
    struct ggml_tensor *q, *k, *v, *out;
    struct ggml_tensor *q_bias, *k_bias, *v_bias; /* NULL: without */
    struct ggml_tensor *q_norm, *k_norm;          /* [head_dim]; NULL: without */
    struct ggml_tensor *rope_periods; /* [head_dim / 2], over 2 pi; NULL: left to the CPU */
    float rope_base, rope_scale;
} s2v_attention_weights;

typedef struct s2v_ffn_weights {          /* SwiGLU or GeGLU */
    struct ggml_tensor *gate, *up, *down; /* of experts: one matrix behind the other */
    struct ggml_tensor *router;           /* [n_embd, n_experts]; NULL: there are none */
    struct ggml_tensor *shared_gate, *shared_up,
        *shared_down;                  /* of the expert for all rows, or NULL */
    struct ggml_tensor *shared_router; /* [n_embd]: the share of it that a row gets */
} s2v_ffn_weights;

/* A gated delta net: queries, keys and values go through a convolution over the rows; then a state of each
 * value head decays, takes in what a row's key does not find in it yet, and is read by its query. */
typedef struct s2v_delta_weights {
    struct ggml_tensor *qkv;  /* [n_embd, channels] */
    struct ggml_tensor *gate; /* [n_embd, value heads * head_dim] of what comes out */
    struct ggml_tensor *alpha,
        *beta;                /* [n_embd, value heads] how much decays, how much is taken in */
    struct ggml_tensor *conv; /* [n_taps, channels] */
    struct ggml_tensor *dt_bias, *a; /* [value heads]; a: minus the rate of decay */
    struct ggml_tensor *norm;        /* [head_dim] */
    struct ggml_tensor *out;         /* [value heads * head_dim, n_embd] */
} s2v_delta_weights;

typedef struct s2v_layer {
    s2v_layer_kind kind;
    struct ggml_tensor *attn_norm, *ffn_norm;   /* of the rows before they are mixed, and after */
    struct ggml_tensor *attn_added, *ffn_added; /* norms of what is added to them; NULL: without */
    int32_t window; /* as in s2v_decoder_params, of this layer; 0: it sees all rows before */
    s2v_attention_weights attention; /* of S2V_LAYER_ATTENTION */
    s2v_delta_weights delta;         /* of S2V_LAYER_DELTA_NET */
    s2v_ffn_weights ffn;
} s2v_layer;

#define S2V_LAYER_MATRICES 12

/* Values that go through the convolution of a delta net: queries, keys, values. */
static inline int64_t s2v_delta_channels(const s2v_delta_params *d)
{
    return (int64_t)d->head_dim * (2 * d->n_key_heads + d->n_value_heads);
}

/* Values a delta net remembers: the last rows its convolution saw, then a matrix of each value head. */
static inline int64_t s2v_delta_state(const s2v_delta_params *d)
{
    return s2v_delta_channels(d) * (d->n_taps - 1) +
           (int64_t)d->head_dim * d->head_dim * d->n_value_heads;
}

/* Whether layer i attends; and the first layer from i on that does, or n_layers. */
static inline bool s2v_attends(const s2v_decoder_params *p, int32_t i)
{
    return (i + 1) % p->attends_every == 0;
}

static inline int32_t s2v_next_attention(const s2v_decoder_params *p, int32_t i)
{
    while (i < p->n_layers && !s2v_attends(p, i)) i++;
    return i;
}

/* The matrices of a layer; returns how many. */
int32_t s2v_layer_matrices(const s2v_layer *layer, struct ggml_tensor *out[S2V_LAYER_MATRICES]);

typedef struct s2v_decoder {
    s2v_decoder_params p;
    struct ggml_tensor *token_embd, *output_norm, *output;
    s2v_layer *layers;
    int32_t first_on_device; /* layers from here on live on the main device */
} s2v_decoder;

/* Read and check the keys of a decoder of this style, then ask for its tensors. */
s2p_status s2v_decoder_load(s2v_decoder *decoder, s2v_loader *loader,
                            const s2v_decoder_style *style, int32_t gpu_layers);

/* A key of the file within a range; the sentence names key, value and range. */
s2p_status s2v_key_int(const s2v_gguf *file, const char *prefix, const char *key, int64_t low,
                       int64_t high, int32_t *out, s2p_error *error);
s2p_status s2v_key_float(const s2v_gguf *file, const char *prefix, const char *key, double low,
                         double high, float *out, s2p_error *error);

void s2v_decoder_free(s2v_decoder *decoder); /* the arrays; tensors belong to the weights */

#endif /* S2_ENGINE_DECODER_H */
