/* answer.c - one token after the other: pick it, run it, give its text. */
#include "engine/run/answer.h"

#include "engine/run/layers.h"

#include <string.h>

void s2v_answer_clear(s2v_session *s)
{
    s->has_logits = false;
    s->generated.n = 0;
    s->detokenizer.n_held = 0;
    s2v_stop_reset(s->stop);
}

s2p_status s2v_answer_start(s2v_session *s, s2p_error *error)
{
    const s2v_session_options *o = &s->options;
    const s2v_sampling sampling = { .temperature = o->temperature,
                                    .top_k = o->top_k,
                                    .top_p = o->top_p,
                                    .min_p = o->min_p,
                                    .repeat_penalty = o->repeat_penalty,
                                    .presence_penalty = o->presence_penalty,
                                    .frequency_penalty = o->frequency_penalty,
                                    .penalty_window = 64,
                                    .seed = o->seed };
    return s2v_sampler_start(s->sampler, &sampling, error);
}

/* Into the caller's memory, cut to whole characters. */
static void copy_text(const s2_buffer *from, char *text, size_t capacity)
{
    size_t n = from->size;
    if (capacity == 0) return;
    if (n > capacity - 1) {
        n = capacity - 1;
        while (n > 0 && (from->data[n] & 0xC0) == 0x80) n--; /* not inside a character */
    }
    if (n > 0) memcpy(text, from->data, n);
    text[n] = '\0';
}

/* The text of the token, as far as no stop string can begin in it; true: one is complete. */
static bool give_text(s2v_session *s, int32_t token, bool is_end, char *text, size_t capacity)
{
    s->text.size = s->shown.size = 0;
    s->text.status = s->shown.status =
        S2P_OK; /* one absurdly long token does not silence the next */
    if (is_end)
        s2v_detokenize_end(&s->detokenizer, &s->text);
    else
        s2v_detokenize(s->engine->tokenizer, &s->detokenizer, token, &s->text);
    const bool is_stopped = s2v_stop_feed(s->stop, s->text.data, s->text.size, &s->shown);
    if (is_end && !is_stopped) s2v_stop_end(s->stop, &s->shown);
    copy_text(&s->shown, text, capacity);
    return is_stopped;
}

void s2v_session_rest(s2v_session *s, char *text, size_t capacity)
{
    s->shown.size = 0;
    s->shown.status = S2P_OK;
    s2v_stop_end(s->stop, &s->shown);
    copy_text(&s->shown, text, capacity);
}

s2p_status s2v_session_next(s2v_session *s, char *text, size_t capacity, int *done,
                            s2p_error *error)
{
    *done = 0;
    if (capacity > 0) text[0] = '\0';
    if (!s->has_logits && s->pending < 0)
        return s2_fail(error, S2P_EINVAL, "prefill a prompt before asking for tokens");
    s2p_status st = S2P_OK;
    if (s->pending >= 0) {
        const int32_t token = s->pending;
        st = s2v_run_token(s, token, error);
        if (st != S2P_OK) return st;
        s->pending = -1;
    }
    int32_t token;
    st = s2v_sampler_pick(s->sampler, s->logits, &token, error);
    if (st == S2P_OK) st = s2v_tokens_add(&s->generated, token);
    if (st != S2P_OK) return st;
    s2v_sampler_accept(s->sampler, token);
    s->pending = token;
    *done = s2v_tokenizer_ends(s->engine->tokenizer, token) && !s->options.ignore_eos;
    if (give_text(s, token, *done, text, capacity)) *done = 1;
    return S2P_OK;
}

const int32_t *s2v_session_tokens(const s2v_session *session, size_t *n)
{
    *n = session->generated.n;
    return session->generated.id;
}

const float *s2v_session_logits(const s2v_session *session) { return session->logits; }
