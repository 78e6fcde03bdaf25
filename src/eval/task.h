/* task.h - a benchmark: pictures, questions, and when an answer is right.
 *
 * One file in tasks/ and one line in task_table.c each. A task reads its own files and scores
 * one answer at a time; who asks, with which method, is not its business.
 */
#ifndef S2_EVAL_TASK_H
#define S2_EVAL_TASK_H

#include "eval/task_set.h"

typedef struct s2e_task {
    const char *name, *summary;
    /* Read what stands below `folder`. On failure *out is empty. */
    s2p_status (*read)(const char *folder, s2e_set *out, s2p_error *error);
    /* 0 to 1. */
    float (*score)(const s2e_question *question, const char *answer);
} s2e_task;

/* NULL when the name is unknown, or past the end. */
const s2e_task *s2e_task_find(const char *name);
const s2e_task *s2e_task_at(size_t index);

#endif /* S2_EVAL_TASK_H */
