/* cmd_eval.c - `s2prune eval`: accuracy of pruning methods on a benchmark. */
#include "bundled.h"
#include "eval/eval_report.h"
#include "method_list.h"
#include "options.h"
#include "program.h"
#include "report.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_SETTINGS 256
#define MAX_NAMES 32

typedef struct eval_options {
    const char *model, *mmproj, *tasks, *data, *methods, *budgets, *samples;
    int32_t threads, seeds, limit, predict, output, mode;
    bool quiet;
} eval_options;

typedef struct eval_job { /* everything `eval` owns */
    const eval_options *options;
    const char *model, *mmproj;
    s2_bundled_model bundled;
    const s2e_task *task;
    s2e_set set;
    s2e_setting setting[MAX_SETTINGS];
    s2e_result result[MAX_SETTINGS];
    int32_t n_settings;
    s2_buffer samples;
} eval_job;

/* --- what to run -------------------------------------------------------------- */

/* Item `index` of "a,b,c" into `out`; false past the end or when it is too long. */
static bool list_item(const char *list, int32_t index, char *out, size_t capacity)
{
    for (int32_t i = 0; i < index; i++) {
        list = strchr(list, ',');
        if (!list) return false;
        list++;
    }
    const size_t n = strcspn(list, ",");
    if (n >= capacity) return false;
    memcpy(out, list, n);
    out[n] = '\0';
    return true;
}

static bool draws(const char *method) { return strcmp(method, "random") == 0; }

static s2p_status add_setting(eval_job *job, const s2p_method *method, s2_budget budget,
                              s2p_error *error)
{
    if (job->n_settings == MAX_SETTINGS)
        return s2_fail(error, S2P_ELIMIT, "more than %d methods times budgets", MAX_SETTINGS);
    job->setting[job->n_settings++] =
        (s2e_setting){ .method = method->name,
                       .budget = budget.count,
                       .percent = budget.percent,
                       .published = job->options->mode == S2P_MODE_PUBLISHED,
                       .n_seeds = draws(method->name) ? job->options->seeds : 1 };
    return S2P_OK;
}

/* Budget by budget, so that methods stand beside each other; what keeps all tokens comes once. */
static s2p_status plan_settings(eval_job *job, s2p_error *error)
{
    const eval_options *o = job->options;
    static const s2_option row = {
        .name = "--budgets", .type = S2_OPTION_BUDGET, .min = 1, .max = S2P_MAX_TOKENS
    };
    char name[64], number[32];
    s2p_status st = S2P_OK;
    for (int32_t b = 0; st == S2P_OK && list_item(o->budgets, b, number, sizeof number); b++) {
        s2_budget budget;
        st = s2_option_set(&row, row.name, number, &budget, error);
        for (int32_t m = 0; st == S2P_OK && list_item(o->methods, m, name, sizeof name); m++) {
            const s2p_method *method = s2p_method_find(name);
            if (!method)
                return s2_fail(error, S2P_EINVAL,
                               "--methods: unknown method '%s'; see 's2prune "
                               "run --list-methods'",
                               name);
            const bool is_full = strcmp(name, "full") == 0;
            if (!is_full || b == 0)
                st = add_setting(job, method, is_full ? (s2_budget){ 0, 0.0 } : budget, error);
        }
    }
    return st;
}

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

/* --- running ------------------------------------------------------------------ */

static void show_progress(int32_t done, void *user)
{
    const eval_job *job = user;
    if (job->options->quiet || !isatty(STDERR_FILENO)) return;
    (void)fprintf(stderr, "\r%s: %d of %d pictures\033[K%s", job->task->name, done,
                  job->set.n_pictures, done == job->set.n_pictures ? "\r\033[K" : "");
}

static s2p_status keep_answer(const s2e_answer *a, void *user)
{
    eval_job *job = user;
    if (!job->options->samples) return S2P_OK;
    const s2e_question *q = &job->set.question[a->question];
    json_t *line = json_pack(
        "{s:s, s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:s, s:f}", "task", job->task->name, "method",
        a->setting->method, "budget", a->setting->budget, "seed", a->seed, "image",
        job->set.picture[q->picture].file, "category", job->set.category[q->category], "question",
        q->text, "expected", q->answer, "answer", a->text, "score", (double)a->score);
    if (line && a->setting->percent > 0.0)
        json_object_set_new(line, "budget_percent", json_real(a->setting->percent));
    if (line && a->setting->published)
        json_object_set_new(line, "mode", json_string(s2_mode_name(S2P_MODE_PUBLISHED)));
    const s2p_status st = line ? s2_json_write(line, 9, &job->samples) : S2P_ENOMEM;
    json_decref(line);
    s2_buffer_append(&job->samples, "\n", 1);
    return st == S2P_OK ? job->samples.status : st;
}

static s2p_status evaluate(eval_job *job, s2v_engine_info *info, s2p_error *error)
{
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = job->model;
    options.mmproj_path = job->mmproj;
    options.n_threads = job->options->threads;
    s2v_engine *engine;
    s2p_status st = s2v_engine_open(&engine, &options, error);
    if (st != S2P_OK) return st;
    s2v_engine_get_info(engine, info);
    const s2e_watch watch = { keep_answer, show_progress, job };
    st = s2e_evaluate(engine, job->task, &job->set, job->setting, job->n_settings,
                      job->options->predict, &watch, job->result, error);
    s2v_engine_close(engine);
    return st;
}

static const char *model_name(const eval_job *job)
{
    const char *slash = strrchr(job->model, '/');
    return slash ? slash + 1 : job->model;
}

static int print_report(const eval_job *job)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    const s2e_report report = { .task = job->task->name,
                                .model = model_name(job),
                                .set = &job->set,
                                .result = job->result,
                                .n = job->n_settings,
                                .reference = "s2prune" };
    const s2p_status st = s2e_report_write(&report, (s2e_format)job->options->output, &out);
    if (st != S2P_OK) out.status = st;
    int code = s2_report_print(&out);
    s2_buffer_free(&out);
    if (code == S2_EXIT_OK && job->options->samples)
        code = s2_report_save(job->options->samples, &job->samples);
    return code;
}

static s2p_status prepare(eval_job *job, s2p_error *error)
{
    const eval_options *o = job->options;
    job->task = s2e_task_find(o->tasks);
    if (!job->task)
        return s2_fail(error, S2P_EINVAL, "--tasks: unknown task '%.60s'; known: %s", o->tasks,
                       s2e_task_at(0)->name);
    job->model = o->model;
    job->mmproj = o->mmproj;
    s2p_status st = plan_settings(job, error);
    if (st == S2P_OK) st = read_set(job, error);
    if (st == S2P_OK)
        st = s2_bundled_complete(&job->model, &job->mmproj, o->quiet, &job->bundled, error);
    return st;
}

static int run(const void *values)
{
    s2p_error error = { S2P_OK, "" };
    eval_job *job = calloc(1, sizeof *job);
    if (!job) {
        s2_fail_memory(&error, sizeof *job, "the evaluation");
        return s2_report_error(S2P_ENOMEM, &error);
    }
    job->options = values;
    s2_buffer_init(&job->samples, S2_OUTPUT_MAX);
    s2v_engine_info info;
    s2p_status st = prepare(job, &error);
    if (st == S2P_OK) st = evaluate(job, &info, &error);
    const int code = st == S2P_OK ? print_report(job) : s2_report_error(st, &error);
    if (st == S2P_OK) s2e_results_free(job->result, job->n_settings);
    s2e_set_free(&job->set);
    s2_buffer_free(&job->samples);
    free(job);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(eval_options, member)
static const s2_option option_table[] = {
    { .name = "--model", .letters = "-m", .label = "FILE", .type = S2_OPTION_FILE, .group = "Model",
      .help = "language model, GGUF (the bundled one)", AT(model) },
    { .name = "--mmproj", .letters = "-mm", .label = "FILE", .type = S2_OPTION_FILE, .group = "Model",
      .help = "vision encoder and projector, GGUF", AT(mmproj) },
    { .name = "--threads", .letters = "-t", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 256,
      .fallback = "0", .group = "Model", .help = "0: one per core", AT(threads) },

    { .name = "--tasks", .label = "NAME", .type = S2_OPTION_TEXT, .fallback = "synth", .group = "Benchmark",
      .help = "which one", AT(tasks) },
    { .name = "--data-dir", .label = "DIR", .type = S2_OPTION_FILE, .group = "Benchmark",
      .help = "where its files are (bundled with the program)", AT(data) },
    { .name = "--limit", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000000, .fallback = "0",
      .group = "Benchmark", .help = "only the first N questions; 0: all", AT(limit) },
    { .name = "--predict", .letters = "-n", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 1000,
      .fallback = "16", .group = "Benchmark", .help = "most tokens of an answer", AT(predict) },

    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "full,random,uniform,s2prune",
      .group = "Pruning", .help = "methods to compare", AT(methods) },
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "192,128,64,32",
      .group = "Pruning", .help = "visual tokens kept per picture, or shares such as 11%", AT(budgets) },
    { .name = "--mode", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2_mode_name, .fallback = "default",
      .group = "Pruning", .help = "default keeps exactly the budget; published does what the authors' code does",
      AT(mode) },
    { .name = "--seeds", .label = "N", .type = S2_OPTION_INT, .min = 1, .max = 100, .fallback = "3",
      .group = "Pruning", .help = "runs of a method that draws; their mean counts", AT(seeds) },

    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE, .choice = s2e_format_name,
      .fallback = "text", .group = "Output", .help = "form of the tables", AT(output) },
    { .name = "--samples", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write every answer, a line of JSON each", AT(samples) },
    { .name = "--quiet", .letters = "-q", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "no notes or progress", AT(quiet) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_eval = {
    .name = "eval",
    .summary = "accuracy of pruning methods on a benchmark",
    .usage = "[-m MODEL -mm MMPROJ] [--tasks synth] [--methods LIST] [--budgets LIST] [options]",
    .examples = "  s2prune eval --methods full,s2prune --budgets 64\n"
                "  s2prune eval --tasks synth -o md > table.md\n"
                "  s2prune eval --data-dir my-pictures --limit 200 --samples answers.jsonl\n",
    .options = option_table,
    .size = sizeof(eval_options),
    .run = run,
};
