/* paper_runs.h - finished evaluations as the numbers of the paper's tables. */
#ifndef S2_TOOLS_PAPER_RUNS_H
#define S2_TOOLS_PAPER_RUNS_H

#include "base/json.h"
#include "paper/paper_tables.h"

#define S2_PAPER_MAX_RUNS 64

typedef struct s2_paper_runs {         /* all zero: none. Free with s2_paper_runs_free */
    s2_paper_scores main;              /* of any model but: */
    s2_paper_scores llava;             /* LLaVA-OneVision, whose table is another */
    json_t *values[S2_PAPER_MAX_RUNS]; /* [n] what each run is */
    int32_t n;
} s2_paper_runs;

/* Read every run and its data, from where it says they are or from data_dir (NULL: the former).
 * S2P_EINVAL: runs of two models that would share a table, or with different numbers for the same
 * cell. Free `out` in any case. */
s2p_status s2_paper_runs_load(const char *const *folder, size_t n, const char *data_dir,
                              s2_paper_runs *out, s2p_error *error);
void s2_paper_runs_free(s2_paper_runs *runs);

#endif /* S2_TOOLS_PAPER_RUNS_H */
