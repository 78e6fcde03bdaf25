/* verify_tokenizer.h - texts, their tokens and back. */
#ifndef S2_TOOLS_VERIFY_TOKENIZER_H
#define S2_TOOLS_VERIFY_TOKENIZER_H

#include "verify/verify.h"

/* The vocabulary is beside the texts or below `arrays` (NULL: none). */
bool s2_golden_is_tokenizer(const char *path);
void s2_golden_check_tokenizer(const char *path, const char *arrays, s2_verdict *verdict);

#endif /* S2_TOOLS_VERIFY_TOKENIZER_H */
