/* tokenizer.h - text to tokens; tokenizer_text.h is the way back.
 *
 * Equal to the Hugging Face tokenizers of the same models. Special tokens are cut out as whole
 * strings (the leftmost, and the longest there); what lies between is tokenized by kind
 * (tokenizer_kind.c): byte-level BPE with the pre-tokenizers `qwen2` and `smollm`, or SentencePiece
 * (`llama`: pieces joined by score, bytes for characters without a piece).
 *
 * Special are the tokens of types 3 (control) and 4 (user defined). Converters fill ids without a
 * token with "[PADid]"; those are never produced and show nothing, whatever type they are given.
 */
#ifndef S2_TEXT_TOKENIZER_H
#define S2_TEXT_TOKENIZER_H

#include "base/buffer.h"
#include "gguf/gguf.h"
#include "text/tokenizer_text.h"

/* A tokenizer is read-only after create, and shared. The vocabulary is copied: the file may be closed afterwards. */
s2p_status s2v_tokenizer_create(s2v_tokenizer **out, const s2v_gguf *file, s2p_error *error);
void s2v_tokenizer_free(s2v_tokenizer *tokenizer);

int32_t s2v_tokenizer_size(const s2v_tokenizer *tokenizer);
const char *s2v_tokenizer_title(const s2v_tokenizer *tokenizer); /* its kind, for people */
int32_t s2v_tokenizer_bos(const s2v_tokenizer *tokenizer); /* before every prompt; -1: nothing */
int32_t s2v_tokenizer_eos(const s2v_tokenizer *tokenizer); /* -1 when there is none */
bool s2v_tokenizer_ends(const s2v_tokenizer *tokenizer, int32_t token); /* any end of generation */

/* The id of a token by its exact text (special ones such as <|image_pad|>), -1 when absent. */
int32_t s2v_tokenizer_find(const s2v_tokenizer *tokenizer, const char *text);

typedef struct s2v_tokens { /* grows; free with s2v_tokens_free */
    int32_t *id;
    size_t n, capacity;
} s2v_tokens;

void s2v_tokens_free(s2v_tokens *tokens);
s2p_status s2v_tokens_add(s2v_tokens *tokens, int32_t id);

/* Append the tokens of `text`; on failure the list is as before. parse_special: "<|im_end|>" in the
 * text is that token (templates); otherwise it is plain text (what a user typed), and so are tokens
 * users defined, except in SentencePiece, where these are pieces of the text. The token that goes
 * before every prompt is not added. Invalid UTF-8 is S2P_EFORMAT, more than 64 MiB S2P_ELIMIT. */
s2p_status s2v_tokenize(const s2v_tokenizer *tokenizer, const char *text, size_t n,
                        bool parse_special, s2v_tokens *out, s2p_error *error);

#endif /* S2_TEXT_TOKENIZER_H */
