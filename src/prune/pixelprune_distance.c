/* pixelprune_distance.c - how alike two squares of a picture are, from bytes.
 *
 * max: the largest difference of two bytes / 255; mae: their sum / (255 n); rmse: the root of their mean
 * square / 255. All in integers and one division in double; equality counts as alike.
 */
#include "prune/pixelprune.h"

#include <math.h>
#include <string.h>

static const uint8_t *row_of(const s2p_squares *s, int32_t token, int32_t y)
{
    const int32_t r = token / s->grid.cols, c = token % s->grid.cols;
    return s->image->pixels + ((ptrdiff_t)r * s->height + y) * s->image->stride +
           (ptrdiff_t)c * s->width * 3;
}

static int32_t gap(uint8_t a, uint8_t b) { return a > b ? a - b : b - a; }

static int32_t largest_gap(const uint8_t *a, const uint8_t *b, int32_t n)
{
    int32_t largest = 0;
    for (int32_t i = 0; i < n; i++) {
        const int32_t d = gap(a[i], b[i]);
        largest = d > largest ? d : largest;
    }
    return largest;
}

bool s2p_squares_alike(const s2p_squares *s, int32_t a, int32_t b)
{
    const int32_t n = s->width * 3;
    uint64_t sum = 0;
    if (a == b) return true;
    for (int32_t y = 0; y < s->height; y++) {
        const uint8_t *x = row_of(s, a, y), *z = row_of(s, b, y);
        if (s->most == 0 && memcmp(x, z, (size_t)n) != 0) return false;
        if (s->most > 0 && largest_gap(x, z, n) > s->most) return false;
        for (int32_t i = 0; s->most < 0 && i < n; i++) {
            const uint64_t d = (uint64_t)gap(x[i], z[i]);
            sum += s->metric == S2P_DISTANCE_RMSE ? d * d : d;
        }
    }
    if (s->most >= 0) return true;
    const double count = (double)n * s->height;
    if (s->metric == S2P_DISTANCE_MAE) return (double)sum / (255.0 * count) <= s->threshold;
    return sqrt((double)sum / count) / 255.0 <= s->threshold;
}
