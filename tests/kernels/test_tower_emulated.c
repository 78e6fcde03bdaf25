/* test_tower_emulated.c - tower kernels for CPUs other than this one, their instructions in C. */
#include "check.h"
#include "tower_attention_cases.h"

#include "kernels/tower/tiles.h"

extern const s2v_kernels s2v_emulated_avx512, s2v_emulated_avx512_bf16, s2v_emulated_amx_bf16;
extern const s2v_kernels s2v_emulated_avx512_vnni, s2v_emulated_avx_vnni, s2v_emulated_amx_int8;
extern const s2v_kernels s2v_emulated_avx512_q8, s2v_emulated_avxvnni_q8;
extern const s2v_kernels s2v_emulated_amx_q8;

static const s2v_kernels *const tables[] = { &s2v_emulated_avx512,    &s2v_emulated_avx512_bf16,
                                             &s2v_emulated_amx_bf16,  &s2v_emulated_avx512_vnni,
                                             &s2v_emulated_avx_vnni,  &s2v_emulated_amx_int8,
                                             &s2v_emulated_avx512_q8, &s2v_emulated_avxvnni_q8,
                                             &s2v_emulated_amx_q8 };

static const char *few_products(const s2v_kernels *t) { return check_products_times(t, 60); }
static const char *few_attentions(const s2v_kernels *t) { return check_attention_times(t, 16); }

static void for_each_table(const char *(*promise)(const s2v_kernels *))
{
    const char *broken = NULL;
    for (size_t i = 0; i < COUNT_OF(tables) && !broken; i++) broken = promise(tables[i]);
    if (broken) fail_msg("%s", broken);
}

static void products_are_sums_of_products(void **state)
{
    (void)state;
    for_each_table(few_products);
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
}

static void norms_and_rotations_equal_the_formula(void **state)
{
    (void)state;
    for_each_table(check_rows_alone);
}

static void attention_equals_the_formula(void **state)
{
    (void)state;
    static const s2v_kernels *const with_its_own[] = { &s2v_emulated_avx512,
                                                       &s2v_emulated_avx512_bf16,
                                                       &s2v_emulated_amx_bf16 };
    const char *broken = NULL;
    for (size_t i = 0; i < COUNT_OF(with_its_own) && !broken; i++) {
        broken = few_attentions(with_its_own[i]);
        if (!broken) broken = check_softmax(with_its_own[i]);
        if (!broken) broken = check_attention_specials(with_its_own[i]);
    }
    if (broken) fail_msg("%s", broken);
}

/* Tiles are left as they were found: another user's configuration, or none. */
static void tiles_are_given_back(void **state)
{
    (void)state;
    s2v_emulated_tiles.config = (s2v_tile_config){ .palette = 0 };
    assert_null(check_products_times(&s2v_emulated_amx_bf16, 1));
    assert_int_equal(s2v_emulated_tiles.config.palette, 0);
    s2v_tile_config other = { .palette = 1 };
    other.rows[3] = 7;
    other.row_bytes[3] = 12;
    s2v_emulated_tiles.config = other;
    assert_null(check_products_times(&s2v_emulated_amx_bf16, 1));
    assert_memory_equal(&s2v_emulated_tiles.config, &other, sizeof other);
    assert_null(check_products_times(&s2v_emulated_amx_q8, 1));
    assert_memory_equal(&s2v_emulated_tiles.config, &other, sizeof other);
    assert_null(check_products_times(&s2v_emulated_amx_int8, 1));
    assert_memory_equal(&s2v_emulated_tiles.config, &other, sizeof other);
}

emulated_tiles s2v_emulated_tiles;

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(products_are_sums_of_products),
        cmocka_unit_test(activations_equal_the_formula),
        cmocka_unit_test(specials_stay_in_their_row_or_column),
        cmocka_unit_test(norms_and_rotations_equal_the_formula),
        cmocka_unit_test(attention_equals_the_formula),
        cmocka_unit_test(tiles_are_given_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
