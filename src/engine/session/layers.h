/* layers.h - decoder layers over the rows of the prompt, or over one token. */
#ifndef S2_ENGINE_LAYERS_H
#define S2_ENGINE_LAYERS_H

#include "engine/session/session.h"

/* Layers [first, last) over all rows, in chunks. erc: [rows.n] out or NULL. The last layer leaves
 * logits in the session. */
s2p_status s2v_run_layers(s2v_session *session, int32_t first, int32_t last, float *erc,
                          s2p_error *error);

/* One token through all layers; leaves logits. */
s2p_status s2v_run_token(s2v_session *session, int32_t token, s2p_error *error);

/* What the last two share with a token that runs beside others (many.h): room for one more slot in
 * every layer; one more slot and position counted; the logits read into the session. */
s2p_status s2v_token_fits(const s2v_session *session, s2p_error *error);
void s2v_token_ran(s2v_session *session);
s2p_status s2v_logits_read(s2v_session *session, const struct ggml_tensor *logits,
                           s2p_error *error);

#endif /* S2_ENGINE_LAYERS_H */
