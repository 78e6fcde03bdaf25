/* reader.h - one file of rows, of one kind; rows.c puts files and kinds together. */
#ifndef S2_EVAL_READER_H
#define S2_EVAL_READER_H

#include "eval/readers/input.h"
#include "eval/readers/rows.h"

typedef struct s2e_reader s2e_reader;
struct s2e_reader {
    s2p_status (*next)(s2e_reader *reader, s2e_row *row, bool *end, s2p_error *error);
    void (*close)(s2e_reader *reader);
    const s2e_rows_options *options; /* complete: no zero limit */
    s2e_input input;
    s2e_arena arena;
    int64_t row;    /* number of the current row */
    int64_t n_lost; /* rows that could not be read */
};

/* delimited.c: TSV and CSV. */

/* Takes over the input and reads the header line. On failure *out is NULL and the input the
 * caller's. */
s2p_status s2e_delimited_open(s2e_input *input, char delimiter, const s2e_rows_options *options,
                              s2e_reader **out, s2p_error *error);

/* json_rows.c: JSON lines, arrays of records and objects of records, one record at a time. */
typedef enum s2e_json_shape { S2E_JSON_LINES, S2E_JSON_ARRAY, S2E_JSON_OBJECT } s2e_json_shape;

/* Takes over the input, which is after a byte order mark. On failure *out is NULL and the input is
 * the caller's. */
s2p_status s2e_json_rows_open(s2e_input *input, s2e_json_shape shape,
                              const s2e_rows_options *options, s2e_reader **out, s2p_error *error);

/* The shape of the input from its position, which is unchanged: a text that starts with '{' is one
 * object of records when nothing follows it, and lines otherwise. */
s2p_status s2e_json_shape_of(s2e_input *input, s2e_json_shape *out, s2p_error *error);

/* parquet_rows.c: rows of a Parquet file. */

/* Takes over the input. On failure *out is NULL and the input the caller's. */
s2p_status s2e_parquet_rows_open(s2e_input *input, const s2e_rows_options *options,
                                 s2e_reader **out, s2p_error *error);

#endif /* S2_EVAL_READER_H */
