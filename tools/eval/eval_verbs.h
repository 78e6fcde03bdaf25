/* eval_verbs.h - `eval merge`, `eval status`, `eval export`. */
#ifndef S2_TOOLS_EVAL_VERBS_H
#define S2_TOOLS_EVAL_VERBS_H

#include "eval/eval_job.h"

/* The first operand is the verb; the exit code. */
int eval_verb(const eval_options *options);

#endif /* S2_TOOLS_EVAL_VERBS_H */
