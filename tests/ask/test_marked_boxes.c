/* test_marked_boxes.c - boxes and masks: what is one and what is not, where they are, what is painted. */
#include "ask/regions.h"
#include "check.h"

#include <string.h>

static s2a_boxes boxes;
static s2p_error error;

static s2p_status add(const char *text, s2a_box_kind kind)
{
    error = (s2p_error){ S2P_OK, "" };
    return s2a_boxes_add("--keep-box", text, strlen(text), kind, &boxes, &error);
}

static void test_texts(void **state)
{
    (void)state;
    boxes.n = 0;
    assert_int_equal(add("10,20,300,40", S2A_BOX_KEEP), S2P_OK);
    assert_int_equal(add("2:10.5%,0,25%,100%", S2A_BOX_DROP), S2P_OK);
    assert_int_equal(boxes.n, 2);
    assert_int_equal(boxes.box[0].picture, 0);
    assert_true(boxes.box[0].at[2] == 300.0 && !boxes.box[0].is_share[2]);
    assert_int_equal(boxes.box[1].picture, 2);
    assert_true(boxes.box[1].at[0] == 10.5 && boxes.box[1].is_share[0] &&
                !boxes.box[1].is_share[1]);
    static const char *const bad[] = {
        "",         "1,2,3",     "1,2,3,4,5",    "nan,0,1,1", "1,inf,1,1",
        "-1,0,5,5", "1,2,3,4px", "0x10,0,1,1",   "1e3,0,1,1", "1,,3,4",
        "%,0,1,1",  "0:1,2,3,4", "1001:1,2,3,4", "a:1,2,3,4", "1.2.3,0,1,1",
        "1,2,0,4",  "1,2,3,0%",  "10%%,0,1,1",   "2:",        " 1,2,3,4"
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        CHECK_CASE(add(bad[i], S2A_BOX_KEEP) == S2P_EINVAL, "'%s'", bad[i]);
        assert_non_null(strstr(error.message, "--keep-box"));
    }
    assert_int_equal(boxes.n, 2);
    static char longest[100000];
    memset(longest, '1', sizeof longest - 1);
    assert_int_equal(add(longest, S2A_BOX_KEEP), S2P_EINVAL);
    while (boxes.n < S2A_MAX_BOXES) assert_int_equal(add("1,1,1,1", S2A_BOX_KEEP), S2P_OK);
    assert_int_equal(add("1,1,1,1", S2A_BOX_KEEP), S2P_ELIMIT);
    assert_int_equal(s2a_boxes_check(&boxes, 2, &error), S2P_OK);
    assert_int_equal(s2a_boxes_check(&boxes, 1, &error), S2P_EINVAL);
    assert_string_equal(error.message,
                        "a box or mask applies to picture 2, but 1 picture is given");
}

static void test_mask_texts(void **state)
{
    (void)state;
    static const struct {
        const char *text, *file;
        s2a_box_kind kind;
        int32_t picture;
    } cases[] = { { "a.png", "a.png", S2A_BOX_KEEP, 0 },
                  { "drop:a.png", "a.png", S2A_BOX_DROP, 0 },
                  { "2:blank:b:c.png", "b:c.png", S2A_BOX_BLANK, 2 },
                  { "3:x.png", "x.png", S2A_BOX_KEEP, 3 },
                  { "blanks:x.png", "blanks:x.png", S2A_BOX_KEEP, 0 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        boxes.n = 0;
        assert_int_equal(s2a_boxes_add_mask("--mask", cases[i].text, &boxes, &error), S2P_OK);
        assert_string_equal(boxes.box[0].mask, cases[i].file);
        assert_int_equal(boxes.box[0].kind, cases[i].kind);
        assert_int_equal(boxes.box[0].picture, cases[i].picture);
    }
    assert_int_equal(s2a_boxes_add_mask("--mask", "drop:", &boxes, &error), S2P_EINVAL);
}

/* --- on a picture --------------------------------------------------------------------- */

static s2_image make(int32_t width, int32_t height, int value)
{
    s2_image image;
    assert_int_equal(s2_image_create(width, height, &image, NULL), S2P_OK);
    memset(image.pixels, value, (size_t)image.view.stride * (size_t)height);
    return image;
}

static s2p_status give_mask(const char *path, void *user, s2_image *out, s2p_error *e)
{
    (void)path, (void)e;
    const s2_image *mask = user;
    *out = make(mask->view.width, mask->view.height, 0);
    memcpy(out->pixels, mask->pixels, (size_t)mask->view.stride * (size_t)mask->view.height);
    return S2P_OK;
}

static bool is_painted(const s2_image *image, int32_t x, int32_t y)
{
    const uint8_t *p = image->pixels + y * image->view.stride + (ptrdiff_t)3 * x;
    return p[0] == 127 && p[1] == 127 && p[2] == 127;
}

static void test_paint(void **state)
{
    (void)state;
    s2a_regions regions;
    boxes.n = 0;
    assert_int_equal(add("2.5,1,3,2", S2A_BOX_BLANK), S2P_OK); /* columns 2 to 5, rows 1 and 2 */
    assert_int_equal(add("2:0,0,100%,100%", S2A_BOX_BLANK), S2P_OK);
    assert_int_equal(add("50%,0,50%,50%", S2A_BOX_KEEP), S2P_OK);
    s2_image image = make(10, 8, 9);
    assert_int_equal(s2a_boxes_apply(&boxes, 0, &image, give_mask, NULL, &regions, &error), S2P_OK);
    for (int32_t y = 0; y < 8; y++)
        for (int32_t x = 0; x < 10; x++)
            assert_int_equal(is_painted(&image, x, y), x >= 2 && x < 6 && y >= 1 && y < 3);
    assert_int_equal(regions.n, 1);
    assert_true(regions.region[0].x == 5.0 && regions.region[0].height == 4.0);
    s2a_regions_free(&regions);
    assert_int_equal(s2a_boxes_apply(&boxes, 1, &image, give_mask, NULL, &regions, &error), S2P_OK);
    for (int32_t i = 0; i < 80; i++) assert_true(is_painted(&image, i % 10, i / 10));
    s2a_regions_free(&regions);
    s2_image_free(&image);
}

/* A picture that was decoded at half of its size, turned by its tag: pixels are those as it is displayed. */
static void test_reduced(void **state)
{
    (void)state;
    s2a_regions regions;
    boxes.n = 0;
    assert_int_equal(add("10,0,4,8", S2A_BOX_KEEP), S2P_OK);
    s2_image image = make(20, 10, 9);
    image.stored = (s2_size){ 20, 40 }; /* of the file, before it was turned */
    assert_int_equal(s2a_boxes_apply(&boxes, 0, &image, give_mask, NULL, &regions, &error), S2P_OK);
    assert_true(regions.region[0].x == 5.0 && regions.region[0].width == 2.0 &&
                regions.region[0].height == 4.0);
    s2a_regions_free(&regions);
    boxes.n = 0;
    assert_int_equal(add("40,0,1,1", S2A_BOX_KEEP), S2P_OK);
    assert_int_equal(s2a_boxes_apply(&boxes, 0, &image, give_mask, NULL, &regions, &error),
                     S2P_EINVAL);
    assert_string_equal(error.message,
                        "the box 40,0,1,1 is outside picture 1, which has 40x20 pixels");
    s2_image_free(&image);
}

static void test_masks(void **state)
{
    (void)state;
    s2a_regions regions;
    s2_image image = make(6, 4, 9), mask = make(6, 4, 0), other = make(6, 5, 255);
    memset(mask.pixels + mask.view.stride + 6, 200, 6); /* pixels 2 and 3 of row 1 */
    boxes.n = 0;
    assert_int_equal(s2a_boxes_add_mask("--mask", "drop:m.png", &boxes, &error), S2P_OK);
    assert_int_equal(s2a_boxes_add_mask("--mask", "blank:m.png", &boxes, &error), S2P_OK);
    assert_int_equal(s2a_boxes_apply(&boxes, 0, &image, give_mask, &mask, &regions, &error),
                     S2P_OK);
    assert_int_equal(regions.n, 1);
    for (int32_t i = 0; i < 24; i++) {
        assert_int_equal(regions.region[0].mask[i], i == 8 || i == 9);
        assert_int_equal(is_painted(&image, i % 6, i / 6), i == 8 || i == 9);
    }
    s2a_regions_free(&regions);
    assert_int_equal(s2a_boxes_apply(&boxes, 0, &image, give_mask, &other, &regions, &error),
                     S2P_EINVAL);
    assert_string_equal(error.message,
                        "the mask m.png has 6x5 pixels and picture 1 has 6x4; a mask must "
                        "have the size of its picture");
    memset(mask.pixels, 0, (size_t)mask.view.stride * 4);
    assert_int_equal(s2a_boxes_apply(&boxes, 0, &image, give_mask, &mask, &regions, &error),
                     S2P_EINVAL);
    assert_non_null(strstr(error.message, "marks nothing"));
    s2_image_free(&image);
    s2_image_free(&mask);
    s2_image_free(&other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts), cmocka_unit_test(test_mask_texts),
        cmocka_unit_test(test_paint), cmocka_unit_test(test_reduced),
        cmocka_unit_test(test_masks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
