/* messages_door.c - Anthropic's /v1/messages. */
#include "serve/front/api/door.h"

#include <stdio.h>
#include <string.h>

/* --- the request ------------------------------------------------------------------------------ */

/* A string, or a list of texts and pictures, as content of a chat message; NULL: refused. */
static json_t *read_content(const json_t *content, const char *path, s2_http_error *error)
{
    if (json_is_string(content)) return json_incref((json_t *)(uintptr_t)content);
    json_t *parts = json_array();
    bool is_fine = json_is_array(content);
    if (!is_fine) (void)s2_http_fail(error, 400, path, "%s must be a string or a list", path);
    for (size_t i = 0; is_fine && i < json_array_size(content); i++) {
        const json_t *block = json_array_get(content, i);
        const char *type = s2_json_string(block, "type");
        const json_t *source = json_object_get(block, "source");
        const char *kind = s2_json_string(source, "type");
        json_t *part = NULL;
        if (type && strcmp(type, "text") == 0 && json_is_string(json_object_get(block, "text")))
            part = s2_door_text_part(json_object_get(block, "text"));
        else if (type && strcmp(type, "image") == 0 && kind && strcmp(kind, "base64") == 0)
            part = s2_door_picture_part(json_object_get(source, "data"), true, NULL);
        else if (type && strcmp(type, "image") == 0 && kind && strcmp(kind, "url") == 0)
            part = s2_door_picture_part(json_object_get(source, "url"), false, NULL);
        else
            is_fine = s2_http_fail(error, 400, path,
                                   "%s: block %zu must be a text, or an image with a source of "
                                   "type base64 or url",
                                   path, i);
        if (part) json_array_append_new(parts, part);
    }
    if (is_fine) return parts;
    json_decref(parts);
    return NULL;
}

/* output_config.format is the response_format of a chat, with its schema one level higher. */
static bool read_format(const json_t *own, json_t *chat, s2_http_error *error)
{
    const json_t *config = json_object_get(own, "output_config");
    const json_t *format = json_object_get(config, "format");
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
    static const char *const refused[] = { "tools", "mcp_servers", "container", NULL };
    static const char *const same[] = { "model",  "temperature", "top_p", "top_k",
                                        "stream", "seed",        "prune", NULL };
    const json_t *list = json_object_get(own, "messages"), *system = json_object_get(own, "system");
    const char *thinking = s2_json_string(json_object_get(own, "thinking"), "type");
    if (!s2_door_refuse(own, refused, "is not supported; use /v1/chat/completions", error))
        return false;
    if (thinking && strcmp(thinking, "disabled") != 0)
        return s2_http_fail(error, 400, "thinking", "thinking is not supported");
    if (!json_is_integer(json_object_get(own, "max_tokens")))
        return s2_http_fail(error, 400, "max_tokens", "max_tokens must be an integer");
    if (!json_is_array(list))
        return s2_http_fail(error, 400, "messages", "messages must be a list");
    s2_door_take_all(own, same, chat);
    s2_door_take(own, "max_tokens", chat, "max_tokens");
    s2_door_take(own, "stop_sequences", chat, "stop");
    if (!read_format(own, chat, error)) return false;
    if (system && !json_is_null(system)) {
        json_t *content = read_content(system, "system", error);
        if (!content) return false;
        s2_door_add(chat, "system", content);
    }
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *message = json_array_get(list, i);
        const char *role = s2_json_string(message, "role");
        char path[64];
        (void)snprintf(path, sizeof path, "messages[%zu].content", i);
        if (!role || (strcmp(role, "user") != 0 && strcmp(role, "assistant") != 0))
            return s2_http_fail(error, 400, path, "messages[%zu].role must be user or assistant",
                                i);
        json_t *content = read_content(json_object_get(message, "content"), path, error);
        if (!content) return false;
        s2_door_add(chat, role, content);
    }
    return true;
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

static const char *reason_of(const json_t *result)
{
    return s2_door_is_cut(result) ? "max_tokens" : "end_turn";
}

static void begin(s2_exchange *x)
{
    s2_door_event(x, "message_start",
                  json_pack("{s:s,s:o}", "type", "message_start", "message",
                            message_of(x, json_array(), NULL, usage_of(NULL))));
    s2_door_event(x, "content_block_start",
                  json_pack("{s:s,s:i,s:{s:s,s:s}}", "type", "content_block_start", "index", 0,
                            "content_block", "type", "text", "text", ""));
}

static void send_text(s2_exchange *x, const char *text, size_t n)
{
    s2_door_event(x, "content_block_delta",
                  json_pack("{s:s,s:i,s:{s:s,s:s%}}", "type", "content_block_delta", "index", 0,
                            "delta", "type", "text_delta", "text", text, n));
}

static void send_done(s2_exchange *x, const json_t *result)
{
    s2_door_event(x, "content_block_stop",
                  json_pack("{s:s,s:i}", "type", "content_block_stop", "index", 0));
    s2_door_event(x, "message_delta",
                  json_pack("{s:s,s:{s:s,s:n},s:o}", "type", "message_delta", "delta",
                            "stop_reason", reason_of(result), "stop_sequence", "usage",
                            usage_of(result)));
    s2_door_event(x, "message_stop", json_pack("{s:s}", "type", "message_stop"));
}

static json_t *whole(s2_exchange *x, const json_t *result)
{
    json_t *content = json_pack("[{s:s,s:o}]", "type", "text", "text", s2_door_answer(x));
    json_t *answer = message_of(x, content, reason_of(result), usage_of(result));
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
                                   .read = read_messages,
                                   .begin = begin,
                                   .text = send_text,
                                   .done = send_done,
                                   .whole = whole,
                                   .error = error_of };
