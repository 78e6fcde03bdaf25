/* verify_tiny.h - the bundled model, from picture to answers. */
#ifndef S2_TOOLS_VERIFY_TINY_H
#define S2_TOOLS_VERIFY_TINY_H

#include "verify/verify.h"

void s2_check_tiny(const json_t *c, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_TINY_H */
