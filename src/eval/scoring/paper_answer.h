/* paper_answer.h - O8 and Y6: how the release of S2Prune reads an answer. */
#ifndef S2_EVAL_SCORING_PAPER_ANSWER_H
#define S2_EVAL_SCORING_PAPER_ANSWER_H

#include "eval/scoring/option_letters.h"

/* What follows "Final Answer:", boxed or to the end of its line; empty when nothing does. */
s2e_str s2e_final_answer(s2e_scratch *scratch, s2e_str answer);

/* That, or the answer without the spaces around it. */
s2e_str s2e_final_or_all(s2e_scratch *scratch, s2e_str answer);

/* O8: any letter A to Z, 0 when there is none. */
s2e_found s2e_o8(s2e_scratch *scratch, s2e_str answer);

/* Y6: 'y', 'n' or 0 in the letter. */
s2e_found s2e_y6(s2e_scratch *scratch, s2e_str answer);

#endif /* S2_EVAL_SCORING_PAPER_ANSWER_H */
