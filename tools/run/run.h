/* run.h - options of `run`, and its state. */
#ifndef S2_TOOLS_RUN_H
#define S2_TOOLS_RUN_H

#include "asking/asker.h"
#include "plan/record.h"

typedef struct run_options {
    ask_options ask; /* first: the shared rows point into it */
    s2_list prompts;
    const char *image_budgets, *image_grids, *overlay, *logits, *record;
    bool list_devices, list_architectures, list_methods, converses, asks_once, dry_run;
    const char *method;
    int32_t output, display;
    s2a_budget budget;
    const char *schema, *schema_file, *grammar, *grammar_file; /* at most one */
} run_options;

typedef struct run_job { /* everything `run` owns */
    const run_options *options;
    s2_asker asker;
    s2a_setting setting;
    s2v_budget image_budget[S2_MAX_PICTURES];
    int32_t image_side[S2_MAX_PICTURES];
    s2_record *record;          /* NULL without --record */
    s2v_constraint *constraint; /* NULL without a schema or grammar */
    s2a_answer answer;          /* the last one */
    bool is_later;              /* and it was not the first of its conversation */
    bool is_interrupted;        /* and Ctrl-C ended it */
    bool shows_thoughts;        /* which came before it, without a line end yet */
    const char *question;       /* of it; borrowed while it is presented */
    int say_errno;              /* why it could not be printed; 0: it could */
} run_job;

/* One turn about the last n_pictures added, into job->answer. Text goes to standard output as it
 * comes, unless the result is JSON. */
s2p_status s2_run_turn(run_job *job, const char *question, int32_t n_pictures, s2p_error *error);

/* What the answers follow (run_constraint.c): mistakes of use, and with the model open the rest. */
s2p_status s2_run_check_constraint(const run_options *options, s2p_error *error);
s2p_status s2_run_use_constraint(run_job *job, s2p_error *error);

/* Of a turn that failed: the sentence, and the exit code. */
int s2_run_report_error(const run_job *job, s2p_status status, const s2p_error *error);

/* The conversation on a terminal, until /quit or the end of input; the exit code. */
int s2_run_chat(run_job *job);

/* --- what a turn did (run_report.c) ---------------------------------------------------- */

/* Two lines on standard error: kept tokens; times, speed, cache. */
void s2_run_summary(const run_job *job);

/* Schema s2prune.run/1. */
void s2_run_json(const run_job *job, s2_buffer *out);

/* Whether a file of that name can hold an overlay. */
s2p_status s2_run_overlay_name(const char *source, const char *path, s2p_error *error);

#define S2_OVERLAY_NAME 4096

/* Where the overlay of a picture's tiles goes: "kept.png" -> "kept-tiles.png". */
const char *s2_run_tiles_name(const char *path, char *out, size_t capacity);

/* The overlay of picture `index` into a file (.png or .svg by name), that of its tiles, if it has any, into
 * a second one; or onto the terminal. */
int s2_run_overlay(const run_job *job, int32_t index, const char *path);
int s2_run_show(const run_job *job, int32_t index);     /* as --display says */
int s2_run_show_now(const run_job *job, int32_t index); /* in any case */

#endif /* S2_TOOLS_RUN_H */
