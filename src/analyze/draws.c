/* draws.c - pictures drawn, the number computed anew from the counts of each draw. */
#include "analyze/counting.h"

#include "base/random.h"

#include <math.h>
#include <string.h>

/* What was added is forgotten. */
static double take_value(s2_counting *c)
{
    const double value = s2_counting_value(c);
    memset(c->sum, 0, (size_t)c->n_runs * (size_t)c->n_counts * sizeof *c->sum);
    return value;
}

static void draw_all(s2_counting *c, uint64_t seed, s2_draws *out)
{
    s2_random random = { seed };
    for (int32_t i = 0; i < c->n_units; i++) s2_counting_add(c, i);
    out->value = take_value(c);
    for (int32_t r = 0; r < S2_ROUNDS; r++) {
        for (int32_t i = 0; i < c->n_units; i++)
            s2_counting_add(c, (int32_t)s2_random_below(&random, (uint32_t)c->n_units));
        out->drawn[r] = take_value(c);
    }
}

s2p_status s2_draw(const s2_trials *t, int32_t setting, s2_scope scope, s2_draws *out)
{
    s2_counting c;
    out->value = (double)NAN;
    out->best = s2_counting_best(&t->part[scope.part]);
    for (int32_t r = 0; r < S2_ROUNDS; r++) out->drawn[r] = (double)NAN;
    const s2p_status st = s2_count(t, setting, scope, 1, &c);
    out->n = c.n;
    if (c.n > 0) draw_all(&c, 1 + (uint64_t)scope.part, out);
    s2_counting_free(&c);
    return st;
}
