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

enum { LONG = 20000 };

/* L of a long row whose rows above and below are white; `mid` repeats four columns. */
static const char *check_long_row(const s2p_kernels *kernels, const uint8_t pattern[4],
                                  const int l[4])
{
    static char text[80];
    static uint8_t rgb[3 * LONG], up[LONG], mid[LONG + 2], down[LONG];
    const int32_t edge[2] = { 0, LONG };
    memset(rgb, 255, sizeof rgb);
    memset(up, 255, sizeof up);
    for (int32_t x = -1; x <= LONG; x++) mid[x + 1] = pattern[(x + 4) % 4];
    s2p_moments got = { 0 }, want = { LONG, 0, 0 };
    for (int i = 0; i < 4; i++) {
        want.sum += LONG / 4 * l[i];
        want.sum_sq += LONG / 4 * (int64_t)l[i] * l[i];
    }
    kernels->laplacian_row(rgb, up, mid + 1, down, edge, 1, &got);
    if (memcmp(&got, &want, sizeof want) == 0) return NULL;
    snprintf(text, sizeof text, "%s: sums of a long row wrapped", kernels->name);
    return text;
}

/* The largest Laplacians there are, with signs that do not cancel: narrow sums must not wrap. */
static const char *check_long_rows(const s2p_kernels *kernels)
{
    static const uint8_t pattern[4][4] = {
        { 0, 0, 0, 0 }, { 0, 0, 255, 255 }, { 0, 255, 0, 255 }, { 255, 255, 255, 255 }
    };
    static const int l[4][4] = {
        { 510, 510, 510, 510 }, { 765, 765, -255, -255 }, { 1020, -510, 1020, -510 }, { 0, 0, 0, 0 }
    };
    const char *broken = NULL;
    for (int i = 0; i < 4 && !broken; i++) broken = check_long_row(kernels, pattern[i], l[i]);
    return broken;
}

static void long_rows_do_not_wrap(void **state)
{
    (void)state;
    for_each_table(check_long_rows);
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
