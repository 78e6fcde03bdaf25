/* compare_rows.c - which rows a comparison has, and how one is made.
 *
 * All rows use one session that remembers what the tower made of the picture, so a row is: forget
 * the conversation, prefill, generate. The very first prefill pays for more than its own work
 * (weights read from the disk, buffers, the tower); it belongs to no row.
 */
#include "compare/compare.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_METHODS 64
#define MAX_BUDGETS 64
#define MAX_NAME 64

/* --- the plan ------------------------------------------------------------------ */

/* The next item of "a,b,c" into `out`, and what follows it; false at the end. Too long an item is
 * cut, which no name or number survives. */
static bool next_item(const char **list, char out[MAX_NAME])
{
    if (!*list) return false;
    const size_t n = strcspn(*list, ",");
    (void)snprintf(out, MAX_NAME, "%.*s", (int)(n < MAX_NAME ? n : MAX_NAME - 1), *list);
    *list = (*list)[n] == ',' ? *list + n + 1 : NULL;
    return true;
}

static const char *method_name(const void *context, size_t index)
{
    (void)context;
    return s2v_method_name(index);
}

static s2p_status add_method(const char *name, const char **methods, int32_t *n, s2p_error *error)
{
    const int32_t index = s2_choice_index(s2v_method_name, name);
    const char *near = index < 0 ? s2_suggest(name, method_name, NULL) : NULL;
    if (near)
        return s2_fail(error, S2P_EINVAL, "--methods: unknown method '%s' (did you mean '%s'?)",
                       name, near);
    if (index < 0)
        return s2_fail(error, S2P_EINVAL,
                       "--methods: unknown method '%s'; see 's2prune run --list-methods'", name);
    for (int32_t i = 0; i < *n; i++)
        if (strcmp(methods[i], name) == 0)
            return s2_fail(error, S2P_EINVAL, "--methods names '%s' twice", name);
    if (*n == MAX_METHODS)
        return s2_fail(error, S2P_ELIMIT, "--methods has more than %d names", MAX_METHODS);
    methods[(*n)++] = s2v_method_name((size_t)index);
    return S2P_OK;
}

static s2p_status read_methods(const char *list, const char **methods, int32_t *n, s2p_error *error)
{
    char name[MAX_NAME];
    s2p_status st = S2P_OK;
    *n = 0;
    if (strcmp(list, "all") == 0) {
        for (size_t i = 0; st == S2P_OK && s2v_method_name(i); i++)
            st = add_method(s2v_method_name(i), methods, n, error);
        return st;
    }
    while (st == S2P_OK && next_item(&list, name)) {
        if (!name[0])
            return s2_fail(error, S2P_EINVAL,
                           "--methods has an empty name; give a list such as full,s2prune, or all");
        st = add_method(name, methods, n, error);
    }
    return st;
}

static s2p_status read_budgets(const char *list, s2_budget *budgets, int32_t *n, s2p_error *error)
{
    static const s2_option option = {
        .name = "--budgets", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS
    };
    char item[MAX_NAME];
    for (*n = 0; next_item(&list, item); (*n)++) {
        if (*n == MAX_BUDGETS)
            return s2_fail(error, S2P_ELIMIT, "--budgets has more than %d numbers", MAX_BUDGETS);
        const s2p_status st = s2_option_set(&option, "--budgets", item, &budgets[*n], error);
        if (st != S2P_OK) return st;
        for (int32_t i = 0; i < *n; i++)
            if (budgets[i].count == budgets[*n].count && budgets[i].percent == budgets[*n].percent)
                return s2_fail(error, S2P_EINVAL, "--budgets names %s twice", item);
    }
    return S2P_OK;
}

s2p_status s2_compare_plan(const char *methods, const char *budgets, compare_row *rows, int32_t *n,
                           s2p_error *error)
{
    const char *method[MAX_METHODS];
    s2_budget budget[MAX_BUDGETS];
    int32_t n_methods, n_budgets;
    *n = 0;
    s2p_status st = read_methods(methods, method, &n_methods, error);
    if (st == S2P_OK) st = read_budgets(budgets, budget, &n_budgets, error);
    if (st != S2P_OK) return st;
    for (int32_t b = 0; b < n_budgets; b++) {
        for (int32_t m = 0; m < n_methods; m++) {
            const bool is_full = strcmp(method[m], "full") == 0;
            if (is_full && b > 0) continue;
            if (*n == S2_COMPARE_MAX_ROWS)
                return s2_fail(error, S2P_ELIMIT, "%d methods times %d budgets; the limit is %d",
                               n_methods, n_budgets, S2_COMPARE_MAX_ROWS);
            rows[(*n)++] = (compare_row){ .method = method[m],
                                          .budget = is_full ? (s2_budget){ 0, 0.0 } : budget[b] };
        }
    }
    return S2P_OK;
}

const char *s2_compare_budget(const compare_row *row, char *out, size_t capacity)
{
    if (row->budget.count > 0)
        (void)snprintf(out, capacity, "%d", row->budget.count);
    else if (row->budget.percent > 0.0)
        (void)snprintf(out, capacity, "%.15g%%", row->budget.percent);
    else
        (void)snprintf(out, capacity, "-");
    return out;
}

/* --- running ---------------------------------------------------------------------- */

static s2p_status ask(run_job *job, const char *question, const char *method, s2_budget budget,
                      s2p_error *error)
{
    s2v_session_reset(job->session);
    job->has_history = false;
    job->prune.method = method;
    job->prune.budget = budget.count;
    job->prune.budget_percent = budget.percent;
    return s2_run_turn(job, question, job->n_pictures, error);
}

s2p_status s2_compare_open(run_job *job, const char *question, s2p_error *error)
{
    const run_options *asked = job->options;
    run_options brief = *asked;
    brief.keep_picture = 2; /* its attention too: some method will want it */
    brief.predict = brief.predict < 2 ? brief.predict : 2;
    job->options = &brief;
    /* "auto" would show an unpruned picture in tiles and a pruned one whole: no comparison. */
    if (job->n_pictures == 1 && job->size[0].framing == S2V_FRAMING_AUTO)
        job->size[0].framing = S2V_FRAMING_BASE;
    s2p_status st = s2_run_open(job, error);
    if (st == S2P_OK) st = ask(job, question, "uniform", (s2_budget){ 2, 0.0 }, error);
    job->options = asked;
    return st;
}

static s2p_status keep_part(compare_row *row, const s2p_plan *plan, int32_t picture, bool is_tiles,
                            s2p_error *error)
{
    int32_t n;
    const int32_t *keep = s2p_plan_keep(plan, &n);
    const s2p_layout layout = s2p_plan_layout(plan);
    int32_t *copy = malloc((size_t)(n > 0 ? n : 1) * sizeof *copy);
    if (!copy) return s2_fail_memory(error, (size_t)n * sizeof *copy, "the kept tokens");
    memcpy(copy, keep, (size_t)n * sizeof *copy);
    row->part[row->n_parts++] = (compare_part){ .grid = layout.grid,
                                                .picture = picture,
                                                .is_tiles = is_tiles,
                                                .side = layout.side,
                                                .keep = copy,
                                                .n_keep = n };
    return S2P_OK;
}

/* The session's plans and the answer live only until the next row. */
static s2p_status keep_result(const run_job *job, compare_row *row, s2p_error *error)
{
    size_t n;
    const int32_t *tokens = s2v_session_tokens(job->session, &n);
    row->part = calloc((size_t)job->n_pictures * 2 + 1, sizeof *row->part);
    row->answer = malloc(job->answer.size + 1);
    row->token = malloc((n + 1) * sizeof *row->token);
    if (!row->part || !row->answer || !row->token)
        return s2_fail_memory(error, job->answer.size + 1, "the answer");
    if (job->answer.size > 0) memcpy(row->answer, job->answer.data, job->answer.size);
    row->answer[job->answer.size] = '\0';
    if (n > 0) memcpy(row->token, tokens, n * sizeof *tokens);
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < job->n_pictures; i++) {
        const s2p_plan *whole = s2v_session_plan(job->session, i);
        const s2p_plan *tiles = s2v_session_tile_plan(job->session, i);
        if (whole) st = keep_part(row, whole, i, false, error);
        if (st == S2P_OK && tiles) st = keep_part(row, tiles, i, true, error);
    }
    row->n_generated = (int32_t)n;
    row->stopped = job->stopped;
    row->stats = job->stats;
    row->predicted_ms = job->predicted_ms;
    return st;
}

void s2_compare_ask(run_job *job, const char *question, compare_row *row)
{
    s2p_error error = { S2P_OK, "" };
    s2p_status st = ask(job, question, row->method, row->budget, &error);
    if (st == S2P_OK) st = keep_result(job, row, &error);
    if (st == S2P_OK) return;
    s2_compare_row_free(row);
    row->error = error;
    row->error.status = st;
    if (!error.message[0])
        (void)snprintf(row->error.message, sizeof row->error.message, "%s", s2p_status_text(st));
}

void s2_compare_row_free(compare_row *row)
{
    for (int32_t p = 0; p < row->n_parts; p++) free(row->part[p].keep);
    free(row->part);
    free(row->answer);
    free(row->token);
    row->token = NULL;
    row->part = NULL;
    row->n_parts = 0;
    row->answer = NULL;
}
