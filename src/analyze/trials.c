/* trials.c - growing lists, and the names of settings. */
#include "analyze/trials.h"

#include "base/error.h"
#include "eval/judging.h"

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

static void free_trial(s2_trial *trial)
{
    for (int32_t i = 0; i < trial->n_runs; i++) {
        free(trial->run[i].answer);
        s2e_verdict_free(&trial->run[i].verdict);
    }
    free(trial->run);
    free(trial->answer);
    free(trial->kept);
}

void s2_trials_free(s2_trials *t)
{
    const int64_t n = (int64_t)t->n_settings * t->n_questions;
    for (int64_t i = 0; t->trial && i < n; i++) free_trial(&t->trial[i]);
    for (int32_t i = 0; i < t->n_pictures; i++) free(t->picture[i].file);
    for (int32_t i = 0; i < t->n_questions; i++) {
        free(t->question[i].text);
        free(t->question[i].expected);
    }
    for (int32_t i = 0; i < t->n_categories; i++) free(t->category[i].name);
    for (int32_t i = 0; i < t->n_parts; i++) free(t->part[i].folder);
    free(t->trial);
    free(t->picture);
    free(t->question);
    free(t->category);
    free(t->part);
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

s2p_status s2_trials_add_part(s2_trials *t, const s2_trial_part *part, s2p_error *error)
{
    s2_trial_part *list = grown(t->part, t->n_parts, sizeof *list);
    char *folder = part->folder ? copy_text(part->folder) : NULL;
    if (list) t->part = list;
    if (!list || (part->folder && !folder)) {
        free(folder);
        return s2_fail_memory(error, sizeof *list, "the benchmarks");
    }
    t->part[t->n_parts] = *part;
    t->part[t->n_parts++].folder = folder;
    return S2P_OK;
}

s2p_status s2_trials_add_picture(s2_trials *t, const char *file, int32_t index, s2p_error *error)
{
    if (t->n_parts == 0) TRY(s2_trials_add_part(t, &(s2_trial_part){ .task = NULL }, error));
    s2_trial_picture *list = grown(t->picture, t->n_pictures, sizeof *list);
    char *name = copy_text(file);
    if (list) t->picture = list;
    if (!list || !name) {
        free(name);
        return s2_fail_memory(error, sizeof *list, "the pictures");
    }
    t->picture[t->n_pictures++] =
        (s2_trial_picture){ .file = name, .index = index, .part = t->n_parts - 1 };
    return S2P_OK;
}

s2p_status s2_trials_load(const s2_trials *t, int32_t picture, s2_image *out, s2p_error *error)
{
    char path[8192];
    const s2_trial_picture *p = &t->picture[picture];
    const s2_trial_part *part = &t->part[p->part];
    if (part->load) return part->load(part->source, p->index, out, error);
    (void)snprintf(path, sizeof path, "%.4000s%s%.4000s", part->folder ? part->folder : "",
                   part->folder ? "/" : "", p->file);
    return s2_image_load(path, S2_PIXELS_REFERENCE, NULL, out, error);
}

/* The kind of the last picture's part by its name, or a new one; -1: no memory. */
static int32_t category_of(s2_trials *t, const char *name)
{
    const int32_t part = t->picture[t->n_pictures - 1].part;
    for (int32_t i = t->n_categories - 1; i >= 0 && t->category[i].part == part; i--)
        if (strcmp(t->category[i].name, name) == 0) return i;
    s2_trial_category *list = grown(t->category, t->n_categories, sizeof *list);
    char *copy = copy_text(name);
    if (list) t->category = list;
    if (!list || !copy) {
        free(copy);
        return -1;
    }
    t->category[t->n_categories] = (s2_trial_category){ copy, part };
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
        return s2_fail_memory(error, sizeof *list, "the questions");
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

const s2_trial_part *s2_trial_part_of(const s2_trials *t, int32_t question)
{
    return &t->part[t->picture[t->question[question].picture].part];
}

bool s2_trial_is_done(const s2_trial *trial) { return isfinite(trial->score) || trial->kept; }

bool s2_trials_question_done(const s2_trials *t, int32_t question)
{
    for (int32_t s = 0; s < t->n_settings; s++)
        if (!s2_trial_is_done(s2_trial_at(t, s, question))) return false;
    return true;
}

static s2p_status take_grid(s2_trials *t, s2_trial_picture *picture, s2p_grid grid,
                            s2p_error *error)
{
    if (picture->grid.rows == 0) picture->grid = grid;
    if (picture->grid.rows != grid.rows || picture->grid.cols != grid.cols)
        return s2_fail(error, S2P_EINVAL, "%.200s has %dx%d tokens here and %dx%d there",
                       picture->file, grid.rows, grid.cols, picture->grid.rows, picture->grid.cols);
    if (t->grid.rows == 0) t->grid = grid;
    if (t->grid.rows != grid.rows || t->grid.cols != grid.cols) t->has_grids = true;
    return S2P_OK;
}

s2p_status s2_trial_fill(s2_trials *t, int32_t setting, int32_t question, float score,
                         const char *answer, s2p_grid grid, const int32_t *kept, int32_t n_kept,
                         s2p_error *error)
{
    s2_trial *trial = s2_trial_at(t, setting, question);
    s2_trial_picture *picture = &t->picture[t->question[question].picture];
    for (int32_t i = 0; kept && i < n_kept; i++)
        if (kept[i] < 0 || kept[i] >= grid.rows * grid.cols || (i > 0 && kept[i] <= kept[i - 1]))
            return s2_fail(error, S2P_EINVAL, "%.200s: kept tokens are not ascending in the grid",
                           picture->file);
    if (grid.rows > 0) TRY(take_grid(t, picture, grid, error));
    char *text = answer ? copy_text(answer) : NULL;
    int32_t *copy = kept ? malloc(((size_t)n_kept + 1) * sizeof *copy) : NULL;
    if ((answer && !text) || (kept && !copy)) {
        free(text);
        free(copy);
        return s2_fail_memory(error, (size_t)n_kept * sizeof *copy, "an answer");
    }
    if (copy) memcpy(copy, kept, (size_t)n_kept * sizeof *copy);
    free_trial(trial);
    *trial =
        (s2_trial){ .score = score, .answer = text, .kept = copy, .n_kept = copy ? n_kept : 0 };
    return S2P_OK;
}

s2p_status s2_trial_add_run(s2_trials *t, int32_t setting, int32_t question, int32_t index,
                            int32_t n, const char *answer, s2p_error *error)
{
    s2_trial *trial = s2_trial_at(t, setting, question);
    char *text = answer ? copy_text(answer) : NULL;
    if (!trial->run) {
        trial->run = calloc((size_t)n, sizeof *trial->run);
        trial->n_runs = trial->run ? n : 0;
    }
    if (index >= trial->n_runs || (answer && !text)) {
        free(text);
        return s2_fail_memory(error, (size_t)n * sizeof *trial->run, "an answer");
    }
    free(trial->run[index].answer);
    trial->run[index].answer = text;
    return S2P_OK;
}

/* --- what there is ---------------------------------------------------------------------------- */

s2p_status s2_trials_need_grid(const s2_trials *t, s2p_error *error)
{
    if (t->grid.rows < 1) return s2_fail(error, S2P_EINVAL, "no trial says which tokens were kept");
    for (int32_t i = 0; t->has_grids && i < t->n_pictures; i++) {
        const s2p_grid grid = t->picture[i].grid;
        if (grid.rows == t->grid.rows && grid.cols == t->grid.cols) continue;
        return s2_fail(error, S2P_EINVAL,
                       "%.200s has %dx%d tokens, others %dx%d; show every picture at one size",
                       t->picture[i].file, grid.rows, grid.cols, t->grid.rows, t->grid.cols);
    }
    return S2P_OK;
}

const char *s2_trials_names(const s2_trials *t, char out[S2_NAMES_SIZE])
{
    size_t n = 0;
    out[0] = '\0';
    for (int32_t i = 0; i < t->n_parts && n < S2_NAMES_SIZE; i++)
        n += (size_t)snprintf(out + n, S2_NAMES_SIZE - n, "%s%s", i ? ", " : "", t->part[i].name);
    return out;
}

const char *s2_trials_extent(const s2_trials *t, char out[S2_NAMES_SIZE])
{
    size_t n = 0;
    out[0] = '\0';
    for (int32_t i = 0; i < t->n_parts && n < S2_NAMES_SIZE; i++) {
        int32_t asked = 0;
        for (int32_t q = 0; q < t->n_questions; q++) asked += s2_trial_part_of(t, q) == &t->part[i];
        if (asked >= t->part[i].n_all) continue;
        n += (size_t)snprintf(out + n, S2_NAMES_SIZE - n, "%s%d of %d questions of %s",
                              n ? ", " : "", asked, t->part[i].n_all, t->part[i].name);
    }
    return out;
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
    char label[S2A_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
    (void)s2a_setting_label(s, label);
    if (has_budget && !s2a_keeps_all(s))
        (void)snprintf(out, S2_LABEL_SIZE, "%s %s", label, s2a_budget_text(s->budget, budget));
    else
        (void)snprintf(out, S2_LABEL_SIZE, "%s", label);
    return out;
}

/* Answers that were written down before settings had labels are found under the same key. */
const char *s2_setting_key(const s2a_setting *s, char out[S2_LABEL_SIZE])
{
    char label[S2A_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
    const char *shown = s2a_keeps_all(s) ? "-" : s2a_budget_text(s->budget, budget);
    s2a_setting choice = { .method = s->method,
                           .own_method = s->own_method,
                           .published = s->published,
                           .choice = s->choice };
    s2p_parameters_init(s2a_setting_method(s), &choice.parameters);
    (void)s2a_setting_label(&choice, out);
    const bool has_more = strcmp(s2a_setting_label(s, label), out) != 0;
    (void)snprintf(out, S2_LABEL_SIZE, "%s/%s/%d/%s/%s%s%s%s", s->method, shown, s->choice.side,
                   allocator_of(s), selector_of(s), s->published ? "/published" : "",
                   has_more ? "/" : "", has_more ? label : "");
    return out;
}

int32_t s2_trials_find(const s2_trials *t, const char *method, s2a_budget budget)
{
    char label[S2A_LABEL_SIZE];
    for (int32_t i = 0; i < t->n_settings; i++) /* nothing differs from its defaults */
        if (strcmp(s2a_setting_label(&t->setting[i], label), method) == 0 &&
            (s2a_keeps_all(&t->setting[i]) || s2a_budget_is_same(t->setting[i].budget, budget)))
            return i;
    for (int32_t i = 0; i < t->n_settings; i++) { /* or what all settings have in common */
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
