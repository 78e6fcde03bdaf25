/* thoughts.h - the part of an answer before </think>, if the prompt opened thoughts. */
#ifndef S2_ENGINE_THOUGHTS_H
#define S2_ENGINE_THOUGHTS_H

#include "text/tokenizer.h"

#include <stdbool.h>

typedef struct s2v_thoughts { /* all zero: the answer has none */
    bool has_begun;           /* the prompt ended inside them */
    bool is_open;             /* </think> has not been generated yet */
    int32_t n, budget;        /* tokens so far; limit after which they are closed, 0: none */
    int32_t end;              /* the token </think> */
} s2v_thoughts;

/* Before the first token of an answer. budget: tokens, 0: no limit. */
static inline s2v_thoughts s2v_thoughts_begin(const s2v_tokenizer *tokenizer, int32_t budget)
{
    const int32_t end = s2v_tokenizer_find(tokenizer, "</think>");
    return (
        s2v_thoughts){ .has_begun = end >= 0, .is_open = end >= 0, .budget = budget, .end = end };
}

/* Whether the next token must be </think>, because the budget is used up. */
static inline bool s2v_thoughts_are_over(const s2v_thoughts *t)
{
    return t->is_open && t->budget > 0 && t->n >= t->budget;
}

static inline void s2v_thoughts_take(s2v_thoughts *t, int32_t token)
{
    if (!t->is_open) return;
    if (token == t->end)
        t->is_open = false;
    else
        t->n++;
}

#endif /* S2_ENGINE_THOUGHTS_H */
