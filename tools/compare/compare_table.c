/* compare_table.c - a comparison as text, Markdown or CSV.
 *
 * Text and Markdown show the same cells; the page does too. Answers are the model's words: nothing
 * in them may move a terminal's cursor, open a table cell or be taken for markup.
 */
#include "compare/compare.h"

#include "ask/attempts.h"
#include "base/markup.h"

#include <stdio.h>
#include <string.h>

#define MAX_ANSWER 32 /* characters of an answer in a table */

S2_WORDS(s2_compare_format_name, [S2_COMPARE_TEXT] = "text", [S2_COMPARE_MARKDOWN] = "md",
         [S2_COMPARE_JSON] = "json", [S2_COMPARE_CSV] = "csv")

/* --- cells ------------------------------------------------------------------------ */

const char *s2_compare_heading(enum compare_column column)
{
    static const char *const headings[S2_N_COLUMNS] = {
        "method", "budget",     "kept",    "answer",    "ok",    "edge",   "center",
        "IoU",    "prefill ms", "speedup", "select ms", "tok/s", "KV MiB",
    };
    return headings[column];
}

bool s2_compare_has_column(const compare_report *report, enum compare_column column)
{
    return column != S2_COLUMN_OK || report->expect;
}

/* ".306" */
static void put_share(double value, char out[S2_CELL_SIZE])
{
    char text[32];
    (void)snprintf(text, sizeof text, "%.3f", value);
    (void)snprintf(out, S2_CELL_SIZE, "%s", value < 0.0 ? "-" : text + (text[0] == '0'));
}

static void put_number(double value, char out[S2_CELL_SIZE])
{
    const int digits = value >= 100.0 ? 0 : value >= 10.0 ? 1 : 2;
    if (value < 0.0)
        (void)snprintf(out, S2_CELL_SIZE, "-");
    else
        (void)snprintf(out, S2_CELL_SIZE, "%.*f", digits, value);
}

/* The first line that is not empty, up to MAX_ANSWER characters; what is not text is a '?'. */
static void put_answer(const char *answer, char out[S2_CELL_SIZE])
{
    answer += strspn(answer, " \t\r\n");
    size_t left = strcspn(answer, "\r\n");
    size_t size = 0;
    for (int n = 0; left > 0 && n < MAX_ANSWER; n++) {
        const size_t length = s2_markup_character(answer, left);
        if (length == 0)
            out[size++] = *answer == '\t' ? ' ' : '?';
        else
            memcpy(out + size, answer, length);
        size += length;
        answer += length > 0 ? length : 1;
        left -= length > 0 ? length : 1;
    }
    out[size] = '\0';
    if (left > 0) (void)snprintf(out + size, S2_CELL_SIZE - size, "\xE2\x80\xA6"); /* ellipsis */
}

static void put_iou(const compare_report *report, const compare_row *row, char out[S2_CELL_SIZE])
{
    const compare_row *reference = s2_compare_reference(report, row);
    put_share(reference ? s2_compare_iou(row, reference) : -1.0, out);
}

/* "192", or of all attempts, "64+192". */
static void put_kept(const compare_row *row, char out[S2_CELL_SIZE])
{
    const s2a_attempts *attempts = &row->answer.attempts;
    size_t at = 0;
    (void)snprintf(out, S2_CELL_SIZE, "%d", row->answer.stats.image_tokens);
    for (int32_t i = 0; i < attempts->n && at < S2_CELL_SIZE; i++)
        at += (size_t)snprintf(out + at, S2_CELL_SIZE - at, "%s%d", i > 0 ? "+" : "",
                               attempts->list[i].image_tokens);
}

const char *s2_compare_cell(const compare_report *report, const compare_row *row,
                            enum compare_column column, char out[S2_CELL_SIZE])
{
    (void)snprintf(out, S2_CELL_SIZE, "-");
    if (column == S2_COLUMN_METHOD) (void)s2a_setting_label(&row->setting, out);
    if (column == S2_COLUMN_BUDGET) (void)s2a_budget_text(row->setting.budget, out);
    if (row->error.status != S2P_OK) {
        if (column == S2_COLUMN_ANSWER) (void)snprintf(out, S2_CELL_SIZE, "(failed)");
        return out;
    }
    switch (column) {
    case S2_COLUMN_KEPT:
        put_kept(row, out);
        break;
    case S2_COLUMN_ANSWER:
        put_answer(row->answer.text, out);
        break;
    case S2_COLUMN_OK:
        if (report->expect)
            (void)snprintf(out, S2_CELL_SIZE, "%s",
                           s2_compare_is_right(row->answer.text, report->expect) ? "\xE2\x9C\x93"
                                                                                 : "\xE2\x9C\x97");
        break;
    case S2_COLUMN_EDGE:
        put_share(s2_compare_edge(row), out);
        break;
    case S2_COLUMN_CENTER:
        put_share(s2_compare_center(row), out);
        break;
    case S2_COLUMN_IOU:
        put_iou(report, row, out);
        break;
    case S2_COLUMN_PREFILL:
        put_number(s2_compare_prompt_ms(row), out);
        break;
    case S2_COLUMN_SPEEDUP:
        put_number(s2_compare_speedup(report, row), out);
        break;
    case S2_COLUMN_SELECT:
        put_number(s2_compare_select_ms(row), out);
        break;
    case S2_COLUMN_DECODE:
        put_number(s2_compare_decode_speed(row), out);
        break;
    case S2_COLUMN_KV:
        (void)snprintf(out, S2_CELL_SIZE, "%.3f",
                       (double)row->answer.stats.kv_visual_bytes / (1 << 20));
        break;
    default:
        break;
    }
    return out;
}

/* --- text ---------------------------------------------------------------------------- */

static int width_of(const char *text)
{
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static bool is_left(enum compare_column column)
{
    return column == S2_COLUMN_METHOD || column == S2_COLUMN_ANSWER;
}

static int column_width(const compare_report *report, enum compare_column column)
{
    char cell[S2_CELL_SIZE];
    int width = width_of(s2_compare_heading(column));
    for (int32_t i = 0; i < report->n_rows; i++) {
        const int n = width_of(s2_compare_cell(report, &report->row[i], column, cell));
        if (n > width) width = n;
    }
    return width;
}

/* Padded by characters; printf would count bytes. */
static void text_cell(s2_buffer *out, enum compare_column column, int width, const char *text)
{
    const int pad = width - width_of(text);
    if (column > 0) s2_buffer_printf(out, "  ");
    if (!is_left(column)) s2_buffer_printf(out, "%*s", pad, "");
    s2_buffer_printf(out, "%s", text);
    if (is_left(column)) s2_buffer_printf(out, "%*s", pad, "");
}

static void write_text_table(const compare_report *report, s2_buffer *out)
{
    char cell[S2_CELL_SIZE];
    int width[S2_N_COLUMNS];
    for (int c = 0; c < S2_N_COLUMNS; c++) width[c] = column_width(report, (enum compare_column)c);
    for (int32_t i = -1; i < report->n_rows; i++) { /* -1: the headings */
        for (int c = 0; c < S2_N_COLUMNS; c++) {
            const enum compare_column column = (enum compare_column)c;
            if (!s2_compare_has_column(report, column)) continue;
            text_cell(out, column, width[c],
                      i < 0 ? s2_compare_heading(column)
                            : s2_compare_cell(report, &report->row[i], column, cell));
        }
        s2_buffer_append(out, "\n", 1);
    }
}

/* --- Markdown ------------------------------------------------------------------------- */

/* Everything Markdown might act on stands behind a backslash. */
static void append_markdown(s2_buffer *out, const char *text)
{
    for (; *text; text++) {
        if (strchr("\\`*_{}[]<>|~&$", *text)) s2_buffer_append(out, "\\", 1);
        s2_buffer_append(out, text, 1);
    }
}

/* --- around the table -------------------------------------------------------------------- */

/* One line, whatever the text holds. */
static void append_line(s2_buffer *out, const char *text, bool is_markdown)
{
    size_t left = strlen(text);
    while (left > 0) {
        const size_t length = s2_markup_character(text, left);
        char one[5] = " ";
        if (length > 0) (void)snprintf(one, sizeof one, "%.*s", (int)length, text);
        if (is_markdown)
            append_markdown(out, one);
        else
            s2_buffer_printf(out, "%s", one);
        text += length > 0 ? length : 1;
        left -= length > 0 ? length : 1;
    }
}

static int32_t tokens_in_all(const compare_report *report)
{
    for (int32_t i = 0; i < report->n_rows; i++)
        if (report->row[i].error.status == S2P_OK)
            return report->row[i].answer.stats.image_tokens_full;
    return 0;
}

static void write_head(const compare_report *report, bool is_markdown, s2_buffer *out)
{
    s2_buffer_printf(out, "question: ");
    append_line(out, report->question, is_markdown);
    if (report->expect) {
        s2_buffer_printf(out, " (expected: ");
        append_line(out, report->expect, is_markdown);
        s2_buffer_printf(out, ")");
    }
    s2_buffer_printf(out, "\n%smodel: ", is_markdown ? "\n" : "");
    append_line(out, report->model, is_markdown);
    s2_buffer_printf(out, ", %d picture%s, %d visual tokens, vision ", report->n_pictures,
                     report->n_pictures == 1 ? "" : "s", tokens_in_all(report));
    char number[S2_CELL_SIZE];
    put_number(report->vision_ms, number);
    s2_buffer_printf(out, "%s ms once, shared by all rows; IoU with %s\n\n", number,
                     report->reference);
}

static void write_failures(const compare_report *report, bool is_markdown, s2_buffer *out)
{
    bool is_first = true;
    for (int32_t i = 0; i < report->n_rows; i++) {
        const compare_row *row = &report->row[i];
        char budget[S2A_BUDGET_TEXT], label[S2A_LABEL_SIZE];
        if (row->error.status == S2P_OK) continue;
        if (is_first) s2_buffer_append(out, "\n", 1);
        is_first = false;
        s2_buffer_printf(out, "%s%s %s failed: ", is_markdown ? "- " : "",
                         s2a_setting_label(&row->setting, label),
                         s2a_budget_text(row->setting.budget, budget));
        append_line(out, row->error.message, is_markdown);
        s2_buffer_append(out, "\n", 1);
    }
}

/* --- CSV ---------------------------------------------------------------------------------- */

/* Empty where it is not defined. */
static void csv_number(s2_buffer *out, double value)
{
    if (value < 0.0)
        s2_buffer_append(out, ",", 1);
    else
        s2_buffer_printf(out, ",%.6f", value);
}

static void csv_row(const compare_report *report, const compare_row *row, s2_buffer *out)
{
    const bool has_worked = row->error.status == S2P_OK;
    const compare_row *reference = s2_compare_reference(report, row);
    const bool has_budget = !s2a_budget_is_none(row->setting.budget);
    char budget[S2A_BUDGET_TEXT] = "";
    if (has_budget) (void)s2a_budget_text(row->setting.budget, budget);
    char label[S2A_LABEL_SIZE];
    s2_csv_append(out, s2a_setting_label(&row->setting, label));
    s2_buffer_printf(out, ",%s,", budget);
    if (has_worked) s2_buffer_printf(out, "%d", row->answer.stats.image_tokens);
    s2_buffer_append(out, ",", 1);
    if (has_worked) s2_buffer_printf(out, "%d", row->answer.stats.image_tokens_full);
    s2_buffer_append(out, ",", 1);
    s2_csv_append(out, has_worked ? row->answer.text : "");
    s2_buffer_append(out, ",", 1);
    if (has_worked && report->expect)
        s2_buffer_printf(out, "%s",
                         s2_compare_is_right(row->answer.text, report->expect) ? "true" : "false");
    csv_number(out, s2_compare_edge(row));
    csv_number(out, s2_compare_center(row));
    csv_number(out, reference ? s2_compare_iou(row, reference) : -1.0);
    csv_number(out, has_worked ? report->vision_ms : -1.0);
    csv_number(out, has_worked ? s2_compare_prompt_ms(row) : -1.0);
    csv_number(out, s2_compare_speedup(report, row));
    csv_number(out, s2_compare_select_ms(row));
    csv_number(out, s2_compare_decode_speed(row));
    s2_buffer_append(out, ",", 1);
    if (has_worked)
        s2_buffer_printf(out, "%llu", (unsigned long long)row->answer.stats.kv_visual_bytes);
    s2_buffer_append(out, ",", 1);
    s2_csv_append(out, has_worked ? "" : row->error.message);
    s2_buffer_append(out, ",", 1);
    if (has_worked) s2_buffer_printf(out, "%d", s2a_prefilled_tokens(&row->answer));
    s2_buffer_append(out, "\n", 1);
}

void s2_compare_write(const compare_report *report, enum compare_format format, s2_buffer *out)
{
    if (format == S2_COMPARE_JSON) {
        s2_compare_json(report, out);
        return;
    }
    if (format == S2_COMPARE_CSV) {
        s2_buffer_printf(out, "method,budget,kept,tokens,answer,ok,edge_share,center_share,iou,"
                              "vision_ms,prefill_ms,speedup,select_ms,decode_per_second,"
                              "kv_visual_bytes,error,tokens_used\n");
        for (int32_t i = 0; i < report->n_rows; i++) csv_row(report, &report->row[i], out);
        return;
    }
    const bool is_markdown = format == S2_COMPARE_MARKDOWN;
    write_head(report, is_markdown, out);
    if (is_markdown) {
        char cell[S2_CELL_SIZE];
        for (int32_t i = -2; i < report->n_rows; i++) { /* -2: the headings, -1: the rule below */
            for (int c = 0; c < S2_N_COLUMNS; c++) {
                const enum compare_column column = (enum compare_column)c;
                if (!s2_compare_has_column(report, column)) continue;
                if (i == -1) {
                    s2_buffer_printf(out, is_left(column) ? "|---" : "|---:");
                    continue;
                }
                const char *text = i < 0 ? s2_compare_heading(column)
                                         : s2_compare_cell(report, &report->row[i], column, cell);
                s2_buffer_printf(out, "| ");
                if (i >= 0 && column == S2_COLUMN_ANSWER)
                    append_markdown(out, text);
                else
                    s2_buffer_printf(out, "%s", text);
                s2_buffer_append(out, " ", 1);
            }
            s2_buffer_printf(out, "|\n");
        }
    } else
        write_text_table(report, out);
    write_failures(report, is_markdown, out);
}
