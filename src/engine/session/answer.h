/* answer.h - the answer of a session, token by token. */
#ifndef S2_ENGINE_ANSWER_H
#define S2_ENGINE_ANSWER_H

#include "engine/session/session.h"

/* One token through all layers; leaves logits. */
s2p_status s2v_run_token(s2v_session *session, int32_t token, s2p_error *error);

/* After a token of a joint pass: count one more row and position. */
void s2v_token_ran(s2v_session *session);

/* Logits of the last row of h, as an output of the session's graph; and reading them into the session. */
struct ggml_tensor *s2v_logits_draw(s2v_session *session, struct ggml_tensor *h);
s2p_status s2v_logits_read(s2v_session *session, const struct ggml_tensor *logits,
                           s2p_error *error);

/* Clear the last answer and the logits for its first token. */
void s2v_answer_clear(s2v_session *session);

/* After a prefill: reset the sampler, with the session's options. */
s2p_status s2v_answer_start(s2v_session *session, s2p_error *error);

/* Check that the session can generate a token now, and has room for it; S2P_ELIMIT: its context is full. */
s2p_status s2v_answer_check(s2v_session *session, s2p_error *error);

/* Pick a token from the logits and return its text, as s2v_session_next does. */
s2p_status s2v_answer_pick(s2v_session *session, char *text, size_t capacity, int *done,
                           s2p_error *error);

typedef struct s2v_place {     /* state of a conversation without its KV cache; borrowed */
    int32_t next_pos, pending; /* as in the session */
    bool thinks;               /* its answer began with thoughts, */
    int32_t thought_budget;    /* of so many tokens; 0: no limit */
    const int32_t *tokens;     /* [n_tokens] of the answer so far */
    size_t n_tokens;
    const float *logits; /* [n_vocab] of the last position; NULL: there are none */
    const uint8_t *held; /* [n_held] text that may become a stop string */
    size_t n_held;
    s2v_detokenizer detokenizer;
} s2v_place;

void s2v_place_get(const s2v_session *session, s2v_place *out);

/* Continue from there with the session's own options; the sampler is as if it had picked the tokens. */
s2p_status s2v_place_set(s2v_session *session, const s2v_place *place, s2p_error *error);

#endif /* S2_ENGINE_ANSWER_H */
