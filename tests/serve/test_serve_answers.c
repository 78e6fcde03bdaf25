/* test_serve_answers.c - frames of the engine to answers, where no model is likely to lead. */
#include "check.h"

#include "serve/front/api/door.h"

#include <stdio.h>
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

/* --- calls of tools through other APIs: a text, then two calls, in pieces of a byte ------------------- */

static const char calls_text[] = "Let me see.\n<tool_call>\n{\"name\": \"f\", \"arguments\": "
                                 "{\"a\": \"</tool_call>\"}}\n</tool_call>\n"
                                 "<tool_call>\n{\"name\": \"g\", \"arguments\": {}}\n</tool_call>";
static const char cut_text[] = "Well <tool_call>\n{\"name\": \"f\", \"arg";

/* What a client of the door gets, as text. */
static char *ask_door(const s2_door *door, bool streams, const char *text, const char *end)
{
    const s2_route route = { .method = "POST", .path = "/", .door = door };
    s2_exchange *x = s2_exchange_create(&server, "/");
    assert_non_null(x);
    x->route = &route;
    x->may_stream = x->chat.streams = streams;
    x->chat.has_tools = true;
    x->chat.n_choices = 1;
    (void)snprintf(x->chat.id, sizeof x->chat.id, "resp_1");
    (void)snprintf(x->chat.choice[0].id, sizeof x->chat.choice[0].id, "resp_1");
    for (const char *at = text; *at; at++) {
        const s2_frame frame = { .type = S2_FRAME_TEXT, .payload = (const uint8_t *)at, .n = 1 };
        s2_door_receive(x, &frame);
    }
    const s2_frame last = { .type = S2_FRAME_DONE,
                            .payload = (const uint8_t *)end,
                            .n = strlen(end) };
    s2_door_receive(x, &last);
    assert_true(x->is_done);
    char *out = strndup((const char *)x->out.data, x->out.size);
    assert_non_null(out);
    s2_exchange_release(x);
    return out;
}

static void expect_in_order(const char *text, const char *const *wanted)
{
    for (const char *at = text; *wanted; wanted++) {
        at = strstr(at, *wanted);
        if (!at) print_error("%s is not where it should be in:\n%s\n", *wanted, text);
        assert_non_null(at);
        at++;
    }
}

static void test_calls_through_doors(void **state)
{
    (void)state;
    static const char end[] = "{\"finish_reason\":\"stop\"}",
                      cut[] = "{\"finish_reason\":\"length\"}";
    static const struct {
        const s2_door *door;
        bool streams;
        const char *text, *end, *wanted[20];
    } cases[] = {
        { &s2_door_messages,
          false,
          calls_text,
          end,
          { "\"type\":\"text\",\"text\":\"Let me see.\"", "\"type\":\"tool_use\"", "\"name\":\"f\"",
            "\"input\":{\"a\":\"</tool_call>\"}", "\"name\":\"g\"", "\"input\":{}", "\"tool_use\"",
            NULL } },
        { &s2_door_messages,
          true,
          calls_text,
          end,
          { "message_start\n",      "content_block_start\n",
            "\"index\":0",          "\"text\"",
            "text_delta",           "content_block_stop\n",
            "\"index\":0",          "content_block_start\n",
            "\"index\":1",          "\"name\":\"f\",\"input\":{}",
            "input_json_delta",     "{\\\"a\\\": \\\"</tool_call>\\\"}",
            "content_block_stop\n", "content_block_start\n",
            "\"index\":2",          "\"partial_json\":\"{}\"",
            "content_block_stop\n", "\"stop_reason\":\"tool_use\"",
            "message_stop",         NULL } },
        { &s2_door_messages,
          true,
          cut_text,
          cut,
          { "\"index\":0", "text_delta", "content_block_stop", "\"stop_reason\":\"max_tokens\"",
            NULL } },
        { &s2_door_messages,
          true,
          "",
          end,
          { "message_start", "content_block_start", "content_block_stop", "\"end_turn\"", NULL } },
        { &s2_door_responses,
          false,
          calls_text,
          end,
          { "\"status\":\"completed\"", "\"id\":\"msg_1\"", "\"text\":\"Let me see.\"",
            "\"type\":\"function_call\",\"id\":\"fc_1_1\"",
            "\"arguments\":\"{\\\"a\\\": \\\"</tool_call>\\\"}\"", "\"id\":\"fc_1_2\"",
            "\"name\":\"g\"", NULL } },
        { &s2_door_responses,
          true,
          calls_text,
          end,
          { "response.created\n",
            "output_item.added\n",
            "content_part.added\n",
            "output_text.delta\n",
            "output_text.done\n",
            "\"text\":\"Let me see.\"",
            "content_part.done\n",
            "output_item.done\n",
            "output_item.added\n",
            "\"output_index\":1",
            "\"arguments\":\"\"",
            "function_call_arguments.delta\n",
            "\"item_id\":\"fc_1_1\"",
            "function_call_arguments.done\n",
            "output_item.done\n",
            "\"output_index\":2",
            "\"arguments\":\"{}\"",
            "response.completed\n",
            "\"fc_1_2\"",
            NULL } },
        { &s2_door_responses,
          true,
          cut_text,
          cut,
          { "output_text.delta\n", "\"status\":\"incomplete\"", "response.incomplete\n",
            "max_output_tokens", NULL } },
        { &s2_door_ollama_chat,
          false,
          calls_text,
          end,
          { "\"content\":\"Let me see.\"", "\"tool_calls\"", "\"index\":0",
            "\"arguments\":{\"a\":\"</tool_call>\"}", "\"index\":1", "\"arguments\":{}", NULL } },
        { &s2_door_ollama_chat,
          true,
          calls_text,
          end,
          { "\"done\":false", "\"tool_calls\"", "\"index\":0", "\n", "\"tool_calls\"",
            "\"index\":1", "\"done\":true", "\"done_reason\":\"stop\"", NULL } },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *answer = ask_door(cases[i].door, cases[i].streams, cases[i].text, cases[i].end);
        expect_in_order(answer, cases[i].wanted);
        free(answer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_as_many_logprobs_as_go),
                                        cmocka_unit_test(test_too_many_logprobs),
                                        cmocka_unit_test(test_nonsense),
                                        cmocka_unit_test(test_calls_through_doors) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
