/* test_tokenizer_golden.c - equal to Hugging Face: its tokens for many texts, and its prompts.
 *
 * argv[1] is the folder of goldens. What is not there is skipped; without any of it the test is.
 */
#include "check.h"

#include "base/file.h"
#include "text/template.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SKIPPED 77

static const char *goldens;

static void path_of(const char *name, char out[4096])
{
    (void)snprintf(out, 4096, "%s/%s", goldens, name);
}

static bool is_there(const char *name)
{
    char path[4096];
    path_of(name, path);
    return access(path, R_OK) == 0;
}

static s2v_tokenizer *load(const char *name)
{
    char path[4096];
    s2v_gguf *file = NULL;
    s2v_tokenizer *tokenizer = NULL;
    s2p_error error = { S2P_OK, "" };
    path_of(name, path);
    const s2p_status st = s2v_gguf_open(&file, path, &error);
    CHECK_CASE(st == S2P_OK && s2v_tokenizer_create(&tokenizer, file, &error) == S2P_OK, "%s",
               error.message);
    s2v_gguf_close(file);
    return tokenizer;
}

static void test_texts(void **state)
{
    (void)state;
    if (!is_there("tokenizer/cases.json")) skip();
    char path[4096];
    json_error_t why;
    path_of("tokenizer/cases.json", path);
    json_t *root = json_load_file(path, JSON_ALLOW_NUL, &why);
    const json_t *cases = json_object_get(root, "cases");
    assert_true(json_array_size(cases) > 0);
    s2v_tokenizer *tokenizer = load("tokenizer/ggml-vocab-qwen2.gguf");
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i), *text = json_object_get(c, "text");
        const json_t *ids = json_object_get(c, "ids"), *decoded = json_object_get(c, "decoded");
        s2v_tokens tokens = { .id = NULL };
        assert_int_equal(s2v_tokenize(tokenizer, json_string_value(text), json_string_length(text),
                                      true, &tokens, NULL),
                         S2P_OK);
        CHECK_CASE(tokens.n == json_array_size(ids), "%zu: %s", i, json_string_value(text));
        s2_buffer out;
        s2_buffer_init(&out, 65536);
        s2v_detokenizer stream = { .n_held = 0 };
        for (size_t k = 0; k < tokens.n; k++) {
            CHECK_CASE(tokens.id[k] == json_integer_value(json_array_get(ids, k)), "%zu: %s", i,
                       json_string_value(text));
            s2_buffer bytes;
            s2_buffer_init(&bytes, 65536);
            s2v_token_bytes(tokenizer, tokens.id[k], true, &bytes);
            s2v_detokenize_bytes(&stream, bytes.data, bytes.size, &out);
            s2_buffer_free(&bytes);
        }
        s2v_detokenize_end(&stream, &out);
        CHECK_CASE(
            out.size == json_string_length(decoded) &&
                (out.size == 0 || memcmp(out.data, json_string_value(decoded), out.size) == 0),
            "%zu: %s", i, json_string_value(text));
        s2_buffer_free(&out);
        s2v_tokens_free(&tokens);
    }
    s2v_tokenizer_free(tokenizer);
    json_decref(root);
}

/* The prompt of a recorded run: rendered, and raw, both give the ids the model was fed, when every
 * picture stands for the placeholders of its span. */
static void check_prompt(const s2v_tokenizer *tokenizer, const char *name, const char *question,
                         int32_t n_images)
{
    char path[4096], prompt[1024];
    s2v_gguf *file = NULL;
    s2v_text text;
    path_of(name, path);
    assert_int_equal(s2v_gguf_open(&file, path, NULL), S2P_OK);
    const s2v_gguf_tensor *ids = s2v_gguf_find_tensor(file, "input_ids");
    const s2v_gguf_tensor *spans = s2v_gguf_find_tensor(file, "image_span");
    assert_true(ids && spans && s2v_gguf_string(file, "case.prompt", &text));
    assert_true(ids->n_bytes == 4 * (uint64_t)ids->ne[0] && text.size < sizeof prompt);
    memcpy(prompt, text.data, text.size);
    prompt[text.size] = '\0';

    const s2v_message message = { S2V_USER, question, n_images };
    for (int raw = 0; raw < 2; raw++) {
        s2v_chat chat;
        assert_int_equal(raw ? s2v_chat_raw(&chat, tokenizer, NULL, prompt, NULL)
                             : s2v_chat_render(&chat, tokenizer, NULL, &message, 1, true, NULL),
                         S2P_OK);
        assert_int_equal(chat.n_pieces, n_images + 1);
        size_t at = 0, k = 0;
        for (size_t i = 0; i < chat.n_pieces; i++) {
            for (size_t left = chat.piece[i].n_tokens; left > 0; left--, at++, k++) {
                int32_t expected;
                assert_true(at < (size_t)ids->ne[0]);
                memcpy(&expected, ids->data + 4 * at, 4);
                CHECK_CASE(chat.tokens.id[k] == expected, "%s at %zu", name, at);
            }
            if (chat.piece[i].image < 0) continue;
            int32_t span[2]; /* first token, tokens */
            memcpy(span, spans->data + 8 * (size_t)chat.piece[i].image, 8);
            assert_int_equal(span[0], at);
            at += (size_t)span[1];
        }
        assert_int_equal(at, ids->ne[0]);
        s2v_chat_free(&chat);
    }
    s2v_gguf_close(file);
}

static void test_prompts(void **state)
{
    (void)state;
    if (!is_there("hf/qwen25vl/full_dyn.gguf")) skip();
    s2v_tokenizer *tokenizer = load("hf/qwen25vl/gguf/tiny-qwen2.5-vl-f16.gguf");
    check_prompt(tokenizer, "hf/qwen25vl/full_sq.gguf", "What is in the image?", 1);
    check_prompt(tokenizer, "hf/qwen25vl/full_dyn.gguf", "Describe the picture in detail.", 1);
    check_prompt(tokenizer, "hf/qwen25vl/full_multi.gguf",
                 "Compare the first image with the second image.", 2);
    s2v_tokenizer_free(tokenizer);
}

static void test_vicuna(void **state)
{
    (void)state;
    if (!is_there("families/llava15/full_sq.gguf")) skip();
    s2v_tokenizer *tokenizer = load("families/llava15/gguf/tiny-llava15-f16.gguf");
    check_prompt(tokenizer, "families/llava15/full_pad.gguf", "Describe the picture in detail.", 1);
    check_prompt(tokenizer, "families/llava15/full_multi.gguf",
                 "Compare the first image with the second image.", 2);
    s2v_tokenizer_free(tokenizer);
}

/* Line ends stand around pictures, outside of their marks. */
static void test_gemma(void **state)
{
    (void)state;
    if (!is_there("families/gemma3/full_sq.gguf")) skip();
    s2v_tokenizer *tokenizer = load("families/gemma3/gguf/tiny-gemma3-f16.gguf");
    check_prompt(tokenizer, "families/gemma3/full_sq.gguf", "What is in the image?", 1);
    check_prompt(tokenizer, "families/gemma3/full_wide.gguf", "Describe the picture in detail.", 1);
    check_prompt(tokenizer, "families/gemma3/full_multi.gguf",
                 "Compare the first image with the second image.", 2);
    s2v_tokenizer_free(tokenizer);
}

/* Conversations: a system message, two pictures, several turns, a picture behind its text. The ids hold one
 * `mark` for each picture, where the prompt has a piece that ends in one, without what the format puts
 * around it; those of Gemma have all of a picture's tokens and what is around them. puts_first: pictures come before the text wherever they stand. */
static void check_conversations(const char *family, const char *format, const char *mark,
                                bool puts_first)
{
    char name[128], path[4096];
    json_error_t why;
    (void)snprintf(name, sizeof name, "families/%s/chat.json", family);
    if (!is_there(name)) skip();
    path_of(name, path);
    json_t *cases = json_load_file(path, 0, &why);
    assert_true(json_array_size(cases) > 0);
    (void)snprintf(name, sizeof name, "families/%s/gguf/tiny-%s-f16.gguf", family, family);
    s2v_tokenizer *tokenizer = load(name);
    const int32_t image = s2v_tokenizer_find(tokenizer, mark);
    const int32_t around[] = { s2v_tokenizer_find(tokenizer, "<img>"),
                               s2v_tokenizer_find(tokenizer, "</img>") };
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *c = json_array_get(cases, i), *list = json_object_get(c, "messages");
        const bool is_whole = strcmp(family, "gemma3") == 0;
        const json_t *ids = json_object_get(c, is_whole ? "expanded_ids" : "ids");
        s2v_message message[8];
        char text[8][256];
        const size_t n = json_array_size(list);
        assert_true(n <= COUNT_OF(message));
        for (size_t k = 0; k < n; k++) {
            const json_t *m = json_array_get(list, k), *content = json_object_get(m, "content");
            const char *role = json_string_value(json_object_get(m, "role"));
            message[k] = (s2v_message){ .role = role[0] == 's'   ? S2V_SYSTEM
                                                : role[0] == 'u' ? S2V_USER
                                                                 : S2V_ASSISTANT,
                                        .text = text[k] };
            text[k][0] = '\0';
            for (size_t p = 0; p < json_array_size(content); p++) {
                const json_t *part = json_object_get(json_array_get(content, p), "text");
                const bool is_last = p + 1 == json_array_size(content);
                const size_t used = strlen(text[k]);
                if (!part) message[k].n_images++;
                (void)snprintf(text[k] + used, sizeof text[k] - used, "%s",
                               part                     ? json_string_value(part)
                               : is_last && !puts_first ? "<image>"
                                                        : "");
            }
        }
        s2v_chat chat;
        assert_int_equal(s2v_chat_render(&chat, tokenizer, format, message, n, true, NULL), S2P_OK);
        size_t at = 0, token = 0;
        for (size_t p = 0; p < chat.n_pieces; p++) {
            for (size_t left = chat.piece[p].n_tokens; left > 0; left--, token++) {
                const int32_t id = chat.tokens.id[token];
                if (id >= 0 && (id == around[0] || id == around[1])) continue;
                CHECK_CASE(id == json_integer_value(json_array_get(ids, at)), "%s, %zu at %zu",
                           family, i, at);
                at++;
            }
            if (chat.piece[p].image >= 0)
                assert_int_equal(json_integer_value(json_array_get(ids, at++)), image);
            while (is_whole && json_integer_value(json_array_get(ids, at)) == image) at++;
        }
        assert_int_equal(at, json_array_size(ids));
        s2v_chat_free(&chat);
    }
    s2v_tokenizer_free(tokenizer);
    json_decref(cases);
}

static void test_conversations(void **state)
{
    (void)state;
    check_conversations("llava15", NULL, "<image>", true);
    check_conversations("internvl3", "internvl", "<IMG_CONTEXT>", false);
    check_conversations("smolvlm", "smolvlm", "<image>", false);
    check_conversations("gemma3", NULL, "<image_soft_token>", false);
}

int main(int argc, char **argv)
{
    goldens = argc > 1 ? argv[1] : "";
    if (!is_there("tokenizer") && !is_there("hf")) {
        printf("skipped: no goldens in '%s'\n", goldens);
        return SKIPPED;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),         cmocka_unit_test(test_prompts),
        cmocka_unit_test(test_vicuna),        cmocka_unit_test(test_gemma),
        cmocka_unit_test(test_conversations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
