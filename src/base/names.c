/* names.c - a table of numbers found by FNV-1a. */
#include "base/names.h"

#include <stdlib.h>
#include <string.h>

#define MAX_NAMES (1 << 28)

static uint64_t hash_of(const char *name)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (; *name; name++) h = (h ^ (uint8_t)*name) * 0x100000001b3u;
    return h ^ (h >> 32);
}

/* Where the name stands, or the free slot where it would. n_slots is a power of two. */
static size_t slot_of(const s2_names *names, const char *name)
{
    const size_t mask = (size_t)names->n_slots - 1;
    size_t i = (size_t)hash_of(name) & mask;
    while (names->slot[i] && strcmp(names->name[names->slot[i] - 1], name) != 0) i = (i + 1) & mask;
    return i;
}

static bool grow(s2_names *names)
{
    if (names->capacity >= MAX_NAMES) return false;
    const int32_t capacity = names->capacity ? 2 * names->capacity : 32;
    const char **name = realloc(names->name, (size_t)capacity * sizeof *name);
    if (!name) return false;
    names->name = name;
    int32_t *slot = calloc(2 * (size_t)capacity, sizeof *slot);
    if (!slot) return false;
    free(names->slot);
    names->slot = slot;
    names->n_slots = 2 * capacity;
    names->capacity = capacity;
    for (int32_t i = 0; i < names->n; i++) slot[slot_of(names, name[i])] = i + 1;
    return true;
}

int32_t s2_names_find(const s2_names *names, const char *name)
{
    return names->n ? names->slot[slot_of(names, name)] - 1 : -1;
}

int32_t s2_names_add(s2_names *names, const char *name, bool *is_new)
{
    const int32_t known = s2_names_find(names, name);
    if (is_new) *is_new = known < 0;
    if (known >= 0) return known;
    if (names->n == names->capacity && !grow(names)) return -1;
    const char *copy = s2_pool_copy(&names->pool, name);
    if (!copy) return -1;
    const size_t slot = slot_of(names, name);
    names->name[names->n] = copy;
    names->slot[slot] = names->n + 1;
    return names->n++;
}

void s2_names_free(s2_names *names)
{
    free(names->name);
    free(names->slot);
    s2_pool_free(&names->pool);
    *names = (s2_names){ .n = 0 };
}
