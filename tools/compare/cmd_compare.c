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
    s2_budget budget;
    int32_t output, display;
} compare_options;

typedef struct compare_job { /* everything `compare` owns */
    const compare_options *options;
    s2_asker asker;
    s2_buffer question;
    compare_row row[S2A_MAX_SETTINGS];
    s2p_image seen[S2_MAX_PICTURES];
    s2_image squared[S2_MAX_PICTURES]; /* pixels behind some of them */
    s2_sheet sheet;                    /* no pixels: not asked for */
    compare_report report;
} compare_job;

/* --- what was asked ------------------------------------------------------------- */

/* s2prune if it is among the methods, else the first. */
static s2p_status choose_reference(compare_job *job, s2p_error *error)
{
    const char *asked = job->options->reference, *wanted = asked ? asked : "s2prune";
    job->report.reference = asked ? NULL : job->row[0].setting.method;
    for (int32_t i = 0; i < job->report.n_rows; i++)
        if (strcmp(job->row[i].setting.method, wanted) == 0)
            job->report.reference = job->row[i].setting.method;
    if (job->report.reference) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "--reference '%.60s' is not one of the --methods", asked);
}

static s2p_status prepare(compare_job *job, s2p_error *error)
{
    const compare_options *o = job->options;
    compare_report *r = &job->report;
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
        return s2_fail(error, S2P_EINVAL, "--budget and --budgets both say how many; use one");
    const char *budget = s2a_budget_is_none(o->budget) ? "64" : s2a_budget_text(o->budget, one);
    TRY(s2_ask_settings(&o->ask, o->methods, o->budgets ? o->budgets : budget, setting, &r->n_rows,
                        error));
    for (int32_t i = 0; i < r->n_rows; i++) job->row[i].setting = setting[i];
    TRY(choose_reference(job, error));
    TRY(s2_asker_prepare(&job->asker, &o->ask, error));
    TRY(s2_ask_question(o->prompt, o->ask.prompt_file, o->ask.escapes, &job->question, error));
    for (size_t i = 0; i < o->ask.images.n; i++)
        TRY(s2_asker_add_picture(&job->asker, o->ask.images.item[i], error));
    if (o->png) TRY(s2_asker_check_output(&job->asker, "--png", o->png, error));
    if (o->html) TRY(s2_asker_check_output(&job->asker, "--html", o->html, error));
    r->row = job->row;
    r->expect = o->expect;
    r->mode = s2_mode_name((size_t)o->ask.mode);
    r->question = (const char *)job->question.data;
    r->model = s2_base_name(job->asker.model);
    r->path = o->ask.images.item;
    r->picture = job->seen;
    r->n_pictures = job->asker.n_pictures;
    return S2P_OK;
}

/* --- the work --------------------------------------------------------------------- */

static s2p_status ask(compare_job *job, const s2a_setting *setting, int32_t n_tokens,
                      s2a_answer *answer, s2p_error *error)
{
    const s2a_limits limits = { .n_tokens = n_tokens };
    s2_asker_reset(&job->asker);
    return s2_asker_ask(&job->asker, job->report.question, job->asker.n_pictures, setting, &limits,
                        NULL, answer, error);
}

/* Open the model and make one short run with two tokens that is thrown away: it runs the tower,
 * which every row then shares, and pays what only the first run pays. */
static s2p_status open_model(compare_job *job, s2p_error *error)
{
    const ask_options *o = &job->options->ask;
    s2v_session_options session = s2_ask_session_options(o);
    s2_ask_sampling(o, &session);
    session.keep_attention = 1; /* some method will want it */
    session.pictures_only = 1;  /* a row's times are those of a prefill */
    s2_asker_see_whole(&job->asker);
    TRY(s2_asker_open(&job->asker, &session, error));
    s2a_setting brief = s2_ask_setting(o);
    s2a_setting_use(&brief, "uniform");
    brief.budget.count = 2;
    s2a_answer answer;
    TRY(ask(job, &brief, s2_ask_predict(o) < 2 ? s2_ask_predict(o) : 2, &answer, error));
    compare_report *r = &job->report;
    for (int32_t i = 0; i < r->n_pictures; i++)
        job->seen[i] = *s2_asker_seen(&job->asker, i, &job->squared[i]);
    r->image_ms = answer.stats.image_ms;
    r->vision_ms = answer.stats.vision_ms;
    r->watch_ms = answer.stats.probe_ms;
    s2a_answer_free(&answer);
    return S2P_OK;
}

static s2p_status start_sheet(compare_job *job, s2p_error *error)
{
    const compare_options *o = job->options;
    const compare_report *r = &job->report;
    if (!o->png && s2_terminal_display(o->display) == S2_DISPLAY_NONE) return S2P_OK;
    char title[512];
    (void)snprintf(title, sizeof title, "%s | %s | s2prune %s", r->question, r->model,
                   s2p_version());
    return s2_sheet_create(title, r->n_rows * r->n_pictures, r->n_pictures, job->seen[0].width,
                           job->seen[0].height, &job->sheet, error);
}

/* What goes wrong in a row is the row's own. */
static s2p_status make_rows(compare_job *job, s2p_error *error)
{
    s2_progress *progress = &job->asker.progress;
    job->asker.hides_steps = true;
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < job->report.n_rows; i++) {
        compare_row *row = &job->row[i];
        (void)s2_progress_show(progress, "comparing", (double)i / job->report.n_rows);
        row->error.status =
            ask(job, &row->setting, s2_ask_predict(&job->options->ask), &row->answer, &row->error);
        if (row->error.status != S2P_OK && !row->error.message[0])
            (void)snprintf(row->error.message, sizeof row->error.message, "%s",
                           s2p_status_text(row->error.status));
        if (job->sheet.image.pixels)
            st = s2_compare_place(&job->asker, &job->report, i, &job->sheet, error);
    }
    s2_progress_clear(progress);
    return st;
}

/* Nothing worked: one sentence, the one all rows share or that of the first. */
static s2p_status check_rows(const compare_job *job, int32_t *n_failed, s2p_error *error)
{
    const compare_row *first = &job->row[0];
    bool is_shared = true;
    *n_failed = 0;
    for (int32_t i = 0; i < job->report.n_rows; i++) {
        *n_failed += job->row[i].error.status != S2P_OK;
        is_shared = is_shared && strcmp(job->row[i].error.message, first->error.message) == 0;
    }
    if (*n_failed < job->report.n_rows) return S2P_OK;
    if (is_shared) return s2_fail(error, first->error.status, "%s", first->error.message);
    return s2_fail(error, first->error.status, "no method worked; %s: %s", first->setting.method,
                   first->error.message);
}

/* --- results ------------------------------------------------------------------------ */

static int print_table(const compare_job *job)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2_compare_write(&job->report, (enum compare_format)job->options->output, &out);
    return s2_report_print_made(S2P_OK, &out, NULL);
}

static int save_page(const compare_job *job)
{
    s2p_error error = { S2P_OK, "" };
    s2_buffer page;
    s2_buffer_init(&page, S2_OUTPUT_MAX);
    const s2p_status st = s2_compare_html(&job->report, &page, &error);
    return s2_report_save_made(job->options->html, st, &page, &error);
}

/* The table first: a file that cannot be written does not lose it. */
static int present(const compare_job *job, int32_t n_failed)
{
    const compare_options *o = job->options;
    int code = print_table(job);
    if (code == S2_EXIT_OK && o->png) code = s2_report_save_png(o->png, &job->sheet.image.view);
    if (code == S2_EXIT_OK && o->html) code = save_page(job);
    if (code != S2_EXIT_OK) return code;
    const s2_display display = s2_terminal_display(o->display);
    if (display != S2_DISPLAY_NONE) (void)s2_terminal_show(&job->sheet.image.view, display, NULL);
    if (n_failed == 0) return S2_EXIT_OK;
    if (!o->ask.quiet)
        (void)fprintf(stderr, "note: %d of %d rows failed\n", n_failed, job->report.n_rows);
    return S2_EXIT_INCOMPLETE;
}

static int compare_run(const void *values)
{
    s2p_error error = { S2P_OK, "" };
    compare_job *job = calloc(1, sizeof *job);
    if (!job) {
        s2_fail_memory(&error, sizeof *job, "the comparison");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    job->options = values;
    s2_buffer_init(&job->question, (size_t)1 << 20);
    int32_t n_failed = 0;
    s2p_status st = prepare(job, &error);
    if (st == S2P_OK) st = open_model(job, &error);
    if (st == S2P_OK) st = start_sheet(job, &error);
    if (st == S2P_OK) st = make_rows(job, &error);
    if (st == S2P_OK) st = check_rows(job, &n_failed, &error);
    const int code = st == S2P_OK ? present(job, n_failed) : s2_report_error(st, &error);
    for (int32_t i = 0; i < job->report.n_rows; i++) s2a_answer_free(&job->row[i].answer);
    for (int32_t i = 0; i < S2_MAX_PICTURES; i++) s2_image_free(&job->squared[i]);
    s2_image_free(&job->sheet.image);
    s2_asker_close(&job->asker);
    s2_buffer_free(&job->question);
    free(job);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(compare_options, member)
static const s2_option option_table[] = {
    S2_ASK_ROWS_MODEL,
    S2_ASK_ROWS_CACHE,

    { .name = "--image", .letters = "-i", .label = "FILE", .type = S2_OPTION_LIST, .is_required = true,
      .group = "Question", .help = "picture (repeatable; '-' reads standard input)", .role = S2_FILE_INPUT, AT(ask.images) },
    { .name = "--prompt", .letters = "-p", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "the question", AT(prompt) },
    S2_ASK_ROWS_QUESTION,
    { .name = "--expect", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "mark an answer that has these words, whole ones, in upper or lower case", AT(expect) },

    S2_ASK_ROWS_PICTURE,
    S2_ASK_ROWS_LOADING,

    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "full,random,uniform,s2prune",
      .group = "Pruning", .help = "methods to compare, or all; see 's2prune run --list-methods'", AT(methods) },
    { .name = "--budget", .label = "N|N%", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS,
      .group = "Pruning", .help = "visual tokens kept per picture (64)", AT(budget) },
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "several of them, such as 32,64,10%; every method runs with each", AT(budgets) },
    { .name = "--reference", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "method the IoU is taken with (s2prune, else the first)", AT(reference) },
    S2_ASK_ROWS_PRUNING,

    S2_ASK_ROWS_ANSWER,

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE,
      .choice = s2_compare_format_name, .fallback = "text", .group = "Output", .help = "form of the table",
      AT(output) },
    { .name = "--png", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write a contact sheet: the kept tokens of every row", .role = S2_FILE_OUTPUT, .writes = ".png",
      AT(png) },
    { .name = "--html", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write a page with table, pictures and answers, in one file", .role = S2_FILE_OUTPUT,
      .writes = ".html .htm", AT(html) },
    { .name = "--display", .label = "HOW", .type = S2_OPTION_CHOICE, .choice = s2_terminal_display_name,
      .fallback = "none", .group = "Output", .help = "show the contact sheet in the terminal", AT(display) },
    S2_ASK_ROW_PROGRESS,
    { .name = "--quiet", .letters = "-q", .also = "--log-disable", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "no notes or progress", AT(ask.quiet) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_compare = {
    .name = "compare",
    .summary = "methods and budgets side by side on one question",
    .usage =
        "[-m MODEL -mm MMPROJ] -i IMAGE -p TEXT [--methods LIST|all] [--budgets LIST] [options]",
    .examples =
        "  s2prune compare -i photo.jpg -p \"Read the word.\" --methods full,random,s2prune\n"
        "  s2prune compare -i photo.jpg -p \"Is there a fork?\" --expect yes --budgets 32,64,10%\n"
        "  s2prune compare -i photo.jpg -p \"What is it?\" --methods all --png sheet.png --html "
        "page.html\n"
        "\n"
        "The tower runs once, before the first row; times are those of one run each. A method "
        "that\n"
        "fails has its reason in its row, and the exit code is 5; when none works it is that of "
        "the\n"
        "first failure and nothing is written.\n",
    .options = option_table,
    .foreign = s2_llama_options,
    .size = sizeof(compare_options),
    .run = compare_run,
};
