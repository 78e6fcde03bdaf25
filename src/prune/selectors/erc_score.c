/* erc_score.c - the token whose hidden state changed most in layer 0. Paper: Sec. 4.2 Eq. 5-6. */
#include "prune/scaffold.h"

#include <string.h>

static s2p_status erc_rate(const s2p_view *view, int32_t n_tokens, float *score)
{
    memcpy(score, view->signal[S2P_ERC].data, (size_t)n_tokens * sizeof *score);
    return S2P_OK;
}

const s2p_selector s2p_selector_erc = {
    .name = "erc",
    .source = "S2Prune, Sec. 4.2",
    .needs = S2P_NEED_ERC,
    .rate = erc_rate,
};
