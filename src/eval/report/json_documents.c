/* json_documents.c - summary.json and run_config.json. */
#include "eval/judging.h"
#include "eval/report/cost_cells.h"
#include "eval/report/documents.h"
#include "eval/report/results.h"
#include "eval/run/fingerprint.h"

#include <stdlib.h>
#include <string.h>

static json_t *figures_json(const s2e_result *r)
{
    json_t *protocols = json_object();
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        json_t *list = json_array();
        for (int32_t f = 0; f < r->figures[p].n; f++) {
            const s2e_figure *figure = &r->figures[p].figure[f];
            (void)json_array_append_new(
                list, json_pack("{s:s, s:s, s:o, s:f, s:i, s:b}", "figure", figure->name, "section",
                                figure->section, "value", s2e_json_real(figure->value), "best",
                                figure->best, "samples", figure->n, "headline", figure->headline));
        }
        (void)json_object_set_new(protocols, s2e_protocol_name((size_t)p), list);
    }
    return protocols;
}

/* A figure of the whole set under the name the release has for it. */
static void add_figure(const s2e_result *r, s2e_protocol own, const char *figure, const char *name,
                       double scale, json_t *out)
{
    for (int32_t i = 0; i < r->figures[own].n; i++) {
        const s2e_figure *f = &r->figures[own].figure[i];
        if (strcmp(f->name, figure) == 0 && !f->section[0])
            (void)json_object_set_new(out, name, s2e_json_real(scale * f->value));
    }
}

/* What the release's summary.json calls the same: its readers find our numbers. */
static void add_release_names(const s2e_task_results *task, const s2e_result *r, s2e_protocol own,
                              double percent, json_t *out)
{
    (void)json_object_set_new(out, "num_samples", json_integer(task->set->n_samples));
    (void)json_object_set_new(out, "mean_sample_score", s2e_json_real(percent / 100.0));
    (void)json_object_set_new(out, "accuracy_percent", s2e_json_real(percent));
    add_figure(r, own, "precision", "precision", 0.01, out);
    add_figure(r, own, "recall", "recall", 0.01, out);
    add_figure(r, own, "F1", "f1", 0.01, out);
    if (strcmp(task->task->name, "mme") == 0) add_figure(r, own, "total", "mme_total", 1.0, out);
}

static json_t *result_json(const s2e_task_results *task, const s2e_result *r, s2e_protocol own,
                           const s2e_gain *gain)
{
    s2e_interval mean, headline;
    if (s2e_interval_of(task->set, r->score[own], &mean) != S2P_OK ||
        s2e_headline_interval(task, own, r, NULL, &headline) != S2P_OK)
        return NULL;
    char method[S2E_METHOD];
    json_t *one =
        json_pack("{s:s, s:s, s:s, s:i, s:f, s:I, s:I, s:o, s:o, s:o, s:f, s:f, s:f}", "method",
                  s2e_label_method(r->column.label, method), "setting", r->column.label, "budget",
                  r->column.budget, "seeds", r->column.n_seeds, "image_tokens", r->image_tokens,
                  "answers", (json_int_t)r->n_answers, "failures", (json_int_t)r->n_failures,
                  "mean_score", s2e_json_interval(&mean), "headline", s2e_json_interval(&headline),
                  "figures", figures_json(r), "kv_visual_bytes", r->kv_bytes, "prefill_ms",
                  r->prompt_ms, "seconds", r->seconds);
    if (one) add_release_names(task, r, own, mean.value, one);
    if (one) s2e_json_statistics(task, r, gain, one);
    const s2e_cost cost = s2e_cost_of_result(r);
    if (one) s2e_cost_json(&cost, one);
    return one;
}

static json_t *tasks_json(const s2e_results *results)
{
    json_t *tasks = json_array();
    for (int32_t t = 0; t < results->n_tasks; t++) {
        const s2e_task_results *task = &results->task[t];
        json_t *list = json_array(), *problems = json_array();
        s2e_gain *gain = NULL;
        const bool has_gains =
            s2e_gains_make(task, results->protocol, S2E_REFERENCE, &gain) == S2P_OK;
        for (int32_t i = 0; i < task->n_results && has_gains; i++)
            (void)json_array_append_new(
                list, result_json(task, &task->result[i], results->protocol, &gain[i]));
        free(gain);
        for (int32_t i = 0; i < task->set->n_problems && i < S2E_MAX_PROBLEMS; i++)
            (void)json_array_append_new(
                problems, json_pack("{s:s?, s:I, s:s?}", "file", task->set->problem[i].file, "row",
                                    (json_int_t)task->set->problem[i].row, "what",
                                    task->set->problem[i].sentence));
        (void)json_array_append_new(
            tasks, json_pack("{s:s, s:s, s:i, s:i, s:i, s:o, s:o}", "task", task->task->name,
                             "title", task->task->title, "samples", task->set->n_samples,
                             "pictures", task->set->n_pictures, "unusable_items",
                             task->set->n_problems, "problems", problems, "results", list));
    }
    return tasks;
}

static json_t *table_json(const s2e_report_input *in, s2p_error *error)
{
    const s2e_results *results = in->results;
    s2e_paper_table table;
    json_t *rows = json_array();
    if (s2e_paper_table_make(results, results->protocol, &table, error) != S2P_OK) return rows;
    for (int32_t i = 0; i < table.n_rows; i++) {
        const s2e_paper_row *row = &table.row[i];
        char method[S2E_METHOD];
        json_t *values = json_object();
        for (int32_t t = 0; t < results->n_tasks; t++)
            (void)json_object_set_new(values, results->task[t].task->name,
                                      s2e_json_real(row->value[t]));
        (void)json_array_append_new(
            rows, json_pack("{s:s, s:s, s:s, s:o, s:o, s:o}", "method",
                            s2e_label_method(row->column->label, method), "setting",
                            row->column->label, "budget", row->column->budget, "values", values,
                            "acc", s2e_json_real(row->acc), "rel", s2e_json_real(row->rel)));
        const s2e_cost cost = s2e_cost_of(results, i);
        json_t *last = json_array_get(rows, json_array_size(rows) - 1);
        s2e_cost_json(&cost, last);
        (void)json_object_set_new(last, "image_tokens", s2e_json_real(cost.tokens));
        if (!in->interval) continue;
        const s2e_paper_interval *sure = &in->interval[i];
        (void)json_object_set_new(last, "acc_interval", s2e_json_interval(&sure->acc));
        (void)json_object_set_new(last, "rel_interval", s2e_json_interval(&sure->rel));
        if (row->column->n_seeds > 1)
            (void)json_object_set_new(last, "seeds_acc", s2e_json_spread(&sure->seeds));
    }
    s2e_paper_table_free(&table);
    return rows;
}

static json_t *comparison_json(const s2e_report_input *in)
{
    json_t *list = json_array();
    char a[S2E_COLUMN_TEXT], b[S2E_COLUMN_TEXT];
    for (int32_t i = 0; i < in->n_comparisons; i++) {
        const s2e_comparison *c = &in->comparison[i];
        (void)json_array_append_new(
            list, json_pack("{s:s, s:s, s:s, s:f, s:f, s:f, s:f, s:o, s:o, s:i, s:i}", "task",
                            c->task->name, "here", s2e_column_text(c->ours, a), "there",
                            s2e_column_text(c->theirs, b), "here_score", c->our_score,
                            "there_score", c->their_score, "here_tokens", c->our_tokens,
                            "there_tokens", c->their_tokens, "gain", s2e_json_difference(&c->gain),
                            "headline_gain", s2e_json_difference(&c->headline), "only_here",
                            c->only_ours, "only_there", c->only_theirs));
    }
    return list;
}

static s2p_status finish(json_t *root, s2_buffer *out, s2p_error *error)
{
    const s2p_status st = root ? s2_json_write(root, 9, out) : S2P_ENOMEM;
    s2_buffer_append(out, "\n", 1);
    json_decref(root);
    return st == S2P_OK ? out->status : s2_fail(error, st, "a name in the report is not UTF-8");
}

static s2p_status write_summary(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    const s2e_results *results = in->results;
    char hash[S2_SHA256_HEX];
    s2e_fingerprint_hash(results->values, hash);
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "schema", "s2prune.eval-summary/1",
                             "fingerprint", hash, "model", results->model, "protocol",
                             s2e_protocol_name((size_t)results->protocol), "table",
                             table_json(in, error), "tasks", tasks_json(results));
    if (root && in->baseline) {
        (void)json_object_set_new(root, "baseline", json_string(in->baseline));
        (void)json_object_set_new(root, "comparison", comparison_json(in));
    }
    return finish(root, out, error);
}

/* The shard of a run that wrote a store is not what the run is. */
static s2p_status write_config(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    const char *key;
    json_t *value, *root = json_object();
    (void)json_object_set_new(root, "schema", json_string("s2prune.eval-run/1"));
    json_object_foreach(in->results->values, key, value)
    {
        if (strncmp(key, S2E_IS, strlen(S2E_IS)) == 0)
            (void)json_object_set(root, key + strlen(S2E_IS), value);
        else if (strncmp(key, S2E_ABOUT "data.", strlen(S2E_ABOUT "data.")) == 0 ||
                 strcmp(key, S2E_ABOUT "model") == 0)
            (void)json_object_set(root, key, value);
    }
    return finish(root, out, error);
}

const s2e_document document_summary = { "summary.json", write_summary };
const s2e_document document_config = { "run_config.json", write_config };
