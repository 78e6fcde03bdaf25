/* arena.c - blocks of growing size, the newest one filled; clearing keeps the newest if it is small. */
#include "eval/readers/arena.h"

#include <stdlib.h>
#include <string.h>

#define FIRST_BLOCK ((size_t)16 << 10)
#define KEPT_BLOCK ((size_t)1 << 20) /* a larger one goes back after its row */
#define ALIGNMENT sizeof(max_align_t)

typedef struct s2e_arena_block {
    struct s2e_arena_block *before;
    size_t used, capacity;
    max_align_t data[];
} s2e_arena_block;

void s2e_arena_init(s2e_arena *arena, size_t max) { *arena = (s2e_arena){ .max = max }; }

void s2e_arena_free(s2e_arena *arena)
{
    while (arena->last) {
        s2e_arena_block *block = arena->last;
        arena->last = block->before;
        free(block);
    }
    arena->size = 0;
}

void s2e_arena_clear(s2e_arena *arena)
{
    s2e_arena_block *kept = arena->last;
    if (kept && kept->capacity <= KEPT_BLOCK) {
        arena->last = kept->before;
        kept->before = NULL;
        kept->used = 0;
    } else {
        kept = NULL;
    }
    s2e_arena_free(arena);
    arena->last = kept;
    arena->status = S2P_OK;
}

void *s2e_arena_take(s2e_arena *arena, size_t n)
{
    if (arena->status != S2P_OK) return NULL;
    if (n > arena->max - arena->size) {
        arena->status = S2P_ELIMIT;
        return NULL;
    }
    const size_t rounded = n / ALIGNMENT * ALIGNMENT + (n % ALIGNMENT ? ALIGNMENT : 0);
    s2e_arena_block *block = arena->last;
    if (!block || rounded > block->capacity - block->used) {
        size_t capacity = block && block->capacity < KEPT_BLOCK ? 2 * block->capacity : FIRST_BLOCK;
        if (block && block->capacity >= KEPT_BLOCK) capacity = KEPT_BLOCK;
        if (capacity < rounded) capacity = rounded;
        block = malloc(sizeof *block + capacity);
        if (!block) {
            arena->status = S2P_ENOMEM;
            return NULL;
        }
        *block = (s2e_arena_block){ .before = arena->last, .capacity = capacity };
        arena->last = block;
    }
    void *taken = (uint8_t *)block->data + block->used;
    block->used += rounded;
    arena->size += n;
    return taken;
}

char *s2e_arena_text(s2e_arena *arena, const void *text, size_t n)
{
    char *copy = n < SIZE_MAX ? s2e_arena_take(arena, n + 1) : NULL;
    if (!copy) return NULL;
    if (n) memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

s2p_status s2e_arena_fail(const s2e_arena *arena, const char *what, s2p_error *error)
{
    if (arena->status == S2P_ELIMIT)
        return s2_fail(error, S2P_ELIMIT, "%s: its values have more than %zu bytes, the limit",
                       what, arena->max);
    return s2_fail(error, S2P_ENOMEM, "%s: out of memory after %zu bytes", what, arena->size);
}
