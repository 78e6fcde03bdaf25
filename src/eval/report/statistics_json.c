/* statistics_json.c - how sure a result is, as members of its object. */
#include "eval/report/documents.h"

#include <math.h>

/* JSON has no NAN. */
json_t *s2e_json_real(double value) { return isfinite(value) ? json_real(value) : json_null(); }

json_t *s2e_json_interval(const s2e_interval *i)
{
    return json_pack("{s:o, s:o, s:o}", "value", s2e_json_real(i->value), "low",
                     s2e_json_real(i->low), "high", s2e_json_real(i->high));
}

json_t *s2e_json_difference(const s2e_difference *d)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "value", s2e_json_real(d->value), "low",
                     s2e_json_real(d->low), "high", s2e_json_real(d->high), "smallest_difference",
                     s2e_json_real(d->smallest), "p", s2e_json_real(d->p), "p_holm",
                     s2e_json_real(d->p_holm));
}

json_t *s2e_json_spread(const s2e_spread *s)
{
    return json_pack("{s:o, s:o, s:o}", "deviation", s2e_json_real(s->deviation), "low",
                     s2e_json_real(s->low), "high", s2e_json_real(s->high));
}

void s2e_json_statistics(const s2e_task_results *task, const s2e_result *one, const s2e_gain *gain,
                         json_t *out)
{
    if (one->column.n_seeds > 1) {
        const s2e_spread score = s2e_spread_of(one->seed_score, one->column.n_seeds);
        const s2e_spread headline = s2e_spread_of(one->seed_headline, one->column.n_seeds);
        (void)json_object_set_new(out, "seeds_mean_score", s2e_json_spread(&score));
        (void)json_object_set_new(out, "seeds_headline", s2e_json_spread(&headline));
    }
    if (!gain->reference) return;
    (void)json_object_set_new(out, "reference_gain", s2e_json_difference(&gain->mean));
    if (task->task->counts)
        (void)json_object_set_new(out, "reference_headline_gain",
                                  s2e_json_difference(&gain->headline));
}
