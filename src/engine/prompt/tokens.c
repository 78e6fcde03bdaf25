/* tokens.c - text and prompts as tokens, for callers that do not run them. */
#include "engine/prompt/steps.h"
#include "engine/vision/arch.h"
#include "engine/vision/regions.h"

#include <stdlib.h>
#include <string.h>

#define MAX_TEXT ((size_t)64 << 20)

/* --- text ------------------------------------------------------------------------ */

static void copy_tokens(const s2v_tokens *from, int32_t *tokens, size_t capacity, size_t *n_tokens)
{
    const size_t n = from->n < capacity ? from->n : capacity;
    if (tokens && n > 0) memcpy(tokens, from->id, n * sizeof *tokens);
    *n_tokens = from->n;
}

s2p_status s2v_engine_tokenize(const s2v_engine *engine, const char *text, size_t n_bytes,
                               int parse_special, int32_t *tokens, size_t capacity,
                               size_t *n_tokens, s2p_error *error)
{
    s2v_tokens list = { .id = NULL };
    *n_tokens = 0;
    TRY(s2v_tokenize(engine->tokenizer, text, n_bytes, parse_special != 0, &list, error));
    copy_tokens(&list, tokens, capacity, n_tokens);
    s2v_tokens_free(&list);
    return S2P_OK;
}

s2p_status s2v_engine_detokenize(const s2v_engine *engine, const int32_t *tokens, size_t n_tokens,
                                 int show_special, char *text, size_t capacity, size_t *n_bytes,
                                 s2p_error *error)
{
    const int32_t n_vocab = s2v_tokenizer_size(engine->tokenizer);
    s2v_detokenizer state = { .n_held = 0 };
    s2_buffer bytes, whole;
    s2p_status st = S2P_OK;
    *n_bytes = 0;
    if (text && capacity > 0) text[0] = '\0';
    s2_buffer_init(&bytes, MAX_TEXT);
    s2_buffer_init(&whole, MAX_TEXT);
    for (size_t i = 0; st == S2P_OK && i < n_tokens; i++) {
        if (tokens[i] < 0 || tokens[i] >= n_vocab)
            st = s2_fail(error, S2P_EINVAL, "tokens[%zu] is %d; the model has tokens 0 to %d", i,
                         tokens[i], n_vocab - 1);
        else
            s2v_token_bytes(engine->tokenizer, tokens[i], show_special != 0, &bytes);
    }
    if (bytes.size > 0) s2v_detokenize_bytes(&state, bytes.data, bytes.size, &whole);
    s2v_detokenize_end(&state, &whole);
    if (st == S2P_OK && (bytes.status != S2P_OK || whole.status != S2P_OK))
        st = s2_fail(error, bytes.status != S2P_OK ? bytes.status : whole.status,
                     "no memory for the text of %zu tokens, or it is longer than %zu bytes",
                     n_tokens, MAX_TEXT);
    if (st == S2P_OK) {
        *n_bytes = whole.size;
        if (text && capacity > 0) {
            const size_t n = whole.size < capacity ? whole.size : capacity - 1;
            if (n > 0) memcpy(text, whole.data, n);
            text[n] = '\0';
        }
    }
    s2_buffer_free(&bytes);
    s2_buffer_free(&whole);
    return st;
}

size_t s2v_engine_get_token(const s2v_engine *engine, int32_t token, int show_special, void *bytes,
                            size_t capacity)
{
    s2_buffer all;
    s2_buffer_init(&all, MAX_TEXT);
    if (token >= 0 && token < s2v_tokenizer_size(engine->tokenizer))
        s2v_token_bytes(engine->tokenizer, token, show_special != 0, &all);
    const size_t size = all.size, n = size < capacity ? size : capacity;
    if (bytes && n > 0) memcpy(bytes, all.data, n);
    s2_buffer_free(&all);
    return size;
}

int32_t s2v_engine_vocabulary(const s2v_engine *engine)
{
    return s2v_tokenizer_size(engine->tokenizer);
}

int s2v_engine_token_ends(const s2v_engine *engine, int32_t token)
{
    return s2v_tokenizer_ends(engine->tokenizer, token);
}

int s2v_engine_thinks(const s2v_engine *engine)
{
    return s2v_template_thinks(engine->model.arch->chat_format);
}

bool s2v_prompt_thinks(const s2v_engine *engine, const s2v_prompt *prompt)
{
    const size_t n = prompt->n_messages;
    const bool is_begun =
        n > 0 && prompt->messages[n - 1].role == S2V_ASSISTANT; /* no thoughts any more */
    return prompt->reasoning && !prompt->raw && !is_begun && s2v_engine_thinks(engine);
}

/* --- prompts ---------------------------------------------------------------------- */

/* The prompt of a prefill without a session, as the first of a conversation. */
static s2p_status render(const s2v_engine *engine, s2v_prefill *pf)
{
    const char *format = engine->model.arch->chat_format;
    const s2v_prompt *p = &pf->prompt;
    if (!p->raw && (!p->messages || p->n_messages == 0))
        return s2_fail(pf->error, S2P_EINVAL, "the prompt is empty");
    if (p->raw)
        TRY(s2v_chat_raw(&pf->chat, engine->tokenizer, format, p->raw, pf->error));
    else
        TRY(s2v_chat_render(&pf->chat, engine->tokenizer, format, p->messages, p->n_messages,
                            s2v_prompt_thinks(engine, p) ? S2V_OPEN_THOUGHTS : S2V_OPEN_ANSWER,
                            pf->error));
    return s2v_prefill_check_marks(pf);
}

s2p_status s2v_engine_render(const s2v_engine *engine, const s2v_prompt *prompt, int32_t *tokens,
                             size_t capacity, size_t *n_tokens, s2p_error *error)
{
    s2v_prefill pf;
    *n_tokens = 0;
    TRY(s2v_prefill_init(&pf, NULL, prompt, NULL, error));
    const s2p_status st = render(engine, &pf);
    size_t n = 0;
    for (size_t i = 0, at = 0; st == S2P_OK && i < pf.chat.n_pieces; i++) {
        const s2v_piece *piece = &pf.chat.piece[i];
        for (size_t k = 0; k < piece->n_tokens; k++, n++, at++)
            if (tokens && n < capacity) tokens[n] = pf.chat.tokens.id[at];
        if (piece->image < 0) continue;
        if (tokens && n < capacity) tokens[n] = S2V_PICTURE(piece->image);
        n++;
    }
    *n_tokens = n;
    s2v_chat_free(&pf.chat);
    return st;
}

/* Grids and rows of one picture, from its size alone. */
static s2p_status count_picture(const s2v_engine *engine, const s2v_prefill *pf, int32_t i,
                                s2v_count *out)
{
    const s2v_model *model = &engine->model;
    s2v_image_options options;
    int32_t n_all;
    TRY(s2v_prefill_shown(pf, model, i, &options, &n_all));
    s2p_image image = pf->prompt.images[i];
    s2v_frame frame;
    image.pixels = NULL;
    TRY(s2v_prefill_check_before(model->arch, &options, pf->error));
    TRY(model->arch->frame(model, &image, &options, pf->usual, &frame, pf->error));
    const int32_t n = s2v_frame_tokens(&frame), n_other = frame.n_rows - n;
    int32_t n_left = n;
    s2p_status st = s2v_prefill_check_regions(pf, i);
    for (int32_t p = 0; st == S2P_OK && p < frame.n_parts; p++) {
        uint8_t *mark;
        st = s2v_prefill_mark(pf, model, i, frame.framing, frame.part[p].grid, &mark);
        for (int32_t t = 0; st == S2P_OK && mark && t < s2v_part_all_tokens(&frame.part[p]); t++)
            n_left -= mark[t] == S2V_MARK_DROP;
        free(mark);
    }
    s2v_frame_free(&frame);
    if (st != S2P_OK) return st;
    const int32_t budget = s2v_picture_budget(pf, i, n);
    if (budget < 1 && n > 0)
        return s2_fail(pf->error, S2P_EBUDGET, "budget %d keeps nothing; the least is 1", budget);
    out->image_tokens_full += n_all >= 0 ? n_all : n;
    out->image_tokens += budget < n_left ? budget : n_left;
    out->text_tokens += n_other;
    return S2P_OK;
}

s2p_status s2v_engine_count(const s2v_engine *engine, const s2v_prompt *prompt,
                            const s2v_prune_options *prune, s2v_count *out, s2p_error *error)
{
    s2v_prefill pf;
    *out = (s2v_count){ .text_tokens = 0 };
    TRY(s2v_prefill_init(&pf, NULL, prompt, prune, error));
    TRY(s2v_prefill_find_method(&pf));
    const int32_t n = pf.prompt.n_images;
    if (n < 0 || n > S2V_MAX_IMAGES || (n > 0 && !pf.prompt.images))
        return s2_fail(error, S2P_ELIMIT, "%d pictures in one prompt; the limit is %d", n,
                       S2V_MAX_IMAGES);
    for (int32_t i = 0; i < n; i++)
        if (pf.prompt.images[i].width < 1 || pf.prompt.images[i].height < 1)
            return s2_fail(error, S2P_EINVAL, "picture %d of the prompt has no size", i + 1);
    pf.usual = s2v_prefill_usual(&pf, engine);
    s2p_status st = render(engine, &pf);
    out->text_tokens = (int32_t)pf.chat.tokens.n;
    bool is_known = !pf.prune.published || s2p_method_about(pf.method)->keeps_all;
    for (int32_t i = 0; st == S2P_OK && i < n; i++) {
        st = count_picture(engine, &pf, i, out);
        is_known = is_known && !s2v_prefill_image(&pf, i).before_tower;
    }
    if (st == S2P_OK && !is_known) out->image_tokens = -1;
    s2v_chat_free(&pf.chat);
    return st;
}

s2p_status s2v_engine_grid(const s2v_engine *engine, int32_t width, int32_t height,
                           const s2v_image_options *image, s2p_grid *out, s2p_error *error)
{
    const s2v_model *model = &engine->model;
    const s2p_image size = { .width = width, .height = height }; /* without pixels: sizes only */
    s2v_image_options usual;
    s2v_frame frame;
    if (width < 1 || height < 1)
        return s2_fail(error, S2P_EINVAL, "a picture of %dx%d px has no tokens", width, height);
    s2v_image_options_init(&usual);
    TRY(model->arch->frame(model, &size, image ? image : &usual,
                           s2v_engine_usual_framing(engine, 1, 1), &frame, error));
    *out = frame.part[0].grid;
    s2v_frame_free(&frame);
    return S2P_OK;
}

s2p_status s2v_model_grid(const s2v_engine_options *options, int32_t width, int32_t height,
                          const s2v_image_options *image, s2p_grid *out, s2p_error *error)
{
    s2v_engine *engine = NULL;
    TRY(s2v_engine_outline(&engine, options, error));
    const s2p_status st = s2v_engine_grid(engine, width, height, image, out, error);
    s2v_engine_close(engine);
    return st;
}
