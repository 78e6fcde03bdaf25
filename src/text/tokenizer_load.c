/* tokenizer_load.c - a vocabulary from a model file, every entry checked.
 *
 * The file has passed gguf.h, so its strings lie inside it; what they say is still
 * anyone's. A tokenizer is made only when text cannot surprise it later: all 256
 * bytes have a token (SentencePiece may have an unknown token instead), every merge joins
 * two ordinary tokens into a third (so plain text never becomes a special one), no two
 * tokens are the same text.
 */
#include "text/tokenizer_vocab.h"

#include "base/checked.h"
#include "text/pieces.h"
#include "text/unicode.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- keys -------------------------------------------------------------------- */

/* An array with elements of the type, not more than the limit. */
static s2p_status take_array(const s2v_gguf *file, const char *key, bool of_strings,
                             const s2v_gguf_key **out, s2p_error *error)
{
    const s2v_gguf_key *found = s2v_gguf_find_key(file, key);
    *out = NULL;
    if (!found || found->type != S2V_GGUF_ARRAY || (found->item == S2V_GGUF_STRING) != of_strings)
        return s2_fail(error, S2P_EFORMAT, "%s is missing or not an array of %s", key,
                       of_strings ? "strings" : "whole numbers");
    if (found->count > S2V_VOCAB_MAX)
        return s2_fail(error, S2P_ELIMIT, "%s has %llu entries; the limit is %d", key,
                       (unsigned long long)found->count, S2V_VOCAB_MAX);
    *out = found;
    return S2P_OK;
}

/* The id of a role such as end of text; -1 when the file names none. */
static s2p_status take_id(const s2v_gguf *file, const char *key, int32_t n_tokens, int32_t *out,
                          s2p_error *error)
{
    int64_t id;
    *out = -1;
    if (!s2v_gguf_find_key(file, key)) return S2P_OK;
    if (!s2v_gguf_int(file, key, &id))
        return s2_fail(error, S2P_EFORMAT, "%s is not a whole number", key);
    if (id < 0 || id >= n_tokens)
        return s2_fail(error, S2P_EFORMAT, "%s is %lld; the vocabulary has %d tokens", key,
                       (long long)id, n_tokens);
    *out = (int32_t)id;
    return S2P_OK;
}

/* Keeps *out when the file does not say. */
static s2p_status take_bool(const s2v_gguf *file, const char *key, bool *out, s2p_error *error)
{
    if (!s2v_gguf_find_key(file, key) || s2v_gguf_bool(file, key, out)) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "%s is not a boolean", key);
}

/* --- tokens ------------------------------------------------------------------- */

static bool is_utf8(s2v_text text)
{
    const uint8_t *bytes = (const uint8_t *)text.data;
    for (size_t i = 0; i < text.size;) {
        int32_t code;
        const size_t used = s2v_utf8_read(bytes + i, text.size - i, &code);
        if (used == 0) return false;
        i += used;
    }
    return true;
}

/* Converters fill ids that no token has with "[PADid]", older ones as if users had defined them. */
static bool is_padding(s2v_text text, int32_t token)
{
    char padding[24];
    const int n = snprintf(padding, sizeof padding, "[PAD%d]", token);
    return n > 0 && text.size == (size_t)n && memcmp(text.data, padding, text.size) == 0;
}

static bool is_special(uint8_t type)
{
    return type == S2V_TOKEN_CONTROL || type == S2V_TOKEN_USER_DEFINED;
}

static s2p_status check_token(s2v_text text, int32_t token, int64_t type, s2p_error *error)
{
    if (type < S2V_TOKEN_NORMAL || type > S2V_TOKEN_BYTE)
        return s2_fail(error, S2P_EFORMAT, "token %d has type %lld; types are 1 to 6", token,
                       (long long)type);
    const size_t most = is_special((uint8_t)type) || type == S2V_TOKEN_UNKNOWN
                            ? S2V_SPECIAL_MAX_BYTES
                            : S2V_TOKEN_MAX_BYTES;
    if (text.size == 0 || text.size > most)
        return s2_fail(error, S2P_EFORMAT, "token %d has %zu bytes, expected 1 to %zu", token,
                       text.size, most);
    if (!is_utf8(text)) return s2_fail(error, S2P_EFORMAT, "token %d is not UTF-8", token);
    return S2P_OK;
}

/* All tokens checked, and the bytes of their texts counted. */
static s2p_status measure_tokens(const s2v_gguf_key *tokens, const s2v_gguf_key *types,
                                 uint32_t *n_bytes, s2p_error *error)
{
    size_t cursor = 0, total = 0;
    for (int32_t i = 0; i < (int32_t)tokens->count; i++) {
        s2v_text text;
        int64_t type;
        if (!s2v_gguf_next_string(tokens, &cursor, &text) ||
            !s2v_gguf_item_int(types, (uint64_t)i, &type))
            return s2_fail(error, S2P_EFORMAT, "token %d cannot be read", i);
        TRY(check_token(text, i, type, error));
        if (!s2_add_size(total, text.size, &total) || total > UINT32_MAX)
            return s2_fail(error, S2P_ELIMIT, "the tokens are longer than 4 GiB in total");
    }
    *n_bytes = (uint32_t)total;
    return S2P_OK;
}

static s2p_status allocate_tokens(s2v_tokenizer *t, size_t n_tokens, size_t n_bytes,
                                  s2p_error *error)
{
    t->n_slots = 16;
    while (t->n_slots / 2 < n_tokens) t->n_slots *= 2; /* n_tokens <= S2V_VOCAB_MAX */
    t->arena = malloc(n_bytes);
    t->start = malloc((n_tokens + 1) * sizeof *t->start);
    t->type = malloc(n_tokens);
    t->slot = malloc(t->n_slots * sizeof *t->slot);
    if (!t->arena || !t->start || !t->type || !t->slot)
        return s2_fail_memory(error, n_bytes + n_tokens * 5 + t->n_slots * 4, "the vocabulary");
    for (size_t i = 0; i < t->n_slots; i++) t->slot[i] = -1;
    return S2P_OK;
}

static s2p_status copy_tokens(s2v_tokenizer *t, const s2v_gguf_key *tokens,
                              const s2v_gguf_key *types, s2p_error *error)
{
    size_t cursor = 0;
    uint32_t at = 0;
    t->start[0] = 0;
    for (int32_t i = 0; i < (int32_t)tokens->count; i++) {
        s2v_text text = { NULL, 0 };
        int64_t type = 0;
        int32_t other = -1;
        (void)s2v_gguf_next_string(tokens, &cursor, &text); /* both were read before */
        (void)s2v_gguf_item_int(types, (uint64_t)i, &type);
        memcpy(t->arena + at, text.data, text.size);
        at += (uint32_t)text.size;
        t->start[i + 1] = at;
        const bool is_filler = is_special((uint8_t)type) && is_padding(text, i);
        t->type[i] = (uint8_t)(is_filler ? S2V_TOKEN_UNUSED : type);
        t->n_tokens = i + 1;
        const s2p_status st = s2v_vocab_insert(t, i, &other);
        if (st == S2P_EINVAL)
            return s2_fail(error, S2P_EFORMAT, "tokens %d and %d have the same text", other, i);
        if (st != S2P_OK) return s2_fail(error, st, "token %d collides with too many others", i);
    }
    return S2P_OK;
}

static s2p_status load_tokens(s2v_tokenizer *t, const s2v_gguf *file, s2p_error *error)
{
    const s2v_gguf_key *tokens, *types = NULL;
    uint32_t n_bytes = 0;
    TRY(take_array(file, "tokenizer.ggml.tokens", true, &tokens, error));
    TRY(take_array(file, "tokenizer.ggml.token_type", false, &types, error));
    if (tokens->count == 0 || tokens->count != types->count)
        return s2_fail(error, S2P_EFORMAT, "%llu tokens, but %llu token types",
                       (unsigned long long)tokens->count, (unsigned long long)types->count);
    TRY(measure_tokens(tokens, types, &n_bytes, error));
    TRY(allocate_tokens(t, (size_t)tokens->count, n_bytes, error));
    return copy_tokens(t, tokens, types, error);
}

/* --- what is derived from them -------------------------------------------------- */

static s2p_status find_bytes(s2v_tokenizer *t, s2p_error *error)
{
    for (int32_t byte = 0; byte < 256; byte++) {
        uint8_t text[4];
        const size_t n = s2v_utf8_write(s2v_spelling_of((uint8_t)byte), text);
        const int32_t token = s2v_vocab_find(t, text, n);
        if (token < 0 || t->type[token] != S2V_TOKEN_NORMAL)
            return s2_fail(error, S2P_EFORMAT, "the vocabulary has no token for byte 0x%02X",
                           (unsigned)byte);
        t->byte_token[byte] = token;
    }
    return S2P_OK;
}

static int compare_specials(const void *a, const void *b)
{
    const s2v_special *x = a, *y = b;
    const int order = memcmp(x->text, y->text, x->size < y->size ? x->size : y->size);
    return order != 0 ? order : (x->size > y->size) - (x->size < y->size);
}

/* SentencePiece's unknown token is read from a prompt like a control token. */
static bool is_read_whole(const s2v_tokenizer *t, int32_t token)
{
    return is_special(t->type[token]) || (t->kind->by_score && t->type[token] == S2V_TOKEN_UNKNOWN);
}

static s2p_status list_specials(s2v_tokenizer *t, s2p_error *error)
{
    size_t n = 0;
    for (int32_t i = 0; i < t->n_tokens; i++) n += is_read_whole(t, i);
    if (n == 0) return S2P_OK;
    t->special = malloc(n * sizeof *t->special);
    if (!t->special) return s2_fail_memory(error, n * sizeof *t->special, "the special tokens");
    for (int32_t i = 0; i < t->n_tokens; i++) {
        if (!is_read_whole(t, i)) continue;
        const s2v_text text = s2v_token_text(t, i);
        const uint8_t *bytes = (const uint8_t *)text.data;
        t->special[t->n_special++] = (s2v_special){ bytes, text.size, i };
        t->may_start[bytes[0]] = true;
    }
    qsort(t->special, n, sizeof *t->special, compare_specials);
    return S2P_OK;
}

static bool is_ordinary(const s2v_tokenizer *t, int32_t token)
{
    return token >= 0 && t->type[token] == S2V_TOKEN_NORMAL;
}

/* "a b": both tokens, and their join, must be ordinary ones. */
static s2p_status read_merge(const s2v_tokenizer *t, s2v_text line, s2v_merge *out)
{
    uint8_t joined[S2V_TOKEN_MAX_BYTES];
    const char *space = memchr(line.data, ' ', line.size);
    if (!space || line.size - 1 > sizeof joined) return S2P_EFORMAT;
    const size_t n_left = (size_t)(space - line.data), n_right = line.size - n_left - 1;
    memcpy(joined, line.data, n_left);
    memcpy(joined + n_left, space + 1, n_right);
    out->left = s2v_vocab_find(t, joined, n_left);
    out->right = s2v_vocab_find(t, joined + n_left, n_right);
    out->token = s2v_vocab_find(t, joined, n_left + n_right);
    const bool is_known =
        is_ordinary(t, out->left) && is_ordinary(t, out->right) && is_ordinary(t, out->token);
    return is_known ? S2P_OK : S2P_EFORMAT;
}

static s2p_status load_merges(s2v_tokenizer *t, const s2v_gguf *file, s2p_error *error)
{
    const s2v_gguf_key *lines;
    TRY(take_array(file, "tokenizer.ggml.merges", true, &lines, error));
    TRY(s2v_merges_init(&t->merges, (size_t)lines->count, error));
    size_t cursor = 0;
    for (int32_t i = 0; i < (int32_t)lines->count; i++) {
        s2v_text line;
        s2v_merge merge = { .rank = i };
        if (!s2v_gguf_next_string(lines, &cursor, &line) || read_merge(t, line, &merge) != S2P_OK)
            return s2_fail(error, S2P_EFORMAT,
                           "merge %d is not two tokens of the vocabulary that join to a third", i);
        const s2p_status st = s2v_merges_add(&t->merges, merge);
        if (st == S2P_EINVAL) return s2_fail(error, S2P_EFORMAT, "merge %d occurs twice", i);
        if (st != S2P_OK) return s2_fail(error, st, "merge %d collides with too many others", i);
    }
    return S2P_OK;
}

static int32_t find_control(const s2v_tokenizer *t, const char *text)
{
    const int32_t token = s2v_tokenizer_find(t, text);
    return token >= 0 && t->type[token] == S2V_TOKEN_CONTROL ? token : -1;
}

static s2p_status load_roles(s2v_tokenizer *t, const s2v_gguf *file, s2p_error *error)
{
    int32_t unused, bos;
    bool adds_bos = t->kind->by_score; /* llama.cpp's defaults where the keys are missing */
    t->adds_space = t->kind->by_score;
    t->ends[0] = find_control(t, "<|im_end|>");
    t->ends[1] = find_control(t, "<|endoftext|>");
    t->ends[3] = find_control(t, "<end_of_turn>"); /* Gemma's */
    TRY(take_id(file, "tokenizer.ggml.eos_token_id", t->n_tokens, &t->eos, error));
    TRY(take_id(file, "tokenizer.ggml.eot_token_id", t->n_tokens, &t->ends[2], error));
    TRY(take_id(file, "tokenizer.ggml.bos_token_id", t->n_tokens, &bos, error));
    TRY(take_id(file, "tokenizer.ggml.padding_token_id", t->n_tokens, &unused, error));
    TRY(take_bool(file, "tokenizer.ggml.add_bos_token", &adds_bos, error));
    if (t->kind->by_score) {
        TRY(take_bool(file, "tokenizer.ggml.add_space_prefix", &t->adds_space, error));
        TRY(take_id(file, "tokenizer.ggml.unknown_token_id", t->n_tokens, &t->unknown, error));
    }
    if (adds_bos && !t->kind->by_score)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "tokenizer.ggml.add_bos_token is true; %s prompts start without one",
                       t->kind->pre);
    t->bos = adds_bos ? bos : -1;
    return S2P_OK;
}

s2p_status s2v_tokenizer_create(s2v_tokenizer **out, const s2v_gguf *file, s2p_error *error)
{
    const s2v_tokenizer_kind *kind;
    *out = NULL;
    TRY(s2v_tokenizer_kind_of(file, &kind, error));

    s2v_tokenizer *t = calloc(1, sizeof *t);
    if (!t) return s2_fail_memory(error, sizeof *t, "the tokenizer");
    t->kind = kind;
    s2v_text architecture;
    if (s2v_gguf_string(file, "general.architecture", &architecture) &&
        architecture.size < sizeof t->architecture)
        memcpy(t->architecture, architecture.data, architecture.size);
    s2p_status st = load_tokens(t, file, error);
    if (st == S2P_OK) st = list_specials(t, error);
    if (st == S2P_OK) st = load_roles(t, file, error);
    if (st == S2P_OK && kind->by_score) st = s2v_pieces_load(t, file, error);
    if (st == S2P_OK && !kind->by_score) st = find_bytes(t, error);
    if (st == S2P_OK && !kind->by_score) st = load_merges(t, file, error);
    if (st == S2P_OK)
        *out = t;
    else
        s2v_tokenizer_free(t);
    return st;
}
