/* tower.h - what vision towers have in common: keys of the mmproj, blocks, outputs of blocks. */
#ifndef S2_ENGINE_TOWER_H
#define S2_ENGINE_TOWER_H

#include "engine/vision/arch.h"
#include "engine/products/tower_nodes.h"

typedef struct s2v_block { /* an architecture's own block begins with this */
    struct ggml_tensor *norm1, *norm2;
    struct ggml_tensor *q, *k, *v, *out, *q_bias, *k_bias, *v_bias, *out_bias;
    struct ggml_tensor *qkv, *qkv_bias; /* instead of q, k and v where tower->is_fused */
    struct ggml_tensor *up, *down, *up_bias, *down_bias;
} s2v_block;

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))) in float, while ggml_gelu uses a table of F16 values. */
struct ggml_tensor *s2v_tower_gelu_tanh(struct ggml_context *ctx, struct ggml_tensor *x);

typedef struct s2v_packed_block {        /* a block for the tower's own kernels */
    s2v_linear qkv, out, up, down;       /* up: a pair with the gate where the tower has one */
    struct ggml_tensor *scale1, *scale2; /* factors of what out and down add to a row; NULL: 1 */
} s2v_packed_block;

typedef struct s2v_merger { /* two layers, from the tower's rows to the decoder's */
    struct ggml_tensor *mm0, *mm0_bias, *mm2, *mm2_bias;
    s2v_linear first, second; /* the same, packed; the norm before the first is the tower's */
} s2v_merger;

/* The keys all mmproj files have: blocks, widths, heads, patch, epsilon, mean and deviation; and
 * what follows from them. */
s2p_status s2v_tower_keys(s2v_tower *tower, const s2v_gguf *file, s2p_error *error);

/* A key of "clip.vision" that may be missing. */
s2p_status s2v_tower_option(const s2v_gguf *file, const char *key, int32_t low, int32_t high,
                            int32_t fallback, int32_t *out, s2p_error *error);

/* Whether ffn_up and ffn_down are exchanged, as in old files, according to their shapes. */
bool s2v_tower_has_swapped_ffn(const s2v_gguf *file, int32_t n_embd);

/* The width of the feed-forward part, from the shape of this tensor: the key is 0 in files of an
 * old converter. */
s2p_status s2v_tower_ffn_width(s2v_tower *tower, const s2v_gguf *file, const char *name,
                               s2p_error *error);

/* Check that the tower's rows fit the decoder. */
s2p_status s2v_tower_fits(const s2v_model *model, s2p_error *error);

static inline int32_t s2v_round_up(int32_t n, int32_t unit) { return (n + unit - 1) / unit * unit; }

/* The tensors of block i in every tower: norms, attention with biases, up and down padded to a
 * multiple of 32. is_swapped: s2v_tower_has_swapped_ffn(). */
void s2v_tower_load_block(s2v_block *block, s2v_loader *loader, const s2v_tower *tower, int32_t i,
                          bool is_swapped);

/* The kernels that the blocks and the merger of this file can be packed for; NULL: none, ggml computes. */
const s2v_kernels *s2v_tower_kernels(const s2v_tower *tower, const s2v_loader *loader);

/* The same for packed blocks: norms in front of attention and feed-forward part, residuals behind.
 * norm, activation: of the tower; S2V_SWIGLU: there is a gate. */
void s2v_tower_load_packed(s2v_packed_block *block, s2v_loader *loader, const s2v_tower *tower,
                           int32_t i, bool is_swapped, s2v_norm norm, s2v_activation activation);

/* Rows of `wide` values become rows of n_out; erf GELU in between. */
void s2v_tower_load_merger(s2v_merger *merger, s2v_loader *loader, int64_t wide, int64_t hidden,
                           int64_t n_out);
void s2v_tower_load_packed_merger(s2v_merger *merger, s2v_loader *loader, int64_t wide,
                                  int64_t hidden, int64_t n_out);
struct ggml_tensor *s2v_tower_draw_merger(struct ggml_context *ctx, const s2v_merger *merger,
                                          struct ggml_tensor *h);

/* Block i on packed weights. turn, start: as for s2v_node_attention. */
struct ggml_tensor *s2v_tower_draw_packed(s2v_graph *graph, const s2v_packed_block *block,
                                          const s2v_heads *heads, int32_t i, struct ggml_tensor *h,
                                          struct ggml_tensor *turn, struct ggml_tensor *start,
                                          struct ggml_tensor *scratch, const s2v_windows *windows,
                                          s2v_tower_request *request);

/* Scratch that the products of a block, or of a merger, and attention over n_rows need. Blocks may differ:
 * each matrix has the kernels of its type. */
size_t s2v_tower_block_scratch(const s2v_packed_block *block, const s2v_heads *heads,
                               int32_t n_rows);
size_t s2v_tower_merger_scratch(const s2v_merger *merger, const s2v_heads *heads, int32_t n_rows);

typedef struct s2v_levels { /* a byte of each channel as the tower reads it */
    float of[3][256];
} s2v_levels;

s2v_levels s2v_tower_levels(const s2v_tower *tower);

/* The patch whose first pixel is (top, left): out [channel][y][x], as the convolution's weights are
 * stored. */
void s2v_tower_cut_patch(const s2v_tower *tower, const s2v_levels *level, const s2p_image *image,
                         int32_t top, int32_t left, float *out);

/* Output the queries and keys of block i, if requested. None of the tensors may be a view:
 * the memory of outputs is kept, but not the memory behind views. */
void s2v_tower_show(s2v_tower_request *request, int32_t i, const s2v_windows *windows,
                    struct ggml_tensor *q, struct ggml_tensor *k, struct ggml_tensor *plain_k);

/* Output intermediate rows, if stages were requested. Not a view either. */
void s2v_tower_show_stage(s2v_tower_request *request, s2v_graph *graph, const char *name,
                          int32_t index, struct ggml_tensor *rows);

#endif /* S2_ENGINE_TOWER_H */
