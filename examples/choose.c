/* choose.c - DivPrune and S2Prune on the arrays of any engine.
 *
 *     cc choose.c $(pkg-config --cflags --libs s2prune) -o choose && ./choose
 *
 * Rows entering the decoder, the same rows after its layer 0 and the picture are stand-ins here; an
 * engine has them. Whatever else a method looks at goes into view.signal in the same way.
 */
#include <s2prune.h>

#include <stdio.h>

enum { SIDE = 24, TOKENS = SIDE * SIDE, WIDTH = 32, PIXELS = 336, BUDGET = 64 };

static uint8_t pixels[PIXELS * PIXELS * 3];
static float entering[TOKENS * WIDTH], after_layer_0[TOKENS * WIDTH], erc[TOKENS];

/* A busy corner on a ramp, and rows that differ. */
static void stand_in(void)
{
    for (int i = 0; i < PIXELS * PIXELS; i++) {
        const int x = i % PIXELS, y = i / PIXELS, is_busy = x < 80 && y < 80;
        for (int c = 0; c < 3; c++)
            pixels[3 * i + c] = (uint8_t)(is_busy ? x * 37 ^ y * 101 : x / 2);
    }
    for (int i = 0; i < TOKENS * WIDTH; i++) {
        entering[i] = (float)(i * 7919 % 1009) / 1009.0f - 0.5f;
        after_layer_0[i] = entering[i] + (float)(i * 104729 % 997) / 9970.0f;
    }
}

/* Which tokens stay, and when the engine has to ask. */
static int choose(const char *name, const s2p_view *view, s2p_plan *plan)
{
    const s2p_method *method = s2p_method_find(name);
    s2p_error error = { S2P_OK, "" };
    int32_t n_keep;
    const uint32_t missing = s2p_view_missing(view, s2p_method_needs(method, &view->choice));
    if (missing) {
        fprintf(stderr, "%s needs %s\n", name, s2p_need_text(missing));
        return 0;
    }
    if (s2p_method_run(method, view, plan, &error) != S2P_OK) {
        fprintf(stderr, "%s\n", error.message);
        return 0;
    }
    const int32_t *keep = s2p_plan_keep(plan, &n_keep);
    printf("%-9s after layer %2d:", name,
           (int)s2p_method_about(method)->after[0]); /* -1: before the decoder */
    for (int32_t i = 0; i < n_keep; i++) printf(" %d", (int)keep[i]);
    printf("\n");
    return n_keep == BUDGET;
}

int main(void)
{
    stand_in();
    const s2p_image image = { PIXELS, PIXELS, PIXELS * 3, pixels };
    s2p_view view = { .budget = BUDGET, .image = &image };
    view.signal[S2P_FEATURE] = (s2p_signal){ entering, { TOKENS, WIDTH } };
    view.signal[S2P_ERC] = (s2p_signal){ erc, { TOKENS } };

    s2p_plan *plan = NULL;
    int ok = s2p_erc(entering, after_layer_0, TOKENS, WIDTH, erc) == S2P_OK &&
             s2p_plan_create(&plan, (s2p_grid){ SIDE, SIDE }) == S2P_OK;
    ok = ok && choose("divprune", &view, plan) && choose("s2prune", &view, plan);
    s2p_plan_free(plan);
    return ok ? 0 : 1;
}
