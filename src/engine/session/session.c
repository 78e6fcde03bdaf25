/* session.c - one conversation: create it, reset it, return its plans. */
#include "engine/session/session.h"

#include "engine/session/answer.h"
#include "engine/session/memory.h"
#include "engine/vision/arch.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PIECE 4096 /* bytes of text one token can add */
_Static_assert(S2V_TEXT_BYTES > MAX_PIECE + S2V_STOP_MAX_BYTES, "one token's text");

/* The list of biases, which was borrowed, as a copy that the session owns. */
static s2p_status copy_bias(const s2v_sampling *from, s2v_logit_bias **out, s2p_error *error)
{
    const size_t n = from->n_bias <= S2V_BIAS_MAX ? from->n_bias : 0; /* refused by the sampler */
    *out = NULL;
    if (n == 0) return S2P_OK;
    if (!from->bias) return s2_fail(error, S2P_EINVAL, "the list of biases is missing");
    *out = malloc(n * sizeof **out);
    if (!*out) return s2_fail_memory(error, n * sizeof **out, "the biases");
    memcpy(*out, from->bias, n * sizeof **out);
    return S2P_OK;
}

s2p_status s2v_session_create(s2v_session **out, s2v_engine *engine,
                              const s2v_session_options *options, s2p_error *error)
{
    *out = NULL;
    s2v_session_options read;
    TRY(s2v_session_options_read(&read, options, error));
    s2v_session *s = calloc(1, sizeof *s);
    if (!s) return s2_fail_memory(error, sizeof *s, "the session");
    s->options = read;
    s->grows = read.n_ctx == 0;
    s->engine = engine;
    s->pending = -1;
    s2_buffer_init(&s->text, MAX_PIECE + S2V_STOP_MAX_BYTES);
    s2_buffer_init(&s->shown, MAX_PIECE + S2V_STOP_MAX_BYTES);
    s2v_session_options *o = &s->options;
    const s2v_decoder *decoder = &engine->model.decoder;
    s2v_kv_types types = { GGML_TYPE_F16, GGML_TYPE_F16 };
    s2p_status st = s2v_session_settle(o, engine, error);
    if (st == S2P_OK) types = s2v_kv_types_of(o->kv_type, o->kv_type_v);

    /* A graph first: with it the rest is measured before any of it is allocated. */
    if (st == S2P_OK) st = s2v_backends_open(&s->backends, &engine->devices, o->n_threads, error);
    if (st == S2P_OK)
        st = s2v_graph_init(&s->graph, &s->backends, s2v_session_nodes(engine), error);
    s->graph.traffic = &s->traffic;
    if (st == S2P_OK) st = s2v_memory_take(s, types, error);
    if (st == S2P_OK) st = s2v_reserve_cache(s, types, error);
    if (st == S2P_OK)
        st = s2v_past_init(&s->past, decoder, &engine->devices, o->n_ctx, types, error);
    s->past.traffic = &s->traffic;
    s->past.is_plain = o->plain_attention;
    if (st == S2P_OK) st = s2v_reserve_graphs(s, types, error);
    if (st == S2P_OK) st = s2v_row_masks_reserve(&s->row_masks, decoder, o->n_ctx, error);

    if (st == S2P_OK) st = s2v_stop_create(&s->stop, o->sampling.stop, o->sampling.n_stop, error);
    o->sampling.stop = NULL; /* was borrowed */
    if (st == S2P_OK) st = copy_bias(&o->sampling, &s->bias, error);
    o->sampling.bias = s->bias;
    if (st == S2P_OK) st = s2v_guided_use(&s->guided, o->sampling.constraint, engine, error);
    if (st == S2P_OK) st = s2v_sampler_create(&s->sampler, decoder->p.n_vocab, error);
    if (st == S2P_OK) {
        /* An answer fits into the context, its text into a piece: the token loop allocates nothing. */
        s->logits = malloc((size_t)decoder->p.n_vocab * sizeof *s->logits);
        s->generated.id = malloc((size_t)o->n_ctx * sizeof *s->generated.id);
        s->generated.capacity = s->generated.id ? (size_t)o->n_ctx : 0;
        const bool has_text = s2_buffer_extend(&s->text, MAX_PIECE + S2V_STOP_MAX_BYTES) != NULL &&
                              s2_buffer_extend(&s->shown, MAX_PIECE + S2V_STOP_MAX_BYTES) != NULL;
        if (!s->logits || !s->generated.id || !has_text)
            st = s2_fail(error, S2P_ENOMEM, "out of memory for the logits");
    }
    if (st == S2P_OK)
        *out = s;
    else
        s2v_session_free(s);
    return st;
}

void s2v_session_free(s2v_session *s)
{
    if (!s) return;
    s2v_memory_give_back(s);
    s2v_plans_free(&s->plans);
    s2v_last_frame_free(&s->last_frame);
    s2v_rows_free(&s->rows);
    s2v_unrounded_end(&s->unrounded);
    s2v_past_free(&s->past);
    s2v_many_free(&s->many);
    s2v_row_masks_free(&s->row_masks);
    s2v_graph_free(&s->graph);
    s2v_backends_close(&s->backends);
    s2v_sampler_free(s->sampler);
    s2v_guided_free(&s->guided);
    s2v_tokens_free(&s->generated);
    s2_buffer_free(&s->text);
    s2_buffer_free(&s->shown);
    s2v_stop_free(s->stop);
    free(s->bias);
    free(s->logits);
    free(s);
}

int32_t s2v_session_length(const s2v_session *s)
{
    return s2v_past_length(&s->past, s->past.n_layers - 1);
}

void s2v_session_reset(s2v_session *s)
{
    s2v_past_clear(&s->past);
    s2v_answer_clear(s);
    s->next_pos = 0;
    s->pending = -1;
}

s2p_status s2v_session_set_sampling(s2v_session *s, const s2v_sampling *sampling, s2p_error *error)
{
    s2v_stop *stop = NULL;
    s2v_sampling read;
    TRY(s2v_sampling_read(&read, sampling, error));
    TRY(s2v_stop_create(&stop, read.stop, read.n_stop, error));
    s2v_logit_bias *bias = NULL;
    s2p_status st = copy_bias(&read, &bias, error);
    if (st == S2P_OK) st = s2v_guided_use(&s->guided, read.constraint, s->engine, error);
    if (st != S2P_OK) {
        free(bias);
        s2v_stop_free(stop);
        return st;
    }
    s2v_stop_free(s->stop);
    s->stop = stop;
    free(s->bias);
    s->bias = bias;
    s->options.sampling = read;
    s->options.sampling.bias = bias;
    s->options.sampling.stop = NULL; /* was borrowed */
    return S2P_OK;
}

void s2v_session_set_recorder(s2v_session *session, s2v_recorder recorder, void *user)
{
    session->recorder = recorder;
    session->recorder_user = user;
}

void s2v_session_get_traffic(const s2v_session *session, uint64_t *up, uint64_t *down)
{
    *up = session->traffic.up;
    *down = session->traffic.down;
}

/* --- the pictures of the last prefill -------------------------------------------------- */

static const s2v_picture_plan *find_picture(const s2v_session *session, int32_t index)
{
    return index >= 0 && index < session->plans.n ? &session->plans.picture[index] : NULL;
}

const s2p_plan *s2v_session_plan(const s2v_session *session, int32_t index)
{
    const s2v_picture_plan *picture = find_picture(session, index);
    return picture ? picture->part[0] : NULL;
}

const s2p_plan *s2v_session_tile_plan(const s2v_session *session, int32_t index)
{
    const s2v_picture_plan *picture = find_picture(session, index);
    return picture ? picture->part[1] : NULL;
}

const int32_t *s2v_session_tower_tokens(const s2v_session *session, int32_t index, int32_t *n)
{
    const s2v_picture_plan *picture = find_picture(session, index);
    *n = picture ? picture->n_tokens : 0;
    return picture ? picture->token : NULL;
}

s2v_framing s2v_session_framing(const s2v_session *session, int32_t index)
{
    const s2v_picture_plan *picture = find_picture(session, index);
    return picture ? picture->framing : S2V_FRAMING_AUTO;
}

s2p_status s2v_session_get_picture(const s2v_session *session, int32_t index,
                                   const s2p_image *source, int32_t *width, int32_t *height,
                                   uint8_t *pixels, s2p_error *error)
{
    const s2v_model *model = &session->engine->model;
    const s2v_framing framing = s2v_session_framing(session, index);
    s2_image squared = { .pixels = NULL };
    s2_size size = { source->width, source->height };
    if (model->arch->measured)
        TRY(model->arch->measured(model, framing, source, &size, pixels ? &squared : NULL, error));
    *width = size.width;
    *height = size.height;
    const s2p_image *seen = squared.pixels ? &squared.view : source;
    const size_t row = 3 * (size_t)size.width;
    for (int32_t y = 0; pixels && y < size.height; y++)
        memcpy(pixels + (size_t)y * row, seen->pixels + y * seen->stride, row);
    s2_image_free(&squared);
    return S2P_OK;
}
