/* bf16_text.h - products of BF16 pairs summed in float32: what the units have in common.
 *
 * A word is two neighbors in k, the even one in the low half. Weights of any type are rounded to
 * BF16 when packed, rows when they are packed for a product, both to nearest even. Words of a row
 * and of a panel are filled up with zeros to a multiple of 16: a tile of AMX, and the same packing
 * for every unit. The panel of weights is [words][PANEL].
 */
#ifndef ROW_START
#define PITCH (SLAB + 16) /* not a multiple of the page */
#define ROW_START(i) ((ptrdiff_t)(i)*PITCH)
#define UNIT_PITCH WORDS_UNIT
#endif
#include "kernels/tower/product_text.h"

#define WORDS_UNIT 16
#define BF16_WORDS(k) (((k) + 2 * WORDS_UNIT - 1) / (2 * WORDS_UNIT) * WORDS_UNIT)
_Static_assert(SLAB % WORDS_UNIT == 0, "slabs of whole tiles");

static int32_t row_words(int32_t k) { return BF16_WORDS(k); }

static s2v_element bf16_stored(s2v_element source)
{
    (void)source;
    return S2V_ELEMENT_BF16;
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

/* To nearest, ties to even; a NaN stays one. Where the machine rounds, denormals become zero. */
S2V_INLINE void store_bf16(uint16_t *out, lanes v)
{
#if WIDTH == 16 && defined(__AVX512BF16__) && !defined(S2V_EMULATE_AVX512)
    const __m256bh h = _mm512_cvtneps_pbh((__m512)v);
    memcpy(out, &h, sizeof h);
#else
    const bits b = (bits)v, is_nan = (bits)(v != v);
    const bits rounded = (b + 0x7fffu + (b >> 16 & 1u)) >> 16, quiet = b >> 16 | 0x40u;
    const halves h = __builtin_convertvector((rounded & ~is_nan) | (quiet & is_nan), halves);
    memcpy(out, &h, sizeof h);
#endif
}

static void row_store(const float *row, int32_t k, uint32_t *out, float *scales)
{
    (void)scales;
    for (int32_t at = 0; at < k; at += 2 * SLAB, out += (ptrdiff_t)BLOCK * PITCH) {
        const int32_t n = k - at < 2 * SLAB ? k - at : 2 * SLAB;
        uint16_t *to = (uint16_t *)(void *)out;
        for (int32_t i = 0; i < 2 * BF16_WORDS(n); i += WIDTH)
            store_bf16(to + (ptrdiff_t)(i / (2 * WORDS_UNIT)) * 2 * UNIT_PITCH +
                           i % (2 * WORDS_UNIT),
                       i < n ? load_some(row + at + i, n - i) : (lanes){ 0 });
    }
}

/* WIDTH words of 2 WIDTH floats. */
S2V_INLINE bits words_of(lanes low, lanes high)
{
    bits words;
#if WIDTH == 16 && defined(__AVX512BF16__) && !defined(S2V_EMULATE_AVX512)
    words = (bits)_mm512_cvtne2ps_pbh((__m512)high, (__m512)low);
#else
    uint16_t half[2 * WIDTH];
    store_bf16(half, low);
    store_bf16(half + WIDTH, high);
    memcpy(&words, half, sizeof words);
#endif
    return words;
}

/* 2 WIDTH inputs of a row of weights from k on. */
S2V_INLINE bits row_words_at(const char *row, const s2v_element type, int32_t k)
{
    const uint16_t *half = (const uint16_t *)(const void *)row + k;
    const float *whole = (const float *)(const void *)row + k;
    if (type == S2V_ELEMENT_F32) return words_of(load(whole), load(whole + WIDTH));
    if (type == S2V_ELEMENT_F16) return words_of(load_f16(half), load_f16(half + WIDTH));
    return (bits)load_ints(half);
}

/* The same where the row, of n inputs, ends; zeros after it. */
static bits last_words(const char *row, s2v_element type, int32_t k, int32_t n)
{
    uint16_t half[2 * WIDTH] = { 0 };
    for (int32_t i = 0; i < 2 * WIDTH && k + i < n; i++)
        half[i] = s2v_bf16_of_float(s2v_element_at(row, type, k + i));
    return (bits)load_ints(half);
}

/* Squares of WIDTH columns by WIDTH words are transposed on their way. type: known where this is called. */
S2V_INLINE void panel_pack(const s2v_packed *w, const s2v_source *source, int32_t panel,
                           const s2v_element type)
{
    const int32_t words = BF16_WORDS(w->k);
    uint32_t *out = (uint32_t *)w->data + (ptrdiff_t)panel * words * PANEL;
    for (int32_t c = 0; c < PANEL; c += WIDTH) {
        const char *row[WIDTH];
        s2v_element known;
        for (int32_t i = 0; i < WIDTH; i++) row[i] = column_row(w, source, panel, c + i, &known);
        for (int32_t word = 0; word < words; word += WIDTH) {
            const int32_t k = 2 * word;
            const bool is_whole = k + 2 * WIDTH <= w->k;
            lanes square[WIDTH];
            for (int32_t i = 0; i < WIDTH; i++)
                square[i] = !row[i]    ? (lanes){ 0 }
                            : is_whole ? (lanes)row_words_at(row[i], type, k)
                                       : (lanes)last_words(row[i], type, k, w->k);
            transpose_square(square);
            for (int32_t i = 0; i < WIDTH; i++)
                memcpy(out + (ptrdiff_t)(word + i) * PANEL + c, &square[i], sizeof square[i]);
        }
    }
}

/* Inputs of quantized or of various types. */
static void bf16_group(const s2v_packed *w, char *panel, int32_t c, int32_t k,
                       float group[WIDTH][S2V_QUANT])
{
    (void)w;
    uint32_t *to = (uint32_t *)(void *)panel + (ptrdiff_t)(k / 2) * PANEL + c;
    for (int32_t at = 0; at < S2V_QUANT; at += 2 * WIDTH) {
        lanes square[WIDTH];
        for (int32_t i = 0; i < WIDTH; i++)
            square[i] = (lanes)words_of(load(group[i] + at), load(group[i] + at + WIDTH));
        transpose_square(square);
        for (int32_t i = 0; i < WIDTH; i++)
            memcpy(to + (ptrdiff_t)(at / 2 + i) * PANEL, &square[i], sizeof square[i]);
    }
}
_Static_assert(2 * WORDS_UNIT == S2V_QUANT, "groups fill the words of a row");

static void bf16_pack(const s2v_packed *w, const s2v_source *source, int32_t first, int32_t last)
{
    panels_begin(w, first, last);
    for (int32_t panel = first; panel < last; panel++)
        if (s2v_source_is(source, S2V_ELEMENT_F16))
            panel_pack(w, source, panel, S2V_ELEMENT_F16);
        else if (s2v_source_is(source, S2V_ELEMENT_BF16))
            panel_pack(w, source, panel, S2V_ELEMENT_BF16);
        else if (s2v_source_is(source, S2V_ELEMENT_F32))
            panel_pack(w, source, panel, S2V_ELEMENT_F32);
        else
            panel_unpack(w, source, panel, bf16_group);
}
