/* delimited.h - TSV and CSV. */
#ifndef S2_EVAL_DELIMITED_H
#define S2_EVAL_DELIMITED_H

#include "eval/readers/reader.h"

/* Takes over the input and reads the header line. On failure *out is NULL and the input the
 * caller's. */
s2p_status s2e_delimited_open(s2e_input *input, char delimiter, const s2e_rows_options *options,
                              s2e_reader **out, s2p_error *error);

#endif /* S2_EVAL_DELIMITED_H */
