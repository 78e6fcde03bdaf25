/* restricted.c - a later stage of a method, from arrays recorded at its first.
 *
 * Nobody ran the decoder again without the dropped tokens, so their rows are taken out of what it
 * did with them: near enough to try a method, and how the goldens of FEATHER are made. A run that
 * was recorded has the true arrays of each stage.
 */
#include "plan/recorded.h"

#include "prune/ranking.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

s2p_status s2_restrict(const s2p_view *all, int32_t n_tokens, const int32_t *alive, int32_t n_alive,
                       s2_restricted *out)
{
    *out = (s2_restricted){ .view = *all };
    out->view.alive = alive;
    out->view.n_alive = n_alive;
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) {
        const char *shape = s2p_signal_at(id)->shape, *at = strchr(shape, 'a');
        if (!at || !all->signal[id].data) continue;
        /* The rows of the tokens alive, along the dimension of a shape that counts them. */
        const s2p_signal *from = &all->signal[id];
        const size_t alive_dim = (size_t)(at - shape);
        size_t n_blocks = 1, width = 1;
        for (size_t d = 0; d < alive_dim; d++) n_blocks *= (size_t)from->shape[d];
        for (size_t d = alive_dim + 1; d < 3 && from->shape[d] > 0; d++)
            width *= (size_t)from->shape[d];
        const size_t n = (size_t)from->shape[alive_dim];
        float *rows = malloc(n_blocks * (size_t)n_alive * width * sizeof *rows);
        for (size_t b = 0; rows && b < n_blocks; b++)
            for (int32_t i = 0; i < n_alive; i++)
                memcpy(rows + (b * (size_t)n_alive + (size_t)i) * width,
                       from->data + (b * n + (size_t)alive[i]) * width, width * sizeof *rows);
        out->view.signal[id].data = rows;
        out->view.signal[id].shape[alive_dim] = n_alive;
        out->made[id] = rows;
        if (!out->made[id]) return S2P_ENOMEM;
    }
    if (s2p_view_missing(all, S2P_NEED_LAST_QUERY | S2P_NEED_PLAIN_KEY)) return S2P_OK;
    /* Attention recorded once stays what it is when tokens go: one head whose softmax over those left
     * ranks them as before. The goldens of FEATHER's second stage are made that way. */
    static const float one = 1.0f;
    double *score = malloc((size_t)n_tokens * sizeof *score);
    float *key = malloc((size_t)n_alive * sizeof *key);
    free(out->made[S2P_PLAIN_KEY]);
    out->made[S2P_PLAIN_KEY] = key;
    s2p_status st = score && key ? s2p_head_attention(&all->signal[S2P_LAST_QUERY],
                                                      &all->signal[S2P_PLAIN_KEY], score, NULL)
                                 : S2P_ENOMEM;
    for (int32_t i = 0; st == S2P_OK && i < n_alive; i++)
        key[i] = (float)log(fmax(score[alive[i]], DBL_MIN));
    free(score);
    out->view.signal[S2P_PLAIN_KEY] = (s2p_signal){ key, { 1, n_alive, 1 } };
    out->view.signal[S2P_LAST_QUERY] = (s2p_signal){ &one, { 1, 1, 1 } };
    return st;
}

void s2_restricted_free(s2_restricted *restricted)
{
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) free(restricted->made[id]);
}
