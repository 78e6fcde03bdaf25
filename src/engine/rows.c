/* rows.c - memory for the rows of one prompt, on the main device. */
#include "engine/session.h"

#include <stdlib.h>

void s2v_rows_free(s2v_rows *rows)
{
    ggml_backend_buffer_free(rows->buffer);
    ggml_free(rows->ctx);
    free(rows->image);
    *rows = (s2v_rows){ .n = 0 };
}

s2p_status s2v_rows_reserve(s2v_session *session, int32_t n, s2p_error *error)
{
    s2v_rows *rows = &session->rows;
    rows->n = n;
    if (n <= rows->capacity) return S2P_OK;
    s2v_rows_free(rows);

    const s2v_engine *engine = session->engine;
    const struct ggml_init_params params = { ggml_tensor_overhead() * 2, NULL, true };
    rows->ctx = ggml_init(params);
    rows->image = malloc((size_t)n * 4 * sizeof *rows->image);
    if (rows->ctx && rows->image) {
        rows->hidden =
            ggml_new_tensor_2d(rows->ctx, GGML_TYPE_F32, engine->model.decoder.p.n_embd, n);
        rows->buffer = ggml_backend_alloc_ctx_tensors_from_buft(
            rows->ctx, ggml_backend_dev_buffer_type(engine->devices.main));
    }
    if (!rows->buffer) {
        s2v_rows_free(rows);
        return s2_fail(error, S2P_ENOMEM, "out of memory for %d rows", n);
    }
    for (int i = 0; i < 3; i++) rows->pos[i] = rows->image + (ptrdiff_t)(i + 1) * n;
    rows->n = rows->capacity = n;
    return S2P_OK;
}

struct ggml_tensor *s2v_rows_view(struct ggml_context *ctx, const s2v_rows *rows, int32_t first,
                                  int32_t n)
{
    return ggml_view_2d(ctx, rows->hidden, rows->hidden->ne[0], n, rows->hidden->nb[1],
                        (size_t)first * rows->hidden->nb[1]);
}
