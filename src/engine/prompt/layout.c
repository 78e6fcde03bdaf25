/* layout.c - what is asked becomes rows that know where they stand, before any of them is computed.
 *
 * The question, for methods that look at it, is what comes after the last picture and
 * the token that closes it; the last row if that is nothing.
 */
#include "engine/prompt/layout.h"

#include "base/clock.h"
#include "engine/prompt/stages.h"
#include "engine/prompt/units.h"
#include "engine/vision/tower_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IMAGES S2V_MAX_IMAGES

/* --- the job ------------------------------------------------------------------------ */

static s2p_status check_prompt(const s2v_job *j)
{
    const s2v_prompt *p = &j->prompt;
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

/* The layers the method follows; a note when those are not the ones its authors chose. */
static s2p_status find_layers(s2v_job *j)
{
    TRY(s2v_job_find_method(j));
    const s2p_method *m = j->method;
    const int32_t n_layers = j->s->engine->model.decoder.p.n_layers;
    TRY(s2v_stage_layers(m, n_layers, j->after, j->error));
    if (memcmp(j->after, m->after, (size_t)m->n_stages * sizeof *j->after) == 0) return S2P_OK;
    char text[256];
    int n = snprintf(text, sizeof text, "the model has %d layers; method '%s' prunes after",
                     n_layers, m->name);
    for (int32_t i = 0; i < m->n_stages && n > 0 && (size_t)n < sizeof text - 40; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, "%s %d instead of %d", i ? "," : "",
                      j->after[i], m->after[i]);
    s2v_job_note(j, text);
    return S2P_OK;
}

static s2p_status prepare_job(s2v_job *j)
{
    s2v_session *s = j->s;
    const int32_t n = j->prompt.n_images;
    TRY(check_prompt(j));
    TRY(find_layers(j));
    s2v_plans_move(&j->earlier, &s->plans);
    j->n_units = S2V_MAX_PARTS * n;
    j->frames = calloc((size_t)n + 1, sizeof *j->frames);
    j->tower_probe = calloc((size_t)n + 1, sizeof *j->tower_probe);
    j->first_row = calloc((size_t)n + 1, sizeof *j->first_row);
    j->unit = calloc((size_t)j->n_units + 1, sizeof *j->unit);
    s->plans.picture = calloc((size_t)n + 1, sizeof *s->plans.picture);
    return j->frames && j->tower_probe && j->first_row && j->unit && s->plans.picture
               ? S2P_OK
               : s2_fail(j->error, S2P_ENOMEM, "out of memory");
}

/* --- the prompt -------------------------------------------------------------------- */

/* The first turn with the system prompt, later ones without, raw text as it is. */
static s2p_status render_prompt(s2v_job *j)
{
    const s2v_session *s = j->s;
    const s2v_tokenizer *tokenizer = s->engine->tokenizer;
    const char *format = s->engine->model.arch->chat_format;
    const s2v_prompt *p = &j->prompt;
    if (p->raw) {
        TRY(s2v_chat_raw(&j->chat, tokenizer, format, p->raw, j->error));
    } else if (s->kv.n_slots[0] == 0) {
        TRY(s2v_chat_render(&j->chat, tokenizer, format, p->messages, p->n_messages, true,
                            j->error));
    } else {
        const bool has_ended = s->pending >= 0 && s2v_tokenizer_ends(tokenizer, s->pending);
        TRY(s2v_chat_continue(&j->chat, tokenizer, format, p->messages, p->n_messages, has_ended,
                              j->error));
    }
    return s2v_job_check_marks(j);
}

/* The usual case of several questions: one picture, and a cache that may know it. */
static bool has_last_frame(const s2v_job *j)
{
    return j->prompt.n_images == 1 && s2v_session_remembers(j->s);
}

void s2v_layout_keep_frame(s2v_job *j)
{
    if (!has_last_frame(j) || !j->frames || j->frames[0].n_views == 0) return;
    const s2v_image_options options = s2v_job_options(j, 0);
    s2v_last_frame_keep(&j->s->last_frame, &j->prompt.images[0], &options, j->usual,
                        j->s->engine->model.tower.patch_row, &j->frames[0]);
}

static s2p_status make_frames(s2v_job *j)
{
    const s2v_model *model = &j->s->engine->model;
    const int32_t n = j->prompt.n_images;
    const double start = s2_now_ms();
    j->usual = S2V_FRAMING_BASE;
    if (model->arch->usual_framing) j->usual = model->arch->usual_framing(n, !j->method->keeps_all);
    for (int32_t i = 0; i < n; i++) {
        const s2v_image_options options = s2v_job_options(j, i);
        const s2p_image *image = &j->prompt.images[i];
        s2v_frame *frame = &j->frames[i];
        if (!has_last_frame(j) ||
            !s2v_last_frame_take(&j->s->last_frame, image, &options, j->usual, frame)) {
            TRY(model->arch->frame(model, image, &options, j->usual, frame, j->error));
            if (s2v_session_remembers(j->s))
                s2v_tower_key(model, j->s->engine->identity.tower, j->s->backends.n_threads, frame);
        }
        j->stats.image_tokens_full += s2v_frame_tokens(frame);
        j->n_newlines += frame->n_rows - s2v_frame_tokens(frame);
        TRY(s2v_progress_tell(j->s, "picture", (double)(i + 1) / n, j->error));
    }
    j->stats.image_ms = s2_now_ms() - start;
    return S2P_OK;
}

/* --- where rows stand -------------------------------------------------------------- */

/* Tokens after the last picture and the one that closes it; the last row if there are none. */
static int32_t count_question(const s2v_job *j)
{
    const s2v_engine *engine = j->s->engine;
    const char *end = s2v_template_picture_end(engine->model.arch->chat_format);
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

/* Which tokens the rows of a picture are, from row `first` on. Newlines count as text. */
static void lay_out_picture(s2v_rows *rows, const s2v_frame *frame, int32_t image, int32_t first)
{
    for (int32_t p = 0; p < frame->n_parts; p++)
        for (int32_t t = 0; t < s2v_part_tokens(&frame->part[p]); t++) {
            const int32_t row = first + s2v_part_row(&frame->part[p], t);
            rows->unit[row] = S2V_MAX_PARTS * image + p;
            rows->token[row] = t;
        }
}

/* Room for the answer, beside what is in the last layer's cache and what this prompt will leave there. */
static s2p_status check_answer(const s2v_job *j, int64_t n_text)
{
    const s2v_kv *kv = &j->s->kv;
    int64_t n = kv->n_slots[kv->n_layers - 1] + n_text;
    if (j->prompt.n_answer <= 0 || j->prune.published) return S2P_OK;
    for (int32_t u = 0; u < j->n_units; u++)
        n += j->unit[u].budget < j->unit[u].n_tokens ? j->unit[u].budget : j->unit[u].n_tokens;
    if (n + j->prompt.n_answer <= kv->n_ctx) return S2P_OK;
    return s2_fail(j->error, S2P_ELIMIT,
                   "%lld tokens of the prompt and %d to be generated are more than the context of "
                   "%d",
                   (long long)n, j->prompt.n_answer, kv->n_ctx);
}

/* Where each row comes from and where it stands. A token left over from the last answer comes
 * first. */
static s2p_status lay_out_rows(s2v_job *j)
{
    s2v_session *s = j->s;
    s2v_rows *rows = &s->rows;
    const bool has_pending = s->pending >= 0;
    const int64_t n_text = (int64_t)j->chat.tokens.n + has_pending + j->n_newlines;
    const int64_t n = n_text + j->stats.image_tokens_full;
    j->stats.text_tokens = (int32_t)n_text;
    const int32_t n_past = s->kv.n_slots[0];
    if (n_past + n > s->kv.n_ctx)
        return s2_fail(j->error, S2P_ELIMIT,
                       "the prompt has %lld tokens after %d in the cache; the context holds %d",
                       (long long)n, n_past, s->kv.n_ctx);
    if (n == 0) return s2_fail(j->error, S2P_EINVAL, "the prompt is empty");
    TRY(check_answer(j, n_text));
    /* a published method may add a row of zeros to a unit */
    TRY(s2v_rows_reserve(s, (int32_t)n, j->n_units, j->error));

    s2v_segment segment[2 * MAX_IMAGES + 4];
    size_t n_segments = 0;
    int32_t row = 0;
    for (int32_t i = 0; i < rows->n; i++) rows->unit[i] = rows->token[i] = -1; /* text */
    if (has_pending) {
        segment[n_segments++] = (s2v_segment){ .n_text = 1 };
        row++;
    }
    for (size_t i = 0; i < j->chat.n_pieces; i++) {
        const s2v_piece *piece = &j->chat.piece[i];
        if (piece->n_tokens)
            segment[n_segments++] = (s2v_segment){ .n_text = (int32_t)piece->n_tokens };
        row += (int32_t)piece->n_tokens;
        if (piece->image < 0) continue;
        const s2v_frame *frame = &j->frames[piece->image];
        segment[n_segments++] =
            (s2v_segment){ .grid = frame->part[0].grid, .n_rows = frame->n_rows };
        j->first_row[piece->image] = row;
        lay_out_picture(rows, frame, piece->image, row);
        row += frame->n_rows;
    }
    j->n_positions = s->engine->model.arch->positions(segment, n_segments, rows->pos);
    for (int plane = 0; plane < 3; plane++)
        for (int32_t i = 0; i < rows->n; i++) rows->pos[plane][i] += s->next_pos;

    j->stats.cached_tokens = s->kv.n_slots[s->kv.n_layers - 1];
    j->n_text = count_question(j);
    const bool has_tail = j->prompt.n_images > 0 && j->chat.piece[j->chat.n_pieces - 1].n_tokens;
    rows->n_tail = has_tail ? j->n_text : 0;
    const int32_t last = rows->unit[rows->n - 1];
    if (last >= 0 && j->unit[last].budget < j->unit[last].n_tokens) /* the answer grows on it */
        return s2_fail(j->error, S2P_EINVAL,
                       "the prompt ends with a picture; one that is pruned needs text after it");
    return S2P_OK;
}

s2p_status s2v_layout_make(s2v_job *j)
{
    TRY(prepare_job(j));
    TRY(render_prompt(j));
    TRY(make_frames(j));
    TRY(s2v_units_make(j));
    return lay_out_rows(j);
}
