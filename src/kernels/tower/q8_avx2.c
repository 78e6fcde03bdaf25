/* q8_avx2.c - bytes in blocks of 32 on x86-64 with AVX2 alone; the rest as f32_avx2.c does it.
 *
 * By pairs of 16 bits, as int8_avx2.c: exact for every byte. A word of four bytes is two pairs, of its
 * even and of its odd bytes, which shifts separate when a slab of a panel comes in.
 */
#include "kernels/tower/tables.h"

#define WIDTH 8
#define ROWS 6
#define BLOCK 192
#define SLAB_BLOCKS 16
#define FLIP 0
#define AS_PAIRS 1
#define WIDENED (16 * SLAB_BLOCKS)
#include "kernels/tower/q8_text.h"

typedef int16_t pairs __attribute__((vector_size(32)));
typedef uint16_t unsigned_pairs __attribute__((vector_size(32)));

S2V_INLINE pairs even_bytes(ints v) { return (pairs)((unsigned_pairs)v << 8) >> 8; }
S2V_INLINE pairs odd_bytes(ints v) { return (pairs)v >> 8; }

#define WIDENS
static void slab_widen(const slab_job *job, char *out)
{
    const char *b = job->weights;
    for (int32_t left = job->words; left > 0; left -= PANEL_WORDS, b += PANEL * 4)
        for (int word = 0; word < 8; word++, b += PANEL * 4, out += 2 * PANEL * 4)
            for (int v = 0; v < 2; v++) {
                const ints w = load_ints(b + v * WIDTH * 4);
                const pairs even = even_bytes(w), odd = odd_bytes(w);
                memcpy(out + v * WIDTH * 4, &even, sizeof even);
                memcpy(out + (PANEL + v * WIDTH) * 4, &odd, sizeof odd);
            }
}

S2V_INLINE void block_sums(ints sum[ROWS][2], const uint32_t *a, const char *b, const char *wide)
{
    (void)b;
    for (int i = 0; i < ROWS; i++) sum[i][0] = sum[i][1] = (ints){ 0 };
    for (int word = 0; word < 16; word++, wide += PANEL * 4) {
        const ints w[2] = { load_ints(wide), load_ints(wide + WIDTH * 4) };
        for (int i = 0; i < ROWS; i++) {
            const __m256i x = (__m256i)(a[word * ROWS + i] - (bits){ 0 });
            for (int v = 0; v < 2; v++) sum[i][v] += (ints)_mm256_madd_epi16(x, (__m256i)w[v]);
        }
    }
}

#include "kernels/tower/q8_loop.h"

#define FLOATS s2v_kernels_avx2
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_avx2_q8 = {
    .name = "avx2-q8",
    .needs = "AVX2, FMA, F16C",
    .precision = S2V_PRECISION_Q8,
    .block = S2V_QUANT,
    .takes_quants = true,
    NARROW_TABLE(q8, product),
    NARROW_ATTENTION,
};
