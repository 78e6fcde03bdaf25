/* source_run.c - rows of a store, judged as its report judges them. */
#include "analyze/sources.h"

#include "eval/report/results.h"
#include "eval/run/fingerprint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- settings --------------------------------------------------------------------------- */

static const char *known_method(const char *name)
{
    for (size_t i = 0; s2v_method_name(i); i++)
        if (strcmp(s2v_method_name(i), name) == 0) return s2v_method_name(i);
    return NULL;
}

/* The name in a table of names that a word of `text` after `key` has; NULL: none. */
static const char *named(const char *text, const char *key, const char *(*at)(size_t index))
{
    const char *value = text ? strstr(text, key) : NULL;
    if (!value) return NULL;
    value += strlen(key);
    const size_t n = strcspn(value, " ");
    for (size_t i = 0; at(i); i++)
        if (strlen(at(i)) == n && memcmp(at(i), value, n) == 0) return at(i);
    return NULL;
}

/* "side=0 allocator=laplacian selector=erc ..." as the run wrote it. */
static s2p_choice choice_of(const json_t *values, const char *method)
{
    char key[S2E_NAME + 32];
    (void)snprintf(key, sizeof key, S2E_IS "method.%s", method);
    const char *text = s2_json_string(values, key);
    const long side = text && strncmp(text, "side=", 5) == 0 ? strtol(text + 5, NULL, 10) : 0;
    return (s2p_choice){ .side = side > 0 && side <= S2P_MAX_SIDE ? (int32_t)side : 0,
                         .allocator = named(text, " allocator=", s2p_allocator_name),
                         .selector = named(text, " selector=", s2p_selector_name) };
}

s2p_status s2_source_run_settings(const json_t *values, s2a_setting *out, s2e_column *column,
                                  int32_t *n, s2p_error *error)
{
    s2e_run_plan *plan = malloc(sizeof *plan);
    *n = 0;
    if (!plan) return s2_fail_memory(error, sizeof *plan, "the run");
    s2p_status st = s2e_run_plan_read(values, plan, error);
    const char *mode = s2_json_string(values, S2E_IS "mode");
    for (int32_t i = 0; st == S2P_OK && i < plan->n_columns; i++) {
        const s2e_column *c = &plan->column[i];
        const char *method = known_method(c->method);
        s2a_setting setting = { .published = mode && strcmp(mode, "published") == 0 };
        if (!method) {
            st = s2_fail(error, S2P_EFORMAT, "the run has a method '%s' this program does not know",
                         c->method);
            break;
        }
        s2a_setting_use(&setting, method);
        setting.choice = choice_of(values, method);
        if (strcmp(c->budget, "-") != 0)
            st = s2a_budget_read("the run", c->budget, strlen(c->budget), S2P_MAX_TOKENS,
                                 &setting.budget, error);
        column[*n] = *c;
        out[(*n)++] = setting;
    }
    free(plan);
    return st;
}

/* --- answers ------------------------------------------------------------------------------ */

typedef struct taking {
    const s2e_set *set;
    s2_trials *trials;
    const int32_t *question; /* [n_samples] of the sample; -1: none */
    int32_t setting;
    bool needs_kept;
} taking;

/* The one grid of a picture and what was kept of it; false: there is no such thing. */
static bool read_kept(const s2e_record *r, s2p_grid *grid, int32_t **kept, size_t *n)
{
    json_t *grids = NULL, *lists = NULL;
    bool is_there = false;
    *kept = NULL;
    if (r->grids && r->kept &&
        s2_json_parse(r->grids, strlen(r->grids), "grids", &grids, NULL) == S2P_OK &&
        s2_json_parse(r->kept, strlen(r->kept), "kept", &lists, NULL) == S2P_OK &&
        json_array_size(grids) == 1 && json_array_size(lists) == 1) {
        const json_t *g = json_array_get(grids, 0);
        const json_int_t rows = json_integer_value(json_array_get(g, 0));
        const json_int_t cols = json_integer_value(json_array_get(g, 1));
        *kept = s2_json_ints(json_array_get(lists, 0), n);
        is_there = *kept && rows > 0 && cols > 0 && rows <= S2P_MAX_SIDE && cols <= S2P_MAX_SIDE &&
                   *n <= (size_t)(rows * cols);
        if (is_there) *grid = (s2p_grid){ (int32_t)rows, (int32_t)cols };
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
    const bool has_kept = read_kept(r, &grid, &kept, &n);
    const char *text = r->failure ? "" : r->text;
    s2p_status st = s2_trial_fill(t->trials, t->setting, q, NAN, text, grid, has_kept ? kept : NULL,
                                  (int32_t)n, error);
    if (st == S2P_EINVAL && !t->needs_kept)
        st = s2_trial_fill(t->trials, t->setting, q, NAN, text, grid, NULL, 0, error);
    free(kept);
    return st;
}

static s2p_status take_column(s2e_store *store, const s2e_task *task, s2e_protocol protocol,
                              const s2e_column *column, taking *t, s2p_error *error)
{
    for (int32_t seed = 0; seed < column->n_seeds; seed++) {
        s2e_judged judged;
        TRY(s2e_judged_load(store, task, t->set, column, seed, seed == 0 ? take : NULL, t, &judged,
                            error));
        for (int32_t i = 0; i < judged.n_samples; i++) {
            if (t->question[i] < 0) continue;
            s2_trial *trial = s2_trial_at(t->trials, t->setting, t->question[i]);
            const float before = seed == 0 ? 0.0f : trial->score;
            trial->score = before + judged.verdict[protocol][i].score / (float)column->n_seeds;
        }
        s2e_judged_free(&judged);
    }
    return S2P_OK;
}

s2p_status s2_source_run(s2e_store *store, const s2e_task *task, const s2e_set *set,
                         s2e_protocol protocol, const s2e_column *column, bool needs_kept,
                         s2_trials *trials, s2p_error *error)
{
    int32_t *question = malloc(((size_t)set->n_samples + 1) * sizeof *question);
    if (!question) return s2_fail_memory(error, (size_t)set->n_samples * sizeof *question, "a run");
    for (int32_t i = 0; i < set->n_samples; i++) question[i] = -1;
    for (int32_t q = 0; q < trials->n_questions; q++) question[trials->question[q].index] = q;
    taking t = { set, trials, question, 0, needs_kept };
    s2p_status st = S2P_OK;
    for (; t.setting < trials->n_settings && st == S2P_OK; t.setting++)
        st = take_column(store, task, protocol, &column[t.setting], &t, error);
    free(question);
    return st;
}
