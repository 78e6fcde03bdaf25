/* guided.h - an answer that follows a constraint: which tokens may be picked, and when it is complete.
 *
 * A constraint is inactive while the model thinks (from the prompt, or <think> as the first token, to </think>),
 * and a constraint of optional tool calls is inactive until the answer has <tool_call>.
 */
#ifndef S2_ENGINE_GUIDED_H
#define S2_ENGINE_GUIDED_H

#include "engine/answer_constraint.h"
#include "text/sample.h"

typedef enum s2v_guided_state {
    S2V_GUIDED_FIRST,    /* no token yet */
    S2V_GUIDED_THINKING, /* until the end of thoughts */
    S2V_GUIDED_PAUSED,   /* after thoughts: newlines and spaces may come first */
    S2V_GUIDED_WAITING,  /* until the trigger */
    S2V_GUIDED_AWAKE,
    S2V_GUIDED_LOST /* the answer was not generated here and does not follow it */
} s2v_guided_state;

typedef struct s2v_guided {     /* all zero: no constraint */
    s2v_constraint *constraint; /* a share */
    s2c_guide *guide;
    uint64_t *allowed; /* [n_words] of one token */
    s2v_guided_state state;
    char tail[16]; /* the last bytes of the answer, while it waits for the trigger */
    size_t n_tail;
    int32_t n_blanks; /* tokens since the end of thoughts */
} s2v_guided;

/* Use this constraint from the next answer on; NULL: none. The state of an unchanged one is reused. */
s2p_status s2v_guided_use(s2v_guided *g, s2v_constraint *constraint, const s2v_engine *engine,
                          s2p_error *error);
void s2v_guided_free(s2v_guided *g);

void s2v_guided_restart(s2v_guided *g); /* a new answer */
void s2v_guided_think(s2v_guided *g);   /* which begins inside thoughts */

/* Picks a token that the constraint allows; without one, any. */
s2p_status s2v_guided_pick(s2v_guided *g, s2v_sampler *sampler, const float *logits, int32_t *token,
                           s2p_error *error);

/* A token is now part of the answer. *is_complete: nothing can follow it. */
s2p_status s2v_guided_take(s2v_guided *g, int32_t token, bool *is_complete, s2p_error *error);

#endif /* S2_ENGINE_GUIDED_H */
