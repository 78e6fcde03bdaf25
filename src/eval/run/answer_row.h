/* answer_row.h - an answer as a row of the store. */
#ifndef S2_EVAL_RUN_ANSWER_ROW_H
#define S2_EVAL_RUN_ANSWER_ROW_H

#include "ask/ask.h"
#include "base/buffer.h"
#include "eval/run/store.h"

typedef struct s2e_answer_row {
    s2e_record record; /* borrows from the key, the answer and the texts */
    s2_buffer grids, kept, regions, stages, logprobs; /* free with s2e_answer_row_free */
} s2e_answer_row;

/* The names are those of *key; setting: the one used; keeps_selections: with the indices and
 * the regions. */
s2p_status s2e_answer_row_make(const s2e_record *key, const s2a_answer *answer,
                               const s2a_setting *setting, bool keeps_selections,
                               s2e_answer_row *out, s2p_error *error);
void s2e_answer_row_free(s2e_answer_row *row);

#endif /* S2_EVAL_RUN_ANSWER_ROW_H */
