/* category_table.c - one walk over the results, four ways to write them.
 *
 * Text and Markdown are the same three tables and differ in how a cell ends. CSV is one row per
 * setting and category. JSON (schema s2prune.eval/1) has all of it.
 */
#include "eval/report/documents.h"

#include "base/markup.h"
#include "eval/judging.h"
#include "eval/report/cost_cells.h"
#include "eval/report/escape.h"
#include "eval/report/results.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *s2e_format_name(size_t index)
{
    static const char *const names[] = { "text", "json", "csv", "md" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

static const float *score_of(const s2e_report *r, const s2e_result *one)
{
    return one->score[r->protocol];
}

/* The name of the tables' number, where that is not the mean score; NULL: it is. */
static const char *headline_name(const s2e_report *r)
{
    const s2e_figure *figure = s2e_headline(&r->results->result[0].figures[r->protocol]);
    return r->results->task->counts && figure ? figure->name : NULL;
}

static bool has_seeds(const s2e_report *r)
{
    for (int32_t i = 0; i < r->results->n_results; i++)
        if (r->results->result[i].column.n_seeds > 1) return true;
    return false;
}

/* Of the number of the tables, which is the mean score where there is no other. */
static s2e_spread spread_of(const s2e_report *r, const s2e_result *one)
{
    return s2e_spread_of(headline_name(r) ? one->seed_headline : one->seed_score,
                         one->column.n_seeds);
}

/* --- text and Markdown ------------------------------------------------------- */

typedef struct table { /* a cell at a time; the first two of a row stand left */
    s2_buffer *out;
    bool is_markdown;
    int column;
    int first;  /* width of the first column */
    int tokens; /* and of the second */
} table;

static void cell(table *t, int width, const char *text)
{
    if (t->is_markdown)
        s2_buffer_printf(t->out, "%s %s ", "|", text);
    else
        s2_buffer_printf(t->out, t->column == 0 ? "%-*s" : "  %*s",
                         t->column == 0 ? t->first : width, text);
    t->column++;
}

/* A name from the data, from a plug-in or from another user's run. */
static void name_cell(table *t, int width, const char *name)
{
    if (!t->is_markdown) {
        cell(t, width, name);
        return;
    }
    s2_buffer_printf(t->out, "| ");
    s2e_markdown_text(t->out, name);
    s2_buffer_printf(t->out, " ");
    t->column++;
}

static void end_row(table *t, bool is_heading)
{
    s2_buffer_printf(t->out, t->is_markdown ? "|\n" : "\n");
    if (is_heading && t->is_markdown) {
        s2_buffer_printf(t->out, "|---|");
        for (int i = 1; i < t->column; i++) s2_buffer_printf(t->out, "---:|");
        s2_buffer_printf(t->out, "\n");
    }
    t->column = 0;
}

static void number_cell(table *t, int width, double value)
{
    char text[32] = "-";
    if (value >= 0.0) (void)snprintf(text, sizeof text, "%.1f", value);
    cell(t, width, text);
}

static void setting_cells(table *t, const s2e_result *r)
{
    char tokens[S2E_TOKENS_TEXT];
    name_cell(t, 14, r->column.label);
    cell(t, t->tokens, s2e_tokens_text(&r->column, r->image_tokens, tokens));
}

static void interval_cells(table *t, const s2e_interval *i, bool is_gain)
{
    char value[40], range[80];
    (void)snprintf(value, sizeof value, is_gain ? "%+.1f" : "%.1f", i->value);
    (void)snprintf(range, sizeof range, is_gain ? "[%.1f, %.1f]" : "%.1f-%.1f", i->low, i->high);
    cell(t, 6, value);
    cell(t, 14, range);
}

static void difference_cells(table *t, const s2e_difference *d)
{
    char p[40] = "-";
    const s2e_interval interval = { d->value, d->low, d->high };
    interval_cells(t, &interval, true);
    number_cell(t, 8, isnan(d->smallest) ? -1.0 : d->smallest);
    if (!isnan(d->p_holm)) (void)snprintf(p, sizeof p, "%.2g", d->p_holm);
    cell(t, 8, p);
}

static void difference_heading(table *t, const char *name)
{
    name_cell(t, 6, name);
    cell(t, 14, "interval");
    cell(t, 8, "can show");
    cell(t, 8, "p (Holm)");
}

static void spread_cells(table *t, const s2e_spread *s)
{
    char deviation[40] = "-", range[80] = "-";
    if (!isnan(s->deviation)) {
        (void)snprintf(deviation, sizeof deviation, "%.1f", s->deviation);
        (void)snprintf(range, sizeof range, "%.1f-%.1f", s->low, s->high);
    }
    cell(t, 8, deviation);
    cell(t, 11, range);
}

static int width_of(const char *name)
{
    const int n = (int)strlen(name);
    return n > 5 ? n : 5;
}

static s2p_status write_accuracy(const s2e_report *r, table *t)
{
    const s2e_set *set = r->results->set;
    const int32_t n_across =
        r->most_categories && set->n_categories > r->most_categories ? 0 : set->n_categories;
    const s2e_accuracy counts = s2e_accuracy_of(set, score_of(r, &r->results->result[0]));
    cell(t, 14, "method");
    cell(t, t->tokens, "tokens");
    for (int32_t c = 0; c < n_across; c++)
        if (counts.n_category[c]) name_cell(t, width_of(set->category[c]), set->category[c]);
    cell(t, 5, "mean");
    cell(t, 5, "all");
    cell(t, 12, "95 % of all");
    if (headline_name(r)) {
        name_cell(t, 6, headline_name(r));
        cell(t, 14, "95 % of it");
    }
    if (has_seeds(r)) {
        cell(t, 8, "seeds sd");
        cell(t, 11, "seeds range");
    }
    for (size_t k = 0; s2e_cost_heading(k); k++)
        cell(t, width_of(s2e_cost_heading(k)), s2e_cost_heading(k));
    end_row(t, true);
    for (int32_t i = 0; i < r->results->n_results; i++) {
        const s2e_accuracy a = s2e_accuracy_of(set, score_of(r, &r->results->result[i]));
        s2e_interval interval;
        if (s2e_bootstrap(set, score_of(r, &r->results->result[i]), NULL, &interval) != S2P_OK)
            return S2P_ENOMEM;
        setting_cells(t, &r->results->result[i]);
        for (int32_t c = 0; c < n_across; c++)
            if (a.n_category[c]) number_cell(t, width_of(set->category[c]), a.category[c]);
        number_cell(t, 5, a.mean);
        number_cell(t, 5, a.all);
        char text[40];
        (void)snprintf(text, sizeof text, "%.1f-%.1f", interval.low, interval.high);
        cell(t, 12, text);
        if (headline_name(r)) {
            TRY(s2e_headline_interval(r->results, r->protocol, &r->results->result[i], NULL,
                                      &interval));
            interval_cells(t, &interval, false);
        }
        if (has_seeds(r)) {
            const s2e_spread spread = spread_of(r, &r->results->result[i]);
            spread_cells(t, &spread);
        }
        const s2e_cost cost = s2e_cost_of_result(&r->results->result[i]);
        for (size_t k = 0; s2e_cost_heading(k); k++) {
            char shown[S2E_COST_TEXT];
            cell(t, width_of(s2e_cost_heading(k)), s2e_cost_text(&cost, k, shown));
        }
        end_row(t, false);
    }
    return S2P_OK;
}

static void write_gains(const s2e_report *r, const s2e_gain *gain, table *t)
{
    bool has_heading = false;
    for (int32_t i = 0; i < r->results->n_results; i++) {
        if (!gain[i].reference) continue;
        if (!has_heading) {
            s2_buffer_printf(t->out,
                             "\n%s minus the others, all questions: 95 %% paired interval over "
                             "pictures; the smallest difference\nthese pictures can show with "
                             "80 %% power at p .05; p by swapping pictures, corrected by Holm over "
                             "the rows\n\n",
                             r->reference);
            cell(t, 14, "against");
            cell(t, t->tokens, "tokens");
            difference_heading(t, "gain");
            if (headline_name(r)) difference_heading(t, headline_name(r));
            end_row(t, true);
            has_heading = true;
        }
        setting_cells(t, &r->results->result[i]);
        difference_cells(t, &gain[i].mean);
        if (headline_name(r)) difference_cells(t, &gain[i].headline);
        end_row(t, false);
    }
}

static void write_thirds(const s2e_report *r, table *t)
{
    double third[3];
    if (!s2e_thirds(r->results->set, score_of(r, &r->results->result[0]), third)) return;
    /* One division for all budgets: the value the data state, not one of the grid in use. */
    s2_buffer_printf(t->out,
                     "\nall questions, pictures in thirds of the structural heterogeneity "
                     "stored with the data\n('s2prune analyze heterogeneity' measures it on "
                     "the grid of each budget)\n\n");
    cell(t, 14, "method");
    cell(t, t->tokens, "tokens");
    cell(t, 6, "low");
    cell(t, 6, "medium");
    cell(t, 6, "high");
    end_row(t, true);
    for (int32_t i = 0; i < r->results->n_results; i++) {
        (void)s2e_thirds(r->results->set, score_of(r, &r->results->result[i]), third);
        setting_cells(t, &r->results->result[i]);
        for (int k = 0; k < 3; k++) number_cell(t, 6, third[k]);
        end_row(t, false);
    }
}

static s2p_status write_tables(const s2e_report *r, const s2e_gain *gain, bool is_markdown,
                               s2_buffer *out)
{
    table t = { out, is_markdown, 0, 14, 6 };
    for (int32_t i = 0; i < r->results->n_results; i++) {
        const int n = (int)strlen(r->results->result[i].column.label);
        char tokens[S2E_TOKENS_TEXT];
        const s2e_result *one = &r->results->result[i];
        const int n_tokens = (int)strlen(s2e_tokens_text(&one->column, one->image_tokens, tokens));
        if (n > t.first) t.first = n;
        if (n_tokens > t.tokens) t.tokens = n_tokens;
    }
    if (!r->is_first) s2_buffer_printf(out, "\n");
    s2_buffer_printf(out, "%s with ", r->results->task->name);
    if (is_markdown)
        s2e_markdown_text(out, r->model);
    else
        s2_buffer_printf(out, "%s", r->model);
    s2_buffer_printf(out, ": %d pictures, %d questions; percent right%s\n\n",
                     r->results->set->n_pictures, r->results->set->n_samples,
                     r->is_published ? "; methods as published" : "");
    s2p_status st = write_accuracy(r, &t);
    if (st == S2P_OK) {
        s2_buffer notes; /* a paragraph of its own */
        s2_buffer_init(&notes, 1 << 16);
        s2e_cost_notes(r->results, is_markdown ? s2e_markdown_text : NULL, &notes);
        if (notes.size > 0)
            s2_buffer_printf(out, "\n%.*s\n", (int)notes.size, (const char *)notes.data);
        s2_buffer_free(&notes);
    }
    if (st == S2P_OK) write_gains(r, gain, &t);
    if (st == S2P_OK) write_thirds(r, &t);
    return st;
}

/* --- CSV --------------------------------------------------------------------- */

/* Every row ends in the same fields; what a row does not have is empty. */
static void csv_number(s2_buffer *out, double value)
{
    if (isfinite(value))
        s2_buffer_printf(out, ",%.6g", value);
    else
        s2_buffer_printf(out, ",");
}

static void csv_row(const s2e_report *r, const s2e_result *one, const char *category, int32_t n,
                    double value, const s2e_gain *gain, s2_buffer *out)
{
    s2_buffer_printf(out, "%s,", r->results->task->name);
    s2_csv_append(out, one->column.label);
    s2_buffer_printf(out, ",%.0f,%d,", one->image_tokens, one->column.n_seeds);
    s2_csv_append(out, category);
    s2_buffer_printf(out, ",%d,%.4f", n, value);
    const double none = (double)NAN;
    const s2e_spread spread = gain ? s2e_spread_of(one->seed_score, one->column.n_seeds)
                                   : (s2e_spread){ none, none, none };
    csv_number(out, spread.deviation);
    csv_number(out, spread.low);
    csv_number(out, spread.high);
    const s2e_difference nothing = { none, none, none, none, none, none };
    const s2e_difference *d = gain ? &gain->mean : &nothing;
    const double field[] = { d->value, d->low, d->high, d->smallest, d->p, d->p_holm };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) csv_number(out, field[i]);
    s2e_cost_csv(one, out);
    s2_buffer_printf(out, ",%s\n", s2a_budget_is_none(one->budget) ? "" : one->column.budget);
}

static void write_csv(const s2e_report *r, const s2e_gain *gain, s2_buffer *out)
{
    if (r->is_first)
        s2_buffer_printf(out,
                         "task,method,tokens,seeds,category,questions,accuracy,"
                         "seeds_deviation,seeds_low,seeds_high,reference_gain,gain_low,"
                         "gain_high,smallest_difference,p,p_holm," S2E_COST_FIELDS ",budget\n");
    for (int32_t i = 0; i < r->results->n_results; i++) {
        const s2e_result *one = &r->results->result[i];
        const s2e_accuracy a = s2e_accuracy_of(r->results->set, score_of(r, one));
        for (int32_t c = 0; c < r->results->set->n_categories; c++)
            if (a.n_category[c])
                csv_row(r, one, r->results->set->category[c], a.n_category[c], a.category[c], NULL,
                        out);
        csv_row(r, one, "mean", r->results->set->n_samples, a.mean, NULL, out);
        csv_row(r, one, "all", r->results->set->n_samples, a.all, &gain[i], out);
    }
}

/* --- JSON -------------------------------------------------------------------- */

static json_t *json_interval(const s2e_interval *i)
{
    return json_pack("{s:f, s:f, s:f}", "value", i->value, "low", i->low, "high", i->high);
}

static json_t *json_setting(const s2e_report *r, const s2e_result *one, const s2e_gain *gain)
{
    const s2e_accuracy a = s2e_accuracy_of(r->results->set, score_of(r, one));
    json_t *category = json_object();
    for (int32_t c = 0; c < r->results->set->n_categories; c++)
        if (a.n_category[c])
            json_object_set_new(
                category, r->results->set->category[c],
                json_pack("{s:i, s:f}", "questions", a.n_category[c], "accuracy", a.category[c]));
    s2e_interval all;
    if (s2e_bootstrap(r->results->set, score_of(r, one), NULL, &all) != S2P_OK) {
        json_decref(category);
        return NULL;
    }
    char method[S2E_METHOD];
    json_t *out = json_pack("{s:s, s:s, s:i, s:f, s:i, s:o, s:f, s:o, s:f, s:f, s:f}", "method",
                            s2e_label_method(one->column.label, method), "setting",
                            one->column.label, "budget", one->budget.tokens, "image_tokens",
                            one->image_tokens, "seeds", one->column.n_seeds, "category", category,
                            "mean", a.mean, "all", json_interval(&all), "prompt_ms", one->prompt_ms,
                            "kv_visual_bytes", one->kv_bytes, "seconds", one->seconds);
    if (out) s2e_json_statistics(r->results, one, gain, out);
    const s2e_cost cost = s2e_cost_of_result(one);
    if (out) s2e_cost_json(&cost, out);
    if (out && headline_name(r)) {
        json_object_set_new(out, "headline_name", json_string(headline_name(r)));
        if (s2e_headline_interval(r->results, r->protocol, one, NULL, &all) == S2P_OK)
            json_object_set_new(out, "headline", json_interval(&all));
    }
    if (out && one->budget.n_more > 0)
        json_object_set_new(out, "budget", json_string(one->column.budget));
    if (out && one->budget.percent > 0.0)
        json_object_set_new(out, "budget_percent", json_real(one->budget.percent));
    double third[3];
    if (out && s2e_thirds(r->results->set, score_of(r, one), third))
        json_object_set_new(out, "heterogeneity_thirds",
                            json_pack("[f, f, f]", third[0], third[1], third[2]));
    return out;
}

static s2p_status write_json(const s2e_report *r, const s2e_gain *gain, s2_buffer *out)
{
    json_t *results = json_array();
    for (int32_t i = 0; i < r->results->n_results; i++)
        (void)json_array_append_new(results, json_setting(r, &r->results->result[i], &gain[i]));
    const bool is_whole = json_array_size(results) == (size_t)r->results->n_results;
    json_t *root = json_pack("{s:s, s:s, s:s, s:s, s:i, s:i, s:s, s:o}", "schema", "s2prune.eval/1",
                             "task", r->results->task->name, "model", r->model, "mode",
                             r->is_published ? "published" : "default", "pictures",
                             r->results->set->n_pictures, "questions", r->results->set->n_samples,
                             "reference", r->reference, "results", results);
    s2p_status st = root && is_whole ? s2_json_write(root, 9, out) : S2P_ENOMEM;
    s2_buffer_append(out, "\n", 1);
    json_decref(root);
    return st;
}

s2p_status s2e_report_write(const s2e_report *report, s2e_format format, s2_buffer *out)
{
    s2e_gain *gain = NULL;
    s2p_status st = s2e_gains_make(report->results, report->protocol, report->reference, &gain);
    if (st == S2P_OK && format == S2E_JSON)
        st = write_json(report, gain, out);
    else if (st == S2P_OK && format == S2E_CSV)
        write_csv(report, gain, out);
    else if (st == S2P_OK)
        st = write_tables(report, gain, format == S2E_MARKDOWN, out);
    free(gain);
    return st == S2P_OK ? out->status : st;
}
