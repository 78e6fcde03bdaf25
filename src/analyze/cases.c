/* cases.c - sheets of pictures with their kept tokens, questions and answers.
 *
 * A sheet shows the settings of one budget: a block for each question, pictures inside as JPEG, words as
 * text in any script. Which questions it shows is said in its caption: the first that fit, not the most
 * telling ones. Cases that the reference loses are counted and shown by the same rule as those it wins.
 */
#include "analyze/analyses.h"

#include "base/error.h"
#include "base/path.h"
#include "eval/figure/plot.h"
#include "image/base64.h"
#include "image/draw/overlay.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 32
#define USUAL_CASES 6

typedef struct columns { /* the settings of a sheet */
    int32_t setting[MAX_COLUMNS], n;
} columns;

/* Those of this budget and the ones that keep all. */
static columns columns_of(const s2_trials *t, s2a_budget budget)
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

typedef struct case_sheet {
    const int32_t *question; /* [n_questions] a block each */
    int32_t n_questions;
    const int32_t *setting; /* [n_settings] a picture each in every block */
    int32_t n_settings;
    const char *title;
} case_sheet;

#define EDGE 8.0
#define GAP 8.0
#define SHARPNESS 2.5 /* pixels of a picture for each of the figure: 240 to the inch */
#define QUALITY 85
#define JPEG_BYTES ((size_t)8 << 20)
#define QUESTION_LINES 3
#define ANSWER_LINES 2
#define MAX_TALL 1.6 /* height over width of a tile; taller pictures are narrower in it */

typedef struct grid_of_tiles {
    double width, side, tall, tile; /* of the figure, of a picture, of a whole tile */
    int32_t columns, rows;
} grid_of_tiles;

static grid_of_tiles lay_out(const s2_study *study, int32_t n, const s2p_image *first)
{
    grid_of_tiles g = { .width = s2_study_width(study) };
    const int32_t most = g.width < S2_PLOT_PAGE ? 3 : 6;
    g.rows = (n + most - 1) / most;
    g.columns = (n + g.rows - 1) / g.rows;
    g.side = fmin((g.width - 2 * EDGE + GAP) / g.columns - GAP, 160.0);
    g.tall = g.side * fmin((double)first->height / first->width, MAX_TALL);
    g.tile = g.tall + (2 + ANSWER_LINES) * S2_PLOT_LINE + 2.0;
    return g;
}

/* The lines above the tiles of a question. */
static double head_height(const s2_trials *t, const grid_of_tiles *g, int32_t question)
{
    const s2_trial_question *q = &t->question[question];
    const int32_t n = s2_plot_paragraph(NULL, 0.0, 0.0, g->width - 2 * EDGE, QUESTION_LINES,
                                        S2_LETTERS_BOLD, q->text);
    return S2_PLOT_LINE * (n + (q->expected[0] ? 1 : 0)) + 10.0;
}

static s2p_status put_picture(s2_plot *plot, double x, double y, const grid_of_tiles *g,
                              const s2p_image *picture, const char *label, s2p_error *error)
{
    const double factor = fmin(g->side / picture->width, g->tall / picture->height);
    const double wide = picture->width * factor, high = picture->height * factor;
    s2_image fitted;
    s2_buffer jpeg;
    s2_buffer_init(&jpeg, JPEG_BYTES);
    TRY(s2_image_resize(picture, (int32_t)fmax(1.0, rint(wide * SHARPNESS)),
                        (int32_t)fmax(1.0, rint(high * SHARPNESS)), &fitted, error));
    const s2p_status st = s2_jpeg_encode(&fitted.view, QUALITY, &jpeg, error);
    s2_image_free(&fitted);
    if (st == S2P_OK) {
        s2_buffer_printf(plot->out,
                         "<image x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
                         "aria-label=\"%s\" href=\"data:image/jpeg;base64,",
                         x + 0.5 * (g->side - wide), y + 0.5 * (g->tall - high), wide, high, label);
        s2_base64_append(plot->out, jpeg.data, jpeg.size);
        s2_buffer_printf(plot->out, "\"/>\n");
    }
    s2_buffer_free(&jpeg);
    return st;
}

static s2p_status put_tile(s2_plot *plot, const s2_trials *t, const s2p_image *picture,
                           int32_t setting, int32_t question, const grid_of_tiles *g, double x,
                           double y, s2p_error *error)
{
    const s2_trial *trial = s2_trial_at(t, setting, question);
    const s2p_layout layout = { .grid = t->picture[t->question[question].picture].grid };
    const s2_overlay overlay = {
        .picture = picture, .layout = &layout, .keep = trial->kept, .n_keep = trial->n_kept
    };
    char label[S2_LABEL_SIZE], title[S2_TITLE_SIZE], line[S2_TITLE_SIZE + 32];
    const bool is_whole = s2a_keeps_all(&t->setting[setting]);
    s2_image drawn = { .pixels = NULL };
    s2p_status st = S2P_OK;
    if (trial->kept && !is_whole) st = s2_overlay_draw(&overlay, &drawn, error);
    if (st == S2P_OK && (is_whole || trial->kept))
        st = put_picture(plot, x, y, g, is_whole ? picture : &drawn.view, is_whole ? "all" : "kept",
                         error);
    else if (st == S2P_OK)
        s2_buffer_printf(plot->out,
                         "<rect class=\"band\" x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" "
                         "height=\"%.1f\"/>\n",
                         x, y, g->side, g->tall);
    s2_image_free(&drawn);
    TRY(st);
    (void)s2_title_of(s2_setting_label(&t->setting[setting], false, label), title);
    if (trial->n_kept > 0)
        (void)snprintf(line, sizeof line, "%s, %d", title, (int)trial->n_kept);
    else
        (void)snprintf(line, sizeof line, "%s", title);
    const bool is_ours = s2_look_of(title, NULL).is_ours, is_right = trial->score >= 0.5f;
    y += g->tall + S2_PLOT_LINE - 1.5;
    y += S2_PLOT_LINE * s2_plot_paragraph(plot, x, y, g->side, 2,
                                          S2_LETTERS_SMALL | (is_ours ? S2_LETTERS_BOLD : 0), line);
    if (!trial->answer) return S2P_OK;
    s2_buffer words;
    s2_buffer_init(&words, (size_t)1 << 20);
    s2_buffer_printf(&words, "%s: %.2000s", is_right ? "correct" : "wrong", trial->answer);
    s2_buffer_append(&words, "", 1);
    if (words.status == S2P_OK)
        (void)s2_plot_paragraph(plot, x, y, g->side, ANSWER_LINES,
                                S2_LETTERS_SMALL | (is_right ? S2_LETTERS_GOOD : S2_LETTERS_BAD),
                                (const char *)words.data);
    st = words.status;
    s2_buffer_free(&words);
    return st;
}

static s2p_status put_block(s2_plot *plot, const s2_trials *t, const case_sheet *sheet,
                            const s2p_image *picture, int32_t question, const grid_of_tiles *g,
                            double y, s2p_error *error)
{
    const s2_trial_question *q = &t->question[question];
    const double from = y;
    y += S2_PLOT_LINE;
    y += S2_PLOT_LINE * s2_plot_paragraph(plot, EDGE, y, g->width - 2 * EDGE, QUESTION_LINES,
                                          S2_LETTERS_BOLD, q->text);
    if (q->expected[0]) {
        char line[1024];
        (void)snprintf(line, sizeof line, "expected: %.1000s", q->expected);
        (void)s2_plot_paragraph(plot, EDGE, y, g->width - 2 * EDGE, 1, S2_LETTERS_PLAIN, line);
    }
    y = from + head_height(t, g, question);
    for (int32_t i = 0; i < sheet->n_settings; i++)
        TRY(put_tile(plot, t, picture, sheet->setting[i], question, g,
                     EDGE + (i % g->columns) * (g->side + GAP), y + (i / g->columns) * g->tile,
                     error));
    return S2P_OK;
}

static s2p_status draw_sheet(const s2_trials *t, const case_sheet *sheet, const char *name,
                             const char *caption, s2_study *study, s2p_error *error)
{
    grid_of_tiles g = { .width = 0.0 };
    s2_plot plot = { .out = NULL };
    double y = 4.0;
    s2p_status st = S2P_OK;
    for (int32_t i = 0; i < sheet->n_questions && st == S2P_OK; i++) {
        s2_image picture;
        st = s2_trials_load(t, t->question[sheet->question[i]].picture, &picture, error);
        if (st != S2P_OK) break;
        if (i == 0) {
            double height = y + 4.0;
            g = lay_out(study, sheet->n_settings, &picture.view);
            for (int32_t k = 0; k < sheet->n_questions; k++)
                height += head_height(t, &g, sheet->question[k]) + g.rows * g.tile + 6.0;
            s2_plot_begin(&plot, s2_study_figure(study, name, caption), g.width, height,
                          sheet->title, caption);
        }
        st = put_block(&plot, t, sheet, &picture.view, sheet->question[i], &g, y, error);
        y += head_height(t, &g, sheet->question[i]) + g.rows * g.tile + 6.0;
        s2_image_free(&picture);
    }
    if (plot.out) s2_plot_end(&plot);
    return st;
}

/* --- which questions ----------------------------------------------------------------------------- */

/* Won: the reference alone is right. Lost: it alone is wrong. */
static bool is_case(const s2_trials *t, const columns *c, int32_t reference, bool is_won,
                    int32_t question)
{
    int32_t n_others = 0;
    if (!s2_trials_question_done(t, question)) return false;
    for (int32_t k = 0; k < c->n; k++) {
        const bool is_right = s2_trial_at(t, c->setting[k], question)->score >= 0.5f;
        if (s2a_keeps_all(&t->setting[c->setting[k]])) continue;
        if (is_right != ((c->setting[k] == reference) == is_won)) return false;
        n_others += c->setting[k] != reference;
    }
    return n_others > 0;
}

static s2p_status add_cases(const s2_trials *t, int32_t reference, bool is_won, int32_t most,
                            s2_study *study, s2p_error *error)
{
    const columns c = columns_of(t, t->setting[reference].budget);
    int32_t *question = calloc((size_t)most, sizeof *question), n = 0, n_all = 0, last = -1;
    char name[64], caption[2 * S2_LABEL_SIZE], label[S2_LABEL_SIZE], title[S2_TITLE_SIZE];
    char budget[S2A_BUDGET_TEXT];
    if (!question) return s2_fail_memory(error, sizeof *question, "the cases");
    for (int32_t q = 0; q < t->n_questions; q++) {
        if (!is_case(t, &c, reference, is_won, q)) continue;
        n_all++;
        if (n == most || t->question[q].picture == last) continue;
        last = t->question[q].picture;
        question[n++] = q;
    }
    (void)s2_title_of(s2_setting_label(&t->setting[reference], false, label), title);
    (void)s2a_budget_text(t->setting[reference].budget, budget);
    (void)snprintf(name, sizeof name, "cases_%.40s%s", budget, is_won ? "" : "_lost");
    (void)snprintf(
        caption, sizeof caption,
        "%s at %s tokens is %s and all others of its budget are %s on %d of %d questions; "
        "%s%d pictures among them.",
        title, budget, is_won ? "right" : "wrong", is_won ? "wrong" : "right", n_all,
        t->n_questions, n < n_all ? "the first " : "", n);
    s2p_status st = S2P_OK;
    if (n == 0)
        s2_study_note(study, caption);
    else
        st = draw_sheet(t, &(case_sheet){ question, n, c.setting, c.n, title }, name, caption,
                        study, error);
    free(question);
    return st;
}

/* Against each other setting of the budget: who is right where. */
static void add_counts(const s2_trials *t, int32_t reference, s2_table *table)
{
    const columns c = columns_of(t, t->setting[reference].budget);
    char label[S2_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
    for (int32_t k = 0; k < c.n; k++) {
        int32_t n[2][2] = { { 0, 0 }, { 0, 0 } };
        if (c.setting[k] == reference || s2a_keeps_all(&t->setting[c.setting[k]])) continue;
        for (int32_t q = 0; q < t->n_questions; q++)
            if (s2_trials_question_done(t, q))
                n[s2_trial_at(t, reference, q)->score >= 0.5f]
                 [s2_trial_at(t, c.setting[k], q)->score >= 0.5f]++;
        s2_table_text(table, s2_setting_label(&t->setting[c.setting[k]], false, label));
        s2_table_text(table, s2a_budget_text(t->setting[reference].budget, budget));
        s2_table_number(table, n[1][0]);
        s2_table_number(table, n[0][1]);
        s2_table_number(table, n[1][1]);
        s2_table_number(table, n[0][0]);
    }
}

static void begin_counts(s2_table *table)
{
    s2_table_column(table, "method", "against", S2_TEXT_COLUMN);
    s2_table_column(table, "budget", "budget", S2_TEXT_COLUMN);
    s2_table_column(table, "won", "only ours right", 0);
    s2_table_column(table, "lost", "only theirs right", 0);
    s2_table_column(table, "both", "both right", 0);
    s2_table_column(table, "neither", "neither", 0);
}

s2p_status s2_analyze_cases(const s2_trials *t, const char *reference, int32_t most,
                            s2_study *study, s2p_error *error)
{
    const int32_t n = most > 0 ? most : USUAL_CASES;
    s2_table counts;
    bool is_found = false;
    s2_table_init(&counts, "cases_table");
    begin_counts(&counts);
    s2p_status st = S2P_OK;
    for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++) {
        if (!is_first_of_budget(t, s)) continue;
        const int32_t r = s2_trials_find(t, reference, t->setting[s].budget);
        if (r < 0) continue;
        is_found = true;
        st = add_cases(t, r, true, n, study, error);
        if (st == S2P_OK) st = add_cases(t, r, false, n, study, error);
        add_counts(t, r, &counts);
    }
    if (st != S2P_OK || !is_found) {
        s2_table_free(&counts);
        return st != S2P_OK
                   ? st
                   : s2_fail(error, S2P_EINVAL, "cases need the method '%.60s'", reference);
    }
    s2_table *place =
        s2_study_table(study, "cases_table",
                       "Questions won and lost: those only the reference answers right, those only "
                       "the other method does, both, and neither.");
    counts.caption = place->caption;
    *place = counts;
    return S2P_OK;
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
        (void)snprintf(caption, sizeof caption,
                       "What each method keeps of one picture (%.200s), %s tokens (the paper's "
                       "Figure 2a).",
                       s2_base_name(t->picture[t->question[question].picture].file), budget);
        TRY(draw_sheet(t, &(case_sheet){ &question, 1, c.setting, c.n, "Kept tokens" }, name,
                       caption, study, error));
    }
    return S2P_OK;
}
