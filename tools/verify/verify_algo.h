/* verify_algo.h - the steps of the algorithm, each alone. */
#ifndef S2_TOOLS_VERIFY_ALGO_H
#define S2_TOOLS_VERIFY_ALGO_H

#include "verify/verify.h"

void s2_check_partition(const json_t *c, s2_verdict *verdict);
void s2_check_region(const json_t *c, s2_verdict *verdict);
void s2_check_map(const json_t *c, s2_verdict *verdict);
void s2_check_alloc(const json_t *c, s2_verdict *verdict);
void s2_check_allocator(const json_t *c, s2_verdict *verdict);
void s2_check_cells(const json_t *c, s2_verdict *verdict);
void s2_check_cell(const json_t *c, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_ALGO_H */
