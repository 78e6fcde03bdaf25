/* tower_nodes.c - what the threads of a node do: each takes pieces (rows, columns or heads) from a
 * counter until none are left (work.h). What is computed for a row depends on neither thread nor
 * piece, so results are the same bit for bit.
 *
 * These nodes run on the CPU only, where the memory of tensors can be read directly. ggml aligns
 * tensors to 32 bytes and the kernels need 64: packed weights and scratch have room for the
 * difference.
 */
#include "engine/products/tower_nodes.h"

#include "kernels/pages.h"
#include "kernels/work.h"

#include <math.h>
#include <string.h>

static float *floats_of(const struct ggml_tensor *t) { return t ? (float *)t->data : NULL; }

static ptrdiff_t pitch_of(const struct ggml_tensor *t)
{
    return (ptrdiff_t)(t->nb[1] / sizeof(float));
}

void s2v_linear_load(s2v_linear *out, s2v_loader *loader, const char *const *weight,
                     const char *const *bias, int32_t n_parts, int32_t layer, int64_t k, int64_t n)
{
    const bool is_pair = out->activation == S2V_SWIGLU;
    out->weights =
        (s2v_packed){ .n = (int32_t)n, .k = (int32_t)k, .n_parts = n_parts, .is_pair = is_pair };
    out->kernels = s2v_loader_origin(loader, weight, layer, &out->weights, &out->origin);
    if (!bias) return;
    if (is_pair) {
        out->bias = s2v_loader_get(loader, bias[0], layer, S2V_USE_VECTOR, n, 1);
        out->bias_up = s2v_loader_get(loader, bias[1], layer, S2V_USE_VECTOR, n, 1);
    } else {
        out->bias = s2v_loader_joined(loader, bias, n_parts, layer, n);
    }
}

/* --- scratch ------------------------------------------------------------------- */

size_t s2v_tower_scratch(const s2v_linear *const *products, size_t n, const s2v_heads *heads,
                         int32_t n_rows)
{
    const int32_t start[2] = { 0, n_rows };
    const s2v_attention all = { .start = start,
                                .n_sequences = 1,
                                .n_heads = heads->n_heads,
                                .dim = heads->dim,
                                .n_splits = 1 };
    size_t most = heads->kernels->attention_scratch(&all);
    for (size_t i = 0; i < n; i++) {
        const size_t bytes = products[i]->kernels->product_scratch(&products[i]->weights);
        if (bytes > most) most = bytes;
    }
    return (most + S2V_KERNEL_ALIGN - 1) / S2V_KERNEL_ALIGN * S2V_KERNEL_ALIGN;
}

static void *aligned(void *memory)
{
    const uintptr_t at = (uintptr_t)memory + S2V_KERNEL_ALIGN - 1;
    return (void *)(at / S2V_KERNEL_ALIGN * S2V_KERNEL_ALIGN);
}

/* A row of scratch for each thread, behind the counter of the nodes, which run one after the other. */
static s2k_work *work_of(const struct ggml_tensor *scratch) { return aligned(scratch->data); }

static void *scratch_of(const struct ggml_tensor *scratch, int ith)
{
    return (char *)aligned((char *)scratch->data + (size_t)ith * scratch->nb[1]) + S2V_KERNEL_ALIGN;
}

static void clear_scratch(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    (void)nth, (void)user;
    if (ith != 0) return;
    s2v_huge_pages(dst->data, ggml_nbytes(dst));
    s2k_work_init(work_of(dst));
}

struct ggml_tensor *s2v_node_scratch(s2v_graph *graph, struct ggml_tensor *any, size_t n_bytes)
{
    return ggml_custom_4d(graph->ctx, GGML_TYPE_I8, (int64_t)n_bytes + 2 * S2V_KERNEL_ALIGN,
                          graph->n_threads, 1, 1, &any, 1, clear_scratch, 1, NULL);
}

/* --- products ------------------------------------------------------------------ */

/* Part i of n of [0, size), in whole multiples of `grain`. */
static void cut(int32_t size, int32_t grain, int i, int n, int32_t *first, int32_t *last)
{
    const int64_t pieces = (size + grain - 1) / grain;
    const int64_t from = pieces * i / n * grain, to = pieces * (i + 1) / n * grain;
    *first = (int32_t)(from < size ? from : size);
    *last = (int32_t)(to < size ? to : size);
}

static void compute_packing(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const s2v_linear *l = user;
    s2v_packed weights = l->weights;
    weights.data = aligned(dst->data);
    s2v_pack_part(l->kernels, &weights, &l->origin, ith, nth);
}

static void compute_product(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const s2v_linear *l = user;
    const struct ggml_tensor *x = dst->src[0], *residual = dst->src[3];
    s2v_packed weights = l->weights;
    weights.data = aligned(dst->src[1]->data);
    const s2v_product product = {
        .weights = &weights,
        .x = floats_of(x),
        .x_pitch = pitch_of(x),
        .norm = { .kind = l->norm,
                  .width = l->norm_width ? l->norm_width : weights.k,
                  .weight = floats_of(l->norm_weight),
                  .bias = floats_of(l->norm_bias),
                  .eps = l->eps },
        .bias = floats_of(l->bias),
        .bias_up = floats_of(l->bias_up),
        .activation = l->activation,
        .residual = floats_of(residual),
        .residual_pitch = residual ? pitch_of(residual) : 0,
        .out = floats_of(dst),
        .out_pitch = pitch_of(dst),
    };
    s2v_huge_pages(dst->data, ggml_nbytes(dst)); /* before the first of the threads writes */
    const int32_t m = (int32_t)dst->ne[1], n = (int32_t)dst->ne[0];
    const bool by_rows = m >= nth * l->kernels->rows;       /* every piece packs its own rows */
    const int32_t rows_each = nth * l->kernels->block_rows; /* time all threads take a piece */
    const int32_t n_pieces = by_rows ? (m + rows_each - 1) / rows_each * nth : nth;
    for (int32_t i; s2k_work_take(work_of(dst->src[2]), n_pieces, nth, &i);) {
        s2v_share share = { 0, m, 0, n };
        if (by_rows)
            cut(m, l->kernels->rows, i, n_pieces, &share.m0, &share.m1);
        else
            cut(n, l->kernels->columns, i, n_pieces, &share.n0, &share.n1);
        if (share.m0 < share.m1 && share.n0 < share.n1)
            l->kernels->product(&product, share, scratch_of(dst->src[2], ith));
    }
}

struct ggml_tensor *s2v_node_product(s2v_graph *graph, const s2v_linear *linear,
                                     struct ggml_tensor *x, struct ggml_tensor *residual,
                                     struct ggml_tensor *scratch)
{
    const int64_t n_bytes =
        (int64_t)linear->kernels->packed_bytes(&linear->weights) + S2V_KERNEL_ALIGN;
    struct ggml_tensor
        *packed = /* the rows are an input so that it runs just before this product */
        ggml_custom_4d(graph->ctx, GGML_TYPE_I8, n_bytes, 1, 1, 1, &x, 1, compute_packing,
                       GGML_N_TASKS_MAX, (void *)(uintptr_t)linear);
    struct ggml_tensor *from[4] = { x, packed, scratch, residual };
    return ggml_custom_4d(graph->ctx, GGML_TYPE_F32, s2v_packed_outputs(&linear->weights), x->ne[1],
                          1, 1, from, residual ? 4 : 3, compute_product, GGML_N_TASKS_MAX,
                          (void *)(uintptr_t)linear);
}

static void compute_scaled_sum(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    (void)user;
    const struct ggml_tensor *h = dst->src[0], *x = dst->src[1];
    const float *scale = floats_of(dst->src[2]);
    const int64_t n = dst->ne[0], m = dst->ne[1];
    for (int64_t row = m * ith / nth; row < m * (ith + 1) / nth; row++) {
        const float *a = floats_of(h) + (ptrdiff_t)row * pitch_of(h);
        const float *b = floats_of(x) + (ptrdiff_t)row * pitch_of(x);
        float *to = floats_of(dst) + (ptrdiff_t)row * pitch_of(dst);
        for (int64_t i = 0; i < n; i++) to[i] = a[i] + b[i] * scale[i];
    }
}

struct ggml_tensor *s2v_node_scaled_sum(struct ggml_context *ctx, struct ggml_tensor *h,
                                        struct ggml_tensor *x, struct ggml_tensor *scale)
{
    struct ggml_tensor *from[3] = { h, x, scale };
    return ggml_custom_4d(ctx, GGML_TYPE_F32, h->ne[0], h->ne[1], 1, 1, from, 3, compute_scaled_sum,
                          GGML_N_TASKS_MAX, NULL);
}

/* --- attention ----------------------------------------------------------------- */

static void compute_rotation(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const s2v_heads *h = user;
    const int32_t *pos = dst->src[0]->data, m = (int32_t)dst->ne[1];
    const ptrdiff_t half = h->dim / 2;
    (void)nth;
    if (ith != 0) return; /* less work than sharing it */
    float *cos = floats_of(dst), *sin = cos + half * m;
    s2v_rotation(pos, pos + m, m, h->dim, h->rope_base, cos, sin);
}

struct ggml_tensor *s2v_node_rotation(struct ggml_context *ctx, const s2v_heads *heads,
                                      struct ggml_tensor *pos)
{
    return ggml_custom_4d(ctx, GGML_TYPE_F32, heads->dim, pos->ne[0] / 4, 1, 1, &pos, 1,
                          compute_rotation, 1, (void *)(uintptr_t)heads);
}

static void list_starts(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const s2v_windows *w = user;
    int32_t *start = dst->data, at = 0, n = 0;
    (void)nth;
    if (ith != 0) return;
    for (int32_t kind = 0; kind < S2V_WINDOW_KINDS; kind++)
        for (int32_t i = 0; i < w->count[kind]; i++, at += w->patches[kind]) start[n++] = at;
    start[n] = at;
}

struct ggml_tensor *s2v_node_starts(struct ggml_context *ctx, struct ggml_tensor *any,
                                    const s2v_windows *windows)
{
    int64_t n = 1;
    for (int32_t kind = 0; kind < S2V_WINDOW_KINDS; kind++) n += windows->count[kind];
    return ggml_custom_4d(ctx, GGML_TYPE_I32, n, 1, 1, 1, &any, 1, list_starts, 1,
                          (void *)(uintptr_t)windows);
}

#define PIECES_EACH 8         /* of attention, for each thread */
#define QUERIES_PER_SPLIT 128 /* a unit of work is one head of so many rows, or of a whole window */

static void compute_attention(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    const s2v_heads *h = user;
    const struct ggml_tensor *qkv = dst->src[0], *start = dst->src[1], *rotation = dst->src[3];
    const int32_t m = (int32_t)dst->ne[1], n = (int32_t)dst->ne[0];
    const int32_t n_sequences = (int32_t)start->ne[0] - 1;
    const int32_t length = m / n_sequences;
    const s2v_attention a = {
        .q = floats_of(qkv),
        .k = floats_of(qkv) + n,
        .v = floats_of(qkv) + 2 * (ptrdiff_t)n,
        .pitch = pitch_of(qkv),
        .start = start->data,
        .n_sequences = n_sequences,
        .n_heads = h->n_heads,
        .dim = h->dim,
        .n_splits = length > QUERIES_PER_SPLIT ? length / QUERIES_PER_SPLIT : 1,
        .scale = 1.0f / sqrtf((float)h->dim),
        .cos = floats_of(rotation),
        .sin = rotation ? floats_of(rotation) + (ptrdiff_t)h->dim / 2 * m : NULL,
        .out = floats_of(dst),
        .out_pitch = pitch_of(dst),
    };
    const int64_t units = s2v_attention_units(&a);
    s2v_huge_pages(dst->data, ggml_nbytes(dst));
    const int32_t n_pieces = PIECES_EACH * nth;
    for (int32_t i; s2k_work_take(work_of(dst->src[2]), n_pieces, nth, &i);) {
        const int32_t first = (int32_t)(units * i / n_pieces);
        const int32_t last = (int32_t)(units * (i + 1) / n_pieces);
        if (first < last) h->kernels->attend(&a, first, last, scratch_of(dst->src[2], ith));
    }
}

struct ggml_tensor *s2v_node_attention(s2v_graph *graph, const s2v_heads *heads,
                                       struct ggml_tensor *qkv, struct ggml_tensor *rotation,
                                       struct ggml_tensor *start, struct ggml_tensor *scratch)
{
    struct ggml_tensor *from[4] = { qkv, start, scratch, rotation };
    return ggml_custom_4d(graph->ctx, GGML_TYPE_F32, (int64_t)heads->n_heads * heads->dim,
                          qkv->ne[1], 1, 1, from, rotation ? 4 : 3, compute_attention,
                          GGML_N_TASKS_MAX, (void *)(uintptr_t)heads);
}

static void compute_part(struct ggml_tensor *dst, int ith, int nth, int part, const s2v_heads *h)
{
    const struct ggml_tensor *qkv = dst->src[0], *rotation = dst->src[1];
    const ptrdiff_t n = (ptrdiff_t)dst->ne[0], half = h->dim / 2;
    const int64_t m = dst->ne[1];
    for (int64_t row = m * ith / nth; row < m * (ith + 1) / nth; row++) {
        const float *from = floats_of(qkv) + (ptrdiff_t)row * pitch_of(qkv) + part * n;
        float *to = floats_of(dst) + (ptrdiff_t)row * pitch_of(dst);
        for (ptrdiff_t i = 0; !rotation && i < n; i++) to[i] = from[i];
        for (ptrdiff_t at = 0; rotation && at < n; at += h->dim)
            h->kernels->rotate(from + at, h->dim, floats_of(rotation) + row * half,
                               floats_of(rotation) + (row + m) * half, to + at);
    }
}

static void compute_queries(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    compute_part(dst, ith, nth, 0, user);
}

static void compute_keys(struct ggml_tensor *dst, int ith, int nth, void *user)
{
    compute_part(dst, ith, nth, 1, user);
}

struct ggml_tensor *s2v_node_part(struct ggml_context *ctx, const s2v_heads *heads,
                                  struct ggml_tensor *qkv, struct ggml_tensor *rotation, int part)
{
    struct ggml_tensor *from[2] = { qkv, rotation };
    return ggml_custom_4d(ctx, GGML_TYPE_F32, (int64_t)heads->n_heads * heads->dim, qkv->ne[1], 1,
                          1, from, rotation ? 2 : 1, part == 0 ? compute_queries : compute_keys,
                          GGML_N_TASKS_MAX, (void *)(uintptr_t)heads);
}
