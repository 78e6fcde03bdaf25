/* run_plan.c - columns and tasks of a run, from their text. */
#include "eval/run/run_plan.h"

#include "eval/run/fingerprint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEEDS 1000

s2e_column s2e_column_of(const s2a_setting *setting, int32_t n_seeds)
{
    s2e_column c = { .n_seeds = s2a_draws(setting) ? n_seeds : 1 };
    (void)snprintf(c.method, sizeof c.method, "%s", setting->method);
    if (s2a_keeps_all(setting))
        (void)snprintf(c.budget, sizeof c.budget, "-");
    else
        (void)s2a_budget_text(setting->budget, c.budget);
    return c;
}

void s2e_columns_write(const s2e_column *column, int32_t n, s2_buffer *out)
{
    for (int32_t i = 0; i < n; i++) {
        s2_buffer_printf(out, "%s%s/%s", i ? "," : "", column[i].method, column[i].budget);
        if (column[i].n_seeds > 1) s2_buffer_printf(out, "*%d", column[i].n_seeds);
    }
}

/* text[0..n) into `out` with its NUL; false: empty or too long. */
static bool copy(const char *text, size_t n, char *out, size_t capacity)
{
    if (n < 1 || n >= capacity) return false;
    memcpy(out, text, n);
    out[n] = '\0';
    return true;
}

static bool read_column(s2a_item item, s2e_column *out)
{
    const char *slash = memchr(item.text, '/', item.n);
    if (!slash) return false;
    const size_t n_method = (size_t)(slash - item.text);
    const size_t n_rest = item.n - n_method - 1;
    const char *star = memchr(slash + 1, '*', n_rest);
    const size_t n_budget = star ? (size_t)(star - slash - 1) : n_rest;
    out->n_seeds = 1;
    if (star) {
        char digits[8];
        if (!copy(star + 1, n_rest - n_budget - 1, digits, sizeof digits)) return false;
        out->n_seeds = (int32_t)strtol(digits, NULL, 10);
    }
    return out->n_seeds >= 1 && out->n_seeds <= MAX_SEEDS &&
           copy(item.text, n_method, out->method, sizeof out->method) &&
           copy(slash + 1, n_budget, out->budget, sizeof out->budget);
}

static s2p_status read_task(const json_t *values, const char *name, s2e_run_task *out,
                            s2p_error *error)
{
    char key[S2E_NAME + 16];
    (void)snprintf(key, sizeof key, S2E_IS "task.%s", name);
    const char *text = s2_json_string(values, key);
    json_t *about = NULL;
    if (!text) return s2_fail(error, S2P_EFORMAT, "the run has no value '%s'", key);
    TRY(s2_json_parse(text, strlen(text), key, &about, error));
    const bool is_known = s2_json_int(about, "samples", &out->n_samples) && out->n_samples >= 0;
    json_decref(about);
    return is_known
               ? S2P_OK
               : s2_fail(error, S2P_EFORMAT, "the run does not say how many samples %s has", name);
}

s2p_status s2e_run_plan_read(const json_t *values, s2e_run_plan *out, s2p_error *error)
{
    const char *columns = s2_json_string(values, S2E_IS "methods");
    const char *tasks = s2_json_string(values, S2E_IS "tasks");
    s2a_item item;
    out->n_columns = out->n_tasks = 0;
    if (!columns || !tasks)
        return s2_fail(error, S2P_EFORMAT, "the run does not say its methods and tasks");
    while (s2a_next_item(&columns, &item)) {
        if (out->n_columns == S2A_MAX_SETTINGS ||
            !read_column(item, &out->column[out->n_columns++]))
            return s2_fail(error, S2P_EFORMAT, "the run has a method '%.*s'",
                           (int)(item.n < 60 ? item.n : 60), item.text);
    }
    while (s2a_next_item(&tasks, &item)) {
        if (out->n_tasks == S2E_MAX_TASKS ||
            !copy(item.text, item.n, out->task[out->n_tasks].name, S2E_NAME))
            return s2_fail(error, S2P_EFORMAT, "the run has a task '%.*s'",
                           (int)(item.n < 60 ? item.n : 60), item.text);
        TRY(read_task(values, out->task[out->n_tasks].name, &out->task[out->n_tasks], error));
        out->n_tasks++;
    }
    return S2P_OK;
}

int64_t s2e_run_plan_answers(const s2e_run_plan *plan)
{
    int64_t n_samples = 0, n_runs = 0;
    for (int32_t i = 0; i < plan->n_tasks; i++) n_samples += plan->task[i].n_samples;
    for (int32_t i = 0; i < plan->n_columns; i++) n_runs += plan->column[i].n_seeds;
    return n_samples * n_runs;
}
