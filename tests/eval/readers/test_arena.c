/* test_arena.c - memory of a row: over one block, within the limit, used again. */
#include "check.h"

#include "eval/readers/arena.h"

#include <string.h>

/* What was taken stays as it is while more blocks are made. */
static void test_blocks(void **state)
{
    (void)state;
    enum { PIECES = 500 };
    static const size_t sizes[] = { 0, 1, 7, 16, 100, 5000, 40000 };
    uint8_t *piece[PIECES];
    s2e_arena arena;
    s2e_arena_init(&arena, (size_t)64 << 20);
    for (int round = 0; round < 3; round++) {
        size_t sum = 0;
        for (size_t i = 0; i < PIECES; i++) {
            const size_t n = sizes[i % COUNT_OF(sizes)];
            piece[i] = s2e_arena_take(&arena, n);
            assert_non_null(piece[i]);
            assert_int_equal((uintptr_t)piece[i] % _Alignof(max_align_t), 0);
            memset(piece[i], (int)(i % 251), n);
            sum += n;
        }
        assert_true(sum > ((size_t)2 << 20)); /* beyond the block that is kept */
        assert_int_equal(arena.size, sum);
        for (size_t i = 0; i < PIECES; i++)
            for (size_t k = 0; k < sizes[i % COUNT_OF(sizes)]; k++)
                CHECK_CASE(piece[i][k] == i % 251, "piece %zu, byte %zu", i, k);
        s2e_arena_clear(&arena);
        assert_int_equal(arena.size, 0);
    }
    s2e_arena_free(&arena);
}

/* A piece larger than any block has one of its own, and the next goes on behind it. */
static void test_large(void **state)
{
    (void)state;
    s2e_arena arena;
    s2e_arena_init(&arena, (size_t)64 << 20);
    char *before = s2e_arena_text(&arena, "before", 6);
    uint8_t *large = s2e_arena_take(&arena, (size_t)5 << 20);
    assert_non_null(large);
    memset(large, 1, (size_t)5 << 20);
    char *after = s2e_arena_text(&arena, "after", 5);
    assert_string_equal(before, "before");
    assert_string_equal(after, "after");
    s2e_arena_clear(&arena); /* a block of 5 MiB is not kept */
    assert_non_null(s2e_arena_take(&arena, 10));
    s2e_arena_free(&arena);
}

/* The limit counts what is handed out; beyond it nothing is had until the row ends. */
static void test_limit(void **state)
{
    (void)state;
    s2e_arena arena;
    s2p_error error;
    s2e_arena_init(&arena, 100000);
    assert_non_null(s2e_arena_take(&arena, 60000));
    assert_non_null(s2e_arena_take(&arena, 40000));
    assert_null(s2e_arena_take(&arena, 1));
    assert_null(s2e_arena_take(&arena, 0)); /* a row that failed stays failed */
    assert_int_equal(s2e_arena_fail(&arena, "F, row 3", &error), S2P_ELIMIT);
    assert_non_null(strstr(error.message, "F, row 3: its values have more than 100000 bytes"));
    s2e_arena_clear(&arena);
    assert_non_null(s2e_arena_take(&arena, 100000));
    assert_null(s2e_arena_text(&arena, "", SIZE_MAX));
    s2e_arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_blocks),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
