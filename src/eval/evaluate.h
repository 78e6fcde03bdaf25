/* evaluate.h - ask every question of a set under several settings.
 *
 * Pictures are the outer loop: the vision tower runs once for each, whatever the number of
 * questions and settings.
 */
#ifndef S2_EVAL_EVALUATE_H
#define S2_EVAL_EVALUATE_H

#include "ask/ask.h"
#include "eval/task.h"

typedef struct s2e_result {
    s2a_setting setting;
    int32_t n_seeds; /* runs; one unless the method draws */
    float *score;    /* [n_samples], mean over the seeds; free with s2e_results_free */
    double image_tokens, prompt_ms, kv_bytes; /* mean per question: kept, prefill, visual cache */
    double seconds; /* of all its questions; the tower counts for the first setting */
} s2e_result;

typedef struct s2e_answer { /* one answer, for whoever keeps them */
    const s2a_setting *setting;
    int32_t seed, sample;
    const char *text;
    float score;
} s2e_answer;

typedef struct s2e_watch { /* callbacks, NULL: none. Not S2P_OK ends the evaluation */
    s2p_status (*answered)(const s2e_answer *answer, void *user);
    void (*progress)(int32_t pictures_done, void *user);
    void *user;
} s2e_watch;

typedef struct s2e_job {                    /* all borrowed */
    s2v_session *session;                   /* best one that keeps the rows of a picture */
    const s2v_image_options *image_options; /* of every picture */
    const s2e_task *task;
    const s2e_set *set;
    const s2a_setting *setting; /* [n_settings]; their seeds are the job's own */
    int32_t n_settings;
    int32_t n_seeds; /* runs of a method that draws; their mean counts */
    int32_t predict; /* most tokens of an answer */
    const s2e_watch *watch;
} s2e_job;

/* result: [n_settings] out, all or nothing. */
s2p_status s2e_evaluate(const s2e_job *job, s2e_result *result, s2p_error *error);
void s2e_results_free(s2e_result *result, int32_t n);

#endif /* S2_EVAL_EVALUATE_H */
