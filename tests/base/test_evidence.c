/* test_evidence.c - bets worked by hand, and how often they are won when nothing is there to win. */
#include "check.h"

#include "base/evidence.h"

#include <math.h>
#include <stdbool.h>

#define CHECK_NEAR(a, b, by) assert_true(fabs((a) - (b)) <= (by))

static double wealth(const s2_evidence *e)
{
    double sum = 0.0, stakes = 0.0;
    for (int i = 0; i < S2_STAKES; i++) {
        sum += e->stake[i] * exp(e->log_wealth[i]);
        stakes += e->stake[i];
    }
    return sum / stakes;
}

/* Stakes from 0.05 to 0.99 of the worst, which is also how the 1 is shared; one gain multiplies each player's wealth by 1 + stake * gain. */
static void test_by_hand(void **state)
{
    (void)state;
    s2_evidence e;
    s2_evidence_start(&e, 2.0);
    CHECK_NEAR(e.stake[0], 0.025, 1e-12);
    CHECK_NEAR(e.stake[S2_STAKES - 1], 0.495, 1e-12);
    double sum = 0.0, stakes = 0.0;
    for (int i = 0; i < S2_STAKES; i++) {
        sum += e.stake[i] * (1.0 + 0.5 * e.stake[i]) * (1.0 - 2.0 * e.stake[i]);
        stakes += e.stake[i];
    }
    s2_evidence_add(&e, 0.5);
    const double highest = s2_evidence_highest(&e);
    s2_evidence_add(&e, -2.0);
    CHECK_NEAR(wealth(&e), sum / stakes, 1e-12);
    CHECK_NEAR(s2_evidence_highest(&e), highest, 1e-12); /* what was won once counts */
    s2_evidence again = e;
    s2_evidence_add(&again, -7.0); /* counts as the worst */
    s2_evidence_add(&e, -2.0);
    CHECK_NEAR(wealth(&again), wealth(&e), 1e-15);
    assert_true(isfinite(s2_evidence_highest(&again)) && wealth(&again) > 0.0);
}

static void test_after(void **state)
{
    (void)state;
    s2_evidence e;
    s2_evidence_start(&e, 1.0);
    s2_evidence_add(&e, 0.3);
    const double would_be = s2_evidence_after(&e, 0.02, 50);
    for (int i = 0; i < 50; i++) s2_evidence_add(&e, 0.02);
    CHECK_NEAR(s2_evidence_highest(&e), would_be, 1e-9);
}

/* A mean of exactly 0, looked at after each of 400 observations: in at most 5 of 100 cases 1 / 0.05 is reached.
 * Rare and frequent losses, coins, and one that is nearly always a small gain. */
static void test_false_claims(void **state)
{
    (void)state;
    static const double chance[] = { 0.01, 0.05, 0.3, 0.5 };
    uint32_t seed = 17;
    for (size_t k = 0; k < COUNT_OF(chance); k++) {
        int n_claims = 0;
        for (int round = 0; round < 1000; round++) {
            s2_evidence e;
            s2_evidence_start(&e, 1.0 - chance[k]);
            for (int i = 0; i < 400 && s2_evidence_highest(&e) < log(20.0); i++) {
                const bool is_lost = next_random(&seed) < chance[k] * (1u << 24);
                s2_evidence_add(&e, chance[k] - (is_lost ? 1.0 : 0.0));
            }
            n_claims += s2_evidence_highest(&e) >= log(20.0);
        }
        CHECK_CASE(n_claims <= 70, "chance %g: %d of 1000", chance[k],
                   n_claims); /* 50 and 3 deviations */
    }
}

/* What is there is found: without any loss 0.05 a time reaches 20 after about log(20) / 0.05 observations. */
static void test_power(void **state)
{
    (void)state;
    s2_evidence e;
    int n = 0;
    s2_evidence_start(&e, 0.95);
    for (; n < 200 && s2_evidence_highest(&e) < log(20.0); n++) s2_evidence_add(&e, 0.05);
    CHECK_CASE(n >= 57 && n <= 100, "%d", n);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_by_hand),
                                        cmocka_unit_test(test_after),
                                        cmocka_unit_test(test_false_claims),
                                        cmocka_unit_test(test_power) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
