/* markdown_document.c - report.md: the paper's table, what the four protocols say, every figure,
 * categories, comparisons.
 */
#include "eval/figure/look.h"
#include "eval/judging.h"
#include "eval/report/cost_cells.h"
#include "eval/report/documents.h"
#include "eval/report/escape.h"
#include "eval/report/results.h"
#include "eval/run/fingerprint.h"

#include <math.h>
#include <string.h>

#define MOST_PROBLEMS 20  /* summary.json has more */
#define FEW_CATEGORIES 16 /* of a table across */

static void number(s2_buffer *out, double value, s2e_mark mark)
{
    const char *open = mark == S2E_BEST ? "**" : mark == S2E_SECOND ? "<u>" : "";
    const char *close = mark == S2E_BEST ? "**" : mark == S2E_SECOND ? "</u>" : "";
    if (isnan(value))
        s2_buffer_printf(out, " - |");
    else
        s2_buffer_printf(out, " %s%.1f%s |", open, value, close);
}

static void name(s2_buffer *out, const char *method)
{
    char title[S2_TITLE_SIZE];
    s2e_markdown_text(out, s2_title_of(method, title));
}

static void cell(s2_buffer *out, const char *text)
{
    s2_buffer_printf(out, " ");
    s2e_markdown_text(out, text);
    s2_buffer_printf(out, " |");
}

static void range(s2_buffer *out, const s2e_interval *i)
{
    if (isnan(i->low))
        s2_buffer_printf(out, " - |");
    else
        s2_buffer_printf(out, " %.1f-%.1f |", i->low, i->high);
}

static void rule(s2_buffer *out, int32_t n_left, int32_t n_right)
{
    s2_buffer_printf(out, "|");
    for (int32_t i = 0; i < n_left; i++) s2_buffer_printf(out, "---|");
    for (int32_t i = 0; i < n_right; i++) s2_buffer_printf(out, "---:|");
    s2_buffer_printf(out, "\n");
}

static void spread(s2_buffer *out, const s2e_spread *s)
{
    if (isnan(s->deviation))
        s2_buffer_printf(out, " - |");
    else
        s2_buffer_printf(out, " %.1f (%.1f-%.1f) |", s->deviation, s->low, s->high);
}

static s2p_status write_paper_table(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    const s2e_results *results = in->results;
    const s2e_paper_interval *sure = in->interval;
    s2e_paper_table table;
    TRY(s2e_paper_table_make(results, results->protocol, &table, error));
    s2_buffer_printf(out, "| method | tokens |");
    for (int32_t t = 0; t < results->n_tasks; t++) cell(out, results->task[t].task->title);
    s2_buffer_printf(out, " Acc. | Rel. |%s",
                     sure ? " 95 % of Acc. | 95 % of Rel. | seeds: sd (range) of Acc. |" : "");
    int32_t n_costs = 0;
    for (; s2e_cost_heading((size_t)n_costs); n_costs++)
        s2_buffer_printf(out, " %s |", s2e_cost_heading((size_t)n_costs));
    s2_buffer_printf(out, "\n");
    rule(out, 1, results->n_tasks + (sure ? 6 : 3) + n_costs);
    for (int32_t i = 0; i < table.n_rows; i++) {
        const s2e_paper_row *row = &table.row[i];
        s2_buffer_printf(out, "| ");
        name(out, row->column->label);
        s2_buffer_printf(out, " |");
        const s2e_cost cost = s2e_cost_of(results, i);
        char tokens[S2E_TOKENS_TEXT];
        cell(out, s2e_tokens_text(row->column, cost.tokens, tokens));
        for (int32_t t = 0; t < results->n_tasks; t++) number(out, row->value[t], row->mark[t]);
        number(out, row->acc, row->mark[results->n_tasks]);
        number(out, row->rel, row->mark[results->n_tasks + 1]);
        if (sure) {
            range(out, &sure[i].acc);
            range(out, &sure[i].rel);
            spread(out, &sure[i].seeds);
        }
        for (size_t k = 0; s2e_cost_heading(k); k++) {
            char text[S2E_COST_TEXT];
            s2_buffer_printf(out, " %s |", s2e_cost_text(&cost, k, text));
        }
        s2_buffer_printf(out, "\n");
    }
    s2_buffer_printf(out, "\n");
    if (results->n_tasks) s2e_cost_notes(&results->task[0], s2e_markdown_text, out);
    s2_buffer_printf(out, "\n");
    s2e_paper_table_free(&table);
    return S2P_OK;
}

/* The headline of each protocol on the same answers, and the mean score with its interval. */
static s2p_status write_protocols(const s2e_task_results *task, s2e_protocol own, s2_buffer *out)
{
    const s2e_figure *figure = s2e_headline(&task->result[0].figures[own]);
    s2_buffer_printf(out, "\n");
    s2e_markdown_text(out, figure ? figure->name : "");
    s2_buffer_printf(out, ", by protocol\n\n| method | tokens |");
    for (size_t p = 0; p < S2E_N_PROTOCOLS; p++)
        s2_buffer_printf(out, " %s |", s2e_protocol_name(p));
    s2_buffer_printf(out, " 95 %% of %s | mean score | 95 %% |\n", s2e_protocol_name((size_t)own));
    rule(out, 1, S2E_N_PROTOCOLS + 4);
    for (int32_t i = 0; i < task->n_results; i++) {
        const s2e_result *r = &task->result[i];
        s2e_interval interval, headline;
        char tokens[S2E_TOKENS_TEXT];
        double best;
        TRY(s2e_interval_of(task->set, r->score[own], &interval));
        TRY(s2e_headline_interval(task, own, r, NULL, &headline));
        s2_buffer_printf(out, "| ");
        name(out, r->column.label);
        s2_buffer_printf(out, " |");
        cell(out, s2e_tokens_text(&r->column, r->image_tokens, tokens));
        for (int p = 0; p < S2E_N_PROTOCOLS; p++)
            number(out, s2e_result_headline(r, (s2e_protocol)p, &best), S2E_PLAIN);
        range(out, &headline);
        number(out, interval.value, S2E_PLAIN);
        range(out, &interval);
        s2_buffer_printf(out, "\n");
    }
    return S2P_OK;
}

/* Every figure of the run's protocol: figures down, the columns of one budget across. */
static void write_figures(const s2e_task_results *task, s2e_protocol own, s2_buffer *out)
{
    const s2e_figures *names = &task->result[0].figures[own];
    bool is_done[S2A_MAX_SETTINGS] = { false };
    for (int32_t first = 0; first < task->n_results; first++) {
        if (is_done[first] ||
            (s2a_budget_is_none(task->result[first].budget) && task->n_results > 1))
            continue;
        const char *budget = task->result[first].column.budget;
        int32_t n = 0, column[S2A_MAX_SETTINGS];
        for (int32_t i = 0; i < task->n_results; i++) {
            const s2e_result *r = &task->result[i];
            const bool is_here = strcmp(r->column.budget, budget) == 0;
            if (is_here) is_done[i] = true;
            if (is_here || s2a_budget_is_none(r->budget)) column[n++] = i;
        }
        s2_buffer_printf(out, "\nFigures at %s tokens\n\n| figure | section | samples |", budget);
        for (int32_t i = 0; i < n; i++) {
            s2_buffer_printf(out, " ");
            const s2e_result *r = &task->result[column[i]];
            name(out, r->column.label);
            if (s2e_tokens_differ(&r->column, r->image_tokens))
                s2_buffer_printf(out, ", %.0f used", r->image_tokens);
            s2_buffer_printf(out, " |");
        }
        s2_buffer_printf(out, "\n");
        rule(out, 2, n + 1);
        for (int32_t f = 0; f < names->n; f++) {
            s2_buffer_printf(out, "| ");
            s2e_markdown_text(out, names->figure[f].name);
            s2_buffer_printf(out, " | ");
            s2e_markdown_text(out, names->figure[f].section);
            s2_buffer_printf(out, " | %d |", names->figure[f].n);
            for (int32_t i = 0; i < n; i++) {
                const s2e_figures *figures = &task->result[column[i]].figures[own];
                number(out, f < figures->n ? figures->figure[f].value : (double)NAN, S2E_PLAIN);
            }
            s2_buffer_printf(out, "\n");
        }
    }
}

static void difference(s2_buffer *out, const s2e_difference *d)
{
    if (isnan(d->value)) {
        s2_buffer_printf(out, " - | - | - | - |");
        return;
    }
    s2_buffer_printf(out, " %+.1f | [%.1f, %.1f] |", d->value, d->low, d->high);
    number(out, d->smallest, S2E_PLAIN);
    s2_buffer_printf(out, isnan(d->p_holm) ? " - |" : " %.2g |", d->p_holm);
}

static void write_comparison(const s2e_report_input *in, s2_buffer *out)
{
    if (!in->n_comparisons) return;
    s2_buffer_printf(out, "\n## Compared with ");
    s2e_markdown_text(out, in->baseline);
    s2_buffer_printf(out,
                     "\n\n" S2E_COMPARISON_WORDS
                     "\n\n| task | here | there | here %% | there %% | gain | 95 %% | can show | p "
                     "| headline | 95 %% | can show | p | only here | only there |\n");
    rule(out, 3, 12);
    for (int32_t i = 0; i < in->n_comparisons; i++) {
        const s2e_comparison *c = &in->comparison[i];
        char a[S2E_USED_TEXT], b[S2E_USED_TEXT];
        s2_buffer_printf(out, "|");
        cell(out, c->task->title);
        cell(out, s2e_used_text(c->ours, c->our_tokens, a));
        cell(out, s2e_used_text(c->theirs, c->their_tokens, b));
        s2_buffer_printf(out, " %.1f | %.1f |", c->our_score, c->their_score);
        difference(out, &c->gain);
        difference(out, &c->headline);
        s2_buffer_printf(out, " %d | %d |\n", c->only_ours, c->only_theirs);
    }
}

/* Items of the data that are not in the numbers. */
static void write_problems(const s2e_set *set, s2_buffer *out)
{
    if (!set->n_problems) return;
    s2_buffer_printf(out, "\n%d items could not be used:\n\n", set->n_problems);
    for (int32_t i = 0; i < set->n_problems && i < MOST_PROBLEMS; i++) {
        const s2e_problem *p = &set->problem[i];
        s2_buffer_printf(out, "- ");
        if (p->row > 0) {
            s2e_markdown_text(out, p->file);
            s2_buffer_printf(out, ", row %lld: ", (long long)p->row);
        }
        s2e_markdown_text(out, p->sentence);
        s2_buffer_printf(out, "\n");
    }
    if (set->n_problems > MOST_PROBLEMS) s2_buffer_printf(out, "- ...\n");
}

static s2p_status write_task(const s2e_results *results, const s2e_task_results *task,
                             s2_buffer *out)
{
    const s2e_report categories = { .model = results->model,
                                    .results = task,
                                    .protocol = results->protocol,
                                    .is_published = results->is_published,
                                    .reference = S2E_REFERENCE,
                                    .most_categories = FEW_CATEGORIES,
                                    .is_first = true };
    s2_buffer_printf(out, "\n## %s\n", task->task->title);
    write_problems(task->set, out);
    TRY(write_protocols(task, results->protocol, out));
    write_figures(task, results->protocol, out);
    s2_buffer_printf(out, "\n### Mean score by category\n\n");
    return s2e_report_write(&categories, S2E_MARKDOWN, out);
}

static s2p_status write_markdown(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    const s2e_results *results = in->results;
    char hash[S2_SHA256_HEX];
    s2e_fingerprint_hash(results->values, hash);
    s2_buffer_printf(out, "# Evaluation of ");
    s2e_markdown_text(out, results->model);
    s2_buffer_printf(
        out,
        "\n\nPrompts and limits of protocol %s%s; run %.12s. The best of each budget is bold, "
        "second underlined. Tokens: mean of those used, with the budget where it differs. "
        "Acc.: mean of the benchmarks, MME / 28; Rel.: mean of the ratios to all "
        "tokens.\n\n",
        s2e_protocol_name((size_t)results->protocol),
        results->is_published ? ", methods as published" : "", hash);
    TRY(write_paper_table(in, out, error));
    write_comparison(in, out);
    for (int32_t t = 0; t < results->n_tasks; t++)
        if (write_task(results, &results->task[t], out) != S2P_OK)
            return s2_fail_memory(error, sizeof(double), "the intervals");
    return out->status;
}

const s2e_document document_markdown = { "report.md", write_markdown };
