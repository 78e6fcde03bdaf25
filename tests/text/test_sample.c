/* test_sample.c - picking tokens: each filter by hand, the draw by its statistics, stop strings. */
#include "check.h"
#include "text/sample.h"
#include "failing_malloc.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
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

/* --- greedy ---------------------------------------------------------------------- */

static void test_greedy(void **state)
{
    (void)state;
    s2v_sampler *sampler = start(defaults());
    assert_int_equal(pick(sampler, (float[N]){ 0, 3, 1, 3, 2, 0, 0, 0 }),
                     1); /* the first maximum */
    assert_int_equal(pick(sampler, (float[N]){ -5, -4, -3, -4, -5, -9, -9, -9 }), 2);
    assert_int_equal(pick(sampler, (float[N]){ 0 }), 0);
    const float masked[N] = { -INFINITY, -INFINITY, -FLT_MAX,  -INFINITY,
                              -INFINITY, -INFINITY, -INFINITY, -INFINITY };
    assert_int_equal(pick(sampler, masked), 2);
    s2v_sampler_free(sampler);

    assert_int_equal(s2v_sampler_create(&sampler, N, NULL), S2P_OK); /* never started: greedy too */
    assert_int_equal(pick(sampler, (float[N]){ 0, 1 }), 1);
    s2v_sampler_free(sampler);
}

static void test_penalties(void **state)
{
    (void)state;
    static const float logits[N] = { 0, 4, 3, 0, -1, 0, 0, 0 };
    s2v_sampling sampling = defaults();
    sampling.repeat_penalty = 2.0f;
    s2v_sampler *sampler = start(sampling);
    assert_int_equal(pick(sampler, logits), 1);
    s2v_sampler_accept(sampler, 1);
    assert_int_equal(pick(sampler, logits), 2); /* 4 / 2 < 3 */
    s2v_sampler_accept(sampler, 2);
    assert_int_equal(pick(sampler, logits), 1); /* 2 > 1.5 */
    s2v_sampler_accept(sampler, -1);            /* no such tokens */
    s2v_sampler_accept(sampler, N);
    static const float negative[N] = { -9, -3, -2, -1.5f, -9, -9, -9, -9 };
    s2v_sampler_accept(sampler, 3);
    assert_int_equal(pick(sampler, negative), 3); /* -4 (2) and -3 (3): doubled, not halved */
    s2v_sampler_free(sampler);

    sampling = defaults();
    sampling.frequency_penalty = 0.6f; /* per sighting */
    sampler = start(sampling);
    s2v_sampler_accept(sampler, 1);
    assert_int_equal(pick(sampler, logits), 1); /* 3.4 > 3 */
    s2v_sampler_accept(sampler, 1);
    assert_int_equal(pick(sampler, logits), 2); /* 2.8 < 3 */
    s2v_sampler_free(sampler);

    sampling = defaults();
    sampling.presence_penalty = 0.6f; /* once */
    sampler = start(sampling);
    for (int i = 0; i < 5; i++) s2v_sampler_accept(sampler, 1);
    assert_int_equal(pick(sampler, logits), 1);
    s2v_sampler_free(sampler);

    sampling.presence_penalty = -2.0f; /* a reward */
    sampler = start(sampling);
    s2v_sampler_accept(sampler, 2);
    assert_int_equal(pick(sampler, logits), 2);
    s2v_sampler_free(sampler);
}

static void test_window(void **state)
{
    (void)state;
    static const float logits[N] = { 0, 4, 3, 0, 0, 0, 0, 0 };
    s2v_sampling sampling = defaults();
    sampling.presence_penalty = 50.0f;
    sampling.penalty_window = 3;
    s2v_sampler *sampler = start(sampling);
    for (int round = 0; round < 10; round++) { /* the ring goes round more than once */
        s2v_sampler_accept(sampler, 1);
        assert_int_equal(pick(sampler, logits), 2);
        s2v_sampler_accept(sampler, 5);
        s2v_sampler_accept(sampler, 5);
        assert_int_equal(pick(sampler, logits), 2); /* still among the last three */
        s2v_sampler_accept(sampler, 6);
        assert_int_equal(pick(sampler, logits), 1); /* forgotten */
    }
    s2v_sampler_accept(sampler, 1);
    assert_int_equal(s2v_sampler_start(sampler, &sampling, NULL), S2P_OK);
    assert_int_equal(pick(sampler, logits), 1); /* a new answer */
    sampling.penalty_window = 0;
    assert_int_equal(s2v_sampler_start(sampler, &sampling, NULL), S2P_OK);
    s2v_sampler_accept(sampler, 1);
    assert_int_equal(pick(sampler, logits), 1);
    s2v_sampler_free(sampler);
}

/* A penalty cannot bring back what is ruled out, nor leave the numbers. */
static void test_extreme_logits(void **state)
{
    (void)state;
    s2v_sampling sampling = defaults();
    sampling.repeat_penalty = 0.01f;
    sampling.presence_penalty = -100.0f;
    for (int hot = 0; hot < 2; hot++) {
        sampling.temperature = hot ? 1.0f : 0.0f;
        s2v_sampler *sampler = start(sampling);
        for (int32_t i = 0; i < N; i++) s2v_sampler_accept(sampler, i);
        const float all[N] = { -INFINITY, FLT_MAX,   -FLT_MAX,  -INFINITY,
                               -INFINITY, -INFINITY, -INFINITY, -INFINITY };
        for (int i = 0; i < 50; i++) assert_int_equal(pick(sampler, all), 1);
        s2v_sampler_free(sampler);
    }
}

/* --- filters: which tokens can come at all ------------------------------------------- */

static void test_filters(void **state)
{
    (void)state;
    /* probabilities 0.4 0.3 0.2 0.1, in another order; the rest ruled out */
    const float logits[N] = { logf(0.1f), logf(0.4f), -INFINITY, logf(0.2f),
                              -INFINITY,  logf(0.3f), -INFINITY, -INFINITY };
    static const struct {
        const char *why;
        int32_t top_k;
        float top_p, min_p, temperature;
        bool comes[N];
    } cases[] = {
        { "no filter", 0, 1, 0, 1, { 1, 1, 0, 1, 0, 1, 0, 0 } },
        { "top 1", 1, 1, 0, 1, { 0, 1, 0, 0, 0, 0, 0, 0 } },
        { "top 2", 2, 1, 0, 1, { 0, 1, 0, 0, 0, 1, 0, 0 } },
        { "top 100", 100, 1, 0, 1, { 1, 1, 0, 1, 0, 1, 0, 0 } },
        { "p 0.39: one is enough", 0, 0.39f, 0, 1, { 0, 1, 0, 0, 0, 0, 0, 0 } },
        { "p 0.41 takes two", 0, 0.41f, 0, 1, { 0, 1, 0, 0, 0, 1, 0, 0 } },
        { "p 0.71 takes three", 0, 0.71f, 0, 1, { 0, 1, 0, 1, 0, 1, 0, 0 } },
        { "p of what top 2 left: 0.4 / 0.7 = 0.57", 2, 0.56f, 0, 1, { 0, 1, 0, 0, 0, 0, 0, 0 } },
        { "and a little more", 2, 0.58f, 0, 1, { 0, 1, 0, 0, 0, 1, 0, 0 } },
        { "a tiny p keeps one", 0, 1e-6f, 0, 1, { 0, 1, 0, 0, 0, 0, 0, 0 } },
        { "min p 0.49: 0.2 / 0.4 stays", 0, 1, 0.49f, 1, { 0, 1, 0, 1, 0, 1, 0, 0 } },
        { "min p 0.51", 0, 1, 0.51f, 1, { 0, 1, 0, 0, 0, 1, 0, 0 } },
        { "filters before temperature", 0, 0.71f, 0.49f, 50, { 0, 1, 0, 1, 0, 1, 0, 0 } },
        { "cold", 0, 1, 0, 1e-3f, { 0, 1, 0, 0, 0, 0, 0, 0 } },
        { "colder than numbers reach", 0, 1, 0, 1e-45f, { 0, 1, 0, 0, 0, 0, 0, 0 } },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_sampling sampling = defaults();
        sampling.top_k = cases[i].top_k;
        sampling.top_p = cases[i].top_p;
        sampling.min_p = cases[i].min_p;
        sampling.temperature = cases[i].temperature;
        sampling.seed = i;
        int count[N];
        count_draws(sampling, logits, 2000, count);
        for (int32_t t = 0; t < N; t++)
            CHECK_CASE((count[t] > 0) == cases[i].comes[t], "%s: token %d came %d times",
                       cases[i].why, (int)t, count[t]);
    }
}

/* Equal logits: the smaller ids are kept. */
static void test_ties(void **state)
{
    (void)state;
    s2v_sampling sampling = defaults();
    int count[N];
    sampling.temperature = 1.0f;
    sampling.top_k = 3;
    count_draws(sampling, (float[N]){ 0 }, 1000, count);
    for (int32_t t = 0; t < N; t++) assert_true((count[t] > 0) == (t < 3));
}

/* --- the draw ---------------------------------------------------------------------------- */

/* Chi-squared with 7 degrees of freedom is above 24.3 once in a thousand; the seed is fixed. */
static void test_distribution(void **state)
{
    (void)state;
    const float logits[N] = { 0.5f, -1.0f, 2.0f, 0.0f, 1.0f, -0.5f, 1.5f, -2.0f };
    const int n_draws = 200000;
    for (int t = 0; t < 3; t++) {
        s2v_sampling sampling = defaults();
        sampling.temperature = t == 0 ? 1.0f : t == 1 ? 0.5f : 3.0f;
        sampling.seed = 99;
        sampling.top_k = t == 2 ? N : 0;
        sampling.top_p = t == 2 ? 0.9999f : 1.0f; /* the same set, in sorted order */
        int count[N];
        count_draws(sampling, logits, n_draws, count);
        double total = 0.0, chi = 0.0;
        for (int i = 0; i < N; i++) total += exp((double)logits[i] / (double)sampling.temperature);
        for (int i = 0; i < N; i++) {
            const double expected =
                exp((double)logits[i] / (double)sampling.temperature) / total * n_draws;
            chi += (count[i] - expected) * (count[i] - expected) / expected;
        }
        CHECK_CASE(chi < 24.3, "temperature %g: %g", (double)sampling.temperature, chi);
    }
}

static void test_seeds(void **state)
{
    (void)state;
    const float logits[N] = { 0 };
    s2v_sampling sampling = defaults();
    sampling.temperature = 1.0f;
    sampling.seed = 42;
    s2v_sampler *a = start(sampling), *b = start(sampling);
    sampling.seed = 43;
    s2v_sampler *c = start(sampling);
    int n_same = 0;
    int32_t first[64];
    for (int i = 0; i < 64; i++) {
        first[i] = pick(a, logits);
        assert_int_equal(first[i], pick(b, logits));
        n_same += first[i] == pick(c, logits);
    }
    assert_true(n_same < 32);
    sampling.seed = 42;
    assert_int_equal(s2v_sampler_start(a, &sampling, NULL), S2P_OK);
    for (int i = 0; i < 64; i++)
        assert_int_equal(pick(a, logits), first[i]); /* from the start again */
    s2v_sampler_free(a);
    s2v_sampler_free(b);
    s2v_sampler_free(c);
}

/* Against sorting and adding up, on a vocabulary that needs a real heap. */
typedef struct entry {
    float logit;
    int32_t token;
} entry;

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    if (x->logit != y->logit) return x->logit > y->logit ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

static void test_large_vocabulary(void **state)
{
    (void)state;
    enum { MANY = 5000 };
    static float logits[MANY];
    static entry sorted[MANY];
    uint32_t seed = 3;
    s2v_sampler *sampler = NULL;
    assert_int_equal(s2v_sampler_create(&sampler, MANY, NULL), S2P_OK);
    for (int round = 0; round < 20; round++) {
        for (int32_t i = 0; i < MANY; i++) {
            logits[i] = (float)random_below(&seed, 2000) / 100.0f; /* with many ties */
            sorted[i] = (entry){ logits[i], i };
        }
        qsort(sorted, MANY, sizeof *sorted, compare_entries);
        s2v_sampling sampling = defaults();
        sampling.temperature = 5.0f;
        sampling.seed = (uint64_t)round;
        sampling.top_k = round % 2 ? 1 + random_below(&seed, 300) : 0;
        sampling.top_p = 0.2f + 0.1f * (float)(round % 7);
        size_t n_left = sampling.top_k ? (size_t)sampling.top_k : MANY, n_kept = 0;
        double total = 0.0, sum = 0.0;
        for (size_t i = 0; i < n_left; i++) total += exp((double)sorted[i].logit);
        while (n_kept < n_left && sum < (double)sampling.top_p * total * (1 - 1e-9))
            sum += exp((double)sorted[n_kept++].logit);
        assert_int_equal(s2v_sampler_start(sampler, &sampling, NULL), S2P_OK);
        bool came[MANY] = { false };
        for (int i = 0; i < 400; i++) {
            int32_t token = -1;
            assert_int_equal(s2v_sampler_pick(sampler, logits, &token, NULL), S2P_OK);
            came[token] = true;
        }
        for (size_t i = n_kept; i < MANY; i++) assert_false(came[sorted[i].token]);
    }
    s2v_sampler_free(sampler);
}

/* --- refusals ------------------------------------------------------------------------------ */

static void test_refuses_logits(void **state)
{
    (void)state;
    for (int hot = 0; hot < 2; hot++) {
        s2v_sampling sampling = defaults();
        sampling.temperature = (float)hot;
        s2v_sampler *sampler = start(sampling);
        for (int32_t at = 0; at < N; at++)
            for (int kind = 0; kind < 2; kind++) {
                float logits[N] = { 0 };
                logits[at] = kind ? INFINITY : NAN;
                int32_t token = -7;
                s2p_error error = { S2P_OK, "" };
                assert_int_equal(s2v_sampler_pick(sampler, logits, &token, &error), S2P_EFORMAT);
                assert_true(error.message[0] && token == -7);
            }
        float none[N];
        for (int32_t i = 0; i < N; i++) none[i] = -INFINITY;
        int32_t token;
        assert_int_equal(s2v_sampler_pick(sampler, none, &token, NULL), S2P_EFORMAT);
        s2v_sampler_free(sampler);
    }
}

static void test_refuses_options(void **state)
{
    (void)state;
    s2v_sampler *sampler = start(defaults());
    s2p_error error = { S2P_OK, "" };
#define REFUSE(field, value)                                                      \
    do {                                                                          \
        s2v_sampling wrong = defaults();                                          \
        wrong.field = (value);                                                    \
        assert_int_equal(s2v_sampler_start(sampler, &wrong, &error), S2P_EINVAL); \
        assert_non_null(strstr(error.message, #field));                           \
    } while (0)
    REFUSE(temperature, -0.1f);
    REFUSE(temperature, NAN);
    REFUSE(temperature, INFINITY);
    REFUSE(top_k, -1);
    REFUSE(top_p, 0.0f);
    REFUSE(top_p, 1.01f);
    REFUSE(top_p, NAN);
    REFUSE(min_p, -0.1f);
    REFUSE(min_p, 1.0f);
    REFUSE(min_p, NAN);
    REFUSE(repeat_penalty, 0.0f);
    REFUSE(repeat_penalty, NAN);
    REFUSE(presence_penalty, NAN);
    REFUSE(presence_penalty, 1e9f);
    REFUSE(frequency_penalty, -INFINITY);
    REFUSE(penalty_window, -1);
    REFUSE(penalty_window, S2V_PENALTY_WINDOW_MAX + 1);
#undef REFUSE
    s2v_sampler_free(sampler);
    assert_int_equal(s2v_sampler_create(&sampler, 0, &error), S2P_EINVAL);
    assert_null(sampler);
}

/* --- stop strings --------------------------------------------------------------------------- */

typedef struct stop_case {
    const char *stops[4];
    const char *text, *out; /* out: what is shown in the end */
    bool hits;
} stop_case;

static const stop_case stop_cases[] = {
    { { NULL }, "hello", "hello", false },
    { { "END" }, "hello", "hello", false },
    { { "END" }, "helloENDmore", "hello", true },
    { { "END" }, "END", "", true },
    { { "END" }, "EN", "EN", false },
    { { "END" }, "EENEND", "EEN", true },
    { { "aab" }, "aaaab", "aa", true }, /* falls back into itself */
    { { "abab" }, "abacababab", "abac", true },
    { { "\n\n", "###" }, "a\nb##\n\nc###", "a\nb##", true },
    { { "bc", "abcd" }, "abcd", "a", true }, /* the first to be complete */
    { { "c", "abc" }, "abc", "", true },     /* together: the one that starts first */
    { { "abcx", "bd" }, "abcbd", "abc", true },
    { { "abcabd", "cab" }, "abcabc", "ab", true },
    { { "\xE2\x82\xAC" }, "1\xE2\x82\xAC", "1", true },
    { { "\xE2\x82\xAC" }, "1\xE2\x82\xA1", "1\xE2\x82\xA1", false },
};

static void test_stop_strings(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(stop_cases); i++) {
        const stop_case *c = &stop_cases[i];
        size_t n_stops = 0;
        while (c->stops[n_stops]) n_stops++;
        s2v_stop *stop = NULL;
        assert_int_equal(s2v_stop_create(&stop, c->stops, n_stops, NULL), S2P_OK);
        for (size_t step = 1; step < 6; step++) { /* however it is cut */
            s2_buffer out;
            s2_buffer_init(&out, 4096);
            bool hit = false;
            const size_t n = strlen(c->text);
            for (size_t at = 0; at < n; at += step)
                hit = s2v_stop_feed(stop, c->text + at, n - at < step ? n - at : step, &out);
            CHECK_CASE(hit == c->hits, "%zu", i);
            s2v_stop_end(stop, &out);
            s2_buffer_append(&out, "", 1);
            CHECK_CASE(strcmp((const char *)out.data, c->out) == 0, "%zu in steps of %zu: got %s",
                       i, step, (const char *)out.data);
            s2_buffer_free(&out);
        }
        s2v_stop_free(stop);
    }
}

/* Nothing is held back longer than it must be. */
static void test_stop_holds_little(void **state)
{
    (void)state;
    const char *const stops[] = { "abc", "abd" };
    s2v_stop *stop = NULL;
    s2_buffer out;
    s2_buffer_init(&out, 4096);
    assert_int_equal(s2v_stop_create(&stop, stops, 2, NULL), S2P_OK);
    assert_false(s2v_stop_feed(stop, "xxa", 3, &out));
    assert_int_equal(out.size, 2);
    assert_false(s2v_stop_feed(stop, "b", 1, &out));
    assert_int_equal(out.size, 2);
    assert_false(s2v_stop_feed(stop, "a", 1, &out)); /* "ab" is out, "a" is held */
    assert_int_equal(out.size, 4);
    assert_false(s2v_stop_feed(stop, "!", 1, &out));
    assert_int_equal(out.size, 6);
    assert_true(s2v_stop_feed(stop, "abdzz", 5, &out));
    assert_true(s2v_stop_feed(stop, "more", 4, &out)); /* once hit, silent */
    assert_int_equal(out.size, 6);
    s2v_stop_reset(stop);
    assert_false(s2v_stop_feed(stop, "c", 1, &out));
    assert_int_equal(out.size, 7);
    s2v_stop_free(stop);
    s2_buffer_free(&out);
}

/* Against looking for the strings in the whole text, on letters that overlap a lot. */
static void test_stop_as_searched(void **state)
{
    (void)state;
    uint32_t seed = 21;
    for (int round = 0; round < 3000; round++) {
        char words[3][8], text[48];
        const char *stops[3];
        const size_t n_stops = 1 + (size_t)random_below(&seed, 3);
        for (size_t i = 0; i < n_stops; i++) {
            const size_t n = 1 + (size_t)random_below(&seed, 6);
            for (size_t k = 0; k < n; k++) words[i][k] = (char)('a' + random_below(&seed, 2));
            words[i][n] = '\0';
            stops[i] = words[i];
        }
        const size_t n = (size_t)random_below(&seed, 47);
        for (size_t k = 0; k < n; k++) text[k] = (char)('a' + random_below(&seed, 3));
        text[n] = '\0';

        size_t expected = n, end = 0; /* first to be complete, longest among those */
        for (; end <= n && expected == n; end++)
            for (size_t i = 0; i < n_stops; i++) {
                const size_t m = strlen(stops[i]);
                if (m <= end && memcmp(text + end - m, stops[i], m) == 0 && end - m < expected)
                    expected = end - m;
            }
        s2v_stop *stop = NULL;
        s2_buffer out;
        s2_buffer_init(&out, 4096);
        assert_int_equal(s2v_stop_create(&stop, stops, n_stops, NULL), S2P_OK);
        for (size_t k = 0; k < n; k++) (void)s2v_stop_feed(stop, text + k, 1, &out);
        s2v_stop_end(stop, &out);
        CHECK_CASE(out.size == expected, "%s in %s: %zu, not %zu", stops[0], text, out.size,
                   expected);
        if (expected > 0) assert_memory_equal(out.data, text, expected);
        s2v_stop_free(stop);
        s2_buffer_free(&out);
    }
}

static void test_refuses_stop_strings(void **state)
{
    (void)state;
    static char longest[S2V_STOP_MAX_BYTES + 2];
    const char *stops[S2V_STOP_MAX + 1];
    s2v_stop *stop = NULL;
    for (size_t i = 0; i < COUNT_OF(stops); i++) stops[i] = "a";
    assert_int_equal(s2v_stop_create(&stop, stops, COUNT_OF(stops), NULL), S2P_ELIMIT);
    assert_int_equal(s2v_stop_create(&stop, (const char *[]){ "a", "" }, 2, NULL), S2P_EINVAL);
    memset(longest, 'a', S2V_STOP_MAX_BYTES + 1);
    stops[0] = longest;
    assert_int_equal(s2v_stop_create(&stop, stops, 1, NULL), S2P_ELIMIT);
    assert_null(stop);
    longest[S2V_STOP_MAX_BYTES] = '\0'; /* as long as may be: all but its last byte can be held */
    s2_buffer out;
    s2_buffer_init(&out, 4096);
    assert_int_equal(s2v_stop_create(&stop, stops, 1, NULL), S2P_OK);
    assert_false(s2v_stop_feed(stop, longest, S2V_STOP_MAX_BYTES - 1, &out));
    assert_int_equal(out.size, 0);
    assert_true(s2v_stop_feed(stop, "a", 1, &out));
    s2v_stop_free(stop);
    s2_buffer_free(&out);
}

/* --- memory -------------------------------------------------------------------------------------
 */

static void test_without_memory(void **state)
{
    (void)state;
    s2p_status st = S2P_ENOMEM;
    for (int n = 0; st == S2P_ENOMEM; n++) {
        s2v_sampler *sampler = NULL;
        allocations_left = n;
        st = s2v_sampler_create(&sampler, N, NULL);
        allocations_left = -1;
        assert_true((st == S2P_OK) == (sampler != NULL));
        s2v_sampler_free(sampler);
    }
    assert_int_equal(st, S2P_OK);
    st = S2P_ENOMEM;
    for (int n = 0; st == S2P_ENOMEM; n++) {
        s2v_stop *stop = NULL;
        allocations_left = n;
        st = s2v_stop_create(&stop, (const char *[]){ "a", "bc" }, 2, NULL);
        allocations_left = -1;
        assert_true((st == S2P_OK) == (stop != NULL));
        s2v_stop_free(stop);
    }
    assert_int_equal(st, S2P_OK);
}

static void test_tokens_do_not_allocate(void **state)
{
    (void)state;
    const float logits[N] = { 1, 2, 3, 4, 5, 6, 7, 8 };
    s2v_sampling sampling = defaults();
    sampling.temperature = 1.0f;
    sampling.top_k = 5;
    sampling.top_p = 0.9f;
    sampling.min_p = 0.01f;
    sampling.repeat_penalty = 1.1f;
    s2v_sampler *sampler = start(sampling);
    s2v_stop *stop = NULL;
    s2_buffer out;
    s2_buffer_init(&out, 65536);
    assert_int_equal(s2v_stop_create(&stop, (const char *[]){ "aaab" }, 1, NULL), S2P_OK);
    assert_non_null(s2_buffer_extend(&out, 4096));
    out.size = 0;
    allocations_seen = 0;
    for (int i = 0; i < 1000; i++) {
        s2v_sampler_accept(sampler, pick(sampler, logits));
        (void)s2v_stop_feed(stop, "aac", 3, &out);
    }
    assert_int_equal(s2v_sampler_start(sampler, &sampling, NULL), S2P_OK);
    assert_int_equal(allocations_seen, 0);
    assert_int_equal(out.size, 3000);
    s2v_sampler_free(sampler);
    s2v_stop_free(stop);
    s2_buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_greedy),
        cmocka_unit_test(test_penalties),
        cmocka_unit_test(test_window),
        cmocka_unit_test(test_extreme_logits),
        cmocka_unit_test(test_filters),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_distribution),
        cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_large_vocabulary),
        cmocka_unit_test(test_refuses_logits),
        cmocka_unit_test(test_refuses_options),
        cmocka_unit_test(test_stop_strings),
        cmocka_unit_test(test_stop_holds_little),
        cmocka_unit_test(test_stop_as_searched),
        cmocka_unit_test(test_refuses_stop_strings),
        cmocka_unit_test(test_without_memory),
        cmocka_unit_test(test_tokens_do_not_allocate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
