/* eval_progress.h - how far a run is, on standard error. */
#ifndef S2_TOOLS_EVAL_PROGRESS_H
#define S2_TOOLS_EVAL_PROGRESS_H

#include "eval/evaluate.h"
#include "progress.h"

typedef struct eval_progress {
    s2_progress_form form; /* auto only on a terminal */
    bool is_shown;
    double last_ms; /* when something was shown */
} eval_progress;

void eval_progress_start(eval_progress *progress, s2_progress_form form, bool is_quiet);
void eval_progress_show(eval_progress *progress, const s2e_progress *p);
void eval_progress_end(eval_progress *progress);

/* "pope s2prune/64 [####....] 131/200 0.8 s/it eta 0:55 acc 86.3 +- 3.1 err 0" */
void eval_progress_line(const s2e_progress *p, char *out, size_t capacity);

#endif /* S2_TOOLS_EVAL_PROGRESS_H */
