/* cmd_compare.c - `s2prune compare`: methods and budgets side by side on one question. */
#include "compare/compare.h"

#include "program.h"
#include "progress.h"
#include "report.h"
#include "run/run_rows.h"
#include "terminal.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct compare_options {
    run_options run; /* first: rows shared with `run` point into it */
    const char *methods, *budgets, *expect, *reference, *png, *html;
    s2_budget budget;
    int32_t output;
} compare_options;

typedef struct compare_job { /* everything `compare` owns */
    compare_options options;
    run_job run;
    s2_buffer question;
    compare_row row[S2_COMPARE_MAX_ROWS];
    s2p_image seen[S2_RUN_MAX_IMAGES];
    s2_image squared[S2_RUN_MAX_IMAGES]; /* pixels behind some of them */
    s2_sheet sheet;                      /* no pixels: not asked for */
    compare_report report;
} compare_job;

/* --- what was asked ------------------------------------------------------------- */

static s2p_status check_options(const compare_options *o, s2p_error *error)
{
    const char *expect = o->expect;
    while (expect && isspace((unsigned char)*expect)) expect++;
    if (!o->run.prompt && !o->run.prompt_file)
        return s2_fail(error, S2P_EINVAL, "compare needs a question: -p TEXT or -f FILE");
    if (o->run.images.n > S2_RUN_MAX_IMAGES)
        return s2_fail(error, S2P_ELIMIT, "%zu pictures; the limit is %d", o->run.images.n,
                       S2_RUN_MAX_IMAGES);
    if (expect && !*expect) return s2_fail(error, S2P_EINVAL, "--expect is empty; it needs TEXT");
    if (o->budgets && (o->budget.count > 0 || o->budget.percent > 0.0))
        return s2_fail(error, S2P_EINVAL, "--budget and --budgets both say how many; use one");
    return S2P_OK;
}

/* s2prune if it is among the methods, else the first. */
static s2p_status choose_reference(compare_job *job, s2p_error *error)
{
    const char *asked = job->options.reference, *wanted = asked ? asked : "s2prune";
    job->report.reference = asked ? NULL : job->row[0].method;
    for (int32_t i = 0; i < job->report.n_rows; i++)
        if (strcmp(job->row[i].method, wanted) == 0) job->report.reference = job->row[i].method;
    if (job->report.reference) return S2P_OK;
    return s2_fail(error, S2P_EINVAL, "--reference '%.60s' is not one of the --methods", asked);
}

static s2p_status plan(compare_job *job, s2p_error *error)
{
    const compare_options *o = &job->options;
    char one[64];
    const compare_row single = { .budget = o->budget };
    const bool has_one = o->budget.count > 0 || o->budget.percent > 0.0;
    (void)s2_compare_budget(&single, one, sizeof one);
    s2p_status st = check_options(o, error);
    if (st == S2P_OK)
        st = s2_compare_plan(o->methods,
                             o->budgets ? o->budgets
                             : has_one  ? one
                                        : "64",
                             job->row, &job->report.n_rows, error);
    job->report.row = job->row;
    job->report.expect = o->expect;
    job->report.mode = s2_mode_name((size_t)o->run.mode);
    return st == S2P_OK ? choose_reference(job, error) : st;
}

/* --- the work --------------------------------------------------------------------- */

static const char *file_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static s2p_status open_model(compare_job *job, s2p_error *error)
{
    run_options *o = &job->options.run;
    s2_buffer_init(&job->question, (size_t)1 << 20);
    s2p_status st = s2_run_question(o, &job->question, error);
    for (size_t i = 0; st == S2P_OK && i < o->images.n; i++)
        st = s2_run_add_picture(&job->run, o->images.item[i], error);
    if (st == S2P_OK)
        st = s2_bundled_complete(&o->model, &o->mmproj, o->quiet, &job->run.bundled, error);
    if (st != S2P_OK) return st;
    compare_report *r = &job->report;
    r->question = (const char *)job->question.data;
    r->model = file_name(o->model);
    r->path = o->images.item;
    r->picture = job->seen;
    r->n_pictures = job->run.n_pictures;
    st = s2_compare_open(&job->run, r->question, error);
    if (st != S2P_OK) return st;
    for (int32_t i = 0; i < r->n_pictures; i++)
        job->seen[i] = *s2_run_seen(&job->run, i, &job->squared[i]);
    r->image_ms = job->run.stats.image_ms;
    r->vision_ms = job->run.stats.vision_ms;
    r->watch_ms = job->run.stats.probe_ms;
    return S2P_OK;
}

static s2p_status start_sheet(compare_job *job, s2p_error *error)
{
    const compare_options *o = &job->options;
    const compare_report *r = &job->report;
    if (!o->png && s2_terminal_display(o->run.display) == S2_DISPLAY_NONE) return S2P_OK;
    char title[512];
    (void)snprintf(title, sizeof title, "%s | %s | s2prune %s", r->question, r->model,
                   s2p_version());
    return s2_sheet_create(title, r->n_rows * r->n_pictures, r->n_pictures, job->seen[0].width,
                           job->seen[0].height, &job->sheet, error);
}

static s2p_status make_rows(compare_job *job, s2p_error *error)
{
    s2_progress progress;
    s2_progress_start(&progress, job->options.run.quiet);
    s2p_status st = S2P_OK;
    for (int32_t i = 0; st == S2P_OK && i < job->report.n_rows; i++) {
        (void)s2_progress_show(&progress, job->row[i].method, (double)i / job->report.n_rows);
        s2_compare_ask(&job->run, job->report.question, &job->row[i]);
        if (job->sheet.image.pixels)
            st = s2_compare_place(&job->run, &job->report, i, &job->sheet, error);
    }
    s2_progress_clear(&progress);
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
    return s2_fail(error, first->error.status, "no method worked; %s: %s", first->method,
                   first->error.message);
}

/* --- results ------------------------------------------------------------------------ */

static int print_table(const compare_job *job)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2_compare_write(&job->report, (enum compare_format)job->options.output, &out);
    const int code = s2_report_print(&out);
    s2_buffer_free(&out);
    return code;
}

static int save_sheet(const compare_job *job)
{
    s2p_error error = { S2P_OK, "" };
    s2_buffer png;
    s2_buffer_init(&png, S2_OUTPUT_MAX);
    const s2p_status st = s2_png_encode(&job->sheet.image.view, &png, &error);
    const int code =
        st == S2P_OK ? s2_report_save(job->options.png, &png) : s2_report_error(st, &error);
    s2_buffer_free(&png);
    return code;
}

static int save_page(const compare_job *job)
{
    s2p_error error = { S2P_OK, "" };
    s2_buffer page;
    s2_buffer_init(&page, S2_OUTPUT_MAX);
    const s2p_status st = s2_compare_html(&job->report, &page, &error);
    const int code =
        st == S2P_OK ? s2_report_save(job->options.html, &page) : s2_report_error(st, &error);
    s2_buffer_free(&page);
    return code;
}

/* On standard error: the table owns standard output. */
static void show_sheet(const compare_job *job)
{
    s2_buffer bytes;
    s2_buffer_init(&bytes, S2_OUTPUT_MAX);
    const s2_display display = s2_terminal_display(job->options.run.display);
    if (display != S2_DISPLAY_NONE &&
        s2_display_render(&job->sheet.image.view, display, s2_terminal_columns(), &bytes, NULL) ==
            S2P_OK)
        (void)fwrite(bytes.data, 1, bytes.size, stderr);
    s2_buffer_free(&bytes);
}

/* The table first: a file that cannot be written does not lose it. */
static int present(const compare_job *job, int32_t n_failed)
{
    int code = print_table(job);
    if (code == S2_EXIT_OK && job->options.png) code = save_sheet(job);
    if (code == S2_EXIT_OK && job->options.html) code = save_page(job);
    if (code != S2_EXIT_OK) return code;
    show_sheet(job);
    if (n_failed == 0) return S2_EXIT_OK;
    if (!job->options.run.quiet)
        (void)fprintf(stderr, "note: %d of %d rows failed\n", n_failed, job->report.n_rows);
    return S2_EXIT_INCOMPLETE;
}

static int compare(compare_job *job)
{
    s2p_error error = { S2P_OK, "" };
    int32_t n_failed = 0;
    s2p_status st = plan(job, &error);
    if (st == S2P_OK) st = open_model(job, &error);
    if (st == S2P_OK) st = start_sheet(job, &error);
    if (st == S2P_OK) st = make_rows(job, &error);
    if (st == S2P_OK) st = check_rows(job, &n_failed, &error);
    return st == S2P_OK ? present(job, n_failed) : s2_report_error(st, &error);
}

static int run(const void *values)
{
    compare_job *job = calloc(1, sizeof *job);
    if (!job) {
        s2p_error error;
        s2_fail_memory(&error, sizeof *job, "the comparison");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    job->options = *(const compare_options *)values;
    job->options.run.output = S2_OUTPUT_JSON; /* answers are kept, not printed as they come */
    job->run.options = &job->options.run;
    const int code = compare(job);
    for (int32_t i = 0; i < job->report.n_rows; i++) s2_compare_row_free(&job->row[i]);
    for (int32_t i = 0; i < S2_RUN_MAX_IMAGES; i++) s2_image_free(&job->squared[i]);
    s2_image_free(&job->sheet.image);
    s2_run_close(&job->run);
    s2_buffer_free(&job->question);
    free(job);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(compare_options, member)
static const s2_option option_table[] = {
    S2_RUN_ROWS_MODEL,

    { .name = "--image", .letters = "-i", .label = "FILE", .type = S2_OPTION_LIST, .is_required = true,
      .group = "Question", .help = "picture (repeatable; '-' reads standard input)", AT(run.images) },
    { .name = "--prompt", .letters = "-p", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "the question", AT(run.prompt) },
    S2_RUN_ROWS_QUESTION,
    { .name = "--expect", .label = "TEXT", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "mark an answer that has these words, whole ones, in upper or lower case", AT(expect) },

    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "full,random,uniform,s2prune",
      .group = "Pruning", .help = "methods to compare, or all; see 's2prune run --list-methods'", AT(methods) },
    { .name = "--budget", .label = "N|N%", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS,
      .group = "Pruning", .help = "visual tokens kept per picture (64)", AT(budget) },
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "several of them, such as 32,64,10%; every method runs with each", AT(budgets) },
    { .name = "--reference", .label = "NAME", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "method the IoU is taken with (s2prune, else the first)", AT(reference) },
    S2_RUN_ROWS_CHOICE,

    S2_RUN_ROWS_ANSWER,

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE,
      .choice = s2_compare_format_name, .fallback = "text", .group = "Output", .help = "form of the table",
      AT(output) },
    { .name = "--png", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write a contact sheet: the kept tokens of every row", AT(png) },
    { .name = "--html", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write a page with table, pictures and answers, in one file", AT(html) },
    { .name = "--display", .label = "HOW", .type = S2_OPTION_CHOICE, .choice = s2_terminal_display_name,
      .fallback = "none", .group = "Output", .help = "show the contact sheet in the terminal", AT(run.display) },
    { .name = "--quiet", .letters = "-q", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "no notes or progress", AT(run.quiet) },
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
    .size = sizeof(compare_options),
    .run = run,
};
