/* fuzz_tokenizer.c - any bytes as text, as tokens, as chat, as stop strings, and as a vocabulary.
 *
 * The first byte says as what. Text that is taken in comes back as its NFC, byte for byte; plain
 * text never becomes a special token; what a stream has shown is UTF-8 at every moment.
 */
#include "fuzz.h"

#include "text/sample.h"
#include "text/template.h"
#include "text/unicode.h"
#include "vocabulary.h"

static const s2v_tokenizer *standard(void)
{
    static s2v_tokenizer *tokenizer; /* made once: the fuzzer's process is its whole life */
    if (!tokenizer) {
        static vocabulary v;
        vocabulary_init(&v);
        PROMISE(vocabulary_load(&v, &tokenizer, NULL) == S2P_OK);
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

static void as_text(const uint8_t *data, size_t n, bool parse_special)
{
    const s2v_tokenizer *t = standard();
    s2v_tokens tokens = { .id = NULL };
    s2_buffer back, nfc;
    s2v_codes codes = { .code = NULL };
    s2_buffer_init(&back, SIZE_MAX);
    s2_buffer_init(&nfc, SIZE_MAX);
    const s2p_status st = s2v_tokenize(t, (const char *)data, n, parse_special, &tokens, NULL);
    PROMISE(st == (is_utf8(data, n) ? S2P_OK : S2P_EFORMAT));
    if (st == S2P_OK) ACCEPTED();
    for (size_t i = 0; i < tokens.n; i++) {
        PROMISE(tokens.id[i] >= 0 && tokens.id[i] < t->n_tokens);
        PROMISE(t->type[tokens.id[i]] != S2V_TOKEN_UNUSED);
        PROMISE(parse_special || t->type[tokens.id[i]] == S2V_TOKEN_NORMAL);
        s2v_token_bytes(t, tokens.id[i], true, &back);
    }
    if (st == S2P_OK && !parse_special) {
        PROMISE(s2v_nfc(data, n, &codes, NULL) == S2P_OK);
        for (size_t i = 0; i < codes.n; i++) {
            uint8_t utf8[4];
            s2_buffer_append(&nfc, utf8, s2v_utf8_write(codes.code[i], utf8));
        }
        PROMISE(back.size == nfc.size && (nfc.size == 0 || !memcmp(back.data, nfc.data, nfc.size)));
    }
    s2_buffer_free(&back);
    s2_buffer_free(&nfc);
    s2v_codes_free(&codes);
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
        PROMISE(stream.n_held < 4);
    }
    s2v_detokenize_end(&stream, &out);
    ACCEPTED();
    PROMISE(out.size == 0 || is_utf8(out.data, out.size));
    s2_buffer_free(&out);
}

static void as_chat(const uint8_t *data, size_t n, const char *name)
{
    const s2v_tokenizer *t = standard();
    char *text = malloc(n + 1);
    PROMISE(text);
    memcpy(text, data, n);
    text[n] = '\0';
    const s2v_message message = { S2V_USER, text, n > 0 ? data[0] % 3 : 0 };
    s2v_chat chat;
    if (s2v_chat_render(&chat, t, name, &message, 1, true, NULL) == S2P_OK) {
        size_t n_start = 0;
        for (size_t i = 0; i < chat.tokens.n; i++)
            n_start += chat.tokens.id[i] == s2v_tokenizer_find(t, "<|im_start|>");
        ACCEPTED();
        PROMISE(chat.n_pieces == (size_t)message.n_images + 1);
        PROMISE(n_start == (name[0] == 'q' ? 3u : 2u)); /* the format's own, and no more */
        s2v_chat_free(&chat);
    }
    if (s2v_chat_raw(&chat, t, name, text, NULL) == S2P_OK) {
        size_t n_tokens = 0;
        for (size_t i = 0; i < chat.n_pieces; i++) n_tokens += chat.piece[i].n_tokens;
        PROMISE(n_tokens == chat.tokens.n);
        s2v_chat_free(&chat);
    }
    free(text);
}

/* The first line is the stop string, the rest the text. */
static void as_stops(const uint8_t *data, size_t n)
{
    const uint8_t *end = n > 0 ? memchr(data, '\n', n) : NULL;
    char stop_text[64];
    const char *const list[] = { stop_text };
    if (!end || end == data || (size_t)(end - data) >= sizeof stop_text) return;
    const size_t length = (size_t)(end - data), n_text = n - length - 1;
    if (memchr(data, '\0', length)) return;
    memcpy(stop_text, data, length);
    stop_text[length] = '\0';
    s2v_stop *stop = NULL;
    s2_buffer out;
    s2_buffer_init(&out, SIZE_MAX);
    PROMISE(s2v_stop_create(&stop, list, 1, NULL) == S2P_OK);
    const bool hit = s2v_stop_feed(stop, end + 1, n_text, &out);
    s2v_stop_end(stop, &out);
    PROMISE(out.size <= n_text && (out.size == 0 || memcmp(out.data, end + 1, out.size) == 0));
    PROMISE(hit ? memcmp(end + 1 + out.size, stop_text, length) == 0 : out.size == n_text);
    s2v_stop_free(stop);
    s2_buffer_free(&out);
}

/* A right vocabulary with bytes of it changed: pairs of a place (24 bits) and a value. */
static void as_vocabulary(const uint8_t *data, size_t n)
{
    static writer right; /* made once */
    if (!right.data) {
        static vocabulary v;
        vocabulary_init(&v);
        vocabulary_write(&v, &right);
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
        PROMISE(s2v_tokenize(made, "hello <|im_end|>", 16, true, &tokens, NULL) == S2P_OK);
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
    const uint8_t kind = data[0] % 7;
    data++;
    size--;
    switch (kind) {
    case 0:
        as_text(data, size, false);
        break;
    case 1:
        as_text(data, size, true);
        break;
    case 2:
        as_tokens(data, size);
        break;
    case 3:
        as_chat(data, size, "qwen2-vl");
        break;
    case 4:
        as_chat(data, size, "llava-onevision");
        break;
    case 5:
        as_stops(data, size);
        break;
    default:
        as_vocabulary(data, size);
        break;
    }
    return 0;
}
