/* test_sample_bias.c - logits of some tokens, changed before anything else. */
#include "check.h"
#include "failing_malloc.h"
#include "text/sample.h"

#include <math.h>
#include <string.h>

#define N 8

static s2v_sampler *start(s2v_sampling sampling)
{
    s2v_sampler *sampler = NULL;
    assert_int_equal(s2v_sampler_create(&sampler, N, NULL), S2P_OK);
    assert_int_equal(s2v_sampler_start(sampler, &sampling, NULL), S2P_OK);
    return sampler;
}

static s2v_sampling defaults(void)
{
    s2v_sampling sampling;
    s2v_sampling_init(&sampling);
    return sampling;
}

static int32_t pick(s2v_sampler *sampler, const float *logits)
{
    int32_t token = -1;
    assert_int_equal(s2v_sampler_pick(sampler, logits, &token, NULL), S2P_OK);
    assert_in_range(token, 0, N - 1);
    return token;
}

/* How often each token comes in many draws. */
static void count_draws(s2v_sampling sampling, const float *logits, int n_draws, int count[N])
{
    s2v_sampler *sampler = start(sampling);
    memset(count, 0, N * sizeof *count);
    for (int i = 0; i < n_draws; i++) count[pick(sampler, logits)]++;
    s2v_sampler_free(sampler);
}

static void test_bias(void **state)
{
    (void)state;
    static const float logits[N] = { 0, 4, 3, 0, -1, -INFINITY, 0, 0 };
    const s2v_logit_bias bias[] = { { 1, -INFINITY }, { 4, 4.5f }, { 5, 100.0f }, { 4, 0.25f } };
    s2v_sampling sampling = defaults();
    sampling.bias = bias;
    sampling.n_bias = 1;
    s2v_sampler *sampler = start(sampling);
    assert_int_equal(pick(sampler, logits), 2); /* 1 is forbidden */
    s2v_sampler_free(sampler);
    sampling.n_bias = 4;
    sampler = start(sampling);
    assert_int_equal(pick(sampler, logits), 4); /* -1 + 4.5 + 0.25; 5 stays out */
    const uint64_t allowed = 1 << 1;
    int32_t token;
    assert_int_equal(s2v_sampler_pick_allowed(sampler, logits, &allowed, &token, NULL),
                     S2P_EFORMAT);
    s2v_sampler_free(sampler);

    int count[N]; /* a bias is the logarithm of a factor */
    const float flat[N] = { 0 };
    const s2v_logit_bias seven = { 7, logf(7.0f) };
    sampling = defaults();
    sampling.temperature = 1.0f;
    sampling.bias = &seven;
    sampling.n_bias = 1;
    count_draws(sampling, flat, 7000, count);
    CHECK_CASE(count[7] > 3300 && count[7] < 3700, "%d", count[7]);

    s2p_error error;
    const s2v_logit_bias bad[] = { { N, 0.0f }, { -1, 0.0f }, { 0, NAN }, { 0, INFINITY } };
    assert_int_equal(s2v_sampler_create(&sampler, N, NULL), S2P_OK);
    for (size_t i = 0; i < 4; i++) {
        sampling.bias = &bad[i];
        assert_int_equal(s2v_sampler_start(sampler, &sampling, &error), S2P_EINVAL);
    }
    sampling.n_bias = S2V_BIAS_MAX + 1;
    assert_int_equal(s2v_sampler_start(sampler, &sampling, &error), S2P_EINVAL);
    s2v_sampler_free(sampler);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_bias) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
