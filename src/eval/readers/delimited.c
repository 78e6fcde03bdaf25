/* delimited.c - tables of text as pandas writes and reads them.
 *
 * A field that begins with a quote ends at the next single quote; "" inside is one quote; line ends
 * and delimiters inside are text. Elsewhere a quote is a character like any other. Lines end with
 * LF, CR LF or CR; empty ones are skipped. The text goes by in runs: a run is copied into the cell,
 * hashed when the cell is a picture, or dropped when the column was not requested or it is too long.
 */
#include "eval/readers/reader.h"

#include "eval/readers/picture_cell.h"

#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 4096
#define MAX_HEADER ((size_t)1 << 20)

typedef enum cell_kind { CELL_SKIP, CELL_TEXT, CELL_PICTURE } cell_kind;

typedef struct delimited {
    s2e_reader reader;
    char delimiter;
    size_t n_columns, n_wanted;
    char **name;         /* [n_columns] */
    cell_kind *kind;     /* [n_columns] */
    const char **wanted; /* [n_wanted] names of the columns of a row */
    s2_buffer text;      /* of the cell being read */
    s2e_picture_cell picture;
} delimited;

typedef enum ending { END_FIELD, END_ROW, END_FILE, END_OPEN /* inside quotes */ } ending;

/* A run of a cell's characters. */
static void add_run(delimited *d, cell_kind kind, const uint8_t *run, size_t n, uint64_t at)
{
    if (kind == CELL_TEXT && d->text.status == S2P_OK) s2_buffer_append(&d->text, run, n);
    if (kind == CELL_PICTURE) s2e_picture_cell_add(&d->picture, run, n, at);
}

/* How many of n bytes stand before the one that ends a field without quotes. */
static size_t plain_run(const uint8_t *p, size_t n, uint8_t delimiter)
{
    size_t i = 0;
    while (i < n && p[i] != delimiter && p[i] != '\n' && p[i] != '\r') i++;
    return i;
}

/* The characters of one field go to add_run. */
static s2p_status read_field(delimited *d, cell_kind kind, ending *how, s2p_error *error)
{
    enum { START, PLAIN, QUOTED, QUOTE } state = START;
    s2e_input *in = &d->reader.input;
    for (;;) {
        bool end;
        TRY(s2e_input_fill(in, &end, error));
        if (end) {
            *how = state == QUOTED ? END_OPEN : END_FILE;
            return S2P_OK;
        }
        const uint8_t *p = in->window + in->at;
        const size_t left = in->n - in->at;
        const uint64_t at = s2e_input_tell(in);
        if (state == START) {
            state = *p == '"' ? QUOTED : PLAIN;
            in->at += *p == '"';
        } else if (state == QUOTED) {
            const uint8_t *stop = memchr(p, '"', left);
            const size_t n = stop ? (size_t)(stop - p) : left;
            add_run(d, kind, p, n, at);
            in->at += n + (stop != NULL);
            if (stop) state = QUOTE;
        } else if (state == QUOTE && *p == '"') {
            add_run(d, kind, p, 1, at);
            in->at++;
            state = QUOTED;
        } else {
            state = PLAIN;
            const size_t n = plain_run(p, left, (uint8_t)d->delimiter);
            add_run(d, kind, p, n, at);
            in->at += n;
            if (n == left) continue;
            const uint8_t stop = in->window[in->at++];
            *how = stop == (uint8_t)d->delimiter ? END_FIELD : END_ROW;
            return S2P_OK;
        }
    }
}

/* Past the line ends before a row, the LF of a CR LF among them; *end: no row follows. */
static s2p_status find_row(delimited *d, bool *end, s2p_error *error)
{
    s2e_input *in = &d->reader.input;
    for (;; in->at++) {
        TRY(s2e_input_fill(in, end, error));
        if (*end) return S2P_OK;
        const uint8_t c = in->window[in->at];
        if (c != '\n' && c != '\r') return S2P_OK;
    }
}

/* What is wrong with the cell just read, if anything, or its value. */
static s2p_status make_value(delimited *d, size_t column, s2e_value *out, s2p_error *error)
{
    const s2e_rows_options *options = d->reader.options;
    *out = (s2e_value){ .type = S2E_NONE };
    if (d->kind[column] == CELL_PICTURE) return s2e_picture_cell_finish(&d->picture, out, error);
    if (d->text.status == S2P_ELIMIT)
        return s2_fail(error, S2P_ELIMIT, "it has more than %zu bytes, the limit",
                       options->max_text);
    const char *text = d->text.data ? (const char *)d->text.data : "";
    if (d->text.status == S2P_OK && !s2e_text_is_clean(text, d->text.size))
        return s2_fail(error, S2P_EFORMAT, "it is not UTF-8 text without NUL");
    if (options->nan_is_none && s2e_text_is_nan(text, d->text.size)) return S2P_OK;
    const char *copy = s2e_arena_text(&d->reader.arena, text, d->text.size);
    if (d->text.status != S2P_OK) return s2_fail_memory(error, d->text.size, "a cell");
    if (!copy) return s2e_arena_fail(&d->reader.arena, "the row", error);
    *out = (s2e_value){ .type = S2E_TEXT, .n = d->text.size, .text = copy };
    return S2P_OK;
}

/* The fields of a row to its end, also when one is broken: the next row begins where this one ends. */
static s2p_status read_row(delimited *d, s2e_value *value, s2p_error *error)
{
    s2e_reader *r = &d->reader;
    s2p_error why = { .status = S2P_OK };
    size_t broken = 0, n = 0, n_fields = 0;
    ending how = END_FIELD;
    while (how == END_FIELD) {
        const size_t column = n_fields++;
        const cell_kind kind = column < d->n_columns ? d->kind[column] : CELL_SKIP;
        d->text.size = 0;
        d->text.status = S2P_OK;
        if (kind == CELL_PICTURE)
            s2e_picture_cell_start(&d->picture, r->options, r->input.path, &r->arena);
        TRY(read_field(d, kind, &how, error));
        if (kind == CELL_SKIP || why.status != S2P_OK || how == END_OPEN) continue;
        if (make_value(d, column, &value[n++], &why) != S2P_OK) broken = column;
    }
    if (how == END_OPEN)
        return s2_fail(error, S2P_EFORMAT, "%s, row %lld: the file ends inside quotes",
                       r->input.name, (long long)r->row);
    if (why.status != S2P_OK)
        return s2_fail(error, why.status, "%s, row %lld: column '%.64s': %s", r->input.name,
                       (long long)r->row, d->name[broken], why.message);
    if (n_fields != d->n_columns)
        return s2_fail(error, S2P_EFORMAT, "%s, row %lld: it has %zu fields, the header %zu",
                       r->input.name, (long long)r->row, n_fields, d->n_columns);
    return S2P_OK;
}

static s2p_status next_row(s2e_reader *reader, s2e_row *row, bool *end, s2p_error *error)
{
    delimited *d = (delimited *)reader;
    TRY(find_row(d, end, error));
    if (*end) return S2P_OK;
    reader->row++;
    s2e_value *value = s2e_arena_take(&reader->arena, (d->n_wanted + 1) * sizeof *value);
    if (!value) return s2_fail_memory(error, d->n_wanted * sizeof *value, reader->input.name);
    const s2p_status st = read_row(d, value, error);
    if (st != S2P_OK) {
        reader->n_lost++;
        return st;
    }
    row->n = d->n_wanted;
    row->name = d->wanted;
    row->value = value;
    return S2P_OK;
}

static void close_delimited(s2e_reader *reader)
{
    delimited *d = (delimited *)reader;
    for (size_t i = 0; d->name && i < d->n_columns; i++) free(d->name[i]);
    free(d->name);
    free(d->kind);
    free(d->wanted);
    s2_buffer_free(&d->text);
    s2e_picture_cell_free(&d->picture);
    s2e_arena_free(&reader->arena);
    s2e_input_close(&reader->input);
    free(d);
}

static bool is_wanted(const s2e_rows_options *options, const char *name)
{
    for (size_t i = 0; i < options->n_columns; i++)
        if (strcmp(options->column[i], name) == 0) return true;
    return options->n_columns == 0;
}

/* A name of the header joins the columns. */
static s2p_status add_column(delimited *d, s2p_error *error)
{
    const char *file = d->reader.input.name;
    const char *text = d->text.data ? (const char *)d->text.data : "";
    const size_t n = d->text.size;
    if (d->text.status == S2P_ENOMEM) return s2_fail_memory(error, n, file);
    if (d->text.status != S2P_OK || d->n_columns == MAX_COLUMNS)
        return s2_fail(error, S2P_ELIMIT, "%s: its header has more than %zu bytes or %d columns",
                       file, MAX_HEADER, MAX_COLUMNS);
    if (!s2e_text_is_clean(text, n))
        return s2_fail(error, S2P_EFORMAT, "%s: name %zu of its header is not UTF-8 without NUL",
                       file, d->n_columns + 1);
    char *name = malloc(n + 1);
    if (!name) return s2_fail_memory(error, n + 1, file);
    memcpy(name, text, n);
    name[n] = '\0';
    for (size_t i = 0; i < d->n_columns; i++) {
        if (strcmp(d->name[i], name) != 0) continue;
        const s2p_status st =
            s2_fail(error, S2P_EFORMAT, "%s: columns %zu and %zu are both '%.64s'", file, i + 1,
                    d->n_columns + 1, name);
        free(name);
        return st;
    }
    const s2e_rows_options *options = d->reader.options;
    d->kind[d->n_columns] = !is_wanted(options, name)              ? CELL_SKIP
                            : s2e_is_picture_column(options, name) ? CELL_PICTURE
                                                                   : CELL_TEXT;
    if (d->kind[d->n_columns] != CELL_SKIP) d->wanted[d->n_wanted++] = name;
    d->name[d->n_columns++] = name;
    return S2P_OK;
}

static s2p_status read_header(delimited *d, s2p_error *error)
{
    s2e_input *in = &d->reader.input;
    bool end;
    TRY(s2e_input_fill(in, &end, error));
    if (!end && in->n >= 3 && memcmp(in->window, "\xEF\xBB\xBF", 3) == 0) in->at = 3;
    TRY(find_row(d, &end, error));
    if (end) return s2_fail(error, S2P_EFORMAT, "%s: it is empty", in->name);
    size_t n_bytes = 0;
    for (ending how = END_FIELD; how == END_FIELD;) {
        d->text.size = 0;
        d->text.max = MAX_HEADER - n_bytes;
        TRY(read_field(d, CELL_TEXT, &how, error));
        n_bytes += d->text.size;
        if (how == END_OPEN)
            return s2_fail(error, S2P_EFORMAT, "%s: it ends inside the quotes of its header",
                           in->name);
        TRY(add_column(d, error));
    }
    d->text.max = d->reader.options->max_text;
    return S2P_OK;
}

s2p_status s2e_delimited_open(s2e_input *input, char delimiter, const s2e_rows_options *options,
                              s2e_reader **out, s2p_error *error)
{
    *out = NULL;
    delimited *d = calloc(1, sizeof *d);
    if (!d) return s2_fail_memory(error, sizeof *d, input->name);
    d->reader = (s2e_reader){
        .next = next_row, .close = close_delimited, .options = options, .input = *input
    };
    d->delimiter = delimiter;
    s2e_arena_init(&d->reader.arena, options->max_row);
    s2_buffer_init(&d->text, MAX_HEADER);
    d->name = calloc(MAX_COLUMNS, sizeof *d->name);
    d->kind = calloc(MAX_COLUMNS, sizeof *d->kind);
    d->wanted = calloc(MAX_COLUMNS, sizeof *d->wanted);
    s2p_status st = d->name && d->kind && d->wanted
                        ? read_header(d, error)
                        : s2_fail_memory(error, MAX_COLUMNS * sizeof *d->name, input->name);
    if (st == S2P_OK) {
        *out = &d->reader;
        return S2P_OK;
    }
    *input = d->reader.input;
    d->reader.input = (s2e_input){ .fd = -1 };
    close_delimited(&d->reader);
    return st;
}
