/* units.c - which rows are the tokens of which picture, and how many of them may stay.
 *
 * Every picture is pruned for itself. One seen whole and in tiles (LLaVA-OneVision's
 * any-res) has two grids over the same pixels: its budget is split by their token
 * counts, and each is a unit of its own; newlines belong to none and always stay.
 */
#include "engine/prompt/units.h"

#include <math.h>
#include <stdlib.h>

/* --- making -------------------------------------------------------------------- */

int32_t s2v_picture_budget(const s2v_job *j, int32_t i, int32_t n_tokens)
{
    if (j->method->keeps_all) return n_tokens;
    const s2v_budget budget = j->prune.image_budget ? j->prune.image_budget[i] : j->prune.budget;
    if (!(budget.percent > 0.0)) return budget.tokens;
    const double n = rint(fmin(budget.percent, 100.0) / 100.0 * n_tokens);
    return n > 1.0 ? (int32_t)n : 1;
}

/* A picture seen whole and in tiles: each part gets its share of the budget by its tokens. */
static s2p_status part_budgets(const s2v_job *j, int32_t i, int32_t out[S2V_MAX_PARTS])
{
    const s2v_frame *frame = &j->frames[i];
    const int32_t n_tokens = s2v_frame_tokens(frame), budget = s2v_picture_budget(j, i, n_tokens);
    out[0] = budget;
    if (frame->n_parts == 1) return S2P_OK;
    if (budget < 2)
        return s2_fail(j->error, S2P_EINVAL,
                       "a picture seen whole and in tiles needs a budget of 2 or more, not %d",
                       budget);
    const int32_t capped = budget < n_tokens ? budget : n_tokens;
    const double share = (double)s2v_part_tokens(&frame->part[0]) / n_tokens;
    out[0] = (int32_t)fmin(fmax(rint(capped * share), 1.0), capped - 1.0);
    out[1] = capped - out[0];
    return S2P_OK;
}

s2p_status s2v_units_make(s2v_job *j)
{
    s2v_plans *plans = &j->s->plans;
    bool is_pruned = false;
    for (int32_t i = 0; i < j->prompt.n_images; i++) {
        plans->picture[i].framing = j->frames[i].framing;
        plans->n = i + 1;
        int32_t budget[S2V_MAX_PARTS];
        TRY(part_budgets(j, i, budget));
        for (int32_t p = 0; p < j->frames[i].n_parts; p++) {
            const s2v_part *part = &j->frames[i].part[p];
            const int32_t n = s2v_part_tokens(part);
            const size_t n_bytes = 2 * (size_t)n * sizeof(int32_t);
            s2v_unit *u = &j->unit[S2V_MAX_PARTS * i + p];
            *u = (s2v_unit){ .picture = i, .part = p, .budget = budget[p], .n_tokens = n };
            u->alive = malloc(n_bytes);
            if (!u->alive) return s2_fail_memory(j->error, n_bytes, "the tokens of a picture");
            u->row = u->alive + n;
            const s2p_status st = s2p_plan_create(&plans->picture[i].part[p], part->grid);
            if (st != S2P_OK)
                return s2_fail(j->error, st, "cannot make a plan: %s", s2p_status_text(st));
            u->plan = plans->picture[i].part[p];
            is_pruned = is_pruned || u->budget < n;
        }
    }
    j->needs = is_pruned ? s2p_method_needs(j->method, &j->prune.choice) : 0;
    return S2P_OK;
}

void s2v_units_free(s2v_job *j)
{
    for (int32_t u = 0; j->unit && u < j->n_units; u++) {
        free(j->unit[u].alive);
        free(j->unit[u].feature);
    }
    free(j->unit);
}

/* --- rows ---------------------------------------------------------------------- */

void s2v_units_find(s2v_job *j)
{
    const s2v_rows *rows = &j->s->rows;
    for (int32_t u = 0; u < j->n_units; u++) j->unit[u].n_alive = 0;
    for (int32_t row = 0; row < rows->n; row++) {
        if (rows->unit[row] < 0 || rows->token[row] < 0) continue;
        s2v_unit *u = &j->unit[rows->unit[row]];
        u->alive[u->n_alive] = rows->token[row];
        u->row[u->n_alive++] = row;
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

static s2p_status read_listed(s2v_job *j, const int32_t *row, int32_t n, float **out)
{
    const size_t n_bytes = (size_t)n * (size_t)j->s->rows.hidden->ne[0] * sizeof **out;
    *out = malloc(n_bytes);
    if (!*out) return s2_fail_memory(j->error, n_bytes, "what the method looks at");
    s2v_rows_read(&j->s->rows, row, n, *out);
    return S2P_OK;
}

s2p_status s2v_units_read(s2v_job *j)
{
    s2p_status st = S2P_OK;
    for (int32_t u = 0; st == S2P_OK && (j->needs & S2P_NEED_FEATURE) && u < j->n_units; u++)
        if (j->unit[u].n_tokens > 0)
            st = read_listed(j, j->unit[u].row, j->unit[u].n_tokens, &j->unit[u].feature);
    if (st != S2P_OK || !(j->needs & S2P_NEED_TEXT)) return st;
    int32_t *row = malloc((size_t)j->n_text * sizeof *row);
    if (!row) return s2_fail(j->error, S2P_ENOMEM, "out of memory");
    for (int32_t i = 0; i < j->n_text; i++) row[i] = j->s->rows.n - j->n_text + i;
    st = read_listed(j, row, j->n_text, &j->text);
    free(row);
    return st;
}
