/* bench_structured.c - masks of tokens and compiled schemas, by CPU time of this thread.
 *
 *     bench_structured VOCABULARY.gguf CASES.json
 *
 * CASES: a list of {"schema", "texts"}. For each schema: the time to compile it; then for each token of each
 * text the time of the mask before it, twice: with nothing learned, and again. Lines "compile", "cold" and "warm" with
 * microseconds, for bench/structured.
 */
#include "timing.h"

#include "base/file.h"
#include "base/json.h"
#include "constrain/constraint.h"
#include "gguf/gguf.h"
#include "text/tokenizer.h"
#include "text/tokenizer_text.h"

#define N_VOCABULARY 151936 /* of Qwen2.5: the rows of its output, some of them unused */
#define MAX_BYTES ((size_t)64 << 20)

typedef struct texts { /* of all tokens, one after the other */
    s2_buffer bytes;
    size_t start[N_VOCABULARY + 1];
} texts;

static texts all;

static const char *text_of(void *context, int32_t token, size_t *size)
{
    const texts *t = context;
    *size = t->start[token + 1] - t->start[token];
    return *size > 0 ? (const char *)t->bytes.data + t->start[token] : NULL;
}

static void fail(const char *what, const s2p_error *error)
{
    fprintf(stderr, "%s: %s\n", what, error->message);
    exit(1);
}

/* The mask before each token of a text that the guide allows. */
static void walk(s2c_guide *guide, const char *text, const s2v_tokens *tokens, const char *kind)
{
    s2p_error error = { S2P_OK, "not allowed" };
    s2c_guide_restart(guide);
    for (size_t i = 0; i < tokens->n; i++) {
        size_t n;
        const char *bytes = text_of(&all, tokens->id[i], &n);
        const double start = now_us();
        const uint64_t *mask = s2c_guide_mask(guide, &error);
        printf("%s %.3f\n", kind, now_us() - start);
        const int32_t token = tokens->id[i];
        if (!mask || !(mask[token / 64] >> (token % 64) & 1)) fail(text, &error);
        if (s2c_guide_accept(guide, bytes, n, &error) != S2P_OK) fail(text, &error);
    }
    if (!s2c_guide_may_end(guide)) fail(text, &error);
}

int main(int argc, char **argv)
{
    s2p_error error = { S2P_OK, "" };
    s2v_gguf *file;
    s2v_tokenizer *tokenizer;
    s2c_vocabulary *vocabulary;
    s2_buffer text;
    json_t *cases = NULL;
    if (argc != 3) return 2;
    s2_buffer_init(&text, MAX_BYTES);
    s2_buffer_init(&all.bytes, MAX_BYTES);
    if (s2v_gguf_open(&file, argv[1], &error) != S2P_OK ||
        s2v_tokenizer_create(&tokenizer, file, &error) != S2P_OK)
        fail(argv[1], &error);
    for (int32_t i = 0; i < N_VOCABULARY; i++) {
        if (i < s2v_tokenizer_size(tokenizer)) s2v_token_bytes(tokenizer, i, false, &all.bytes);
        all.start[i + 1] = all.bytes.size;
    }
    if (s2c_vocabulary_create(&vocabulary, N_VOCABULARY, text_of, &all, &error) != S2P_OK)
        fail("the vocabulary", &error);
    if (s2_file_read(argv[2], &text, &error) != S2P_OK ||
        !(cases = json_loadb((const char *)text.data, text.size, 0, NULL)))
        fail(argv[2], &error);
    for (size_t i = 0; i < json_array_size(cases); i++) {
        const json_t *list = json_object_get(json_array_get(cases, i), "texts");
        char *schema =
            json_dumps(json_object_get(json_array_get(cases, i), "schema"), JSON_COMPACT);
        s2c_constraint *constraint;
        s2c_guide *guide;
        const double start = now_us();
        if (s2c_constraint_create(&constraint, S2C_JSON_SCHEMA, schema, strlen(schema), S2C_LINE,
                                  &error) != S2P_OK)
            fail(schema, &error);
        printf("compile %.3f\n", now_us() - start);
        if (s2c_guide_create(&guide, constraint, vocabulary, &error) != S2P_OK)
            fail("a guide", &error);
        for (int round = 0; round < 2; round++)
            for (size_t k = 0; k < json_array_size(list); k++) {
                const json_t *one = json_array_get(list, k);
                s2v_tokens tokens = { .id = NULL };
                if (s2v_tokenize(tokenizer, json_string_value(one), json_string_length(one), false,
                                 &tokens, &error) != S2P_OK)
                    fail("tokens", &error);
                walk(guide, json_string_value(one), &tokens, round == 0 ? "cold" : "warm");
                s2v_tokens_free(&tokens);
            }
        s2c_guide_free(guide);
        s2c_constraint_free(constraint);
        free(schema);
    }
    json_decref(cases);
    s2c_vocabulary_free(vocabulary);
    s2v_tokenizer_free(tokenizer);
    s2v_gguf_close(file);
    s2_buffer_free(&text);
    s2_buffer_free(&all.bytes);
    return 0;
}
