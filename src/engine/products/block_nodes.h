/* block_nodes.h - the decoder's products as nodes of a graph: those of blocks.h on CPUs with AMX, those
 * of few_rows.h on others with AVX2, else ggml's. */
#ifndef S2_ENGINE_BLOCK_NODES_H
#define S2_ENGINE_BLOCK_NODES_H

#include "engine/backend/graph.h"

/* Weights of this type and shape stay in their blocks on these devices. */
bool s2v_blocks_take(const s2v_devices *devices, const struct ggml_tensor *weight);

/* x [k, n] as products of our own read it, one for all of them; NULL: there are none of x. */
struct ggml_tensor *s2v_draw_rows(s2v_graph *graph, struct ggml_tensor *x);

/* weight . x; rows: s2v_draw_rows of x, or NULL for ggml's product. */
struct ggml_tensor *s2v_draw_product(s2v_graph *graph, struct ggml_tensor *weight,
                                     struct ggml_tensor *x, struct ggml_tensor *rows);

#endif /* S2_ENGINE_BLOCK_NODES_H */
