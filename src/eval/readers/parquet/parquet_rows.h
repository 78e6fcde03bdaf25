/* parquet_rows.h - rows of a Parquet file. */
#ifndef S2_EVAL_PARQUET_ROWS_H
#define S2_EVAL_PARQUET_ROWS_H

#include "eval/readers/reader.h"

/* Takes over the input. On failure *out is NULL and the input the caller's. */
s2p_status s2e_parquet_rows_open(s2e_input *input, const s2e_rows_options *options,
                                 s2e_reader **out, s2p_error *error);

#endif /* S2_EVAL_PARQUET_ROWS_H */
