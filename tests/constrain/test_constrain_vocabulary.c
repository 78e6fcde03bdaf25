/* test_constrain_vocabulary.c - masks equal brute force, and random answers always end and validate. */
#include "check.h"
#include "constrain/constraint.h"
#include "base/random.h"

#include <stdlib.h>
#include <string.h>

#define N_WORDS 900
#define N_TOKENS (256 + N_WORDS)

typedef struct words {
    char text[N_TOKENS][24];
    size_t size[N_TOKENS];
} words;

/* All single bytes, and pieces that JSON answers are likely and unlikely to have. */
static void make_words(words *w, uint64_t seed)
{
    static const char *const parts[] = { "\"",       "{\"", "\":",  "\": ",     ", ",
                                         ",\"",      "}",   "]}",   "[",        "total",
                                         "shop",     "tot", "al",   "12",       "3.",
                                         "-1",       "0",   "true", "false",    "null",
                                         " ",        "\\n", "\\\"", "\xC3\xA4", "\xE6\x97\xA5",
                                         "\xE6\x97", "a",   "bc",   "xyz",      "abcdefgh" };
    for (int32_t t = 0; t < 256; t++) {
        w->text[t][0] = (char)t;
        w->size[t] = 1;
    }
    s2_random random = { seed };
    for (int32_t t = 256; t < N_TOKENS; t++) {
        w->size[t] = 0;
        for (uint32_t n = 1 + s2_random_below(&random, 3); n > 0; n--) {
            const char *part = parts[s2_random_below(&random, sizeof parts / sizeof *parts)];
            if (w->size[t] + strlen(part) > sizeof w->text[t]) break;
            memcpy(w->text[t] + w->size[t], part, strlen(part));
            w->size[t] += strlen(part);
        }
    }
}

static const char *text_of(void *context, int32_t token, size_t *size)
{
    const words *w = context;
    *size = w->size[token];
    return w->text[token];
}

static const char receipt[] =
    "{\"type\":\"object\",\"properties\":{\"shop\":{\"type\":\"string\",\"maxLength\":20},"
    "\"total\":{\"type\":\"number\","
    "\"minimum\":0},\"ok\":{\"type\":\"boolean\"}},\"required\":[\"shop\",\"total\"]}";

static const char further_keys[] =
    "{\"type\":\"object\",\"properties\":{\"total\":{\"type\":\"null\"}},\"additionalProperties\":{"
    "\"type\":\"integer\"}}";

static const char *const schemas[] = {
    receipt,
    "{\"type\":\"array\",\"items\":{\"type\":\"string\"},\"minItems\":2,\"maxItems\":9}",
    "{\"type\":\"string\",\"minLength\":3,\"maxLength\":30}",
    "{\"type\":\"string\",\"pattern\":\"^[a-z\\\\u00e4\\\\u65e5]{2,12}$\"}",
    further_keys,
    "{}",
};

static bool has(const uint64_t *bits, int32_t token)
{
    return bits[token / 64] >> (token % 64) & 1;
}

/* At every step of a random answer the mask is what trying each token says, and something is allowed. */
static void test_masks(void **state)
{
    static words w;
    s2c_vocabulary *v = NULL;
    (void)state;
    make_words(&w, 7);
    assert_int_equal(s2c_vocabulary_create(&v, N_TOKENS, text_of, &w, NULL), S2P_OK);
    for (size_t s = 0; s < sizeof schemas / sizeof *schemas; s++)
        for (uint64_t seed = 1; seed <= 12; seed++) {
            s2c_constraint *c = NULL;
            s2c_guide *guide = NULL;
            s2_random random = { seed * 1000 + s };
            assert_int_equal(s2c_constraint_create(&c, S2C_JSON_SCHEMA, schemas[s],
                                                   strlen(schemas[s]), S2C_LINE, NULL),
                             S2P_OK);
            assert_int_equal(s2c_guide_create(&guide, c, v, NULL), S2P_OK);
            for (int32_t step = 0; step < 60 && !s2c_guide_must_end(guide); step++) {
                const uint64_t *bits = s2c_guide_mask(guide, NULL);
                int32_t n = 0, chosen = -1;
                assert_non_null(bits);
                for (int32_t t = 0; t < N_TOKENS; t++) {
                    const bool allowed = s2c_guide_allows(guide, w.text[t], w.size[t]);
                    if (allowed != has(bits, t))
                        fail_msg(
                            "schema %zu, step %d: token %d is %sallowed, the mask says otherwise",
                            s, step, t, allowed ? "" : "not ");
                    if (allowed && s2_random_below(&random, (uint32_t)++n) == 0) chosen = t;
                }
                assert_true(chosen >= 0 || s2c_guide_may_end(guide));
                if (chosen < 0) break;
                assert_int_equal(s2c_guide_accept(guide, w.text[chosen], w.size[chosen], NULL),
                                 S2P_OK);
            }
            s2c_guide_free(guide);
            s2c_constraint_free(c);
        }
    s2c_vocabulary_free(v);
}

/* A vocabulary without a token for each byte could get stuck. */
static void test_missing_byte(void **state)
{
    static words w;
    s2c_vocabulary *v = NULL;
    s2p_error error = { S2P_OK, "" };
    (void)state;
    make_words(&w, 7);
    w.size[0x01] = 0;
    assert_int_equal(s2c_vocabulary_create(&v, N_TOKENS, text_of, &w, &error), S2P_EUNSUPPORTED);
    assert_null(v);
    assert_non_null(strstr(error.message, "0x01"));
}

static void test_not_allowed(void **state)
{
    static words w;
    s2c_vocabulary *v = NULL;
    s2c_constraint *c = NULL;
    s2c_guide *guide = NULL;
    (void)state;
    make_words(&w, 7);
    assert_int_equal(s2c_vocabulary_create(&v, N_TOKENS, text_of, &w, NULL), S2P_OK);
    assert_int_equal(s2c_constraint_create(&c, S2C_JSON_VALUE, NULL, 0, S2C_LINE, NULL), S2P_OK);
    assert_int_equal(s2c_guide_create(&guide, c, v, NULL), S2P_OK);
    assert_int_equal(s2c_guide_accept(guide, "[", 1, NULL), S2P_EINVAL);
    assert_int_equal(s2c_guide_accept(guide, "{}", 2, NULL), S2P_OK);
    assert_true(s2c_guide_must_end(guide));
    s2c_guide_restart(guide);
    assert_false(s2c_guide_may_end(guide));
    s2c_guide_free(guide);
    s2c_constraint_free(c);
    s2c_vocabulary_free(v);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_missing_byte),
        cmocka_unit_test(test_not_allowed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
