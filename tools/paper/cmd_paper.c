/* cmd_paper.c - `s2prune paper`: everything the paper shows, in its order, on the model and data given. */
#include "analyze/analyze_command.h"
#include "analyze/analyze_rows.h"
#include "asking/model_kind.h"
#include "eval/run/fingerprint.h"
#include "paper/paper_cells.h"
#include "paper/paper_print.h"
#include "paper/paper_sections.h"
#include "program.h"
#include "report.h"

#include <stdlib.h>
#include <sys/stat.h>

typedef struct paper_options {
    analyze_options analyze; /* first: the shared rows point into it */
    const char *cells;
    bool is_printed;
} paper_options;

static s2p_status check(const analyze_options *o, s2p_error *error)
{
    if (o->methods || o->budgets || o->images || o->shard || o->recorded ||
        s2_ask_has_variants(&o->ask))
        return s2_fail(
            error, S2P_EINVAL,
            "paper shows the paper's own methods and budgets on answers; --methods, --setting, "
            "--budgets, --images, --recorded and --shard are for 's2prune analyze'");
    return S2P_OK;
}

/* Tables alone, no model, no folder: the paper's own, or somebody's cells. */
static int print_only(const paper_options *o)
{
    s2p_error error = { S2P_OK, "" };
    s2_study study = { .n = 0 };
    s2p_status st = o->cells ? s2_paper_cells(o->cells, &study, &error) : S2P_OK;
    if (o->is_printed) s2_printed_report(&study);
    if (st == S2P_OK && study.status != S2P_OK)
        st = s2_fail(&error, study.status, "no memory for the tables");
    const int code = st == S2P_OK ? s2_paper_print(&study, (s2_table_format)o->analyze.output)
                                  : s2_report_error(st, &error);
    s2_study_free(&study);
    return code;
}

/* Figures are of the paper's main model: a run of LLaVA-OneVision has its table, and only that. */
static void choose_runs(const s2_paper_runs *runs, const s2_list *all, s2_list *out)
{
    out->n = 0;
    for (int32_t i = 0; i < runs->n; i++)
        if (!s2_model_is_llava_onevision(s2_json_string(runs->values[i], S2E_ABOUT "kind"),
                                         s2_json_string(runs->values[i], S2E_ABOUT "model")) ||
            runs->main.n == 0)
            out->item[out->n++] = all->item[i];
}

/* A model so small answers on one thread with half the work of two: they would mostly wait for each
 * other, thousands of times. */
#define SMALL_BYTES (64 << 20)

static void choose_threads(analyze_context *context)
{
    struct stat info;
    const bool is_small = context->asker.model && stat(context->asker.model, &info) == 0 &&
                          info.st_size < SMALL_BYTES;
    if (is_small && context->ask.threads == 0) context->ask.threads = 1;
}

typedef struct making { /* all of the command; on the heap */
    analyze_options options;
    analyze_context context;
    s2_paper_runs runs;
    s2_study study;
    s2_buffer settings;
} making;

static s2p_status make(making *m, const analyze_options *o, s2p_error *error)
{
    TRY(check(o, error));
    m->options = *o;
    if (o->runs.n) {
        TRY(s2_paper_runs_load(o->runs.item, o->runs.n, o->data, &m->runs, error));
        choose_runs(&m->runs, &o->runs, &m->options.runs);
    }
    TRY(s2_analyze_open(&m->context, &m->options, error));
    choose_threads(&m->context);
    m->options.ask.quiet =
        true; /* captions say how many questions were asked: no note for each section */
    const s2_paper_work work = { .context = &m->context,
                                 .options = &m->options,
                                 .runs = o->runs.n ? &m->runs : NULL,
                                 .study = &m->study,
                                 .settings = &m->settings };
    TRY(s2_paper_fill(&work, error));
    s2_buffer_append(&m->settings, "", 1);
    if (m->settings.status != S2P_OK) return s2_fail(error, S2P_ENOMEM, "no memory for the report");
    m->options.ask.quiet = o->ask.quiet;
    return s2_analyze_save(&m->context, &m->study, "paper",
                           "S2Prune: the paper's tables and figures",
                           (const char *)m->settings.data, error);
}

static int paper_run(const void *values)
{
    const paper_options *paper = values;
    const analyze_options *o = &paper->analyze;
    if (paper->cells || paper->is_printed) return print_only(paper);
    s2p_error error = { S2P_OK, "" };
    making *m = calloc(1, sizeof *m);
    if (!m) {
        s2_fail_memory(&error, sizeof *m, "the report");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    s2_buffer_init(&m->settings, (size_t)1 << 20);
    m->study.width = s2_analyze_width(o);
    const s2p_status st = make(m, o, &error);
    const int code = st == S2P_OK ? s2_paper_print(&m->study, (s2_table_format)o->output)
                                  : s2_analyze_report_error(&m->context, st, &error);
    if (st == S2P_OK && !o->ask.quiet) s2_report_tell("written: %s/%s", o->out, m->context.report);
    s2_study_free(&m->study);
    s2_buffer_free(&m->settings);
    s2_paper_runs_free(&m->runs);
    s2_analyze_close(&m->context);
    free(m);
    return code;
}

/* clang-format off */
static const s2_option option_table[] = {
    S2_ANALYZE_ROWS("paper"),
    { .name = "--printed", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "only recompute the paper's tables from their cells, without a model or folder",
      .offset = offsetof(paper_options, is_printed) },
    { .name = "--cells", .label = "FILE", .type = S2_OPTION_FILE, .group = "Data",
      .help = "only compute Acc., Rel. and ranks for a CSV file with the columns method, tokens and one per benchmark",
      .offset = offsetof(paper_options, cells) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_paper = {
    .name = "paper",
    .summary = "write a report with every table and figure of the paper",
    .usage = "[-m MODEL -mm MMPROJ] [--tasks LIST] [--data-dir DIR] [--out DIR] [options]",
    .examples = "  s2prune paper --out paper\n"
                "  s2prune paper --pictures 40 --per-picture 2 --out quick\n"
                "  s2prune paper --run runs/pope --run runs/mmbench --out paper\n"
                "  s2prune paper --printed -o md      (the paper's tables, recomputed)\n"
                "  s2prune paper --cells table.csv    (Acc., Rel. and ranks of your own cells)\n",
    .options = option_table,
    .words_offset = offsetof(paper_options, analyze.words),
    .size = sizeof(paper_options),
    .run = paper_run,
};
