/* latex_document.c - table.tex: the paper's table with booktabs, to be \input.
 *
 * Methods down in groups by budget, benchmarks across, as in the paper's Table 1; below each row the
 * 95 % intervals in small letters. Names carry the citation keys of the paper (docs/FIGURES.md).
 */
#include "eval/report/documents.h"

#include "eval/figure/look.h"
#include "eval/judging.h"
#include "eval/report/cost_cells.h"
#include "eval/report/escape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void number(s2_buffer *out, double value, s2e_mark mark, const char *unit)
{
    const char *open = mark == S2E_BEST ? "\\textbf{" : mark == S2E_SECOND ? "\\underline{" : "";
    if (isnan(value))
        s2_buffer_printf(out, " & --");
    else
        s2_buffer_printf(out, " & %s%.1f%s%s", open, value, unit, *open ? "}" : "");
}

static void range(s2_buffer *out, const s2e_interval *i)
{
    if (isnan(i->low) || isnan(i->high))
        s2_buffer_printf(out, " & ");
    else
        s2_buffer_printf(out, " & {\\tiny [%.1f, %.1f]}", i->low, i->high);
}

static void write_name(s2_buffer *out, const char *method)
{
    char title[S2_TITLE_SIZE];
    const char *cite = s2_look_cite(method);
    s2e_latex_text(out, s2_title_of(method, title));
    if (cite) s2_buffer_printf(out, "~\\cite{%s}", cite);
}

static int32_t n_costs(void)
{
    int32_t n = 0;
    while (s2e_cost_heading((size_t)n)) n++;
    return n;
}

/* Where the heading of a group does not say how many tokens its rows used, a column does. */
static int32_t has_tokens(const s2e_results *results)
{
    const int32_t n = results->n_tasks ? results->task[0].n_results : 0;
    for (int32_t i = 0; i < n; i++)
        if (s2e_tokens_differ(&results->task[0].result[i].column, s2e_cost_of(results, i).tokens))
            return 1;
    return 0;
}

static void write_head(const s2e_results *results, s2_buffer *out)
{
    s2_buffer_printf(out,
                     "%% \\usepackage{booktabs}\n\\begin{table*}[t]\n  \\centering\n  \\caption{"
                     "Results of ");
    s2e_latex_text(out, results->model);
    s2_buffer_printf(
        out,
        " under different token budgets, protocol %s%s. Acc.\\ averages the "
        "benchmarks after dividing MME by 28; Rel.\\ averages the ratios to all tokens. "
        "Bold entries are the best within each budget, underlined entries the second "
        "best, by unrounded scores. Small: 95\\%% intervals over pictures.}\n"
        "  \\label{tab:s2prune-results}\n  \\small\n  \\setlength{\\tabcolsep}{2.5pt}\n"
        "  \\begin{tabular}{l*{%d}{c}}\n    \\toprule\n    \\textbf{Method}",
        s2e_protocol_name((size_t)results->protocol),
        results->is_published ? ", methods as published" : "",
        results->n_tasks + 2 + has_tokens(results) + n_costs());
    if (has_tokens(results)) s2_buffer_printf(out, " & \\textbf{Tokens}");
    for (int32_t t = 0; t < results->n_tasks; t++) {
        s2_buffer_printf(out, " & \\textbf{");
        s2e_latex_text(out, results->task[t].task->title);
        s2_buffer_printf(out, "}");
    }
    s2_buffer_printf(out, " & \\textbf{Acc.} & \\textbf{Rel.}");
    for (size_t k = 0; s2e_cost_heading(k); k++) {
        s2_buffer_printf(out, " & \\textbf{");
        s2e_latex_text(out, s2e_cost_heading(k));
        s2_buffer_printf(out, "}");
    }
    s2_buffer_printf(out, " \\\\\n");
}

static void write_group(const s2e_results *results, const s2e_paper_row *row, s2_buffer *out)
{
    s2_buffer_printf(out, "    \\midrule\n    \\multicolumn{%d}{c}{\\emph{",
                     results->n_tasks + 3 + has_tokens(results) + n_costs());
    if (row->is_full) {
        s2_buffer_printf(out, "All visual tokens");
    } else {
        s2_buffer_printf(out, "Retain ");
        s2e_latex_text(out, row->column->budget);
        s2_buffer_printf(out, " visual tokens");
    }
    s2_buffer_printf(out, "}} \\\\\n    \\midrule\n");
}

static s2p_status write_row(const s2e_results *results, const s2e_paper_table *table, int32_t i,
                            const s2e_paper_interval *interval, s2_buffer *out, s2p_error *error)
{
    const s2e_paper_row *row = &table->row[i];
    const int32_t n = results->n_tasks;
    s2_buffer_printf(out, "    ");
    write_name(out, row->column->label);
    const s2e_cost cost = s2e_cost_of(results, i);
    if (has_tokens(results)) s2_buffer_printf(out, " & %.0f", cost.tokens);
    for (int32_t t = 0; t < n; t++) number(out, row->value[t], row->mark[t], "");
    number(out, row->acc, row->mark[n], "");
    number(out, row->rel, row->mark[n + 1], "\\%");
    for (size_t k = 0; s2e_cost_heading(k); k++) {
        char text[S2E_COST_TEXT];
        s2_buffer_printf(out, " & ");
        s2e_latex_text(out, s2e_cost_text(&cost, k, text));
    }
    s2_buffer_printf(out, " \\\\[-2pt]\n    %s", has_tokens(results) ? " &" : "");
    for (int32_t t = 0; t < n; t++) {
        s2e_interval v;
        if (s2e_headline_interval(&results->task[t], results->protocol, &results->task[t].result[i],
                                  NULL, &v) != S2P_OK)
            return s2_fail_memory(error, 1, "the intervals");
        range(out, &v);
    }
    range(out, &interval[i].acc);
    range(out, &interval[i].rel);
    for (int32_t k = 0; k < n_costs(); k++) s2_buffer_printf(out, " &");
    s2_buffer_printf(out, " \\\\\n");
    return S2P_OK;
}

static s2p_status write_latex(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    const s2e_results *results = in->results;
    s2e_paper_table table;
    s2e_paper_interval *interval = NULL;
    TRY(s2e_paper_table_make(results, results->protocol, &table, error));
    s2p_status st = s2e_paper_intervals_make(results, &table, &interval, error);
    if (st == S2P_OK) write_head(results, out);
    for (int32_t i = 0; st == S2P_OK && i < table.n_rows; i++) {
        const s2e_paper_row *row = &table.row[i];
        if (i == 0 || strcmp(row->column->budget, table.row[i - 1].column->budget) != 0)
            write_group(results, row, out);
        st = write_row(results, &table, i, interval, out, error);
    }
    s2_buffer_printf(out, "    \\bottomrule\n  \\end{tabular}\n");
    if (st == S2P_OK && results->n_tasks) s2e_cost_notes(&results->task[0], s2e_latex_text, out);
    s2_buffer_printf(out, "\\end{table*}\n");
    free(interval);
    s2e_paper_table_free(&table);
    return st == S2P_OK ? out->status : st;
}

const s2e_document document_latex = { "table.tex", write_latex };
