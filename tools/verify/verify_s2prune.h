/* verify_s2prune.h - recorded runs of S2Prune. */
#ifndef S2_TOOLS_VERIFY_S2PRUNE_H
#define S2_TOOLS_VERIFY_S2PRUNE_H

#include "verify/verify.h"

void s2_check_s2prune(const json_t *c, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_S2PRUNE_H */
