/* rates.c - sums over questions, bootstrap over pictures. */
#include "analyze/rates.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

s2p_status s2_rate_of(const s2_trials *t, int32_t setting, int32_t other, int32_t category,
                      const bool *wanted, double scale, s2_rate *out)
{
    const size_t n = (size_t)t->n_pictures;
    double *sum = calloc(n + 1, sizeof *sum), *count = calloc(n + 1, sizeof *count);
    *out = (s2_rate){ (double)NAN, (double)NAN, (double)NAN, 0 };
    s2p_status st = sum && count ? S2P_OK : S2P_ENOMEM;
    double total = 0.0;
    for (int32_t q = 0; st == S2P_OK && q < t->n_questions; q++) {
        const s2_trial_question *question = &t->question[q];
        const float score = s2_trial_at(t, setting, q)->score;
        const float minus = other >= 0 ? s2_trial_at(t, other, q)->score : 0.0f;
        if (!isfinite(score) || !isfinite(minus) || !s2_trials_question_done(t, q)) continue;
        if (category >= 0 && question->category != category) continue;
        if (wanted && !wanted[question->picture]) continue;
        sum[question->picture] += scale * (double)(score - minus);
        count[question->picture] += 1.0;
        total += scale * (double)(score - minus);
        out->n++;
    }
    size_t n_used = 0; /* pictures without such a question are not drawn */
    for (size_t i = 0; st == S2P_OK && i < n; i++) {
        if (!(count[i] > 0.0)) continue;
        sum[n_used] = sum[i];
        count[n_used++] = count[i];
    }
    if (n_used > 0) {
        s2_interval interval;
        out->value = total / out->n;
        st = s2_bootstrap(sum, count, n_used, S2_ROUNDS, 1, 0.95, &interval);
        if (st == S2P_OK) {
            out->low = interval.low;
            out->high = interval.high;
        }
    }
    free(sum);
    free(count);
    return st;
}

s2_test s2_rate_test(const s2_trials *t, int32_t setting, int32_t other)
{
    int64_t first = 0, second = 0;
    for (int32_t q = 0; q < t->n_questions; q++) {
        const bool a = s2_trial_at(t, setting, q)->score >= 0.5f;
        const bool b = s2_trial_at(t, other, q)->score >= 0.5f;
        if (!s2_trials_question_done(t, q)) continue;
        first += a && !b;
        second += b && !a;
    }
    return s2_mcnemar(first, second);
}

int32_t s2_rate_categories(const s2_trials *t, int32_t most, int32_t *out)
{
    int32_t asked[S2_MAX_TRIAL_CATEGORIES] = { 0 }, n = 0;
    for (int32_t q = 0; q < t->n_questions; q++) asked[t->question[q].category]++;
    for (int32_t c = 0; c < t->n_categories && n < most; c++) {
        int32_t rank = 0;
        for (int32_t k = 0; k < t->n_categories; k++)
            rank += asked[k] > asked[c] || (asked[k] == asked[c] && k < c);
        if (rank < most && asked[c] > 0) out[n++] = c;
    }
    return n;
}

/* --- the table ---------------------------------------------------------------------------- */

#define TABLE_CATEGORIES 12

static void add_columns(const s2_trials *t, const int32_t *category, int32_t n, s2_table *table)
{
    s2_table_column(table, "setting", "setting", S2_TEXT_COLUMN);
    s2_table_column(table, "budget", "budget", S2_TEXT_COLUMN);
    for (int32_t i = 0; i < n; i++)
        s2_table_column(table, t->category[category[i]], t->category[category[i]], 1);
    s2_table_column(table, "acc", "Acc.", 1);
    s2_table_column(table, "rel", "Rel. %", 1);
    s2_table_column(table, "all", "all", 1);
    s2_table_column(table, "all_low", "95 % low", 1);
    s2_table_column(table, "all_high", "high", 1);
    s2_table_column(table, "difference", "against ref.", 1);
    s2_table_column(table, "difference_low", "low", 1);
    s2_table_column(table, "difference_high", "high", 1);
    s2_table_column(table, "mcnemar_p", "p", 4);
    s2_table_detail(table, "questions", 0);
}

static s2p_status add_row(const s2_trials *t, int32_t setting, int32_t full, int32_t reference,
                          const int32_t *category, int32_t n, s2_table *table)
{
    char label[S2_LABEL_SIZE], budget[S2A_BUDGET_TEXT];
    const s2a_setting *s = &t->setting[setting];
    s2_rate rate, whole, gap = { (double)NAN, (double)NAN, (double)NAN, 0 };
    double sum = 0.0, ratio = 0.0;
    int32_t n_ratios = 0;
    s2_table_text(table, s2_setting_label(s, false, label));
    s2_table_text(table, s2a_keeps_all(s) ? "all" : s2a_budget_text(s->budget, budget));
    for (int32_t i = 0; i < n; i++) {
        TRY(s2_rate_of(t, setting, S2_NO_SETTING, category[i], NULL, 100.0, &rate));
        s2_table_number(table, rate.value);
        sum += rate.value;
        if (full < 0) continue;
        TRY(s2_rate_of(t, full, S2_NO_SETTING, category[i], NULL, 100.0, &whole));
        if (!(whole.value > 0.0)) continue;
        ratio += 100.0 * rate.value / whole.value;
        n_ratios++;
    }
    TRY(s2_rate_of(t, setting, S2_NO_SETTING, S2_ALL_CATEGORIES, NULL, 100.0, &rate));
    const bool is_compared = reference >= 0 && reference != setting;
    if (is_compared) TRY(s2_rate_of(t, setting, reference, S2_ALL_CATEGORIES, NULL, 100.0, &gap));
    s2_table_number(table, n ? sum / n : (double)NAN);
    s2_table_number(table, n_ratios ? ratio / n_ratios : (double)NAN);
    s2_table_number(table, rate.value);
    s2_table_number(table, rate.low);
    s2_table_number(table, rate.high);
    s2_table_number(table, gap.value);
    s2_table_number(table, gap.low);
    s2_table_number(table, gap.high);
    const double p = is_compared ? s2_rate_test(t, setting, reference).p : (double)NAN;
    if (p < 5e-5)
        s2_table_shown(table, p, "<0.0001");
    else
        s2_table_number(table, p);
    s2_table_number(table, rate.n);
    return S2P_OK;
}

s2p_status s2_rate_table(const s2_trials *t, int32_t full, int32_t reference, s2_table *table)
{
    int32_t category[TABLE_CATEGORIES];
    const int32_t n = s2_rate_categories(t, TABLE_CATEGORIES, category);
    add_columns(t, category, n, table);
    for (int32_t s = 0; s < t->n_settings; s++)
        TRY(add_row(t, s, full, reference, category, n, table));
    return table->status;
}
