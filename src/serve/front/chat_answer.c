/* chat_answer.c - chat.completion, chat.completion.chunk, and our figures in addition. */
#include "serve/front/api/door.h"

#include "base/json_limit.h"

#include <stdio.h>
#include <string.h>

#define MAX_VALUES 400000 /* of a frame of the engine: kept tokens, regions, scores */
#define MAX_TOKEN_TEXT ((size_t)24 << 20) /* bytes of logprobs in one answer that is not streamed */

static json_t *parse(const s2_frame *frame)
{
    json_t *json = NULL;
    if (s2_json_parse_few(frame->payload, frame->n, "the engine", MAX_VALUES, &json, NULL) !=
        S2P_OK)
        return NULL;
    return json;
}

/* --- errors ----------------------------------------------------------------------------- */

/* An ERROR frame as the client sees it. False: the frame is of another type. */
static bool receive_error(s2_exchange *x, const s2_frame *frame)
{
    if (frame->type != S2_FRAME_ERROR) return false;
    json_t *json = parse(frame);
    s2_http_error error;
    const char *message = s2_json_string(json, "message"), *param = s2_json_string(json, "param");
    if (!message || json_is_true(json_object_get(json, "ours")))
        (void)s2_http_fail(&error, 500, NULL, "the engine failed to answer this request");
    else
        (void)s2_http_fail(&error, 400, param, "%s", message);
    if (s2_json_int(json, "n_ctx", &error.n_ctx)) {
        (void)s2_json_int(json, "n_prompt_tokens", &error.n_prompt);
        error.type = "exceed_context_size_error";
    }
    json_decref(json);
    s2_exchange_break(x, &error);
    return true;
}

static void invalid_answer(s2_exchange *x)
{
    s2_http_error error;
    (void)s2_http_fail(&error, 500, NULL, "the engine sent an invalid answer");
    s2_exchange_break(x, &error);
}

/* --- counting ---------------------------------------------------------------------------- */

/* Totals of the engine since its start, sent with every result. */
static void store_work(s2_server *server, json_t *result)
{
    const json_t *work = json_object_get(result, "work");
    const struct {
        const char *name;
        atomic_uint_fast64_t *at;
    } counts[] = { { "towers", &server->n_towers },
                   { "passes", &server->n_passes },
                   { "tokens", &server->n_pass_tokens } };
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const json_t *value = json_object_get(work, counts[i].name);
        if (json_is_integer(value) && json_integer_value(value) >= 0)
            atomic_store(counts[i].at, (uint64_t)json_integer_value(value));
    }
    json_object_del(result, "work");
}

static void count(s2_exchange *x, const json_t *result)
{
    s2_server *server = x->server;
    const json_t *usage = json_object_get(result, "usage");
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    int32_t n = 0;
    if (s2_json_int(usage, "prompt_tokens", &n))
        atomic_fetch_add(&server->n_prompt_tokens, (uint64_t)n);
    if (s2_json_int(usage, "completion_tokens", &n))
        atomic_fetch_add(&server->n_generated, (uint64_t)n);
    if (s2_json_int(details, "cached_tokens", &n)) atomic_fetch_add(&server->n_cached, (uint64_t)n);
    if (s2_json_int(details, "image_tokens", &n))
        atomic_fetch_add(&server->n_image_tokens, (uint64_t)n);
    if (s2_json_int(details, "image_tokens_full", &n))
        atomic_fetch_add(&server->n_image_tokens_full, (uint64_t)n);
    s2_record_add(&x->record, result);
}

/* --- chat --------------------------------------------------------------------------------- */

static s2_choice *at(s2_exchange *x) { return &x->chat.choice[x->chat.at]; }

/* The choice that a frame belongs to is the one being sent; false: there is no such choice. */
static bool go_to_choice(s2_exchange *x, const json_t *json)
{
    int32_t index = 0;
    (void)s2_json_int(json, "index", &index);
    if (index < 0 || index >= x->chat.n_choices) return false;
    x->chat.at = index;
    return true;
}

static json_t *chunk(const s2_exchange *x, json_t *choices)
{
    const s2_chat_answer *c = &x->chat;
    return json_pack("{s:s,s:s,s:I,s:s,s:s,s:o}", "id", c->id, "object", "chat.completion.chunk",
                     "created", (json_int_t)c->created, "model", c->model, "system_fingerprint",
                     c->fingerprint, "choices", choices);
}

/* tokens: borrowed, NULL: no logprobs. */
static json_t *logprobs_of(json_t *tokens)
{
    return tokens ? json_pack("{s:O,s:n}", "content", tokens, "refusal") : json_null();
}

/* Of the choice that is being sent. Takes over delta; tokens: borrowed, or NULL; reason NULL: not the end. */
static void send_delta(s2_exchange *x, json_t *delta, json_t *tokens, const char *reason)
{
    s2_exchange_event(
        x, chunk(x, json_pack("[{s:i,s:o,s:o,s:s?}]", "index", x->chat.at, "delta", delta,
                              "logprobs", logprobs_of(tokens), "finish_reason", reason)));
}

static void send_role(s2_exchange *x)
{
    s2_exchange_stream(x);
    if (at(x)->has_role) return;
    at(x)->has_role = true;
    send_delta(x, json_pack("{s:s,s:s}", "role", "assistant", "content", ""), NULL, NULL);
}

/* A TOKENS frame has the tokens if the client asked for them. */
static bool has_tokens(const s2_exchange *x, const json_t *json)
{
    const json_t *tokens = json_object_get(json, "tokens");
    return json_is_string(json_object_get(json, "text")) &&
           (x->chat.has_logprobs ? json_is_array(tokens) : !tokens);
}

/* --- calls of tools -------------------------------------------------------------------------- */

/* More text, or with text NULL its end: plain text goes to `content`, calls to the calls of the choice. */
static void split_calls(s2_exchange *x, const void *text, size_t n, s2_buffer *content)
{
    s2_choice *c = at(x);
    if (!c->calls) c->calls = json_array();
    if (text)
        s2_tool_text_feed(&c->tools, text, n, c->id, content, c->calls);
    else
        s2_tool_text_end(&c->tools, content);
}

/* A call is sent when it is complete. */
static void stream_calls(s2_exchange *x, const void *text, size_t n)
{
    s2_buffer content;
    s2_buffer_init(&content, MAX_TOKEN_TEXT);
    const size_t n_before = json_array_size(at(x)->calls);
    split_calls(x, text, n, &content);
    if (content.size > 0) {
        send_role(x);
        send_delta(x, json_pack("{s:s%}", "content", (const char *)content.data, content.size),
                   NULL, NULL);
    }
    for (size_t i = n_before; i < json_array_size(at(x)->calls); i++) {
        json_t *call = json_copy(json_array_get(at(x)->calls, i));
        json_object_set_new(call, "index", json_integer((json_int_t)i));
        send_role(x);
        send_delta(x, json_pack("{s:[o]}", "tool_calls", call), NULL, NULL);
    }
    s2_buffer_free(&content);
}

/* "tool_calls" instead of "stop" where there are any. */
static const char *reason_of(s2_exchange *x, const json_t *result)
{
    const char *reason = s2_json_string(result, "finish_reason");
    if (reason && strcmp(reason, "stop") != 0) return reason;
    return json_array_size(at(x)->calls) > 0 ? "tool_calls" : "stop";
}

/* Thoughts of the choice, of a frame that has any. */
static const json_t *thoughts_of(const json_t *json)
{
    const json_t *thoughts = json_object_get(json, "reasoning_content");
    return json_string_length(thoughts) > 0 ? thoughts : NULL;
}

static void stream_thoughts(s2_exchange *x, const json_t *thoughts, json_t *tokens)
{
    send_role(x);
    send_delta(x, json_pack("{s:O}", "reasoning_content", thoughts), tokens, NULL);
}

static void gather_thoughts(s2_exchange *x, const json_t *json)
{
    const json_t *thoughts = thoughts_of(json);
    if (thoughts)
        s2_buffer_append(&at(x)->thoughts, json_string_value(thoughts),
                         json_string_length(thoughts));
}

/* A piece of the choice; tokens: borrowed, NULL: no logprobs. */
static void stream_text(s2_exchange *x, const char *text, size_t n, json_t *tokens)
{
    if (x->chat.has_tools) {
        stream_calls(x, text, n);
        return;
    }
    send_role(x);
    send_delta(x, json_pack("{s:s%}", "content", text, n), tokens, NULL);
}

static void stream_choice_end(s2_exchange *x, const json_t *result)
{
    if (x->chat.has_tools) stream_calls(x, NULL, 0);
    send_role(x);
    send_delta(x, json_object(), NULL, reason_of(x, result));
}

void s2_chat_receive_stream(s2_exchange *x, const s2_frame *frame)
{
    if (receive_error(x, frame)) return;
    if (frame->type == S2_FRAME_TEXT) {
        stream_text(x, (const char *)frame->payload, frame->n, NULL);
        return;
    }
    json_t *json = parse(frame);
    const json_t *text = json_object_get(json, "text");
    if (!json || !go_to_choice(x, json) ||
        (frame->type == S2_FRAME_TOKENS && !has_tokens(x, json))) {
        invalid_answer(x);
    } else if (frame->type == S2_FRAME_TOKENS) {
        json_t *tokens = json_object_get(json, "tokens");
        const bool has_text = json_string_length(text) > 0 || !thoughts_of(json);
        if (thoughts_of(json)) stream_thoughts(x, thoughts_of(json), has_text ? NULL : tokens);
        if (has_text) stream_text(x, json_string_value(text), json_string_length(text), tokens);
    } else if (frame->type == S2_FRAME_EVENT) {
        if (json_object_get(json, "finish_reason")) {
            stream_choice_end(x, json);
        } else if (thoughts_of(json)) {
            stream_thoughts(x, thoughts_of(json), NULL);
        } else if (x->chat.wants_progress) {
            /* otherwise nothing is sent yet: the prompt may still be refused, with a status */
            send_role(x);
            json_t *event = chunk(x, json_array());
            json_object_update(event, json);
            s2_exchange_event(x, event);
        }
    } else {
        store_work(x->server, json);
        count(x, json);
        if (x->chat.n_choices == 1) stream_choice_end(x, json);
        if (x->chat.includes_usage) {
            json_t *last = chunk(x, json_array());
            json_object_set(last, "usage", json_object_get(json, "usage"));
            json_object_set(last, "timings", json_object_get(json, "timings"));
            json_object_set(last, "prune", json_object_get(json, "prune"));
            s2_exchange_event(x, last);
        }
        s2_exchange_line(x, "data: [DONE]\n\n");
        s2_exchange_finish(x);
    }
    json_decref(json);
}

/* Text and tokens of an answer that is not streamed. */
static void gather_tokens(s2_exchange *x, const s2_frame *frame)
{
    json_t *json = parse(frame);
    const json_t *text = json_object_get(json, "text");
    json_t *tokens = json_object_get(json, "tokens");
    if (!has_tokens(x, json) || !go_to_choice(x, json)) {
        invalid_answer(x);
    } else if (tokens && frame->n > MAX_TOKEN_TEXT - at(x)->n_token_text) {
        s2_http_error error;
        (void)s2_http_fail(&error, 400, "logprobs",
                           "more than %zu MiB of logprobs; stream the answer, or ask for fewer "
                           "top_logprobs or max_tokens",
                           MAX_TOKEN_TEXT >> 20);
        s2_exchange_break(x, &error);
    } else {
        s2_choice *c = at(x);
        c->n_token_text += frame->n;
        gather_thoughts(x, json);
        if (x->chat.has_tools)
            split_calls(x, json_string_value(text), json_string_length(text), &c->text);
        else
            s2_buffer_append(&c->text, json_string_value(text), json_string_length(text));
        if (tokens && !c->tokens) c->tokens = json_array();
        if (tokens) json_array_extend(c->tokens, tokens);
    }
    json_decref(json);
}

/* The choice that is being sent, complete. */
static json_t *choice_json(s2_exchange *x)
{
    s2_choice *c = at(x);
    if (x->chat.has_tools) split_calls(x, NULL, 0, &c->text);
    if (x->chat.has_logprobs && !c->tokens) c->tokens = json_array();
    const bool has_calls = json_array_size(c->calls) > 0;
    const char *reason = c->is_cut ? "length" : has_calls ? "tool_calls" : "stop";
    json_t *choice =
        json_pack("{s:i,s:s,s:o,s:{s:s,s:s%,s:n}}", "index", x->chat.at, "finish_reason", reason,
                  "logprobs", logprobs_of(c->tokens), "message", "role", "assistant", "content",
                  c->text.data ? (const char *)c->text.data : "", c->text.size, "refusal");
    json_t *message = json_object_get(choice, "message");
    if (message && c->thoughts.size > 0)
        json_object_set_new(message, "reasoning_content",
                            json_stringn((const char *)c->thoughts.data, c->thoughts.size));
    if (message && has_calls) {
        json_object_set(message, "tool_calls", c->calls);
        if (c->text.size == 0) json_object_set_new(message, "content", json_null());
    }
    return c->text.status == S2P_OK && c->thoughts.status == S2P_OK ? choice : NULL;
}

static bool is_cut(const json_t *end)
{
    const char *reason = s2_json_string(end, "finish_reason");
    return reason && strcmp(reason, "length") == 0;
}

void s2_chat_receive_whole(s2_exchange *x, const s2_frame *frame)
{
    if (receive_error(x, frame)) return;
    s2_chat_answer *c = &x->chat;
    if (frame->type == S2_FRAME_TEXT) {
        if (c->has_tools)
            split_calls(x, frame->payload, frame->n, &at(x)->text);
        else
            s2_buffer_append(&at(x)->text, frame->payload, frame->n);
        return;
    }
    if (frame->type == S2_FRAME_TOKENS) {
        gather_tokens(x, frame);
        return;
    }
    json_t *json = parse(frame);
    if (frame->type == S2_FRAME_EVENT || c->n_choices == 1)
        if (go_to_choice(x, json) && json_object_get(json, "finish_reason"))
            at(x)->is_cut = is_cut(json);
    if (frame->type == S2_FRAME_EVENT) {
        if (go_to_choice(x, json)) gather_thoughts(x, json);
        json_decref(json);
        return;
    }
    json_t *choices = json_array();
    for (c->at = 0; c->at < c->n_choices; c->at++)
        if (json_array_append_new(choices, choice_json(x)) != 0) break;
    const bool is_whole = json && c->at == c->n_choices;
    c->at = 0;
    json_t *answer = json_pack("{s:s,s:s,s:I,s:s,s:s,s:o}", "id", c->id, "object",
                               "chat.completion", "created", (json_int_t)c->created, "model",
                               c->model, "system_fingerprint", c->fingerprint, "choices", choices);
    if (answer && is_whole) {
        store_work(x->server, json);
        count(x, json);
        json_object_set(answer, "usage", json_object_get(json, "usage"));
        json_object_set(answer, "timings", json_object_get(json, "timings"));
        json_object_set(answer, "prune", json_object_get(json, "prune"));
        s2_exchange_json(x, 200, json_incref(answer));
    } else {
        invalid_answer(x);
    }
    json_decref(answer);
    json_decref(json);
}

/* --- other APIs ------------------------------------------------------------------------------ */

/* text NULL: the answer ends. */
static void door_text(s2_exchange *x, const char *text, size_t n)
{
    s2_choice *c = at(x);
    const s2_door *door = x->route->door;
    const size_t n_text = c->text.size, n_calls = json_array_size(c->calls);
    if (x->chat.has_tools)
        split_calls(x, text, n, &c->text);
    else if (text)
        s2_buffer_append(&c->text, text, n);
    if (n_calls == 0) c->n_lead = json_array_size(c->calls) > 0 ? c->text.size : 0;
    if (!x->chat.streams) return;
    s2_exchange_stream(x);
    if (!c->has_role) door->begin(x);
    c->has_role = true;
    if (c->text.size > n_text)
        door->text(x, (const char *)c->text.data + n_text, c->text.size - n_text);
    for (size_t i = n_calls; i < json_array_size(c->calls); i++)
        door->call(x, json_array_get(c->calls, i));
}

void s2_door_receive(s2_exchange *x, const s2_frame *frame)
{
    const s2_door *door = x->route->door;
    if (receive_error(x, frame)) return;
    if (frame->type == S2_FRAME_TEXT) {
        door_text(x, (const char *)frame->payload, frame->n);
        return;
    }
    json_t *json = parse(frame);
    const json_t *text = json_object_get(json, "text");
    if (!json || !go_to_choice(x, json) || at(x)->text.status != S2P_OK) {
        invalid_answer(x);
    } else if (frame->type == S2_FRAME_TOKENS) {
        if (has_tokens(x, json)) door_text(x, json_string_value(text), json_string_length(text));
    } else if (frame->type == S2_FRAME_EVENT) {
        if (json_object_get(json, "finish_reason")) at(x)->is_cut = is_cut(json);
    } else {
        store_work(x->server, json);
        count(x, json);
        if (x->chat.n_choices == 1) at(x)->is_cut = is_cut(json);
        for (x->chat.at = x->chat.n_choices - 1;; x->chat.at--) {
            door_text(x, NULL, 0); /* an empty answer has begun, too */
            if (x->chat.at == 0) break;
        }
        if (x->chat.streams) {
            door->done(x, json);
            s2_exchange_finish(x);
        } else {
            s2_exchange_json(x, 200, door->whole(x, json));
        }
    }
    json_decref(json);
}

/* --- the others ---------------------------------------------------------------------------- */

void s2_compare_receive(s2_exchange *x, const s2_frame *frame)
{
    if (receive_error(x, frame)) return;
    json_t *json = parse(frame);
    if (!json) {
        invalid_answer(x);
        return;
    }
    s2_exchange_stream(x);
    if (frame->type == S2_FRAME_EVENT)
        count(x, json);
    else
        store_work(x->server, json);
    s2_exchange_event(x, json);
    if (frame->type != S2_FRAME_DONE) return;
    s2_exchange_line(x, "data: [DONE]\n\n");
    s2_exchange_finish(x);
}

void s2_plain_receive(s2_exchange *x, const s2_frame *frame)
{
    if (receive_error(x, frame)) return;
    if (frame->type == S2_FRAME_BYTES) {
        s2_exchange_text(x, 200, x->result_type, frame->payload, frame->n);
        return;
    }
    json_t *json = frame->type == S2_FRAME_DONE ? parse(frame) : NULL;
    if (json)
        s2_exchange_json(x, 200, json);
    else
        invalid_answer(x);
}

void s2_count_receive(s2_exchange *x, const s2_frame *frame)
{
    if (receive_error(x, frame) || frame->type != S2_FRAME_DONE) return;
    json_t *json = parse(frame);
    const json_t *usage = json_object_get(json, "usage");
    const json_t *details = json_object_get(usage, "prompt_tokens_details");
    int32_t n = 0, n_full = 0, n_kept = 0;
    store_work(x->server, json);
    if (s2_json_int(usage, "prompt_tokens", &n) && s2_json_int(details, "image_tokens", &n_kept) &&
        s2_json_int(details, "image_tokens_full", &n_full))
        s2_exchange_json(x, 200,
                         json_pack("{s:s,s:i,s:i,s:i,s:i}", "object", "response.input_tokens",
                                   "input_tokens", n, "text_tokens", n - n_kept, "image_tokens",
                                   n_kept, "image_tokens_full", n_full));
    else
        invalid_answer(x);
    json_decref(json);
}
