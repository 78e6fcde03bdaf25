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

/* x [k, n] and its rows as the variants read them that multiply with it: packed at the first product,
 * for all that follow. */
typedef struct s2v_product_rows {
    struct ggml_tensor *x;
    struct ggml_tensor *packed[S2K_SET_MAX];
    const s2k_products *with[S2K_SET_MAX];
} s2v_product_rows;

/* weight . x */
struct ggml_tensor *s2v_draw_product(s2v_graph *graph, struct ggml_tensor *weight,
                                     s2v_product_rows *rows);

/* How many rows to run where the results of n_rows are needed: padding rows let ggml multiply them all
 * with the function that is fastest for each. */
int32_t s2v_rows_to_run(const s2v_graph *graph, const struct ggml_tensor *weight, int32_t n_rows);

#endif /* S2_ENGINE_DECODER_PRODUCTS_H */
