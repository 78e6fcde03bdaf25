/* yes_no.h - Y1 to Y5: yes or no in an answer, and what people count from it. */
#ifndef S2_EVAL_SCORING_YES_NO_H
#define S2_EVAL_SCORING_YES_NO_H

#include "eval/scoring/option_letters.h"

/* In the letter: 'y', 'n', or 0 when it is neither. */
s2e_found s2e_y1(s2e_str answer);                       /* POPE, LLaVA: never neither */
s2e_found s2e_y2(s2e_scratch *scratch, s2e_str answer); /* VLMEvalKit */
s2e_found s2e_y3(s2e_scratch *scratch, s2e_str answer); /* lmms-eval POPE */
s2e_found s2e_y4(s2e_scratch *scratch, s2e_str answer); /* MME */
s2e_found s2e_y5(s2e_scratch *scratch, s2e_str answer); /* lmms-eval MME */

typedef struct s2e_yes_no { /* yes is positive */
    int32_t true_yes, false_yes, true_no, false_no;
    int32_t n, n_right, n_yes, n_label_yes; /* of all: also answers that are neither */
} s2e_yes_no;

/* answer: 'y', 'n', or 0, which is wrong and no more. */
void s2e_yes_no_add(s2e_yes_no *counts, bool label_is_yes, char answer);

double s2e_precision(const s2e_yes_no *counts); /* 0 when nothing was answered so */
double s2e_recall(const s2e_yes_no *counts);
double s2e_f1(const s2e_yes_no *counts);

#endif /* S2_EVAL_SCORING_YES_NO_H */
