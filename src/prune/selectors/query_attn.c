/* query_attn.c - the token the question attends to most in layer 0. Paper: Sec. 5.5.
 *
 * query-all: mean over the question tokens (those after the image, up to the end
 * of the prompt; the paper does not say which). query-last: the last prompt
 * token alone. Rows arrive averaged over heads.
 */
#include "prune/scaffold.h"

#include <string.h>

static s2p_status query_all_rate(const s2p_view *view, int32_t n_tokens, float *score)
{
    const s2p_signal *attn = &view->signal[S2P_QUERY_ATTN];
    for (int32_t i = 0; i < n_tokens; i++) {
        double sum = 0.0;
        for (int32_t q = 0; q < attn->shape[0]; q++)
            sum += (double)attn->data[(ptrdiff_t)q * n_tokens + i];
        score[i] = (float)(sum / attn->shape[0]);
    }
    return S2P_OK;
}

static s2p_status query_last_rate(const s2p_view *view, int32_t n_tokens, float *score)
{
    const s2p_signal *attn = &view->signal[S2P_QUERY_ATTN];
    const ptrdiff_t last = (ptrdiff_t)(attn->shape[0] - 1) * n_tokens;
    memcpy(score, attn->data + last, (size_t)n_tokens * sizeof *score);
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
