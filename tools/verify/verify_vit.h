/* verify_vit.h - arrays of the vision tower, without a list of cases. */
#ifndef S2_TOOLS_VERIFY_VIT_H
#define S2_TOOLS_VERIFY_VIT_H

#include "verify/verify.h"

/* window_index_RxC.npy, keymean_X.npy. */
bool s2_golden_is_vit(const char *path);
void s2_golden_check_vit(const char *path, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_VIT_H */
