/* cmd_bench.c - `s2prune bench`: the paper's efficiency table, by the clock or by its formulas. */
#include "bench/bench.h"
#include "program.h"
#include "progress.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct bench_options {
    ask_options ask; /* first: the shared rows point into it */
    const char *image, *question, *prompts, *predicts, *methods, *budgets, *sizes, *full_layers;
    int32_t repeats, output;
    bool is_estimate, is_forced;
} bench_options;

/* --- results ------------------------------------------------------------------------ */

static void describe(const bench_context *context, s2_buffer *out)
{
    const bench_machine *m = &context->machine;
    s2_buffer_printf(out, "\nmachine: %s, %d cores, %.1f GiB", m->cpu, m->n_cores, m->memory_gib);
    if (m->others_percent >= 0.0)
        s2_buffer_printf(out, "; other programs used %.0f %% of the CPU during the run",
                         m->others_percent);
    s2_buffer_printf(out,
                     "\n%d rounds after a warm-up, rows in turn; medians, \xC2\xB1 half the "
                     "interquartile range;\nspeedup of the prefill over full, round by round: "
                     "median [quartiles], 'noise' where they are wider than the effect\n",
                     context->repeats);
}

/* context NULL: an estimate. */
static int print_table(const bench_options *o, s2_table *table, const bench_context *context)
{
    table->n_leading = context ? 2 : 1; /* method, and what it kept */
    if (isatty(STDOUT_FILENO)) table->max_width = s2_progress_columns(STDOUT_FILENO);
    const s2_table_format format = (s2_table_format)o->output;
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    if (format == S2_TABLE_JSON)
        s2_buffer_printf(&out, "{\"schema\":\"s2prune.bench/1\",\"kind\":\"%s\",\"rows\":",
                         context ? "measured" : "estimated");
    s2p_status st = s2_table_write(table, format, &out);
    if (format == S2_TABLE_JSON) {
        out.size -= out.size > 0; /* its line end */
        s2_buffer_printf(&out, "}\n");
    }
    if (context && (format == S2_TABLE_TEXT || format == S2_TABLE_MARKDOWN))
        describe(context, &out);
    return s2_report_print_made(st, &out, NULL);
}

static int print_estimate(const bench_options *o, const s2a_setting *setting, int32_t n)
{
    s2p_error error = { S2P_OK, "" };
    s2_table table;
    s2_table_init(&table, "estimate");
    const bench_estimate context = { o->sizes, setting, n, o->prompts, o->full_layers };
    const s2p_status st = s2_bench_estimate(&context, &table, &error);
    const int code = st == S2P_OK ? print_table(o, &table, NULL) : s2_report_error(st, &error);
    s2_table_free(&table);
    return code;
}

/* --- the work --------------------------------------------------------------------------- */

static s2p_status open_model(const bench_options *o, s2_asker *asker, s2p_error *error)
{
    char path[S2_BUNDLED_PATH], folder[S2_BUNDLED_PATH];
    TRY(s2_asker_prepare(asker, &o->ask, error));
    if (!o->image) {
        TRY(s2_bundled_data("synth", folder, error));
        (void)snprintf(path, sizeof path, "%.4000s/images/0000.jpg", folder);
    }
    TRY(s2_asker_add_picture(asker, o->image ? o->image : path, error));
    s2v_session_options session = s2_ask_session_options(&o->ask);
    session.sampling.ignore_eos = true;
    session.no_cache = 1;
    s2_asker_see_whole(asker);
    asker->hides_steps = true; /* drawing would be measured */
    return s2_asker_open(asker, &session, error);
}

static int bench_run(const void *values)
{
    const bench_options *o = values;
    s2p_error error = { S2P_OK, "" };
    s2a_setting setting[S2A_MAX_SETTINGS];
    int32_t n_settings;
    s2_asker *asker = calloc(1, sizeof *asker);
    if (!asker) {
        s2_fail_memory(&error, sizeof *asker, "the model");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    asker->owns.plugins_only = true; /* a file or a process would be measured */
    s2p_status st = s2_ask_settings(&o->ask, &asker->owns, o->methods, o->budgets, setting,
                                    &n_settings, &error);
    if (st != S2P_OK || o->is_estimate) {
        const int code =
            st == S2P_OK ? print_estimate(o, setting, n_settings) : s2_report_error(st, &error);
        s2a_owns_close(&asker->owns);
        free(asker);
        return code;
    }
    bench_context context = { .asker = asker,
                              .question = o->question,
                              .prompts = o->prompts,
                              .predicts = o->predicts,
                              .repeats = o->repeats,
                              .is_forced = o->is_forced };
    s2_table table;
    s2_table_init(&table, "bench");
    st = open_model(o, asker, &error);
    if (st == S2P_OK)
        st = s2a_settings_check_after("--after", setting, n_settings, asker->info.n_layers, &error);
    if (st == S2P_OK) st = s2_bench_measure(&context, setting, n_settings, &error);
    if (st == S2P_OK) s2_bench_rows(&context, &table);
    const int code = st == S2P_OK ? print_table(o, &table, &context) : s2_report_error(st, &error);
    s2_table_free(&table);
    s2_bench_context_free(&context);
    s2_asker_close(asker);
    free(asker);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(bench_options, member)
static const s2_option option_table[] = {
    S2_ASK_ROWS_MODEL,

    { .name = "--image", .letters = "-i", .label = "FILE", .type = S2_OPTION_FILE, .group = "Question",
      .help = "picture to measure with (default: one of the bundled benchmark)", AT(image) },
    { .name = "--question", .label = "TEXT", .type = S2_OPTION_TEXT,
      .fallback = "Is there a cross in the image?", .group = "Question", .help = "question to ask", AT(question) },
    { .name = "--n-prompt", .letters = "-p", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Question",
      .help = "number of text tokens in the prompt instead of a question, such as 64,256; pope: the mean of POPE (only for --estimate)", AT(prompts) },
    { .name = "--n-gen", .letters = "-n", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "32",
      .group = "Question", .help = "number of tokens to generate", AT(predicts) },
    { .name = "--repetitions", .letters = "-r", .label = "N", .type = S2_OPTION_INT, .min = 1,
      .max = S2_MAX_REPEATS, .fallback = "5", .group = "Question", .help = "number of measured rounds", AT(repeats) },

    S2_ASK_ROWS_PICTURE,
    S2_ASK_ROWS_LOADING(S2_LOCAL_PIXELS),

    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "full,fastv,gprune,vispruner,s2prune",
      .group = "Pruning", .help = "methods to measure, or all (see 's2prune run --list-methods')", AT(methods) },
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "64", .group = "Pruning",
      .help = "visual tokens to keep: numbers, or shares such as 11%", AT(budgets) },
    S2_ASK_ROWS_PRUNING,
    S2_ASK_ROW_PLUGIN,

    { .name = "--estimate", .type = S2_OPTION_FLAG, .group = "Estimate",
      .help = "compute FLOPs and cache size by the paper's formulas, without a model", AT(is_estimate) },
    { .name = "--sizes", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "qwen2.5-vl-7b", .group = "Estimate",
      .help = "model sizes for --estimate: qwen2.5-vl-3b, -7b, -32b, -72b, llava-onevision-0.5b, -7b, -72b, qwen2-vl-2b, -7b, -72b, qwen3-vl-2b, -4b, -8b, -32b, ..., or all",
      AT(sizes) },
    { .name = "--full-layers", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Estimate",
      .help = "number of layers that see every token, instead of the methods' own", AT(full_layers) },

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE, .choice = s2_table_format_name,
      .fallback = "md", .group = "Output", .help = "format of the table", AT(output) },
    { .name = "--force", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "also print speedups that are not larger than the measurement noise", AT(is_forced) },
    S2_ASK_ROW_PROGRESS,
    { .name = "--quiet", .letters = "-q", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "print no notes and no progress", AT(ask.quiet) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_bench = {
    .name = "bench",
    .summary = "measure what pruning saves: FLOPs, time, cache",
    .usage = "[-m MODEL -mm MMPROJ] [--methods LIST|all] [--budgets LIST] [-r N] [options]\n"
             "       s2prune bench --estimate [--sizes LIST|all] [options]",
    .examples = "  s2prune bench --estimate\n"
                "  s2prune bench --estimate --sizes all --budgets 192,128,64,32 -o csv\n"
                "  s2prune bench --methods full,s2prune --budgets 128,64,32 -r 9\n"
                "  s2prune bench -m model.gguf -mm mmproj.gguf -i photo.jpg --preset paper -p "
                "39,512 -n 1,64\n",
    .options = option_table,
    .size = sizeof(bench_options),
    .run = bench_run,
};
