/* restricted.c - a later stage of a method, from arrays recorded at its first.
 *
 * Nobody ran the decoder again without the dropped tokens, so their rows are taken out of what it
 * did with them: near enough to try a method, and how the goldens of FEATHER are made. A run that
 * was recorded has the true arrays of each stage.
 */
#include "recorded.h"

#include "prune/ranking.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* [n_blocks][n][width] to [n_blocks][n_alive][width]; NULL stays NULL. */
static bool gather(const float *from, size_t n_blocks, int32_t n, size_t width,
                   const int32_t *alive, int32_t n_alive, float **out)
{
    if (!from) return true;
    *out = malloc(n_blocks * (size_t)n_alive * width * sizeof **out);
    if (!*out) return false;
    for (size_t b = 0; b < n_blocks; b++)
        for (int32_t i = 0; i < n_alive; i++)
            memcpy(*out + (b * (size_t)n_alive + (size_t)i) * width,
                   from + (b * (size_t)n + (size_t)alive[i]) * width, width * sizeof **out);
    return true;
}

/* Attention recorded once stays what it is when tokens go: one head whose softmax over those left
 * ranks them as before. The goldens of FEATHER's second stage are made that way. */
static s2p_status restrict_attention(const s2p_taps *t, int32_t n_tokens, const int32_t *alive,
                                     int32_t n_alive, s2_restricted *out)
{
    static const float one = 1.0f;
    double *score = malloc((size_t)n_tokens * sizeof *score);
    out->plain_key = malloc((size_t)n_alive * sizeof *out->plain_key);
    s2p_status st = score && out->plain_key
                        ? s2p_head_attention(t->last_query, t, n_tokens, score, NULL)
                        : S2P_ENOMEM;
    for (int32_t i = 0; st == S2P_OK && i < n_alive; i++)
        out->plain_key[i] = (float)log(fmax(score[alive[i]], DBL_MIN));
    free(score);
    s2p_taps *taps = &out->view.taps;
    taps->plain_key = out->plain_key;
    taps->last_query = &one;
    taps->n_heads = taps->n_kv_heads = taps->head_dim = 1;
    return st;
}

s2p_status s2_restrict(const s2p_view *all, int32_t n_tokens, const int32_t *alive, int32_t n_alive,
                       s2_restricted *out)
{
    const s2p_signals *s = &all->signals;
    *out = (s2_restricted){ .view = *all };
    if (!gather(s->erc, 1, n_tokens, 1, alive, n_alive, &out->erc) ||
        !gather(s->hidden, 1, n_tokens, (size_t)s->hidden_dim, alive, n_alive, &out->hidden) ||
        !gather(s->query_attn, (size_t)s->n_queries, n_tokens, 1, alive, n_alive, &out->query_attn))
        return S2P_ENOMEM;
    out->view.alive = alive;
    out->view.n_alive = n_alive;
    out->view.signals.erc = out->erc;
    out->view.signals.hidden = out->hidden;
    out->view.signals.query_attn = out->query_attn;
    if (!all->taps.plain_key || !all->taps.last_query) return S2P_OK;
    return restrict_attention(&all->taps, n_tokens, alive, n_alive, out);
}

void s2_restricted_free(s2_restricted *restricted)
{
    free(restricted->erc);
    free(restricted->hidden);
    free(restricted->query_attn);
    free(restricted->plain_key);
}
