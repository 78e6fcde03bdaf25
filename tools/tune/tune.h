/* tune.h - what the files of `tune` share. */
#ifndef S2_TOOLS_TUNE_H
#define S2_TOOLS_TUNE_H

#include "eval/eval_command.h"
#include "eval/tune/search.h"

#define TUNE_MAX_THRESHOLDS 8

typedef struct tune_options {
    eval_options eval; /* first: the shared rows point into it */
    const char *questions, *profile, *thresholds, *sizes;
    double max_loss, confidence; /* in points, and a probability */
    int32_t loss, unit, pictures, output;
    uint64_t seed;
} tune_options;

enum tune_loss { TUNE_AUTO, TUNE_SCORE, TUNE_AGREEMENT };
const char *tune_loss_name(size_t index); /* NULL past the end */
const char *tune_unit_name(size_t index); /* picture, question */

typedef struct tune_job { /* everything the command owns */
    const tune_options *options;
    eval_options eval; /* what `eval` would be told */
    eval_context context;
    s2e_asking asking[S2E_MAX_TASKS];
    s2e_column column[S2A_MAX_SETTINGS];
    s2e_outcomes outcomes;
    s2e_search search;
    double threshold[TUNE_MAX_THRESHOLDS];
    int32_t n_thresholds;
    s2_list settings; /* texts of --image-sizes */
    char text[S2A_MAX_SETTINGS / 4][96];
    int32_t n_ready; /* groups of the order that were asked */
    eval_progress progress;
} tune_job;

/* The result as the profile has it; a new reference, NULL without memory. */
json_t *tune_profile(const tune_job *job);

/* What was tried and what came of it, for people. */
void tune_table(const tune_job *job, s2_buffer *out);

/* As `run` takes it: "s2prune", "11%..100%". budget: S2A_BUDGET_TEXT. */
const char *tune_budget(const tune_job *job, const s2e_candidate *c, char *budget);

#endif /* S2_TOOLS_TUNE_H */
