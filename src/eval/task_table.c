/* task_table.c - the benchmarks, and what all of their sets share. */
#include "eval/task.h"

#include <stdlib.h>
#include <string.h>

extern const s2e_task task_synth;

static const s2e_task *const table[] = { &task_synth };

const s2e_task *s2e_task_at(size_t index)
{
    return index < sizeof table / sizeof *table ? table[index] : NULL;
}

const s2e_task *s2e_task_find(const char *name)
{
    for (size_t i = 0; s2e_task_at(i); i++)
        if (strcmp(s2e_task_at(i)->name, name) == 0) return s2e_task_at(i);
    return NULL;
}

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
