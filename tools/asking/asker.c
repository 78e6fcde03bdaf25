/* asker.c - from options to a model that answers. */
#include "asking/asker.h"

#include "asking/interrupt.h"
#include "base/file.h"
#include "base/path.h"
#include "file_watch.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_BYTES ((uint64_t)1 << 30)

S2_WORDS(s2_ask_kv_name, "f16", "f32", "q8_0")
S2_WORDS(s2_ask_kv_v_name, "same", "f16", "f32", "q8_0")
S2_WORDS(s2_ask_flash_name, "auto", "on", "off")
S2_WORDS(s2_ask_tower_name, "auto", "f32", "bf16", "q8", "int8")
S2_WORDS(s2_ask_preset_name, "none", "paper", "document")
S2_WORDS(s2_ask_structure_name, "source", "resized")
S2_WORDS(s2_ask_framing_name, "auto", "base", "anyres", "square", "crop")
S2_WORDS(s2_ask_resize_name, "pillow", "pillow13")
S2_WORDS(s2_ask_reasoning_name, "off", "on")

static const char *environment(const char *name) { return getenv(name); }

static void show_note(const char *text, void *user)
{
    (void)user;
    s2_report_line("note", text);
}

static int show_progress(const char *step, double done, void *user)
{
    s2_asker *asker = user;
    if (asker->session && asker->hides_steps) return 0;
    (void)s2_progress_show(&asker->progress, step, done);
    if (done >= 1.0) s2_progress_clear(&asker->progress);
    return asker->is_interruptible && s2_interrupted();
}

/* --- what the options say ------------------------------------------------------------ */

static s2a_picture_options picture_options(const ask_options *o)
{
    return (s2a_picture_options){ .is_paper = o->preset == S2_PRESET_PAPER,
                                  .sizes = o->image_size,
                                  .min_pixels = o->min_pixels,
                                  .max_pixels = o->max_pixels,
                                  .min_tokens = o->min_tokens,
                                  .max_tokens = o->max_tokens,
                                  .framing = (s2v_framing)o->framing,
                                  .structure_from_resized = o->structure,
                                  .resize = (s2v_resize)o->resize };
}

s2p_status s2_asker_prepare(s2_asker *asker, const ask_options *options, s2p_error *error)
{
    const ask_options *o = options;
    asker->options = o;
    asker->model = o->model;
    asker->mmproj = o->mmproj;
    asker->shows_notes = !o->quiet;
    s2_progress_start(&asker->progress, (s2_progress_form)o->progress, o->quiet);
    if (o->images.n > S2_MAX_PICTURES)
        return s2_fail(error, S2P_ELIMIT, "%zu pictures; the limit is %d", o->images.n,
                       S2_MAX_PICTURES);
    const s2a_picture_options pictures = picture_options(o);
    TRY(s2_ask_boxes(o, &asker->boxes, error));
    s2a_setting before = { .has_before = false };
    if (o->before_tower) TRY(s2a_before_read("--before-tower", o->before_tower, &before, error));
    TRY(s2a_pictures_init(&pictures, "--image-size", asker->image_options, S2_MAX_PICTURES, error));
    if (o->hub_name) {
        if (o->model || o->mmproj)
            return s2_fail(error, S2P_EINVAL, "-hf already selects both files; remove %s",
                           o->model ? "-m" : "-mm");
        const s2_hub_wish wish = { .name = o->hub_name,
                                   .is_offline = o->is_offline,
                                   .token = o->hub_token,
                                   .env = environment,
                                   .progress = &asker->progress };
        TRY(s2_hub_find(&wish, &asker->hub, error));
        asker->model = asker->hub.model;
        asker->mmproj = asker->hub.mmproj;
    }
    TRY(s2_bundled_complete(&asker->model, &asker->mmproj, o->quiet, &asker->bundled, error));
    s2_watch_file(asker->model);
    s2_watch_file(asker->mmproj);
    s2_ask_note_profile(o, asker->model);
    return S2P_OK;
}

bool s2_ask_is_fused(const ask_options *o)
{
    return strcmp(s2_ask_flash_name((size_t)o->flash), "off") != 0;
}

s2v_session_options s2_ask_session_options(const ask_options *o)
{
    s2v_session_options s;
    s2v_session_options_init(&s);
    /* the engine's 0 is a context that grows, the user's the model's own size */
    s.n_ctx = o->context < 0 ? 0 : o->context > 0 ? o->context : S2A_CONTEXT_OF_MODEL;
    s.n_batch = o->batch < o->batch_limit ? o->batch : o->batch_limit;
    s.kv_type = (s2v_kv_type)o->kv_type;
    s.kv_type_v = (s2v_kv_type)(o->kv_type_v + S2V_KV_SAME); /* 0: as the keys */
    s.plain_attention = !s2_ask_is_fused(o);
    s.no_cache = o->no_cache;
    return s;
}

int32_t s2_ask_predict(const ask_options *o)
{
    static const int32_t longest = 1 << 20; /* of any context */
    return o->predict >= 0 ? o->predict : o->context > 0 ? o->context : longest;
}

void s2_ask_sampling(const ask_options *o, s2v_sampling *s)
{
    s->temperature = (float)o->temperature;
    s->top_k = o->top_k;
    s->top_p = (float)o->top_p;
    s->min_p = (float)o->min_p;
    s->repeat_penalty = (float)o->repeat_penalty;
    s->presence_penalty = (float)o->presence_penalty;
    s->frequency_penalty = (float)o->frequency_penalty;
    s->seed = o->seed;
    s->ignore_eos = o->ignore_eos;
    s->stop = o->stop.item;
    s->n_stop = o->stop.n;
}

s2a_setting s2_ask_setting(const ask_options *o)
{
    s2a_setting setting = { .published = o->mode == S2P_MODE_PUBLISHED,
                            .choice = { .side = o->grid,
                                        .allocator = s2p_allocator_name((size_t)o->allocator),
                                        .selector = s2p_selector_name((size_t)o->selector),
                                        .seed = o->seed },
                            .min_confidence = o->min_confidence,
                            .has_after = o->after != S2_AFTER_OWN,
                            .after = o->after,
                            .is_renumbered = o->positions != 0,
                            .is_resized = o->structure != 0 };
    if (o->preset == S2_PRESET_DOCUMENT) (void)s2a_before_read("", "pixelprune", &setting, NULL);
    if (o->before_tower) (void)s2a_before_read("", o->before_tower, &setting, NULL);
    /* One size for all pictures; what cannot be read is refused with the pictures. */
    s2v_image_options size;
    s2v_image_options_init(&size);
    if (o->image_size && s2a_sizes_read("", o->image_size, &size, 1, NULL) == S2P_OK) {
        setting.width = size.width;
        setting.height = size.height;
    }
    return setting;
}

static void show_words(const char *text, void *user)
{
    (void)user;
    s2_report_line("exec", text);
}

static bool is_interrupted(void *user)
{
    (void)user;
    return s2_interrupted();
}

static s2a_own_opener opener_of(const ask_options *o, s2a_owns *owns)
{
    if (owns)
        owns->options = (s2a_own_options){ .timeout_ms = 1e3 * o->exec_timeout,
                                           .note = o->quiet ? NULL : show_words,
                                           .cancelled = is_interrupted };
    return s2a_owns_opener(owns);
}

/* A command that asks no model has no place for them. */
static s2p_status load_plugins(const ask_options *o, s2a_owns *owns, s2p_error *error)
{
    if (o->plugins.n > 0 && !owns)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "--plugin can only be used with commands that run a model, and with select");
    for (size_t i = 0; i < o->plugins.n; i++)
        TRY(s2a_owns_load(owns, "--plugin", o->plugins.item[i], error));
    return S2P_OK;
}

static s2p_status check_own(const s2a_setting *settings, int32_t n, s2p_error *error)
{
    for (int32_t i = 0; i < n; i++)
        if (settings[i].own) TRY(s2a_own_check(settings[i].own, &settings[i], error));
    return S2P_OK;
}

s2p_status s2_ask_method(const ask_options *o, s2a_owns *owns, const char *source, const char *text,
                         s2a_setting *setting, s2p_error *error)
{
    TRY(load_plugins(o, owns, error));
    TRY(s2a_method_use(source, text, strlen(text), opener_of(o, owns), setting, error));
    return check_own(setting, 1, error);
}

s2p_status s2_ask_settings(const ask_options *o, s2a_owns *owns, const char *methods,
                           const char *budgets, s2a_setting *out, int32_t *n, s2p_error *error)
{
    const s2a_setting base = s2_ask_setting(o);
    const s2a_lists lists = { .methods = methods,
                              .budgets = budgets,
                              .methods_source = "--methods",
                              .budgets_source = "--budgets",
                              .opener = opener_of(o, owns) };
    *n = 0;
    TRY(load_plugins(o, owns, error));
    if (methods || !s2_ask_has_variants(o)) TRY(s2a_settings_read(&lists, &base, out, n, error));
    TRY(s2_ask_has_variants(o) ? s2_ask_add_variants(o, lists.opener, &base, budgets, out, n, error)
                               : s2_ask_set(o, out, *n, error));
    s2_ask_note_confidence(o, out, *n);
    return check_own(out, *n, error);
}

s2p_status s2_ask_check_surplus(const char *source, const char *list, size_t n_pictures,
                                s2p_error *error)
{
    size_t n = 0;
    s2a_item item;
    while (s2a_next_item(&list, &item)) n++;
    if (n <= n_pictures) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "%s has %zu items for %zu picture%s", source, n, n_pictures,
                   n_pictures == 1 ? "" : "s");
}

/* --- the model -------------------------------------------------------------------------- */

static void show_model(const s2_asker *asker)
{
    const s2v_engine_info *i = &asker->info;
    char line[512];
    const double n = (double)i->n_parameters;
    const bool is_large = n >= 1e9;
    (void)snprintf(line, sizeof line,
                   "%.100s (%s), %.2f %s parameters, %d layers, %d wide, %d heads (%d for "
                   "keys), %d tokens of context",
                   i->name, i->architecture, is_large ? n * 1e-9 : n * 1e-6,
                   is_large ? "billion" : "million", i->n_layers, i->n_embd, i->n_heads,
                   i->n_kv_heads, i->n_ctx_train);
    s2_report_line("model", line);
    (void)snprintf(line, sizeof line, "%d blocks, %d wide, patches of %d, %dx%d merged, kernels %s",
                   i->n_vision_blocks, i->n_vision_embd, i->patch_size, i->merge_size,
                   i->merge_size, i->kernels);
    s2_report_line("tower", line);
    const bool has_gib = i->model_bytes >= (uint64_t)1 << 30;
    const double unit = has_gib ? 1 << 30 : 1e6;
    (void)snprintf(line, sizeof line, "%.2f %s of weights from files of %.2f %s, on %.60s",
                   (double)i->weight_bytes / unit, has_gib ? "GiB" : "MB",
                   (double)i->model_bytes / unit, has_gib ? "GiB" : "MB", i->device);
    s2_report_line("memory", line);
}

s2a_open_options s2_asker_open_options(s2_asker *asker, const s2v_session_options *session)
{
    const ask_options *o = asker->options;
    s2a_open_options open = { .session = *session,
                              .pictures = picture_options(o),
                              .image = asker->image_options,
                              .n_images = S2_MAX_PICTURES,
                              .picture = asker->view,
                              .n_pictures = asker->n_pictures,
                              .chat_template = o->chat_template,
                              .locks_memory = o->locks_memory };
    s2v_engine_options *e = &open.engine;
    s2v_engine_options_init(e);
    e->model_path = asker->model;
    e->mmproj_path = asker->mmproj;
    e->device = o->device && strcmp(o->device, "none") == 0 ? "CPU" : o->device;
    e->rpc_server = o->rpc;
    e->tower = s2_ask_tower_name((size_t)o->tower);
    e->kernels = o->kernels;
    e->gpu_layers = o->gpu_layers;
    e->tower_on_cpu = o->tower_on_cpu;
    e->n_threads = o->threads > 0 ? o->threads : 0;
    e->pictures_soon = asker->n_pictures > 0;
    e->cache_bytes = session->no_cache ? 0 : CACHE_BYTES;
    e->cache_dir = session->no_cache ? NULL : o->cache_dir;
    e->note = asker->shows_notes ? show_note : NULL;
    return open;
}

s2p_status s2_asker_open(s2_asker *asker, const s2v_session_options *options, s2p_error *error)
{
    s2a_open_options open = s2_asker_open_options(asker, options);
    s2a_opened opened;
    open.engine.progress = show_progress;
    open.engine.user = asker;
    TRY(s2a_open(&open, &opened, error));
    asker->engine = opened.engine;
    asker->info = opened.info;
    asker->session = opened.session;
    if (s2_ask_thinks(asker->options) && !s2v_engine_thinks(asker->engine))
        return s2_fail(
            error, S2P_EUNSUPPORTED,
            "--reasoning on: the chat format of this model (%s) does not support thinking",
            asker->info.template_name);
    const s2v_framing usual = s2v_engine_usual_framing(asker->engine, 1, 1);
    if (asker->sees_whole && !open.pictures.is_paper &&
        usual == s2v_engine_usual_framing(asker->engine, 1, 0))
        asker->image_options[0].framing = usual; /* the same for every method already */
    if (asker->options->is_verbose) show_model(asker);
    return S2P_OK;
}

void s2_asker_close(s2_asker *asker)
{
    s2v_session_free(asker->session);
    s2v_engine_close(asker->engine);
    for (int32_t i = 0; i < asker->n_pictures; i++) {
        s2_image_free(&asker->picture[i]);
        s2a_regions_free(&asker->region[i]);
    }
    s2a_owns_close(&asker->owns);
    s2_dialog_clear(&asker->dialog);
}

/* --- pictures ----------------------------------------------------------------------------- */

s2p_status s2_asker_add_picture(s2_asker *asker, const char *path, s2p_error *error)
{
    const ask_options *o = asker->options;
    const int32_t i = asker->n_pictures;
    if (i == S2_MAX_PICTURES)
        return s2_fail(error, S2P_ELIMIT, "more than %d pictures", S2_MAX_PICTURES);
    s2_image_limits limits;
    s2_image_limits_local(&limits, o->max_image_pixels);
    TRY(s2_picture_read(path, (s2_pixels)o->pixels, &limits, &asker->picture[i], error));
    const s2p_status st = s2a_boxes_apply(&asker->boxes, i, &asker->picture[i], s2_ask_read_mask,
                                          (void *)(uintptr_t)o, &asker->region[i], error);
    if (st != S2P_OK) {
        s2_image_free(&asker->picture[i]);
        return st;
    }
    asker->view[i] = asker->picture[i].view;
    asker->picture_file[i] = s2_file_id_of(path);
    (void)snprintf(asker->picture_name[i], sizeof asker->picture_name[i], "%s", s2_base_name(path));
    asker->n_pictures++;
    return S2P_OK;
}

void s2_asker_keep_last_picture(s2_asker *asker)
{
    const int32_t last = asker->n_pictures - 1;
    for (int32_t i = 0; i < last; i++) {
        s2_image_free(&asker->picture[i]);
        s2a_regions_free(&asker->region[i]);
    }
    if (last > 0) {
        asker->region[0] = asker->region[last];
        asker->region[last] = (s2a_regions){ .n = 0 };
    }
    asker->picture[0] = asker->picture[last];
    asker->picture_file[0] = asker->picture_file[last];
    memmove(asker->picture_name[0], asker->picture_name[last], sizeof asker->picture_name[0]);
    asker->view[0] = asker->picture[0].view;
    asker->n_pictures = 1;
}

s2p_status s2_asker_check_output(const s2_asker *asker, const char *source, const char *path,
                                 s2p_error *error)
{
    const s2_file_id output = s2_file_id_of(path);
    const char *what = NULL;
    for (int32_t i = 0; i < asker->n_pictures; i++)
        if (s2_file_id_same(output, asker->picture_file[i])) what = "a picture that is asked about";
    if (asker->model && s2_file_id_same(output, s2_file_id_of(asker->model))) what = "the model";
    if (asker->mmproj && s2_file_id_same(output, s2_file_id_of(asker->mmproj)))
        what = "the model's mmproj";
    if (!what) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "%s '%.200s' would overwrite %s; choose another name", source,
                   path, what);
}

void s2_asker_see_whole(s2_asker *asker)
{
    if (asker->n_pictures > 1 || asker->image_options[0].framing != S2V_FRAMING_AUTO) return;
    asker->image_options[0].framing = S2V_FRAMING_BASE;
    asker->sees_whole = true;
}

/* --- asking -------------------------------------------------------------------------------- */

void s2_asker_reset(s2_asker *asker)
{
    s2v_session_reset(asker->session);
    s2_dialog_clear(&asker->dialog);
    asker->has_history = false;
}

typedef struct turn { /* what a prompt borrows */
    s2v_message message[2];
    s2v_image_options image[S2_MAX_PICTURES];
} turn;

/* The last n_pictures pictures and the question. */
static s2v_prompt make_prompt(const s2_asker *asker, const char *question, int32_t n_pictures,
                              const s2a_setting *setting, turn *t)
{
    const ask_options *o = asker->options;
    const int32_t first = asker->n_pictures - n_pictures;
    size_t n = 0;
    if (o->system && !asker->has_history)
        t->message[n++] = (s2v_message){ .role = S2V_SYSTEM, .text = o->system };
    t->message[n++] = (s2v_message){ .role = S2V_USER, .text = question, .n_images = n_pictures };
    for (int32_t i = 0; i < n_pictures; i++) {
        t->image[i] = s2a_setting_image(setting, asker->image_options[first + i]);
        t->image[i].regions = asker->region[first + i].region;
        t->image[i].n_regions = asker->region[first + i].n;
    }
    return (s2v_prompt){ .size = sizeof(s2v_prompt),
                         .messages = o->raw ? NULL : t->message,
                         .n_messages = o->raw ? 0 : n,
                         .raw = o->raw ? question : NULL,
                         .images = asker->view + first,
                         .n_images = n_pictures,
                         .image_options = t->image,
                         .reasoning = s2_ask_thinks(o),
                         .reasoning_budget = s2_ask_thoughts(o) };
}

s2p_status s2_asker_estimate(s2_asker *asker, const s2v_session_options *options,
                             const char *question, const s2a_setting *setting, s2v_memory *out,
                             s2p_error *error)
{
    const s2a_open_options open = s2_asker_open_options(asker, options);
    turn t;
    s2v_prompt prompt = make_prompt(asker, question, asker->n_pictures, setting, &t);
    prompt.n_answer = asker->options->predict > 0 ? asker->options->predict : 0;
    const s2a_limits limits = { .n_tokens = 0 };
    const s2v_prune_options prune = s2a_prune_options(setting, &limits);
    s2v_session_options session = *options;
    if (session.n_ctx == S2A_CONTEXT_OF_MODEL) session.n_ctx = 0; /* as the prompt needs it */
    return s2v_engine_estimate_prompt(&open.engine, &session, &prompt, &prune, out, error);
}

/* Of a conversation with thoughts: the turns before without them, and this one. */
static s2p_status ask_anew(s2_asker *asker, const char *question, int32_t n_pictures,
                           const s2a_setting *setting, const s2a_limits *limits,
                           const s2a_listener *listener, s2a_answer *answer, s2p_error *error)
{
    const s2v_message last = { .role = S2V_USER, .text = question, .n_images = n_pictures };
    const int32_t n_earlier = asker->dialog.n_pictures;
    turn t;
    s2v_prompt prompt = make_prompt(asker, question, n_earlier + n_pictures, setting, &t);
    prompt.messages =
        s2_dialog_with(&asker->dialog, asker->options->system, &last, &prompt.n_messages);
    if (!prompt.messages) return s2_fail(error, S2P_ENOMEM, "no memory for the conversation");
    s2a_limits with = *limits; /* of all pictures of the conversation */
    if (with.image_budget) with.image_budget -= n_earlier;
    if (with.image_side) with.image_side -= n_earlier;
    s2v_session_reset(asker->session);
    TRY(s2a_ask(asker->session, &prompt, setting, &with, listener, answer, error));
    return s2_dialog_add(&asker->dialog, question, n_pictures, answer->text, error);
}

s2p_status s2_asker_ask(s2_asker *asker, const char *question, int32_t n_pictures,
                        const s2a_setting *setting, const s2a_limits *limits,
                        const s2a_listener *listener, s2a_answer *answer, s2p_error *error)
{
    const int32_t first = asker->n_pictures - n_pictures;
    turn t;
    const s2v_prompt prompt = make_prompt(asker, question, n_pictures, setting, &t);
    const s2a_sample sample = { "", n_pictures > 0 ? asker->picture_name[first] : "" };
    s2a_limits with = *limits;
    with.n_vocab = asker->info.n_vocab;
    with.sample = &sample;
    if (prompt.reasoning && !prompt.raw) {
        const s2p_status done =
            ask_anew(asker, question, n_pictures, setting, &with, listener, answer, error);
        asker->has_history = asker->dialog.n > 0;
        return done;
    }
    const s2p_status st = s2a_ask(asker->session, &prompt, setting, &with, listener, answer, error);
    asker->has_history = s2v_session_length(asker->session) > 0; /* a failure may have ended it */
    return st;
}

s2p_status s2_asker_meet_target(s2_asker *asker, const char *question, s2a_setting *setting,
                                s2p_error *error)
{
    const s2a_target target = s2_ask_target(asker->options);
    s2a_target_choice choice;
    s2a_points points;
    char text[S2A_TARGET_TEXT];
    turn t;
    const s2v_prompt prompt = make_prompt(asker, question, asker->n_pictures, setting, &t);
    TRY(s2a_target_measure(asker->session, &prompt, setting, &points, error));
    s2a_target_choose(&points, target, &choice);
    setting->budget = s2a_target_budget(&choice);
    if (asker->shows_notes) s2_report_line("note", s2a_target_text(&choice, target, text));
    return S2P_OK;
}

/* --- as it was seen -------------------------------------------------------------------------- */

/* The first picture of the last turn, whose plans the session has; below 0: not at hand any more.
 */
static int32_t first_shown(const s2_asker *asker)
{
    int32_t n_plans = 0;
    while (s2v_session_plan(asker->session, n_plans)) n_plans++;
    return asker->n_pictures - n_plans;
}

const s2p_image *s2_asker_seen(const s2_asker *asker, int32_t index, s2_image *squared)
{
    *squared = (s2_image){ .pixels = NULL };
    const s2p_image *source = &asker->view[first_shown(asker) + index];
    if (s2v_session_framing(asker->session, index) != S2V_FRAMING_SQUARE) return source;
    int32_t width, height;
    s2p_status st =
        s2v_session_get_picture(asker->session, index, source, &width, &height, NULL, NULL);
    if (st == S2P_OK) st = s2_image_create(width, height, squared, NULL);
    if (st != S2P_OK) return source;
    st = s2v_session_get_picture(asker->session, index, source, &width, &height, squared->pixels,
                                 NULL);
    return st == S2P_OK ? &squared->view : source;
}

/* What the boxes of a picture say of its tokens; NULL: it has none, or there is no memory. */
static uint8_t *marks_of(const s2_asker *asker, int32_t index, s2p_grid grid)
{
    const int32_t at = first_shown(asker) + index;
    const s2p_image *source = &asker->view[at];
    const s2_size size = { source->width, source->height };
    s2_size shown = size;
    uint8_t *mark = asker->region[at].n > 0 ? malloc((size_t)grid.rows * (size_t)grid.cols) : NULL;
    if (mark) {
        (void)s2v_session_get_picture(asker->session, index, source, &shown.width, &shown.height,
                                      NULL, NULL);
        s2a_regions_mark(&asker->region[at], size, shown, grid, mark);
    }
    return mark;
}

bool s2_kept_make(const s2_asker *asker, int32_t index, bool is_tiles, const char *method,
                  s2_kept *out)
{
    const s2p_plan *plan = is_tiles ? s2v_session_tile_plan(asker->session, index)
                                    : s2v_session_plan(asker->session, index);
    int32_t n_keep;
    if (!plan || first_shown(asker) < 0) return false;
    out->layout = s2p_plan_layout(plan);
    const int32_t *keep = s2p_plan_keep(plan, &n_keep);
    int32_t n_entered = 0;
    const int32_t *entered =
        is_tiles ? NULL : s2v_session_tower_tokens(asker->session, index, &n_entered);
    const int32_t n =
        snprintf(out->caption, sizeof out->caption, "%s: %d of %dx%d tokens kept%s", method, n_keep,
                 out->layout.grid.rows, out->layout.grid.cols, is_tiles ? " in tiles" : "");
    if (entered && n > 0 && (size_t)n < sizeof out->caption)
        (void)snprintf(out->caption + n, sizeof out->caption - (size_t)n,
                       ", %d never entered the tower",
                       out->layout.grid.rows * out->layout.grid.cols - n_entered);
    out->mark = marks_of(asker, index, out->layout.grid);
    out->overlay = (s2_overlay){ .picture = s2_asker_seen(asker, index, &out->squared),
                                 .layout = &out->layout,
                                 .keep = keep,
                                 .n_keep = n_keep,
                                 .entered = entered,
                                 .n_entered = n_entered,
                                 .mark = out->mark,
                                 .caption = out->caption };
    return true;
}

void s2_kept_free(s2_kept *kept)
{
    s2_image_free(&kept->squared);
    free(kept->mark);
}

s2p_status s2_kept_draw(const s2_asker *asker, int32_t index, const char *method, s2_image *out,
                        s2p_error *error)
{
    s2_kept kept;
    *out = (s2_image){ .pixels = NULL };
    if (!s2_kept_make(asker, index, false, method, &kept)) return S2P_OK;
    const s2p_status st = s2_overlay_draw(&kept.overlay, out, error);
    s2_kept_free(&kept);
    return st;
}
