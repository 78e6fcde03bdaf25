/* normalise.h - answers made comparable, in the five ways of the VQA scorers. */
#ifndef S2_EVAL_SCORING_NORMALISE_H
#define S2_EVAL_SCORING_NORMALISE_H

#include "eval/scoring/str.h"

typedef enum s2e_normaliser {
    S2E_EVALAI,       /* N1: LLaVA, lmms-eval */
    S2E_KIT,          /* N2: VLMEvalKit */
    S2E_VQA,          /* N3: the official VQA and VizWiz code */
    S2E_PAPER_VIZWIZ, /* N4: the release, VizWiz */
    S2E_PAPER_SHORT   /* N5: the release, TextVQA and GQA */
} s2e_normaliser;

s2e_str s2e_normalise(s2e_scratch *scratch, s2e_normaliser how, s2e_str text);

/* N2's step for punctuation and periods alone. */
s2e_str s2e_punctuation(s2e_scratch *scratch, s2e_str text);

/* Is it one of string.punctuation? */
bool s2e_is_punctuation(int32_t code);

#endif /* S2_EVAL_SCORING_NORMALISE_H */
