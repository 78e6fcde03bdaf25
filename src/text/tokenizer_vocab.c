/* tokenizer_vocab.c - tokens by text, and how bytes are spelled.
 *
 * Byte-level BPE (GPT-2) spells a byte as the Latin-1 character of the same number when
 * that one can be seen; the 68 others take U+0100.. in order.
 */
#include "text/tokenizer_vocab.h"

#include <stdlib.h>
#include <string.h>

#define MAX_PROBES 4096u /* half full and well mixed, a few dozen are already rare */

int32_t s2v_spelling_of(uint8_t byte)
{
    if (byte <= 0x20) return 0x100 + byte;
    if (byte >= 0x7F && byte <= 0xA0) return 0x121 + (byte - 0x7F);
    return byte == 0xAD ? 0x143 : byte;
}

int32_t s2v_byte_of(int32_t code)
{
    if (code >= 0x100 && code <= 0x120) return code - 0x100;
    if (code >= 0x121 && code <= 0x142) return code - 0x121 + 0x7F;
    if (code == 0x143) return 0xAD;
    return code >= 0 && code <= 0xFF && s2v_spelling_of((uint8_t)code) == code ? code : -1;
}

static size_t home_of_text(const s2v_tokenizer *t, const uint8_t *text, size_t n)
{
    uint64_t hash = 0xCBF29CE484222325u;
    for (size_t i = 0; i < n; i++) hash = (hash ^ text[i]) * 0x100000001B3u;
    hash = (hash ^ (hash >> 30)) * 0xBF58476D1CE4E5B9u;
    return (size_t)(hash ^ (hash >> 31)) & (t->n_slots - 1);
}

static bool is_text(const s2v_tokenizer *t, int32_t token, const void *text, size_t n)
{
    const s2v_text own = s2v_token_text(t, token);
    return own.size == n && memcmp(own.data, text, n) == 0;
}

s2p_status s2v_vocab_insert(s2v_tokenizer *t, int32_t token, int32_t *other)
{
    const s2v_text text = s2v_token_text(t, token);
    size_t at = home_of_text(t, (const uint8_t *)text.data, text.size);
    for (size_t i = 0; i < MAX_PROBES; i++, at = (at + 1) & (t->n_slots - 1)) {
        if (t->slot[at] < 0) {
            t->slot[at] = token;
            return S2P_OK;
        }
        if (is_text(t, t->slot[at], text.data, text.size)) {
            *other = t->slot[at];
            return S2P_EINVAL;
        }
    }
    return S2P_ELIMIT;
}

int32_t s2v_vocab_find(const s2v_tokenizer *t, const void *text, size_t n)
{
    size_t at = home_of_text(t, text, n);
    for (; t->slot[at] >= 0; at = (at + 1) & (t->n_slots - 1))
        if (is_text(t, t->slot[at], text, n)) return t->slot[at];
    return -1;
}

void s2v_tokenizer_free(s2v_tokenizer *tokenizer)
{
    if (!tokenizer) return;
    free(tokenizer->arena);
    free(tokenizer->start);
    free(tokenizer->type);
    free(tokenizer->slot);
    free(tokenizer->special);
    s2v_merges_free(&tokenizer->merges);
    free(tokenizer);
}

int32_t s2v_tokenizer_size(const s2v_tokenizer *tokenizer) { return tokenizer->n_tokens; }

int32_t s2v_tokenizer_bos(const s2v_tokenizer *tokenizer) { return tokenizer->bos; }

const char *s2v_tokenizer_title(const s2v_tokenizer *tokenizer) { return tokenizer->kind->title; }

int32_t s2v_tokenizer_eos(const s2v_tokenizer *tokenizer) { return tokenizer->eos; }

bool s2v_tokenizer_ends(const s2v_tokenizer *tokenizer, int32_t token)
{
    if (token < 0) return false;
    for (size_t i = 0; i < sizeof tokenizer->ends / sizeof *tokenizer->ends; i++)
        if (token == tokenizer->ends[i]) return true;
    return token == tokenizer->eos;
}

int32_t s2v_tokenizer_find(const s2v_tokenizer *tokenizer, const char *text)
{
    return s2v_vocab_find(tokenizer, text, strlen(text));
}
