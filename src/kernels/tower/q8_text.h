/* q8_text.h - products of bytes with a step for every 32 inputs, of weights and of rows.
 *
 * A Q8_0 file holds weights so; its bytes and steps, and those of Q4_0, are taken as they are. Weights of
 * other types are rounded to it when packed, rows when they are packed for a product: step = largest
 * size / 127 of the 32, to nearest. The 32 products of a block are summed exactly, then multiplied with
 * both steps and added in float32. With s and t the steps of a row's and of a weight's block, an output
 * is off by at most
 *     sum over k of  s |w| / 2                  (Q8_0, Q4_0)
 *     sum over k of  (s |w| + t |x|) / 2 + s t / 4     (other weights)
 * beyond the float32 bound. ggml rounds rows for a Q8_0 product in the same way, its steps to F16
 * besides. Numbers below 2^-100 count as zero where they are rounded. A NaN or an infinity makes its
 * step NaN, and with it the row or the column.
 *
 * A panel is [blocks][9][PANEL] words: eight words of four neighbors in k, then the steps as floats.
 * A row's block is eight words of bytes, the step, and what the sum starts from. The rows of a group of
 * ROWS lie side by side, [blocks][words][ROWS]. The including file says
 *     FLIP     0x80 where the unit wants weights unsigned (byte + 128): sums start from -128 times the
 *              sum of the row's bytes; else 0
 *     SLAB_BLOCKS   blocks of a slab
 *     AS_PAIRS      1: the bytes of a row are 16 words of two numbers of 16 bits, of each four first the
 *                   even ones; else 0
 * before this, and after it defines rows_add: sums [ROWS][PANEL] (+)= those of a slab.
 */
#define PANEL_WORDS 9               /* of a block */
#define STEP_AT (AS_PAIRS ? 16 : 8) /* words of a row's block before its step */
#define START_AT (STEP_AT + 1)
#define ROW_WORDS (STEP_AT + 2)
#define SLAB (PANEL_WORDS * SLAB_BLOCKS)
#define PITCH (ROW_WORDS * SLAB_BLOCKS)
#ifndef ROW_START
/* PLACE: of a word of a block, from the row's start */
#define ROW_START(i) ((ptrdiff_t)(i) / ROWS * ROWS * PITCH + (i) % ROWS)
#define PLACE(block, word) (((block)*ROW_WORDS + (word)) * ROWS)
#endif
#include "kernels/tower/product_text.h"

#define Q8_BLOCKS(k) (((k) + S2V_QUANT - 1) / S2V_QUANT)
#define BLOCK_BYTES (PANEL_WORDS * PANEL * 4)

static int32_t row_words(int32_t k) { return PANEL_WORDS * Q8_BLOCKS(k); }

static s2v_element q8_stored(s2v_element source)
{
    (void)source;
    return S2V_ELEMENT_Q8_0;
}

static size_t word_bytes(s2v_element type)
{
    (void)type;
    return 4;
}

static size_t panel_tail_bytes(int32_t k)
{
    (void)k;
    return 0;
}

#define VECTORS (S2V_QUANT / WIDTH)

/* 32 numbers as whole multiples of the step returned, in v; *total: their sum. */
S2V_INLINE float round_block(const float *x, ints v[VECTORS], int32_t *total)
{
    lanes number[VECTORS];
    bits most = { 0 }; /* sizes as bits are in order, infinity and NaN last */
    for (int i = 0; i < VECTORS; i++) {
        number[i] = load(x + i * WIDTH);
        most = larger_bits((bits)number[i] & 0x7fffffffu, most);
    }
    bits sum = { 0 }; /* any number where one is infinite or NaN */
    const uint32_t largest = largest_bits_of(most);
    float step = s2v_float_of_bits(largest) / 127.0f;
    if (step < 0x1p-100f) step = 0.0f;
    if (largest >= 0x7f800000u) step = s2v_float_of_bits(0x7fc00000u);
    const float inverse = step > 0.0f ? 1.0f / step : 0.0f;
    for (int i = 0; i < VECTORS;
         i++) { /* adding 1.5 * 2^23 leaves the rounded number in the low bits */
        v[i] = (ints)((bits)(number[i] * all(inverse) + all(12582912.0f)) - 0x4b400000u);
        sum += (bits)v[i];
    }
    *total = (int32_t)whole_sum_of(sum);
    return step;
}

typedef int8_t narrow __attribute__((vector_size(WIDTH)));

S2V_INLINE void store_bytes(const ints v[VECTORS], uint8_t out[S2V_QUANT])
{
    for (int i = 0; i < VECTORS; i++) {
#if S2V_IS_AVX512 && !defined(S2V_EMULATE_AVX512) /* GCC 12 converts one number after the other */
        const narrow packed = (narrow)_mm512_cvtepi32_epi8((__m512i)v[i]);
#elif WIDTH == 8 && defined(__AVX2__)
        const __m256i four = (__m256i)v[i];
        const __m128i words =
            _mm_packs_epi32(_mm256_castsi256_si128(four), _mm256_extracti128_si256(four, 1));
        const narrow packed =
            __extension__(narrow) _mm_cvtsi128_si64(_mm_packs_epi16(words, words));
#else
        const narrow packed = __builtin_convertvector(v[i], narrow);
#endif
        memcpy(out + i * WIDTH, &packed, sizeof packed);
    }
}

static void row_store(const float *row, int32_t k, uint32_t *out, float *scales)
{
    (void)scales;
    const int32_t blocks = Q8_BLOCKS(k);
    for (int32_t b = 0; b < blocks; b++) {
        uint32_t *to = out + (ptrdiff_t)(b / SLAB_BLOCKS) * BLOCK * PITCH;
        const int32_t at = b % SLAB_BLOCKS, left = k - b * S2V_QUANT;
        const float *x = row + (ptrdiff_t)b * S2V_QUANT;
        float end[S2V_QUANT] = { 0 };
        if (left < S2V_QUANT) x = memcpy(end, x, (size_t)left * sizeof *end);
        ints v[VECTORS];
        uint32_t word[S2V_QUANT / 4];
        int32_t total;
        const float step = round_block(x, v, &total);
        store_bytes(v, (uint8_t *)word);
        for (int32_t i = 0; i < S2V_QUANT / 4 && !AS_PAIRS; i++) to[PLACE(at, i)] = word[i];
        for (int32_t i = 0; i < S2V_QUANT / 4 && AS_PAIRS; i++) {
            const uint32_t first = (uint32_t)(int8_t)word[i],
                           third = (uint32_t)(int8_t)(word[i] >> 16);
            const uint32_t second = (uint32_t)(int8_t)(word[i] >> 8);
            const uint32_t fourth = (uint32_t)(int8_t)(word[i] >> 24);
            to[PLACE(at, 2 * i)] = (first & 0xffffu) | third << 16;
            to[PLACE(at, 2 * i + 1)] = (second & 0xffffu) | fourth << 16;
        }
        to[PLACE(at, STEP_AT)] = s2v_bits_of_float(step);
        if (FLIP) to[PLACE(at, START_AT)] = 0u - FLIP * (uint32_t)total;
    }
}

/* 32 weights of a column from k on: bytes, and the step returned. */
S2V_INLINE float weights_bytes(const char *row, const s2v_element type, int32_t k, int32_t n,
                               uint8_t out[S2V_QUANT])
{
    if (type == S2V_ELEMENT_Q8_0 || type == S2V_ELEMENT_Q4_0)
        return s2v_unpack_bytes(type, (const uint8_t *)row, k, (int8_t *)out);
    float x[S2V_QUANT];
    ints v[VECTORS];
    int32_t total;
#if WIDTH > 1
    if (type == S2V_ELEMENT_F16 && n - k >= S2V_QUANT)
        for (int i = 0; i < VECTORS; i++)
            store(x + i * WIDTH, load_f16((const uint16_t *)(const void *)row + k + i * WIDTH));
    else
#endif
        s2v_inputs(row, type, k, S2V_QUANT, n, x);
    const float step = round_block(x, v, &total);
    store_bytes(v, out);
    return step;
}

/* The bytes of WIDTH columns, from column c of a panel on, as words side by side. */
S2V_INLINE void panel_words(const uint8_t group[WIDTH][S2V_QUANT], int32_t c, char *to)
{
    enum { WORDS = S2V_QUANT / 4, HELD = WIDTH < WORDS ? WIDTH : WORDS };
    for (int32_t at = 0; at < WORDS; at += HELD) {
        lanes square[WIDTH] = {
            { 0 }
        }; /* 16 lanes: the words of a column and of that 8 further on */
        for (int32_t i = 0; i < WIDTH; i++)
            memcpy((char *)&square[i % WORDS] + i / WORDS * S2V_QUANT, group[i] + at * 4,
                   (size_t)HELD * 4);
        transpose_words(square);
        for (int32_t i = 0; i < HELD; i++) {
            const bits flipped = (bits)square[i] ^ FLIP * 0x01010101u;
            memcpy(to + ((ptrdiff_t)(at + i) * PANEL + c) * 4, &flipped, sizeof flipped);
        }
    }
}

static void q8_pack(const s2v_packed *w, const s2v_source *source, int32_t first, int32_t last)
{
    panels_begin(w, first, last);
    for (int32_t panel = first; panel < last; panel++)
        for (int32_t c = 0; c < PANEL; c += WIDTH) {
            char *to = (char *)w->data + (size_t)panel * panel_bytes(w->type, w->k);
            const char *row[WIDTH];
            s2v_element type[WIDTH];
            for (int32_t i = 0; i < WIDTH; i++)
                row[i] = column_row(w, source, panel, c + i, &type[i]);
            for (int32_t k = 0; k < w->k; k += S2V_QUANT, to += BLOCK_BYTES) {
                uint8_t group[WIDTH][S2V_QUANT] = { { 0 } };
                lanes step = { 0 };
                for (int32_t i = 0; i < WIDTH; i++)
                    if (row[i]) step[i] = weights_bytes(row[i], type[i], k, w->k, group[i]);
                panel_words((const uint8_t(*)[S2V_QUANT])group, c, to);
                store((float *)(void *)(to + BLOCK_BYTES) - PANEL + c, step);
            }
        }
}

/* What the including file defines: sums [ROWS][PANEL] of the ROWS rows from r on. */
static void rows_add(const slab_job *job, int32_t r, float *sums);

static void slab_add(const slab_job *job)
{
    for (int32_t r = 0; r < job->n; r += ROWS) {
        fetch_next(job, r);
        if (job->ends) fetch_ends(job, r);
        rows_add(job, r, job->sums + r * PANEL);
        if (job->ends) rows_finish(job, r);
    }
}
