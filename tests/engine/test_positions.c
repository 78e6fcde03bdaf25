/* test_positions.c - M-RoPE positions: the rule worked by hand, then its promises. */
#include "check.h"
#include "engine/decoder/positions.h"

#include <string.h>

#define MAX_TOKENS 4096

static int32_t run(const s2v_segment *segment, size_t n, int32_t pos[3][MAX_TOKENS])
{
    int32_t *const rows[3] = { pos[0], pos[1], pos[2] };
    return s2v_mrope(segment, n, rows);
}

static void test_text_counts_on_all_three(void **state)
{
    (void)state;
    static int32_t pos[3][MAX_TOKENS];
    const s2v_segment text[] = { { .n_text = 3, .grid = { 0, 0 }, .n_rows = 0 },
                                 { .n_text = 2, .grid = { 0, 0 }, .n_rows = 0 } };
    assert_int_equal(run(text, 2, pos), 5);
    for (int k = 0; k < 3; k++)
        assert_memory_equal(pos[k], ((const int32_t[]){ 0, 1, 2, 3, 4 }), 5 * sizeof(int32_t));
}

static void test_picture_spans_its_longer_side(void **state)
{
    (void)state;
    static int32_t pos[3][MAX_TOKENS];
    /* three words, a 2 x 3 picture, two words: the text goes on at 3 + max(2, 3) */
    const s2v_segment prompt[] = { { .n_text = 3, .grid = { 0, 0 }, .n_rows = 0 },
                                   { .n_text = 0, .grid = { 2, 3 }, .n_rows = 0 },
                                   { .n_text = 2, .grid = { 0, 0 }, .n_rows = 0 } };
    assert_int_equal(run(prompt, 3, pos), 8);
    assert_memory_equal(pos[0], ((const int32_t[]){ 0, 1, 2, 3, 3, 3, 3, 3, 3, 6, 7 }), 44);
    assert_memory_equal(pos[1], ((const int32_t[]){ 0, 1, 2, 3, 3, 3, 4, 4, 4, 6, 7 }), 44);
    assert_memory_equal(pos[2], ((const int32_t[]){ 0, 1, 2, 3, 4, 5, 3, 4, 5, 6, 7 }), 44);
}

static void test_empty_text_is_nothing(void **state)
{
    (void)state;
    static int32_t pos[3][MAX_TOKENS];
    const s2v_segment prompt[] = { { .n_text = 0, .grid = { 0, 0 }, .n_rows = 0 },
                                   { .n_text = 0, .grid = { 1, 1 }, .n_rows = 0 },
                                   { .n_text = 1, .grid = { 0, 0 }, .n_rows = 0 } };
    assert_int_equal(run(prompt, 3, pos), 2);
    assert_int_equal(pos[0][0], 0);
    assert_int_equal(pos[0][1], 1);
    assert_int_equal(s2v_mrope(NULL, 0, (int32_t *const[3]){ NULL, NULL, NULL }), 0);
}

/* Plain RoPE: a picture takes as many places as it has rows, newlines included. */
static void test_plain_counts_rows(void **state)
{
    (void)state;
    static int32_t pos[3][MAX_TOKENS];
    int32_t *const planes[3] = { pos[0], pos[1], pos[2] };
    const s2v_segment prompt[] = { { .n_text = 3, .grid = { 0, 0 }, .n_rows = 0 },
                                   { .n_text = 0, .grid = { 2, 3 }, .n_rows = 8 },
                                   { .n_text = 2, .grid = { 0, 0 }, .n_rows = 0 } };
    assert_int_equal(s2v_positions_plain(prompt, 3, planes), 13);
    for (int32_t i = 0; i < 13; i++)
        for (int k = 0; k < 3; k++) assert_int_equal(pos[k][i], i);
}

/* A picture with holes: those that are there stand where they would with the others, and the text goes on
 * behind the whole grid, here 3 rows, of which the last is gone. */
static void test_holes_move_nobody(void **state)
{
    (void)state;
    static int32_t pos[3][MAX_TOKENS];
    static const int32_t token[] = { 0, 3 };
    const s2v_segment prompt[] = { { .n_text = 1 },
                                   { .grid = { 3, 2 }, .n_rows = 2, .token = token },
                                   { .n_text = 1 } };
    assert_int_equal(run(prompt, 3, pos), 5);
    assert_memory_equal(pos[0], ((const int32_t[]){ 0, 1, 1, 4 }), 16);
    assert_memory_equal(pos[1], ((const int32_t[]){ 0, 1, 2, 4 }), 16);
    assert_memory_equal(pos[2], ((const int32_t[]){ 0, 1, 2, 4 }), 16);
}

/* On any prompt: time never goes back, no coordinate reaches what follows its segment. */
static void test_order(void **state)
{
    (void)state;
    static int32_t pos[3][MAX_TOKENS];
    uint32_t seed = 7;
    for (int round = 0; round < 200; round++) {
        s2v_segment segment[6];
        size_t n = 0;
        for (int s = 0; s < 6; s++) {
            const int32_t n_text = random_below(&seed, 2) ? 1 + random_below(&seed, 20) : 0;
            const s2p_grid grid = { 1 + random_below(&seed, 12), 1 + random_below(&seed, 12) };
            segment[s] =
                (s2v_segment){ .n_text = n_text, .grid = n_text ? (s2p_grid){ 0, 0 } : grid };
            n += (size_t)(n_text ? n_text : grid.rows * grid.cols);
        }
        const int32_t next = run(segment, 6, pos);
        for (size_t i = 0; i < n; i++) {
            assert_true(i == 0 || pos[0][i] >= pos[0][i - 1]);
            for (int k = 1; k < 3; k++) assert_true(pos[k][i] >= pos[0][i] && pos[k][i] < next);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_counts_on_all_three),
        cmocka_unit_test(test_picture_spans_its_longer_side),
        cmocka_unit_test(test_empty_text_is_nothing),
        cmocka_unit_test(test_plain_counts_rows),
        cmocka_unit_test(test_holes_move_nobody),
        cmocka_unit_test(test_order),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
