/* layer.c - what a method is worth and what it costs, by the decoder layer after which it prunes.
 *
 * A later layer has seen more of the picture and costs more rows. Which layer is worth its cost is a question
 * for each model and each kind of picture; hybrid models, whose states keep traces of tokens that left, are
 * the reason to ask it.
 */
#include "analyze/analyses.h"
#include "analyze/figure_data.h"
#include "base/error.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *title, *key, *heading;
    int decimals;
} number[S2_PARETO_NUMBERS] = {
    [S2_WORTH_ACCURACY] = { "right answers (%)", "accuracy", "right (%)", 1 },
    [S2_WORTH_AGREEMENT] = { "same answer as all tokens (%)", "agreement", "as all tokens (%)", 1 },
    [S2_COST_FIRST_MS] = { "ms to the first token", "first_token_ms", "first token ms", 1 },
    [S2_COST_TFLOPS] = { "TFLOPs, tower and prefill", "tflops", "TFLOPs", 4 },
};

typedef struct layers {
    const s2_trials *t;
    int32_t full;    /* setting; -1: none */
    s2_rate *rate;   /* [n_settings][S2_PARETO_NUMBERS] */
    bool has_budget; /* in the names of lines: there are several */
    bool is_known[S2_PARETO_NUMBERS];
} layers;

static bool has_layer(const s2a_setting *s)
{
    return s->has_after && !s2a_keeps_all(s) && !s2p_method_about(s2a_setting_method(s))->resizes;
}

static const s2_rate *rate_of(const layers *l, int32_t setting, int which)
{
    return &l->rate[setting * S2_PARETO_NUMBERS + which];
}

static s2p_status measure(layers *l, s2p_error *error)
{
    const s2_trials *t = l->t;
    int32_t first = -1;
    for (int32_t s = 0; s < t->n_settings; s++) {
        for (int k = 0; k < S2_PARETO_NUMBERS; k++) {
            s2_rate *rate = &l->rate[s * S2_PARETO_NUMBERS + k];
            if (s2_pareto_mean(t, s, l->full, k, rate) != S2P_OK)
                return s2_fail_memory(error, sizeof *rate, "the layers");
            if (has_layer(&t->setting[s]) && isfinite(rate->value)) l->is_known[k] = true;
        }
        if (!has_layer(&t->setting[s])) continue;
        if (first < 0) first = s;
        if (!s2a_budget_is_same(t->setting[first].budget, t->setting[s].budget))
            l->has_budget = true;
    }
    if (first >= 0) return S2P_OK;
    return s2_fail(
        error, S2P_EINVAL,
        "no setting names the layer after which it prunes; name layers as 's2prune:after=3' with "
        "--setting, here or in the run of 's2prune eval'");
}

/* The setting without its layer: the name of its line. */
static const char *line_name(const layers *l, int32_t setting, char out[S2_LABEL_SIZE])
{
    s2a_setting named = l->t->setting[setting];
    named.has_after = false;
    return s2_setting_label(&named, l->has_budget, out);
}

static s2p_status fill(const layers *l, s2_figure_data *d, s2p_error *error)
{
    const s2_trials *t = l->t;
    char label[S2_LABEL_SIZE];
    int32_t point, line;
    for (int32_t s = 0; s < t->n_settings; s++) /* first, so that they are in order */
        if (has_layer(&t->setting[s])) TRY(s2_figure_point(d, t->setting[s].after, &point, error));
    for (int32_t s = 0; s < t->n_settings; s++) {
        if (!has_layer(&t->setting[s])) continue;
        TRY(s2_figure_point(d, t->setting[s].after, &point, error));
        TRY(s2_figure_line(d, line_name(l, s, label), &line, error));
        for (int k = 0, p = 0; k < S2_PARETO_NUMBERS; k++)
            if (l->is_known[k]) s2_figure_put(d, p++, line, point, rate_of(l, s, k));
    }
    for (int k = 0; k < S2_PARETO_NUMBERS; k++) {
        if (!l->is_known[k]) continue;
        (void)snprintf(d->title[d->n_panels], sizeof d->title[0], "%s", number[k].title);
        d->panel[d->n_panels] = d->title[d->n_panels];
        d->level[d->n_panels++] = l->full >= 0 ? rate_of(l, l->full, k)->value : (double)NAN;
    }
    return S2P_OK;
}

static s2p_status draw(const layers *l, s2_study *study, s2p_error *error)
{
    s2_figure_data *d = s2_figure_data_create(l->t, error);
    s2_chart chart;
    if (!d) return S2P_ENOMEM;
    d->n_panels = 0; /* its panels are kinds of questions; these are kinds of numbers */
    d->is_percent = false;
    s2p_status st = fill(l, d, error);
    if (st == S2P_OK) st = s2_figure_chart(d, "layer_curves", &chart, error);
    if (st == S2P_OK) {
        chart.name = "layer_curves";
        chart.title = "Accuracy and cost against the layer";
        chart.caption =
            "Right answers, answers that are those of all tokens, time to the first token and "
            "FLOPs of a prompt about a new picture, as far as they are known, against the "
            "decoder layer (counted from 0; -1: before the decoder) after which tokens "
            "leave, with 95 % intervals over pictures. Dashed: every token.";
        chart.across = "pruned after decoder layer";
        chart.up = "";
        chart.level_word = "all tokens";
        chart.has_own_scales = true;
        s2_chart_lines(study, &chart);
    }
    free(d);
    return st;
}

static void write_table(const layers *l, s2_table *table)
{
    const s2_trials *t = l->t;
    s2_table_column(table, "method", "method", S2_TEXT_COLUMN);
    s2_table_column(table, "budget", "budget", S2_TEXT_COLUMN);
    s2_table_column(table, "layer", "after layer", 0);
    s2_table_column(table, "tokens_used", "tokens", 1);
    for (int k = 0; k < S2_PARETO_NUMBERS; k++) {
        char key[48];
        if (!l->is_known[k]) continue;
        s2_table_column(table, number[k].key, number[k].heading, number[k].decimals);
        (void)snprintf(key, sizeof key, "%s_low", number[k].key);
        s2_table_detail(table, key, number[k].decimals);
        (void)snprintf(key, sizeof key, "%s_high", number[k].key);
        s2_table_detail(table, key, number[k].decimals);
    }
    for (int32_t s = 0; s < t->n_settings; s++) {
        char label[S2_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
        const s2a_setting *setting = &t->setting[s];
        if (!has_layer(setting) && s != l->full) continue;
        s2a_setting named = *setting;
        named.has_after = false;
        s2_table_text(table, s2_setting_label(&named, false, label));
        s2_table_text(table, s == l->full ? "all" : s2a_budget_text(setting->budget, budget));
        s2_table_number(table, s == l->full ? (double)NAN : setting->after);
        s2_table_number(table, s2_pareto_tokens(t, s));
        for (int k = 0; k < S2_PARETO_NUMBERS; k++) {
            const s2_rate *r = rate_of(l, s, k);
            if (!l->is_known[k]) continue;
            if (isfinite(r->value))
                s2_table_shown(table, r->value, "%.*f [%.*f, %.*f]", number[k].decimals, r->value,
                               number[k].decimals, r->low, number[k].decimals, r->high);
            else
                s2_table_number(table, (double)NAN);
            s2_table_number(table, r->low);
            s2_table_number(table, r->high);
        }
    }
}

s2p_status s2_analyze_layer(const s2_trials *t, s2_study *study, s2p_error *error)
{
    const size_t n = (size_t)t->n_settings + 1;
    layers l = { .t = t, .full = s2_trials_find(t, "full", (s2a_budget){ .tokens = 0 }) };
    l.rate = calloc(n * S2_PARETO_NUMBERS, sizeof *l.rate);
    s2p_status st =
        l.rate ? measure(&l, error) : s2_fail_memory(error, n * sizeof *l.rate, "the layers");
    if (st == S2P_OK) st = draw(&l, study, error);
    if (st == S2P_OK)
        write_table(&l, s2_study_table(study, "layer",
                                       "What pruning after each decoder layer is worth and what it "
                                       "costs, with 95 % intervals over pictures."));
    free(l.rate);
    return st;
}
