/* source_run.c - rows of a store, judged as its report judges them. */
#include "analyze/sources/sources.h"

#include "eval/report/results.h"
#include "eval/run/fingerprint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- settings --------------------------------------------------------------------------- */

s2p_status s2_source_run_settings(const json_t *values, s2a_setting *out, s2e_column *column,
                                  int32_t *n, s2p_error *error)
{
    s2e_run_plan *plan = malloc(sizeof *plan);
    *n = 0;
    if (!plan) return s2_fail_memory(error, sizeof *plan, "the run");
    s2p_status st = s2e_run_plan_read(values, plan, error);
    for (int32_t i = 0; st == S2P_OK && i < plan->n_columns; i++) {
        const s2e_column *c = &plan->column[i];
        s2a_setting setting;
        if (!s2e_setting_read(values, c, &setting)) {
            st = s2_fail(error, S2P_EFORMAT, "the run has a method '%s' this program does not know",
                         c->method);
            break;
        }
        column[*n] = *c;
        out[(*n)++] = setting;
    }
    free(plan);
    return st;
}

/* --- answers ------------------------------------------------------------------------------ */

typedef struct taking {
    s2_trials *trials;
    const s2e_set *set;
    const int32_t *question; /* [n_samples] of the sample; -1: none */
    int32_t setting;
} taking;

/* The grid of a picture and what was kept of it; of a picture in parts the grid of the first, and
 * false: which tokens of all were kept has no place in one grid. */
static bool read_kept(const s2e_record *r, s2p_grid *grid, int32_t **kept, size_t *n)
{
    json_t *grids = NULL, *lists = NULL;
    bool is_there = false;
    *kept = NULL;
    if (r->grids && r->kept &&
        s2_json_parse(r->grids, strlen(r->grids), "grids", &grids, NULL) == S2P_OK &&
        s2_json_parse(r->kept, strlen(r->kept), "kept", &lists, NULL) == S2P_OK &&
        json_array_size(grids) > 0) {
        const json_t *g = json_array_get(grids, 0);
        const json_int_t rows = json_integer_value(json_array_get(g, 0));
        const json_int_t cols = json_integer_value(json_array_get(g, 1));
        const bool is_grid = rows > 0 && cols > 0 && rows <= S2P_MAX_SIDE && cols <= S2P_MAX_SIDE;
        if (is_grid) *grid = (s2p_grid){ (int32_t)rows, (int32_t)cols };
        if (is_grid && json_array_size(grids) == 1 && json_array_size(lists) == 1)
            *kept = s2_json_ints(json_array_get(lists, 0), n);
        is_there = *kept && *n <= (size_t)(rows * cols);
    }
    json_decref(grids);
    json_decref(lists);
    return is_there;
}

static s2p_status take(const s2e_record *r, void *user, s2p_error *error)
{
    const taking *t = user;
    const int32_t q = t->question[s2e_set_find(t->set, r->sample)]; /* the caller has found it */
    s2p_grid grid = { 0, 0 };
    int32_t *kept = NULL;
    size_t n = 0;
    if (q < 0) return S2P_OK;
    const s2a_setting *setting = &t->trials->setting[t->setting];
    const bool resizes = s2p_method_about(s2a_setting_method(setting))->resizes;
    const bool has_kept = !resizes && read_kept(r, &grid, &kept, &n);
    const s2p_status st = s2_trial_fill(t->trials, t->setting, q, NAN, r->failure ? "" : r->text,
                                        grid, has_kept ? kept : NULL, (int32_t)n, error);
    s2_trial *trial = s2_trial_at(t->trials, t->setting, q);
    if (st == S2P_OK && !r->failure) { /* its times are of a run that remembered pictures */
        trial->flops = r->flops > 0.0 && r->tower_flops > 0.0 ? r->flops + r->tower_flops : 0.0;
        trial->n_used = r->tokens_after;
    }
    free(kept);
    return st;
}

static s2p_status take_answers(const s2e_judged *judged, const taking *t, int32_t seed,
                               int32_t n_seeds, s2p_error *error)
{
    for (int32_t i = 0; i < judged->n_samples; i++)
        if (t->question[i] >= 0)
            TRY(s2_trial_add_run(t->trials, t->setting, t->question[i], seed, n_seeds,
                                 judged->answer[i], error));
    return S2P_OK;
}

s2p_status s2_source_run(s2e_store *store, const s2e_column *column, int32_t part, int32_t setting,
                         s2_trials *trials, s2p_error *error)
{
    const s2_trial_part *of = &trials->part[part];
    int32_t *question = malloc(((size_t)of->set->n_samples + 1) * sizeof *question);
    if (!question)
        return s2_fail_memory(error, (size_t)of->set->n_samples * sizeof *question, "a run");
    for (int32_t i = 0; i < of->set->n_samples; i++) question[i] = -1;
    for (int32_t q = 0; q < trials->n_questions; q++)
        if (s2_trial_part_of(trials, q) == of) question[trials->question[q].index] = q;
    taking t = { trials, of->set, question, setting };
    s2p_status st = S2P_OK;
    for (int32_t seed = 0; seed < column->n_seeds && st == S2P_OK; seed++) {
        s2e_judged judged;
        st = s2e_judged_load(store, of->task, of->set, column, seed, seed == 0 ? take : NULL, &t,
                             &judged, error);
        if (st != S2P_OK) break;
        st = take_answers(&judged, &t, seed, column->n_seeds, error);
        s2e_judged_free(&judged);
    }
    if (column->n_seeds > trials->n_seeds) trials->n_seeds = column->n_seeds;
    free(question);
    return st;
}
