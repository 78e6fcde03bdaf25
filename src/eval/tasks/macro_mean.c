/* macro_mean.c - counts of all, then of each category: samples and the sum of their scores. */
#include "eval/tasks/macro_mean.h"

#include "eval/judging.h"

#include <stdlib.h>

/* Which pair of counts the sample belongs to; 0, that of all, when it has no category. */
static int32_t pair_of(const s2e_set *set, const s2e_sample *sample)
{
    const char *name = sample->n_categories ? sample->category[sample->n_categories - 1] : NULL;
    for (int32_t c = 0; c < set->n_categories; c++)
        if (set->category[c] == name) return c + 1;
    return 0;
}

int32_t s2e_macro_counts(const s2e_set *set) { return 2 * (set->n_categories + 1); }

void s2e_macro_add(const s2e_set *set, s2e_protocol protocol, const s2e_verdict *verdict,
                   int32_t first, int32_t last, double *out)
{
    (void)protocol;
    for (int32_t i = first; i < last; i++) {
        if (!verdict[i].rule) continue;
        const int32_t pair = pair_of(set, &set->sample[i]);
        out[0] += 1.0;
        out[1] += (double)verdict[i].score;
        if (!pair) continue;
        out[2 * pair] += 1.0;
        out[2 * pair + 1] += (double)verdict[i].score;
    }
}

double s2e_macro_value(const s2e_set *set, const double *count, bool is_macro)
{
    double sum = 0.0;
    int32_t n = 0;
    for (int32_t pair = 1; pair <= set->n_categories && is_macro; pair++) {
        if (count[2 * pair] <= 0.0) continue;
        sum += count[2 * pair + 1] / count[2 * pair];
        n++;
    }
    if (n > 0) return 100.0 * sum / n;
    return count[0] > 0.0 ? 100.0 * count[1] / count[0] : 0.0;
}

s2p_status s2e_figures_with_macro(const s2e_set *set, const s2e_verdict *verdict, const char *name,
                                  const char *macro_name, bool macro_is_headline, s2e_figures *out,
                                  s2p_error *error)
{
    const int32_t first = out->n;
    double *count = calloc((size_t)s2e_macro_counts(set), sizeof *count);
    if (!count)
        return s2_fail_memory(error, (size_t)s2e_macro_counts(set) * sizeof *count, "the figures");
    s2e_macro_add(set, S2E_OFFICIAL, verdict, 0, set->n_samples, count);
    const s2e_figure macro = { .name = macro_name,
                               .value = s2e_macro_value(set, count, true),
                               .best = 100.0,
                               .n = (int32_t)count[0],
                               .headline = macro_is_headline };
    free(count);
    TRY(s2e_figures_of_categories(set, verdict, name, out, error));
    out->figure[first].headline = !macro_is_headline;
    return s2e_figures_add(out, &macro, error);
}
