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
    int64_t row;    /* number of the row at hand */
    int64_t n_lost; /* rows that could not be read */
};

#endif /* S2_EVAL_READER_H */
