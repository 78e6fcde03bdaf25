/* comparison.c - the same samples under two columns. */
#include "eval/report/documents.h"

#include "base/permutation.h"
#include "eval/report/results.h"
#include "eval/run/fingerprint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The SHA-256 of the samples of a task, as the run wrote it down; "": it did not. */
static void data_of(const s2e_results *results, const char *task, char *out, size_t capacity)
{
    char key[S2E_NAME + 16];
    (void)snprintf(key, sizeof key, S2E_IS "task.%s", task);
    const char *text = s2_json_string(results->values, key);
    json_t *about = NULL;
    out[0] = '\0';
    if (!text || s2_json_parse(text, strlen(text), key, &about, NULL) != S2P_OK) return;
    const char *data = s2_json_string(about, "data");
    (void)snprintf(out, capacity, "%s", data ? data : "");
    json_decref(about);
}

static s2p_status compare(const s2e_task_results *task, s2e_protocol protocol, bool has_counts,
                          const s2e_result *ours, const s2e_result *theirs, s2e_comparison *out,
                          s2p_error *error)
{
    const float *a = ours->score[protocol], *b = theirs->score[protocol];
    const int32_t n = task->set->n_samples;
    *out = (s2e_comparison){ .task = task->task,
                             .ours = &ours->column,
                             .theirs = &theirs->column,
                             .our_tokens = ours->image_tokens,
                             .their_tokens = theirs->image_tokens };
    for (int32_t i = 0; i < n; i++) {
        out->our_score += (double)a[i];
        out->their_score += (double)b[i];
        out->only_ours += a[i] >= 0.5f && b[i] < 0.5f;
        out->only_theirs += a[i] < 0.5f && b[i] >= 0.5f;
    }
    out->our_score *= n ? 100.0 / n : 0.0;
    out->their_score *= n ? 100.0 / n : 0.0;
    const double none = (double)NAN;
    out->headline = (s2e_difference){ none, none, none, none, none, none };
    s2p_status st = s2e_difference_of(task->set, a, b, &out->gain);
    if (st == S2P_OK && has_counts)
        st = s2e_headline_difference(task, protocol, ours, theirs, &out->gain, &out->headline);
    return st == S2P_OK ? st : s2_fail_memory(error, sizeof(double), "the bootstrap");
}

static s2p_status correct(s2e_comparison *comparison, int32_t n, s2p_error *error)
{
    double *p = malloc((size_t)(n + 1) * sizeof *p);
    s2p_status st = p ? S2P_OK : S2P_ENOMEM;
    for (int kind = 0; kind < 2 && st == S2P_OK; kind++) {
        for (int32_t i = 0; i < n; i++)
            p[i] = kind ? comparison[i].headline.p : comparison[i].gain.p;
        st = s2_holm(p, (size_t)n, p);
        for (int32_t i = 0; i < n && st == S2P_OK; i++)
            *(kind ? &comparison[i].headline.p_holm : &comparison[i].gain.p_holm) = p[i];
    }
    free(p);
    return st == S2P_OK ? st : s2_fail_memory(error, sizeof *p, "the correction of the tests");
}

static const s2e_task_results *task_of(const s2e_results *results, const s2e_task *task)
{
    for (int32_t t = 0; t < results->n_tasks; t++)
        if (results->task[t].task == task) return &results->task[t];
    return NULL;
}

s2p_status s2e_compare(const s2e_results *ours, const s2e_results *theirs, s2e_comparison **out,
                       int32_t *n, s2p_error *error)
{
    *n = 0;
    *out = calloc((size_t)(ours->n_tasks * S2A_MAX_SETTINGS) + 1, sizeof **out);
    if (!*out) return s2_fail_memory(error, sizeof **out, "the comparison");
    s2p_status st = S2P_OK;
    for (int32_t t = 0; t < ours->n_tasks && st == S2P_OK; t++) {
        const s2e_task_results *task = &ours->task[t], *other = task_of(theirs, task->task);
        char a[80], b[80];
        if (!other) continue;
        data_of(ours, task->task->name, a, sizeof a);
        data_of(theirs, task->task->name, b, sizeof b);
        if (strcmp(a, b) != 0 || task->set->n_samples != other->set->n_samples) {
            st = s2_fail(error, S2P_EINVAL,
                         "the baseline has other data for %s (%.12s, %d samples; here %.12s, %d)",
                         task->task->name, b, other->set->n_samples, a, task->set->n_samples);
            break;
        }
        for (int32_t i = 0; i < task->n_results && st == S2P_OK; i++) {
            const s2e_column *c = &task->result[i].column;
            const s2e_result *rival = other->n_results == 1
                                          ? &other->result[0]
                                          : s2e_results_find(other, c->label, c->budget);
            if (rival)
                st = compare(task, ours->protocol, ours->protocol == theirs->protocol,
                             &task->result[i], rival, &(*out)[(*n)++], error);
        }
    }
    if (st == S2P_OK && *n == 0)
        st = s2_fail(error, S2P_EINVAL,
                     "the baseline and this run have no task and method in common");
    if (st == S2P_OK) st = correct(*out, *n, error);
    if (st != S2P_OK) {
        free(*out);
        *out = NULL;
        *n = 0;
    }
    return st;
}
