/* layout.c - the rows of a prompt and their positions, before any of them is computed.
 *
 * The question, for methods that look at it, is what comes after the last picture and
 * the token that closes it; the last row if that is nothing.
 */
#include "engine/prompt/steps.h"

#include "base/sha256.h"
#include "base/clock.h"
#include "engine/session/memory.h"
#include "engine/session/room.h"
#include "engine/vision/tower_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IMAGES S2V_MAX_IMAGES

/* --- preparing ---------------------------------------------------------------------- */

/* Check the prompt; find the method and the layers it follows, with a note when those are not the ones its
 * authors chose; allocate. */
static s2p_status prepare(s2v_prefill *pf)
{
    s2v_session *s = pf->s;
    const s2v_prompt *p = &pf->prompt;
    const int32_t n = p->n_images, n_layers = s->engine->model.decoder.p.n_layers;
    if (n < 0 || n > MAX_IMAGES)
        return s2_fail(pf->error, S2P_ELIMIT, "%d pictures in one prompt; the limit is %d", n,
                       MAX_IMAGES);
    if (!p->raw && (!p->messages || p->n_messages == 0))
        return s2_fail(pf->error, S2P_EINVAL, "the prompt is empty");
    for (int32_t i = 0; i < n; i++) {
        const s2p_image *image = p->images ? &p->images[i] : NULL;
        if (!image || !image->pixels || image->width < 1 || image->height < 1 ||
            image->stride < 3 * (ptrdiff_t)image->width)
            return s2_fail(pf->error, S2P_EINVAL, "picture %d of the prompt has no pixels", i + 1);
        TRY(s2v_prefill_check_regions(pf, i));
    }

    TRY(s2v_prefill_find_method(pf));

    if (s2v_prefill_counts_deepstack(pf) && s->engine->model.decoder.p.n_deepstack == 0)
        return s2_fail(pf->error, S2P_EUNSUPPORTED,
                       "erc_deepstack=1 only applies to Qwen3-VL: %s adds nothing after its layers",
                       s->engine->model.arch->title);

    TRY(s2v_prefill_check_positions(pf));

    const s2p_method *m = pf->method;
    TRY(s2v_stage_layers(pf, &s->engine->model.decoder.p));
    if (!pf->prune.after &&
        memcmp(pf->after, s2p_method_about(m)->after,
               (size_t)s2p_method_about(m)->n_stages * sizeof *pf->after) != 0) {
        char text[256];
        const int32_t every = s->engine->model.decoder.p.attends_every;
        char what[48];
        if (every > 1)
            (void)snprintf(what, sizeof what, "every %d-th layer of the model attends", every);
        else
            (void)snprintf(what, sizeof what, "the model has %d layers", n_layers);
        int length = snprintf(text, sizeof text, "%s; method '%s' prunes after", what,
                              s2p_method_about(m)->name);
        for (int32_t i = 0;
             i < s2p_method_about(m)->n_stages && length > 0 && (size_t)length < sizeof text - 40;
             i++)
            length += snprintf(text + length, sizeof text - (size_t)length, "%s %d instead of %d",
                               i ? "," : "", pf->after[i], s2p_method_about(m)->after[i]);
        s2v_prefill_note(pf, text);
    }
    s2v_plans_move(&pf->earlier, &s->plans);
    pf->n_units = S2V_MAX_PARTS * n;
    pf->frames = calloc((size_t)n + 1, sizeof *pf->frames);
    pf->tower_probe = calloc((size_t)n + 1, sizeof *pf->tower_probe);
    pf->first_row = calloc((size_t)n + 1, sizeof *pf->first_row);
    pf->unit = calloc((size_t)pf->n_units + 1, sizeof *pf->unit);
    s->plans.picture = calloc((size_t)n + 1, sizeof *s->plans.picture);
    return pf->frames && pf->tower_probe && pf->first_row && pf->unit && s->plans.picture
               ? S2P_OK
               : s2_fail(pf->error, S2P_ENOMEM, "out of memory");
}

/* --- the prompt -------------------------------------------------------------------- */

/* The first turn with the system prompt, later ones without, raw text as it is. */
static s2p_status render_prompt(s2v_prefill *pf)
{
    const s2v_session *s = pf->s;
    const s2v_tokenizer *tokenizer = s->engine->tokenizer;
    const char *format = s->engine->model.arch->chat_format;
    const s2v_prompt *p = &pf->prompt;
    const s2v_opening opening =
        s2v_prompt_thinks(s->engine, p) ? S2V_OPEN_THOUGHTS : S2V_OPEN_ANSWER;
    if (p->raw) {
        TRY(s2v_chat_raw(&pf->chat, tokenizer, format, p->raw, pf->error));
    } else if (s2v_past_length(&s->past, 0) == 0) {
        TRY(s2v_chat_render(&pf->chat, tokenizer, format, p->messages, p->n_messages, opening,
                            pf->error));
    } else {
        const bool has_ended = s->pending >= 0 && s2v_tokenizer_ends(tokenizer, s->pending);
        TRY(s2v_chat_continue(&pf->chat, tokenizer, format, p->messages, p->n_messages, has_ended,
                              opening, pf->error));
    }
    return s2v_prefill_check_marks(pf);
}

/* The usual case of several questions: one picture, and a cache that may know it. */
static bool has_last_frame(const s2v_prefill *pf)
{
    return pf->prompt.n_images == 1 && s2v_session_remembers(pf->s);
}

/* Whoever asks with another number must not even learn that the picture was there before. */
static void salt_key(uint64_t salt, uint8_t key[S2V_KEY_BYTES])
{
    s2_sha256_state h;
    if (salt == 0) return;
    s2_sha256_start(&h);
    s2_sha256_add(&h, key, S2V_KEY_BYTES);
    s2_sha256_add(&h, &salt, sizeof salt);
    s2_sha256_finish(&h, key);
}

void s2v_layout_keep_frame(s2v_prefill *pf)
{
    if (!has_last_frame(pf) || !pf->frames || pf->frames[0].n_views == 0) return;
    s2v_image_options options;
    int32_t n_all;
    if (s2v_prefill_shown(pf, &pf->s->engine->model, 0, &options, &n_all) != S2P_OK) return;
    pf->s->last_salt = pf->prompt.cache_salt;
    s2v_last_frame_keep(&pf->s->last_frame, &pf->prompt.images[0], &options, pf->usual,
                        pf->s->engine->model.tower.patch_row, &pf->frames[0]);
}

static s2p_status make_frames(s2v_prefill *pf)
{
    const s2v_model *model = &pf->s->engine->model;
    const int32_t n = pf->prompt.n_images;
    const double start = s2_now_ms();
    pf->usual = s2v_prefill_usual(pf, pf->s->engine);
    for (int32_t i = 0; i < n; i++) {
        s2v_image_options options;
        int32_t n_all;
        TRY(s2v_prefill_shown(pf, model, i, &options, &n_all));
        const s2p_image *image = &pf->prompt.images[i];
        s2v_frame *frame = &pf->frames[i];
        if (!has_last_frame(pf) || pf->s->last_salt != pf->prompt.cache_salt ||
            !s2v_last_frame_take(&pf->s->last_frame, image, &options, pf->usual, frame)) {
            TRY(s2v_prefill_check_before(model->arch, &options, pf->error));
            TRY(model->arch->frame(model, image, &options, pf->usual, frame, pf->error));
            if (s2v_session_remembers(pf->s)) {
                s2v_tower_key(model, pf->s->engine->identity.tower, pf->s->backends.n_threads,
                              frame);
                salt_key(pf->prompt.cache_salt, frame->key);
            }
        }
        pf->stats.image_tokens_full += n_all >= 0 ? n_all : s2v_frame_all_tokens(frame);
        pf->stats.tower_tokens += s2v_frame_tokens(frame);
        pf->n_newlines += frame->n_rows - s2v_frame_tokens(frame);
        TRY(s2v_progress_tell(pf->s, "picture", (double)(i + 1) / n, pf->error));
    }
    pf->stats.image_ms = s2_now_ms() - start;
    return S2P_OK;
}

/* --- positions of rows ------------------------------------------------------------- */

/* Tokens after the last picture and the one that closes it; the last row if there are none. */
static int32_t count_question(const s2v_prefill *pf)
{
    const s2v_engine *engine = pf->s->engine;
    const char *end = s2v_template_picture_end(engine->model.arch->chat_format);
    size_t token = 0, after = 0;
    for (size_t i = 0; i < pf->chat.n_pieces; i++) {
        token += pf->chat.piece[i].n_tokens;
        if (pf->chat.piece[i].image >= 0) after = token;
    }
    const size_t n = pf->chat.tokens.n;
    if (after < n && end && pf->chat.tokens.id[after] == s2v_tokenizer_find(engine->tokenizer, end))
        after++;
    return after < n ? (int32_t)(n - after) : 1;
}

/* Of the context the prompt takes what it leaves in the last layer, and the answer. What reaches the layers
 * before the prune points is there for a while only, and needs memory. */
static s2p_status make_room(s2v_prefill *pf, int64_t n_text)
{
    s2v_session *s = pf->s;
    const s2v_past *past = &s->past;
    const int32_t n_layers = past->n_layers, n_past = s2v_past_length(past, n_layers - 1);
    const int64_t n_rows = n_text + pf->stats.tower_tokens;
    if (n_rows > S2V_MOST_ROWS)
        return s2_fail(pf->error, S2P_ELIMIT,
                       "the prompt has %lld tokens before pruning; the limit is %d: use fewer or "
                       "smaller pictures (--max-pixels)",
                       (long long)n_rows, S2V_MOST_ROWS);
    int64_t n_left = n_text;
    for (int32_t u = 0; u < pf->n_units; u++)
        n_left +=
            pf->unit[u].budget < pf->unit[u].n_tokens ? pf->unit[u].budget : pf->unit[u].n_tokens;
    if (s->trace.masks) n_left = n_rows;
    pf->stats.image_tokens = (int32_t)(n_left - n_text);
    if (!pf->prune.published) { /* those keep what they keep: stages.c looks again */
        const int32_t n_answer = pf->prompt.n_answer > 0 ? pf->prompt.n_answer : 0;
        char what[160], before[40] = "", after[40] = "";
        if (n_past > 0) (void)snprintf(before, sizeof before, " after %d in the cache", n_past);
        if (n_answer > 0) (void)snprintf(after, sizeof after, " and %d to be generated", n_answer);
        (void)snprintf(what, sizeof what, "%lld tokens of the prompt%s%s", (long long)n_left,
                       before, after);
        TRY(s2v_room_make(s, n_past + n_left + n_answer, what, pf->error));
    }
    s2v_reach reach = { .n_rows = (int32_t)n_rows };
    for (int32_t i = 0; i < n_layers; i++) {
        const int64_t n = s2v_stage_rows(pf, i, n_rows, n_left);
        const int64_t n_slots = s2v_past_length(past, i) + n;
        if (n_slots > reach.longest) reach.longest = n_slots;
        *(i < s->engine->model.decoder.first_on_device ? &reach.wider_here : &reach.wider_device) +=
            s2v_past_wider_bytes(past, i, n);
    }
    return s2v_memory_take_prompt(s, &reach, pf->error);
}

/* The source and the position of each row. A token left over from the last answer comes
 * first. */
static s2p_status lay_out_rows(s2v_prefill *pf)
{
    s2v_session *s = pf->s;
    s2v_rows *rows = &s->rows;
    const bool has_pending = s->pending >= 0;
    const int64_t n_text = (int64_t)pf->chat.tokens.n + has_pending + pf->n_newlines;
    const int64_t n = n_text + pf->stats.tower_tokens;
    pf->stats.text_tokens = (int32_t)n_text;
    if (n == 0) return s2_fail(pf->error, S2P_EINVAL, "the prompt is empty");
    TRY(make_room(pf, n_text));
    /* a published method may add a row of zeros to a unit */
    TRY(s2v_rows_reserve(rows, &s->engine->model.decoder, &s->engine->devices, &s->traffic,
                         (int32_t)n, pf->n_units, pf->error));

    s2v_segment segment[2 * MAX_IMAGES + 4];
    size_t n_segments = 0;
    int32_t row = 0;
    s2v_rows_deepstack_clear(rows, pf->prompt.n_images > 0);
    for (int32_t i = 0; i < rows->n; i++) rows->unit[i] = rows->token[i] = -1; /* text */
    if (has_pending) {
        segment[n_segments++] = (s2v_segment){ .n_text = 1 };
        row++;
    }
    for (size_t i = 0; i < pf->chat.n_pieces; i++) {
        const s2v_piece *piece = &pf->chat.piece[i];
        if (piece->n_tokens)
            segment[n_segments++] = (s2v_segment){ .n_text = (int32_t)piece->n_tokens };
        row += (int32_t)piece->n_tokens;
        if (piece->image < 0) continue;
        const s2v_frame *frame = &pf->frames[piece->image];
        segment[n_segments++] = (s2v_segment){ .grid = frame->part[0].grid,
                                               .n_rows = frame->n_rows,
                                               .token = frame->part[0].token };
        pf->first_row[piece->image] = row;
        for (int32_t p = 0; p < frame->n_parts; p++) /* newlines count as text */
            for (int32_t k = 0; k < s2v_part_tokens(&frame->part[p]); k++) {
                const int32_t at = row + s2v_part_row(&frame->part[p], k);
                rows->unit[at] = S2V_MAX_PARTS * piece->image + p;
                rows->token[at] = s2v_part_token(&frame->part[p], k);
            }
        row += frame->n_rows;
    }
    pf->n_positions = s->engine->model.arch->positions(segment, n_segments, rows->pos);
    pf->first_pos = s->next_pos;
    for (int plane = 0; plane < 3; plane++)
        for (int32_t i = 0; i < rows->n; i++) rows->pos[plane][i] += pf->first_pos;

    pf->stats.cached_tokens = s2v_past_length(&s->past, s->past.n_layers - 1);
    pf->n_text = count_question(pf);
    const bool has_tail = pf->prompt.n_images > 0 && pf->chat.piece[pf->chat.n_pieces - 1].n_tokens;
    rows->n_tail = has_tail ? pf->n_text : 0;
    const int32_t last = rows->unit[rows->n - 1];
    if (last >= 0 && pf->unit[last].budget < pf->unit[last].n_tokens) /* the answer grows on it */
        return s2_fail(pf->error, S2P_EINVAL,
                       "the prompt ends with a picture; pruning needs text after the last picture");
    return S2P_OK;
}

s2p_status s2v_layout_make(s2v_prefill *pf)
{
    TRY(prepare(pf));
    TRY(render_prompt(pf));
    TRY(make_frames(pf));
    TRY(s2v_units_make(pf));
    return lay_out_rows(pf);
}
