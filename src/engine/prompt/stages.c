/* stages.c - from embedded rows to logits: layers, readings, select, compact, and on.
 *
 * For S2Prune: layer 0 on everything, ERC computed there, then B rows per picture.
 * Other methods prune before the decoder, after another layer, or several times. A
 * budget of all tokens or more prunes nothing and reads nothing. A model with
 * fewer layers than a method's prune points gets them moved down in proportion.
 */
#include "engine/prompt/stages.h"

#include "base/clock.h"
#include "engine/prompt/compact.h"
#include "engine/prompt/views.h"

#include <stdlib.h>

/* --- where ----------------------------------------------------------------------- */

s2p_status s2v_stage_layers(const s2p_method *method, int32_t n_layers, int32_t *after,
                            s2p_error *error)
{
    const int32_t n = method->n_stages, deepest = method->after[n - 1];
    const bool fits = deepest + 1 < n_layers;
    if (!fits && n_layers - 1 < n)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "method '%s' prunes after layer %d; the model has %d layer%s", method->name,
                       deepest, n_layers, n_layers == 1 ? "" : "s");
    for (int32_t i = 0; i < n; i++) {
        after[i] = method->after[i];
        if (fits) continue;
        const int32_t lowest = i > 0 ? after[i - 1] + 1 : 0, highest = n_layers - 1 - (n - i);
        after[i] = after[i] * (n_layers - 2) / deepest;
        if (after[i] < lowest) after[i] = lowest;
        if (after[i] > highest) after[i] = highest;
    }
    return S2P_OK;
}

/* --- removing -------------------------------------------------------------------- */

/* Rows of a unit that stay, in their new order, and -1 for each row of zeros. */
static int32_t list_unit_rows(const s2v_job *j, const s2v_unit *u, int32_t *keep)
{
    int32_t n;
    const bool as_picked = j->method->as_picked && j->prune.published && u->part == 0;
    const int32_t *token = as_picked ? s2p_plan_order(u->plan, &n) : s2p_plan_keep(u->plan, &n);
    for (int32_t i = 0; i < n; i++) keep[i] = u->row[s2v_place_of(u->alive, u->n_alive, token[i])];
    for (int32_t i = 0; i < s2p_plan_blanks(u->plan); i++) keep[n++] = -1;
    return n;
}

/* All text, and of each unit what stays; where newlines stand between its rows, in between. */
static int32_t list_kept_rows(const s2v_job *j, int32_t *keep, int32_t *of_unit)
{
    const s2v_rows *rows = &j->s->rows;
    int32_t n = 0;
    const int32_t *next = of_unit, *end = of_unit;
    for (int32_t row = 0; row < rows->n; row++) {
        if (rows->unit[row] < 0) {
            keep[n++] = row;
            continue;
        }
        const s2v_unit *u = &j->unit[rows->unit[row]];
        const int32_t first = u->row[0], last = u->row[u->n_alive - 1];
        if (row == first) {
            next = of_unit;
            end = of_unit + list_unit_rows(j, u, of_unit);
        }
        const bool is_unbroken = last - first == u->n_alive - 1;
        while (next < end && (is_unbroken || row == last || *next == row)) keep[n++] = *next++;
    }
    return n;
}

/* After layers [0, n_layers): merge, then remove what no plan keeps. */
static s2p_status remove_rows(s2v_job *j, int32_t n_layers)
{
    s2v_session *s = j->s;
    const s2v_kv *kv = &s->kv;
    const size_t room = (size_t)s->rows.capacity;
    int32_t *keep = malloc(2 * room * sizeof *keep);
    if (!keep) return s2_fail_memory(j->error, 2 * room * sizeof *keep, "kept rows");
    const int32_t n = list_kept_rows(j, keep, keep + room);
    bool changes = n != s->rows.n;
    for (int32_t i = 0; i < n && !changes; i++) changes = keep[i] != i;

    s2p_status st = S2P_OK;
    /* Rows of zeros may need more room than the prompt had; the last layer has only earlier turns. */
    if (n > kv->n_ctx - kv->n_slots[kv->n_layers - 1])
        st = s2_fail(j->error, S2P_ELIMIT,
                     "method '%s' makes %d rows of the prompt's %d; the context of %d has no room "
                     "for them",
                     j->method->name, n, s->rows.n, kv->n_ctx);
    for (int32_t u = 0; st == S2P_OK && u < j->n_units; u++)
        if (j->unit[u].n_alive > 0)
            st = s2v_merge_rows(s, j->unit[u].plan, j->unit[u].alive, j->unit[u].row,
                                j->unit[u].n_alive, j->error);
    const int32_t n_pruned = j->method->prunes_cache ? n_layers : 0;
    if (st == S2P_OK && changes) {
        s2v_prefix_save(j, n_pruned);
        st = s->trace.masks ? s2v_trace_mask(s, keep, n, j->error)
                            : s2v_compact(s, keep, n, n_pruned, j->error);
    }
    free(keep);
    return st;
}

static void count_stage(s2v_job *j, int32_t stage)
{
    s2v_stats *t = &j->stats;
    t->stage_after[stage] = j->after[stage];
    t->stage_tokens[stage] = t->image_tokens;
    t->n_stages = stage + 1;
}

void s2v_stages_pass(s2v_job *j)
{
    for (int32_t i = 0; i < j->method->n_stages; i++) count_stage(j, i);
}

static s2p_status prune_units(s2v_job *j, int32_t stage, const s2v_readings *readings)
{
    const double start = s2_now_ms();
    s2v_stats *t = &j->stats;
    t->image_tokens = 0;
    for (int32_t i = 0; i < j->n_units; i++) {
        s2v_unit *u = &j->unit[i];
        if (u->n_alive == 0) continue;
        TRY(s2v_select_unit(j, u, stage, readings));
        int32_t n_kept;
        (void)s2p_plan_keep(u->plan, &n_kept);
        t->image_tokens += n_kept + s2p_plan_blanks(u->plan);
    }
    TRY(remove_rows(j, j->after[stage] + 1));
    if (!j->s->trace.masks) s2v_units_find(j);
    count_stage(j, stage);
    t->select_ms += s2_now_ms() - start;
    return S2P_OK;
}

/* Rows times layers from here to the logits, if each stage removes an equal share. */
static double count_work(const s2v_job *j)
{
    const int32_t n_layers = j->s->kv.n_layers, n_stages = j->method->n_stages;
    double left = j->stats.image_tokens_full, rows = j->s->rows.n, work = 0.0;
    for (int32_t u = 0; u < j->n_units; u++) {
        const s2v_unit *unit = &j->unit[u];
        left -= unit->budget < unit->n_tokens ? unit->budget : unit->n_tokens;
    }
    for (int32_t i = 0, at = 0; i <= n_stages; i++, rows -= left / n_stages) {
        const int32_t end = i < n_stages ? j->after[i] + 1 : n_layers;
        work += rows * (end - at);
        at = end;
    }
    return work;
}

/* --- all stages ---------------------------------------------------------------------- */

s2p_status s2v_run_stages(s2v_job *j)
{
    s2v_session *s = j->s;
    s2v_stats *t = &j->stats;
    int32_t at = 0;
    s2p_status st = S2P_OK;
    s2v_units_find(j);
    TRY(s2v_units_read(j));
    s->progress.done = 0.0;
    s->progress.total = count_work(j);
    s2v_unrounded_start(s, j->needs ? j->after[j->method->n_stages - 1] + 1 : 0,
                        s2p_method_sees_question(j->method, &j->prune.choice));
    for (int32_t i = 0; st == S2P_OK && i < j->method->n_stages; i++) {
        s2v_readings readings = { .erc = NULL };
        const double start = s2_now_ms(), probed = t->probe_ms;
        if (j->after[i] >= 0) st = s2v_readings_take(j, &at, j->after[i], &readings);
        *(i == 0 ? &t->layer0_ms : &t->layers_ms) += s2_now_ms() - start - (t->probe_ms - probed);
        if (st == S2P_OK) st = prune_units(j, i, &readings);
        s2v_readings_free(&readings);
    }
    s2v_unrounded_end(&s->unrounded);
    if (st != S2P_OK) return st;
    const double start = s2_now_ms();
    TRY(s2v_trace_layers(s, at, s->engine->model.decoder.p.n_layers, NULL, j->error));
    t->layers_ms += s2_now_ms() - start;
    return S2P_OK;
}
