/* cmd_compare.c - `s2prune compare`: methods and budgets side by side on one question.
 *
 * All rows use one session that remembers what the tower made of the picture, so a row is: forget
 * the conversation, prefill, generate. The very first prefill pays for more than its own work
 * (weights read from the disk, buffers, the tower); it belongs to no row.
 */
#include "compare/compare.h"

#include "asking/llama_options.h"
#include "base/path.h"
#include "program.h"
#include "report.h"
#include "terminal.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct compare_options {
    ask_options ask; /* first: the shared rows point into it */
    const char *prompt, *methods, *budgets, *expect, *reference, *png, *html;
    s2a_budget budget;
    int32_t output, display;
} compare_options;

typedef struct compare_context { /* everything `compare` owns */
    const compare_options *options;
    s2_asker asker;
    s2_buffer question;
    compare_row row[S2A_MAX_SETTINGS];
    s2p_image seen[S2_MAX_PICTURES];
    s2_image squared[S2_MAX_PICTURES]; /* pixels behind some of them */
    s2_sheet sheet;                    /* no pixels: not asked for */
    char reference[S2A_LABEL_SIZE];
    compare_report report;
} compare_context;

/* --- what was asked ------------------------------------------------------------- */

/* The setting of that label, else the first of that method; s2prune if it is there, else the first. */
static s2p_status choose_reference(compare_context *context, s2p_error *error)
{
    const char *asked = context->options->reference, *wanted = asked ? asked : "s2prune";
    const compare_row *row = context->row, *found = NULL;
    char *label = context->reference;
    for (int32_t i = 0; i < context->report.n_rows; i++)
        if (strcmp(s2a_setting_label(&row[i].setting, label), wanted) == 0 ||
            (!found && strcmp(row[i].setting.method, wanted) == 0))
            found = &row[i];
    if (!found && !asked) found = &row[0];
    context->report.reference = label;
    if (found) (void)s2a_setting_label(&found->setting, label);
    if (found) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "--reference '%.60s' is not one of the --methods", asked);
}

static s2p_status prepare(compare_context *context, s2p_error *error)
{
    const compare_options *o = context->options;
    compare_report *r = &context->report;
    s2a_setting setting[S2A_MAX_SETTINGS];
    char one[S2A_BUDGET_TEXT];
    const char *expect = o->expect;
    while (expect && isspace((unsigned char)*expect)) expect++;
    if (!o->prompt && !o->ask.prompt_file)
        return s2_fail(error, S2P_EINVAL, "compare needs a question: -p TEXT or -f FILE");
    if (o->ask.image_size)
        TRY(s2_ask_check_surplus("--image-size", o->ask.image_size, o->ask.images.n, error));
    if (expect && !*expect) return s2_fail(error, S2P_EINVAL, "--expect is empty; it needs TEXT");
    if (o->budgets && !s2a_budget_is_none(o->budget))
        return s2_fail(error, S2P_EINVAL, "--budget and --budgets cannot be combined");
    const char *budget = s2a_budget_is_none(o->budget) ? "auto" : s2a_budget_text(o->budget, one);
    const char *usual = s2_ask_has_variants(&o->ask) ? NULL : "full,random,uniform,s2prune";
    TRY(s2_ask_settings(&o->ask, &context->asker.owns, o->methods ? o->methods : usual,
                        o->budgets ? o->budgets : budget, setting, &r->n_rows, error));
    for (int32_t i = 0; i < r->n_rows; i++) context->row[i].setting = setting[i];
    TRY(choose_reference(context, error));
    TRY(s2_asker_prepare(&context->asker, &o->ask, error));
    TRY(s2_ask_question(o->prompt, o->ask.prompt_file, o->ask.escapes, &context->question, error));
    for (size_t i = 0; i < o->ask.images.n; i++)
        TRY(s2_asker_add_picture(&context->asker, o->ask.images.item[i], error));
    TRY(s2a_boxes_check(&context->asker.boxes, context->asker.n_pictures, error));
    if (o->png) TRY(s2_asker_check_output(&context->asker, "--png", o->png, error));
    if (o->html) TRY(s2_asker_check_output(&context->asker, "--html", o->html, error));
    r->row = context->row;
    r->expect = o->expect;
    r->mode = s2_mode_name((size_t)o->ask.mode);
    r->question = (const char *)context->question.data;
    r->model = s2_base_name(context->asker.model);
    r->path = o->ask.images.item;
    r->picture = context->seen;
    r->n_pictures = context->asker.n_pictures;
    return S2P_OK;
}

/* --- the work --------------------------------------------------------------------- */

static s2p_status ask(compare_context *context, const s2a_setting *setting, int32_t n_tokens,
                      s2a_answer *answer, s2p_error *error)
{
    const s2a_limits limits = { .n_tokens = n_tokens };
    s2_asker_reset(&context->asker);
    return s2_asker_ask(&context->asker, context->report.question, context->asker.n_pictures,
                        setting, &limits, NULL, answer, error);
}

/* Open the model and make one short run with two tokens that is thrown away: it runs the tower,
 * which every row then shares, and pays what only the first run pays. */
static s2p_status open_model(compare_context *context, s2p_error *error)
{
    const ask_options *o = &context->options->ask;
    s2v_session_options session = s2_ask_session_options(o);
    s2_ask_sampling(o, &session.sampling);
    session.keep_attention = 1; /* some method will want it */
    session.pictures_only = 1;  /* a row's times are those of a prefill */
    s2_asker_see_whole(&context->asker);
    TRY(s2_asker_open(&context->asker, &session, error));
    s2a_setting brief = s2_ask_setting(o);
    for (int32_t i = 0; i < context->report.n_rows; i++)
        TRY(s2a_settings_check_after("--after", &context->row[i].setting, 1,
                                     context->asker.info.n_layers, error));
    s2a_setting_use(&brief, "uniform");
    brief.has_after = false;
    brief.budget.tokens = 2;
    if (context->asker.boxes.n > 0) brief.budget = (s2a_budget){ .percent = 100.0 };
    s2a_answer answer;
    TRY(ask(context, &brief, s2_ask_predict(o) < 2 ? s2_ask_predict(o) : 2, &answer, error));
    compare_report *r = &context->report;
    for (int32_t i = 0; i < r->n_pictures; i++)
        context->seen[i] = *s2_asker_seen(&context->asker, i, &context->squared[i]);
    r->image_ms = answer.stats.image_ms;
    r->vision_ms = answer.stats.vision_ms;
    r->watch_ms = answer.stats.probe_ms;
    s2a_answer_free(&answer);
    return S2P_OK;
}

static s2p_status start_sheet(compare_context *context, s2p_error *error)
{
    const compare_options *o = context->options;
    const compare_report *r = &context->report;
    if (!o->png && s2_terminal_display(o->display) == S2_DISPLAY_NONE) return S2P_OK;
    char title[512];
    (void)snprintf(title, sizeof title, "%s | %s | s2prune %s", r->question, r->model,
                   s2p_version());
    return s2_sheet_create(title, r->n_rows * r->n_pictures, r->n_pictures, context->seen[0].width,
                           context->seen[0].height, &context->sheet, error);
}

/* What goes wrong in a row is the row's own. */
static s2p_status make_rows(compare_context *context, s2p_error *error)
{
    s2_progress *progress = &context->asker.progress;
    context->asker.hides_steps = true;
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < context->report.n_rows; i++) {
        compare_row *row = &context->row[i];
        (void)s2_progress_show(progress, "comparing", (double)i / context->report.n_rows);
        row->error.status = ask(context, &row->setting, s2_ask_predict(&context->options->ask),
                                &row->answer, &row->error);
        if (row->error.status != S2P_OK && !row->error.message[0])
            (void)snprintf(row->error.message, sizeof row->error.message, "%s",
                           s2p_status_text(row->error.status));
        if (context->sheet.image.pixels)
            st = s2_compare_place(&context->asker, &context->report, i, &context->sheet, error);
    }
    s2_progress_clear(progress);
    return st;
}

/* Nothing worked: one sentence, the one all rows share or that of the first. */
static s2p_status check_rows(const compare_context *context, int32_t *n_failed, s2p_error *error)
{
    const compare_row *first = &context->row[0];
    char label[S2A_LABEL_SIZE];
    bool is_shared = true;
    *n_failed = 0;
    for (int32_t i = 0; i < context->report.n_rows; i++) {
        *n_failed += context->row[i].error.status != S2P_OK;
        is_shared = is_shared && strcmp(context->row[i].error.message, first->error.message) == 0;
    }
    if (*n_failed < context->report.n_rows) return S2P_OK;
    if (is_shared) return s2_fail(error, first->error.status, "%s", first->error.message);
    return s2_fail(error, first->error.status, "all methods failed; %s: %s",
                   s2a_setting_label(&first->setting, label), first->error.message);
}

/* --- results ------------------------------------------------------------------------ */

static int print_table(const compare_context *context)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2_compare_write(&context->report, (enum compare_format)context->options->output, &out);
    return s2_report_print_made(S2P_OK, &out, NULL);
}

static int save_page(const compare_context *context)
{
    s2p_error error = { S2P_OK, "" };
    s2_buffer page;
    s2_buffer_init(&page, S2_OUTPUT_MAX);
    const s2p_status st = s2_compare_html(&context->report, &page, &error);
    return s2_report_save_made(context->options->html, st, &page, &error);
}

/* The table first: a file that cannot be written does not lose it. */
static int present(const compare_context *context, int32_t n_failed)
{
    const compare_options *o = context->options;
    int code = print_table(context);
    if (code == S2_EXIT_OK && o->png) code = s2_report_save_png(o->png, &context->sheet.image.view);
    if (code == S2_EXIT_OK && o->html) code = save_page(context);
    if (code != S2_EXIT_OK) return code;
    const s2_display display = s2_terminal_display(o->display);
    if (display != S2_DISPLAY_NONE)
        (void)s2_terminal_show(&context->sheet.image.view, display, NULL);
    if (n_failed == 0) return S2_EXIT_OK;
    if (!o->ask.quiet)
        (void)fprintf(stderr, "note: %d of %d rows failed\n", n_failed, context->report.n_rows);
    return S2_EXIT_INCOMPLETE;
}

static int compare_run(const void *values)
{
    s2p_error error = { S2P_OK, "" };
    compare_context *context = calloc(1, sizeof *context);
    if (!context) {
        s2_fail_memory(&error, sizeof *context, "the comparison");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    context->options = values;
    s2_buffer_init(&context->question, (size_t)1 << 20);
    int32_t n_failed = 0;
    s2p_status st = prepare(context, &error);
    if (st == S2P_OK) st = open_model(context, &error);
    if (st == S2P_OK) st = start_sheet(context, &error);
    if (st == S2P_OK) st = make_rows(context, &error);
    if (st == S2P_OK) st = check_rows(context, &n_failed, &error);
    const int code = st == S2P_OK ? present(context, n_failed) : s2_report_error(st, &error);
    for (int32_t i = 0; i < context->report.n_rows; i++) s2a_answer_free(&context->row[i].answer);
    for (int32_t i = 0; i < S2_MAX_PICTURES; i++) s2_image_free(&context->squared[i]);
    s2_image_free(&context->sheet.image);
    s2_asker_close(&context->asker);
    s2_buffer_free(&context->question);
    free(context);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(compare_options, member)
static const s2_option option_table[] = {
    S2_ASK_ROWS_MODEL,
    S2_ASK_ROWS_CACHE,

    { .name = "--image", .letters = "-i", .label = "FILE", .type = S2_OPTION_LIST, .is_required = true,
      .group = "Question", .help = "picture file, or - for standard input (repeatable, or a.jpg,b.jpg)", .has_commas = true, .role = S2_FILE_INPUT, AT(ask.images) },
    { .name = "--prompt", .letters = "-p", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "the question", AT(prompt) },
    S2_ASK_ROWS_QUESTION,
    { .name = "--expect", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "expected answer; marks answers that contain these words, ignoring case", AT(expect) },

    S2_ASK_ROWS_PICTURE,
    S2_ASK_ROWS_LOADING(S2_LOCAL_PIXELS),

    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "methods to compare, or all; your own: file:PATH or exec:COMMAND (see 's2prune run --list-methods'; default: full,random,uniform,s2prune, or none with --setting or --variants)", AT(methods) },
    { .name = "--budget", .label = "N|N%|A..B", .type = S2_OPTION_STEPS, .min = 1, .max = S2P_MAX_TOKENS,
      .group = "Pruning", .help = "visual tokens to keep per picture: a number, a share, or 64..192: ask again with 192 if the answer with 64 is not confident (default: a third, at least 64)", AT(budget) },
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "several budgets, such as 32,64,10%,64..192; each method runs with each of them", AT(budgets) },
    S2_ASK_ROW_CONFIDENCE,
    S2_ASK_ROW_PROFILE,
    { .name = "--reference", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "method to compare kept tokens with, as IoU (default: s2prune, else the first)", AT(reference) },
    S2_ASK_ROWS_VARIANTS,
    S2_ASK_ROWS_PRUNING,
    S2_ASK_ROW_EXEC,
    S2_ASK_ROW_PLUGIN,

    S2_ASK_ROWS_BOXES,
    S2_ASK_ROWS_ANSWER,

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE,
      .choice = s2_compare_format_name, .fallback = "text", .group = "Output", .help = "format of the table",
      AT(output) },
    { .name = "--png", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write a contact sheet that shows the kept tokens of every row", .role = S2_FILE_OUTPUT, .writes = ".png",
      AT(png) },
    { .name = "--html", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the table, pictures and answers as a single HTML page", .role = S2_FILE_OUTPUT,
      .writes = ".html .htm", AT(html) },
    { .name = "--display", .label = "HOW", .type = S2_OPTION_CHOICE, .choice = s2_terminal_display_name,
      .fallback = "none", .group = "Output", .help = "show the contact sheet in the terminal", AT(display) },
    S2_ASK_ROW_PROGRESS,
    { .name = "--quiet", .letters = "-q", .also = "--log-disable", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "print no notes and no progress", AT(ask.quiet) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_compare = {
    .name = "compare",
    .summary = "compare methods and budgets on one question",
    .usage =
        "[-m MODEL -mm MMPROJ] -i IMAGE -p TEXT [--methods LIST|all] [--budgets LIST] [options]",
    .examples =
        "  s2prune compare -i photo.jpg -p \"Read the word.\" --methods full,random,s2prune\n"
        "  s2prune compare -i photo.jpg -p \"Is there a fork?\" --expect yes --budgets 32,64,10%\n"
        "  s2prune compare -i photo.jpg -p \"What is it?\" --methods all --png sheet.png --html "
        "page.html\n"
        "\n"
        "The vision tower runs once, before the first row. Each row is one run; use 's2prune "
        "bench'\n"
        "for precise times. If a method fails, its row has the reason and the exit code is 5; if "
        "all\n"
        "fail, the exit code is that of the first failure and nothing is written.\n",
    .options = option_table,
    .foreign = s2_llama_options,
    .size = sizeof(compare_options),
    .run = compare_run,
};
