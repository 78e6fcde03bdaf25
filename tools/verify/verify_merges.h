/* verify_merges.h - published methods that merge tokens. */
#ifndef S2_TOOLS_VERIFY_MERGES_H
#define S2_TOOLS_VERIFY_MERGES_H

#include "verify/verify.h"

void s2_check_visionzip_clip(const json_t *c, s2_verdict *verdict);
void s2_check_visionzip_qwen(const json_t *c, s2_verdict *verdict);
void s2_check_sparsevlm(const json_t *c, s2_verdict *verdict);
void s2_check_prumerge(const json_t *c, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_MERGES_H */
