/* table.c - one list of cells, several ways to write it. */
#include "analyze/table.h"

#include "base/markup.h"
#include "eval/figure/look.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SHOWN_SIZE 160

const char *s2_table_format_name(size_t index)
{
    static const char *const names[] = { "text", "md", "csv", "json", "jsonl", "sql", "tex" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

void s2_table_init(s2_table *table, const char *name)
{
    *table = (s2_table){ .status = S2P_OK };
    (void)snprintf(table->name, sizeof table->name, "%s", name);
}

void s2_table_free(s2_table *table)
{
    for (int32_t i = 0; i < table->n_cells; i++) free(table->cell[i].text);
    free(table->cell);
    *table = (s2_table){ .status = S2P_OK };
}

/* --- filling ------------------------------------------------------------------------ */

void s2_table_column(s2_table *table, const char *key, const char *heading, int32_t decimals)
{
    if (table->n_columns == S2_MAX_COLUMNS) {
        table->status = S2P_ELIMIT;
        return;
    }
    s2_column *column = &table->column[table->n_columns++];
    *column = (s2_column){ .decimals = decimals };
    (void)snprintf(column->key, sizeof column->key, "%s", key);
    (void)snprintf(column->heading, sizeof column->heading, "%s", heading);
}

void s2_table_detail(s2_table *table, const char *key, int32_t decimals)
{
    s2_table_column(table, key, key, decimals);
    if (table->n_columns) table->column[table->n_columns - 1].is_detail = true;
}

/* Takes `text` over. */
static void add_cell(s2_table *table, double number, char *text)
{
    if (table->status == S2P_OK && table->n_cells == table->capacity) {
        const int32_t capacity = table->capacity ? 2 * table->capacity : 64;
        s2_cell *grown = realloc(table->cell, (size_t)capacity * sizeof *grown);
        if (grown) {
            table->cell = grown;
            table->capacity = capacity;
        } else {
            table->status = S2P_ENOMEM;
        }
    }
    if (table->status == S2P_OK)
        table->cell[table->n_cells++] = (s2_cell){ number, text, S2_CELL_PLAIN };
    else
        free(text);
}

static char *copy_of(s2_table *table, const char *text)
{
    const size_t n = strlen(text) + 1;
    char *copy = malloc(n);
    if (copy)
        memcpy(copy, text, n);
    else
        table->status = S2P_ENOMEM;
    return copy;
}

void s2_table_text(s2_table *table, const char *text)
{
    add_cell(table, (double)NAN, copy_of(table, text));
}

void s2_table_number(s2_table *table, double value) { add_cell(table, value, NULL); }

void s2_table_shown(s2_table *table, double value, const char *format, ...)
{
    char text[SHOWN_SIZE];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    add_cell(table, value, copy_of(table, text));
}

void s2_table_mark(s2_table *table, s2_cell_mark mark)
{
    if (table->status == S2P_OK && table->n_cells) table->cell[table->n_cells - 1].mark = mark;
}

/* --- for people --------------------------------------------------------------------------- */

static const char *shown(const s2_table *table, int32_t row, int32_t column, char out[SHOWN_SIZE])
{
    const s2_cell *cell = s2_table_cell(table, row, column);
    if (cell->text) return cell->text;
    if (!isfinite(cell->number)) return "";
    const int decimals = (int)table->column[column].decimals;
    const double unit = pow(10.0, decimals); /* halves go up, as people round: 9.625 is 9.63 */
    (void)snprintf(out, SHOWN_SIZE, "%.*f", decimals,
                   round(cell->number * unit) / unit + 0.0); /* + 0.0: no "-0.0" */
    return out;
}

/* Columns a text takes: its characters, not its bytes. */
static int width_of(const char *text)
{
    int n = 0;
    for (; *text; text++) n += ((unsigned char)*text & 0xC0) != 0x80;
    return n;
}

static void pad(s2_buffer *out, int n)
{
    for (; n > 0; n--) s2_buffer_append(out, " ", 1);
}

/* Columns [first, last) behind the leading ones. */
static void write_block(const s2_table *t, const int *width, int32_t first, int32_t last,
                        s2_buffer *out)
{
    char text[SHOWN_SIZE];
    for (int32_t r = -1; r < s2_table_n_rows(t); r++) {
        bool is_first = true;
        for (int32_t c = 0; c < last; c++) {
            if (t->column[c].is_detail || (c >= t->n_leading && c < first)) continue;
            const char *cell = r < 0 ? t->column[c].heading : shown(t, r, c, text);
            const int room = width[c] - width_of(cell);
            const bool is_left = t->column[c].decimals == S2_TEXT_COLUMN;
            if (!is_first) s2_buffer_append(out, "  ", 2);
            if (!is_left) pad(out, room);
            s2_buffer_append(out, cell, strlen(cell));
            if (is_left && c + 1 < t->n_columns) pad(out, room);
            is_first = false;
        }
        s2_buffer_append(out, "\n", 1);
    }
}

/* Where a line would be too wide, the columns that do not fit stand in another block below, behind the
 * leading columns again. */
static void write_text(const s2_table *t, s2_buffer *out)
{
    char text[SHOWN_SIZE];
    int width[S2_MAX_COLUMNS];
    for (int32_t c = 0; c < t->n_columns; c++) {
        width[c] = width_of(t->column[c].heading);
        for (int32_t r = 0; r < s2_table_n_rows(t); r++) {
            const int w = width_of(shown(t, r, c, text));
            if (w > width[c]) width[c] = w;
        }
    }
    int lead = 0;
    for (int32_t c = 0; c < t->n_leading; c++) lead += width[c] + 2;
    for (int32_t first = t->n_leading, end; first < t->n_columns; first = end) {
        int used = lead - 2;
        for (end = first; end < t->n_columns; end++) {
            const int more = t->column[end].is_detail ? 0 : width[end] + 2;
            if (t->max_width > 0 && used >= lead && used + more > t->max_width) break;
            used += more;
        }
        if (used == lead - 2) break; /* details alone */
        if (first > t->n_leading) s2_buffer_append(out, "\n", 1);
        write_block(t, width, first, end, out);
    }
}

static void write_markdown(const s2_table *t, s2_buffer *out)
{
    char text[SHOWN_SIZE];
    for (int32_t r = -2; r < s2_table_n_rows(t); r++) {
        for (int32_t c = 0; c < t->n_columns; c++) {
            if (t->column[c].is_detail) continue;
            if (r == -1)
                s2_buffer_printf(out, "|%s",
                                 t->column[c].decimals == S2_TEXT_COLUMN ? "---" : "---:");
            else if (r < 0)
                s2_buffer_printf(out, "| %s ", t->column[c].heading);
            else {
                const s2_cell_mark mark = s2_table_cell(t, r, c)->mark;
                s2_buffer_printf(out, "| %s%s%s ",
                                 mark == S2_CELL_BEST     ? "**"
                                 : mark == S2_CELL_SECOND ? "<u>"
                                                          : "",
                                 shown(t, r, c, text),
                                 mark == S2_CELL_BEST     ? "**"
                                 : mark == S2_CELL_SECOND ? "</u>"
                                                          : "");
            }
        }
        s2_buffer_append(out, "|\n", 2);
    }
}

static void write_html(const s2_table *t, s2_buffer *out)
{
    char text[SHOWN_SIZE];
    s2_buffer_printf(out, "<table>\n");
    for (int32_t r = -1; r < s2_table_n_rows(t); r++) {
        s2_buffer_printf(out, r < 0 ? "<thead><tr>" : "<tr>");
        for (int32_t c = 0; c < t->n_columns; c++) {
            if (t->column[c].is_detail) continue;
            const char *cell = r < 0 ? t->column[c].heading : shown(t, r, c, text);
            const char *element = r < 0 ? "th" : "td";
            const bool is_number = t->column[c].decimals != S2_TEXT_COLUMN;
            const s2_cell_mark mark = r < 0 ? S2_CELL_PLAIN : s2_table_cell(t, r, c)->mark;
            const char *type = mark == S2_CELL_BEST ? "b" : "u";
            s2_buffer_printf(out, "<%s%s>", element, is_number ? " class=\"number\"" : "");
            if (mark != S2_CELL_PLAIN) s2_buffer_printf(out, "<%s>", type);
            char title[S2_TITLE_SIZE]; /* people read the titles of methods */
            const bool is_method = strncmp(t->column[c].key, "method", 6) == 0 ||
                                   strcmp(t->column[c].key, "setting") == 0;
            if (is_method && r >= 0) cell = s2_title_of(cell, title);
            s2_markup_append(out, cell, strlen(cell), false);
            if (mark != S2_CELL_PLAIN) s2_buffer_printf(out, "</%s>", type);
            s2_buffer_printf(out, "</%s>", element);
        }
        s2_buffer_printf(out, r < 0 ? "</tr></thead>\n<tbody>\n" : "</tr>\n");
    }
    s2_buffer_printf(out, "</tbody></table>\n");
}

/* --- for programs ------------------------------------------------------------------------------ */

/* As short as gives back the same number; `none` for what is not finite. */
static void put_number(double value, const char *none, s2_buffer *out)
{
    char text[40];
    for (int digits = 6; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value) break;
    }
    s2_buffer_printf(out, "%s", isfinite(value) ? text : none);
}

static void write_csv(const s2_table *t, s2_buffer *out)
{
    for (int32_t c = 0; c < t->n_columns; c++)
        s2_buffer_printf(out, "%s%s", c ? "," : "", t->column[c].key);
    s2_buffer_append(out, "\n", 1);
    for (int32_t r = 0; r < s2_table_n_rows(t); r++) {
        for (int32_t c = 0; c < t->n_columns; c++) {
            const s2_cell *cell = s2_table_cell(t, r, c);
            if (c) s2_buffer_append(out, ",", 1);
            if (t->column[c].decimals == S2_TEXT_COLUMN)
                s2_csv_append(out, cell->text);
            else
                put_number(cell->number, "", out);
        }
        s2_buffer_append(out, "\n", 1);
    }
}

static void put_json_text(const char *text, s2_buffer *out)
{
    s2_buffer_append(out, "\"", 1);
    for (size_t n; *text; text += n) {
        n = s2_markup_character(text, strlen(text));
        if (n == 0) {
            s2_buffer_append(out, "?", 1);
            n = 1;
        } else {
            if (*text == '"' || *text == '\\') s2_buffer_append(out, "\\", 1);
            s2_buffer_append(out, text, n);
        }
    }
    s2_buffer_append(out, "\"", 1);
}

static void put_object(const s2_table *t, int32_t row, s2_buffer *out)
{
    for (int32_t c = 0; c < t->n_columns; c++) {
        const s2_cell *cell = s2_table_cell(t, row, c);
        s2_buffer_printf(out, "%s\"%s\":", c ? "," : "{", t->column[c].key);
        if (t->column[c].decimals == S2_TEXT_COLUMN)
            put_json_text(cell->text, out);
        else
            put_number(cell->number, "null", out);
    }
    s2_buffer_append(out, "}", 1);
}

static void write_json(const s2_table *t, bool is_lines, s2_buffer *out)
{
    const int32_t n = s2_table_n_rows(t);
    if (!is_lines) s2_buffer_append(out, "[", 1);
    for (int32_t r = 0; r < n; r++) {
        put_object(t, r, out);
        if (is_lines || r + 1 < n) s2_buffer_printf(out, is_lines ? "\n" : ",\n");
    }
    if (!is_lines) s2_buffer_append(out, "]\n", 2);
}

static void put_sql_text(const char *text, s2_buffer *out)
{
    s2_buffer_append(out, "'", 1);
    for (; *text; text++) s2_buffer_append(out, *text == '\'' ? "''" : text, *text == '\'' ? 2 : 1);
    s2_buffer_append(out, "'", 1);
}

static void write_sql(const s2_table *t, s2_buffer *out)
{
    s2_buffer_printf(out, "CREATE TABLE IF NOT EXISTS %s (", t->name);
    for (int32_t c = 0; c < t->n_columns; c++)
        s2_buffer_printf(out, "%s%s %s", c ? ", " : "", t->column[c].key,
                         t->column[c].decimals == S2_TEXT_COLUMN ? "TEXT" : "REAL");
    s2_buffer_printf(out, ");\n");
    for (int32_t r = 0; r < s2_table_n_rows(t); r++) {
        s2_buffer_printf(out, "INSERT INTO %s VALUES (", t->name);
        for (int32_t c = 0; c < t->n_columns; c++) {
            const s2_cell *cell = s2_table_cell(t, r, c);
            if (c) s2_buffer_append(out, ", ", 2);
            if (t->column[c].decimals == S2_TEXT_COLUMN)
                put_sql_text(cell->text, out);
            else
                put_number(cell->number, "NULL", out);
        }
        s2_buffer_printf(out, ");\n");
    }
}

s2p_status s2_table_write(const s2_table *table, s2_table_format format, s2_buffer *out)
{
    if (table->status != S2P_OK) return table->status;
    switch (format) {
    case S2_TABLE_TEXT:
        write_text(table, out);
        break;
    case S2_TABLE_MARKDOWN:
        write_markdown(table, out);
        break;
    case S2_TABLE_CSV:
        write_csv(table, out);
        break;
    case S2_TABLE_JSON:
        write_json(table, false, out);
        break;
    case S2_TABLE_JSONL:
        write_json(table, true, out);
        break;
    case S2_TABLE_SQL:
        write_sql(table, out);
        break;
    case S2_TABLE_TEX:
        s2_table_tex(table, table->caption ? table->caption : table->name, out);
        break;
    case S2_TABLE_HTML:
        write_html(table, out);
        break;
    }
    return out->status;
}
