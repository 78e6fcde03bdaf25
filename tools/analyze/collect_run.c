/* collect_run.c - the folders of evaluations as trials. */
#include "analyze/analyze_command.h"

#include "analyze/sources/sources.h"
#include "eval/judging.h"
#include "eval/run/fingerprint.h"
#include "eval/run/run_folder.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- opening ------------------------------------------------------------------------------- */

static bool is_wanted(const char *list, const char *word)
{
    s2a_item item;
    if (!list || strcmp(list, "all") == 0) return true;
    while (s2a_next_label(&list, &item))
        if (s2a_item_is(item, word)) return true;
    return false;
}

/* --data-dir may be the folder of the task or one that holds it under its name. */
static s2p_status read_set(const analyze_context *context, const analyzed_run *run,
                           analyze_task *out, s2p_error *error)
{
    char key[S2E_NAME + 32], folder[4096];
    const char *data = context->options->data;
    (void)snprintf(key, sizeof key, S2E_ABOUT "data.%s", out->task->name);
    const char *there = data ? data : s2_json_string(run->values, key);
    if (!there)
        return s2_fail(error, S2P_EFORMAT, "the run '%.200s' does not say where its data are",
                       run->folder);
    if (data &&
        snprintf(folder, sizeof folder, "%s/%s", data, out->task->name) < (int)sizeof folder &&
        access(folder, R_OK) == 0)
        there = folder;
    TRY(out->task->read(there, &out->set, error));
    for (int32_t i = 0; i < out->set.n_samples; i++)
        out->n_all += s2e_first_picture(&out->set.sample[i]) >= 0;
    const char *limit = s2_json_string(run->values, S2E_IS "limit");
    s2e_set_limit(&out->set, limit ? (int32_t)strtol(limit, NULL, 10) : 0);
    return S2P_OK;
}

/* The same value in both, or a sentence. */
static s2p_status agree(const analyzed_run *a, const analyzed_run *b, const char *key,
                        const char *what, s2p_error *error)
{
    const char *x = s2_json_string(a->values, key), *y = s2_json_string(b->values, key);
    if (x && y && strcmp(x, y) == 0) return S2P_OK;
    return s2_fail(
        error, S2P_EINVAL,
        "the runs '%.150s' and '%.150s' have different %s; an analysis needs the same in all runs",
        a->folder, b->folder, what);
}

/* A task of a run: a new one with its data, or one another run has too. */
static s2p_status add_task(analyze_context *context, analyzed_run *run, const char *name,
                           s2p_error *error)
{
    char key[S2E_NAME + 32];
    for (int32_t i = 0; i < context->n_tasks; i++) {
        if (strcmp(context->task[i].task->name, name) != 0) continue;
        run->has[i] = true;
        (void)snprintf(key, sizeof key, S2E_IS "task.%s", name);
        for (const analyzed_run *other = context->run; other < run; other++)
            if (other->has[i])
                return agree(other, run, key, "data or prompts of one benchmark", error);
        return S2P_OK;
    }
    if (context->n_tasks == S2E_MAX_TASKS)
        return s2_fail(error, S2P_ELIMIT, "more than %d tasks", S2E_MAX_TASKS);
    analyze_task *task = &context->task[context->n_tasks];
    *task = (analyze_task){ .task = s2e_task_find(name) };
    if (!task->task)
        return s2_fail(error, S2P_EFORMAT,
                       "the run '%.200s' has a task '%s' this program does not "
                       "know",
                       run->folder, name);
    TRY(read_set(context, run, task, error));
    run->has[context->n_tasks++] = true;
    return S2P_OK;
}

static s2p_status open_run(analyze_context *context, const char *folder, s2p_error *error)
{
    analyzed_run *run = &context->run[context->n_runs++];
    s2e_run_file file;
    s2e_run_plan *plan = NULL;
    run->folder = folder;
    TRY(s2e_run_file_of(folder, (s2e_shard){ 0, 1, NULL }, &file, error));
    TRY(s2e_store_open(file.path, S2E_STORE_READ, &run->store, error));
    TRY(s2e_fingerprint_load(run->store, &run->values, error));
    if (run > context->run) {
        TRY(agree(context->run, run, S2E_IS "model", "models", error));
        TRY(agree(context->run, run, S2E_IS "protocol", "protocols", error));
    }
    if (!(plan = malloc(sizeof *plan))) return s2_fail_memory(error, sizeof *plan, "the run");
    s2p_status st = s2e_run_plan_read(run->values, plan, error);
    for (int32_t i = 0; st == S2P_OK && i < plan->n_tasks; i++)
        if (is_wanted(context->options->tasks, plan->task[i].name))
            st = add_task(context, run, plan->task[i].name, error);
    free(plan);
    return st;
}

s2p_status s2_collect_run_open(analyze_context *context, s2p_error *error)
{
    const analyze_options *o = context->options;
    for (size_t i = 0; i < o->runs.n; i++) TRY(open_run(context, o->runs.item[i], error));
    const char *list = o->tasks;
    s2a_item item;
    while (list && s2a_next_item(&list, &item)) {
        int32_t i = 0;
        while (i < context->n_tasks && !s2a_item_is(item, context->task[i].task->name)) i++;
        if (i < context->n_tasks) continue;
        const char *all = s2_json_string(context->run[0].values, S2E_IS "tasks");
        return s2_fail(error, S2P_EINVAL, "--tasks '%.*s': the run has %.200s",
                       (int)(item.n < 60 ? item.n : 60), item.text, all ? all : "none");
    }
    size_t protocol = 0;
    const char *name = s2_json_string(context->run[0].values, S2E_IS "protocol");
    while (name && protocol < S2E_N_PROTOCOLS && strcmp(s2e_protocol_name(protocol), name) != 0)
        protocol++;
    if (!name || protocol == S2E_N_PROTOCOLS)
        return s2_fail(error, S2P_EFORMAT, "the protocol of the run is unknown");
    context->protocol = (s2e_protocol)protocol;
    return S2P_OK;
}

bool s2_analyze_has(const analyze_context *context, const s2e_task *task)
{
    const char *list = context->only;
    s2a_item item;
    if (!list) return true;
    while (s2a_next_item(&list, &item))
        if (s2a_item_is(item, task->name)) return true;
    return false;
}

/* --- collecting ----------------------------------------------------------------------------- */

typedef struct columns { /* of all runs */
    struct column {
        s2a_setting setting;
        s2e_column column;
        int32_t run;
    } * at;
    int32_t n;
} columns;

static s2p_status read_columns(const analyze_context *context, columns *out, s2p_error *error)
{
    const analyze_options *o = context->options;
    for (int32_t r = 0; r < context->n_runs; r++) {
        s2a_setting setting[S2A_MAX_SETTINGS];
        s2e_column column[S2A_MAX_SETTINGS];
        int32_t n;
        TRY(s2_source_run_settings(context->run[r].values, setting, column, &n, error));
        struct column *list = realloc(out->at, (size_t)(out->n + n + 1) * sizeof *list);
        if (!list) return s2_fail_memory(error, sizeof *list, "the runs");
        out->at = list;
        for (int32_t i = 0; i < n; i++) {
            const bool keeps_all = strcmp(column[i].budget, "-") == 0;
            char bare[S2E_METHOD]; /* a label names one setting, a method all of its own */
            if ((is_wanted(o->methods, column[i].label) ||
                 is_wanted(o->methods, s2e_label_method(column[i].label, bare))) &&
                (keeps_all || is_wanted(o->budgets, column[i].budget)))
                out->at[out->n++] = (struct column){ setting[i], column[i], r };
        }
    }
    if (out->n > 0) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "the run has none of these methods and budgets: %.250s",
                   s2_json_string(context->run[0].values, S2E_IS "methods"));
}

/* The column of a setting on a task; NULL: no run has asked that. */
static const struct column *find(const analyze_context *context, const columns *c,
                                 const s2a_setting *setting, int32_t task)
{
    char wanted[S2_LABEL_SIZE], key[S2_LABEL_SIZE];
    (void)s2_setting_key(setting, wanted);
    for (int32_t i = 0; i < c->n; i++)
        if (context->run[c->at[i].run].has[task] &&
            strcmp(s2_setting_key(&c->at[i].setting, key), wanted) == 0)
            return &c->at[i];
    return NULL;
}

/* Every setting once, those that all tasks have. */
static s2p_status choose(const analyze_context *context, const columns *c, s2a_setting *out,
                         int32_t *n, s2p_error *error)
{
    char key[S2_LABEL_SIZE], other[S2_LABEL_SIZE];
    *n = 0;
    for (int32_t i = 0; i < c->n; i++) {
        const s2a_setting *setting = &c->at[i].setting;
        bool is_new = true, is_whole = true;
        (void)s2_setting_key(setting, key);
        for (int32_t k = 0; k < i; k++)
            is_new = is_new && strcmp(s2_setting_key(&c->at[k].setting, other), key) != 0;
        for (int32_t t = 0; t < context->n_tasks; t++)
            is_whole = is_whole && (!s2_analyze_has(context, context->task[t].task) ||
                                    find(context, c, setting, t));
        if (is_new && !is_whole && !context->options->ask.quiet)
            s2_report_tell("note: %s is left out: it was not run on every benchmark",
                           s2_setting_label(setting, true, other));
        if (!is_new || !is_whole) continue;
        if (*n == S2A_MAX_SETTINGS)
            return s2_fail(error, S2P_ELIMIT, "more than %d settings", S2A_MAX_SETTINGS);
        out[(*n)++] = *setting;
    }
    if (*n > 0) return S2P_OK;
    return s2_fail(error, S2P_EINVAL,
                   "no method and budget was asked on every benchmark of the "
                   "runs; choose some of them with --tasks");
}

static s2p_status fill(const analyze_context *context, const columns *c, s2_trials *trials,
                       s2p_error *error)
{
    for (int32_t i = 0, part = 0; i < context->n_tasks; i++) {
        if (!s2_analyze_has(context, context->task[i].task)) continue;
        for (int32_t s = 0; s < trials->n_settings; s++) {
            const struct column *from = find(context, c, &trials->setting[s], i);
            TRY(s2_source_run(context->run[from->run].store, &from->column, part, s, trials,
                              error));
        }
        part++;
    }
    return s2_trials_judge(trials, error);
}

static s2p_status collect(const analyze_context *context, const columns *c, s2_trials *trials,
                          s2p_error *error)
{
    const analyze_options *o = context->options;
    const char *model = s2_json_string(context->run[0].values, S2E_ABOUT "model");
    s2a_setting setting[S2A_MAX_SETTINGS];
    int32_t n;
    TRY(choose(context, c, setting, &n, error));
    for (int32_t i = 0; i < context->n_tasks; i++) {
        const analyze_task *task = &context->task[i];
        const s2_source_questions questions = { .task = task->task,
                                                .set = &task->set,
                                                .protocol = context->protocol,
                                                .per_picture =
                                                    o->per_picture < 0 ? 0 : o->per_picture,
                                                .n_pictures = o->n_pictures,
                                                .n_all = task->n_all };
        if (s2_analyze_has(context, task->task)) TRY(s2_source_task(&questions, trials, error));
    }
    (void)snprintf(trials->model, sizeof trials->model, "%.100s", model ? model : "");
    TRY(s2_trials_set(trials, setting, n, error));
    return fill(context, c, trials, error);
}

s2p_status s2_collect_run(analyze_context *context, s2_trials *trials, s2p_error *error)
{
    columns c = { NULL, 0 };
    s2p_status st = read_columns(context, &c, error);
    if (st == S2P_OK) st = collect(context, &c, trials, error);
    if (trials->n_seeds > context->n_seeds) context->n_seeds = trials->n_seeds;
    free(c.at);
    return st;
}
