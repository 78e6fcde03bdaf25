/* test_exec_messages.c - what a method's process and the program say to each other. */
#include "ask/exec_messages.h"
#include "base/json.h"
#include "check.h"

#include <string.h>

#define HELLO "{\"schema\":\"s2prune.exec/1\",\"name\":\"mine\""

static s2p_error error;

/* --- hello ------------------------------------------------------------------------------ */

static void test_hello(void **state)
{
    (void)state;
    s2a_hello h;
    static const char least[] = HELLO "}";
    assert_int_equal(s2a_hello_parse(least, strlen(least), &h, &error), S2P_OK);
    assert_string_equal(h.name, "mine");
    assert_true(h.needs == 0 && h.after == S2P_BEFORE_DECODER && !h.draws && !h.sees_question &&
                !h.prunes_cache);
    static const char erc[] = HELLO ",\"needs\":[\"erc\",\"image\"]}";
    assert_int_equal(s2a_hello_parse(erc, strlen(erc), &h, &error), S2P_OK);
    assert_true(h.needs == (S2P_NEED_ERC | S2P_NEED_PIXELS) && h.after == 0 && !h.sees_question);
    static const char all[] = HELLO ",\"needs\":[\"last_attn\"],\"after\":7,\"draws\":true,"
                                    "\"prunes_cache\":true}";
    assert_int_equal(s2a_hello_parse(all, strlen(all), &h, &error), S2P_OK);
    assert_true(h.needs == S2P_NEED_LAST_ATTN && h.after == 7 && h.draws && h.sees_question &&
                h.prunes_cache);
    s2_buffer text;
    s2_buffer_init(&text, 4096);
    s2a_hello_write(&h, &text);
    s2_buffer_append(&text, "", 1);
    assert_string_equal((const char *)text.data, "name=mine needs=last_attn after=7 draws=1 "
                                                 "sees_question=1 prunes_cache=1");
    s2_buffer_free(&text);
}

static void test_hello_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        { "", "its greeting: not valid JSON" },
        { "hello!", "its greeting: not valid JSON at line 1, column 5 (it wrote 'hello!')" },
        { "\x1b[31mred", "(it wrote '?[31mred')" }, /* no terminal codes in a sentence */
        { "[]", "its greeting is not a JSON object" },
        { "{}", "its greeting has the schema ''" },
        { "{\"schema\":\"s2prune.exec/2\",\"name\":\"a\"}",
          "'s2prune.exec/2', not 's2prune.exec/1'" },
        { "{\"schema\":\"s2prune.exec/1\"}", "its greeting needs a name" },
        { "{\"schema\":\"s2prune.exec/1\",\"name\":\"Mine\"}", "its greeting needs a name" },
        { "{\"schema\":\"s2prune.exec/1\",\"name\":\"a b\"}", "its greeting needs a name" },
        { "{\"schema\":\"s2prune.exec/1\",\"name\":\"\"}", "name has 0 bytes" },
        { HELLO ",\"need\":[]}", "need is not known; there are schema, name, needs" },
        { HELLO ",\"needs\":[\"vibes\"]}", "needs 'vibes', but there is no such signal" },
        { HELLO ",\"needs\":[3]}", "there is no such signal" },
        { HELLO ",\"needs\":\"erc\"}", "needs must be a list" },
        { HELLO ",\"needs\":[\"erc\"],\"after\":-1}",
          "its greeting needs ERC scores, which is not computed" },
        { HELLO ",\"after\":-2}", "after is -2" },
        { HELLO ",\"draws\":1}", "draws must be true or false" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2a_hello h;
        error = (s2p_error){ S2P_OK, "" };
        CHECK_CASE(s2a_hello_parse(cases[i].line, strlen(cases[i].line), &h, &error) == S2P_EFORMAT,
                   "%zu", i);
        CHECK_CASE(strstr(error.message, cases[i].sentence), "%zu: %s", i, error.message);
    }
}

/* --- request ---------------------------------------------------------------------------- */

static void test_request(void **state)
{
    (void)state;
    const float erc[6] = { 1, 2, 3, 4, 5, 6 }, feature[12] = { 0 };
    const uint8_t pixels[2 * 8] = { 1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10, 11, 12, 0, 0 };
    const s2p_image image = { .width = 2, .height = 2, .stride = 8, .pixels = pixels };
    const s2p_view view = {
        .budget = 4,
        .image = &image,
        .picture = 1,
        .part = 0,
        .choice = { .seed = UINT64_MAX },
        .signal = { [S2P_ERC] = { erc, { 6 } }, [S2P_FEATURE] = { feature, { 6, 2 } } }
    };
    const s2a_exec_request r = { .task = "pope",
                                 .id = "a \"b\"",
                                 .number = 3,
                                 .view = &view,
                                 .grid = { 2, 3 },
                                 .n_keep = 4,
                                 .needs = S2P_NEED_ERC | S2P_NEED_PIXELS };
    s2_buffer line, rows;
    s2a_piece piece[S2A_MAX_PIECES];
    size_t n;
    s2_buffer_init(&line, 1 << 16);
    s2_buffer_init(&rows, 1 << 16);
    assert_int_equal(s2a_request_write(&r, &line, &rows, piece, &n, &error), S2P_OK);
    assert_int_equal(n, 3); /* the line, the picture, ERC; features were not wanted */
    assert_true(piece[0].data == line.data && line.data[line.size - 1] == '\n');
    assert_null(memchr(line.data, '\n', line.size - 1));
    static const uint8_t packed[12] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 };
    assert_int_equal(piece[1].n, sizeof packed);
    assert_memory_equal(piece[1].data, packed, sizeof packed);
    assert_true(piece[2].data == erc && piece[2].n == sizeof erc);
    json_t *said = NULL, *expected = NULL;
    assert_int_equal(s2_json_parse(line.data, line.size, "line", &said, &error), S2P_OK);
    static const char text[] =
        "{\"schema\":\"s2prune.exec/1\",\"request\":3,\"task\":\"pope\",\"id\":\"a \\\"b\\\"\","
        "\"picture\":1,\"part\":0,\"grid\":[2,3],\"budget\":4,\"mode\":\"default\","
        "\"seed\":9223372036854775807,\"arrays\":["
        "{\"name\":\"image\",\"type\":\"|u1\",\"shape\":[2,2,3],\"bytes\":12},"
        "{\"name\":\"erc\",\"type\":\"<f4\",\"shape\":[6],\"bytes\":24}]}";
    assert_int_equal(s2_json_parse(text, strlen(text), "text", &expected, &error), S2P_OK);
    assert_true(json_equal(said, expected));
    json_decref(said);
    json_decref(expected);
    s2_buffer_free(&line);
    s2_buffer_free(&rows);
}

/* --- answer ----------------------------------------------------------------------------- */

static s2p_status reply(const char *line, int32_t *keep, int32_t *n_keep)
{
    error = (s2p_error){ S2P_OK, "" };
    return s2a_reply_parse(line, strlen(line), (s2p_grid){ 2, 3 }, 3, keep, n_keep, &error);
}

static void test_replies(void **state)
{
    (void)state;
    int32_t keep[6], n = 3;
    assert_int_equal(reply("{\"keep\":[5,0,2]}", keep, &n), S2P_OK);
    assert_true(n == 3 && keep[0] == 5 && keep[1] == 0 && keep[2] == 2);
    n = 3; /* ties go to the lower token; -1 and 1e0 are numbers too */
    assert_int_equal(reply("{\"scores\":[1,-1,2.5,1e0,0,2.5],\"request\":3}", keep, &n), S2P_OK);
    assert_true(n == 3 && keep[0] == 2 && keep[1] == 5 && keep[2] == 0);
    n = 3; /* another count is refused later, where the mode is known */
    assert_int_equal(reply("{\"keep\":[]}", keep, &n), S2P_OK);
    assert_int_equal(n, 0);
    assert_int_equal(reply("{\"error\":\"no such sample\"}", keep, &n), S2P_EINVAL);
    assert_string_equal(error.message, "it reported an error: no such sample");
    assert_true(s2a_reply_limit((s2p_grid){ 24, 24 }) > 576 * 26);
}

static void test_replies_refused(void **state)
{
    (void)state;
    static const struct {
        const char *line, *sentence;
    } cases[] = {
        { "keep 1 2 3", "its answer: not valid JSON" },
        { "{}", "an answer must have either keep or scores" },
        { "{\"keep\":[1],\"scores\":[1]}", "an answer must have either keep or scores" },
        { "{\"keep\":[1.5]}", "it answered tokens that are not whole numbers" },
        { "{\"keep\":[0,1,2,3,4,5,6]}", "it kept 7 tokens of 6" },
        { "{\"scores\":[1,2,3]}", "it answered 3 scores for 6 tokens" },
        { "{\"scores\":[1,2,3,4,5,\"x\"]}", "its score of token 5 is not a finite number" },
        { "{\"scores\":[1,2,3,4,5,null]}", "its score of token 5 is not a finite number" },
        { "{\"scores\":[1,2,3,4,5,NaN]}", "its answer: not valid JSON" },
        { "{\"scores\":[1,2,3,4,5,1e999]}", "its answer: not valid JSON" },
        { "{\"keep\":[1],\"request\":2}", "it answered request 2 instead of 3" },
        { "{\"kept\":[1]}", "kept is not known; there are keep, scores" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        int32_t keep[6], n = 1;
        CHECK_CASE(reply(cases[i].line, keep, &n) == S2P_EFORMAT, "%zu", i);
        CHECK_CASE(strstr(error.message, cases[i].sentence), "%zu: %s", i, error.message);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hello),           cmocka_unit_test(test_hello_refused),
        cmocka_unit_test(test_request),         cmocka_unit_test(test_replies),
        cmocka_unit_test(test_replies_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
