/* test_vocabulary.c - vocabularies of checkpoints become the keys that llama.cpp's converter writes.
 *
 *   test_vocabulary FOLDER GOLDENS
 */
#include "check.h"

#include "convert/convert_steps.h"
#include "convert/piece_model.h"
#include "base/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *folder, *goldens;

static const char *in(const char *name)
{
    static char path[8][1024];
    static int next;
    char *out = path[next = (next + 1) % 8];
    (void)snprintf(out, sizeof path[0], "%.500s/%s", folder, name);
    return out;
}

static void write_file(const char *name, const void *data, size_t n)
{
    FILE *file = fopen(in(name), "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    fclose(file);
}

static void write_text(const char *name, const char *text) { write_file(name, text, strlen(text)); }

static void copy_file(const char *from, const char *name)
{
    s2_buffer content;
    s2_buffer_init(&content, 1 << 24);
    assert_int_equal(s2_file_read(from, &content, NULL), S2P_OK);
    write_file(name, content.data, content.size);
    s2_buffer_free(&content);
}

static void clear_folder(void)
{
    static const char *const names[] = { "tokenizer.model", "tokenizer.json", "chat_template.jinja",
                                         "tokenizer_config.json", "out.gguf" };
    (void)mkdir(folder, 0755);
    for (size_t i = 0; i < COUNT_OF(names); i++) (void)unlink(in(names[i]));
}

/* Convert the vocabulary in the folder; *out is what was written. */
static s2p_status convert(int32_t n_vocab, s2v_gguf **out, s2p_error *error)
{
    s2v_gguf_writer *writer = NULL;
    uint8_t digest[32];
    json_t *config = json_object();
    *out = NULL;
    assert_int_equal(s2v_gguf_writer_create(&writer, in("out.gguf"), error), S2P_OK);
    s2p_status st = s2v_vocabulary_put(folder, n_vocab, config, writer, error);
    if (st == S2P_OK) st = s2v_gguf_writer_start(writer, error);
    if (st == S2P_OK) st = s2v_gguf_writer_finish(writer, digest, error);
    if (st == S2P_OK) st = s2v_gguf_writer_commit(writer, error);
    if (st == S2P_OK) st = s2v_gguf_open(out, in("out.gguf"), error);
    s2v_gguf_writer_free(writer);
    json_decref(config);
    return st;
}

static void expect_key(const s2v_gguf *got, const s2v_gguf *want, const char *name)
{
    const s2v_gguf_key *a = s2v_gguf_find_key(got, name), *b = s2v_gguf_find_key(want, name);
    assert_non_null(b);
    CHECK_CASE(a && a->type == b->type && a->item == b->item && a->count == b->count &&
                   a->n_bytes == b->n_bytes && memcmp(a->value, b->value, b->n_bytes) == 0,
               "%s", name);
}

/* All keys of the tokenizer, and in the same order. */
static void expect_tokenizer(const s2v_gguf *got, const char *path)
{
    s2v_gguf *want = NULL;
    size_t n = 0;
    assert_int_equal(s2v_gguf_open(&want, path, NULL), S2P_OK);
    for (size_t i = 0; i < s2v_gguf_n_keys(want); i++) {
        char name[128];
        const s2v_text text = s2v_gguf_key_at(want, i)->name;
        (void)snprintf(name, sizeof name, "%.*s", (int)text.size, text.data);
        if (strncmp(name, "tokenizer.", 10) != 0) continue;
        expect_key(got, want, name);
        const s2v_text other = s2v_gguf_key_at(got, n++)->name;
        CHECK_CASE(s2v_text_is(other, name), "%s is not key %zu", name, n);
    }
    assert_int_equal(n, s2v_gguf_n_keys(got));
    s2v_gguf_close(want);
}

/* A tiny checkpoint of the goldens; without one of its files. */
static void check_family(const char *family, const char *model, bool without_model)
{
    static const char *const names[] = { "tokenizer.model", "tokenizer.json", "chat_template.jinja",
                                         "tokenizer_config.json" };
    char path[1024];
    s2v_gguf *got = NULL;
    s2p_error error = { S2P_OK, "" };
    clear_folder();
    for (size_t i = without_model; i < COUNT_OF(names); i++) {
        (void)snprintf(path, sizeof path, "%.500s/families/%s/model/%s", goldens, family, names[i]);
        if (access(path, R_OK) == 0) copy_file(path, names[i]);
    }
    CHECK_CASE(convert(512, &got, &error) == S2P_OK, "%s", error.message);
    (void)snprintf(path, sizeof path, "%.500s/families/%s/gguf/%s", goldens, family, model);
    expect_tokenizer(got, path);
    s2v_gguf_close(got);
}

static void test_families(void **state)
{
    (void)state;
    char path[1024];
    (void)snprintf(path, sizeof path, "%.500s/families/llava15", goldens);
    if (access(path, R_OK) != 0) skip();
    check_family("llava15", "tiny-llava15-f32.gguf", false);
    check_family("llava15", "tiny-llava15-f32.gguf", true);
    check_family("smolvlm", "tiny-smolvlm-f32.gguf", false);
}

/* --- tokenizer.model ------------------------------------------------------------------ */

static const char image_token[] =
    "{\"add_bos_token\": true, \"added_tokens_decoder\": {\"%d\": {\"content\": \"<image>\", "
    "\"special\": true}}}";

/* The models that were trained for the tests of the tokenizer. */
static void test_models(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        int32_t n_pieces;
        bool has_prefix_key;
    } cases[] = { { "pieces", 1600, false },
                  { "no_prefix", 1400, true },
                  { "no_bytes", 1200, false } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char settings[256], path[600];
        s2v_gguf *got = NULL, *want = NULL;
        s2p_error error = { S2P_OK, "" };
        clear_folder();
        (void)snprintf(settings, sizeof settings, image_token, cases[i].n_pieces);
        write_text("tokenizer_config.json", settings);
        (void)snprintf(path, sizeof path, S2_TEST_DATA "/tokenizers/%s.model", cases[i].name);
        copy_file(path, "tokenizer.model");
        CHECK_CASE(convert(cases[i].n_pieces + 4, &got, &error) == S2P_OK, "%s", error.message);
        (void)snprintf(path, sizeof path, S2_TEST_DATA "/tokenizers/%s.gguf", cases[i].name);
        assert_int_equal(s2v_gguf_open(&want, path, NULL), S2P_OK);
        expect_key(got, want, "tokenizer.ggml.tokens");
        expect_key(got, want, "tokenizer.ggml.token_type");
        expect_key(got, want, "tokenizer.ggml.model");
        if (cases[i].has_prefix_key) expect_key(got, want, "tokenizer.ggml.add_space_prefix");
        assert_true(s2v_gguf_find_key(got, "tokenizer.ggml.add_space_prefix") != NULL ||
                    !cases[i].has_prefix_key);
        expect_key(got, want, "tokenizer.ggml.scores");
        s2v_gguf_close(got);
        s2v_gguf_close(want);
    }
}

/* Messages by hand: a piece is field 1, its text 1, score 2, type 3; the trainer is field 2 (model
 * type 3), the normalizer field 3 (extra spaces 4). */
#define PIECE(text, n) "\x0A" n "\x0A" text
#define BPE "\x12\x02\x18\x02"
#define PLAIN "\x1A\x02\x20\x00"

static void test_messages(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        s2p_status status;
        const char *bytes;
        size_t n;
    } cases[] = {
#define CASE(why, status, bytes) { why, status, bytes, sizeof bytes - 1 }
        CASE("one piece", S2P_OK,
             PIECE("\x01"
                   "a",
                   "\x03") BPE PLAIN),
        CASE("unknown fields are skipped", S2P_OK,
             PIECE("\x01"
                   "a",
                   "\x03") "\x20\x05"
                           "\x2A\x01x"
                           "\x35\x01\x02\x03\x04"
                           "\x39\x01\x02\x03\x04\x05\x06\x07\x08" BPE PLAIN),
        CASE("score and type", S2P_OK,
             "\x0A\x0A\x0A\x01"
             "a"
             "\x15\x00\x00\x80\xBF\x18\x03" BPE PLAIN),
        CASE("nothing", S2P_EFORMAT, ""),
        CASE("no piece", S2P_EFORMAT, BPE PLAIN),
        CASE("a length beyond the end", S2P_EFORMAT,
             "\x0A\x7F\x0A\x01"
             "a"),
        CASE("a length beyond the piece", S2P_EFORMAT,
             PIECE("\x09"
                   "a",
                   "\x03") BPE PLAIN),
        CASE("a length that does not end", S2P_EFORMAT,
             "\x0A\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF"),
        CASE("a tag that is cut off", S2P_EFORMAT,
             PIECE("\x01"
                   "a",
                   "\x03") BPE PLAIN "\x80"),
        CASE("field 0", S2P_EFORMAT,
             PIECE("\x01"
                   "a",
                   "\x03") BPE PLAIN "\x02\x00"),
        CASE("a group", S2P_EFORMAT,
             PIECE("\x01"
                   "a",
                   "\x03") BPE PLAIN "\x0B"),
        CASE("a piece without text", S2P_EFORMAT, "\x0A\x02\x18\x01" BPE PLAIN),
        CASE("an empty text", S2P_EFORMAT, PIECE("\x00", "\x02") BPE PLAIN),
        CASE("a NUL in it", S2P_EFORMAT,
             PIECE("\x02"
                   "a\0",
                   "\x04") BPE PLAIN),
        CASE("type 0", S2P_EFORMAT,
             "\x0A\x05\x0A\x01"
             "a"
             "\x18\x00" BPE PLAIN),
        CASE("type 7", S2P_EFORMAT,
             "\x0A\x05\x0A\x01"
             "a"
             "\x18\x07" BPE PLAIN),
        CASE("a score that is no number", S2P_EFORMAT,
             "\x0A\x08\x0A\x01"
             "a"
             "\x15\x00\x00\xC0\x7F" BPE PLAIN),
        CASE("a unigram model, by default", S2P_EUNSUPPORTED,
             PIECE("\x01"
                   "a",
                   "\x03") PLAIN),
        CASE("a unigram model", S2P_EUNSUPPORTED,
             PIECE("\x01"
                   "a",
                   "\x03") "\x12\x02\x18\x01" PLAIN),
        CASE("extra spaces removed, by default", S2P_EUNSUPPORTED,
             PIECE("\x01"
                   "a",
                   "\x03") BPE),
        CASE("characters changed", S2P_EUNSUPPORTED,
             PIECE("\x01"
                   "a",
                   "\x03") BPE "\x1A\x05\x12\x01x\x20\x00"),
        CASE("spaces kept", S2P_EUNSUPPORTED,
             PIECE("\x01"
                   "a",
                   "\x03") BPE "\x1A\x04\x20\x00\x28\x00"),
#undef CASE
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_piece_model model;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2v_piece_model_parse(&model, cases[i].bytes, cases[i].n, &error);
        CHECK_CASE(st == cases[i].status, "%s: status %d, %s", cases[i].why, st, error.message);
        if (st == S2P_OK) {
            assert_int_equal(model.n, 1);
            assert_string_equal(model.piece[0].text, "a");
            assert_true(model.adds_space);
        } else {
            assert_true(error.status == st && error.message[0] && !model.piece);
        }
        s2v_piece_model_free(&model);
    }
}

/* --- refusals of folders ------------------------------------------------------------------ */

#define PIECES_JSON(normalizer, merges, extra)                                                   \
    "{\"normalizer\": " normalizer ", \"pre_tokenizer\": null, \"added_tokens\": [" extra "],"   \
    "\"model\": {\"type\": \"BPE\", \"byte_fallback\": true, \"vocab\": {\"<unk>\": 0, \"ab\": " \
    "1, "                                                                                        \
    "\"abc\": 2, \"a\": 3, \"b\": 4, \"c\": 5, \"bc\": 6}, \"merges\": " merges "}}"
#define SPACES \
    "{\"type\": \"Replace\", \"pattern\": {\"String\": \" \"}, \"content\": \"\xE2\x96\x81\"}"
#define UNK "{\"id\": 0, \"content\": \"<unk>\", \"special\": true}"
#define MERGES "[\"a b\", \"ab c\", \"a bc\", [\"b\", \"c\"]]"

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        s2p_status status;
        int32_t n_vocab;
        const char *settings, *json;
    } cases[] = {
        { "right", S2P_OK, 8, "{}", PIECES_JSON(SPACES, MERGES, UNK) },
        { "another normalizer", S2P_EUNSUPPORTED, 8, "{}",
          PIECES_JSON("{\"type\": \"NFC\"}", MERGES, UNK) },
        { "none", S2P_EUNSUPPORTED, 8, "{}", PIECES_JSON("null", MERGES, UNK) },
        { "a cut missing", S2P_EUNSUPPORTED, 8, "{}",
          PIECES_JSON(SPACES, "[\"a b\", \"ab c\", \"b c\"]", UNK) },
        { "another order", S2P_EUNSUPPORTED, 8, "{}",
          PIECES_JSON(SPACES, "[\"ab c\", \"a b\", \"a bc\", \"b c\"]", UNK) },
        { "a merge of one", S2P_EFORMAT, 8, "{}",
          PIECES_JSON(SPACES, "[\"ab\", \"ab c\", \"a bc\", \"b c\"]", UNK) },
        { "more tokens than vocab_size", S2P_EFORMAT, 4, "{}", PIECES_JSON(SPACES, MERGES, UNK) },
        { "an added token beyond it", S2P_EFORMAT, 8,
          "{\"added_tokens_decoder\": {\"8\": {\"content\": \"x\"}}}",
          PIECES_JSON(SPACES, MERGES, UNK) },
        { "an added token without an id", S2P_EFORMAT, 8,
          "{\"added_tokens_decoder\": {\"one\": {\"content\": \"x\"}}}",
          PIECES_JSON(SPACES, MERGES, UNK) },
        { "an added token without text", S2P_EFORMAT, 8, "{\"added_tokens_decoder\": {\"7\": {}}}",
          PIECES_JSON(SPACES, MERGES, UNK) },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_gguf *got = NULL;
        s2p_error error = { S2P_OK, "" };
        clear_folder();
        write_text("tokenizer_config.json", cases[i].settings);
        write_text("tokenizer.json", cases[i].json);
        const s2p_status st = convert(cases[i].n_vocab, &got, &error);
        CHECK_CASE(st == cases[i].status, "%s: status %d, %s", cases[i].why, st, error.message);
        s2v_gguf_close(got);
    }
    s2v_gguf *got = NULL;
    clear_folder();
    write_text("tokenizer_config.json", "{}");
    write_text("tokenizer.model", PIECE("\x01"
                                        "a",
                                        "\x03"));
    assert_int_equal(convert(8, &got, NULL), S2P_EUNSUPPORTED);
    clear_folder();
}

int main(int argc, char **argv)
{
    if (argc < 3) return 1;
    folder = argv[1];
    goldens = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families),
        cmocka_unit_test(test_models),
        cmocka_unit_test(test_messages),
        cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
