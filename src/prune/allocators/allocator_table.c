/* allocator_table.c - every regional prior, in the order --help prints them. */
#include "prune/scaffold.h"

#include <string.h>

extern const s2p_allocator s2p_allocator_laplacian;
extern const s2p_allocator s2p_allocator_uniform;
extern const s2p_allocator s2p_allocator_random;
extern const s2p_allocator s2p_allocator_fft;
extern const s2p_allocator s2p_allocator_erank;

static const s2p_allocator *const allocators[] = {
    &s2p_allocator_laplacian, /* the paper's; NULL stands for it */
    &s2p_allocator_uniform,   &s2p_allocator_random, &s2p_allocator_fft, &s2p_allocator_erank,
};
#define N_ALLOCATORS (sizeof allocators / sizeof *allocators)

const s2p_allocator *s2p_allocator_find(const char *name)
{
    if (!name) return allocators[0];
    for (size_t i = 0; i < N_ALLOCATORS; i++)
        if (strcmp(allocators[i]->name, name) == 0) return allocators[i];
    return NULL;
}

const char *s2p_allocator_name(size_t index)
{
    return index < N_ALLOCATORS ? allocators[index]->name : NULL;
}
