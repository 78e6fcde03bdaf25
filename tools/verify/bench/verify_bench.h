/* verify_bench.h - goldens of the scorers: what other programs made of the same answers. */
#ifndef S2_TOOLS_VERIFY_BENCH_H
#define S2_TOOLS_VERIFY_BENCH_H

#include "verify/verify.h"

/* The cases of a file of scorer goldens, all its lists laid flat; a new reference. NULL: another kind
 * of file. */
json_t *s2_bench_cases(const json_t *root);

void s2_check_bench(const json_t *c, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_BENCH_H */
