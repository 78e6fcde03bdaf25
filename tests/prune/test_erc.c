/* test_erc.c - early representation change (App. A.5 Eq. 5). */
#include "check.h"
#include "s2prune.h"

#include <math.h>
#include <string.h>

static void worked_by_hand(void **state)
{
    (void)state;
    const float h0[3][2] = { { 0, 0 }, { 1, 1 }, { -2, 5 } };
    const float h1[3][2] = { { 3, 4 }, { 1, 1 }, { 3, -7 } };
    float erc[3];
    assert_int_equal(s2p_erc(h0[0], h1[0], 3, 2, erc), S2P_OK);
    assert_true(erc[0] == 5.0f);
    assert_true(erc[1] == 0.0f);
    assert_true(erc[2] == 13.0f);
}

/* One row of n is n rows of one: no row looks at its neighbours. */
static void rows_are_independent(void **state)
{
    (void)state;
    enum { N = 37, DIM = 67 };
    static float h0[N * DIM], h1[N * DIM];
    float together[N], alone[N];
    uint32_t seed = 5;
    for (int32_t i = 0; i < N * DIM; i++) {
        h0[i] = (float)random_below(&seed, 1000) / 7.0f;
        h1[i] = (float)random_below(&seed, 1000) / 11.0f;
    }
    assert_int_equal(s2p_erc(h0, h1, N, DIM, together), S2P_OK);
    for (int32_t i = 0; i < N; i++)
        assert_int_equal(s2p_erc(h0 + i * DIM, h1 + i * DIM, 1, DIM, &alone[i]), S2P_OK);
    assert_memory_equal(together, alone, sizeof alone);
}

/* Squares of large and small differences stay in range; what is not finite stays visible. */
static void extremes(void **state)
{
    (void)state;
    const float zero[2] = { 0, 0 };
    const float large[2] = { 3e30f, 4e30f }, small[2] = { 3e-30f, 4e-30f };
    const float bad[2] = { 1, NAN }, infinite[2] = { INFINITY, 0 };
    float erc;
    assert_int_equal(s2p_erc(zero, large, 1, 2, &erc), S2P_OK);
    assert_true(fabsf(erc - 5e30f) < 1e24f);
    assert_int_equal(s2p_erc(zero, small, 1, 2, &erc), S2P_OK);
    assert_true(fabsf(erc - 5e-30f) < 1e-36f);
    assert_int_equal(s2p_erc(zero, bad, 1, 2, &erc), S2P_OK);
    assert_true(isnan(erc));
    assert_int_equal(s2p_erc(zero, infinite, 1, 2, &erc), S2P_OK);
    assert_true(isinf(erc));
}

static void refusals(void **state)
{
    (void)state;
    const float h[4] = { 0 };
    float erc[4];
    assert_int_equal(s2p_erc(NULL, h, 1, 4, erc), S2P_EINVAL);
    assert_int_equal(s2p_erc(h, NULL, 1, 4, erc), S2P_EINVAL);
    assert_int_equal(s2p_erc(h, h, 1, 4, NULL), S2P_EINVAL);
    assert_int_equal(s2p_erc(h, h, 0, 4, erc), S2P_EINVAL);
    assert_int_equal(s2p_erc(h, h, -1, 4, erc), S2P_EINVAL);
    assert_int_equal(s2p_erc(h, h, 1, 0, erc), S2P_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worked_by_hand),
        cmocka_unit_test(rows_are_independent),
        cmocka_unit_test(extremes),
        cmocka_unit_test(refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
