/* rotation.c - the angles of the rotation in two dimensions. */
#include "kernels/tower/kernels.h"

#include <math.h>

void s2v_rotation(const int32_t *pos_a, const int32_t *pos_b, int32_t n, int32_t dim, float base,
                  float *cosine, float *sine)
{
    const int32_t half = dim / 2;
    const float step = powf(base, -2.0f / (float)half);
    for (int32_t i = 0; i < n; i++, cosine += half, sine += half) {
        float angle = 0.0f;
        for (int32_t j = 0; j < half; j++) {
            if (j == 0) angle = (float)pos_a[i];
            if (j == half / 2) angle = (float)pos_b[i];
            cosine[j] = cosf(angle);
            sine[j] = sinf(angle);
            angle *= step;
        }
    }
}
