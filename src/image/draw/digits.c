/* digits.c - numbers on a picture, at any size.
 *
 * A digit is a path of quadratic curves in a box 6 wide and 10 high, drawn with a
 * round pen: a pixel is as opaque as its distance to the path says. That needs no
 * font file and looks the same everywhere.
 */
#include "image/draw/drawing.h"

#include <math.h>

#define BOX_WIDTH 6.0
#define BOX_HEIGHT 10.0
#define ADVANCE 8.4 /* from one digit to the next */
#define PEN 0.85    /* half the stroke */
#define CURVE_STEPS 8
#define MAX_DIGITS 10

/* In tenths of the box. Moves: x, y of the start, then control and end of each curve; a straight
 * line has its control on its end. -1 ends a digit. */
static const int8_t path_0[] = { 30, 0,   60, 0,  60, 50, 60, 100, 30, 100,
                                 0,  100, 0,  50, 0,  0,  30, 0,   -1 };
static const int8_t path_1[] = { 10, 22, 36, 0, 36, 0, 36, 100, 36, 100, -1 };
static const int8_t path_2[] = { 2,  26, 2, 0,   30, 0,   58, 0,   58, 28,
                                 58, 48, 0, 100, 60, 100, 60, 100, -1 };
static const int8_t path_3[] = { 2,  20, 6,  0,  30, 0,   56, 0,   56, 25,  56, 47, 24, 47,
                                 60, 47, 60, 74, 60, 100, 30, 100, 4,  100, 0,  78, -1 };
static const int8_t path_4[] = { 46, 100, 46, 0, 46, 0, 0, 70, 0, 70, 60, 70, 60, 70, -1 };
static const int8_t path_5[] = { 54, 0,  10, 0,  10, 0,   6,  45,  6, 45,  16, 37, 30, 37,
                                 60, 37, 60, 68, 60, 100, 30, 100, 6, 100, 0,  80, -1 };
static const int8_t path_6[] = { 50, 2,  0,  14, 0,  68, 0, 100, 30, 100, 60, 100,
                                 60, 69, 60, 39, 30, 39, 0, 39,  0,  68,  -1 };
static const int8_t path_7[] = { 0, 0, 60, 0, 60, 0, 20, 100, 20, 100, -1 };
static const int8_t path_8[] = { 30, 46,  5,  46,  5,  23, 5,  0,  30, 0,  55, 0,
                                 55, 23,  55, 46,  30, 46, 60, 46, 60, 73, 60, 100,
                                 30, 100, 0,  100, 0,  73, 0,  46, 30, 46, -1 };
static const int8_t path_9[] = { 10, 98, 60, 86, 60, 32, 60, 0,  30, 0,  0, 0,
                                 0,  31, 0,  61, 30, 61, 60, 61, 60, 32, -1 };
static const int8_t *const paths[10] = { path_0, path_1, path_2, path_3, path_4,
                                         path_5, path_6, path_7, path_8, path_9 };

typedef struct point {
    double x, y;
} point;

/* Squared distance from p to the segment a b. */
static double to_segment(point p, point a, point b)
{
    const double dx = b.x - a.x, dy = b.y - a.y, length = dx * dx + dy * dy;
    double t = length > 0.0 ? ((p.x - a.x) * dx + (p.y - a.y) * dy) / length : 0.0;
    t = t < 0.0 ? 0.0 : t > 1.0 ? 1.0 : t;
    const double ex = p.x - (a.x + t * dx), ey = p.y - (a.y + t * dy);
    return ex * ex + ey * ey;
}

/* Distance from p to a digit, in box units. */
static double to_digit(point p, const int8_t *path)
{
    double nearest = 1e9;
    point from = { path[0] / 10.0, path[1] / 10.0 };
    for (const int8_t *q = path + 2; *q >= 0; q += 4) {
        const point control = { q[0] / 10.0, q[1] / 10.0 }, end = { q[2] / 10.0, q[3] / 10.0 };
        const bool is_straight = control.x == end.x && control.y == end.y;
        const int n = is_straight ? 1 : CURVE_STEPS;
        point a = from;
        for (int i = 1; i <= n; i++) {
            const double t = (double)i / n, s = 1.0 - t;
            const point b = { s * s * from.x + 2 * s * t * control.x + t * t * end.x,
                              s * s * from.y + 2 * s * t * control.y + t * t * end.y };
            nearest = fmin(nearest, to_segment(p, a, b));
            a = b;
        }
        from = end;
    }
    return sqrt(nearest);
}

/* Decimal digits, most significant first; returns how many. */
static int split(int32_t value, int digit[MAX_DIGITS])
{
    int n = 0;
    if (value < 0) value = 0;
    for (int32_t rest = value; n == 0 || rest > 0; rest /= 10) digit[n++] = (int)(rest % 10);
    for (int i = 0; i < n / 2; i++) {
        const int swapped = digit[i];
        digit[i] = digit[n - 1 - i];
        digit[n - 1 - i] = swapped;
    }
    return n;
}

int32_t s2_digits_width(int32_t value, int32_t height)
{
    int digit[MAX_DIGITS];
    const int n = split(value, digit);
    return (int32_t)ceil((ADVANCE * (n - 1) + BOX_WIDTH) * height / BOX_HEIGHT);
}

void s2_digits_draw(s2_image *image, int32_t value, int32_t x, int32_t y, int32_t height,
                    s2_colour colour)
{
    int digit[MAX_DIGITS];
    const int n = split(value, digit);
    const double scale = height / BOX_HEIGHT;
    const int32_t margin = (int32_t)ceil(PEN * scale) + 1;
    const int32_t width = (int32_t)ceil(BOX_WIDTH * scale);
    for (int i = 0; i < n; i++) {
        const double left = x + i * ADVANCE * scale;
        const int32_t x0 = (int32_t)left - margin, x1 = (int32_t)left + width + margin + 1;
        for (int32_t py = y - margin; py < y + height + margin; py++) {
            for (int32_t px = x0; px < x1; px++) {
                if (px < 0 || py < 0 || px >= image->view.width || py >= image->view.height)
                    continue;
                const point p = { (px + 0.5 - left) / scale, (py + 0.5 - y) / scale };
                const double cover = (PEN - to_digit(p, paths[digit[i]])) * scale + 0.5;
                const int strength = cover <= 0.0 ? 0 : cover >= 1.0 ? 255 : (int)(cover * 255.0);
                s2_blend(image->pixels + image->view.stride * py + (ptrdiff_t)3 * px, colour,
                         strength);
            }
        }
    }
}
