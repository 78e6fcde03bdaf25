/* analyze_command.h - what the files of `analyze` and `paper` share. */
#ifndef S2_TOOLS_ANALYZE_COMMAND_H
#define S2_TOOLS_ANALYZE_COMMAND_H

#include "analyze/study.h"
#include "analyze/trials.h"
#include "asking/asker.h"
#include "eval/run/run_plan.h"
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
    bool is_by_layer;    /* a setting that names no layer to prune after stands for several */
} s2_analysis;

const s2_analysis *s2_analysis_at(size_t index); /* NULL past the end */
const s2_analysis *s2_analysis_find(const char *name);
const char *s2_analysis_name(size_t index);

/* Each of the *n settings that prunes and names no layer becomes one after layer 0, 1, 3, 7, ... of a decoder
 * with n_layers. S2P_EUNSUPPORTED: a method that cannot prune after them. setting: [S2A_MAX_SETTINGS]. */
s2p_status s2_analysis_spread(s2a_setting *setting, int32_t *n, int32_t n_layers, s2p_error *error);

/* A model and a benchmark, ready for analyses that share their answers.
 *
 *     open      the benchmark, and the folder of the results        no model yet
 *     collect   trials for an analysis: from the current answers, the rest from the model; or
 *               from a run, recordings or pictures, without one
 *     save      figures, tables, the page
 */

typedef struct analyze_options {
    ask_options ask;   /* first: the shared rows point into it */
    const char *tasks; /* NULL: synth, or all of the runs */
    const char *data, *methods, *budgets, *out, *shard, *images, *recorded;
    int32_t n_pictures, per_picture, seeds, predict, protocol, output, width;
    s2_list answers, runs, operands;
    s2_pair tokens;
    s2_words words; /* the command line */
} analyze_options;

typedef struct analyze_task { /* a benchmark with its data */
    const s2e_task *task;
    s2e_set set;
    int32_t n_all; /* questions about pictures, those a limit of the run leaves out included */
} analyze_task;

typedef struct analyzed_run { /* an evaluation that --run names */
    const char *folder;
    s2e_store *store;
    json_t *values;          /* what it says of itself */
    bool has[S2E_MAX_TASKS]; /* of the context's tasks */
} analyzed_run;

typedef struct analyze_context { /* all zero before open; free with s2_analyze_close */
    const analyze_options *options;
    ask_options ask; /* with the paper's size of pictures, unless another was asked for */
    s2_asker asker;
    bool is_asker_open;
    analyze_task task[S2E_MAX_TASKS]; /* of --tasks or the runs, in their order */
    int32_t n_tasks;
    const char *only; /* names with commas: the tasks that are collected next; NULL: all */
    analyzed_run run[S2_LIST_MAX];
    int32_t n_runs;
    s2e_protocol protocol; /* of the runs, or --protocol */
    char answers_path[4096];
    FILE *answers;
    int32_t shard, n_shards;
    int32_t n_seeds;   /* of a method that draws */
    char **recordings; /* [n_recordings] folders of --recorded */
    int32_t n_recordings;
    const char *step;             /* what the progress bar says */
    bool is_unwritten;            /* the failure was one of writing */
    char report[S2_STUDY_REPORT]; /* its file in the folder, once it is saved */
} analyze_context;

s2p_status s2_analyze_open(analyze_context *context, const analyze_options *options,
                           s2p_error *error);
void s2_analyze_close(analyze_context *context);

/* Of a step that failed: the sentence, and the exit code. */
int s2_analyze_report_error(const analyze_context *context, s2p_status status,
                            const s2p_error *error);

/* One part for each task. trials: all zero. *is_complete: every question has its answers; else a shard
 * was asked for. S2P_EINVAL: none of the context's tasks is in `only`, ... */
s2p_status s2_analyze_collect(analyze_context *context, const s2_analysis *analysis,
                              s2_trials *trials, bool *is_complete, s2p_error *error);

/* Figures and tables of the trials; captions say where not all questions of a benchmark were asked. */
s2p_status s2_analyze_draw(const s2_analysis *analysis, const s2_trials *trials, s2_study *study,
                           s2p_error *error);

/* Whether a task takes part: it is in `only`. */
bool s2_analyze_has(const analyze_context *context, const s2e_task *task);

/* What the report says about how it was made. */
void s2_analyze_describe(
    const analyze_context *context, const s2_trials *trials, bool has_more,
    s2_buffer *out); /* has_more: other figures of the report asked other questions */

/* Of the figures: --width. */
const char *s2_analyze_width_name(size_t index); /* NULL past the end */
double s2_analyze_width(const analyze_options *options);

/* Files below the folder, manifest.json among them; PNG and PDF of the figures where rsvg-convert is
 * installed. */
s2p_status s2_analyze_save(analyze_context *context, const s2_study *study, const char *name,
                           const char *title, const char *settings, s2p_error *error);

/* analyze_manifest.c: manifest.json (manifest.h) of what the context has used. */
s2p_status s2_analyze_manifest(analyze_context *context, const char *settings, s2p_error *error);

/* Trials from what is on the disk already: a run of `eval`, recordings of `run --record`. */

/* --run: the stores, their tasks (all, or those of --tasks) and the data. Runs of one model under one
 * protocol; a task of several runs has to be the same data in all. */
s2p_status s2_collect_run_open(analyze_context *context, s2p_error *error);

/* Their columns, all or those of --methods and --budgets, as trials. A setting that was not asked on
 * every task is left out, and a note says so. */
s2p_status s2_collect_run(analyze_context *context, s2_trials *trials, s2p_error *error);

/* --recorded: a folder of `run --record`, or one that holds such folders. */
s2p_status s2_collect_recorded(analyze_context *context, const s2_analysis *analysis,
                               s2_trials *trials, s2p_error *error);

#endif /* S2_TOOLS_ANALYZE_COMMAND_H */
