/* session_file.h - a conversation as bytes, checked before they are used.
 *
 *     head       128 bytes: format, model, and all counts
 *     slots      [n_layers] int32, filled in each layer
 *     tokens     [n_tokens] int32, the answer so far
 *     logits     [n_logits] float32: of the last position, may be empty
 *     held       text that may become a stop string, zeros up to a multiple of 8
 *     cache      for each layer the keys of its slots, then the values; or its state
 *     SHA-256    of all before it
 */
#ifndef S2_ENGINE_SESSION_FILE_H
#define S2_ENGINE_SESSION_FILE_H

#include "engine/session/answer.h"

typedef struct s2v_session_shape { /* what a file must match */
    uint8_t model[32];             /* its identity */
    int32_t n_layers, n_vocab, n_ctx, kv_type, kv_type_v;
    int32_t slot_bytes;                 /* of a slot's key and its value in one layer */
    int32_t state_bytes, attends_every; /* of a layer without slots, 0: there are none; as in the
                                           decoder's parameters */
} s2v_session_shape;

typedef struct s2v_session_bytes { /* an accepted file; pointers into it */
    s2v_place place;
    const int32_t *n_slots; /* [n_layers] */
    const uint8_t *cache;
} s2v_session_bytes;

/* bytes: [n], 8-byte aligned. name: for the sentence. S2P_EFORMAT: damaged, or of another model;
 * S2P_ELIMIT: the cache is too small for it. */
s2p_status s2v_session_file_check(const uint8_t *bytes, size_t n, const char *name,
                                  const s2v_session_shape *shape, s2v_session_bytes *out,
                                  s2p_error *error);

#endif /* S2_ENGINE_SESSION_FILE_H */
