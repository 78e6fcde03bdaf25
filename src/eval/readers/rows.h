/* rows.h - tables as people have them on disk, row by row: named values, whatever the file was.
 *
 *     s2e_rows *rows;
 *     TRY(s2e_rows_open("MMBench_DEV_EN.tsv", NULL, &rows, error));
 *     s2e_row row;
 *     for (bool end = false; !end;) {
 *         const s2p_status st = s2e_rows_next(rows, &row, &end, error);
 *         if (!s2e_row_is_lost(st)) TRY(st);                 // S2P_EIO, S2P_ENOMEM
 *         if (st != S2P_OK) note(error->message);            // "MMBench_DEV_EN.tsv, row 7: ..."
 *         else if (!end) use(s2e_row_text(&row, "question"), s2e_row_value(&row, "image"));
 *     }
 *     s2e_rows_close(rows);
 *
 * Kinds, known by content first and by the ending of the name second: tab- or comma-separated text
 * with CSV quoting and a header line; Parquet; a JSON array of records; a JSON object of records
 * (the key becomes a field); JSON lines, also when the file is called .json. A file called
 * X-00001-of-00003.parquet stands for its whole set, in order.
 *
 * Pictures are not carried: a cell that is one is a place (place.h). Memory does not grow with the
 * file: it is that of one row, and of one page per column in Parquet.
 */
#ifndef S2_EVAL_ROWS_H
#define S2_EVAL_ROWS_H

#include "eval/readers/value.h"

#define S2E_REFERENCE_MAX 64 /* a text in a picture column no longer than this is no picture */

typedef struct s2e_rows_options {
    const char *const *column; /* [n_columns] read these alone; 0: all */
    size_t n_columns;
    /* Columns with base64 pictures: a picture, a data URL, a list of them as Python or JSON writes
     * it. Text of at most S2E_REFERENCE_MAX bytes there stays text: the index of another row, a file
     * name; in JSON and Parquet a longer file name does too. 0: "image" and "image_1" to "image_9". In Parquet bytes are pictures in any column. */
    const char *const *picture; /* [n_pictures] */
    size_t n_pictures;
    const char *member; /* a JSON object: the rows are in this member of it; NULL: they are it */
    const char *key;    /* a JSON object of records: what the key is called; NULL: "id" */
    bool nan_is_none;   /* text that pandas reads as missing is S2E_NONE */
    bool unhashed;      /* leave out SHA-256: for reading texts alone */
    size_t max_text;    /* bytes of a text: 16 MiB */
    size_t max_picture; /* bytes of an encoded picture: 128 MiB */
    size_t max_row;  /* bytes of all texts of a row, and of a record of JSON as written: 256 MiB */
    size_t max_page; /* Parquet: bytes of a page, decompressed: 1 GiB */
} s2e_rows_options;

void s2e_rows_options_init(s2e_rows_options *options);

typedef struct s2e_rows s2e_rows;

typedef struct s2e_row {
    const char *file;        /* its name without folders, for sentences */
    const char *path;        /* of the file; relative picture paths start at its folder */
    int64_t number;          /* in its file, from 1; a header line is no row */
    size_t n;                /* values */
    const char *const *name; /* [n] each once */
    const s2e_value *value;  /* [n] */
    s2e_arena *arena;        /* the row's memory */
} s2e_row;

/* NULL options: the defaults. On failure *out is NULL. */
s2p_status s2e_rows_open(const char *path, const s2e_rows_options *options, s2e_rows **out,
                         s2p_error *error);
void s2e_rows_close(s2e_rows *rows); /* NULL is fine */

/* The next row, valid until the next call; *end: there was none. A row that cannot be read is
 * S2P_EFORMAT, S2P_ELIMIT or S2P_EUNSUPPORTED with "FILE, row N: ..." and the next call goes on
 * behind it; broken columns of Parquet cost the rest of their row group at once ("rows 7 to 90").
 * After any other failure the rows are at their end. */
s2p_status s2e_rows_next(s2e_rows *rows, s2e_row *row, bool *end, s2p_error *error);
static inline bool s2e_row_is_lost(s2p_status status) /* one of the three above */
{
    return status == S2P_EFORMAT || status == S2P_ELIMIT || status == S2P_EUNSUPPORTED;
}
int64_t s2e_rows_n_lost(const s2e_rows *rows);

/* A value by the name of its column; NULL when there is no such column. */
const s2e_value *s2e_row_value(const s2e_row *row, const char *column);

/* The same as text (s2e_value_text) and as numbers; NULL and false: missing or something else. */
const char *s2e_row_text(const s2e_row *row, const char *column);
bool s2e_row_int(const s2e_row *row, const char *column, int64_t *out);

/* A list, also one that is written as a Python or JSON literal in a text. *out is NULL when the cell
 * is missing. S2P_EFORMAT: it is something else. */
s2p_status s2e_row_list(const s2e_row *row, const char *column, const s2e_value **out,
                        s2p_error *error);

/* "FILE, row N: " and the rest. */
s2p_status s2e_row_fail(const s2e_row *row, s2p_error *error, s2p_status status, const char *format,
                        ...) S2_PRINTF(4, 5);

#endif /* S2_EVAL_ROWS_H */
