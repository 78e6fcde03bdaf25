/* vocabulary.h - a vocabulary while it is converted, for the files that read and write it. */
#ifndef S2_CONVERT_VOCABULARY_H
#define S2_CONVERT_VOCABULARY_H

#include "base/buffer.h"
#include "base/json.h"
#include "convert/piece_model.h"
#include "gguf/gguf_write.h"

#define S2V_TOKENIZER_JSON "tokenizer.json"

typedef struct s2v_vocabulary {
    const json_t *file; /* tokenizer.json; NULL when the vocabulary is in tokenizer.model alone */
    const json_t *settings; /* tokenizer_config.json */
    int32_t n;
    const char **text;     /* [n], borrowed; NULL: the id is unused */
    int32_t *type;         /* [n] s2v_piece_type */
    float *score;          /* [n]; SentencePiece only, else NULL */
    s2v_piece_model model; /* of tokenizer.model: owns the texts */
    s2_buffer spaced;      /* texts of user-defined pieces with spaces in place of U+2581 */
} s2v_vocabulary;

/* vocab_tokens.c */

/* Take a token; normal ones must not meet another, others may replace one of the same text. */
s2p_status s2v_vocabulary_add(s2v_vocabulary *v, const char *text, const json_t *id, int32_t type,
                              s2p_error *error);

/* "<|...|>", "<pad>" and "<mask>" are control tokens even where the file does not say so. */
bool s2v_looks_special(const char *text);

/* The two sides of a merge, "a b" or ["a", "b"]; false when it is neither. */
bool s2v_merge_sides(const json_t *merge, const char **left, size_t *n_left, const char **right);

/* The id of the first n bytes of `text` in the vocabulary of tokenizer.json; NULL when absent. */
const json_t *s2v_vocabulary_find(const json_t *vocab, const char *text, size_t n,
                                  s2_buffer *scratch);

/* tokens, scores and types; unused ids become "[PADn]". */
void s2v_vocabulary_put_tokens(const s2v_vocabulary *v, s2v_gguf_writer *writer);

/* vocab_pieces.c: read a SentencePiece vocabulary into `v`, write its keys. */
s2p_status s2v_pieces_put_model(s2v_vocabulary *v, const char *folder, s2v_gguf_writer *writer,
                                s2p_error *error);
s2p_status s2v_pieces_put_json(s2v_vocabulary *v, s2v_gguf_writer *writer, s2p_error *error);

/* Whether tokenizer.json holds a SentencePiece vocabulary. */
bool s2v_json_has_pieces(const json_t *file);

#endif /* S2_CONVERT_VOCABULARY_H */
