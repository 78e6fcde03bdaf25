/* cmd_analyze.c - `s2prune analyze WHAT`: one figure of the paper, from data to files. */
#include "analyze/analyze_command.h"
#include "analyze/analyze_rows.h"
#include "program.h"
#include "report.h"

#include <stdlib.h>

/* The tables on standard output, one after the other; as JSON, members of one object. */
static int print_tables(const analyze_options *o, const char *name, const s2_study *study)
{
    const s2_table_format format = (s2_table_format)o->output;
    const bool is_json = format == S2_TABLE_JSON;
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2p_status st = S2P_OK;
    if (is_json)
        s2_buffer_printf(&out, "{\"schema\":\"s2prune.analyze/1\",\"analysis\":\"%s\"", name);
    for (int32_t i = 0; i < study->n && st == S2P_OK; i++) {
        const s2_study_item *item = study->item[i];
        if (item->kind != S2_STUDY_TABLE) continue;
        if (is_json)
            s2_buffer_printf(&out, ",\n\"%s\":", item->name);
        else if (out.size)
            s2_buffer_append(&out, "\n", 1);
        st = s2_table_write(&item->table, format, &out);
    }
    if (is_json) s2_buffer_printf(&out, "}\n");
    return s2_report_print_made(st, &out, NULL);
}

static s2p_status work(analyze_context *context, const s2_analysis *analysis, s2_trials *trials,
                       s2_study *study, bool *is_complete, s2p_error *error)
{
    char title[128];
    s2_buffer settings;
    TRY(s2_analyze_collect(context, analysis, trials, is_complete, error));
    if (!*is_complete) return S2P_OK;
    TRY(s2_analyze_draw(analysis, trials, study, error));
    s2_buffer_init(&settings, (size_t)1 << 20);
    s2_analyze_describe(context, trials, false, &settings);
    s2_buffer_append(&settings, "", 1);
    (void)snprintf(title, sizeof title, "s2prune analyze %s", analysis->name);
    const s2p_status st = settings.status == S2P_OK
                              ? s2_analyze_save(context, study, analysis->name, title,
                                                (const char *)settings.data, error)
                              : s2_fail(error, settings.status, "no memory for the report");
    s2_buffer_free(&settings);
    return st;
}

static int analyze_run(const void *values)
{
    const analyze_options *o = values;
    s2p_error error = { S2P_OK, "" };
    const s2_analysis *analysis = s2_analysis_find(o->operands.item[0]);
    analyze_context *context = calloc(1, sizeof *context);
    s2_trials trials = { .n_pictures = 0 };
    s2_study study = { .width = s2_analyze_width(o) };
    bool is_complete = false;
    s2p_status st = S2P_OK;
    if (!analysis || o->operands.n > 1) {
        char known[256] = "";
        size_t used = 0;
        for (size_t i = 0; s2_analysis_name(i); i++)
            used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "",
                                     s2_analysis_name(i));
        st = s2_fail(&error, S2P_EINVAL, "analyze takes one of: %s; not '%.60s'", known,
                     o->operands.item[o->operands.n > 1 ? 1 : 0]);
    }
    if (st == S2P_OK && !context) st = s2_fail_memory(&error, sizeof *context, "the analysis");
    if (st == S2P_OK) st = s2_analyze_open(context, o, &error);
    if (st == S2P_OK) st = work(context, analysis, &trials, &study, &is_complete, &error);
    int code = st == S2P_OK ? S2_EXIT_OK : s2_analyze_report_error(context, st, &error);
    if (st == S2P_OK && is_complete) code = print_tables(o, analysis->name, &study);
    if (st == S2P_OK && !o->ask.quiet)
        s2_report_tell(is_complete
                           ? "written: %s/%s, with its figures and tables"
                           : "this shard is done: %s/%s; run without --shard, with --answers for "
                             "each of the others",
                       o->out, is_complete ? context->report : "answers.jsonl");
    s2_study_free(&study);
    s2_trials_free(&trials);
    if (context) s2_analyze_close(context);
    free(context);
    return code;
}

static const s2_option option_table[] = { S2_ANALYZE_ROWS("analysis"), { .name = NULL } };

const s2_command s2_cmd_analyze = {
    .name = "analyze",
    .summary = "draw the paper's figures: spatial bias, budgets, ablations, cases",
    .usage =
        "WHAT [-m MODEL -mm MMPROJ] [--out DIR] [options]\n"
        "       WHAT: spatial, heterogeneity, budget, ablation, grid, retention, cases, pareto, "
        "layer, overlap",
    .examples =
        "  s2prune analyze spatial --out bias\n"
        "  s2prune analyze budget --methods full,uniform,s2prune --budgets 128,64,32,16\n"
        "  s2prune analyze spatial --images photographs --budgets 64\n"
        "  s2prune analyze cases --run runs/r1     (what 's2prune eval --out runs/r1' answered)\n"
        "  s2prune analyze retention --run runs/r1 --run runs/r2     (benchmarks of both)\n"
        "  s2prune analyze spatial --recorded recordings --methods uniform,erc-top,s2prune\n"
        "  s2prune analyze retention --shard 1/4 --out part1\n"
        "\nEvery answer is stored in DIR/answers.jsonl immediately: repeat the command to resume "
        "after\nan interruption. Other analyses with the same --out reuse the answers. Pictures "
        "are resized\nto 672x672, as in the paper, unless --image-size is given.\n",
    .options = option_table,
    .operand = "an analysis (WHAT)",
    .min_operands = 1,
    .operand_offset = offsetof(analyze_options, operands),
    .words_offset = offsetof(analyze_options, words),
    .size = sizeof(analyze_options),
    .run = analyze_run,
};
