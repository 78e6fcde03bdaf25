/* eval_progress.h - how far a run is, on standard error. */
#ifndef S2_TOOLS_EVAL_PROGRESS_H
#define S2_TOOLS_EVAL_PROGRESS_H

#include "eval/evaluate.h"

enum eval_progress_kind { EVAL_PROGRESS_AUTO, EVAL_PROGRESS_JSON, EVAL_PROGRESS_NONE };
const char *eval_progress_name(size_t index); /* NULL past the end */

typedef struct eval_progress {
    enum eval_progress_kind kind;
    bool is_terminal, is_shown;
    double last_ms; /* when something was shown */
} eval_progress;

void eval_progress_start(eval_progress *progress, enum eval_progress_kind kind);
void eval_progress_show(eval_progress *progress, const s2e_progress *p);
void eval_progress_end(eval_progress *progress);

/* "pope s2prune/64 [####....] 131/200 0.8 s/it eta 0:55 acc 86.3 +- 3.1 err 0" */
void eval_progress_line(const s2e_progress *p, char *out, size_t capacity);

#endif /* S2_TOOLS_EVAL_PROGRESS_H */
