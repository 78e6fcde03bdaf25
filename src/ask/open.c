/* open.c - open the engine, settle what depends on the model, create the first session. */
#if defined(__linux__)
#define _GNU_SOURCE /* mlockall */
#endif
#include "ask/open.h"

#include "ask/settings.h"
#include "base/error.h"
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define PAPER_SIDE 672 /* pixels of the paper's input */

s2p_status s2a_pictures_init(const s2a_picture_options *o, const char *source,
                             s2v_image_options *image, int32_t n, s2p_error *error)
{
    const int32_t side = o->is_paper ? PAPER_SIDE : 0;
    for (int32_t i = 0; i < n; i++)
        image[i] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                        .width = side,
                                        .height = side,
                                        .min_pixels = o->min_pixels,
                                        .max_pixels = o->max_pixels,
                                        .framing = o->framing,
                                        .structure_from_resized = o->structure_from_resized,
                                        .resize = o->resize };
    return o->sizes ? s2a_sizes_read(source, o->sizes, image, n, error) : S2P_OK;
}

void s2a_pictures_settle(const s2a_picture_options *o, const s2v_engine_info *info,
                         s2v_image_options *image, int32_t n)
{
    /* A tower without a merger has one input size, so the paper's input is that one. */
    const bool has_one_size = o->is_paper && !o->sizes && info->merge_size <= 1;
    /* A visual token covers merge x merge patches. */
    const int64_t side = (int64_t)info->patch_size * (info->merge_size > 1 ? info->merge_size : 1);
    for (int32_t i = 0; i < n; i++) {
        if (has_one_size) {
            image[i].width = image[i].height = 0;
            if (image[i].framing == S2V_FRAMING_AUTO) image[i].framing = S2V_FRAMING_BASE;
        }
        if (o->min_tokens > 0) image[i].min_pixels = o->min_tokens * side * side;
        if (o->max_tokens > 0) image[i].max_pixels = o->max_tokens * side * side;
    }
}

/* What the user may not expect of this model. */
static void note_surprises(const s2a_open_options *o, const s2v_engine_info *info)
{
    const s2v_engine_options *e = &o->engine;
    const s2a_picture_options *p = &o->pictures;
    const int64_t limit = info->max_pixels, allowed = info->file_max_pixels;
    char text[160];
    if (!e->note) return;
    bool is_reduced = o->n_pictures == 0;
    for (int32_t i = 0; i < o->n_pictures; i++)
        is_reduced |= (int64_t)o->picture[i].width * o->picture[i].height > limit;
    if (is_reduced && allowed > limit && p->max_pixels <= 0 && !p->sizes && !p->is_paper) {
        (void)snprintf(
            text, sizeof text,
            "pictures are reduced to %lld pixels; the model allows %lld: --max-pixels %lld",
            (long long)limit, (long long)allowed, (long long)allowed);
        e->note(text, e->user);
    }
    if (info->device_layers > 0 || info->device_tower) return;
    if (e->gpu_layers > 0)
        e->note("-ngl has no effect: the model runs on the CPU (s2prune run --list-devices)",
                e->user);
    else if (e->tower_on_cpu)
        e->note("--no-mmproj-offload has no effect: the model runs on the CPU", e->user);
}

/* A name that people know it by: llama.cpp calls what Qwen's models have chatml. */
static s2p_status check_template(const char *asked, const char *own, s2p_error *error)
{
    const bool is_chatml = strcmp(own, "qwen2-vl") == 0 || strcmp(own, "qwen3-vl") == 0;
    if (!asked || strcmp(asked, own) == 0 || (is_chatml && strcmp(asked, "chatml") == 0))
        return S2P_OK;
    return s2_fail(error, S2P_EINVAL,
                   "--chat-template '%.60s': the chat format of this model is '%s', and no other "
                   "would give good answers; use --raw for a prompt without one",
                   asked, own);
}

s2p_status s2a_open(const s2a_open_options *o, s2a_opened *out, s2p_error *error)
{
    const s2v_engine_options *e = &o->engine;
    *out = (s2a_opened){ .engine = NULL };
    /* The engine would create the folder as well, but the status here is that of every other folder
     * that cannot be created. */
    if (e->cache_dir) {
        int code = s2_make_parents(e->cache_dir);
        if (code == 0 && mkdir(e->cache_dir, 0700) != 0 && errno != EEXIST) code = errno;
        if (code != 0)
            return s2_fail(error, S2P_ENOMEM, "--cache-dir: cannot make the folder '%.200s': %s",
                           e->cache_dir, strerror(code));
    }
    TRY(s2v_engine_open(&out->engine, e, error));
    s2v_engine_get_info(out->engine, &out->info);
    const s2p_status named = check_template(o->chat_template, out->info.template_name, error);
    if (named != S2P_OK) {
        s2v_engine_close(out->engine);
        *out = (s2a_opened){ .engine = NULL };
        return named;
    }
    note_surprises(o, &out->info);
    s2a_pictures_settle(&o->pictures, &out->info, o->image, o->n_images);
    out->session_options = o->session;
    if (out->session_options.n_ctx == S2A_CONTEXT_OF_MODEL)
        out->session_options.n_ctx = out->info.n_ctx_train;
    const s2p_status st =
        s2v_session_create(&out->session, out->engine, &out->session_options, error);
    if (st != S2P_OK) {
        s2v_engine_close(out->engine);
        *out = (s2a_opened){ .engine = NULL };
        return st;
    }
    if (o->locks_memory && mlockall(MCL_CURRENT) != 0 && e->note) {
        char text[160];
        (void)snprintf(text, sizeof text, "--mlock: %s; see 'ulimit -l'", strerror(errno));
        e->note(text, e->user);
    }
    return S2P_OK;
}
