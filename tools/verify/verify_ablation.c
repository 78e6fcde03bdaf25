/* verify_ablation.c - the measures of the other allocators against NumPy's SVD and FFT.
 *
 * Effective rank: 1e-4 relative, ours comes from the Gram matrix. Spectral energy without the
 * constant term equals the gray variance (Parseval): 1e-6.
 */
#include "inputs.h"
#include "verify/checks.h"

#include <math.h>
#include <stdlib.h>

typedef struct ablation {
    s2p_grid grid;
    int32_t side;
    s2_array feature, gray;
    s2_image picture;
    s2p_plan *plan;
} ablation;

/* The raw measure of `allocator` in every region, within tolerance * (floor + expected). */
static void check_measure(const json_t *c, const char *key, const char *allocator, double tolerance,
                          double floor, const ablation *a, s2_verdict *verdict)
{
    s2_reals expected;
    if (!s2_take_reals(c, key, &expected, verdict)) return;
    const int32_t n = a->grid.rows * a->grid.cols, dim = (int32_t)a->feature.shape[1];
    s2p_view view = { .budget = n, /* keeping everything is always allowed */
                      .image = &a->picture.view,
                      .choice = { .side = a->side, .allocator = allocator } };
    view.signal[S2P_FEATURE] = (s2p_signal){ a->feature.data, { n, dim } };
    s2p_error error = { S2P_OK, "" };
    if (s2p_prune(&view, a->plan, &error) != S2P_OK) {
        s2_differs(verdict, "%s: refused: %s", key, error.message);
    } else {
        const s2p_layout layout = s2p_plan_layout(a->plan);
        bool same = s2_same_number(verdict, key, (int64_t)expected.n, layout.side * layout.side);
        for (size_t g = 0; same && g < expected.n; g++) {
            const double got = (double)layout.raw[g], want = expected.data[g];
            same = fabs(got - want) <= tolerance * (floor + fabs(want));
            if (!same)
                s2_differs(verdict, "%s of region %zu: expected %.9g, got %.9g", key, g, want, got);
        }
    }
    free(expected.data);
}

void s2_check_ablation(const json_t *c, s2_verdict *verdict)
{
    ablation a = { .plan = NULL };
    int32_t n_tokens;
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2p_error error = { S2P_OK, "" };
    if (s2_take_int(c, "N", &n_tokens, verdict) && s2_take_int(c, "K", &a.side, verdict) &&
        s2_take_array(c, "feat", &a.feature, verdict) &&
        s2_take_array(c, "gray", &a.gray, verdict)) {
        const int32_t side = n_tokens > 0 ? (int32_t)sqrt((double)n_tokens) : 0;
        a.grid = (s2p_grid){ side, side };
        s2p_status st = S2P_OK;
        if (side * side != n_tokens || a.feature.type != S2_F32 || a.feature.n_dims != 2 ||
            a.feature.shape[0] != n_tokens || a.feature.shape[1] < 1 ||
            a.feature.shape[1] > INT32_MAX) {
            s2_malformed(verdict, "'feat' is not float32 [N][d] of a square grid");
        } else if (s2_picture_of_array(&a.gray, "gray", &limits, &a.picture, &error) != S2P_OK) {
            s2_malformed(verdict, "%s", error.message);
        } else if ((st = s2p_plan_create(&a.plan, a.grid)) != S2P_OK) {
            s2_differs(verdict, "refused: %s", s2p_status_text(st));
        } else {
            check_measure(c, "erank", "erank", 1e-4, 0.0, &a, verdict);
            check_measure(c, "fft_ac", "fft", 1e-6, 1.0, &a, verdict);
        }
    }
    s2p_plan_free(a.plan);
    s2_array_free(&a.feature);
    s2_array_free(&a.gray);
    s2_image_free(&a.picture);
}
