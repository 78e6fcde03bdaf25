/* verify_pipeline.h - the whole algorithm on pictures made from numbers. */
#ifndef S2_TOOLS_VERIFY_PIPELINE_H
#define S2_TOOLS_VERIFY_PIPELINE_H

#include "verify/verify.h"

void s2_check_pipeline(const json_t *c, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_PIPELINE_H */
