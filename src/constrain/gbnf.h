/* gbnf.h - llama.cpp's grammar notation: name ::= "text" [a-z] name ( | ) * + ? {m,n}, from rule `root`. */
#ifndef S2_CONSTRAIN_GBNF_H
#define S2_CONSTRAIN_GBNF_H

#include "constrain/grammar.h"

enum { S2C_MAX_TEXT = 256 << 10 }; /* bytes of a grammar or a schema */

/* Fills and finishes an initialized grammar. Refusals name line and column. */
s2p_status s2c_gbnf(s2c_grammar *g, const char *text, size_t n, s2p_error *error);

#endif /* S2_CONSTRAIN_GBNF_H */
