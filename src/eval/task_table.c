/* task_table.c - the benchmarks. */
#include "eval/task.h"

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
