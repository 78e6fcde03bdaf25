/* verify_hf_tower.h - the tower's attention. */
#ifndef S2_TOOLS_VERIFY_HF_TOWER_H
#define S2_TOOLS_VERIFY_HF_TOWER_H

#include "verify/hf_case.h"

/* An array of a block for one picture; false: it is none. */
bool s2_hf_check_tower(hf_case *c, const char *name, int32_t block, const float *data, size_t rows,
                       size_t width);

/* At the end: everything stored has been compared. */
void s2_hf_check_tower_whole(hf_case *c);

#endif /* S2_TOOLS_VERIFY_HF_TOWER_H */
