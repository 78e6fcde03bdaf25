/* block_nodes.c - two nodes for a product: the rows as the kernel reads them, then the product.
 *
 * Up to S2V_WORD_ROWS rows are words, up to S2V_FEW_ROWS digits, more are turned; behind turned rows there
 * is room for each thread of the products that read them, which run one after the other. Only the number
 * of rows decides, so the same rows make the same numbers in every graph.
 */
#include "engine/products/block_nodes.h"

#include "kernels/decoder/blocks.h"
#include "engine/products/few_rows.h"

#if defined(S2V_X86_KERNELS)

#define BLOCK 256

static bool is_kept(const struct ggml_tensor *weight)
{
    return (weight->type == GGML_TYPE_Q4_K || weight->type == GGML_TYPE_Q6_K) &&
           weight->ne[0] % BLOCK == 0 && ggml_n_dims(weight) <= 2;
}

bool s2v_blocks_take(const s2v_devices *devices, const struct ggml_tensor *weight)
{
    return devices->has_blocks && is_kept(weight);
}

static char *rows_data(const struct ggml_tensor *rows)
{
    const uintptr_t at = (uintptr_t)rows->data, unit = S2V_BLOCKS_ALIGN;
    return (char *)((at + unit - 1) / unit * unit);
}

static void compute_rows(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const struct ggml_tensor *x = dst->src[0];
    const int32_t k = (int32_t)x->ne[0], m = (int32_t)x->ne[1], n_groups = (m + 15) / 16;
    const ptrdiff_t pitch = (ptrdiff_t)(x->nb[1] / sizeof(float));
    const float *from = x->data;
    (void)user;
    if (m > S2V_FEW_ROWS) {
        s2v_blocks_turn_amx(from, pitch, k, m, n_groups * ith / nth, n_groups * (ith + 1) / nth,
                            rows_data(dst));
        return;
    }
    if (m > S2V_WORD_ROWS) {
        for (int32_t r = ith; r < S2V_FEW_ROWS; r += nth)
            s2v_digits_round_amx(r < m ? from + r * pitch : NULL, k, r, rows_data(dst));
        return;
    }
    for (int32_t r = ith; r < m; r += nth)
        s2v_words_round_vnni(from + r * pitch, k, rows_data(dst) + s2v_words_bytes(k, r));
}

static size_t rows_bytes(int32_t k, int32_t m, int32_t n_threads)
{
    if (m <= S2V_WORD_ROWS) return s2v_words_bytes(k, m);
    if (m <= S2V_FEW_ROWS) return s2v_digits_bytes(k);
    return s2v_turned_bytes(k, m) + (size_t)n_threads * s2v_blocks_scratch(m);
}

static struct ggml_tensor *draw_block_rows(s2v_graph *graph, struct ggml_tensor *x)
{
    const size_t n = rows_bytes((int32_t)x->ne[0], (int32_t)x->ne[1], graph->n_threads);
    return ggml_custom_4d(graph->ctx, GGML_TYPE_I8, (int64_t)n + S2V_BLOCKS_ALIGN, 1, 1, 1, &x, 1,
                          compute_rows, GGML_N_TASKS_MAX, NULL);
}

/* Threads share the outputs, in whole panels. */
static void compute_product(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const struct ggml_tensor *weight = user;
    const s2v_blocks w = { weight->type == GGML_TYPE_Q4_K ? S2V_Q4_K : S2V_Q6_K,
                           (int32_t)weight->ne[0], (int32_t)weight->ne[1], weight->data };
    const int64_t n_panels = (w.n + S2V_BLOCKS_PANEL - 1) / S2V_BLOCKS_PANEL;
    const int32_t first = (int32_t)(S2V_BLOCKS_PANEL * (n_panels * ith / nth));
    const int32_t end = (int32_t)(S2V_BLOCKS_PANEL * (n_panels * (ith + 1) / nth));
    const int32_t last = end < w.n ? end : w.n, m = (int32_t)dst->ne[1];
    const ptrdiff_t pitch = (ptrdiff_t)(dst->nb[1] / sizeof(float));
    char *rows = rows_data(dst->src[0]);
    if (m > S2V_FEW_ROWS)
        s2v_blocks_product_amx(&w, rows, m, first, last, dst->data, pitch,
                               rows + s2v_turned_bytes(w.k, m) +
                                   (size_t)ith * s2v_blocks_scratch(m));
    else if (m > S2V_WORD_ROWS)
        s2v_digits_product_amx(&w, rows, m, first, last, dst->data, pitch);
    else
        s2v_words_product_vnni(&w, rows, m, first, last, dst->data, pitch);
}

struct ggml_tensor *s2v_draw_rows(s2v_graph *graph, struct ggml_tensor *x)
{
    if (graph->has_blocks)
        return x->ne[0] % BLOCK == 0 && ggml_n_dims(x) <= 2 ? draw_block_rows(graph, x) : NULL;
    return s2v_few_rows(graph, x);
}

struct ggml_tensor *s2v_draw_product(s2v_graph *graph, struct ggml_tensor *weight,
                                     struct ggml_tensor *x, struct ggml_tensor *rows)
{
    if (!graph->has_blocks) return s2v_few_product(graph, weight, x, rows);
    if (!rows || !is_kept(weight) || !ggml_backend_buffer_is_host(weight->buffer))
        return ggml_mul_mat(graph->ctx, weight, x);
    return ggml_custom_4d(graph->ctx, GGML_TYPE_F32, weight->ne[1], x->ne[1], 1, 1, &rows, 1,
                          compute_product, GGML_N_TASKS_MAX, weight);
}

#else

bool s2v_blocks_take(const s2v_devices *devices, const struct ggml_tensor *weight)
{
    (void)devices, (void)weight;
    return false;
}

struct ggml_tensor *s2v_draw_rows(s2v_graph *graph, struct ggml_tensor *x)
{
    return s2v_few_rows(graph, x);
}

struct ggml_tensor *s2v_draw_product(s2v_graph *graph, struct ggml_tensor *weight,
                                     struct ggml_tensor *x, struct ggml_tensor *rows)
{
    return s2v_few_product(graph, weight, x, rows);
}

#endif
