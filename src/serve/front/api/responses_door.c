/* responses_door.c - OpenAI's /v1/responses, the part that keeps no state: texts, pictures and results of tools
 * in, a text and calls of tools out.
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

/* Functions have their members one level higher than in a chat. */
static bool read_tools(const json_t *own, json_t *chat, s2_http_error *error)
{
    const json_t *tools = json_object_get(own, "tools");
    json_t *choice = json_object_get(own, "tool_choice");
    if (tools && !json_is_null(tools) && !json_is_array(tools))
        return s2_http_fail(error, 400, "tools", "tools must be a list");
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        json_t *name = json_object_get(tool, "name");
        char path[64];
        (void)snprintf(path, sizeof path, "tools[%zu]", i);
        if (!is_type(s2_json_string(tool, "type"), "function") || !json_is_string(name))
            return s2_http_fail(error, 400, path,
                                "%s must be of type function, with a name; tools that the server "
                                "runs are not supported",
                                path);
        s2_door_add_tool(chat, name, json_object_get(tool, "description"),
                         json_object_get(tool, "parameters"));
    }
    if (!json_is_object(choice)) {
        s2_door_take(own, "tool_choice", chat, "tool_choice");
    } else {
        json_t *name = json_object_get(choice, "name");
        if (!is_type(s2_json_string(choice, "type"), "function") || !json_is_string(name))
            return s2_http_fail(error, 400, "tool_choice",
                                "tool_choice must be none, auto, required or "
                                "{\"type\":\"function\",\"name\":NAME}");
        s2_door_choose_tool(chat, name);
    }
    return true;
}

/* The output of a tool: a text, or a list of texts. */
static bool read_output(const json_t *item, size_t index, json_t *chat, s2_http_error *error)
{
    const json_t *output = json_object_get(item, "output");
    char path[64];
    (void)snprintf(path, sizeof path, "input[%zu].output", index);
    bool is_fine = json_is_string(output) || json_is_array(output);
    json_t *parts = json_array();
    if (json_is_string(output)) json_array_append_new(parts, s2_door_text_part(output));
    for (size_t i = 0; is_fine && i < json_array_size(output); i++) {
        const json_t *text = json_object_get(json_array_get(output, i), "text");
        is_fine = is_type(s2_json_string(json_array_get(output, i), "type"), "input_text") &&
                  json_is_string(text);
        if (is_fine) json_array_append_new(parts, s2_door_text_part(text));
    }
    if (is_fine) {
        s2_door_add_result(chat, parts);
        return true;
    }
    json_decref(parts);
    return s2_http_fail(error, 400, path, "%s must be a string or a list of input_text", path);
}

static bool read_item(const json_t *item, size_t index, json_t *chat, s2_http_error *error)
{
    const char *type = s2_json_string(item, "type"), *role = s2_json_string(item, "role");
    if (is_type(type, "function_call_output")) return read_output(item, index, chat, error);
    if (is_type(type, "function_call")) {
        json_t *name = json_object_get(item, "name"),
               *arguments = json_object_get(item, "arguments");
        if (!json_is_string(name) || !json_is_string(arguments))
            return s2_http_fail(error, 400, "input",
                                "input[%zu] must have name and arguments, which are strings",
                                index);
        s2_door_add_call(chat, name, arguments);
        return true;
    }
    if ((type && !is_type(type, "message")) || !role)
        return s2_http_fail(error, 400, "input",
                            "input[%zu] must be a message with a role, a function_call or a "
                            "function_call_output",
                            index);
    json_t *content = read_content(json_object_get(item, "content"), index, error);
    if (!content) return false;
    s2_door_add(chat, role, content);
    return true;
}

static bool read_response(const json_t *own, json_t *chat, s2_http_error *error)
{
    static const char *const refused[] = { "previous_response_id", "conversation",
                                           "background",           "prompt",
                                           "max_tool_calls",       NULL };
    static const char *const same[] = {
        "model",        "temperature",         "top_p", "stream", "seed", "prune",
        "top_logprobs", "parallel_tool_calls", NULL
    };
    const json_t *input = json_object_get(own, "input");
    const char *truncation = s2_json_string(own, "truncation");
    if (!s2_door_refuse(own, refused, "is not supported in /v1/responses", error)) return false;
    const json_t *include = json_object_get(own, "include");
    for (size_t i = 0; i < json_array_size(include); i++)
        if (is_type(json_string_value(json_array_get(include, i)), "message.output_text.logprobs"))
            return s2_http_fail(error, 400, "include",
                                "include: logprobs are not supported in /v1/responses");
    if (is_type(truncation, "auto"))
        return s2_http_fail(error, 400, "truncation", "truncation must be disabled");
    s2_door_take_all(own, same, chat);
    const json_t *text = json_object_get(own, "text");
    if (text && !json_is_null(text) && !json_is_object(text))
        return s2_http_fail(error, 400, "text", "text must be an object");
    const char *verbosity = s2_json_string(text, "verbosity");
    if (verbosity && !is_type(verbosity, "medium"))
        return s2_http_fail(error, 400, "text.verbosity", "text.verbosity is not supported");
    s2_door_take(own, "max_output_tokens", chat, "max_tokens");
    s2_door_take(json_object_get(own, "reasoning"), "effort", chat, "reasoning_effort");
    read_format(json_object_get(text, "format"), chat);
    if (!read_tools(own, chat, error)) return false;
    json_t *instructions = json_object_get(own, "instructions");
    if (instructions && !json_is_null(instructions)) {
        if (!json_is_string(instructions))
            return s2_http_fail(error, 400, "instructions", "instructions must be a string");
        s2_door_add(chat, "system", json_incref(instructions));
    }
    if (json_is_string(input)) {
        s2_door_add(chat, "user", json_incref((json_t *)(uintptr_t)input));
        return true;
    }
    if (!json_is_array(input) || json_array_size(input) == 0)
        return s2_http_fail(error, 400, "input", "input must be a string or a list of messages");
    for (size_t i = 0; i < json_array_size(input); i++)
        if (!read_item(json_array_get(input, i), i, chat, error)) return false;
    return true;
}

/* --- the answer ---------------------------------------------------------------------------------- */

static const char *const repeated[] = { "instructions", "max_output_tokens",
                                        "metadata",     "parallel_tool_calls",
                                        "temperature",  "text",
                                        "tool_choice",  "tools",
                                        "top_p",        NULL };

/* Item k of the output; out[64]. */
static void item_id(const s2_exchange *x, const char *kind, int32_t k, char *out)
{
    (void)snprintf(out, 64, k > 0 ? "%s_%s_%d" : "%s_%s", kind, x->chat.id + strlen("resp_"),
                   (int)k);
}

/* Takes over text. */
static json_t *part_of(json_t *text)
{
    return json_pack("{s:s,s:o,s:[],s:[]}", "type", "output_text", "text", text, "annotations",
                     "logprobs");
}

/* Item k: a message, whose content is taken over. */
static json_t *message_of(const s2_exchange *x, int32_t k, json_t *content, const char *status)
{
    char id[64];
    item_id(x, "msg", k, id);
    return json_pack("{s:s,s:s,s:s,s:s,s:o}", "type", "message", "id", id, "status", status, "role",
                     "assistant", "content", content);
}

/* Item k: a call; with its arguments, or before they come. */
static json_t *call_of(const s2_exchange *x, int32_t k, const json_t *call, bool has_arguments)
{
    const json_t *function = json_object_get(call, "function");
    json_t *empty = json_string("");
    char id[64];
    item_id(x, "fc", k, id);
    json_t *item =
        json_pack("{s:s,s:s,s:s,s:O,s:O,s:O}", "type", "function_call", "id", id, "status",
                  has_arguments ? "completed" : "in_progress", "call_id",
                  json_object_get(call, "id"), "name", json_object_get(function, "name"),
                  "arguments", has_arguments ? json_object_get(function, "arguments") : empty);
    json_decref(empty);
    return item;
}

/* Item k of the output, complete. */
static json_t *item_of(const s2_exchange *x, int32_t k, const char *status)
{
    json_t *parts = s2_door_parts(x), *part = json_array_get(parts, (size_t)k);
    json_t *item = json_is_object(part)
                       ? call_of(x, k, part, true)
                       : message_of(x, k, json_pack("[o]", part_of(json_incref(part))), status);
    json_decref(parts);
    return item;
}

/* The whole object; result NULL: it has just begun. */
static json_t *response_of(const s2_exchange *x, const json_t *result)
{
    const s2_chat_answer *c = &x->chat;
    const bool is_cut = result && s2_door_is_cut(result);
    const char *status = !result ? "in_progress" : is_cut ? "incomplete" : "completed";
    json_t *output = json_array(), *parts = s2_door_parts(x);
    for (int32_t k = 0; result && k < (int32_t)json_array_size(parts); k++)
        json_array_append_new(output, item_of(x, k, status));
    json_decref(parts);
    json_t *answer = json_pack(
        "{s:s,s:s,s:I,s:s,s:n,s:n,s:n,s:s,s:o,s:b,s:n,s:s,s:[],s:{s:{s:s}},s:s,s:b,s:{},s:n}", "id",
        c->id, "object", "response", "created_at", (json_int_t)c->created, "status", status,
        "error", "incomplete_details", "instructions", "model", c->model, "output", output,
        "parallel_tool_calls", 1, "previous_response_id", "tool_choice", "auto", "tools", "text",
        "format", "type", "text", "truncation", "disabled", "store", 0, "metadata", "usage");
    s2_door_take_all(c->repeated, repeated, answer);
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

/* Where a piece of the last item belongs. */
static json_t *place(const s2_exchange *x, const char *kind)
{
    char id[64];
    const int32_t k = x->chat.n_parts - 1;
    item_id(x, kind, k, id);
    return json_pack("{s:s,s:i}", "item_id", id, "output_index", (int)k);
}

/* The same of a text, which is the only content of its item. */
static json_t *text_place(const s2_exchange *x)
{
    json_t *out = place(x, "msg");
    json_object_set_new(out, "content_index", json_integer(0));
    return out;
}

/* The next item begins, or the last one is complete; takes over item. */
static void send_item(s2_exchange *x, const char *type, json_t *item)
{
    send(x, type, json_pack("{s:i,s:o}", "output_index", (int)x->chat.n_parts - 1, "item", item));
}

static void begin(s2_exchange *x)
{
    send(x, "response.created", json_pack("{s:o}", "response", response_of(x, NULL)));
    send(x, "response.in_progress", json_pack("{s:o}", "response", response_of(x, NULL)));
}

static void start_text(s2_exchange *x)
{
    if (x->chat.is_in_text) return;
    x->chat.is_in_text = true;
    const int32_t k = x->chat.n_parts++;
    send_item(x, "response.output_item.added", message_of(x, k, json_array(), "in_progress"));
    json_t *part = text_place(x);
    json_object_set_new(part, "part", part_of(json_string("")));
    send(x, "response.content_part.added", part);
}

static void stop_text(s2_exchange *x, const char *status)
{
    const int32_t k = x->chat.n_parts - 1;
    json_t *parts = s2_door_parts(x), *own = json_array_get(parts, (size_t)k);
    json_t *text = text_place(x), *part = text_place(x);
    json_object_set(text, "text", own);
    json_object_set_new(text, "logprobs", json_array());
    send(x, "response.output_text.done", text);
    json_object_set_new(part, "part", part_of(json_incref(own)));
    send(x, "response.content_part.done", part);
    send_item(x, "response.output_item.done", item_of(x, k, status));
    json_decref(parts);
    x->chat.is_in_text = false;
}

static void send_text(s2_exchange *x, const char *text, size_t n)
{
    start_text(x);
    json_t *piece = text_place(x);
    json_object_set_new(piece, "delta", json_stringn(text, n));
    json_object_set_new(piece, "logprobs", json_array());
    send(x, "response.output_text.delta", piece);
}

/* A call is sent when it is complete, so its arguments are one piece. */
static void send_call(s2_exchange *x, const json_t *call)
{
    if (x->chat.is_in_text) stop_text(x, "completed");
    const int32_t k = x->chat.n_parts++;
    json_t *arguments = json_object_get(json_object_get(call, "function"), "arguments");
    json_t *piece, *whole;
    send_item(x, "response.output_item.added", call_of(x, k, call, false));
    piece = place(x, "fc");
    json_object_set(piece, "delta", arguments);
    send(x, "response.function_call_arguments.delta", piece);
    whole = place(x, "fc");
    json_object_set(whole, "name", json_object_get(json_object_get(call, "function"), "name"));
    json_object_set(whole, "arguments", arguments);
    send(x, "response.function_call_arguments.done", whole);
    send_item(x, "response.output_item.done", call_of(x, k, call, true));
}

static void send_done(s2_exchange *x, const json_t *result)
{
    const bool is_cut = s2_door_is_cut(result);
    if (x->chat.n_parts == 0) start_text(x);
    if (x->chat.is_in_text) stop_text(x, is_cut ? "incomplete" : "completed");
    send(x, is_cut ? "response.incomplete" : "response.completed",
         json_pack("{s:o}", "response", response_of(x, result)));
}

static json_t *whole(s2_exchange *x, const json_t *result) { return response_of(x, result); }

const s2_door s2_door_responses = { .id = "resp_",
                                    .repeats = repeated,
                                    .read = read_response,
                                    .begin = begin,
                                    .text = send_text,
                                    .call = send_call,
                                    .done = send_done,
                                    .whole = whole };
