/* evaluate.h - ask every question of some tasks under several settings, and keep the answers.
 *
 *     for each task, picture, setting, seed, question
 *
 * Pictures come first: with a session that keeps the rows of a picture the vision tower runs once
 * for each, and with one that keeps prefixes the decoder reads a pruned picture once for each
 * setting, whatever the number of questions. What the store has already is not asked again.
 */
#ifndef S2_EVAL_EVALUATE_H
#define S2_EVAL_EVALUATE_H

#include "ask/ask.h"
#include "ask/regions.h"
#include "ask/tower_cost.h"
#include "eval/run/run_plan.h"
#include "eval/run/run_folder.h"
#include "eval/run/store.h"
#include "eval/task.h"

typedef struct s2e_asking { /* a task of a evaluation; borrowed */
    const s2e_task *task;
    const s2e_set *set;
    int32_t predict; /* most tokens of an answer */
} s2e_asking;

typedef struct s2e_progress { /* of this process; answers that are safe alone */
    const char *task;         /* of the last answer, with its method and budget */
    const char *method, *budget;
    int64_t done, todo;    /* answers in the store now, and when this shard is complete */
    int64_t n_now;         /* of these, since the evaluation began */
    int64_t n_failures;    /* of n_now */
    double right, n_right; /* scores of this task, method and budget since then, and their number */
    double seconds;        /* since the evaluation began */
} s2e_progress;

typedef struct s2e_watch {
    /* Answers became safe; NULL: not reported. */
    void (*progress)(const s2e_progress *progress, void *user);
    /* Whether to stop; asked between answers and tokens. NULL: never. */
    bool (*cancelled)(void *user);
    void *user;
} s2e_watch;

typedef struct s2e_evaluation { /* all borrowed */
    s2v_engine *engine; /* forgets a picture when its questions are over; NULL: it does not */
    s2v_session *session;
    const s2v_image_options *image_options; /* of every picture */
    const s2a_boxes *boxes;                 /* of every sample's pictures, or NULL */
    s2a_mask_reader read_mask;
    void *mask_user;
    int32_t thought_budget; /* tokens of thoughts before an answer; 0: no thoughts */
    const s2e_asking *task; /* [n_tasks] */
    int32_t n_tasks;
    const s2a_setting *setting; /* [n_settings]; their seeds are the evaluation's own */
    int32_t n_settings;
    int32_t n_seeds; /* runs of a method that draws */
    s2e_protocol protocol;
    s2e_shard shard;
    s2e_store *store;
    int32_t n_vocab;       /* of the model */
    bool keeps_logprobs;   /* write down how sure each token of an answer was */
    bool keeps_selections; /* write down which tokens were kept */
    bool is_bare;          /* the store names methods as older programs did: see s2e_column_of */
    int32_t jpeg_quality;  /* pictures take a detour through a JPEG of it; 0: none */
    const s2_tower_size *tower; /* for its share of the FLOPs; NULL: not known */
    s2e_watch watch;
    /* NULL, or which groups of the shard are asked about: samples that share a picture, counted in
     * each task. */
    bool (*wants)(int32_t task, int64_t group, void *user);
    void *wants_user;
} s2e_evaluation;

/* Answers this shard of the run has when it is complete. */
int64_t s2e_evaluation_answers(const s2e_evaluation *evaluation);

/* All that is missing. A sample whose picture cannot be read, or that the model refuses, is a row
 * with a failure, and the evaluation continues; a model that refuses the very first is a mistake of the
 * evaluation's and ends it. S2P_EIO: the store cannot be written. S2P_ECANCELLED: as requested. In either
 * case what was reported as progress is in the store. */
s2p_status s2e_evaluate(const s2e_evaluation *evaluation, s2p_error *error);

/* Where the protocol ends an answer before its most tokens: after how many of these; below 0: it goes on.
 * The release has two rules: the task's own end of an answer, and no third repetition. The second is for
 * tasks with room to repeat: an answer of few tokens may well be 777. */
int32_t s2e_ends_after(const s2e_task *task, s2e_protocol protocol, const int32_t *token,
                       int32_t n_tokens, const char *text);

/* Whether it looks for a third repetition. */
bool s2e_looks_for_repeats(const s2e_task *task, s2e_protocol protocol);

/* The end of the samples that share the first picture of sample `first`. */
int32_t s2e_group_end(const s2e_set *set, int32_t first);

#endif /* S2_EVAL_EVALUATE_H */
