/* test_boxes.c - boxes in answers, read by each rule, and how much two of them overlap. */
#include "check.h"

#include "eval/scoring/boxes.h"

#include <math.h>
#include <string.h>

static s2e_scratch scratch;

static s2e_str str(const char *text) { return s2e_str_of(&scratch, text); }

static int forget(void **state)
{
    (void)state;
    assert_false(scratch.failed);
    s2e_scratch_free(&scratch);
    return 0;
}

/* In a picture of 200 by 100 that the model saw as 400 by 400. */
static void test_boxes(void **state)
{
    (void)state;
    static const s2e_frame frame = { 200.0, 100.0, 0.0, 0.0 }, seen = { 200.0, 100.0, 400, 400 };
    static const struct {
        s2e_box_rule rule;
        const s2e_frame *frame;
        const char *answer;
        bool is_there;
        s2e_box box;
    } cases[] = {
        { S2E_BOX_OFFICIAL, &frame, "[0.1, 0.2, 0.5, 1]", true, { 20, 20, 100, 100 } },
        { S2E_BOX_OFFICIAL, &frame, "It is (0.1 0.2 0.5 1.0).", true, { 20, 20, 100, 100 } },
        { S2E_BOX_OFFICIAL, &frame, "[10, 20, 50, 80]", true, { 10, 20, 50, 80 } },
        { S2E_BOX_OFFICIAL,
          &seen,
          "{\"bbox_2d\": [40, 40, 200, 400]}",
          true,
          { 20, 10, 100, 100 } },
        { S2E_BOX_OFFICIAL, &seen, "[0.1, 0.2, 0.5, 1]", true, { 20, 20, 100, 100 } },
        { S2E_BOX_OFFICIAL, &seen, "<box>(0,999),(999,0)</box>", true, { 0, 100, 200, 0 } },
        { S2E_BOX_OFFICIAL,
          &seen,
          "<|box_start|>(100,200),(500,1000)<|box_end|>",
          true,
          { 20, 20, 100, 100 } },
        { S2E_BOX_OFFICIAL, &frame, "(0.1, 0.2), (0.5, 1)", true, { 20, 20, 100, 100 } },
        { S2E_BOX_OFFICIAL, &frame, "[1, 2, 3] [10, 20, 50, 80]", true, { 10, 20, 50, 80 } },
        { S2E_BOX_OFFICIAL, &frame, "[[10, 20, 50, 80], [0, 0, 1, 1]]", true, { 10, 20, 50, 80 } },
        { S2E_BOX_OFFICIAL, &frame, "10, 20, 50, 80", false, { 0, 0, 0, 0 } },
        { S2E_BOX_OFFICIAL, &frame, "[10, 20, 50, 80)", false, { 0, 0, 0, 0 } },
        { S2E_BOX_OFFICIAL, &frame, "I do not see it.", false, { 0, 0, 0, 0 } },
        { S2E_BOX_KIT, &frame, "[0.1, 0.2, 0.5, 1.2]", true, { 20, 20, 100, 100 } },
        { S2E_BOX_KIT, &frame, "[100, 200, 500, 1000]", true, { 20, 20, 100, 100 } },
        { S2E_BOX_KIT, &frame, "[500, 1000, 100, 200]", true, { 20, 20, 100, 100 } },
        { S2E_BOX_KIT, &frame, "[20, -5, 100, 1001]", true, { 20, 0, 100, 100 } },
        { S2E_BOX_KIT, &frame, "from 100 200 to 500 1000", true, { 20, 20, 100, 100 } },
        { S2E_BOX_KIT, &frame, "(100,200),(500,1000)", true, { 20, 20, 100, 100 } },
        { S2E_BOX_KIT, &frame, "1, 2, 3", false, { 0, 0, 0, 0 } },
        { S2E_BOX_LMMS, &frame, "[0.1, 0.2,0.5, 1]", true, { 20, 20, 100, 100 } },
        { S2E_BOX_LMMS, &frame, "[10, 20, 50, 80]", true, { 2000, 2000, 10000, 8000 } },
        { S2E_BOX_LMMS, &frame, "[0.1 0.2 0.5 1]", false, { 0, 0, 0, 0 } },
        { S2E_BOX_LMMS, &frame, "[.1, 0.2, 0.5, 1]", false, { 0, 0, 0, 0 } },
        { S2E_BOX_LMMS, &frame, "[0.1 , 0.2, 0.5, 1]", false, { 0, 0, 0, 0 } },
        { S2E_BOX_LMMS, &frame, "(0.1, 0.2, 0.5, 1)", false, { 0, 0, 0, 0 } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const s2e_box_reading r =
            s2e_read_box(&scratch, cases[i].rule, str(cases[i].answer), cases[i].frame);
        const s2e_box *b = &cases[i].box;
        CHECK_CASE(r.is_there == cases[i].is_there, "%zu: '%s'", i, cases[i].answer);
        CHECK_CASE(!r.is_there || (fabs(r.box.x1 - b->x1) < 1e-9 && fabs(r.box.y1 - b->y1) < 1e-9 &&
                                   fabs(r.box.x2 - b->x2) < 1e-9 && fabs(r.box.y2 - b->y2) < 1e-9),
                   "%zu: '%s' is [%g, %g, %g, %g]", i, cases[i].answer, r.box.x1, r.box.y1,
                   r.box.x2, r.box.y2);
        CHECK_CASE(r.at + r.n <= strlen(cases[i].answer), "%zu", i);
    }
}

static void test_overlap(void **state)
{
    (void)state;
    const s2e_box a = { 0, 0, 10, 10 }, half = { 0, 0, 10, 5 }, beside = { 10, 0, 20, 10 },
                  corner = { 5, 5, 15, 15 }, inverted = { 10, 10, 0, 0 }, none = { 0, 0, 0, 0 };
    assert_true(s2e_iou(&a, &a) == 1.0);
    assert_true(s2e_iou(&a, &half) == 0.5);
    assert_true(s2e_iou(&a, &beside) == 0.0);
    assert_true(s2e_iou(&a, &corner) == 25.0 / 175.0);
    assert_true(s2e_iou(&a, &inverted) == 0.0);
    assert_true(s2e_iou(&a, &none) == 0.0);
    const s2e_box huge = { -HUGE_VAL, -HUGE_VAL, HUGE_VAL, HUGE_VAL }, broken = { NAN, 0, 1, 1 };
    assert_true(s2e_iou(&a, &huge) >= 0.0 && s2e_iou(&a, &huge) <= 1.0);
    assert_true(s2e_iou(&huge, &huge) >= 0.0 && s2e_iou(&a, &broken) <= 1.0);
}

/* Exactly one half: each rule rounds as the script it follows, so the same two boxes can fall on either
 * side. Expected values are of Qwen-VL's (in single precision), VLMEvalKit's and lmms-eval's code. */
static void test_overlap_of_a_half(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        s2e_box_rule rule;
        s2e_frame frame;
        s2e_box gold;
        bool is_right;
    } cases[] = {
        { "[0.29, 0.23, 0.334, 0.395]",
          S2E_BOX_LMMS,
          { 500, 375, 0, 0 },
          { 145.0, 86.25, 156.0, 148.125 },
          false },
        { "[0.29, 0.23, 0.334, 0.395]",
          S2E_BOX_KIT,
          { 500, 375, 0, 0 },
          { 145.0, 86.25, 156.0, 148.125 },
          true },
        { "[0.082, 0.094, 0.176, 0.199]",
          S2E_BOX_LMMS,
          { 333, 500, 0, 0 },
          { 27.306, 47.0, 89.91, 99.5 },
          true },
        { "[0.082, 0.094, 0.176, 0.199]",
          S2E_BOX_KIT,
          { 333, 500, 0, 0 },
          { 27.306, 47.0, 89.91, 99.5 },
          false },
        { "[0.156, 0.014, 0.194, 0.104]",
          S2E_BOX_LMMS,
          { 1000, 1000, 0, 0 },
          { 156.0, 14.0, 175.0, 104.0 },
          false },
        { "[0.156, 0.014, 0.194, 0.104]",
          S2E_BOX_KIT,
          { 1000, 1000, 0, 0 },
          { 156.0, 14.0, 175.0, 104.0 },
          true },
        { "(104,128),(232,197)",
          S2E_BOX_OFFICIAL,
          { 1000, 1000, 0, 0 },
          { 104.10410410410411, 128.12812812812814, 168.16816816816817, 197.1971971971972 },
          true },
        { "(72,182),(160,208)",
          S2E_BOX_OFFICIAL,
          { 333, 500, 0, 0 },
          { 24.0, 91.09109109109109, 82.66666666666667, 104.10410410410411 },
          false },
        { "[0.079, 0.089, 0.209, 0.267]",
          S2E_BOX_LMMS,
          { 333, 500, 0, 0 },
          { 26.307, 44.5, 112.887, 133.5 },
          true },
        { "[0.079, 0.089, 0.209, 0.267]",
          S2E_BOX_KIT,
          { 333, 500, 0, 0 },
          { 26.307, 44.5, 112.887, 133.5 },
          false },
        { "(11,100),(161,166)",
          S2E_BOX_OFFICIAL,
          { 640, 480, 0, 0 },
          { 7.047047047047047, 48.048048048048045, 199.23923923923923, 79.75975975975976 },
          false },
        { "(237,155),(319,346)",
          S2E_BOX_OFFICIAL,
          { 640, 480, 0, 0 },
          { 151.83183183183183, 74.47447447447448, 178.0980980980981, 166.24624624624624 },
          true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const s2e_box_reading r =
            s2e_read_box(&scratch, cases[i].rule, str(cases[i].answer), &cases[i].frame);
        const double iou = s2e_overlap(&r, &cases[i].gold, &cases[i].frame);
        assert_true(r.is_there && fabs(iou - 0.5) < 1e-5);
        CHECK_CASE((iou >= 0.5) == cases[i].is_right, "%zu: '%s' overlaps by %.17g", i,
                   cases[i].answer, iou);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_boxes, forget),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test_teardown(test_overlap_of_a_half, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
