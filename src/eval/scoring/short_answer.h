/* short_answer.h - one word or phrase against one: GQA's four comparisons. */
#ifndef S2_EVAL_SCORING_SHORT_ANSWER_H
#define S2_EVAL_SCORING_SHORT_ANSWER_H

#include "eval/scoring/str.h"

typedef enum s2e_short_rule {
    S2E_SHORT_PAPER, /* the final answer or all of it, N5 on both sides */
    S2E_SHORT_LLAVA, /* periods at the end go, small letters; the gold answer as it is */
    S2E_SHORT_KIT,   /* trimmed, small letters */
    S2E_SHORT_LMMS   /* small letters, no ASCII punctuation, not trimmed */
} s2e_short_rule;

/* *used: what of the answer was compared. */
bool s2e_short_is_right(s2e_scratch *scratch, s2e_short_rule rule, s2e_str answer, s2e_str gold,
                        s2e_str *used);

#endif /* S2_EVAL_SCORING_SHORT_ANSWER_H */
