/* test_tokenizer_reference.c - every text of tests/data/tokenizers has the tokens that Hugging Face
 * tokenizers recorded (make_tokenizer_data.py), and decodes to itself.
 */
#include "check.h"
#include "text/tokenizer_vocab.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define FOLDER S2_TEST_DATA "/tokenizers/"
#define MAX_TOKENS 4096

static s2v_tokenizer *load(const char *name)
{
    char path[512];
    s2v_gguf *file = NULL;
    s2v_tokenizer *tokenizer = NULL;
    s2p_error error = { S2P_OK, "" };
    (void)snprintf(path, sizeof path, FOLDER "%s.gguf", name);
    CHECK_CASE(s2v_gguf_open(&file, path, &error) == S2P_OK &&
                   s2v_tokenizer_create(&tokenizer, file, &error) == S2P_OK,
               "%s", error.message);
    s2v_gguf_close(file);
    return tokenizer;
}

static size_t read_ids(FILE *file, int32_t *ids)
{
    uint8_t bytes[2];
    size_t n = 0;
    for (size_t i = 0; i < n + 1; i++) {
        assert_int_equal(fread(bytes, 1, 2, file), 2);
        const int32_t value = bytes[0] | bytes[1] << 8;
        if (i == 0)
            n = (size_t)value;
        else
            ids[i - 1] = value;
        assert_true(n <= MAX_TOKENS);
    }
    return n;
}

/* The bytes of the text with U+2581 as a space. */
static size_t spaced(const char *text, size_t n, char *out)
{
    size_t n_out = 0;
    for (size_t i = 0; i < n;) {
        const bool is_space = n - i >= 3 && memcmp(text + i, "\xE2\x96\x81", 3) == 0;
        out[n_out++] = is_space ? ' ' : text[i];
        i += is_space ? 3 : 1;
    }
    return n_out;
}

/* What is brought to NFC may decode to other bytes, and they have the same tokens. */
static void check_again(const s2v_tokenizer *t, const s2v_tokens *tokens, const s2_buffer *text,
                        size_t at)
{
    s2v_tokens again = { .id = NULL };
    assert_int_equal(s2v_tokenize(t, (const char *)text->data, text->size, false, &again, NULL),
                     S2P_OK);
    CHECK_CASE(again.n == tokens->n &&
                   (again.n == 0 || memcmp(again.id, tokens->id, again.n * sizeof *again.id) == 0),
               "%zu: decoded, it has other tokens", at);
    s2v_tokens_free(&again);
}

static void check_decoded(const s2v_tokenizer *t, const s2v_tokens *tokens, const char *text,
                          size_t n, size_t at)
{
    char expected[4096];
    s2v_detokenizer stream = { .n_held = 0 };
    s2_buffer out;
    s2_buffer_init(&out, 65536);
    assert_true(n < sizeof expected);
    if (t->kind->by_score)
        n = spaced(text, n, expected);
    else
        memcpy(expected, text, n);
    for (size_t i = 0; i < tokens->n; i++) s2v_detokenize(t, &stream, tokens->id[i], &out);
    s2v_detokenize_end(&stream, &out);
    const bool is_same = out.size == n && (n == 0 || memcmp(out.data, expected, n) == 0);
    if (!is_same && t->kind->is_nfc)
        check_again(t, tokens, &out, at);
    else
        CHECK_CASE(is_same, "%zu: %s", at, text);
    s2_buffer_free(&out);
}

static void check_vocabulary(const char *name)
{
    char path[512];
    static int32_t expected[MAX_TOKENS];
    json_error_t why;
    size_t n_decoded = 0;
    json_t *texts = json_load_file(FOLDER "texts.json", JSON_ALLOW_NUL, &why);
    assert_true(json_array_size(texts) >= 2800);
    (void)snprintf(path, sizeof path, FOLDER "%s.ids", name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    s2v_tokenizer *t = load(name);
    for (size_t i = 0; i < json_array_size(texts); i++) {
        const char *text = json_string_value(json_array_get(texts, i));
        const size_t n_text = json_string_length(json_array_get(texts, i));
        const size_t n = read_ids(file, expected);
        s2v_tokens tokens = { .id = NULL };
        bool has_special = false;
        assert_int_equal(s2v_tokenize(t, text, n_text, true, &tokens, NULL), S2P_OK);
        CHECK_CASE(tokens.n == n, "%s %zu: '%s' has %zu tokens, not %zu", name, i, text, n,
                   tokens.n);
        for (size_t k = 0; k < n; k++) {
            CHECK_CASE(tokens.id[k] == expected[k], "%s %zu: '%s', token %zu is %d, not %d", name,
                       i, text, k, expected[k], tokens.id[k]);
            has_special |=
                t->type[expected[k]] != S2V_TOKEN_NORMAL && t->type[expected[k]] != S2V_TOKEN_BYTE;
        }
        if (!has_special) check_decoded(t, &tokens, text, n_text, i);
        n_decoded += !has_special;
        s2v_tokens_free(&tokens);
    }
    assert_true(n_decoded > 1000);
    assert_int_equal(fgetc(file), EOF);
    fclose(file);
    s2v_tokenizer_free(t);
    json_decref(texts);
}

static void test_sentencepiece(void **state)
{
    (void)state;
    check_vocabulary("llava15");
    check_vocabulary("gemma3");
    check_vocabulary("pieces");
    check_vocabulary("no_prefix");
    check_vocabulary("no_bytes");
}

static void test_smollm(void **state)
{
    (void)state;
    check_vocabulary("smolvlm");
    check_vocabulary("smollm");
}

static void test_qwen(void **state)
{
    (void)state;
    check_vocabulary("qwen2");
    check_vocabulary("qwen35");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sentencepiece),
        cmocka_unit_test(test_smollm),
        cmocka_unit_test(test_qwen),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
