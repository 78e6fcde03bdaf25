/* selections.h - which tokens to keep, line by line: the file of a method `file:PATH`.
 *
 *     {"id": "12", "kept": [0, 3, 17]}
 *     {"id": "12", "kept": [0, 3, 17, 18], "budget": 4, "task": "pope", "picture": 0, "part": 0}
 *
 * One JSON object per line; empty lines are ignored. `id` is the name of a sample, or "*" for all that
 * have no line of their own. Without `budget` and `task`, a line applies to every budget and task.
 */
#ifndef S2_ASK_SELECTIONS_H
#define S2_ASK_SELECTIONS_H

#include "base/error.h"

#include <stdbool.h>

typedef struct s2a_selections s2a_selections;

typedef struct s2a_selection { /* a line */
    const char *id, *task;     /* "*": every sample; "": every task */
    int32_t picture, part;
    int32_t budget; /* 0: every budget */
    int32_t n_kept;
    const int32_t *kept; /* [n_kept] >= 0, ascending */
    int32_t line;        /* from 1 */
} s2a_selection;

/* `name` begins error messages. S2P_EFORMAT: a line is malformed, is not ascending, or repeats another
 * one; S2P_ELIMIT: too many lines. Free *out with s2a_selections_free. */
s2p_status s2a_selections_parse(const void *bytes, size_t n, const char *name, s2a_selections **out,
                                s2p_error *error);
void s2a_selections_free(s2a_selections *selections); /* NULL is fine */

/* The line for this grid: one with the id before "*", then with the task, then with the budget. NULL:
 * none. */
const s2a_selection *s2a_selections_find(const s2a_selections *selections, const char *task,
                                         const char *id, int32_t picture, int32_t part,
                                         int32_t budget);

/* Whether a line keeps this many; if not, *other is what the first line keeps. */
bool s2a_selections_have(const s2a_selections *selections, int32_t n_kept, int32_t *other);

#endif /* S2_ASK_SELECTIONS_H */
