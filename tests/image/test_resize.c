/* test_resize.c - bicubic and gray: stored checksums of Pillow's results, and hand-worked cases.
 *
 * The pictures of data/image/resize.json are made here from the integer formulas
 * that come with the goldens.
 */
#include "base/json.h"
#include "image/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static uint32_t next(uint32_t *s) /* xorshift32 */
{
    *s ^= *s << 13;
    *s ^= *s >> 17;
    return *s ^= *s << 5;
}

static uint32_t hash32(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
{
    uint32_t x =
        a * 0x9E3779B1u + b * 0x85EBCA77u + c * 0xC2B2AE3Du + d * 0x27D4EB2Fu + 0x165667B1u;
    x ^= x >> 15;
    x *= 0x2C1B3C6Du;
    x ^= x >> 12;
    x *= 0x297A2D39u;
    return x ^ x >> 15;
}

/* Value noise of five octaves. */
static uint8_t vnoise(uint32_t seed, uint32_t x, uint32_t y, uint32_t channel)
{
    uint32_t sum = 0;
    for (uint32_t o = 0; o < 5; o++) {
        const uint32_t s = 64u >> o, gx = x / s, fx = x % s, gy = y / s, fy = y % s;
        const uint32_t k = seed + o * 7919;
        const uint32_t a = hash32(gx, gy, channel, k) >> 24,
                       b = hash32(gx + 1, gy, channel, k) >> 24;
        const uint32_t c = hash32(gx, gy + 1, channel, k) >> 24;
        const uint32_t d = hash32(gx + 1, gy + 1, channel, k) >> 24;
        sum += ((a * (s - fx) + b * fx) * (s - fy) + (c * (s - fx) + d * fx) * fy) / (s * s) *
               (128u >> o);
    }
    return (uint8_t)(sum / 248);
}

static void draw_rects(uint8_t *p, uint32_t seed, uint32_t w, uint32_t h)
{
    uint32_t s = seed;
    for (uint32_t i = 0; i < 24; i++) {
        const uint32_t x0 = next(&s) % w, y0 = next(&s) % h;
        const uint32_t rw = 1 + next(&s) % (w / 3), rh = 1 + next(&s) % (h / 3),
                       mode = next(&s) % 4;
        uint32_t colour[3];
        for (int c = 0; c < 3; c++) colour[c] = next(&s) >> 24;
        for (uint32_t y = y0; y < y0 + rh && y < h; y++) {
            for (uint32_t x = x0; x < x0 + rw && x < w; x++) {
                if (mode == 2 && (x + y) / 2 % 2 != 0) continue;
                for (uint32_t c = 0; c < 3; c++)
                    p[3 * (y * w + x) + c] =
                        (uint8_t)(mode == 3 ? colour[c] ^ hash32(x, y, i, seed) >> 27 : colour[c]);
            }
        }
    }
}

static uint8_t *synthetic(const char *kind, uint32_t seed, uint32_t w, uint32_t h)
{
    uint8_t *p = malloc((size_t)3 * w * h);
    assert_non_null(p);
    uint32_t s = seed;
    for (uint32_t y = 0; y < h; y++) {
        for (uint32_t x = 0; x < w; x++) {
            for (uint32_t c = 0; c < 3; c++) {
                uint32_t v;
                if (strcmp(kind, "noise") == 0)
                    v = next(&s) >> 24;
                else if (strcmp(kind, "vnoise") == 0)
                    v = vnoise(seed, x, y, c);
                else if (strcmp(kind, "rects") == 0)
                    v = vnoise(seed, x, y, c) / 4u + 96;
                else if (strcmp(kind, "check") == 0)
                    v = x >= w / 2 ? 128 : (x / 8 + y / 8) % 2 == 0 ? 64 : 192;
                else
                    v = c == 0   ? x * 255 / (w - 1)
                        : c == 1 ? y * 255 / (h - 1)
                                 : (x + y) * 255 / (w + h - 2);
                p[3 * (y * w + x) + c] = (uint8_t)v;
            }
        }
    }
    if (strcmp(kind, "rects") == 0) draw_rects(p, seed, w, h);
    return p;
}

static uint32_t crc32_of(const uint8_t *p, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

static int32_t member(const json_t *object, const char *key)
{
    int32_t value = -1;
    assert_true(s2_json_int(object, key, &value));
    return value;
}

static void check_checksums(const char *path, size_t n_cases)
{
    json_t *root = NULL;
    s2p_error error;
    assert_int_equal(s2_json_read_file(path, 1 << 20, &root, &error), S2P_OK);
    const json_t *cases = json_object_get(root, "cases");
    assert_int_equal(json_array_size(cases), n_cases);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i);
        const int32_t w = member(c, "w"), h = member(c, "h"), to_w = member(c, "W"),
                      to_h = member(c, "H");
        uint8_t *p = synthetic(s2_json_string(c, "kind"), (uint32_t)member(c, "seed"), (uint32_t)w,
                               (uint32_t)h);
        const s2p_image in = { w, h, 3 * w, p };
        s2_image out;
        const s2_resize how = json_integer_value(json_object_get(c, "pillow")) == 13
                                  ? S2_RESIZE_PILLOW13
                                  : S2_RESIZE_PILLOW;
        assert_int_equal(s2_image_resize_as(&in, to_w, to_h, how, &out, &error), S2P_OK);
        const size_t n = (size_t)3 * (size_t)to_w * (size_t)to_h;
        assert_int_equal(crc32_of(out.pixels, n), json_integer_value(json_object_get(c, "crc32")));
        s2_image_free(&out);
        free(p);
    }
    json_decref(root);
}

static void pillow_checksums(void **state)
{
    (void)state;
    check_checksums(S2_TEST_DATA "/image/resize.json", 16);
}

/* Each picture as Pillow up to 12 resizes it, and as 13 does. */
static void pillow_orders(void **state)
{
    (void)state;
    check_checksums(S2_TEST_DATA "/goldens/algo/resize_orders.json", 32);
}

/* A flat picture stays flat at any size; the same size is a copy; rows may have gaps. */
static void properties(void **state)
{
    (void)state;
    uint8_t flat[5 * 20], noise[5 * 20];
    uint32_t s = 99;
    for (size_t i = 0; i < sizeof flat; i++) flat[i] = 77, noise[i] = (uint8_t)(next(&s) >> 24);
    s2p_error error;
    for (int32_t w = 1; w < 40; w += 3) {
        for (int32_t h = 1; h < 40; h += 4) {
            const s2p_image in = { 6, 5, 20, flat };
            s2_image out;
            assert_int_equal(s2_image_resize(&in, w, h, &out, &error), S2P_OK);
            assert_int_equal(out.view.width, w);
            assert_int_equal(out.view.height, h);
            for (int32_t i = 0; i < 3 * w * h; i++) assert_int_equal(out.pixels[i], 77);
            s2_image_free(&out);
        }
    }
    const s2p_image gaps = { 6, 5, 20, noise };
    s2_image copy, a, b;
    assert_int_equal(s2_image_resize(&gaps, 6, 5, &copy, &error), S2P_OK);
    for (int y = 0; y < 5; y++) assert_memory_equal(copy.pixels + 18 * y, noise + 20 * y, 18);
    assert_int_equal(s2_image_resize(&gaps, 9, 3, &a, &error), S2P_OK);
    assert_int_equal(s2_image_resize(&copy.view, 9, 3, &b, &error), S2P_OK);
    assert_memory_equal(a.pixels, b.pixels, 9 * 3 * 3);
    s2_image_free(&copy);
    s2_image_free(&a);
    s2_image_free(&b);
}

/* Two pixels to one: both weigh the same. 0 and 255 -> 127.5, rounded up by the half in the sum. */
static void by_hand(void **state)
{
    (void)state;
    const uint8_t pixels[6] = { 0, 100, 255, 255, 101, 255 };
    const s2p_image in = { 2, 1, 6, pixels };
    s2_image out;
    assert_int_equal(s2_image_resize(&in, 1, 1, &out, NULL), S2P_OK);
    assert_int_equal(out.pixels[0], 128);
    assert_int_equal(out.pixels[1], 101);
    assert_int_equal(out.pixels[2], 255);
    s2_image_free(&out);

    const uint8_t colours[] = { 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255 };
    const s2p_image five = { 5, 1, 15, colours };
    uint8_t gray[5];
    s2_image_gray(&five, gray);
    const uint8_t expected[5] = { 0, 255, 76, 150, 29 };
    assert_memory_equal(gray, expected, 5);
}

/* A line across and down, against weights computed from the definition (in Python, once). */
static void other_filters(void **state)
{
    (void)state;
    static const uint8_t line[8] = { 10, 200, 30, 255, 0, 90, 91, 17 };
    static const struct {
        s2_filter filter;
        int32_t n;
        uint8_t expected[13];
    } cases[] = {
        { S2_FILTER_LANCZOS, 3, { 106, 114, 53 } },
        { S2_FILTER_LANCZOS, 5, { 81, 138, 116, 63, 54 } },
        { S2_FILTER_LANCZOS, 13, { 0, 98, 200, 66, 75, 249, 147, 0, 48, 116, 94, 42, 9 } },
        { S2_FILTER_BILINEAR, 3, { 109, 106, 62 } },
        { S2_FILTER_BILINEAR, 5, { 88, 116, 122, 74, 47 } },
        { S2_FILTER_BILINEAR, 13, { 10, 90, 193, 89, 91, 229, 128, 10, 66, 90, 91, 48, 17 } },
    };
    uint8_t pixels[8 * 3];
    for (int i = 0; i < 24; i++) pixels[i] = line[i / 3];
    const s2p_image across = { 8, 1, 24, pixels }, down = { 1, 8, 3, pixels };
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
        s2_image a, b;
        assert_int_equal(s2_image_resize_with(&across, cases[c].n, 1, cases[c].filter,
                                              S2_RESIZE_PILLOW, &a, NULL),
                         S2P_OK);
        assert_int_equal(s2_image_resize_with(&down, 1, cases[c].n, cases[c].filter,
                                              S2_RESIZE_PILLOW13, &b, NULL),
                         S2P_OK);
        for (int32_t i = 0; i < 3 * cases[c].n; i++) {
            assert_int_equal(a.pixels[i], cases[c].expected[i / 3]);
            assert_int_equal(b.pixels[i], cases[c].expected[i / 3]);
        }
        s2_image_free(&a);
        s2_image_free(&b);
    }
}

static void refusals(void **state)
{
    (void)state;
    const uint8_t pixel[3] = { 1, 2, 3 };
    const s2p_image one = { 1, 1, 3, pixel }, none = { 0, 1, 3, pixel };
    s2_image out, untouched;
    memset(&out, 7, sizeof out);
    untouched = out;
    s2p_error error;
    assert_int_equal(s2_image_resize(&one, 0, 1, &out, &error), S2P_EINVAL);
    assert_int_equal(s2_image_resize(&one, 1, -4, &out, &error), S2P_EINVAL);
    assert_int_equal(s2_image_resize(&none, 1, 1, &out, &error), S2P_EINVAL);
    assert_memory_equal(&out, &untouched, sizeof out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pillow_checksums), cmocka_unit_test(pillow_orders),
        cmocka_unit_test(properties),       cmocka_unit_test(by_hand),
        cmocka_unit_test(other_filters),    cmocka_unit_test(refusals)
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
