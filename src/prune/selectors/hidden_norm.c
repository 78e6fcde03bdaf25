/* hidden_norm.c - the token with the largest hidden state after layer 0. Paper: Sec. 5.5. */
#include "prune/scaffold.h"

#include <math.h>

static s2p_status norm_rate(const s2p_view *view, int32_t n_tokens, float *score)
{
    const s2p_signal *hidden = &view->signal[S2P_HIDDEN];
    const int32_t dim = hidden->shape[1];
    for (int32_t i = 0; i < n_tokens; i++) {
        const float *row = hidden->data + (ptrdiff_t)i * dim;
        double sum = 0.0;
        for (int32_t k = 0; k < dim; k++) sum += (double)row[k] * (double)row[k];
        score[i] = (float)sqrt(sum);
    }
    return S2P_OK;
}

const s2p_selector s2p_selector_norm = {
    .name = "norm",
    .source = "S2Prune, Sec. 5.5",
    .needs = S2P_NEED_HIDDEN,
    .rate = norm_rate,
};
