/* cmd_paper.c - `s2prune paper`: everything the paper shows, in its order, on the model and data given.
 *
 * A section is filled by an analysis, by the efficiency table, or stays blank with the command that
 * would fill it. Answers are shared: what Figure 6 asked, Figure 3 does not ask again.
 */
#include "analyze/analyze_command.h"
#include "analyze/analyze_rows.h"
#include "paper/paper_efficiency.h"
#include "program.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>

typedef struct section {
    const char *heading;
    const char *analysis; /* NULL: none */
    const char *note;     /* what the paper has there */
    const char *blank;    /* a command for what is not filled; NULL: all is */
} section;

#define PAPER_MODEL "-m qwen2.5-vl-7b.gguf -mm mmproj.gguf --preset paper"

static const section sections[] = {
    { "Figure 2, Figures S1 and S2, Table S1: token scores induce spatial allocation", "spatial",
      "Printed, for Qwen2.5-VL-7B on 1,000 questions of MMBench: FastV and FEATHER without RoPE "
      "keep "
      "nearly 58 % of their tokens in the edge region (30.6 % of the area); correlations between "
      "budgets 32, 64 and 128 are 0.819 to 0.980.",
      "s2prune analyze spatial " PAPER_MODEL " --data-dir DATA --tasks mmbench --pictures 1000" },
    { "Figure 3: retention against Random", "retention",
      "Printed, for Qwen2.5-VL-7B at 64 tokens: Uniform Grid is above Random on four of five "
      "benchmarks.",
      "s2prune analyze retention " PAPER_MODEL " --data-dir DATA --tasks NAME" },
    { "Figure 5: adaptive against equal density by structural heterogeneity", "heterogeneity",
      "Printed, mean of MMBench, TextVQA and POPE: the third with most heterogeneity gains 1.39 "
      "points "
      "at 64 tokens and 2.79 at 32.",
      "s2prune analyze heterogeneity " PAPER_MODEL " --data-dir DATA --tasks NAME" },
    { "Figure 6, Table 1, Table S2: accuracy against budget", "budget",
      "Table 1 and Table S2 are ten benchmarks on Qwen2.5-VL-7B. Below are the methods of Figure 6 "
      "on "
      "the data given; kinds of questions take the place of benchmarks.",
      "s2prune eval " PAPER_MODEL " --data-dir DATA --tasks NAME --methods full,fastv,dart,gprune,"
      "visionzip,vispruner,gridprune,holov,s2prune --budgets 192,128,64,32" },
    { "Table 2: LLaVA-OneVision", NULL,
      "Four benchmarks on LLaVA-OneVision-7B at 160, 80 and 40 tokens.",
      "s2prune eval -m llava-onevision-7b.gguf -mm mmproj.gguf --preset paper --data-dir DATA "
      "--tasks "
      "NAME --methods full,fastv,cdpruner,gridprune,s2prune --budgets 160,80,40" },
    { "Table 3: efficiency", "", NULL, "s2prune bench " PAPER_MODEL " -i photo.jpg" },
    { "Figure 7 and Table 4: allocators and selectors", "ablation",
      "Printed at 64 tokens: Laplacian shares lead on MMMU (46.3), TextVQA (55.2) and VizWiz "
      "(31.0); "
      "ERC leads on MMBench (84.6), ScienceQA (81.0) and TextVQA (55.2).",
      "s2prune analyze ablation " PAPER_MODEL " --data-dir DATA --tasks NAME" },
    { "Table S3: grid size", "grid",
      "Printed: 4x4, 5x5 and 6x6 regions differ by at most 0.1 points at 64 tokens, 3x3 to 5x5 by "
      "0.8 "
      "at 32.",
      "s2prune analyze grid " PAPER_MODEL " --data-dir DATA --tasks NAME" },
    { "Figures S3 to S6: cases", "cases",
      "POPE questions that S2Prune answers and FastV and GridPrune do not, at 32 and 128 tokens.",
      "s2prune analyze cases " PAPER_MODEL " --data-dir DATA --tasks pope" },
    { "Not in the paper: what methods have in common", "overlap", NULL, NULL },
};

static s2p_status fill_efficiency(analyze_context *context, s2_study *study, s2p_error *error)
{
    char path[8192];
    s2_paper_formulas(study);
    if (context->set.n_pictures < 1 || !context->set.picture[0].file) {
        s2_study_note(study, "Not measured by the clock: the pictures are inside a table.");
        return S2P_OK;
    }
    (void)snprintf(path, sizeof path, "%.4000s/%.4000s", context->set.folder,
                   context->set.picture[0].file);
    return s2_paper_clock(&context->ask, path, study, error);
}

static s2p_status fill(analyze_context *context, s2_study *study, s2_buffer *settings,
                       s2p_error *error)
{
    for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
        const section *s = &sections[i];
        s2_study_heading(study, s->heading);
        if (s->note) s2_study_note(study, s->note);
        if (s->analysis && !s->analysis[0])
            TRY(fill_efficiency(context, study, error));
        else if (s->analysis) {
            const s2_analysis *analysis = s2_analysis_find(s->analysis);
            s2_trials trials = { .n_pictures = 0 };
            bool is_complete = false;
            s2p_status st = s2_analyze_collect(context, analysis, &trials, &is_complete, error);
            if (st == S2P_OK) st = analysis->run(&trials, study, error);
            if (st == S2P_OK) {
                char note[160];
                (void)snprintf(
                    note, sizeof note, "%d pictures and %d questions of %s, %d settings.",
                    trials.n_pictures, trials.n_questions, trials.task, trials.n_settings);
                s2_study_note(study, note);
                if (settings->size == 0) s2_analyze_describe(context, &trials, settings);
            }
            s2_trials_free(&trials);
            TRY(st);
        }
        if (s->blank) s2_study_command(study, s->blank);
    }
    s2_buffer_append(settings, "", 1);
    return settings->status == S2P_OK && study->status == S2P_OK
               ? S2P_OK
               : s2_fail(error, S2P_ENOMEM, "no memory for the report");
}

static s2p_status check(const analyze_options *o, s2p_error *error)
{
    if (o->methods || o->budgets || o->images || o->shard || o->run || o->recorded)
        return s2_fail(error, S2P_EINVAL,
                       "paper shows the paper's own methods and budgets on answers; --methods, "
                       "--budgets, --images, --run, --recorded and --shard are for 's2prune "
                       "analyze'");
    return S2P_OK;
}

static int paper_run(const void *values)
{
    const analyze_options *o = values;
    s2p_error error = { S2P_OK, "" };
    analyze_context *context = calloc(1, sizeof *context);
    s2_study study = { .n = 0 };
    s2_buffer settings;
    s2_buffer_init(&settings, (size_t)1 << 20);
    s2p_status st =
        context ? check(o, &error) : s2_fail_memory(&error, sizeof *context, "the report");
    if (st == S2P_OK) st = s2_analyze_open(context, o, &error);
    if (st == S2P_OK) st = fill(context, &study, &settings, &error);
    if (st == S2P_OK)
        st = s2_analyze_save(context, &study, "S2Prune: the paper's tables and figures",
                             (const char *)settings.data, &error);
    const int code = st == S2P_OK ? S2_EXIT_OK : s2_analyze_report_error(context, st, &error);
    if (st == S2P_OK && !o->ask.quiet) s2_report_tell("written: %s/report.html", o->out);
    s2_study_free(&study);
    s2_buffer_free(&settings);
    if (context) s2_analyze_close(context);
    free(context);
    return code;
}

static const s2_option option_table[] = { S2_ANALYZE_ROWS("paper"), { .name = NULL } };

const s2_command s2_cmd_paper = {
    .name = "paper",
    .summary = "a report with every table and figure of the paper",
    .usage = "[-m MODEL -mm MMPROJ] [--data-dir DIR] [--out DIR] [options]",
    .examples = "  s2prune paper --out paper\n"
                "  s2prune paper --pictures 40 --per-picture 2 --out quick\n",
    .options = option_table,
    .size = sizeof(analyze_options),
    .run = paper_run,
};
