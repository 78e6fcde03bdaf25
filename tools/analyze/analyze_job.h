/* analyze_job.h - a model and a benchmark, ready for analyses that share their answers.
 *
 *     open      the benchmark, and the folder of the results        no model yet
 *     collect   trials for an analysis: from the answers at hand, the rest from the model; or
 *               from a run, recordings or pictures, without one
 *     save      figures, tables, the page
 */
#ifndef S2_TOOLS_ANALYZE_JOB_H
#define S2_TOOLS_ANALYZE_JOB_H

#include "analyze/analysis.h"
#include "asking/asker.h"
#include "eval/run/store.h"
#include "eval/task.h"

#include <stdio.h>

typedef struct analyze_options {
    ask_options ask; /* first: the shared rows point into it */
    const char *tasks, *data, *methods, *budgets, *out, *shard, *images, *run, *recorded;
    int32_t n_pictures, per_picture, seeds, predict, output;
    s2_list answers, operands;
    s2_pair tokens;
} analyze_options;

typedef struct analyze_job { /* all zero before open; free with s2_analyze_close */
    const analyze_options *options;
    ask_options ask; /* with the paper's size of pictures, unless another was asked for */
    s2_asker asker;
    bool is_asker_open;
    const s2e_task *task;
    s2e_set set;
    char answers_path[4096];
    FILE *answers;
    int32_t shard, n_shards;
    int32_t n_seeds;  /* of a method that draws */
    s2e_store *store; /* of --run, with what it says of itself */
    json_t *values;
    char **recordings; /* [n_recordings] folders of --recorded */
    int32_t n_recordings;
    const char *step;  /* what the progress bar says */
    bool is_unwritten; /* the failure was one of writing */
} analyze_job;

s2p_status s2_analyze_open(analyze_job *job, const analyze_options *options, s2p_error *error);
void s2_analyze_close(analyze_job *job);

/* Of a step that failed: the sentence, and the exit code. */
int s2_analyze_report_error(const analyze_job *job, s2p_status status, const s2p_error *error);

/* trials: all zero. *is_complete: every question has its answers; else a shard was asked for. */
s2p_status s2_analyze_collect(analyze_job *job, const s2_analysis *analysis, s2_trials *trials,
                              bool *is_complete, s2p_error *error);

/* What the report says about how it was made. */
void s2_analyze_describe(const analyze_job *job, const s2_trials *trials, s2_buffer *out);

/* Files below the folder, PNGs of the figures where rsvg-convert is installed. */
s2p_status s2_analyze_save(analyze_job *job, const s2_study *study, const char *title,
                           const char *settings, s2p_error *error);

#endif /* S2_TOOLS_ANALYZE_JOB_H */
