/* sources.h - where trials come from: a benchmark, a model, earlier answers, a run, pictures, recordings. */
#ifndef S2_ANALYZE_SOURCES_H
#define S2_ANALYZE_SOURCES_H

#include "analyze/trials.h"
#include "ask/ask.h"
#include "ask/tower_cost.h"
#include "eval/run/run_plan.h"
#include "eval/run/store.h"
#include "eval/task.h"

#include <stdio.h>

/* source_task.c: the questions of a benchmark, for an analysis. */

typedef struct s2_source_questions { /* which questions of a benchmark; all borrowed */
    const s2e_task *task;
    const s2e_set *set;
    s2e_protocol protocol;           /* whose prompts and scoring */
    int32_t per_picture, n_pictures; /* 0: all */
    int32_t n_all;                   /* questions of the benchmark; 0: those of the set */
} s2_source_questions;

/* A part with up to `per_picture` questions of the first `n_pictures` pictures. Which ones changes
 * from picture to picture, so that every kind of question comes up about as often. The set is
 * borrowed as long as the trials live: pictures are read from it, also those inside tables. */
s2p_status s2_source_task(const s2_source_questions *questions, s2_trials *out, s2p_error *error);

/* 0 to 1, of one answer by itself: where a scorer draws, the last word is s2_trials_judge's. */
float s2_source_score(const s2_trials *trials, int32_t question, const char *answer);

/* source_model.c: ask a model what no earlier answer says. */
typedef struct s2_model_watch { /* callbacks, NULL: none */
    s2p_status (*filled)(const s2_trials *trials, int32_t setting, int32_t question, void *user,
                         s2p_error *error); /* not S2P_OK ends the work */
    void (*progress)(double done, void *user);
    void *user;
    void (*failed)(const char *why, void *user); /* a method of the user's own, for one question */
} s2_model_watch;

typedef struct s2_source_model { /* all borrowed */
    s2v_session *session;        /* one that keeps pictures and prefixes is fastest */
    const s2v_image_options *image_options;
    int32_t predict; /* most tokens of an answer; 0: as many as the protocol of the part has */
    int32_t n_vocab; /* of the model; needed where a setting has several budgets */
    int32_t shard, n_shards;    /* only pictures with index % n_shards == shard; n_shards 0: all */
    const s2_tower_size *tower; /* for the FLOPs of a trial; NULL: they are not known */
    const s2_model_watch *watch;
} s2_source_model;

/* Fill every trial that is not done yet, with the answers of all trials->n_seeds runs and the tokens of
 * the first; then s2_trials_judge. */
s2p_status s2_source_ask(const s2_source_model *source, s2_trials *trials, s2p_error *error);

/* source_answers.c: answers given earlier, a line of JSON each.
 *
 *     {"model":"m.gguf","run":"3fa9c1","task":"synth","image":"images/0000.jpg","question":"...","setting":
 *      "s2prune/64/0/laplacian/erc","answer":"red","score":1.0,"tokens":[24,24],"kept":[3,17]}
 *
 * Of a method that draws, "answers" has those of all runs. Lines of `s2prune eval --samples` do as well;
 * which tokens were kept they do not say.
 */

/* Fill the trials that `path` has answers for: the same model, run, task, picture, question and
 * setting. Then s2_trials_judge. Other lines do not matter. *n_filled, *n_bad: lines used, and lines that are no answers (the last
 * one of a run that was stopped). S2P_OK when there is no such file. */
s2p_status s2_answers_read(const char *path, s2_trials *trials, int32_t *n_filled, int32_t *n_bad,
                           s2p_error *error);

/* The same for bytes in memory. S2P_ENOMEM. */
s2p_status s2_answers_parse(const char *text, size_t n, s2_trials *trials, int32_t *n_filled,
                            int32_t *n_bad);

/* Open to add lines; a line that was cut off is ended first. NULL: error. */
FILE *s2_answers_open(const char *path, s2p_error *error);
s2p_status s2_answers_append(FILE *file, const s2_trials *trials, int32_t setting, int32_t question,
                             s2p_error *error);

/* source_run.c: the answers of an evaluation (s2prune eval), from its store. */

/* The columns of a run as settings, in its order. values: those of the store. column: which column
 * each is. out, column: [S2A_MAX_SETTINGS]. S2P_EFORMAT: a method this program does not know. */
s2p_status s2_source_run_settings(const json_t *values, s2a_setting *out, s2e_column *column,
                                  int32_t *n, s2p_error *error);

/* Fill the trials of one setting on one part, whose questions are those of s2_source_task on the run's
 * data, from a column of the run: the answers of all its seeds, the kept tokens of the first.
 * S2P_EFORMAT: answers are missing, or of other data. Then s2_trials_judge. */
s2p_status s2_source_run(s2e_store *store, const s2e_column *column, int32_t part, int32_t setting,
                         s2_trials *trials, s2p_error *error);

/* source_pictures.c: pictures alone: methods that look at pixels or at nothing, without a model. */

/* A trial for each picture file and setting, without a question or an answer. S2P_EINVAL: a setting that needs a model.
 * progress: NULL, or called with 0 to 1. */
s2p_status s2_source_pictures(const char *const *file, int32_t n_files, s2p_grid grid,
                              const s2a_setting *setting, int32_t n_settings,
                              void (*progress)(double done, void *user), void *user, s2_trials *out,
                              s2p_error *error);

/* What a setting keeps of the view: its signals and its picture count, the rest is the setting's.
 * For methods of one stage. */
s2p_status s2_source_choose(const s2p_view *seen, s2p_grid grid, s2p_plan *plan, s2_trials *trials,
                            int32_t setting, int32_t question, s2p_error *error);

/* H_str of a picture for side x side regions. S2P_EUNSUPPORTED: too small for them. */
s2p_status s2_measure_heterogeneity(const s2p_image *picture, s2p_grid grid, int32_t side,
                                    double *out);

/* source_recorded.c: signals written down earlier: methods choose again from them, without a model.
 *
 * Who reads the files is not this file's business: a recording is a view with its signals.
 */

typedef struct s2_recording { /* borrowed until the next is opened */
    s2p_view view;            /* signals and picture; all else is the setting's */
    s2p_grid grid;
    const char *name;
} s2_recording;

typedef struct s2_recordings {
    int32_t n;
    s2p_status (*open)(void *user, int32_t index, s2_recording *out, s2p_error *error);
    void (*progress)(double done, void *user); /* NULL: not reported */
    void *user;
} s2_recordings;

/* A trial for each recording and setting, without a question or an answer. S2P_EINVAL: a recording
 * lacks what a setting needs, or the method prunes at more than one stage. */
s2p_status s2_source_recorded(const s2_recordings *recordings, const s2a_setting *setting,
                              int32_t n_settings, s2_trials *out, s2p_error *error);

#endif /* S2_ANALYZE_SOURCES_H */
