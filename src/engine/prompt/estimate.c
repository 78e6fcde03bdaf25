/* estimate.c - the memory that a prompt needs, before anything is computed.
 *
 * The kept rows determine the KV cache, the rows that reach each layer the other memory, and all
 * pictures are held as the tower's input until the prefill is over.
 */
#include "engine/prompt/steps.h"

#include "engine/offload.h"
#include "engine/options.h"
#include "engine/session/memory.h"
#include "engine/session/room.h"

#include <stdlib.h>

/* What the tower reads of picture i. */
static s2p_status measure_frame(const s2v_engine *engine, const s2v_prefill *pf, int32_t i,
                                uint64_t *n_bytes)
{
    const s2v_model *model = &engine->model;
    s2v_image_options options;
    int32_t n_all;
    TRY(s2v_prefill_shown(pf, model, i, &options, &n_all));
    s2p_image image = pf->prompt.images[i];
    s2v_frame frame;
    image.pixels = NULL;
    TRY(model->arch->frame(model, &image, &options, pf->usual, &frame, pf->error));
    *n_bytes = (uint64_t)frame.n_views * (uint64_t)frame.n_patches *
               (uint64_t)model->tower.patch_row * sizeof *frame.patches;
    s2v_frame_free(&frame);
    return S2P_OK;
}

/* The largest picture counts as one that the tower sees, the others as frames. */
static s2p_status measure_pictures(const s2v_engine *engine, s2v_prefill *pf, s2v_estimated *out)
{
    uint64_t largest = 0;
    pf->usual = s2v_prefill_usual(pf, engine);
    for (int32_t i = 0; i < pf->prompt.n_images; i++) {
        const s2p_image *image = &pf->prompt.images[i];
        s2v_image_options options;
        int32_t n_all;
        TRY(s2v_prefill_shown(pf, &engine->model, i, &options, &n_all));
        const int64_t n_pixels = options.width > 0 ? (int64_t)options.width * options.height
                                                   : (int64_t)image->width * image->height;
        if (n_pixels > out->picture_pixels) out->picture_pixels = n_pixels;
        uint64_t n_bytes;
        TRY(measure_frame(engine, pf, i, &n_bytes));
        out->other_frames += n_bytes;
        if (n_bytes > largest) largest = n_bytes;
    }
    out->other_frames -= largest;
    return S2P_OK;
}

static s2p_status estimate(s2v_engine *engine, s2v_session_options *session, s2v_prefill *pf,
                           const s2v_prune_options *prune, s2v_memory *out)
{
    const int32_t n_layers = engine->model.decoder.p.n_layers;
    s2v_count count;
    s2v_estimated e = { .n_rows = 0 };
    TRY(s2v_engine_count(engine, &pf->prompt, prune, &count, pf->error));
    TRY(s2v_prefill_find_method(pf));
    TRY(s2v_stage_layers(pf, &engine->model.decoder.p));
    TRY(measure_pictures(engine, pf, &e));
    const bool resizes = s2p_method_about(pf->method)->resizes;
    const int64_t n_rows =
        (int64_t)count.text_tokens + (resizes ? count.image_tokens : count.image_tokens_full);
    const int64_t n_left =
        count.text_tokens + (count.image_tokens < 0 ? count.image_tokens_full : count.image_tokens);
    if (n_rows > S2V_MOST_ROWS)
        return s2_fail(pf->error, S2P_ELIMIT,
                       "the prompt has %lld tokens before pruning; the limit is %d",
                       (long long)n_rows, S2V_MOST_ROWS);
    if (session->n_ctx == 0) session->n_ctx = s2v_room_for(engine, n_left + pf->prompt.n_answer);
    int32_t *reaches = malloc((size_t)n_layers * sizeof *reaches);
    if (!reaches) return s2_fail(pf->error, S2P_ENOMEM, "out of memory");
    for (int32_t i = 0; i < n_layers; i++)
        reaches[i] = (int32_t)s2v_stage_rows(pf, i, n_rows, n_left);
    e.n_rows = (int32_t)n_rows;
    e.reaches = reaches;
    const s2p_status st = s2v_memory_estimate(engine, session, &e, out, pf->error);
    free(reaches);
    return st;
}

s2p_status s2v_engine_estimate_prompt(const s2v_engine_options *options,
                                      const s2v_session_options *session, const s2v_prompt *prompt,
                                      const s2v_prune_options *prune, s2v_memory *out,
                                      s2p_error *error)
{
    *out = (s2v_memory){ .total = 0 };
    s2v_session_options read;
    s2v_prefill pf;
    s2v_engine *engine;
    TRY(s2v_session_options_read(&read, session, error));
    TRY(s2v_prefill_init(&pf, NULL, prompt, prune, error));
    TRY(s2v_engine_outline(&engine, options, error));
    const s2p_status st = estimate(engine, &read, &pf, prune, out);
    s2v_engine_close(engine);
    return st;
}
