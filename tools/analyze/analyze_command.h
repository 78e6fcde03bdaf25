/* analyze_command.h - what the files of `analyze` and `paper` share. */
#ifndef S2_TOOLS_ANALYZE_COMMAND_H
#define S2_TOOLS_ANALYZE_COMMAND_H

#include "analyze/study.h"
#include "analyze/trials.h"
#include "asking/asker.h"
#include "eval/run/store.h"
#include "eval/task.h"

#include <stdbool.h>
#include <stdio.h>

/* The analyses by name: what each asks for by itself, and who draws it. */
typedef struct s2_analysis {
    const char *name, *summary;
    const char *methods, *budgets; /* when nothing else is asked for */
    int32_t per_picture;           /* questions of a picture */
    /* Settings instead of methods times budgets; NULL: those. budgets are a list as above. out:
     * [S2A_MAX_SETTINGS]. */
    s2p_status (*settings)(const s2a_setting *base, const char *budgets, s2a_setting *out,
                           int32_t *n, s2p_error *error);
    s2p_status (*run)(const s2_trials *trials, s2_study *study, s2p_error *error);
    bool takes_pictures; /* needs no answers: pictures alone will do */
} s2_analysis;

const s2_analysis *s2_analysis_at(size_t index); /* NULL past the end */
const s2_analysis *s2_analysis_find(const char *name);
const char *s2_analysis_name(size_t index);

/* A model and a benchmark, ready for analyses that share their answers.
 *
 *     open      the benchmark, and the folder of the results        no model yet
 *     collect   trials for an analysis: from the answers at hand, the rest from the model; or
 *               from a run, recordings or pictures, without one
 *     save      figures, tables, the page
 */

typedef struct analyze_options {
    ask_options ask; /* first: the shared rows point into it */
    const char *tasks, *data, *methods, *budgets, *out, *shard, *images, *run, *recorded;
    int32_t n_pictures, per_picture, seeds, predict, output;
    s2_list answers, operands;
    s2_pair tokens;
} analyze_options;

typedef struct analyze_context { /* all zero before open; free with s2_analyze_close */
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
} analyze_context;

s2p_status s2_analyze_open(analyze_context *context, const analyze_options *options,
                           s2p_error *error);
void s2_analyze_close(analyze_context *context);

/* Of a step that failed: the sentence, and the exit code. */
int s2_analyze_report_error(const analyze_context *context, s2p_status status,
                            const s2p_error *error);

/* trials: all zero. *is_complete: every question has its answers; else a shard was asked for. */
s2p_status s2_analyze_collect(analyze_context *context, const s2_analysis *analysis,
                              s2_trials *trials, bool *is_complete, s2p_error *error);

/* What the report says about how it was made. */
void s2_analyze_describe(const analyze_context *context, const s2_trials *trials, s2_buffer *out);

/* Files below the folder, PNGs of the figures where rsvg-convert is installed. */
s2p_status s2_analyze_save(analyze_context *context, const s2_study *study, const char *title,
                           const char *settings, s2p_error *error);

/* Trials from what is on the disk already: a run of `eval`, recordings of `run --record`. */

/* --run: the store, the task (the run's own, or --tasks of several) and its data. */
s2p_status s2_collect_run_open(analyze_context *context, s2p_error *error);

/* Its columns, all or those of --methods and --budgets, as trials. */
s2p_status s2_collect_run(analyze_context *context, const s2_analysis *analysis, s2_trials *trials,
                          s2p_error *error);

/* --recorded: a folder of `run --record`, or one that holds such folders. */
s2p_status s2_collect_recorded(analyze_context *context, const s2_analysis *analysis,
                               s2_trials *trials, s2p_error *error);

/* rasterize.c: SVG to PNG by a program that may be installed. */

/* FOLDER/NAME.svg becomes FOLDER/NAME.png, two pixels for each of the SVG; false: it did not. */
bool s2_rasterize(const char *folder, const char *name);

#endif /* S2_TOOLS_ANALYZE_COMMAND_H */
