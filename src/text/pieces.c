/* pieces.c - a SentencePiece vocabulary from a model file.
 *
 * SentencePiece joins two neighbors whenever their text together is a piece, the piece of the
 * highest score first, the leftmost of equals. That is merging by rank (bpe.h): every way to cut a
 * piece into two pieces is a merge, and its rank is the place of the piece's score among all scores.
 * Pieces of equal score share a rank, so among them the leftmost is joined first.
 *
 * Only normal pieces take part: text never becomes a control, byte or unknown token by joining.
 * Cutting costs the square of a piece's length; MAX_WORK bounds the sum before anything is cut.
 */
#include "text/pieces.h"

#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_WORK ((uint64_t)1 << 31) /* sum of squares; Gemma's 262,144 tokens need 2^25 */

int32_t s2v_piece_byte(s2v_text text)
{
    static const char digits[] = "0123456789ABCDEF";
    if (text.size != 6 || memcmp(text.data, "<0x", 3) != 0 || text.data[5] != '>') return -1;
    const char *high = memchr(digits, text.data[3], 16), *low = memchr(digits, text.data[4], 16);
    return high && low ? (int32_t)((high - digits) << 4 | (low - digits)) : -1;
}

static bool is_piece(const s2v_tokenizer *t, int32_t token)
{
    return token >= 0 && t->type[token] == S2V_TOKEN_NORMAL;
}

/* --- bytes and the unknown token -------------------------------------------------- */

static s2p_status find_fallback(s2v_tokenizer *t, s2p_error *error)
{
    int32_t n_bytes = 0;
    for (int32_t byte = 0; byte < 256; byte++) t->byte_token[byte] = -1;
    for (int32_t i = 0; i < t->n_tokens; i++) {
        if (t->type[i] == S2V_TOKEN_UNKNOWN && t->unknown < 0) t->unknown = i;
        if (t->type[i] != S2V_TOKEN_BYTE) continue;
        const int32_t byte = s2v_piece_byte(s2v_token_text(t, i));
        if (byte < 0)
            return s2_fail(error, S2P_EFORMAT,
                           "token %d has type 6 (byte), but is not <0x00> to "
                           "<0xFF>",
                           i);
        t->byte_token[byte] = i;
        n_bytes++;
    }
    t->has_bytes = n_bytes == 256; /* no two tokens are the same text */
    if (n_bytes > 0 && n_bytes < 256)
        return s2_fail(error, S2P_EFORMAT, "the vocabulary has tokens for %d of the 256 bytes",
                       n_bytes);
    if (!t->has_bytes && t->unknown < 0)
        return s2_fail(error, S2P_EFORMAT,
                       "the vocabulary has neither byte tokens nor an unknown token");
    if (!t->has_bytes && is_piece(t, t->unknown))
        return s2_fail(error, S2P_EFORMAT, "the unknown token %d is an ordinary piece", t->unknown);
    return S2P_OK;
}

/* --- scores to ranks --------------------------------------------------------------- */

typedef struct scored {
    double score;
    int32_t token;
} scored;

static int compare_scored(const void *a, const void *b)
{
    const scored *x = a, *y = b;
    if (x->score != y->score) return x->score > y->score ? -1 : 1;
    return (x->token > y->token) - (x->token < y->token);
}

/* The normal pieces, best first. */
static s2p_status read_scores(const s2v_tokenizer *t, const s2v_gguf *file, scored *out, size_t *n,
                              s2p_error *error)
{
    const s2v_gguf_key *scores = s2v_gguf_find_key(file, "tokenizer.ggml.scores");
    if (!scores || scores->type != S2V_GGUF_ARRAY)
        return s2_fail(error, S2P_EFORMAT, "tokenizer.ggml.scores is missing or not an array");
    if (scores->count != (uint64_t)t->n_tokens)
        return s2_fail(error, S2P_EFORMAT, "%d tokens, but %llu scores", t->n_tokens,
                       (unsigned long long)scores->count);
    *n = 0;
    for (int32_t i = 0; i < t->n_tokens; i++) {
        double score;
        if (!s2v_gguf_item_float(scores, (uint64_t)i, &score) || !isfinite(score))
            return s2_fail(error, S2P_EFORMAT, "the score of token %d is not a finite number", i);
        if (is_piece(t, i)) out[(*n)++] = (scored){ score, i };
    }
    qsort(out, *n, sizeof *out, compare_scored);
    return S2P_OK;
}

/* --- merges -------------------------------------------------------------------------- */

typedef struct list {
    s2v_merge *merge;
    size_t n, capacity;
} list;

static s2p_status append_merge(list *l, s2v_merge merge, s2p_error *error)
{
    if (l->n == l->capacity) {
        const size_t capacity = l->capacity ? 2 * l->capacity : 4096;
        if (capacity > S2V_VOCAB_MAX)
            return s2_fail(error, S2P_ELIMIT, "the pieces can be cut in more than %d ways",
                           S2V_VOCAB_MAX);
        s2v_merge *grown = realloc(l->merge, capacity * sizeof *grown);
        if (!grown) return s2_fail_memory(error, capacity * sizeof *grown, "the merges of pieces");
        l->merge = grown;
        l->capacity = capacity;
    }
    l->merge[l->n++] = merge;
    return S2P_OK;
}

/* Every cut of the piece between two characters whose halves are pieces. */
static s2p_status cut_piece(const s2v_tokenizer *t, int32_t token, int32_t rank, list *l,
                            s2p_error *error)
{
    const s2v_text text = s2v_token_text(t, token);
    for (size_t i = 1; i < text.size; i++) {
        if (((uint8_t)text.data[i] & 0xC0) == 0x80) continue; /* inside a character */
        const int32_t left = s2v_vocab_find(t, text.data, i);
        if (!is_piece(t, left)) continue;
        const int32_t right = s2v_vocab_find(t, text.data + i, text.size - i);
        if (!is_piece(t, right)) continue;
        TRY(append_merge(l, (s2v_merge){ left, right, rank, token }, error));
    }
    return S2P_OK;
}

static s2p_status fill_table(s2v_tokenizer *t, const list *l, s2p_error *error)
{
    TRY(s2v_merges_init(&t->merges, l->n, error));
    for (size_t i = 0; i < l->n; i++)
        if (s2v_merges_add(&t->merges, l->merge[i]) != S2P_OK)
            return s2_fail(error, S2P_ELIMIT, "merge %zu collides with too many others", i);
    return S2P_OK;
}

/* Whether a space may follow something else inside a piece. If it never does, no merge crosses from
 * one word to the next and text can be joined word by word. */
static bool has_inner_space(s2v_text text)
{
    bool is_word = false;
    for (size_t i = 0; i < text.size;) {
        int32_t code = 0;
        i += s2v_utf8_read((const uint8_t *)text.data + i, text.size - i, &code);
        if (code == S2V_PIECE_SPACE && is_word) return true;
        is_word = code != S2V_PIECE_SPACE;
    }
    return false;
}

static s2p_status derive_merges(s2v_tokenizer *t, const scored *piece, size_t n, list *l,
                                s2p_error *error)
{
    uint64_t work = 0;
    t->is_cut_at_spaces = true;
    for (size_t i = 0; i < n; i++) {
        const s2v_text text = s2v_token_text(t, piece[i].token);
        work += (uint64_t)text.size * text.size; /* at most 2^22 times 2^24 */
        if (has_inner_space(text)) t->is_cut_at_spaces = false;
    }
    if (work > MAX_WORK)
        return s2_fail(error, S2P_ELIMIT, "the pieces of the vocabulary are too long in total");
    int32_t rank = 0;
    for (size_t i = 0; i < n; i++) {
        if (i > 0 && piece[i].score != piece[i - 1].score) rank++;
        TRY(cut_piece(t, piece[i].token, rank, l, error));
    }
    return fill_table(t, l, error);
}

s2p_status s2v_pieces_load(s2v_tokenizer *t, const s2v_gguf *file, s2p_error *error)
{
    TRY(find_fallback(t, error));
    const size_t n_bytes = (size_t)t->n_tokens * sizeof(scored);
    scored *piece = malloc(n_bytes);
    if (!piece) return s2_fail_memory(error, n_bytes, "the scores of the vocabulary");
    list l = { .merge = NULL };
    size_t n = 0;
    s2p_status st = read_scores(t, file, piece, &n, error);
    if (st == S2P_OK) st = derive_merges(t, piece, n, &l, error);
    free(l.merge);
    free(piece);
    return st;
}

size_t s2v_piece_tokens(const s2v_tokenizer *t, int32_t code, int32_t out[4])
{
    uint8_t text[4];
    const size_t n = s2v_utf8_write(code, text);
    out[0] = s2v_vocab_find(t, text, n);
    if (is_piece(t, out[0])) return 1;
    out[0] = t->unknown;
    if (!t->has_bytes) return 1;
    for (size_t i = 0; i < n; i++) out[i] = t->byte_token[text[i]];
    return n;
}
