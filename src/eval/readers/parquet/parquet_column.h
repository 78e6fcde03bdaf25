/* parquet_column.h - the values of one leaf of a row group, one after the other, with their levels.
 *
 * One page is in memory, and the dictionary where there is one.
 */
#ifndef S2_EVAL_PARQUET_COLUMN_H
#define S2_EVAL_PARQUET_COLUMN_H

#include "eval/readers/parquet/parquet_runs.h"
#include "eval/readers/parquet/parquet_meta.h"
#include "eval/readers/parquet/parquet_page.h"
#include "eval/readers/picture_cell.h"
#include "eval/readers/rows.h"

typedef struct s2e_column {
    const s2e_schema_node *leaf;
    const s2e_input *input;
    const s2e_rows_options *options;
    bool is_picture; /* text here may be base64 */
    s2e_chunk chunk;
    int64_t left;      /* entries of the chunk that were not taken */
    int32_t page_left; /* of the current page */
    s2e_page page, dictionary;
    uint32_t *entry; /* [n_entries] of a dictionary of bytes: where each begins */
    uint32_t n_entries;
    s2e_runs rep_levels, def_levels, indices;
    s2e_delta numbers; /* DELTA_BINARY_PACKED, or the lengths of DELTA_LENGTH_BYTE_ARRAY */
    s2e_delta_bytes texts;
    size_t at;        /* in the page: the next plain value or the bytes of the next one */
    size_t values;    /* in the page: where its values begin */
    uint32_t n_taken; /* values taken from this page */
    bool peeked;
    uint32_t rep, def; /* of the entry to be taken next, once peeked */
    s2e_picture_cell cell;
} s2e_column;

void s2e_column_init(s2e_column *column, const s2e_schema_node *leaf, bool is_picture,
                     const s2e_input *input, const s2e_rows_options *options);
void s2e_column_free(s2e_column *column); /* all-zero is fine */

/* Begin the chunk of a row group. */
void s2e_column_start(s2e_column *column, const s2e_chunk *chunk);

/* Levels of the next entry in column->rep and ->def; *end: the chunk has no more. A failure breaks
 * the rest of the chunk. */
s2p_status s2e_column_peek(s2e_column *column, bool *end, s2p_error *error);

/* Take the entry that was peeked; S2E_NONE below the highest definition level. Values go to the
 * arena. When the value alone is at fault, that is what *fault says (status S2P_OK: nothing) and the
 * entry is taken all the same; a failure breaks the rest of the chunk. */
s2p_status s2e_column_take(s2e_column *column, s2e_arena *arena, s2e_value *out, s2p_error *fault,
                           s2p_error *error);

#endif /* S2_EVAL_PARQUET_COLUMN_H */
