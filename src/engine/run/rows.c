/* rows.c - memory for the rows of one prompt, on the main device. */
#include "engine/run/session.h"

#include <stdlib.h>

void s2v_rows_free(s2v_rows *rows)
{
    ggml_backend_buffer_free(rows->buffer);
    ggml_free(rows->ctx);
    free(rows->unit);
    *rows = (s2v_rows){ .n = 0 };
}

s2p_status s2v_rows_reserve(s2v_session *session, int32_t n_rows, int32_t n_spare, s2p_error *error)
{
    s2v_rows *rows = &session->rows;
    const int32_t n = n_rows + n_spare;
    rows->n = n_rows;
    if (n <= rows->capacity) return S2P_OK;
    s2v_rows_free(rows);

    const s2v_engine *engine = session->engine;
    const struct ggml_init_params params = { ggml_tensor_overhead() * 2, NULL, true };
    rows->ctx = ggml_init(params);
    rows->unit = malloc((size_t)n * 5 * sizeof *rows->unit);
    if (rows->ctx && rows->unit) {
        rows->hidden =
            ggml_new_tensor_2d(rows->ctx, GGML_TYPE_F32, engine->model.decoder.p.n_embd, n);
        rows->buffer = ggml_backend_alloc_ctx_tensors_from_buft(
            rows->ctx, ggml_backend_dev_buffer_type(engine->devices.main));
    }
    if (!rows->buffer) {
        s2v_rows_free(rows);
        return s2_fail(error, S2P_ENOMEM, "out of memory for %d rows", n);
    }
    rows->token = rows->unit + n;
    for (int i = 0; i < 3; i++) rows->pos[i] = rows->unit + (ptrdiff_t)(i + 2) * n;
    rows->n = n_rows;
    rows->capacity = n;
    return S2P_OK;
}

struct ggml_tensor *s2v_rows_view(struct ggml_context *ctx, const s2v_rows *rows, int32_t first,
                                  int32_t n)
{
    return ggml_view_2d(ctx, rows->hidden, rows->hidden->ne[0], n, rows->hidden->nb[1],
                        (size_t)first * rows->hidden->nb[1]);
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
    const size_t width = (size_t)rows->hidden->ne[0], bytes = width * sizeof *data;
    for (int32_t at = 0, length; at < n; at += length) {
        length = run_length(row, at, n);
        ggml_backend_tensor_get(rows->hidden, data + (size_t)at * width, (size_t)row[at] * bytes,
                                (size_t)length * bytes);
    }
}

void s2v_rows_write(const s2v_rows *rows, const int32_t *row, int32_t n, const float *data)
{
    const size_t width = (size_t)rows->hidden->ne[0], bytes = width * sizeof *data;
    for (int32_t at = 0, length; at < n; at += length) {
        length = run_length(row, at, n);
        ggml_backend_tensor_set(rows->hidden, data + (size_t)at * width, (size_t)row[at] * bytes,
                                (size_t)length * bytes);
    }
}
