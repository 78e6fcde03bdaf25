/* verify_authors.h - the bundled model against the authors' own pipeline. */
#ifndef S2_TOOLS_VERIFY_AUTHORS_H
#define S2_TOOLS_VERIFY_AUTHORS_H

#include "verify/verify.h"

void s2_check_authors(const json_t *golden, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_AUTHORS_H */
