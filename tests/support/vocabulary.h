/* vocabulary.h - a small vocabulary as a model file in memory, right or wrong.
 *
 * 256 bytes, what the merges make, Qwen's special tokens and some more, fillers up to N_VOCABULARY.
 * A test may change anything between vocabulary_init and vocabulary_write.
 */
#ifndef TESTS_VOCABULARY_H
#define TESTS_VOCABULARY_H

#include "text/tokenizer_vocab.h"
#include "text/unicode.h"
#include "gguf_writer.h"

#define N_VOCABULARY 400
#define MAX_MERGES 64

typedef struct vocabulary {
    char token[N_VOCABULARY][320];
    int32_t type[N_VOCABULARY];
    size_t n_tokens, n_types;
    char merge[MAX_MERGES][64];
    size_t n_merges;
    const char *model, *pre, *architecture; /* NULL: the key is left out */
    int64_t eos, bos;                       /* -1: left out */
    bool adds_bos;
    bool has_types, has_merges;
} vocabulary;

/* \xC4\xA0 is U+0120, a space; \xC4\x8A is U+010A, a line end; \xC3\x83 \xC2\xA9 spell e acute. */
static const char *const vocabulary_merges[] = {
    "h e",
    "l l",
    "he ll",
    "hell o",
    "\xC4\xA0 w",
    "o r",
    "\xC4\xA0w or",
    "l d",
    "e r",
    "\xC4\xA0wor ld",
    "u s",
    "us er",
    "a a",
    "aa aa",
    "aaaa aaaa",
    "' s",
    "\xC3\x83 \xC2\xA9",
    "\xC4\x8A \xC4\x8A",
    "\xC4\xA0 \xC4\xA0",
    "\xC4\xA0\xC4\xA0 \xC4\xA0\xC4\xA0",
    "a b",
    "b a",
    "ab a",
    "aa b",
    "user \xC4\x8A",
    "c d",
    "b c",
    "cd e",
    "b cd",
};

static const char *const vocabulary_specials[] = {
    "<|endoftext|>",  "<|im_start|>",  "<|im_end|>", "<|vision_start|>",
    "<|vision_end|>", "<|image_pad|>", "<|fim|>",    "<|fim|><|pad|>",
    "|><|x",          "<tool_call>", /* the last one is user-defined */
};

static inline int32_t vocabulary_add(vocabulary *v, const char *text, int32_t type)
{
    (void)snprintf(v->token[v->n_tokens], sizeof v->token[0], "%s", text);
    v->type[v->n_tokens] = type;
    v->n_types = v->n_tokens + 1;
    return (int32_t)v->n_tokens++;
}

static inline void vocabulary_add_merge(vocabulary *v, const char *line)
{
    char joined[64];
    const char *space = strchr(line, ' ');
    (void)snprintf(v->merge[v->n_merges++], sizeof v->merge[0], "%s", line);
    (void)snprintf(joined, sizeof joined, "%.*s%s", (int)(space - line), line, space + 1);
    for (size_t i = 0; i < v->n_tokens; i++)
        if (strcmp(v->token[i], joined) == 0) return;
    vocabulary_add(v, joined, S2V_TOKEN_NORMAL);
}

static inline void vocabulary_init(vocabulary *v)
{
    *v = (vocabulary){ .model = "gpt2",
                       .pre = "qwen2",
                       .architecture = "qwen2vl",
                       .bos = -1,
                       .has_types = true,
                       .has_merges = true };
    for (int byte = 0; byte < 256; byte++) {
        uint8_t text[5] = { 0 };
        (void)s2v_utf8_write(s2v_spelling_of((uint8_t)byte), text);
        vocabulary_add(v, (const char *)text, S2V_TOKEN_NORMAL);
    }
    for (size_t i = 0; i < sizeof vocabulary_merges / sizeof *vocabulary_merges; i++)
        vocabulary_add_merge(v, vocabulary_merges[i]);
    for (size_t i = 0; i < sizeof vocabulary_specials / sizeof *vocabulary_specials; i++) {
        const int32_t id = vocabulary_add(v, vocabulary_specials[i], S2V_TOKEN_CONTROL);
        if (strcmp(vocabulary_specials[i], "<|im_end|>") == 0) v->eos = id;
    }
    v->type[v->n_tokens - 1] = S2V_TOKEN_USER_DEFINED;
    while (v->n_tokens < N_VOCABULARY) {
        char text[24];
        (void)snprintf(text, sizeof text, "[PAD%zu]", v->n_tokens);
        vocabulary_add(v, text, v->n_tokens % 2 ? S2V_TOKEN_UNUSED : S2V_TOKEN_USER_DEFINED);
    }
}

static inline void put_text_key(writer *w, const char *name, const char *text)
{
    if (!text) return;
    put_key(w, name, STRING);
    put_string(w, text, strlen(text));
}

static inline void vocabulary_write(const vocabulary *v, writer *w)
{
    const uint64_t n_keys = (uint64_t)(v->model != NULL) + (v->pre != NULL) +
                            (v->architecture != NULL) + (v->eos >= 0) + (v->bos >= 0) +
                            v->adds_bos + v->has_types + v->has_merges + 1;
    put_start(w, 3, 0, n_keys);
    put_text_key(w, "general.architecture", v->architecture);
    put_text_key(w, "tokenizer.ggml.model", v->model);
    put_text_key(w, "tokenizer.ggml.pre", v->pre);
    if (v->eos >= 0) put_number(w, "tokenizer.ggml.eos_token_id", U32, (uint64_t)v->eos, 4);
    if (v->bos >= 0) put_number(w, "tokenizer.ggml.bos_token_id", U32, (uint64_t)v->bos, 4);
    if (v->adds_bos) put_number(w, "tokenizer.ggml.add_bos_token", BOOL, 1, 1);
    put_array(w, "tokenizer.ggml.tokens", STRING, v->n_tokens);
    for (size_t i = 0; i < v->n_tokens; i++) put_string(w, v->token[i], strlen(v->token[i]));
    if (v->has_types) put_array(w, "tokenizer.ggml.token_type", I32, v->n_types);
    for (size_t i = 0; v->has_types && i < v->n_types; i++) put(w, (uint32_t)v->type[i], 4);
    if (v->has_merges) put_array(w, "tokenizer.ggml.merges", STRING, v->n_merges);
    for (size_t i = 0; v->has_merges && i < v->n_merges; i++)
        put_string(w, v->merge[i], strlen(v->merge[i]));
    put_padding(w, 32);
}

/* What s2v_tokenizer_create says to it. */
static inline s2p_status vocabulary_load(const vocabulary *v, s2v_tokenizer **out, s2p_error *error)
{
    writer w = { .data = NULL };
    s2v_gguf *file = NULL;
    vocabulary_write(v, &w);
    *out = NULL;
    s2p_status st = s2v_gguf_parse(&file, w.data, w.n, "vocabulary", error);
    if (st == S2P_OK) st = s2v_tokenizer_create(out, file, error);
    s2v_gguf_close(file);
    free(w.data); /* the tokenizer has its own copy */
    return st;
}

#endif /* TESTS_VOCABULARY_H */
