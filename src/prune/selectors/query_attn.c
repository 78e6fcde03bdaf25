/* query_attn.c - the token the question attends to most in layer 0. Paper: Sec. 5.5.
 *
 * query-all: mean over the question tokens (those after the image, up to the end
 * of the prompt; the paper does not say which). query-last: the last prompt
 * token alone. Rows arrive averaged over heads.
 */
#include "prune/scaffold.h"

#include <string.h>

static s2p_status query_all_rate(const s2p_signals *signals, int32_t n_tokens, float *score)
{
    for (int32_t i = 0; i < n_tokens; i++) {
        double sum = 0.0;
        for (int32_t q = 0; q < signals->n_queries; q++)
            sum += (double)signals->query_attn[(ptrdiff_t)q * n_tokens + i];
        score[i] = (float)(sum / signals->n_queries);
    }
    return S2P_OK;
}

static s2p_status query_last_rate(const s2p_signals *signals, int32_t n_tokens, float *score)
{
    const ptrdiff_t last = (ptrdiff_t)(signals->n_queries - 1) * n_tokens;
    memcpy(score, signals->query_attn + last, (size_t)n_tokens * sizeof *score);
    return S2P_OK;
}

const s2p_selector s2p_selector_query_all = {
    .name = "query-all",
    .source = "S2Prune, Sec. 5.5",
    .needs = S2P_NEED_QUERY_ATTN,
    .rate = query_all_rate,
};

const s2p_selector s2p_selector_query_last = {
    .name = "query-last",
    .source = "S2Prune, Sec. 5.5",
    .needs = S2P_NEED_QUERY_ATTN,
    .rate = query_last_rate,
};
