/* messages_door.c - Anthropic's /v1/messages. */
#include "serve/front/api/door.h"

#include <stdio.h>
#include <string.h>

/* --- the request ------------------------------------------------------------------------------ */

static bool is_type(const char *type, const char *wanted)
{
    return type && strcmp(type, wanted) == 0;
}

/* A text or a picture as a part of a chat message; NULL: it is neither. */
static json_t *read_part(const json_t *block)
{
    const char *type = s2_json_string(block, "type");
    const json_t *source = json_object_get(block, "source");
    const char *kind = s2_json_string(source, "type");
    if (is_type(type, "text") && json_is_string(json_object_get(block, "text")))
        return s2_door_text_part(json_object_get(block, "text"));
    if (is_type(type, "image") && is_type(kind, "base64"))
        return s2_door_picture_part(json_object_get(source, "data"), true, NULL);
    if (is_type(type, "image") && is_type(kind, "url"))
        return s2_door_picture_part(json_object_get(source, "url"), false, NULL);
    return NULL;
}

/* The result of a tool: a text, or a list of texts. */
static bool read_result(const json_t *block, json_t *chat, const char *path, s2_http_error *error)
{
    const json_t *content = json_object_get(block, "content");
    const bool is_error = json_is_true(json_object_get(block, "is_error"));
    json_t *parts = json_array();
    if (is_error) {
        json_t *word = json_string("Error: ");
        json_array_append_new(parts, s2_door_text_part(word));
        json_decref(word);
    }
    bool is_fine =
        !content || json_is_null(content) || json_is_string(content) || json_is_array(content);
    if (json_is_string(content)) json_array_append_new(parts, s2_door_text_part(content));
    for (size_t i = 0; is_fine && i < json_array_size(content); i++) {
        const json_t *one = json_array_get(content, i);
        is_fine = is_type(s2_json_string(one, "type"), "text") &&
                  json_is_string(json_object_get(one, "text"));
        if (is_fine) json_array_append_new(parts, s2_door_text_part(json_object_get(one, "text")));
    }
    if (is_fine) {
        s2_door_add_result(chat, parts);
        return true;
    }
    json_decref(parts);
    return s2_http_fail(error, 400, path,
                        "%s: the content of a tool_result must be a string or a list of texts; "
                        "send pictures as blocks of the message",
                        path);
}

/* Blocks of a message. Results of tools come before what the user says, calls after what the assistant says. */
static bool read_blocks(const json_t *content, const char *role, const char *path, json_t *chat,
                        s2_http_error *error)
{
    if (json_is_string(content)) {
        s2_door_add(chat, role, json_incref((json_t *)(uintptr_t)content));
        return true;
    }
    const bool is_user = strcmp(role, "user") == 0, is_system = strcmp(role, "system") == 0;
    json_t *parts = json_array(), *calls = json_array();
    bool is_fine = json_is_array(content), has_results = false;
    if (!is_fine) (void)s2_http_fail(error, 400, path, "%s must be a string or a list", path);
    for (size_t i = 0; is_fine && i < json_array_size(content); i++) {
        json_t *block = json_array_get(content, i), *part = read_part(block);
        const char *type = s2_json_string(block, "type");
        if (part) {
            json_array_append_new(parts, part);
        } else if (is_user && is_type(type, "tool_result")) {
            has_results = true;
            is_fine = read_result(block, chat, path, error);
        } else if (!is_user && !is_system && is_type(type, "tool_use") &&
                   json_is_string(json_object_get(block, "name")) &&
                   json_is_object(json_object_get(block, "input"))) {
            json_array_append(calls, block);
        } else {
            is_fine = s2_http_fail(
                error, 400, path,
                "%s: block %zu must be a text, an image with a source of type base64 or url%s",
                path, i,
                is_system ? ""
                : is_user ? ", or a tool_result"
                          : ", or a tool_use with a name and an object as input");
        }
    }
    const bool is_empty = json_array_size(parts) == 0;
    if (is_fine && !(is_empty && (has_results || json_array_size(calls) > 0)))
        s2_door_add(chat, role, json_incref(parts));
    for (size_t i = 0; is_fine && i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        s2_door_add_call(chat, json_object_get(call, "name"), json_object_get(call, "input"));
    }
    json_decref(parts);
    json_decref(calls);
    return is_fine;
}

static bool read_tools(const json_t *own, json_t *chat, s2_http_error *error)
{
    const json_t *tools = json_object_get(own, "tools"),
                 *choice = json_object_get(own, "tool_choice");
    const char *how = s2_json_string(choice, "type");
    json_t *name = json_object_get(choice, "name");
    if (tools && !json_is_null(tools) && !json_is_array(tools))
        return s2_http_fail(error, 400, "tools", "tools must be a list");
    for (size_t i = 0; i < json_array_size(tools); i++) {
        const json_t *tool = json_array_get(tools, i);
        const char *type = s2_json_string(tool, "type");
        json_t *schema = json_object_get(tool, "input_schema");
        char path[64];
        (void)snprintf(path, sizeof path, "tools[%zu]", i);
        if ((type && !is_type(type, "custom")) || !json_is_object(schema))
            return s2_http_fail(error, 400, path,
                                "%s must have a name and an input_schema; tools that the server "
                                "runs are not supported",
                                path);
        json_t *tool_name = json_object_get(tool, "name");
        s2_door_add_tool(chat, tool_name ? tool_name : json_null(),
                         json_object_get(tool, "description"), schema);
    }
    if (!choice || json_is_null(choice)) return true;
    if (json_is_true(json_object_get(choice, "disable_parallel_tool_use")))
        json_object_set_new(chat, "parallel_tool_calls", json_false());
    if (is_type(how, "tool") && json_is_string(name))
        s2_door_choose_tool(chat, name);
    else if (is_type(how, "auto") || is_type(how, "none"))
        json_object_set_new(chat, "tool_choice", json_string(how));
    else if (is_type(how, "any"))
        json_object_set_new(chat, "tool_choice", json_string("required"));
    else
        return s2_http_fail(error, 400, "tool_choice",
                            "tool_choice.type must be auto, any, none, or tool with a name");
    return true;
}

/* output_config.format is the response_format of a chat, with its schema one level higher. */
static bool read_format(const json_t *own, json_t *chat, s2_http_error *error)
{
    const json_t *config = json_object_get(own, "output_config");
    const json_t *format = json_object_get(config, "format");
    if (config && !json_is_null(config) && !json_is_object(config))
        return s2_http_fail(error, 400, "output_config", "output_config must be an object");
    if (!json_is_object(format)) format = json_object_get(own, "output_format"); /* of the beta */
    if (!format || json_is_null(format)) return true;
    const char *type = s2_json_string(format, "type");
    json_t *schema = json_object_get(format, "schema");
    if (!type || strcmp(type, "json_schema") != 0 || !json_is_object(schema))
        return s2_http_fail(error, 400, "output_config.format",
                            "output_config.format must be of type json_schema, with a schema");
    json_object_set_new(chat, "response_format",
                        json_pack("{s:s,s:{s:s,s:O}}", "type", "json_schema", "json_schema", "name",
                                  "answer", "schema", schema));
    return true;
}

static bool read_messages(const json_t *own, json_t *chat, s2_http_error *error)
{
    static const char *const refused[] = { "mcp_servers", "container", NULL };
    static const char *const same[] = { "model",  "temperature", "top_p", "top_k",
                                        "stream", "seed",        "prune", NULL };
    const json_t *list = json_object_get(own, "messages"), *system = json_object_get(own, "system");
    const json_t *thinks = json_object_get(own, "thinking");
    const char *thinking = s2_json_string(thinks, "type");
    if (!s2_door_refuse(own, refused, "is not supported; use /v1/chat/completions", error))
        return false;
    if (thinks && !json_is_null(thinks) && !is_type(thinking, "disabled"))
        return s2_http_fail(error, 400, "thinking", "thinking is not supported");
    if (!json_is_array(list))
        return s2_http_fail(error, 400, "messages", "messages must be a list");
    s2_door_take_all(own, same, chat);
    s2_door_take(own, "max_tokens", chat, "max_tokens");
    s2_door_take(own, "stop_sequences", chat, "stop");
    if (!read_format(own, chat, error) || !read_tools(own, chat, error)) return false;
    if (system && !json_is_null(system) && !read_blocks(system, "system", "system", chat, error))
        return false;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *message = json_array_get(list, i);
        const char *role = s2_json_string(message, "role");
        char path[64];
        (void)snprintf(path, sizeof path, "messages[%zu].content", i);
        if (!role || (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0))
            return s2_http_fail(error, 400, path, "messages[%zu].role must be user or assistant",
                                i);
        if (!read_blocks(json_object_get(message, "content"), role, path, chat, error))
            return false;
    }
    return true;
}

static bool read_question(const json_t *own, json_t *chat, s2_http_error *error)
{
    if (!json_is_number(json_object_get(own, "max_tokens")))
        return s2_http_fail(error, 400, "max_tokens", "max_tokens must be a whole number");
    return read_messages(own, chat, error);
}

/* --- the answer -------------------------------------------------------------------------------- */

static json_t *usage_of(const json_t *result)
{
    /* as there: input_tokens are those that were not in the cache */
    const json_int_t n_cached = s2_door_cached(result);
    return json_pack("{s:I,s:I,s:I,s:I}", "input_tokens",
                     s2_door_count(result, "prompt_tokens") - n_cached, "output_tokens",
                     s2_door_count(result, "completion_tokens"), "cache_creation_input_tokens",
                     (json_int_t)0, "cache_read_input_tokens", n_cached);
}

/* Takes over content and usage. */
static json_t *message_of(const s2_exchange *x, json_t *content, const char *reason, json_t *usage)
{
    return json_pack("{s:s,s:s,s:s,s:s,s:o,s:s?,s:n,s:o}", "id", x->chat.id, "type", "message",
                     "role", "assistant", "model", x->chat.model, "content", content, "stop_reason",
                     reason, "stop_sequence", "usage", usage);
}

static const char *reason_of(const s2_exchange *x, const json_t *result)
{
    return s2_door_is_cut(result) ? "max_tokens" : s2_door_has_calls(x) ? "tool_use" : "end_turn";
}

/* A call as a block; takes over input. */
static json_t *block_of(const json_t *call, json_t *input)
{
    const json_t *function = json_object_get(call, "function");
    return json_pack("{s:s,s:O,s:O,s:o}", "type", "tool_use", "id", json_object_get(call, "id"),
                     "name", json_object_get(function, "name"), "input", input);
}

static void begin(s2_exchange *x)
{
    s2_door_event(x, "message_start",
                  json_pack("{s:s,s:o}", "type", "message_start", "message",
                            message_of(x, json_array(), NULL, usage_of(NULL))));
}

/* Takes over block and delta. */
static void start_block(s2_exchange *x, json_t *block)
{
    s2_door_event(x, "content_block_start",
                  json_pack("{s:s,s:i,s:o}", "type", "content_block_start", "index",
                            x->chat.n_parts++, "content_block", block));
}

static void send_delta(s2_exchange *x, json_t *delta)
{
    s2_door_event(x, "content_block_delta",
                  json_pack("{s:s,s:i,s:o}", "type", "content_block_delta", "index",
                            x->chat.n_parts - 1, "delta", delta));
}

static void stop_block(s2_exchange *x)
{
    s2_door_event(
        x, "content_block_stop",
        json_pack("{s:s,s:i}", "type", "content_block_stop", "index", x->chat.n_parts - 1));
    x->chat.is_in_text = false;
}

static void start_text(s2_exchange *x)
{
    if (!x->chat.is_in_text) start_block(x, json_pack("{s:s,s:s}", "type", "text", "text", ""));
    x->chat.is_in_text = true;
}

static void send_text(s2_exchange *x, const char *text, size_t n)
{
    start_text(x);
    send_delta(x, json_pack("{s:s,s:s%}", "type", "text_delta", "text", text, n));
}

/* A call is sent when it is complete, so its input is one piece. */
static void send_call(s2_exchange *x, const json_t *call)
{
    if (x->chat.is_in_text) stop_block(x);
    start_block(x, block_of(call, json_object()));
    send_delta(x, json_pack("{s:s,s:O}", "type", "input_json_delta", "partial_json",
                            json_object_get(json_object_get(call, "function"), "arguments")));
    stop_block(x);
}

static void send_done(s2_exchange *x, const json_t *result)
{
    if (x->chat.n_parts == 0) start_text(x);
    if (x->chat.is_in_text) stop_block(x);
    s2_door_event(x, "message_delta",
                  json_pack("{s:s,s:{s:s,s:n},s:o}", "type", "message_delta", "delta",
                            "stop_reason", reason_of(x, result), "stop_sequence", "usage",
                            usage_of(result)));
    s2_door_event(x, "message_stop", json_pack("{s:s}", "type", "message_stop"));
}

static json_t *whole(s2_exchange *x, const json_t *result)
{
    json_t *parts = s2_door_parts(x), *content = json_array();
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        json_array_append_new(content, json_is_string(part)
                                           ? s2_door_text_part(part)
                                           : block_of(part, s2_door_arguments(part)));
    }
    json_decref(parts);
    json_t *answer = message_of(x, content, reason_of(x, result), usage_of(result));
    s2_door_take(result, "prune", answer, "prune");
    return answer;
}

static json_t *error_of(const s2_http_error *error)
{
    json_t *json = s2_http_error_json(error);
    json_object_set_new(json, "type", json_string("error"));
    return json;
}

const s2_door s2_door_messages = { .id = "msg_",
                                   .takes_base64 = true,
                                   .read = read_question,
                                   .begin = begin,
                                   .text = send_text,
                                   .call = send_call,
                                   .done = send_done,
                                   .whole = whole,
                                   .error = error_of };
const s2_door s2_door_messages_count = {
    .id = "msg_", .takes_base64 = true, .read = read_messages, .error = error_of
};
