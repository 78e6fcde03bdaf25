/* arena.h - memory of one row: taken in pieces, given back all at once. */
#ifndef S2_EVAL_ARENA_H
#define S2_EVAL_ARENA_H

#include "base/error.h"

#include <stddef.h>

typedef struct s2e_arena {
    struct s2e_arena_block *last; /* the one being filled; it knows the ones before */
    size_t size, max;             /* bytes allocated since the last clear; never more than max */
    s2p_status status;            /* S2P_OK, or why something was not had: S2P_ENOMEM, S2P_ELIMIT */
} s2e_arena;

void s2e_arena_init(s2e_arena *arena, size_t max);
void s2e_arena_free(s2e_arena *arena);
void s2e_arena_clear(s2e_arena *arena); /* frees everything; one block is kept for later */

/* n bytes for any type, not set; NULL: arena->status has why. */
void *s2e_arena_take(s2e_arena *arena, size_t n);
/* A copy with a NUL behind it. */
char *s2e_arena_text(s2e_arena *arena, const void *text, size_t n);

/* The sentence for what arena->status says; what: "FILE, row 3". */
s2p_status s2e_arena_fail(const s2e_arena *arena, const char *what, s2p_error *error);

#endif /* S2_EVAL_ARENA_H */
