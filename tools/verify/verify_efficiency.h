/* verify_efficiency.h - rows of the paper's efficiency table. */
#ifndef S2_TOOLS_VERIFY_EFFICIENCY_H
#define S2_TOOLS_VERIFY_EFFICIENCY_H

#include "verify/verify.h"

/* A row of the table, or the tower's FLOPs beside it. */
void s2_check_efficiency(const json_t *c, s2_verdict *verdict);

/* Cases of {"what": ..., "rows": [...], "vit_flops...": ...}: a new list, NULL when it is none. */
json_t *s2_efficiency_cases(const json_t *root);

#endif /* S2_TOOLS_VERIFY_EFFICIENCY_H */
