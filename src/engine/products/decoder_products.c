/* decoder_products.c - two nodes for a product: the rows as the kernel reads them, then the product.
 *
 * The number of rows and the format of the weight decide on the variant, so the same rows give the same
 * results in every graph. The weight is not an input of its node, because ggml refuses to read a buffer it packed
 * itself. Both nodes run on the CPU, where the memory of tensors can be read directly; a graph with
 * another device has no set of variants.
 */
#include "engine/products/decoder_products.h"

#include "kernels/work.h"

#include <string.h>

#define GGML_ROWS \
    4 /* ggml multiplies so many rows at a time with packed weights, the rest one by one */

static s2k_format format_of(const struct ggml_tensor *weight)
{
    if (!weight->buffer || ggml_n_dims(weight) > 2) return S2K_NO_FORMAT;
    const char *buffer = ggml_backend_buft_name(ggml_backend_buffer_get_type(weight->buffer));
    const bool is_packed = strcmp(buffer, "CPU_REPACK") == 0;
    if (!is_packed && !ggml_backend_buffer_is_host(weight->buffer)) return S2K_NO_FORMAT;
    return s2k_format_find((int32_t)weight->type, is_packed ? 8 : 1, weight->ne[0], weight->ne[1]);
}

const s2k_products *s2v_products_for(const s2k_product_set *products,
                                     const struct ggml_tensor *weight, int32_t n_rows)
{
    return products ? s2k_products_for(products, format_of(weight), n_rows) : NULL;
}

int32_t s2v_rows_to_run(const s2v_graph *graph, const struct ggml_tensor *weight, int32_t n_rows)
{
    if (graph->device || s2v_products_for(graph->products, weight, n_rows)) return n_rows;
    return (n_rows + GGML_ROWS - 1) / GGML_ROWS * GGML_ROWS;
}

/* --- rows -------------------------------------------------------------------------------------- */

/* A node of rows holds this header, the packed rows, and scratch for each thread of the products that
 * read them, which run one after the other. ggml aligns tensors to 32 bytes: there is room to align
 * each of these to S2K_ALIGN. */
typedef struct rows_header {
    const s2k_products *with;
    s2k_work work; /* of the products */
} rows_header;

_Static_assert(sizeof(rows_header) <= S2K_ALIGN, "rows follow after S2K_ALIGN bytes");

static size_t round_up(size_t n) { return (n + S2K_ALIGN - 1) / S2K_ALIGN * S2K_ALIGN; }

static rows_header *header_of(const struct ggml_tensor *rows)
{
    return (rows_header *)(void *)round_up((size_t)(uintptr_t)rows->data);
}

static size_t scratch_bytes(const s2k_products *with, int32_t k, int32_t m)
{
    return with->scratch ? round_up(with->scratch(k, m)) : 0;
}

static void compute_rows(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const struct ggml_tensor *x = dst->src[0];
    const s2k_products *with = user;
    const int32_t k = (int32_t)x->ne[0], m = (int32_t)x->ne[1];
    const int64_t n_groups = s2k_row_groups(with, m);
    rows_header *header = header_of(dst);
    if (ith == 0) {
        header->with = with;
        s2k_work_init(&header->work);
    }
    with->pack_rows(x->data, (ptrdiff_t)(x->nb[1] / sizeof(float)), k, m,
                    (int32_t)(n_groups * ith / nth), (int32_t)(n_groups * (ith + 1) / nth),
                    (char *)header + S2K_ALIGN);
}

static struct ggml_tensor *draw_packed(s2v_graph *graph, struct ggml_tensor *x,
                                       const s2k_products *with)
{
    const int32_t k = (int32_t)x->ne[0], m = (int32_t)x->ne[1];
    const size_t n_bytes = 2 * S2K_ALIGN + round_up(with->rows_bytes(k, m)) +
                           (size_t)graph->n_threads * scratch_bytes(with, k, m);
    return ggml_custom_4d(graph->ctx, GGML_TYPE_I8, (int64_t)n_bytes, 1, 1, 1, &x, 1, compute_rows,
                          GGML_N_TASKS_MAX, (void *)(uintptr_t)with);
}

/* The rows as `with` packs them. A set has at most one variant of each family for a number of rows. */
static struct ggml_tensor *packed_for(s2v_graph *graph, s2v_product_rows *rows,
                                      const s2k_products *with)
{
    int i = 0;
    while (i < S2K_SET_MAX - 1 && rows->with[i] && rows->with[i] != with) i++;
    if (rows->with[i] != with) rows->packed[i] = draw_packed(graph, rows->x, with);
    rows->with[i] = with;
    return rows->packed[i];
}

/* --- products ------------------------------------------------------------------------------------ */

/* Threads take pieces of the outputs: as large as the variant likes, but enough for all threads. */
static void compute_product(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const struct ggml_tensor *weight = user;
    rows_header *header = header_of(dst->src[0]);
    const s2k_products *with = header->with;
    const s2k_weights w = { format_of(weight), (int32_t)weight->ne[0], (int32_t)weight->ne[1],
                            weight->data };
    const int32_t m = (int32_t)dst->ne[1];
    const char *rows = (const char *)header + S2K_ALIGN;
    char *scratch = (char *)header + S2K_ALIGN + round_up(with->rows_bytes(w.k, m)) +
                    (size_t)ith * scratch_bytes(with, w.k, m);
    int32_t size = with->piece, piece;
    while (size > S2K_GRAIN && w.n / size < 2 * nth) size = size / 2 / S2K_GRAIN * S2K_GRAIN;
    const int32_t n_pieces = (w.n + size - 1) / size;
    while (s2k_work_take(&header->work, n_pieces, nth, &piece)) {
        const int32_t first = piece * size, last = w.n - first < size ? w.n : first + size;
        with->product(&w, rows, m, first, last, dst->data, (ptrdiff_t)(dst->nb[1] / sizeof(float)),
                      scratch);
    }
}

struct ggml_tensor *s2v_draw_product(s2v_graph *graph, struct ggml_tensor *weight,
                                     s2v_product_rows *rows)
{
    struct ggml_tensor *x = rows->x;
    const s2k_products *with =
        ggml_n_dims(x) > 2 ? NULL : s2v_products_for(graph->products, weight, (int32_t)x->ne[1]);
    if (!with) return ggml_mul_mat(graph->ctx, weight, x);
    struct ggml_tensor *packed = packed_for(graph, rows, with);
    return ggml_custom_4d(graph->ctx, GGML_TYPE_F32, weight->ne[1], x->ne[1], 1, 1, &packed, 1,
                          compute_product, GGML_N_TASKS_MAX, weight);
}
