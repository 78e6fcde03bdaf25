/* verify_hf_compare.c - numbers against stored ones, within what rounding explains. */
#include "verify/hf_case.h"

#include <math.h>

#define TOLERANCE 1e-4 /* of the largest value, at least of 1 */

/* The largest difference. expected: rows of the stored tensor. row: which of ours they are; NULL:
 * every step-th. */
double s2_hf_farthest(const float *expected, size_t n_rows, size_t width, const float *got,
                      const int32_t *row, size_t step, double *largest)
{
    double worst = 0.0;
    for (size_t r = 0; r < n_rows; r++) {
        const float *ours = got + (row ? (size_t)row[r] : r * step) * width;
        for (size_t k = 0; k < width; k++) {
            const double e = (double)expected[r * width + k], d = fabs(e - (double)ours[k]);
            if (fabs(e) > *largest) *largest = fabs(e);
            if (!(d <= worst)) worst = d; /* NaN sticks */
        }
    }
    return worst;
}

void s2_hf_compare_rows(hf_case *c, const char *name, const float *expected, size_t n_rows,
                        size_t width, const float *got, const int32_t *row, size_t step)
{
    double largest = 1.0;
    const double worst = s2_hf_farthest(expected, n_rows, width, got, row, step, &largest);
    const double allowed =
        TOLERANCE * c->verdict->where->slack * largest * (c->has_states ? HF_STATE_LOOSER : 1.0);
    if (!(worst <= allowed))
        s2_differs(c->verdict, "%s: off by %.3g, allowed %.3g", name, worst, allowed);
}

/* A tensor that is not stored is not compared. */
void s2_hf_compare_values(hf_case *c, const char *name, const float *got, size_t n)
{
    size_t n_stored;
    const float *expected = s2_hf_floats(c->golden, name, &n_stored);
    if (!expected) return;
    if (n != n_stored)
        s2_differs(c->verdict, "%s: expected %zu values, got %zu", name, n_stored, n);
    else
        s2_hf_compare_rows(c, name, expected, 1, n, got, NULL, 1);
}

/* Whether a stored list of rows can be trusted. */
bool s2_hf_are_rows(const int32_t *row, size_t n, size_t n_rows)
{
    for (size_t i = 0; i < n; i++)
        if (row[i] < 0 || (size_t)row[i] >= n_rows) return false;
    return true;
}
