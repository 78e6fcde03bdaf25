/* resize.c - Pillow's 8-bit bicubic, bilinear and Lanczos, bit for bit.
 *
 * Two passes. Up to Pillow 12 always across, then down; Pillow 13 goes down first where the
 * height loses more than twice as many pixels as the width does (a width that grows
 * loses none), and rounds in between at another place. Each output sample is a weighted sum of the input
 * samples under a filter (cubic with a = -0.5, a triangle, or Lanczos with three lobes) that widens when shrinking. Weights are made in
 * double, normalized, then rounded (half away from zero) to 22 fractional bits; the
 * sum starts at one half and is clipped to 8 bits after each pass. A pass that would
 * not change the size is left out.
 */
#include "image/image.h"

#include "base/checked.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define FRACTION_BITS 22
#define HALF (1 << (FRACTION_BITS - 1))

typedef struct taps { /* weights of one axis */
    int32_t n_out, n_max;
    int32_t *first;  /* [n_out] input index of the first weight */
    int32_t *count;  /* [n_out] weights, at most n_max */
    int32_t *weight; /* [n_out][n_max] */
} taps;

static double cubic(double x)
{
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0) return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0) return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double sinc(double x)
{
    if (x == 0.0) return 1.0;
    x *= 3.14159265358979323846; /* M_PI is not C */
    return sin(x) / x;
}

static double lanczos(double x) { return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3.0) : 0.0; }

static double triangle(double x)
{
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static const struct {
    double (*at)(double x);
    double support; /* it is 0 from there on */
} filters[] = { [S2_FILTER_BICUBIC] = { cubic, 2.0 },
                [S2_FILTER_LANCZOS] = { lanczos, 3.0 },
                [S2_FILTER_BILINEAR] = { triangle, 1.0 } };

static void taps_free(taps *t)
{
    free(t->first);
    free(t->count);
    free(t->weight);
}

/* Weights of output sample i. `scratch` holds them in double until their sum is known. */
static void taps_fill(taps *t, int32_t i, int32_t n_in, s2_filter filter, double *scratch)
{
    const double scale = (double)n_in / t->n_out;
    const double widening = scale < 1.0 ? 1.0 : scale;
    const double support = filters[filter].support * widening;
    const double inverse = 1.0 / widening;
    const double centre = (i + 0.5) * scale;
    const double low = centre - support + 0.5, high = centre + support + 0.5;
    const int32_t first = low < 0.0 ? 0 : (int32_t)low;
    const int32_t end = high > n_in ? n_in : (int32_t)high;

    double sum = 0.0;
    for (int32_t j = 0; j < end - first; j++) {
        scratch[j] = filters[filter].at((j + first - centre + 0.5) * inverse);
        sum += scratch[j];
    }
    int32_t *weight = t->weight + (size_t)i * (size_t)t->n_max;
    for (int32_t j = 0; j < end - first; j++) {
        const double w = (sum != 0.0 ? scratch[j] / sum : scratch[j]) * (1 << FRACTION_BITS);
        weight[j] = (int32_t)(w < 0.0 ? w - 0.5 : w + 0.5);
    }
    t->first[i] = first;
    t->count[i] = end - first;
}

static s2p_status taps_init(taps *t, int32_t n_in, int32_t n_out, s2_filter filter,
                            s2p_error *error)
{
    const double scale = (double)n_in / n_out;
    const double n_max = ceil(filters[filter].support * (scale < 1.0 ? 1.0 : scale)) * 2 + 1;
    *t = (taps){ .n_out = n_out };
    size_t n_weights = 0, n_bytes = 0;
    if (n_max > INT32_MAX || !s2_mul_size((size_t)n_out, (size_t)n_max, &n_weights) ||
        !s2_mul_size(n_weights, sizeof(double), &n_bytes))
        return s2_fail_memory(error, SIZE_MAX, "resize weights");

    t->n_max = (int32_t)n_max;
    t->first = malloc((size_t)n_out * sizeof *t->first);
    t->count = malloc((size_t)n_out * sizeof *t->count);
    t->weight = malloc(n_weights * sizeof *t->weight);
    double *scratch = malloc((size_t)t->n_max * sizeof *scratch);
    const bool ok = t->first && t->count && t->weight && scratch;
    if (ok)
        for (int32_t i = 0; i < n_out; i++) taps_fill(t, i, n_in, filter, scratch);
    free(scratch);
    return ok ? S2P_OK : s2_fail_memory(error, n_bytes, "resize weights");
}

static uint8_t clip(int32_t sum)
{
    const int32_t value = sum >> FRACTION_BITS;
    return (uint8_t)(value < 0 ? 0 : value > 255 ? 255 : value);
}

/* One row across: [3 * n_in] -> [3 * n_out]. The sums stay inside 32 bits: the absolute weights
 * of a normalized cubic add up to less than 1.5, of Lanczos to less than 1.7. */
static void row_across(const taps *t, const uint8_t *in, uint8_t *out)
{
    for (int32_t x = 0; x < t->n_out; x++) {
        const int32_t *weight = t->weight + (size_t)x * (size_t)t->n_max;
        const uint8_t *p = in + (size_t)3 * (size_t)t->first[x];
        int32_t red = HALF, green = HALF, blue = HALF;
        for (int32_t j = 0; j < t->count[x]; j++, p += 3) {
            red += p[0] * weight[j];
            green += p[1] * weight[j];
            blue += p[2] * weight[j];
        }
        *out++ = clip(red);
        *out++ = clip(green);
        *out++ = clip(blue);
    }
}

/* One row down: the same weight for every sample of an input row, so rows are added whole. */
static void row_down(const taps *t, int32_t y, const s2p_image *in, int32_t *sum, uint8_t *out)
{
    const size_t n = (size_t)3 * (size_t)in->width;
    const int32_t *weight = t->weight + (size_t)y * (size_t)t->n_max;
    for (size_t i = 0; i < n; i++) sum[i] = HALF;
    for (int32_t j = 0; j < t->count[y]; j++) {
        const uint8_t *row = in->pixels + in->stride * (t->first[y] + j);
        const int32_t w = weight[j];
        for (size_t i = 0; i < n; i++) sum[i] += row[i] * w;
    }
    for (size_t i = 0; i < n; i++) out[i] = clip(sum[i]);
}

static s2p_status pass_across(const s2p_image *in, int32_t width, s2_filter filter, s2_image *out,
                              s2p_error *error)
{
    s2_image result;
    taps t;
    s2p_status st = taps_init(&t, in->width, width, filter, error);
    if (st == S2P_OK) st = s2_image_create(width, in->height, &result, error);
    if (st == S2P_OK) {
        for (int32_t y = 0; y < in->height; y++)
            row_across(&t, in->pixels + in->stride * y, result.pixels + result.view.stride * y);
        *out = result;
    }
    taps_free(&t);
    return st;
}

static s2p_status pass_down(const s2p_image *in, int32_t height, s2_filter filter, s2_image *out,
                            s2p_error *error)
{
    const size_t n = (size_t)3 * (size_t)in->width;
    s2_image result;
    taps t;
    int32_t *sum = malloc(n * sizeof *sum);
    s2p_status st = taps_init(&t, in->height, height, filter, error);
    if (!sum) st = s2_fail_memory(error, n * sizeof *sum, "resize sums");
    if (st == S2P_OK) st = s2_image_create(in->width, height, &result, error);
    if (st == S2P_OK) {
        for (int32_t y = 0; y < height; y++)
            row_down(&t, y, in, sum, result.pixels + result.view.stride * y);
        *out = result;
    }
    taps_free(&t);
    free(sum);
    return st;
}

static s2p_status copy_picture(const s2p_image *in, s2_image *out, s2p_error *error)
{
    s2_image copy;
    TRY(s2_image_create(in->width, in->height, &copy, error));
    for (int32_t y = 0; y < in->height; y++)
        memcpy(copy.pixels + copy.view.stride * y, in->pixels + in->stride * y,
               (size_t)copy.view.stride);
    *out = copy;
    return S2P_OK;
}

static bool is_down_first(const s2p_image *in, int32_t width, int32_t height, s2_resize how)
{
    const int64_t lost_across = (int64_t)in->width - width,
                  lost_down = (int64_t)in->height - height;
    return how == S2_RESIZE_PILLOW13 && lost_down > 0 && lost_down > 2 * lost_across;
}

s2p_status s2_image_resize(const s2p_image *in, int32_t width, int32_t height, s2_image *out,
                           s2p_error *error)
{
    return s2_image_resize_as(in, width, height, S2_RESIZE_PILLOW, out, error);
}

s2p_status s2_image_resize_as(const s2p_image *in, int32_t width, int32_t height, s2_resize how,
                              s2_image *out, s2p_error *error)
{
    return s2_image_resize_with(in, width, height, S2_FILTER_BICUBIC, how, out, error);
}

s2p_status s2_image_resize_with(const s2p_image *in, int32_t width, int32_t height,
                                s2_filter filter, s2_resize how, s2_image *out, s2p_error *error)
{
    if (width < 1 || height < 1 || in->width < 1 || in->height < 1)
        return s2_fail(error, S2P_EINVAL, "cannot resize %dx%d px to %dx%d px", (int)in->width,
                       (int)in->height, (int)width, (int)height);
    if (in->width == width && in->height == height) return copy_picture(in, out, error);
    if (in->width == width) return pass_down(in, height, filter, out, error);
    if (in->height == height) return pass_across(in, width, filter, out, error);

    s2_image between;
    s2p_status st;
    if (is_down_first(in, width, height, how)) {
        TRY(pass_down(in, height, filter, &between, error));
        st = pass_across(&between.view, width, filter, out, error);
    } else {
        TRY(pass_across(in, width, filter, &between, error));
        st = pass_down(&between.view, height, filter, out, error);
    }
    s2_image_free(&between);
    return st;
}
