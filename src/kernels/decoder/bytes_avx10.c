/* bytes_avx10.c - a stub: the reference's arithmetic, compiled for AVX10. Shows what a variant costs. */
#include "kernels/decoder/products.h"

#include <string.h>

static size_t rows_bytes(int32_t k, int32_t m) { return (size_t)k * (size_t)m * sizeof(float); }

static void pack_rows(const float *x, ptrdiff_t pitch, int32_t k, int32_t m, int32_t first,
                      int32_t last, void *out)
{
    (void)m;
    for (int32_t r = first; r < last; r++)
        memcpy((char *)out + rows_bytes(k, r), x + r * pitch, rows_bytes(k, 1));
}

static size_t scratch_bytes(int32_t k, int32_t m)
{
    (void)m;
    return (size_t)k * sizeof(float);
}

static void product(const s2k_weights *w, const void *rows, int32_t m, int32_t first, int32_t last,
                    float *out, ptrdiff_t pitch, void *scratch)
{
    float *weight = scratch;
    for (int32_t o = first; o < last; o++) {
        s2k_format_of(w->format)->unpack(w->data, w->k, o, weight);
        for (int32_t r = 0; r < m; r++) {
            const float *x = (const float *)rows + (ptrdiff_t)r * w->k;
            double sum = 0.0;
            for (int32_t i = 0; i < w->k; i++) sum += (double)x[i] * (double)weight[i];
            out[r * pitch + o] = (float)sum;
        }
    }
}

static bool runs(const s2_cpu *cpu) { return cpu->avx512_vnni; }

const s2k_products s2k_bytes_avx10 = {
    .name = "bytes-avx10",
    .runs = runs,
    .formats = S2K_TAKES(S2K_Q4_K_BY_8) | S2K_TAKES(S2K_Q6_K),
    .max_rows = S2K_ANY_ROWS,
    .group = 1,
    .padding = 1,
    .piece = S2K_GRAIN,
    .product_error = 0x1p-23,
    .keeps_nan = true,
    .rows_bytes = rows_bytes,
    .pack_rows = pack_rows,
    .scratch = scratch_bytes,
    .product = product,
};
