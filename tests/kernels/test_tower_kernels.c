/* test_tower_kernels.c - every table of tower kernels this CPU can run. */
#include "check.h"
#include "tower_attention_cases.h"

static void for_each_table(const char *(*promise)(const s2v_kernels *))
{
    const char *broken = NULL;
    for (size_t i = 0; s2v_kernels_at(i) && !broken; i++) broken = promise(s2v_kernels_at(i));
    if (broken) fail_msg("%s", broken);
}

static void products_are_sums_of_products(void **state)
{
    (void)state;
    for_each_table(check_products);
}

static void activations_equal_the_formula(void **state)
{
    (void)state;
    for_each_table(check_activations);
}

static void specials_stay_in_their_row_or_column(void **state)
{
    (void)state;
    for_each_table(check_specials);
    for_each_table(check_attention_specials);
}

static void norms_and_rotations_equal_the_formula(void **state)
{
    (void)state;
    for_each_table(check_rows_alone);
}

static void attention_equals_the_formula(void **state)
{
    (void)state;
    for_each_table(check_attention);
    for_each_table(check_softmax);
}

static void halves_are_what_their_bits_say(void **state)
{
    (void)state;
    for (uint32_t h = 0; h < 65536; h++) {
        const int exponent = (int)(h >> 10 & 31), sign = h >> 15 ? -1 : 1;
        const double fraction = (double)(h & 1023) / 1024;
        const double want =
            exponent == 0 ? ldexp(fraction, -14) : ldexp(1 + fraction, exponent - 15);
        const float got = s2v_float_of_f16((uint16_t)h);
        if (exponent == 31)
            assert_true(h & 1023 ? isnan(got) : got == (float)sign * INFINITY);
        else
            assert_true((double)got == sign * want);
        const float wide = s2v_float_of_bf16((uint16_t)h);
        assert_true(isnan(wide) ? isnan(s2v_float_of_bf16(s2v_bf16_of_float(wide)))
                                : s2v_bf16_of_float(wide) == h);
    }
    assert_int_equal(s2v_bf16_of_float(s2v_float_of_bits(0x3f808000)), 0x3f80); /* ties to even */
    assert_int_equal(s2v_bf16_of_float(s2v_float_of_bits(0x3f818000)), 0x3f82);
    assert_int_equal(s2v_bf16_of_float(s2v_float_of_bits(0x3f808001)), 0x3f81);
    assert_int_equal(s2v_bf16_of_float(FLT_MAX), 0x7f80);
}

static void rotation_turns_by_row_then_column(void **state)
{
    (void)state;
    enum { DIM = 80 };
    const int32_t a[2] = { 0, 7 }, b[2] = { 5, 46 };
    float cosine[DIM], sine[DIM];
    s2v_rotation(a, b, 2, DIM, 10000.0f, cosine, sine);
    for (int i = 0; i < DIM; i++) {
        const int j = i % (DIM / 2) % (DIM / 4);
        const double pos = i % (DIM / 2) < DIM / 4 ? a[i / (DIM / 2)] : b[i / (DIM / 2)];
        const double angle = pos * pow(10000.0, -4.0 * j / DIM);
        assert_true(fabs((double)cosine[i] - cos(angle)) < 1e-4);
        assert_true(fabs((double)sine[i] - sin(angle)) < 1e-4);
    }
}

static void tables_are_found_by_name(void **state)
{
    (void)state;
    assert_string_equal(s2v_kernels_at(0)->name, "scalar");
    assert_null(s2v_kernels_find("abacus"));
    size_t n = 0;
    for (; s2v_kernels_at(n); n++) {
        assert_ptr_equal(s2v_kernels_find(s2v_kernels_at(n)->name), s2v_kernels_at(n));
        assert_true(s2v_kernels_at(n)->needs[0] != 0);
    }
    assert_null(s2v_kernels_at(n + 1));
    assert_int_equal(s2v_kernels_choose(S2V_PRECISION_F32)->precision, S2V_PRECISION_F32);
    assert_true(n == 1 || s2v_kernels_choose(S2V_PRECISION_F32) != s2v_kernels_at(0));
    for (int precision = 0; precision <= (int)S2V_PRECISION_INT8; precision++)
        assert_false(s2v_kernels_choose((s2v_precision)precision)->is_stand_in);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_sums_of_products),
        cmocka_unit_test(activations_equal_the_formula),
        cmocka_unit_test(specials_stay_in_their_row_or_column),
        cmocka_unit_test(norms_and_rotations_equal_the_formula),
        cmocka_unit_test(attention_equals_the_formula),
        cmocka_unit_test(halves_are_what_their_bits_say),
        cmocka_unit_test(rotation_turns_by_row_then_column),
        cmocka_unit_test(tables_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
