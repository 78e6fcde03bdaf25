/* overlap.c - intersection over union of the kept tokens, mean over pictures and questions. */
#include "analyze/analyses.h"

#include "eval/figure/plot.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>

#define MAX_METHODS 24

double s2_overlap_of(const s2_trial *a, const s2_trial *b)
{
    int32_t n = 0;
    for (int32_t i = 0, k = 0; i < a->n_kept && k < b->n_kept;) {
        n += a->kept[i] == b->kept[k];
        if (a->kept[i] <= b->kept[k])
            i++;
        else
            k++;
    }
    /* both lists ascend: what was equal has moved i alone, and k follows with the next step */
    return (double)n / fmax(1.0, a->n_kept + b->n_kept - n);
}

static double mean_overlap(const s2_trials *t, int32_t a, int32_t b)
{
    double sum = 0.0;
    int32_t n = 0;
    for (int32_t q = 0; q < t->n_questions; q++) {
        const s2_trial *x = s2_trial_at(t, a, q), *y = s2_trial_at(t, b, q);
        if (!x->kept || !y->kept) continue;
        sum += s2_overlap_of(x, y);
        n++;
    }
    return n ? sum / n : (double)NAN;
}

/* By chance two selections of B out of n share B/n of their tokens. */
static double chance_overlap(double budget, double n)
{
    const double common = budget * budget / n;
    return common / (2.0 * budget - common);
}

static void draw(const s2_trials *t, s2a_budget budget, s2_table *table, s2_study *study)
{
    char label[MAX_METHODS][S2_LABEL_SIZE], text[S2A_BUDGET_TEXT], name[64], caption[320];
    const char *names[MAX_METHODS];
    int32_t setting[MAX_METHODS], n = 0;
    double value[MAX_METHODS * MAX_METHODS];
    for (int32_t s = 0; s < t->n_settings && n < MAX_METHODS; s++) {
        if (s2a_keeps_all(&t->setting[s]) || !s2a_budget_is_same(t->setting[s].budget, budget))
            continue;
        names[n] = s2_setting_label(&t->setting[s], false, label[n]);
        setting[n++] = s;
    }
    (void)s2a_budget_text(budget, text);
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < n; k++) {
            value[i * n + k] = mean_overlap(t, setting[i], setting[k]);
            if (k <= i) continue;
            s2_table_text(table, text);
            s2_table_text(table, names[i]);
            s2_table_text(table, names[k]);
            s2_table_number(table, value[i * n + k]);
        }
    const double n_tokens = (double)t->grid.rows * t->grid.cols;
    (void)snprintf(name, sizeof name, "overlap_%.40s", text);
    (void)snprintf(caption, sizeof caption,
                   "Tokens two methods both keep over tokens either keeps, mean over pictures and "
                   "questions, %s kept. Two random selections would have %.2f.",
                   text, chance_overlap(s2a_budget_tokens(budget, (int32_t)n_tokens), n_tokens));
    const double width = s2_study_width(study);
    double widest = 0.0;
    char title[MAX_METHODS][S2_TITLE_SIZE];
    for (int32_t i = 0; i < n; i++) names[i] = s2_title_of(label[i], title[i]);
    for (int32_t i = 0; i < n; i++)
        widest = fmax(widest, 1.04 * s2_text_width(names[i], S2_PLOT_SMALL));
    const double x = fmin(widest + 10.0, 0.4 * width), y = 8.0;
    const double cell = fmin((width - x - 70.0) / n, 46.0), side = cell * n;
    const s2_axis across = { .n_names = n, .name = names };
    s2_plot plot;
    s2_plot_begin(&plot, s2_study_figure(study, name, caption), width,
                  y + side + s2_plot_names_height(&across, side) + 10.0, "Overlap of methods",
                  caption);
    /* Numbers only where two digits fit a cell. */
    const s2_heat heat = { n, n, value, 0.0, 1.0, cell >= 2.4 * S2_PLOT_SMALL };
    s2_plot_heat(&plot, x, y, side, side, &heat);
    s2_plot_panel(&plot, &(s2_panel){ .x = x,
                                      .y = y,
                                      .width = side,
                                      .height = side,
                                      .across = across,
                                      .up = { .n_names = n, .name = names } });
    s2_plot_colour_bar(&plot, x + side + 12.0, y, side, 0.0, 1.0, "overlap (IoU)");
    s2_plot_end(&plot);
}

s2p_status s2_analyze_overlap(const s2_trials *t, s2_study *study, s2p_error *error)
{
    TRY(s2_trials_need_grid(t, error));
    s2_table table;
    s2_table_init(&table, "overlap_table");
    s2_table_column(&table, "budget", "budget", S2_TEXT_COLUMN);
    s2_table_column(&table, "method_a", "method", S2_TEXT_COLUMN);
    s2_table_column(&table, "method_b", "and", S2_TEXT_COLUMN);
    s2_table_column(&table, "iou", "IoU", 3);
    for (int32_t s = 0; s < t->n_settings; s++) {
        bool is_first = !s2a_keeps_all(&t->setting[s]);
        for (int32_t k = 0; k < s; k++)
            is_first =
                is_first && (s2a_keeps_all(&t->setting[k]) ||
                             !s2a_budget_is_same(t->setting[k].budget, t->setting[s].budget));
        if (is_first) draw(t, t->setting[s].budget, &table, study);
    }
    s2_table *place = s2_study_table(study, "overlap_table", "Overlap of methods, pair by pair.");
    table.caption = place->caption;
    *place = table;
    return S2P_OK;
}
