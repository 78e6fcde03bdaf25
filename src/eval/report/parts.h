/* parts.h - the counts a headline is computed from, picture by picture: see s2e_parts in task.h. */
#ifndef S2_EVAL_REPORT_PARTS_H
#define S2_EVAL_REPORT_PARTS_H

#include "eval/task.h"

/* Pictures with their samples, and samples without a picture: what is drawn. */
int32_t s2e_units_of(const s2e_set *set);

/* The counts of one seed, unit by unit. out: [s2e_units_of(set)][n parts], zero before. */
void s2e_parts_count(const s2e_task *task, const s2e_set *set, s2e_protocol protocol,
                     const s2e_verdict *verdict, double *out);

#endif /* S2_EVAL_REPORT_PARTS_H */
