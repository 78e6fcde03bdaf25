/* answer.c - one token after the other: pick it, run it, give its text. */
#include "engine/session/answer.h"

#include "engine/session/room.h"

#include <string.h>

/* --- one token through all layers -------------------------------------------------------- */

struct ggml_tensor *s2v_logits_draw(s2v_session *s, struct ggml_tensor *h)
{
    const s2v_model *model = &s->engine->model;
    if (h->ne[1] > 1)
        h = ggml_view_2d(s->graph.ctx, h, h->ne[0], 1, h->nb[1], (size_t)(h->ne[1] - 1) * h->nb[1]);
    struct ggml_tensor *logits = model->arch->head(&s->graph, &model->decoder, h);
    ggml_set_output(logits);
    s2v_graph_expand(&s->graph, logits);
    return logits;
}

s2p_status s2v_logits_read(s2v_session *s, const struct ggml_tensor *logits, s2p_error *error)
{
    const s2p_status st = s2v_graph_read(logits, s->logits, error);
    s->has_logits = st == S2P_OK;
    return st;
}

void s2v_token_ran(s2v_session *s)
{
    s2v_past_append(&s->past, 0, s->past.n_layers, 1, &s->next_pos);
    s->next_pos++;
    s->pending = -1;
}

s2p_status s2v_run_token(s2v_session *s, int32_t token, s2p_error *error)
{
    s2v_graph *graph = &s->graph;
    const s2v_model *model = &s->engine->model;
    const s2v_decoder *decoder = &model->decoder;
    TRY(s2v_room_for_token(s, error));
    TRY(s2v_graph_begin(graph, error));
    for (int32_t plane = 0; plane < decoder->p.n_planes; plane++) s->position[plane] = s->next_pos;

    const s2v_past *const past = &s->past;
    TRY(s2v_row_masks_draw(&s->row_masks, graph, decoder, &past, &s->next_pos, 1, error));
    s2v_span span = { .n = 1, .window_mask = s->row_masks.mask };
    struct ggml_tensor *id = s2v_graph_input(graph, GGML_TYPE_I32, 1, 1, &token);
    span.pos = s2v_graph_input(graph, GGML_TYPE_I32, decoder->p.n_planes, 1, s->position);
    struct ggml_tensor *h = s2v_draw_embedding(graph, decoder, id);
    h = model->arch->layers(graph, decoder, &s->past, h, &span, 0, decoder->p.n_layers);
    struct ggml_tensor *logits = s2v_logits_draw(s, h);
    TRY(s2v_graph_compute(graph, error));
    s2v_token_ran(s);
    return s2v_logits_read(s, logits, error);
}

/* --- the answer ---------------------------------------------------------------------------- */

void s2v_answer_clear(s2v_session *s)
{
    s->has_logits = false;
    s->generated.n = 0;
    s->detokenizer = (s2v_detokenizer){ .n_held = 0 };
    s->n_carried = 0;
    s2v_stop_reset(s->stop);
    s->thoughts = (s2v_thoughts){ .has_begun = false };
    s2v_guided_restart(&s->guided);
}

s2p_status s2v_answer_start(s2v_session *s, s2p_error *error)
{
    if (s->thoughts.is_open) s2v_guided_think(&s->guided);
    return s2v_sampler_start(s->sampler, &s->options.sampling, error);
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
    s->text.size = s->n_carried;
    s->n_carried = s->shown.size = 0;
    s->text.status = s->shown.status =
        S2P_OK; /* one absurdly long token does not silence the next */
    if (is_end)
        s2v_detokenize_end(&s->detokenizer, &s->text);
    else if (s->thoughts.has_begun &&
             token == s->thoughts.end) /* also where it is a control token */
        s2v_token_bytes(s->engine->tokenizer, token, true, &s->text);
    else
        s2v_detokenize(s->engine->tokenizer, &s->detokenizer, token, &s->text);
    const bool is_stopped = s2v_stop_feed(s->stop, s->text.data, s->text.size, &s->shown);
    if (is_end && !is_stopped) s2v_stop_end(s->stop, &s->shown);
    copy_text(&s->shown, text, capacity);
    return is_stopped;
}

void s2v_session_get_rest(s2v_session *s, char *text, size_t capacity)
{
    s->shown.size = 0;
    s->shown.status = S2P_OK;
    if (s->n_carried > 0) (void)s2v_stop_feed(s->stop, s->text.data, s->n_carried, &s->shown);
    s->n_carried = 0;
    s2v_stop_end(s->stop, &s->shown);
    copy_text(&s->shown, text, capacity);
}

s2p_status s2v_answer_check(s2v_session *s, s2p_error *error)
{
    if (s->is_busy) return s2_fail(error, S2P_EINVAL, "the session is in a prefill");
    if (!s->has_logits && s->pending < 0)
        return s2_fail(error, S2P_EINVAL, "prefill a prompt before asking for tokens");
    return s->pending >= 0 ? s2v_room_for_token(s, error) : S2P_OK;
}

s2p_status s2v_answer_pick(s2v_session *s, char *text, size_t capacity, int *done, s2p_error *error)
{
    int32_t token;
    bool is_complete = false;
    if (s2v_thoughts_are_over(&s->thoughts) && s->detokenizer.n_held == 0) {
        token = s->thoughts.end;
        s2v_sampler_skip(s->sampler, 1);
    } else {
        TRY(s2v_guided_pick(&s->guided, s->sampler, s->logits, &token, error));
    }
    TRY(s2v_tokens_add(&s->generated, token));
    s2v_sampler_accept(s->sampler, token);
    s2v_thoughts_take(&s->thoughts, token);
    s->pending = token;
    *done = s2v_tokenizer_ends(s->engine->tokenizer, token) && !s->options.sampling.ignore_eos;
    if (!*done) TRY(s2v_guided_take(&s->guided, token, &is_complete, error));
    if (give_text(s, token, *done, text, capacity)) *done = 1;
    if (is_complete && !*done) { /* nothing can follow: what is held back is the end */
        *done = 1;
        s2v_stop_end(s->stop, &s->shown);
        copy_text(&s->shown, text, capacity);
    }
    return S2P_OK;
}

s2p_status s2v_session_next(s2v_session *s, char *text, size_t capacity, int *done,
                            s2p_error *error)
{
    *done = 0;
    if (capacity > 0) text[0] = '\0';
    TRY(s2v_answer_check(s, error));
    if (s->pending >= 0) TRY(s2v_run_token(s, s->pending, error));
    return s2v_answer_pick(s, text, capacity, done, error);
}

int s2v_session_thinks(const s2v_session *session) { return session->thoughts.has_begun; }

const int32_t *s2v_session_tokens(const s2v_session *session, size_t *n)
{
    *n = session->generated.n;
    return session->generated.id;
}

const float *s2v_session_logits(const s2v_session *session) { return session->logits; }

/* --- going on elsewhere ------------------------------------------------------------------ */

void s2v_place_get(const s2v_session *s, s2v_place *out)
{
    *out = (s2v_place){ .next_pos = s->next_pos,
                        .pending = s->pending,
                        .thinks = s->thoughts.has_begun,
                        .thought_budget = s->thoughts.budget,
                        .tokens = s->generated.id,
                        .n_tokens = s->generated.n,
                        .logits = s->has_logits ? s->logits : NULL,
                        .held = s->text.data,
                        .n_held = s->n_carried,
                        .detokenizer = s->detokenizer };
    if (s->n_carried == 0) out->held = s2v_stop_held(s->stop, &out->n_held);
}

s2p_status s2v_place_set(s2v_session *s, const s2v_place *place, s2p_error *error)
{
    s2v_answer_clear(s);
    if (place->thinks)
        s->thoughts = s2v_thoughts_begin(s->engine->tokenizer, place->thought_budget);
    TRY(s2v_answer_start(s, error));
    for (size_t i = 0; i < place->n_tokens; i++) {
        if (s2v_tokens_add(&s->generated, place->tokens[i]) != S2P_OK)
            return s2_fail(error, S2P_ENOMEM, "out of memory for %zu tokens", place->n_tokens);
        s2v_sampler_accept(s->sampler, place->tokens[i]);
        s2v_thoughts_take(&s->thoughts, place->tokens[i]);
        bool is_complete;
        if (!s2v_tokenizer_ends(s->engine->tokenizer, place->tokens[i]) &&
            s2v_guided_take(&s->guided, place->tokens[i], &is_complete, NULL) != S2P_OK)
            s->guided.state = S2V_GUIDED_LOST;
    }
    s2v_sampler_skip(s->sampler, place->n_tokens);
    s->text.size = 0;
    s2_buffer_append(&s->text, place->held, place->n_held); /* has room for all that can be held */
    s->n_carried = place->n_held;
    s->detokenizer = place->detokenizer;
    s->next_pos = place->next_pos;
    s->pending = place->pending;
    s->has_logits = place->logits != NULL;
    if (place->logits)
        memcpy(s->logits, place->logits,
               (size_t)s->engine->model.decoder.p.n_vocab * sizeof *s->logits);
    return S2P_OK;
}
