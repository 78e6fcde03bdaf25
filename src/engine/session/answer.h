/* answer.h - the answer of a session, token by token. */
#ifndef S2_ENGINE_ANSWER_H
#define S2_ENGINE_ANSWER_H

#include "engine/session/session.h"

/* One token through all layers; leaves logits. */
s2p_status s2v_run_token(s2v_session *session, int32_t token, s2p_error *error);

/* For a token that ran in a joint pass: one more row and position counted. */
void s2v_token_ran(s2v_session *session);

/* Logits of the last row of h, an output of the session's graph; and read into the session. */
struct ggml_tensor *s2v_logits_draw(s2v_session *session, struct ggml_tensor *h);
s2p_status s2v_logits_read(s2v_session *session, const struct ggml_tensor *logits,
                           s2p_error *error);

/* Forget the last answer and what its first token would have been picked from. */
void s2v_answer_clear(s2v_session *session);

/* After a prefill: the sampler is as new, with the session's options. */
s2p_status s2v_answer_start(s2v_session *session, s2p_error *error);

/* The session can give a token now, and there is room for it; S2P_ELIMIT: its context is full. */
s2p_status s2v_answer_check(s2v_session *session, s2p_error *error);

/* With the logits there: pick a token and give its text, as s2v_session_next does. */
s2p_status s2v_answer_pick(s2v_session *session, char *text, size_t capacity, int *done,
                           s2p_error *error);

typedef struct s2v_place {     /* where a conversation is, but for its cache; borrowed */
    int32_t next_pos, pending; /* as in the session */
    bool thinks;               /* its answer began inside thoughts, */
    int32_t thought_budget;    /* of so many tokens; 0: no limit */
    const int32_t *tokens;     /* [n_tokens] of the answer so far */
    size_t n_tokens;
    const float *logits; /* [n_vocab] of the last position; NULL: there are none */
    const uint8_t *held; /* [n_held] text that may become a stop string */
    size_t n_held;
    s2v_detokenizer detokenizer;
} s2v_place;

void s2v_place_get(const s2v_session *session, s2v_place *out);

/* Go on from there with the session's own options; the sampler is as if it had picked the tokens. */
s2p_status s2v_place_set(s2v_session *session, const s2v_place *place, s2p_error *error);

#endif /* S2_ENGINE_ANSWER_H */
