/* see.c - a picture becomes rows of the decoder.
 *
 * The first view goes straight from the tower into the rows. What comes after it (a
 * tiled picture and newlines) is put together here, view by view, so that the tower
 * never needs more memory than one view takes.
 */
#include "engine/session.h"

#include <stdlib.h>
#include <string.h>

/* Where the rows of a picture stand in the tensor of all rows, in bytes. */
static size_t row_bytes(const s2v_session *s)
{
    return (size_t)s->engine->model.decoder.p.n_embd * sizeof(float);
}

/* --- the picture seen last ----------------------------------------------------- */

/* With options.keep_picture: its rows, without the tower. */
static bool recall_picture(s2v_session *s, const s2v_frame *f, int32_t first_row)
{
    const float *rows = s2v_seen_recall(&s->seen, f, s->engine->model.vision.patch_row);
    if (!rows) return false;
    ggml_backend_tensor_set(s->rows.hidden, rows, (size_t)first_row * row_bytes(s),
                            (size_t)f->n_rows * row_bytes(s));
    return true;
}

static void remember_picture(s2v_session *s, const s2v_frame *f, int32_t first_row)
{
    const s2v_model *model = &s->engine->model;
    float *rows = s2v_seen_remember(&s->seen, f, model->vision.patch_row, model->decoder.p.n_embd);
    if (!rows) return;
    ggml_backend_tensor_get(s->rows.hidden, rows, (size_t)first_row * row_bytes(s),
                            (size_t)f->n_rows * row_bytes(s));
}

/* --- views ----------------------------------------------------------------------- */

static s2p_status see_first(s2v_session *s, s2v_graph *tower, const s2v_frame *f, int32_t first_row,
                            s2p_error *error)
{
    const s2v_model *model = &s->engine->model;
    const s2p_status st = s2v_graph_begin(tower, error);
    if (st != S2P_OK) return st;
    struct ggml_tensor *seen = model->arch->vision(tower, model, f, 0);
    const int32_t n = s2v_part_tokens(&f->part[0]);
    s2v_graph_expand(tower,
                     ggml_cpy(tower->ctx, seen, s2v_rows_view(tower->ctx, &s->rows, first_row, n)));
    return s2v_graph_compute(tower, error);
}

/* tokens: [tokens of a view][n_embd] out */
static s2p_status see_tile(s2v_session *s, s2v_graph *tower, const s2v_frame *f, int32_t view,
                           float *tokens, s2p_error *error)
{
    const s2v_model *model = &s->engine->model;
    s2p_status st = s2v_graph_begin(tower, error);
    if (st != S2P_OK) return st;
    struct ggml_tensor *seen = model->arch->vision(tower, model, f, view);
    ggml_set_output(seen);
    s2v_graph_expand(tower, seen);
    st = s2v_graph_compute(tower, error);
    if (st == S2P_OK) ggml_backend_tensor_get(seen, tokens, 0, ggml_nbytes(seen));
    return st;
}

static void blend_tile(const s2v_frame *f, int32_t view, const float *tokens, int32_t width,
                       float *rest)
{
    const int32_t first = s2v_part_tokens(&f->part[0]);
    for (size_t i = 0; i < f->n_blend; i++) {
        const s2v_blend *b = &f->blend[i];
        if (b->view != view) continue;
        const float *from = tokens + (ptrdiff_t)b->token * width;
        float *to = rest + (ptrdiff_t)(b->row - first) * width;
        for (int32_t k = 0; k < width; k++) to[k] += b->weight * from[k];
    }
}

static bool is_newline(const s2v_frame *f, int32_t row)
{
    for (int32_t p = 0; p < f->n_parts; p++) {
        const s2v_part *part = &f->part[p];
        const int32_t at = row - part->first;
        if (at >= 0 && at < part->grid.rows * part->pitch && at % part->pitch < part->grid.cols)
            return false;
    }
    return true;
}

/* Rows after the first view. rest: zeros; tokens: room for one view. */
static s2p_status see_rest(s2v_session *s, s2v_graph *tower, const s2v_frame *f, int32_t index,
                           float *rest, float *tokens, s2p_error *error)
{
    const int32_t width = s->engine->model.decoder.p.n_embd;
    const int32_t n_first = s2v_part_tokens(&f->part[0]);
    const s2v_engine_options *o = &s->engine->options;
    for (int32_t view = 1; view < f->n_views; view++) {
        const s2p_status st = see_tile(s, tower, f, view, tokens, error);
        if (st != S2P_OK) return st;
        if (s->tap) s->tap("vis.merged", index, tokens, n_first, width, s->tap_user);
        blend_tile(f, view, tokens, width, rest);
        if (o->progress && o->progress("tiles", (double)view / (f->n_views - 1), o->user) != 0)
            return s2_fail(error, S2P_ECANCELLED, "vision was cancelled");
    }
    for (int32_t row = n_first; row < f->n_rows; row++)
        if (is_newline(f, row))
            ggml_backend_tensor_get(s->engine->model.vision.newline,
                                    rest + (ptrdiff_t)(row - n_first) * width, 0, row_bytes(s));
    return S2P_OK;
}

static void tap_first(s2v_session *s, const s2v_frame *f, int32_t index, int32_t first_row)
{
    const int32_t n = s2v_part_tokens(&f->part[0]);
    float *data = malloc((size_t)n * row_bytes(s));
    if (!data) return;
    ggml_backend_tensor_get(s->rows.hidden, data, (size_t)first_row * row_bytes(s),
                            (size_t)n * row_bytes(s));
    s->tap("vis.merged", index, data, n, s->engine->model.decoder.p.n_embd, s->tap_user);
    free(data);
}

static s2p_status see_all(s2v_session *s, s2v_graph *tower, const s2v_frame *f, int32_t index,
                          int32_t first_row, s2p_error *error)
{
    s2p_status st = see_first(s, tower, f, first_row, error);
    if (st == S2P_OK && s->tap) tap_first(s, f, index, first_row);
    const int32_t n_first = s2v_part_tokens(&f->part[0]), n_rest = f->n_rows - n_first;
    if (st != S2P_OK || n_rest == 0) return st;

    float *rest = calloc((size_t)n_rest, row_bytes(s));
    float *tokens = malloc((size_t)n_first * row_bytes(s));
    if (rest && tokens)
        st = see_rest(s, tower, f, index, rest, tokens, error);
    else
        st = s2_fail_memory(error, (size_t)n_rest * row_bytes(s), "the rows of a picture");
    if (st == S2P_OK)
        ggml_backend_tensor_set(s->rows.hidden, rest, (size_t)(first_row + n_first) * row_bytes(s),
                                (size_t)n_rest * row_bytes(s));
    free(rest);
    free(tokens);
    return st;
}

s2p_status s2v_see_picture(s2v_session *session, s2v_graph *tower, const s2v_frame *frame,
                           int32_t index, int32_t first_row, s2v_watched *watched, s2p_error *error)
{
    (void)watched;
    const bool keeps = session->options.keep_picture != 0;
    if (keeps && recall_picture(session, frame, first_row)) {
        if (session->tap) tap_first(session, frame, index, first_row);
        return S2P_OK;
    }
    const s2p_status st = see_all(session, tower, frame, index, first_row, error);
    if (st == S2P_OK && keeps) remember_picture(session, frame, first_row);
    return st;
}

void s2v_watched_free(s2v_watched *watched)
{
    free(watched->attn);
    free(watched->key);
    *watched = (s2v_watched){ .attn = NULL };
}
