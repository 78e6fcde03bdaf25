/* eval_estimate.h - `eval --dry-run`: what a run would take. */
#ifndef S2_TOOLS_EVAL_ESTIMATE_H
#define S2_TOOLS_EVAL_ESTIMATE_H

#include "eval/eval_job.h"

/* Ask the first sample of every task under every setting, keep nothing, and print what all of them
 * would be. The job is prepared; its sets are cut to one sample. The exit code. */
int eval_estimate(eval_job *job);

#endif /* S2_TOOLS_EVAL_ESTIMATE_H */
