/* views.c - what a method sees of one unit, and its selection.
 *
 * Rows of the decoder are gathered token by token, as they stand after earlier
 * stages. A method that looks at the whole prompt (DART) gets the text and the unit's
 * own rows, without other pictures. When a picture is too small to be
 * measured (a region without a pixel, or a side below 3), its structure counts as
 * flat: the budget is spread evenly and a note says so.
 */
#include "engine/prompt/steps.h"

#include "engine/vision/arch.h"
#include "engine/vision/regions.h"
#include "prune/method.h"

#include <stdlib.h>
#include <string.h>

typedef struct gathering { /* one unit, and the arrays made of its rows */
    const s2v_prefill *prefill;
    const s2v_unit *unit; /* without the tokens that stay anyway */
    int32_t index;        /* of the prefill's units */
    const int32_t
        *entered; /* [n_tokens] of those that entered the tower, which these are; NULL: all */
    const int32_t *feature; /* [n_tokens] of the rows of unit->feature, likewise */
    const s2v_readings *readings;
    int32_t *prompt; /* [n_prompt] rows of the prompt as the unit sees it; NULL: not requested */
    int32_t n_prompt, first_row;
    float *made[S2P_N_SIGNALS]; /* owned, like `prompt` */
    int32_t n_made;
} gathering;

static const s2v_decoder_params *decoder_of(const gathering *g)
{
    return &g->prefill->s->engine->model.decoder.p;
}

/* Room for a signal of this shape; c is 1 where it has two dimensions. */
static float *make_signal(gathering *g, s2p_signal *out, int32_t a, int32_t b, int32_t c)
{
    float *data = malloc((size_t)a * (size_t)b * (size_t)c * sizeof *data);
    if (!data) return NULL;
    *out = (s2p_signal){ data, { a, b, c } };
    return g->made[g->n_made++] = data;
}

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

/* A gatherer fills the signal of its name, or leaves it where nothing was read; false: no memory. */

static bool gather_erc(gathering *g, s2p_signal *out)
{
    if (!g->readings->erc) return true;
    float *erc = make_signal(g, out, g->unit->n_alive, 1, 1);
    if (erc) take_rows(g->readings->erc, g->unit->row, g->unit->n_alive, 1, erc);
    return erc != NULL;
}

static bool gather_hidden(gathering *g, s2p_signal *out)
{
    float *hidden = make_signal(g, out, g->unit->n_alive, decoder_of(g)->n_embd, 1);
    if (hidden) s2v_rows_read(&g->prefill->s->rows, g->unit->row, g->unit->n_alive, hidden);
    return hidden != NULL;
}

static bool gather_feature(gathering *g, s2p_signal *out)
{
    if (g->feature) {
        const int32_t width = decoder_of(g)->n_embd;
        float *some = make_signal(g, out, g->unit->n_tokens, width, 1);
        if (some) take_rows(g->unit->feature, g->feature, g->unit->n_tokens, (size_t)width, some);
        return some != NULL;
    }
    *out = (s2p_signal){ g->unit->feature, { g->unit->n_tokens, decoder_of(g)->n_embd, 1 } };
    return true;
}

static bool gather_query_attn(gathering *g, s2p_signal *out)
{
    if (!g->readings->attention) return true;
    const int32_t n = g->unit->n_alive, n_queries = g->readings->n_queries;
    float *attn = make_signal(g, out, n_queries, n, 1);
    for (int32_t q = 0; attn && q < n_queries; q++)
        take_rows(g->readings->attention + (size_t)q * (size_t)g->prefill->s->rows.n, g->unit->row,
                  n, 1, attn + (size_t)q * (size_t)n);
    return attn != NULL;
}

static bool gather_last_attn(gathering *g, s2p_signal *out)
{
    if (!g->readings->attention) return true;
    const size_t last = (size_t)(g->readings->n_queries - 1) * (size_t)g->prefill->s->rows.n;
    float *attn = make_signal(g, out, g->unit->n_alive, 1, 1);
    if (attn) take_rows(g->readings->attention + last, g->unit->row, g->unit->n_alive, 1, attn);
    return attn != NULL;
}

/* Where the unit's tokens begin among those of its picture. */
static size_t first_token(const gathering *g)
{
    const s2v_frame *frame = &g->prefill->frames[g->unit->picture];
    return g->unit->part > 0 ? (size_t)s2v_part_tokens(&frame->part[0]) : 0;
}

static bool gather_vision_attn(gathering *g, s2p_signal *out)
{
    const float *attn = g->prefill->tower_probe[g->unit->picture].attn;
    if (attn && g->entered) {
        float *some = make_signal(g, out, 1, g->unit->n_tokens, 1);
        if (some) take_rows(attn + first_token(g), g->entered, g->unit->n_tokens, 1, some);
        return some != NULL;
    }
    if (attn) *out = (s2p_signal){ attn + first_token(g), { 1, g->unit->n_tokens, 1 } };
    return true;
}

static bool gather_vision_key(gathering *g, s2p_signal *out)
{
    const float *key = g->prefill->tower_probe[g->unit->picture].key;
    const int32_t dim = g->prefill->tower_probe[g->unit->picture].key_dim;
    if (key && g->entered) {
        float *some = make_signal(g, out, g->unit->n_tokens, dim, 1);
        if (some)
            take_rows(key + first_token(g) * (size_t)dim, g->entered, g->unit->n_tokens,
                      (size_t)dim, some);
        return some != NULL;
    }
    if (key)
        *out = (s2p_signal){ key + first_token(g) * (size_t)dim, { g->unit->n_tokens, dim, 1 } };
    return true;
}

static bool gather_text(gathering *g, s2p_signal *out)
{
    *out = (s2p_signal){ g->prefill->text, { g->prefill->n_text, decoder_of(g)->n_embd, 1 } };
    return true;
}

static bool gather_last_query(gathering *g, s2p_signal *out)
{
    const s2v_decoder_params *p = decoder_of(g);
    *out = (s2p_signal){ g->readings->probe.last_query, { p->n_heads, p->head_dim, 1 } };
    return true;
}

static bool gather_mean_query(gathering *g, s2p_signal *out)
{
    if (!g->readings->probe.mean_query) return true;
    const s2v_decoder_params *p = decoder_of(g);
    *out = (s2p_signal){ g->readings->probe.mean_query +
                             (size_t)g->index * (size_t)p->n_heads * (size_t)p->head_dim,
                         { p->n_heads, p->head_dim, 1 } };
    return true;
}

static bool gather_plain_key(gathering *g, s2p_signal *out)
{
    if (!g->readings->probe.plain_key) return true;
    const s2v_decoder_params *p = decoder_of(g);
    const s2v_unit *u = g->unit;
    float *key = make_signal(g, out, p->n_kv_heads, u->n_alive, p->head_dim);
    if (key)
        take_heads(g->readings->probe.plain_key, u->row, u->n_alive, p->n_kv_heads, p->head_dim,
                   key);
    return key != NULL;
}

/* Text before the unit, its rows, text after it. */
static bool list_prompt(gathering *g)
{
    const s2v_rows *rows = &g->prefill->s->rows;
    const s2v_unit *u = g->unit;
    if (g->prompt) return true;
    g->prompt = malloc((size_t)rows->n * sizeof *g->prompt);
    if (!g->prompt) return false;
    int32_t n = 0;
    for (int32_t row = 0; row < u->first; row++)
        if (rows->unit[row] < 0) g->prompt[n++] = row;
    g->first_row = n;
    for (int32_t i = 0; i < u->n_alive; i++) g->prompt[n++] = u->row[i];
    for (int32_t row = u->first; row < rows->n; row++)
        if (rows->unit[row] < 0) g->prompt[n++] = row;
    g->n_prompt = n;
    return true;
}

static bool gather_rotated_key(gathering *g, s2p_signal *out)
{
    if (!g->readings->probe.rotated_key) return true;
    const s2v_decoder_params *p = decoder_of(g);
    float *key =
        list_prompt(g) ? make_signal(g, out, p->n_kv_heads, g->n_prompt, p->head_dim) : NULL;
    if (key)
        take_heads(g->readings->probe.rotated_key, g->prompt, g->n_prompt, p->n_kv_heads,
                   p->head_dim, key);
    return key != NULL;
}

static bool gather_normed(gathering *g, s2p_signal *out)
{
    if (!g->readings->normed) return true;
    const int32_t width = decoder_of(g)->n_embd;
    float *normed = list_prompt(g) ? make_signal(g, out, g->n_prompt, width, 1) : NULL;
    if (normed) take_rows(g->readings->normed, g->prompt, g->n_prompt, (size_t)width, normed);
    return normed != NULL;
}

/* The picture comes with run_method. */
static bool (*const gatherers[S2P_N_SIGNALS])(gathering *g, s2p_signal *out) = {
    [S2P_ERC] = gather_erc,
    [S2P_HIDDEN] = gather_hidden,
    [S2P_FEATURE] = gather_feature,
    [S2P_QUERY_ATTN] = gather_query_attn,
    [S2P_LAST_ATTN] = gather_last_attn,
    [S2P_VISION_ATTN] = gather_vision_attn,
    [S2P_VISION_KEY] = gather_vision_key,
    [S2P_TEXT] = gather_text,
    [S2P_LAST_QUERY] = gather_last_query,
    [S2P_MEAN_QUERY] = gather_mean_query,
    [S2P_PLAIN_KEY] = gather_plain_key,
    [S2P_ROTATED_KEY] = gather_rotated_key,
    [S2P_NORMED] = gather_normed,
};

/* --- selecting ------------------------------------------------------------------- */

/* Structure is measured on the source in the geometry of the tower: padded if the tower saw it so,
 * resized only if asked. Tokens the caller chose replace the method's. */
static s2p_status run_method(s2v_prefill *pf, s2v_unit *u, s2p_view *view)
{
    const s2v_session *s = pf->s;
    const s2v_model *model = &s->engine->model;
    const s2v_prune_options *prune = &pf->prune;
    const s2v_frame *frame = &pf->frames[u->picture];
    const s2v_part *part = &frame->part[u->part];
    const s2v_image_options options = s2v_prefill_image(pf, u->picture);
    s2p_image picture = pf->prompt.images[u->picture];
    s2_image squared = { .pixels = NULL }, resized = { .pixels = NULL };
    s2p_status st = S2P_OK;
    s2_size size;
    if (model->arch->measured)
        st = model->arch->measured(model, frame->framing, &picture, &size, &squared, pf->error);
    if (st == S2P_OK && squared.pixels) picture = squared.view;
    if (st == S2P_OK && options.structure_from_resized) {
        st = s2_image_resize_as(&picture, part->width, part->height, (s2_resize)options.resize,
                                &resized, pf->error);
        if (st == S2P_OK) picture = resized.view;
    }
    if (st != S2P_OK) goto done;

    view->image = &picture;
    st = s2p_method_run(pf->method, view, u->plan, pf->error);
    if (st == S2P_EUNSUPPORTED && (pf->needs & S2P_NEED_PIXELS)) {
        s2v_prefill_note(
            pf, "a picture is too small to measure its structure; its budget is divided evenly");
        view->choice.allocator = "uniform";
        st = s2p_method_run(pf->method, view, u->plan, pf->error);
    }
    if (st == S2P_OK && prune->keep && u->picture == 0 && u->part == 0) {
        if (s2p_method_about(pf->method)->n_stages != 1 || s2p_method_about(pf->method)->merges)
            st = s2_fail(
                pf->error, S2P_EUNSUPPORTED,
                "method '%s' prunes in stages or merges; it cannot be combined with chosen tokens",
                s2p_method_about(pf->method)->name);
        for (int32_t i = 0; st == S2P_OK && i < prune->n_keep; i++) {
            if (prune->keep[i] < (i > 0 ? prune->keep[i - 1] + 1 : 0) ||
                prune->keep[i] >= u->n_grid)
                st = s2_fail(pf->error, S2P_EINVAL,
                             "token %d cannot be kept: tokens must ascend and be below %d",
                             prune->keep[i], u->n_grid);
            else if (u->alive[s2v_place_of(u->alive, u->n_alive, prune->keep[i])] != prune->keep[i])
                st = s2_fail(pf->error, S2P_EINVAL,
                             "token %d cannot be kept: it did not enter the tower", prune->keep[i]);
        }
        if (st == S2P_OK) {
            s2p_plan_clear(u->plan);
            st = s2p_plan_take(u->plan, prune->keep, prune->n_keep);
        }
    }
    if (s->recorder) {
        const s2v_selection made = { .method = pf->method,
                                     .view = view,
                                     .plan = st == S2P_OK ? u->plan : NULL,
                                     .grid = part->grid,
                                     .picture = u->picture,
                                     .part = u->part };
        s->recorder(&made, s->recorder_user);
    }
done:
    s2_image_free(&squared);
    s2_image_free(&resized);
    return st;
}

/* --- regions --------------------------------------------------------------------- */

typedef struct freed { /* a unit without the tokens that regions keep, as the method sees it */
    s2v_unit unit;
    int32_t *alive, *row;       /* [n_alive] */
    int32_t *entered, *feature; /* [n_tokens] as in the gathering */
    int32_t *kept;              /* [n_kept] tokens alive that stay */
    int32_t n_kept;
} freed;

static s2p_status free_unit(const s2v_prefill *pf, const s2v_unit *u, freed *out)
{
    const s2v_part *part = &pf->frames[u->picture].part[u->part];
    const size_t n = (size_t)u->n_grid;
    *out = (freed){ .unit = *u };
    out->alive = malloc(5 * n * sizeof *out->alive);
    if (!out->alive)
        return s2_fail_memory(pf->error, 5 * n * sizeof *out->alive, "the regions of a picture");
    out->row = out->alive + n;
    out->entered = out->row + n;
    out->feature = out->entered + n;
    out->kept = out->feature + n;
    out->unit.n_tokens = out->unit.n_alive = 0;
    for (int32_t i = 0, row = 0; i < s2v_part_tokens(part); i++) {
        const uint8_t mark = u->mark[s2v_part_token(part, i)];
        if (mark == S2V_MARK_NONE) {
            out->entered[out->unit.n_tokens] = i;
            out->feature[out->unit.n_tokens++] = row;
        }
        row += mark != S2V_MARK_DROP;
    }
    for (int32_t i = 0; i < u->n_alive; i++) {
        if (u->mark[u->alive[i]] == S2V_MARK_KEEP) {
            out->kept[out->n_kept++] = u->alive[i];
        } else {
            out->alive[out->unit.n_alive] = u->alive[i];
            out->row[out->unit.n_alive++] = u->row[i];
        }
    }
    out->unit.alive = out->alive;
    out->unit.row = out->row;
    out->unit.budget = u->budget - out->n_kept;
    return S2P_OK;
}

/* --- one unit -------------------------------------------------------------------- */

/* entered, feature: as in the gathering. */
static s2p_status select_free(s2v_prefill *pf, s2v_unit *u, int32_t index, int32_t stage,
                              const s2v_readings *readings, const int32_t *entered,
                              const int32_t *feature)
{
    s2p_view view = { .budget = u->budget,
                      .stage = stage,
                      .mode = pf->prune.published ? S2P_MODE_PUBLISHED : S2P_MODE_DEFAULT,
                      .picture = (int16_t)u->picture,
                      .part = (int16_t)u->part,
                      .choice = pf->prune.choice,
                      .parameters = pf->prune.parameters };
    const int32_t *sides =
        u->part && pf->prune.tile_side ? pf->prune.tile_side : pf->prune.image_side;
    if (sides) view.choice.side = sides[u->picture];
    if (stage > 0 || u->n_tokens < u->n_grid) {
        view.alive = u->alive;
        view.n_alive = u->n_alive;
    }
    gathering g = { .prefill = pf,
                    .unit = u,
                    .index = index,
                    .entered = entered,
                    .feature = feature,
                    .readings = readings };
    s2p_status st = S2P_OK;
    for (size_t id = 0; st == S2P_OK && id < S2P_N_SIGNALS; id++)
        if ((pf->needs >> id & 1) && gatherers[id] && !gatherers[id](&g, &view.signal[id]))
            st = s2_fail(pf->error, S2P_ENOMEM, "out of memory for what '%s' looks at",
                         s2p_method_about(pf->method)->name);
    view.first_row = g.first_row;
    if (st == S2P_OK) st = run_method(pf, u, &view);
    for (int32_t i = 0; i < g.n_made; i++) free(g.made[i]);
    free(g.prompt);
    return st;
}

s2p_status s2v_select_unit(s2v_prefill *pf, s2v_unit *u, int32_t stage,
                           const s2v_readings *readings)
{
    const int32_t index = (int32_t)(u - pf->unit);
    freed f;
    if (!u->mark) return select_free(pf, u, index, stage, readings, NULL, NULL);
    s2p_status st = free_unit(pf, u, &f);
    if (st == S2P_OK) s2p_plan_clear(u->plan);
    if (st == S2P_OK && f.unit.n_alive > 0 && f.unit.budget > 0)
        st = select_free(pf, &f.unit, index, stage, readings, f.entered, f.feature);
    if (st == S2P_OK && f.n_kept > 0) st = s2p_plan_add(u->plan, f.kept, f.n_kept);
    free(f.alive);
    return st;
}
