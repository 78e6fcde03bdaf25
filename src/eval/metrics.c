/* metrics.c - means by category, paired bootstrap over pictures, thirds by heterogeneity.
 *
 * Questions about one picture are not independent, so pictures are drawn, never
 * single questions. Every draw takes as many pictures as there are and divides by
 * the questions that came with them.
 */
#include "eval/metrics.h"

#include "base/random.h"
#include "base/statistics.h"

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

static int compare_doubles(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

s2p_status s2e_bootstrap(const s2e_set *set, const float *score, const float *other,
                         s2e_interval *out)
{
    size_t n = (size_t)set->n_pictures; /* then one for each sample without a picture */
    for (int32_t i = 0; i < set->n_samples; i++) n += set->sample[i].n_pictures == 0;
    double *sum = calloc(n + 1, sizeof *sum), *drawn = malloc(S2E_RESAMPLES * sizeof *drawn);
    int32_t *asked = calloc(n + 1, sizeof *asked);
    if (!sum || !drawn || !asked) {
        free(sum);
        free(drawn);
        free(asked);
        return S2P_ENOMEM;
    }
    double total = 0.0;
    int32_t alone = set->n_pictures;
    for (int32_t i = 0; i < set->n_samples; i++) {
        const double value = (double)score[i] - (other ? (double)other[i] : 0.0);
        const int32_t p = s2e_first_picture(&set->sample[i]), unit = p < 0 ? alone++ : p;
        sum[unit] += value;
        asked[unit]++;
        total += value;
    }
    s2_random random = { 1 };
    for (size_t r = 0; r < S2E_RESAMPLES; r++) {
        double value = 0.0;
        int64_t n_asked = 0;
        for (size_t i = 0; i < n; i++) {
            const uint32_t p = s2_random_below(&random, (uint32_t)n);
            value += sum[p];
            n_asked += asked[p];
        }
        drawn[r] = n_asked ? 100.0 * value / (double)n_asked : 0.0;
    }
    qsort(drawn, S2E_RESAMPLES, sizeof *drawn, compare_doubles);
    out->value = set->n_samples ? 100.0 * total / set->n_samples : 0.0;
    out->low = drawn[S2E_RESAMPLES / 40];
    out->high = drawn[S2E_RESAMPLES - 1 - S2E_RESAMPLES / 40];
    free(sum);
    free(drawn);
    free(asked);
    return S2P_OK;
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
