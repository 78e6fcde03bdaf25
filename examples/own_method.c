/* own_method.c - a pruning method of your own: keep the longest rows, away from the border.
 *
 *     cc own_method.c $(pkg-config --cflags --libs s2prune) -o own_method && ./own_method
 *
 * It says which signals it needs and after which layer it runs. Here it reads arrays made up on the
 * spot; s2v_prune_options.own_method hands the same s2p_method to the engine.
 */
#include <s2prune.h>

#include <stdio.h>
#include <string.h>

enum { SIDE = 24, TOKENS = SIDE * SIDE, WIDTH = 32, BUDGET = 16 };

/* Squared length of row i; -1 for rows of the border, -2 for those already kept. */
static double score(const s2p_view *view, s2p_grid grid, int32_t i, const char *is_kept)
{
    const int32_t border = (int32_t)view->parameters->value[0]; /* of the first row below */
    const int32_t row = i / grid.cols, col = i % grid.cols,
                  width = view->signal[S2P_FEATURE].shape[1];
    const float *x = view->signal[S2P_FEATURE].data + (size_t)i * (size_t)width;
    double sum = 0.0;
    if (is_kept[i]) return -2.0;
    if (row < border || col < border || row >= grid.rows - border || col >= grid.cols - border)
        return -1.0;
    for (int32_t k = 0; k < width; k++) sum += (double)x[k] * (double)x[k];
    return sum;
}

static s2p_status keep_longest(const s2p_view *view, s2p_grid grid, int32_t *keep, int32_t *n_keep,
                               void *user, s2p_error *error)
{
    char *is_kept = user; /* scratch of the caller */
    (void)error;
    if (grid.rows * grid.cols > TOKENS) return S2P_EUNSUPPORTED;
    memset(is_kept, 0, TOKENS);
    for (int32_t k = 0; k < *n_keep; k++) {
        int32_t best = 0;
        for (int32_t i = 1; i < grid.rows * grid.cols; i++)
            if (score(view, grid, i, is_kept) > score(view, grid, best, is_kept)) best = i;
        keep[k] = best;
        is_kept[best] = 1;
    }
    return S2P_OK;
}

int main(void)
{
    static float entering[TOKENS * WIDTH]; /* rows as they enter the decoder: an engine has them */
    static char scratch[TOKENS];
    for (int i = 0; i < TOKENS * WIDTH; i++) entering[i] = (float)(i * 7919 % 1009) / 1009.0f;
    const s2p_parameter border = {
        "border", "rows and columns left out at the border", 1, 0, 8, 2
    };

    s2p_method_definition definition;
    s2p_method_definition_init(&definition); /* one stage, before the decoder */
    definition.name = "longest";
    definition.needs = S2P_NEED_FEATURE;
    definition.parameters = &border;
    definition.n_parameters = 1;
    definition.function = keep_longest;
    definition.user = scratch;

    s2p_error error = { S2P_OK, "" };
    s2p_method *method = NULL;
    s2p_plan *plan = NULL;
    s2p_view view = { .budget = BUDGET };
    view.signal[S2P_FEATURE] = (s2p_signal){ entering, { TOKENS, WIDTH } };
    s2p_status st = s2p_method_make(&method, &definition, &error);
    if (st == S2P_OK) st = s2p_plan_create(&plan, (s2p_grid){ SIDE, SIDE });
    if (st == S2P_OK) st = s2p_method_run(method, &view, plan, &error);
    int32_t n = 0;
    const int32_t *keep = st == S2P_OK ? s2p_plan_keep(plan, &n) : NULL;
    if (st != S2P_OK) fprintf(stderr, "%s\n", error.message);
    for (int32_t i = 0; i < n; i++) printf("%d ", (int)keep[i]);
    printf("\n");
    s2p_plan_free(plan);
    s2p_method_free(method);
    return n == BUDGET ? 0 : 1;
}
