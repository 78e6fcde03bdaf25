/* option_letters.h - which option an answer means. */
#ifndef S2_EVAL_SCORING_OPTION_LETTERS_H
#define S2_EVAL_SCORING_OPTION_LETTERS_H

#include "eval/sample.h"
#include "eval/scoring/draws.h"
#include "eval/scoring/str.h"

#define S2E_NO_OPTION 'Z' /* decided, and none of them */

typedef struct s2e_found {
    const char *rule; /* which rule decided, or the last one that did not */
    char letter;      /* 0: undecided */
    size_t at, n;     /* where in the answer, code points; n = 0: nowhere */
} s2e_found;

typedef struct s2e_options {
    const s2e_choice *choice; /* [n] */
    int32_t n;
} s2e_options;

/* O1, VLMEvalKit: first the letters, then the texts. */
s2e_found s2e_o1_letter(s2e_scratch *scratch, s2e_str answer, s2e_options options);
s2e_found s2e_o1_text(s2e_scratch *scratch, s2e_str answer, s2e_options options);
s2e_found s2e_o1(s2e_scratch *scratch, s2e_str answer, s2e_options options);

/* O2, lmms-eval MMBench; O3, its static extractor. */
s2e_found s2e_o2(s2e_scratch *scratch, s2e_str answer, s2e_options options);
s2e_found s2e_o3(s2e_scratch *scratch, s2e_str answer, s2e_options options);

/* O4, MMMU official; O5, the same in lmms-eval. Undecided there means a draw; draws NULL: the first
 * letter. */
s2e_found s2e_o4(s2e_scratch *scratch, s2e_str answer, s2e_options options, s2e_draws *draws);
s2e_found s2e_o5(s2e_scratch *scratch, s2e_str answer, s2e_options options, s2e_draws *draws);

/* O6, ScienceQA in LLaVA: a letter that may be beyond the options. O7, in lmms-eval: `right` says
 * whether the answer is the target. */
s2e_found s2e_o6(s2e_str answer);
s2e_found s2e_o7(s2e_scratch *scratch, s2e_str answer, char target, bool *right);

#endif /* S2_EVAL_SCORING_OPTION_LETTERS_H */
