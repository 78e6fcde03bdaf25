/* eval_output.c - tables on standard output, answers as lines of JSON. */
#include "eval/eval_command.h"

#include "eval/judging.h"
#include "analyze/rasterize.h"
#include "eval/report/documents.h"
#include "eval/run/fingerprint.h"
#include "eval/run/run_folder.h"
#include "report.h"

#include "base/sha256.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int eval_print_tables(const s2e_results *results, int32_t form)
{
    s2_buffer out;
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    s2p_status st = S2P_OK;
    for (int32_t t = 0; t < results->n_tasks && st == S2P_OK; t++) {
        const s2e_report report = { .model = results->model,
                                    .results = &results->task[t],
                                    .protocol = results->protocol,
                                    .is_published = results->is_published,
                                    .reference = S2E_REFERENCE,
                                    .is_first = t == 0 };
        st = s2e_report_write(&report, (s2e_format)form, &out);
    }
    return s2_report_print_made(st, &out, NULL);
}

typedef struct samples {
    const s2e_results *results;
    const s2e_task_results *task;
    s2_buffer out;
} samples;

static s2p_status write_sample(const s2e_record *r, void *user, s2p_error *error)
{
    samples *s = user;
    const s2e_task_results *task = s->task;
    const int32_t i = s2e_set_find(task->set, r->sample);
    const s2e_result *column = NULL; /* by the name in the store */
    for (int32_t k = 0; !column && k < task->n_results; k++)
        if (strcmp(task->result[k].column.method, r->method) == 0 &&
            strcmp(task->result[k].column.budget, r->budget) == 0)
            column = &task->result[k];
    if (i < 0 || !column) return S2P_OK;
    const s2e_sample *q = &task->set->sample[i];
    const int32_t picture = s2e_first_picture(q);
    const char *file = picture < 0 ? NULL : task->set->picture[picture].file;
    char method[S2E_METHOD];
    s2e_verdict verdict = { .rule = NULL };
    if (!r->failure)
        TRY(s2e_judge_one(task->task, q, s->results->protocol, r->text, r->grids, &verdict, error));
    json_t *line =
        json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:s, s:f}", "task", r->task,
                  "id", r->sample, "method", s2e_label_method(column->column.label, method),
                  "setting", column->column.label, "budget", column->budget.tokens, "seed", r->seed,
                  "image", file ? file : "", "category", q->n_categories ? q->category[0] : "",
                  "question", q->question, "expected", q->n_answers ? q->answer[0] : "", "answer",
                  r->text, "score", (double)verdict.score);
    s2e_verdict_free(&verdict);
    if (line && column->budget.percent > 0.0)
        json_object_set_new(line, "budget_percent", json_real(column->budget.percent));
    if (line && (column->budget.n_more > 0 || column->budget.percent < 0.0))
        json_object_set_new(line, "budget", json_string(column->column.budget));
    if (line && (column->budget.n_more > 0 || r->logprobs))
        json_object_set_new(line, "image_tokens", json_integer(r->tokens_after));
    json_t *logprobs = NULL;
    if (line && r->logprobs &&
        s2_json_parse(r->logprobs, strlen(r->logprobs), "logprobs", &logprobs, NULL) == S2P_OK)
        json_object_set_new(line, "logprobs", logprobs);
    if (line && s->results->is_published)
        json_object_set_new(line, "mode", json_string(s2_mode_name(S2P_MODE_PUBLISHED)));
    if (line && r->failure) json_object_set_new(line, "failure", json_string(r->failure));
    const s2p_status st = line ? s2_json_write(line, 9, &s->out) : S2P_ENOMEM;
    json_decref(line);
    s2_buffer_append(&s->out, "\n", 1);
    return st == S2P_OK ? s->out.status : s2_fail(error, st, "an answer is not text");
}

int eval_write_samples(const char *path, s2e_store *store, const s2e_results *results)
{
    samples s = { .results = results };
    s2p_error error = { S2P_OK, "" };
    s2p_status st = S2P_OK;
    s2_buffer_init(&s.out, S2_OUTPUT_MAX);
    for (int32_t t = 0; t < results->n_tasks && st == S2P_OK; t++) {
        s.task = &results->task[t];
        const s2e_record which = { .task = s.task->task->name, .seed = -1 };
        st = s2e_store_walk(store, &which, write_sample, &s, &error);
    }
    return s2_report_save_made(path, st, &s.out, &error);
}

/* --- a run with its documents ----------------------------------------------------------- */

s2p_status eval_report_load(const char *folder, const char *data_dir, eval_report *out,
                            s2p_error *error)
{
    s2e_run_file file;
    const s2e_set *sets[S2E_MAX_TASKS];
    json_t *values = NULL;
    TRY(s2e_run_file_of(folder, (s2e_shard){ 0, 1, NULL }, &file, error));
    TRY(s2e_store_open(file.path, S2E_STORE_READ, &out->store, error));
    TRY(s2e_fingerprint_load(out->store, &values, error));
    const s2p_status st = eval_data_of_run(&out->data, values, data_dir, error);
    json_decref(values);
    TRY(st);
    eval_data_sets(&out->data, sets);
    return s2e_results_load(out->store, sets, &out->results, error);
}

void eval_report_free(eval_report *report)
{
    s2e_results_free(&report->results);
    eval_data_free(&report->data);
    s2e_store_close(report->store);
}

static int write_documents(const s2e_report_input *input, const char *folder, bool is_quiet)
{
    char path[4200];
    const s2e_document *document;
    for (size_t i = 0; (document = s2e_document_at(i)); i++) {
        s2p_error error = { S2P_OK, "" };
        s2_buffer out;
        s2_buffer_init(&out, S2_OUTPUT_MAX);
        (void)snprintf(path, sizeof path, "%.4000s/%s", folder, document->name);
        const s2p_status st = document->write(input, &out, &error);
        const int code = st == S2P_OK ? s2_report_save(path, &out) : s2_report_error(st, &error);
        s2_buffer_free(&out);
        if (code != S2_EXIT_OK) return code == S2_EXIT_FAILURE ? S2_EXIT_RESOURCES : code;
    }
    const bool has_prints = s2_rasterize(folder, "curves");
    if (!is_quiet) {
        char names[512] = "";
        for (size_t i = 0; (document = s2e_document_at(i)); i++)
            (void)snprintf(names + strlen(names), sizeof names - strlen(names), " %s",
                           document->name);
        s2_report_tell("written in %s:%s%s", folder, names,
                       has_prints ? " curves.pdf curves.png" : "");
    }
    return S2_EXIT_OK;
}

/* --- answers for a grader ------------------------------------------------------------------ */

s2p_status eval_judge_check(const char *judge, s2p_error *error)
{
    if (strcmp(judge, "local") == 0 || strcmp(judge, "export") == 0) return S2P_OK;
    return s2_fail(
        error, S2P_EINVAL,
        "--judge '%.60s': grading by a model is not supported; use local (match with the "
        "reference) or export (also write the answers for the benchmark's own grader; "
        "'s2prune score' reads its file of grades)",
        judge);
}

#define LONGEST_NAME 120

/* A label as part of a file's name: letters, digits and a few signs; a long one ends in its hash. */
static void file_name_of(const char *label, char out[LONGEST_NAME + 16])
{
    char hex[S2_SHA256_HEX];
    uint8_t digest[32];
    (void)snprintf(out, LONGEST_NAME, "%.119s", label);
    for (char *c = out; *c; c++)
        if (!isalnum((unsigned char)*c) && !strchr("-+._", *c)) *c = '_';
    if (strlen(label) < LONGEST_NAME) return;
    s2_sha256(label, strlen(label), digest);
    s2_sha256_hex(digest, hex);
    const size_t n = strlen(out);
    (void)snprintf(out + n, LONGEST_NAME + 16 - n, "-%.12s", hex);
}

static int write_grader_file(const s2e_report_input *in, const s2e_task_results *task,
                             const s2e_column *c, int32_t seed, const char *folder)
{
    char path[4300], name[64] = "", label[LONGEST_NAME + 16];
    s2p_error error = { S2P_OK, "" };
    s2_buffer out;
    file_name_of(c->label, label);
    if (c->n_seeds > 1) (void)snprintf(name, sizeof name, "-%d", seed);
    (void)snprintf(path, sizeof path, "%.4000s/%s-%s%s%s%s.json", folder, task->task->name, label,
                   strcmp(c->budget, "-") == 0 ? "" : "-",
                   strcmp(c->budget, "-") == 0 ? "" : c->budget, name);
    s2_buffer_init(&out, S2_OUTPUT_MAX);
    const s2p_status st = s2e_grader_write(in->store, task->task, task->set, c, seed, &out, &error);
    return s2_report_save_made(path, st, &out, &error);
}

static int write_grader_files(const s2e_report_input *in, const char *folder)
{
    int code = S2_EXIT_OK;
    for (int32_t t = 0; t < in->results->n_tasks; t++) {
        const s2e_task_results *task = &in->results->task[t];
        for (int32_t i = 0; task->task->is_graded && i < task->n_results; i++)
            for (int32_t seed = 0; seed < task->result[i].column.n_seeds && code == S2_EXIT_OK;
                 seed++)
                code = write_grader_file(in, task, &task->result[i].column, seed, folder);
    }
    return code;
}

static s2p_status make_intervals(const s2e_results *results, s2e_paper_interval **out,
                                 s2p_error *error)
{
    s2e_paper_table table;
    TRY(s2e_paper_table_make(results, results->protocol, &table, error));
    const s2p_status st = s2e_paper_intervals_make(results, &table, out, error);
    s2e_paper_table_free(&table);
    return st;
}

int eval_report_write(const eval_options *o, const s2e_results *results, s2e_store *store,
                      const char *folder)
{
    s2p_error error = { S2P_OK, "" };
    eval_report *other = calloc(1, sizeof *other);
    s2e_comparison *comparison = NULL;
    s2e_paper_interval *interval = NULL;
    s2e_report_input input = { .results = results, .store = store };
    s2p_status st = other ? S2P_OK : s2_fail_memory(&error, sizeof *other, "the baseline");
    if (st == S2P_OK && o->baseline) {
        st = eval_report_load(o->baseline, o->data, other, &error);
        if (st == S2P_OK)
            st = s2e_compare(results, &other->results, &comparison, &input.n_comparisons, &error);
        input.comparison = comparison;
        input.baseline = o->baseline;
    }
    int code = st == S2P_OK ? eval_print_tables(results, o->output) : s2_report_error(st, &error);
    if (code == S2_EXIT_OK && !o->ask.quiet) {
        char a[S2E_COLUMN_TEXT], b[S2E_COLUMN_TEXT];
        for (int32_t i = 0; i < input.n_comparisons; i++) {
            const s2e_comparison *c = &input.comparison[i];
            (void)fprintf(stderr,
                          "%s %s minus %s there: %+.1f [%.1f, %.1f], p %.2g (%.2g by Holm)\n",
                          c->task->name, s2e_column_text(c->ours, a), s2e_column_text(c->theirs, b),
                          c->gain.value, c->gain.low, c->gain.high, c->gain.p, c->gain.p_holm);
            if (c->task->counts && !isnan(c->headline.value))
                (void)fprintf(
                    stderr,
                    "%s: the number of the tables %+.1f [%.1f, %.1f], p %.2g (%.2g by Holm)\n",
                    c->task->name, c->headline.value, c->headline.low, c->headline.high,
                    c->headline.p, c->headline.p_holm);
        }
    }
    if (code == S2_EXIT_OK && o->samples) code = eval_write_samples(o->samples, store, results);
    if (code == S2_EXIT_OK && folder) {
        st = make_intervals(results, &interval, &error);
        input.interval = interval;
        code = st == S2P_OK ? write_documents(&input, folder, o->ask.quiet)
                            : s2_report_error(st, &error);
    }
    if (code == S2_EXIT_OK && folder && strcmp(o->judge, "export") == 0)
        code = write_grader_files(&input, folder);
    free(comparison);
    free(interval);
    if (other) eval_report_free(other);
    free(other);
    return code;
}
