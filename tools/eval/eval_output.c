/* eval_output.c - tables on standard output, answers as lines of JSON. */
#include "eval/eval_output.h"

#include "eval/judging.h"
#include "eval/report/category_table.h"
#include "report.h"

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
                                    .reference = "s2prune",
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
    const s2e_result *column = s2e_results_find(task, r->method, r->budget);
    if (i < 0 || !column) return S2P_OK;
    const s2e_sample *q = &task->set->sample[i];
    const int32_t picture = s2e_first_picture(q);
    const char *file = picture < 0 ? NULL : task->set->picture[picture].file;
    s2e_verdict verdict = { .rule = NULL };
    if (!r->failure)
        TRY(task->task->judge(q, s->results->protocol, NULL, r->text, &verdict, error));
    json_t *line =
        json_pack("{s:s, s:s, s:s, s:i, s:i, s:s, s:s, s:s, s:s, s:s, s:f}", "task", r->task, "id",
                  r->sample, "method", r->method, "budget", column->budget.count, "seed", r->seed,
                  "image", file ? file : "", "category", q->n_categories ? q->category[0] : "",
                  "question", q->question, "expected", q->n_answers ? q->answer[0] : "", "answer",
                  r->text, "score", (double)verdict.score);
    s2e_verdict_free(&verdict);
    if (line && column->budget.percent > 0.0)
        json_object_set_new(line, "budget_percent", json_real(column->budget.percent));
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
        st = s2e_store_walk(store, s.task->task->name, NULL, NULL, write_sample, &s, &error);
    }
    return s2_report_save_made(path, st, &s.out, &error);
}
