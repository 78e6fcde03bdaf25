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
#include "image/image.h"

typedef struct s2_trial { /* one question under one setting */
    float score;          /* 0 to 1; NaN: not asked, or there is no question */
    char *answer;         /* NULL: none */
    int32_t *kept;        /* [n_kept] ascending tokens of the picture; NULL: not known */
    int32_t n_kept;
} s2_trial;

typedef struct s2_trial_question {
    char *text, *expected;
    int32_t picture, category;
    int32_t index; /* in the source */
} s2_trial_question;

typedef struct s2_trial_picture {
    char *file;           /* below the folder; a name where the source has no files */
    double heterogeneity; /* H_str; NaN: unknown */
    int32_t index;        /* in the source */
} s2_trial_picture;

#define S2_MAX_TRIAL_CATEGORIES 128

typedef struct s2_trials { /* all zero: empty. Free with s2_trials_free */
    char task[64], model[128], folder[4096];
    char run
        [24]; /* stands for all else that may change an answer; answers of another do not count */
    s2_trial_picture *picture;
    s2_trial_question *question; /* those about one picture stand together */
    int32_t n_pictures, n_questions;
    char *category[S2_MAX_TRIAL_CATEGORIES];
    int32_t n_categories;
    s2a_setting *setting;
    int32_t n_settings;
    s2p_grid grid;   /* of the tokens, the same for every picture; 0 x 0 until one is known */
    s2_trial *trial; /* [n_settings][n_questions] */
    /* How picture `index` of the source is had; NULL: it is a file. */
    s2p_status (*load)(const void *source, int32_t index, s2_image *out, s2p_error *error);
    const void *source; /* borrowed */
} s2_trials;

void s2_trials_free(s2_trials *trials);

/* Filling, in this order. Strings are copied. */
s2p_status s2_trials_add_picture(s2_trials *trials, const char *file, double heterogeneity,
                                 s2p_error *error);
s2p_status s2_trials_add_question(s2_trials *trials, const char *text, const char *expected,
                                  const char *category, int32_t index, s2p_error *error);
s2p_status s2_trials_set(s2_trials *trials, const s2a_setting *setting, int32_t n,
                         s2p_error *error);

s2_trial *s2_trial_at(const s2_trials *trials, int32_t setting, int32_t question);

/* kept: [n] is copied. S2P_EINVAL: another grid than the trials before it had, or tokens outside. */
s2p_status s2_trial_fill(s2_trials *trials, int32_t setting, int32_t question, float score,
                         const char *answer, s2p_grid grid, const int32_t *kept, int32_t n_kept,
                         s2p_error *error);
bool s2_trial_is_done(const s2_trial *trial);

/* Pixels of a picture; free them. */
s2p_status s2_trials_load(const s2_trials *trials, int32_t picture, s2_image *out,
                          s2p_error *error);

/* Every setting has answered it. */
bool s2_trials_question_done(const s2_trials *trials, int32_t question);

#define S2_LABEL_SIZE 96

/* For people: "s2prune 64", with what is not the paper's choice: "s2prune 64 fft". */
const char *s2_setting_label(const s2a_setting *setting, bool has_budget, char out[S2_LABEL_SIZE]);
/* For programs, the same for the same setting: "s2prune/64/0/laplacian/erc". */
const char *s2_setting_key(const s2a_setting *setting, char out[S2_LABEL_SIZE]);

/* The setting with that method and budget and the paper's choices; -1: none. The budget of a method
 * that keeps all does not count. */
int32_t s2_trials_find(const s2_trials *trials, const char *method, s2v_budget budget);

#endif /* S2_ANALYZE_TRIALS_H */
