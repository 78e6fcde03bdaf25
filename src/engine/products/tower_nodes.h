/* tower_nodes.h - the tower's kernels (kernels/tower) as nodes of a ggml graph on the CPU.
 *
 * A product is two nodes. The first packs its weights (packing.h), each thread its part, into
 * memory of the graph, which the next product takes again. The second multiplies: the norm before
 * it, its bias, activation and residual are part of it. What a node reads besides belongs to the
 * model; threads find their scratch in one more input.
 */
#ifndef S2_ENGINE_TOWER_NODES_H
#define S2_ENGINE_TOWER_NODES_H

#include "engine/backend/graph.h"
#include "engine/weights/loader.h"
#include "kernels/tower/kernels.h"

#define S2V_WINDOW_KINDS 16

/* Patches that see each other only, one kind after the other. Of a whole picture the kinds are: whole, cut
 * at the right, at the bottom, at both; where tokens are missing: windows of as many tokens. */
typedef struct s2v_windows {
    int32_t count[S2V_WINDOW_KINDS];   /* windows of a kind */
    int32_t patches[S2V_WINDOW_KINDS]; /* in one of them */
} s2v_windows;

typedef struct s2v_linear { /* residual + activation(norm(x) . weights + bias) */
    const s2v_kernels *kernels;
    s2v_packed weights; /* their bytes are in the graph */
    s2v_origin origin;
    struct ggml_tensor *bias, *bias_up;
    s2v_norm norm;
    int32_t norm_width; /* 0: all inputs are one piece */
    float eps;
    struct ggml_tensor *norm_weight, *norm_bias;
    s2v_activation activation;
} s2v_linear;

typedef struct s2v_heads { /* how the rows of queries, keys and values (side by side) are read */
    const s2v_kernels *kernels;
    int32_t n_heads, dim;
    float rope_base; /* 0: no rotation */
} s2v_heads;

/* Ask for the weights of one product: matrices [k, n], two of a pair or up to three below each
 * other, with their biases (NULL: without). The rest of *out is the caller's. */
void s2v_linear_load(s2v_linear *out, s2v_loader *loader, const char *const *weight,
                     const char *const *bias, int32_t n_parts, int32_t layer, int64_t k, int64_t n);

/* Scratch all nodes of a graph share, for attention over at most `n_rows`; `products` end with one
 * that has no tensor. Its node clears the counter from which threads take their work; `any`: some
 * tensor of the graph. */
size_t s2v_tower_scratch(const s2v_linear *const *products, size_t n, const s2v_heads *heads,
                         int32_t n_rows);
struct ggml_tensor *s2v_node_scratch(s2v_graph *graph, struct ggml_tensor *any, size_t n_bytes);

/* x: [k, m]. residual: [outputs, m] or NULL. */
struct ggml_tensor *s2v_node_product(s2v_graph *graph, const s2v_linear *linear,
                                     struct ggml_tensor *x, struct ggml_tensor *residual,
                                     struct ggml_tensor *scratch);

/* h + x * scale, row by row. h, x: [n, m]; scale: [n]. */
struct ggml_tensor *s2v_node_scaled_sum(struct ggml_context *ctx, struct ggml_tensor *h,
                                        struct ggml_tensor *x, struct ggml_tensor *scale);

/* cos, then sin, of each patch: [dim, m]. pos: I32 [4 m], as Qwen2.5-VL has it. */
struct ggml_tensor *s2v_node_rotation(struct ggml_context *ctx, const s2v_heads *heads,
                                      struct ggml_tensor *pos);

/* Where the sequences of s2v_node_attention begin: I32, one more than there are windows. `any`: some
 * tensor of the graph. */
struct ggml_tensor *s2v_node_starts(struct ggml_context *ctx, struct ggml_tensor *any,
                                    const s2v_windows *windows);

/* qkv: [3 n_embd, m]; rotation: s2v_node_rotation, or NULL; start: s2v_node_starts. */
struct ggml_tensor *s2v_node_attention(s2v_graph *graph, const s2v_heads *heads,
                                       struct ggml_tensor *qkv, struct ggml_tensor *rotation,
                                       struct ggml_tensor *start, struct ggml_tensor *scratch);

/* Part 0, 1 or 2 of qkv by itself, rotated unless `rotation` is NULL: [n_embd, m]. */
struct ggml_tensor *s2v_node_part(struct ggml_context *ctx, const s2v_heads *heads,
                                  struct ggml_tensor *qkv, struct ggml_tensor *rotation, int part);

#endif /* S2_ENGINE_TOWER_NODES_H */
