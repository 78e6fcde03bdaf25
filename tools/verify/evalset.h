/* evalset.h - the questions eval.json has about one picture, for cases that answer them. */
#ifndef S2_TOOLS_EVALSET_H
#define S2_TOOLS_EVALSET_H

#include "eval/task.h"
#include "verify/verify.h"

typedef struct s2_evalset {
    s2e_set set;      /* free with s2e_set_free */
    int32_t first, n; /* samples about the picture */
} s2_evalset;

/* false: the case is malformed, and has been told so; nothing to free. */
bool s2_evalset_open(s2_verdict *verdict, const char *folder, const char *image, s2_evalset *out);

/* The i-th question; NULL: the case is malformed, there are fewer. */
const s2e_sample *s2_evalset_question(s2_verdict *verdict, const s2_evalset *set, size_t i);

#endif /* S2_TOOLS_EVALSET_H */
