/* samples_document.c - per_sample.csv: every answer, in the columns of the authors' release.
 *
 * Theirs come first, in their order and with their names; the score is the run's own protocol's.
 * Behind them: task, method, seed, how each protocol scores the answer and by which rule, and why a
 * sample failed. Pictures of several grids have lists of lists where one grid has a list.
 */
#include "eval/judging.h"
#include "eval/report/documents.h"
#include "eval/report/escape.h"
#include "eval/report/results.h"

#include <string.h>

typedef struct writing {
    const s2e_results *results;
    const s2e_task_results *task;
    const s2e_judged *judged;
    const s2e_column *column;
    s2_buffer *out;
} writing;

static void text_cell(s2_buffer *out, const char *text)
{
    s2e_csv_text(out, text ? text : "");
    s2_buffer_append(out, ",", 1);
}

/* One member of every grid: a list, or a list of lists. `key` NULL: the values themselves. */
static void json_cell(s2_buffer *out, const json_t *grids, const char *key)
{
    s2_buffer text;
    const size_t n = json_array_size(grids);
    s2_buffer_init(&text, out->max);
    for (size_t i = 0; i < n; i++) {
        const json_t *grid = json_array_get(grids, i);
        if (n > 1) s2_buffer_printf(&text, i ? "," : "[");
        (void)s2_json_write(key ? json_object_get(grid, key) : grid, 9, &text);
    }
    if (n > 1) s2_buffer_printf(&text, "]");
    s2_buffer_append(&text, "", 1);
    if (text.status == S2P_OK)
        text_cell(out, (const char *)text.data);
    else
        out->status = text.status;
    s2_buffer_free(&text);
}

static json_t *parsed(const char *text)
{
    json_t *value = NULL;
    if (!text || s2_json_parse(text, strlen(text), "the choice", &value, NULL) != S2P_OK ||
        !json_is_array(value)) {
        json_decref(value);
        return json_array();
    }
    return value;
}

static void write_choice(s2_buffer *out, const s2e_record *r)
{
    json_t *kept = parsed(r->kept), *regions = parsed(r->regions);
    json_cell(out, regions, "side");
    json_cell(out, kept, NULL);
    json_cell(out, regions, "share");
    json_cell(out, regions, "raw");
    json_cell(out, regions, "score");
    json_decref(kept);
    json_decref(regions);
}

static void joined_cell(s2_buffer *out, const char *const *word, int32_t n, const char *between)
{
    s2_buffer text;
    s2_buffer_init(&text, out->max);
    for (int32_t i = 0; i < n; i++) s2_buffer_printf(&text, "%s%s", i ? between : "", word[i]);
    s2_buffer_append(&text, "", 1);
    if (text.status == S2P_OK)
        text_cell(out, (const char *)text.data);
    else
        out->status = text.status;
    s2_buffer_free(&text);
}

static s2p_status write_row(const s2e_record *r, void *user, s2p_error *error)
{
    (void)error;
    const writing *w = user;
    s2_buffer *out = w->out;
    const int32_t i = s2e_set_find(w->task->set, r->sample);
    const s2e_sample *sample = &w->task->set->sample[i];
    const int32_t picture = s2e_first_picture(sample);
    const s2e_verdict *own = &w->judged->verdict[w->results->protocol][i];
    text_cell(out, r->sample);
    text_cell(out, picture < 0 ? "" : w->task->set->picture[picture].file);
    text_cell(out, sample->question);
    joined_cell(out, sample->answer, sample->n_answers, "|");
    text_cell(out, r->text);
    text_cell(out, own->extracted);
    s2_buffer_printf(out, "%.6g,%d,%d,%s,", (double)own->score, r->tokens_before, r->tokens_after,
                     strcmp(r->budget, "-") == 0 ? "" : r->budget);
    write_choice(out, r);
    s2_buffer_printf(out, "%d,%d,%.3f,%d,", r->sequence_full, r->sequence_pruned, r->prompt_ms,
                     r->generated);
    joined_cell(out, sample->category, sample->n_categories, ",");
    s2_buffer_printf(out, "%s,", r->task);
    text_cell(out, w->column->label);
    s2_buffer_printf(out, "%d", r->seed);
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        const s2e_verdict *v = &w->judged->verdict[p][i];
        s2_buffer_printf(out, ",%.6g,%s", (double)v->score, v->rule ? v->rule : "");
    }
    s2_buffer_printf(out, ",%d,%.3f,", r->cached, r->vision_ms);
    s2e_csv_text(out, r->failure ? r->failure : "");
    s2_buffer_append(out, "\n", 1);
    return out->status;
}

static s2p_status write_samples(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    writing w = { .results = in->results, .out = out };
    s2_buffer_printf(out, "sample_id,image_path,question,gold,raw_answer,final_answer,score,"
                          "visual_tokens_before,visual_tokens_after,budget,coarse_grid_size,"
                          "selected_indices,region_budgets,laplacian_complexity_raw,"
                          "laplacian_complexity_normalized,full_sequence_length,"
                          "pruned_sequence_length,prefill_ms,generated_tokens,category,"
                          "task,method,seed");
    for (size_t p = 0; p < S2E_N_PROTOCOLS; p++)
        s2_buffer_printf(out, ",score_%s,rule_%s", s2e_protocol_name(p), s2e_protocol_name(p));
    s2_buffer_printf(out, ",cached_tokens,vision_ms,failure\n");
    for (int32_t t = 0; t < in->results->n_tasks; t++) {
        w.task = &in->results->task[t];
        for (int32_t i = 0; i < w.task->n_results; i++) {
            const s2e_column *c = &w.task->result[i].column;
            for (int32_t seed = 0; seed < c->n_seeds; seed++) {
                s2e_judged judged;
                TRY(s2e_judged_load(in->store, w.task->task, w.task->set, c, seed, NULL, NULL,
                                    &judged, error));
                w.judged = &judged;
                w.column = c;
                const s2e_record which = { .task = w.task->task->name,
                                           .method = c->method,
                                           .budget = c->budget,
                                           .seed = seed };
                const s2p_status st = s2e_store_walk(in->store, &which, write_row, &w, error);
                s2e_judged_free(&judged);
                TRY(st);
            }
        }
    }
    return out->status;
}

const s2e_document document_samples = { "per_sample.csv", write_samples };
