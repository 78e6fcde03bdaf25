/* rates.c - differences, means and ratios of drawn numbers, and the table of them. */
#include "analyze/rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- means over parts ------------------------------------------------------------------------ */

/* What is made of the number of a setting. */
typedef enum unit { OWN, PERCENT, RETAINED } unit;

typedef struct asked {
    const s2_trials *trials;
    int32_t setting, other, full;
    unit unit;
} asked;

static double difference(const s2_draws *one, const s2_draws *other, int32_t round)
{
    const double *a = round < 0 ? &one->value : &one->drawn[round];
    const double *b = !other ? NULL : round < 0 ? &other->value : &other->drawn[round];
    return *a - (b ? *b : 0.0);
}

/* The value, or that of a draw: see `unit`. */
static double value_of(const asked *a, const s2_draws *d, int32_t round)
{
    const double value = difference(&d[0], a->other >= 0 ? &d[1] : NULL, round);
    if (a->unit == OWN) return value;
    if (a->unit == PERCENT) return 100.0 * value / d[0].best;
    const double whole = round < 0 ? d[2].value : d[2].drawn[round];
    return whole > 0.0 ? 100.0 * value / whole : (double)NAN;
}

/* Adds the numbers of a part to those of `sum`; *n_parts counts those that have any. */
static s2p_status add_part(const asked *a, s2_scope scope, s2_draws *d, s2_draws *sum,
                           int32_t *n_parts)
{
    TRY(s2_draw(a->trials, a->setting, scope, &d[0]));
    if (a->other >= 0) TRY(s2_draw(a->trials, a->other, scope, &d[1]));
    if (a->unit == RETAINED) TRY(s2_draw(a->trials, a->full, scope, &d[2]));
    const double value = value_of(a, d, -1);
    if (isnan(value)) return S2P_OK;
    sum->value += value;
    sum->best = a->unit == OWN ? d[0].best : 100.0;
    sum->n += d[0].n;
    for (int32_t r = 0; r < S2_ROUNDS; r++) sum->drawn[r] += value_of(a, d, r);
    ++*n_parts;
    return S2P_OK;
}

static void take_interval(s2_draws *sum, int32_t n_parts, s2_rate *out)
{
    size_t n = 0; /* draws on which the full model has nothing have no ratio */
    for (int32_t r = 0; r < S2_ROUNDS; r++)
        if (isfinite(sum->drawn[r])) sum->drawn[n++] = sum->drawn[r] / n_parts;
    *out = (s2_rate){ sum->value / n_parts,       (double)NAN, (double)NAN, sum->best, sum->n,
                      s2_deviation(sum->drawn, n) };
    if (n == 0) return;
    s2_sort_numbers(sum->drawn, n);
    out->low = s2_quantile(sum->drawn, n, 0.025);
    out->high = s2_quantile(sum->drawn, n, 0.975);
}

/* Of one part whose number is a mean of scores: s2_ratio_error, without the chance of the draws. */
static s2p_status mean_error(const asked *a, s2_scope scope, double best, double *out)
{
    const s2_trials *t = a->trials;
    const size_t n = (size_t)t->n_pictures + 1;
    double *sum = calloc(2 * n, sizeof *sum);
    if (!sum) return S2P_ENOMEM;
    double *count = sum + n;
    for (int32_t q = 0; q < t->n_questions; q++) {
        const s2_trial_question *question = &t->question[q];
        const float score = s2_trial_at(t, a->setting, q)->score;
        const float minus = a->other >= 0 ? s2_trial_at(t, a->other, q)->score : 0.0f;
        if (t->picture[question->picture].part != scope.part || !isfinite(score) ||
            !isfinite(minus) || (scope.category >= 0 && question->category != scope.category) ||
            (scope.wanted && !scope.wanted[question->picture]) || !s2_trials_question_done(t, q))
            continue;
        sum[question->picture] += best * (double)(score - minus);
        count[question->picture] += 1.0;
    }
    size_t n_used = 0; /* pictures without such a question are not in the sample */
    for (size_t i = 0; i + 1 < n; i++) {
        if (!(count[i] > 0.0)) continue;
        sum[n_used] = sum[i];
        count[n_used++] = count[i];
    }
    *out = s2_ratio_error(sum, count, n_used);
    free(sum);
    return S2P_OK;
}

static bool is_mean(const s2_trial_part *part) { return !part->task || !part->task->counts; }

static s2p_status rate(asked a, s2_scope scope, s2_rate *out)
{
    const s2_trials *t = a.trials;
    s2_draws *d = calloc(4, sizeof *d), *sum = d ? &d[3] : NULL;
    *out = (s2_rate){ (double)NAN, (double)NAN, (double)NAN, 100.0, 0, (double)NAN };
    s2p_status st = d ? S2P_OK : S2P_ENOMEM;
    int32_t n_parts = 0;
    const bool is_all = scope.part == S2_ALL_PARTS;
    if (is_all && t->n_parts > 1 && a.unit == OWN) a.unit = PERCENT;
    for (int32_t p = is_all ? 0 : scope.part; st == S2P_OK && p < t->n_parts; p++) {
        st = add_part(&a, (s2_scope){ p, scope.category, scope.wanted }, d, sum, &n_parts);
        if (!is_all) break;
    }
    if (st == S2P_OK && n_parts > 0) take_interval(sum, n_parts, out);
    const int32_t only = is_all ? 0 : scope.part;
    if (st == S2P_OK && n_parts == 1 && a.unit != RETAINED && (t->n_parts == 1 || !is_all) &&
        is_mean(&t->part[only]))
        st = mean_error(&a, (s2_scope){ only, scope.category, scope.wanted },
                        a.unit == OWN ? d[0].best : 100.0, &out->error);
    if (st != S2P_OK)
        *out = (s2_rate){ (double)NAN, (double)NAN, (double)NAN, 100.0, 0, (double)NAN };
    free(d);
    return st;
}

s2p_status s2_rate_of(const s2_trials *t, int32_t setting, int32_t other, s2_scope scope,
                      s2_rate *out)
{
    return rate((asked){ t, setting, other, S2_NO_SETTING, OWN }, scope, out);
}

s2p_status s2_rate_percent(const s2_trials *t, int32_t setting, int32_t other, s2_scope scope,
                           s2_rate *out)
{
    return rate((asked){ t, setting, other, S2_NO_SETTING, PERCENT }, scope, out);
}

s2p_status s2_rate_retained(const s2_trials *t, int32_t setting, int32_t other, int32_t full,
                            s2_scope scope, s2_rate *out)
{
    return rate((asked){ t, setting, other, full, RETAINED }, scope, out);
}

/* --- what is compared side by side ------------------------------------------------------------ */

static int32_t asked_of(const s2_trials *t, int32_t category)
{
    int32_t n = 0;
    for (int32_t q = 0; q < t->n_questions; q++) n += t->question[q].category == category;
    return n;
}

int32_t s2_rate_scopes(const s2_trials *t, int32_t most, s2_scope *out, int32_t *n_all)
{
    int32_t n = 0;
    if (t->n_parts > 1) {
        *n_all = t->n_parts;
        for (int32_t p = 0; p < t->n_parts && n < most; p++)
            out[n++] = (s2_scope){ p, S2_ALL_CATEGORIES, NULL };
        return n;
    }
    *n_all = t->n_categories;
    for (int32_t c = 0; c < t->n_categories && n < most; c++) {
        const int32_t mine = asked_of(t, c);
        int32_t rank = 0;
        for (int32_t k = 0; k < t->n_categories && t->n_categories > most; k++) {
            const int32_t other = asked_of(t, k);
            rank += other > mine || (other == mine && k < c);
        }
        if (rank < most) out[n++] = (s2_scope){ 0, c, NULL };
    }
    return n;
}

const char *s2_scope_name(const s2_trials *t, s2_scope scope)
{
    if (scope.category >= 0) return t->category[scope.category].name;
    return scope.part >= 0 && t->n_parts > 1 ? t->part[scope.part].title : "all questions";
}

/* --- the table ---------------------------------------------------------------------------- */

#define TABLE_SCOPES 32
#define TABLE_KINDS 12

typedef struct making { /* of the table */
    const s2_trials *trials;
    s2_scope scope[TABLE_SCOPES];
    int32_t n, full;
    const char *reference;
    s2_table *table;
} making;

static void add_interval_columns(s2_table *table, const char *key, const char *heading)
{
    char name[40];
    s2_table_column(table, key, heading, 1);
    (void)snprintf(name, sizeof name, "%s_low", key);
    s2_table_column(table, name, "95 % low", 1);
    (void)snprintf(name, sizeof name, "%s_high", key);
    s2_table_column(table, name, "high", 1);
}

static void add_columns(const making *m)
{
    const s2_trials *t = m->trials;
    s2_table *table = m->table;
    s2_table_column(table, "setting", "setting", S2_TEXT_COLUMN);
    s2_table_column(table, "budget", "budget", S2_TEXT_COLUMN);
    for (int32_t i = 0; i < m->n; i++) {
        const char *name = s2_scope_name(t, m->scope[i]);
        s2_table_column(table, t->n_parts > 1 ? t->part[m->scope[i].part].name : name, name, 1);
    }
    if (t->n_parts > 1) {
        add_interval_columns(table, "acc", "Acc.");
        add_interval_columns(table, "rel", "Rel. %");
    } else {
        const char *metric = t->n_parts > 0 ? t->part[0].metric : "";
        s2_table_column(table, "acc", "Acc.", 1);
        s2_table_column(table, "rel", "Rel. %", 1);
        add_interval_columns(table, "all", metric[0] ? metric : "all");
    }
    static const struct {
        const char *key, *heading;
        int32_t decimals;
    } compared[] = { { "difference", "against ref.", 1 },
                     { "difference_low", "low", 1 },
                     { "difference_high", "high", 1 },
                     { "smallest_difference", "can show", 1 },
                     { "p_holm", "p (Holm)", 4 } };
    for (size_t i = 0; i < sizeof compared / sizeof *compared; i++) /* people see no empty column */
        if (m->reference)
            s2_table_column(table, compared[i].key, compared[i].heading, compared[i].decimals);
        else
            s2_table_detail(table, compared[i].key, compared[i].decimals);
    s2_table_detail(table, "p", 4);
    s2_table_detail(table, "questions", 0);
}

static void put_interval(s2_table *table, const s2_rate *r)
{
    s2_table_number(table, r->value);
    s2_table_number(table, r->low);
    s2_table_number(table, r->high);
}

/* Acc. and Rel. with kinds of questions in the place of benchmarks: all kinds, shown or not. */
static s2p_status means_of_kinds(const making *m, int32_t setting, double *acc, double *rel)
{
    const s2_trials *t = m->trials;
    double sum = 0.0, ratio = 0.0;
    int32_t n = 0, n_ratios = 0;
    for (int32_t c = 0; c < t->n_categories; c++) {
        const s2_scope scope = { 0, c, NULL };
        s2_rate r;
        TRY(s2_rate_percent(t, setting, S2_NO_SETTING, scope, &r));
        if (isnan(r.value)) continue;
        sum += r.value;
        n++;
        if (m->full < 0) continue;
        TRY(s2_rate_retained(t, setting, S2_NO_SETTING, m->full, scope, &r));
        if (isnan(r.value)) continue;
        ratio += r.value;
        n_ratios++;
    }
    *acc = n ? sum / n : (double)NAN;
    *rel = n_ratios ? ratio / n_ratios : (double)NAN;
    return S2P_OK;
}

static s2p_status add_means(const making *m, int32_t setting, int32_t *n)
{
    const s2_trials *t = m->trials;
    s2_rate all, rel = { (double)NAN, (double)NAN, (double)NAN, 100.0, 0, (double)NAN };
    TRY(s2_rate_of(t, setting, S2_NO_SETTING, S2_EVERYTHING, &all));
    *n = all.n;
    if (t->n_parts > 1) {
        if (m->full >= 0)
            TRY(s2_rate_retained(t, setting, S2_NO_SETTING, m->full, S2_EVERYTHING, &rel));
        put_interval(m->table, &all);
        put_interval(m->table, &rel);
        return S2P_OK;
    }
    double acc, ratio;
    TRY(means_of_kinds(m, setting, &acc, &ratio));
    s2_table_number(m->table, acc);
    s2_table_number(m->table, ratio);
    put_interval(m->table, &all);
    return S2P_OK;
}

/* What a setting is compared with: the reference of its own budget; S2_NO_SETTING: nothing. */
static int32_t reference_of(const making *m, int32_t setting)
{
    const s2_trials *t = m->trials;
    const int32_t reference =
        m->reference ? s2_trials_find(t, m->reference, t->setting[setting].budget) : S2_NO_SETTING;
    return reference == setting ? S2_NO_SETTING : reference;
}

/* p: of the comparison with the reference, as it is and corrected. */
static s2p_status add_row(const making *m, int32_t setting, const double p[2])
{
    const s2_trials *t = m->trials;
    char label[S2_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
    const s2a_setting *s = &t->setting[setting];
    s2_table *table = m->table;
    s2_rate gap = { (double)NAN, (double)NAN, (double)NAN, 100.0, 0, (double)NAN };
    s2_table_text(table, s2_setting_label(s, false, label));
    s2_table_text(table, s2a_keeps_all(s) ? "all" : s2a_budget_text(s->budget, budget));
    for (int32_t i = 0; i < m->n; i++) {
        s2_rate r;
        TRY(s2_rate_of(t, setting, S2_NO_SETTING, m->scope[i], &r));
        s2_table_number(table, r.value);
    }
    int32_t n = 0;
    TRY(add_means(m, setting, &n));
    const int32_t reference = reference_of(m, setting);
    if (reference >= 0) TRY(s2_rate_of(t, setting, reference, S2_EVERYTHING, &gap));
    put_interval(table, &gap);
    s2_table_number(table, s2_smallest_difference(gap.error, 0.95, 0.8));
    s2_table_number(table, p[1]);
    s2_table_number(table, p[0]);
    s2_table_number(table, n);
    return S2P_OK;
}

static bool is_same_budget(const s2_trials *t, int32_t a, int32_t b)
{
    char x[S2A_BUDGET_TEXT], y[S2A_BUDGET_TEXT];
    return strcmp(s2a_budget_text(t->setting[a].budget, x),
                  s2a_budget_text(t->setting[b].budget, y)) == 0;
}

/* Whether an earlier setting has the same budget. */
static bool is_budget_before(const s2_trials *t, int32_t setting)
{
    for (int32_t s = 0; s < setting; s++)
        if (is_same_budget(t, s, setting)) return true;
    return false;
}

s2p_status s2_rate_table(const s2_trials *t, int32_t full, const char *reference, s2_table *table)
{
    making m = { .trials = t, .full = full, .reference = reference, .table = table };
    int32_t n_all;
    m.n = s2_rate_scopes(t, t->n_parts > 1 ? TABLE_SCOPES : TABLE_KINDS, m.scope, &n_all);
    double *p = malloc(2 * ((size_t)t->n_settings + 1) * sizeof *p);
    double *holm = p ? p + t->n_settings : NULL;
    if (!p) return S2P_ENOMEM;
    s2p_status st = S2P_OK;
    for (int32_t s = 0; s < t->n_settings && st == S2P_OK; s++) {
        s2_test test = { (double)NAN, (double)NAN };
        const int32_t other = reference_of(&m, s);
        if (other >= 0) st = s2_rate_test(t, s, other, &test);
        p[s] = test.p;
    }
    if (st == S2P_OK) st = s2_holm(p, (size_t)t->n_settings, holm);
    add_columns(&m);
    /* Settings of one budget follow each other, in the order of the first of each budget. */
    for (int32_t first = 0; first < t->n_settings && st == S2P_OK; first++) {
        if (is_budget_before(t, first)) continue;
        for (int32_t s = first; s < t->n_settings && st == S2P_OK; s++)
            if (is_same_budget(t, first, s)) st = add_row(&m, s, (const double[]){ p[s], holm[s] });
    }
    free(p);
    return st == S2P_OK ? table->status : st;
}
