/* eval_data.c - where the samples of a task are, and which of them could not be read. */
#define _XOPEN_SOURCE 700 /* realpath */
#include "eval/eval_command.h"

#include "eval/run/fingerprint.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MOST_SHOWN 5 /* problems of a task; the report has the others */

s2p_status eval_data_add(eval_data *data, const char *name, const char *folder, int32_t limit,
                         s2p_error *error)
{
    const int32_t i = data->n;
    const s2e_task *task = s2e_task_find(name);
    if (!task) {
        char known[200] = "";
        for (size_t k = 0; s2e_task_at(k); k++) {
            const size_t n = strlen(known);
            (void)snprintf(known + n, sizeof known - n, "%s%s", n ? ", " : "",
                           s2e_task_at(k)->name);
        }
        return s2_fail(error, S2P_EINVAL, "--tasks: unknown task '%.60s'; known: %s", name, known);
    }
    if (i == S2E_MAX_TASKS) return s2_fail(error, S2P_ELIMIT, "more than %d tasks", S2E_MAX_TASKS);
    for (int32_t k = 0; k < i; k++)
        if (data->task[k] == task)
            return s2_fail(error, S2P_EINVAL, "--tasks names '%s' twice", name);
    struct stat info;
    char found[S2_BUNDLED_PATH];
    if (!folder) {
        TRY(s2_bundled_data(task->name, found, error));
    } else {
        if (snprintf(found, sizeof found, "%s/%s", folder, task->name) >= (int)sizeof found)
            return s2_fail(error, S2P_ELIMIT, "--data-dir is too long");
        if (stat(found, &info) != 0) (void)snprintf(found, sizeof found, "%s", folder);
    }
    char *whole = realpath(found, NULL); /* a run is resumed and reported from other folders too */
    (void)snprintf(data->folder[i], sizeof data->folder[i], "%s", whole ? whole : found);
    free(whole);
    data->task[i] = task;
    TRY(task->read(data->folder[i], &data->set[i], error));
    data->n++;
    s2e_set_limit(&data->set[i], limit);
    return S2P_OK;
}

s2p_status eval_data_of_run(eval_data *data, const json_t *values, const char *folder,
                            s2p_error *error)
{
    s2e_run_plan *plan = malloc(sizeof *plan);
    if (!plan) return s2_fail_memory(error, sizeof *plan, "the run");
    s2p_status st = s2e_run_plan_read(values, plan, error);
    for (int32_t i = 0; st == S2P_OK && i < plan->n_tasks; i++) {
        char key[S2E_NAME + 32];
        (void)snprintf(key, sizeof key, S2E_ABOUT "data.%s", plan->task[i].name);
        const char *there = folder ? folder : s2_json_string(values, key);
        const char *limit = s2_json_string(values, S2E_IS "limit");
        st = eval_data_add(data, plan->task[i].name, there,
                           limit ? (int32_t)strtol(limit, NULL, 10) : 0, error);
    }
    free(plan);
    return st;
}

void eval_data_free(eval_data *data)
{
    for (int32_t i = 0; i < data->n; i++) s2e_set_free(&data->set[i]);
    data->n = 0;
}

void eval_data_sets(const eval_data *data, const s2e_set *out[S2E_MAX_TASKS])
{
    for (int32_t i = 0; i < data->n; i++) out[i] = &data->set[i];
}

void eval_tell_problem(const char *task, const s2e_problem *problem)
{
    if (problem->row > 0)
        s2_report_tell("note: %s: %.200s, row %lld: %.200s", task, problem->file,
                       (long long)problem->row, problem->sentence);
    else /* of the file as a whole, or it says where */
        s2_report_tell("note: %s: %.400s", task, problem->sentence);
}

int32_t eval_data_problems(const eval_data *data, bool is_quiet)
{
    int32_t n = 0;
    for (int32_t t = 0; t < data->n; t++) {
        const s2e_set *set = &data->set[t];
        n += set->n_problems;
        for (int32_t i = 0; !is_quiet && i < set->n_problems && i < MOST_SHOWN; i++)
            eval_tell_problem(data->task[t]->name, &set->problem[i]);
        if (!is_quiet && set->n_problems > MOST_SHOWN)
            s2_report_tell("note: %s: %d more items could not be used", data->task[t]->name,
                           set->n_problems - MOST_SHOWN);
    }
    return n;
}
