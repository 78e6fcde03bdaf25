/* rows.c - find out what a file is, read its shards one after the other, and answer by name. */
#include "eval/readers/rows.h"

#include "base/path.h"
#include "eval/readers/reader.h"
#include "eval/readers/json_scan.h"
#include "eval/readers/literal.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct s2e_rows {
    s2e_rows_options options;
    char **path;           /* [n_files] they live as long as the rows: places name them */
    int32_t n_files, next; /* the file to be opened next */
    s2e_reader *reader;    /* NULL: none at hand */
    int64_t n_lost;        /* in the files before */
};

void s2e_rows_options_init(s2e_rows_options *options)
{
    *options = (s2e_rows_options){ .key = "id",
                                   .max_text = (size_t)16 << 20,
                                   .max_picture = (size_t)128 << 20,
                                   .max_row = (size_t)256 << 20,
                                   .max_page = (size_t)1 << 30 };
}

/* --- which files --- */

/* Five digits as a number; -1: others. */
static int32_t five_digits(const char *text)
{
    int32_t number = 0;
    for (int i = 0; i < 5; i++) {
        if (text[i] < '0' || text[i] > '9') return -1;
        number = 10 * number + (text[i] - '0');
    }
    return number;
}

/* Shards in "X-00001-of-00003.parquet" and where its number stands; 1 and NULL for other names. */
static int32_t count_shards(char *path, char **number)
{
    *number = NULL;
    char *of = NULL;
    for (char *p = path + (s2_base_name(path) - path); (p = strstr(p, "-of-")); p++) of = p;
    if (!of || of - path < 6 || of[-6] != '-' || five_digits(of - 5) < 0) return 1;
    const int32_t n = five_digits(of + 4);
    if (n < 1 || (of[9] != '.' && of[9] != '\0') || five_digits(of - 5) >= n) return 1;
    *number = of - 5;
    return n;
}

/* All files of the set that `path` is one of. */
static s2p_status list_files(s2e_rows *rows, const char *path, s2p_error *error)
{
    char *own = strdup(path), *number;
    if (!own) return s2_fail_memory(error, strlen(path), "a path");
    const int32_t n = count_shards(own, &number);
    rows->path = calloc((size_t)n, sizeof *rows->path);
    s2p_status st = rows->path ? S2P_OK : s2_fail_memory(error, (size_t)n * sizeof own, path);
    for (int32_t i = 0; i < n && st == S2P_OK; i++) {
        if (number) {
            char digits[16];
            (void)snprintf(digits, sizeof digits, "%05ld", (long)i);
            memcpy(number, digits, 5);
            if (access(own, R_OK) != 0)
                st = s2_fail(error, S2P_EIO, "cannot open '%s', one of %ld shards: %s", own,
                             (long)n, strerror(errno));
        }
        rows->path[i] = st == S2P_OK ? strdup(own) : NULL;
        if (rows->path[i])
            rows->n_files++;
        else if (st == S2P_OK)
            st = s2_fail_memory(error, strlen(own), "a path");
    }
    free(own);
    return st;
}

/* --- which kind --- */

static bool ends_with(const char *name, const char *ending)
{
    const size_t n = strlen(name), m = strlen(ending);
    return n >= m && strcmp(name + n - m, ending) == 0;
}

/* What the name does not say: tabs or commas in the first line. */
static char guess_delimiter(const s2e_input *input)
{
    size_t n_tabs = 0, n_commas = 0;
    for (size_t i = 0; i < input->n && input->window[i] != '\n'; i++) {
        n_tabs += input->window[i] == '\t';
        n_commas += input->window[i] == ',';
    }
    return n_commas > n_tabs ? ',' : '\t';
}

static s2p_status open_reader(s2e_input *input, const s2e_rows_options *options, s2e_reader **out,
                              s2p_error *error)
{
    *out = NULL;
    bool end;
    TRY(s2e_input_fill(input, &end, error));
    if (end) return s2_fail(error, S2P_EFORMAT, "%s: it is empty", input->name);
    if (input->n >= 4 && memcmp(input->window, "PAR1", 4) == 0)
        return s2e_parquet_rows_open(input, options, out, error);
    if (ends_with(input->name, ".parquet"))
        return s2_fail(error, S2P_EFORMAT, "%s: a Parquet file begins with PAR1", input->name);
    if (ends_with(input->name, ".tsv")) return s2e_delimited_open(input, '\t', options, out, error);
    if (ends_with(input->name, ".csv")) return s2e_delimited_open(input, ',', options, out, error);

    if (input->n >= 3 && memcmp(input->window, "\xEF\xBB\xBF", 3) == 0) input->at = 3;
    const uint64_t at = s2e_input_tell(input);
    int c;
    TRY(s2e_json_peek(input, &c, error));
    s2e_input_seek(input, at);
    s2e_json_shape shape = S2E_JSON_LINES;
    const bool lines = ends_with(input->name, ".jsonl");
    if (lines || c == '{' || c == '[') {
        if (!lines) TRY(s2e_json_shape_of(input, &shape, error));
        return s2e_json_rows_open(input, shape, options, out, error);
    }
    if (ends_with(input->name, ".json"))
        return s2_fail(error, S2P_EFORMAT, "%s: it begins with neither '{' nor '['", input->name);
    s2e_input_seek(input, 0);
    TRY(s2e_input_fill(input, &end, error));
    return s2e_delimited_open(input, guess_delimiter(input), options, out, error);
}

static s2p_status open_next(s2e_rows *rows, s2p_error *error)
{
    s2e_input input;
    TRY(s2e_input_open(&input, rows->path[rows->next++], error));
    const s2p_status st = open_reader(&input, &rows->options, &rows->reader, error);
    if (st != S2P_OK) s2e_input_close(&input);
    if (st != S2P_OK && !s2e_row_is_lost(st)) rows->next = rows->n_files;
    return st;
}

s2p_status s2e_rows_open(const char *path, const s2e_rows_options *options, s2e_rows **out,
                         s2p_error *error)
{
    *out = NULL;
    s2e_rows *rows = calloc(1, sizeof *rows);
    if (!rows) return s2_fail_memory(error, sizeof *rows, path);
    s2e_rows_options_init(&rows->options);
    if (options) {
        const s2e_rows_options defaults = rows->options;
        s2e_rows_options *own = &rows->options;
        *own = *options;
        if (!own->key) own->key = defaults.key;
        if (own->max_text == 0) own->max_text = defaults.max_text;
        if (own->max_picture == 0) own->max_picture = defaults.max_picture;
        if (own->max_row == 0) own->max_row = defaults.max_row;
        if (own->max_page == 0) own->max_page = defaults.max_page;
    }
    s2p_status st = list_files(rows, path, error);
    if (st == S2P_OK) st = open_next(rows, error);
    if (st == S2P_OK)
        *out = rows;
    else
        s2e_rows_close(rows);
    return st;
}

static void close_reader(s2e_rows *rows)
{
    if (!rows->reader) return;
    rows->n_lost += rows->reader->n_lost;
    rows->reader->close(rows->reader);
    rows->reader = NULL;
}

void s2e_rows_close(s2e_rows *rows)
{
    if (!rows) return;
    close_reader(rows);
    for (int32_t i = 0; i < rows->n_files; i++) free(rows->path[i]);
    free(rows->path);
    free(rows);
}

s2p_status s2e_rows_next(s2e_rows *rows, s2e_row *row, bool *end, s2p_error *error)
{
    *row = (s2e_row){ .file = "" };
    *end = false;
    for (;;) {
        if (!rows->reader) {
            *end = rows->next >= rows->n_files;
            if (*end) return S2P_OK;
            TRY(open_next(rows, error)); /* a shard that cannot be opened is left out */
        }
        s2e_reader *reader = rows->reader;
        bool at_end = false;
        s2e_arena_clear(&reader->arena);
        const s2p_status st = reader->next(reader, row, &at_end, error);
        row->file = reader->input.name;
        row->path = reader->input.path;
        row->number = reader->row;
        row->arena = &reader->arena;
        if (st == S2P_OK && at_end) {
            close_reader(rows);
            continue;
        }
        if (st != S2P_OK) row->n = 0;
        if (st != S2P_OK && !s2e_row_is_lost(st)) {
            close_reader(rows);
            rows->next = rows->n_files;
        }
        return st;
    }
}

int64_t s2e_rows_n_lost(const s2e_rows *rows)
{
    return rows->n_lost + (rows->reader ? rows->reader->n_lost : 0);
}

/* --- values by name --- */

const s2e_value *s2e_row_value(const s2e_row *row, const char *column)
{
    for (size_t i = 0; i < row->n; i++)
        if (strcmp(row->name[i], column) == 0) return &row->value[i];
    return NULL;
}

const char *s2e_row_text(const s2e_row *row, const char *column)
{
    return s2e_value_text(s2e_row_value(row, column), row->arena);
}

bool s2e_row_int(const s2e_row *row, const char *column, int64_t *out)
{
    return s2e_value_int(s2e_row_value(row, column), out);
}

s2p_status s2e_row_list(const s2e_row *row, const char *column, const s2e_value **out,
                        s2p_error *error)
{
    const s2e_value *value = s2e_row_value(row, column);
    *out = NULL;
    if (!value || value->type == S2E_NONE) return S2P_OK;
    const s2e_value *list = value;
    s2p_error why = { .message = "it is not a list" };
    s2p_status st = S2P_OK;
    if (value->type == S2E_TEXT)
        st = s2e_literal_parse(value->text, value->n, row->arena, &list, &why);
    if (st == S2P_OK && list->type != S2E_LIST) st = S2P_EFORMAT;
    if (st == S2P_OK)
        *out = list;
    else
        st = s2e_row_fail(row, error, st, "column '%.64s': %s", column, why.message);
    return st;
}

s2p_status s2e_row_fail(const s2e_row *row, s2p_error *error, s2p_status status, const char *format,
                        ...)
{
    char text[sizeof error->message];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return s2_fail(error, status, "%s, row %lld: %s", row->file, (long long)row->number, text);
}
