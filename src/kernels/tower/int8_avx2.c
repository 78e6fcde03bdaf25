/* int8_avx2.c - products of bytes on x86-64 with AVX2 alone; the rest as f32_avx2.c does it.
 *
 * By pairs of 16 bits: vpmaddwd multiplies and adds two exactly, one more addition keeps the sum.
 * The instruction for bytes, vpmaddubsw, saturates at 16 bits unless signs are moved from one
 * factor to the other first; with that and the widening of its result it takes as many
 * instructions for a product as this does. Weights are stored as bytes and widened when a slab of
 * a panel comes in.
 */
#include "kernels/tower/tables.h"

#define WIDTH 8
#define ROWS 6
#define BLOCK 192
#define SLAB 128
#define STEP 2
#define OFFSET 0
#define WORDS_UNIT 16
#include "kernels/tower/int8_text.h"

typedef int8_t eight_pairs __attribute__((vector_size(16)));
typedef int16_t wide_pairs __attribute__((vector_size(32)));

static void slab_widen(const slab_job *job, char *out)
{
    for (int32_t i = 0; i < job->words * PANEL; i += WIDTH) {
        eight_pairs narrow_ones;
        memcpy(&narrow_ones, job->weights + (ptrdiff_t)i * STEP, sizeof narrow_ones);
        const wide_pairs wide = __builtin_convertvector(narrow_ones, wide_pairs);
        memcpy(out + (ptrdiff_t)i * 4, &wide, sizeof wide);
    }
}

static void slab_integers(const slab_job *job, int32_t r, int32_t *out)
{
    const uint32_t *a = job->rows + (ptrdiff_t)r * PITCH;
    if (r == 0) slab_widen(job, (char *)job->widened);
    const char *b = (const char *)job->widened;
    ints sum[ROWS][2];
    for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = (ints){ 0 };
    for (int32_t k = 0; k < job->words; k++, a++, b += PANEL * 4) {
        const ints w[2] = { load_ints(b), load_ints(b + WIDTH * 4) };
        for (int i = 0; i < ROWS; i++) {
            const __m256i x = (__m256i)(a[i * PITCH] - (bits){ 0 });
            for (int v = 0; v < 2; v++) sum[i][v] += (ints)_mm256_madd_epi16(x, (__m256i)w[v]);
        }
    }
    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < 2; v++) store_ints(out + i * PANEL + v * WIDTH, sum[i][v]);
}

#define FLOATS s2v_kernels_avx2
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_avx2_int8 = {
    .name = "avx2-int8",
    .needs = "AVX2, FMA, F16C",
    .precision = S2V_PRECISION_INT8,
    .block = SLAB * STEP,
    NARROW_TABLE(int8, product),
    NARROW_ATTENTION,
};
