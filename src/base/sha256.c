/* sha256.c - FIPS 180-4 section 6.2.
 *
 * The plain form is written for clarity and is the truth. Model files have gigabytes, so on x86 the
 * CPU's own instructions for it are used where they exist: the same sixteen steps of four rounds.
 */
#include "base/sha256.h"

#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#include <cpuid.h>
#include <immintrin.h>
#define HAS_X86 1
#else
#define HAS_X86 0
#endif

/* First 32 bits of the fractional parts of the cube roots of the first 64 primes. */
static const uint32_t round_constant[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2
};

static uint32_t rotate(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void compress_block(uint32_t state[8], const uint8_t block[64])
{
    uint32_t w[64];
    for (int i = 0; i < 16; i++)
        w[i] = (uint32_t)block[4 * i] << 24 | (uint32_t)block[4 * i + 1] << 16 |
               (uint32_t)block[4 * i + 2] << 8 | block[4 * i + 3];
    for (int i = 16; i < 64; i++) {
        const uint32_t a = w[i - 15], b = w[i - 2];
        w[i] = w[i - 16] + (rotate(a, 7) ^ rotate(a, 18) ^ a >> 3) + w[i - 7] +
               (rotate(b, 17) ^ rotate(b, 19) ^ b >> 10);
    }
    uint32_t s[8];
    memcpy(s, state, sizeof s);
    for (int i = 0; i < 64; i++) {
        const uint32_t choose = (s[4] & s[5]) ^ (~s[4] & s[6]);
        const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        const uint32_t t1 = s[7] + (rotate(s[4], 6) ^ rotate(s[4], 11) ^ rotate(s[4], 25)) +
                            choose + round_constant[i] + w[i];
        const uint32_t t2 = (rotate(s[0], 2) ^ rotate(s[0], 13) ^ rotate(s[0], 22)) + majority;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += t1;
        s[0] = t1 + t2;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

static void compress_plain(uint32_t h[8], const uint8_t *blocks, size_t n)
{
    for (size_t i = 0; i < n; i++) compress_block(h, blocks + 64 * i);
}

#if HAS_X86
/* The instructions keep the eight words as two halves, ABEF and CDGH. */
__attribute__((target("sha,sse4.1"))) static void compress_x86(uint32_t h[8], const uint8_t *blocks,
                                                               size_t n)
{
    const __m128i swap = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)h), 0xb1);
    const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(h + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
    __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xf0);
    for (size_t block = 0; block < n; block++, blocks += 64) {
        const __m128i abef_before = abef, cdgh_before = cdgh;
        __m128i w[16];
        for (int i = 0; i < 16; i++) {
            if (i < 4) {
                w[i] = _mm_loadu_si128((const __m128i *)(blocks + 16 * i));
                w[i] = _mm_shuffle_epi8(w[i], swap);
            } else {
                const __m128i older = _mm_sha256msg1_epu32(w[i - 4], w[i - 3]);
                const __m128i middle = _mm_alignr_epi8(w[i - 1], w[i - 2], 4);
                w[i] = _mm_sha256msg2_epu32(_mm_add_epi32(older, middle), w[i - 1]);
            }
            __m128i sum = _mm_loadu_si128((const __m128i *)(round_constant + 4 * i));
            sum = _mm_add_epi32(sum, w[i]);
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0e));
        }
        abef = _mm_add_epi32(abef, abef_before);
        cdgh = _mm_add_epi32(cdgh, cdgh_before);
    }
    const __m128i feba = _mm_shuffle_epi32(abef, 0x1b), dchg = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)h, _mm_blend_epi16(feba, dchg, 0xf0));
    _mm_storeu_si128((__m128i *)(h + 4), _mm_alignr_epi8(dchg, feba, 8));
}

static int has_instructions(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_SSE4_1) || !(c & bit_SSSE3)) return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b >> 29 & 1u); /* SHA extensions */
}
#endif

void s2_sha256_start_plain(s2_sha256_state *state)
{
    *state = (s2_sha256_state){ .h = { 0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f,
                                       0x9b05688c, 0x1f83d9ab, 0x5be0cd19 },
                                .compress = compress_plain };
}

void s2_sha256_start(s2_sha256_state *state)
{
    s2_sha256_start_plain(state);
#if HAS_X86
    if (has_instructions()) state->compress = compress_x86;
#endif
}

void s2_sha256_add(s2_sha256_state *state, const void *data, size_t n)
{
    const uint8_t *bytes = data;
    state->n_bytes += n;
    if (state->n_left > 0) {
        const size_t room = sizeof state->left - state->n_left;
        const size_t take = n < room ? n : room;
        if (take) memcpy(state->left + state->n_left, bytes, take);
        state->n_left += take;
        if (state->n_left < sizeof state->left) return;
        state->compress(state->h, state->left, 1);
        state->n_left = 0;
        bytes += take;
        n -= take;
    }
    state->compress(state->h, bytes, n / 64);
    state->n_left = n % 64;
    if (state->n_left) memcpy(state->left, bytes + (n - state->n_left), state->n_left);
}

void s2_sha256_finish(s2_sha256_state *state, uint8_t out[32])
{
    uint8_t tail[128] = { 0 }; /* the rest, one set bit, zeros, the length in bits */
    memcpy(tail, state->left, state->n_left);
    tail[state->n_left] = 0x80;
    const size_t size = state->n_left < 56 ? 64 : 128;
    const uint64_t bits = state->n_bytes * 8;
    for (int i = 0; i < 8; i++) tail[size - 1 - (size_t)i] = (uint8_t)(bits >> (8 * i));
    state->compress(state->h, tail, size / 64);
    for (int i = 0; i < 32; i++) out[i] = (uint8_t)(state->h[i / 4] >> (24 - 8 * (i % 4)));
}

void s2_sha256(const void *data, size_t n, uint8_t out[32])
{
    s2_sha256_state state;
    s2_sha256_start(&state);
    s2_sha256_add(&state, data, n);
    s2_sha256_finish(&state, out);
}

void s2_sha256_hex(const uint8_t digest[32], char out[S2_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (int i = 0; i < 32; i++) {
        out[2 * i] = digits[digest[i] >> 4];
        out[2 * i + 1] = digits[digest[i] & 15];
    }
    out[64] = '\0';
}
