/* prefill.c - a prompt with pictures becomes rows; stages.c makes them a cache and logits.
 *
 *   pictures -> frames -> tower -> rows <- text
 *
 * The question, for methods that look at it, is what comes after the last picture and
 * the token that closes it; the last row if that is nothing.
 */
#include "engine/run/prefill.h"

#include "engine/model/positions.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IMAGES S2V_MAX_IMAGES
#define NODES_PER_BLOCK 80 /* of the tower, with all kinds of windows in it */

s2v_image_options s2v_job_options(const s2v_job *job, int32_t i)
{
    return job->prompt->image_options ? job->prompt->image_options[i]
                                      : (s2v_image_options){ .width = 0 };
}

void s2v_job_note(const s2v_job *job, const char *text)
{
    const s2v_engine_options *o = &job->s->engine->options;
    if (o->note) o->note(text, o->user);
}

const char *s2v_method_name(size_t index)
{
    const s2p_method *method = s2p_method_at(index);
    return method ? method->name : NULL;
}

/* --- the prompt -------------------------------------------------------------- */

/* The first turn with the system prompt, later ones without, raw text as it is. */
static s2p_status to_tokens(s2v_job *j)
{
    const s2v_session *s = j->s;
    const s2v_tokenizer *tokenizer = s->engine->tokenizer;
    const char *name = s->engine->model.arch->template_name;
    const s2v_prompt *p = j->prompt;
    if (p->raw) return s2v_chat_raw(&j->chat, tokenizer, name, p->raw, j->error);
    if (s->kv.n_cells[0] == 0)
        return s2v_chat_render(&j->chat, tokenizer, name, p->messages, p->n_messages, true,
                               j->error);
    const bool has_ended = s->pending >= 0 && s2v_tokenizer_ends(tokenizer, s->pending);
    return s2v_chat_continue(&j->chat, tokenizer, name, p->messages, p->n_messages, has_ended,
                             j->error);
}

static s2p_status render(s2v_job *j)
{
    const s2v_prompt *p = j->prompt;
    const s2p_status st = to_tokens(j);
    if (st != S2P_OK) return st;
    int32_t n_marks = 0;
    for (size_t i = 0; i < j->chat.n_pieces; i++) n_marks += j->chat.piece[i].image >= 0;
    if (n_marks != p->n_images)
        return s2_fail(j->error, S2P_EINVAL, "the prompt marks %d pictures, %d were given", n_marks,
                       p->n_images);
    return S2P_OK;
}

/* S2V_FRAMING_AUTO: a pruned picture is seen as the paper does, an unpruned one as Hugging Face
 * does by default, and several pictures as Hugging Face does, pruned or not. */
static s2v_framing usual_framing(const s2v_job *j)
{
    if (j->prompt->n_images > 1) return S2V_FRAMING_SQUARE;
    return j->method->keeps_all ? S2V_FRAMING_ANYRES : S2V_FRAMING_BASE;
}

static s2p_status make_frames(s2v_job *j)
{
    const s2v_model *model = &j->s->engine->model;
    const double start = s2v_now_ms();
    for (int32_t i = 0; i < j->prompt->n_images; i++) {
        const s2v_image_options options = s2v_job_options(j, i);
        const s2p_status st = model->arch->frame(model, &j->prompt->images[i], &options,
                                                 usual_framing(j), &j->frames[i], j->error);
        if (st != S2P_OK) return st;
        j->stats.image_tokens_full += s2v_frame_tokens(&j->frames[i]);
        j->n_newlines += j->frames[i].n_rows - s2v_frame_tokens(&j->frames[i]);
    }
    j->stats.image_ms = s2v_now_ms() - start;
    return S2P_OK;
}

static void lay_out_text(s2v_session *s, int32_t row)
{
    s->rows.unit[row] = s->rows.token[row] = -1;
}

/* Rows of a picture that may be pruned are its own; newlines count as text. */
static void lay_out_picture(s2v_session *s, const s2v_frame *frame, int32_t image, int32_t first)
{
    for (int32_t i = 0; i < frame->n_rows; i++) lay_out_text(s, first + i);
    for (int32_t p = 0; p < frame->n_parts; p++)
        for (int32_t t = 0; t < s2v_part_tokens(&frame->part[p]); t++) {
            const int32_t row = first + s2v_part_row(&frame->part[p], t);
            s->rows.unit[row] = S2V_MAX_PARTS * image + p;
            s->rows.token[row] = t;
        }
}

/* Tokens after the last picture and the one that closes it; the last row if there are none. */
static int32_t count_question(const s2v_job *j)
{
    const s2v_engine *engine = j->s->engine;
    const char *end = s2v_template_picture_end(engine->model.arch->template_name);
    size_t token = 0, after = 0;
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        token += j->chat.piece[i].n_tokens;
        if (j->chat.piece[i].image >= 0) after = token;
    }
    const size_t n = j->chat.tokens.n;
    if (after < n && end && j->chat.tokens.id[after] == s2v_tokenizer_find(engine->tokenizer, end))
        after++;
    return after < n ? (int32_t)(n - after) : 1;
}

/* Where each row comes from and where it stands. A token left over from the last answer comes
 * first. */
static s2p_status lay_out_rows(s2v_job *j)
{
    s2v_session *s = j->s;
    const bool has_pending = s->pending >= 0;
    const int64_t n_text = (int64_t)j->chat.tokens.n + has_pending + j->n_newlines;
    const int64_t n = n_text + j->stats.image_tokens_full;
    const int32_t n_past = s->kv.n_cells[0];
    if (n_past + n > s->kv.n_ctx)
        return s2_fail(
            j->error, S2P_ELIMIT,
            "the prompt has %lld tokens after %d in the cache; the context holds %d (-c)",
            (long long)n, n_past, s->kv.n_ctx);
    if (n == 0) return s2_fail(j->error, S2P_EINVAL, "the prompt is empty");
    /* a published method may add a row of zeros to a unit */
    const s2p_status st = s2v_rows_reserve(s, (int32_t)n, j->n_units, j->error);
    if (st != S2P_OK) return st;

    s2v_segment segment[2 * MAX_IMAGES + 4];
    size_t n_segments = 0;
    int32_t row = 0;
    if (has_pending) {
        segment[n_segments++] = (s2v_segment){ .n_text = 1 };
        lay_out_text(s, row++);
    }
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        const s2v_piece *piece = &j->chat.piece[i];
        if (piece->n_tokens)
            segment[n_segments++] = (s2v_segment){ .n_text = (int32_t)piece->n_tokens };
        for (size_t t = 0; t < piece->n_tokens; t++) lay_out_text(s, row++);
        if (piece->image < 0) continue;
        const s2v_frame *frame = &j->frames[piece->image];
        segment[n_segments++] = (s2v_segment){ .grid = frame->part[0].grid };
        j->first_row[piece->image] = row;
        lay_out_picture(s, frame, piece->image, row);
        row += frame->n_rows;
    }
    const bool is_plain = s->engine->model.decoder.p.sections[0] == 0;
    const int32_t span = is_plain ? s2v_positions_plain(s->rows.n, s->rows.pos)
                                  : s2v_mrope(segment, n_segments, s->rows.pos);
    for (int plane = 0; plane < 3; plane++)
        for (int32_t i = 0; i < s->rows.n; i++) s->rows.pos[plane][i] += s->next_pos;
    s->next_pos += span;
    j->stats.text_tokens = (int32_t)n_text;
    j->n_text = count_question(j);
    const bool has_tail = j->prompt->n_images > 0 && j->chat.piece[j->chat.n_pieces - 1].n_tokens;
    s->rows.n_tail = has_tail ? j->n_text : 0;
    const int32_t last = s->rows.unit[s->rows.n - 1];
    if (last >= 0 && j->unit[last].budget < j->unit[last].n_tokens) /* the answer grows on it */
        return s2_fail(j->error, S2P_EINVAL,
                       "the prompt ends with a picture; one that is pruned needs text after it");
    return S2P_OK;
}

/* --- rows -------------------------------------------------------------------- */

static s2p_status embed_text(s2v_job *j)
{
    s2v_session *s = j->s;
    s2v_graph *graph = &s->graph;
    const s2v_decoder *decoder = &s->engine->model.decoder;
    s2p_status st = s2v_graph_begin(graph, j->error);
    if (st != S2P_OK) return st;
    int32_t row = 0;
    size_t token = 0;
    if (s->pending >= 0) {
        struct ggml_tensor *id = s2v_graph_input(graph, GGML_TYPE_I32, 1, 1, &s->pending);
        s2v_graph_expand(graph, ggml_cpy(graph->ctx, s2v_draw_embedding(graph, decoder, id),
                                         s2v_rows_view(graph->ctx, &s->rows, row++, 1)));
    }
    struct ggml_tensor *ids =
        s2v_graph_input(graph, GGML_TYPE_I32, (int64_t)j->chat.tokens.n, 1, j->chat.tokens.id);
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        const s2v_piece *piece = &j->chat.piece[i];
        const int32_t n = (int32_t)piece->n_tokens;
        if (n > 0) {
            struct ggml_tensor *part =
                ggml_view_1d(graph->ctx, ids, n, token * ggml_type_size(GGML_TYPE_I32));
            s2v_graph_expand(graph, ggml_cpy(graph->ctx, s2v_draw_embedding(graph, decoder, part),
                                             s2v_rows_view(graph->ctx, &s->rows, row, n)));
            token += piece->n_tokens;
            row += n;
        }
        if (piece->image >= 0) row += j->frames[piece->image].n_rows;
    }
    return s2v_graph_compute(graph, j->error);
}

/* The tower writes straight into the rows; its memory is gone before the decoder starts. */
static s2p_status see_pictures(s2v_job *j)
{
    s2v_session *s = j->s;
    if (j->prompt->n_images == 0 || j->is_recalled) return S2P_OK;
    const double start = s2v_now_ms();
    const bool is_watched = j->needs & (S2P_NEED_VISION_ATTN | S2P_NEED_VISION_KEY);
    s2v_graph tower;
    const int32_t n_nodes = NODES_PER_BLOCK * (s->engine->model.vision.n_blocks + 1);
    s2p_status st = s2v_graph_init(&tower, &s->backends, n_nodes, j->error);
    for (int32_t i = 0; st == S2P_OK && i < j->prompt->n_images; i++) {
        st = s2v_see_picture(s, &tower, &j->frames[i], i, j->first_row[i],
                             is_watched ? &j->watched[i] : NULL, j->error);
        const s2v_engine_options *o = &s->engine->options;
        if (st == S2P_OK && o->progress &&
            o->progress("vision", (double)(i + 1) / j->prompt->n_images, o->user) != 0)
            st = s2_fail(j->error, S2P_ECANCELLED, "vision was cancelled");
    }
    s2v_graph_free(&tower);
    j->stats.vision_ms = s2v_now_ms() - start - s->probe_ms;
    return st;
}

/* --- the whole of it --------------------------------------------------------------- */

static s2p_status check_prompt(const s2v_job *j)
{
    const s2v_prompt *p = j->prompt;
    if (p->n_images < 0 || p->n_images > MAX_IMAGES)
        return s2_fail(j->error, S2P_ELIMIT, "%d pictures in one prompt; the limit is %d",
                       p->n_images, MAX_IMAGES);
    if (!p->raw && (!p->messages || p->n_messages == 0))
        return s2_fail(j->error, S2P_EINVAL, "the prompt is empty");
    for (int32_t i = 0; i < p->n_images; i++) {
        const s2p_image *image = p->images ? &p->images[i] : NULL;
        if (!image || !image->pixels || image->width < 1 || image->height < 1 ||
            image->stride < 3 * (ptrdiff_t)image->width)
            return s2_fail(j->error, S2P_EINVAL, "picture %d of the prompt has no pixels", i + 1);
    }
    return S2P_OK;
}

/* A sentence when the method's layers are not the ones its authors chose. */
static void note_layers(const s2v_job *j, int32_t n_layers)
{
    char text[256];
    int n = snprintf(text, sizeof text, "the model has %d layers; method '%s' prunes after",
                     n_layers, j->method->name);
    for (int32_t i = 0; i < j->method->n_stages && n > 0 && (size_t)n < sizeof text - 40; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %d instead of %d", i ? "," : "",
                      j->after[i], j->method->after[i]);
    s2v_job_note(j, text);
}

static s2p_status find_method(s2v_job *j)
{
    const int32_t n_layers = j->s->engine->model.decoder.p.n_layers;
    j->method = s2p_method_find(j->prune->method ? j->prune->method : "full");
    if (!j->method)
        return s2_fail(j->error, S2P_EINVAL, "unknown method '%.60s'", j->prune->method);
    s2p_status st = s2v_prefix_check(j);
    if (st == S2P_OK) st = s2v_stage_layers(j->method, n_layers, j->after, j->error);
    if (st != S2P_OK) return st;
    if (memcmp(j->after, j->method->after, (size_t)j->method->n_stages * sizeof *j->after) != 0)
        note_layers(j, n_layers);
    return S2P_OK;
}

static s2p_status prepare(s2v_job *j)
{
    s2v_session *s = j->s;
    const int32_t n = j->prompt->n_images;
    s2p_status st = check_prompt(j);
    if (st == S2P_OK) st = find_method(j);
    if (st != S2P_OK) return st;
    s2v_prefix_hold_plans(s);
    s2v_session_forget_plans(s);
    s->probe_ms = 0.0;
    j->n_units = S2V_MAX_PARTS * n;
    j->frames = calloc((size_t)n + 1, sizeof *j->frames);
    j->watched = calloc((size_t)n + 1, sizeof *j->watched);
    j->first_row = calloc((size_t)n + 1, sizeof *j->first_row);
    j->unit = calloc((size_t)j->n_units + 1, sizeof *j->unit);
    s->plans = calloc((size_t)n + 1, sizeof *s->plans);
    return j->frames && j->watched && j->first_row && j->unit && s->plans
               ? S2P_OK
               : s2_fail(j->error, S2P_ENOMEM, "out of memory");
}

static s2p_status run(s2v_job *j)
{
    s2v_session *s = j->s;
    s2p_status st = prepare(j);
    if (st == S2P_OK) st = render(j);
    if (st == S2P_OK) st = make_frames(j);
    if (st == S2P_OK) st = s2v_units_make(j);
    if (st == S2P_OK) st = lay_out_rows(j);
    if (st == S2P_OK) s2v_prefix_recall(j);
    if (st == S2P_OK) st = see_pictures(j);
    if (st != S2P_OK) return st;
    const double start = s2v_now_ms(), watched_ms = s->probe_ms;
    if (!j->is_recalled) st = embed_text(j);
    s->pending = -1;
    if (st == S2P_OK) st = s2v_run_stages(j);
    j->stats.probe_ms = s->probe_ms;
    j->stats.prompt_ms = s2v_now_ms() - start + watched_ms;
    return st;
}

static void job_free(s2v_job *j)
{
    for (int32_t i = 0; j->frames && i < j->prompt->n_images; i++) s2v_frame_free(&j->frames[i]);
    for (int32_t i = 0; j->watched && i < j->prompt->n_images; i++)
        s2v_watched_free(&j->watched[i]);
    s2v_units_free(j);
    free(j->frames);
    free(j->watched);
    free(j->first_row);
    free(j->s->hidden_rows);
    j->s->hidden_rows = NULL;
    s2v_chat_free(&j->chat);
}

s2p_status s2v_session_prefill(s2v_session *session, const s2v_prompt *prompt,
                               const s2v_prune_options *prune, s2v_stats *stats, s2p_error *error)
{
    s2v_prune_options defaults;
    s2v_prune_options_init(&defaults);
    s2v_job j = {
        .s = session, .prompt = prompt, .prune = prune ? prune : &defaults, .error = error
    };
    session->has_logits = false;
    session->generated.n = 0;
    session->detokenizer.n_held = 0;
    s2v_stop_reset(session->stop);
    s2p_status st = run(&j);
    const s2v_session_options *o = &session->options;
    const s2v_sampling sampling = { .temperature = o->temperature,
                                    .top_k = o->top_k,
                                    .top_p = o->top_p,
                                    .min_p = o->min_p,
                                    .repeat_penalty = o->repeat_penalty,
                                    .presence_penalty = o->presence_penalty,
                                    .frequency_penalty = o->frequency_penalty,
                                    .penalty_window = 64,
                                    .seed = o->seed };
    if (st == S2P_OK) st = s2v_sampler_start(session->sampler, &sampling, error);

    job_free(&j);
    if (st != S2P_OK) {
        if (!session->prefix.is_ready) s2v_prefix_forget(&session->prefix);
        s2v_session_reset(session);
        return st;
    }
    if (stats) *stats = j.stats;
    return S2P_OK;
}
