/* test_serve_answers.c - frames of the engine to answers, where no model is likely to lead. */
#include "check.h"

#include "serve/front/routes.h"

#include <stdlib.h>
#include <string.h>

#define PIECE ((size_t)512 << 10)             /* bytes of a frame about tokens */
#define N_PIECES (((size_t)24 << 20) / PIECE) /* as many as an answer may have */

static s2_server server;

static s2_exchange *begin(bool has_logprobs)
{
    s2_exchange *x = s2_exchange_create(&server, "/v1/chat/completions");
    assert_non_null(x);
    x->chat.has_logprobs = has_logprobs;
    return x;
}

static void receive(s2_exchange *x, s2_frame_type type, const char *text, size_t n)
{
    const s2_frame frame = { .type = type, .request = 1, .payload = (const uint8_t *)text, .n = n };
    if (!x->is_done) s2_chat_receive_whole(x, &frame); /* as the link does it */
}

static void receive_text(s2_exchange *x, s2_frame_type type, const char *text)
{
    receive(x, type, text, strlen(text));
}

/* A frame of just PIECE bytes, one letter and one token. */
static void receive_piece(s2_exchange *x)
{
    static const char head[] = "{\"text\":\"a\",\"tokens\":[{\"token\":\"", tail[] = "\"}]}";
    char *text = malloc(PIECE);
    assert_non_null(text);
    memset(text, 'b', PIECE);
    memcpy(text, head, sizeof head - 1);
    memcpy(text + PIECE - (sizeof tail - 1), tail, sizeof tail - 1);
    receive(x, S2_FRAME_TOKENS, text, PIECE);
    free(text);
}

static json_t *answer_of(const s2_exchange *x)
{
    json_t *json = json_loadb((const char *)x->out.data, x->out.size, 0, NULL);
    assert_true(x->is_done);
    assert_non_null(json);
    return json;
}

static const char done[] = "{\"finish_reason\":\"length\",\"usage\":{\"completion_tokens\":48}}";

static void test_as_many_logprobs_as_go(void **state)
{
    (void)state;
    s2_exchange *x = begin(true);
    for (size_t i = 0; i < N_PIECES; i++) receive_piece(x);
    receive_text(x, S2_FRAME_DONE, done);
    json_t *json = answer_of(x);
    const json_t *choice = json_array_get(json_object_get(json, "choices"), 0);
    const json_t *content = json_object_get(json_object_get(choice, "message"), "content");
    const json_t *told = json_object_get(json_object_get(choice, "logprobs"), "content");
    assert_int_equal(x->status, 200);
    assert_int_equal(json_string_length(content), N_PIECES);
    assert_int_equal(json_array_size(told), N_PIECES);
    json_decref(json);
    s2_exchange_release(x);
}

/* The client's to mend, so no 500: those are tried again, three runs for nothing. */
static void test_too_many_logprobs(void **state)
{
    (void)state;
    s2_exchange *x = begin(true);
    for (size_t i = 0; i <= N_PIECES; i++) {
        assert_false(x->is_done);
        receive_piece(x);
    }
    receive_text(x, S2_FRAME_DONE, done);
    json_t *json = answer_of(x);
    const json_t *error = json_object_get(json, "error");
    assert_int_equal(x->status, 400);
    assert_string_equal(json_string_value(json_object_get(error, "param")), "logprobs");
    assert_non_null(strstr(json_string_value(json_object_get(error, "message")), "24 MiB"));
    json_decref(json);
    s2_exchange_release(x);
}

static void test_nonsense(void **state)
{
    (void)state;
    static const struct {
        s2_frame_type type;
        const char *text;
    } frames[] = { { S2_FRAME_TOKENS, "{" },
                   { S2_FRAME_TOKENS, "{\"text\":\"a\"}" },
                   { S2_FRAME_TOKENS, "{\"text\":1,\"tokens\":[]}" },
                   { S2_FRAME_TOKENS, "[]" },
                   { S2_FRAME_DONE, "" },
                   { S2_FRAME_DONE, "{\"finish_reason\":" },
                   { S2_FRAME_ERROR, "\xff" } };
    for (size_t i = 0; i < sizeof frames / sizeof *frames; i++) {
        s2_exchange *x = begin(true);
        receive_text(x, frames[i].type, frames[i].text);
        json_t *json = answer_of(x);
        assert_int_equal(x->status, 500);
        assert_non_null(json_object_get(json, "error"));
        json_decref(json);
        s2_exchange_release(x);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_as_many_logprobs_as_go),
                                        cmocka_unit_test(test_too_many_logprobs),
                                        cmocka_unit_test(test_nonsense) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
