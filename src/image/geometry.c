/* geometry.c - target sizes of the two towers, as Hugging Face computes them.
 *
 * The formulas are Python's: `/` is division in double, round() goes half to even
 * (rint in C, not round), `//` on floats is the floor of an exact quotient.
 */
#include "image/geometry.h"

#include <math.h>
#include <stdbool.h>

#define MAX_ASPECT 200.0
#define PINPOINTS 6       /* 1..6 tiles along each side */
#define MAX_TILES 9.0     /* of anyres_max_9: above this many the tokens are shrunk */
#define SHRINK_ABOVE 1.1  /* ratio of sides; up to here they are left as they are */
#define NEARLY_WHOLE 5e-8 /* int(round(x, 7)): this close below a whole number counts as whole */

/* Python's a // b for positive doubles. */
static double floor_divide(double a, double b)
{
    const double quotient = (a - fmod(a, b)) / b;
    const double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

s2p_status s2_smart_resize(s2_size in, int32_t factor, int64_t min_pixels, int64_t max_pixels,
                           s2_size *out)
{
    if (in.width < 1 || in.height < 1 || factor < 1 || min_pixels < 1 || max_pixels < min_pixels)
        return S2P_EINVAL;
    const double w = in.width, h = in.height, f = factor;
    if (fmax(w, h) / fmin(w, h) > MAX_ASPECT) return S2P_EUNSUPPORTED;

    double wide = rint(w / f) * f, high = rint(h / f) * f;
    if (wide * high > (double)max_pixels) {
        const double shrink = sqrt(h * w / (double)max_pixels);
        high = fmax(f, floor(h / shrink / f) * f);
        wide = fmax(f, floor(w / shrink / f) * f);
    } else if (wide * high < (double)min_pixels) {
        const double grow = sqrt((double)min_pixels / (h * w));
        high = ceil(h * grow / f) * f;
        wide = ceil(w * grow / f) * f;
    }
    if (wide > INT32_MAX || high > INT32_MAX) return S2P_EUNSUPPORTED;
    *out = (s2_size){ (int32_t)wide, (int32_t)high };
    return S2P_OK;
}

/* The pinpoint that keeps most of the picture's pixels and then wastes least; first one wins. */
static s2_size best_pinpoint(s2_size in, int32_t tile)
{
    const int64_t all = (int64_t)in.width * in.height;
    int64_t most_kept = 0, least_wasted = INT64_MAX;
    s2_size best = { tile, tile };
    for (int32_t i = 0; i < PINPOINTS * PINPOINTS; i++) {
        const s2_size pin = { tile * (i % PINPOINTS + 1), tile * (i / PINPOINTS + 1) };
        const double scale = fmin((double)pin.width / in.width, (double)pin.height / in.height);
        const int64_t fitted = (int64_t)(in.width * scale) * (int64_t)(in.height * scale);
        const int64_t kept = fitted < all ? fitted : all;
        const int64_t wasted = (int64_t)pin.width * pin.height - kept;
        if (kept > most_kept || (kept == most_kept && wasted < least_wasted)) {
            most_kept = kept;
            least_wasted = wasted;
            best = pin;
        }
    }
    return best;
}

/* Rows or columns left of `have` when the picture, fitted along the other side, needs `need`. The
 * same number is cut at both ends, so the rest keeps its parity. */
static int32_t unpad(int32_t have, double need)
{
    const int32_t whole = (int32_t)floor(need + NEARLY_WHOLE);
    return have - (have - whole) / 2 * 2;
}

s2_anyres s2_anyres_plan(s2_size in, int32_t tile, int32_t base)
{
    s2_anyres plan = { .n_views = 0 };
    if (in.width < 1 || in.height < 1 || tile < 1 || tile > INT32_MAX / PINPOINTS || base < 1 ||
        base > S2P_MAX_SIDE / PINPOINTS)
        return plan;
    plan.best = best_pinpoint(in, tile);
    const int32_t tiles_down = plan.best.height / tile, tiles_across = plan.best.width / tile;
    plan.n_views = 1 + tiles_down * tiles_across;
    plan.rows = base * tiles_down;
    plan.cols = base * tiles_across;

    /* The picture was fitted into the tiles; drop the tokens of the padding. */
    const double w = in.width, h = in.height;
    if (w / h > (double)plan.cols / plan.rows)
        plan.rows = unpad(plan.rows, h * (plan.cols / w));
    else
        plan.cols = unpad(plan.cols, w * (plan.rows / h));
    plan.full_rows = plan.rows;
    plan.full_cols = plan.cols;

    const double ratio = sqrt((double)plan.rows * plan.cols / (MAX_TILES * base * base));
    if (ratio > SHRINK_ABOVE) {
        plan.rows = (int32_t)floor_divide(plan.rows, ratio);
        plan.cols = (int32_t)floor_divide(plan.cols, ratio);
    }
    plan.n_tokens = base * base + plan.rows * plan.cols + plan.rows;
    return plan;
}

/* Arrangements are tried by their number of tiles, then by columns. */
s2_size s2_nearest_tiles(s2_size in, int32_t tile, int32_t least, int32_t most)
{
    const double ratio = (double)in.width / in.height, area = (double)in.width * in.height;
    double nearest = HUGE_VAL;
    s2_size best = { 1, 1 };
    for (int32_t n = least; n <= most; n++)
        for (int32_t cols = 1; cols <= n; cols++) {
            if (n % cols != 0) continue;
            const double off = fabs(ratio - (double)cols / (n / cols));
            if (off < nearest || (off == nearest && area > 0.5 * tile * tile * n))
                best = (s2_size){ cols, n / cols };
            if (off < nearest) nearest = off;
        }
    return best;
}

s2p_status s2_longest_side_tiles(s2_size in, int32_t tile, int32_t longest, s2_size *fitted,
                                 s2_size *tiled)
{
    if (in.width < 1 || in.height < 1 || tile < 1 || longest < 1 || longest > 1 << 20)
        return S2P_EINVAL;
    const bool is_wide = in.width >= in.height;
    const double ratio = (double)in.width / in.height;
    /* Both roundings in double, as Python has them: width / ratio and height * ratio. */
    int32_t shorter = (int32_t)(is_wide ? longest / ratio : longest * ratio);
    shorter += shorter % 2;
    if (shorter < 1) shorter = 1;
    *fitted = is_wide ? (s2_size){ longest, shorter } : (s2_size){ shorter, longest };

    const double of_fitted = (double)fitted->width / fitted->height;
    const int64_t wide = ((int64_t)longest + tile - 1) / tile * tile;
    int64_t other = (int64_t)(is_wide ? (double)wide / of_fitted : (double)wide * of_fitted);
    other = (other + tile - 1) / tile * tile;
    if (other < 1 || other > 1 << 20 || wide > 1 << 20) return S2P_EUNSUPPORTED;
    *tiled = is_wide ? (s2_size){ (int32_t)wide, (int32_t)other }
                     : (s2_size){ (int32_t)other, (int32_t)wide };
    return S2P_OK;
}
