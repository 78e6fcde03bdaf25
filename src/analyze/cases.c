/* cases.c - sheets of pictures with their kept tokens.
 *
 * A sheet shows the settings of one budget. Which questions it shows is said in its caption: the
 * first that fit, not the most telling ones.
 */
#include "analyze/analyses.h"

#include "base/error.h"
#include "base/path.h"
#include "image/draw/contact_sheet.h"
#include "image/draw/overlay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 12
#define USUAL_CASES 6

typedef struct columns { /* the settings of a sheet */
    int32_t setting[MAX_COLUMNS], n;
} columns;

/* Those of this budget and the ones that keep all. */
static columns columns_of(const s2_trials *t, s2v_budget budget)
{
    columns c = { .n = 0 };
    for (int32_t s = 0; s < t->n_settings && c.n < MAX_COLUMNS; s++)
        if (s2a_keeps_all(&t->setting[s]) || s2a_budget_is_same(t->setting[s].budget, budget))
            c.setting[c.n++] = s;
    return c;
}

static bool is_first_of_budget(const s2_trials *t, int32_t setting)
{
    if (s2a_keeps_all(&t->setting[setting])) return false;
    for (int32_t k = 0; k < setting; k++)
        if (!s2a_keeps_all(&t->setting[k]) &&
            s2a_budget_is_same(t->setting[k].budget, t->setting[setting].budget))
            return false;
    return true;
}

/* --- drawing ------------------------------------------------------------------------------ */

static s2p_status place(const s2_trials *t, const s2p_image *picture, int32_t setting,
                        int32_t question, s2_sheet *sheet, int32_t index, s2p_error *error)
{
    const s2_trial *trial = s2_trial_at(t, setting, question);
    const s2p_layout layout = { .grid = t->grid };
    const s2_overlay overlay = {
        .picture = picture, .layout = &layout, .keep = trial->kept, .n_keep = trial->n_kept
    };
    char label[S2_LABEL_SIZE], note[24];
    const bool has_score = trial->answer != NULL, is_right = trial->score >= 0.5f;
    s2_image drawn = { .pixels = NULL };
    const bool is_whole = s2a_keeps_all(&t->setting[setting]);
    if (trial->kept && !is_whole) TRY(s2_overlay_draw(&overlay, &drawn, error));
    (void)snprintf(note, sizeof note, "%d", trial->n_kept);
    const s2_sheet_tile tile = { .picture = is_whole      ? picture
                                            : trial->kept ? &drawn.view
                                                          : NULL,
                                 .title = s2_setting_label(&t->setting[setting], false, label),
                                 .note = note,
                                 .text = has_score ? trial->answer : NULL,
                                 .mark = !has_score ? NULL
                                         : is_right ? "right"
                                                    : "wrong",
                                 .is_right = is_right };
    const s2p_status st = s2_sheet_place(sheet, index, &tile, error);
    s2_image_free(&drawn);
    return st;
}

static s2p_status draw_sheet(const s2_trials *t, const columns *c, const int32_t *question,
                             int32_t n, const char *title, const char *name, const char *caption,
                             s2_study *study, s2p_error *error)
{
    s2_sheet sheet = { .n_tiles = 0 };
    s2_image picture;
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < n && st == S2P_OK; i++) {
        st = s2_trials_load(t, t->question[question[i]].picture, &picture, error);
        if (st == S2P_OK && i == 0)
            st = s2_sheet_create(title, n * c->n, c->n, picture.view.width, picture.view.height,
                                 &sheet, error);
        for (int32_t k = 0; k < c->n && st == S2P_OK; k++)
            st = place(t, &picture.view, c->setting[k], question[i], &sheet, i * c->n + k, error);
        s2_image_free(&picture);
    }
    if (st == S2P_OK) st = s2_study_picture(study, name, caption, &sheet.image.view, error);
    s2_image_free(&sheet.image);
    return st;
}

/* --- which questions ----------------------------------------------------------------------------- */

static bool is_case(const s2_trials *t, const columns *c, int32_t reference, int32_t question)
{
    if (!s2_trials_question_done(t, question)) return false;
    for (int32_t k = 0; k < c->n; k++) {
        const bool is_right = s2_trial_at(t, c->setting[k], question)->score >= 0.5f;
        if (s2a_keeps_all(&t->setting[c->setting[k]])) continue;
        if (is_right != (c->setting[k] == reference)) return false;
    }
    return true;
}

static s2p_status add_cases(const s2_trials *t, int32_t reference, int32_t most, s2_study *study,
                            s2p_error *error)
{
    const columns c = columns_of(t, t->setting[reference].budget);
    int32_t *question = calloc((size_t)most, sizeof *question), n = 0, n_all = 0, last = -1;
    char name[64], caption[1200], label[S2_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
    if (!question) return s2_fail_memory(error, sizeof *question, "the cases");
    for (int32_t q = 0; q < t->n_questions; q++) {
        if (!is_case(t, &c, reference, q)) continue;
        n_all++;
        if (n == most || t->question[q].picture == last) continue;
        last = t->question[q].picture;
        question[n++] = q;
    }
    (void)s2_setting_label(&t->setting[reference], true, label);
    (void)snprintf(name, sizeof name, "cases_%s",
                   s2a_budget_text(t->setting[reference].budget, budget));
    (void)snprintf(caption, sizeof caption,
                   "%s is right and the others of its budget are wrong on %d of %d questions; the "
                   "first %d pictures among them, row by row.",
                   label, n_all, t->n_questions, n);
    for (int32_t i = 0; i < n; i++) {
        const size_t used = strlen(caption);
        (void)snprintf(caption + used, sizeof caption - used, " %d: %s (%s)", i + 1,
                       t->question[question[i]].text, t->question[question[i]].expected);
    }
    s2p_status st = S2P_OK;
    if (n == 0)
        s2_study_note(study, caption);
    else
        st = draw_sheet(t, &c, question, n, label, name, caption, study, error);
    free(question);
    return st;
}

s2p_status s2_analyze_cases(const s2_trials *t, const char *reference, int32_t most,
                            s2_study *study, s2p_error *error)
{
    bool is_found = false;
    for (int32_t s = 0; s < t->n_settings; s++) {
        if (!is_first_of_budget(t, s)) continue;
        const int32_t r = s2_trials_find(t, reference, t->setting[s].budget);
        if (r < 0) continue;
        is_found = true;
        TRY(add_cases(t, r, most > 0 ? most : USUAL_CASES, study, error));
    }
    if (is_found) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "cases need the method '%.60s'", reference);
}

s2p_status s2_analyze_example(const s2_trials *t, int32_t question, s2_study *study,
                              s2p_error *error)
{
    for (int32_t s = 0; s < t->n_settings; s++) {
        char name[64], caption[640], budget[S2A_BUDGET_TEXT];
        if (!is_first_of_budget(t, s)) continue;
        const columns c = columns_of(t, t->setting[s].budget);
        (void)snprintf(name, sizeof name, "spatial_example_%s",
                       s2a_budget_text(t->setting[s].budget, budget));
        const char *text = t->question[question].text; /* "" where there are only pictures */
        (void)snprintf(caption, sizeof caption,
                       "What each method keeps of one picture, %s tokens (the paper's Figure 2a): "
                       "%.200s%s%.200s%s",
                       budget, s2_base_name(t->picture[t->question[question].picture].file),
                       text[0] ? ", \"" : "", text, text[0] ? "\"" : "");
        TRY(draw_sheet(t, &c, &question, 1, t->question[question].text, name, caption, study,
                       error));
    }
    return S2P_OK;
}
