/* counting.c - counts of verdicts, or of scores, picture by picture. */
#include "analyze/counting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Sum and number of scores, where the task has no counts of its own. */
enum { SUM, ASKED, N_MEAN };

static bool is_mean(const s2_counting *c) { return !c->part->task || !c->part->task->counts; }

double s2_counting_best(const s2_trial_part *part) { return part->best > 0.0 ? part->best : 100.0; }

static bool is_counted(const s2_counting *c, s2_scope scope, int32_t question)
{
    const s2_trials *t = c->trials;
    const s2_trial_question *q = &t->question[question];
    return isfinite(s2_trial_at(t, c->setting, question)->score) &&
           (scope.category < 0 || q->category == scope.category) &&
           (!scope.wanted || scope.wanted[q->picture]) && s2_trials_question_done(t, question);
}

/* Questions [first, last) are about one picture. Returns how many count. */
static int32_t add_picture(s2_counting *c, s2_scope scope, int32_t first, int32_t last)
{
    const s2_trials *t = c->trials;
    int32_t n = 0, from = INT32_MAX, to = 0;
    double *unit = c->count + (size_t)c->n_units * (size_t)c->n_runs * (size_t)c->n_counts;
    for (int32_t q = first; q < last; q++) {
        if (!is_counted(c, scope, q)) continue;
        const int32_t sample = t->question[q].index;
        n++;
        if (sample < from) from = sample;
        if (sample >= to) to = sample + 1;
        if (!is_mean(c)) continue;
        unit[SUM] += (double)s2_trial_at(t, c->setting, q)->score;
        unit[ASKED] += 1.0;
    }
    for (int32_t r = 0; r < c->n_runs && n > 0 && !is_mean(c); r++) {
        for (int32_t q = first; q < last; q++) {
            const s2_trial *trial = s2_trial_at(t, c->setting, q);
            if (trial->n_runs > 0 && is_counted(c, scope, q))
                c->verdict[t->question[q].index] = trial->run[r % trial->n_runs].verdict;
        }
        c->part->task->counts->add(c->part->set, c->part->protocol, c->verdict, from, to,
                                   unit + (size_t)r * (size_t)c->n_counts);
        memset(c->verdict + from, 0, (size_t)(to - from) * sizeof *c->verdict);
    }
    c->n_units += n > 0; /* pictures without such a question are not drawn */
    return n;
}

static int32_t count_all(s2_counting *c, s2_scope scope)
{
    const s2_trials *t = c->trials;
    int32_t n = 0;
    for (int32_t first = 0, last; first < t->n_questions; first = last) {
        const int32_t picture = t->question[first].picture;
        for (last = first + 1; last < t->n_questions; last++)
            if (t->question[last].picture != picture) break;
        if (&t->part[t->picture[picture].part] == c->part) n += add_picture(c, scope, first, last);
    }
    return n;
}

s2p_status s2_count(const s2_trials *t, int32_t setting, s2_scope scope, int32_t n_runs,
                    s2_counting *c)
{
    *c =
        (s2_counting){ .trials = t, .part = &t->part[scope.part], .setting = setting, .n_runs = 1 };
    c->n_counts = is_mean(c) ? N_MEAN : c->part->task->counts->n(c->part->set);
    if (!is_mean(c)) c->n_runs = n_runs > 1 ? n_runs : 1;
    for (int32_t q = 0; q < t->n_questions && !is_mean(c); q++) {
        const int32_t n = s2_trial_at(t, setting, q)->n_runs;
        if (s2_trial_part_of(t, q) == c->part && n > c->n_runs) c->n_runs = n;
    }
    const size_t n = (size_t)c->n_runs * (size_t)c->n_counts;
    c->count = calloc(((size_t)t->n_pictures + 1) * n, sizeof *c->count);
    c->sum = calloc(n + 1, sizeof *c->sum);
    c->verdict = calloc(is_mean(c) ? 1 : (size_t)c->part->set->n_samples + 1, sizeof *c->verdict);
    const bool has_memory = c->count && c->sum && c->verdict;
    if (has_memory) c->n = count_all(c, scope);
    free(c->verdict);
    c->verdict = NULL;
    return has_memory ? S2P_OK : S2P_ENOMEM;
}

void s2_counting_free(s2_counting *c)
{
    free(c->count);
    free(c->sum);
    *c = (s2_counting){ .trials = NULL };
}

void s2_counting_add(s2_counting *c, int32_t unit)
{
    const size_t n = (size_t)c->n_runs * (size_t)c->n_counts;
    const double *count = c->count + (size_t)unit * n;
    for (size_t i = 0; i < n; i++) c->sum[i] += count[i];
}

double s2_counting_value(const s2_counting *c)
{
    double value = 0.0;
    for (int32_t r = 0; r < c->n_runs; r++) {
        const double *sum = c->sum + (size_t)r * (size_t)c->n_counts;
        if (!is_mean(c))
            value += c->part->task->counts->value(c->part->set, c->part->protocol, sum);
        else
            value += sum[ASKED] > 0.0 ? s2_counting_best(c->part) * sum[SUM] / sum[ASKED] : 0.0;
    }
    return value / c->n_runs;
}
