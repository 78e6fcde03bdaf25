/* tokenizer_kind.h - the kinds of tokenizer that model files name, one row each. */
#ifndef S2_TEXT_TOKENIZER_KIND_H
#define S2_TEXT_TOKENIZER_KIND_H

#include "gguf/gguf.h"

typedef struct s2v_tokenizer_kind {
    const char *model; /* tokenizer.ggml.model */
    const char *pre;   /* tokenizer.ggml.pre; NULL: not read, because nothing splits the text */
    const char *title; /* for people */
    bool is_nfc;       /* text is brought to NFC first */
    bool by_score;     /* SentencePiece: pieces have scores; otherwise bytes and a list of merges */
    size_t (*pretoken)(const int32_t *code, size_t n); /* NULL: merges may join anything */
} s2v_tokenizer_kind;

/* The kind a model file names. S2P_EFORMAT: a key is missing; S2P_EUNSUPPORTED: not in the table. */
s2p_status s2v_tokenizer_kind_of(const s2v_gguf *file, const s2v_tokenizer_kind **out,
                                 s2p_error *error);

#endif /* S2_TEXT_TOKENIZER_KIND_H */
