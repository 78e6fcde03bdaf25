/* grader.h - answers for a benchmark's own grader: a program of theirs that asks a large model. */
#ifndef S2_EVAL_REPORT_GRADER_H
#define S2_EVAL_REPORT_GRADER_H

#include "base/buffer.h"
#include "eval/run/run_plan.h"
#include "eval/run/store.h"
#include "eval/task.h"

/* {"v1_0": "text", ...} in the order of the data, one column and seed; a failure is an empty text.
 * S2P_EFORMAT: an answer is not of the data. */
s2p_status s2e_grader_write(s2e_store *store, const s2e_task *task, const s2e_set *set,
                            const s2e_column *column, int32_t seed, s2_buffer *out,
                            s2p_error *error);

#endif /* S2_EVAL_REPORT_GRADER_H */
