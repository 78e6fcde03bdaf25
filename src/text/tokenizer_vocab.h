/* tokenizer_vocab.h - the inside of a tokenizer, for the files that make it up.
 *
 * Tokens are kept as the model file writes them. Ordinary ones spell each byte as a
 * printable character (byte-level BPE: a space is U+0120) or are text in which a space is
 * U+2581 (SentencePiece); special ones are plain text.
 */
#ifndef S2_TEXT_TOKENIZER_VOCAB_H
#define S2_TEXT_TOKENIZER_VOCAB_H

#include "text/bpe.h"
#include "text/tokenizer.h"
#include "text/tokenizer_kind.h"

#define S2V_VOCAB_MAX (1 << 22)        /* tokens, and merges */
#define S2V_TOKEN_MAX_BYTES 4096u      /* text of one token */
#define S2V_SPECIAL_MAX_BYTES 256u     /* a special one: bounds the search at each byte */
#define S2V_TEXT_MAX_BYTES (64u << 20) /* one text to tokenize */

/* As in the model file. Control and user-defined tokens are special; the first are never shown, the
 * second are part of the answer, such as <tool_call>. */
typedef enum s2v_token_type {
    S2V_TOKEN_NORMAL = 1,
    S2V_TOKEN_UNKNOWN = 2,
    S2V_TOKEN_CONTROL = 3,
    S2V_TOKEN_USER_DEFINED = 4,
    S2V_TOKEN_UNUSED = 5,
    S2V_TOKEN_BYTE = 6
} s2v_token_type;

typedef struct s2v_special { /* a token that is matched as a whole string */
    const uint8_t *text;     /* in the arena */
    size_t size;
    int32_t token;
} s2v_special;

struct s2v_tokenizer {
    const s2v_tokenizer_kind *kind;
    int32_t n_tokens;
    uint8_t *arena;  /* all texts, one after another */
    uint32_t *start; /* [n_tokens + 1] into the arena */
    uint8_t *type;   /* [n_tokens] s2v_token_type */
    int32_t *slot;   /* tokens by text: open addressing, -1 is empty */
    size_t n_slots;  /* a power of two, at least twice n_tokens */
    s2v_merges merges;
    int32_t byte_token[256];
    s2v_special *special; /* sorted by bytes */
    size_t n_special;
    bool may_start[256];  /* a special token starts with this byte */
    int32_t eos, ends[4]; /* -1 where there is none */
    int32_t bos;          /* goes before every prompt; -1: nothing does */
    /* SentencePiece only */
    int32_t unknown;       /* for characters without a piece where there are no bytes; -1: none */
    bool has_bytes;        /* all 256, <0x00> to <0xFF> */
    bool adds_space;       /* text starts with a space, which decoding takes away again */
    bool is_cut_at_spaces; /* no piece reaches from one word into the next */
    char architecture[32]; /* general.architecture, empty when absent or longer */
};

static inline s2v_text s2v_token_text(const s2v_tokenizer *t, int32_t token)
{
    const uint32_t from = t->start[token], to = t->start[token + 1];
    return (s2v_text){ (const char *)t->arena + from, to - from };
}

/* The printable character that spells a byte, and back (-1: it spells none). */
int32_t s2v_spelling_of(uint8_t byte);
int32_t s2v_byte_of(int32_t code);

/* Tokens by text. _insert: the token must not be there yet. S2P_EINVAL: a token of the same text
 * is, and *other is it. S2P_ELIMIT: a vocabulary made to collide. */
s2p_status s2v_vocab_insert(s2v_tokenizer *t, int32_t token, int32_t *other);
int32_t s2v_vocab_find(const s2v_tokenizer *t, const void *text, size_t n);

#endif /* S2_TEXT_TOKENIZER_VOCAB_H */
