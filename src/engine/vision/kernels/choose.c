/* choose.c - which tables this machine runs, and which is best. */
#include "engine/vision/kernels/cpu.h"
#include "engine/vision/kernels/tables.h"

#include <string.h>

#define MAX_TABLES 12

/* Every table that runs here, slowest first within a precision; returns how many. */
static size_t list_tables(const s2v_kernels *table[MAX_TABLES])
{
    const s2v_cpu cpu = s2v_cpu_detect();
    size_t n = 0;
    table[n++] = &s2v_kernels_scalar;
#if defined(S2V_X86_KERNELS)
    if (cpu.avx2) table[n++] = &s2v_kernels_avx2;
#else
    (void)cpu;
#endif
    return n;
}

const s2v_kernels *s2v_kernels_at(size_t index)
{
    const s2v_kernels *table[MAX_TABLES];
    return index < list_tables(table) ? table[index] : NULL;
}

const s2v_kernels *s2v_kernels_choose(s2v_precision precision)
{
    const s2v_kernels *table[MAX_TABLES], *best = NULL;
    const size_t n = list_tables(table);
    for (int wanted = (int)precision; !best; wanted--)
        for (size_t i = 0; i < n; i++)
            if ((int)table[i]->precision == wanted) best = table[i];
    return best;
}

const s2v_kernels *s2v_kernels_find(const char *name)
{
    const s2v_kernels *table[MAX_TABLES];
    const size_t n = list_tables(table);
    for (size_t i = 0; i < n; i++)
        if (strcmp(table[i]->name, name) == 0) return table[i];
    return NULL;
}
