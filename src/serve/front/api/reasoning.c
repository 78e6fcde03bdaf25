/* reasoning.c - fields about thoughts, as llama-server has them.
 *
 *     "chat_template_kwargs": {"enable_thinking": true}   whether the model thinks; otherwise as --reasoning says
 *     "enable_thinking": true                             the same, as other servers have it
 *     "reasoning_effort": "none"                          it does not; other efforts change nothing
 *     "thinking_budget_tokens": N                         or "reasoning_budget_tokens": tokens of thoughts; -1: no limit
 *     "reasoning_format": "none"                          thoughts stay in the text, up to </think>
 *
 * Models without thoughts answer as ever.
 */
#include "serve/front/chat_request.h"

#include <string.h>

static bool read_template(const json_t *body, json_t *job, s2_http_error *error)
{
    const json_t *own = json_object_get(body, "chat_template_kwargs");
    const char *name;
    json_t *value;
    if (!own || json_is_null(own)) return true;
    if (!json_is_object(own))
        return s2_http_fail(error, 400, "chat_template_kwargs",
                            "chat_template_kwargs must be an object");
    json_object_foreach((json_t *)(uintptr_t)own, name, value)
    {
        if (strcmp(name, "enable_thinking") != 0 && strcmp(name, "thinking") != 0)
            return s2_http_fail(error, 400, "chat_template_kwargs",
                                "chat_template_kwargs: %.60s is not supported; there is "
                                "enable_thinking",
                                name);
        if (!json_is_boolean(value))
            return s2_http_fail(error, 400, "chat_template_kwargs",
                                "chat_template_kwargs: %s must be true or false", name);
        json_object_set(job, "reasoning", value);
    }
    return true;
}

static bool read_budget(const json_t *body, const char *name, json_t *job, s2_http_error *error)
{
    const json_t *value = json_object_get(body, name);
    if (!value || json_is_null(value)) return true;
    const json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < -1 || n > 1 << 20)
        return s2_http_fail(error, 400, name, "%s must be an integer from -1 to %d", name, 1 << 20);
    json_object_set_new(job, "reasoning_budget", json_integer(n));
    return true;
}

bool s2_reasoning_read(const json_t *body, json_t *job, s2_http_error *error)
{
    const char *effort = s2_json_string(body, "reasoning_effort");
    const char *format = s2_json_string(body, "reasoning_format");
    static const char *const formats[] = { "none", "auto", "deepseek" };
    size_t i = 0;
    static const char *const efforts[] = { "none", "minimal", "low", "medium",
                                           "high", "xhigh",   "max" };
    const json_t *given = json_object_get(body, "reasoning_effort");
    json_t *thinks = json_object_get(body, "enable_thinking");
    size_t k = 0;
    while (effort && k < sizeof efforts / sizeof *efforts && strcmp(effort, efforts[k]) != 0) k++;
    if ((given && !json_is_null(given) && !effort) || k == sizeof efforts / sizeof *efforts)
        return s2_http_fail(error, 400, "reasoning_effort",
                            "reasoning_effort must be none, minimal, low, medium, high, xhigh or "
                            "max");
    if (thinks && !json_is_null(thinks) && !json_is_boolean(thinks))
        return s2_http_fail(error, 400, "enable_thinking", "enable_thinking must be true or false");
    if (json_is_boolean(thinks)) json_object_set(job, "reasoning", thinks);
    if (effort && k == 0) json_object_set_new(job, "reasoning", json_false());
    while (format && i < sizeof formats / sizeof *formats && strcmp(format, formats[i]) != 0) i++;
    if (i == sizeof formats / sizeof *formats)
        return s2_http_fail(error, 400, "reasoning_format",
                            "reasoning_format must be none, auto or deepseek");
    if (format && i == 0) json_object_set_new(job, "reasoning_in_text", json_true());
    return read_template(body, job, error) &&
           read_budget(body, "reasoning_budget_tokens", job, error) &&
           read_budget(body, "thinking_budget_tokens", job, error);
}
