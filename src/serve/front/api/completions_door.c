/* completions_door.c - text to be continued, without a chat format: OpenAI's /v1/completions and
 * llama-server's /completion. Special tokens in the text are parsed. */
#include "serve/front/api/door.h"

#include <string.h>

static bool read_completion(const json_t *own, json_t *chat, s2_http_error *error)
{
    static const char *const refused[] = { "suffix",  "echo",     "logprobs",
                                           "n_probs", "messages", "image_data",
                                           "images",  "tools",    NULL };
    static const char *const same[] = { "model",
                                        "max_tokens",
                                        "n_predict",
                                        "temperature",
                                        "top_p",
                                        "top_k",
                                        "min_p",
                                        "stop",
                                        "seed",
                                        "stream",
                                        "stream_options",
                                        "presence_penalty",
                                        "n",
                                        "frequency_penalty",
                                        "repeat_penalty",
                                        "repetition_penalty",
                                        "repeat_last_n",
                                        "ignore_eos",
                                        "logit_bias",
                                        "prune",
                                        "best_of",
                                        "grammar",
                                        "json_schema",
                                        "response_format",
                                        "structured_outputs",
                                        "guided_json",
                                        "guided_grammar",
                                        "guided_choice",
                                        "guided_regex",
                                        "mirostat",
                                        "typical_p",
                                        "dry_multiplier",
                                        "xtc_probability",
                                        "dynatemp_range",
                                        NULL };
    json_t *prompt = json_object_get(own, "prompt");
    if (json_is_array(prompt) && json_array_size(prompt) == 1) prompt = json_array_get(prompt, 0);
    if (!json_is_string(prompt))
        return s2_http_fail(error, 400, "prompt",
                            "prompt must be a string, or a list of one string");
    if (!s2_door_refuse(own, refused, "is not supported here", error)) return false;
    s2_door_take_all(own, same, chat);
    json_object_set_new(chat, "raw_prompt", json_true());
    s2_door_add(chat, "user", json_incref(prompt));
    return true;
}

/* --- OpenAI's ------------------------------------------------------------------------------- */

/* Takes over text. */
static json_t *object_of(const s2_exchange *x, json_t *text, const char *reason)
{
    const s2_chat_answer *c = &x->chat;
    return json_pack("{s:s,s:s,s:I,s:s,s:s,s:[{s:i,s:o,s:n,s:s?}]}", "id", c->id, "object",
                     "text_completion", "created", (json_int_t)c->created, "model", c->model,
                     "system_fingerprint", c->fingerprint, "choices", "index", x->chat.at, "text",
                     text, "logprobs", "finish_reason", reason);
}

static const char *reason_of(const s2_exchange *x)
{
    return x->chat.choice[x->chat.at].is_cut ? "length" : "stop";
}

static void begin(s2_exchange *x) { (void)x; }

static void send_text(s2_exchange *x, const char *text, size_t n)
{
    s2_exchange_event(x, object_of(x, json_stringn(text, n), NULL));
}

static void add_figures(json_t *answer, const json_t *result)
{
    static const char *const names[] = { "usage", "timings", "prune", NULL };
    s2_door_take_all(result, names, answer);
}

static void send_done(s2_exchange *x, const json_t *result)
{
    s2_chat_answer *c = &x->chat;
    for (c->at = 0; c->at < c->n_choices; c->at++)
        s2_exchange_event(x, object_of(x, json_string(""), reason_of(x)));
    c->at = 0;
    if (x->chat.includes_usage) {
        json_t *last = object_of(x, json_string(""), NULL);
        json_object_set_new(last, "choices", json_array());
        add_figures(last, result);
        s2_exchange_event(x, last);
    }
    s2_exchange_line(x, "data: [DONE]\n\n");
}

static json_t *whole(s2_exchange *x, const json_t *result)
{
    s2_chat_answer *c = &x->chat;
    json_t *answer = object_of(x, s2_door_answer(x), reason_of(x));
    for (c->at = 1; c->at < c->n_choices; c->at++) {
        json_t *other = object_of(x, s2_door_answer(x), reason_of(x));
        json_array_extend(json_object_get(answer, "choices"), json_object_get(other, "choices"));
        json_decref(other);
    }
    c->at = 0;
    add_figures(answer, result);
    return answer;
}

const s2_door s2_door_completions = { .id = "cmpl-",
                                      .has_choices = true,
                                      .read = read_completion,
                                      .begin = begin,
                                      .text = send_text,
                                      .done = send_done,
                                      .whole = whole };

/* --- llama-server's -------------------------------------------------------------------------- */

static void llama_text(s2_exchange *x, const char *text, size_t n)
{
    s2_exchange_event(x, json_pack("{s:i,s:s%,s:b}", "index", 0, "content", text, n, "stop", 0));
}

static json_t *llama_end(const s2_exchange *x, json_t *text, const json_t *result)
{
    static const char *const names[] = { "timings", "prune", NULL };
    const bool is_cut = s2_door_is_cut(result);
    json_t *answer =
        json_pack("{s:i,s:o,s:b,s:s,s:s,s:I,s:I,s:I,s:b}", "index", 0, "content", text, "stop", 1,
                  "model", x->chat.model, "stop_type", is_cut ? "limit" : "eos", "tokens_predicted",
                  s2_door_count(result, "completion_tokens"), "tokens_evaluated",
                  s2_door_count(result, "prompt_tokens"), "tokens_cached", s2_door_cached(result),
                  "truncated", 0);
    s2_door_take_all(result, names, answer);
    return answer;
}

static void llama_done(s2_exchange *x, const json_t *result)
{
    s2_exchange_event(x, llama_end(x, json_string(""), result));
}

static json_t *llama_whole(s2_exchange *x, const json_t *result)
{
    return llama_end(x, s2_door_answer(x), result);
}

const s2_door s2_door_completion = { .id = "cmpl-",
                                     .read = read_completion,
                                     .begin = begin,
                                     .text = llama_text,
                                     .done = llama_done,
                                     .whole = llama_whole };
