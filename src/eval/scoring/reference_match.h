/* reference_match.h - is the reference in the answer? OCRBench's rule, and ours for MM-Vet. */
#ifndef S2_EVAL_SCORING_REFERENCE_MATCH_H
#define S2_EVAL_SCORING_REFERENCE_MATCH_H

#include "eval/scoring/str.h"

/* OCRBench: some reference is a part of the answer. Formulas lose their spaces and keep their case;
 * with fold full-width ASCII is ASCII outside formulas. *at, *n: where in the prepared answer. */
bool s2e_ocr_match(s2e_scratch *scratch, s2e_str answer, const char *const *reference,
                   int32_t n_references, bool is_formula, bool fold, size_t *at, size_t *n);

/* MM-Vet's "local reference match", 0 or 1. The reference has alternatives between <OR>, of elements
 * between <AND>; an alternative holds when each of its elements stands in the answer as whole words,
 * both in the form N1; one that is a number must equal a number there. The paper does not publish its
 * rule. */
bool s2e_reference_match(s2e_scratch *scratch, s2e_str answer, s2e_str reference);

#endif /* S2_EVAL_SCORING_REFERENCE_MATCH_H */
