/* few_rows.c - two nodes of a graph: rows become bytes, bytes times weights.
 *
 * The weight is no input of its node: ggml lets nobody else read a buffer it packed. Both nodes run on
 * the CPU, where the memory of tensors can be read directly; a graph with another device has none.
 */
#include "engine/products/few_rows.h"

#include "kernels/decoder/few_rows_avx2.h"

#include <stdatomic.h>
#include <string.h>

#define PIECE 32 /* outputs a thread takes at a time: whole groups of eight */

#if defined(S2V_X86_KERNELS) && defined(S2V_KNOWN_GGML)

static bool has_kernels(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
           __builtin_cpu_supports("f16c");
}

bool s2v_few_takes(const struct ggml_tensor *w)
{
    if (!w->buffer || w->ne[0] % S2V_FEW_BLOCK != 0 || ggml_n_dims(w) > 2 || !has_kernels())
        return false;
    const char *name = ggml_backend_buft_name(ggml_backend_buffer_get_type(w->buffer));
    const bool is_packed = strcmp(name, "CPU_REPACK") == 0;
    return w->type == GGML_TYPE_Q4_K
               ? is_packed && w->ne[1] % 8 == 0
               : w->type == GGML_TYPE_Q6_K && ggml_backend_buffer_is_host(w->buffer);
}

/* --- rows, and behind them the turn: which piece of a product is the next ------------------- */

static size_t row_bytes(int64_t k) { return (size_t)(k / S2V_FEW_BLOCK) * sizeof(s2v_row_block); }

static atomic_int *turn_of(const struct ggml_tensor *rows)
{
    void *end = (char *)rows->data + ggml_nbytes(rows) - sizeof(atomic_int);
    return end;
}

static void compute_bytes(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const struct ggml_tensor *x = dst->src[0];
    (void)user;
    if (ith == 0) atomic_init(turn_of(dst), 0);
    for (int64_t r = ith; r < x->ne[1]; r += nth) {
        const char *row = (const char *)x->data + (size_t)r * x->nb[1];
        void *bytes = (char *)dst->data + (size_t)r * row_bytes(x->ne[0]);
        s2v_few_bytes_avx2((const float *)(const void *)row, (int32_t)x->ne[0], bytes);
    }
}

struct ggml_tensor *s2v_few_rows(s2v_graph *graph, struct ggml_tensor *x)
{
    if (graph->device || x->ne[0] % S2V_FEW_BLOCK != 0 || !has_kernels()) return NULL;
    const size_t n = (size_t)x->ne[1] * row_bytes(x->ne[0]) + sizeof(atomic_int);
    return ggml_custom_4d(graph->ctx, GGML_TYPE_I8, (int64_t)n, 1, 1, 1, &x, 1, compute_bytes,
                          GGML_N_TASKS_MAX, NULL);
}

/* --- products ------------------------------------------------------------------------------- */

/* Threads take pieces as they come: one that stood still for a while leaves the others its share. Each
 * asks once in vain; whoever is last at that leaves the turn as the next product of the rows wants it. */
static void compute_product(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const struct ggml_tensor *weight = user, *rows = dst->src[0];
    const int32_t n = (int32_t)dst->ne[0], n_pieces = (n + PIECE - 1) / PIECE;
    s2v_few_kernel *kernel = weight->type == GGML_TYPE_Q4_K ? s2v_few_q4_avx2 : s2v_few_q6_avx2;
    atomic_int *turn = turn_of(rows);
    int32_t i;
    (void)ith;
    while ((i = atomic_fetch_add(turn, 1)) < n_pieces) {
        const int32_t first = i * PIECE, last = first + PIECE < n ? first + PIECE : n;
        kernel(weight->data, (int32_t)weight->ne[0], first, last, rows->data, (int32_t)dst->ne[1],
               dst->data, (ptrdiff_t)(dst->nb[1] / sizeof(float)));
    }
    if (i == n_pieces + nth - 1) atomic_store(turn, 0);
}

struct ggml_tensor *s2v_few_product(s2v_graph *graph, struct ggml_tensor *weight,
                                    struct ggml_tensor *x, struct ggml_tensor *rows)
{
    if (!rows || !s2v_few_takes(weight)) return ggml_mul_mat(graph->ctx, weight, x);
    return ggml_custom_4d(graph->ctx, GGML_TYPE_F32, weight->ne[1], x->ne[1], 1, 1, &rows, 1,
                          compute_product, GGML_N_TASKS_MAX, weight);
}

#else

bool s2v_few_takes(const struct ggml_tensor *weight)
{
    (void)weight;
    return false;
}

struct ggml_tensor *s2v_few_rows(s2v_graph *graph, struct ggml_tensor *x)
{
    (void)graph, (void)x;
    return NULL;
}

struct ggml_tensor *s2v_few_product(s2v_graph *graph, struct ggml_tensor *weight,
                                    struct ggml_tensor *x, struct ggml_tensor *rows)
{
    (void)rows;
    return ggml_mul_mat(graph->ctx, weight, x);
}

#endif
