/* other_fields.c - fields of other servers that would change an answer and have no effect here.
 *
 * A field that is ignored in silence gives an answer the client did not ask for. So each of these is
 * refused, except with the value that means "off" where it comes from: many clients always send it.
 */
#include "serve/front/chat_request.h"

#include <stddef.h>
#include <string.h>

/* clang-format off */
static const struct {
    const char *name;
    double off; /* the number that means "off"; false, null, "" and empty lists always do */
} fields[] = {
    { "mirostat", 0 },           { "typical_p", 1 },          { "tfs_z", 1 },
    { "dynatemp_range", 0 },     { "dry_multiplier", 0 },     { "xtc_probability", 0 },
    { "top_n_sigma", -1 },       { "top_a", 0 },              { "epsilon_cutoff", 0 },
    { "min_tokens", 0 },         { "best_of", 1 },            { "length_penalty", 1 },
    { "use_beam_search", 0 },    { "num_beams", 1 },          { "penalty_alpha", 0 },
    { "stop_token_ids", 0 },     { "bad_words", 0 },          { "allowed_token_ids", 0 },
    { "prompt_logprobs", 0 },    { "truncate_prompt_tokens", 0 },
    { "no_repeat_ngram_size", 0 }, { "echo", 0 },             { "suffix", 0 },
    { "chat_template", 0 },      { "lora", 0 },
    { "web_search_options", 0 }, { "prediction", 0 },         { "mm_processor_kwargs", 0 },
    { "samplers", 0 },           { "min_keep", 0 },           { "n_indent", 0 },
    { "t_max_predict_ms", -1 },  { "adaptive_target", -1 },   { "n_probs", 0 },
    { "include_stop_str_in_output", 0 }, { "whitespace", 0 }, { "verbosity", 0 },
    { "functions", 0 },          { "function_call", 0 },      { "audio", 0 },
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
    const json_t *outputs = json_object_get(body, "modalities");
    for (size_t i = 0; i < json_array_size(outputs); i++) {
        const char *kind = json_string_value(json_array_get(outputs, i));
        if (!kind || strcmp(kind, "text") != 0)
            return s2_http_fail(error, 400, "modalities", "modalities: only text is supported");
    }
    return true;
}
