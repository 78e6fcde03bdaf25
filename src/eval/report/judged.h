/* judged.h - the answers of one column and seed to one task, with the verdicts of all protocols. */
#ifndef S2_EVAL_REPORT_JUDGED_H
#define S2_EVAL_REPORT_JUDGED_H

#include "base/pool.h"
#include "eval/run/run_plan.h"
#include "eval/run/store.h"
#include "eval/task.h"

typedef struct s2e_judged { /* all zero: none. Free with s2e_judged_free */
    int32_t n_samples;
    const char **answer;                   /* [n_samples] in the pool; NULL: it failed */
    s2e_verdict *verdict[S2E_N_PROTOCOLS]; /* [n_samples]; a failure has the rule "failed" */
    s2_pool texts;
} s2e_judged;

/* visit NULL: none, else every row beside. S2P_EFORMAT: answers are missing, or are about other
 * samples. On failure *out is empty. */
s2p_status s2e_judged_load(s2e_store *store, const s2e_task *task, const s2e_set *set,
                           const s2e_column *column, int32_t seed, s2e_record_visit visit,
                           void *user, s2e_judged *out, s2p_error *error);
void s2e_judged_free(s2e_judged *judged);

#endif /* S2_EVAL_REPORT_JUDGED_H */
