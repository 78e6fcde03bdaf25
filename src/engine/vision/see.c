/* see.c - a picture becomes rows of the decoder.
 *
 * The first view goes straight from the tower into the rows. What comes after it (a
 * tiled picture and newlines) is put together here, view by view, so that the tower
 * never needs more memory than one view takes. Whoever wants to know what the tower's
 * last block did is told by watch.c, after each view.
 */
#include "engine/run/prefill.h"
#include "engine/vision/watch.h"

#include <stdlib.h>
#include <string.h>

typedef struct seeing { /* one picture on its way */
    s2v_session *s;
    s2v_graph *tower;
    const s2v_frame *f;
    int32_t index, first_row;
    s2v_watched *watched; /* NULL: nobody asks */
    s2p_error *error;
} seeing;

static size_t row_bytes(const s2v_session *s)
{
    return (size_t)s->engine->model.decoder.p.n_embd * sizeof(float);
}

/* --- the pictures seen last ---------------------------------------------------- */

/* Each place in a prompt has its own memory, so that several pictures are known again. */
static s2v_seen *memory_of(const seeing *e) { return &e->s->seen[e->index]; }

static s2p_status recall_watched(const seeing *e)
{
    const s2v_seen *seen = memory_of(e);
    const s2p_status st = s2v_watched_init(e->watched, e->f, seen->key_dim, e->error);
    if (st != S2P_OK) return st;
    const size_t n = (size_t)s2v_frame_tokens(e->f) * sizeof *seen->attn;
    memcpy(e->watched->attn, seen->attn, n);
    memcpy(e->watched->key, seen->key, n * (size_t)seen->key_dim);
    return S2P_OK;
}

/* Everything asked for is known, without the tower. */
static bool is_known(const seeing *e)
{
    const s2v_seen *seen = memory_of(e);
    return s2v_seen_recall(seen, e->f, e->s->engine->model.vision.patch_row) &&
           (!e->watched || seen->attn);
}

static s2p_status recall_picture(const seeing *e)
{
    const s2v_session *s = e->s;
    ggml_backend_tensor_set(s->rows.hidden, memory_of(e)->rows, (size_t)e->first_row * row_bytes(s),
                            (size_t)e->f->n_rows * row_bytes(s));
    return e->watched ? recall_watched(e) : S2P_OK;
}

static void remember_picture(const seeing *e)
{
    s2v_session *s = e->s;
    const s2v_model *model = &s->engine->model;
    const s2v_watched *w = e->watched;
    float *rows =
        s2v_seen_remember(memory_of(e), e->f, model->vision.patch_row, model->decoder.p.n_embd);
    if (!rows) return;
    ggml_backend_tensor_get(s->rows.hidden, rows, (size_t)e->first_row * row_bytes(s),
                            (size_t)e->f->n_rows * row_bytes(s));
    if (w)
        s2v_seen_remember_watched(memory_of(e), w->attn, w->key, s2v_frame_tokens(e->f),
                                  w->key_dim);
}

/* --- views ----------------------------------------------------------------------- */

/* The tower has run on `view`: what its last blocks did. */
static s2p_status watch_view(const seeing *e, int32_t view, const s2v_peeks *peeks)
{
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < peeks->n; i++) {
        s2v_glance glance;
        st = s2v_watch_block(e->s, e->f, &peeks->block[i], &glance, e->error);
        if (st != S2P_OK) break;
        if (e->watched && i == 0) s2v_watched_add(e->watched, e->f, view, &glance);
        if (e->s->tap) st = s2v_watch_tap(e->s, e->f, peeks->block[i].block, &glance, e->error);
        s2v_glance_free(&glance);
    }
    return st;
}

/* tokens: [tokens of a view][n_embd] out; NULL: they are the first rows of the picture. */
static s2p_status see_view(const seeing *e, int32_t view, float *tokens)
{
    s2v_session *s = e->s;
    s2v_peeks peeks = s2v_watch_peeks(s, e->watched != NULL);
    s2p_status st = s2v_graph_begin(e->tower, e->error);
    if (st != S2P_OK) return st;
    struct ggml_context *ctx = e->tower->ctx;
    const s2v_model *model = &s->engine->model;
    struct ggml_tensor *seen = model->arch->vision(e->tower, model, e->f, view, &peeks);
    const int32_t n = s2v_part_tokens(&e->f->part[0]);
    if (tokens)
        ggml_set_output(seen);
    else
        seen = ggml_cpy(ctx, seen, s2v_rows_view(ctx, &s->rows, e->first_row, n));
    s2v_graph_expand(e->tower, seen);
    st = s2v_graph_compute(e->tower, e->error);
    if (st != S2P_OK) return st;
    if (tokens) ggml_backend_tensor_get(seen, tokens, 0, ggml_nbytes(seen));
    return watch_view(e, view, &peeks);
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
static s2p_status see_rest(const seeing *e, float *rest, float *tokens)
{
    const s2v_session *s = e->s;
    const s2v_frame *f = e->f;
    const int32_t width = s->engine->model.decoder.p.n_embd;
    const int32_t n_first = s2v_part_tokens(&f->part[0]);
    const s2v_engine_options *o = &s->engine->options;
    for (int32_t view = 1; view < f->n_views; view++) {
        const s2p_status st = see_view(e, view, tokens);
        if (st != S2P_OK) return st;
        if (s->tap) s->tap("vis.merged", e->index, tokens, n_first, width, s->tap_user);
        blend_tile(f, view, tokens, width, rest);
        if (o->progress && o->progress("tiles", (double)view / (f->n_views - 1), o->user) != 0)
            return s2_fail(e->error, S2P_ECANCELLED, "vision was cancelled");
    }
    for (int32_t row = n_first; row < f->n_rows; row++)
        if (is_newline(f, row))
            ggml_backend_tensor_get(s->engine->model.vision.newline,
                                    rest + (ptrdiff_t)(row - n_first) * width, 0, row_bytes(s));
    return S2P_OK;
}

static void tap_first(const seeing *e)
{
    const s2v_session *s = e->s;
    const int32_t n = s2v_part_tokens(&e->f->part[0]);
    float *data = malloc((size_t)n * row_bytes(s));
    if (!data) return;
    ggml_backend_tensor_get(s->rows.hidden, data, (size_t)e->first_row * row_bytes(s),
                            (size_t)n * row_bytes(s));
    s->tap("vis.merged", e->index, data, n, s->engine->model.decoder.p.n_embd, s->tap_user);
    free(data);
}

static s2p_status see_all(const seeing *e)
{
    const s2v_session *s = e->s;
    s2p_status st = see_view(e, 0, NULL);
    if (st == S2P_OK && s->tap) tap_first(e);
    const int32_t n_first = s2v_part_tokens(&e->f->part[0]), n_rest = e->f->n_rows - n_first;
    if (st != S2P_OK || n_rest == 0) return st;

    float *rest = calloc((size_t)n_rest, row_bytes(s));
    float *tokens = malloc((size_t)n_first * row_bytes(s));
    if (rest && tokens)
        st = see_rest(e, rest, tokens);
    else
        st = s2_fail_memory(e->error, (size_t)n_rest * row_bytes(s), "the rows of a picture");
    if (st == S2P_OK)
        ggml_backend_tensor_set(s->rows.hidden, rest,
                                (size_t)(e->first_row + n_first) * row_bytes(s),
                                (size_t)n_rest * row_bytes(s));
    free(rest);
    free(tokens);
    return st;
}

s2p_status s2v_see_picture(s2v_session *session, s2v_graph *tower, const s2v_frame *frame,
                           int32_t index, int32_t first_row, s2v_watched *watched, s2p_error *error)
{
    const int keeps = session->options.keep_picture;
    seeing e = { session, tower, frame, index, first_row, watched, error };
    if (watched) *watched = (s2v_watched){ .attn = NULL };
    if (keeps && is_known(&e)) {
        const s2p_status st = recall_picture(&e);
        if (st == S2P_OK && session->tap) tap_first(&e);
        return st;
    }

    s2v_watched own = { .attn = NULL };
    if (keeps == 2 && !watched) e.watched = &own;
    s2p_status st = S2P_OK;
    if (e.watched)
        st = s2v_watched_init(e.watched, frame, session->engine->model.vision.head_dim, error);
    if (st == S2P_OK) st = see_all(&e);
    if (st == S2P_OK && keeps) remember_picture(&e);
    if (st != S2P_OK && watched) s2v_watched_free(watched);
    s2v_watched_free(&own);
    return st;
}
