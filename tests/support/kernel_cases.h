/* kernel_cases.h - what every table of kernels must do, as plain C.
 *
 * Used by the cmocka test and by the check that runs on another CPU. A promise is a function that
 * returns NULL, or a sentence saying where it was broken. Every array ends, or begins, at a page
 * nobody may touch, so reading or writing one byte too far ends the program.
 */
#ifndef TESTS_KERNEL_CASES_H
#define TESTS_KERNEL_CASES_H

#include "base/random.h"
#include "fenced.h"
#include "prune/kernels/kernels.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline int32_t draw(s2_random *random, int32_t below)
{
    return (int32_t)s2_random_below(random, (uint32_t)below);
}

/* 0: noise, 1: black or white, 2: stripes of the two, 3: all 0, 4: all 255. */
static inline void fill_bytes(uint8_t *p, size_t n, int kind, s2_random *random)
{
    for (size_t i = 0; i < n; i++) {
        const uint32_t r = s2_random_below(random, 256);
        const uint8_t of_kind[5] = { (uint8_t)r, r < 128 ? 0 : 255, i % 2 ? 255 : 0, 0, 255 };
        p[i] = of_kind[kind];
    }
}

#define MAX_CASE_WIDTH 6000
#define MAX_CASE_REGIONS 40

/* Rising boundaries from 0 to width; returns the number of regions. */
static inline int32_t draw_edges(int32_t width, int32_t *edge, s2_random *random)
{
    int32_t n = 0;
    edge[0] = 0;
    while (n + 1 < MAX_CASE_REGIONS && edge[n] < width) {
        const int32_t room = width - edge[n];
        const int32_t most = draw(random, 3) ? 1 + room / 3 : 40 < room ? 40 : room;
        edge[n + 1] = edge[n] + 1 + draw(random, most);
        n++;
    }
    edge[n] = width;
    return n;
}

static inline const char *check_row(const s2p_kernels *kernels, int32_t width, int kind,
                                    bool at_end, const fenced space[4], s2_random *random)
{
    static char text[160];
    const size_t w = (size_t)width;
    uint8_t *rgb = fenced_bytes(space[0], 3 * w, at_end), *up = fenced_bytes(space[1], w, at_end);
    uint8_t *mid = (uint8_t *)fenced_bytes(space[2], w + 2, at_end) + 1;
    uint8_t *down = fenced_bytes(space[3], w, at_end);
    fill_bytes(rgb, 3 * w, kind, random);
    fill_bytes(up, w, draw(random, 5), random);
    fill_bytes(mid - 1, w + 2, draw(random, 5), random);

    int32_t edge[MAX_CASE_REGIONS + 1];
    const int32_t n = draw_edges(width, edge, random);
    s2p_moments got[MAX_CASE_REGIONS], want[MAX_CASE_REGIONS];
    for (int32_t i = 0; i < n; i++) got[i] = want[i] = (s2p_moments){ i, -i, 7 };
    kernels->laplacian_row(rgb, up, mid, down, edge, n, got);

    for (int32_t i = 0; i < n; i++) {
        for (int32_t x = edge[i]; x < edge[i + 1]; x++) {
            const uint8_t *p = rgb + 3 * x;
            const int gray = (int)((p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16);
            const int l = up[x] + gray + mid[x - 1] + mid[x + 1] - 4 * mid[x];
            want[i].count++;
            want[i].sum += l;
            want[i].sum_sq += l * l;
            if (down[x] == gray) continue;
            snprintf(text, sizeof text, "%s: width %d kind %d: gray[%d] is %d, not %d",
                     kernels->name, width, kind, x, down[x], gray);
            return text;
        }
        if (memcmp(&got[i], &want[i], sizeof *got) == 0) continue;
        snprintf(text, sizeof text, "%s: width %d kind %d: moments of columns [%d, %d) differ",
                 kernels->name, width, kind, edge[i], edge[i + 1]);
        return text;
    }
    return NULL;
}

/* Every width up to 200, some larger; every kind of data; against both fences. */
static inline const char *check_rows(const s2p_kernels *kernels)
{
    static const int32_t wide[] = { 255, 256, 257, 511, 513, 672, 1000, 1023, 2047, 4000, 5999 };
    const char *broken = NULL;
    s2_random random = { 1 };
    fenced space[4];
    for (int i = 0; i < 4; i++) space[i] = fenced_create(3 * MAX_CASE_WIDTH);
    for (int32_t i = 1; i <= 200 + (int32_t)(sizeof wide / sizeof *wide) && !broken; i++) {
        const int32_t width = i <= 200 ? i : wide[i - 201];
        for (int turn = 0; turn < 20 && !broken; turn++)
            broken = check_row(kernels, width, turn % 5, turn % 2, space, &random);
    }
    for (int i = 0; i < 4; i++) fenced_free(space[i]);
    return broken;
}

/* All 2^24 colours, in rows of 4096. */
static inline const char *check_colours(const s2p_kernels *kernels)
{
    static char text[100];
    static uint8_t rgb[3 * 4096], zero[4096 + 2], down[4096];
    const int32_t edge[2] = { 0, 4096 };
    s2p_moments moments = { 0 };
    for (uint32_t first = 0; first < 1u << 24; first += 4096) {
        for (uint32_t i = 0; i < 4096; i++) {
            rgb[3 * i] = (uint8_t)((first + i) >> 16);
            rgb[3 * i + 1] = (uint8_t)((first + i) >> 8);
            rgb[3 * i + 2] = (uint8_t)(first + i);
        }
        kernels->laplacian_row(rgb, zero, zero + 1, down, edge, 1, &moments);
        for (uint32_t i = 0; i < 4096; i++) {
            const uint8_t *p = rgb + 3 * i;
            const uint32_t gray = (p[0] * 19595u + p[1] * 38470u + p[2] * 7471u + 0x8000u) >> 16;
            if (down[i] == gray) continue;
            snprintf(text, sizeof text, "%s: gray of colour %06x", kernels->name, first + i);
            return text;
        }
    }
    return NULL;
}

/* Close to the exact distance, and the very bits of the plain C. */
static inline const char *check_distances(const s2p_kernels *kernels)
{
    static char text[120];
    const int32_t max = 4100;
    s2_random random = { 2 };
    const char *broken = NULL;
    const fenced space[2] = { fenced_create((size_t)max * 4), fenced_create((size_t)max * 4) };
    for (int32_t i = 1; i <= 130 && !broken; i++) {
        const int32_t dim = i <= 100 ? i : 1 + draw(&random, max);
        float *a = fenced_bytes(space[0], (size_t)dim * 4, i % 2);
        float *b = fenced_bytes(space[1], (size_t)dim * 4, i % 2);
        long double exact = 0;
        for (int32_t j = 0; j < dim; j++) {
            a[j] = (float)(draw(&random, 2000001) - 1000000) * 0x1p-17f;
            b[j] = (float)(draw(&random, 2000001) - 1000000) * 0x1p-18f;
            const float d = a[j] - b[j];
            exact += (long double)d * d;
        }
        const float got = kernels->distance(a, b, dim);
        const float plain = s2p_kernels_scalar.distance(a, b, dim);
        exact = sqrtl(exact);
        if (fabsl(got - exact) <= 1e-7L * exact && memcmp(&got, &plain, sizeof got) == 0) continue;
        snprintf(text, sizeof text, "%s: distance in %d dimensions is %a, plain C %a",
                 kernels->name, dim, (double)got, (double)plain);
        broken = text;
    }
    fenced_free(space[0]);
    fenced_free(space[1]);
    return broken;
}

#endif /* TESTS_KERNEL_CASES_H */
