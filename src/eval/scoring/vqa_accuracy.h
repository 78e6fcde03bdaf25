/* vqa_accuracy.h - how many people gave this answer. */
#ifndef S2_EVAL_SCORING_VQA_ACCURACY_H
#define S2_EVAL_SCORING_VQA_ACCURACY_H

#include "eval/scoring/normalise.h"

/* Mean over the n answers of min(1, matches among the other n - 1 / 3), for k of n that match. */
double s2e_held_out_accuracy(int32_t k, int32_t n);

/* Of a prediction, both sides normalised as `how` says; 0 without answers. N3 leaves both as they are
 * when all answers are the same string. *used: the prediction that was compared. */
double s2e_vqa_accuracy(s2e_scratch *scratch, s2e_normaliser how, s2e_str prediction,
                        const char *const *answer, int32_t n_answers, s2e_str *used);

/* The release's TextVQA: min(1, k / 3) over answers that are not empty, N5. */
double s2e_soft_score(s2e_scratch *scratch, s2e_str prediction, const char *const *answer,
                      int32_t n_answers, s2e_str *used);

#endif /* S2_EVAL_SCORING_VQA_ACCURACY_H */
