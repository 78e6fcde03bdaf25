/* page_document.c - report.html: one file, nothing loaded from elsewhere.
 *
 * Tables and curves are plain markup. The browser of samples is the one script, allowed by its
 * hash; no other can run, whatever an answer or a question holds.
 */
#include "base/sha256.h"
#include "eval/figure/look.h"
#include "eval/judging.h"
#include "eval/report/cost_cells.h"
#include "eval/report/documents.h"
#include "eval/report/escape.h"
#include "eval/report/results.h"
#include "eval/report/page_script.h"
#include "eval/run/fingerprint.h"
#include "image/base64.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char style[] =
    ":root{color-scheme:light dark;--line:#8884;--bad:#b3261e;--good:#146c2e;--paper:#fff;"
    "--ink:#1d2027;--head:#f4f5f7}"
    "@media screen and (prefers-color-scheme:dark){:root{--bad:#ff8f85;--good:#6fd58c;"
    "--paper:#16181d;--ink:#e6e7ea;--head:#23262d}}"
    "body{font:15px/1.45 system-ui,sans-serif;max-width:76rem;margin:2rem auto;padding:0 1rem;"
    "color:var(--ink);background:var(--paper)}"
    "table{border-collapse:collapse;margin:.5rem 0 1.5rem;font-variant-numeric:tabular-nums}"
    "td,th{padding:.15rem .5rem;text-align:right;border-bottom:1px solid var(--line)}"
    "th{vertical-align:bottom;background:var(--head)}"
    "th:first-child,td:first-child{text-align:left}"
    /* A table that is wider than the page scrolls in its own box, and its first column stays. */
    ".wide{overflow-x:auto;max-width:100%}.wide :is(th,td):first-child{position:sticky;left:0;"
    "background:var(--paper)}tr.budget td{border-top:2px solid var(--line)}"
    "td i{display:inline-block;width:.6em;height:.6em;margin-right:.45em}"
    ".small{opacity:.75;font-size:13px;margin:.2rem 0}article{display:flex;gap:1rem;flex-wrap:wrap;"
    "border-top:1px solid var(--line);padding:1rem 0}.question{margin:.2rem 0;font-weight:600;"
    "white-space:pre-wrap;max-width:40rem}.frame{position:relative;width:320px}"
    ".frame img{display:block;width:100%}.frame "
    "svg{position:absolute;inset:0;width:100%;height:100%}"
    ".frame path{fill:#000;fill-opacity:.72}td{white-space:nowrap}"
    "td.answer{text-align:left;white-space:pre-wrap;max-width:28rem;overflow-wrap:anywhere}"
    ".right{color:var(--good)}.wrong{color:var(--bad)}label{margin-right:1rem}button{font:inherit}"
    "button[aria-pressed=true]{font-weight:700;outline:2px solid currentColor}"
    "figure{margin:1rem 0}svg{max-width:100%;height:auto}svg.page{width:940px}"
    "@media print{:root{color-scheme:light}@page{margin:15mm}body{font-size:9pt;max-width:none;"
    "margin:0;padding:0}#browser,noscript{display:none}h1,h2{break-after:avoid}"
    "figure,tr{break-inside:avoid}thead{display:table-header-group}.wide{overflow:visible}"
    "table{font-size:7pt}td,th{white-space:normal;padding:.1rem .25rem;background:none}"
    "svg.page{width:6.9in}}";

static void number(s2_buffer *out, double value, s2e_mark mark)
{
    const char *tag = mark == S2E_BEST ? "b" : mark == S2E_SECOND ? "u" : NULL;
    if (isnan(value))
        s2_buffer_printf(out, "<td>-</td>");
    else if (tag)
        s2_buffer_printf(out, "<td><%s>%.1f</%s></td>", tag, value, tag);
    else
        s2_buffer_printf(out, "<td>%.1f</td>", value);
}

/* The title of a method, the one of the paper in bold, with the color it has in the figures. */
static void name(s2_buffer *out, const char *method)
{
    char title[S2_TITLE_SIZE];
    const s2_look look = s2_look_of(method, NULL);
    s2_buffer_printf(out, "<td>%s<i class=\"c%d\"></i>", look.is_ours ? "<b>" : "", look.colour);
    s2e_html_text(out, s2_title_of(method, title));
    s2_buffer_printf(out, "%s</td>", look.is_ours ? "</b>" : "");
}

static void heading(s2_buffer *out, const char *text)
{
    s2_buffer_printf(out, "<th>");
    s2e_html_text(out, text);
    s2_buffer_printf(out, "</th>");
}

static void range(s2_buffer *out, const s2e_interval *i)
{
    if (isnan(i->low))
        s2_buffer_printf(out, "<td>-</td>");
    else
        s2_buffer_printf(out, "<td>%.1f-%.1f</td>", i->low, i->high);
}

static void cell(s2_buffer *out, const char *text)
{
    s2_buffer_printf(out, "<td>");
    s2e_html_text(out, text);
    s2_buffer_printf(out, "</td>");
}

static void spread(s2_buffer *out, const s2e_spread *s)
{
    if (isnan(s->deviation))
        s2_buffer_printf(out, "<td>-</td>");
    else
        s2_buffer_printf(out, "<td>%.1f (%.1f-%.1f)</td>", s->deviation, s->low, s->high);
}

static s2p_status write_paper_table(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    const s2e_results *results = in->results;
    const s2e_paper_interval *sure = in->interval;
    s2e_paper_table table;
    TRY(s2e_paper_table_make(results, results->protocol, &table, error));
    s2_buffer_printf(out, "<div class=\"wide\"><table><thead><tr><th>method</th><th>tokens</th>");
    for (int32_t t = 0; t < results->n_tasks; t++) heading(out, results->task[t].task->title);
    s2_buffer_printf(out, "<th>Acc.</th><th>Rel.</th>%s",
                     sure ? "<th>95 % of Acc.</th><th>95 % of Rel.</th><th>seeds: sd (range) of "
                            "Acc.</th>"
                          : "");
    for (size_t k = 0; s2e_cost_heading(k); k++) heading(out, s2e_cost_heading(k));
    s2_buffer_printf(out, "</tr></thead>\n");
    for (int32_t i = 0; i < table.n_rows; i++) {
        const s2e_paper_row *row = &table.row[i];
        const bool is_new =
            i > 0 && strcmp(row->column->budget, table.row[i - 1].column->budget) != 0;
        s2_buffer_printf(out, "<tr%s>", is_new ? " class=\"budget\"" : "");
        name(out, row->column->label);
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
            s2_buffer_printf(out, "<td>%s</td>", s2e_cost_text(&cost, k, text));
        }
        s2_buffer_printf(out, "</tr>\n");
    }
    s2_buffer_printf(out, "</table></div>\n<p class=\"small\">");
    if (results->n_tasks) s2e_cost_notes(&results->task[0], s2e_html_text, out);
    s2_buffer_printf(out, "</p>\n");
    s2e_paper_table_free(&table);
    return S2P_OK;
}

static void difference(s2_buffer *out, const s2e_difference *d)
{
    if (isnan(d->value)) {
        s2_buffer_printf(out, "<td>-</td><td>-</td><td>-</td><td>-</td>");
        return;
    }
    s2_buffer_printf(out, "<td>%+.1f</td><td>[%.1f, %.1f]</td>", d->value, d->low, d->high);
    number(out, d->smallest, S2E_PLAIN);
    s2_buffer_printf(out, isnan(d->p_holm) ? "<td>-</td>" : "<td>%.2g</td>", d->p_holm);
}

static void write_comparison(const s2e_report_input *in, s2_buffer *out)
{
    if (!in->n_comparisons) return;
    s2_buffer_printf(out, "<h2>Compared with ");
    s2e_html_text(out, in->baseline);
    s2_buffer_printf(out,
                     "</h2><p class=\"small\">" S2E_COMPARISON_WORDS
                     "</p><div class=\"wide\"><table><thead><tr><th>task</th><th>here</th><th>there"
                     "</th><th>here %%</th><th>there %%</th><th>gain</th><th>95 %%</th>"
                     "<th>can show</th><th>p</th><th>headline</th><th>95 %%</th><th>can show"
                     "</th><th>p</th><th>only here</th><th>only there</th></tr></thead>\n");
    for (int32_t i = 0; i < in->n_comparisons; i++) {
        const s2e_comparison *c = &in->comparison[i];
        char a[S2E_USED_TEXT], b[S2E_USED_TEXT];
        s2_buffer_printf(out, "<tr>");
        cell(out, c->task->title);
        cell(out, s2e_used_text(c->ours, c->our_tokens, a));
        cell(out, s2e_used_text(c->theirs, c->their_tokens, b));
        s2_buffer_printf(out, "<td>%.1f</td><td>%.1f</td>", c->our_score, c->their_score);
        difference(out, &c->gain);
        difference(out, &c->headline);
        s2_buffer_printf(out, "<td>%d</td><td>%d</td></tr>\n", c->only_ours, c->only_theirs);
    }
    s2_buffer_printf(out, "</table></div>\n");
}

/* The reference against the others of each budget. */
static s2p_status write_gains(const s2e_results *results, const s2e_task_results *task,
                              s2_buffer *out)
{
    const s2e_figure *figure = s2e_headline(&task->result[0].figures[results->protocol]);
    const char *tabled = task->task->counts && figure ? figure->name : NULL; /* is no mean */
    s2e_gain *gain = NULL;
    bool has_heading = false;
    TRY(s2e_gains_make(task, results->protocol, S2E_REFERENCE, &gain));
    for (int32_t i = 0; i < task->n_results; i++) {
        if (!gain[i].reference) continue;
        if (!has_heading)
            s2_buffer_printf(
                out,
                "<p class=\"small\">%s minus the others. " S2E_COMPARISON_WORDS
                "</p><div class=\"wide\"><table><thead><tr><th>against</th><th>tokens</th>"
                "<th>gain</th><th>95 %%</th><th>can show</th><th>p</th>",
                S2E_REFERENCE);
        if (!has_heading && tabled) {
            heading(out, tabled);
            s2_buffer_printf(out, "<th>95 %%</th><th>can show</th><th>p</th>");
        }
        if (!has_heading) s2_buffer_printf(out, "</tr></thead>\n");
        has_heading = true;
        s2_buffer_printf(out, "<tr>");
        name(out, task->result[i].column.label);
        char tokens[S2E_TOKENS_TEXT];
        cell(out, s2e_tokens_text(&task->result[i].column, task->result[i].image_tokens, tokens));
        difference(out, &gain[i].mean);
        if (tabled) difference(out, &gain[i].headline);
        s2_buffer_printf(out, "</tr>\n");
    }
    if (has_heading) s2_buffer_printf(out, "</table></div>\n");
    free(gain);
    return S2P_OK;
}

/* Every figure of a task: figures across, as the run's protocol has them; the headlines of the other
 * protocols behind. */
static s2p_status write_task(const s2e_results *results, const s2e_task_results *task,
                             s2_buffer *out)
{
    const s2e_figures *names = &task->result[0].figures[results->protocol];
    s2_buffer_printf(out, "<h2>");
    s2e_html_text(out, task->task->title);
    s2_buffer_printf(out, "</h2><p class=\"small\">");
    s2e_html_text(out, task->task->summary);
    s2_buffer_printf(out,
                     "; %d samples, %d pictures</p><div class=\"wide\"><table><thead><tr><th>method"
                     "</th><th>tokens</th><th>mean score</th><th>95 %%</th>",
                     task->set->n_samples, task->set->n_pictures);
    const s2e_figure *tabled = task->task->counts ? s2e_headline(names) : NULL; /* is no mean */
    if (tabled) s2_buffer_printf(out, "<th>95 %% of %s</th>", tabled->name);
    for (int32_t f = 0; f < names->n; f++) {
        char text[200];
        (void)snprintf(text, sizeof text, "%s%s%s", names->figure[f].name,
                       names->figure[f].section[0] ? ": " : "", names->figure[f].section);
        heading(out, text);
    }
    for (int p = 0; p < S2E_N_PROTOCOLS; p++)
        if (p != (int)results->protocol) heading(out, s2e_protocol_name((size_t)p));
    s2_buffer_printf(out, "</tr></thead>\n");
    for (int32_t i = 0; i < task->n_results; i++) {
        const s2e_result *r = &task->result[i];
        const s2e_figures *figures = &r->figures[results->protocol];
        s2e_interval mean, headline;
        double best;
        TRY(s2e_interval_of(task->set, r->score[results->protocol], &mean));
        TRY(s2e_headline_interval(task, results->protocol, r, NULL, &headline));
        s2_buffer_printf(out, "<tr>");
        name(out, r->column.label);
        char tokens[S2E_TOKENS_TEXT];
        cell(out, s2e_tokens_text(&r->column, r->image_tokens, tokens));
        s2_buffer_printf(out, "<td>%.1f</td><td>%.1f-%.1f</td>", mean.value, mean.low, mean.high);
        if (tabled && isnan(headline.low))
            s2_buffer_printf(out, "<td>-</td>");
        else if (tabled)
            s2_buffer_printf(out, "<td>%.1f-%.1f</td>", headline.low, headline.high);
        for (int32_t f = 0; f < names->n; f++)
            number(out, f < figures->n ? figures->figure[f].value : (double)NAN, S2E_PLAIN);
        for (int p = 0; p < S2E_N_PROTOCOLS; p++)
            if (p != (int)results->protocol)
                number(out, s2e_result_headline(r, (s2e_protocol)p, &best), S2E_PLAIN);
        s2_buffer_printf(out, "</tr>\n");
    }
    s2_buffer_printf(out, "</table></div>\n");
    return write_gains(results, task, out);
}

static void write_head(const s2e_results *results, s2_buffer *out)
{
    uint8_t digest[32];
    char hash[S2_SHA256_HEX];
    s2e_fingerprint_hash(results->values, hash);
    s2_sha256_state script;
    s2_sha256_start(&script);
    for (size_t i = 0; i < sizeof page_script / sizeof *page_script; i++)
        s2_sha256_add(&script, page_script[i], strlen(page_script[i]));
    s2_sha256_finish(&script, digest);
    s2_buffer_printf(out, "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                          "<meta name=\"viewport\" content=\"width=device-width\">"
                          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src "
                          "'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-");
    s2_base64_append(out, digest, sizeof digest);
    s2_buffer_printf(out, "'\">\n<title>Evaluation of ");
    s2e_html_text(out, results->model);
    s2_buffer_printf(out, "</title><style>%s", style);
    s2_look_css(out);
    s2_buffer_printf(out, "</style></head><body>\n<h1>Evaluation of ");
    s2e_html_text(out, results->model);
    s2_buffer_printf(
        out,
        "</h1>\n<p>Prompts and limits of protocol %s%s; run <code>%.12s</code>. Best "
        "of a budget bold, second underlined. Tokens: mean of those used, with the budget "
        "where it differs. Acc.: mean of the benchmarks, MME / 28; Rel.: mean of the "
        "ratios to all tokens.</p>\n",
        s2e_protocol_name((size_t)results->protocol),
        results->is_published ? ", methods as published" : "", hash);
}

static s2p_status write_browser(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    s2_buffer_printf(out,
                     "<section id=\"browser\" hidden><h2>Samples</h2><p>"
                     "<label>task <select id=\"task\"></select></label>"
                     "<label>right in <select id=\"right\"></select></label>"
                     "<label>wrong in <select id=\"wrong\"></select></label>"
                     "<label>category <select id=\"category\"></select></label>"
                     "<label>words <input id=\"words\" type=\"search\"></label>"
                     "<button id=\"back\" type=\"button\">back</button> "
                     "<button id=\"next\" type=\"button\">next</button></p>"
                     "<p id=\"count\" class=\"small\"></p><div id=\"samples\"></div></section>\n"
                     "<noscript><p>The browser of samples needs scripts; results.sqlite and "
                     "per_sample.csv have every answer.</p></noscript>\n"
                     "<script type=\"application/json\" id=\"data\">");
    TRY(s2e_browser_write(in, out, error));
    s2_buffer_printf(out, "</script>\n<script>");
    for (size_t i = 0; i < sizeof page_script / sizeof *page_script; i++)
        s2_buffer_printf(out, "%s", page_script[i]);
    s2_buffer_printf(out, "</script>\n");
    return S2P_OK;
}

static s2p_status write_page(const s2e_report_input *in, s2_buffer *out, s2p_error *error)
{
    const s2e_results *results = in->results;
    write_head(results, out);
    TRY(write_paper_table(in, out, error));
    TRY(s2e_curves_page(results, out, error));
    write_comparison(in, out);
    for (int32_t t = 0; t < results->n_tasks; t++)
        if (write_task(results, &results->task[t], out) != S2P_OK)
            return s2_fail_memory(error, sizeof(double), "the intervals");
    TRY(write_browser(in, out, error));
    s2_buffer_printf(out, "</body></html>\n");
    return out->status;
}

const s2e_document document_page = { "report.html", write_page };
