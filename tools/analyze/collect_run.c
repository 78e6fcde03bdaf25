/* collect_run.c - the folder of an evaluation as trials. */
#include "analyze/analyze_command.h"

#include "analyze/sources.h"
#include "eval/judging.h"
#include "eval/run/fingerprint.h"
#include "eval/run/run_folder.h"

#include <stdlib.h>
#include <string.h>

/* --tasks is "synth" unless something is said: a run of one task has that one. */
static s2p_status find_task(analyze_context *context, s2p_error *error)
{
    const char *all = s2_json_string(context->values, S2E_IS "tasks"), *list = all;
    s2a_item item, first = { "", 0 };
    int32_t n = 0;
    for (; list && s2a_next_item(&list, &item); n++) {
        if (n == 0) first = item;
        if (s2a_item_is(item, context->options->tasks))
            context->task = s2e_task_find(context->options->tasks);
    }
    if (!context->task && n == 1) {
        char name[S2E_NAME];
        (void)snprintf(name, sizeof name, "%.*s", (int)(first.n < 40 ? first.n : 40), first.text);
        context->task = s2e_task_find(name);
    }
    if (context->task) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "--tasks '%.60s': the run has %.200s",
                   context->options->tasks, all ? all : "none");
}

s2p_status s2_collect_run_open(analyze_context *context, s2p_error *error)
{
    s2e_run_file file;
    char key[S2E_NAME + 32];
    TRY(s2e_run_file_of(context->options->run, (s2e_shard){ 0, 1, NULL }, &file, error));
    TRY(s2e_store_open(file.path, S2E_STORE_READ, &context->store, error));
    TRY(s2e_fingerprint_load(context->store, &context->values, error));
    TRY(find_task(context, error));
    (void)snprintf(key, sizeof key, S2E_ABOUT "data.%s", context->task->name);
    const char *there =
        context->options->data ? context->options->data : s2_json_string(context->values, key);
    if (!there) return s2_fail(error, S2P_EFORMAT, "the run does not say where its data are");
    TRY(context->task->read(there, &context->set, error));
    const char *limit = s2_json_string(context->values, S2E_IS "limit");
    s2e_set_limit(&context->set, limit ? (int32_t)strtol(limit, NULL, 10) : 0);
    return S2P_OK;
}

static bool is_wanted(const char *list, const char *word)
{
    s2a_item item;
    if (!list || strcmp(list, "all") == 0) return true;
    while (s2a_next_item(&list, &item))
        if (s2a_item_is(item, word)) return true;
    return false;
}

s2p_status s2_collect_run(analyze_context *context, const s2_analysis *analysis, s2_trials *trials,
                          s2p_error *error)
{
    const analyze_options *o = context->options;
    s2a_setting setting[S2A_MAX_SETTINGS];
    s2e_column column[S2A_MAX_SETTINGS];
    int32_t n_all, n = 0;
    size_t protocol = 0;
    const char *name = s2_json_string(context->values, S2E_IS "protocol");
    const char *model = s2_json_string(context->values, S2E_ABOUT "model");
    while (name && protocol < S2E_N_PROTOCOLS && strcmp(s2e_protocol_name(protocol), name) != 0)
        protocol++;
    if (!name || protocol == S2E_N_PROTOCOLS)
        return s2_fail(error, S2P_EFORMAT, "the run has no protocol of ours");
    TRY(s2_source_run_settings(context->values, setting, column, &n_all, error));
    for (int32_t i = 0; i < n_all; i++) {
        const bool keeps_all = strcmp(column[i].budget, "-") == 0;
        if (!is_wanted(o->methods, column[i].method) ||
            (!keeps_all && !is_wanted(o->budgets, column[i].budget)))
            continue;
        setting[n] = setting[i];
        column[n++] = column[i];
        if (column[i].n_seeds > context->n_seeds) context->n_seeds = column[i].n_seeds;
    }
    if (n == 0)
        return s2_fail(error, S2P_EINVAL, "the run has none of these methods and budgets: %.250s",
                       s2_json_string(context->values, S2E_IS "methods"));
    TRY(s2_source_task(context->task, &context->set, o->per_picture < 0 ? 0 : o->per_picture,
                       o->n_pictures, trials, error));
    (void)snprintf(trials->model, sizeof trials->model, "%.100s", model ? model : "");
    TRY(s2_trials_set(trials, setting, n, error));
    return s2_source_run(context->store, context->task, &context->set, (s2e_protocol)protocol,
                         column, analysis->takes_pictures, trials, error);
}
