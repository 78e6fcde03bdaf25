/* q8_avx512.c - bytes in blocks of 32 by AVX-512 VNNI; the rest as f32_avx512.c does it.
 *
 * Twelve sums of whole numbers, twelve of floats, two vectors of weights and one of a row are 27 of the 32
 * registers. A block is assembler: left to itself GCC 12 copies each sum before vpdpbusd changes it.
 */
#include "kernels/tower/tables.h"

#define WIDTH 16
#define ROWS 6
#define BLOCK 192
#define SLAB_BLOCKS 16
#define FLIP 0x80
#define AS_PAIRS 0
#include "kernels/tower/q8_text.h"

typedef ints whole_sums[ROWS][2];

#ifdef S2V_EMULATE_AVX512
static void multiply_block(whole_sums sum, const uint32_t *a, const char *b)
{
    for (int word = 0; word < 8; word++)
        for (int i = 0; i < ROWS; i++)
            for (int v = 0; v < 2; v++) {
                const bits x = a[word * ROWS + i] - (bits){ 0 };
                const ints w = load_ints(b + (word * 2 + v) * 64);
                sum[i][v] = (ints)_mm512_dpbusd_epi32((__m512i)sum[i][v], (__m512i)w, (__m512i)x);
            }
}
#else
#define ROW(word, row, s0, s1)                                  \
    "vpbroadcastd (24*" #word "+4*" #row ")(%[a]), %%zmm31\n\t" \
    "vpdpbusd %%zmm31, %%zmm29, %" #s0 "\n\t"                   \
    "vpdpbusd %%zmm31, %%zmm30, %" #s1 "\n\t"
#define WORD(word)                                                                        \
    "vmovups (128*" #word ")(%[b]), %%zmm29\n\t"                                          \
    "vmovups (128*" #word "+64)(%[b]), %%zmm30\n\t" ROW(word, 0, 0, 1) ROW(word, 1, 2, 3) \
        ROW(word, 2, 4, 5) ROW(word, 3, 6, 7) ROW(word, 4, 8, 9) ROW(word, 5, 10, 11)
#define multiply_block(s, a_, b_)                                                                  \
    __asm__(WORD(0) WORD(1) WORD(2) WORD(3) WORD(4) WORD(5) WORD(6) WORD(7)                        \
            : "+v"((s)[0][0]), "+v"((s)[0][1]), "+v"((s)[1][0]), "+v"((s)[1][1]), "+v"((s)[2][0]), \
              "+v"((s)[2][1]), "+v"((s)[3][0]), "+v"((s)[3][1]), "+v"((s)[4][0]), "+v"((s)[4][1]), \
              "+v"((s)[5][0]), "+v"((s)[5][1])                                                     \
            : [a] "r"(a_), [b] "r"(b_)                                                             \
            : "xmm29", "xmm30", "xmm31", "memory")
#endif

/* The block is one asm statement, longer than a string literal that ISO C promises to take. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverlength-strings"
static void rows_add(const slab_job *job, int32_t r, float *sums)
{
    const uint32_t *a = job->rows + ROW_START(r);
    const char *b = job->weights;
    lanes sum[ROWS][2];
    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < 2; v++)
            sum[i][v] = job->adds ? load(sums + i * PANEL + v * WIDTH) : (lanes){ 0 };
    for (int32_t left = job->words; left > 0; left -= PANEL_WORDS) {
        whole_sums whole;
        for (int i = 0; i < ROWS; i++)
            whole[i][0] = whole[i][1] = (ints)(a[START_AT * ROWS + i] - (bits){ 0 });
        multiply_block(whole, a, b);
        const lanes step[2] = { (lanes)load_ints(b + 1024), (lanes)load_ints(b + 1088) };
        for (int i = 0; i < ROWS; i++) {
            const lanes x = all(s2v_float_of_bits(a[STEP_AT * ROWS + i]));
            for (int v = 0; v < 2; v++)
                sum[i][v] += __builtin_convertvector(whole[i][v], lanes) * step[v] * x;
        }
        a += ROW_WORDS * ROWS;
        b += BLOCK_BYTES;
    }
    for (int i = 0; i < ROWS; i++)
        for (int v = 0; v < 2; v++) store(sums + i * PANEL + v * WIDTH, sum[i][v]);
}
#pragma GCC diagnostic pop

#define FLOATS s2v_kernels_avx512
#include "kernels/tower/narrow_table.h"

const s2v_kernels s2v_kernels_avx512_q8 = {
    .name = "avx512-q8",
    .needs = "AVX-512 F, BW, DQ, VL, VNNI",
    .precision = S2V_PRECISION_Q8,
    .block = S2V_QUANT,
    .takes_quants = true,
    NARROW_TABLE(q8, product),
    NARROW_ATTENTION,
};
