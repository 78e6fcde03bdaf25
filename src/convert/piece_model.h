/* piece_model.h - tokenizer.model: the vocabulary of SentencePiece. */
#ifndef S2_CONVERT_PIECE_MODEL_H
#define S2_CONVERT_PIECE_MODEL_H

#include "base/error.h"

#include <stdbool.h>

#define S2V_PIECE_MODEL_MAX_BYTES ((size_t)64 << 20)

typedef enum s2v_piece_type { /* as in the file, and the same numbers as in GGUF */
                              S2V_PIECE_NORMAL = 1,
                              S2V_PIECE_UNKNOWN = 2,
                              S2V_PIECE_CONTROL = 3,
                              S2V_PIECE_USER_DEFINED = 4,
                              S2V_PIECE_UNUSED = 5,
                              S2V_PIECE_BYTE = 6
} s2v_piece_type;

typedef struct s2v_piece_entry {
    char *text; /* NUL-terminated UTF-8 of at least one byte */
    float score;
    s2v_piece_type type;
} s2v_piece_entry;

typedef struct s2v_piece_model {
    s2v_piece_entry *piece; /* by id */
    size_t n, capacity;
    bool adds_space; /* a space goes before the text */
} s2v_piece_model;

/* Parse the bytes of a file. Accepts only models that join pieces by score and do not normalize
 * the text; anything else is S2P_EUNSUPPORTED, because it would tokenize differently. */
s2p_status s2v_piece_model_parse(s2v_piece_model *out, const void *bytes, size_t n,
                                 s2p_error *error);
void s2v_piece_model_free(s2v_piece_model *model);

#endif /* S2_CONVERT_PIECE_MODEL_H */
