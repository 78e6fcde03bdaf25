/* swaps.c - what if a picture had gone the other way round? Counts of two settings, swapped by picture. */
#include "analyze/counting.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct unit { /* a picture whose counts differ */
    int32_t part, index;
} unit;

typedef struct swapping {
    s2_counting *side[2]; /* [n_parts] */
    int32_t n_parts;
    unit *unit; /* [n_units] */
    size_t n_units;
} swapping;

static size_t row_of(const s2_counting *c) { return (size_t)c->n_runs * (size_t)c->n_counts; }

static void swap(size_t index, void *user)
{
    const swapping *s = user;
    s2_counting *a = &s->side[0][s->unit[index].part], *b = &s->side[1][s->unit[index].part];
    const size_t n = row_of(a);
    double *x = a->count + (size_t)s->unit[index].index * n;
    double *y = b->count + (size_t)s->unit[index].index * n;
    for (size_t i = 0; i < n; i++) {
        const double before = x[i];
        a->sum[i] += y[i] - x[i];
        b->sum[i] += x[i] - y[i];
        x[i] = y[i];
        y[i] = before;
    }
}

/* Of Acc.: the mean over the parts that have questions, each as a share of its largest possible. */
static double difference(void *user)
{
    const swapping *s = user;
    double sum = 0.0;
    int32_t n = 0;
    for (int32_t p = 0; p < s->n_parts; p++) {
        const s2_counting *a = &s->side[0][p], *b = &s->side[1][p];
        if (a->n == 0) continue;
        sum += (s2_counting_value(a) - s2_counting_value(b)) / s2_counting_best(a->part);
        n++;
    }
    return n ? sum / n : (double)NAN;
}

static s2p_status gather(const s2_trials *t, int32_t setting, int32_t other, int32_t part,
                         swapping *s)
{
    s2_counting *a = &s->side[0][part], *b = &s->side[1][part];
    const s2_scope scope = { part, S2_ALL_CATEGORIES, NULL };
    const int32_t n_runs = t->n_seeds; /* the same rows for one that draws and one that does not */
    TRY(s2_count(t, setting, scope, n_runs, a));
    TRY(s2_count(t, other, scope, n_runs, b));
    const size_t n = row_of(a);
    for (int32_t i = 0; i < a->n_units; i++) {
        s2_counting_add(a, i);
        s2_counting_add(b, i);
        if (memcmp(a->count + (size_t)i * n, b->count + (size_t)i * n, n * sizeof *a->count) != 0)
            s->unit[s->n_units++] = (unit){ part, i };
    }
    return S2P_OK;
}

s2p_status s2_rate_test(const s2_trials *t, int32_t setting, int32_t other, s2_test *out)
{
    const size_t n = (size_t)t->n_parts + 1;
    swapping s = { { calloc(n, sizeof **s.side), calloc(n, sizeof **s.side) },
                   t->n_parts,
                   calloc((size_t)t->n_pictures + 1, sizeof *s.unit),
                   0 };
    *out = (s2_test){ (double)NAN, (double)NAN };
    s2p_status st = s.side[0] && s.side[1] && s.unit ? S2P_OK : S2P_ENOMEM;
    for (int32_t p = 0; p < t->n_parts && st == S2P_OK; p++) st = gather(t, setting, other, p, &s);
    if (st == S2P_OK) {
        const double tolerance = 1e-9 * (1.0 + fabs(difference(&s)));
        *out = s2_permute(&(s2_swaps){ swap, difference, &s, s.n_units, tolerance });
    }
    for (int32_t p = 0; p < t->n_parts; p++)
        for (int side = 0; side < 2; side++)
            if (s.side[side]) s2_counting_free(&s.side[side][p]);
    free(s.side[0]);
    free(s.side[1]);
    free(s.unit);
    return st;
}
