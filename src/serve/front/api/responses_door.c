/* responses_door.c - OpenAI's /v1/responses, the part that keeps no state: texts and pictures in, a text out.
 *
 * Nothing is stored: a conversation is sent whole each time, and previous_response_id is refused.
 */
#include "serve/front/api/door.h"

#include <stdio.h>
#include <string.h>

/* --- the request ------------------------------------------------------------------------------- */

static bool is_type(const char *type, const char *wanted)
{
    return type && strcmp(type, wanted) == 0;
}

/* NULL: refused. */
static json_t *read_content(const json_t *content, size_t index, s2_http_error *error)
{
    char path[64];
    (void)snprintf(path, sizeof path, "input[%zu].content", index);
    if (json_is_string(content)) return json_incref((json_t *)(uintptr_t)content);
    json_t *parts = json_array();
    bool is_fine = json_is_array(content);
    if (!is_fine) (void)s2_http_fail(error, 400, path, "%s must be a string or a list", path);
    for (size_t i = 0; is_fine && i < json_array_size(content); i++) {
        const json_t *one = json_array_get(content, i);
        const char *type = s2_json_string(one, "type");
        const bool is_text = is_type(type, "input_text") || is_type(type, "output_text");
        json_t *part = NULL;
        if (is_text && json_is_string(json_object_get(one, "text")))
            part = s2_door_text_part(json_object_get(one, "text"));
        else if (is_type(type, "input_image") && json_is_string(json_object_get(one, "image_url")))
            part = s2_door_picture_part(json_object_get(one, "image_url"), false,
                                        s2_json_string(one, "detail"));
        else
            is_fine = s2_http_fail(
                error, 400, path,
                "%s[%zu] must be input_text, output_text, or input_image with image_url", path, i);
        if (part) json_array_append_new(parts, part);
    }
    if (is_fine) return parts;
    json_decref(parts);
    return NULL;
}

/* text.format is the response_format of a chat, with its members one level higher. */
static void read_format(const json_t *format, json_t *chat)
{
    const char *type = s2_json_string(format, "type");
    if (!format || json_is_null(format)) return;
    if (!is_type(type, "json_schema")) {
        json_object_set(chat, "response_format", (json_t *)(uintptr_t)format);
        return;
    }
    static const char *const members[] = { "name", "schema", "strict", "description", NULL };
    json_t *inside = json_object();
    s2_door_take_all(format, members, inside);
    json_object_set_new(chat, "response_format",
                        json_pack("{s:s,s:o}", "type", "json_schema", "json_schema", inside));
}

static bool read_response(const json_t *own, json_t *chat, s2_http_error *error)
{
    static const char *const refused[] = {
        "tools", "previous_response_id", "conversation", "background", "prompt", "max_tool_calls",
        NULL
    };
    static const char *const same[] = { "model", "temperature", "top_p",        "stream",
                                        "seed",  "prune",       "top_logprobs", NULL };
    const json_t *input = json_object_get(own, "input");
    const char *truncation = s2_json_string(own, "truncation");
    if (!s2_door_refuse(own, refused, "is not supported in /v1/responses", error)) return false;
    if (is_type(truncation, "auto"))
        return s2_http_fail(error, 400, "truncation", "truncation must be disabled");
    s2_door_take_all(own, same, chat);
    s2_door_take(own, "max_output_tokens", chat, "max_tokens");
    read_format(json_object_get(json_object_get(own, "text"), "format"), chat);
    json_t *instructions = json_object_get(own, "instructions");
    if (instructions && !json_is_null(instructions))
        s2_door_add(chat, "system", json_incref(instructions));
    if (json_is_string(input)) {
        s2_door_add(chat, "user", json_incref((json_t *)(uintptr_t)input));
        return true;
    }
    if (!json_is_array(input) || json_array_size(input) == 0)
        return s2_http_fail(error, 400, "input", "input must be a string or a list of messages");
    for (size_t i = 0; i < json_array_size(input); i++) {
        const json_t *item = json_array_get(input, i);
        const char *type = s2_json_string(item, "type"), *role = s2_json_string(item, "role");
        if ((type && !is_type(type, "message")) || !role)
            return s2_http_fail(error, 400, "input", "input[%zu] must be a message with a role", i);
        json_t *content = read_content(json_object_get(item, "content"), i, error);
        if (!content) return false;
        s2_door_add(chat, role, content);
    }
    return true;
}

/* --- the answer ---------------------------------------------------------------------------------- */

static void item_id(const s2_exchange *x, char out[48])
{
    (void)snprintf(out, 48, "msg_%s", x->chat.id + strlen("resp_"));
}

/* Takes over text. */
static json_t *part_of(json_t *text)
{
    return json_pack("{s:s,s:o,s:[],s:[]}", "type", "output_text", "text", text, "annotations",
                     "logprobs");
}

/* Takes over content. */
static json_t *item_of(const s2_exchange *x, json_t *content, const char *status)
{
    char id[48];
    item_id(x, id);
    return json_pack("{s:s,s:s,s:s,s:s,s:o}", "type", "message", "id", id, "status", status, "role",
                     "assistant", "content", content);
}

/* The whole object; result NULL: it has just begun. */
static json_t *response_of(const s2_exchange *x, const json_t *result)
{
    const s2_chat_answer *c = &x->chat;
    const bool is_cut = result && s2_door_is_cut(result);
    const char *status = !result ? "in_progress" : is_cut ? "incomplete" : "completed";
    json_t *output = json_array();
    if (result)
        json_array_append_new(output,
                              item_of(x, json_pack("[o]", part_of(s2_door_answer(x))), status));
    json_t *answer = json_pack(
        "{s:s,s:s,s:I,s:s,s:n,s:n,s:n,s:s,s:o,s:b,s:n,s:s,s:[],s:{s:{s:s}},s:s,s:b,s:{},s:n}", "id",
        c->id, "object", "response", "created_at", (json_int_t)c->created, "status", status,
        "error", "incomplete_details", "instructions", "model", c->model, "output", output,
        "parallel_tool_calls", 0, "previous_response_id", "tool_choice", "none", "tools", "text",
        "format", "type", "text", "truncation", "disabled", "store", 0, "metadata", "usage");
    if (is_cut)
        json_object_set_new(answer, "incomplete_details",
                            json_pack("{s:s}", "reason", "max_output_tokens"));
    if (!result) return answer;
    json_object_set_new(answer, "usage",
                        json_pack("{s:I,s:{s:I},s:I,s:{s:I},s:I}", "input_tokens",
                                  s2_door_count(result, "prompt_tokens"), "input_tokens_details",
                                  "cached_tokens", s2_door_cached(result), "output_tokens",
                                  s2_door_count(result, "completion_tokens"),
                                  "output_tokens_details", "reasoning_tokens", (json_int_t)0,
                                  "total_tokens", s2_door_count(result, "total_tokens")));
    s2_door_take(result, "prune", answer, "prune");
    return answer;
}

/* Takes over the members. */
static void send(s2_exchange *x, const char *type, json_t *members)
{
    json_object_set_new(members, "type", json_string(type));
    json_object_set_new(members, "sequence_number", json_integer(x->chat.n_events++));
    s2_door_event(x, type, members);
}

/* Where a piece of text belongs to. */
static json_t *place(const s2_exchange *x)
{
    char id[48];
    item_id(x, id);
    return json_pack("{s:s,s:i,s:i}", "item_id", id, "output_index", 0, "content_index", 0);
}

static void begin(s2_exchange *x)
{
    send(x, "response.created", json_pack("{s:o}", "response", response_of(x, NULL)));
    send(x, "response.in_progress", json_pack("{s:o}", "response", response_of(x, NULL)));
    send(
        x, "response.output_item.added",
        json_pack("{s:i,s:o}", "output_index", 0, "item", item_of(x, json_array(), "in_progress")));
    json_t *part = place(x);
    json_object_set_new(part, "part", part_of(json_string("")));
    send(x, "response.content_part.added", part);
}

static void send_text(s2_exchange *x, const char *text, size_t n)
{
    json_t *piece = place(x);
    json_object_set_new(piece, "delta", json_stringn(text, n));
    json_object_set_new(piece, "logprobs", json_array());
    send(x, "response.output_text.delta", piece);
}

static void send_done(s2_exchange *x, const json_t *result)
{
    const bool is_cut = s2_door_is_cut(result);
    json_t *text = place(x), *part = place(x);
    json_object_set_new(text, "text", s2_door_answer(x));
    json_object_set_new(text, "logprobs", json_array());
    send(x, "response.output_text.done", text);
    json_object_set_new(part, "part", part_of(s2_door_answer(x)));
    send(x, "response.content_part.done", part);
    send(x, "response.output_item.done",
         json_pack("{s:i,s:o}", "output_index", 0, "item",
                   item_of(x, json_pack("[o]", part_of(s2_door_answer(x))),
                           is_cut ? "incomplete" : "completed")));
    send(x, is_cut ? "response.incomplete" : "response.completed",
         json_pack("{s:o}", "response", response_of(x, result)));
}

static json_t *whole(s2_exchange *x, const json_t *result) { return response_of(x, result); }

const s2_door s2_door_responses = { .id = "resp_",
                                    .read = read_response,
                                    .begin = begin,
                                    .text = send_text,
                                    .done = send_done,
                                    .whole = whole };
