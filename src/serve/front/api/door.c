/* door.c - what the other APIs share: reading their requests, and the figures of an answer. */
#include "serve/front/api/door.h"

#include <stdio.h>
#include <string.h>

#define DATA_PREFIX "data:image/png;base64,"

void s2_door_take(const json_t *own, const char *name, json_t *chat, const char *as)
{
    json_t *value = json_object_get(own, name);
    if (value && !json_is_null(value)) json_object_set(chat, as, value);
}

void s2_door_take_all(const json_t *own, const char *const *names, json_t *chat)
{
    for (; *names; names++) s2_door_take(own, *names, chat, *names);
}

bool s2_door_refuse(const json_t *own, const char *const *names, const char *why,
                    s2_http_error *error)
{
    for (; *names; names++) {
        const json_t *value = json_object_get(own, *names);
        const bool is_empty = !value || json_is_null(value) || json_is_false(value) ||
                              (json_is_array(value) && json_array_size(value) == 0) ||
                              (json_is_object(value) && json_object_size(value) == 0) ||
                              (json_is_string(value) && json_string_length(value) == 0);
        if (!is_empty) return s2_http_fail(error, 400, *names, "%s %s", *names, why);
    }
    return true;
}

void s2_door_rename(const json_t *own, s2_http_error *error)
{
    static const struct {
        const char *name, *parent, *as; /* parent: the object that has it; NULL: the request */
    } known[] = { { "max_tokens", NULL, "max_output_tokens" },
                  { "max_tokens", "options", "num_predict" },
                  { "stop", NULL, "stop_sequences" },
                  { "reasoning_effort", "reasoning", "effort" },
                  { NULL, "options", NULL } }; /* any other one of Ollama's */
    if (!error->param[0] || json_object_get(own, error->param)) return;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        char name[sizeof error->param], rest[sizeof error->message];
        const char *parent = known[i].parent;
        const json_t *object = parent ? json_object_get(own, parent) : own;
        (void)snprintf(name, sizeof name, "%s", error->param);
        const size_t n = strlen(name);
        const char *as = known[i].as ? known[i].as : name;
        if ((known[i].name && strcmp(name, known[i].name) != 0) || !json_object_get(object, as) ||
            strncmp(error->message, name, n) != 0)
            continue;
        (void)snprintf(rest, sizeof rest, "%s", error->message + n);
        (void)snprintf(error->param, sizeof error->param, "%s%s%.100s", parent ? parent : "",
                       parent ? "." : "", as);
        (void)snprintf(error->message, sizeof error->message, "%s%.380s", error->param, rest);
        return;
    }
}

void s2_door_add(json_t *chat, const char *role, json_t *content)
{
    json_t *messages = json_object_get(chat, "messages");
    if (!messages) {
        messages = json_array();
        json_object_set_new(chat, "messages", messages);
    }
    json_array_append_new(messages, json_pack("{s:s,s:o}", "role", role, "content", content));
}

void s2_door_add_result(json_t *chat, json_t *content) { s2_door_add(chat, "tool", content); }

void s2_door_add_call(json_t *chat, json_t *name, json_t *arguments)
{
    const json_t *messages = json_object_get(chat, "messages");
    const size_t n = json_array_size(messages);
    json_t *last = n > 0 ? json_array_get(messages, n - 1) : NULL;
    const char *role = s2_json_string(last, "role");
    if (!role || strcmp(role, "assistant") != 0) {
        s2_door_add(chat, "assistant", json_null());
        messages = json_object_get(chat, "messages");
        last = json_array_get(messages, json_array_size(messages) - 1);
    }
    if (!json_object_get(last, "tool_calls")) json_object_set_new(last, "tool_calls", json_array());
    json_array_append_new(json_object_get(last, "tool_calls"),
                          json_pack("{s:s,s:{s:O,s:O}}", "type", "function", "function", "name",
                                    name, "arguments", arguments));
}

void s2_door_add_tool(json_t *chat, json_t *name, json_t *description, json_t *parameters)
{
    json_t *function = json_object(), *tools = json_object_get(chat, "tools");
    if (!tools) {
        tools = json_array();
        json_object_set_new(chat, "tools", tools);
    }
    json_object_set(function, "name", name);
    if (description && !json_is_null(description))
        json_object_set(function, "description", description);
    if (parameters && !json_is_null(parameters))
        json_object_set(function, "parameters", parameters);
    json_array_append_new(tools, json_pack("{s:s,s:o}", "type", "function", "function", function));
}

void s2_door_choose_tool(json_t *chat, json_t *name)
{
    json_object_set_new(chat, "tool_choice",
                        json_pack("{s:s,s:{s:O}}", "type", "function", "function", "name", name));
}

json_t *s2_door_text_part(const json_t *text)
{
    return json_pack("{s:s,s:O}", "type", "text", "text", text);
}

json_t *s2_door_picture_part(const json_t *data, bool is_base64, const char *detail)
{
    json_t *url = NULL;
    if (is_base64 && json_is_string(data) && !s2_body_is_cut(data)) {
        s2_buffer text;
        s2_buffer_init(&text, S2_BODY_MAX_STRING + sizeof DATA_PREFIX);
        s2_buffer_append(&text, DATA_PREFIX, sizeof DATA_PREFIX - 1);
        s2_buffer_append(&text, json_string_value(data), json_string_length(data));
        if (text.status == S2P_OK) url = json_stringn((const char *)text.data, text.size);
        s2_buffer_free(&text);
    } else {
        url = json_incref((json_t *)(uintptr_t)data);
    }
    return json_pack("{s:s,s:{s:o,s:s?}}", "type", "image_url", "image_url", "url",
                     url ? url : json_null(), "detail", detail);
}

json_t *s2_door_parts(const s2_exchange *x)
{
    const s2_choice *c = &x->chat.choice[x->chat.at];
    const bool has_calls = json_array_size(c->calls) > 0;
    const char *text = c->text.data ? (const char *)c->text.data : "";
    const size_t n_lead = has_calls ? c->n_lead : c->text.size;
    json_t *parts = json_array();
    if (n_lead > 0 || !has_calls) json_array_append_new(parts, json_stringn(text, n_lead));
    if (has_calls) json_array_extend(parts, c->calls);
    if (c->text.size > n_lead)
        json_array_append_new(parts, json_stringn(text + n_lead, c->text.size - n_lead));
    return parts;
}

json_t *s2_door_arguments(const json_t *call)
{
    const json_t *text = json_object_get(json_object_get(call, "function"), "arguments");
    json_t *out = NULL;
    (void)s2_json_parse(json_string_value(text), json_string_length(text),
                        "the arguments of a call", &out, NULL);
    return json_is_object(out) ? out : (json_decref(out), json_object());
}

bool s2_door_has_calls(const s2_exchange *x)
{
    return json_array_size(x->chat.choice[x->chat.at].calls) > 0;
}

json_t *s2_door_answer(const s2_exchange *x)
{
    const s2_buffer *text = &x->chat.choice[x->chat.at].text;
    return json_stringn(text->data ? (const char *)text->data : "", text->size);
}

bool s2_door_is_cut(const json_t *result)
{
    const char *reason = s2_json_string(result, "finish_reason");
    return reason && strcmp(reason, "length") == 0;
}

json_int_t s2_door_count(const json_t *result, const char *name)
{
    return json_integer_value(json_object_get(json_object_get(result, "usage"), name));
}

json_int_t s2_door_cached(const json_t *result)
{
    return json_integer_value(
        json_object_get(json_object_get(json_object_get(result, "usage"), "prompt_tokens_details"),
                        "cached_tokens"));
}

void s2_door_event(s2_exchange *x, const char *name, json_t *data)
{
    s2_exchange_line(x, "event: ");
    s2_exchange_line(x, name);
    s2_exchange_line(x, "\n");
    s2_exchange_event(x, data);
}
