/* cmd_eval.c - `s2prune eval`: accuracy of pruning methods on benchmarks.
 *
 *     eval [options]              ask, keep the answers, print the tables; the same command resumes
 *     eval merge DIR... [--out]   the shards of a run become the whole
 *     eval status DIR             how far a run and its shards are
 *     eval export DIR             the tables and files of a run again
 *     eval questions              what would be asked, as lines of JSON (eval_questions.c)
 */
#include "asking/interrupt.h"
#include "asking/llama_options.h"
#include "eval/eval_command.h"
#include "eval/judging.h"
#include "eval/report/documents.h"
#include "eval/run/fingerprint.h"
#include "eval/run/run_folder.h"
#include "program.h"
#include "report.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A run stops between two answers, and everything answered is kept. */
static bool is_interrupted(void *unused)
{
    (void)unused;
    return s2_interrupted();
}

typedef struct eval_watched {
    eval_progress progress;
} eval_watched;

static void show(const s2e_progress *p, void *user)
{
    eval_watched *w = user;
    eval_progress_show(&w->progress, p);
}

/* A store that cannot be written is a matter of the disk, whatever the reason. */
static int report_store_error(s2p_status st, const s2p_error *error)
{
    const int code = s2_report_error(st, error);
    return st == S2P_EIO ? S2_EXIT_RESOURCES : code;
}

/* Ask what is missing; S2_EXIT_OK: this shard of the run is complete. */
static int ask_all(eval_context *context)
{
    const eval_options *o = context->options;
    s2p_error error = { S2P_OK, "" };
    s2e_asking asking[S2E_MAX_TASKS];
    eval_watched watched;
    s2e_evaluation work = eval_work(context, asking);
    if (o->out && !o->ask.quiet) {
        int64_t n = 0;
        char hash[S2_SHA256_HEX];
        s2e_fingerprint_hash(context->values, hash);
        if (context->shard.source)
            s2_report_tell("note: shard %d of %d, from %s; --shard 0/1 runs everything",
                           context->shard.index, context->shard.n, context->shard.source);
        if (s2e_store_count(context->store, NULL, false, &n, NULL) == S2P_OK && n > 0)
            s2_report_tell("resuming %s: %lld of %lld answers present, configuration matches "
                           "(%.8s)",
                           context->store_path, (long long)n,
                           (long long)s2e_evaluation_answers(&work), hash);
    }
    eval_progress_start(&watched.progress, (s2_progress_form)o->ask.progress, o->ask.quiet);
    work.watch = (s2e_watch){ .progress = show, .cancelled = is_interrupted, &watched };
    const s2p_status st = s2e_evaluate(&work, &error);
    eval_progress_end(&watched.progress);
    if (st == S2P_OK) return S2_EXIT_OK;
    if (st == S2P_ECANCELLED) {
        s2_report_tell(o->out ? "stopped; every answer so far is in %s. Run the same command "
                                "to continue."
                              : "stopped; without --out nothing is kept%.0s",
                       context->store_path);
        return S2_EXIT_INTERRUPTED;
    }
    return report_store_error(st, &error);
}

/* The tables of a complete run; S2_EXIT_INCOMPLETE when items were lost on the way. */
static int report(eval_context *context)
{
    const eval_options *o = context->options;
    s2p_error error = { S2P_OK, "" };
    int64_t n_failures = 0;
    if (context->shard.n > 1) {
        if (!o->ask.quiet)
            s2_report_tell("shard %d of %d is complete: %s. When all are: s2prune eval merge "
                           "%s",
                           context->shard.index, context->shard.n, context->store_path, o->out);
        return S2_EXIT_OK;
    }
    const s2e_set *sets[S2E_MAX_TASKS];
    s2e_results *results = calloc(1, sizeof *results);
    if (!results) return s2_report_error(S2P_ENOMEM, NULL);
    eval_data_sets(&context->data, sets);
    s2p_status st = s2e_results_load(context->store, sets, results, &error);
    const int code = st == S2P_OK ? eval_report_write(o, results, context->store, o->out)
                                  : s2_report_error(st, &error);
    s2e_results_free(results);
    free(results);
    st = s2e_store_count(context->store, NULL, true, &n_failures, &error);
    const int32_t n_problems = eval_data_problems(&context->data, true);
    if (code != S2_EXIT_OK || (n_failures == 0 && n_problems == 0)) return code;
    s2_report_tell("note: %lld answers failed and count as wrong%s, %d items of the data could "
                   "not be used",
                   (long long)n_failures, n_failures && o->out ? " (--repeat asks them again)" : "",
                   n_problems);
    return S2_EXIT_INCOMPLETE;
}

static int run_all(eval_context *context)
{
    s2p_error error = { S2P_OK, "" };
    const eval_options *o = context->options;
    s2p_status st = o->samples ? s2_file_check_writable("--samples", o->samples, &error) : S2P_OK;
    if (st != S2P_OK) {
        const int code = errno;
        (void)s2_report_error(st, &error);
        return s2_exit_of_write(code);
    }
    if (o->baseline) { /* needed after hours of asking, so it is opened before them */
        s2e_run_file file;
        s2e_store *store = NULL;
        st = s2e_run_file_of(o->baseline, (s2e_shard){ 0, 1, NULL }, &file, &error);
        if (st == S2P_OK) st = s2e_store_open(file.path, S2E_STORE_READ, &store, &error);
        s2e_store_close(store);
    }
    if (st == S2P_OK) st = eval_judge_check(o->judge, &error);
    if (st == S2P_OK) st = eval_prepare(context, &error);
    if (st != S2P_OK) return s2_report_error(st, &error);
    (void)eval_data_problems(&context->data, o->ask.quiet);
    if (o->is_dry) return eval_estimate(context);
    st = eval_open_store(context, &error);
    if (st != S2P_OK) return report_store_error(st, &error);
    if (o->step == EVAL_SCORE) return report(context);
    st = eval_open_model(context, &error);
    if (st != S2P_OK) return s2_report_error(st, &error);
    const int code = ask_all(context);
    return code == S2_EXIT_OK && o->step == EVAL_ALL ? report(context) : code;
}

static int eval_run(const void *values)
{
    const eval_options *o = values;
    if (o->operands.n > 0) return eval_verb(o);
    eval_context *context = calloc(1, sizeof *context);
    if (!context) return s2_report_error(S2P_ENOMEM, NULL);
    context->options = o;
    s2_interrupt_hold(S2_HOLD_RUN);
    const int code = run_all(context);
    eval_context_free(context);
    free(context);
    return code;
}

/* Of the folder of a run, besides the shards of one. */
#define RUN_FILES                                                                                \
    "results.sqlite results.sqlite.lock report.md report.html table.tex curves.svg results.csv " \
    "per_sample.csv summary.json run_config.json"

/* clang-format off */
#define AT(member) .offset = offsetof(eval_options, member)
static const s2_option option_table[] = {
    S2_ASK_ROWS_MODEL,
    S2_ASK_ROWS_CACHE,

    { .name = "--tasks", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "synth", .group = "Benchmark",
      .help = "benchmarks to run, separated by commas", AT(tasks) },
    { .name = "--data-dir", .label = "DIR", .type = S2_OPTION_FILE, .group = "Benchmark",
      .help = "folder with the benchmark files, or with one folder per benchmark (default: the bundled data)", AT(data) },
    { .name = "--limit", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000000, .fallback = "0",
      .group = "Benchmark", .help = "use only the first N samples of each benchmark; 0: all", AT(limit) },
    { .name = "--predict", .letters = "-n", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 100000,
      .fallback = "0", .group = "Benchmark", .help = "maximum number of tokens per answer; 0: as the protocol specifies", AT(predict) },
    S2_ASK_ROWS_REASONING,
    { .name = "--protocol", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2e_protocol_name,
      .fallback = "paper", .group = "Benchmark", .help = "protocol that determines prompts and limits; answers are scored by all four",
      AT(protocol) },

    S2_ASK_ROWS_PICTURE,
    { .name = "--jpeg", .label = "Q", .type = S2_OPTION_INT, .min = 0, .max = 100, .fallback = "0", .group = "Picture",
      .help = "convert every picture to a JPEG of quality Q first, as some evaluation tools do (VLMEvalKit: 75, the paper's MMBench: 95); 0: off", AT(jpeg) },

    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Pruning",
      .help = "methods to compare, or all; your own: file:PATH or exec:COMMAND (see 's2prune run --list-methods'; default: full,random,uniform,s2prune, or none with --setting or --variants)", AT(methods) },
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "192,128,64,32",
      .group = "Pruning", .help = "visual tokens to keep per picture: numbers, shares such as 11%, or 64..192: ask again with 192 if the answer with 64 is not confident", AT(budgets) },
    S2_ASK_ROWS_VARIANTS,
    S2_ASK_ROW_CONFIDENCE,
    S2_ASK_ROW_PROFILE,
    S2_ASK_ROWS_PRUNING,
    S2_ASK_ROW_EXEC,
    S2_ASK_ROW_PLUGIN,
    { .name = "--seeds", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 100, .fallback = "3",
      .group = "Pruning", .help = "number of runs of each method that draws at random; the tables show their mean", AT(seeds) },

    S2_ASK_ROWS_BOXES,

    { .name = "--out", .label = "DIR", .type = S2_OPTION_FILE, .group = "Run",
      .help = "store every answer in this folder; repeat the command to resume", .role = S2_FOLDER_OUTPUT,
      .writes = RUN_FILES, AT(out) },
    { .name = "--shard", .label = "I/N", .type = S2_OPTION_TEXT, .group = "Run",
      .help = "run only shard I of N (I counts from 0); auto or auto/N: take I (and N) from the job scheduler (default: auto)", AT(shard) },
    { .name = "--baseline", .label = "DIR", .type = S2_OPTION_FILE, .group = "Run",
      .help = "compare with another run on the same data, sample by sample", AT(baseline) },
    { .name = "--step", .label = "WHAT", .type = S2_OPTION_CHOICE, .choice = eval_step_name, .fallback = "all",
      .group = "Run", .help = "all: ask and report; infer: only ask; score: only report, without opening a model", AT(step) },
    { .name = "--dry-run", .type = S2_OPTION_FLAG, .group = "Run",
      .help = "ask one sample of each benchmark, store nothing, and estimate the time and disk space of the whole run", AT(is_dry) },
    { .name = "--new", .type = S2_OPTION_FLAG, .group = "Run",
      .help = "discard the answers in --out (of this shard) and start over", AT(starts_over) },
    { .name = "--repeat", .type = S2_OPTION_FLAG, .group = "Run",
      .help = "retry the samples that failed, for example because a picture was missing", AT(repeats_failed) },
    { .name = "--fingerprint", .type = S2_OPTION_FLAG, .group = "Run",
      .help = "with the verb questions: print the fingerprint of the run as JSON instead of its questions", AT(fingerprint) },
    { .name = "--judge", .label = "HOW", .type = S2_OPTION_TEXT, .fallback = "local", .group = "Run",
      .help = "for MM-Vet: local (match with the reference), or export (also write the answers for the benchmark's own grader)", AT(judge) },
    { .name = "--recompute", .type = S2_OPTION_FLAG, .group = "Run",
      .help = "process the picture again for every question, to measure what that costs", AT(recompute) },

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE, .choice = s2e_format_name,
      .fallback = "text", .group = "Output", .help = "format of the tables", AT(output) },
    { .name = "--samples", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write every answer to this file, one JSON object per line", .role = S2_FILE_OUTPUT, .writes = ".jsonl .json", AT(samples) },
    { .name = "--logprobs", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "store the probability of every token of each answer, also in --samples", AT(keeps_logprobs) },
    S2_ASK_ROW_PROGRESS,
    { .name = "--quiet", .letters = "-q", .also = "--log-disable", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "print no notes and no progress", AT(ask.quiet) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_eval = {
    .name = "eval",
    .summary = "measure the accuracy of pruning methods on benchmarks",
    .usage = "[merge DIR...|status DIR|export DIR|questions] [-m MODEL -mm MMPROJ] [--tasks LIST] "
             "[--methods LIST|all] [--budgets LIST] [--out DIR] [options]",
    .examples =
        "  s2prune eval --methods full,s2prune --budgets 64\n"
        "  s2prune eval --tasks synth -o md > table.md\n"
        "  s2prune eval --out runs/r1 --shard 0/4 &   (to 3/4; then: s2prune eval merge runs/r1)\n"
        "  s2prune eval status runs/r1\n",
    .options = option_table,
    .foreign = s2_llama_options,
    .operand = "VERB DIR...",
    .operand_offset = offsetof(eval_options, operands),
    .operand_role = { S2_FILE_NONE, S2_FOLDER_OUTPUT, S2_FOLDER_OUTPUT },
    .operand_writes = RUN_FILES,
    .size = sizeof(eval_options),
    .run = eval_run,
};
