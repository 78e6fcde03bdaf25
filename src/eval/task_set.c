/* task_set.c - what the sets of all benchmarks share. */
#include "eval/task_set.h"

#include <stdlib.h>

void s2e_set_free(s2e_set *set)
{
    free(set->picture);
    free(set->question);
    json_decref(set->source);
    *set = (s2e_set){ .source = NULL };
}

void s2e_set_limit(s2e_set *set, int32_t n)
{
    if (n < 1 || n >= set->n_questions) return;
    set->n_questions = n;
    set->n_pictures = set->question[n - 1].picture + 1;
}
