/* answer_matching.h - an answer compared with references. */
#ifndef S2_EVAL_SCORING_ANSWER_MATCHING_H
#define S2_EVAL_SCORING_ANSWER_MATCHING_H

#include "eval/scoring/str.h"

/* normalise.c: answers made comparable, in the five ways of the VQA scorers. */
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

/* vqa_accuracy.c: how many people gave this answer. */

/* Mean over the n answers of min(1, matches among the other n - 1 / 3), for k of n that match. */
double s2e_held_out_accuracy(int32_t k, int32_t n);

/* Of a prediction, both sides normalized as `how` says; 0 without answers. N3 leaves both as they are
 * when all answers are the same string. *used: the prediction that was compared. */
double s2e_vqa_accuracy(s2e_scratch *scratch, s2e_normaliser how, s2e_str prediction,
                        const char *const *answer, int32_t n_answers, s2e_str *used);

/* The release's TextVQA: min(1, k / 3) over answers that are not empty, N5. */
double s2e_soft_score(s2e_scratch *scratch, s2e_str prediction, const char *const *answer,
                      int32_t n_answers, s2e_str *used);

/* short_answer.c: one word or phrase against one: GQA's four comparisons. */
typedef enum s2e_short_rule {
    S2E_SHORT_PAPER, /* the final answer or all of it, N5 on both sides */
    S2E_SHORT_LLAVA, /* periods at the end go, small letters; the gold answer as it is */
    S2E_SHORT_KIT,   /* trimmed, small letters */
    S2E_SHORT_LMMS   /* small letters, no ASCII punctuation, not trimmed */
} s2e_short_rule;

/* *used: what of the answer was compared. */
bool s2e_short_is_right(s2e_scratch *scratch, s2e_short_rule rule, s2e_str answer, s2e_str gold,
                        s2e_str *used);

/* anls.c: average normalized Levenshtein similarity, of one answer: the best of the references, 0 below
 * a half. The distance is that of small letters with single spaces, the length that of the texts as
 * they are. *used: the answer that was compared. */
double s2e_anls(s2e_scratch *scratch, s2e_str answer, const char *const *reference,
                int32_t n_references, s2e_str *used);

/* relaxed_match.c: ChartQA's relaxed accuracy: numbers ("12", "1e3", "5%") may be off by a twentieth
 * of the reference; anything else, and any answer to "0", must be the same text, case aside. */
bool s2e_relaxed_match(s2e_scratch *scratch, s2e_str answer, s2e_str reference);

/* reference_match.c: is the reference in the answer? OCRBench's rule, and ours for MM-Vet. */

/* OCRBench: some reference is a part of the answer. Formulas lose their spaces and keep their case;
 * with fold full-width ASCII is ASCII outside formulas. *at, *n: where in the prepared answer. */
bool s2e_ocr_match(s2e_scratch *scratch, s2e_str answer, const char *const *reference,
                   int32_t n_references, bool is_formula, bool fold, size_t *at, size_t *n);

/* MM-Vet's "local reference match", 0 or 1. The reference has alternatives between <OR>, of elements
 * between <AND>; an alternative holds when each of its elements occurs in the answer as whole words,
 * both in the form N1; one that is a number must equal a number there. The paper does not publish its
 * rule. */
bool s2e_reference_match(s2e_scratch *scratch, s2e_str answer, s2e_str reference);

#endif /* S2_EVAL_SCORING_ANSWER_MATCHING_H */
