/* method_signals.h - seeded signals for every method in the table, for any grid.
 *
 * One block of numbers serves all arrays: what a method sees is arbitrary but the same every time.
 */
#ifndef TESTS_METHOD_SIGNALS_H
#define TESTS_METHOD_SIGNALS_H

#include "check.h"
#include "prune/method.h"

enum {
    SIGNAL_TOKENS = 640,
    SIGNAL_DIM = 8,
    SIGNAL_HEADS = 4,
    SIGNAL_KV_HEADS = 2,
    SIGNAL_TEXT = 6,
    SIGNAL_BEFORE = 3, /* rows of the prompt before the picture */
    SIGNAL_AFTER = 9,
    SIGNAL_COUNT = (SIGNAL_TOKENS + SIGNAL_BEFORE + SIGNAL_AFTER) * SIGNAL_DIM * SIGNAL_KV_HEADS
};

typedef struct method_signals {
    float plain[SIGNAL_COUNT], shifted[SIGNAL_COUNT], positive[SIGNAL_COUNT];
} method_signals;

static inline void fill_signals(method_signals *m, uint32_t seed)
{
    for (int32_t i = 0; i < SIGNAL_COUNT; i++) {
        const float x = (float)(next_random(&seed) % 20001u) / 10000.0f - 1.0f;
        m->plain[i] = x;
        m->shifted[i] = x + 0.4f; /* cosines mostly above zero, as features have them */
        m->positive[i] = (float)(next_random(&seed) % 100000u + 1u) / 1e7f;
    }
    for (int32_t i = 0; i < SIGNAL_COUNT; i += 11) m->positive[i] *= 40.0f; /* outliers */
}

/* A view with every signal there is, for n tokens of which `rows` are alive. */
static inline s2p_view view_of_signals(const method_signals *m, const s2p_image *image, int32_t n,
                                       int32_t budget)
{
    return (s2p_view){
        .budget = budget,
        .signals = { .image = image,
                     .erc = m->positive,
                     .hidden = m->shifted,
                     .hidden_dim = SIGNAL_DIM,
                     .feature = m->shifted + SIGNAL_DIM,
                     .feature_dim = SIGNAL_DIM,
                     .query_attn = m->positive,
                     .n_queries = SIGNAL_TEXT },
        .taps = { .vision_attn = m->positive,
                  .vision_heads = 2,
                  .vision_key = m->shifted,
                  .vision_key_dim = SIGNAL_DIM,
                  .text = m->plain,
                  .n_text = SIGNAL_TEXT,
                  .text_dim = SIGNAL_DIM,
                  .last_query = m->plain,
                  .mean_query = m->plain + 1,
                  .plain_key = m->shifted,
                  .n_heads = SIGNAL_HEADS,
                  .n_kv_heads = SIGNAL_KV_HEADS,
                  .head_dim = SIGNAL_DIM,
                  .rotated_key = m->plain,
                  .normed = m->shifted,
                  .n_prompt = n + SIGNAL_BEFORE + SIGNAL_AFTER,
                  .first_row = SIGNAL_BEFORE,
                  .normed_dim = SIGNAL_DIM },
    };
}

/* All stages of a method, the signals of later ones shifted as if the decoder had moved on. alive:
 * room for n tokens. The plan holds the last stage. */
static inline s2p_status run_stages(const s2p_method *method, s2p_view view, s2p_plan *plan,
                                    int32_t *alive, s2p_error *error)
{
    s2p_status st = S2P_OK;
    for (int32_t stage = 0; st == S2P_OK && stage < method->n_stages; stage++) {
        view.stage = stage;
        if (stage > 0) {
            const int32_t *keep = s2p_plan_keep(plan, &view.n_alive);
            for (int32_t i = 0; i < view.n_alive; i++) alive[i] = keep[i];
            view.alive = alive;
            view.signals.erc += 1;
            view.signals.query_attn += 1;
            view.signals.hidden += 1;
            view.taps.plain_key += 1;
        }
        st = s2p_method_run(method, &view, plan, error);
    }
    return st;
}

#endif /* TESTS_METHOD_SIGNALS_H */
