/* test_overlay.c - what a reader of an overlay relies on: kept tokens show the picture, dropped
 * ones are dark, borders and numbers are where the layout says, and the bytes are always the same.
 */
#include "image/draw/display.h"
#include "image/draw/overlay.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Four regions of 4x4 tokens; the first has four cells, the others one. */
static const s2p_rect regions[4] = {
    { 0, 0, 4, 4 }, { 0, 4, 4, 8 }, { 4, 0, 8, 4 }, { 4, 4, 8, 8 }
};
static const s2p_rect cells[7] = { { 0, 0, 2, 2 }, { 0, 2, 2, 4 }, { 2, 0, 4, 2 }, { 2, 2, 4, 4 },
                                   { 0, 4, 4, 8 }, { 4, 0, 8, 4 }, { 4, 4, 8, 8 } };
static const int32_t shares[4] = { 4, 1, 1, 1 };
static const int32_t keep[7] = { 9, 11, 25, 27, 22, 49, 63 };
static const s2p_layout layout = {
    .grid = { 8, 8 }, .side = 2, .budget = 7, .region = regions, .share = shares, .cell = cells
};

#define SIDE 960
#define TOKEN (SIDE / 8)

static uint8_t gray_picture[SIDE * SIDE * 3];
static s2p_image picture = { SIDE, SIDE, 3 * SIDE, gray_picture };

static const uint8_t *at(const s2_image *image, int32_t x, int32_t y)
{
    return image->pixels + image->view.stride * y + 3 * x;
}

static bool contains(const s2_buffer *text, const char *word);

static s2_image drawn(const s2_overlay *overlay)
{
    s2_image image;
    s2p_error error = { S2P_OK, "" };
    if (s2_overlay_draw(overlay, &image, &error) != S2P_OK) fail_msg("%s", error.message);
    return image;
}

static void kept_and_dropped(void **state)
{
    (void)state;
    const s2_overlay overlay = {
        .picture = &picture, .layout = &layout, .keep = keep, .n_keep = 7, .caption = NULL
    };
    s2_image image = drawn(&overlay);
    assert_int_equal(image.view.width, SIDE);
    for (int32_t token = 0; token < 64; token++) {
        bool is_kept = false;
        for (int i = 0; i < 7; i++) is_kept = is_kept || keep[i] == token;
        /* The middle of a token is free of borders and plates. */
        const uint8_t *p = at(&image, token % 8 * TOKEN + TOKEN / 2, token / 8 * TOKEN + TOKEN / 2);
        if (is_kept)
            assert_int_equal(p[0], 200);
        else
            assert_true(p[0] < 100);
    }
    const uint8_t *edge = at(&image, 11 % 8 * TOKEN + TOKEN / 2, 11 / 8 * TOKEN); /* token 11 */
    assert_true(edge[0] > 240 && edge[2] < 80); /* the outline's yellow */
    s2_image_free(&image);
}

/* What never entered the tower is blue, whether or not something was kept; the rest is not. */
static void skipped(void **state)
{
    (void)state;
    static int32_t entered[40];
    for (int32_t i = 0; i < 40; i++) entered[i] = i;
    for (int pass = 0; pass < 2; pass++) {
        const s2_overlay overlay = { .picture = &picture,
                                     .layout = &layout,
                                     .keep = pass ? NULL : keep,
                                     .n_keep = pass ? 0 : 1,
                                     .entered = entered,
                                     .n_entered = 40 };
        s2_image image = drawn(&overlay);
        const uint8_t *p = at(&image, 5 * TOKEN + TOKEN / 2, 7 * TOKEN + TOKEN / 2); /* token 61 */
        assert_true(p[2] > p[0] + 40);
        p = at(&image, 1 * TOKEN + TOKEN / 2, 1 * TOKEN + TOKEN / 2); /* token 9 */
        assert_true(pass || p[2] < p[0] + 40);
        s2_image_free(&image);
        s2_buffer text;
        s2_buffer_init(&text, 1 << 24);
        assert_int_equal(s2_overlay_svg(&overlay, &text, NULL), S2P_OK);
        assert_true(contains(&text, "24 blue ones never entered the tower"));
        s2_buffer_free(&text);
    }
}

/* Every kept token is seen whole, also where a number usually stands, also when there are only kept
 * ones. */
static void numbers_hide_no_kept_token(void **state)
{
    (void)state;
    static int32_t corners[4] = { 0, 4, 32, 36 }, all[64];
    for (int32_t i = 0; i < 64; i++) all[i] = i;
    for (int pass = 0; pass < 2; pass++) {
        const int32_t n = pass ? 64 : 4, *kept = pass ? all : corners;
        const s2_overlay overlay = {
            .picture = &picture, .layout = &layout, .keep = kept, .n_keep = n, .caption = NULL
        };
        s2_image image = drawn(&overlay);
        for (int32_t i = 0; i < n; i++)
            for (int32_t y = 4; y < TOKEN - 4; y++)
                for (int32_t x = 4; x < TOKEN - 4; x++)
                    assert_int_equal(*at(&image, kept[i] % 8 * TOKEN + x, kept[i] / 8 * TOKEN + y),
                                     200);
        int32_t n_white = 0; /* the numbers are somewhere else */
        for (int32_t y = 20; y < 3 * TOKEN; y++)
            for (int32_t x = TOKEN + 8; x < 3 * TOKEN; x++) n_white += *at(&image, x, y) > 240;
        assert_true(pass == 1 || n_white > 20);
        s2_image_free(&image);
    }
}

static void borders_and_numbers(void **state)
{
    (void)state;
    const s2_overlay overlay = {
        .picture = &picture, .layout = &layout, .keep = keep, .n_keep = 7, .caption = NULL
    };
    s2_image image = drawn(&overlay);
    for (int32_t i = 100; i < SIDE; i += 97) { /* the cross between the four regions is white */
        assert_int_equal(*at(&image, i, SIDE / 2), 255);
        assert_int_equal(*at(&image, SIDE / 2, i), 255);
    }
    const uint8_t *inside = at(&image, 3 * TOKEN + 60, 20),
                  *border = at(&image, 3 * TOKEN + 60, 2 * TOKEN);
    assert_true(border[0] > inside[0] + 20); /* a cell border on dimmed ground */
    for (int g = 0; g < 4; g++) {            /* each plate is dark and holds white strokes */
        int n_dark = 0, n_white = 0;
        for (int32_t y = 6; y < 24; y++) {
            for (int32_t x = 6; x < 24; x++) {
                const uint8_t *p =
                    at(&image, regions[g].col0 * TOKEN + x, regions[g].row0 * TOKEN + y);
                n_dark += p[0] < 40;
                n_white += p[0] > 230;
            }
        }
        assert_true(n_dark > 60 && n_white > 20);
    }
    s2_image_free(&image);
}

/* Without kept tokens the tint orders regions: the one that may keep most is the warmest. */
static void tints(void **state)
{
    (void)state;
    const s2_overlay overlay = {
        .picture = &picture, .layout = &layout, .keep = NULL, .n_keep = 0, .caption = NULL
    };
    s2_image image = drawn(&overlay);
    const uint8_t *most = at(&image, 3 * TOKEN + 60, 3 * TOKEN + 60),
                  *least = at(&image, 7 * TOKEN, 7 * TOKEN);
    assert_true(most[0] - most[2] > 40);
    assert_true(least[0] - least[2] < 20);
    s2_image_free(&image);
}

/* Any picture and grid can be drawn: 1x1, thin, large; with a layout that has nothing yet. */
static void odd_sizes(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = { { 1, 1 },   { 1, 200 },  { 200, 1 },
                                        { 28, 28 }, { 1700, 9 }, { 37, 960 } };
    const s2p_layout fresh = { .grid = { 24, 24 } };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        const s2p_image small = { sizes[i][0], sizes[i][1], 3 * sizes[i][0], gray_picture };
        const s2p_layout *layouts[3] = { NULL, &fresh, &layout };
        for (int k = 0; k < 3; k++) {
            const s2_overlay overlay = { .picture = &small,
                                         .layout = layouts[k],
                                         .keep = k == 2 ? keep : NULL,
                                         .n_keep = 7,
                                         .caption = "x" };
            s2_image image = drawn(&overlay);
            const int32_t longer =
                image.view.width > image.view.height ? image.view.width : image.view.height;
            assert_in_range(longer, 960, 1600);
            s2_image_free(&image);
            s2_buffer svg;
            s2_buffer_init(&svg, 1 << 24);
            assert_int_equal(s2_overlay_svg(&overlay, &svg, NULL), S2P_OK);
            s2_buffer_free(&svg);
        }
    }
}

static bool contains(const s2_buffer *text, const char *word)
{
    const size_t n = strlen(word);
    for (size_t i = 0; i + n <= text->size; i++)
        if (memcmp(text->data + i, word, n) == 0) return true;
    return false;
}

static void svg(void **state)
{
    (void)state;
    const s2_overlay overlay = { .picture = &picture,
                                 .layout = &layout,
                                 .keep = keep,
                                 .n_keep = 7,
                                 .caption = "a<b> & \xC3\xA9 \xFF\xED\xA0\x80\xC0\x80\n." };
    s2_buffer a, b;
    s2_buffer_init(&a, 1 << 24);
    s2_buffer_init(&b, 1 << 24);
    assert_int_equal(s2_overlay_svg(&overlay, &a, NULL), S2P_OK);
    assert_int_equal(s2_overlay_svg(&overlay, &b, NULL), S2P_OK);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    /* a stray byte, a surrogate (3), an overlong NUL (2), a line end: seven marks */
    assert_true(contains(&a, "<title id=\"t\">a&lt;b&gt; &amp; \xC3\xA9 ???\?\?\?\?.</title>"));
    assert_true(contains(&a, "7 kept tokens are bright"));
    assert_true(contains(&a, "budget of 7 tokens spread over 4 regions in 7 cells"));
    assert_true(contains(&a, "href=\"data:image/png;base64,iVBORw0KGgo"));
    assert_true(contains(&a, ">4</text>"));
    assert_true(contains(&a, "</svg>\n"));
    s2_buffer small;
    s2_buffer_init(&small, 500);
    assert_int_equal(s2_overlay_svg(&overlay, &small, NULL), S2P_ELIMIT);
    s2_buffer_free(&small);
    s2_buffer_free(&a);
    s2_buffer_free(&b);
}

static void refusals(void **state)
{
    (void)state;
    s2_image image;
    s2p_error error;
    const int32_t outside[1] = { 64 }, negative[1] = { -1 };
    const s2p_layout no_grid = { .grid = { 0, 4 } };
    const s2_overlay cases[] = {
        { .layout = &layout },
        { .picture = &picture, .keep = keep, .n_keep = 7 },
        { .picture = &picture, .layout = &layout, .keep = outside, .n_keep = 1 },
        { .picture = &picture, .layout = &layout, .keep = negative, .n_keep = 1 },
        { .picture = &picture, .layout = &layout, .entered = outside, .n_entered = 1 },
        { .picture = &picture, .layout = &no_grid },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        s2_buffer text;
        s2_buffer_init(&text, 1 << 20);
        assert_int_equal(s2_overlay_draw(&cases[i], &image, &error), S2P_EINVAL);
        assert_int_equal(s2_overlay_svg(&cases[i], &text, &error), S2P_EINVAL);
        s2_buffer_free(&text);
    }
}

static s2_buffer shown(const s2p_image *image, s2_display how, int32_t columns)
{
    s2_buffer out;
    s2_buffer_init(&out, 1 << 24);
    s2p_error error = { S2P_OK, "" };
    if (s2_display_render(image, how, columns, &out, &error) != S2P_OK)
        fail_msg("%s", error.message);
    return out;
}

/* One red pixel over one blue pixel is one half block; black and white are the ends of ASCII. */
static void terminal(void **state)
{
    (void)state;
    const uint8_t two[6] = { 255, 0, 0, 0, 0, 255 };
    const s2p_image tall = { 1, 2, 3, two };
    s2_buffer out = shown(&tall, S2_DISPLAY_BLOCKS, 1);
    const char expected[] = "\033[38;2;255;0;0m\033[48;2;0;0;255m\xE2\x96\x80\033[0m\n";
    assert_int_equal(out.size, sizeof expected - 1);
    assert_memory_equal(out.data, expected, out.size);
    s2_buffer_free(&out);

    const uint8_t ends[12] = { 0, 0, 0, 255, 255, 255, 0, 0, 0, 255, 255, 255 };
    const s2p_image square = { 2, 2, 6, ends };
    out = shown(&square, S2_DISPLAY_ASCII, 2);
    assert_int_equal(out.size, 3);
    assert_memory_equal(out.data, " @\n", 3);
    s2_buffer_free(&out);

    out = shown(&square, S2_DISPLAY_NONE, 2);
    assert_int_equal(out.size, 0);
    assert_int_equal(s2_display_render(&square, S2_DISPLAY_ASCII, 0, &out, NULL), S2P_EINVAL);
    s2_buffer_free(&out);

    /* 80 columns of a picture twice as high as wide: 160 pixel rows, two to a line. */
    const s2p_image portrait = { 400, 800, 3 * 400, gray_picture };
    out = shown(&portrait, S2_DISPLAY_ASCII, 80);
    assert_int_equal(out.size, 80 * 81);
    s2_buffer_free(&out);
}

/* kitty: every payload but the last is full and says that more follows. */
static void kitty(void **state)
{
    (void)state;
    static uint8_t noise[90 * 90 * 3];
    s2_random random = { 3 };
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (uint8_t)s2_random_next(&random);
    const s2p_image image = { 90, 90, 270, noise };
    s2_buffer out = shown(&image, S2_DISPLAY_KITTY, 33);
    size_t n_chunks = 0;
    bool has_more = true;
    for (size_t at_byte = 0; at_byte + 1 < out.size;) {
        assert_true(has_more);
        assert_memory_equal(out.data + at_byte, "\033_G", 3);
        const uint8_t *semicolon = memchr(out.data + at_byte, ';', out.size - at_byte);
        assert_non_null(semicolon);
        has_more = semicolon[-1] == '1';
        const uint8_t *end = memchr(semicolon, '\033', (size_t)(out.data + out.size - semicolon));
        assert_non_null(end);
        if (has_more) assert_int_equal(end - semicolon - 1, 4096);
        assert_memory_equal(end, "\033\\", 2);
        at_byte = (size_t)(end + 2 - out.data);
        n_chunks++;
    }
    assert_true(n_chunks >= 7 && !has_more);
    assert_true(contains(&out, "a=T,f=100,q=2,c=33,m=1;iVBORw0KGgo"));
    assert_int_equal(out.data[out.size - 1], '\n');
    s2_buffer_free(&out);
}

int main(void)
{
    memset(gray_picture, 200, sizeof gray_picture);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kept_and_dropped),
        cmocka_unit_test(skipped),
        cmocka_unit_test(numbers_hide_no_kept_token),
        cmocka_unit_test(borders_and_numbers),
        cmocka_unit_test(tints),
        cmocka_unit_test(odd_sizes),
        cmocka_unit_test(svg),
        cmocka_unit_test(refusals),
        cmocka_unit_test(terminal),
        cmocka_unit_test(kitty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
