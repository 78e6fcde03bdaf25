/* vocabulary.c - the tokens of a model as bytes, ordered for masks. */
#include "constrain/vocabulary.h"

#include "constrain/characters.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_TOKEN_BYTES = 4096 };

typedef struct entry {
    const char *text;
    size_t size;
    int32_t token;
} entry;

static int compare_entries(const void *left, const void *right)
{
    const entry *a = left, *b = right;
    const int order = memcmp(a->text, b->text, a->size < b->size ? a->size : b->size);
    if (order != 0) return order;
    if (a->size != b->size) return a->size < b->size ? -1 : 1;
    return (a->token > b->token) - (a->token < b->token);
}

/* Characters of a token of plain text; 0: it is not plain. */
static int32_t count_plain(const char *text, size_t size)
{
    int32_t n = 0, code;
    for (size_t i = 0; i < size; n++) {
        const int32_t length = s2c_read_utf8(text + i, size - i, &code);
        if (length == 0 || code < 0x20 || code == '"' || code == '\\') return 0;
        i += (size_t)length;
    }
    return n;
}

/* The tree of sorted entries. Nodes are made when a text leaves the path of the one before. */
static s2p_status make_tree(const entry *sorted, int32_t n, s2c_tree *out)
{
    int64_t n_nodes = 1;
    for (int32_t i = 0; i < n; i++) {
        size_t shared = 0;
        while (i > 0 && shared < sorted[i].size && shared < sorted[i - 1].size &&
               sorted[i].text[shared] == sorted[i - 1].text[shared])
            shared++;
        n_nodes += (int64_t)(sorted[i].size - shared);
    }
    if (n_nodes > INT32_MAX) return S2P_ELIMIT;
    out->node = calloc((size_t)n_nodes, sizeof *out->node);
    out->tokens = malloc(((size_t)n + 1) * sizeof *out->tokens);
    int32_t path[MAX_TOKEN_BYTES + 1]; /* nodes of the text before */
    if (!out->node || !out->tokens) return S2P_ENOMEM;
    path[0] = 0;
    out->n = 1;
    size_t depth = 0;
    for (int32_t i = 0; i < n; i++) {
        size_t shared = 0;
        while (shared < depth && shared < sorted[i].size &&
               (uint8_t)sorted[i].text[shared] == out->node[path[shared + 1]].byte)
            shared++;
        for (size_t d = depth; d > shared; d--) out->node[path[d]].skip = out->n;
        for (depth = shared; depth < sorted[i].size; depth++) {
            path[depth + 1] = out->n;
            out->node[out->n++] = (s2c_tree_node){ .first_token = i,
                                                   .depth = (uint16_t)(depth + 1),
                                                   .byte = (uint8_t)sorted[i].text[depth] };
        }
        if (out->node[path[depth]].n_tokens < UINT16_MAX) out->node[path[depth]].n_tokens++;
        out->tokens[i] = sorted[i].token;
    }
    for (size_t d = depth + 1; d-- > 0;) out->node[path[d]].skip = out->n;
    return S2P_OK;
}

s2p_status s2c_vocabulary_create(s2c_vocabulary **out, int32_t n_tokens,
                                 const char *(*text_of)(void *context, int32_t token, size_t *size),
                                 void *context, s2p_error *error)
{
    *out = NULL;
    s2c_vocabulary *v = calloc(1, sizeof *v);
    entry *entries = malloc(((size_t)n_tokens + 1) * sizeof *entries);
    entry *special = malloc(((size_t)n_tokens + 1) * sizeof *special);
    s2p_status st = v && entries && special ? S2P_OK : S2P_ENOMEM;
    if (st == S2P_OK) {
        v->n_tokens = n_tokens;
        v->n_words = ((size_t)n_tokens + 63) / 64;
        v->n_characters = calloc((size_t)n_tokens + 1, sizeof *v->n_characters);
        if (!v->n_characters) st = S2P_ENOMEM;
        for (int32_t i = 0; i < S2C_MAX_SLICES && st == S2P_OK; i++)
            if (!(v->slice[i] = calloc(v->n_words + 1, sizeof **v->slice))) st = S2P_ENOMEM;
    }
    bool has_byte[256] = { false };
    int32_t n = 0, n_special = 0;
    for (int32_t t = 0; t < n_tokens && st == S2P_OK; t++) {
        size_t size = 0;
        const char *text = text_of(context, t, &size);
        if (!text || size == 0 || size > MAX_TOKEN_BYTES) continue;
        const entry one = { text, size, t };
        entries[n++] = one;
        if (size == 1) has_byte[(uint8_t)text[0]] = true;
        if ((int32_t)size > v->longest) v->longest = (int32_t)size;
        const int32_t plain = count_plain(text, size);
        v->n_characters[t] = plain;
        if (plain == 0) special[n_special++] = one;
        if (plain > 0)
            v->slice[plain < S2C_MAX_SLICES ? plain - 1 : S2C_MAX_SLICES - 1][t / 64] |=
                1ull << (t % 64);
    }
    for (int32_t b = 0; b < 256 && st == S2P_OK; b++)
        /* bytes that no text in UTF-8 has need no token */
        if (!has_byte[b] && b != 0xC0 && b != 0xC1 && b < 0xF5)
            st = s2_fail(error, S2P_EUNSUPPORTED,
                         "this model has no token for the single byte 0x%02X, so its answers "
                         "cannot be held to a "
                         "grammar",
                         (unsigned)b);
    if (st == S2P_OK) {
        if (n > 1) qsort(entries, (size_t)n, sizeof *entries, compare_entries);
        if (n_special > 1) qsort(special, (size_t)n_special, sizeof *special, compare_entries);
        st = make_tree(entries, n, &v->all);
        if (st == S2P_OK) st = make_tree(special, n_special, &v->special);
    }
    free(entries);
    free(special);
    if (st != S2P_OK) {
        s2c_vocabulary_free(v);
        return st == S2P_EUNSUPPORTED ? st
                                      : s2_fail(error, st, "no memory to order the vocabulary");
    }
    *out = v;
    return S2P_OK;
}

void s2c_vocabulary_free(s2c_vocabulary *v)
{
    if (!v) return;
    free(v->all.node);
    free(v->all.tokens);
    free(v->special.node);
    free(v->special.tokens);
    for (int32_t i = 0; i < S2C_MAX_SLICES; i++) free(v->slice[i]);
    free(v->n_characters);
    free(v);
}

static void walk(const s2c_tree *tree, s2c_matcher *m, int32_t start, uint64_t *bits)
{
    int32_t at[MAX_TOKEN_BYTES + 1]; /* the set after the first i bytes of the branch */
    at[0] = start;
    for (int32_t i = 1; i < tree->n;) {
        const s2c_tree_node *node = &tree->node[i];
        const int32_t set = s2c_matcher_step(m, at[node->depth - 1], node->byte);
        if (set == S2C_DEAD) {
            i = node->skip;
            continue;
        }
        at[node->depth] = set;
        for (int32_t k = 0; k < node->n_tokens; k++) {
            const int32_t token = tree->tokens[node->first_token + k];
            bits[token / 64] |= 1ull << (token % 64);
        }
        i++;
    }
}

void s2c_vocabulary_mask(const s2c_vocabulary *v, s2c_matcher *m, int32_t set, uint64_t *bits)
{
    int64_t n_left;
    memset(bits, 0, v->n_words * sizeof *bits);
    if (!s2c_matcher_in_string(m, set, &n_left)) {
        walk(&v->all, m, set, bits);
        return;
    }
    for (int32_t i = 0; i < S2C_MAX_SLICES - 1 && i < n_left; i++)
        for (size_t w = 0; w < v->n_words; w++) bits[w] |= v->slice[i][w];
    const uint64_t *long_ones = v->slice[S2C_MAX_SLICES - 1];
    if (n_left >= S2C_MAX_SLICES)
        for (size_t w = 0; w < v->n_words; w++)
            for (uint64_t left = long_ones[w]; left != 0; left &= left - 1) {
                int32_t token = (int32_t)(w * 64);
                for (uint64_t bit = left & -left; bit > 1; bit >>= 1) token++;
                if (v->n_characters[token] <= n_left) bits[w] |= left & -left;
            }
    walk(&v->special, m, set, bits);
}
