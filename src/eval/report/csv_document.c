/* csv_document.c - results.csv: every figure of every protocol, one a row. */
#include "eval/judging.h"
#include "eval/report/documents.h"
#include "eval/report/escape.h"

static void write_result(const s2e_task_results *task, const s2e_result *r, s2_buffer *out)
{
    for (int p = 0; p < S2E_N_PROTOCOLS; p++)
        for (int32_t f = 0; f < r->figures[p].n; f++) {
            const s2e_figure *figure = &r->figures[p].figure[f];
            s2_buffer_printf(out, "%s,%s,%s,%.2f,%d,%s,", task->task->name, r->column.method,
                             s2a_budget_is_none(r->budget) ? "" : r->column.budget, r->image_tokens,
                             r->column.n_seeds, s2e_protocol_name((size_t)p));
            s2e_csv_text(out, figure->section);
            s2_buffer_printf(out, ",");
            s2e_csv_text(out, figure->name);
            s2_buffer_printf(out, ",%.6f,%g,%d,%d\n", figure->value, figure->best, figure->n,
                             figure->headline);
        }
}

static s2p_status write_csv(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    (void)error;
    s2_buffer_printf(out,
                     "task,method,budget,tokens,seeds,protocol,section,figure,value,best,samples,"
                     "headline\n");
    for (int32_t t = 0; t < in->results->n_tasks; t++) {
        const s2e_task_results *task = &in->results->task[t];
        for (int32_t i = 0; i < task->n_results; i++) write_result(task, &task->result[i], out);
    }
    return out->status;
}

const s2e_document document_csv = { "results.csv", write_csv };
