/* logprobs.h - the log probability of each token of an answer, and the most likely tokens.
 *
 * Log-softmax of the logits as they leave the model: before penalties, filters and temperature. A token
 * is reported together with its text: text that is held back for a stop string and then cut is not
 * reported.
 */
#ifndef S2_SERVE_LOGPROBS_H
#define S2_SERVE_LOGPROBS_H

#include "base/json.h"
#include "s2vlm.h"

#define S2_LOGPROBS_MAX_TOP 20
#define S2_LOGPROBS_HELD 512 /* more than a stop string has bytes; control tokens have none */

typedef struct s2_logprobs { /* of one answer; all zero: it has not begun */
    json_t *held[S2_LOGPROBS_HELD];
    size_t end[S2_LOGPROBS_HELD]; /* bytes of the answer up to and with each */
    size_t n_held;
    size_t n_reported, n_bytes,
        n_shown; /* bytes of reported tokens; of all tokens; of the answer */
} s2_logprobs;

typedef struct s2_logits { /* borrowed */
    const float *logit;    /* [n] of the position the token was picked for */
    int32_t n;
    const s2v_engine *engine;
} s2_logits;

/* {"token":,"logprob":,"bytes":,"top_logprobs":[]} with the n_top likeliest, ties by the smaller id; a new
 * reference, NULL without memory. What has no probability has -9999. */
json_t *s2_logprob_json(const s2_logits *logits, int32_t token, int32_t n_top);

/* The answer goes on with this token. */
void s2_logprobs_add(s2_logprobs *l, const s2_logits *logits, int32_t token, int32_t n_top);

/* n more bytes of the answer were shown: a list of the tokens that are in them, or of all that are
 * left when the model itself has come to the end. */
json_t *s2_logprobs_shown(s2_logprobs *l, size_t n, bool is_end);

/* As it was before it began. */
void s2_logprobs_clear(s2_logprobs *l);

#endif /* S2_SERVE_LOGPROBS_H */
