/* metrics.h - accuracies, and how sure they are. */
#ifndef S2_EVAL_METRICS_H
#define S2_EVAL_METRICS_H

#include "eval/task.h"

typedef struct s2e_accuracy {            /* of one setting; percent */
    double category[S2E_MAX_CATEGORIES]; /* negative: no question of it */
    int32_t n_category[S2E_MAX_CATEGORIES];
    double mean; /* of the categories that have questions */
    double all;  /* of the questions */
} s2e_accuracy;

typedef struct s2e_interval { /* percent */
    double value, low, high;  /* the 2.5 and 97.5 percentiles */
} s2e_interval;

typedef struct s2e_difference { /* of two columns on the same samples, paired over pictures */
    double value, low, high;    /* as above */
    double smallest; /* what the pictures can show: see s2_smallest_difference; 80 % power at .05 */
    double p, p_holm; /* of swapped pictures (permutation.h), and within its family, NAN before */
} s2e_difference;

#define S2E_RESAMPLES 2000
#define S2E_CONFIDENCE 0.95
#define S2E_POWER 0.80

/* score: [n_samples]. */
s2e_accuracy s2e_accuracy_of(const s2e_set *set, const float *score);

/* The accuracy on all questions and its 95 % interval by resampling pictures, with their
 * questions, S2E_RESAMPLES times from a fixed seed. With `other`: of score minus other, paired.
 * S2P_ENOMEM only. */
s2p_status s2e_bootstrap(const s2e_set *set, const float *score, const float *other,
                         s2e_interval *out);

/* The mean score under one column minus that under another. The interval is s2e_bootstrap's, the
 * standard error behind `smallest` is that of the paired differences over pictures, and p is of sign
 * flips over pictures. S2P_ENOMEM only. */
s2p_status s2e_difference_of(const s2e_set *set, const float *score, const float *other,
                             s2e_difference *out);

/* The mean score and its 95 % interval: Wilson's when every picture has one question and every score
 * is 0 or 1, else the bootstrap's. S2P_ENOMEM only. */
s2p_status s2e_interval_of(const s2e_set *set, const float *score, s2e_interval *out);

/* Accuracy on the questions about the pictures of each third by heterogeneity, low first; negative
 * where there is none. false when the set does not state it for every picture. */
bool s2e_thirds(const s2e_set *set, const float *score, double out[3]);

#endif /* S2_EVAL_METRICS_H */
