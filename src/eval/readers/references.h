/* references.h - rows whose picture is another row's: `image` is then that row's index.
 *
 * The other row may come later in the file, so a reader adds every row's picture under its index and
 * asks after the last one.
 */
#ifndef S2_EVAL_REFERENCES_H
#define S2_EVAL_REFERENCES_H

#include "base/error.h"

typedef struct s2e_references s2e_references;

s2p_status s2e_references_create(s2e_references **out, s2p_error *error);
void s2e_references_free(s2e_references *references); /* NULL is fine */

/* The row called `index` has picture number `picture`. The first of equal indices counts. */
s2p_status s2e_references_add(s2e_references *references, const char *index, int32_t picture,
                              s2p_error *error);
/* -1: no row of that name has one. */
int32_t s2e_references_find(const s2e_references *references, const char *index);

#endif /* S2_EVAL_REFERENCES_H */
