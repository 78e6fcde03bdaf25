/* ollama_door.c - Ollama's /api/chat and /api/generate. A stream is lines of JSON, and it is the default. */
#include "serve/front/api/door.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* --- requests ----------------------------------------------------------------------------------- */

static bool read_common(const json_t *own, json_t *chat, s2_http_error *error)
{
    static const char *const refused[] = { "template", "suffix",       "think", "context",
                                           "logprobs", "top_logprobs", NULL };
    static const struct {
        const char *name, *as;
    } options[] = { { "num_predict", "max_tokens" },
                    { "temperature", "temperature" },
                    { "top_p", "top_p" },
                    { "top_k", "top_k" },
                    { "min_p", "min_p" },
                    { "seed", "seed" },
                    { "stop", "stop" },
                    { "repeat_penalty", "repeat_penalty" },
                    { "repeat_last_n", "repeat_last_n" },
                    { "presence_penalty", "presence_penalty" },
                    { "frequency_penalty", "frequency_penalty" },
                    { "mirostat", "mirostat" },
                    { "typical_p", "typical_p" },
                    { "tfs_z", "tfs_z" } };
    const json_t *given = json_object_get(own, "options");
    const char *model = s2_json_string(own, "model");
    json_t *format = json_object_get(own, "format");
    if (!s2_door_refuse(own, refused, "is not supported in Ollama's API here", error)) return false;
    const json_t *stream = json_object_get(own, "stream");
    if (!model) return s2_http_fail(error, 400, "model", "model is missing");
    if (given && !json_is_null(given) && !json_is_object(given))
        return s2_http_fail(error, 400, "options", "options must be an object");
    if (stream && !json_is_null(stream) && !json_is_boolean(stream))
        return s2_http_fail(error, 400, "stream", "stream must be true or false");
    const size_t n = strlen(model), n_tag = strlen(":latest");
    const bool has_tag = n > n_tag && strcmp(model + n - n_tag, ":latest") == 0;
    json_object_set_new(chat, "model", json_stringn(model, has_tag ? n - n_tag : n));
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        s2_door_take(given, options[i].name, chat, options[i].as);
    if (json_integer_value(json_object_get(chat, "max_tokens")) < 0)
        json_object_set_new(chat, "max_tokens", json_integer(-1)); /* -2: the same */
    s2_door_take(own, "prune", chat, "prune");
    json_object_set_new(chat, "stream", json_boolean(!json_is_false(stream)));
    if (json_is_string(format) && strcmp(json_string_value(format), "json") == 0)
        json_object_set_new(chat, "response_format", json_pack("{s:s}", "type", "json_object"));
    else if (json_is_object(format))
        json_object_set_new(chat, "response_format",
                            json_pack("{s:s,s:{s:s,s:O}}", "type", "json_schema", "json_schema",
                                      "name", "answer", "schema", format));
    else if (format && !json_is_null(format) &&
             !(json_is_string(format) && json_string_length(format) == 0))
        return s2_http_fail(error, 400, "format", "format must be \"json\" or a JSON schema");
    return true;
}

/* Pictures, then the text. */
static json_t *content_of(const json_t *images, json_t *text)
{
    if (json_array_size(images) == 0) return json_incref(text);
    json_t *parts = json_array();
    for (size_t i = 0; i < json_array_size(images); i++)
        json_array_append_new(parts, s2_door_picture_part(json_array_get(images, i), true, NULL));
    json_array_append_new(parts, s2_door_text_part(text));
    return parts;
}

/* A list of pictures, or none. */
static bool check_images(const json_t *images, const char *param, s2_http_error *error)
{
    return !images || json_is_null(images) || json_is_array(images) ||
           s2_http_fail(error, 400, param, "%s must be a list of pictures as base64", param);
}

static json_t *last_of(const json_t *chat)
{
    const json_t *messages = json_object_get(chat, "messages");
    return json_array_get(messages, json_array_size(messages) - 1);
}

static bool read_chat(const json_t *own, json_t *chat, s2_http_error *error)
{
    /* as in a chat; tool_choice is not Ollama's, but its clients pass it through */
    static const char *const tools[] = { "tools", "tool_choice", NULL };
    const json_t *list = json_object_get(own, "messages");
    if (!read_common(own, chat, error)) return false;
    if (!json_is_array(list) || json_array_size(list) == 0)
        return s2_http_fail(error, 400, "messages", "messages must be a list of messages");
    s2_door_take_all(own, tools, chat);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *role = s2_json_string(one, "role");
        const json_t *calls = json_object_get(one, "tool_calls");
        json_t *text = json_object_get(one, "content");
        if (!role || (!json_is_string(text) && json_array_size(calls) == 0))
            return s2_http_fail(error, 400, "messages", "messages[%zu] needs role and content", i);
        char path[64];
        (void)snprintf(path, sizeof path, "messages[%zu].images", i);
        if (!check_images(json_object_get(one, "images"), path, error)) return false;
        s2_door_add(chat, role,
                    json_is_string(text) ? content_of(json_object_get(one, "images"), text)
                                         : json_null());
        if (calls) s2_door_take(one, "tool_calls", last_of(chat), "tool_calls");
    }
    return true;
}

static bool read_generate(const json_t *own, json_t *chat, s2_http_error *error)
{
    static const char *const refused[] = { "tools", NULL };
    json_t *prompt = json_object_get(own, "prompt"), *system = json_object_get(own, "system");
    if (!s2_door_refuse(own, refused, "is not supported here; use /api/chat", error)) return false;
    if (!read_common(own, chat, error)) return false;
    if (!json_is_string(prompt))
        return s2_http_fail(error, 400, "prompt", "prompt must be a string");
    const json_t *raw = json_object_get(own, "raw"), *images = json_object_get(own, "images");
    if (system && !json_is_null(system) && !json_is_string(system))
        return s2_http_fail(error, 400, "system", "system must be a string");
    if (raw && !json_is_null(raw) && !json_is_boolean(raw))
        return s2_http_fail(error, 400, "raw", "raw must be true or false");
    if (!check_images(images, "images", error)) return false;
    if (json_is_true(raw))
        json_object_set_new(chat, "raw_prompt", json_true());
    else if (json_string_length(system) > 0)
        s2_door_add(chat, "system", json_incref(system));
    s2_door_add(chat, "user", content_of(images, prompt));
    return true;
}

/* --- answers --------------------------------------------------------------------------------------- */

/* {"model":,"created_at":,"done":} */
static json_t *line_of(const s2_exchange *x, bool is_done)
{
    struct timespec now;
    struct tm date;
    char text[40] = "", when[64];
    clock_gettime(CLOCK_REALTIME, &now);
    if (gmtime_r(&now.tv_sec, &date)) (void)strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &date);
    (void)snprintf(when, sizeof when, "%s.%06ldZ", text, now.tv_nsec / 1000);
    return json_pack("{s:s,s:s,s:b}", "model", x->chat.model, "created_at", when, "done", is_done);
}

static json_int_t nanoseconds(double ms)
{
    return isfinite(ms) && ms > 0.0 && ms < 1e12 ? (json_int_t)(ms * 1e6) : 0;
}

static void add_figures(const s2_exchange *x, json_t *line, const json_t *result)
{
    const json_t *timings = json_object_get(result, "timings");
    const double prompt_ms = json_number_value(json_object_get(timings, "prompt_ms"));
    const double answer_ms = json_number_value(json_object_get(timings, "predicted_ms"));
    json_t *figures = json_pack(
        "{s:s,s:I,s:I,s:I,s:I,s:I,s:I}", "done_reason", s2_door_is_cut(result) ? "length" : "stop",
        "total_duration", nanoseconds(s2_now_ms() - x->record.arrived_ms), "load_duration",
        (json_int_t)0, "prompt_eval_count", s2_door_count(result, "prompt_tokens"),
        "prompt_eval_duration", nanoseconds(prompt_ms), "eval_count",
        s2_door_count(result, "completion_tokens"), "eval_duration", nanoseconds(answer_ms));
    json_object_update(line, figures);
    json_decref(figures);
    s2_door_take(result, "prune", line, "prune");
}

static void begin(s2_exchange *x) { (void)x; }

/* Both take over text. */
static json_t *chat_line(const s2_exchange *x, json_t *text, bool is_done)
{
    json_t *line = line_of(x, is_done);
    json_object_set_new(line, "message",
                        json_pack("{s:s,s:o}", "role", "assistant", "content", text));
    return line;
}

static json_t *generate_line(const s2_exchange *x, json_t *text, bool is_done)
{
    json_t *line = line_of(x, is_done);
    json_object_set_new(line, "response", text);
    return line;
}

static void chat_text(s2_exchange *x, const char *text, size_t n)
{
    s2_exchange_json_line(x, chat_line(x, json_stringn(text, n), false));
}

static void generate_text(s2_exchange *x, const char *text, size_t n)
{
    s2_exchange_json_line(x, generate_line(x, json_stringn(text, n), false));
}

/* Calls as Ollama's clients read them: the arguments are an object. first: the index of the first one. */
static json_t *calls_of(const json_t *calls, int32_t first)
{
    json_t *out = json_array();
    for (size_t i = 0; i < json_array_size(calls); i++) {
        const json_t *call = json_array_get(calls, i);
        json_array_append_new(out,
                              json_pack("{s:O,s:{s:i,s:O,s:o}}", "id", json_object_get(call, "id"),
                                        "function", "index", first + (int)i, "name",
                                        json_object_get(json_object_get(call, "function"), "name"),
                                        "arguments", s2_door_arguments(call)));
    }
    return out;
}

static void chat_call(s2_exchange *x, const json_t *call)
{
    json_t *one = json_pack("[O]", (json_t *)(uintptr_t)call);
    json_t *line = chat_line(x, json_string(""), false);
    json_object_set_new(json_object_get(line, "message"), "tool_calls",
                        calls_of(one, x->chat.n_parts++));
    json_decref(one);
    s2_exchange_json_line(x, line);
}

static void chat_done(s2_exchange *x, const json_t *result)
{
    json_t *line = chat_line(x, json_string(""), true);
    add_figures(x, line, result);
    s2_exchange_json_line(x, line);
}

static void generate_done(s2_exchange *x, const json_t *result)
{
    json_t *line = generate_line(x, json_string(""), true);
    add_figures(x, line, result);
    s2_exchange_json_line(x, line);
}

static json_t *chat_whole(s2_exchange *x, const json_t *result)
{
    json_t *line = chat_line(x, s2_door_answer(x), true);
    if (s2_door_has_calls(x))
        json_object_set_new(json_object_get(line, "message"), "tool_calls",
                            calls_of(x->chat.choice[x->chat.at].calls, 0));
    add_figures(x, line, result);
    return line;
}

static json_t *generate_whole(s2_exchange *x, const json_t *result)
{
    json_t *line = generate_line(x, s2_door_answer(x), true);
    add_figures(x, line, result);
    return line;
}

static json_t *error_of(const s2_http_error *error)
{
    return json_pack("{s:s}", "error", error->message);
}

const s2_door s2_door_ollama_chat = { .id = "ollama-",
                                      .is_lines = true,
                                      .takes_base64 = true,
                                      .read = read_chat,
                                      .begin = begin,
                                      .text = chat_text,
                                      .call = chat_call,
                                      .done = chat_done,
                                      .whole = chat_whole,
                                      .error = error_of };
const s2_door s2_door_ollama_generate = { .id = "ollama-",
                                          .is_lines = true,
                                          .takes_base64 = true,
                                          .read = read_generate,
                                          .begin = begin,
                                          .text = generate_text,
                                          .done = generate_done,
                                          .whole = generate_whole,
                                          .error = error_of };
