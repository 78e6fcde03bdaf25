/* units.c - which rows are the tokens of which picture, and how many of them may stay.
 *
 * Every picture is pruned for itself. One seen whole and in tiles has two grids over the same pixels:
 * its budget is split by their token counts unless the tiles have one of their own, and each grid is a
 * unit; newlines and text between tiles belong to none and always stay.
 *
 * Where tokens never entered the tower, the grid of a unit is still the whole one, and so is the
 * number a budget in percent is of; the unit's tokens are those that entered.
 */
#include "engine/prompt/steps.h"

#include "engine/vision/regions.h"
#include "engine/vision/shrink.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- asking ---------------------------------------------------------------------- */

s2p_status s2v_prefill_init(s2v_prefill *pf, s2v_session *session, const s2v_prompt *prompt,
                            const s2v_prune_options *prune, s2p_error *error)
{
    *pf = (s2v_prefill){ .s = session, .error = error };
    if (session) { /* mapped weights would be others now */
        TRY(s2v_gguf_check_unchanged(session->engine->text, error));
        TRY(s2v_gguf_check_unchanged(session->engine->mmproj, error));
    }
    TRY(s2v_prompt_read(&pf->prompt, prompt, error));
    return s2v_prune_options_read(&pf->prune, prune, error);
}

s2v_image_options s2v_prefill_image(const s2v_prefill *pf, int32_t i)
{
    return s2v_prompt_image_options(&pf->prompt, i);
}

s2p_status s2v_prefill_find_method(s2v_prefill *pf)
{
    const char *name = pf->prune.method;
    if (name && pf->prune.own_method)
        return s2_fail(pf->error, S2P_EINVAL,
                       "method '%.60s' and a method of the caller cannot be combined", name);
    pf->method = pf->prune.own_method;
    if (pf->method) return S2P_OK;
    pf->method = s2p_method_find(name ? name : "full");
    if (!pf->method) return s2_fail(pf->error, S2P_EINVAL, "unknown method '%.60s'", name);
    return S2P_OK;
}

s2p_status s2v_prefill_check_marks(const s2v_prefill *pf)
{
    int32_t n_marks = 0;
    for (size_t i = 0; i < pf->chat.n_pieces; i++) n_marks += pf->chat.piece[i].image >= 0;
    if (n_marks == pf->prompt.n_images) return S2P_OK;
    const int32_t n = pf->prompt.n_images;
    return s2_fail(
        pf->error, S2P_EINVAL, "the prompt contains <image> %d time%s, but %d picture%s given: %s",
        n_marks, n_marks == 1 ? "" : "s", n, n == 1 ? " was" : "s were",
        n == 0 ? "remove <image>, or give a picture" : "write <image> once for each picture");
}

bool s2v_prefill_counts_deepstack(const s2v_prefill *pf)
{
    const s2p_parameter *row;
    for (size_t i = 0; (row = s2p_method_parameter(pf->method, i)); i++)
        if (strcmp(row->name, "erc_deepstack") == 0)
            return pf->prune.parameters && pf->prune.parameters->value[i] > 0.0;
    return false;
}

s2p_status s2v_prefill_check_positions(const s2v_prefill *pf)
{
    const s2v_model *model = &pf->s->engine->model;
    if (!pf->prune.renumber) return S2P_OK;
    if (model->decoder.p.n_planes > 1)
        return s2_fail(pf->error, S2P_EUNSUPPORTED,
                       "positions can only be renumbered if they are one-dimensional; those of %s "
                       "are rows and columns of the picture (M-RoPE)",
                       model->arch->title);
    if (pf->s->trace.masks)
        return s2_fail(pf->error, S2P_EUNSUPPORTED, "rows that are masked keep their positions");
    return S2P_OK;
}

s2p_status s2v_prefill_check_before(const s2v_arch *arch, const s2v_image_options *options,
                                    s2p_error *error)
{
    if (!options->before_tower || arch->skips_tokens) return S2P_OK;
    return s2_fail(
        error, S2P_EUNSUPPORTED,
        "PixelPrune drops tokens before the towers of Qwen2-VL, Qwen2.5-VL, Qwen3-VL and Qwen3.5; "
        "%s has a tower with a fixed number of patches",
        arch->title);
}

void s2v_prefill_note(const s2v_prefill *pf, const char *text)
{
    const s2v_engine_options *o = &pf->s->engine->options;
    if (o->note) o->note(text, o->user);
}

/* --- making -------------------------------------------------------------------- */

static s2v_budget picture_budget(const s2v_prefill *pf, int32_t i)
{
    return pf->prune.image_budget ? pf->prune.image_budget[i] : pf->prune.budget;
}

static int32_t read_budget(s2v_budget budget, int32_t n_tokens)
{
    if (budget.percent < 0.0) { /* S2V_BUDGET_AUTO */
        const double third = fmax(rint(n_tokens / 3.0), S2P_AUTO_LEAST);
        return (int32_t)fmin(third, n_tokens);
    }
    if (!(budget.percent > 0.0)) return budget.tokens;
    const double n = rint(fmin(budget.percent, 100.0) / 100.0 * n_tokens);
    return n > 1.0 ? (int32_t)n : 1;
}

s2v_framing s2v_prefill_usual(const s2v_prefill *pf, const s2v_engine *engine)
{
    const s2p_method_info *about = s2p_method_about(pf->method);
    return s2v_engine_usual_framing(engine, pf->prompt.n_images,
                                    !about->keeps_all || about->resizes);
}

s2p_status s2v_prefill_shown(const s2v_prefill *pf, const s2v_model *model, int32_t i,
                             s2v_image_options *out, int32_t *n_all)
{
    s2p_image size = pf->prompt.images[i];
    s2v_frame whole;
    *out = s2v_prefill_image(pf, i);
    *n_all = -1;
    if (!s2p_method_about(pf->method)->resizes) return S2P_OK;
    size.pixels = NULL;
    TRY(model->arch->frame(model, &size, out, pf->usual, &whole, pf->error));
    *n_all = s2v_frame_all_tokens(&whole);
    const s2p_status st =
        s2v_shrink(model, &whole, read_budget(picture_budget(pf, i), *n_all), out, pf->error);
    s2v_frame_free(&whole);
    return st;
}

int32_t s2v_picture_budget(const s2v_prefill *pf, int32_t i, int32_t n_tokens)
{
    if (s2p_method_about(pf->method)->keeps_all) return n_tokens;
    return read_budget(picture_budget(pf, i), n_tokens);
}

/* For s2v_session_tower_tokens. */
static s2p_status keep_tower_tokens(s2v_prefill *pf, int32_t i)
{
    const s2v_part *part = &pf->frames[i].part[0];
    const size_t n_bytes = (size_t)part->n_tokens * sizeof *part->token;
    s2v_picture_plan *picture = &pf->s->plans.picture[i];
    if (!part->token) return S2P_OK;
    picture->token = malloc(n_bytes);
    if (!picture->token) return s2_fail_memory(pf->error, n_bytes, "the tokens of a picture");
    memcpy(picture->token, part->token, n_bytes);
    picture->n_tokens = part->n_tokens;
    return S2P_OK;
}

s2p_status s2v_prefill_check_regions(const s2v_prefill *pf, int32_t i)
{
    const s2v_image_options options = s2v_prefill_image(pf, i);
    const s2p_image *image = &pf->prompt.images[i];
    TRY(s2v_regions_check(&options, i, (s2_size){ image->width, image->height }, pf->error));
    if (options.n_regions == 0 || !pf->prune.keep) return S2P_OK;
    return s2_fail(pf->error, S2P_EINVAL,
                   "chosen tokens and regions of picture %d cannot be combined", i + 1);
}

s2p_status s2v_prefill_mark(const s2v_prefill *pf, const s2v_model *model, int32_t i,
                            s2v_framing framing, s2p_grid grid, uint8_t **mark)
{
    const s2v_image_options options = s2v_prefill_image(pf, i);
    const s2p_image *image = &pf->prompt.images[i];
    const s2_size size = { image->width, image->height };
    const size_t n = (size_t)grid.rows * (size_t)grid.cols;
    s2_size shown = size;
    *mark = NULL;
    if (options.n_regions == 0) return S2P_OK;
    if (model->arch->measured)
        TRY(model->arch->measured(model, framing, image, &shown, NULL, pf->error));
    *mark = malloc(n);
    if (!*mark) return s2_fail_memory(pf->error, n, "the regions of a picture");
    s2v_regions_mark(&options, size, shown, grid, *mark);
    return S2P_OK;
}

/* Of each part of picture i what its regions say, and how many tokens that are. */
static s2p_status mark_parts(s2v_prefill *pf, int32_t i)
{
    const s2v_frame *frame = &pf->frames[i];
    for (int32_t p = 0; p < frame->n_parts; p++) {
        const s2v_part *part = &frame->part[p];
        s2v_unit *u = &pf->unit[S2V_MAX_PARTS * i + p];
        *u = (s2v_unit){ .picture = i, .part = p };
        u->n_grid = s2v_part_all_tokens(part);
        u->n_tokens = s2v_part_tokens(part);
        TRY(s2v_prefill_mark(pf, &pf->s->engine->model, i, frame->framing, part->grid, &u->mark));
        for (int32_t t = 0, n = u->n_tokens; u->mark && t < n; t++) {
            const uint8_t mark = u->mark[s2v_part_token(part, t)];
            u->n_kept += mark == S2V_MARK_KEEP;
            u->n_tokens -= mark == S2V_MARK_DROP;
            pf->n_dropped += mark == S2V_MARK_DROP;
        }
        if (u->n_tokens < 1)
            return s2_fail(pf->error, S2P_EINVAL,
                           "regions drop every token of picture %d; leave the picture out instead",
                           i + 1);
    }
    return S2P_OK;
}

/* What has to stay fits into the budget of its part, which takes from the other one if need be. */
static s2p_status fit_regions(s2v_prefill *pf, int32_t i, bool is_split, int32_t *budget)
{
    const s2v_unit *u = &pf->unit[S2V_MAX_PARTS * i];
    const int32_t n_parts = pf->frames[i].n_parts;
    int32_t n_kept = 0, n_budget = 0;
    for (int32_t p = 0; p < n_parts; p++) {
        n_kept += u[p].n_kept;
        n_budget += budget[p];
    }
    if (n_kept == 0) return S2P_OK; /* a budget of nothing is refused by the method */
    for (int32_t p = 0; p < n_parts && !is_split && n_kept <= n_budget; p++)
        if (budget[p] < u[p].n_kept) {
            budget[1 - p] -= u[p].n_kept - budget[p];
            budget[p] = u[p].n_kept;
        }
    for (int32_t p = 0; p < n_parts; p++)
        if (u[p].n_kept > budget[p])
            return s2_fail(pf->error, S2P_EBUDGET,
                           "the regions of picture %d keep %d tokens, but its budget is %d; raise "
                           "the budget or make the regions smaller",
                           i + 1, is_split ? u[p].n_kept : n_kept, is_split ? budget[p] : n_budget);
    return S2P_OK;
}

s2p_status s2v_units_make(s2v_prefill *pf)
{
    s2v_plans *plans = &pf->s->plans;
    bool is_pruned = false;
    for (int32_t i = 0; i < pf->prompt.n_images; i++) {
        plans->picture[i].framing = pf->frames[i].framing;
        plans->n = i + 1;
        TRY(keep_tower_tokens(pf, i));
        TRY(mark_parts(pf, i));

        /* A picture seen whole and in tiles: each part gets its share of the budget by its tokens. */
        const s2v_frame *frame = &pf->frames[i];
        const int32_t n_tokens = s2v_frame_all_tokens(frame);
        int32_t budget[S2V_MAX_PARTS] = { s2v_picture_budget(pf, i, n_tokens) };
        const bool is_split =
            frame->n_parts > 1 && pf->prune.tile_budget && !s2p_method_about(pf->method)->keeps_all;
        if (is_split) {
            for (int32_t p = 0; p < 2; p++)
                budget[p] = read_budget(p ? pf->prune.tile_budget[i] : picture_budget(pf, i),
                                        s2v_part_tokens(&frame->part[p]));
            if (budget[1] < 1)
                return s2_fail(pf->error, S2P_EBUDGET,
                               "the tiles of picture %d have a budget of %d; the least is 1", i + 1,
                               budget[1]);
        }
        if (frame->n_parts > 1 && !is_split && budget[0] < 2)
            return s2_fail(pf->error, S2P_EINVAL,
                           "a picture seen whole and in tiles needs a budget of 2 or more, not %d",
                           budget[0]);
        if (frame->n_parts > 1 && !is_split) {
            const int32_t capped = budget[0] < n_tokens ? budget[0] : n_tokens;
            const double share = (double)s2v_part_tokens(&frame->part[0]) / n_tokens;
            budget[0] = (int32_t)fmin(fmax(rint(capped * share), 1.0), capped - 1.0);
            budget[1] = capped - budget[0];
        }
        TRY(fit_regions(pf, i, is_split, budget));
        for (int32_t p = 0; p < pf->frames[i].n_parts; p++) {
            const s2v_part *part = &pf->frames[i].part[p];
            s2v_unit *u = &pf->unit[S2V_MAX_PARTS * i + p];
            const int32_t n = u->n_tokens, n_grid = u->n_grid;
            const size_t n_bytes = 2 * (size_t)n_grid * sizeof(int32_t);
            u->budget = budget[p];
            u->alive = malloc(n_bytes);
            if (!u->alive) return s2_fail_memory(pf->error, n_bytes, "the tokens of a picture");
            u->row = u->alive + n_grid;
            const s2p_status st = s2p_plan_create(&plans->picture[i].part[p], part->grid);
            if (st != S2P_OK)
                return s2_fail(pf->error, st, "cannot make a plan: %s", s2p_status_text(st));
            u->plan = plans->picture[i].part[p];
            is_pruned = is_pruned || u->budget < n;
        }
    }
    pf->needs = is_pruned ? s2p_method_needs(pf->method, &pf->prune.choice) : 0;
    return S2P_OK;
}

void s2v_units_free(s2v_prefill *pf)
{
    for (int32_t u = 0; pf->unit && u < pf->n_units; u++) {
        free(pf->unit[u].alive);
        free(pf->unit[u].feature);
        free(pf->unit[u].mark);
    }
    free(pf->unit);
}

/* --- rows ---------------------------------------------------------------------- */

void s2v_units_find(s2v_prefill *pf)
{
    const s2v_rows *rows = &pf->s->rows;
    for (int32_t i = 0; i < pf->n_units; i++) {
        s2v_unit *u = &pf->unit[i];
        for (int32_t t = 0; t < u->n_grid; t++) u->row[t] = -1;
        u->n_alive = 0;
    }
    for (int32_t row = 0; row < rows->n; row++) {
        if (rows->unit[row] < 0 || rows->token[row] < 0) continue;
        s2v_unit *u = &pf->unit[rows->unit[row]];
        u->row[rows->token[row]] = row;
        if (u->n_alive++ == 0) u->first = row;
        u->last = row;
    }
    for (int32_t i = 0; i < pf->n_units; i++) { /* tokens ascend; in tiles their rows do not */
        s2v_unit *u = &pf->unit[i];
        for (int32_t t = 0, n = 0; n < u->n_alive; t++) {
            if (u->row[t] < 0) continue;
            u->alive[n] = t;
            u->row[n++] = u->row[t];
        }
    }
}

int32_t s2v_place_of(const int32_t *alive, int32_t n, int32_t token)
{
    int32_t low = 0, high = n - 1;
    while (low < high) {
        const int32_t middle = low + (high - low) / 2;
        if (alive[middle] < token)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static s2p_status read_listed(s2v_prefill *pf, const int32_t *row, int32_t n, float **out)
{
    const size_t n_bytes = (size_t)n * (size_t)pf->s->rows.hidden->ne[0] * sizeof **out;
    *out = malloc(n_bytes);
    if (!*out) return s2_fail_memory(pf->error, n_bytes, "what the method looks at");
    s2v_rows_read(&pf->s->rows, row, n, *out);
    return S2P_OK;
}

s2p_status s2v_units_read(s2v_prefill *pf)
{
    s2p_status st = S2P_OK;
    for (int32_t u = 0; st == S2P_OK && (pf->needs & S2P_NEED_FEATURE) && u < pf->n_units; u++)
        if (pf->unit[u].n_tokens > 0)
            st = read_listed(pf, pf->unit[u].row, pf->unit[u].n_tokens, &pf->unit[u].feature);
    if (st != S2P_OK || !(pf->needs & S2P_NEED_TEXT)) return st;
    int32_t *row = malloc((size_t)pf->n_text * sizeof *row);
    if (!row) return s2_fail(pf->error, S2P_ENOMEM, "out of memory");
    for (int32_t i = 0; i < pf->n_text; i++) row[i] = pf->s->rows.n - pf->n_text + i;
    st = read_listed(pf, row, pf->n_text, &pf->text);
    free(row);
    return st;
}
