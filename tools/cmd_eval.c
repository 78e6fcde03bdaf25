/* cmd_eval.c - `s2prune eval`: accuracy of pruning methods on a benchmark. */
#include "asking/asker.h"
#include "asking/llama_options.h"
#include "base/path.h"
#include "eval/eval_report.h"
#include "program.h"
#include "report.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

typedef struct eval_options {
    ask_options ask; /* first: the shared rows point into it */
    const char *tasks, *data, *methods, *budgets, *samples;
    int32_t seeds, limit, predict, output;
} eval_options;

typedef struct eval_job { /* everything `eval` owns */
    const eval_options *options;
    s2_asker asker;
    const s2e_task *task;
    s2e_set set;
    s2a_setting setting[S2A_MAX_SETTINGS];
    s2e_result result[S2A_MAX_SETTINGS];
    int32_t n_settings;
    s2_buffer samples;
} eval_job;

/* --- what to run -------------------------------------------------------------- */

/* --data-dir may be the folder of the task or one that holds it under its name. */
static s2p_status read_set(eval_job *job, s2p_error *error)
{
    const eval_options *o = job->options;
    char folder[S2_BUNDLED_PATH];
    s2p_status st = S2P_OK;
    struct stat info;
    if (!o->data)
        st = s2_bundled_data(job->task->name, folder, error);
    else if (snprintf(folder, sizeof folder, "%s/%s", o->data, job->task->name) >=
             (int)sizeof folder)
        st = s2_fail(error, S2P_ELIMIT, "--data-dir is too long");
    else if (stat(folder, &info) != 0)
        (void)snprintf(folder, sizeof folder, "%s", o->data);
    if (st == S2P_OK) st = job->task->read(folder, &job->set, error);
    if (st == S2P_OK) s2e_set_limit(&job->set, o->limit);
    return st;
}

static s2p_status prepare(eval_job *job, s2p_error *error)
{
    const eval_options *o = job->options;
    job->task = s2e_task_find(o->tasks);
    if (!job->task)
        return s2_fail(error, S2P_EINVAL, "--tasks: unknown task '%.60s'; known: %s", o->tasks,
                       s2e_task_at(0)->name);
    TRY(s2_ask_settings(&o->ask, o->methods, o->budgets, job->setting, &job->n_settings, error));
    TRY(read_set(job, error));
    TRY(s2_asker_prepare(&job->asker, &o->ask, error));
    job->asker.shows_notes = false; /* one for each question would be too many */
    s2v_session_options session = s2_ask_session_options(&o->ask);
    session.keep_picture = S2V_KEEP_ROWS;
    s2_asker_see_whole(&job->asker);
    return s2_asker_open(&job->asker, &session, error);
}

/* --- running ------------------------------------------------------------------ */

static void show_pictures(int32_t done, void *user)
{
    eval_job *job = user;
    (void)s2_progress_show(&job->asker.progress, job->task->name,
                           (double)done / job->set.n_pictures);
    if (done == job->set.n_pictures) s2_progress_clear(&job->asker.progress);
}

static s2p_status keep_answer(const s2e_answer *a, void *user)
{
    eval_job *job = user;
    if (!job->options->samples) return S2P_OK;
    const s2e_sample *q = &job->set.sample[a->sample];
    const int32_t picture = s2e_first_picture(q);
    const s2_budget budget = a->setting->budget;
    json_t *line =
        json_pack("{s:s, s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:s, s:f}", "task", job->task->name,
                  "method", a->setting->method, "budget", budget.count, "seed", a->seed, "image",
                  picture < 0 ? "" : job->set.picture[picture].file, "category",
                  q->n_categories ? q->category[0] : "", "question", q->question, "expected",
                  q->n_answers ? q->answer[0] : "", "answer", a->text, "score", (double)a->score);
    if (line && budget.percent > 0.0)
        json_object_set_new(line, "budget_percent", json_real(budget.percent));
    if (line && a->setting->published)
        json_object_set_new(line, "mode", json_string(s2_mode_name(S2P_MODE_PUBLISHED)));
    const s2p_status st = line ? s2_json_write(line, 9, &job->samples) : S2P_ENOMEM;
    json_decref(line);
    s2_buffer_append(&job->samples, "\n", 1);
    return st == S2P_OK ? job->samples.status : st;
}

static s2p_status evaluate(eval_job *job, s2p_error *error)
{
    const s2e_watch watch = { keep_answer, show_pictures, job };
    const s2e_job work = { .session = job->asker.session,
                           .image_options = &job->asker.image_options[0],
                           .task = job->task,
                           .set = &job->set,
                           .setting = job->setting,
                           .n_settings = job->n_settings,
                           .n_seeds = job->options->seeds,
                           .predict = job->options->predict,
                           .watch = &watch };
    return s2e_evaluate(&work, job->result, error);
}

static int print_report(const eval_job *job)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    const s2e_report report = { .task = job->task->name,
                                .model = s2_base_name(job->asker.model),
                                .set = &job->set,
                                .result = job->result,
                                .n = job->n_settings,
                                .reference = "s2prune" };
    const s2p_status st = s2e_report_write(&report, (s2e_format)job->options->output, &out);
    int code = s2_report_print_made(st, &out, NULL);
    if (code == S2_EXIT_OK && job->options->samples)
        code = s2_report_save(job->options->samples, &job->samples);
    return code;
}

static int eval_run(const void *values)
{
    s2p_error error = { S2P_OK, "" };
    eval_job *job = calloc(1, sizeof *job);
    if (!job) {
        s2_fail_memory(&error, sizeof *job, "the evaluation");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    job->options = values;
    s2_buffer_init(&job->samples, S2_OUTPUT_MAX);
    s2p_status st = prepare(job, &error);
    if (st == S2P_OK) st = evaluate(job, &error);
    const int code = st == S2P_OK ? print_report(job) : s2_report_error(st, &error);
    if (st == S2P_OK) s2e_results_free(job->result, job->n_settings);
    s2e_set_free(&job->set);
    s2_asker_close(&job->asker);
    s2_buffer_free(&job->samples);
    free(job);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(eval_options, member)
static const s2_option option_table[] = {
    S2_ASK_ROWS_MODEL,

    { .name = "--tasks", .label = "NAME", .type = S2_OPTION_TEXT, .fallback = "synth", .group = "Benchmark",
      .help = "which one", AT(tasks) },
    { .name = "--data-dir", .label = "DIR", .type = S2_OPTION_FILE, .group = "Benchmark",
      .help = "where its files are (bundled with the program)", AT(data) },
    { .name = "--limit", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000000, .fallback = "0",
      .group = "Benchmark", .help = "only the first N questions; 0: all", AT(limit) },
    { .name = "--predict", .letters = "-n", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 1000,
      .fallback = "16", .group = "Benchmark", .help = "most tokens of an answer", AT(predict) },

    S2_ASK_ROWS_PICTURE,

    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "full,random,uniform,s2prune",
      .group = "Pruning", .help = "methods to compare, or all; see 's2prune run --list-methods'", AT(methods) },
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "192,128,64,32",
      .group = "Pruning", .help = "visual tokens kept per picture, or shares such as 11%", AT(budgets) },
    S2_ASK_ROWS_PRUNING,
    { .name = "--seeds", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 100, .fallback = "3",
      .group = "Pruning", .help = "runs of a method that draws; their mean counts", AT(seeds) },

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE, .choice = s2e_format_name,
      .fallback = "text", .group = "Output", .help = "form of the tables", AT(output) },
    { .name = "--samples", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write every answer, a line of JSON each", AT(samples) },
    { .name = "--quiet", .letters = "-q", .also = "--log-disable", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "no notes or progress", AT(ask.quiet) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_eval = {
    .name = "eval",
    .summary = "accuracy of pruning methods on a benchmark",
    .usage =
        "[-m MODEL -mm MMPROJ] [--tasks synth] [--methods LIST|all] [--budgets LIST] [options]",
    .examples = "  s2prune eval --methods full,s2prune --budgets 64\n"
                "  s2prune eval --tasks synth -o md > table.md\n"
                "  s2prune eval --data-dir my-pictures --limit 200 --samples answers.jsonl\n",
    .options = option_table,
    .foreign = s2_llama_options,
    .size = sizeof(eval_options),
    .run = eval_run,
};
