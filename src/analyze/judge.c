/* judge.c - verdicts on trials, a whole column at once: some scorers draw in the order of the samples. */
#include "analyze/trials.h"

#include "base/error.h"
#include "eval/judging.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct column { /* the answers of one setting and seed to one part */
    s2_trials *trials;
    int32_t part, setting, run;
    const char **answer;  /* [n_samples] */
    const char **grids;   /* [n_samples] what was seen of the first picture, "[[24,24]]" */
    char (*grid)[32];     /* [n_samples] their text */
    s2e_verdict *verdict; /* [n_samples] */
} column;

static s2_trial_run *run_at(const column *c, int32_t question)
{
    s2_trial *trial = s2_trial_at(c->trials, c->setting, question);
    return c->run < trial->n_runs ? &trial->run[c->run] : NULL;
}

/* A failure is a wrong answer, not a missing one. */
static s2p_status take_verdict(const column *c, int32_t question, s2p_error *error)
{
    s2_trial_run *run = run_at(c, question);
    s2e_verdict *verdict = &c->verdict[c->trials->question[question].index];
    s2e_verdict_free(&run->verdict);
    if (run->answer) {
        run->verdict = *verdict;
        *verdict = (s2e_verdict){ .rule = NULL };
        return S2P_OK;
    }
    run->verdict = (s2e_verdict){ .rule = "failed", .extracted = strdup("") };
    return run->verdict.extracted ? S2P_OK : s2_fail_memory(error, 1, "a verdict");
}

/* What the task calls its number, and how large it can be. */
static s2p_status name_metric(const column *c, s2p_error *error)
{
    s2_trial_part *part = &c->trials->part[c->part];
    s2e_figures figures = { .figure = NULL };
    TRY(part->task->aggregate(part->set, part->protocol, c->verdict, &figures, error));
    const s2e_figure *headline = s2e_headline(&figures);
    (void)snprintf(part->metric, sizeof part->metric, "%.40s", headline ? headline->name : "score");
    part->best = headline ? headline->best : 100.0;
    s2e_figures_free(&figures);
    return S2P_OK;
}

static s2p_status judge_column(const column *c, s2p_error *error)
{
    const s2_trials *t = c->trials;
    const s2_trial_part *part = &t->part[c->part];
    bool is_any = false;
    memset(c->answer, 0, ((size_t)part->set->n_samples + 1) * sizeof *c->answer);
    for (int32_t q = 0; q < t->n_questions; q++) {
        if (s2_trial_part_of(t, q) != part || !run_at(c, q)) continue;
        const int32_t i = t->question[q].index;
        const s2p_grid grid = t->picture[t->question[q].picture].grid;
        c->answer[i] = run_at(c, q)->answer;
        (void)snprintf(c->grid[i], sizeof c->grid[i], "[[%d,%d]]", grid.rows, grid.cols);
        c->grids[i] = grid.rows > 0 ? c->grid[i] : NULL;
        is_any = true;
    }
    if (!is_any) return S2P_OK;
    TRY(s2e_judge_all(part->task, part->set, part->protocol, c->answer, c->grids, c->verdict,
                      error));
    s2p_status st = part->best > 0.0 ? S2P_OK : name_metric(c, error);
    for (int32_t q = 0; q < t->n_questions && st == S2P_OK; q++)
        if (s2_trial_part_of(t, q) == part && run_at(c, q)) st = take_verdict(c, q, error);
    for (int32_t i = 0; i < part->set->n_samples; i++) s2e_verdict_free(&c->verdict[i]);
    return st;
}

static s2p_status judge_part(s2_trials *t, int32_t part, s2p_error *error)
{
    const size_t n = (size_t)t->part[part].set->n_samples + 1;
    column c = { .trials = t,
                 .part = part,
                 .answer = calloc(n, sizeof *c.answer),
                 .grids = calloc(n, sizeof *c.grids),
                 .grid = calloc(n, sizeof *c.grid),
                 .verdict = calloc(n, sizeof *c.verdict) };
    const int32_t n_runs = t->n_seeds > 1 ? t->n_seeds : 1;
    s2p_status st = c.answer && c.grids && c.grid && c.verdict
                        ? S2P_OK
                        : s2_fail_memory(error, n * sizeof *c.verdict, "the verdicts");
    for (; c.setting < t->n_settings && st == S2P_OK; c.setting++)
        for (c.run = 0; c.run < n_runs && st == S2P_OK; c.run++) st = judge_column(&c, error);
    free(c.answer);
    free(c.grids);
    free(c.grid);
    free(c.verdict);
    return st;
}

s2p_status s2_trials_judge(s2_trials *t, s2p_error *error)
{
    for (int32_t p = 0; p < t->n_parts; p++)
        if (t->part[p].task) TRY(judge_part(t, p, error));
    const int64_t n = (int64_t)t->n_settings * t->n_questions;
    for (int64_t i = 0; i < n; i++) {
        s2_trial *trial = &t->trial[i];
        float sum = 0.0f;
        bool is_judged = trial->n_runs > 0;
        for (int32_t k = 0; k < trial->n_runs; k++) {
            sum += trial->run[k].verdict.score;
            is_judged = is_judged && trial->run[k].verdict.rule;
        }
        if (is_judged) trial->score = sum / (float)trial->n_runs;
    }
    return S2P_OK;
}
