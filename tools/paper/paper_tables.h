/* paper_tables.h - Tables 1, 2 and S2 with our numbers: from finished evaluations, or answers at hand. */
#ifndef S2_TOOLS_PAPER_TABLES_H
#define S2_TOOLS_PAPER_TABLES_H

#include "paper/printed.h"

#define S2_SCORE_LABEL 96u

typedef struct s2_paper_score {  /* a setting on a benchmark */
    char label[S2_SCORE_LABEL];  /* "s2prune[K=10]" */
    char title[S2_SCORE_LABEL];  /* what people read */
    char group[S2A_BUDGET_TEXT]; /* "64"; S2_PRINTED_FULL: every token */
    char task[48];
    double value;      /* in the unit of the paper's tables */
    int32_t n_samples; /* questions behind it */
} s2_paper_score;

typedef struct s2_paper_scores { /* of one model; all zero: none. Free with s2_paper_scores_free */
    s2_paper_score *score;
    int32_t n, capacity;
    char model[128], kind[160]; /* name of the file; see asking/model_kind.h */
    bool has_paper_size;        /* pictures as the paper shows them */
    bool has_paper_protocol;
} s2_paper_scores;

void s2_paper_scores_free(s2_paper_scores *scores);
s2p_status s2_paper_scores_add(s2_paper_scores *scores, const s2_paper_score *score,
                               s2p_error *error);

/* Every column of a run. `value` of a benchmark counts in its table's unit: MME's points, else
 * percent. */
s2p_status s2_paper_scores_of(const s2e_results *results, s2_paper_scores *scores,
                              s2p_error *error);

/* Does the paper's number of questions stand behind it? */
bool s2_paper_is_whole(const s2_paper_score *score);

/* Why the numbers cannot be compared with those of the table; NULL: they can. */
const char *s2_paper_why_not(const s2_printed_table *printed, const s2_paper_scores *scores);

/* The table with our numbers, the printed ones, and where both are of the same model and data the
 * difference; then the command for the benchmarks that are missing, with the files of `model` (NULL: no
 * command). scores may be NULL. *n_cells: filled. */
s2p_status s2_paper_table_add(const s2_printed_table *printed, const s2_paper_scores *scores,
                              const char *model, s2_study *study, int32_t *n_cells,
                              s2p_error *error);

#endif /* S2_TOOLS_PAPER_TABLES_H */
