/* synth.c - the recipes behind the golden pictures.
 *
 * All arithmetic is on unsigned 32-bit integers with integer division, so every language gives the
 * same bytes. A recipe fills packed RGB rows; draws from the generator happen in the order written.
 */
#include "verify/synth.h"

#include <stdlib.h>
#include <string.h>

typedef struct canvas {
    uint8_t *pixels; /* [height][width][3] */
    uint32_t width, height, seed;
    s2_xorshift draw; /* seeded with `seed` */
    uint32_t *sum;    /* [width] scratch */
} canvas;

uint32_t s2_xorshift_next(s2_xorshift *generator)
{
    uint32_t s = generator->state;
    s ^= s << 13;
    s ^= s >> 17;
    s ^= s << 5;
    return generator->state = s;
}

uint32_t s2_hash32(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t x =
        a * 0x9E3779B1u + b * 0x85EBCA77u + c * 0xC2B2AE3Du + d * 0x27D4EB2Fu + 0x165667B1u;
    x ^= x >> 15;
    x *= 0x2C1B3C6Du;
    x ^= x >> 12;
    x *= 0x297A2D39u;
    return x ^ (x >> 15);
}

static uint32_t below(canvas *c, uint32_t n) { return s2_xorshift_next(&c->draw) % n; }

static uint8_t *pixel(canvas *c, uint32_t x, uint32_t y)
{
    return c->pixels + ((size_t)y * c->width + x) * 3;
}

static void fill_canvas(canvas *c, uint8_t r, uint8_t g, uint8_t b)
{
    const uint8_t colour[3] = { r, g, b };
    const size_t n = (size_t)c->width * c->height;
    for (size_t i = 0; i < n; i++) memcpy(c->pixels + 3 * i, colour, 3);
}

static void flat(canvas *c)
{
    const uint32_t r = below(c, 256), g = below(c, 256), b = below(c, 256);
    fill_canvas(c, (uint8_t)r, (uint8_t)g, (uint8_t)b);
}

static void noise(canvas *c)
{
    const size_t n = (size_t)c->width * c->height * 3;
    for (size_t i = 0; i < n; i++) c->pixels[i] = (uint8_t)(s2_xorshift_next(&c->draw) >> 24);
}

static void grad(canvas *c)
{
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t x = 0; x < c->width; x++) {
            uint8_t *p = pixel(c, x, y);
            p[0] = (uint8_t)((uint64_t)x * 255 / (c->width - 1));
            p[1] = (uint8_t)((uint64_t)y * 255 / (c->height - 1));
            p[2] = (uint8_t)(((uint64_t)x + y) * 255 / (c->width + c->height - 2));
        }
}

static void bump(canvas *c)
{
    fill_canvas(c, 128, 128, 128);
    const uint32_t x = below(c, c->width), y = below(c, c->height);
    memset(pixel(c, x, y), 129, 3);
}

static void chequer(canvas *c)
{
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t x = 0; x < c->width; x++) {
            const int square = (x / 8 + y / 8) % 2 == 0 ? 64 : 192;
            memset(pixel(c, x, y), x < c->width / 2 ? square : 128, 3);
        }
}

/* Add one octave to a row of sums: bilinear between the corners of a lattice 64 >> o wide. */
static void add_octave(canvas *c, uint32_t y, uint32_t channel, uint32_t o)
{
    const uint32_t step = 64u >> o, weight = 128u >> o, key = c->seed + o * 7919u;
    const uint32_t gy = y / step, fy = y % step;
    for (uint32_t x0 = 0; x0 < c->width; x0 += step) {
        const uint32_t gx = x0 / step;
        const uint32_t corner[4] = { s2_hash32(gx, gy, channel, key) >> 24,
                                     s2_hash32(gx + 1, gy, channel, key) >> 24,
                                     s2_hash32(gx, gy + 1, channel, key) >> 24,
                                     s2_hash32(gx + 1, gy + 1, channel, key) >> 24 };
        for (uint32_t fx = 0; fx < step && x0 + fx < c->width; fx++) {
            const uint32_t top = corner[0] * (step - fx) + corner[1] * fx;
            const uint32_t bottom = corner[2] * (step - fx) + corner[3] * fx;
            const uint32_t value = (top * (step - fy) + bottom * fy) >> (12 - 2 * o); /* / step^2 */
            c->sum[x0 + fx] += value * weight;
        }
    }
}

static void vnoise(canvas *c)
{
    for (uint32_t y = 0; y < c->height; y++)
        for (uint32_t channel = 0; channel < 3; channel++) {
            memset(c->sum, 0, c->width * sizeof *c->sum);
            for (uint32_t o = 0; o < 5; o++) add_octave(c, y, channel, o);
            for (uint32_t x = 0; x < c->width; x++)
                pixel(c, x, y)[channel] = (uint8_t)(c->sum[x] / 248); /* 128 + 64 + 32 + 16 + 8 */
        }
}

/* Rectangle number i: solid, striped or speckled by its mode. */
static void rectangle(canvas *c, uint32_t i)
{
    const uint32_t x0 = below(c, c->width), y0 = below(c, c->height);
    const uint32_t w = 1 + below(c, c->width / 3), h = 1 + below(c, c->height / 3);
    const uint32_t mode = below(c, 4);
    uint32_t colour[3];
    for (int k = 0; k < 3; k++) colour[k] = s2_xorshift_next(&c->draw) >> 24;
    for (uint32_t y = y0; y < y0 + h && y < c->height; y++)
        for (uint32_t x = x0; x < x0 + w && x < c->width; x++) {
            if (mode == 2 && (x + y) / 2 % 2 != 0) continue;
            const uint32_t speckle = mode == 3 ? s2_hash32(x, y, i, c->seed) >> 27 : 0;
            uint8_t *p = pixel(c, x, y);
            for (int k = 0; k < 3; k++) p[k] = (uint8_t)(colour[k] ^ speckle);
        }
}

static void rects(canvas *c)
{
    vnoise(c);
    const size_t n = (size_t)c->width * c->height * 3;
    for (size_t i = 0; i < n; i++) c->pixels[i] = (uint8_t)(c->pixels[i] / 4 + 96);
    for (uint32_t i = 0; i < 24; i++) rectangle(c, i);
}

static const struct {
    const char *kind;
    int32_t min_side; /* below it the recipe divides by zero */
    void (*paint)(canvas *c);
} recipes[] = {
    { "flat", 1, flat },     { "noise", 1, noise },   { "grad", 2, grad },   { "bump", 1, bump },
    { "check", 1, chequer }, { "vnoise", 1, vnoise }, { "rects", 3, rects },
};

s2p_status s2_synth_picture(const char *kind, uint32_t seed, int32_t width, int32_t height,
                            s2_image *out, s2p_error *error)
{
    size_t r = 0;
    const size_t n = sizeof recipes / sizeof *recipes;
    while (r < n && strcmp(recipes[r].kind, kind) != 0) r++;
    if (r == n) return s2_fail(error, S2P_EINVAL, "unknown picture recipe '%.40s'", kind);
    const int32_t least = recipes[r].min_side;
    if (width < least || height < least || (int64_t)width * height > S2_SYNTH_MAX_PIXELS)
        return s2_fail(error, S2P_EINVAL, "a '%s' picture cannot be %d x %d", kind, width, height);

    const size_t n_bytes = (size_t)width * (size_t)height * 3;
    uint8_t *pixels = malloc(n_bytes);
    uint32_t *sum = malloc((size_t)width * sizeof *sum);
    if (!pixels || !sum) {
        free(pixels);
        free(sum);
        return s2_fail_memory(error, n_bytes, "a golden picture");
    }
    canvas c = { pixels, (uint32_t)width, (uint32_t)height, seed, { seed }, sum };
    recipes[r].paint(&c);
    free(sum);
    s2_image_adopt(out, pixels, width, height, S2_FORMAT_PNG);
    return S2P_OK;
}

void s2_synth_erc(uint32_t seed, int32_t levels, int32_t n, float *erc)
{
    s2_xorshift draw = { seed };
    for (int32_t i = 0; i < n; i++) {
        const uint32_t v = s2_xorshift_next(&draw) >> 8;
        erc[i] =
            levels > 0 ? (float)(((uint64_t)v * (uint64_t)levels) >> 24) : (float)v / 16777216.0f;
    }
}

uint32_t s2_crc32(const uint8_t *data, size_t n)
{
    uint32_t table[256], crc = 0xFFFFFFFFu;
    for (uint32_t i = 0; i < 256; i++) {
        table[i] = i;
        for (int bit = 0; bit < 8; bit++)
            table[i] = table[i] & 1 ? 0xEDB88320u ^ (table[i] >> 1) : table[i] >> 1;
    }
    for (size_t i = 0; i < n; i++) crc = table[(crc ^ data[i]) & 0xFF] ^ (crc >> 8);
    return crc ^ 0xFFFFFFFFu;
}
