/* views.c - what a method sees of one unit, and its choice.
 *
 * Rows of the decoder are gathered token by token, as they stand after earlier
 * stages. A method that looks at the whole prompt (DART) gets the text and the unit's
 * own rows: other pictures are not there for it. When a picture is too small to be
 * measured (a region without a pixel, or a side below 3), its structure counts as
 * flat: the budget is spread evenly and a note says so.
 */
#include "engine/run/views.h"

#include "engine/vision/arch.h"

#include <stdlib.h>
#include <string.h>

typedef struct gathered { /* owned */
    float *erc, *hidden, *query_attn, *plain_key, *rotated_key, *normed;
    int32_t *prompt; /* [n_prompt] rows of the prompt as the unit sees it */
} gathered;

static void gathered_free(gathered *g)
{
    free(g->erc);
    free(g->hidden);
    free(g->query_attn);
    free(g->plain_key);
    free(g->rotated_key);
    free(g->normed);
    free(g->prompt);
}

static float *floats(size_t rows, size_t cols) { return malloc(rows * cols * sizeof(float)); }

/* --- gathering ------------------------------------------------------------------- */

/* from: [rows][width]. out: [n][width]. */
static void take_rows(const float *from, const int32_t *row, int32_t n, size_t width, float *out)
{
    for (int32_t i = 0; i < n; i++)
        memcpy(out + (size_t)i * width, from + (size_t)row[i] * width, width * sizeof *out);
}

/* from: [rows][heads][dim]. out: [heads][n][dim]. */
static void take_heads(const float *from, const int32_t *row, int32_t n, int32_t heads, int32_t dim,
                       float *out)
{
    for (int32_t h = 0; h < heads; h++)
        for (int32_t i = 0; i < n; i++)
            memcpy(out + ((size_t)h * (size_t)n + (size_t)i) * (size_t)dim,
                   from + ((size_t)row[i] * (size_t)heads + (size_t)h) * (size_t)dim,
                   (size_t)dim * sizeof *out);
}

static bool gather_signals(const s2v_job *j, const s2v_unit *u, const s2v_readings *readings,
                           gathered *g, s2p_signals *s)
{
    const size_t n = (size_t)u->n_alive, width = (size_t)j->s->engine->model.decoder.p.n_embd;
    if (readings->erc) {
        s->erc = g->erc = floats(n, 1);
        if (!g->erc) return false;
        take_rows(readings->erc, u->row, u->n_alive, 1, g->erc);
    }
    if (j->needs & S2P_NEED_HIDDEN) {
        s->hidden = g->hidden = floats(n, width);
        s->hidden_dim = (int32_t)width;
        if (!g->hidden) return false;
        s2v_rows_read(&j->s->rows, u->row, u->n_alive, g->hidden);
    }
    if (readings->attention) {
        s->query_attn = g->query_attn = floats((size_t)readings->n_queries, n);
        s->n_queries = readings->n_queries;
        if (!g->query_attn) return false;
        for (int32_t q = 0; q < readings->n_queries; q++)
            take_rows(readings->attention + (size_t)q * (size_t)j->s->rows.n, u->row, u->n_alive, 1,
                      g->query_attn + (size_t)q * n);
    }
    s->feature = u->feature;
    s->feature_dim = u->feature ? (int32_t)width : 0;
    return true;
}

/* Text before the unit, its rows, text after it. */
static bool gather_prompt(const s2v_job *j, const s2v_unit *u, const s2v_readings *readings,
                          gathered *g, s2p_taps *t)
{
    const s2v_rows *rows = &j->s->rows;
    const size_t width = (size_t)j->s->engine->model.decoder.p.n_embd;
    g->prompt = malloc((size_t)rows->n * sizeof *g->prompt);
    if (!g->prompt) return false;
    int32_t n = 0;
    for (int32_t row = 0; row < u->row[0]; row++)
        if (rows->unit[row] < 0) g->prompt[n++] = row;
    t->first_row = n;
    for (int32_t i = 0; i < u->n_alive; i++) g->prompt[n++] = u->row[i];
    for (int32_t row = u->row[0]; row < rows->n; row++)
        if (rows->unit[row] < 0) g->prompt[n++] = row;
    t->n_prompt = n;
    if (readings->probe.rotated_key) {
        t->rotated_key = g->rotated_key = floats((size_t)n, (size_t)(t->n_kv_heads * t->head_dim));
        if (!g->rotated_key) return false;
        take_heads(readings->probe.rotated_key, g->prompt, n, t->n_kv_heads, t->head_dim,
                   g->rotated_key);
    }
    if (readings->normed) {
        t->normed = g->normed = floats((size_t)n, width);
        t->normed_dim = (int32_t)width;
        if (!g->normed) return false;
        take_rows(readings->normed, g->prompt, n, width, g->normed);
    }
    return true;
}

static bool gather_taps(const s2v_job *j, const s2v_unit *u, const s2v_readings *readings,
                        gathered *g, s2p_taps *t)
{
    const s2v_decoder_params *p = &j->s->engine->model.decoder.p;
    const s2v_tower_probe *tower = &j->tower_probe[u->picture];
    const int32_t first = u->part > 0 ? s2v_part_tokens(&j->frames[u->picture].part[0]) : 0;
    if (tower->attn) {
        t->vision_attn = tower->attn + first;
        t->vision_heads = 1;
    }
    if (tower->key) {
        t->vision_key = tower->key + (size_t)first * (size_t)tower->key_dim;
        t->vision_key_dim = tower->key_dim;
    }
    if (j->text) {
        t->text = j->text;
        t->n_text = j->n_text;
        t->text_dim = p->n_embd;
    }
    t->n_heads = p->n_heads;
    t->n_kv_heads = p->n_kv_heads;
    t->head_dim = p->head_dim;
    t->last_query = readings->probe.last_query;
    if (readings->probe.mean_query)
        t->mean_query = readings->probe.mean_query +
                        (size_t)(u - j->unit) * (size_t)p->n_heads * (size_t)p->head_dim;
    if (readings->probe.plain_key) {
        t->plain_key = g->plain_key =
            floats((size_t)u->n_alive, (size_t)(p->n_kv_heads * p->head_dim));
        if (!g->plain_key) return false;
        take_heads(readings->probe.plain_key, u->row, u->n_alive, p->n_kv_heads, p->head_dim,
                   g->plain_key);
    }
    return readings->probe.rotated_key || readings->normed ? gather_prompt(j, u, readings, g, t)
                                                           : true;
}

/* --- choosing -------------------------------------------------------------------- */

static s2p_status choose(s2v_job *j, s2v_unit *u, s2p_view *view, const s2p_image *picture)
{
    s2v_session *s = j->s;
    view->signals.image = picture;
    s2p_status st = s2p_method_run(j->method, view, u->plan, j->error);
    if (st == S2P_EUNSUPPORTED && (j->needs & S2P_NEED_PIXELS)) {
        s2v_job_note(
            j, "a picture is too small to measure its structure; its budget is spread evenly");
        view->choice.allocator = "uniform";
        st = s2p_method_run(j->method, view, u->plan, j->error);
    }
    if (s->recorder) {
        const s2v_choice made = { .method = j->method,
                                  .view = view,
                                  .plan = st == S2P_OK ? u->plan : NULL,
                                  .grid = j->frames[u->picture].part[u->part].grid,
                                  .picture = u->picture,
                                  .part = u->part };
        s->recorder(&made, s->recorder_user);
    }
    return st;
}

/* Structure is measured on the source in the geometry of the tower: padded if the tower saw it so,
 * resized only if asked. */
static s2p_status choose_with_picture(s2v_job *j, s2v_unit *u, s2p_view *view)
{
    const s2v_frame *frame = &j->frames[u->picture];
    const s2v_part *part = &frame->part[u->part];
    s2p_image picture = j->prompt->images[u->picture];
    s2_image squared = { .pixels = NULL }, resized = { .pixels = NULL };
    const s2v_model *model = &j->s->engine->model;
    s2p_status st = S2P_OK;
    s2_size size;
    if (model->arch->measured)
        st = model->arch->measured(model, frame->framing, &picture, &size, &squared, j->error);
    if (st == S2P_OK && squared.pixels) picture = squared.view;
    if (st == S2P_OK && s2v_job_options(j, u->picture).structure_from_resized) {
        st = s2_image_resize(&picture, part->width, part->height, &resized, j->error);
        if (st == S2P_OK) picture = resized.view;
    }
    if (st == S2P_OK) st = choose(j, u, view, &picture);
    s2_image_free(&squared);
    s2_image_free(&resized);
    return st;
}

s2p_status s2v_select_unit(s2v_job *j, s2v_unit *u, int32_t stage, const s2v_readings *readings)
{
    s2p_view view = { .budget = u->budget,
                      .stage = stage,
                      .mode = j->prune->published ? S2P_MODE_PUBLISHED : S2P_MODE_DEFAULT,
                      .choice = j->prune->choice };
    if (j->prune->image_side) view.choice.side = j->prune->image_side[u->picture];
    if (stage > 0) {
        view.alive = u->alive;
        view.n_alive = u->n_alive;
    }
    gathered g = { .erc = NULL };
    s2p_status st = S2P_OK;
    if (!gather_signals(j, u, readings, &g, &view.signals) ||
        !gather_taps(j, u, readings, &g, &view.taps))
        st = s2_fail(j->error, S2P_ENOMEM, "out of memory for what '%s' looks at", j->method->name);
    if (st == S2P_OK) st = choose_with_picture(j, u, &view);
    gathered_free(&g);
    return st;
}
