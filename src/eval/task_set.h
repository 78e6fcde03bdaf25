/* task_set.h - the questions of a benchmark and the pictures they are about. */
#ifndef S2_EVAL_TASK_SET_H
#define S2_EVAL_TASK_SET_H

#include "base/json.h"

#define S2E_MAX_CATEGORIES 32

typedef struct s2e_question {
    const char *text, *answer;
    int32_t category; /* index into s2e_set.category */
    int32_t picture;  /* index into s2e_set.picture; never falls from one question to the next */
} s2e_question;

typedef struct s2e_picture {
    const char *file;     /* below the folder of the set */
    double heterogeneity; /* H_str as the data state it; negative: unknown */
} s2e_picture;

typedef struct s2e_set { /* all zero: empty. Free with s2e_set_free */
    char folder[4096];
    json_t *source; /* owns every string */
    s2e_picture *picture;
    s2e_question *question;
    int32_t n_pictures, n_questions;
    const char *category[S2E_MAX_CATEGORIES]; /* in the order of the table */
    int32_t n_categories;
} s2e_set;

void s2e_set_free(s2e_set *set);

/* Keep the first n questions, and the pictures they are about. */
void s2e_set_limit(s2e_set *set, int32_t n);

#endif /* S2_EVAL_TASK_SET_H */
