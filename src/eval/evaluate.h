/* evaluate.h - ask every question of a set under several settings.
 *
 * Pictures are the outer loop: the vision tower runs once for each, whatever the number of
 * questions and settings.
 */
#ifndef S2_EVAL_EVALUATE_H
#define S2_EVAL_EVALUATE_H

#include "eval/task.h"
#include "s2vlm.h"

typedef struct s2e_setting {
    const char *method; /* "full", "s2prune", ... */
    int32_t budget;     /* visual tokens kept per picture; 0: all */
    int32_t n_seeds;    /* runs of a method that draws; their mean counts */
    double percent;     /* if above 0: this share of each picture's tokens instead of budget */
    bool published;     /* what the authors' code does, its counts and defects included */
} s2e_setting;

typedef struct s2e_result {
    s2e_setting setting;
    float *score; /* [n_questions], mean over the seeds; free with s2e_results_free */
    double image_tokens, prompt_ms, kv_bytes; /* mean per question: kept, prefill, visual cache */
    double seconds; /* of all its questions; the tower counts for the first setting */
} s2e_result;

typedef struct s2e_answer { /* one answer, for whoever keeps them */
    const s2e_setting *setting;
    int32_t seed, question;
    const char *text;
    float score;
} s2e_answer;

typedef struct s2e_watch { /* callbacks, NULL: none. Not S2P_OK ends the evaluation */
    s2p_status (*answered)(const s2e_answer *answer, void *user);
    void (*progress)(int32_t pictures_done, void *user);
    void *user;
} s2e_watch;

/* result: [n] out, all or nothing. predict: most tokens of an answer. */
s2p_status s2e_evaluate(s2v_engine *engine, const s2e_task *task, const s2e_set *set,
                        const s2e_setting *setting, int32_t n, int32_t predict,
                        const s2e_watch *watch, s2e_result *result, s2p_error *error);
void s2e_results_free(s2e_result *result, int32_t n);

#endif /* S2_EVAL_EVALUATE_H */
