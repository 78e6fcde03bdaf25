/* trials.h - questions, settings, and what came of asking each question under each setting.
 *
 * The one form in which every analysis takes its data. Where the data come from is a source's
 * business, one file each: source_task.c reads the questions of a benchmark, source_model.c asks a
 * model, source_answers.c reads answers given earlier, source_run.c those of an evaluation,
 * source_pictures.c chooses from pixels alone, source_recorded.c from signals written down.
 */
#ifndef S2_ANALYZE_TRIALS_H
#define S2_ANALYZE_TRIALS_H

#include "ask/settings.h"
#include "eval/task.h"
#include "image/image.h"

typedef struct s2_trial_run { /* one seed of a method that draws, or the only run */
    char *answer;             /* NULL: it failed, and counts as a wrong answer */
    s2e_verdict verdict;      /* all zero until s2_trials_judge */
} s2_trial_run;

typedef struct s2_trial { /* one question under one setting */
    float score;          /* 0 to 1, mean over the runs; NaN: not asked, or there is no question */
    char *answer;         /* of the first run; NULL: none */
    int32_t *kept;        /* [n_kept] ascending tokens of the picture; NULL: not known */
    int32_t n_kept;
    s2_trial_run *run; /* [n_runs]; NULL: only the score is known */
    int32_t n_runs;
    /* Of the first run; 0: not known. Time to the first token as if nothing were remembered, FLOPs of the prefill
     * with the tower, visual tokens the decoder had after pruning, all attempts counted. */
    double first_ms, flops;
    int32_t n_used;
} s2_trial;

typedef struct s2_trial_question {
    char *text, *expected;
    int32_t picture, category;
    int32_t index; /* in the source: of a benchmark the sample */
} s2_trial_question;

typedef struct s2_trial_structure { /* H_str, measured for one grid; side 0: for none */
    double value;
    s2p_grid grid;
    int32_t side;
} s2_trial_structure;

typedef struct s2_trial_picture {
    char *file;    /* below the folder of its part; a name where the source has no files */
    int32_t index; /* in the source */
    int32_t part;
    s2p_grid grid; /* of its tokens; 0 x 0: not known */
    s2_trial_structure structure;
} s2_trial_picture;

typedef struct s2_trial_category { /* a kind of question of one part */
    char *name;
    int32_t part;
} s2_trial_category;

/* A benchmark, or another place where pictures are from; its pictures are together. */
typedef struct s2_trial_part {
    char name[64], title[64];
    char *folder;         /* of files; NULL: none */
    const s2e_task *task; /* NULL: no benchmark; scores are means */
    const s2e_set *set;   /* borrowed, of the task */
    s2e_protocol protocol;
    int32_t n_all;   /* questions the benchmark has; 0: not known */
    char metric[48]; /* the number of its tables, "F1"; s2_trials_judge finds out */
    double best;     /* the largest possible of it; 0: 100 */
    /* How picture `index` of the source is had; NULL: it is a file. */
    s2p_status (*load)(const void *source, int32_t index, s2_image *out, s2p_error *error);
    const void *source; /* borrowed */
} s2_trial_part;

typedef struct s2_trials { /* all zero: empty. Free with s2_trials_free */
    char model[128];
    char run
        [24]; /* stands for all else that may change an answer; answers of another do not count */
    int32_t n_seeds; /* runs of a method that draws; 0: one */
    s2_trial_part *part;
    s2_trial_picture *picture;
    s2_trial_question *question; /* those about one picture are together */
    s2_trial_category *category;
    int32_t n_parts, n_pictures, n_questions, n_categories;
    s2a_setting *setting;
    int32_t n_settings;
    s2p_grid grid;   /* of the tokens where it is the same for every picture; 0 x 0: not known */
    bool has_grids;  /* pictures have different ones, and `grid` is that of the first */
    s2_trial *trial; /* [n_settings][n_questions] */
} s2_trials;

void s2_trials_free(s2_trials *trials);

/* Call these in this order. Strings are copied. A picture belongs to the part that was added last; if no
 * part was added, to one without a name. */
s2p_status s2_trials_add_part(s2_trials *trials, const s2_trial_part *part, s2p_error *error);
s2p_status s2_trials_add_picture(s2_trials *trials, const char *file, int32_t index,
                                 s2p_error *error);
s2p_status s2_trials_add_question(s2_trials *trials, const char *text, const char *expected,
                                  const char *category, int32_t index, s2p_error *error);
s2p_status s2_trials_set(s2_trials *trials, const s2a_setting *setting, int32_t n,
                         s2p_error *error);

s2_trial *s2_trial_at(const s2_trials *trials, int32_t setting, int32_t question);
const s2_trial_part *s2_trial_part_of(const s2_trials *trials, int32_t question);

/* kept: [n] is copied; NULL: not known. S2P_EINVAL: another grid than the picture had before, or
 * tokens outside. */
s2p_status s2_trial_fill(s2_trials *trials, int32_t setting, int32_t question, float score,
                         const char *answer, s2p_grid grid, const int32_t *kept, int32_t n_kept,
                         s2p_error *error);

/* The answer of run `index` out of n, NULL for one that failed; copied. After s2_trial_fill. */
s2p_status s2_trial_add_run(s2_trials *trials, int32_t setting, int32_t question, int32_t index,
                            int32_t n, const char *answer, s2p_error *error);
bool s2_trial_is_done(const s2_trial *trial);

/* Verdicts of all runs, by the protocol of each part, and the scores from them; what has no
 * runs keeps its score. Needed before anything is counted. */
s2p_status s2_trials_judge(s2_trials *trials, s2p_error *error);

/* Pixels of a picture; free them. */
s2p_status s2_trials_load(const s2_trials *trials, int32_t picture, s2_image *out,
                          s2p_error *error);

/* Every setting has answered it. */
bool s2_trials_question_done(const s2_trials *trials, int32_t question);

/* S2P_EINVAL: no trial says which tokens were kept, or pictures have different grids. */
s2p_status s2_trials_need_grid(const s2_trials *trials, s2p_error *error);

/* "pope, mmbench": the names of the parts. */
#define S2_NAMES_SIZE 512
const char *s2_trials_names(const s2_trials *trials, char out[S2_NAMES_SIZE]);

/* "400 of 2200 questions of synth": of every part that has more questions than there are here; ""
 * where all were asked. */
const char *s2_trials_extent(const s2_trials *trials, char out[S2_NAMES_SIZE]);

#define S2_LABEL_SIZE (S2A_LABEL_SIZE + 256u)

/* The label of the setting, and its budget: "s2prune[fft] 64". */
const char *s2_setting_label(const s2a_setting *setting, bool has_budget, char out[S2_LABEL_SIZE]);
/* For programs, the same for the same setting: "s2prune/64/0/laplacian/erc". */
const char *s2_setting_key(const s2a_setting *setting, char out[S2_LABEL_SIZE]);

/* The setting with that method and budget and the paper's choices; -1: none. The budget of a method
 * that keeps all does not count. */
int32_t s2_trials_find(const s2_trials *trials, const char *method, s2a_budget budget);

#endif /* S2_ANALYZE_TRIALS_H */
