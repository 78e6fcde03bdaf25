/* chat_request.c - messages, pictures, sampling, pruning: checked, and written as a job for the engine.
 *
 * Order of pictures: content such as text, picture, text keeps its order. Pictures that are all before
 * or all after the text come first, as models are trained and as `s2prune run` does it; a second
 * question about the same picture then finds it in the cache.
 */
#if defined(__linux__)
#define _GNU_SOURCE /* memmem */
#endif
#include "serve/front/chat_request.h"

#include "ask/settings.h"
#include "base/clock.h"
#include "serve/front/pictures.h"
#include "serve/structured/structured_request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>

#define MAX_PARTS 64 /* of one message */
#define MAX_STOPS 16
#define MAX_STOP_BYTES 256
#define MARK "<image>"

/* clang-format off */
const s2_json_field s2_chat_fields[] = {
    { "model",                 S2_JSON_TEXT,   0, 256 },
    { "messages",              S2_JSON_LIST,   1, 256 },
    { "max_tokens",            S2_JSON_INT,    -1, S2_JSON_CONTEXT },
    { "max_completion_tokens", S2_JSON_INT,    -1, S2_JSON_CONTEXT },
    { "n_predict",             S2_JSON_INT,    -1, S2_JSON_CONTEXT },
    { "temperature",           S2_JSON_REAL,   0, 2 },
    { "top_p",                 S2_JSON_REAL,   1e-6, 1 },
    { "top_k",                 S2_JSON_INT,    -1, 1048576 },
    { "min_p",                 S2_JSON_REAL,   0, 0.999999 },
    { "repeat_penalty",        S2_JSON_REAL,   0.01, 100 },
    { "repetition_penalty",    S2_JSON_REAL,   0.01, 100 },
    { "repeat_last_n",         S2_JSON_INT,    -1, 4096 },
    { "presence_penalty",      S2_JSON_REAL,   -2, 2 },
    { "frequency_penalty",     S2_JSON_REAL,   -2, 2 },
    { "seed",                  S2_JSON_INT,    -1, S2_JSON_MAX_SEED },
    { "stop",                  S2_JSON_OTHER,  0, 0 },
    { "n",                     S2_JSON_INT,    1, S2_CHAT_MAX_ANSWERS },
    { "stream",                S2_JSON_BOOL,   0, 0 },
    { "stream_options",        S2_JSON_OBJECT, 0, 0 },
    { "logprobs",              S2_JSON_BOOL,   0, 0 },
    { "top_logprobs",          S2_JSON_INT,    0, 20 },
    { "response_format",       S2_JSON_OBJECT, 0, 0 },
    { "json_schema",           S2_JSON_OBJECT, 0, 0 },
    { "grammar",               S2_JSON_OTHER,  0, 0 },
    { "structured_outputs",    S2_JSON_OBJECT, 0, 0 },
    { "guided_json",           S2_JSON_OTHER,  0, 0 },
    { "guided_grammar",        S2_JSON_OTHER,  0, 0 },
    { "guided_choice",         S2_JSON_LIST,   1, 4096 },
    { "guided_regex",          S2_JSON_OTHER,  0, 0 },
    { "format",                S2_JSON_OTHER,  0, 0 },
    { "tools",                 S2_JSON_LIST,   0, 128 },
    { "tool_choice",           S2_JSON_OTHER,  0, 0 },
    { "parallel_tool_calls",   S2_JSON_BOOL,   0, 0 },
    { "ignore_eos",            S2_JSON_BOOL,   0, 0 },
    { "return_progress",       S2_JSON_BOOL,   0, 0 },
    { "prune",                 S2_JSON_OBJECT, 0, 0 },
    { .name = NULL },
};
/* clang-format on */

typedef struct reading {
    const s2_body *body;
    const s2_chat_context *context;
    s2_chat_request *out;
    json_t *messages, *details; /* of the job */
    size_t n_text;              /* bytes of all messages */
    s2_http_error *error;
} reading;

/* --- which model ------------------------------------------------------------------------ */

bool s2_model_at(const s2_chat_context *context, size_t index, char *out, size_t capacity)
{
    const char *list = context->virtual_models;
    size_t n_names = 1; /* of each model */
    for (const char *c = list; c && *c; c += strcspn(c, ","), c += *c == ',') n_names++;
    const size_t i_model = index / n_names;
    if (i_model > context->n_others) return false;
    const char *model = i_model == 0 ? context->model : context->others[i_model - 1];
    size_t left = index % n_names;
    if (left == 0) {
        (void)snprintf(out, capacity, "%s", model);
        return true;
    }
    for (; --left > 0; list += *list == ',') list += strcspn(list, ",");
    (void)snprintf(out, capacity, "%s@%.*s", model, (int)strcspn(list, ","), list);
    return true;
}

static bool read_model(reading *r)
{
    const char *wanted = s2_json_string(r->body->json, "model");
    char name[320], list[300] = "";
    size_t at = 0;
    if (!wanted || !*wanted || !*r->context->model) wanted = r->context->model;
    for (size_t i = 0; s2_model_at(r->context, i, name, sizeof name); i++) {
        if (strcmp(name, wanted) == 0) {
            const char *sign = strrchr(name, '@'); /* no model has one */
            (void)snprintf(r->out->model, sizeof r->out->model, "%s", name);
            if (sign) json_object_set_new(r->out->job, "virtual", json_string(sign + 1));
            return true;
        }
        if (at < sizeof list)
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "", name);
    }
    return s2_http_fail(r->error, 404, "model", "unknown model '%.60s'; available: %s", wanted,
                        list);
}

/* --- messages --------------------------------------------------------------------------- */

static bool read_picture(reading *r, const json_t *value, const char *param)
{
    const json_t *url = json_is_object(value) ? json_object_get(value, "url") : value;
    const json_t *detail = json_is_object(value) ? json_object_get(value, "detail") : NULL;
    const char *text = json_string_value(url), *how = json_string_value(detail);
    if (!text) return s2_http_fail(r->error, 400, param, "%s: url is missing", param);
    if (detail && !json_is_null(detail) &&
        (!how || (strcmp(how, "auto") != 0 && strcmp(how, "low") != 0 && strcmp(how, "high") != 0)))
        return s2_http_fail(r->error, 400, param, "%s: detail must be auto, low or high", param);
    const bool is_remote =
        strncasecmp(text, "http://", 7) == 0 || strncasecmp(text, "https://", 8) == 0;
    if (is_remote && !r->context->image_hosts)
        return s2_http_fail(r->error, 403, param,
                            "%s: fetching images from other servers is disabled; send a data URI",
                            param);
    if (is_remote && !s2_remote_check(r->context->image_hosts, text, param, r->error)) return false;
    const bool is_file = strncmp(text, "file:", 5) == 0;
    if (is_file && !r->context->media_path)
        return s2_http_fail(r->error, 403, param,
                            "%s: reading files of the server is disabled; see --media-path", param);
    if (!is_remote && !is_file && !s2_body_is_cut(url) && strncasecmp(text, "data:", 5) != 0)
        return s2_http_fail(
            r->error, 400, param,
            "%s is not a data URI; prefix the base64 text with data:image/png;base64,", param);
    s2_chat_request *out = r->out;
    if (out->n_pictures == S2_CHAT_MAX_PICTURES)
        return s2_http_fail(r->error, 400, param, "too many images in one request (limit %d)",
                            S2_CHAT_MAX_PICTURES);
    s2_remote_picture *remote = &out->remote[out->n_pictures];
    s2_buffer *bytes = &out->picture[out->n_pictures++];
    s2_buffer_init(bytes, S2_FRAME_MAX);
    if (is_remote) {
        remote->url = strdup(text);
        if (!remote->url) return s2_http_fail(r->error, 503, NULL, "out of memory");
        (void)snprintf(remote->param, sizeof remote->param, "%s", param);
        out->n_remote++;
    } else if (is_file) {
        if (!s2_media_read(r->context->media_path, text, param, r->context->max_picture_bytes,
                           bytes, r->error))
            return false;
    } else if (!s2_body_data_uri(r->body, url, param, bytes, r->error)) {
        return false;
    }
    if (bytes->size > r->context->max_picture_bytes)
        return s2_http_fail(r->error, 400, param, "%s is too large: %zu bytes (limit %zu)", param,
                            bytes->size, r->context->max_picture_bytes);
    json_array_append_new(r->details, json_string(how ? how : "auto"));
    return true;
}

static bool add_text(reading *r, const json_t *value, const char *param, s2_buffer *text)
{
    if (!json_is_string(value) || s2_body_is_cut(value))
        return s2_http_fail(r->error, 400, param, "%s must be a string", param);
    r->n_text += json_string_length(value);
    if (r->n_text > S2_CHAT_MAX_TEXT)
        return s2_http_fail(r->error, 400, param,
                            "the messages have too much text (limit %zu bytes)", S2_CHAT_MAX_TEXT);
    s2_buffer_append(text, json_string_value(value), json_string_length(value));
    return true;
}

typedef struct content { /* of one message */
    s2_buffer text;
    int32_t n_pictures;
    size_t picture_at[S2_CHAT_MAX_PICTURES]; /* bytes of text before each */
} content;

static bool read_parts(reading *r, const json_t *parts, const char *path, content *c)
{
    if (json_array_size(parts) > MAX_PARTS)
        return s2_http_fail(r->error, 400, path, "%s has too many parts (limit %d)", path,
                            MAX_PARTS);
    for (size_t i = 0; i < json_array_size(parts); i++) {
        const json_t *part = json_array_get(parts, i);
        const char *type = s2_json_string(part, "type");
        char param[128];
        if (type && strcmp(type, "text") == 0) {
            (void)snprintf(param, sizeof param, "%.80s[%zu].text", path, i);
            if (!add_text(r, json_object_get(part, "text"), param, &c->text)) return false;
        } else if (type && strcmp(type, "image_url") == 0) {
            (void)snprintf(param, sizeof param, "%.80s[%zu].image_url", path, i);
            const int32_t n = c->n_pictures;
            if (!read_picture(r, json_object_get(part, "image_url"), param)) return false;
            c->picture_at[n] = c->text.size;
            c->n_pictures++;
        } else {
            (void)snprintf(param, sizeof param, "%.80s[%zu].type", path, i);
            return s2_http_fail(r->error, 400, param, "%s must be text or image_url", param);
        }
    }
    return true;
}

static bool read_message(reading *r, const json_t *message, size_t index)
{
    static const char *const roles[] = { "system", "developer", "user", "assistant", "tool" };
    enum { N_ROLES = sizeof roles / sizeof *roles };
    const char *role = s2_json_string(message, "role");
    const json_t *value = json_object_get(message, "content");
    char path[64];
    size_t i = 0;
    while (i < N_ROLES && (!role || strcmp(role, roles[i]) != 0)) i++;
    (void)snprintf(path, sizeof path, "messages[%zu].role", index);
    if (i == N_ROLES)
        return s2_http_fail(r->error, 400, path, "%s must be system, user, assistant or tool",
                            path);
    (void)snprintf(path, sizeof path, "messages[%zu].content", index);
    content c = { .n_pictures = 0 };
    s2_buffer_init(&c.text, 2 * S2_CHAT_MAX_TEXT);
    bool is_fine;
    if (json_is_array(value))
        is_fine = read_parts(r, value, path, &c);
    else if (i == 3 && (!value || json_is_null(value)))
        is_fine = true;
    else
        is_fine = add_text(r, value, path, &c.text);
    if (is_fine && c.n_pictures > 0 && i != 2)
        is_fine = s2_http_fail(r->error, 400, path, "%s: only messages of the user can have images",
                               path);
    if (is_fine && c.n_pictures > 0 && c.text.size > 0 &&
        memmem(c.text.data, c.text.size, MARK, strlen(MARK)))
        is_fine =
            s2_http_fail(r->error, 400, path,
                         "%s contains the text <image> as well as an image; remove the text", path);
    if (is_fine) { /* the text with a mark at each picture that is inside it */
        bool is_inside = false;
        for (int32_t k = 0; k < c.n_pictures; k++)
            is_inside |= c.picture_at[k] > 0 && c.picture_at[k] < c.text.size;
        s2_buffer out;
        s2_buffer_init(&out, 2 * S2_CHAT_MAX_TEXT);
        size_t at = 0;
        for (int32_t k = 0; is_inside && k < c.n_pictures; k++) {
            s2_buffer_append(&out, c.text.data + at, c.picture_at[k] - at);
            s2_buffer_append(&out, MARK, strlen(MARK));
            at = c.picture_at[k];
        }
        if (c.text.size > at) s2_buffer_append(&out, c.text.data + at, c.text.size - at);
        json_array_append_new(r->messages,
                              json_pack("{s:s,s:s%,s:i}", "role", i <= 1 ? "system" : roles[i],
                                        "text", out.data ? (const char *)out.data : "", out.size,
                                        "images", c.n_pictures));
        s2_buffer_free(&out);
    }
    s2_buffer_free(&c.text);
    if (!is_fine || i != 3) return is_fine;
    if (!s2_tool_calls_read(message, index, r->messages, &r->n_text, r->error)) return false;
    return r->n_text <= S2_CHAT_MAX_TEXT ||
           s2_http_fail(r->error, 400, path, "the messages have too much text (limit %zu bytes)",
                        S2_CHAT_MAX_TEXT);
}

static bool is_role(const json_t *message, const char *role)
{
    return strcmp(s2_json_string(message, "role"), role) == 0;
}

/* Chat formats have one system message, the first: several become it, in their order. */
static void merge_system(json_t *messages)
{
    s2_buffer text;
    size_t n = 0;
    s2_buffer_init(&text, 2 * S2_CHAT_MAX_TEXT);
    for (size_t i = 0; i < json_array_size(messages);) {
        const json_t *message = json_array_get(messages, i);
        if (!is_role(message, "system")) {
            i++;
            continue;
        }
        const json_t *own = json_object_get(message, "text");
        if (n++ > 0) s2_buffer_append(&text, "\n\n", 2);
        s2_buffer_append(&text, json_string_value(own), json_string_length(own));
        json_array_remove(messages, i);
    }
    if (n > 0)
        json_array_insert_new(messages, 0,
                              json_pack("{s:s,s:s%,s:i}", "role", "system", "text",
                                        text.data ? (const char *)text.data : "", text.size,
                                        "images", 0));
    s2_buffer_free(&text);
}

/* An answer that the client began is continued. */
static bool check_last(reading *r)
{
    const json_t *json = r->body->json;
    const size_t n = json_array_size(r->messages);
    const bool is_begun = n > 0 && is_role(json_array_get(r->messages, n - 1), "assistant");
    const json_t *adds = json_object_get(json, "add_generation_prompt");
    const json_t *continues = json_object_get(json, "continue_final_message");
    if (adds && !json_is_null(adds) && !json_is_boolean(adds))
        return s2_http_fail(r->error, 400, "add_generation_prompt",
                            "add_generation_prompt must be true or false");
    if (continues && !json_is_null(continues) && !json_is_boolean(continues))
        return s2_http_fail(r->error, 400, "continue_final_message",
                            "continue_final_message must be true or false");
    if (json_is_false(adds) && !is_begun)
        return s2_http_fail(r->error, 400, "add_generation_prompt",
                            "add_generation_prompt must be true unless the last message is the "
                            "assistant's");
    if (json_is_true(continues) && !is_begun)
        return s2_http_fail(r->error, 400, "continue_final_message",
                            "continue_final_message: the last message is not the assistant's");
    if (json_is_false(continues) && is_begun)
        return s2_http_fail(r->error, 400, "continue_final_message",
                            "continue_final_message: the last message of the assistant is always "
                            "continued");
    return true;
}

static bool read_messages(reading *r)
{
    const json_t *list = json_object_get(r->body->json, "messages");
    if (!json_is_array(list))
        return s2_http_fail(r->error, 400, "messages", "messages must be a list");
    for (size_t i = 0; i < json_array_size(list); i++)
        if (!read_message(r, json_array_get(list, i), i)) return false;
    merge_system(r->messages);
    s2_tools_show(r->out->job, r->messages);
    return check_last(r);
}

/* --- the rest --------------------------------------------------------------------------- */

static json_int_t draw_seed(void)
{
    uint64_t seed = 0;
    if (getrandom(&seed, sizeof seed, GRND_NONBLOCK) != (ssize_t)sizeof seed)
        seed = (uint64_t)(s2_now_ms() * 1e6);
    return (json_int_t)(seed & (((uint64_t)1 << 53) - 1));
}

static bool read_sampling(reading *r)
{
    static const char *const names[] = { "temperature",
                                         "top_p",
                                         "top_k",
                                         "min_p",
                                         "repeat_penalty",
                                         "repeat_last_n",
                                         "presence_penalty",
                                         "frequency_penalty",
                                         "seed",
                                         "ignore_eos" };
    static const char *const limits[] = { "n_predict", "max_tokens", "max_completion_tokens" };
    const json_t *json = r->body->json;
    json_t *sampling = json_object(), *stops = json_array();
    json_object_set_new(r->out->job, "sampling", sampling);
    json_object_set_new(sampling, "stop", stops);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        json_t *value = json_object_get(json, names[i]);
        if (value && !json_is_null(value))
            json_object_set_new(sampling, names[i], json_copy(value));
    }
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        json_t *value = json_object_get(json, limits[i]);
        if (json_is_integer(value)) json_object_set_new(sampling, "max_tokens", json_copy(value));
    }
    json_t *other = json_object_get(json, "repetition_penalty"); /* vLLM's name */
    if (json_is_number(other)) json_object_set_new(sampling, "repeat_penalty", json_copy(other));
    if (json_integer_value(json_object_get(sampling, "seed")) < 0) /* another one each time */
        json_object_set_new(sampling, "seed", json_integer(draw_seed()));
    if (json_integer_value(json_object_get(sampling, "top_k")) < 0) /* vLLM's "all" */
        json_object_set_new(sampling, "top_k", json_integer(0));
    if (json_integer_value(json_object_get(sampling, "repeat_last_n")) < 0)
        json_object_set_new(sampling, "repeat_last_n", json_integer(4096));
    if (!s2_logit_bias_read(json_object_get(json, "logit_bias"), sampling, r->error)) return false;
    const json_t *stop = json_object_get(json, "stop");
    if (!stop || json_is_null(stop)) return true;
    const size_t n = json_is_array(stop) ? json_array_size(stop) : 1;
    if (n > MAX_STOPS)
        return s2_http_fail(r->error, 400, "stop", "stop has too many strings: %zu (limit %d)", n,
                            MAX_STOPS);
    for (size_t i = 0; i < n; i++) {
        const json_t *one = json_is_array(stop) ? json_array_get(stop, i) : stop;
        const size_t length = json_string_length(one);
        if (!json_is_string(one) || length == 0 || length > MAX_STOP_BYTES)
            return s2_http_fail(r->error, 400, "stop",
                                "stop must be a string or a list of strings of 1 to %d bytes",
                                MAX_STOP_BYTES);
        json_array_append_new(stops, json_copy((json_t *)(uintptr_t)one));
    }
    return true;
}

/* The job has "top_logprobs" only if logprobs were asked for. */
static bool read_logprobs(reading *r)
{
    const json_t *json = r->body->json;
    const json_int_t n_top = json_integer_value(json_object_get(json, "top_logprobs"));
    const bool is_wanted = json_is_true(json_object_get(json, "logprobs"));
    if (n_top > 0 && !is_wanted)
        return s2_http_fail(r->error, 400, "top_logprobs", "top_logprobs requires logprobs");
    if (is_wanted && r->out->is_compare)
        return s2_http_fail(r->error, 400, "logprobs", "logprobs are not supported in comparisons");
    if (is_wanted)
        json_object_set_new(json_object_get(r->out->job, "sampling"), "top_logprobs",
                            json_integer(n_top));
    r->out->has_logprobs = is_wanted;
    return true;
}

static bool read_answers(reading *r)
{
    r->out->n_answers = 1;
    if (!s2_json_int(r->body->json, "n", &r->out->n_answers) || r->out->n_answers == 1) return true;
    if (r->out->is_compare) return s2_http_fail(r->error, 400, "n", "n must be 1 in comparisons");
    json_object_set_new(json_object_get(r->out->job, "sampling"), "n",
                        json_integer(r->out->n_answers));
    return true;
}

/* The engine parses the object; here it is only checked, so that a mistake is reported at once. */
static bool check_prune(const json_t *object, const char *path, s2_http_error *error)
{
    char param[S2_JSON_PARAM];
    s2p_error why = { S2P_OK, "" };
    return s2a_prune_check(object, path, param, &why) == S2P_OK ||
           s2_http_fail(error, 400, param, "%s", why.message);
}

static bool read_prune(reading *r)
{
    json_t *prune = json_object_get(r->body->json, "prune");
    if (!prune || json_is_null(prune)) return true;
    if (!check_prune(prune, "prune.", r->error) ||
        !s2_masks_take(r->body, prune, "prune.", 0, r->context->max_picture_bytes, r->out,
                       r->error))
        return false;
    json_object_set(r->out->job, "prune", prune);
    return true;
}

static bool read_settings(reading *r)
{
    json_t *list = json_object_get(r->body->json, "settings");
    if (!json_is_array(list) || json_array_size(list) < 1 || json_array_size(list) > 16)
        return s2_http_fail(r->error, 400, "settings",
                            "settings must be a list of 1 to 16 objects");
    for (size_t i = 0; i < json_array_size(list); i++) {
        char path[40];
        (void)snprintf(path, sizeof path, "settings[%zu].", i);
        if (!json_is_object(json_array_get(list, i)))
            return s2_http_fail(r->error, 400, "settings", "settings[%zu] must be an object", i);
        if (!check_prune(json_array_get(list, i), path, r->error) ||
            !s2_masks_take(r->body, json_array_get(list, i), path, (int32_t)i,
                           r->context->max_picture_bytes, r->out, r->error))
            return false;
    }
    json_object_set(r->out->job, "settings", list);
    return true;
}

static bool read_streaming(reading *r)
{
    const json_t *json = r->body->json, *options = json_object_get(json, "stream_options");
    const json_t *usage = json_object_get(options, "include_usage");
    if (usage && !json_is_null(usage) && !json_is_boolean(usage))
        return s2_http_fail(r->error, 400, "stream_options.include_usage",
                            "stream_options.include_usage must be true or false");
    r->out->streams = json_is_true(json_object_get(json, "stream"));
    r->out->includes_usage = json_is_true(usage);
    r->out->wants_progress = json_is_true(json_object_get(json, "return_progress"));
    if (r->out->wants_progress) json_object_set_new(r->out->job, "progress", json_true());
    return true;
}

bool s2_chat_request_read(const s2_body *body, const s2_chat_context *context, bool is_compare,
                          s2_chat_request *out, s2_http_error *error)
{
    *out = (s2_chat_request){ .is_compare = is_compare };
    out->job = json_pack("{s:s,s:[],s:[]}", "kind", "chat", "messages", "details");
    if (!out->job) return s2_http_fail(error, 503, NULL, "out of memory");
    reading r = { .body = body,
                  .context = context,
                  .out = out,
                  .messages = json_object_get(out->job, "messages"),
                  .details = json_object_get(out->job, "details"),
                  .error = error };
    char param[S2_JSON_PARAM];
    s2p_error why = { S2P_OK, "" };
    if (s2_json_check_fields(body->json, s2_chat_fields, "", false, context->n_ctx, param, &why) !=
        S2P_OK)
        return s2_http_fail(error, 400, param, "%s", why.message);
    return s2_other_fields_check(body->json, error) && s2_foreign_fields_check(body->json, error) &&
           s2_structured_read(body, is_compare, out->job, &out->has_tools, error) &&
           s2_reasoning_read(body->json, out->job, error) && read_model(&r) && read_streaming(&r) &&
           read_sampling(&r) && read_logprobs(&r) && read_answers(&r) &&
           (is_compare ? read_settings(&r) : read_prune(&r)) && read_messages(&r);
}

bool s2_plan_request_read(const s2_body *body, const s2_chat_context *context, const char *format,
                          s2_chat_request *out, s2_http_error *error)
{
    *out = (s2_chat_request){ .streams = false };
    out->job = json_pack("{s:s,s:s,s:[]}", "kind", "plan", "format", format, "details");
    if (!out->job) return s2_http_fail(error, 503, NULL, "out of memory");
    reading r = { .body = body,
                  .context = context,
                  .out = out,
                  .details = json_object_get(out->job, "details"),
                  .error = error };
    const json_t *image = json_object_get(body->json, "image");
    json_t *tokens = json_object_get(body->json, "tokens");
    if (!image) return s2_http_fail(error, 400, "image", "image is missing");
    if (tokens && !json_is_null(tokens)) {
        bool is_fine = json_array_size(tokens) == 2;
        json_int_t n = 1;
        for (size_t i = 0; is_fine && i < 2; i++) {
            const json_t *side = json_array_get(tokens, i);
            is_fine = json_is_integer(side) && json_integer_value(side) >= 1 &&
                      json_integer_value(side) <= S2P_MAX_SIDE;
            n *= json_integer_value(side);
        }
        if (!is_fine || n > S2P_MAX_TOKENS)
            return s2_http_fail(error, 400, "tokens",
                                "tokens must be [rows, columns], each from 1 to %d", S2P_MAX_SIDE);
        json_object_set(out->job, "tokens", tokens);
    }
    const json_t *prune = json_object_get(body->json, "prune");
    if (prune && !json_is_null(prune) && !json_is_object(prune))
        return s2_http_fail(error, 400, "prune", "prune must be an object");
    return read_prune(&r) && read_picture(&r, image, "image");
}

void s2_chat_request_free(s2_chat_request *request)
{
    for (size_t i = 0; i < request->n_pictures; i++) {
        s2_buffer_free(&request->picture[i]);
        free(request->remote[i].url);
    }
    for (size_t i = 0; i < request->n_masks; i++) s2_buffer_free(&request->mask[i]);
    json_decref(request->job);
    *request = (s2_chat_request){ .job = NULL };
}

void s2_chat_request_encode(const s2_chat_request *request, bool is_quick, s2_buffer *out)
{
    s2_buffer text;
    s2_buffer_init(&text, S2_FRAME_MAX);
    if (s2_json_write(request->job, 17, &text) != S2P_OK) out->status = S2P_ENOMEM;
    s2_job_parts parts = { .json = { text.data, text.size }, .n_blobs = request->n_pictures };
    for (size_t i = 0; i < request->n_pictures; i++)
        parts.blob[i] = (s2_blob){ request->picture[i].data, request->picture[i].size };
    for (size_t i = 0; i < request->n_masks; i++)
        parts.blob[parts.n_blobs++] = (s2_blob){ request->mask[i].data, request->mask[i].size };
    s2_job_encode(is_quick ? S2_FRAME_QUICK : S2_FRAME_JOB, &parts, 0, out);
    s2_buffer_free(&text);
}
