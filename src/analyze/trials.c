/* trials.c - growing lists, and the names of settings. */
#include "analyze/trials.h"

#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TRIALS 50000000

static char *copy_text(const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = malloc(n);
    if (copy) memcpy(copy, text, n);
    return copy;
}

void s2_trials_free(s2_trials *t)
{
    const int64_t n = (int64_t)t->n_settings * t->n_questions;
    for (int64_t i = 0; t->trial && i < n; i++) {
        free(t->trial[i].answer);
        free(t->trial[i].kept);
    }
    for (int32_t i = 0; i < t->n_pictures; i++) free(t->picture[i].file);
    for (int32_t i = 0; i < t->n_questions; i++) {
        free(t->question[i].text);
        free(t->question[i].expected);
    }
    for (int32_t i = 0; i < t->n_categories; i++) free(t->category[i]);
    free(t->trial);
    free(t->picture);
    free(t->question);
    free(t->setting);
    *t = (s2_trials){ .n_pictures = 0 };
}

/* --- filling --------------------------------------------------------------------------- */

/* Room for one more of `size` bytes behind n; lists double at powers of two. */
static void *grown(void *list, int32_t n, size_t size)
{
    if (n & (n - 1)) return list;
    return realloc(list, (size_t)(n ? 2 * n : 1) * size);
}

s2p_status s2_trials_add_picture(s2_trials *t, const char *file, double heterogeneity,
                                 s2p_error *error)
{
    s2_trial_picture *list = grown(t->picture, t->n_pictures, sizeof *list);
    char *name = copy_text(file);
    if (list) t->picture = list;
    if (!list || !name) {
        free(name);
        return s2_fail_memory(error, sizeof *list, "the pictures");
    }
    t->picture[t->n_pictures] = (s2_trial_picture){ name, heterogeneity, t->n_pictures };
    t->n_pictures++;
    return S2P_OK;
}

s2p_status s2_trials_load(const s2_trials *t, int32_t picture, s2_image *out, s2p_error *error)
{
    char path[8192];
    if (t->load) return t->load(t->source, t->picture[picture].index, out, error);
    (void)snprintf(path, sizeof path, "%.4000s%s%.4000s", t->folder, t->folder[0] ? "/" : "",
                   t->picture[picture].file);
    return s2_image_load(path, S2_PIXELS_REFERENCE, NULL, out, error);
}

static int32_t category_of(s2_trials *t, const char *name)
{
    for (int32_t i = 0; i < t->n_categories; i++)
        if (strcmp(t->category[i], name) == 0) return i;
    char *copy = t->n_categories < S2_MAX_TRIAL_CATEGORIES ? copy_text(name) : NULL;
    if (!copy) return -1;
    t->category[t->n_categories] = copy;
    return t->n_categories++;
}

s2p_status s2_trials_add_question(s2_trials *t, const char *text, const char *expected,
                                  const char *category, int32_t index, s2p_error *error)
{
    s2_trial_question *list = grown(t->question, t->n_questions, sizeof *list);
    s2_trial_question q = { copy_text(text), copy_text(expected), t->n_pictures - 1,
                            category_of(t, category), index };
    if (list) t->question = list;
    if (!list || !q.text || !q.expected || q.category < 0) {
        free(q.text);
        free(q.expected);
        return q.category < 0 && t->n_categories == S2_MAX_TRIAL_CATEGORIES
                   ? s2_fail(error, S2P_ELIMIT, "more than %d kinds of questions",
                             S2_MAX_TRIAL_CATEGORIES)
                   : s2_fail_memory(error, sizeof *list, "the questions");
    }
    t->question[t->n_questions++] = q;
    return S2P_OK;
}

s2p_status s2_trials_set(s2_trials *t, const s2a_setting *setting, int32_t n, s2p_error *error)
{
    const int64_t n_trials = (int64_t)n * t->n_questions;
    if (n_trials < 1 || n_trials > MAX_TRIALS)
        return s2_fail(error, n_trials < 1 ? S2P_EINVAL : S2P_ELIMIT,
                       "%d settings on %d questions; from 1 to %d together", n, t->n_questions,
                       MAX_TRIALS);
    t->setting = calloc((size_t)n, sizeof *t->setting);
    t->trial = calloc((size_t)n_trials, sizeof *t->trial);
    if (!t->setting || !t->trial)
        return s2_fail_memory(error, (size_t)n_trials * sizeof *t->trial, "the answers");
    memcpy(t->setting, setting, (size_t)n * sizeof *setting);
    t->n_settings = n;
    for (int64_t i = 0; i < n_trials; i++) t->trial[i].score = NAN;
    return S2P_OK;
}

s2_trial *s2_trial_at(const s2_trials *t, int32_t setting, int32_t question)
{
    return &t->trial[(int64_t)setting * t->n_questions + question];
}

bool s2_trial_is_done(const s2_trial *trial) { return isfinite(trial->score) || trial->kept; }

bool s2_trials_question_done(const s2_trials *t, int32_t question)
{
    for (int32_t s = 0; s < t->n_settings; s++)
        if (!s2_trial_is_done(s2_trial_at(t, s, question))) return false;
    return true;
}

s2p_status s2_trial_fill(s2_trials *t, int32_t setting, int32_t question, float score,
                         const char *answer, s2p_grid grid, const int32_t *kept, int32_t n_kept,
                         s2p_error *error)
{
    s2_trial *trial = s2_trial_at(t, setting, question);
    const char *file = t->picture[t->question[question].picture].file;
    if (kept && t->grid.rows == 0) t->grid = grid;
    if (kept && (t->grid.rows != grid.rows || t->grid.cols != grid.cols))
        return s2_fail(error, S2P_EINVAL,
                       "%.200s has %dx%d tokens, others %dx%d; show every picture at one size",
                       file, grid.rows, grid.cols, t->grid.rows, t->grid.cols);
    for (int32_t i = 0; kept && i < n_kept; i++)
        if (kept[i] < 0 || kept[i] >= grid.rows * grid.cols || (i > 0 && kept[i] <= kept[i - 1]))
            return s2_fail(error, S2P_EINVAL, "%.200s: kept tokens are not ascending in the grid",
                           file);
    char *text = answer ? copy_text(answer) : NULL;
    int32_t *copy = kept ? malloc(((size_t)n_kept + 1) * sizeof *copy) : NULL;
    if ((answer && !text) || (kept && !copy)) {
        free(text);
        free(copy);
        return s2_fail_memory(error, (size_t)n_kept * sizeof *copy, "an answer");
    }
    if (copy) memcpy(copy, kept, (size_t)n_kept * sizeof *copy);
    free(trial->answer);
    free(trial->kept);
    *trial = (s2_trial){ score, text, copy, copy ? n_kept : 0 };
    return S2P_OK;
}

/* --- settings ------------------------------------------------------------------------------- */

static const char *allocator_of(const s2a_setting *s)
{
    return s->choice.allocator ? s->choice.allocator : s2p_allocator_name(0);
}

static const char *selector_of(const s2a_setting *s)
{
    return s->choice.selector ? s->choice.selector : s2p_selector_name(0);
}

const char *s2_setting_label(const s2a_setting *s, bool has_budget, char out[S2_LABEL_SIZE])
{
    char budget[S2A_BUDGET_TEXT];
    if (has_budget && !s2a_keeps_all(s))
        (void)snprintf(out, S2_LABEL_SIZE, "%s %s", s->method, s2a_budget_text(s->budget, budget));
    else
        (void)snprintf(out, S2_LABEL_SIZE, "%s", s->method);
    const bool has_choice = strcmp(s->method, "s2prune") == 0;
    size_t n = strlen(out);
    if (has_choice && strcmp(allocator_of(s), s2p_allocator_name(0)) != 0)
        n += (size_t)snprintf(out + n, S2_LABEL_SIZE - n, " %s shares", allocator_of(s));
    if (has_choice && strcmp(selector_of(s), s2p_selector_name(0)) != 0)
        n += (size_t)snprintf(out + n, S2_LABEL_SIZE - n, " %s", selector_of(s));
    if (s->choice.side > 0) (void)snprintf(out + n, S2_LABEL_SIZE - n, " K=%d", s->choice.side);
    return out;
}

const char *s2_setting_key(const s2a_setting *s, char out[S2_LABEL_SIZE])
{
    char budget[S2A_BUDGET_TEXT];
    const char *shown = s2a_keeps_all(s) ? "-" : s2a_budget_text(s->budget, budget);
    (void)snprintf(out, S2_LABEL_SIZE, "%s/%s/%d/%s/%s%s", s->method, shown, s->choice.side,
                   allocator_of(s), selector_of(s), s->published ? "/published" : "");
    return out;
}

int32_t s2_trials_find(const s2_trials *t, const char *method, s2v_budget budget)
{
    for (int32_t i = 0; i < t->n_settings; i++) {
        const s2a_setting *s = &t->setting[i];
        if (strcmp(s->method, method) != 0) continue;
        if (s2a_keeps_all(s)) return i;
        if (s2a_budget_is_same(s->budget, budget) && s->choice.side == 0 &&
            strcmp(allocator_of(s), s2p_allocator_name(0)) == 0 &&
            strcmp(selector_of(s), s2p_selector_name(0)) == 0)
            return i;
    }
    return -1;
}
