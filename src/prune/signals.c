/* signals.c - the table of signals: names, words, shapes. Whoever lists, reads, writes, gathers or
 * checks signals walks it.
 *
 * Shapes have a letter for each dimension: n tokens that entered the decoder, a rows alive, L rows of the
 * prompt, q and t of the question, v heads of the tower, h and k of the decoder, e the width of its
 * heads, d any width. A letter but d is one size in all signals of a view.
 */
#include "prune/signals.h"

#include "prune/method.h"

#include <math.h>
#include <string.h>

/* clang-format off */
static const s2p_signal_info table[S2P_N_SIGNALS] = {
    [S2P_PIXELS]      = { "image", "a picture", "", "the source picture" },
    [S2P_ERC]         = { "erc", "ERC scores", "a", "a decoder layer" },
    [S2P_HIDDEN]      = { "hidden", "hidden states", "ad", "a decoder layer" },
    [S2P_FEATURE]     = { "feature", "visual features", "nd", "the input of the decoder" },
    [S2P_QUERY_ATTN]  = { "query_attn", "question attention", "qa", "a decoder layer" },
    [S2P_LAST_ATTN]   = { "last_attn", "question attention", "a", "a decoder layer" },
    [S2P_VISION_ATTN] = { "vision_attn", "attention of the vision tower", "vn",
                          "the tower's last block" },
    [S2P_VISION_KEY]  = { "vision_key", "keys of the vision tower", "nd",
                          "the tower's last block" },
    [S2P_TEXT]        = { "text", "embeddings of the question", "td", "the input of the decoder" },
    [S2P_LAST_QUERY]  = { "last_query", "the query of the last prompt token before rotation", "he",
                          "a decoder layer" },
    [S2P_MEAN_QUERY]  = { "mean_query", "the mean query before rotation", "he",
                          "a decoder layer" },
    [S2P_PLAIN_KEY]   = { "plain_key", "keys before rotation", "kae", "a decoder layer" },
    [S2P_ROTATED_KEY] = { "rotated_key", "rotated keys of the whole prompt", "kLe",
                          "a decoder layer" },
    [S2P_NORMED]      = { "normed", "normed hidden states of the whole prompt", "Ld",
                          "a decoder layer" },
    [S2P_ALIGNED]     = { "aligned", "visual rows in the space of the question", "nd",
                          "an encoder of its own" },
};
/* clang-format on */

_Static_assert(S2P_N_SIGNALS <= S2P_MAX_SIGNALS, "a view has room for every signal");

const s2p_signal_info *s2p_signal_at(size_t id) { return id < S2P_N_SIGNALS ? &table[id] : NULL; }

uint32_t s2p_signals_of_decoder(void)
{
    uint32_t bits = 0;
    for (size_t id = 0; id < S2P_N_SIGNALS; id++)
        if (strcmp(table[id].from, "a decoder layer") == 0) bits |= UINT32_C(1) << id;
    return bits;
}

static bool is_at_hand(const s2p_view *view, size_t id)
{
    if (id == S2P_PIXELS) return view->image != NULL;
    const s2p_signal *s = &view->signal[id];
    for (size_t d = 0; d < strlen(table[id].shape); d++)
        if (s->shape[d] < 1) return false;
    return s->data != NULL;
}

uint32_t s2p_view_missing(const s2p_view *view, uint32_t needs)
{
    for (size_t id = 0; id < S2P_N_SIGNALS; id++)
        if (is_at_hand(view, id)) needs &= ~(UINT32_C(1) << id);
    return needs;
}

const char *s2p_need_text(uint32_t needs)
{
    size_t id = 0;
    while (id < S2P_N_SIGNALS - 1 && !(needs >> id & 1)) id++;
    return table[id].words;
}

s2p_status s2p_view_check_shapes(const s2p_view *view, const s2p_plan *plan, uint32_t signals,
                                 const char *who, s2p_error *error)
{
    int32_t size['z' + 1] = { 0 }; /* of a letter; 0: not met yet */
    size['a'] = s2p_view_rows(view, plan);
    if (view->stage == 0) size['n'] = size['a']; /* later stages have lost some of them */
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) {
        if (!(signals >> id & 1) || !is_at_hand(view, id)) continue;
        for (size_t d = 0; table[id].shape[d]; d++) {
            int32_t *expected = &size[(int)table[id].shape[d]];
            const int32_t found = view->signal[id].shape[d];
            if (*expected > 0 && found != *expected)
                return s2p_refuse(error, S2P_EINVAL, "%s: %s: dimension %zu is %d, expected %d",
                                  who, table[id].words, d + 1, found, *expected);
            if (table[id].shape[d] == 'n' && (found < size['a'] || found > s2p_tokens(plan->grid)))
                return s2p_refuse(error, S2P_EINVAL,
                                  "%s: %s: dimension %zu is %d, expected %d to %d", who,
                                  table[id].words, d + 1, found, size['a'], s2p_tokens(plan->grid));
            if (table[id].shape[d] != 'd') *expected = found;
        }
    }
    return S2P_OK;
}

s2p_status s2p_view_check_values(const s2p_view *view, uint32_t signals, const char *who,
                                 s2p_error *error)
{
    for (size_t id = 0; id < S2P_N_SIGNALS; id++) {
        if (id == S2P_PIXELS || !(signals >> id & 1) || !is_at_hand(view, id)) continue;
        const s2p_signal *s = &view->signal[id];
        size_t count = 1;
        for (size_t d = 0; table[id].shape[d]; d++) count *= (size_t)s->shape[d];
        for (size_t i = 0; i < count; i++)
            if (!isfinite(s->data[i]))
                return s2p_refuse(error, S2P_EINVAL, "%s: %s: a value is not finite", who,
                                  table[id].words);
    }
    return S2P_OK;
}
