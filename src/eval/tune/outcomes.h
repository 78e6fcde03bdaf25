/* outcomes.h - what every question came to with every setting that was asked, and with settings that follow
 * from those: an answer that is asked again with more tokens is that of the larger budget, token for
 * token, so what `11%..100%` would have answered is known from the answers with 11 % and with all.
 *
 * Questions about one picture are a group: groups are independent, questions of one are not.
 */
#ifndef S2_EVAL_TUNE_OUTCOMES_H
#define S2_EVAL_TUNE_OUTCOMES_H

#include "eval/evaluate.h"

typedef struct s2e_outcome { /* of a question with one budget */
    bool is_there;
    double score;              /* 0 to 1 */
    double confidence;         /* lowest probability of the first tokens; 0: unknown, 1: no token */
    double tokens;             /* visual tokens prefilled */
    double flops, tower_flops; /* 0: unknown */
    char *answer;              /* owned; NULL: it failed */
} s2e_outcome;

typedef struct s2e_group { /* questions [first, last) of all tasks together */
    int32_t task, first, last;
    int64_t number; /* in its task */
} s2e_group;

typedef struct s2e_outcomes { /* all zero: empty. Free with s2e_outcomes_free */
    const s2e_asking *task;   /* [n_tasks] borrowed */
    int32_t n_tasks;
    s2e_protocol protocol;
    const s2e_column *column; /* [n_columns] borrowed; column 0 is what is compared with */
    int32_t n_columns;
    bool by_agreement; /* loss is another answer than that of column 0, not a lower score */
    int32_t *first;    /* [n_tasks + 1] the first question of each */
    s2e_group *group;  /* [n_groups] */
    int32_t n_groups, largest_group;
    s2e_outcome *at; /* [n_columns][n_questions] */
    int32_t n_questions;
} s2e_outcomes;

/* out: task, protocol, column and by_agreement are set. */
s2p_status s2e_outcomes_start(s2e_outcomes *out, s2p_error *error);
void s2e_outcomes_free(s2e_outcomes *out);

/* Take in the answers of a store that are new. S2P_EFORMAT: one has no probabilities. */
s2p_status s2e_outcomes_read(s2e_outcomes *out, s2e_store *store, s2p_error *error);

/* Whether a column has answered a group. */
bool s2e_outcomes_has(const s2e_outcomes *o, int32_t column, int32_t group);

typedef struct s2e_plan_of_budgets { /* what a candidate does: columns of one method */
    int32_t column, then; /* then: asked where the confidence is below the threshold; -1: never */
    double min_confidence;
    bool resizes; /* the second budget is another picture, and the tower runs for it */
} s2e_plan_of_budgets;

typedef struct s2e_spent { /* of a question, or sums of many */
    double loss;           /* against column 0: -1 to 1 */
    double tokens, flops;  /* all attempts and the tower; flops 0: unknown */
    bool is_again;         /* asked with both */
} s2e_spent;

/* Of question q, whose columns are there. */
s2e_spent s2e_outcomes_spent(const s2e_outcomes *o, const s2e_plan_of_budgets *plan, int32_t q);

#endif /* S2_EVAL_TUNE_OUTCOMES_H */
