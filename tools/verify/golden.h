/* golden.h - golden files that are lists of cases: read one, find its kind, check it.
 *
 * A golden file becomes a list of cases, each a JSON object, whether it was written as JSON or as
 * lines of text (golden_text.c).
 */
#ifndef S2_TOOLS_GOLDEN_H
#define S2_TOOLS_GOLDEN_H

#include "verify/verify.h"

typedef void (*s2_case_check)(const json_t *c, s2_verdict *verdict);

typedef struct s2_golden_kind {
    const char *name;   /* "alloc": the stage, or the list of a method */
    const char *family; /* "algo", "s2prune" */
    s2_case_check check;
} s2_golden_kind;

typedef struct s2_golden {
    const s2_golden_kind *kind; /* NULL: nothing we know; then cases is NULL too */
    json_t *cases;              /* array of objects, owned */
} s2_golden;

/* Read a .json or .txt file. S2P_OK with kind NULL when it is well-formed but not of a kind we
 * know. */
s2p_status s2_golden_read(const char *path, s2_golden *out, s2p_error *error);
void s2_golden_free(s2_golden *golden);

/* Run `kind->check` over every case. verdict is initialized here; free it with s2_verdict_free. */
void s2_golden_check(const s2_golden *golden, const char *const arrays[2], s2_verdict *verdict);

/* Lines of text to cases. *stage: which one, borrowed from a table; NULL when the text is none of
 * ours. */
s2p_status s2_golden_text(const char *text, size_t n, const char *name, const char **stage,
                          json_t **cases, s2p_error *error);

#endif /* S2_TOOLS_GOLDEN_H */
