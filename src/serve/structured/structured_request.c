/* structured_request.c - one table of the fields, and how each says what it wants.
 *
 * The engine compiles: it is the process that may die. Here only types are checked, and the text of a
 * schema is cut from the request as it was written.
 */
#include "serve/structured/structured_request.h"

#include "serve/structured/json_cut.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TOOLS 128

typedef struct reading {
    const s2_body *body;
    json_t *job;
    const char *first; /* the field that gave a constraint; NULL: none yet */
    s2_http_error *error;
} reading;

/* --- schemas and grammars -------------------------------------------------------------------- */

/* text NULL: the kind needs none. */
static bool set_constraint(reading *r, const char *kind, const char *param, const char *text,
                           size_t n)
{
    if (r->first)
        return s2_http_fail(r->error, 400, param, "%s and %s cannot be combined; use one of them",
                            r->first, param);
    json_t *constraint =
        json_pack("{s:s,s:s,s:s%}", "kind", kind, "param", param, "text", text ? text : "", n);
    if (!constraint) return s2_http_fail(r->error, 400, param, "%s is not valid UTF-8", param);
    json_object_set_new(r->job, "constraint", constraint);
    r->first = json_string_value(json_object_get(constraint, "param"));
    return true;
}

/* path: from the root of the body to the schema, as s2_json_cut takes it. */
static bool set_schema(reading *r, const char *param, const json_t *schema, const char *const *path)
{
    const char *text;
    size_t n;
    if (json_is_string(schema)) /* vLLM takes a schema as a string, too */
        return set_constraint(r, "json_schema", param, json_string_value(schema),
                              json_string_length(schema));
    if (!json_is_object(schema) && !json_is_boolean(schema))
        return s2_http_fail(r->error, 400, param, "%s must be a JSON schema: an object", param);
    if (s2_json_cut((const char *)r->body->text.data, r->body->text.size, path, &text, &n))
        return set_constraint(r, "json_schema", param, text, n);
    s2_buffer written; /* a key on the way has escapes */
    s2_buffer_init(&written, S2_BODY_MAX_STRING);
    const bool is_fine =
        s2_json_write(schema, 15, &written) == S2P_OK
            ? set_constraint(r, "json_schema", param, (const char *)written.data, written.size)
            : s2_http_fail(r->error, 400, param, "%s is too large", param);
    s2_buffer_free(&written);
    return is_fine;
}

static bool set_grammar(reading *r, const char *param, const json_t *value)
{
    if (!json_is_string(value))
        return s2_http_fail(r->error, 400, param, "%s must be a string", param);
    if (json_string_length(value) == 0) return true; /* what llama-server's page sends */
    return set_constraint(r, "gbnf", param, json_string_value(value), json_string_length(value));
}

/* One of several texts, as a grammar. */
static bool set_choice(reading *r, const char *param, const json_t *list)
{
    s2_buffer text;
    s2_buffer_init(&text, S2_BODY_MAX_STRING);
    s2_buffer_printf(&text, "root ::= ");
    bool is_fine = json_array_size(list) > 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        is_fine &= json_is_string(one) && json_string_length(one) > 0;
        s2_buffer_printf(&text, "%s\"", i ? " | " : "");
        for (const char *at = json_string_value(one); at && *at; at++) {
            if ((unsigned char)*at < 0x20 || *at == '"' || *at == '\\')
                s2_buffer_printf(&text, "\\x%02X", (unsigned)(unsigned char)*at);
            else
                s2_buffer_append(&text, at, 1);
        }
        s2_buffer_printf(&text, "\"");
    }
    if (!is_fine)
        is_fine = s2_http_fail(r->error, 400, param,
                               "%s must be a list of strings that are not empty", param);
    else if (text.status != S2P_OK)
        is_fine = s2_http_fail(r->error, 400, param, "%s is too large", param);
    else
        is_fine = set_constraint(r, "gbnf", param, (const char *)text.data, text.size);
    s2_buffer_free(&text);
    return is_fine;
}

static bool is_given(const json_t *value) { return value && !json_is_null(value); }

static bool read_response_format(reading *r, const json_t *format)
{
    const char *type = s2_json_string(format, "type");
    const json_t *outer = json_object_get(format, "schema"),
                 *wrapped = json_object_get(format, "json_schema");
    if (!json_is_object(format))
        return s2_http_fail(r->error, 400, "response_format", "response_format must be an object");
    if (type && strcmp(type, "text") == 0) return true;
    if (!type || (strcmp(type, "json_object") != 0 && strcmp(type, "json_schema") != 0))
        return s2_http_fail(r->error, 400, "response_format.type",
                            "response_format.type must be text, json_object or json_schema");
    if (is_given(json_object_get(wrapped, "schema")))
        return set_schema(
            r, "response_format.json_schema.schema", json_object_get(wrapped, "schema"),
            (const char *const[]){ "response_format", "json_schema", "schema", NULL });
    if (is_given(outer))
        return set_schema(r, "response_format.schema", outer,
                          (const char *const[]){ "response_format", "schema", NULL });
    if (strcmp(type, "json_schema") == 0)
        return s2_http_fail(r->error, 400, "response_format.json_schema.schema",
                            "response_format.json_schema.schema is missing");
    return set_constraint(r, "json_object", "response_format", NULL, 0);
}

/* vLLM: {json | choice | grammar | json_object}. */
static bool read_structured_outputs(reading *r, const json_t *value)
{
    const char *key;
    json_t *one;
    if (!json_is_object(value))
        return s2_http_fail(r->error, 400, "structured_outputs",
                            "structured_outputs must be an object");
    json_object_foreach((json_t *)(uintptr_t)value, key, one)
    {
        char param[96];
        bool is_fine;
        (void)snprintf(param, sizeof param, "structured_outputs.%.60s", key);
        if (!is_given(one)) continue;
        if (strcmp(key, "json") == 0)
            is_fine = set_schema(r, param, one,
                                 (const char *const[]){ "structured_outputs", "json", NULL });
        else if (strcmp(key, "choice") == 0)
            is_fine = set_choice(r, param, one);
        else if (strcmp(key, "grammar") == 0)
            is_fine = set_grammar(r, param, one);
        else if (strcmp(key, "json_object") == 0)
            is_fine = !json_is_true(one) || set_constraint(r, "json_object", param, NULL, 0);
        else
            is_fine = s2_http_fail(r->error, 400, param,
                                   "%s is not supported; use json, choice or grammar", param);
        if (!is_fine) return false;
    }
    return true;
}

static bool read_json_schema(reading *r, const json_t *value)
{
    return set_schema(r, "json_schema", value, (const char *const[]){ "json_schema", NULL });
}

static bool read_grammar(reading *r, const json_t *value)
{
    return set_grammar(r, "grammar", value);
}

static bool read_guided_json(reading *r, const json_t *value)
{
    return set_schema(r, "guided_json", value, (const char *const[]){ "guided_json", NULL });
}

static bool read_guided_grammar(reading *r, const json_t *value)
{
    return set_grammar(r, "guided_grammar", value);
}

static bool read_guided_choice(reading *r, const json_t *value)
{
    return set_choice(r, "guided_choice", value);
}

static bool refuse_guided_regex(reading *r, const json_t *value)
{
    (void)value;
    return s2_http_fail(
        r->error, 400, "guided_regex",
        "guided_regex is not supported; use guided_grammar or a schema with pattern");
}

/* Ollama: "json", or a schema. */
static bool read_format(reading *r, const json_t *value)
{
    const char *word = json_string_value(value);
    if (word && !*word) return true;
    if (word && strcmp(word, "json") == 0)
        return set_constraint(r, "json_object", "format", NULL, 0);
    if (word)
        return s2_http_fail(r->error, 400, "format", "format must be \"json\" or a JSON schema");
    return set_schema(r, "format", value, (const char *const[]){ "format", NULL });
}

static const struct {
    const char *name;
    bool (*read)(reading *r, const json_t *value);
} fields[] = {
    { "response_format", read_response_format },
    { "json_schema", read_json_schema },
    { "grammar", read_grammar },
    { "structured_outputs", read_structured_outputs },
    { "guided_json", read_guided_json },
    { "guided_grammar", read_guided_grammar },
    { "guided_choice", read_guided_choice },
    { "guided_regex", refuse_guided_regex },
    { "format", read_format },
};

/* --- tools -------------------------------------------------------------------------------------- */

typedef struct choice { /* of tool_choice */
    bool is_none, is_required;
    const char *name; /* the one that must be called; NULL: any */
} choice;

static bool read_choice(reading *r, choice *out)
{
    const json_t *value = json_object_get(r->body->json, "tool_choice");
    const char *word = json_string_value(value);
    *out = (choice){ .is_none = false };
    if (!is_given(value) || (word && strcmp(word, "auto") == 0)) return true;
    if (word && strcmp(word, "none") == 0) {
        out->is_none = true;
        return true;
    }
    out->is_required = true;
    if (word && strcmp(word, "required") == 0) return true;
    out->name = s2_json_string(json_object_get(value, "function"), "name");
    if (out->name) return true;
    return s2_http_fail(r->error, 400, "tool_choice",
                        "tool_choice must be none, auto, required or "
                        "{\"type\":\"function\",\"function\":{\"name\":NAME}}");
}

/* What the engine compiles (see S2V_TOOL_CALLS), and what the model reads: a line for each. */
static bool add_tool(reading *r, size_t index, const choice *c, s2_buffer *grammar,
                     s2_buffer *lines, size_t *n_used)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.";
    const json_t *tool = json_array_get(json_object_get(r->body->json, "tools"), index);
    const json_t *function = json_object_get(tool, "function");
    const json_t *parameters = json_object_get(function, "parameters");
    const char *name = s2_json_string(function, "name"), *type = s2_json_string(tool, "type");
    char param[64], place[24];
    (void)snprintf(param, sizeof param, "tools[%zu]", index);
    (void)snprintf(place, sizeof place, "#%zu", index);
    if (!json_is_object(function) || (type && strcmp(type, "function") != 0))
        return s2_http_fail(r->error, 400, param,
                            "%s must be {\"type\":\"function\",\"function\":{...}}", param);
    (void)snprintf(param, sizeof param, "tools[%zu].function.name", index);
    if (!name || !*name || strlen(name) > 64 || name[strspn(name, letters)])
        return s2_http_fail(r->error, 400, param, "%s must have 1 to 64 letters, digits, _, - or .",
                            param);
    (void)snprintf(param, sizeof param, "tools[%zu].function.parameters", index);
    if (is_given(parameters) && !json_is_object(parameters))
        return s2_http_fail(r->error, 400, param, "%s must be a JSON schema: an object", param);
    /* As Python's json.dumps writes it, which is what Qwen's template shows. */
    char *line = json_dumps(tool, JSON_REAL_PRECISION(15));
    if (!line) return s2_http_fail(r->error, 503, NULL, "out of memory");
    s2_buffer_printf(lines, "%s%s", lines->size ? "\n" : "", line);
    free(line);
    if (c->name && strcmp(c->name, name) != 0) return true;
    const char *text = NULL;
    size_t n = 0;
    char *dumped = NULL;
    if (is_given(parameters) &&
        !s2_json_cut((const char *)r->body->text.data, r->body->text.size,
                     (const char *const[]){ "tools", place, "function", "parameters", NULL }, &text,
                     &n)) {
        dumped = json_dumps(parameters, JSON_REAL_PRECISION(15));
        text = dumped;
        n = dumped ? strlen(dumped) : 0;
    }
    s2_buffer_printf(grammar, "%s{\"name\":\"%s\",\"parameters\":", (*n_used)++ ? "," : "", name);
    s2_buffer_append(grammar, text ? text : "null", text ? n : 4);
    s2_buffer_append(grammar, "}", 1);
    free(dumped);
    return true;
}

static bool read_tools(reading *r, bool *has_tools)
{
    const json_t *tools = json_object_get(r->body->json, "tools");
    const json_t *parallel = json_object_get(r->body->json, "parallel_tool_calls");
    const size_t n = json_array_size(tools);
    choice c;
    *has_tools = false;
    if (is_given(tools) && (!json_is_array(tools) || n > MAX_TOOLS))
        return s2_http_fail(r->error, 400, "tools", "tools must be a list of at most %d",
                            MAX_TOOLS);
    if (!read_choice(r, &c)) return false;
    if (n == 0 && c.is_required)
        return s2_http_fail(r->error, 400, "tool_choice", "tool_choice needs tools");
    if (n == 0 || c.is_none) return true;
    size_t n_used = 0;
    s2_buffer grammar, lines;
    s2_buffer_init(&grammar, S2_BODY_MAX_STRING);
    s2_buffer_init(&lines, S2_BODY_MAX_STRING);
    s2_buffer_printf(&grammar, "{\"required\":%s,\"parallel\":%s,\"tools\":[",
                     c.is_required ? "true" : "false",
                     json_is_false(parallel) || c.name ? "false" : "true");
    bool is_fine = true;
    for (size_t i = 0; is_fine && i < n; i++)
        is_fine = add_tool(r, i, &c, &grammar, &lines, &n_used);
    s2_buffer_append(&grammar, "]}", 2);
    if (is_fine && n_used == 0)
        is_fine = s2_http_fail(r->error, 400, "tool_choice",
                               "tool_choice names '%.64s', which is not in tools", c.name);
    if (is_fine && (grammar.status != S2P_OK || lines.status != S2P_OK))
        is_fine = s2_http_fail(r->error, 400, "tools", "tools have more than %zu bytes",
                               S2_BODY_MAX_STRING);
    is_fine =
        is_fine && set_constraint(r, "tools", "tools", (const char *)grammar.data, grammar.size);
    if (is_fine) {
        json_object_set_new(r->job, "tools", json_stringn((const char *)lines.data, lines.size));
        *has_tools = true;
    }
    s2_buffer_free(&grammar);
    s2_buffer_free(&lines);
    return is_fine;
}

static bool check_others(const reading *r, bool is_compare, bool has_tools)
{
    const json_t *json = r->body->json;
    if (has_tools && json_is_true(json_object_get(json, "logprobs")))
        return s2_http_fail(r->error, 400, "logprobs", "logprobs are not supported with tools");
    if (has_tools && is_compare)
        return s2_http_fail(r->error, 400, "tools", "tools are not supported in comparisons");
    if (r->first && json_is_true(json_object_get(json, "ignore_eos")))
        return s2_http_fail(r->error, 400, "ignore_eos",
                            "ignore_eos cannot be combined with a schema, a grammar or tools");
    return true;
}

bool s2_structured_read(const s2_body *body, bool is_compare, json_t *job, bool *has_tools,
                        s2_http_error *error)
{
    reading r = { .body = body, .job = job, .error = error };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const json_t *value = json_object_get(body->json, fields[i].name);
        if (is_given(value) && !fields[i].read(&r, value)) return false;
    }
    return read_tools(&r, has_tools) && check_others(&r, is_compare, *has_tools);
}

/* --- messages ------------------------------------------------------------------------------------ */

void s2_tools_show(json_t *job, json_t *messages)
{
    json_t *text = json_object_get(job, "tools");
    if (!text) return;
    const char *first = s2_json_string(json_array_get(messages, 0), "role");
    json_array_insert_new(messages, first && strcmp(first, "system") == 0,
                          json_pack("{s:s,s:O,s:i}", "role", "tools", "text", text, "images", 0));
    json_object_del(job, "tools");
}

/* {"name": "f", "arguments": {}}; NULL: *error says why. */
static json_t *call_text(const json_t *call, const char *path, s2_http_error *error)
{
    const json_t *function = json_object_get(call, "function");
    const json_t *arguments = json_object_get(function, "arguments");
    const char *name = s2_json_string(function, "name");
    if (!name || !*name) {
        (void)s2_http_fail(error, 400, path, "%s.function.name is missing", path);
        return NULL;
    }
    char *dumped =
        json_is_object(arguments) ? json_dumps(arguments, JSON_REAL_PRECISION(15)) : NULL;
    const char *text = dumped ? dumped : json_string_value(arguments);
    json_t *quoted = json_string(name);
    char *shown = quoted ? json_dumps(quoted, JSON_ENCODE_ANY) : NULL;
    json_t *out = NULL;
    if (!text)
        (void)s2_http_fail(error, 400, path, "%s.function.arguments must be a string", path);
    else if (!shown ||
             !(out = json_sprintf("{\"name\": %s, \"arguments\": %s}", shown, *text ? text : "{}")))
        (void)s2_http_fail(error, 503, NULL, "out of memory");
    free(shown);
    json_decref(quoted);
    free(dumped);
    return out;
}

bool s2_tool_calls_read(const json_t *message, size_t index, json_t *messages, size_t *n_text,
                        s2_http_error *error)
{
    const json_t *calls = json_object_get(message, "tool_calls");
    char path[64];
    (void)snprintf(path, sizeof path, "messages[%zu].tool_calls", index);
    if (!is_given(calls)) return true;
    if (!json_is_array(calls) || json_array_size(calls) > MAX_TOOLS)
        return s2_http_fail(error, 400, path, "%s must be a list of at most %d", path, MAX_TOOLS);
    for (size_t i = 0; i < json_array_size(calls); i++) {
        (void)snprintf(path, sizeof path, "messages[%zu].tool_calls[%zu]", index, i);
        json_t *text = call_text(json_array_get(calls, i), path, error);
        if (!text) return false;
        *n_text += json_string_length(text);
        json_array_append_new(
            messages, json_pack("{s:s,s:o,s:i}", "role", "call", "text", text, "images", 0));
    }
    return true;
}
