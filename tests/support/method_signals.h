/* method_signals.h - seeded signals for every method in the table, for any grid.
 *
 * One block of numbers serves all arrays: what a method sees is arbitrary but the same every time.
 */
#ifndef TESTS_METHOD_SIGNALS_H
#define TESTS_METHOD_SIGNALS_H

#include "check.h"
#include "prune/method.h"

#include <string.h>

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
    const int32_t prompt = n + SIGNAL_BEFORE + SIGNAL_AFTER;
    return (s2p_view){
        .budget = budget,
        .image = image,
        .first_row = SIGNAL_BEFORE,
        .signal = { [S2P_ERC] = { m->positive, { n } },
                    [S2P_HIDDEN] = { m->shifted, { n, SIGNAL_DIM } },
                    [S2P_FEATURE] = { m->shifted + SIGNAL_DIM, { n, SIGNAL_DIM } },
                    [S2P_QUERY_ATTN] = { m->positive, { SIGNAL_TEXT, n } },
                    [S2P_LAST_ATTN] = { m->positive, { n } },
                    [S2P_VISION_ATTN] = { m->positive, { 2, n } },
                    [S2P_VISION_KEY] = { m->shifted, { n, SIGNAL_DIM } },
                    [S2P_TEXT] = { m->plain, { SIGNAL_TEXT, SIGNAL_DIM } },
                    [S2P_LAST_QUERY] = { m->plain, { SIGNAL_HEADS, SIGNAL_DIM } },
                    [S2P_MEAN_QUERY] = { m->plain + 1, { SIGNAL_HEADS, SIGNAL_DIM } },
                    [S2P_PLAIN_KEY] = { m->shifted, { SIGNAL_KV_HEADS, n, SIGNAL_DIM } },
                    [S2P_ROTATED_KEY] = { m->plain, { SIGNAL_KV_HEADS, prompt, SIGNAL_DIM } },
                    [S2P_NORMED] = { m->shifted, { prompt, SIGNAL_DIM } } },
    };
}

/* The tokens alive are n_alive: signals of the decoder have as many rows. */
static inline void set_rows(s2p_view *view, int32_t n_alive)
{
    view->n_alive = n_alive;
    for (size_t id = 0; s2p_signal_at(id); id++) {
        const char *shape = s2p_signal_at(id)->shape;
        for (size_t d = 0; shape[d]; d++)
            if (shape[d] == 'a') view->signal[id].shape[d] = n_alive;
    }
}

/* Other numbers for the signals of the decoder, as if it had moved on. */
static inline void shift_rows(s2p_view *view)
{
    for (size_t id = 0; s2p_signal_at(id); id++)
        if (view->signal[id].data && strchr(s2p_signal_at(id)->shape, 'a')) view->signal[id].data++;
}

/* All stages of a method, the signals of later ones shifted as if the decoder had moved on. alive:
 * room for n tokens. The plan holds the last stage. */
static inline s2p_status run_stages(const s2p_method *method, s2p_view view, s2p_plan *plan,
                                    int32_t *alive, s2p_error *error)
{
    s2p_status st = S2P_OK;
    for (int32_t stage = 0; st == S2P_OK && stage < s2p_method_about(method)->n_stages; stage++) {
        view.stage = stage;
        if (stage > 0) {
            const int32_t *keep = s2p_plan_keep(plan, &view.n_alive);
            for (int32_t i = 0; i < view.n_alive; i++) alive[i] = keep[i];
            view.alive = alive;
            set_rows(&view, view.n_alive);
            shift_rows(&view);
        }
        st = s2p_method_run(method, &view, plan, error);
    }
    return st;
}

#endif /* TESTS_METHOD_SIGNALS_H */
