/* pixelprune.c - tokens whose pixels follow from their neighbors never need to enter the tower.
 *
 * PixelPrune, arXiv 2604.00886, and its code: the picture as the tower sees it is cut into squares
 * of one token each; a square within the threshold of what its neighbors predict is dropped. All
 * distances are computed from bytes, in integers and one division in double: threshold 0 means
 * equal bytes.
 *
 *     predict      A left, B above, C above left; the prediction is B where C is like A and not
 *                  like B (an edge between C and B continues downwards), otherwise A
 *     raster       compared with the square kept last, row by row
 *     serpentine   the same, odd rows from right to left
 *     components   pixelprune_components.c
 *
 * Anchored (the default): a dropped square counts as what predicted it, so that every dropped square
 * lies within the threshold of a kept one, which `source` names. Sliding: squares count as they
 * are, and a slow gradient can vanish altogether.
 */
#include "prune/pixelprune.h"

#include "prune/refuse.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- scans --------------------------------------------------------------------------- */

/* source: [tokens] out, the square a token counts as: itself where it is kept or compared as it is. */
static void predict(const s2p_squares *s, bool is_sliding, bool *is_kept, int32_t *source)
{
    const int32_t cols = s->grid.cols, n = s->grid.rows * cols;
    for (int32_t t = 0; t < n; t++) {
        const bool has_left = t % cols > 0, has_above = t >= cols;
        source[t] = t;
        is_kept[t] = true;
        if (t == 0) continue;
        int32_t prediction = has_left ? source[t - 1] : source[t - cols];
        if (has_left && has_above) {
            const int32_t above = source[t - cols], corner = source[t - cols - 1];
            if (!s2p_squares_alike(s, corner, above) && s2p_squares_alike(s, corner, prediction))
                prediction = above;
        }
        is_kept[t] = !s2p_squares_alike(s, t, prediction);
        if (!is_kept[t] && !is_sliding) source[t] = prediction;
    }
}

static void scan_rows(const s2p_squares *s, bool is_serpentine, bool *is_kept)
{
    const int32_t cols = s->grid.cols, n = s->grid.rows * cols;
    int32_t last = 0;
    is_kept[0] = true;
    for (int32_t i = 1; i < n; i++) {
        const bool is_back = is_serpentine && i / cols % 2 == 1;
        const int32_t t = is_back ? i / cols * cols + cols - 1 - i % cols : i;
        is_kept[t] = !s2p_squares_alike(s, last, t);
        if (is_kept[t]) last = t;
    }
}

/* --- the call ------------------------------------------------------------------------ */

void s2p_pixelprune_init(s2p_pixelprune *options)
{
    memset(options, 0, sizeof *options);
    options->skip_ratio = 1.0;
}

static bool is_share(double x) { return x >= 0.0 && x <= 1.0; }

static s2p_status check_call(const s2p_image *image, s2p_grid grid, const s2p_pixelprune *o)
{
    if (!image || !image->pixels || grid.rows < 1 || grid.rows > S2P_MAX_SIDE || grid.cols < 1 ||
        grid.cols > S2P_MAX_SIDE || grid.rows * grid.cols > S2P_MAX_TOKENS)
        return S2P_EINVAL;
    if (image->width < grid.cols || image->height < grid.rows || image->width % grid.cols != 0 ||
        image->height % grid.rows != 0 || image->stride < 3 * (ptrdiff_t)image->width)
        return S2P_EINVAL;
    if (o->scan < S2P_SCAN_PREDICT || o->scan > S2P_SCAN_COMPONENTS ||
        o->metric < S2P_DISTANCE_MAX || o->metric > S2P_DISTANCE_RMSE)
        return S2P_EINVAL;
    return is_share(o->threshold) && is_share(o->skip_ratio) ? S2P_OK : S2P_EINVAL;
}

s2p_status s2p_pixelprune_select(const s2p_image *image, s2p_grid grid,
                                 const s2p_pixelprune *options, int32_t *keep, int32_t *n_keep)
{
    if (!options || !keep || !n_keep) return S2P_EINVAL;
    *n_keep = 0;
    s2p_status st = check_call(image, grid, options);
    if (st != S2P_OK) return st;
    s2p_squares s = { .image = image,
                      .grid = grid,
                      .width = image->width / grid.cols,
                      .height = image->height / grid.rows,
                      .metric = options->metric,
                      .threshold = options->threshold,
                      .most = -1 };
    if (options->threshold == 0.0) s.most = 0; /* whatever the metric */
    if (options->metric == S2P_DISTANCE_MAX)
        for (s.most = 255; s.most > 0 && s.most / 255.0 > options->threshold;) s.most--;

    const int32_t n = grid.rows * grid.cols;
    bool *is_kept = malloc((size_t)n * sizeof *is_kept);
    int32_t *source = malloc((size_t)n * sizeof *source);
    if (!is_kept || !source)
        st = S2P_ENOMEM;
    else if (options->scan == S2P_SCAN_COMPONENTS)
        st = s2p_squares_components(&s, options->skip_ratio, is_kept);
    else if (options->scan == S2P_SCAN_PREDICT)
        predict(&s, options->sliding != 0, is_kept, source);
    else
        scan_rows(&s, options->scan == S2P_SCAN_SERPENTINE, is_kept);
    for (int32_t t = 0; st == S2P_OK && t < n; t++)
        if (is_kept[t]) keep[(*n_keep)++] = t;
    free(source);
    free(is_kept);
    return st;
}

/* --- as text -------------------------------------------------------------------------- */

static const char name[] = "pixelprune";
static const char *const metrics[] = { "max", "mae", "rmse" };

/* A number from 0 to 1 and nothing else. */
static bool read_threshold(const char *text, size_t n, double *out)
{
    char copy[32], *end;
    if (n == 0 || n >= sizeof copy || !strchr("0123456789.", text[0])) return false;
    memcpy(copy, text, n);
    copy[n] = '\0';
    if (strspn(copy, "0123456789.eE+-") != n) return false;
    *out = strtod(copy, &end);
    return *end == '\0' && is_share(*out);
}

s2p_status s2p_pixelprune_read(const char *text, size_t n, s2p_pixelprune *out, s2p_error *error)
{
    static const char usage[] = "pixelprune[:THRESHOLD] or pixelprune:METRIC:THRESHOLD, a "
                                "threshold from 0 to 1 and a metric max, mae or rmse";
    s2p_pixelprune_init(out);
    const size_t n_name = sizeof name - 1;
    if (n < n_name || memcmp(text, name, n_name) != 0 || (n > n_name && text[n_name] != ':'))
        return s2p_refuse(error, S2P_EINVAL, "'%.*s' is not %s", n < 60 ? (int)n : 60, text, usage);
    const char *at = text + n_name, *end = text + n;
    if (at == end) return S2P_OK;
    at++;
    for (int32_t m = 0; m < 3; m++) {
        const size_t length = strlen(metrics[m]);
        if ((size_t)(end - at) <= length || memcmp(at, metrics[m], length) != 0 ||
            at[length] != ':')
            continue;
        out->metric = (s2p_distance)m;
        at += length + 1;
        break;
    }
    if (read_threshold(at, (size_t)(end - at), &out->threshold)) return S2P_OK;
    return s2p_refuse(error, S2P_EINVAL, "'%.*s' is not %s", n < 60 ? (int)n : 60, text, usage);
}

const char *s2p_pixelprune_text(const s2p_pixelprune *options, char out[S2P_PIXELPRUNE_TEXT])
{
    const bool is_exact = options->threshold == 0.0; /* then all metrics are one */
    char number[32] = "0";
    for (int digits = 1; !is_exact && digits <= 17; digits++) {
        (void)snprintf(number, sizeof number, "%.*g", digits, options->threshold);
        if (strtod(number, NULL) == options->threshold) break;
    }
    if (is_exact)
        (void)snprintf(out, S2P_PIXELPRUNE_TEXT, "%s", name);
    else if (options->metric == S2P_DISTANCE_MAX)
        (void)snprintf(out, S2P_PIXELPRUNE_TEXT, "%s:%s", name, number);
    else
        (void)snprintf(out, S2P_PIXELPRUNE_TEXT, "%s:%s:%s", name,
                       options->metric <= S2P_DISTANCE_RMSE ? metrics[options->metric] : "?",
                       number);
    return out;
}
