/* test_serve_logprobs.c MODEL MMPROJ - probabilities worked by hand, and when tokens are reported. */
#include "serve/engine/logprobs.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static s2v_engine *engine;
static s2_logits logits;
static float *logit; /* [logits.n] */

static int32_t token_of(const char *text)
{
    int32_t id = -1;
    size_t n = 0;
    assert_int_equal(s2v_engine_tokenize(engine, text, strlen(text), 1, &id, 1, &n, NULL), S2P_OK);
    assert_int_equal(n, 1);
    return id;
}

static void expect_token(const json_t *one, const char *text, double logprob)
{
    assert_string_equal(s2_json_string(one, "token"), text);
    assert_true(fabs(json_number_value(json_object_get(one, "logprob")) - logprob) < 1e-6);
    assert_int_equal(json_array_size(json_object_get(one, "bytes")), strlen(text));
}

static void test_numbers(void **state)
{
    (void)state;
    const int32_t a = token_of("a"), b = token_of("b"), c = token_of("c");
    for (int32_t i = 0; i < logits.n; i++) logit[i] = -INFINITY;
    logit[a] = 1000.0f; /* 1 : 3 : 1, far from what exp can hold */
    logit[b] = 1000.0f + logf(3.0f);
    logit[c] = 1000.0f;
    json_t *one = s2_logprob_json(&logits, a, 4);
    const json_t *top = json_object_get(one, "top_logprobs");
    const double rounded = log(exp((double)logit[b] - 1000.0) + 2.0);
    expect_token(one, "a", -rounded);
    assert_int_equal(json_array_size(top), 4);
    expect_token(json_array_get(top, 0), "b", (double)logit[b] - 1000.0 - rounded);
    expect_token(json_array_get(top, 1), a < c ? "a" : "c", -rounded); /* ties: the smaller id */
    expect_token(json_array_get(top, 2), a < c ? "c" : "a", -rounded);
    const json_t *none = json_object_get(json_array_get(top, 3), "logprob");
    assert_true(json_number_value(none) == -9999.0);
    json_decref(one);
    one = s2_logprob_json(&logits, b, 0);
    assert_int_equal(json_array_size(json_object_get(one, "top_logprobs")), 0);
    json_decref(one);
}

/* How many are reported after n more bytes. */
static size_t reported(s2_logprobs *l, size_t n, bool is_end)
{
    json_t *list = s2_logprobs_shown(l, n, is_end);
    const size_t n_reported = json_array_size(list);
    json_decref(list);
    return n_reported;
}

static void test_reported_when_shown(void **state)
{
    (void)state;
    static s2_logprobs l;
    const int32_t a = token_of("a"), end = token_of("<|im_end|>");
    s2_logprobs_add(&l, &logits, a, 1);
    assert_int_equal(reported(&l, 0, false), 0); /* held back */
    s2_logprobs_add(&l, &logits, a, 1);
    assert_int_equal(reported(&l, 1, false), 1);
    s2_logprobs_add(&l, &logits, end, 1);
    assert_int_equal(reported(&l, 1, false),
                     2); /* a token without text goes with the one before it */
    s2_logprobs_add(&l, &logits, a, 1);
    assert_int_equal(reported(&l, 0, true), 1);
    s2_logprobs_add(&l, &logits, a, 1);
    s2_logprobs_clear(&l); /* cut off */
    assert_int_equal(reported(&l, 0, true), 0);

    s2_logprobs_add(&l, &logits, a, 0);
    for (int i = 1; i < S2_LOGPROBS_HELD; i++) {
        assert_int_equal(reported(&l, 0, false), 0);
        s2_logprobs_add(&l, &logits, end, 0);
    }
    assert_int_equal(reported(&l, 0, false), S2_LOGPROBS_HELD); /* no more can be held */
    s2_logprobs_clear(&l);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 1;
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = argv[1];
    options.mmproj_path = argv[2];
    if (s2v_engine_open(&engine, &options, NULL) != S2P_OK) return 1;
    const int32_t n = s2v_engine_vocabulary(engine);
    logit = calloc((size_t)n, sizeof *logit);
    if (!logit) return 1;
    logits = (s2_logits){ .logit = logit, .n = n, .engine = engine };
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_numbers),
                                        cmocka_unit_test(test_reported_when_shown) };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    free(logit);
    s2v_engine_close(engine);
    return failed;
}
