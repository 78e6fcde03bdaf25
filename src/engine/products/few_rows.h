/* few_rows.h - the products of a token, of a prompt and of sessions that decode together.
 *
 * ggml unpacks Q4_K for every four rows and Q6_K for every row, so that rows together cost nearly what
 * they cost alone. Here a weight is unpacked once for up to 64 rows. On x86-64 CPUs with AVX2 and with
 * the ggml this was written against, whose packed layout of Q4_K is read; everywhere else and for other
 * types the product is ggml's. One row gains nothing, but so a session's numbers are the same bits alone and
 * with others.
 */
#ifndef S2_ENGINE_FEW_ROWS_H
#define S2_ENGINE_FEW_ROWS_H

#include "engine/backend/graph.h"

/* Such a product takes this weight. */
bool s2v_few_takes(const struct ggml_tensor *weight);

/* x [k, n] as these products read it, one for all of them; NULL: there are none of x. */
struct ggml_tensor *s2v_few_rows(s2v_graph *graph, struct ggml_tensor *x);

/* weight . x; rows: s2v_few_rows of x, or NULL for ggml's product. */
struct ggml_tensor *s2v_few_product(s2v_graph *graph, struct ggml_tensor *weight,
                                    struct ggml_tensor *x, struct ggml_tensor *rows);

#endif /* S2_ENGINE_FEW_ROWS_H */
