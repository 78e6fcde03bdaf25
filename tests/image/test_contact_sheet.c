/* test_contact_sheet.c - tiles stand where the sheet says, captions have ink and stay inside, and
 * more than can be seen is refused.
 */
#include "check.h"

#include "image/draw/contact_sheet.h"
#include "image/draw/drawing.h"

#include <string.h>

#define SIDE 64

static uint8_t red_pixels[SIDE * SIDE * 3];
static s2p_image red = { SIDE, SIDE, 3 * SIDE, red_pixels };

static const uint8_t *at(const s2_image *image, int32_t x, int32_t y)
{
    return image->pixels + image->view.stride * y + (ptrdiff_t)3 * x;
}

static bool is_paper(const uint8_t *p) { return p[0] == 255 && p[1] == 255 && p[2] == 255; }

/* Pixels of a rectangle that are not paper. */
static int64_t count_ink(const s2_image *image, s2p_rect r)
{
    int64_t n = 0;
    for (int32_t y = r.row0; y < r.row1; y++)
        for (int32_t x = r.col0; x < r.col1; x++) n += !is_paper(at(image, x, y));
    return n;
}

static s2_sheet sheet_of(int32_t n_tiles, int32_t group, int32_t width, int32_t height)
{
    s2_sheet sheet;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2_sheet_create("a title", n_tiles, group, width, height, &sheet, &error) == S2P_OK,
               "%s", error.message);
    return sheet;
}

static int make_picture(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof red_pixels; i++) red_pixels[i] = i % 3 == 0 ? 200 : 10;
    return 0;
}

/* --- letters ------------------------------------------------------------------------ */

static s2_image paper(int32_t width, int32_t height)
{
    s2_image image;
    assert_int_equal(s2_image_create(width, height, &image, NULL), S2P_OK);
    memset(image.pixels, 255, (size_t)image.view.stride * (size_t)height);
    return image;
}

/* Row 3 of an H is its bar: five pixels, at scale 2 ten wide and two high. */
static void test_letter_pixels(void **state)
{
    (void)state;
    const s2_colour black = { 0, 0, 0 };
    for (int32_t scale = 1; scale <= 2; scale++) {
        s2_image image = paper(40, 30);
        assert_int_equal(s2_letters_draw(&image, "H", 3, 4, 30, scale, black), 5 * scale);
        for (int32_t y = 0; y < 30; y++)
            for (int32_t x = 0; x < 40; x++) {
                const int32_t column = x >= 3 ? (x - 3) / scale : -1;
                const int32_t row = y >= 4 ? (y - 4) / scale : -1;
                const bool is_ink = row >= 0 && row < 7 && column >= 0 && column < 5 &&
                                    (column == 0 || column == 4 || row == 3);
                CHECK_CASE(is_paper(at(&image, x, y)) == !is_ink, "scale %d at %d,%d", scale, x, y);
            }
        s2_image_free(&image);
    }
}

/* No two letters look alike, and all but the space have ink. */
static void test_letters_differ(void **state)
{
    (void)state;
    static uint8_t seen[95][9 * 5];
    const s2_colour black = { 0, 0, 0 };
    for (int i = 0; i < 95; i++) {
        s2_image image = paper(5, 9);
        const char text[2] = { (char)(' ' + i), '\0' };
        (void)s2_letters_draw(&image, text, 0, 0, 5, 1, black);
        for (int32_t p = 0; p < 45; p++) seen[i][p] = at(&image, p % 5, p / 5)[0];
        assert_int_equal(count_ink(&image, (s2p_rect){ 0, 0, 9, 5 }) > 0, i > 0);
        for (int k = 0; k < i; k++)
            CHECK_CASE(memcmp(seen[i], seen[k], 45) != 0, "'%c' and '%c'", ' ' + i, ' ' + k);
        s2_image_free(&image);
    }
}

/* Never outside its room or the picture; cut text ends in two dots. */
static void test_letters_stay_inside(void **state)
{
    (void)state;
    const s2_colour black = { 0, 0, 0 };
    static const char *const texts[] = { "", "a", "a longer line of text than there is room for",
                                         "caf\xC3\xA9 \xE4\xBD\xA0", "\xFF\x80\x01\n" };
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        for (int32_t room = 0; room <= 60; room++) {
            s2_image image = paper(80, 20);
            const int32_t wide = s2_letters_draw(&image, texts[i], 10, 5, room, 1, black);
            assert_true(wide >= 0 && wide <= room);
            const s2p_rect all = { 0, 0, 20, 80 }, inside = { 5, 10, 14, 10 + wide };
            assert_int_equal(count_ink(&image, all), count_ink(&image, inside));
            s2_image_free(&image);
        }
    s2_image image = paper(8, 6); /* beyond every edge */
    (void)s2_letters_draw(&image, "WWWW", -7, -3, 1000, 3, black);
    s2_image_free(&image);

    s2_image cut = paper(40, 9), dots = paper(40, 9);
    assert_int_equal(s2_letters_draw(&cut, "abcdefgh", 0, 0, 35, 1, black), 35);
    assert_int_equal(s2_letters_draw(&dots, "abcd..", 0, 0, 35, 1, black), 35);
    assert_memory_equal(cut.pixels, dots.pixels, (size_t)cut.view.stride * 9);
    s2_image_free(&cut);
    s2_image_free(&dots);

    cut = paper(40, 9);
    dots = paper(40, 9);
    (void)s2_letters_draw(&cut, "\xE4\xBD\xA0?", 0, 0, 40, 1, black); /* one mark a character */
    (void)s2_letters_draw(&dots, "??", 0, 0, 40, 1, black);
    assert_memory_equal(cut.pixels, dots.pixels, (size_t)cut.view.stride * 9);
    s2_image_free(&cut);
    s2_image_free(&dots);
}

/* --- sheets --------------------------------------------------------------------------- */

static void test_tiles(void **state)
{
    (void)state;
    s2_sheet sheet = sheet_of(7, 1, SIDE, SIDE);
    assert_int_equal(sheet.tile_width, 480);
    assert_int_equal(sheet.tile_height, 480);
    assert_int_equal(sheet.columns, 4);
    const s2_sheet_tile tile = { .picture = &red,
                                 .title = "s2prune 64",
                                 .note = "64 of 576",
                                 .text = "an answer",
                                 .mark = "ok",
                                 .is_right = true };
    for (int32_t i = 0; i < 7; i += 2)
        assert_int_equal(s2_sheet_place(&sheet, i, &tile, NULL), S2P_OK);
    for (int32_t i = 0; i < 7; i++) {
        const s2p_rect r = s2_sheet_at(&sheet, i);
        assert_true(r.row0 >= 0 && r.col0 >= 0 && r.row1 <= sheet.image.view.height &&
                    r.col1 <= sheet.image.view.width);
        const uint8_t *p = at(&sheet.image, (r.col0 + r.col1) / 2, (r.row0 + r.row1) / 2);
        const s2p_rect lines = { r.row1 + 1, r.col0, r.row1 + 52, r.col1 };
        if (i % 2 == 0) {
            assert_true(p[0] == 200 && p[1] == 10);
            assert_int_equal(count_ink(&sheet.image, r), 480 * 480);
            assert_true(count_ink(&sheet.image, lines) > 500);
        } else { /* its neighbours left it alone */
            assert_true(is_paper(p));
            assert_int_equal(count_ink(&sheet.image, r) + count_ink(&sheet.image, lines), 0);
        }
        for (int32_t k = 0; k < i; k++) { /* apart from each other */
            const s2p_rect q = s2_sheet_at(&sheet, k);
            assert_true(q.col1 < r.col0 || q.col0 > r.col1 || q.row1 < r.row0 || q.row0 > r.row1);
        }
    }
    s2_image_free(&sheet.image);
}

/* Green for a right answer, red for a wrong one, an empty frame where there is no picture. */
static void test_marks(void **state)
{
    (void)state;
    s2_sheet sheet = sheet_of(2, 1, SIDE, SIDE);
    s2_sheet_tile tile = { .mark = "ok", .is_right = true };
    assert_int_equal(s2_sheet_place(&sheet, 0, &tile, NULL), S2P_OK);
    tile.is_right = false;
    assert_int_equal(s2_sheet_place(&sheet, 1, &tile, NULL), S2P_OK);
    for (int32_t i = 0; i < 2; i++) {
        const s2p_rect r = s2_sheet_at(&sheet, i);
        int64_t n_green = 0, n_red = 0;
        for (int32_t y = r.row1; y < sheet.image.view.height && y < r.row1 + 60; y++)
            for (int32_t x = r.col0; x < r.col1; x++) {
                const uint8_t *p = at(&sheet.image, x, y);
                if (is_paper(p)) continue;
                n_green += p[1] > p[0];
                n_red += p[0] > p[1];
            }
        assert_true(i == 0 ? n_green > 0 && n_red == 0 : n_red > 0 && n_green == 0);
        assert_false(is_paper(at(&sheet.image, r.col0, r.row0)));
    }
    s2_image_free(&sheet.image);
}

/* Whole pictures in tiles of another shape, in the middle. */
static void test_fits(void **state)
{
    (void)state;
    static const int32_t sizes[][2] = { { 64, 4 }, { 4, 64 }, { 1, 1 }, { 64, 63 } };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        s2_sheet sheet = sheet_of(1, 1, 300, 200);
        const s2p_image picture = { sizes[i][0], sizes[i][1], 3 * SIDE, red_pixels };
        const s2_sheet_tile tile = { .picture = &picture };
        assert_int_equal(s2_sheet_place(&sheet, 0, &tile, NULL), S2P_OK);
        const s2p_rect r = s2_sheet_at(&sheet, 0);
        assert_int_equal(at(&sheet.image, (r.col0 + r.col1) / 2, (r.row0 + r.row1) / 2)[0], 200);
        const s2p_rect below = { r.row1, 0, sheet.image.view.height, sheet.image.view.width };
        assert_int_equal(count_ink(&sheet.image, below), 0);
        s2_image_free(&sheet.image);
    }
}

static void test_limits(void **state)
{
    (void)state;
    s2_sheet untouched = { .n_tiles = -7 };
    s2p_error error = { S2P_OK, "" };
    for (int32_t n = 1; n <= 4096; n = n < 40 ? n + 1 : n * 2) {
        s2_sheet sheet;
        const s2p_status st = s2_sheet_create("", n, 1, SIDE, SIDE, &sheet, &error);
        CHECK_CASE(st == S2P_OK || (st == S2P_ELIMIT && n > 1000), "%d: %s", n, error.message);
        if (st != S2P_OK) continue;
        const int64_t pixels = (int64_t)sheet.image.view.width * sheet.image.view.height;
        assert_true(pixels <= S2_SHEET_MAX_PIXELS && sheet.columns >= 1 && sheet.columns <= n);
        const s2p_rect last = s2_sheet_at(&sheet, n - 1);
        assert_true(last.row1 < sheet.image.view.height && last.col1 < sheet.image.view.width);
        s2_image_free(&sheet.image);
    }
    for (int32_t group = 1; group <= 5; group++) {
        s2_sheet sheet = sheet_of(60, group, SIDE, SIDE);
        assert_int_equal(sheet.columns % group, 0);
        s2_image_free(&sheet.image);
    }
    static const int32_t bad[][4] = { { 0, 1, 9, 9 }, { 3, 2, 9, 9 },  { 2, 0, 9, 9 },
                                      { 1, 1, 0, 9 }, { 1, 1, 9, -1 }, { -1, 1, 9, 9 } };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        assert_int_equal(
            s2_sheet_create("", bad[i][0], bad[i][1], bad[i][2], bad[i][3], &untouched, &error),
            S2P_EINVAL);
    assert_int_equal(s2_sheet_create("", 5000, 1, 9, 9, &untouched, &error), S2P_ELIMIT);
    assert_non_null(strstr(error.message, "5000 pictures do not fit"));
    assert_int_equal(s2_sheet_create("", INT32_MAX, 1, 9, 9, &untouched, &error), S2P_ELIMIT);
    assert_int_equal(untouched.n_tiles, -7);
    s2_sheet sheet = sheet_of(2, 1, SIDE, SIDE);
    const s2_sheet_tile tile = { .picture = &red };
    assert_int_equal(s2_sheet_place(&sheet, 2, &tile, &error), S2P_EINVAL);
    assert_int_equal(s2_sheet_place(&sheet, -1, &tile, &error), S2P_EINVAL);
    s2_image_free(&sheet.image);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_letter_pixels),
        cmocka_unit_test(test_letters_differ),
        cmocka_unit_test(test_letters_stay_inside),
        cmocka_unit_test(test_tiles),
        cmocka_unit_test(test_marks),
        cmocka_unit_test(test_fits),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, make_picture, NULL);
}
