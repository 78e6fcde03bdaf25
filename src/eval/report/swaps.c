/* swaps.c - two columns whose counts are swapped picture by picture.
 *
 * Most pictures are answered alike, and of those that are not most counts agree: what a swap changes
 * is kept as a list.
 */
#include "eval/report/results.h"

#include "base/permutation.h"

#include <math.h>
#include <stdlib.h>

typedef struct change { /* of one count of one seed when a picture is swapped */
    size_t at;          /* in the sums */
    double by;          /* for the first column; the second gets the opposite */
} change;

typedef struct swapping {
    const s2e_task_results *task;
    s2e_protocol protocol;
    const s2e_result *column[2];
    size_t n_units, n_counts, n_seeds; /* n_seeds: a multiple of both */
    double *sum[2];                    /* [n_seeds][n_counts] of each column */
    change *changes;
    size_t *first; /* [units that differ + 1] into `changes` */
} swapping;

static double count_of(const swapping *s, int side, size_t seed, size_t unit, size_t count)
{
    const size_t own = seed % (size_t)s->column[side]->column.n_seeds;
    return s->column[side]->counts[(own * s->n_units + unit) * s->n_counts + count];
}

/* Fills the sums and, when they have memory, the lists. Returns how many units differ. */
static size_t gather(swapping *s, size_t *n_changes)
{
    size_t n_differ = 0;
    *n_changes = 0;
    for (size_t unit = 0; unit < s->n_units; unit++) {
        const size_t before = *n_changes;
        for (size_t seed = 0; seed < s->n_seeds; seed++)
            for (size_t i = 0; i < s->n_counts; i++) {
                const double a = count_of(s, 0, seed, unit, i), b = count_of(s, 1, seed, unit, i);
                const size_t at = seed * s->n_counts + i;
                if (s->changes) {
                    s->sum[0][at] += a;
                    s->sum[1][at] += b;
                }
                if (a == b) continue;
                if (s->changes) s->changes[*n_changes] = (change){ at, b - a };
                (*n_changes)++;
            }
        if (*n_changes == before) continue;
        if (s->first) s->first[n_differ] = before;
        n_differ++;
    }
    if (s->first) s->first[n_differ] = *n_changes;
    return n_differ;
}

static void swap(size_t unit, void *user)
{
    swapping *s = user;
    for (size_t i = s->first[unit]; i < s->first[unit + 1]; i++) {
        change *c = &s->changes[i];
        s->sum[0][c->at] += c->by;
        s->sum[1][c->at] -= c->by;
        c->by = -c->by;
    }
}

static double difference(void *user)
{
    const swapping *s = user;
    double sum = 0.0;
    for (size_t seed = 0; seed < s->n_seeds; seed++)
        for (int side = 0; side < 2; side++) {
            const double value = s->task->task->counts->value(s->task->set, s->protocol,
                                                              s->sum[side] + seed * s->n_counts);
            sum += side ? -value : value;
        }
    return sum / (double)s->n_seeds;
}

static size_t common_multiple(size_t a, size_t b)
{
    size_t n = a;
    while (n % b != 0) n += a;
    return n;
}

s2p_status s2e_swap_test(const s2e_task_results *task, s2e_protocol protocol, const s2e_result *one,
                         const s2e_result *other, double *p)
{
    swapping s = { .task = task,
                   .protocol = protocol,
                   .column = { one, other },
                   .n_units = (size_t)s2e_units_of(task->set),
                   .n_counts = (size_t)task->task->counts->n(task->set),
                   .n_seeds = common_multiple((size_t)one->column.n_seeds,
                                              (size_t)other->column.n_seeds) };
    *p = (double)NAN;
    if (s.n_seeds > S2E_MAX_COMMON_SEEDS) return S2P_OK;
    size_t n_changes;
    const size_t n_differ = gather(&s, &n_changes), n_sums = s.n_seeds * s.n_counts + 1;
    s.sum[0] = calloc(2 * n_sums, sizeof *s.sum[0]);
    s.changes = calloc(n_changes + 1, sizeof *s.changes);
    s.first = calloc(n_differ + 1, sizeof *s.first);
    const bool has_memory = s.sum[0] && s.changes && s.first;
    if (has_memory) {
        s.sum[1] = s.sum[0] + n_sums;
        (void)gather(&s, &n_changes);
        const s2_swaps swaps = { swap, difference, &s, n_differ,
                                 1e-9 * (1.0 + fabs(difference(&s))) };
        *p = s2_permute(&swaps).p;
    }
    free(s.sum[0]);
    free(s.changes);
    free(s.first);
    return has_memory ? S2P_OK : S2P_ENOMEM;
}
