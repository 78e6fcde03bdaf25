/* fuzz_pieces.c - SentencePiece: any bytes as text, as tokens, and as a vocabulary.
 *
 * The first byte says as what. Plain text that is accepted comes back byte for byte, with U+2581 as
 * a space; it never becomes a control token; what a stream has shown is UTF-8 at every moment.
 */
#include "fuzz.h"

#include "pieces_vocabulary.h"
#include "text/unicode.h"

static const s2v_tokenizer *standard(void)
{
    static s2v_tokenizer *tokenizer; /* made once: the fuzzer's process is its whole life */
    if (!tokenizer) {
        static pieces v;
        pieces_init(&v);
        PROMISE(pieces_open(&v, &tokenizer, NULL) == S2P_OK);
    }
    return tokenizer;
}

static bool is_utf8(const uint8_t *text, size_t n)
{
    for (size_t i = 0; i < n;) {
        int32_t code;
        const size_t used = s2v_utf8_read(text + i, n - i, &code);
        if (used == 0) return false;
        i += used;
    }
    return true;
}

/* The same characters, U+2581 as a space. */
static void check_text(const s2v_tokenizer *t, const uint8_t *data, size_t n,
                       const s2v_tokens *tokens)
{
    s2v_detokenizer stream = { .n_held = 0 };
    s2_buffer back;
    size_t at = 0;
    s2_buffer_init(&back, SIZE_MAX);
    for (size_t i = 0; i < tokens->n; i++) {
        const uint8_t type = t->type[tokens->id[i]];
        PROMISE(type == S2V_TOKEN_NORMAL || type == S2V_TOKEN_BYTE ||
                type == S2V_TOKEN_USER_DEFINED);
        if (type == S2V_TOKEN_USER_DEFINED) goto done; /* a space is added after it */
        s2v_detokenize(t, &stream, tokens->id[i], &back);
    }
    s2v_detokenize_end(&stream, &back);
    for (size_t i = 0; i < n; at++) {
        const bool is_space = n - i >= 3 && memcmp(data + i, SP, 3) == 0;
        PROMISE(at < back.size && back.data[at] == (is_space ? ' ' : data[i]));
        i += is_space ? 3 : 1;
    }
    PROMISE(at == back.size);
done:
    s2_buffer_free(&back);
}

static void as_text(const uint8_t *data, size_t n, bool parse_special)
{
    const s2v_tokenizer *t = standard();
    s2v_tokens tokens = { .id = NULL };
    const s2p_status st = s2v_tokenize(t, (const char *)data, n, parse_special, &tokens, NULL);
    PROMISE(st == (is_utf8(data, n) ? S2P_OK : S2P_EFORMAT));
    if (st == S2P_OK) ACCEPTED();
    for (size_t i = 0; i < tokens.n; i++) {
        PROMISE(tokens.id[i] >= 0 && tokens.id[i] < t->n_tokens);
        PROMISE(t->type[tokens.id[i]] != S2V_TOKEN_UNUSED);
    }
    if (st == S2P_OK && !parse_special) check_text(t, data, n, &tokens);
    s2v_tokens_free(&tokens);
}

/* Bytes as tokens, in any order, through a stream. */
static void as_tokens(const uint8_t *data, size_t n)
{
    const s2v_tokenizer *t = standard();
    s2v_detokenizer stream = { .n_held = 0 };
    s2_buffer out;
    s2_buffer_init(&out, SIZE_MAX);
    for (size_t i = 0; i + 1 < n; i += 2) {
        const size_t before = out.size;
        s2v_detokenize(t, &stream, (int32_t)(int16_t)(data[i] | data[i + 1] << 8), &out);
        PROMISE(out.size == before || is_utf8(out.data + before, out.size - before));
    }
    s2v_detokenize_end(&stream, &out);
    ACCEPTED();
    PROMISE(out.size == 0 || is_utf8(out.data, out.size));
    s2_buffer_free(&out);
}

/* A right vocabulary with bytes of it changed: pairs of a place (24 bits) and a value. */
static void as_vocabulary(const uint8_t *data, size_t n)
{
    static writer right; /* made once */
    if (!right.data) {
        static pieces v;
        pieces_init(&v);
        pieces_write(&v, &right);
    }
    writer w = { .data = NULL };
    s2v_gguf *file = NULL;
    s2v_tokenizer *made = NULL;
    put_bytes(&w, right.data, right.n);
    for (size_t i = 0; i + 4 <= n; i += 4)
        w.data[(data[i] | (size_t)data[i + 1] << 8 | (size_t)data[i + 2] << 16) % w.n] =
            data[i + 3];
    s2p_error error = { S2P_OK, "" };
    if (s2v_gguf_parse(&file, w.data, w.n, "input", &error) == S2P_OK &&
        s2v_tokenizer_create(&made, file, &error) == S2P_OK) {
        s2v_tokens tokens = { .id = NULL };
        PROMISE(s2v_tokenize(made, "hello <s>\n\xE2\x82\xAC", 13, true, &tokens, NULL) == S2P_OK);
        for (size_t i = 0; i < tokens.n; i++)
            PROMISE(tokens.id[i] >= 0 && tokens.id[i] < made->n_tokens);
        s2v_tokens_free(&tokens);
    } else {
        PROMISE(error.status != S2P_OK && error.message[0] && !made);
    }
    s2v_tokenizer_free(made);
    s2v_gguf_close(file);
    free(w.data);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    const uint8_t kind = data[0] % 4;
    data++;
    size--;
    if (kind < 2)
        as_text(data, size, kind == 1);
    else if (kind == 2)
        as_tokens(data, size);
    else
        as_vocabulary(data, size);
    return 0;
}
