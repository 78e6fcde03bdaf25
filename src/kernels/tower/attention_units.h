/* attention_units.h - what a unit of attention's work is, the same for every variant. */
#ifndef S2_ENGINE_TOWER_ATTENTION_UNITS_H
#define S2_ENGINE_TOWER_ATTENTION_UNITS_H

#include "kernels/tower/kernels.h"

typedef struct attention_unit {
    int32_t which, head; /* sequence and head as one number; the head */
    int32_t first, n;    /* rows of the sequence */
    int32_t begin, end;  /* queries of this unit, from the first row on */
} attention_unit;

static inline attention_unit unit_of(const s2v_attention *a, int32_t unit)
{
    const int32_t split = unit % a->n_splits, which = unit / a->n_splits;
    const int32_t *start = a->start + which / a->n_heads;
    attention_unit u = { .which = which, .head = which % a->n_heads, .first = start[0] };
    u.n = start[1] - start[0];
    u.begin = (int32_t)((int64_t)u.n * split / a->n_splits);
    u.end = (int32_t)((int64_t)u.n * (split + 1) / a->n_splits);
    return u;
}

static inline int32_t longest_sequence(const s2v_attention *a)
{
    int32_t longest = 0;
    for (int32_t i = 0; i < a->n_sequences; i++)
        if (a->start[i + 1] - a->start[i] > longest) longest = a->start[i + 1] - a->start[i];
    return longest;
}

#endif /* S2_ENGINE_TOWER_ATTENTION_UNITS_H */
