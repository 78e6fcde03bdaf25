/* eval_prepare.c - from options to a run that can go on: settings, data, fingerprint, store, model. */
#include "eval/eval_command.h"

#include "asking/interrupt.h"
#include "asking/tower_size.h"
#include "asking/model_kind.h"
#include "base/file.h"
#include "base/path.h"
#include "base/sha256.h"
#include "eval/judging.h"
#include "eval/run/fingerprint.h"
#include "eval/run/run_folder.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *eval_step_name(size_t index)
{
    static const char *const names[] = { "all", "infer", "score" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

/* --- what the run is ------------------------------------------------------------------- */

static void set_value(json_t *values, const char *key, const char *text)
{
    (void)json_object_set_new(values, key, json_string(text));
}

S2_PRINTF(3, 4)
static void set_format(json_t *values, const char *key, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    set_value(values, key, text);
}

/* The columns of the run and what its settings are. is_bare: as programs wrote them that had one setting
 * for each method, whose runs are to go on. */
static s2p_status describe_settings(eval_context *context, bool is_bare, json_t *values,
                                    s2p_error *error)
{
    s2_buffer text;
    s2_buffer_init(&text, 1 << 20);
    s2e_column *column = calloc((size_t)context->n_settings + 1, sizeof *column);
    s2p_status st = column ? S2P_OK : S2P_ENOMEM;
    for (int32_t i = 0; st == S2P_OK && i < context->n_settings; i++) {
        char key[S2A_LABEL_SIZE + 32];
        const ask_options *ask = &context->options->ask;
        const s2e_common common = { ask->mode == S2P_MODE_PUBLISHED, ask->structure != 0 };
        column[i] = s2e_column_of(&context->setting[i], context->options->seeds, is_bare);
        (void)snprintf(key, sizeof key, S2E_IS "method.%s", column[i].method);
        text.size = 0;
        s2a_setting written = context->setting[i];
        if (is_bare) written.width = written.height = 0;
        s2e_setting_write(&written, common, &text);
        s2_buffer_append(&text, "", 1);
        st = text.status;
        if (st == S2P_OK) set_value(values, key, (const char *)text.data);
        if (!written.own) continue;
        (void)snprintf(key, sizeof key, S2E_IS "own.%s", written.method);
        set_value(values, key, s2a_own_identity(written.own));
    }
    text.size = 0;
    if (st == S2P_OK) {
        s2e_columns_write(column, context->n_settings, &text);
        s2_buffer_append(&text, "", 1);
        st = text.status;
    }
    if (st == S2P_OK) set_value(values, S2E_IS "methods", (const char *)text.data);
    s2_buffer_free(&text);
    free(column);
    return st == S2P_OK ? st : s2_fail(error, st, "no memory for the names of the methods");
}

static void describe_pictures(eval_context *context)
{
    const s2v_image_options *o = &context->asker.image_options[0];
    char jpeg[32] = "";
    if (context->options->jpeg > 0)
        (void)snprintf(jpeg, sizeof jpeg, " jpeg=%d", context->options->jpeg);
    set_format(context->values, S2E_IS "pictures",
               "size=%dx%d pixels=%lld-%lld framing=%s structure=%s%s", o->width, o->height,
               (long long)o->min_pixels, (long long)o->max_pixels,
               s2_ask_framing_name((size_t)o->framing),
               s2_ask_structure_name((size_t)o->structure_from_resized), jpeg);
}

/* Boxes as they were given, masks by the SHA-256 of their files; nothing without boxes. */
static s2p_status describe_boxes(eval_context *context, s2p_error *error)
{
    const ask_options *o = &context->options->ask;
    const struct {
        const char *word;
        const s2_list *list;
    } lists[] = { { "keep", &o->keep_boxes },
                  { "drop", &o->drop_boxes },
                  { "blank", &o->blank_boxes },
                  { "mask", &o->masks } };
    const s2a_boxes *boxes = &context->asker.boxes;
    s2_buffer text, file;
    if (boxes->n == 0) return S2P_OK;
    int32_t n_pictures = 0; /* of the sample that has most */
    for (int32_t t = 0; t < context->data.n; t++)
        for (int32_t i = 0; i < context->data.set[t].n_samples; i++)
            if (context->data.set[t].sample[i].n_pictures > n_pictures)
                n_pictures = context->data.set[t].sample[i].n_pictures;
    TRY(s2a_boxes_check(boxes, n_pictures, error));
    s2_buffer_init(&text, 1 << 16);
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t i = 0; i < lists[k].list->n; i++)
            s2_buffer_printf(&text, "%s%s %s", text.size ? " " : "", lists[k].word,
                             lists[k].list->item[i]);
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < boxes->n; i++) {
        uint8_t digest[32];
        char hash[S2_SHA256_HEX];
        if (!boxes->box[i].mask) continue;
        s2_buffer_init(&file, (size_t)512 << 20);
        st = s2_file_read(boxes->box[i].mask, &file, error);
        s2p_error why = { S2P_OK, "" };
        s2_size size; /* not a picture: a sentence now, and not one for each sample */
        if (st == S2P_OK && (st = s2_image_measure(file.data, file.size, &size, &why)) != S2P_OK)
            (void)s2_fail(error, st, "--mask %.200s: %s", boxes->box[i].mask, why.message);
        if (st == S2P_OK) {
            s2_sha256(file.data, file.size, digest);
            s2_sha256_hex(digest, hash);
            s2_buffer_printf(&text, " %s", hash);
        }
        s2_buffer_free(&file);
    }
    s2_buffer_append(&text, "", 1);
    if (st == S2P_OK && text.status != S2P_OK)
        st = s2_fail(error, text.status, "the boxes have too much text");
    if (st == S2P_OK) set_value(context->values, S2E_IS "boxes", (const char *)text.data);
    s2_buffer_free(&text);
    return st;
}

static int32_t predict_of(const eval_context *context, int32_t task)
{
    const int32_t asked = context->options->predict;
    const int32_t answer =
        asked > 0 ? asked : context->data.task[task]->predict[context->options->protocol];
    /* thoughts have tokens of their own, and one that ends them */
    return answer + (s2_ask_thinks(&context->options->ask)
                         ? s2_ask_thoughts(&context->options->ask) + 1
                         : 0);
}

static int show_hashing(double done, void *user)
{
    eval_context *context = user;
    (void)s2_progress_show(&context->asker.progress, "reading", done);
    return s2_interrupted();
}

/* Hashes only where a run is kept: they are what tells it from another. */
static s2p_status describe_task(eval_context *context, int32_t i, s2p_error *error)
{
    const eval_data *data = &context->data;
    char key[S2E_NAME + 32], hash[2][S2_SHA256_HEX] = { "", "" };
    const s2e_protocol protocol = (s2e_protocol)context->options->protocol;
    if (context->options->out && !context->options->is_dry) {
        TRY(s2e_set_hash(&data->set[i], show_hashing, context, hash[0], error));
        TRY(s2e_prompts_hash(data->task[i], &data->set[i], protocol, hash[1], error));
    }
    (void)snprintf(key, sizeof key, S2E_IS "task.%s", data->task[i]->name);
    set_format(context->values, key,
               "{\"samples\":%d,\"predict\":%d,\"data\":\"%s\",\"prompts\":\"%s\"}",
               data->set[i].n_samples, predict_of(context, i), hash[0], hash[1]);
    (void)snprintf(key, sizeof key, S2E_ABOUT "data.%s", data->task[i]->name);
    set_value(context->values, key, data->folder[i]);
    return S2P_OK;
}

static s2p_status describe_tasks(eval_context *context, s2p_error *error)
{
    char names[S2E_MAX_TASKS * S2E_NAME] = "";
    for (int32_t i = 0; i < context->data.n; i++) {
        const size_t n = strlen(names);
        (void)snprintf(names + n, sizeof names - n, "%s%s", i ? "," : "",
                       context->data.task[i]->name);
        TRY(describe_task(context, i, error));
    }
    set_value(context->values, S2E_IS "tasks", names);
    if (s2_ask_thinks(&context->options->ask))
        set_format(context->values, S2E_IS "reasoning", "%d",
                   s2_ask_thoughts(&context->options->ask));
    set_format(context->values, S2E_IS "limit", "%d", context->options->limit);
    return S2P_OK;
}

static s2p_status describe_model(eval_context *context, s2p_error *error)
{
    const ask_options *o = &context->options->ask;
    char hash[S2_SHA256_HEX] = "", kind[S2_MODEL_KIND];
    set_value(context->values, S2E_ABOUT "model", s2_base_name(context->asker.model));
    set_value(context->values, S2E_ABOUT "kind",
              s2_model_kind(context->asker.model, context->asker.mmproj, kind));
    if (!context->options->out || context->options->is_dry) return S2P_OK;
    TRY(s2e_file_hash(context->asker.model, show_hashing, context, hash, error));
    set_value(context->values, S2E_IS "model", hash);
    TRY(s2e_file_hash(context->asker.mmproj, show_hashing, context, hash, error));
    set_value(context->values, S2E_IS "mmproj", hash);
    s2_progress_clear(&context->asker.progress);
    const bool is_mixed = o->kv_type_v > 0 && o->kv_type_v - 1 != o->kv_type;
    set_format(context->values, S2E_IS "engine", "context=%d batch=%d kv=%s%s%s tower=%s%s",
               o->context, o->batch, s2_ask_kv_name((size_t)o->kv_type), is_mixed ? "/" : "",
               is_mixed ? s2_ask_kv_v_name((size_t)o->kv_type_v) : "",
               s2_ask_tower_name((size_t)o->tower), s2_ask_is_fused(o) ? "" : " attention=plain");
    return S2P_OK;
}

static s2p_status describe(eval_context *context, s2p_error *error)
{
    char host[128] = "";
    const ask_options *ask = &context->options->ask;
    context->values = json_object();
    set_value(context->values, S2E_IS "program", s2p_version());
    set_value(context->values, S2E_IS "protocol",
              s2e_protocol_name((size_t)context->options->protocol));
    set_value(context->values, S2E_IS "mode", s2_mode_name((size_t)ask->mode));
    TRY(describe_settings(context, false, context->values, error));
    describe_pictures(context);
    TRY(describe_boxes(context, error));
    TRY(describe_tasks(context, error));
    TRY(describe_model(context, error));
    if (gethostname(host, sizeof host - 1) == 0) set_value(context->values, S2E_ABOUT "host", host);
    set_value(context->values, S2E_ABOUT "kernels", s2v_kernels_usual(0));
    set_value(context->values, S2E_ABOUT "device",
              ask->rpc      ? ask->rpc
              : ask->device ? ask->device
                            : "auto");
    set_format(context->values, S2E_ABOUT "shard", "%d/%d", context->shard.index, context->shard.n);
    s2e_asking asking[S2E_MAX_TASKS];
    const s2e_evaluation work = eval_work(context, asking);
    set_format(context->values, S2E_ABOUT "answers", "%lld",
               (long long)s2e_evaluation_answers(&work));
    return S2P_OK;
}

/* --- the steps -------------------------------------------------------------------------- */

static const char *read_env(const char *name) { return getenv(name); }

s2p_status eval_prepare(eval_context *context, s2p_error *error)
{
    const eval_options *o = context->options;
    context->shard = (s2e_shard){ 0, 1, NULL };
    if (!o->out && (o->starts_over || o->repeats_failed || o->step != EVAL_ALL))
        return s2_fail(error, S2P_EINVAL,
                       "--new, --repeat and --step need --out: without it no answer is kept");
    if (s2_ask_thinks(&o->ask) && s2_ask_thoughts(&o->ask) == 0)
        return s2_fail(
            error, S2P_EINVAL,
            "--reasoning on needs --reasoning-budget N here: the length of answers is limited");
    if (!o->out && o->shard)
        return s2_fail(error, S2P_EINVAL,
                       "--shard needs --out: it is the common folder of the shards");
    if (o->out) TRY(s2e_shard_read("--shard", o->shard, read_env, &context->shard, error));
    for (const char *list = o->tasks, *end; list; list = end ? end + 1 : NULL) {
        end = strchr(list, ','); /* names first: reading may take long */
        char name[S2E_NAME + 64];
        (void)snprintf(name, sizeof name, "%.*s", end ? (int)(end - list) : 100, list);
        if (!s2e_task_find(name)) return eval_data_add(&context->data, name, NULL, 1, error);
    }
    if (o->ask.image_size) TRY(s2_ask_check_surplus("--image-size", o->ask.image_size, 1, error));
    const char *usual = s2_ask_has_variants(&o->ask) ? NULL : EVAL_METHODS;
    TRY(s2_ask_settings(&o->ask, &context->asker.owns, o->methods ? o->methods : usual, o->budgets,
                        context->setting, &context->n_settings, error));
    const char *tasks = o->tasks;
    s2a_item item;
    while (s2a_next_item(&tasks, &item)) {
        char name[S2E_NAME + 64];
        (void)snprintf(name, sizeof name, "%.*s", (int)(item.n < 100 ? item.n : 100), item.text);
        TRY(eval_data_add(&context->data, name, o->data, o->limit, error));
    }
    TRY(s2_asker_prepare(&context->asker, &o->ask, error));
    if (o->samples) TRY(s2_asker_check_output(&context->asker, "--samples", o->samples, error));
    context->asker.shows_notes = false; /* one for each question would be too many */
    context->asker.hides_steps = true;
    if (o->ask.progress != S2_PROGRESS_AUTO) /* its lines are about answers alone */
        s2_progress_start(&context->asker.progress, S2_PROGRESS_NONE, true);
    s2_asker_see_whole(&context->asker);
    return describe(context, error);
}

static void drop_settings(json_t *values)
{
    static const char prefix[] = S2E_IS "method";
    const char *key;
    json_t *value;
    void *next;
    json_object_foreach_safe(values, next, key, value)
    {
        if (strncmp(key, prefix, strlen(prefix)) == 0) (void)json_object_del(values, key);
    }
}

/* A run that an older program began goes on under its names: each method once at a budget. */
static s2p_status take_old_names(eval_context *context, s2p_error *error)
{
    json_t *theirs = NULL, *bare = json_object();
    s2p_status st = bare ? s2e_fingerprint_load(context->store, &theirs, error) : S2P_ENOMEM;
    if (st == S2P_OK) st = describe_settings(context, true, bare, error);
    const char *there = s2_json_string(theirs, S2E_IS "methods");
    const char *mine = s2_json_string(context->values, S2E_IS "methods");
    const char *old = s2_json_string(bare, S2E_IS "methods");
    if (st == S2P_OK && there && mine && old && strcmp(there, mine) != 0 &&
        strcmp(there, old) == 0) {
        drop_settings(context->values);
        (void)json_object_update(context->values, bare);
        context->is_bare = true;
    }
    json_decref(bare);
    json_decref(theirs);
    return st;
}

s2p_status eval_open_store(eval_context *context, s2p_error *error)
{
    const char *folder = context->options->out;
    if (!folder) {
        TRY(s2e_store_open(NULL, S2E_STORE_WRITE, &context->store, error));
        return s2e_fingerprint_agree(context->store, context->values, "memory", error);
    }
    s2e_run_file file;
    TRY(s2e_run_folder_make(folder, error));
    TRY(s2e_run_file_of(folder, context->shard, &file, error));
    (void)snprintf(context->store_path, sizeof context->store_path, "%s", file.path);
    TRY(s2e_store_open(file.path, S2E_STORE_WRITE, &context->store, error));
    int64_t n;
    if (context->options->starts_over) TRY(s2e_store_forget(context->store, false, &n, error));
    TRY(take_old_names(context, error));
    TRY(s2e_fingerprint_agree(context->store, context->values, folder, error));
    return context->options->repeats_failed ? s2e_store_forget(context->store, true, &n, error)
                                            : S2P_OK;
}

/* Some methods look at what the tower attended to; then it is kept with the rows of a picture. */
static bool looks_at_attention(const eval_context *context)
{
    for (int32_t i = 0; i < context->n_settings; i++) {
        const s2p_method *method = s2a_setting_method(&context->setting[i]);
        const uint32_t needs = s2p_method_needs(method, &context->setting[i].choice);
        if (needs & (S2P_NEED_VISION_ATTN | S2P_NEED_VISION_KEY)) return true;
    }
    return false;
}

s2p_status eval_open_model(eval_context *context, s2p_error *error)
{
    s2v_session_options session = s2_ask_session_options(&context->options->ask);
    if (context->options->recompute) session.no_cache = 1;
    session.keep_attention = looks_at_attention(context);
    TRY(s2_asker_open(&context->asker, &session, error));
    return s2a_settings_check_after("--after", context->setting, context->n_settings,
                                    context->asker.info.n_layers, error);
}

s2e_evaluation eval_work(eval_context *context, s2e_asking *asking)
{
    for (int32_t i = 0; i < context->data.n; i++)
        asking[i] =
            (s2e_asking){ context->data.task[i], &context->data.set[i], predict_of(context, i) };
    const bool has_tower = s2_asker_tower_size(&context->asker, &context->tower);
    return (s2e_evaluation){ .engine = context->asker.engine,
                             .session = context->asker.session,
                             .image_options = &context->asker.image_options[0],
                             .boxes = &context->asker.boxes,
                             .read_mask = s2_ask_read_mask,
                             .mask_user = (void *)(uintptr_t)&context->options->ask,
                             .thought_budget = s2_ask_thinks(&context->options->ask)
                                                   ? s2_ask_thoughts(&context->options->ask)
                                                   : 0,
                             .task = asking,
                             .n_tasks = context->data.n,
                             .setting = context->setting,
                             .n_settings = context->n_settings,
                             .n_seeds = context->options->seeds,
                             .protocol = (s2e_protocol)context->options->protocol,
                             .shard = context->shard,
                             .store = context->store,
                             .n_vocab = context->asker.info.n_vocab,
                             .keeps_logprobs = context->options->keeps_logprobs,
                             .keeps_selections = context->options->out != NULL,
                             .tower = has_tower ? &context->tower : NULL,
                             .is_bare = context->is_bare,
                             .jpeg_quality = context->options->jpeg };
}

void eval_context_free(eval_context *context)
{
    s2e_store_close(context->store);
    json_decref(context->values);
    eval_data_free(&context->data);
    s2_asker_close(&context->asker);
}
