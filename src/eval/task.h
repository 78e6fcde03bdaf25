/* task.h - a benchmark: samples, what to ask, when an answer is right, and the figures people quote.
 *
 * One file in tasks/ and one line in task_table.c each. Four protocols read the same answer in four
 * ways; a task does not depend on the method.
 */
#ifndef S2_EVAL_TASK_H
#define S2_EVAL_TASK_H

#include "eval/scoring/answer_reading.h"
#include "eval/task_set.h"

typedef enum s2e_protocol {
    S2E_PAPER,      /* S2Prune's release and text */
    S2E_OFFICIAL,   /* the benchmark's own script, LLaVA-1.5's where people use that */
    S2E_VLMEVALKIT, /* exact matching, no judge */
    S2E_LMMS,       /* lmms-eval */
    S2E_N_PROTOCOLS
} s2e_protocol;

typedef struct s2e_verdict {     /* all zero: not answered. Free with s2e_verdict_free */
    float score;                 /* 0 to 1 */
    const char *rule;            /* which rule fired, "O1.2"; static. NULL: not answered */
    char *extracted;             /* what it read from the answer, "" nothing; owned */
    size_t span_at, span_length; /* where that is in the answer, bytes; 0, 0: nowhere */
} s2e_verdict;

typedef struct s2e_figure {
    const char *name, *section; /* "F1", "popular"; section "" is the whole */
    double value, best;         /* best: the largest possible (100, 2800, 1000, 1) */
    int32_t n;                  /* samples behind it */
    bool headline;              /* one of them: the number of the tables */
} s2e_figure;

typedef struct s2e_figures { /* all zero: none. Free with s2e_figures_free */
    s2e_figure *figure;
    int32_t n, capacity;
    s2_pool pool; /* the names */
} s2e_figures;

/* What the headline is computed from when it is no mean of scores: counts that add up over samples,
 * so that an interval can be had by drawing pictures. */
typedef struct s2e_counts {
    int32_t (*n)(const s2e_set *set); /* how many counts */
    /* Add those of samples [first, last), all about one picture. out: [n]. */
    void (*add)(const s2e_set *set, s2e_protocol protocol, const s2e_verdict *verdict,
                int32_t first, int32_t last, double *out);
    double (*value)(const s2e_set *set, s2e_protocol protocol, const double *count);
} s2e_counts;

typedef struct s2e_task {
    const char *name, *title, *summary;
    /* Find the layout below `path` (a folder or a file) and read it. What is wrong with one item
     * becomes a problem of the set; on failure *out is empty. */
    s2p_status (*read)(const char *path, s2e_set *out, s2p_error *error);
    /* Text of the user's turn. "<image>" marks the place of a picture, else they come first. */
    s2p_status (*prompt)(const s2e_sample *sample, s2e_protocol protocol, s2_buffer *out,
                         s2p_error *error);
    int32_t predict[S2E_N_PROTOCOLS]; /* most new tokens */
    /* The release stops here and keeps this text; NULL: never. */
    bool (*stops)(const char *text_so_far);
    /* `draws` is started with 42 and goes through the samples in order of their rows; NULL: the
     * first letter instead of a draw. *out is all zero before. */
    s2p_status (*judge)(const s2e_sample *sample, s2e_protocol protocol, s2e_draws *draws,
                        const char *answer, s2e_verdict *out, s2p_error *error);
    /* verdict: [n_samples]; those without a rule were not answered and do not count. */
    s2p_status (*aggregate)(const s2e_set *set, s2e_protocol protocol, const s2e_verdict *verdict,
                            s2e_figures *out, s2p_error *error);
    bool is_graded;           /* its own score is a grade somebody gives: see report/grader.c */
    const s2e_counts *counts; /* NULL: the headline is the mean score in its own unit */
} s2e_task;

/* NULL when the name is unknown, or past the end. */
const s2e_task *s2e_task_find(const char *name);
const s2e_task *s2e_task_at(size_t index);

#endif /* S2_EVAL_TASK_H */
