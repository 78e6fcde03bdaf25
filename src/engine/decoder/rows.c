/* rows.c - memory for the rows of one prompt, on the device of the first layer, and what they are. */
#include "engine/decoder/rows.h"

#include "engine/backend/reserve.h"

#include <stdlib.h>
#include <string.h>

#define PLANES 5      /* unit, token and three positions of a row */
#define ALL_PLANES 10 /* and scratch: one for moving, four of positions for a graph */

/* --- memory -------------------------------------------------------------------------- */

void s2v_rows_free(s2v_rows *rows)
{
    ggml_backend_buffer_free(rows->buffer);
    ggml_free(rows->ctx);
    free(rows->unit);
    free(rows->masked);
    for (int i = 0; i < 2; i++) free(rows->mask[i]);
    *rows = (s2v_rows){ .n = 0 };
}

s2p_status s2v_rows_reserve(s2v_rows *rows, const s2v_decoder *decoder, const s2v_devices *devices,
                            s2v_traffic *traffic, int32_t n_rows, int32_t n_spare, s2p_error *error)
{
    const int32_t n = n_rows + n_spare;
    rows->n = n_rows;
    if (n <= rows->capacity) return S2P_OK;
    s2v_rows_free(rows);

    const struct ggml_init_params params = { ggml_tensor_overhead() * 3, NULL, true };
    ggml_backend_dev_t device = decoder->first_on_device > 0 ? devices->cpu : devices->main;
    rows->ctx = s2v_context_open(params);
    rows->unit = malloc((size_t)n * ALL_PLANES * sizeof *rows->unit);
    if (rows->ctx && rows->unit) {
        rows->hidden = ggml_new_tensor_2d(rows->ctx, GGML_TYPE_F32, decoder->p.n_embd, n);
        if (decoder->p.n_deepstack > 0)
            rows->deepstack = ggml_new_tensor_3d(rows->ctx, GGML_TYPE_F32, decoder->p.n_embd, n,
                                                 decoder->p.n_deepstack);
        rows->buffer = ggml_backend_alloc_ctx_tensors_from_buft(
            rows->ctx, ggml_backend_dev_buffer_type(device));
    }
    if (!rows->buffer) {
        s2v_rows_free(rows);
        return s2_fail(error, S2P_ENOMEM, "out of memory for %d rows", n);
    }
    rows->token = rows->unit + n;
    for (int i = 0; i < 3; i++) rows->pos[i] = rows->unit + (ptrdiff_t)(i + 2) * n;
    rows->position = rows->unit + (ptrdiff_t)(PLANES + 1) * n;
    rows->traffic = traffic;
    rows->n = n_rows;
    rows->capacity = n;
    return S2P_OK;
}

/* --- hidden states ------------------------------------------------------------------- */

struct ggml_tensor *s2v_rows_view(struct ggml_context *ctx, const s2v_rows *rows, int32_t first,
                                  int32_t n)
{
    return ggml_view_2d(ctx, rows->hidden, rows->hidden->ne[0], n, rows->hidden->nb[1],
                        (size_t)first * rows->hidden->nb[1]);
}

void s2v_rows_get(const s2v_rows *rows, int32_t first, int32_t n, float *data)
{
    const size_t row = rows->hidden->nb[1];
    s2v_tensor_get(rows->hidden, data, (size_t)first * row, (size_t)n * row, rows->traffic);
}

void s2v_rows_set(const s2v_rows *rows, int32_t first, int32_t n, const float *data)
{
    const size_t row = rows->hidden->nb[1];
    s2v_tensor_set(rows->hidden, data, (size_t)first * row, (size_t)n * row, rows->traffic);
}

struct ggml_tensor *s2v_rows_deepstack(struct ggml_context *ctx, const s2v_rows *rows,
                                       int32_t layer, int32_t first, int32_t n)
{
    const struct ggml_tensor *d = rows->deepstack;
    return ggml_view_2d(ctx, rows->deepstack, d->ne[0], n, d->nb[1],
                        (size_t)layer * d->nb[2] + (size_t)first * d->nb[1]);
}

void s2v_rows_deepstack_get(const s2v_rows *rows, int32_t layer, int32_t first, int32_t n,
                            float *data)
{
    const struct ggml_tensor *d = rows->deepstack;
    s2v_tensor_get(d, data, (size_t)layer * d->nb[2] + (size_t)first * d->nb[1],
                   (size_t)n * d->nb[1], rows->traffic);
}

void s2v_rows_deepstack_set(const s2v_rows *rows, int32_t layer, int32_t first, int32_t n,
                            const float *data)
{
    struct ggml_tensor *d = rows->deepstack;
    s2v_tensor_set(d, data, (size_t)layer * d->nb[2] + (size_t)first * d->nb[1],
                   (size_t)n * d->nb[1], rows->traffic);
}

void s2v_rows_deepstack_clear(s2v_rows *rows, bool has_pictures)
{
    rows->has_deepstack = rows->deepstack && has_pictures;
    if (rows->has_deepstack)
        ggml_backend_tensor_memset(rows->deepstack, 0, 0, ggml_nbytes(rows->deepstack));
}

/* Consecutive rows from list[at] on. */
static int32_t run_length(const int32_t *list, int32_t at, int32_t n)
{
    int32_t length = 1;
    while (at + length < n && list[at + length] == list[at] + length) length++;
    return length;
}

void s2v_rows_read(const s2v_rows *rows, const int32_t *row, int32_t n, float *data)
{
    for (int32_t at = 0, length; at < n; at += length, data += length * rows->hidden->ne[0])
        s2v_rows_get(rows, row[at], length = run_length(row, at, n), data);
}

void s2v_rows_write(const s2v_rows *rows, const int32_t *row, int32_t n, const float *data)
{
    for (int32_t at = 0, length; at < n; at += length, data += length * rows->hidden->ne[0])
        s2v_rows_set(rows, row[at], length = run_length(row, at, n), data);
}

/* --- planes ---------------------------------------------------------------------------- */

void s2v_rows_move(s2v_rows *rows, const int32_t *keep, int32_t n)
{
    int32_t *old = rows->unit + (ptrdiff_t)PLANES * rows->capacity;
    for (int p = 0; p < PLANES; p++) {
        int32_t *plane = rows->unit + (ptrdiff_t)p * rows->capacity;
        memcpy(old, plane, (size_t)rows->n * sizeof *old);
        for (int32_t i = 0; i < n; i++)
            plane[i] = keep[i] >= 0 ? old[keep[i]] : p > 0 ? -1 : i > 0 ? plane[i - 1] : 0;
    }
    rows->n = n;
}

void s2v_rows_number(s2v_rows *rows, int32_t first)
{
    for (int plane = 0; plane < 3; plane++)
        for (int32_t i = 0; i < rows->n; i++) rows->pos[plane][i] = first + i;
}

void s2v_rows_cut(s2v_rows *rows)
{
    for (int p = 0; p < PLANES; p++) {
        int32_t *plane = rows->unit + (ptrdiff_t)p * rows->capacity;
        memmove(plane, plane + (rows->n - rows->n_tail), (size_t)rows->n_tail * sizeof *plane);
    }
    rows->n = rows->n_tail;
}

/* --- inputs of a graph ----------------------------------------------------------------- */

/* Plane after plane; a fourth repeats the time, which interleaved M-RoPE reads for its last pairs where
 * Hugging Face reads the time, and M-RoPE in blocks does not read. */
struct ggml_tensor *s2v_rows_positions(const s2v_rows *rows, s2v_graph *graph, int32_t n_planes,
                                       int32_t first, int32_t n)
{
    for (int32_t plane = 0; plane < n_planes; plane++)
        for (int32_t i = 0; i < n; i++)
            rows->position[plane * n + i] = rows->pos[plane % 3][first + i];
    return s2v_graph_input(graph, GGML_TYPE_I32, (int64_t)n_planes * n, 1, rows->position);
}
