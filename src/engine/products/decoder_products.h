/* decoder_products.h - the decoder's products (kernels/decoder/products.h) as nodes of a ggml graph.
 *
 * Where the kernels have no variant for this machine or for a weight, the product is ggml's.
 */
#ifndef S2_ENGINE_DECODER_PRODUCTS_H
#define S2_ENGINE_DECODER_PRODUCTS_H

#include "engine/backend/graph.h"
#include "kernels/decoder/products.h"

/* The variant that multiplies n_rows with this weight; NULL: ggml's. products: NULL or of s2v_devices. */
const s2k_products *s2v_products_for(const s2k_product_set *products,
                                     const struct ggml_tensor *weight, int32_t n_rows);

/* x [k, n] packed for all products that read it; NULL: ggml multiplies with x. */
struct ggml_tensor *s2v_draw_rows(s2v_graph *graph, struct ggml_tensor *x);

/* weight . x; rows: s2v_draw_rows of x, or NULL for ggml's product. */
struct ggml_tensor *s2v_draw_product(s2v_graph *graph, struct ggml_tensor *weight,
                                     struct ggml_tensor *x, struct ggml_tensor *rows);

/* How many rows to run where the results of n_rows are needed: padding rows let ggml multiply them all
 * with the function that is fastest for each. */
int32_t s2v_rows_to_run(const s2v_graph *graph, const struct ggml_tensor *weight, int32_t n_rows);

#endif /* S2_ENGINE_DECODER_PRODUCTS_H */
