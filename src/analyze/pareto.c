/* pareto.c - what a setting is worth against what it costs.
 *
 * Worth: the share of right answers, or of answers that are those of all tokens (agreement, which needs no
 * labels: letters in any case, spaces around them do not count). Cost: milliseconds to the first token, as if
 * nothing were remembered, or FLOPs of tower and decoder. Intervals draw pictures with their questions.
 */
#include "analyze/analyses.h"
#include "base/error.h"
#include "base/statistics.h"
#include "eval/figure/plot.h"
#include "eval/judging.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    ACCURACY = S2_WORTH_ACCURACY,
    AGREEMENT = S2_WORTH_AGREEMENT,
    FIRST_MS = S2_COST_FIRST_MS,
    TFLOPS = S2_COST_TFLOPS,
    N_NUMBERS
};

#define ROUNDS 2000
#define SEED 1
#define CONFIDENCE 0.95

typedef s2_rate mean;

typedef struct entry { /* of a setting */
    mean number[N_NUMBERS];
    double n_used;
    bool is_front[2][2]; /* of accuracy and agreement, against time and FLOPs */
} entry;

void s2_pareto_front(const double *cost, const double *value, int32_t n, bool *is_front)
{
    for (int32_t i = 0; i < n; i++) {
        is_front[i] = isfinite(cost[i]) && isfinite(value[i]);
        for (int32_t k = 0; k < n && is_front[i]; k++)
            if (cost[k] <= cost[i] && value[k] >= value[i] &&
                (cost[k] < cost[i] || value[k] > value[i]))
                is_front[i] = false;
    }
}

/* --- numbers --------------------------------------------------------------------------- */

/* NaN: not known of this question. */
static double number_of(const s2_trials *t, int32_t setting, int32_t full, int32_t question,
                        int which)
{
    const s2_trial *trial = s2_trial_at(t, setting, question);
    if (which == ACCURACY) return 100.0 * (double)trial->score;
    if (which == FIRST_MS) return trial->first_ms > 0.0 ? trial->first_ms : (double)NAN;
    if (which == TFLOPS) return trial->flops > 0.0 ? 1e-12 * trial->flops : (double)NAN;
    const char *other = full >= 0 ? s2_trial_at(t, full, question)->answer : NULL;
    if (!other || !trial->answer) return (double)NAN;
    return s2e_is_same_answer(trial->answer, other) ? 100.0 : 0.0;
}

s2p_status s2_pareto_mean(const s2_trials *t, int32_t setting, int32_t full, int which,
                          s2_rate *out)
{
    const size_t room = (size_t)t->n_pictures + 1;
    double *sum = calloc(2 * room, sizeof *sum), *weight = sum ? sum + room : NULL;
    size_t n = 0;
    double all = 0.0, n_all = 0.0;
    s2_interval interval = { (double)NAN, (double)NAN };
    *out = (s2_rate){ .value = (double)NAN, .low = (double)NAN, .high = (double)NAN };
    if (!sum) return S2P_ENOMEM;
    for (int32_t q = 0; q < t->n_questions; q++) {
        const double value = number_of(t, setting, full, q, which);
        if (!isfinite(value) || !s2_trials_question_done(t, q)) continue;
        sum[t->question[q].picture] += value;
        weight[t->question[q].picture] += 1.0;
        out->n++;
    }
    for (int32_t i = 0; i < t->n_pictures; i++) { /* without a question: not in the sample */
        if (!(weight[i] > 0.0)) continue;
        all += sum[n] = sum[i];
        n_all += weight[n] = weight[i];
        n++;
    }
    const s2p_status st =
        n ? s2_bootstrap(sum, weight, n, ROUNDS, SEED, CONFIDENCE, &interval) : S2P_OK;
    if (st == S2P_OK && n > 0) {
        out->value = all / n_all;
        out->low = interval.low;
        out->high = interval.high;
    }
    free(sum);
    return st;
}

double s2_pareto_tokens(const s2_trials *t, int32_t setting)
{
    double sum = 0.0, n = 0.0;
    for (int32_t q = 0; q < t->n_questions; q++) {
        const s2_trial *trial = s2_trial_at(t, setting, q);
        if (trial->n_used < 1) continue;
        sum += trial->n_used;
        n += 1.0;
    }
    return n > 0.0 ? sum / n : (double)NAN;
}

static s2p_status fill(const s2_trials *t, int32_t full, entry *e, s2p_error *error)
{
    const size_t n = t->n_settings > 0 ? (size_t)t->n_settings : 1, room = 2 * n;
    double *scratch = malloc(room * sizeof *scratch);
    bool *front = calloc(n, sizeof *front);
    s2p_status st = scratch && front ? S2P_OK : S2P_ENOMEM;
    for (int32_t s = 0; st == S2P_OK && s < t->n_settings; s++) {
        e[s].n_used = s2_pareto_tokens(t, s);
        for (int k = 0; st == S2P_OK && k < N_NUMBERS; k++)
            st = s2_pareto_mean(t, s, full, k, &e[s].number[k]);
    }
    for (int worth = 0; st == S2P_OK && worth < 2; worth++)
        for (int cost = 0; cost < 2; cost++) {
            for (size_t s = 0; s < n; s++) {
                scratch[s] = e[s].number[FIRST_MS + cost].value;
                scratch[n + s] = e[s].number[worth].value;
            }
            s2_pareto_front(scratch, scratch + n, t->n_settings, front);
            for (size_t s = 0; s < n; s++) e[s].is_front[worth][cost] = front[s];
        }
    free(scratch);
    free(front);
    return st == S2P_OK ? st : s2_fail_memory(error, room * sizeof *scratch, "the front");
}

/* --- the figure --------------------------------------------------------------------------- */

#define TALL 190.0
#define LEFT 44.0
#define TOP 22.0

typedef struct drawing {
    const s2_trials *t;
    const entry *e;
    int worth, cost;
    int32_t *order; /* [n_settings] settings of a line, or of the front, by their cost */
    double *x, *y, *low, *high; /* [n_settings] likewise */
} drawing;

static void take(drawing *d, int32_t n, s2_series *out)
{
    for (int32_t i = 1; i < n; i++) /* by cost */
        for (int32_t k = i; k > 0; k--) {
            const double a = d->e[d->order[k - 1]].number[FIRST_MS + d->cost].value,
                         b = d->e[d->order[k]].number[FIRST_MS + d->cost].value;
            if (a <= b) break;
            const int32_t swap = d->order[k];
            d->order[k] = d->order[k - 1];
            d->order[k - 1] = swap;
        }
    for (int32_t i = 0; i < n; i++) {
        const entry *e = &d->e[d->order[i]];
        d->x[i] = e->number[FIRST_MS + d->cost].value;
        d->y[i] = e->number[d->worth].value;
        d->low[i] = e->number[d->worth].low;
        d->high[i] = e->number[d->worth].high;
    }
    *out = (s2_series){ .n = n, .x = d->x, .y = d->y, .low = d->low, .high = d->high };
}

static bool is_drawn(const drawing *d, int32_t s)
{
    return isfinite(d->e[s].number[FIRST_MS + d->cost].value) &&
           isfinite(d->e[s].number[d->worth].value);
}

/* Settings that differ in nothing but the budget are a line: -1 of those that an earlier one began. */
static int32_t line_of(const s2_trials *t, int32_t s)
{
    char own[S2_LABEL_SIZE], other[S2_LABEL_SIZE];
    (void)s2_setting_label(&t->setting[s], false, own);
    for (int32_t k = 0; k < s; k++)
        if (strcmp(s2_setting_label(&t->setting[k], false, other), own) == 0) return k;
    return s;
}

static s2_panel panel_of(const drawing *d, double x, double width)
{
    static const char *const costs[] = { "ms to the first token", "TFLOPs, tower and prefill" };
    static const char *const worths[] = { "right answers (%)", "same answer as all tokens (%)" };
    s2_panel panel = { .x = x, .y = TOP, .width = width, .height = TALL };
    double least = INFINITY, most = 0.0, *y = d->y; /* with low and high behind */
    int32_t n = 0;
    for (int32_t s = 0; s < d->t->n_settings; s++) {
        if (!is_drawn(d, s)) continue;
        const double cost = d->e[s].number[FIRST_MS + d->cost].value;
        least = fmin(least, cost);
        most = fmax(most, cost);
        const mean *m = &d->e[s].number[d->worth];
        y[n++] = m->value;
        y[n++] = isfinite(m->low) ? m->low : m->value;
        y[n++] = isfinite(m->high) ? m->high : m->value;
    }
    panel.across = (s2_axis){ .label = costs[d->cost], .is_log = true };
    panel.across.low = least / 1.2;
    panel.across.high = most * 1.2;
    panel.up.label = worths[d->worth];
    s2_plot_range(y, n, &panel.up.low, &panel.up.high);
    if (panel.up.high > 100.0) panel.up.high = 100.0;
    return panel;
}

static void draw_panel(s2_plot *plot, drawing *d, double x, double width)
{
    const s2_panel panel = panel_of(d, x, width);
    s2_series series;
    s2_plot_panel(plot, &panel);
    for (int32_t s = 0; s < d->t->n_settings; s++) {
        char label[S2_LABEL_SIZE];
        int32_t n = 0;
        if (line_of(d->t, s) != s) continue;
        for (int32_t k = s; k < d->t->n_settings; k++)
            if (line_of(d->t, k) == s && is_drawn(d, k)) d->order[n++] = k;
        const s2_look look = s2_look_of(s2_setting_label(&d->t->setting[s], false, label), NULL);
        take(d, n, &series);
        series.name = label;
        if (n > 0) s2_plot_line(plot, &panel, &series, &look);
    }
    for (int32_t s = 0; s < d->t->n_settings; s++) {
        if (!d->e[s].is_front[d->worth][d->cost]) continue;
        const s2_look ring = { .colour = 1, .mark = S2_MARK_RING };
        const double at = s2_plot_x(&panel, d->e[s].number[FIRST_MS + d->cost].value),
                     up = s2_plot_y(&panel, d->e[s].number[d->worth].value);
        s2_buffer_printf(plot->out,
                         "<circle class=\"front s%d\" cx=\"%.1f\" cy=\"%.1f\" r=\"6.5\" "
                         "fill=\"none\"/>\n",
                         ring.colour, at, up);
    }
}

static bool has_cost(const s2_trials *t, const entry *e, int cost)
{
    for (int32_t s = 0; s < t->n_settings; s++)
        if (isfinite(e[s].number[FIRST_MS + cost].value)) return true;
    return false;
}

static s2p_status draw(drawing *d, const char *name, const char *title, const char *caption,
                       s2_study *study)
{
    const s2_trials *t = d->t;
    const double width = s2_study_width(study);
    const int n_panels = has_cost(t, d->e, 0) + has_cost(t, d->e, 1);
    const size_t n = t->n_settings > 0 ? (size_t)t->n_settings : 1;
    const char **label = calloc(n, sizeof *label);
    char(*text)[S2_LABEL_SIZE] = calloc(n, sizeof *text);
    s2_look *look = calloc(n, sizeof *look);
    s2_legend legend = { .name = label, .look = look };
    if (label && text && look) {
        for (int32_t s = 0; s < t->n_settings; s++) {
            if (line_of(t, s) != s) continue;
            char plain[S2_LABEL_SIZE], shown[S2_TITLE_SIZE];
            (void)s2_setting_label(&t->setting[s], false, plain);
            (void)snprintf(text[legend.n], sizeof *text, "%s", s2_title_of(plain, shown));
            label[legend.n] = text[legend.n];
            look[legend.n++] = s2_look_of(plain, NULL);
        }
        s2_plot plot;
        s2_buffer *out = s2_study_figure(study, name, caption);
        const double step = width / n_panels, bottom = TOP + TALL + 44.0;
        const double height = s2_plot_legend(NULL, 0.0, 0.0, width - 16.0, &legend);
        s2_plot_begin(&plot, out, width, bottom + height, title, caption);
        for (int cost = 0, p = 0; cost < 2; cost++) {
            d->cost = cost;
            if (!has_cost(t, d->e, cost)) continue;
            draw_panel(&plot, d, LEFT + p * step, step - LEFT - 12.0);
            p++;
        }
        (void)s2_plot_legend(&plot, 8.0, bottom, width - 16.0, &legend);
        s2_plot_end(&plot);
    }
    const s2p_status st = label && text && look ? S2P_OK : S2P_ENOMEM;
    free(label);
    free(text);
    free(look);
    return st;
}

/* --- the table ------------------------------------------------------------------------------ */

static void put_mean(s2_table *table, const mean *m, int decimals)
{
    if (isfinite(m->value))
        s2_table_shown(table, m->value, "%.*f [%.*f, %.*f]", decimals, m->value, decimals, m->low,
                       decimals, m->high);
    else
        s2_table_number(table, (double)NAN);
    s2_table_number(table, m->low);
    s2_table_number(table, m->high);
}

static void write_table(const s2_trials *t, const entry *e, bool has_full, s2_table *table)
{
    static const struct {
        const char *key, *heading;
        int decimals;
    } column[N_NUMBERS] = { { "accuracy", "right (%)", 1 },
                            { "agreement", "as all tokens (%)", 1 },
                            { "first_token_ms", "first token ms", 1 },
                            { "tflops", "TFLOPs", 4 } };
    static const char *const fronts[2][2] = { { "right, ms", "right, FLOPs" },
                                              { "agreement, ms", "agreement, FLOPs" } };
    s2_table_column(table, "method", "method", S2_TEXT_COLUMN);
    s2_table_column(table, "budget", "budget", S2_TEXT_COLUMN);
    s2_table_column(table, "tokens_used", "tokens", 1);
    for (int k = 0; k < N_NUMBERS; k++) {
        char key[48];
        if (k == AGREEMENT && !has_full) continue;
        s2_table_column(table, column[k].key, column[k].heading, column[k].decimals);
        (void)snprintf(key, sizeof key, "%s_low", column[k].key);
        s2_table_detail(table, key, column[k].decimals);
        (void)snprintf(key, sizeof key, "%s_high", column[k].key);
        s2_table_detail(table, key, column[k].decimals);
    }
    s2_table_column(table, "front", "on the front of", S2_TEXT_COLUMN);
    for (int32_t s = 0; s < t->n_settings; s++) {
        char label[S2_LABEL_SIZE], budget[S2A_BUDGET_TEXT], on[96] = "";
        s2_table_text(table, s2_setting_label(&t->setting[s], false, label));
        s2_table_text(table, s2a_keeps_all(&t->setting[s])
                                 ? "all"
                                 : s2a_budget_text(t->setting[s].budget, budget));
        s2_table_number(table, e[s].n_used);
        for (int k = 0; k < N_NUMBERS; k++)
            if (k != AGREEMENT || has_full) put_mean(table, &e[s].number[k], column[k].decimals);
        for (int worth = 0; worth < 1 + has_full; worth++)
            for (int cost = 0; cost < 2; cost++) {
                const size_t used = strlen(on);
                if (e[s].is_front[worth][cost])
                    (void)snprintf(on + used, sizeof on - used, "%s%s", used ? "; " : "",
                                   fronts[worth][cost]);
            }
        s2_table_text(table, on[0] ? on : "-");
    }
}

s2p_status s2_analyze_pareto(const s2_trials *t, s2_study *study, s2p_error *error)
{
    const size_t n = t->n_settings > 0 ? (size_t)t->n_settings : 1;
    const int32_t full = s2_trials_find(t, "full", (s2a_budget){ .tokens = 0 });
    entry *e = calloc(n, sizeof *e);
    double *room = malloc(4 * n * sizeof *room);
    int32_t *order = malloc(n * sizeof *order);
    drawing d = { .t = t, .e = e, .order = order, .x = room };
    s2p_status st = e && room && order ? S2P_OK : s2_fail_memory(error, n * sizeof *e, "the front");
    if (st == S2P_OK) {
        d.y = room + n;
        d.low = room + 2 * n;
        d.high = room + 3 * n;
        st = fill(t, full, e, error);
    }
    if (st == S2P_OK && !has_cost(t, e, 0) && !has_cost(t, e, 1))
        st = s2_fail(error, S2P_EINVAL,
                     "these answers do not say what they cost; ask a model, or take a run of this "
                     "version of 's2prune eval'");
    static const char *const what[2] = { "right answers", "answers that are those of all tokens" };
    for (int worth = 0; st == S2P_OK && worth < (full >= 0 ? 2 : 1); worth++) {
        char caption[512];
        (void)snprintf(caption, sizeof caption,
                       "Share of %s against the cost of a prompt about a new picture, with 95 %% "
                       "intervals over pictures; a line joins the budgets of a method. Rings: no "
                       "setting is better for the same cost or less.",
                       what[worth]);
        d.worth = worth;
        st = draw(&d, worth ? "pareto_agreement" : "pareto_accuracy",
                  worth ? "Agreement against cost" : "Accuracy against cost", caption, study);
    }
    if (st == S2P_OK && !has_cost(t, e, 0))
        s2_study_note(study,
                      "The times of a run are of questions whose pictures were remembered, so "
                      "only FLOPs are shown; without --run a model is asked and timed.");
    if (st == S2P_OK)
        write_table(t, e, full >= 0,
                    s2_study_table(study, "pareto",
                                   "What each setting is worth and what it costs: right answers, "
                                   "answers that are those of all tokens, time to the first token "
                                   "and FLOPs of a prompt about a new picture, with 95 % intervals "
                                   "over pictures, and the mean of visual tokens used."));
    free(e);
    free(room);
    free(order);
    return st;
}
