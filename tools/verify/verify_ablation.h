/* verify_ablation.h - allocators of the ablation. */
#ifndef S2_TOOLS_VERIFY_ABLATION_H
#define S2_TOOLS_VERIFY_ABLATION_H

#include "verify/verify.h"

void s2_check_ablation(const json_t *c, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_ABLATION_H */
