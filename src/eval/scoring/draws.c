/* draws.c - Mersenne Twister (Matsumoto and Nishimura, 1998), seeded as Python seeds it with an
 * integer: init_by_array of its 32-bit digits.
 */
#include "eval/scoring/answer_reading.h"

#define N 624
#define M 397

static void init(uint32_t *s, uint32_t seed)
{
    s[0] = seed;
    for (uint32_t i = 1; i < N; i++) s[i] = 1812433253u * (s[i - 1] ^ (s[i - 1] >> 30)) + i;
}

void s2e_draws_start(s2e_draws *draws, uint32_t seed)
{
    uint32_t *s = draws->state, i = 1;
    init(s, 19650218u);
    for (uint32_t k = 0; k < N; k++) { /* the key is one digit long */
        s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1664525u)) + seed;
        if (++i == N) {
            s[0] = s[N - 1];
            i = 1;
        }
    }
    for (uint32_t k = 1; k < N; k++) {
        s[i] = (s[i] ^ ((s[i - 1] ^ (s[i - 1] >> 30)) * 1566083941u)) - i;
        if (++i == N) {
            s[0] = s[N - 1];
            i = 1;
        }
    }
    s[0] = 0x80000000u;
    draws->next = N;
}

static uint32_t next_word(s2e_draws *draws)
{
    uint32_t *s = draws->state;
    if (draws->next == N) {
        for (uint32_t i = 0; i < N; i++) {
            const uint32_t y = (s[i] & 0x80000000u) | (s[(i + 1) % N] & 0x7fffffffu);
            s[i] = s[(i + M) % N] ^ (y >> 1) ^ (y & 1 ? 0x9908b0dfu : 0u);
        }
        draws->next = 0;
    }
    uint32_t y = s[draws->next++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
}

uint32_t s2e_draws_below(s2e_draws *draws, uint32_t n)
{
    int bits = 0;
    while (bits < 32 && n >> bits) bits++;
    uint32_t r;
    do r = next_word(draws) >> (32 - bits);
    while (r >= n);
    return r;
}
