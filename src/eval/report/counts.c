/* counts.c - samples about one picture are counted together. */
#include "eval/report/results.h"

#include "eval/evaluate.h"

int32_t s2e_units_of(const s2e_set *set)
{
    int32_t n = 0;
    for (int32_t first = 0; first < set->n_samples; first = s2e_group_end(set, first)) n++;
    return n;
}

void s2e_counts_add(const s2e_task *task, const s2e_set *set, s2e_protocol protocol,
                    const s2e_verdict *verdict, double *out)
{
    const int32_t n_counts = task->counts->n(set);
    for (int32_t first = 0, last; first < set->n_samples; first = last, out += n_counts) {
        last = s2e_group_end(set, first);
        task->counts->add(set, protocol, verdict, first, last, out);
    }
}
