/* picture_cell.h - a cell of a picture column as it streams by: hashed, never stored.
 *
 * What comes out is a place; a text when it is short (the index of another row, a file name); a list
 * of them when the cell is written as a list of strings.
 */
#ifndef S2_EVAL_PICTURE_CELL_H
#define S2_EVAL_PICTURE_CELL_H

#include "base/base64_decode.h"
#include "eval/readers/rows.h"

/* One text: the first bytes, in case it stays short, then base64. */
typedef struct s2e_picture_text {
    const s2e_rows_options *options;
    char head[S2E_REFERENCE_MAX + 1];
    uint64_t head_at[S2E_REFERENCE_MAX + 1]; /* where in the file each of them is */
    size_t n_head;
    uint64_t first, last; /* the base64 is in [first, last) of the file */
    uint64_t size;        /* bytes decoded */
    s2_base64 base64;
    s2_sha256_state sha256;
} s2e_picture_text;

void s2e_picture_text_start(s2e_picture_text *text, const s2e_rows_options *options, bool escapes);
/* n bytes of the text, that are at `at` of the file, one after the other. */
void s2e_picture_text_add(s2e_picture_text *text, const uint8_t *bytes, size_t n, uint64_t at);
/* The value: S2E_NONE, S2E_TEXT or S2E_PLACE (its path is the given one; form S2E_PLACE_BASE64 or
 * S2E_PLACE_JSON), in the arena. The sentence says what is wrong and not where. */
s2p_status s2e_picture_text_finish(s2e_picture_text *text, const char *path, s2e_arena *arena,
                                   s2e_value *out, s2p_error *error);

typedef struct s2e_picture_cell {
    s2e_picture_text text;
    const char *path;
    s2e_arena *arena;
    enum { S2E_CELL_BLANK, S2E_CELL_TEXT, S2E_CELL_LIST, S2E_CELL_ITEM, S2E_CELL_CLOSED } state;
    uint8_t quote;     /* S2E_CELL_ITEM: what ends it */
    bool after_item;   /* S2E_CELL_LIST: a comma or the end must come */
    s2_buffer items;   /* s2e_value each */
    s2p_status status; /* the first thing that went wrong */
    s2p_error error;
} s2e_picture_cell;

void s2e_picture_cell_start(s2e_picture_cell *cell, const s2e_rows_options *options,
                            const char *path, s2e_arena *arena);
void s2e_picture_cell_add(s2e_picture_cell *cell, const uint8_t *bytes, size_t n, uint64_t at);
s2p_status s2e_picture_cell_finish(s2e_picture_cell *cell, s2e_value *out, s2p_error *error);
void s2e_picture_cell_free(s2e_picture_cell *cell); /* all-zero is fine */

/* Is this text of a picture column, though longer than a reference, the name of a file? Base64 has no
 * dots. */
bool s2e_is_file_name(const char *text, size_t n);

/* Is this a picture column? */
bool s2e_is_picture_column(const s2e_rows_options *options, const char *name);

#endif /* S2_EVAL_PICTURE_CELL_H */
