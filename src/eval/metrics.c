/* metrics.c - means by category, paired bootstrap and sign flips over pictures, thirds by
 * heterogeneity.
 *
 * Questions about one picture are not independent, so pictures are drawn, never
 * single questions. Every draw takes as many pictures as there are and divides by
 * the questions that came with them.
 */
#include "eval/metrics.h"

#include "base/permutation.h"
#include "base/random.h"

#include <math.h>
#include <stdlib.h>

static int32_t number_of(const s2e_set *set, const char *category)
{
    int32_t c = 0;
    while (c < set->n_categories - 1 && set->category[c] != category) c++;
    return c;
}

s2e_accuracy s2e_accuracy_of(const s2e_set *set, const float *score)
{
    s2e_accuracy a = { .mean = 0.0 };
    double sum[S2E_MAX_CATEGORIES] = { 0 };
    for (int32_t i = 0; i < set->n_samples; i++) {
        const s2e_sample *sample = &set->sample[i];
        a.all += (double)score[i];
        for (int32_t k = 0; k < sample->n_categories; k++) {
            const int32_t c = number_of(set, sample->category[k]);
            sum[c] += (double)score[i];
            a.n_category[c]++;
        }
    }
    int32_t n_asked = 0;
    for (int32_t c = 0; c < set->n_categories; c++) {
        a.category[c] = a.n_category[c] ? 100.0 * sum[c] / a.n_category[c] : -1.0;
        if (!a.n_category[c]) continue;
        a.mean += a.category[c];
        n_asked++;
    }
    if (n_asked) a.mean /= n_asked;
    if (set->n_samples) a.all = 100.0 * a.all / set->n_samples;
    return a;
}

/* --- pictures ------------------------------------------------------------------------ */

typedef struct units { /* pictures with questions, and samples without a picture; free `sum` */
    double *sum;       /* [n] of the scores, or of their differences */
    double *asked;     /* [n] questions */
    size_t n;
    double total;
} units;

static s2p_status gather(const s2e_set *set, const float *score, const float *other, units *out)
{
    const size_t most = (size_t)set->n_pictures + (size_t)set->n_samples + 1;
    double *sum = calloc(2 * most, sizeof *sum), *asked = sum ? sum + most : NULL;
    *out = (units){ .sum = sum, .asked = asked };
    if (!sum) return S2P_ENOMEM;
    int32_t alone = set->n_pictures;
    for (int32_t i = 0; i < set->n_samples; i++) {
        const double value = (double)score[i] - (other ? (double)other[i] : 0.0);
        const int32_t p = s2e_first_picture(&set->sample[i]), unit = p < 0 ? alone++ : p;
        sum[unit] += value;
        asked[unit] += 1.0;
        out->total += value;
    }
    for (int32_t i = 0; i < alone; i++) { /* a picture that only ever comes second has none */
        if (!(asked[i] > 0.0)) continue;
        sum[out->n] = sum[i];
        asked[out->n++] = asked[i];
    }
    return S2P_OK;
}

static s2p_status draw(const s2e_set *set, const units *u, s2e_interval *out)
{
    double *drawn = malloc(S2E_RESAMPLES * sizeof *drawn);
    if (!drawn) return S2P_ENOMEM;
    s2_random random = { 1 };
    for (size_t r = 0; r < S2E_RESAMPLES; r++) {
        double value = 0.0, n_asked = 0.0;
        for (size_t i = 0; i < u->n; i++) {
            const uint32_t p = s2_random_below(&random, (uint32_t)u->n);
            value += u->sum[p];
            n_asked += u->asked[p];
        }
        drawn[r] = n_asked > 0.0 ? 100.0 * value / n_asked : 0.0;
    }
    s2_sort_numbers(drawn, S2E_RESAMPLES);
    out->value = set->n_samples ? 100.0 * u->total / set->n_samples : 0.0;
    out->low = drawn[S2E_RESAMPLES / 40];
    out->high = drawn[S2E_RESAMPLES - 1 - S2E_RESAMPLES / 40];
    free(drawn);
    return S2P_OK;
}

s2p_status s2e_bootstrap(const s2e_set *set, const float *score, const float *other,
                         s2e_interval *out)
{
    units u;
    s2p_status st = gather(set, score, other, &u);
    if (st == S2P_OK) st = draw(set, &u, out);
    free(u.sum);
    return st;
}

s2p_status s2e_difference_of(const s2e_set *set, const float *score, const float *other,
                             s2e_difference *out)
{
    units u;
    s2e_interval interval = { 0.0, 0.0, 0.0 };
    s2_test test = { (double)NAN, (double)NAN };
    s2p_status st = gather(set, score, other, &u);
    if (st == S2P_OK) st = draw(set, &u, &interval);
    if (st == S2P_OK) st = s2_sign_flips(u.sum, u.n, &test);
    if (st == S2P_OK) {
        const double error = 100.0 * s2_ratio_error(u.sum, u.asked, u.n);
        *out = (s2e_difference){
            interval.value, interval.low,
            interval.high,  s2_smallest_difference(error, S2E_CONFIDENCE, S2E_POWER),
            test.p,         (double)NAN
        };
    }
    free(u.sum);
    return st;
}

s2p_status s2e_interval_of(const s2e_set *set, const float *score, s2e_interval *out)
{
    double right = 0.0;
    bool is_plain = set->n_samples > 0;
    for (int32_t i = 0; i < set->n_samples; i++) {
        const int32_t picture = s2e_first_picture(&set->sample[i]);
        right += (double)score[i];
        is_plain = is_plain && (score[i] == 0.0f || score[i] == 1.0f) &&
                   (i == 0 || picture < 0 || picture != s2e_first_picture(&set->sample[i - 1]));
    }
    if (!is_plain) return s2e_bootstrap(set, score, NULL, out);
    const s2_interval wilson = s2_wilson(right, set->n_samples, 0.95);
    *out =
        (s2e_interval){ 100.0 * right / set->n_samples, 100.0 * wilson.low, 100.0 * wilson.high };
    return S2P_OK;
}

/* Pictures that are less heterogeneous, or equal and earlier: its rank. */
static int32_t rank_of(const s2e_set *set, int32_t picture)
{
    const double h = set->picture[picture].heterogeneity;
    int32_t rank = 0;
    for (int32_t i = 0; i < set->n_pictures; i++) {
        const double other = set->picture[i].heterogeneity;
        rank += other < h || (other == h && i < picture);
    }
    return rank;
}

bool s2e_thirds(const s2e_set *set, const float *score, double out[3])
{
    double sum[3] = { 0 };
    int32_t n[3] = { 0 }, third = 0;
    for (int32_t i = 0; i < set->n_pictures; i++)
        if (set->picture[i].heterogeneity < 0.0) return false;
    for (int32_t i = 0; i < set->n_samples; i++) {
        const int32_t picture = s2e_first_picture(&set->sample[i]);
        if (picture < 0) return false;
        if (i == 0 || picture != s2e_first_picture(&set->sample[i - 1]))
            third = (int32_t)(3 * (int64_t)rank_of(set, picture) / set->n_pictures);
        sum[third] += (double)score[i];
        n[third]++;
    }
    for (int t = 0; t < 3; t++) out[t] = n[t] ? 100.0 * sum[t] / n[t] : -1.0;
    return true;
}
