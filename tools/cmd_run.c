/* cmd_run.c - `s2prune run`: ask a question about pictures. */
#include "run/run_rows.h"

#include "base/npy.h"
#include "inputs.h"
#include "method_list.h"
#include "program.h"
#include "report.h"
#include "terminal.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int print_devices(void)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    for (size_t i = 0; s2v_device_name(i); i++)
        s2_buffer_printf(&out, "%-12s %s\n", s2v_device_name(i), s2v_device_description(i));
    const int code = s2_report_print(&out);
    s2_buffer_free(&out);
    return code;
}

static s2p_status check_options(const run_options *o, s2p_error *error)
{
    if (o->output == S2_OUTPUT_JSON && !o->prompt && !o->prompt_file)
        return s2_fail(error, S2P_EINVAL, "-o json needs a question: -p TEXT");
    if (o->record && !o->prompt && !o->prompt_file)
        return s2_fail(error, S2P_EINVAL, "--record needs a question: -p TEXT");
    if (o->images.n > S2_RUN_MAX_IMAGES)
        return s2_fail(error, S2P_ELIMIT, "%zu pictures; the limit is %d", o->images.n,
                       S2_RUN_MAX_IMAGES);
    return S2P_OK;
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
    s2p_status st = s2_run_question(job->options, &text, error);
    for (size_t i = 0; st == S2P_OK && i < job->options->images.n; i++)
        st = s2_run_add_picture(job, job->options->images.item[i], error);
    if (st == S2P_OK) st = s2_run_open(job, error);
    if (st == S2P_OK && job->record)
        s2v_session_set_recorder(job->session, s2_record_view, job->record);
    int code;
    if (st == S2P_OK && !job->options->prompt && !job->options->prompt_file) {
        code = s2_run_chat(job);
    } else {
        if (st == S2P_OK) st = s2_run_turn(job, (const char *)text.data, job->n_pictures, error);
        code = st == S2P_OK ? S2_EXIT_OK : s2_report_error(st, error);
        if (code == S2_EXIT_OK && job->record) code = job->record->code;
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
    if (o->list_devices) return print_devices();
    if (o->list_methods) return s2_method_list_print(s2v_method_name);
    s2p_error error = { S2P_OK, "" };
    run_job *job = calloc(1, sizeof *job);
    if (!job) {
        s2_fail_memory(&error, sizeof *job, "the run");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    job->options = o;
    s2p_status st = check_options(o, &error);
    if (st == S2P_OK)
        st = s2_bundled_complete(&completed.model, &completed.mmproj, o->quiet, &job->bundled,
                                 &error);
    s2_record record;
    if (st == S2P_OK && o->record) {
        st = s2_record_open(&record, o->record, &error);
        if (st == S2P_OK) job->record = &record;
    }
    const int code = st == S2P_OK ? answer(job, &error) : s2_report_error(st, &error);
    if (job->record) s2_record_close(&record);
    s2_run_close(job);
    free(job);
    return code;
}

/* clang-format off */
#define AT(member) S2_RUN_AT(member)
static const s2_option option_table[] = {
    S2_RUN_ROWS_MODEL,
    { .name = "--list-devices", .type = S2_OPTION_FLAG, .group = "Model", .help = "print the devices and leave",
      AT(list_devices) },

    { .name = "--image", .letters = "-i", .label = "FILE", .type = S2_OPTION_LIST, .group = "Question",
      .help = "picture (repeatable; '-' reads standard input)", AT(images) },
    { .name = "--prompt", .letters = "-p", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "the question; without it a conversation begins", AT(prompt) },
    S2_RUN_ROWS_QUESTION,

    { .name = "--method", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2v_method_name, .fallback = "s2prune",
      .group = "Pruning", .help = "how visual tokens are chosen", AT(method) },
    { .name = "--budget", .label = "N|N%", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS,
      .fallback = "64", .group = "Pruning", .help = "visual tokens kept per picture", AT(budget) },
    S2_RUN_ROWS_CHOICE,
    { .name = "--image-budgets", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "a budget for each picture, such as 64,32", AT(image_budgets) },
    { .name = "--image-grids", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "K for each picture, such as 5,4", AT(image_grids) },
    { .name = "--list-methods", .type = S2_OPTION_FLAG, .group = "Pruning",
      .help = "print the methods, what they look at and what --mode published changes, and leave", AT(list_methods) },

    S2_RUN_ROWS_ANSWER,

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE, .choice = s2_output_name,
      .fallback = "text", .group = "Output", .help = "form of the result", AT(output) },
    { .name = "--overlay", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the picture with the kept tokens, .png or .svg", AT(overlay) },
    { .name = "--display", .label = "HOW", .type = S2_OPTION_CHOICE, .choice = s2_terminal_display_name,
      .fallback = "none", .group = "Output", .help = "show it in the terminal", AT(display) },
    { .name = "--logits", .label = "FILE.npy", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the logits of the last position", AT(logits) },
    { .name = "--record", .label = "DIR", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write what the method saw into a new folder, for 's2prune select'; times include it", AT(record) },
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
