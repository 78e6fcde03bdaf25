/* spatial.c - selection frequencies, edge and centre shares, banding, stability across budgets.
 *
 * Shares of a setting are means over trials; their intervals come from drawing pictures. Banding is
 * tested against pictures whose rows (or columns) are rotated by random amounts: that keeps how many
 * tokens a picture has in neighbouring rows and forgets where these rows are.
 */
#include "analyze/analyses.h"

#include "analyze/plot.h"
#include "base/random.h"
#include "base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 2000 /* of every bootstrap */
#define SHIFTS 999  /* of every test of banding */

bool s2_is_edge(s2p_grid grid, int32_t token)
{
    const int32_t r = token / grid.cols, c = token % grid.cols;
    return r < 2 || c < 2 || r >= grid.rows - 2 || c >= grid.cols - 2;
}

bool s2_is_centre(s2p_grid grid, int32_t token)
{
    const int32_t r = token / grid.cols, c = token % grid.cols;
    return r >= grid.rows / 4 && r < grid.rows - grid.rows / 4 && c >= grid.cols / 4 &&
           c < grid.cols - grid.cols / 4;
}

/* --- banding ---------------------------------------------------------------------------- */

static double variance_of(const double *x, int32_t n)
{
    const double mean = s2_mean(x, (size_t)n);
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++) sum += (x[i] - mean) * (x[i] - mean);
    return sum / n;
}

/* The wave with most of the variance. */
static void find_period(const double *mean, int32_t n, s2_banding *out)
{
    const double angle = 2.0 * 3.14159265358979323846 / n;
    double total = 0.0, best = 0.0;
    for (int32_t k = 1; k <= n / 2; k++) {
        double re = 0.0, im = 0.0;
        for (int32_t i = 0; i < n; i++) {
            re += mean[i] * cos(angle * k * i);
            im += mean[i] * sin(angle * k * i);
        }
        const double power = (re * re + im * im) * (2 * k == n ? 1.0 : 2.0);
        total += power;
        if (power > best) {
            best = power;
            out->period = (double)n / k;
        }
    }
    out->period_share = total > 0.0 ? best / total : 0.0;
}

s2p_status s2_banding_of(const s2_trial *const *kept, int32_t n, s2p_grid grid, bool is_rows,
                         s2_banding *out)
{
    const int32_t n_tokens = grid.rows * grid.cols, lines = is_rows ? grid.rows : grid.cols;
    const double length = is_rows ? grid.cols : grid.rows;
    double *map = calloc((size_t)n_tokens, sizeof *map);
    double *count = calloc((size_t)n * (size_t)lines + 1, sizeof *count); /* [n][lines] */
    double *mean = calloc(2 * (size_t)lines, sizeof *mean), *shifted = mean ? mean + lines : NULL;
    s2p_status st = map && count && mean ? S2P_OK : S2P_ENOMEM;
    *out = (s2_banding){ (double)NAN, (double)NAN, (double)NAN, (double)NAN };
    if (st != S2P_OK) goto done;
    for (int32_t i = 0; i < n; i++)
        for (int32_t k = 0; k < kept[i]->n_kept; k++) {
            const int32_t token = kept[i]->kept[k];
            const int32_t line = is_rows ? token / grid.cols : token % grid.cols;
            map[token] += 1.0 / n;
            count[i * lines + line] += 1.0 / (n * length);
        }
    for (int32_t i = 0; i < n * lines; i++) mean[i % lines] += count[i];
    const double whole = variance_of(map, n_tokens), seen = variance_of(mean, lines);
    out->share = whole > 0.0 ? seen / whole : 0.0;
    find_period(mean, lines, out);
    s2_random random = { 1 };
    int32_t n_above = 0;
    for (int32_t round = 0; round < SHIFTS; round++) {
        memset(shifted, 0, (size_t)lines * sizeof *shifted);
        for (int32_t i = 0; i < n; i++) {
            const int32_t by = (int32_t)s2_random_below(&random, (uint32_t)lines);
            for (int32_t l = 0; l < lines; l++) shifted[(l + by) % lines] += count[i * lines + l];
        }
        n_above += variance_of(shifted, lines) >= seen;
    }
    out->p = (1.0 + n_above) / (1.0 + SHIFTS);
done:
    free(map);
    free(count);
    free(mean);
    return st;
}

/* --- one setting ---------------------------------------------------------------------------- */

typedef struct layout { /* of the tokens one setting kept */
    double *map;        /* [tokens] how often */
    double edge, centre;
    s2_interval edge_range, centre_range;
    s2_banding rows, cols;
    int32_t n; /* trials; 0: nothing known */
} layout;

/* Mean share of kept tokens that `is_inside`, and its interval over pictures. */
static s2p_status share_of(const s2_trials *t, int32_t setting,
                           bool (*is_inside)(s2p_grid, int32_t), double *value, s2_interval *range)
{
    double *sum = calloc((size_t)t->n_pictures + 1, sizeof *sum);
    double *count = calloc((size_t)t->n_pictures + 1, sizeof *count);
    s2p_status st = sum && count ? S2P_OK : S2P_ENOMEM;
    double total = 0.0, n = 0.0;
    for (int32_t q = 0; st == S2P_OK && q < t->n_questions; q++) {
        const s2_trial *trial = s2_trial_at(t, setting, q);
        if (!trial->kept || trial->n_kept == 0) continue;
        int32_t n_inside = 0;
        for (int32_t k = 0; k < trial->n_kept; k++) n_inside += is_inside(t->grid, trial->kept[k]);
        sum[t->question[q].picture] += (double)n_inside / trial->n_kept;
        count[t->question[q].picture] += 1.0;
        total += (double)n_inside / trial->n_kept;
        n += 1.0;
    }
    *value = total / n;
    size_t n_used = 0;
    for (int32_t i = 0; st == S2P_OK && i < t->n_pictures; i++) {
        if (!(count[i] > 0.0)) continue;
        sum[n_used] = sum[i];
        count[n_used++] = count[i];
    }
    if (n_used) st = s2_bootstrap(sum, count, n_used, ROUNDS, 1, 0.95, range);
    free(sum);
    free(count);
    return st;
}

static s2p_status measure(const s2_trials *t, int32_t setting, layout *out)
{
    const int32_t n_tokens = t->grid.rows * t->grid.cols;
    const s2_trial **kept = calloc((size_t)t->n_questions + 1, sizeof(s2_trial *));
    out->map = calloc((size_t)n_tokens + 1, sizeof *out->map);
    s2p_status st = kept && out->map ? S2P_OK : S2P_ENOMEM;
    for (int32_t q = 0; st == S2P_OK && q < t->n_questions; q++)
        if (s2_trial_at(t, setting, q)->kept) kept[out->n++] = s2_trial_at(t, setting, q);
    for (int32_t i = 0; i < out->n; i++)
        for (int32_t k = 0; k < kept[i]->n_kept; k++) out->map[kept[i]->kept[k]] += 1.0 / out->n;
    if (st == S2P_OK && out->n > 0) {
        st = share_of(t, setting, s2_is_edge, &out->edge, &out->edge_range);
        if (st == S2P_OK) st = share_of(t, setting, s2_is_centre, &out->centre, &out->centre_range);
        if (st == S2P_OK) st = s2_banding_of(kept, out->n, t->grid, true, &out->rows);
        if (st == S2P_OK) st = s2_banding_of(kept, out->n, t->grid, false, &out->cols);
    }
    free(kept);
    return st;
}

static double area_share(s2p_grid grid, bool (*is_inside)(s2p_grid, int32_t))
{
    int32_t n = 0;
    for (int32_t i = 0; i < grid.rows * grid.cols; i++) n += is_inside(grid, i);
    return (double)n / (grid.rows * grid.cols);
}

/* --- tables ---------------------------------------------------------------------------------- */

static void add_shares(const s2_trials *t, const layout *l, s2_study *study)
{
    char caption[512], text[S2A_BUDGET_TEXT], label[S2_LABEL_SIZE];
    const double edge = area_share(t->grid, s2_is_edge), centre = area_share(t->grid, s2_is_centre);
    (void)snprintf(
        caption, sizeof caption,
        "Share of the kept tokens in the outer two rows and columns (%.1f %% of the %dx%d "
        "grid) and in its middle half (%.1f %%), with 95 %% intervals over pictures. "
        "Banding: share of the map's variance that lies between rows or columns, p "
        "against pictures shifted at random, and the strongest period.",
        100.0 * edge, t->grid.rows, t->grid.cols, 100.0 * centre);
    s2_table *table = s2_study_table(study, "spatial_shares", caption);
    s2_table_column(table, "method", "method", S2_TEXT_COLUMN);
    s2_table_column(table, "budget", "budget", S2_TEXT_COLUMN);
    s2_table_column(table, "edge", "edge", 3);
    s2_table_column(table, "edge_low", "low", 3);
    s2_table_column(table, "edge_high", "high", 3);
    s2_table_column(table, "edge_minus_area", "over area", 3);
    s2_table_column(table, "centre", "centre", 3);
    s2_table_column(table, "centre_low", "low", 3);
    s2_table_column(table, "centre_high", "high", 3);
    s2_table_column(table, "centre_minus_area", "over area", 3);
    s2_table_column(table, "row_banding", "rows", 2);
    s2_table_column(table, "row_p", "p", 3);
    s2_table_column(table, "row_period", "period", 1);
    s2_table_column(table, "column_banding", "columns", 2);
    s2_table_column(table, "column_p", "p", 3);
    s2_table_column(table, "column_period", "period", 1);
    s2_table_detail(table, "trials", 0);
    for (int32_t s = 0; s < t->n_settings; s++) {
        if (l[s].n == 0) continue;
        s2_table_text(table, s2_setting_label(&t->setting[s], false, label));
        s2_table_text(table, s2a_keeps_all(&t->setting[s])
                                 ? "all"
                                 : s2a_budget_text(t->setting[s].budget, text));
        const double row[] = { l[s].edge,
                               l[s].edge_range.low,
                               l[s].edge_range.high,
                               l[s].edge - edge,
                               l[s].centre,
                               l[s].centre_range.low,
                               l[s].centre_range.high,
                               l[s].centre - centre,
                               l[s].rows.share,
                               l[s].rows.p,
                               l[s].rows.period,
                               l[s].cols.share,
                               l[s].cols.p,
                               l[s].cols.period,
                               l[s].n };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) s2_table_number(table, row[i]);
    }
}

static bool is_same_method(const s2a_setting *a, const s2a_setting *b)
{
    char x[S2_LABEL_SIZE], y[S2_LABEL_SIZE];
    return strcmp(s2_setting_label(a, false, x), s2_setting_label(b, false, y)) == 0;
}

/* Two settings of one method, the smaller budget first. */
static bool is_pair(const s2_trials *t, const layout *l, int32_t a, int32_t b)
{
    return l[a].n > 0 && l[b].n > 0 && is_same_method(&t->setting[a], &t->setting[b]) &&
           t->setting[a].budget.tokens < t->setting[b].budget.tokens;
}

/* Table S1: maps of one method at two budgets; none where there is one budget. */
static s2p_status add_correlations(const s2_trials *t, const layout *l, s2_study *study)
{
    char label[S2_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
    const size_t n_tokens = (size_t)(t->grid.rows * t->grid.cols);
    s2_table *table = NULL;
    for (int32_t a = 0; a < t->n_settings; a++)
        for (int32_t b = 0; b < t->n_settings; b++) {
            double rho;
            if (!is_pair(t, l, a, b)) continue;
            if (!table) {
                table = s2_study_table(
                    study, "spatial_correlations",
                    "Correlations between the selection-frequency maps of one method at two "
                    "budgets (the paper's Table S1).");
                s2_table_column(table, "method", "method", S2_TEXT_COLUMN);
                s2_table_column(table, "budget_a", "budget", S2_TEXT_COLUMN);
                s2_table_column(table, "budget_b", "against", S2_TEXT_COLUMN);
                s2_table_column(table, "pearson", "Pearson r", 4);
                s2_table_column(table, "spearman", "Spearman rho", 4);
            }
            TRY(s2_spearman(l[a].map, l[b].map, n_tokens, &rho));
            s2_table_text(table, s2_setting_label(&t->setting[a], false, label));
            s2_table_text(table, s2a_budget_text(t->setting[a].budget, budget));
            s2_table_text(table, s2a_budget_text(t->setting[b].budget, budget));
            s2_table_number(table, s2_pearson(l[a].map, l[b].map, n_tokens));
            s2_table_number(table, rho);
        }
    return S2P_OK;
}

/* --- figures ----------------------------------------------------------------------------------- */

#define MAX_MAPS 24
#define MAP_SIDE 168.0

typedef struct group { /* settings of one budget that dropped something */
    int32_t setting[MAX_MAPS], n;
    char budget[S2A_BUDGET_TEXT];
    char label[MAX_MAPS][S2_LABEL_SIZE];
    const char *name[MAX_MAPS];
} group;

static void fill_group(const s2_trials *t, const layout *l, s2v_budget budget, group *g)
{
    g->n = 0;
    (void)s2a_budget_text(budget, g->budget);
    for (int32_t s = 0; s < t->n_settings && g->n < MAX_MAPS; s++) {
        if (l[s].n == 0 || s2a_keeps_all(&t->setting[s]) ||
            !s2a_budget_is_same(t->setting[s].budget, budget))
            continue;
        g->name[g->n] = s2_setting_label(&t->setting[s], false, g->label[g->n]);
        g->setting[g->n++] = s;
    }
}

/* Where the colours end: above nearly all values, so that one token that is always kept does not
 * make all others alike. */
static double top_of(const layout *l, const group *g, int32_t n_tokens)
{
    double highest = 0.0;
    for (int32_t i = 0; i < g->n; i++) {
        double sum = 0.0, square = 0.0;
        for (int32_t k = 0; k < n_tokens; k++) {
            sum += l[g->setting[i]].map[k];
            square += l[g->setting[i]].map[k] * l[g->setting[i]].map[k];
        }
        const double mean = sum / n_tokens;
        highest = fmax(highest, mean + 3.0 * sqrt(fmax(0.0, square / n_tokens - mean * mean)));
    }
    return fmin(1.0, 0.04 * ceil(highest / 0.04)); /* a round number at each tick */
}

static void draw_maps(const s2_trials *t, const layout *l, const group *g, s2_study *study)
{
    const int32_t n_tokens = t->grid.rows * t->grid.cols, columns = g->n < 5 ? g->n : 5;
    const int32_t lines = (g->n + columns - 1) / columns;
    char name[64], caption[512];
    const double high = top_of(l, g, n_tokens);
    (void)snprintf(name, sizeof name, "spatial_maps_%s", g->budget);
    (void)snprintf(
        caption, sizeof caption,
        "How often each token of the %dx%d grid is kept, over %d pictures and questions "
        "of %s, %s tokens kept; an even selection keeps each with %.3f. One scale for all "
        "maps; values above it have its last colour.",
        t->grid.rows, t->grid.cols, l[g->setting[0]].n, t->task, g->budget,
        (double)t->setting[g->setting[0]].budget.tokens / n_tokens);
    s2_buffer *out = s2_study_figure(study, name, caption);
    s2_plot plot;
    const double tall = MAP_SIDE * t->grid.rows / t->grid.cols, top = 34.0;
    s2_plot_begin(&plot, out, 24.0 + columns * (MAP_SIDE + 20.0) + 80.0,
                  top + lines * (tall + 42.0), "Selection frequencies", caption);
    for (int32_t i = 0; i < g->n; i++) {
        const double x = 24.0 + (i % columns) * (MAP_SIDE + 20.0);
        const double y = top + (i / columns) * (tall + 42.0);
        const s2_heat heat = { t->grid.rows, t->grid.cols, l[g->setting[i]].map, 0.0, high, false };
        s2_plot_heat(&plot, x, y, MAP_SIDE, tall, &heat);
        s2_plot_text(&plot, x + 0.5 * MAP_SIDE, y - 8.0, "middle", false, g->name[i]);
        if (i % columns == 0) s2_plot_text(&plot, x - 4.0, y + 10.0, "end", true, "1");
        if (i % columns == 0) {
            char rows[16];
            (void)snprintf(rows, sizeof rows, "%d", t->grid.rows);
            s2_plot_text(&plot, x - 4.0, y + tall, "end", true, rows);
        }
    }
    s2_plot_text(&plot, 24.0 + 0.5 * columns * (MAP_SIDE + 20.0),
                 top + lines * (tall + 42.0) - 22.0, "middle", true,
                 "token columns; rows from the top");
    s2_plot_colour_bar(&plot, 24.0 + columns * (MAP_SIDE + 20.0), top, tall, 0.0, high,
                       "share of selections");
    s2_plot_end(&plot);
}

static void draw_shares(const s2_trials *t, const layout *l, const group *g, s2_study *study)
{
    static const char *const places[] = { "edge", "centre" };
    const double area[2] = { area_share(t->grid, s2_is_edge), area_share(t->grid, s2_is_centre) };
    char name[64], caption[384];
    (void)snprintf(name, sizeof name, "spatial_bias_%s", g->budget);
    (void)snprintf(
        caption, sizeof caption,
        "Share of the kept tokens in the edge and centre of the grid, %s tokens kept, 95 "
        "%% intervals over pictures. 'by area' is what an even selection would give.",
        g->budget);
    s2_buffer *out = s2_study_figure(study, name, caption);
    s2_plot plot;
    s2_plot_begin(&plot, out, 680.0, 340.0, "Edge and centre shares", caption);
    double highest = 0.0;
    for (int32_t i = 0; i < g->n; i++)
        highest = fmax(highest, 100.0 * fmax(l[g->setting[i]].edge_range.high,
                                             l[g->setting[i]].centre_range.high));
    const s2_panel panel = { .x = 64.0,
                             .y = 20.0,
                             .width = 596.0,
                             .height = 220.0,
                             .across = { .n_names = 2, .name = places },
                             .up = { .label = "kept tokens there (%)",
                                     .high = 10.0 * ceil(fmax(highest, 35.0) / 10.0) } };
    s2_plot_panel(&plot, &panel);
    const double x[2] = { 0.0, 1.0 };
    const char *names[MAX_MAPS + 1];
    for (int32_t i = 0; i <= g->n; i++) {
        const layout *m = i < g->n ? &l[g->setting[i]] : NULL;
        const double y[2] = { 100.0 * (m ? m->edge : area[0]), 100.0 * (m ? m->centre : area[1]) };
        const double low[2] = { 100.0 * (m ? m->edge_range.low : area[0]),
                                100.0 * (m ? m->centre_range.low : area[1]) };
        const double high[2] = { 100.0 * (m ? m->edge_range.high : area[0]),
                                 100.0 * (m ? m->centre_range.high : area[1]) };
        names[i] = m ? g->name[i] : "by area";
        s2_plot_bars(&plot, &panel, &(s2_series){ 2, x, y, m ? low : NULL, m ? high : NULL }, i,
                     g->n + 1);
    }
    (void)s2_plot_legend(&plot, 64.0, 290.0, 596.0, names, g->n + 1, true);
    s2_plot_end(&plot);
}

static s2p_status add_figures(const s2_trials *t, const layout *l, s2_study *study)
{
    for (int32_t s = 0; s < t->n_settings; s++) {
        const s2v_budget budget = t->setting[s].budget;
        bool is_first = l[s].n > 0 && !s2a_keeps_all(&t->setting[s]);
        for (int32_t k = 0; k < s; k++)
            is_first = is_first && !(l[k].n > 0 && !s2a_keeps_all(&t->setting[k]) &&
                                     s2a_budget_is_same(t->setting[k].budget, budget));
        if (!is_first) continue;
        group g;
        fill_group(t, l, budget, &g);
        draw_maps(t, l, &g, study);
        draw_shares(t, l, &g, study);
    }
    return S2P_OK;
}

static void add_arrays(const s2_trials *t, const layout *l, s2_study *study)
{
    for (int32_t s = 0; s < t->n_settings; s++) {
        char key[S2_LABEL_SIZE], name[64];
        if (l[s].n == 0) continue;
        (void)s2_setting_label(&t->setting[s], true, key);
        for (char *c = key; *c; c++)
            if (*c == ' ' || *c == '%' || *c == '=') *c = '_';
        (void)snprintf(name, sizeof name, "map_%.50s", key);
        double *data =
            s2_study_array(study, name, "selection frequencies", t->grid.rows, t->grid.cols);
        if (data) memcpy(data, l[s].map, (size_t)(t->grid.rows * t->grid.cols) * sizeof *data);
    }
}

s2p_status s2_analyze_spatial(const s2_trials *t, s2_study *study, s2p_error *error)
{
    if (t->grid.rows < 1) return s2_fail(error, S2P_EINVAL, "no trial says which tokens were kept");
    layout *l = calloc((size_t)t->n_settings, sizeof *l);
    s2p_status st = l ? S2P_OK : S2P_ENOMEM;
    for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++) st = measure(t, s, &l[s]);
    if (st == S2P_OK) add_shares(t, l, study);
    if (st == S2P_OK) st = add_figures(t, l, study);
    if (st == S2P_OK) st = add_correlations(t, l, study);
    if (st == S2P_OK) add_arrays(t, l, study);
    for (int32_t s = 0; l && s < t->n_settings; s++) free(l[s].map);
    free(l);
    return st == S2P_ENOMEM ? s2_fail_memory(error, sizeof *l, "the maps") : st;
}
