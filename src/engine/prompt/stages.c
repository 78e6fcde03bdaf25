/* stages.c - from embedded rows to logits: layers, readings, select, compact, and on.
 *
 * For S2Prune: layer 0 on everything, ERC computed there, then B rows per picture.
 * Other methods prune before the decoder, after another layer, or several times. A
 * budget of all tokens or more prunes nothing and reads nothing. A method of one stage prunes
 * after another layer if asked to, and then reads that one. A model with
 * fewer layers than a method's prune points gets them moved down in proportion. Where only some layers
 * attend, a method's own prune points move to the next one that does (docs/MODEL_qwen3_5.md says why).
 */
#include "engine/prompt/steps.h"

#include "base/clock.h"
#include "engine/prompt/trace.h"
#include "engine/session/room.h"
#include "engine/vision/regions.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- where ----------------------------------------------------------------------- */

/* The method looks at what only a layer of attention has. */
static bool reads_attention(const s2v_prefill *pf)
{
    return s2p_method_needs(pf->method, &pf->prune.choice) & S2V_READS_ATTENTION;
}

/* Prune points of a model of which some layers do not attend. A method that reads no attention keeps its own
 * where there is no next layer for it. */
static s2p_status move_to_attention(s2v_prefill *pf, const s2v_decoder_params *p)
{
    const s2p_method_info *about = s2p_method_about(pf->method);
    for (int32_t i = 0; i < about->n_stages; i++) {
        int32_t *after = &pf->after[i];
        if (*after < 0) continue;
        const int32_t lowest = i > 0 && pf->after[i - 1] >= *after ? pf->after[i - 1] + 1 : *after;
        const int32_t next = s2v_next_attention(p, lowest + about->ahead) - about->ahead;
        if (next <= p->n_layers - 2) {
            *after = next;
        } else if (reads_attention(pf)) {
            return s2_fail(pf->error, S2P_EUNSUPPORTED,
                           "method '%s' reads the attention of %d layer%s before the last; only "
                           "every %d-th of this model's %d layers has attention",
                           about->name, about->n_stages, about->n_stages == 1 ? "" : "s",
                           p->attends_every, p->n_layers);
        } else {
            *after = lowest;
        }
    }
    return S2P_OK;
}

/* The layer the options ask for. What a method that prunes before the decoder drops is then in no
 * layer's cache; it stays so when it prunes later, as in S2Prune. */
static s2p_status use_layer(s2v_prefill *pf, const s2v_decoder_params *p)
{
    const s2p_method_info *about = s2p_method_about(pf->method);
    const int32_t after = *pf->prune.after, n_layers = p->n_layers;
    TRY(s2p_method_check_after(pf->method, &pf->prune.choice,
                               pf->prune.published ? S2P_MODE_PUBLISHED : S2P_MODE_DEFAULT, after,
                               pf->error));
    if (after > n_layers - 2)
        return s2_fail(pf->error, S2P_EUNSUPPORTED,
                       "no layer follows layer %d: the model has %d layers, and the last one to "
                       "prune after is %d",
                       after, n_layers, n_layers - 2);
    if (reads_attention(pf) && !s2v_attends(p, after + about->ahead)) {
        const int32_t next = s2v_next_attention(p, after + about->ahead) - about->ahead;
        return s2_fail(pf->error, S2P_EUNSUPPORTED,
                       "method '%s' reads queries and keys of layer %d, which has none: only every "
                       "%d-th layer of this model has attention; use --after %d",
                       about->name, after + about->ahead, p->attends_every,
                       next <= n_layers - 2 ? next : p->attends_every - 1 - about->ahead);
    }
    pf->after[0] = after;
    pf->prunes_cache = about->prunes_cache || about->after[0] == S2P_BEFORE_DECODER;
    return S2P_OK;
}

s2p_status s2v_stage_layers(s2v_prefill *pf, const s2v_decoder_params *p)
{
    const s2p_method_info *about = s2p_method_about(pf->method);
    const int32_t n_layers = p->n_layers, n = about->n_stages, deepest = about->after[n - 1];
    const bool fits = deepest + 1 < n_layers;
    int32_t *after = pf->after;
    pf->prunes_cache = about->prunes_cache;
    if (pf->prune.after && !about->keeps_all) return use_layer(pf, p);
    if (!fits && n_layers - 1 < n)
        return s2_fail(pf->error, S2P_EUNSUPPORTED,
                       "method '%s' prunes after layer %d; the model has %d layer%s", about->name,
                       deepest, n_layers, n_layers == 1 ? "" : "s");
    for (int32_t i = 0; i < n; i++) {
        after[i] = about->after[i];
        if (fits) continue;
        const int32_t lowest = i > 0 ? after[i - 1] + 1 : 0, highest = n_layers - 1 - (n - i);
        after[i] = after[i] * (n_layers - 2) / deepest;
        if (after[i] < lowest) after[i] = lowest;
        if (after[i] > highest) after[i] = highest;
    }
    return p->attends_every > 1 && !about->keeps_all ? move_to_attention(pf, p) : S2P_OK;
}

int64_t s2v_stage_rows(const s2v_prefill *pf, int32_t layer, int64_t n_rows, int64_t n_left)
{
    const int32_t n_stages = s2p_method_about(pf->method)->n_stages;
    int32_t n_done = 0;
    while (n_done < n_stages && pf->after[n_done] < layer) n_done++;
    return n_rows - (n_rows - n_left) * n_done / n_stages;
}

/* --- removing -------------------------------------------------------------------- */

static int compare_rows(const void *a, const void *b)
{
    const int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

/* What the last stage leaves fits into the context; a published method may leave any number of rows, and
 * rows of zeros among them. */
static s2p_status check_rest(s2v_prefill *pf, int32_t n)
{
    s2v_session *s = pf->s;
    char what[160];
    (void)snprintf(what, sizeof what, "%d rows that method '%.60s' makes of the prompt's %d", n,
                   s2p_method_about(pf->method)->name, s->rows.n);
    return s2v_room_make(s, (int64_t)s2v_session_length(s) + n, what, pf->error);
}

/* After layers [0, n_layers): merge, then remove what no plan keeps. */
static s2p_status remove_rows(s2v_prefill *pf, int32_t stage)
{
    s2v_session *s = pf->s;
    const int32_t n_layers = pf->after[stage] + 1;
    const size_t room = (size_t)s->rows.capacity;
    int32_t *keep = malloc(2 * room * sizeof *keep);
    if (!keep) return s2_fail_memory(pf->error, 2 * room * sizeof *keep, "kept rows");

    /* All text, and of each unit the rows that stay, in their new order, with -1 for each padding row;
     * where newlines are between its rows, they stay in between. */
    int32_t n = 0, *const of_unit = keep + room;
    const int32_t *next = of_unit, *end = of_unit;
    for (int32_t row = 0; row < s->rows.n; row++) {
        if (s->rows.unit[row] < 0) {
            keep[n++] = row;
            continue;
        }
        const s2v_unit *u = &pf->unit[s->rows.unit[row]];
        const int32_t first = u->first, last = u->last;
        if (row == first) {
            int32_t n_kept;
            const bool as_picked =
                s2p_method_about(pf->method)->as_picked && pf->prune.published && u->part == 0;
            const int32_t *token =
                as_picked ? s2p_plan_order(u->plan, &n_kept) : s2p_plan_keep(u->plan, &n_kept);
            for (int32_t i = 0; i < n_kept; i++)
                of_unit[i] = u->row[s2v_place_of(u->alive, u->n_alive, token[i])];
            if (!as_picked) qsort(of_unit, (size_t)n_kept, sizeof *of_unit, compare_rows);
            for (int32_t i = 0; i < s2p_plan_blanks(u->plan); i++) of_unit[n_kept++] = -1;
            next = of_unit;
            end = of_unit + n_kept;
        }
        const bool is_unbroken = last - first == u->n_alive - 1;
        while (next < end && (is_unbroken || row == last || *next == row)) keep[n++] = *next++;
    }
    bool changes = n != s->rows.n;
    for (int32_t i = 0; i < n && !changes; i++) changes = keep[i] != i;

    s2p_status st = S2P_OK;
    if (stage == s2p_method_about(pf->method)->n_stages - 1) st = check_rest(pf, n);
    for (int32_t u = 0; st == S2P_OK && u < pf->n_units; u++)
        if (pf->unit[u].n_alive > 0)
            st = s2v_merge_rows(s, pf->unit[u].plan, pf->unit[u].alive, pf->unit[u].row,
                                pf->unit[u].n_alive, pf->error);
    const int32_t n_pruned = pf->prunes_cache ? n_layers : 0;
    if (st == S2P_OK && changes) {
        s2v_prefix_save(pf, n_pruned);
        st = s->trace.masks ? s2v_trace_mask(s, keep, n, pf->error)
                            : s2v_compact(s, keep, n, n_pruned, pf->error);
        if (st == S2P_OK && pf->prune.renumber) s2v_rows_number(&s->rows, pf->first_pos);
    }
    free(keep);
    return st;
}

static void count_stage(s2v_prefill *pf, int32_t stage)
{
    s2v_stats *t = &pf->stats;
    t->stage_after[stage] = pf->after[stage];
    t->stage_tokens[stage] = t->image_tokens;
    t->n_stages = stage + 1;
}

void s2v_stages_pass(s2v_prefill *pf)
{
    for (int32_t i = 0; i < s2p_method_about(pf->method)->n_stages; i++) count_stage(pf, i);
}

/* --- positions ------------------------------------------------------------------------ */

/* The rows were renumbered at each prune point. n_rows: that entered each stage. Layers that ran on more
 * rows than are left have their last key further on: they move back by as much, so that what follows the
 * prompt is one position after its last row in every layer. */
static s2p_status settle_positions(s2v_prefill *pf, const int32_t *n_rows)
{
    s2v_session *s = pf->s;
    const int32_t n_stages = s2p_method_about(pf->method)->n_stages, n_left = s->rows.n;
    int32_t layer = 0;
    for (int32_t i = 0; i < n_stages; i++)
        for (; layer <= pf->after[i]; layer++)
            TRY(s2v_shift_layer(s, layer, n_left - n_rows[i], pf->error));
    s->next_pos = pf->first_pos + n_left;
    return S2P_OK;
}

/* --- all stages ---------------------------------------------------------------------- */

/* The method selects in each unit; what no plan keeps is removed. */
static s2p_status prune_units(s2v_prefill *pf, int32_t stage, const s2v_readings *readings)
{
    const double start = s2_now_ms();
    s2v_stats *t = &pf->stats;
    t->image_tokens = 0;
    for (int32_t i = 0; i < pf->n_units; i++) {
        s2v_unit *u = &pf->unit[i];
        if (u->n_alive == 0) continue;
        TRY(s2v_select_unit(pf, u, stage, readings));
        int32_t n_kept;
        (void)s2p_plan_keep(u->plan, &n_kept);
        t->image_tokens += n_kept + s2p_plan_blanks(u->plan);
    }
    TRY(remove_rows(pf, stage));
    if (!pf->s->trace.masks) s2v_units_find(pf);
    count_stage(pf, stage);
    t->select_ms += s2_now_ms() - start;
    return S2P_OK;
}

/* Rows whose tokens the regions of their picture drop do not enter the decoder: no layer sees them. */
static s2p_status drop_rows(s2v_prefill *pf)
{
    s2v_session *s = pf->s;
    if (pf->n_dropped == 0) return S2P_OK;
    const size_t n_bytes = (size_t)s->rows.n * sizeof(int32_t);
    int32_t n = 0, *keep = malloc(n_bytes);
    if (!keep) return s2_fail_memory(pf->error, n_bytes, "kept rows");
    for (int32_t row = 0; row < s->rows.n; row++) {
        const int32_t unit = s->rows.unit[row], token = s->rows.token[row];
        const uint8_t *mark = unit >= 0 && token >= 0 ? pf->unit[unit].mark : NULL;
        if (!mark || mark[token] != S2V_MARK_DROP) keep[n++] = row;
    }
    const s2p_status st = s2v_compact(s, keep, n, 0, pf->error);
    free(keep);
    if (st == S2P_OK && pf->prune.renumber) s2v_rows_number(&s->rows, pf->first_pos);
    s2v_units_find(pf);
    return st;
}

s2p_status s2v_run_stages(s2v_prefill *pf)
{
    s2v_session *s = pf->s;
    s2v_stats *t = &pf->stats;
    int32_t at = 0, n_entered[S2P_MAX_STAGES] = { 0 };
    s2p_status st = S2P_OK;
    s2v_units_find(pf);
    TRY(drop_rows(pf));
    s->erc_deepstack = s2v_prefill_counts_deepstack(pf);
    TRY(s2v_units_read(pf));

    /* Rows times layers from here to the logits, if each stage removes an equal share. */
    const int32_t n_layers = s->past.n_layers, n_stages = s2p_method_about(pf->method)->n_stages;
    double removed = t->tower_tokens - pf->n_dropped, rows = s->rows.n, work = 0.0;
    for (int32_t u = 0; u < pf->n_units; u++)
        removed -=
            pf->unit[u].budget < pf->unit[u].n_tokens ? pf->unit[u].budget : pf->unit[u].n_tokens;
    for (int32_t i = 0, done = 0; i <= n_stages; i++, rows -= removed / n_stages) {
        const int32_t end = i < n_stages ? pf->after[i] + 1 : n_layers;
        work += rows * (end - done);
        done = end;
    }
    s->progress.done = 0.0;
    s->progress.total = work;

    /* Up to the last prune point nothing a method reads depends on the type of the past. */
    s2v_unrounded_start(&s->unrounded, s->past.type, pf->needs ? pf->after[n_stages - 1] + 1 : 0,
                        s2p_method_sees_question(pf->method, &pf->prune.choice));
    for (int32_t i = 0; st == S2P_OK && i < n_stages; i++) {
        s2v_readings readings = { .erc = NULL };
        const double start = s2_now_ms(), probed = t->probe_ms;
        if (pf->after[i] >= 0) st = s2v_readings_take(pf, &at, pf->after[i], &readings);
        *(i == 0 ? &t->layer0_ms : &t->layers_ms) += s2_now_ms() - start - (t->probe_ms - probed);
        n_entered[i] = s->rows.n;
        if (st == S2P_OK) st = prune_units(pf, i, &readings);
        s2v_readings_free(&readings);
    }
    s2v_unrounded_end(&s->unrounded);
    if (st != S2P_OK) return st;
    const double start = s2_now_ms();
    TRY(s2v_trace_layers(s, at, n_layers, NULL, pf->error));
    if (pf->prune.renumber) TRY(settle_positions(pf, n_entered));
    t->layers_ms += s2_now_ms() - start;
    return S2P_OK;
}
