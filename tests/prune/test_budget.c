/* test_budget.c - Algorithm S2: worked examples, then its promises on random input. */
#include "check.h"
#include "s2prune.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define MAX_N 200 /* crosses the 128-element blocks of the sum */

/* Worked by hand; each row names the rule it exercises. */
/* clang-format off */
static const struct {
    const char *rule;
    int32_t n, budget;
    double score[5];
    int32_t capacity[5], expect[5];
} worked[] = {
    { "full region drops out; tie to lower index", 4, 10, {1, .5, 0, .5},  {4, 4, 4, 4},    {4, 3, 1, 2} },
    { "tie on remainder goes to larger score",     2,  4, {.25, .75},      {9, 9},          {1, 3} },
    { "no structure: uniform, first regions gain", 4, 13, {0, 0, 0, 0},    {10, 10, 10, 10},{4, 3, 3, 3} },
    { "excess goes round again",                   3,  7, {1, 0, 0},       {2, 5, 5},       {2, 3, 2} },
    { "one round may give floor + 1",              2,  7, {1, 1},          {9, 9},          {4, 3} },
    { "a sum of 2^-52 is no structure",            4,  9, {DBL_EPSILON, 0, 0, 0}, {9, 9, 9, 9}, {3, 2, 2, 2} },
    { "a sum above 2^-52 is",                      4,  9, {1.04 * DBL_EPSILON, 0, 0, 0}, {9, 9, 9, 9}, {6, 1, 1, 1} },
    { "saturation cascades",                       5, 18, {1, .5, .25, .125, 0}, {2, 3, 4, 5, 6}, {2, 3, 4, 5, 4} },
    { "zero regions take part in the same pass",   5, 20, {1, .01, 0, 0, 0}, {3, 30, 9, 9, 9}, {3, 11, 2, 2, 2} },
    { "budget == regions: coverage only",          3,  3, {1, 0, 1},       {9, 9, 9},       {1, 1, 1} },
    { "budget == tokens: keep all",                2,  5, {0, 1},          {2, 3},          {2, 3} },
    { "one region",                                1,  7, {0},             {10},            {7} },
};
/* clang-format on */

static void test_worked(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(worked); i++) {
        int32_t out[5] = { 0 }; /* unused entries of expect are 0 too */
        assert_int_equal(
            s2p_budget(worked[i].score, worked[i].capacity, worked[i].n, worked[i].budget, out),
            S2P_OK);
        CHECK_CASE(memcmp(out, worked[i].expect, sizeof out) == 0, "%s", worked[i].rule);
    }
}

static void test_promises(void **state)
{
    (void)state;
    for (uint32_t seed = 0; seed < 20000; seed++) {
        uint32_t s = seed;
        double score[MAX_N];
        int32_t capacity[MAX_N], out[MAX_N], again[MAX_N], tokens = 0, sum = 0;
        const int32_t n = 1 + random_below(&s, MAX_N);
        for (int32_t g = 0; g < n; g++) {
            score[g] = random_below(&s, 4) ? (double)next_random(&s) / (1 << 24) : 0.0;
            if (seed % 7 == 0) score[g] = random_below(&s, 3); /* many ties */
            if (seed % 11 == 0) score[g] *= 1e307;             /* the sum overflows */
            tokens += capacity[g] = 1 + random_below(&s, 40);
        }
        const int32_t budget = n + random_below(&s, tokens - n + 1);

        assert_int_equal(s2p_budget(score, capacity, n, budget, out), S2P_OK);
        for (int32_t g = 0; g < n; g++) {
            CHECK_CASE(out[g] >= 1 && out[g] <= capacity[g], "seed %u", seed);
            sum += out[g];
        }
        CHECK_CASE(sum == budget, "seed %u", seed);
        assert_int_equal(s2p_budget(score, capacity, n, budget, again), S2P_OK);
        assert_memory_equal(out, again, (size_t)n * sizeof *out);
    }
}

/* With room everywhere, more structure never means fewer tokens. */
static void test_monotone(void **state)
{
    (void)state;
    for (uint32_t seed = 1; seed < 2000; seed++) {
        uint32_t s = seed;
        double score[25];
        int32_t capacity[25], out[25];
        for (int32_t g = 0; g < 25; g++) {
            score[g] = (double)random_below(&s, 1000) / 999.0;
            capacity[g] = 1000;
        }
        assert_int_equal(s2p_budget(score, capacity, 25, 64, out), S2P_OK);
        for (int32_t a = 0; a < 25; a++)
            for (int32_t b = 0; b < 25; b++)
                if (score[a] > score[b]) CHECK_CASE(out[a] >= out[b], "seed %u", seed);
    }
}

static void test_refusals(void **state)
{
    (void)state;
    const int32_t capacity[2] = { 2, 2 }, empty[2] = { 2, 0 };
    const double score[2] = { 0, 1 }, nan_score[2] = { 0, NAN };
    const double inf_score[2] = { 0, INFINITY }, negative[2] = { 0, -1 };
    int32_t out[2];
    assert_int_equal(s2p_budget(score, capacity, 2, 1, out), S2P_EBUDGET);
    assert_int_equal(s2p_budget(score, capacity, 2, 5, out), S2P_EBUDGET);
    assert_int_equal(s2p_budget(score, capacity, 2, INT32_MIN, out), S2P_EBUDGET);
    assert_int_equal(s2p_budget(score, empty, 2, 2, out), S2P_EINVAL);
    assert_int_equal(s2p_budget(nan_score, capacity, 2, 3, out), S2P_EINVAL);
    assert_int_equal(s2p_budget(inf_score, capacity, 2, 3, out), S2P_EINVAL);
    assert_int_equal(s2p_budget(negative, capacity, 2, 3, out), S2P_EINVAL);
    assert_int_equal(s2p_budget(NULL, capacity, 2, 3, out), S2P_EINVAL);
    assert_int_equal(s2p_budget(score, capacity, 0, 3, out), S2P_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_worked),
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_monotone),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
