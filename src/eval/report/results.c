/* results.c - columns judged seed by seed, and their means. */
#include "eval/report/results.h"

#include "base/statistics.h"
#include "eval/judging.h"
#include "eval/run/fingerprint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct counting { /* times and tokens of a result */
    s2e_result *out;
    int64_t n_fresh;           /* whose prompt was computed whole */
    int64_t n_costs, n_towers; /* whose FLOPs are known */
} counting;

/* --- figures over seeds ------------------------------------------------------------- */

static s2p_status add_figures(s2e_figures *sum, const s2e_figures *one, s2p_error *error)
{
    for (int32_t i = 0; i < one->n; i++) {
        const s2e_figure *f = &one->figure[i];
        int32_t k = 0;
        while (k < sum->n && (strcmp(sum->figure[k].name, f->name) != 0 ||
                              strcmp(sum->figure[k].section, f->section) != 0))
            k++;
        if (k == sum->n)
            TRY(s2e_figures_add(sum, f, error));
        else
            sum->figure[k].value += f->value;
    }
    return S2P_OK;
}

static void add_layer(int32_t layer, char out[S2E_AFTER_TEXT])
{
    const size_t n = strlen(out);
    if (layer < 0)
        (void)snprintf(out + n, S2E_AFTER_TEXT - n, "%sbefore 0", n ? "," : "");
    else
        (void)snprintf(out + n, S2E_AFTER_TEXT - n, "%s%d", n ? "," : "", layer);
}

/* "[[0,64,0]]": see store.h. What is not of that form says nothing. */
static void read_stages(const char *text, s2e_result *out)
{
    json_t *stages = NULL;
    const json_t *stage;
    size_t i;
    bool is_moved = false;
    if (s2_json_parse(text, strlen(text), "stages", &stages, NULL) != S2P_OK) return;
    json_array_foreach(stages, i, stage)
    {
        const json_int_t after = json_integer_value(json_array_get(stage, 0));
        const json_int_t own = json_integer_value(json_array_get(stage, 2));
        if (json_array_size(stage) != 3 || after < -1 || after > 9999 || own < -1 || own > 9999)
            break;
        add_layer((int32_t)after, out->after);
        add_layer((int32_t)own, out->own_after);
        is_moved = is_moved || after != own;
    }
    if (!is_moved) out->own_after[0] = '\0';
    json_decref(stages);
}

static s2p_status count_answer(const s2e_record *r, void *user, s2p_error *error)
{
    (void)error;
    counting *c = user;
    s2e_result *out = c->out;
    out->n_answers++;
    out->n_failures += r->failure != NULL;
    out->image_tokens += r->tokens_after;
    out->kv_bytes += (double)r->kv_bytes;
    if (!r->failure) { /* a failure costs nothing that is known */
        out->flops += r->flops;
        out->tower_flops += r->tower_flops;
        c->n_costs += r->flops > 0.0;
        c->n_towers += r->tower_flops > 0.0;
        if (r->stages && !out->after[0]) read_stages(r->stages, out);
    }
    out->seconds += 1e-3 * (r->image_ms + r->vision_ms + r->prompt_ms + r->generate_ms);
    if (r->cached == 0) { /* those that were found computed took no time */
        out->prompt_ms += r->prompt_ms;
        c->n_fresh++;
    }
    return S2P_OK;
}

/* --- one result, and all ------------------------------------------------------------- */

static size_t counts_of(const s2e_task_results *task)
{
    return (size_t)s2e_units_of(task->set) * (size_t)task->task->counts->n(task->set);
}

static s2p_status add_seed(const s2e_task_results *task, const s2e_judged *judged, s2e_protocol own,
                           int32_t seed, s2e_result *out, s2p_error *error)
{
    s2p_status st = S2P_OK;
    if (task->task->counts)
        s2e_counts_add(task->task, task->set, own, judged->verdict[own],
                       out->counts + (size_t)seed * counts_of(task));
    for (int p = 0; p < S2E_N_PROTOCOLS && st == S2P_OK; p++) {
        s2e_figures figures = { .figure = NULL };
        st = task->task->aggregate(task->set, (s2e_protocol)p, judged->verdict[p], &figures, error);
        const s2e_figure *headline = st == S2P_OK ? s2e_headline(&figures) : NULL;
        if (p == (int)own) out->seed_headline[seed] = headline ? headline->value : (double)NAN;
        if (st == S2P_OK) st = add_figures(&out->figures[p], &figures, error);
        for (int32_t i = 0; i < judged->n_samples; i++)
            out->score[p][i] += judged->verdict[p][i].score / (float)out->column.n_seeds;
        for (int32_t i = 0; p == (int)own && i < judged->n_samples; i++)
            out->seed_score[seed] +=
                100.0 * (double)judged->verdict[p][i].score / judged->n_samples;
        s2e_figures_free(&figures);
    }
    return st;
}

static s2p_status load_result(s2e_store *store, const s2e_task_results *task, s2e_protocol own,
                              s2e_result *out, s2p_error *error)
{
    counting c = { out, 0, 0, 0 };
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        out->score[p] = calloc((size_t)task->set->n_samples + 1, sizeof *out->score[p]);
        if (!out->score[p]) return s2_fail_memory(error, sizeof(float), "the results");
    }
    out->seed_score = calloc(2 * (size_t)out->column.n_seeds, sizeof *out->seed_score);
    if (!out->seed_score) return s2_fail_memory(error, sizeof(double), "the results");
    out->seed_headline = out->seed_score + out->column.n_seeds;
    if (task->task->counts) {
        const size_t n = (size_t)out->column.n_seeds * counts_of(task) + 1;
        out->counts = calloc(n, sizeof *out->counts);
        if (!out->counts) return s2_fail_memory(error, n * sizeof *out->counts, "the results");
    }
    for (int32_t seed = 0; seed < out->column.n_seeds; seed++) {
        s2e_judged judged;
        TRY(s2e_judged_load(store, task->task, task->set, &out->column, seed, count_answer, &c,
                            &judged, error));
        const s2p_status st = add_seed(task, &judged, own, seed, out, error);
        s2e_judged_free(&judged);
        TRY(st);
    }
    for (int p = 0; p < S2E_N_PROTOCOLS; p++)
        for (int32_t i = 0; i < out->figures[p].n; i++)
            out->figures[p].figure[i].value /= out->column.n_seeds;
    const double share = out->n_answers ? 1.0 / (double)out->n_answers : 0.0;
    const int64_t n_whole = out->n_answers - out->n_failures; /* those that failed have no tokens */
    out->image_tokens *= n_whole > 0 ? 1.0 / (double)n_whole : 0.0;
    out->kv_bytes *= share;
    out->flops *= c.n_costs ? 1.0 / (double)c.n_costs : 0.0;
    out->tower_flops *= c.n_towers ? 1.0 / (double)c.n_towers : 0.0;
    out->prompt_ms *= c.n_fresh ? 1.0 / (double)c.n_fresh : 0.0;
    return S2P_OK;
}

static s2p_status start_task(const s2e_run_plan *plan, int32_t index, const s2e_set *set,
                             s2e_task_results *out, s2p_error *error)
{
    const s2e_run_task *planned = &plan->task[index];
    *out = (s2e_task_results){ .task = s2e_task_find(planned->name), .set = set };
    if (!out->task)
        return s2_fail(error, S2P_EFORMAT, "the run has a task '%s' this program does not know",
                       planned->name);
    if (set->n_samples != planned->n_samples)
        return s2_fail(error, S2P_EFORMAT, "%s has %d samples here, %d in the run", planned->name,
                       set->n_samples, planned->n_samples);
    out->result = calloc((size_t)plan->n_columns + 1, sizeof *out->result);
    if (!out->result) return s2_fail_memory(error, sizeof *out->result, "the results");
    out->n_results = plan->n_columns;
    for (int32_t i = 0; i < plan->n_columns; i++) {
        s2e_result *r = &out->result[i];
        r->column = plan->column[i];
        if (strcmp(r->column.budget, "-") != 0)
            TRY(s2a_budget_read_steps("the run", r->column.budget, strlen(r->column.budget),
                                      S2P_MAX_TOKENS, &r->budget, error));
    }
    return S2P_OK;
}

static void read_values(s2e_results *out)
{
    const char *name = s2_json_string(out->values, S2E_IS "protocol");
    const char *model = s2_json_string(out->values, S2E_ABOUT "model");
    for (size_t p = 0; name && p < S2E_N_PROTOCOLS; p++)
        if (strcmp(s2e_protocol_name(p), name) == 0) out->protocol = (s2e_protocol)p;
    const char *mode = s2_json_string(out->values, S2E_IS "mode");
    out->is_published = mode && strcmp(mode, "published") == 0;
    (void)snprintf(out->model, sizeof out->model, "%s", model ? model : "");
}

s2p_status s2e_results_load(s2e_store *store, const s2e_set *const *set, s2e_results *out,
                            s2p_error *error)
{
    *out = (s2e_results){ .n_tasks = 0 };
    s2e_run_plan *plan = malloc(sizeof *plan);
    s2p_status st = plan ? S2P_OK : s2_fail_memory(error, sizeof *plan, "the results");
    if (st == S2P_OK) st = s2e_fingerprint_load(store, &out->values, error);
    if (st == S2P_OK) st = s2e_run_plan_read(out->values, plan, error);
    if (st == S2P_OK) read_values(out);
    for (int32_t t = 0; st == S2P_OK && t < plan->n_tasks; t++) {
        s2e_task_results *task = &out->task[out->n_tasks++];
        st = start_task(plan, t, set[t], task, error);
        for (int32_t i = 0; st == S2P_OK && i < task->n_results; i++)
            st = load_result(store, task, out->protocol, &task->result[i], error);
    }
    free(plan);
    if (st != S2P_OK) s2e_results_free(out);
    return st;
}

void s2e_results_free(s2e_results *results)
{
    for (int32_t t = 0; t < results->n_tasks; t++) {
        s2e_task_results *task = &results->task[t];
        for (int32_t i = 0; i < task->n_results; i++) {
            free(task->result[i].counts);
            free(task->result[i].seed_score);
            for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
                free(task->result[i].score[p]);
                s2e_figures_free(&task->result[i].figures[p]);
            }
        }
        free(task->result);
    }
    json_decref(results->values);
    *results = (s2e_results){ .n_tasks = 0 };
}

/* --- spread -------------------------------------------------------------------------------- */

s2e_spread s2e_spread_of(const double *value, int32_t n_seeds)
{
    s2e_spread s = { (double)NAN, (double)NAN, (double)NAN };
    if (!value || n_seeds < 2) return s;
    s = (s2e_spread){ s2_deviation(value, (size_t)n_seeds), value[0], value[0] };
    for (int32_t i = 1; i < n_seeds; i++) {
        s.low = fmin(s.low, value[i]);
        s.high = fmax(s.high, value[i]);
    }
    return s;
}

/* --- looking things up ----------------------------------------------------------------- */

const s2e_result *s2e_results_find(const s2e_task_results *task, const char *label,
                                   const char *budget)
{
    for (int32_t i = 0; i < task->n_results; i++)
        if (strcmp(task->result[i].column.label, label) == 0 &&
            strcmp(task->result[i].column.budget, budget) == 0)
            return &task->result[i];
    return NULL;
}

const s2e_result *s2e_results_reference(const s2e_task_results *task, const char *method,
                                        const char *budget)
{
    const s2e_result *found = s2e_results_find(task, method, budget), *one = NULL;
    int32_t n = 0;
    for (int32_t i = 0; i < task->n_results; i++) {
        char bare[S2E_METHOD];
        const s2e_column *c = &task->result[i].column;
        if (strcmp(s2e_label_method(c->label, bare), method) != 0 || strcmp(c->budget, budget) != 0)
            continue;
        one = &task->result[i];
        n++;
    }
    return found || n != 1 ? found : one;
}

const s2e_result *s2e_results_full(const s2e_task_results *task)
{
    for (int32_t i = 0; i < task->n_results; i++)
        if (s2a_budget_is_none(task->result[i].budget)) return &task->result[i];
    return NULL;
}

double s2e_result_headline(const s2e_result *result, s2e_protocol protocol, double *best)
{
    const s2e_figure *f = s2e_headline(&result->figures[protocol]);
    *best = f ? f->best : 100.0;
    return f ? f->value : (double)NAN;
}
