/* sample.h - from a row of logits to the next token.
 *
 * Filters in the order of llama.cpp's default chain, each on what the one before it left:
 *
 *     bias         added to the logits of some tokens
 *     penalties    tokens seen in the window: a positive logit divided by repeat_penalty, another
 *                  multiplied by it; then minus frequency_penalty per sighting and
 *                  presence_penalty once
 *     top_k        the k largest logits
 *     top_p        the fewest most likely of them whose probabilities reach p
 *     min_p        of these, the ones at least min_p times as likely as the first
 *     temperature  logits divided by it
 *     draw         one of the rest by its probability
 *
 * Temperature 0 is greedy: the first maximum after bias and penalties, no filter and no draw. Equal
 * logits go by the smaller id everywhere. Nothing here allocates per token.
 *
 *     s2v_sampler_create(&sampler, n_vocab, &error);
 *     s2v_sampler_start(sampler, &sampling, &error);            once per answer
 *     s2v_sampler_accept(sampler, token);                       prompt tokens, if they count
 *     s2v_sampler_pick(sampler, logits, &token, &error);        per token, then _accept it
 */
#ifndef S2_TEXT_SAMPLE_H
#define S2_TEXT_SAMPLE_H

#include "base/error.h"
#include "text/sample_stop.h"

#include "s2vlm.h"

#define S2V_PENALTY_WINDOW_MAX 4096
#define S2V_BIAS_MAX 1024 /* tokens */

typedef struct s2v_sampler s2v_sampler; /* one answer at a time */

s2p_status s2v_sampler_create(s2v_sampler **out, int32_t n_vocab, s2p_error *error);
void s2v_sampler_free(s2v_sampler *sampler);

/* Begin an answer: new options, the generator back to the seed, no token seen. S2P_EINVAL names the
 * option that is out of range; the list of biases is borrowed until the next. A sampler that was never started is greedy. */
s2p_status s2v_sampler_start(s2v_sampler *sampler, const s2v_sampling *sampling, s2p_error *error);

/* A token is now part of the text; the penalties look at it. An id outside the vocabulary is
 * ignored. */
void s2v_sampler_accept(s2v_sampler *sampler, int32_t token);

/* The generator as after n tokens picked with the options of _start. */
void s2v_sampler_skip(s2v_sampler *sampler, size_t n);

bool s2v_sampler_is_greedy(const s2v_sampler *sampler); /* temperature 0 */

/* logits: [n_vocab], unchanged. S2P_EFORMAT: one is NaN or +infinity, or all are -infinity. */
s2p_status s2v_sampler_pick(s2v_sampler *sampler, const float *logits, int32_t *token,
                            s2p_error *error);

/* The same among some tokens only: `allowed` has a bit for each, 64 in a word; NULL: all. Filters act on
 * what is allowed. S2P_EFORMAT also where every allowed logit is -infinity. */
s2p_status s2v_sampler_pick_allowed(s2v_sampler *sampler, const float *logits,
                                    const uint64_t *allowed, int32_t *token, s2p_error *error);

static inline bool s2v_is_allowed(const uint64_t *allowed, int32_t token)
{
    return !allowed || (allowed[token / 64] >> (token % 64) & 1);
}

#endif /* S2_TEXT_SAMPLE_H */
