/* logit_bias.c - the biases of a job as the sampler takes them: texts become their tokens. */
#include "serve/engine/jobs.h"

#include <math.h>

#define MAX_TOKENS 1024 /* of all entries; the limit of s2v_sampling */

s2p_status s2_ask_job_bias(const json_t *list, const s2v_engine *engine, s2_ask_job *out,
                           s2p_error *error)
{
    int32_t tokens[256];
    const size_t n_tokens_max = sizeof tokens / sizeof *tokens;
    s2v_sampling *sampling = &out->session.sampling;
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    if (json_array_size(list) == 0) return S2P_OK;
    s2v_logit_bias *bias = s2_pool_take(&out->pool, MAX_TOKENS * sizeof *bias);
    if (!bias) return s2_fail_memory(error, MAX_TOKENS * sizeof *bias, "the biases");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *pair = json_array_get(list, i), *what = json_array_get(pair, 0);
        const json_t *value = json_array_get(pair, 1);
        const float amount = json_is_false(value) ? -INFINITY : (float)json_number_value(value);
        const json_int_t id = json_integer_value(what);
        size_t n_here = 1;
        tokens[0] = (int32_t)id;
        if (json_is_string(what))
            TRY(s2v_engine_tokenize(engine, json_string_value(what), json_string_length(what), 1,
                                    tokens, n_tokens_max, &n_here, error));
        else if (id < 0 || id >= info.n_vocab)
            return s2_fail(error, S2P_EINVAL,
                           "logit_bias: the vocabulary has no token %lld (0 to %d)", (long long)id,
                           info.n_vocab - 1);
        if (n_here > n_tokens_max || n + n_here > MAX_TOKENS)
            return s2_fail(error, S2P_ELIMIT, "logit_bias has more than %d tokens", MAX_TOKENS);
        for (size_t k = 0; k < n_here; k++) bias[n++] = (s2v_logit_bias){ tokens[k], amount };
    }
    sampling->bias = bias;
    sampling->n_bias = n;
    return S2P_OK;
}
