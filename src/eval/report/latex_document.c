/* latex_document.c - table.tex: the paper's table, to be \input. */
#include "eval/report/documents.h"
#include "eval/report/escape.h"

#include <math.h>
#include <string.h>

static void number(s2_buffer *out, double value, s2e_mark mark)
{
    const char *open = mark == S2E_BEST ? "\\textbf{" : mark == S2E_SECOND ? "\\underline{" : "";
    if (isnan(value))
        s2_buffer_printf(out, " & --");
    else
        s2_buffer_printf(out, " & %s%.1f%s", open, value, *open ? "}" : "");
}

static s2p_status write_latex(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    const s2e_results *results = in->results;
    s2e_paper_table table;
    TRY(s2e_paper_table_make(results, results->protocol, &table, error));
    s2_buffer_printf(out, "\\begin{tabular}{lr*{%d}{r}rr}\n\\hline\nMethod & Tokens",
                     results->n_tasks);
    for (int32_t t = 0; t < results->n_tasks; t++) {
        s2_buffer_printf(out, " & ");
        s2e_latex_text(out, results->task[t].task->title);
    }
    s2_buffer_printf(out, " & Acc. & Rel. \\\\\n");
    const char *budget = NULL;
    for (int32_t i = 0; i < table.n_rows; i++) {
        const s2e_paper_row *row = &table.row[i];
        if (!budget || strcmp(budget, row->column->budget) != 0) s2_buffer_printf(out, "\\hline\n");
        budget = row->column->budget;
        s2e_latex_text(out, row->column->method);
        s2_buffer_printf(out, " & ");
        s2e_latex_text(out, row->is_full ? "all" : budget);
        for (int32_t t = 0; t < results->n_tasks; t++) number(out, row->value[t], row->mark[t]);
        number(out, row->acc, row->mark[results->n_tasks]);
        number(out, row->rel, row->mark[results->n_tasks + 1]);
        s2_buffer_printf(out, " \\\\\n");
    }
    s2_buffer_printf(out, "\\hline\n\\end{tabular}\n");
    s2e_paper_table_free(&table);
    return out->status;
}

const s2e_document document_latex = { "table.tex", write_latex };
