/* answers.h - answers made elsewhere: files of LLaVA, VLMEvalKit, lmms-eval, the release, and ours;
 * stores and folders of runs; grades of MM-Vet's own grader.
 *
 * A row is an answer when it has an id and a text. Ids are those of the set, or what the harness calls
 * the sample: with the ending of a picture, a number of MM-Vet, a question of a POPE sampling, the
 * first or second question of an MME picture, a row of the data.
 */
#ifndef S2_EVAL_ANSWERS_H
#define S2_EVAL_ANSWERS_H

#include "eval/task.h"

#define S2E_MAX_RUNS 256

typedef struct s2e_run { /* the answers of one method and budget; "" when the file names none */
    char name[128];
    int64_t seed; /* of a store: draws of a method that draws are runs of one name, in order */
    const char **answer; /* [n_samples] NULL: none */
    const char **grids;  /* [n_samples] as in a store; NULL: not from one */
    float *grade;        /* [n_samples] 0 to 1, negative: none; NULL: no file of grades */
    int32_t n;
} s2e_run;

typedef struct s2e_answers { /* all zero: none. Free with s2e_answers_free */
    s2e_run run[S2E_MAX_RUNS];
    int32_t n_runs;
    int64_t n_strangers;     /* answers whose sample is not in the set */
    char stranger[128];      /* the first of them */
    int64_t n_lost, n_twice; /* rows that are no answers; answers that were there already */
    char lost[256];          /* the first of the lost: file, row, what is wrong with it */
    s2_pool pool;
} s2e_answers;

/* Add a file, a store or the folder of a run; of stores the answers to `task`. set: finished. */
s2p_status s2e_answers_read(const char *path, const char *task, const s2e_set *set,
                            s2e_answers *out, s2p_error *error);
void s2e_answers_free(s2e_answers *answers);

#endif /* S2_EVAL_ANSWERS_H */
