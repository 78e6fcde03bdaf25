/* cmd_run.c - `s2prune run`: ask a question about pictures. */
#include "run_options.h"

#include "base/file.h"
#include "base/npy.h"
#include "inputs.h"
#include "program.h"
#include "prune/method.h"
#include "report.h"
#include "terminal.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *word(const char *const *words, size_t n, size_t index)
{
    return index < n ? words[index] : NULL;
}

static const char *kv_name(size_t i)
{
    return word((const char *const[]){ "f16", "f32", "q8_0" }, 3, i);
}
static const char *preset_name(size_t i)
{
    return word((const char *const[]){ "none", "paper" }, 2, i);
}
static const char *structure_name(size_t i)
{
    return word((const char *const[]){ "source", "resized" }, 2, i);
}

static const char *view_name(size_t i) /* as s2v_view counts them */
{
    return word((const char *const[]){ "auto", "base", "anyres", "square" }, 4, i);
}

static int print_list(bool devices)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    if (devices)
        for (size_t i = 0; s2v_device_name(i); i++)
            s2_buffer_printf(&out, "%-12s %s\n", s2v_device_name(i), s2v_device_description(i));
    for (size_t i = 0; !devices && s2v_method_name(i); i++)
        s2_buffer_printf(&out, "%-14s %s\n", s2v_method_name(i),
                         s2p_method_find(s2v_method_name(i))->source);
    const int code = s2_report_print(&out);
    s2_buffer_free(&out);
    return code;
}

static s2p_status check_options(const run_options *o, s2p_error *error)
{
    if (o->prompt && o->prompt_file)
        return s2_fail(error, S2P_EINVAL, "-p and -f both give the question; use one");
    if (o->output == S2_OUTPUT_JSON && !o->prompt && !o->prompt_file)
        return s2_fail(error, S2P_EINVAL, "-o json needs a question: -p TEXT");
    if (o->images.n > S2_RUN_MAX_IMAGES)
        return s2_fail(error, S2P_ELIMIT, "%zu pictures; the limit is %d", o->images.n,
                       S2_RUN_MAX_IMAGES);
    return S2P_OK;
}

static s2p_status read_prompt(const run_options *o, s2_buffer *text, s2p_error *error)
{
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

static int save_logits(const run_job *job)
{
    s2v_engine_info info;
    s2v_engine_get_info(job->engine, &info);
    s2_array array = { .type = S2_F32,
                       .n_dims = 1,
                       .shape = { info.n_vocab, 1, 1, 1 },
                       .count = (size_t)info.n_vocab };
    array.data = job->logits;
    s2_buffer bytes;
    s2_buffer_init(&bytes, S2_OUTPUT_MAX);
    (void)s2_npy_format(&array, &bytes);
    const int code = s2_report_save(job->options->logits, &bytes);
    s2_buffer_free(&bytes);
    return code;
}

/* Picture 1 goes to the name given, picture 2 to "name-2.png", and so on. */
static int save_overlays(const run_job *job)
{
    int code = S2_EXIT_OK;
    const char *path = job->options->overlay, *dot = strrchr(path, '.');
    const int stem = dot ? (int)(dot - path) : (int)strlen(path);
    for (int32_t i = 0; code == S2_EXIT_OK && i < job->n_pictures; i++) {
        char name[4096];
        if (i == 0)
            (void)snprintf(name, sizeof name, "%s", path);
        else
            (void)snprintf(name, sizeof name, "%.*s-%d%s", stem, path, i + 1, dot ? dot : "");
        code = s2_run_overlay(job, i, name);
    }
    return code;
}

static int present(run_job *job)
{
    const run_options *o = job->options;
    int code = S2_EXIT_OK;
    if (o->output == S2_OUTPUT_JSON) {
        s2_buffer out;
        s2_buffer_init(&out, S2_OUTPUT_MAX);
        s2_run_json(job, &out);
        code = s2_report_print(&out);
        s2_buffer_free(&out);
    } else {
        s2_buffer newline;
        s2_buffer_init(&newline, 1);
        s2_buffer_append(&newline, "\n", 1);
        code = s2_report_print(&newline);
        s2_buffer_free(&newline);
    }
    if (code == S2_EXIT_OK && o->overlay) code = save_overlays(job);
    if (code == S2_EXIT_OK && o->output == S2_OUTPUT_TEXT)
        for (int32_t i = 0; i < job->n_pictures; i++) (void)s2_run_show(job, i);
    if (!o->quiet) s2_run_summary(job);
    return code;
}

static int answer(run_job *job, s2p_error *error)
{
    s2_buffer text;
    s2_buffer_init(&text, (size_t)1 << 20);
    s2p_status st = read_prompt(job->options, &text, error);
    for (size_t i = 0; st == S2P_OK && i < job->options->images.n; i++)
        st = s2_run_add_picture(job, job->options->images.item[i], error);
    if (st == S2P_OK) st = s2_run_open(job, error);
    int code;
    if (st == S2P_OK && !job->options->prompt && !job->options->prompt_file) {
        code = s2_run_chat(job);
    } else {
        if (st == S2P_OK) st = s2_run_turn(job, (const char *)text.data, job->n_pictures, error);
        code = st == S2P_OK ? S2_EXIT_OK : s2_report_error(st, error);
        if (code == S2_EXIT_OK && job->options->logits) code = save_logits(job);
        if (code == S2_EXIT_OK) code = present(job);
    }
    s2_buffer_free(&text);
    return code;
}

static int run(const void *values)
{
    run_options completed = *(const run_options *)values;
    const run_options *o = &completed;
    if (o->list_devices || o->list_methods) return print_list(o->list_devices);
    s2p_error error = { S2P_OK, "" };
    run_job *job = calloc(1, sizeof *job);
    if (!job) {
        s2_fail_memory(&error, sizeof *job, "the run");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    job->options = o;
    s2v_prune_options_init(&job->prune);
    job->prune.method = s2v_method_name((size_t)o->method);
    job->prune.budget = o->budget.count;
    job->prune.budget_percent = o->budget.percent;
    job->prune.choice = (s2p_choice){ .side = o->grid,
                                      .allocator = s2p_allocator_name((size_t)o->allocator),
                                      .selector = s2p_selector_name((size_t)o->selector),
                                      .seed = o->seed };
    s2p_status st = check_options(o, &error);
    if (st == S2P_OK)
        st = s2_bundled_complete(&completed.model, &completed.mmproj, o->quiet, &job->bundled,
                                 &error);
    const int code = st == S2P_OK ? answer(job, &error) : s2_report_error(st, &error);
    s2v_session_free(job->session);
    s2v_engine_close(job->engine);
    for (int32_t i = 0; i < job->n_pictures; i++) s2_image_free(&job->picture[i]);
    s2_buffer_free(&job->answer);
    free(job->logits);
    free(job);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(run_options, member)
static const s2_option option_table[] = {
    { .name = "--model", .letters = "-m", .label = "FILE", .type = S2_OPTION_FILE, .group = "Model",
      .help = "language model, GGUF (the bundled one)", AT(model) },
    { .name = "--mmproj", .letters = "-mm", .label = "FILE", .type = S2_OPTION_FILE, .group = "Model",
      .help = "vision encoder and projector, GGUF", AT(mmproj) },
    { .name = "--threads", .letters = "-t", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 256,
      .fallback = "0", .group = "Model", .help = "0: one per core", AT(threads) },
    { .name = "--ctx-size", .letters = "-c", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 1048576,
      .fallback = "4096", .group = "Model", .help = "tokens the cache holds, before pruning", AT(context) },
    { .name = "--ubatch-size", .letters = "-ub", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 65536,
      .fallback = "1024", .group = "Model", .help = "rows computed at once", AT(batch) },
    { .name = "--kv-type", .letters = "-ctk", .label = "TYPE", .type = S2_OPTION_CHOICE, .choice = kv_name,
      .fallback = "f16", .group = "Model", .help = "numbers in the cache", AT(kv_type) },
    { .name = "--device", .letters = "-dev", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Model",
      .help = "where offloaded layers run; see --list-devices", AT(device) },
    { .name = "--gpu-layers", .letters = "-ngl", .label = "N", .type = S2_OPTION_INT, .min = -1, .max = 1000,
      .fallback = "-1", .group = "Model", .help = "layers on the device, from the last; -1: all", AT(gpu_layers) },
    { .name = "--rpc", .label = "HOST:PORT", .type = S2_OPTION_TEXT, .group = "Model",
      .help = "use an RPC server as the device (trusted networks only)", AT(rpc) },
    { .name = "--list-devices", .type = S2_OPTION_FLAG, .group = "Model", .help = "print the devices and leave",
      AT(list_devices) },

    { .name = "--image", .letters = "-i", .label = "FILE", .type = S2_OPTION_LIST, .group = "Question",
      .help = "picture (repeatable; '-' reads standard input)", AT(images) },
    { .name = "--prompt", .letters = "-p", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "the question; without it a conversation begins", AT(prompt) },
    { .name = "--file", .letters = "-f", .label = "FILE", .type = S2_OPTION_FILE, .group = "Question",
      .help = "read the question from a file", AT(prompt_file) },
    { .name = "--system", .letters = "-sys", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "system prompt instead of the model's own", AT(system) },
    { .name = "--raw", .type = S2_OPTION_FLAG, .group = "Question",
      .help = "no chat template; <image> marks each picture", AT(raw) },
    { .name = "--image-size", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "native, or WxH (stretched); several pictures: separated by commas", AT(image_size) },
    { .name = "--preset", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = preset_name, .fallback = "none",
      .group = "Question", .help = "paper: 672x672, stretched; LLaVA-OneVision: --view base", AT(preset) },
    { .name = "--view", .label = "HOW", .type = S2_OPTION_CHOICE, .choice = view_name, .fallback = "auto",
      .group = "Question", .help = "LLaVA-OneVision: one view, with tiles, or padded; auto is base when pruning",
      AT(view) },
    { .name = "--min-pixels", .label = "N", .type = S2_OPTION_WIDE, .min = 0, .max = 1e9, .fallback = "0",
      .group = "Question", .help = "enlarge smaller pictures; 0: the model's own", AT(min_pixels) },
    { .name = "--max-pixels", .label = "N", .type = S2_OPTION_WIDE, .min = 0, .max = 1e9, .fallback = "0",
      .group = "Question", .help = "reduce larger pictures; 0: the model's own", AT(max_pixels) },
    { .name = "--pixels", .label = "WHICH", .type = S2_OPTION_CHOICE, .choice = s2_pixels_name, .fallback = "viewer",
      .group = "Question", .help = "rotation and alpha: as Pillow opens it, or as a viewer shows it", AT(pixels) },
    { .name = "--max-image-pixels", .label = "N", .type = S2_OPTION_WIDE, .min = 1, .max = 1073741824.0,
      .fallback = "33554432", .group = "Question", .help = "refuse larger pictures", AT(max_image_pixels) },

    { .name = "--method", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2v_method_name, .fallback = "s2prune",
      .group = "Pruning", .help = "how visual tokens are chosen", AT(method) },
    { .name = "--budget", .label = "N|N%", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS,
      .fallback = "64", .group = "Pruning", .help = "visual tokens kept per picture", AT(budget) },
    { .name = "--grid", .label = "K", .type = S2_OPTION_INT, .min = 0, .max = S2P_MAX_SIDE, .fallback = "0",
      .group = "Pruning", .help = "K x K coarse regions; 0 chooses by the budget", AT(grid) },
    { .name = "--allocator", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2p_allocator_name,
      .fallback = "laplacian", .group = "Pruning", .help = "what decides a region's share", AT(allocator) },
    { .name = "--selector", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2p_selector_name,
      .fallback = "erc", .group = "Pruning", .help = "what decides the token of a cell", AT(selector) },
    { .name = "--image-budgets", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "a budget for each picture, such as 64,32", AT(image_budgets) },
    { .name = "--image-grids", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "K for each picture, such as 5,4", AT(image_grids) },
    { .name = "--structure", .label = "WHICH", .type = S2_OPTION_CHOICE, .choice = structure_name,
      .fallback = "source", .group = "Pruning", .help = "the picture structure is measured on", AT(structure) },
    { .name = "--list-methods", .type = S2_OPTION_FLAG, .group = "Pruning", .help = "print the methods and leave",
      AT(list_methods) },

    { .name = "--predict", .letters = "-n", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1048576,
      .fallback = "128", .group = "Answer", .help = "most tokens to generate", AT(predict) },
    { .name = "--temp", .label = "T", .type = S2_OPTION_REAL, .min = 0, .max = 100, .fallback = "0",
      .group = "Answer", .help = "temperature; 0 is greedy", AT(temperature) },
    { .name = "--top-k", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1048576, .fallback = "0",
      .group = "Answer", .help = "0: off", AT(top_k) },
    { .name = "--top-p", .label = "P", .type = S2_OPTION_REAL, .min = 0.000001, .max = 1, .fallback = "1",
      .group = "Answer", .help = "1: off", AT(top_p) },
    { .name = "--min-p", .label = "P", .type = S2_OPTION_REAL, .min = 0, .max = 0.999999, .fallback = "0",
      .group = "Answer", .help = "0: off", AT(min_p) },
    { .name = "--repeat-penalty", .label = "X", .type = S2_OPTION_REAL, .min = 0.01, .max = 100, .fallback = "1",
      .group = "Answer", .help = "1: off", AT(repeat_penalty) },
    { .name = "--presence-penalty", .label = "X", .type = S2_OPTION_REAL, .min = -100, .max = 100, .fallback = "0",
      .group = "Answer", .help = "0: off", AT(presence_penalty) },
    { .name = "--frequency-penalty", .label = "X", .type = S2_OPTION_REAL, .min = -100, .max = 100, .fallback = "0",
      .group = "Answer", .help = "0: off", AT(frequency_penalty) },
    { .name = "--seed", .letters = "-s", .label = "N", .type = S2_OPTION_SEED, .fallback = "0", .group = "Answer",
      .help = "for everything that draws", AT(seed) },
    { .name = "--stop", .label = "TEXT", .type = S2_OPTION_LIST, .group = "Answer",
      .help = "end the answer before this text (repeatable)", AT(stop) },
    { .name = "--ignore-eos", .type = S2_OPTION_FLAG, .group = "Answer", .help = "go on after an end token",
      AT(ignore_eos) },

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE, .choice = s2_output_name,
      .fallback = "text", .group = "Output", .help = "form of the result", AT(output) },
    { .name = "--overlay", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the picture with the kept tokens, .png or .svg", AT(overlay) },
    { .name = "--display", .label = "HOW", .type = S2_OPTION_CHOICE, .choice = s2_terminal_display_name,
      .fallback = "none", .group = "Output", .help = "show it in the terminal", AT(display) },
    { .name = "--logits", .label = "FILE.npy", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the logits of the last position", AT(logits) },
    { .name = "--quiet", .letters = "-q", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "no notes, progress or summary", AT(quiet) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_run = {
    .name = "run",
    .summary = "ask a question about pictures",
    .usage = "[-m MODEL -mm MMPROJ] [-i IMAGE]... [-p TEXT] [options]",
    .examples =
        "  s2prune run -m model.gguf -mm mmproj.gguf -i photo.jpg -p \"What is on the table?\"\n"
        "  s2prune run -m model.gguf -mm mmproj.gguf -i a.jpg -i b.jpg -p \"What changed?\" "
        "--budget 128\n"
        "  s2prune run -m model.gguf -mm mmproj.gguf -i photo.jpg   # a conversation\n",
    .options = option_table,
    .size = sizeof(run_options),
    .run = run,
};
