/* logit_bias.c - the field logit_bias in the forms clients send it, as one list for the engine:
 *
 *     {"15043": -100}                      OpenAI, vLLM
 *     [[15043, 1.5], ["Hello", false]]     llama-server: also texts, and false for "never"
 */
#include "serve/front/chat_request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ENTRIES 300
#define MAX_TEXT 256 /* bytes */
#define MOST_BIAS 1000.0

static bool refuse(s2_http_error *error)
{
    return s2_http_fail(
        error, 400, "logit_bias",
        "logit_bias must be an object of token numbers, or a list of [token or "
        "text, bias]; a bias is a number from -%.0f to %.0f, or false to forbid the token",
        MOST_BIAS, MOST_BIAS);
}

/* A token or a text, and its bias. */
static bool add(json_t *list, json_t *what, const json_t *bias, s2_http_error *error)
{
    const double number = json_number_value(bias);
    const bool is_never = json_is_false(bias);
    const size_t n = json_string_length(what);
    const bool is_token = json_is_integer(what) && json_integer_value(what) >= 0 &&
                          json_integer_value(what) <= INT32_MAX;
    if (!is_token && (!json_is_string(what) || n == 0 || n > MAX_TEXT)) return refuse(error);
    if (!is_never && (!json_is_number(bias) || !(fabs(number) <= MOST_BIAS))) return refuse(error);
    json_array_append_new(list,
                          json_pack("[O,o]", what, is_never ? json_false() : json_real(number)));
    return true;
}

/* "15043" is token 15043; any other key is a text. */
static json_t *token_of(const char *key)
{
    const size_t n = strlen(key);
    return n > 0 && n < 10 && strspn(key, "0123456789") == n
               ? json_integer((json_int_t)strtol(key, NULL, 10))
               : json_string(key);
}

bool s2_logit_bias_read(const json_t *value, json_t *sampling, s2_http_error *error)
{
    const char *key;
    json_t *one;
    if (!value || json_is_null(value)) return true;
    const size_t n = json_is_object(value) ? json_object_size(value) : json_array_size(value);
    if (!json_is_object(value) && !json_is_array(value)) return refuse(error);
    if (n > MAX_ENTRIES)
        return s2_http_fail(error, 400, "logit_bias", "logit_bias has %zu entries (limit %d)", n,
                            MAX_ENTRIES);
    if (n == 0) return true;
    json_t *list = json_array();
    json_object_set_new(sampling, "bias", list);
    if (json_is_array(value)) {
        for (size_t i = 0; i < n; i++) {
            const json_t *pair = json_array_get(value, i);
            if (json_array_size(pair) != 2) return refuse(error);
            if (!add(list, json_array_get(pair, 0), json_array_get(pair, 1), error)) return false;
        }
        return true;
    }
    json_object_foreach((json_t *)(uintptr_t)value, key, one)
    {
        json_t *token = token_of(key);
        const bool is_fine = add(list, token, one, error);
        json_decref(token);
        if (!is_fine) return false;
    }
    return true;
}
