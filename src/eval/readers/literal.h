/* literal.h - values as Python prints them: ['a', "b's", 1, None], also (tuples) and {dicts}.
 *
 * Texts of data sets hold lists this way. JSON is read too where the two agree, and null, true and
 * false are known. Adjacent strings are one string, as in Python.
 */
#ifndef S2_EVAL_LITERAL_H
#define S2_EVAL_LITERAL_H

#include "eval/readers/value.h"

#define S2E_LITERAL_MAX_DEPTH 32

/* *out lies in the arena. S2P_EFORMAT: where and why it is no literal. */
s2p_status s2e_literal_parse(const char *text, size_t n, s2e_arena *arena, const s2e_value **out,
                             s2p_error *error);

#endif /* S2_EVAL_LITERAL_H */
