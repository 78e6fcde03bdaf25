/* cmd_run.c - `s2prune run`: ask a question about pictures. */
#include "run/run.h"

#include "asking/llama_options.h"
#include "asking/memory_report.h"
#include "base/npy.h"
#include "program.h"
#include "report.h"
#include "terminal.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int print_devices(void)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    for (size_t i = 0; s2v_device_name(i); i++) {
        uint64_t available, total;
        s2v_device_get_memory(i, &available, &total);
        s2_buffer_printf(&out, "%-12s %s", s2v_device_name(i), s2v_device_description(i));
        if (total > 0)
            s2_buffer_printf(&out, " · %.1f of %.1f GiB free", (double)available / (1 << 30),
                             (double)total / (1 << 30));
        s2_buffer_printf(&out, "\n");
    }
    return s2_report_print_made(S2P_OK, &out, NULL);
}

static int print_architectures(void)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2v_architecture a;
    s2_buffer_printf(&out, "%-20s %-12s %s\n", "model", "text", "projector (mmproj)");
    for (size_t i = 0; s2v_architecture_get(i, &a); i++)
        s2_buffer_printf(&out, "%-20s %-12s %s\n", a.title, a.name, a.projector);
    return s2_report_print_made(S2P_OK, &out, NULL);
}

/* Standard input can be one thing only: a picture, the question, or the conversation. */
static s2p_status check_input(const run_options *o, bool has_question, s2p_error *error)
{
    size_t n_input = o->ask.prompt_file && strcmp(o->ask.prompt_file, "-") == 0;
    for (size_t i = 0; i < o->ask.images.n; i++) n_input += strcmp(o->ask.images.item[i], "-") == 0;
    if (n_input > 1)
        return s2_fail(error, S2P_EINVAL, "'-' is given %zu times; standard input is read once",
                       n_input);
    if (n_input == 1 && (!has_question || o->converses))
        return s2_fail(error, S2P_EINVAL,
                       "'-' reads standard input, which a conversation needs; ask with -p TEXT");
    return S2P_OK;
}

/* A list has an item for each picture at most; a conversation may still add pictures. */
static s2p_status check_surplus(const run_options *o, bool has_question, s2p_error *error)
{
    const size_t n = has_question && !o->converses ? o->ask.images.n : S2_MAX_PICTURES;
    if (o->image_budgets) TRY(s2_ask_check_surplus("--image-budgets", o->image_budgets, n, error));
    if (o->image_grids) TRY(s2_ask_check_surplus("--image-grids", o->image_grids, n, error));
    return o->ask.image_size ? s2_ask_check_surplus("--image-size", o->ask.image_size, n, error)
                             : S2P_OK;
}

/* Usage mistakes first. */
static s2p_status check_options(const run_options *o, s2p_error *error)
{
    const bool has_question = o->prompts.n > 0 || o->ask.prompt_file;
    TRY(check_input(o, has_question, error));
    TRY(check_surplus(o, has_question, error));
    if (o->converses && o->output == S2_OUTPUT_JSON)
        return s2_fail(error, S2P_EINVAL, "-o json cannot be combined with -cnv");
    if (o->asks_once && !has_question)
        return s2_fail(error, S2P_EINVAL, "-no-cnv needs a question: -p TEXT");
    if (o->output == S2_OUTPUT_JSON && !has_question)
        return s2_fail(error, S2P_EINVAL, "-o json needs a question: -p TEXT");
    if (o->record && !has_question)
        return s2_fail(error, S2P_EINVAL, "--record needs a question: -p TEXT");
    if (o->logits && !has_question)
        return s2_fail(error, S2P_EINVAL, "--logits needs a question: -p TEXT");
    if (o->overlay && !has_question)
        return s2_fail(error, S2P_EINVAL,
                       "--overlay needs a question: -p TEXT; in a conversation, use /save");
    if (o->overlay) TRY(s2_run_overlay_name("--overlay", o->overlay, error));
    if (o->overlay && o->ask.images.n == 0)
        return s2_fail(error, S2P_EINVAL, "--overlay draws on a picture; give one with -i FILE");
    for (size_t i = 0; i < o->prompts.n; i++)
        if (!o->prompts.item[i][0])
            return s2_fail(error, S2P_EINVAL, "--prompt is empty; it needs TEXT");
    TRY(s2_run_check_constraint(o, error));
    TRY(s2_ask_check_target(&o->ask, o->budget, error));
    if (s2_ask_has_target(&o->ask) && o->image_budgets)
        return s2_fail(error, S2P_EINVAL,
                       "--target-ms and --target-mib choose the budget; remove --image-budgets");
    if (s2_ask_has_target(&o->ask) && o->ask.images.n == 0)
        return s2_fail(
            error, S2P_EINVAL,
            "--target-ms and --target-mib need a picture to measure with; give one with -i");
    if (o->budget.n_more > 0 && (o->image_budgets || o->record))
        return s2_fail(error, S2P_EINVAL, "%s needs a single budget; --budget gives several",
                       o->image_budgets ? "--image-budgets" : "--record");
    const char *single = o->record ? "--record" : o->logits ? "--logits" : "--overlay";
    if (o->prompts.n > 1 && (o->record || o->logits || o->overlay))
        return s2_fail(error, S2P_EINVAL, "%s needs a single question; -p is given %zu times",
                       single, o->prompts.n);
    return S2P_OK;
}

static s2p_status prepare(run_job *job, s2p_error *error)
{
    const run_options *o = job->options;
    TRY(check_options(o, error));
    job->setting = s2_ask_setting(&o->ask);
    job->setting.budget = o->budget;
    TRY(s2_ask_method(&o->ask, &job->asker.owns, "--method", o->method, &job->setting, error));
    TRY(s2_ask_set(&o->ask, &job->setting, 1, error));
    s2_ask_note_confidence(&o->ask, &job->setting, 1);
    if (o->image_budgets) {
        int32_t count[S2_MAX_PICTURES] = { 0 };
        TRY(s2a_counts_read("--image-budgets", o->image_budgets, S2P_MAX_TOKENS, count,
                            S2_MAX_PICTURES, error));
        for (int32_t i = 0; i < S2_MAX_PICTURES; i++) job->image_budget[i].tokens = count[i];
    }
    if (o->image_grids)
        TRY(s2a_counts_read("--image-grids", o->image_grids, S2P_MAX_TOKENS, job->image_side,
                            S2_MAX_PICTURES, error));
    return s2_asker_prepare(&job->asker, &o->ask, error);
}

/* Picture 1 goes to the name given, picture 2 to "name-2.png", and so on. */
static const char *overlay_name(const run_options *o, int32_t index, char out[S2_OVERLAY_NAME])
{
    const char *dot = strrchr(o->overlay, '.');
    const int stem = dot ? (int)(dot - o->overlay) : (int)strlen(o->overlay);
    if (index == 0)
        (void)snprintf(out, S2_OVERLAY_NAME, "%s", o->overlay);
    else
        (void)snprintf(out, S2_OVERLAY_NAME, "%.*s-%d%s", stem, o->overlay, index + 1,
                       dot ? dot : "");
    return out;
}

/* Who asks more than once does not pay for the pictures each time; who asks once and never again
 * remembers nothing. */
static s2v_session_options session_options(const run_options *o)
{
    s2v_session_options session = s2_ask_session_options(&o->ask);
    s2_ask_sampling(&o->ask, &session.sampling);
    const bool asks_once = (o->prompts.n == 1 || o->ask.prompt_file) && !o->converses;
    /* several budgets ask twice, and the tower's output is there the second time */
    if (asks_once && !o->ask.cache_dir && o->budget.n_more == 0 && !s2_ask_has_target(&o->ask))
        session.no_cache = 1;
    return session;
}

static s2p_status add_pictures(run_job *job, s2p_error *error)
{
    const run_options *o = job->options;
    for (size_t i = 0; i < o->ask.images.n; i++)
        TRY(s2_asker_add_picture(&job->asker, o->ask.images.item[i], error));
    if (o->prompts.n > 0 && !o->converses)
        TRY(s2a_boxes_check(&job->asker.boxes, job->asker.n_pictures, error));
    for (int32_t i = 0; o->overlay && i < job->asker.n_pictures; i++) {
        char name[S2_OVERLAY_NAME], tiles[S2_OVERLAY_NAME];
        TRY(s2_asker_check_output(&job->asker, "--overlay", overlay_name(o, i, name), error));
        TRY(s2_asker_check_output(&job->asker, "--overlay",
                                  s2_run_tiles_name(name, tiles, sizeof tiles), error));
    }
    if (o->ask.images.n == 0 && (o->prompts.n > 0 || o->ask.prompt_file) && !o->ask.quiet)
        s2_report_line("note", "no picture (-i FILE): the model gets only the text");
    return S2P_OK;
}

/* What it would take, and whether that is there. */
static int show_memory(run_job *job, const char *question)
{
    s2p_error error = { S2P_OK, "" };
    s2v_memory memory;
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    const s2v_session_options session = session_options(job->options);
    s2p_status st =
        s2_asker_estimate(&job->asker, &session, question, &job->setting, &memory, &error);
    if (st == S2P_OK) s2_memory_text(&memory, &out);
    const int code = s2_report_print_made(st, &out, &error);
    if (code == S2_EXIT_OK) st = s2_memory_check(&memory, &error);
    return code == S2_EXIT_OK && st != S2P_OK ? s2_report_error(st, &error) : code;
}

static s2p_status open_model(run_job *job, const char *question, s2p_error *error)
{
    const s2v_session_options session = session_options(job->options);
    TRY(s2_asker_open(&job->asker, &session, error));
    if (s2_ask_has_target(&job->options->ask))
        TRY(s2_asker_meet_target(&job->asker, question, &job->setting, error));
    TRY(s2_run_use_constraint(job, error));
    if (job->record) s2v_session_set_recorder(job->asker.session, s2_record_view, job->record);
    return S2P_OK;
}

/* --- what comes out ---------------------------------------------------------------- */

static int save_logits(const run_job *job)
{
    const int32_t n = job->asker.info.n_vocab;
    const s2_array array = { .type = S2_F32,
                             .n_dims = 1,
                             .shape = { n, 1, 1, 1 },
                             .count = (size_t)n,
                             .data = job->answer.logits };
    s2_buffer bytes;
    s2_buffer_init(&bytes, S2_OUTPUT_MAX);
    (void)s2_npy_format(&array, &bytes);
    return s2_report_save_made(job->options->logits, S2P_OK, &bytes, NULL);
}

static int save_overlays(const run_job *job)
{
    int code = S2_EXIT_OK;
    for (int32_t i = 0; code == S2_EXIT_OK && i < job->asker.n_pictures; i++) {
        char name[S2_OVERLAY_NAME];
        code = s2_run_overlay(job, i, overlay_name(job->options, i, name));
    }
    return code;
}

/* The answer itself is out already, unless it is JSON. */
static int present(const run_job *job)
{
    const run_options *o = job->options;
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    if (o->output == S2_OUTPUT_JSON)
        s2_run_json(job, &out);
    else
        s2_buffer_append(&out, "\n", 1);
    int code = s2_report_print_made(S2P_OK, &out, NULL);
    if (code == S2_EXIT_OK && o->logits) code = save_logits(job);
    if (code == S2_EXIT_OK && o->overlay) code = save_overlays(job);
    if (code == S2_EXIT_OK && o->output == S2_OUTPUT_TEXT)
        for (int32_t i = 0; i < job->asker.n_pictures; i++) (void)s2_run_show(job, i);
    if (!o->ask.quiet) s2_run_summary(job);
    return code;
}

/* Each a conversation of its own, about the same pictures. `question` holds the first. */
static int answer_all(run_job *job, s2_buffer *question)
{
    const run_options *o = job->options;
    const size_t n = o->prompts.n > 1 ? o->prompts.n : 1;
    int code = S2_EXIT_OK;
    for (size_t i = 0; code == S2_EXIT_OK && i < n; i++) {
        s2p_error error = { S2P_OK, "" };
        s2p_status st = S2P_OK;
        if (i > 0) {
            s2_asker_reset(&job->asker);
            question->size = 0;
            st = s2_ask_question(o->prompts.item[i], NULL, o->ask.escapes, question, &error);
        }
        if (st == S2P_OK)
            st = s2_run_turn(job, (const char *)question->data, job->asker.n_pictures, &error);
        code = st == S2P_OK ? S2_EXIT_OK : s2_run_report_error(job, st, &error);
        if (code == S2_EXIT_OK && job->record) code = job->record->code;
        if (code == S2_EXIT_OK) code = present(job);
        if (code == S2_EXIT_OK && job->is_interrupted && !o->converses) code = S2_EXIT_INTERRUPTED;
    }
    return code;
}

/* A terminal, or a first character. */
static bool has_input(void)
{
    if (isatty(STDIN_FILENO)) return true;
    const int first = getc(stdin);
    return first != EOF && ungetc(first, stdin) != EOF;
}

static int run_job_do(run_job *job)
{
    const run_options *o = job->options;
    const bool is_asked = o->prompts.n > 0 || o->ask.prompt_file;
    s2p_error error = { S2P_OK, "" };
    s2_record record;
    s2_buffer question;
    s2_buffer_init(&question, (size_t)1 << 20);
    int code = S2_EXIT_OK;
    s2p_status st = prepare(job, &error);
    if (st == S2P_OK && o->record) {
        st = s2_record_open(&record, o->record, &error);
        if (st == S2P_OK) job->record = &record;
        if (st == S2P_EIO) code = s2_report_no_folder(&error);
    }
    if (st == S2P_OK)
        st = s2_ask_question(o->prompts.n > 0 ? o->prompts.item[0] : NULL, o->ask.prompt_file,
                             o->ask.escapes, &question, &error);
    if (st == S2P_OK) st = add_pictures(job, &error);
    if (st == S2P_OK && !o->dry_run && !is_asked && !has_input())
        st = s2_fail(&error, S2P_EINVAL,
                     "no question: give one with -p, with -f, or on standard input");
    if (st == S2P_OK && !o->dry_run) st = open_model(job, (const char *)question.data, &error);
    if (st != S2P_OK && code == S2_EXIT_OK) code = s2_report_error(st, &error);
    if (code == S2_EXIT_OK && o->dry_run)
        code = show_memory(job, (const char *)question.data);
    else if (code == S2_EXIT_OK && is_asked)
        code = answer_all(job, &question);
    if (code == S2_EXIT_OK && !o->dry_run && (!is_asked || o->converses)) code = s2_run_chat(job);
    if (job->record) s2_record_close(&record);
    s2_buffer_free(&question);
    return code;
}

static int run_run(const void *values)
{
    const run_options *o = values;
    if (o->list_devices) return print_devices();
    if (o->list_architectures) return print_architectures();
    if (o->list_methods) return s2_method_list_print(s2v_method_name);
    run_job *job = calloc(1, sizeof *job);
    if (!job) {
        s2p_error error;
        s2_fail_memory(&error, sizeof *job, "the run");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    job->options = o;
    const int code = run_job_do(job);
    s2a_answer_free(&job->answer);
    s2v_constraint_free(job->constraint);
    s2_asker_close(&job->asker);
    free(job);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(run_options, member)
static const s2_option option_table[] = {
    S2_ASK_ROWS_MODEL,
    S2_ASK_ROWS_CACHE,
    { .name = "--dry-run", .type = S2_OPTION_FLAG, .group = "Model", .help = "print how much memory the model needs, and exit",
      AT(dry_run) },
    { .name = "--list-devices", .type = S2_OPTION_FLAG, .group = "Model", .help = "list the devices, and exit",
      AT(list_devices) },
    { .name = "--list-architectures", .type = S2_OPTION_FLAG, .group = "Model",
      .help = "list the supported models and the names in their files, and exit", AT(list_architectures) },

    { .name = "--image", .letters = "-i", .label = "FILE", .type = S2_OPTION_LIST, .group = "Question",
      .help = "picture file, or - for standard input (repeatable, or a.jpg,b.jpg)", .has_commas = true, .role = S2_FILE_INPUT, AT(ask.images) },
    { .name = "--prompt", .letters = "-p", .label = "TEXT", .type = S2_OPTION_LIST, .group = "Question",
      .help = "the question (repeatable: asked one after the other about the same pictures); without -p, a conversation starts",
      AT(prompts) },
    S2_ASK_ROWS_QUESTION,
    { .name = "--conversation", .letters = "-cnv", .type = S2_OPTION_FLAG, .group = "Question",
      .help = "continue as a conversation after the questions of -p", AT(converses) },
    { .name = "--no-conversation", .letters = "-no-cnv", .also = "-st --single-turn", .type = S2_OPTION_FLAG,
      .group = "Question", .help = "never start a conversation", AT(asks_once) },

    S2_ASK_ROWS_PICTURE,
    S2_ASK_ROWS_LOADING(S2_LOCAL_PIXELS),

    { .name = "--method", .label = "NAME", .type = S2_OPTION_TEXT, .choice = s2v_method_name, .fallback = "s2prune",
      .group = "Pruning", .help = "how visual tokens are selected, or your own method: file:PATH or exec:COMMAND", AT(method) },
    { .name = "--budget", .label = "N|N%|A..B", .type = S2_OPTION_STEPS, .min = 1, .max = S2P_MAX_TOKENS,
      .fallback = "auto", .group = "Pruning",
      .help = "visual tokens to keep per picture: a number, a share such as 11%, auto (a third, at least 64), or 64..192: ask again with 192 if the answer with 64 is not confident; 100%: keep all", AT(budget) },
    S2_ASK_ROW_CONFIDENCE,
    S2_ASK_ROW_PROFILE,
    S2_ASK_ROWS_TARGET,
    S2_ASK_ROWS_PRUNING,
    S2_ASK_ROW_EXEC,
    S2_ASK_ROW_PLUGIN,
    { .name = "--image-budgets", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "one budget per picture, such as 64,32", AT(image_budgets) },
    { .name = "--image-grids", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "one value of --grid per picture, such as 5,4", AT(image_grids) },
    { .name = "--list-methods", .type = S2_OPTION_FLAG, .group = "Pruning",
      .help = "list the methods, their inputs, their parameters and what --mode published changes, and exit", AT(list_methods) },

    S2_ASK_ROWS_BOXES,
    S2_ASK_ROWS_ANSWER,
    { .name = "--json-schema", .letters = "-j", .label = "FILE|JSON", .type = S2_OPTION_TEXT, .group = "Answer",
      .help = "answer with JSON that is valid for this schema; {} allows any JSON", AT(schema) },
    { .name = "--json-schema-file", .letters = "-jf", .label = "FILE", .type = S2_OPTION_FILE, .group = "Answer",
      .help = "read the JSON schema from a file", AT(schema_file) },
    { .name = "--grammar", .label = "GBNF", .type = S2_OPTION_TEXT, .group = "Answer",
      .help = "answer in this GBNF grammar (llama.cpp's notation), starting at rule root", AT(grammar) },
    { .name = "--grammar-file", .label = "FILE", .type = S2_OPTION_FILE, .group = "Answer",
      .help = "read the grammar from a file", AT(grammar_file) },

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE, .choice = s2_output_name,
      .fallback = "text", .group = "Output", .help = "format of the result", AT(output) },
    { .name = "--overlay", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the picture with its kept tokens marked, as .png or .svg; tiles go to NAME-tiles.png", .role = S2_FILE_OUTPUT, AT(overlay) },
    { .name = "--display", .label = "HOW", .type = S2_OPTION_CHOICE, .choice = s2_terminal_display_name,
      .fallback = "none", .group = "Output", .help = "show the kept tokens in the terminal", AT(display) },
    { .name = "--logits", .label = "FILE.npy", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the logits of the last position", .role = S2_FILE_OUTPUT, .writes = ".npy", AT(logits) },
    { .name = "--record", .label = "DIR", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write what the method reads to a new folder, for 's2prune select'; this is included in the times", .role = S2_FOLDER_OUTPUT, AT(record) },
    S2_ASK_ROW_PROGRESS,
    { .name = "--quiet", .letters = "-q", .also = "--log-disable", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "print no notes, progress or summary", AT(ask.quiet) },
    { .name = "--verbose", .letters = "-v", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "print what was loaded and where it runs", AT(ask.is_verbose) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_run = {
    .name = "run",
    .summary = "ask a question about pictures, or start a conversation",
    .usage = "[-m MODEL -mm MMPROJ] [-i IMAGE]... [-p TEXT]... [options]",
    .examples =
        "  s2prune run -m model.gguf -mm mmproj.gguf -i photo.jpg -p \"What is on the table?\"\n"
        "  s2prune run -m model.gguf -mm mmproj.gguf -i a.jpg -i b.jpg -p \"What changed?\" "
        "--budget 128\n"
        "  s2prune run -i photo.jpg -p \"What is it?\" -p \"What color is it?\"\n"
        "  s2prune run -m model.gguf -mm mmproj.gguf -i photo.jpg   # a conversation\n"
        "\n"
        "By default, a third of each picture's visual tokens is kept, at least 64. --budget 100%\n"
        "keeps all, --budget 64 is faster, and --budget 64..192 asks again if the answer with 64\n"
        "tokens is not confident.\n",
    .options = option_table,
    .foreign = s2_llama_options,
    .size = sizeof(run_options),
    .run = run_run,
};
