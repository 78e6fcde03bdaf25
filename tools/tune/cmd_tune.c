/* cmd_tune.c - `s2prune tune`: the cheapest setting that loses little on the user's own questions.
 *
 *     prepare   the questions, the settings to try, the store with answers that are there already
 *     ask       some pictures more, with those settings that are not decided; all answers stay in --out
 *     advance   bets on what is asked so far (src/eval/tune/search.h); until all is decided
 *     report    a table, and the profile for run, serve, eval and compare
 */
#include "asking/interrupt.h"
#include "asking/llama_options.h"
#include "eval/judging.h"
#include "program.h"
#include "report.h"
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PICTURES_AT_ONCE 8

S2_WORDS(tune_loss_name, "auto", "score", "agreement")

static const char *no_environment(const char *name)
{
    (void)name;
    return NULL;
}

/* --- what to try ----------------------------------------------------------------------------- */

static s2p_status read_thresholds(tune_job *job, s2p_error *error)
{
    const char *list = job->options->thresholds;
    s2a_item item;
    if (strcmp(list, "none") == 0) return S2P_OK;
    while (s2a_next_item(&list, &item)) {
        char text[40] = "";
        if (item.n < sizeof text) memcpy(text, item.text, item.n);
        if (job->n_thresholds == TUNE_MAX_THRESHOLDS)
            return s2_fail(error, S2P_ELIMIT, "--thresholds has more than %d", TUNE_MAX_THRESHOLDS);
        TRY(s2a_confidence_read("--thresholds", text, &job->threshold[job->n_thresholds], error));
        job->n_thresholds++;
    }
    return S2P_OK;
}

/* A --setting for each method and size, and for the size with all tokens. */
static s2p_status add_size(tune_job *job, s2a_item size, const char *methods, s2p_error *error)
{
    s2_list *list = &job->eval.ask.settings;
    s2v_image_options checked;
    char text[32] = "";
    if (size.n < sizeof text) memcpy(text, size.text, size.n);
    s2v_image_options_init(&checked);
    TRY(s2a_sizes_read("--image-sizes", text, &checked, 1, error));
    for (const char *at = methods; at;) {
        s2a_item method;
        if (!s2a_next_item(&at, &method)) break;
        if (list->n >= sizeof job->text / sizeof *job->text || list->n == S2_LIST_MAX)
            return s2_fail(error, S2P_ELIMIT, "--image-sizes and --methods give too many settings");
        char *out = job->text[list->n];
        (void)snprintf(out, sizeof *job->text, "%.*s:image-size=%.20s",
                       (int)(method.n < 40 ? method.n : 40), method.text, text);
        list->item[list->n++] = out;
    }
    return S2P_OK;
}

static s2p_status add_sizes(tune_job *job, const char *methods, s2p_error *error)
{
    const char *sizes = job->options->sizes;
    s2a_item size;
    while (sizes && s2a_next_item(&sizes, &size)) TRY(add_size(job, size, methods, error));
    return S2P_OK;
}

/* What `eval` would be told: its defaults, and these options over them. */
static s2p_status as_eval(tune_job *job, char *methods, size_t capacity, s2p_error *error)
{
    const tune_options *o = job->options;
    s2_parsed parsed;
    eval_options usual;
    TRY(s2_options_parse(&s2_cmd_eval, 0, NULL, no_environment, &usual, &parsed, error));
    job->eval = o->eval;
    eval_options *e = &job->eval;
    e->ask.after = usual.ask.after;
    e->ask.exec_timeout = usual.ask.exec_timeout;
    e->ask.allocator = usual.ask.allocator;
    e->ask.selector = usual.ask.selector;
    e->judge = usual.judge;
    e->step = usual.step;
    e->seeds = 1;
    e->keeps_logprobs = true;
    if (o->questions) e->tasks = "manifest";
    if (o->questions) e->data = o->questions;
    if ((size_t)snprintf(methods, capacity, "full,%s", e->methods) >= capacity)
        return s2_fail(error, S2P_ELIMIT, "--methods is too long");
    TRY(add_sizes(job, methods, error));
    e->methods = methods;
    return S2P_OK;
}

static s2p_status check_settings(const tune_job *job, s2p_error *error)
{
    const eval_context *c = &job->context;
    for (int32_t i = 0; i < c->n_settings; i++) {
        char label[S2A_LABEL_SIZE];
        const s2a_setting *s = &c->setting[i];
        if (s->own || s2a_draws(s))
            return s2_fail(error, S2P_EUNSUPPORTED, "--methods: tune does not support '%.60s': %s",
                           s2a_setting_label(s, label),
                           s->own ? "a profile cannot name it" : "it draws tokens at random");
        if (s->budget.n_more > 0)
            return s2_fail(error, S2P_EINVAL,
                           "--budgets must be single budgets; use --thresholds for a second "
                           "attempt with all tokens");
    }
    return S2P_OK;
}

static bool has_labels(const eval_data *data)
{
    for (int32_t t = 0; t < data->n; t++)
        for (int32_t i = 0; i < data->set[t].n_samples; i++)
            if (data->set[t].sample[i].n_answers < 1) return false;
    return true;
}

/* --- the work -------------------------------------------------------------------------------- */

static bool is_interrupted(void *unused)
{
    (void)unused;
    return s2_interrupted();
}

static bool is_wanted(int32_t task, int64_t group, void *user)
{
    const tune_job *job = user;
    const s2e_outcomes *o = &job->outcomes;
    int32_t last = job->n_ready + PICTURES_AT_ONCE;
    if (last > job->search.n_groups) last = job->search.n_groups;
    for (int32_t i = job->n_ready; i < last; i++) {
        const s2e_group *g = &o->group[job->search.order[i]];
        if (g->task == task && g->number == group) return true;
    }
    return false;
}

static void show(const s2e_progress *p, void *user)
{
    tune_job *job = user;
    s2e_progress all = *p; /* at worst */
    all.todo = 0;
    for (int32_t i = 0; i < job->search.n_groups; i++) {
        const s2e_group *g = &job->outcomes.group[job->search.order[i]];
        all.todo += (int64_t)(g->last - g->first) * job->outcomes.n_columns;
    }
    if (all.todo < all.done) all.todo = all.done;
    eval_progress_show(&job->progress, &all);
}

/* Of the current pictures with the settings that are not decided, whether some answer is missing. */
static bool is_missing(const tune_job *job, int32_t last)
{
    for (int32_t i = job->n_ready; i < last; i++)
        for (int32_t c = 0; c < job->outcomes.n_columns; c++)
            if (s2e_search_needs(&job->search, c) &&
                !s2e_outcomes_has(&job->outcomes, c, job->search.order[i]))
                return true;
    return false;
}

static s2p_status ask_some(tune_job *job, s2p_error *error)
{
    eval_context *context = &job->context;
    s2a_setting setting[S2A_MAX_SETTINGS];
    s2e_asking asking[S2E_MAX_TASKS];
    int32_t n = 0;
    if (!context->asker.session) TRY(eval_open_model(context, error));
    s2e_evaluation work = eval_work(context, asking);
    for (int32_t i = 0; i < context->n_settings; i++)
        if (s2e_search_needs(&job->search, i)) setting[n++] = context->setting[i];
    work.setting = setting;
    work.n_settings = n;
    work.wants = is_wanted;
    work.wants_user = job;
    work.watch = (s2e_watch){ .progress = show, .cancelled = is_interrupted, job };
    TRY(s2e_evaluate(&work, error));
    return s2e_outcomes_read(&job->outcomes, context->store, error);
}

static s2p_status search_all(tune_job *job, s2p_error *error)
{
    s2e_search *search = &job->search;
    while (s2e_search_goes_on(search)) {
        int32_t last = job->n_ready + PICTURES_AT_ONCE;
        if (last > search->n_groups) last = search->n_groups;
        if (is_missing(job, last)) TRY(ask_some(job, error));
        job->n_ready = last;
        s2e_search_advance(search, &job->outcomes, last, last == search->n_groups);
    }
    s2e_search_measure(search, &job->outcomes, job->n_ready);
    return S2P_OK;
}

static s2p_status start_search(tune_job *job, s2p_error *error)
{
    const tune_options *o = job->options;
    eval_context *context = &job->context;
    for (int32_t i = 0; i < context->n_settings; i++)
        job->column[i] = s2e_column_of(&context->setting[i], 1, false);
    (void)eval_work(context, job->asking);
    const bool is_labelled = has_labels(&context->data);
    if (o->loss == TUNE_SCORE && !is_labelled)
        return s2_fail(error, S2P_EINVAL,
                       "--loss score: some questions have no answer; use --loss agreement");
    job->outcomes = (s2e_outcomes){ .task = job->asking,
                                    .n_tasks = context->data.n,
                                    .protocol = (s2e_protocol)job->eval.protocol,
                                    .column = job->column,
                                    .n_columns = context->n_settings,
                                    .by_agreement = o->loss == TUNE_AGREEMENT || !is_labelled };
    TRY(s2e_outcomes_start(&job->outcomes, error));
    TRY(s2e_outcomes_read(&job->outcomes, context->store, error));
    job->search = (s2e_search){ .max_loss = o->max_loss / 100.0,
                                .confidence = o->confidence,
                                .by_question = o->unit == 1 };
    return s2e_search_start(&job->search, &job->outcomes, context->setting, job->threshold,
                            job->n_thresholds, o->seed, o->pictures, error);
}

static s2p_status prepare(tune_job *job, char *methods, size_t capacity, s2p_error *error)
{
    const tune_options *o = job->options;
    if (o->profile) TRY(s2_file_check_writable("--profile", o->profile, error));
    TRY(read_thresholds(job, error));
    TRY(as_eval(job, methods, capacity, error));
    job->context.options = &job->eval;
    TRY(eval_prepare(&job->context, error));
    TRY(check_settings(job, error));
    (void)eval_data_problems(&job->context.data, job->eval.ask.quiet);
    TRY(eval_open_store(&job->context, error));
    return start_search(job, error);
}

static int report(const tune_job *job)
{
    s2_buffer out;
    json_t *profile = tune_profile(job);
    s2p_error error = { S2P_OK, "" };
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2p_status st = profile ? S2P_OK : s2_fail_memory(&error, sizeof(json_t), "the profile");
    if (st == S2P_OK && job->options->output == S2_OUTPUT_JSON)
        st = s2_json_write(profile, 9, &out);
    else
        tune_table(job, &out);
    if (job->options->output == S2_OUTPUT_JSON) s2_buffer_append(&out, "\n", 1);
    int code = s2_report_print_made(st == S2P_OK ? out.status : st, &out, &error);
    if (code == S2_EXIT_OK && job->options->profile) {
        s2_buffer_init(&out, S2_OUTPUT_MAX);
        st = s2_json_write(profile, 9, &out);
        s2_buffer_append(&out, "\n", 1);
        code = s2_report_save_made(job->options->profile, st == S2P_OK ? out.status : st, &out,
                                   &error);
    }
    json_decref(profile);
    return code;
}

static int tune_all(tune_job *job)
{
    char methods[2048];
    s2p_error error = { S2P_OK, "" };
    const eval_options *e = &job->eval;
    s2p_status st = prepare(job, methods, sizeof methods, &error);
    if (st != S2P_OK) return s2_report_error(st, &error);
    if (!e->out && !e->ask.quiet)
        s2_report_line("note", "without --out DIR the answers are not stored");
    eval_progress_start(&job->progress, (s2_progress_form)e->ask.progress, e->ask.quiet);
    st = search_all(job, &error);
    eval_progress_end(&job->progress);
    if (st == S2P_OK) return report(job);
    if (st != S2P_ECANCELLED) return s2_report_error(st, &error);
    s2_report_tell(e->out
                       ? "stopped; every answer so far is in %s. Run the same command to continue."
                       : "stopped; without --out nothing is kept%.0s",
                   job->context.store_path);
    return S2_EXIT_INTERRUPTED;
}

static int tune_run(const void *values)
{
    tune_job *job = calloc(1, sizeof *job);
    if (!job) return s2_report_error(S2P_ENOMEM, NULL);
    job->options = values;
    s2_interrupt_hold(S2_HOLD_RUN);
    const int code = tune_all(job);
    s2e_search_free(&job->search);
    s2e_outcomes_free(&job->outcomes);
    eval_context_free(&job->context);
    free(job);
    return code;
}

/* clang-format off */
#define AT(member) .offset = offsetof(tune_options, member)
static const s2_option option_table[] = {
    S2_ASK_ROWS_MODEL,
    S2_ASK_ROWS_CACHE,

    { .name = "--questions", .label = "FILE", .type = S2_OPTION_FILE, .group = "Questions",
      .help = "your questions: a JSON list of {\"image_path\", \"question\", \"answer\"}, or one such object per line; \"answer\" is optional", AT(questions) },
    { .name = "--tasks", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "synth", .group = "Questions",
      .help = "benchmarks to use instead, as in 's2prune eval'", AT(eval.tasks) },
    { .name = "--data-dir", .label = "DIR", .type = S2_OPTION_FILE, .group = "Questions",
      .help = "folder with the benchmark files, or with one folder per benchmark (default: the bundled data)", AT(eval.data) },
    { .name = "--limit", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000000, .fallback = "0",
      .group = "Questions", .help = "use only the first N questions of each benchmark; 0: all", AT(eval.limit) },
    { .name = "--pictures", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 1000000, .fallback = "0",
      .group = "Questions", .help = "use at most N pictures, drawn with --seed; 0: all", AT(pictures) },
    { .name = "--seed", .letters = "-s", .label = "N", .type = S2_OPTION_SEED, .fallback = "1", .group = "Questions",
      .help = "random seed for the order of the pictures", AT(seed) },
    { .name = "--predict", .letters = "-n", .label = "N", .type = S2_OPTION_INT, .min = 0, .max = 100000,
      .fallback = "0", .group = "Questions", .help = "maximum number of tokens per answer; 0: as the protocol specifies", AT(eval.predict) },
    { .name = "--protocol", .label = "NAME", .type = S2_OPTION_CHOICE, .choice = s2e_protocol_name,
      .fallback = "paper", .group = "Questions", .help = "protocol that determines prompts, limits and scores", AT(eval.protocol) },

    S2_ASK_ROWS_PICTURE,

    { .name = "--max-loss", .label = "POINTS", .type = S2_OPTION_REAL, .min = 0.01, .max = 99, .fallback = "2",
      .group = "Search", .help = "accepted loss: how many more of 100 questions may be answered wrong than with all tokens", AT(max_loss) },
    { .name = "--confidence", .label = "P", .type = S2_OPTION_REAL, .min = 0.5, .max = 0.9999, .fallback = "0.95",
      .group = "Search", .help = "confidence that the loss is not larger, for the search as a whole", AT(confidence) },
    { .name = "--loss", .label = "WHAT", .type = S2_OPTION_CHOICE, .choice = tune_loss_name, .fallback = "auto",
      .group = "Search", .help = "what counts as a loss: a lower score, or (agreement) a different answer than with all tokens; auto: score if all questions have answers", AT(loss) },
    { .name = "--unit", .label = "WHAT", .type = S2_OPTION_CHOICE, .choice = tune_unit_name, .fallback = "picture",
      .group = "Search", .help = "unit of observation; question needs fewer pictures, but is only valid if questions about the same picture fail independently", AT(unit) },
    { .name = "--methods", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "s2prune", .group = "Search",
      .help = "methods to try, such as s2prune,resize", AT(eval.methods) },
    { .name = "--budgets", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "50%,33%,22%,11%", .group = "Search",
      .help = "budgets to try, alone and with asking again with all tokens", AT(eval.budgets) },
    { .name = "--thresholds", .label = "LIST", .type = S2_OPTION_TEXT, .fallback = "0.995,0.9", .group = "Search",
      .help = "confidence thresholds for asking again with all tokens; none: try single budgets only", AT(thresholds) },
    { .name = "--image-sizes", .label = "LIST", .type = S2_OPTION_TEXT, .group = "Search",
      .help = "picture sizes to try in addition to the original ones, such as 448x448", AT(sizes) },

    { .name = "--profile", .label = "FILE", .type = S2_OPTION_FILE, .group = "Output",
      .help = "write the best setting to this file, for --profile of run, serve, eval and compare", .role = S2_FILE_OUTPUT,
      .writes = ".json", AT(profile) },
    { .name = "--out", .label = "DIR", .type = S2_OPTION_FILE, .group = "Output",
      .help = "store every answer in this folder; repeat the command to resume", .role = S2_FOLDER_OUTPUT,
      .writes = "results.sqlite results.sqlite.lock", AT(eval.out) },
    { .name = "--output", .letters = "-o", .label = "FMT", .type = S2_OPTION_CHOICE, .choice = s2_output_name,
      .fallback = "text", .group = "Output", .help = "format of the result", AT(output) },
    S2_ASK_ROW_PROGRESS,
    { .name = "--quiet", .letters = "-q", .also = "--log-disable", .type = S2_OPTION_FLAG, .group = "Output",
      .help = "print no notes and no progress", AT(eval.ask.quiet) },
    { .name = NULL },
};
/* clang-format on */

const s2_command s2_cmd_tune = {
    .name = "tune",
    .summary = "find the cheapest accurate setting for your own questions",
    .usage =
        "[-m MODEL -mm MMPROJ] [--questions FILE] [--max-loss POINTS] [--profile FILE] [--out DIR] "
        "[options]",
    .examples = "  s2prune tune --questions mine.json --max-loss 2 --out runs/tune --profile "
                "mine.profile.json\n"
                "  s2prune run --profile mine.profile.json -i photo.jpg -p \"What is it?\"\n",
    .options = option_table,
    .foreign = s2_llama_options,
    .size = sizeof(tune_options),
    .run = tune_run,
};
