/* run_turn.c - the work behind `run`: open the model, take pictures, produce an answer. */
#include "run/run_options.h"

#include "base/file.h"
#include "text/sample.h"
#include "inputs.h"
#include "prune/method.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MAX_ANSWER ((size_t)64 << 20)

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

static void show_note(const char *text, void *user)
{
    (void)user;
    (void)fprintf(stderr, "note: %s\n", text);
}

/* A bar on a terminal, nothing elsewhere. */
static int show_progress(const char *step, double done, void *user)
{
    const run_job *job = user;
    if (job->options->quiet || !isatty(STDERR_FILENO)) return 0;
    if (done >= 1.0)
        (void)fprintf(stderr, "\r\033[K");
    else
        (void)fprintf(stderr, "\r%s %3.0f%%\033[K", step, 100.0 * done);
    return 0;
}

static s2v_session_options session_options(const run_options *o)
{
    s2v_session_options s;
    s2v_session_options_init(&s);
    s.n_ctx = o->context;
    s.n_batch = o->batch;
    s.kv_type = (s2v_kv_type)o->kv_type;
    s.temperature = (float)o->temperature;
    s.top_k = o->top_k;
    s.top_p = (float)o->top_p;
    s.min_p = (float)o->min_p;
    s.repeat_penalty = (float)o->repeat_penalty;
    s.presence_penalty = (float)o->presence_penalty;
    s.frequency_penalty = (float)o->frequency_penalty;
    s.seed = o->seed;
    s.ignore_eos = o->ignore_eos;
    s.keep_picture = o->keep_picture;
    return s;
}

s2p_status s2_run_open(run_job *job, s2p_error *error)
{
    const run_options *o = job->options;
    s2v_engine_options e;
    s2v_engine_options_init(&e);
    e.model_path = o->model;
    e.mmproj_path = o->mmproj;
    e.device = o->device;
    e.rpc_server = o->rpc;
    e.gpu_layers = o->gpu_layers;
    e.n_threads = o->threads;
    e.note = o->quiet ? NULL : show_note;
    e.progress = show_progress;
    e.user = job;
    s2_buffer_init(&job->answer, MAX_ANSWER);
    s2v_prune_options_init(&job->prune);
    job->prune.method = s2v_method_name((size_t)o->method);
    job->prune.budget = o->budget.count;
    job->prune.budget_percent = o->budget.percent;
    job->prune.published = o->mode;
    job->prune.choice = (s2p_choice){ .side = o->grid,
                                      .allocator = s2p_allocator_name((size_t)o->allocator),
                                      .selector = s2p_selector_name((size_t)o->selector),
                                      .seed = o->seed };
    const s2p_status st = s2v_engine_open(&job->engine, &e, error);
    if (st != S2P_OK) return st;
    const s2v_session_options s = session_options(o);
    return s2v_session_create(&job->session, job->engine, &s, error);
}

void s2_run_close(run_job *job)
{
    s2v_session_free(job->session);
    s2v_engine_close(job->engine);
    for (int32_t i = 0; i < job->n_pictures; i++) s2_image_free(&job->picture[i]);
    s2_buffer_free(&job->answer);
    free(job->logits);
}

s2p_status s2_run_question(const run_options *o, s2_buffer *text, s2p_error *error)
{
    if (o->prompt && o->prompt_file)
        return s2_fail(error, S2P_EINVAL, "-p and -f both give the question; use one");
    s2p_status st = S2P_OK;
    if (o->prompt_file)
        st = s2_file_read(o->prompt_file, text, error);
    else if (o->prompt)
        s2_buffer_append(text, o->prompt, strlen(o->prompt));
    if (st != S2P_OK) return st;
    if (text->size && memchr(text->data, 0, text->size))
        return s2_fail(error, S2P_EFORMAT, "the question holds a NUL byte");
    while (o->prompt_file && text->size && text->data[text->size - 1] == '\n') text->size--;
    s2_buffer_append(text, "", 1);
    return text->status == S2P_OK ? S2P_OK
                                  : s2_fail(error, text->status, "the question is too long");
}

/* Item `index` of "64,32"; the last one stands for those after it. */
static const char *list_item(const char *list, int32_t index)
{
    for (int32_t i = 0; i < index && strchr(list, ','); i++) list = strchr(list, ',') + 1;
    return list;
}

static s2p_status read_count(const char *option, const char *list, int32_t index, int32_t *out,
                             s2p_error *error)
{
    const size_t n = strlen(list);
    const bool is_list = n > 0 && strspn(list, "0123456789,") == n && list[0] != ',' &&
                         list[n - 1] != ',' && !strstr(list, ",,");
    const long value = strtol(list_item(list, index), NULL, 10);
    if (!is_list || value < 0 || value > S2P_MAX_TOKENS)
        return s2_fail(error, S2P_EINVAL, "%s '%.60s' is not a list such as 64,32", option, list);
    *out = (int32_t)value;
    return S2P_OK;
}

static s2p_status read_size(const run_options *o, int32_t index, s2v_image_options *out,
                            s2p_error *error)
{
    *out = (s2v_image_options){ .min_pixels = o->min_pixels,
                                .max_pixels = o->max_pixels,
                                .framing = (s2v_framing)o->view,
                                .structure_from_resized = o->structure };
    if (o->preset == 1) out->width = out->height = 672;
    if (!o->image_size) return S2P_OK;
    const char *item = list_item(o->image_size, index);
    if (strncmp(item, "native", 6) == 0 && (item[6] == '\0' || item[6] == ',')) {
        out->width = out->height = 0;
        return S2P_OK;
    }
    char *end, *rest;
    const long width = strtol(item, &end, 10);
    const long height = *end == 'x' ? strtol(end + 1, &rest, 10) : 0;
    if (*end != 'x' || (*rest != '\0' && *rest != ',') || width < 1 || height < 1 ||
        width > 16384 || height > 16384)
        return s2_fail(error, S2P_EINVAL, "--image-size '%.60s' is neither native nor WIDTHxHEIGHT",
                       o->image_size);
    out->width = (int32_t)width;
    out->height = (int32_t)height;
    return S2P_OK;
}

s2p_status s2_run_add_picture(run_job *job, const char *path, s2p_error *error)
{
    const run_options *o = job->options;
    const int32_t i = job->n_pictures;
    if (i == S2_RUN_MAX_IMAGES)
        return s2_fail(error, S2P_ELIMIT, "more than %d pictures", S2_RUN_MAX_IMAGES);
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    limits.max_pixels = o->max_image_pixels;
    s2p_status st = read_size(o, i, &job->size[i], error);
    if (st == S2P_OK && o->image_budgets)
        st = read_count("--image-budgets", o->image_budgets, i, &job->image_budget[i], error);
    if (st == S2P_OK && o->image_grids)
        st = read_count("--image-grids", o->image_grids, i, &job->image_grid[i], error);
    if (st == S2P_OK)
        st = s2_picture_read(path, (s2_pixels)o->pixels, &limits, &job->picture[i], error);
    if (st != S2P_OK) return st;
    job->view[i] = job->picture[i].view;
    job->n_pictures++;
    return S2P_OK;
}

/* --- the answer ------------------------------------------------------------------ */

/* What cannot be part of a stop string any more goes out. */
static s2p_status emit(run_job *job, size_t from, s2p_error *error)
{
    if (job->answer.status != S2P_OK)
        return s2_fail(error, job->answer.status, "the answer is longer than %zu bytes",
                       MAX_ANSWER);
    if (job->options->output == S2_OUTPUT_JSON || job->answer.size == from) return S2P_OK;
    const size_t n = job->answer.size - from;
    if (fwrite(job->answer.data + from, 1, n, stdout) != n || fflush(stdout) != 0)
        return s2_fail(error, S2P_EIO, "cannot write to standard output");
    return S2P_OK;
}

static s2p_status generate(run_job *job, s2v_stop *stop, s2p_error *error)
{
    s2p_status st = S2P_OK;
    int done = 0;
    for (int32_t i = 0; st == S2P_OK && !done && i < job->options->predict; i++) {
        char text[4096];
        const size_t from = job->answer.size;
        st = s2v_session_next(job->session, text, sizeof text, &done, error);
        if (st != S2P_OK) break;
        if (s2v_stop_feed(stop, text, strlen(text), &job->answer)) done = 1;
        st = emit(job, from, error);
    }
    const size_t from = job->answer.size;
    if (st == S2P_OK) {
        s2v_stop_end(stop, &job->answer);
        st = emit(job, from, error);
    }
    job->stopped = done != 0;
    return st;
}

/* Generation overwrites them. */
static s2p_status keep_logits(run_job *job, s2p_error *error)
{
    s2v_engine_info info;
    s2v_engine_get_info(job->engine, &info);
    const size_t n = (size_t)info.n_vocab * sizeof *job->logits;
    if (!job->logits) job->logits = malloc(n);
    if (!job->logits) return s2_fail_memory(error, n, "the logits");
    memcpy(job->logits, s2v_session_logits(job->session), n);
    return S2P_OK;
}

/* The paper's input: 672x672 pixels, or the one size a tower without a merger has. */
static void apply_preset(run_job *job, int32_t first)
{
    s2v_engine_info info;
    s2v_engine_get_info(job->engine, &info);
    if (job->options->preset != 1 || job->options->image_size || info.merge_size > 1) return;
    for (int32_t i = first; i < job->n_pictures; i++) {
        job->size[i].width = job->size[i].height = 0;
        if (job->size[i].framing == S2V_FRAMING_AUTO) job->size[i].framing = S2V_FRAMING_BASE;
    }
}

static s2p_status prefill(run_job *job, const char *text, int32_t n_turn_pictures, s2p_error *error)
{
    const run_options *o = job->options;
    const int32_t first = job->n_pictures - n_turn_pictures;
    apply_preset(job, first);
    s2v_message message[2];
    size_t n = 0;
    if (o->system && !job->has_history)
        message[n++] = (s2v_message){ .role = S2V_SYSTEM, .text = o->system };
    message[n++] = (s2v_message){ .role = S2V_USER, .text = text, .n_images = n_turn_pictures };
    const s2v_prompt prompt = { .messages = o->raw ? NULL : message,
                                .n_messages = o->raw ? 0 : n,
                                .raw = o->raw ? text : NULL,
                                .images = job->view + first,
                                .n_images = n_turn_pictures,
                                .image_options = job->size + first };
    s2v_prune_options prune = job->prune;
    if (o->image_budgets) prune.image_budget = job->image_budget + first;
    if (o->image_grids) prune.image_side = job->image_grid + first;
    return s2v_session_prefill(job->session, &prompt, &prune, &job->stats, error);
}

s2p_status s2_run_turn(run_job *job, const char *text, int32_t n_turn_pictures, s2p_error *error)
{
    s2v_stop *stop;
    job->answer.size = 0;
    s2p_status st = s2v_stop_create(&stop, job->options->stop.item, job->options->stop.n, error);
    if (st != S2P_OK) return st;
    st = prefill(job, text, n_turn_pictures, error);
    if (st == S2P_OK && job->record)
        (void)s2_record_finish(job->record, job->stats.stage_after, job->stats.n_stages);
    job->has_history = st == S2P_OK; /* a failed prefill forgets what came before */
    if (st == S2P_OK && job->options->logits) st = keep_logits(job, error);
    const double start = now_ms();
    if (st == S2P_OK) st = generate(job, stop, error);
    job->predicted_ms = now_ms() - start;
    s2v_stop_free(stop);
    return st;
}
