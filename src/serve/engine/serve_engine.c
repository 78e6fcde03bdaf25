/* serve_engine.c - open the model, enter the sandbox, serve. */
#include "serve/engine/serve_engine.h"

#include "base/clock.h"
#include "serve/engine/sandbox.h"
#include "serve/engine/scheduler.h"

#include <string.h>

typedef struct loading {
    s2_outbox *outbox;
    double sent_ms; /* when the front was last informed */
} loading;

static int send_progress(const char *step, double done, void *user)
{
    loading *l = user;
    if (s2_now_ms() - l->sent_ms < 100.0 && done < 1.0) return 0;
    l->sent_ms = s2_now_ms();
    s2_outbox_json(l->outbox, S2_FRAME_LOADING, 0,
                   json_pack("{s:s,s:f}", "step", step, "done", done));
    return 0;
}

#define TARGET_SIDE 672 /* pixels of the picture that is measured with */

/* The budget of requests that give none, by a gray picture. */
static s2p_status meet_target(s2_engine_setup *setup, s2a_opened *opened, s2p_error *error)
{
    const s2v_message message = { .role = S2V_USER,
                                  .text = "Describe the picture.",
                                  .n_images = 1 };
    const s2v_image_options option = s2a_setting_image(&setup->setting, setup->open.image[0]);
    s2a_target_choice choice;
    s2a_points points;
    s2_image picture;
    char text[S2A_TARGET_TEXT];
    TRY(s2_image_create(TARGET_SIDE, TARGET_SIDE, &picture, error));
    memset(picture.pixels, 128, (size_t)TARGET_SIDE * TARGET_SIDE * 3);
    const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                .messages = &message,
                                .n_messages = 1,
                                .images = &picture.view,
                                .n_images = 1,
                                .image_options = &option };
    const s2p_status st =
        s2a_target_measure(opened->session, &prompt, &setup->setting, &points, error);
    s2_image_free(&picture);
    s2v_engine_forget(opened->engine);
    if (st != S2P_OK) return st;
    s2a_target_choose(&points, setup->target, &choice);
    setup->setting.budget = s2a_target_budget(&choice);
    const s2v_engine_options *e = &setup->open.engine;
    if (e->note) e->note(s2a_target_text(&choice, setup->target, text), e->user);
    return S2P_OK;
}

static json_t *hello(const s2_engine_setup *setup, const s2v_engine_info *i)
{
    return json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:i,s:i,s:i,s:I,s:I,s:I,s:i,s:s,s:b,s:b}", "model",
        setup->model, "name", i->name, "architecture", i->architecture, "device", i->device,
        "kernels", i->kernels, "template", i->template_name, "n_ctx", setup->session.n_ctx,
        "n_ctx_train", i->n_ctx_train, "n_vocab", i->n_vocab, "n_embd", i->n_embd, "n_layers",
        i->n_layers, "n_params", (json_int_t)i->n_parameters, "size", (json_int_t)i->model_bytes,
        "max_pixels", (json_int_t)i->max_pixels, "token_side",
        i->patch_size * (i->merge_size > 1 ? i->merge_size : 1), "ggml", s2v_backend_version(),
        "sandbox", setup->has_sandbox, "is_bundled", setup->is_bundled);
}

s2p_status s2_serve_engine(s2_engine_setup *setup, s2p_error *error)
{
    s2a_opened opened;
    s2_scheduler *scheduler = NULL;
    s2_outbox outbox;
    s2_inbox inbox;
    s2_side side;
    s2_outbox_init(&outbox, setup->fd);
    loading l = { .outbox = &outbox };
    s2_quick quick = { .setup = setup, .outbox = &outbox };
    setup->open.engine.progress = send_progress;
    setup->open.engine.user = &l;
    s2p_status st = s2a_open(&setup->open, &opened, error);
    if (st == S2P_OK) {
        quick.engine = opened.engine;
        setup->session = opened.session_options;
        if (setup->target.ms > 0.0 || setup->target.mib > 0.0)
            st = meet_target(setup, &opened, error);
    }
    if (st == S2P_OK) {
        st = s2_scheduler_create(&scheduler, &opened, &quick, &inbox, &side, error);
    }
    if (st == S2P_OK) st = s2_inbox_start(&inbox, setup->fd, &outbox, setup->gone, error);
    if (st == S2P_OK) st = s2_side_start(&side, &inbox, error);
    if (st == S2P_OK && setup->has_sandbox) st = s2_sandbox_enter(error);
    if (st == S2P_OK) {
        s2_outbox_json(&outbox, S2_FRAME_HELLO, 0, hello(setup, &opened.info));
        s2_scheduler_run(scheduler);
    }
    s2_scheduler_free(scheduler);
    s2v_session_free(opened.session);
    s2v_engine_close(opened.engine);
    s2_outbox_free(&outbox);
    return st;
}
