/* judged.c - a whole column at once: some scorers draw in the order of the samples. */
#include "eval/report/results.h"

#include "eval/judging.h"

#include <stdlib.h>
#include <string.h>

typedef struct taking {
    const s2e_task *task;
    const s2e_set *set;
    s2e_judged *out;
    bool *is_there;     /* [n_samples] */
    const char **grids; /* [n_samples] of the store; in the texts of *out */
    int32_t n;
    s2e_record_visit visit;
    void *user;
} taking;

static s2p_status take(const s2e_record *r, void *user, s2p_error *error)
{
    taking *t = user;
    const int32_t i = s2e_set_find(t->set, r->sample);
    if (i < 0 || i >= t->set->n_samples || t->is_there[i])
        return s2_fail(error, S2P_EFORMAT, "the run has an answer to %.30s %.60s, not of its data",
                       t->task->name, r->sample);
    t->is_there[i] = true;
    t->n++;
    if (!r->failure) {
        t->out->answer[i] = s2_pool_copy(&t->out->texts, r->text);
        t->grids[i] = s2_pool_copy(&t->out->texts, r->grids ? r->grids : "");
        if (!t->out->answer[i] || !t->grids[i])
            return s2_fail_memory(error, strlen(r->text), "an answer");
    }
    return t->visit ? t->visit(r, t->user, error) : S2P_OK;
}

/* A failure is a wrong answer, not a missing one. */
static s2p_status judge(const taking *t, s2e_protocol protocol, s2p_error *error)
{
    s2e_judged *out = t->out;
    s2e_verdict *verdict = out->verdict[protocol];
    TRY(s2e_judge_all(t->task, t->set, protocol, out->answer, t->grids, verdict, error));
    for (int32_t i = 0; i < out->n_samples; i++) {
        if (out->answer[i]) continue;
        verdict[i] = (s2e_verdict){ .rule = "failed", .extracted = strdup("") };
        if (!verdict[i].extracted) return s2_fail_memory(error, 1, "a verdict");
    }
    return S2P_OK;
}

s2p_status s2e_judged_load(s2e_store *store, const s2e_task *task, const s2e_set *set,
                           const s2e_column *column, int32_t seed, s2e_record_visit visit,
                           void *user, s2e_judged *out, s2p_error *error)
{
    const size_t n = (size_t)set->n_samples + 1;
    *out = (s2e_judged){ .n_samples = set->n_samples };
    taking t = { .task = task, .set = set, .out = out, .visit = visit, .user = user };
    t.is_there = calloc(n, sizeof *t.is_there);
    t.grids = calloc(n, sizeof *t.grids);
    out->answer = calloc(n, sizeof *out->answer);
    bool has_memory = out->answer && t.is_there && t.grids;
    for (int p = 0; p < S2E_N_PROTOCOLS; p++)
        has_memory = (out->verdict[p] = calloc(n, sizeof *out->verdict[p])) && has_memory;
    s2p_status st = has_memory ? S2P_OK : s2_fail_memory(error, n * 200, "the verdicts");
    const s2e_record which = {
        .task = task->name, .method = column->method, .budget = column->budget, .seed = seed
    };
    if (st == S2P_OK) st = s2e_store_walk(store, &which, take, &t, error);
    if (st == S2P_OK && t.n != set->n_samples)
        st = s2_fail(error, S2P_EFORMAT, "%s/%s on %s has %d of %d answers; complete the run first",
                     column->method, column->budget, task->name, t.n, set->n_samples);
    for (int p = 0; p < S2E_N_PROTOCOLS && st == S2P_OK; p++)
        st = judge(&t, (s2e_protocol)p, error);
    free(t.is_there);
    free(t.grids);
    if (st != S2P_OK) s2e_judged_free(out);
    return st;
}

void s2e_judged_free(s2e_judged *judged)
{
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        for (int32_t i = 0; judged->verdict[p] && i < judged->n_samples; i++)
            s2e_verdict_free(&judged->verdict[p][i]);
        free(judged->verdict[p]);
    }
    free(judged->answer);
    s2_pool_free(&judged->texts);
    *judged = (s2e_judged){ .n_samples = 0 };
}
