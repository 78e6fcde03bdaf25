/* serve_engine.c - open, shut the doors, serve. */
#include "serve/engine/serve_engine.h"

#include "base/clock.h"
#include "gguf/gguf.h"
#include "serve/engine/sandbox.h"
#include "serve/engine/scheduler.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

typedef struct loading {
    s2_outbox *outbox;
    double told_ms; /* when the front last heard of it */
} loading;

static int tell_progress(const char *step, double done, void *user)
{
    loading *l = user;
    if (s2_now_ms() - l->told_ms < 100.0 && done < 1.0) return 0;
    l->told_ms = s2_now_ms();
    s2_outbox_json(l->outbox, S2_FRAME_LOADING, 0,
                   json_pack("{s:s,s:f}", "step", step, "done", done));
    return 0;
}

static json_t *hello(const s2_engine_setup *setup, const s2v_engine *engine)
{
    s2v_engine_info i;
    s2v_engine_get_info(engine, &i);
    return json_pack(
        "{s:s,s:s,s:s,s:s,s:s,s:s,s:i,s:i,s:i,s:i,s:i,s:I,s:I,s:I,s:i,s:s,s:b,s:b}", "model",
        setup->model, "name", i.name, "architecture", i.architecture, "device", i.device, "kernels",
        i.kernels, "template", i.template_name, "n_ctx", setup->session.n_ctx, "n_ctx_train",
        i.n_ctx_train, "n_vocab", i.n_vocab, "n_embd", i.n_embd, "n_layers", i.n_layers, "n_params",
        (json_int_t)i.n_parameters, "size", (json_int_t)i.model_bytes, "max_pixels",
        (json_int_t)i.max_pixels, "token_side",
        i.patch_size * (i.merge_size > 1 ? i.merge_size : 1), "ggml", s2v_backend_version(),
        "sandbox", setup->has_sandbox, "is_bundled", setup->is_bundled);
}

/* What is only known once the model is open. */
static void settle_setup(s2_engine_setup *setup, const s2v_engine_info *info)
{
    const int64_t side = (int64_t)info->patch_size * (info->merge_size > 1 ? info->merge_size : 1);
    if (setup->session.n_ctx == 0) setup->session.n_ctx = info->n_ctx_train;
    if (setup->min_tokens > 0) setup->image.min_pixels = setup->min_tokens * side * side;
    if (setup->max_tokens > 0) setup->image.max_pixels = setup->max_tokens * side * side;
}

static s2p_status open_tokenizer(const char *path, s2v_tokenizer **out, s2p_error *error)
{
    s2v_gguf *file = NULL;
    TRY(s2v_gguf_open(&file, path, error));
    const s2p_status st = s2v_tokenizer_create(out, file, error);
    s2v_gguf_close(file);
    return st;
}

/* What is loaded by now stays in memory; a system that does not allow it is no reason to stop. */
static void lock_memory(const s2_engine_setup *setup)
{
    char text[160];
    if (!setup->locks_memory || mlockall(MCL_CURRENT) == 0 || !setup->engine.note) return;
    (void)snprintf(text, sizeof text, "--mlock: %s; see 'ulimit -l'", strerror(errno));
    setup->engine.note(text, setup->engine.user);
}

s2p_status s2_serve_engine(s2_engine_setup *setup, s2p_error *error)
{
    s2v_engine *engine = NULL;
    s2v_tokenizer *tokenizer = NULL;
    s2_scheduler *scheduler = NULL;
    s2_outbox outbox;
    s2_inbox inbox;
    s2v_engine_info info;
    s2_outbox_init(&outbox, setup->fd);
    loading l = { .outbox = &outbox };
    s2_quick quick = { .setup = setup, .outbox = &outbox };
    setup->engine.progress = tell_progress;
    setup->engine.user = &l;
    s2p_status st = s2v_engine_open(&engine, &setup->engine, error);
    if (st == S2P_OK) {
        s2v_engine_get_info(engine, &info);
        quick.template_name = info.template_name;
        settle_setup(setup, &info);
        st = open_tokenizer(setup->engine.model_path, &tokenizer, error);
        quick.tokenizer = tokenizer;
    }
    if (st == S2P_OK) st = s2_scheduler_create(&scheduler, engine, &quick, &inbox, error);
    if (st == S2P_OK) st = s2_inbox_start(&inbox, setup->fd, setup->gone, error);
    if (st == S2P_OK) lock_memory(setup);
    if (st == S2P_OK && setup->has_sandbox) st = s2_sandbox_enter(error);
    if (st == S2P_OK) {
        s2_outbox_json(&outbox, S2_FRAME_HELLO, 0, hello(setup, engine));
        s2_scheduler_run(scheduler);
    }
    s2_scheduler_free(scheduler);
    s2v_tokenizer_free(tokenizer);
    s2v_engine_close(engine);
    s2_outbox_free(&outbox);
    return st;
}
