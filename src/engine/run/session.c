/* session.c - one conversation: set it up, take the next token, forget it. */
#include "engine/run/session.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define NODES_PER_LAYER 64 /* of a graph; and those of text between pictures */
#define NODES_BESIDES 1024
#define MAX_PIECE 4096 /* bytes of text one token can add */

double s2v_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

void s2v_session_options_init(s2v_session_options *options)
{
    *options = (s2v_session_options){ .top_p = 1.0f, .repeat_penalty = 1.0f };
}

void s2v_prune_options_init(s2v_prune_options *options)
{
    *options = (s2v_prune_options){ .method = NULL, .budget = 64 };
}

static s2p_status check_options(const s2v_session_options *o, s2p_error *error)
{
    if (o->n_ctx < 0 || o->n_ctx > (1 << 20))
        return s2_fail(error, S2P_EINVAL, "a context of %d tokens is outside 1 to %d", o->n_ctx,
                       1 << 20);
    if (o->n_batch < 0 || o->n_batch > (1 << 16))
        return s2_fail(error, S2P_EINVAL, "a batch of %d rows is outside 1 to %d", o->n_batch,
                       1 << 16);
    if ((unsigned)o->kv_type > S2V_KV_Q8_0)
        return s2_fail(error, S2P_EINVAL, "unknown cache type %d", (int)o->kv_type);
    return S2P_OK;
}

static s2p_status open_session(s2v_session *s, s2p_error *error)
{
    static const enum ggml_type types[] = {
        [S2V_KV_F16] = GGML_TYPE_F16, [S2V_KV_F32] = GGML_TYPE_F32, [S2V_KV_Q8_0] = GGML_TYPE_Q8_0
    };
    s2v_session_options *o = &s->options;
    const s2v_decoder *decoder = &s->engine->model.decoder;
    s2p_status st = check_options(o, error);
    if (st != S2P_OK) return st;
    if (o->n_ctx == 0) o->n_ctx = 4096;
    if (o->n_batch == 0) o->n_batch = 1024;
    if (o->n_batch > o->n_ctx) o->n_batch = o->n_ctx;

    const uint64_t needed = s2v_kv_bytes(decoder, o->n_ctx, types[o->kv_type]);
    const uint64_t available = s2v_memory_available();
    if (available > 0 && needed > available)
        return s2_fail(
            error, S2P_ENOMEM,
            "a context of %d tokens needs %.1f GiB, %.1f GiB are available: use a smaller -c",
            o->n_ctx, (double)needed / (1 << 30), (double)available / (1 << 30));
    st = s2v_backends_open(&s->backends, &s->engine->devices, o->n_threads, error);
    const int32_t n_nodes = NODES_PER_LAYER * decoder->p.n_layers + NODES_BESIDES;
    if (st == S2P_OK) st = s2v_graph_init(&s->graph, &s->backends, n_nodes, error);
    if (st == S2P_OK)
        st = s2v_kv_init(&s->kv, decoder, &s->engine->devices, o->n_ctx, types[o->kv_type], error);
    if (st == S2P_OK) st = s2v_stop_create(&s->stop, o->stop, o->n_stop, error);
    o->stop = NULL; /* was borrowed */
    if (st == S2P_OK) st = s2v_sampler_create(&s->sampler, decoder->p.n_vocab, error);
    s->logits = malloc((size_t)decoder->p.n_vocab * sizeof *s->logits);
    s->positions = malloc((size_t)o->n_batch * 4 * sizeof *s->positions);
    /* An answer fits into the context, its text into a piece: the token loop allocates nothing. */
    s->generated.id = malloc((size_t)o->n_ctx * sizeof *s->generated.id);
    s->generated.capacity = s->generated.id ? (size_t)o->n_ctx : 0;
    const bool has_text = s2_buffer_extend(&s->text, MAX_PIECE) != NULL &&
                          s2_buffer_extend(&s->shown, MAX_PIECE + S2V_STOP_MAX_BYTES) != NULL;
    if (st == S2P_OK && (!s->logits || !s->positions || !s->generated.id || !has_text))
        st = s2_fail(error, S2P_ENOMEM, "out of memory for the logits");
    return st;
}

s2p_status s2v_session_create(s2v_session **out, s2v_engine *engine,
                              const s2v_session_options *options, s2p_error *error)
{
    *out = NULL;
    s2v_session *s = calloc(1, sizeof *s);
    if (!s) return s2_fail_memory(error, sizeof *s, "the session");
    s->engine = engine;
    s->pending = -1;
    s2_buffer_init(&s->text, MAX_PIECE);
    s2_buffer_init(&s->shown, MAX_PIECE + S2V_STOP_MAX_BYTES);
    if (options)
        s->options = *options;
    else
        s2v_session_options_init(&s->options);
    const s2p_status st = open_session(s, error);
    if (st != S2P_OK) {
        s2v_session_free(s);
        return st;
    }
    *out = s;
    return S2P_OK;
}

void s2v_plans_free(s2v_picture_plan *plans, int32_t n)
{
    for (int32_t i = 0; i < n; i++)
        for (int p = 0; p < S2V_MAX_PARTS; p++) s2p_plan_free(plans[i].part[p]);
    free(plans);
}

void s2v_session_forget_plans(s2v_session *s)
{
    s2v_plans_free(s->plans, s->n_plans);
    s->plans = NULL;
    s->n_plans = 0;
}

void s2v_session_free(s2v_session *s)
{
    if (!s) return;
    s2v_session_forget_plans(s);
    s2v_rows_free(&s->rows);
    for (int32_t i = 0; i < S2V_MAX_IMAGES; i++) s2v_seen_forget(&s->seen[i]);
    s2v_prefix_forget(&s->prefix);
    s2v_kv_free(&s->kv);
    s2v_graph_free(&s->graph);
    s2v_backends_close(&s->backends);
    s2v_sampler_free(s->sampler);
    s2v_tokens_free(&s->generated);
    s2_buffer_free(&s->text);
    s2_buffer_free(&s->shown);
    s2v_stop_free(s->stop);
    free(s->logits);
    free(s->mask);
    free(s->positions);
    free(s);
}

void s2v_session_reset(s2v_session *s)
{
    s2v_kv_clear(&s->kv);
    s->next_pos = 0;
    s->pending = -1;
    s->has_logits = false;
    s->generated.n = 0;
    s->detokenizer.n_held = 0;
    s2v_stop_reset(s->stop);
}

void s2v_session_set_tap(s2v_session *session, s2v_tap tap, void *user)
{
    session->tap = tap;
    session->tap_user = user;
}

void s2v_session_set_recorder(s2v_session *session, s2v_recorder recorder, void *user)
{
    session->recorder = recorder;
    session->recorder_user = user;
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

static const s2p_plan *plan_of(const s2v_session *session, int32_t index, int part)
{
    return index >= 0 && index < session->n_plans ? session->plans[index].part[part] : NULL;
}

const s2p_plan *s2v_session_plan(const s2v_session *session, int32_t index)
{
    return plan_of(session, index, 0);
}

const s2p_plan *s2v_session_tile_plan(const s2v_session *session, int32_t index)
{
    return plan_of(session, index, 1);
}

s2v_framing s2v_session_framing(const s2v_session *session, int32_t index)
{
    return index >= 0 && index < session->n_plans ? session->plans[index].framing
                                                  : S2V_FRAMING_AUTO;
}

s2p_status s2v_session_seen(const s2v_session *session, int32_t index, const s2p_image *source,
                            int32_t *width, int32_t *height, uint8_t *pixels, s2p_error *error)
{
    s2_image squared = { .pixels = NULL };
    s2p_image seen = *source;
    if (s2v_session_framing(session, index) == S2V_FRAMING_SQUARE)
        seen.width = seen.height = source->width > source->height ? source->width : source->height;
    *width = seen.width;
    *height = seen.height;
    if (!pixels) return S2P_OK;
    if (seen.width != source->width || seen.height != source->height) {
        const s2p_status st = s2v_square(&session->engine->model, source, &squared, error);
        if (st != S2P_OK) return st;
        seen = squared.view;
    }
    const size_t row = 3 * (size_t)seen.width;
    for (int32_t y = 0; y < seen.height; y++)
        memcpy(pixels + (size_t)y * row, seen.pixels + y * seen.stride, row);
    s2_image_free(&squared);
    return S2P_OK;
}
