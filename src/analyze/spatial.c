/* spatial.c - selection frequencies, edge and center shares, banding, stability across budgets.
 *
 * Shares of a setting are means over trials; their intervals come from drawing pictures. Banding is
 * tested against pictures whose rows (or columns) are rotated by random amounts: that keeps how many
 * tokens a picture has in neighboring rows and forgets where these rows are.
 */
#include "analyze/analyses.h"
#include "analyze/spatial_figures.h"

#include "base/random.h"
#include "base/statistics.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ROUNDS 2000 /* of every bootstrap */
#define SHIFTS 999  /* of every test of banding */

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

static s2p_status measure(const s2_trials *t, int32_t setting, s2_kept_map *out)
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

/* --- tables ---------------------------------------------------------------------------------- */

/* What the paper prints: Sec. 3.2 and App. B, for Qwen2.5-VL-7B, 64 tokens of a 24x24 grid and 1,000
 * samples of MMBench-EN. */
static const struct printed {
    const char *method;
    double edge, centre;
} printed_shares[] = {
    { "fastv", .58, (double)NAN },   { "fastv-top", .58, (double)NAN }, /* "nearly 58 %" */
    { "feather", .58, (double)NAN }, { "feather-top", .58, (double)NAN },
    { "feather-8", .676, .086 },     { "feather-top-8", .676, .086 },
};

static struct printed printed_of(const s2_trials *t, int32_t setting)
{
    const s2a_setting *s = &t->setting[setting];
    for (size_t i = 0; i < sizeof printed_shares / sizeof *printed_shares; i++)
        if (s->budget.tokens == 64 && t->grid.rows == 24 && t->grid.cols == 24 && !s->published &&
            strcmp(s->method, printed_shares[i].method) == 0)
            return printed_shares[i];
    return (struct printed){ NULL, (double)NAN, (double)NAN };
}

static void add_shares(const s2_trials *t, const s2_kept_map *l, s2_study *study)
{
    char caption[768], text[S2A_BUDGET_TEXT], label[S2_LABEL_SIZE];
    const double edge = s2_area_share(t->grid, s2_is_edge),
                 centre = s2_area_share(t->grid, s2_is_centre);
    bool has_printed = false;
    for (int32_t s = 0; s < t->n_settings; s++)
        has_printed = has_printed || (l[s].n > 0 && printed_of(t, s).method);
    (void)snprintf(
        caption, sizeof caption,
        "Share of the kept tokens in the outer two rows and columns (%.1f %% of the %dx%d "
        "grid) and in its middle half (%.1f %%), with 95 %% intervals over pictures. "
        "Banding: share of the map's variance that lies between rows or columns, p "
        "against pictures shifted at random, and the strongest period.%s",
        100.0 * edge, t->grid.rows, t->grid.cols, 100.0 * centre,
        has_printed ? " 'paper' is what S2Prune prints for Qwen2.5-VL-7B and MMBench-EN (nearly "
                      "58 % for FastV and FEATHER)."
                    : "");
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
    if (has_printed) {
        s2_table_column(table, "paper_edge", "paper: edge", 3);
        s2_table_column(table, "paper_centre", "centre", 3);
    }
    s2_table_detail(table, "trials", 0);
    for (int32_t s = 0; s < t->n_settings; s++) {
        if (l[s].n == 0) continue;
        s2_table_text(table, s2_setting_label(&t->setting[s], false, label));
        s2_table_text(table, s2a_keeps_all(&t->setting[s])
                                 ? "all"
                                 : s2a_budget_text(t->setting[s].budget, text));
        const double row[] = {
            l[s].edge,       l[s].edge_range.low,   l[s].edge_range.high,   l[s].edge - edge,
            l[s].centre,     l[s].centre_range.low, l[s].centre_range.high, l[s].centre - centre,
            l[s].rows.share, l[s].rows.p,           l[s].rows.period,       l[s].cols.share,
            l[s].cols.p,     l[s].cols.period
        };
        for (size_t i = 0; i < sizeof row / sizeof *row; i++) s2_table_number(table, row[i]);
        if (has_printed) {
            s2_table_number(table, printed_of(t, s).edge);
            s2_table_number(table, printed_of(t, s).centre);
        }
        s2_table_number(table, l[s].n);
    }
}

static bool is_same_method(const s2a_setting *a, const s2a_setting *b)
{
    char x[S2_LABEL_SIZE], y[S2_LABEL_SIZE];
    return strcmp(s2_setting_label(a, false, x), s2_setting_label(b, false, y)) == 0;
}

/* Two settings of one method, the smaller budget first. */
static bool is_pair(const s2_trials *t, const s2_kept_map *l, int32_t a, int32_t b)
{
    return l[a].n > 0 && l[b].n > 0 && is_same_method(&t->setting[a], &t->setting[b]) &&
           t->setting[a].budget.tokens < t->setting[b].budget.tokens;
}

/* Table S1: maps of one method at two budgets; none where there is one budget. */
static s2p_status add_correlations(const s2_trials *t, const s2_kept_map *l, s2_study *study)
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

static void add_arrays(const s2_trials *t, const s2_kept_map *l, s2_study *study)
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
    TRY(s2_trials_need_grid(t, error));
    s2_kept_map *l = calloc((size_t)t->n_settings, sizeof *l);
    s2p_status st = l ? S2P_OK : S2P_ENOMEM;
    for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++) st = measure(t, s, &l[s]);
    if (st == S2P_OK) add_shares(t, l, study);
    if (st == S2P_OK) st = s2_spatial_figures(t, l, study);
    if (st == S2P_OK) st = add_correlations(t, l, study);
    if (st == S2P_OK) add_arrays(t, l, study);
    for (int32_t s = 0; l && s < t->n_settings; s++) free(l[s].map);
    free(l);
    return st == S2P_ENOMEM ? s2_fail_memory(error, sizeof *l, "the maps") : st;
}
