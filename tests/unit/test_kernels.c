/* test_kernels.c - every table of kernels this CPU can run, and AVX-512 on any CPU. */
#include "check.h"
#include "kernel_cases.h"

#ifdef S2P_X86_KERNELS
extern const s2p_kernels s2p_kernels_avx512_emulated;
#endif

static void for_each_table(const char *(*promise)(const s2p_kernels *))
{
    const char *broken = NULL;
    for (size_t i = 0; s2p_kernels_at(i) && !broken; i++) broken = promise(s2p_kernels_at(i));
#ifdef S2P_X86_KERNELS
    if (!broken) broken = promise(&s2p_kernels_avx512_emulated);
#endif
    if (broken) fail_msg("%s", broken);
}

static void rows_equal_the_formula(void **state)
{
    (void)state;
    for_each_table(check_rows);
}

static void colours_equal_the_formula(void **state)
{
    (void)state;
    for_each_table(check_colours);
}

static void distances_have_the_same_bits(void **state)
{
    (void)state;
    for_each_table(check_distances);
}

/* A row of 20000 columns with the largest Laplacians there are: narrow sums must not wrap. */
static void long_rows_do_not_wrap(void **state)
{
    (void)state;
    enum { WIDTH = 20000 };
    static uint8_t rgb[3 * WIDTH], up[WIDTH], mid[WIDTH + 2], down[WIDTH];
    const int32_t edge[2] = { 0, WIDTH };
    for (size_t i = 0; s2p_kernels_at(i); i++) {
        s2p_moments moments = { 0 };
        memset(rgb, 255, sizeof rgb);
        memset(up, 255, sizeof up);
        memset(mid, 0, sizeof mid);
        s2p_kernels_at(i)->laplacian_row(rgb, up, mid + 1, down, edge, 1, &moments);
        assert_int_equal(moments.count, WIDTH);
        assert_int_equal(moments.sum, 510 * WIDTH);
        assert_int_equal(moments.sum_sq, 510ll * 510 * WIDTH);

        moments = (s2p_moments){ 0 }; /* white between black columns: +1020 and -1020 in turn */
        for (int32_t x = -1; x <= WIDTH; x++) {
            mid[x + 1] = x % 2 ? 255 : 0;
            if (x < 0 || x == WIDTH) continue;
            up[x] = x % 2 ? 0 : 255;
            memset(rgb + 3 * x, up[x], 3);
        }
        s2p_kernels_at(i)->laplacian_row(rgb, up, mid + 1, down, edge, 1, &moments);
        assert_int_equal(moments.sum, 0);
        assert_int_equal(moments.sum_sq, 1020ll * 1020 * WIDTH);
    }
}

static void tables_are_named_and_the_last_is_chosen(void **state)
{
    (void)state;
    assert_string_equal(s2p_kernels_at(0)->name, "scalar");
    size_t n = 0;
    while (s2p_kernels_at(n)) n++;
    assert_ptr_equal(s2p_kernels_choose(), s2p_kernels_at(n - 1));
    assert_null(s2p_kernels_at(n + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_equal_the_formula),
        cmocka_unit_test(colours_equal_the_formula),
        cmocka_unit_test(distances_have_the_same_bits),
        cmocka_unit_test(long_rows_do_not_wrap),
        cmocka_unit_test(tables_are_named_and_the_last_is_chosen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
