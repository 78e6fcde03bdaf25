/* test_last_frame.c - the same picture is known again, another is not. */
#include "check.h"

#include "engine/vision/last_frame.h"

#include <stdlib.h>
#include <string.h>

#define SIDE 4
#define PATCH_ROW 8

static s2v_frame frame_of(int32_t n_patches)
{
    s2v_frame frame = { .n_views = 1, .n_patches = n_patches };
    frame.patches = calloc((size_t)n_patches * PATCH_ROW, sizeof *frame.patches);
    assert_non_null(frame.patches);
    return frame;
}

typedef struct picture {
    uint8_t pixels[SIDE][SIDE + 1][3]; /* a line is longer than the picture */
    s2p_image image;
} picture;

static void fill(picture *p)
{
    memset(p->pixels, 7, sizeof p->pixels);
    p->image = (s2p_image){
        .pixels = &p->pixels[0][0][0], .width = SIDE, .height = SIDE, .stride = sizeof p->pixels[0]
    };
}

static void test_known_again(void **state)
{
    (void)state;
    picture p;
    fill(&p);
    const s2v_image_options options = { .size = sizeof(s2v_image_options),
                                        .width = 28,
                                        .height = 28 };
    s2v_last_frame last = { .pixels = NULL };
    s2v_frame frame = frame_of(4), got;
    const float *patches = frame.patches;
    assert_false(s2v_last_frame_take(&last, &p.image, &options, S2V_FRAMING_BASE, &got));
    s2v_last_frame_keep(&last, &p.image, &options, S2V_FRAMING_BASE, PATCH_ROW, &frame);
    assert_int_equal(frame.n_views, 0);
    p.pixels[0][SIDE][0]++; /* beside the picture */
    assert_true(s2v_last_frame_take(&last, &p.image, &options, S2V_FRAMING_BASE, &got));
    assert_ptr_equal(got.patches, patches);
    s2v_frame again;
    assert_false(s2v_last_frame_take(&last, &p.image, &options, S2V_FRAMING_BASE, &again));
    s2v_last_frame_keep(&last, &p.image, &options, S2V_FRAMING_BASE, PATCH_ROW, &got);
    assert_true(s2v_last_frame_take(&last, &p.image, &options, S2V_FRAMING_BASE, &got));
    s2v_frame_free(&got);
    s2v_last_frame_free(&last);
}

static void test_anything_else(void **state)
{
    (void)state;
    picture p, other;
    fill(&p);
    fill(&other);
    other.pixels[SIDE - 1][SIDE - 1][2]++;
    const s2v_image_options options = { .size = sizeof(s2v_image_options), .width = 28 };
    s2v_image_options changed[6];
    for (int i = 0; i < 6; i++) changed[i] = options;
    changed[0].width++;
    changed[1].height++;
    changed[2].min_pixels++;
    changed[3].max_pixels++;
    changed[4].no_newline = 1;
    changed[5].framing = S2V_FRAMING_SQUARE;
    s2v_last_frame last = { .pixels = NULL };
    s2v_frame frame = frame_of(4), got;
    s2v_last_frame_keep(&last, &p.image, &options, S2V_FRAMING_BASE, PATCH_ROW, &frame);
    for (int i = 0; i < 6; i++)
        CHECK_CASE(!s2v_last_frame_take(&last, &p.image, &changed[i], S2V_FRAMING_BASE, &got), "%d",
                   i);
    assert_false(s2v_last_frame_take(&last, &p.image, &options, S2V_FRAMING_ANYRES, &got));
    assert_false(s2v_last_frame_take(&last, &other.image, &options, S2V_FRAMING_BASE, &got));
    p.image.height--;
    assert_false(s2v_last_frame_take(&last, &p.image, &options, S2V_FRAMING_BASE, &got));
    s2v_last_frame_free(&last);
}

static void test_too_large(void **state)
{
    (void)state;
    picture p;
    fill(&p);
    const s2v_image_options options = { .size = sizeof(s2v_image_options), .width = 28 };
    s2v_last_frame last = { .pixels = NULL };
    s2v_frame frame = frame_of(1 << 20), got; /* 32 MiB of patches and a few pixels */
    s2v_last_frame_keep(&last, &p.image, &options, S2V_FRAMING_BASE, PATCH_ROW, &frame);
    assert_int_equal(frame.n_views, 1);
    assert_false(s2v_last_frame_take(&last, &p.image, &options, S2V_FRAMING_BASE, &got));
    s2v_frame_free(&frame);
    s2v_last_frame_free(&last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_known_again),
        cmocka_unit_test(test_anything_else),
        cmocka_unit_test(test_too_large),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
