/* other_fields.c - fields of other servers that would change an answer and have no effect here.
 *
 * A field that is ignored in silence gives an answer the client did not ask for. So each of these is
 * refused, except with the value that means "off" where it comes from: many clients always send it.
 * The same holds for fields of a chat that the API of a door does not have.
 */
#include "serve/front/chat_request.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* clang-format off */
static const struct {
    const char *name;
    double off; /* the number that means "off"; false, null, "" and empty lists always do */
} fields[] = {
    { "mirostat", 0 },           { "typical_p", 1 },          { "tfs_z", 1 },
    { "typ_p", 1 },              { "guided_whitespace_pattern", 0 },
    { "return_tokens", 0 },      { "return_token_ids", 0 },   { "return_tokens_as_token_ids", 0 },
    { "response_fields", 0 },    { "post_sampling_probs", 0 }, { "num_return_sequences", 1 },
    { "dynatemp_range", 0 },     { "dry_multiplier", 0 },     { "xtc_probability", 0 },
    { "top_n_sigma", -1 },       { "top_a", 0 },              { "epsilon_cutoff", 0 },
    { "min_tokens", 0 },         { "best_of", 1 },            { "length_penalty", 1 },
    { "use_beam_search", 0 },    { "num_beams", 1 },          { "penalty_alpha", 0 },
    { "stop_token_ids", 0 },     { "bad_words", 0 },          { "allowed_token_ids", 0 },
    { "prompt_logprobs", 0 },    { "truncate_prompt_tokens", 0 },
    { "no_repeat_ngram_size", 0 }, { "echo", 0 },             { "suffix", 0 },
    { "chat_template", 0 },      { "lora", 0 },
    { "prediction", 0 },         { "mm_processor_kwargs", 0 },
    { "samplers", 0 },           { "min_keep", 0 },           { "n_indent", 0 },
    { "adaptive_target", -1 },   { "n_probs", 0 },
    { "include_stop_str_in_output", 0 }, { "whitespace", 0 },
    { "functions", 0 },          { "function_call", 0 },      { "audio", 0 },
};

/* Fields that another API has for something a chat has, too; in a chat they are a mistake. */
static const struct {
    const char *name, *instead;
} elsewhere[] = {
    { "max_output_tokens", "max_tokens" }, { "max_new_tokens", "max_tokens" },
    { "max_length", "max_tokens" },        { "num_predict", "max_tokens" },
    { "stop_sequences", "stop" },          { "random_seed", "seed" },
    { "system", "a message with role system" }, { "instructions", "a message with role system" },
    { "images", "parts of type image_url" },    { "options", "fields of the request itself" },
    { "think", "chat_template_kwargs" },   { "thinking", "chat_template_kwargs" },
    { "reasoning", "reasoning_effort" },
};

/* Fields of a chat that a door may not have, and the number that changes nothing. */
static const struct {
    const char *name;
    double off;
} of_chat[] = {
    { "max_tokens", NAN },       { "max_completion_tokens", NAN }, { "n_predict", NAN },
    { "temperature", NAN },      { "top_p", 1 },              { "top_k", 0 },
    { "min_p", 0 },              { "repeat_penalty", 1 },     { "repetition_penalty", 1 },
    { "presence_penalty", 0 },   { "frequency_penalty", 0 },  { "seed", NAN },
    { "stop", NAN },             { "n", 1 },                  { "logprobs", 0 },
    { "top_logprobs", 0 },       { "response_format", NAN },  { "json_schema", NAN },
    { "grammar", NAN },          { "structured_outputs", NAN }, { "guided_json", NAN },
    { "guided_grammar", NAN },   { "guided_choice", NAN },    { "guided_regex", NAN },
    { "tools", NAN },            { "logit_bias", NAN },       { "ignore_eos", NAN },
    { "reasoning_effort", NAN }, { "chat_template_kwargs", NAN },
};
/* clang-format on */

/* Whether a value asks for nothing. */
static bool is_off(const json_t *value, double off)
{
    switch (json_typeof(value)) {
    case JSON_NULL:
    case JSON_FALSE:
        return true;
    case JSON_INTEGER:
    case JSON_REAL:
        return json_number_value(value) == off;
    case JSON_STRING:
        return json_string_length(value) == 0 || strcmp(json_string_value(value), "none") == 0;
    case JSON_ARRAY:
        return json_array_size(value) == 0;
    case JSON_OBJECT:
        return json_object_size(value) == 0;
    default:
        return false;
    }
}

bool s2_other_fields_check(const json_t *body, s2_http_error *error)
{
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        const json_t *value = json_object_get(body, fields[i].name);
        if (value && !is_off(value, fields[i].off))
            return s2_http_fail(error, 400, fields[i].name, "%s is not supported", fields[i].name);
    }
    const json_t *most = json_object_get(body, "t_max_predict_ms");
    if (json_number_value(most) > 0 || (most && !json_is_number(most) && !is_off(most, 0)))
        return s2_http_fail(error, 400, "t_max_predict_ms", "t_max_predict_ms is not supported");
    const char *verbosity = s2_json_string(body, "verbosity");
    if (verbosity && strcmp(verbosity, "medium") != 0) /* what it is without the field */
        return s2_http_fail(error, 400, "verbosity", "verbosity is not supported");
    if (json_is_object(json_object_get(body, "web_search_options"))) /* also an empty one asks */
        return s2_http_fail(error, 400, "web_search_options",
                            "web_search_options is not supported");
    if (json_is_false(json_object_get(body, "skip_special_tokens")))
        return s2_http_fail(error, 400, "skip_special_tokens", "skip_special_tokens must be true");
    const json_t *outputs = json_object_get(body, "modalities");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const char *kind = json_string_value(json_array_get(outputs, i));
        if (!kind || strcmp(kind, "text") != 0)
            return s2_http_fail(error, 400, "modalities", "modalities: only text is supported");
    }
    return true;
}

bool s2_foreign_fields_check(const json_t *chat, s2_http_error *error)
{
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        const char *name = elsewhere[i].name;
        const json_t *value = json_object_get(chat, name);
        if (value && !is_off(value, NAN))
            return s2_http_fail(error, 400, name, "%s is not a field of this API; use %s", name,
                                elsewhere[i].instead);
    }
    return true;
}

bool s2_left_fields_check(const json_t *own, const json_t *chat, s2_http_error *error)
{
    for (size_t i = 0; i < sizeof of_chat / sizeof *of_chat; i++) {
        const char *name = of_chat[i].name;
        const json_t *value = json_object_get(own, name);
        if (value && !json_object_get(chat, name) && !is_off(value, of_chat[i].off))
            return s2_http_fail(error, 400, name, "%s is not a field of this API", name);
    }
    return s2_other_fields_check(own, error);
}
