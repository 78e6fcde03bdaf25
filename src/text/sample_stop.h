/* sample_stop.h - stop strings: when an answer ends before the model says so. */
#ifndef S2_TEXT_SAMPLE_STOP_H
#define S2_TEXT_SAMPLE_STOP_H

#include "base/buffer.h"

#include <stdbool.h>

#define S2V_STOP_MAX 64         /* strings */
#define S2V_STOP_MAX_BYTES 1024 /* each */

typedef struct s2v_stop s2v_stop; /* watches a stream of text for the first of several strings */

/* S2P_EINVAL: an empty string; S2P_ELIMIT: too many or too long. n may be 0: nothing ever stops. */
s2p_status s2v_stop_create(s2v_stop **out, const char *const *text, size_t n, s2p_error *error);
s2p_status s2v_stop_copy(s2v_stop **out, const s2v_stop *from, s2p_error *error); /* no text yet */
void s2v_stop_free(s2v_stop *stop);
void s2v_stop_reset(s2v_stop *stop); /* for the next answer */

/* Take more of the text; append to `out` what cannot be part of a stop string any more. true: a
 * stop string is complete; what came before it is in `out`, it and all that follows is dropped.
 * Whole UTF-8 in gives whole UTF-8 out when the stop strings are UTF-8. */
bool s2v_stop_feed(s2v_stop *stop, const void *text, size_t n, s2_buffer *out);

/* What is held back now. */
const uint8_t *s2v_stop_held(const s2v_stop *stop, size_t *n);

/* The text ended without a stop: append what was held back. */
void s2v_stop_end(s2v_stop *stop, s2_buffer *out);

#endif /* S2_TEXT_SAMPLE_STOP_H */
