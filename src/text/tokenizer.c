/* tokenizer.c - text to tokens.
 *
 * The order is Hugging Face's: special tokens are cut out of the raw text first,
 * leftmost and longest; what lies between is brought to NFC where the kind says so, split by
 * the kind's pattern, spelled in bytes and merged. So a mark after <|im_end|> never composes across it.
 */
#include "text/tokenizer_vocab.h"

#include "base/checked.h"
#include "text/pieces.h"
#include "text/unicode.h"

#include <stdlib.h>

/* --- lists of tokens ----------------------------------------------------------- */

void s2v_tokens_free(s2v_tokens *tokens)
{
    free(tokens->id);
    *tokens = (s2v_tokens){ .id = NULL };
}

/* Room for n more. */
static s2p_status reserve_tokens(s2v_tokens *tokens, size_t n)
{
    size_t needed, n_bytes;
    if (n <= tokens->capacity - tokens->n) return S2P_OK;
    if (!s2_add_size(tokens->n, n, &needed)) return S2P_ELIMIT;
    size_t capacity = tokens->capacity > SIZE_MAX / 2 ? needed : 2 * tokens->capacity;
    if (capacity < needed) capacity = needed;
    if (capacity < 64) capacity = 64;
    if (!s2_mul_size(capacity, sizeof *tokens->id, &n_bytes)) return S2P_ELIMIT;
    int32_t *id = realloc(tokens->id, n_bytes);
    if (!id) return S2P_ENOMEM;
    tokens->id = id;
    tokens->capacity = capacity;
    return S2P_OK;
}

s2p_status s2v_tokens_add(s2v_tokens *tokens, int32_t id)
{
    const s2p_status st = reserve_tokens(tokens, 1);
    if (st == S2P_OK) tokens->id[tokens->n++] = id;
    return st;
}

/* --- plain text ------------------------------------------------------------------ */

typedef struct work { /* of one call */
    const s2v_tokenizer *t;
    s2v_codes codes;
    s2v_bpe *bpe;
    s2v_tokens *out;
} work;

/* One stretch of the split: its bytes as tokens at the end of the list, joined there. */
static s2p_status add_word(work *w, const int32_t *code, size_t n, s2p_error *error)
{
    const s2p_status st = reserve_tokens(w->out, 4 * n); /* n <= 3 * S2V_TEXT_MAX_BYTES */
    if (st != S2P_OK) return s2_fail_memory(error, 16 * n, "the tokens of a text");
    int32_t *token = w->out->id + w->out->n;
    size_t n_tokens = 0;
    for (size_t i = 0; i < n; i++) {
        uint8_t byte[4];
        const size_t n_bytes = s2v_utf8_write(code[i], byte);
        for (size_t k = 0; k < n_bytes; k++) token[n_tokens++] = w->t->byte_token[byte[k]];
    }
    const s2p_status joined = s2v_bpe_join(w->bpe, &w->t->merges, token, &n_tokens, error);
    if (joined == S2P_OK) w->out->n += n_tokens;
    return joined;
}

/* The same for SentencePiece: code points as pieces, a space as U+2581. */
static s2p_status add_pieces(work *w, const int32_t *code, size_t n, s2p_error *error)
{
    const s2p_status st = reserve_tokens(w->out, 4 * n);
    if (st != S2P_OK) return s2_fail_memory(error, 16 * n, "the tokens of a text");
    int32_t *token = w->out->id + w->out->n;
    size_t n_tokens = 0;
    for (size_t i = 0; i < n; i++)
        n_tokens +=
            s2v_piece_tokens(w->t, code[i] == ' ' ? S2V_PIECE_SPACE : code[i], token + n_tokens);
    const s2p_status joined = s2v_bpe_join(w->bpe, &w->t->merges, token, &n_tokens, error);
    if (joined == S2P_OK) w->out->n += n_tokens;
    return joined;
}

/* Length of the first word: it ends before a space that something else precedes. */
static size_t word_length(const s2v_tokenizer *t, const int32_t *code, size_t n)
{
    size_t i = 1;
    if (!t->is_cut_at_spaces) return n;
    while (i < n && ((code[i] != ' ' && code[i] != S2V_PIECE_SPACE) || code[i - 1] == ' ' ||
                     code[i - 1] == S2V_PIECE_SPACE))
        i++;
    return i;
}

/* Unknown characters in a row are one unknown token. */
static void fuse_unknown(work *w, size_t from)
{
    s2v_tokens *out = w->out;
    size_t n = from;
    for (size_t i = from; i < out->n; i++)
        if (i == from || out->id[i] != w->t->unknown || out->id[i - 1] != w->t->unknown)
            out->id[n++] = out->id[i];
    out->n = n;
}

/* A stretch between special tokens: a space goes before it, then whole words. */
static s2p_status add_scored(work *w, const uint8_t *text, size_t n, s2p_error *error)
{
    const size_t n_before = w->out->n;
    if (n == 0) return S2P_OK;
    TRY(s2v_codes_read(text, n, &w->codes, w->t->adds_space, error));
    for (size_t i = 0; i < w->codes.n;) {
        const size_t length = word_length(w->t, w->codes.code + i, w->codes.n - i);
        TRY(add_pieces(w, w->codes.code + i, length, error));
        i += length;
    }
    if (!w->t->has_bytes) fuse_unknown(w, n_before);
    return S2P_OK;
}

static s2p_status add_plain(work *w, const uint8_t *text, size_t n, s2p_error *error)
{
    if (w->t->kind->by_score) return add_scored(w, text, n, error);
    const s2v_tokenizer_kind *kind = w->t->kind;
    s2p_status st = kind->is_nfc ? s2v_nfc(text, n, &w->codes, error)
                                 : s2v_codes_read(text, n, &w->codes, false, error);
    for (size_t i = 0; st == S2P_OK && i < w->codes.n;) {
        const size_t length = kind->pretoken(w->codes.code + i, w->codes.n - i);
        st = add_word(w, w->codes.code + i, length, error);
        i += length;
    }
    return st;
}

/* --- special tokens ----------------------------------------------------------------- */

/* First of special[low..high), which agree on `depth` bytes, whose next byte is at least `byte`;
 * one that ends there comes before all that go on. */
static size_t lower_bound(const s2v_special *special, size_t low, size_t high, size_t depth,
                          int byte)
{
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        const s2v_special *s = &special[middle];
        if ((s->size > depth ? s->text[depth] : -1) < byte)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* The longest special token that `text` starts with, or NULL. with_control: not only those that
 * are defined as part of the text. */
static const s2v_special *match_special(const s2v_tokenizer *t, const uint8_t *text, size_t n,
                                        bool with_control)
{
    const s2v_special *longest = NULL;
    size_t low = 0, high = t->n_special;
    for (size_t depth = 0; depth < n && low < high; depth++) {
        low = lower_bound(t->special, low, high, depth, text[depth]);
        high = lower_bound(t->special, low, high, depth, text[depth] + 1);
        if (low < high && t->special[low].size == depth + 1 &&
            (with_control || t->type[t->special[low].token] == S2V_TOKEN_USER_DEFINED))
            longest = &t->special[low];
    }
    return longest;
}

static s2p_status add_parsed(work *w, const uint8_t *text, size_t n, bool with_control,
                             s2p_error *error)
{
    size_t from = 0, i = 0;
    while (i < n) {
        const s2v_special *special =
            w->t->may_start[text[i]] ? match_special(w->t, text + i, n - i, with_control) : NULL;
        if (!special) {
            i++;
            continue;
        }
        TRY(add_plain(w, text + from, i - from, error));
        if (s2v_tokens_add(w->out, special->token) != S2P_OK)
            return s2_fail_memory(error, sizeof special->token, "a token");
        i += special->size;
        from = i;
    }
    return add_plain(w, text + from, n - from, error);
}

s2p_status s2v_tokenize(const s2v_tokenizer *tokenizer, const char *text, size_t n,
                        bool parse_special, s2v_tokens *out, s2p_error *error)
{
    if (n > S2V_TEXT_MAX_BYTES)
        return s2_fail(error, S2P_ELIMIT, "the text has %zu bytes; the limit is %u", n,
                       S2V_TEXT_MAX_BYTES);
    if (n == 0) return S2P_OK;
    work w = { .t = tokenizer, .out = out };
    const size_t n_before = out->n;
    s2p_status st = s2v_bpe_create(&w.bpe, error);
    if (st == S2P_OK)
        st = parse_special || tokenizer->kind->by_score
                 ? add_parsed(&w, (const uint8_t *)text, n, parse_special, error)
                 : add_plain(&w, (const uint8_t *)text, n, error);
    if (st != S2P_OK) out->n = n_before;
    s2v_bpe_free(w.bpe);
    s2v_codes_free(&w.codes);
    return st;
}
