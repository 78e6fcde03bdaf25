/* pieces_vocabulary.h - a small SentencePiece vocabulary as a model file in memory, right or wrong.
 *
 * Special tokens, 256 bytes, pieces with scores, fillers up to N_PIECES. A test may change anything
 * between pieces_init and pieces_write.
 */
#ifndef TESTS_PIECES_VOCABULARY_H
#define TESTS_PIECES_VOCABULARY_H

#include "text/tokenizer_vocab.h"
#include "gguf_writer.h"

#define N_PIECES 320
#define SP "\xE2\x96\x81" /* U+2581 */

typedef struct pieces {
    char token[N_PIECES][320];
    int32_t type[N_PIECES];
    float score[N_PIECES];
    size_t n_tokens, n_types, n_scores;
    uint32_t score_type;       /* F32, or another on purpose */
    int64_t eos, bos, unknown; /* -1: left out */
    int space, adds_bos;       /* -1: left out; else false or true */
    bool has_scores;
} pieces;

/* Best first: the score of each is one less than that of the one before. */
static const char *const pieces_list[] = {
    SP "t", "he",  SP "the", SP SP, SP SP SP SP, "ll",  "hell",      "hello",    SP "hello", "ab",
    "ba",   "aba", "aa",     "aaa", "in",        "the", "\xC3\xA9t", SP,         "t",        "h",
    "e",    "l",   "o",      "a",   "b",         "i",   "n",         "\xC3\xA9", "<",        ">",
};

static inline int32_t pieces_add(pieces *v, const char *text, int32_t type, float score)
{
    (void)snprintf(v->token[v->n_tokens], sizeof v->token[0], "%s", text);
    v->type[v->n_tokens] = type;
    v->score[v->n_tokens] = score;
    v->n_types = v->n_scores = v->n_tokens + 1;
    return (int32_t)v->n_tokens++;
}

static inline void pieces_init(pieces *v)
{
    *v = (pieces){ .score_type = F32, .space = -1, .adds_bos = -1, .has_scores = true };
    v->unknown = pieces_add(v, "<unk>", S2V_TOKEN_UNKNOWN, 0);
    v->bos = pieces_add(v, "<s>", S2V_TOKEN_CONTROL, 0);
    v->eos = pieces_add(v, "</s>", S2V_TOKEN_CONTROL, 0);
    for (int byte = 0; byte < 256; byte++) {
        char text[8];
        (void)snprintf(text, sizeof text, "<0x%02X>", (unsigned)byte);
        pieces_add(v, text, S2V_TOKEN_BYTE, 0);
    }
    for (size_t i = 0; i < sizeof pieces_list / sizeof *pieces_list; i++)
        pieces_add(v, pieces_list[i], S2V_TOKEN_NORMAL, -(float)i);
    pieces_add(v, "<image>", S2V_TOKEN_CONTROL, -1000);
    pieces_add(v, "\n\n", S2V_TOKEN_USER_DEFINED, -1000);
    while (v->n_tokens < N_PIECES) {
        char text[24];
        (void)snprintf(text, sizeof text, "[PAD%zu]", v->n_tokens);
        pieces_add(v, text, S2V_TOKEN_UNUSED, -10000);
    }
}

/* Without bytes: each becomes an unused token. */
static inline void pieces_drop_bytes(pieces *v)
{
    for (int byte = 0; byte < 256; byte++) v->type[3 + byte] = S2V_TOKEN_UNUSED;
}

static inline void pieces_write(const pieces *v, writer *w)
{
    static const char *const keys[] = { "tokenizer.ggml.eos_token_id",
                                        "tokenizer.ggml.bos_token_id",
                                        "tokenizer.ggml.unknown_token_id" };
    const int64_t ids[] = { v->eos, v->bos, v->unknown };
    put_start(w, 3, 0,
              (uint64_t)(v->eos >= 0) + (v->bos >= 0) + (v->unknown >= 0) + (v->space >= 0) +
                  (v->adds_bos >= 0) + v->has_scores + 4);
    put_key(w, "general.architecture", STRING);
    put_string(w, "llama", 5);
    put_key(w, "tokenizer.ggml.model", STRING);
    put_string(w, "llama", 5);
    for (size_t i = 0; i < 3; i++)
        if (ids[i] >= 0) put_number(w, keys[i], U32, (uint64_t)ids[i], 4);
    if (v->space >= 0)
        put_number(w, "tokenizer.ggml.add_space_prefix", BOOL, (uint64_t)v->space, 1);
    if (v->adds_bos >= 0)
        put_number(w, "tokenizer.ggml.add_bos_token", BOOL, (uint64_t)v->adds_bos, 1);
    put_array(w, "tokenizer.ggml.tokens", STRING, v->n_tokens);
    for (size_t i = 0; i < v->n_tokens; i++) put_string(w, v->token[i], strlen(v->token[i]));
    put_array(w, "tokenizer.ggml.token_type", I32, v->n_types);
    for (size_t i = 0; i < v->n_types; i++) put(w, (uint32_t)v->type[i], 4);
    if (v->has_scores) put_array(w, "tokenizer.ggml.scores", v->score_type, v->n_scores);
    for (size_t i = 0; v->has_scores && i < v->n_scores; i++) put_bytes(w, &v->score[i], 4);
    put_padding(w, 32);
}

/* What s2v_tokenizer_create says to it. */
static inline s2p_status pieces_open(const pieces *v, s2v_tokenizer **out, s2p_error *error)
{
    writer w = { .data = NULL };
    s2v_gguf *file = NULL;
    pieces_write(v, &w);
    *out = NULL;
    s2p_status st = s2v_gguf_parse(&file, w.data, w.n, "vocabulary", error);
    if (st == S2P_OK) st = s2v_tokenizer_create(out, file, error);
    s2v_gguf_close(file);
    free(w.data); /* the tokenizer has its own copy */
    return st;
}

#endif /* TESTS_PIECES_VOCABULARY_H */
