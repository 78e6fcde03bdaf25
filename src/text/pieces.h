/* pieces.h - SentencePiece vocabularies: pieces with scores, bytes as a fallback. */
#ifndef S2_TEXT_PIECES_H
#define S2_TEXT_PIECES_H

#include "text/tokenizer_vocab.h"

#define S2V_PIECE_SPACE 0x2581 /* U+2581 is what a space becomes inside a piece */

/* After the tokens are loaded: byte tokens, the unknown token, and which pieces join to which. */
s2p_status s2v_pieces_load(s2v_tokenizer *t, const s2v_gguf *file, s2p_error *error);

/* Write the tokens of one character before anything is joined; 1 to 4. */
size_t s2v_piece_tokens(const s2v_tokenizer *t, int32_t code, int32_t out[4]);

/* The byte that "<0xXX>" stands for, or -1. */
int32_t s2v_piece_byte(s2v_text text);

#endif /* S2_TEXT_PIECES_H */
