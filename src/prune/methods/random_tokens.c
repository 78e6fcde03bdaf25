/* random_tokens.c - any tokens, each set with the same chance. Paper: Sec. 3.3, a control.
 *
 * The first `budget` steps of a Fisher-Yates shuffle, so that a larger budget
 * with the same seed keeps a superset.
 */
#include "base/random.h"
#include "prune/method.h"

static s2p_status random_select(const s2p_view *view, s2p_plan *plan, s2p_error *error)
{
    (void)error;
    s2p_plan_clear(plan);
    const int32_t n = s2p_view_rows(view, plan);
    int32_t *token = plan->order;
    for (int32_t i = 0; i < n; i++) token[i] = s2p_view_token(view, i);

    s2_random random = { view->choice.seed };
    for (int32_t i = 0; i < view->budget; i++) {
        const int32_t j = i + (int32_t)s2_random_below(&random, (uint32_t)(n - i));
        const int32_t drawn = token[j];
        token[j] = token[i];
        token[i] = drawn;
    }
    return s2p_plan_take(plan, token, view->budget);
}

const s2p_method s2p_method_random = {
    .about.name = "random",
    .about.title = "Random",
    .about.draws = true,
    .about.source = "S2Prune, Sec. 3.3",
    .about.n_stages = 1,
    .about.after = { S2P_BEFORE_DECODER },
    .select = random_select,
};
