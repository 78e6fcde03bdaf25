/* test_inspect.c - `s2prune inspect` on good, broken and hostile model files. */
#include "check.h"
#include "gguf_writer.h"
#include "program.h"
#include "report.h"

#include "base/json.h"

#include <unistd.h>

static char model[64], shown[64], said[64]; /* temporary files */
static char out[16384], err[1024];

static int make_names(void **state)
{
    (void)state;
    (void)snprintf(model, sizeof model, "/tmp/test_inspect.%ld.gguf", (long)getpid());
    (void)snprintf(shown, sizeof shown, "/tmp/test_inspect.%ld.out", (long)getpid());
    (void)snprintf(said, sizeof said, "/tmp/test_inspect.%ld.err", (long)getpid());
    return 0;
}

static int remove_files(void **state)
{
    (void)state;
    (void)remove(model);
    (void)remove(shown);
    (void)remove(said);
    return 0;
}

static void read_back(const char *path, char *text, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, capacity - 1, file)] = '\0';
    (void)fclose(file);
}

static int redirect(int fd, const char *path)
{
    const int before = dup(fd);
    FILE *file = fopen(path, "wb");
    assert_true(before >= 0 && file && dup2(fileno(file), fd) == fd);
    (void)fclose(file);
    return before;
}

static void restore(int fd, int before)
{
    assert_int_equal(dup2(before, fd), fd);
    (void)close(before);
}

static const char *no_variables(const char *name)
{
    (void)name;
    return NULL;
}

/* The exit code; the two streams are in out and err. */
static int inspect(const char *a, const char *b, const char *c)
{
    const char *const given[] = { model, a, b, c };
    char *argv[4] = { 0 };
    int argc = 0;
    for (size_t i = 0; i < COUNT_OF(given) && given[i]; i++) argv[argc++] = strdup(given[i]);
    void *values = calloc(1, s2_cmd_inspect.size);
    assert_non_null(values);
    s2_parsed parsed;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(
        s2_options_parse(&s2_cmd_inspect, argc, argv, no_variables, values, &parsed, &error),
        S2P_OK);
    (void)fflush(NULL);
    const int before_out = redirect(STDOUT_FILENO, shown),
              before_err = redirect(STDERR_FILENO, said);
    const int code = s2_cmd_inspect.run(values);
    (void)fflush(NULL);
    restore(STDOUT_FILENO, before_out);
    restore(STDERR_FILENO, before_err);
    read_back(shown, out, sizeof out);
    read_back(said, err, sizeof err);
    free(values);
    for (int i = 0; i < argc; i++) free(argv[i]);
    return code;
}

static void save(writer *w, size_t n)
{
    FILE *file = fopen(model, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(w->data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
    free(w->data);
    *w = (writer){ 0 };
}

static json_t *parsed(void)
{
    json_t *root = NULL;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2_json_parse(out, strlen(out), "inspect", &root, &error) == S2P_OK, "%s",
               error.message);
    assert_string_equal(s2_json_string(root, "schema"), "s2prune.inspect/1");
    return root;
}

static void test_good(void **state)
{
    (void)state;
    writer w = { 0 };
    put_valid(&w);
    save(&w, w.n);
    assert_int_equal(inspect("--kv", "--tensors", NULL), S2_EXIT_OK);
    assert_string_equal(err, "");
    static const char *const lines[] = {
        ": GGUF v3, 4 tensors, 20 keys\n",
        "architecture  qwen2vl\n",
        "  F16         tensors 1, values 15, bytes 30",
        "supported     Qwen2.5-VL or Qwen2-VL language model\n",
        "i32[4]  0, 8, 16, -1\n",
        "bool[3]  true, false, true\n",
        "string[3]  \"one\", \"\", \"\\x00\xef\xbf\xbd!\"\n",
        "u64  >= 2^63\n",
        "u8[0]\n",
        "Q4_K    [256, 2]  288 bytes at 64\n",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++)
        CHECK_CASE(strstr(out, lines[i]), "%s not in\n%s", lines[i], out);
    assert_int_equal(inspect(NULL, NULL, NULL),
                     S2_EXIT_OK); /* keys and tensors only when asked for */
    assert_null(strstr(out, "n.u8"));
    assert_null(strstr(out, "blocks"));
}

static void test_json(void **state)
{
    (void)state;
    writer w = { 0 };
    put_valid(&w);
    save(&w, w.n);
    assert_int_equal(inspect("--kv", "--tensors", "--output=json"), S2_EXIT_OK);
    json_t *root = parsed();
    assert_true(json_is_true(json_object_get(root, "valid")));
    assert_true(json_is_true(json_object_get(root, "supported")));
    assert_int_equal(json_array_size(json_object_get(root, "keys")), 20);
    assert_int_equal(json_array_size(json_object_get(root, "types")), 4);
    const json_t *tensor = json_array_get(json_object_get(root, "tensors"), 0);
    assert_string_equal(s2_json_string(tensor, "name"), "four");
    assert_int_equal(json_integer_value(json_array_get(json_object_get(tensor, "shape"), 1)), 4);
    assert_int_equal(json_integer_value(json_object_get(tensor, "bytes")), 512);
    json_decref(root);
}

/* The kind of tokenizer, or why it cannot be used. */
static void test_tokenizer(void **state)
{
    (void)state;
    static const struct {
        const char *model, *pre, *line;
    } cases[] = {
        { "llama", "default", "tokenizer     SentencePiece, 2 tokens\n" },
        { "gpt2", "smollm", "tokenizer     byte-level BPE, pre-tokenizer smollm, 2 tokens\n" },
        { "gpt2", "x\x1b[",
          "tokenizer     tokenizer.ggml.pre is 'x?['; supported: qwen2, qwen35, smollm\n" },
        { "bert", "x", "tokenizer     tokenizer.ggml.model is 'bert'; supported: gpt2, llama\n" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        writer w = { 0 };
        put_start(&w, 3, 0, 3);
        put_key(&w, "tokenizer.ggml.model", STRING);
        put_string(&w, cases[i].model, strlen(cases[i].model));
        put_key(&w, "tokenizer.ggml.pre", STRING);
        put_string(&w, cases[i].pre, strlen(cases[i].pre));
        put_array(&w, "tokenizer.ggml.tokens", STRING, 2);
        put_string(&w, "a", 1);
        put_string(&w, "b", 1);
        put_padding(&w, 32);
        save(&w, w.n);
        assert_int_equal(inspect(NULL, NULL, NULL), S2_EXIT_OK);
        CHECK_CASE(strstr(out, cases[i].line), "%s not in\n%s", cases[i].line, out);
    }
}

/* The example of the manual, to the letter. */
static void test_broken(void **state)
{
    (void)state;
    writer w = { 0 };
    const uint64_t ne[2] = { UINT64_C(1) << 32, UINT64_C(1) << 32 };
    put_start(&w, 3, 1, 0);
    put_tensor(&w, "w", 2, ne, 0, 0);
    put_zeros(&w, 64);
    save(&w, w.n);
    char expected[128];
    (void)snprintf(expected, sizeof expected, "%s: GGUF v3, 1 tensor, 0 keys\n", model);
    assert_int_equal(inspect("--check", NULL, NULL), S2_EXIT_INPUT);
    assert_string_equal(out, expected);
    assert_string_equal(err,
                        "error: tensor 'w' shape 4294967296x4294967296: element count overflows\n");
    assert_int_equal(inspect("--output=json", NULL, NULL), S2_EXIT_INPUT);
    json_t *root = parsed();
    assert_true(json_is_false(json_object_get(root, "valid")));
    assert_non_null(strstr(s2_json_string(root, "error"), "overflows"));
    assert_int_equal(json_integer_value(json_object_get(root, "n_tensors")), 1);
    json_decref(root);
}

static void test_cut(void **state)
{
    (void)state;
    writer w = { 0 };
    for (size_t n = 0; n < 3900; n += 37) {
        put_valid(&w);
        save(&w, n);
        assert_int_equal(inspect("--kv", "--tensors", "--check"), S2_EXIT_INPUT);
        CHECK_CASE(strncmp(err, "error: ", 7) == 0, "%zu bytes: %s", n, err);
        CHECK_CASE(n < 24 ? !out[0] : strstr(out, "4 tensors, 20 keys") != NULL, "%zu bytes: %s", n,
                   out);
        assert_int_equal(inspect("--kv", "--tensors", "--output=json"), S2_EXIT_INPUT);
        json_decref(parsed());
    }
    (void)remove(model);
    assert_int_equal(inspect(NULL, NULL, NULL), S2_EXIT_INPUT);
    assert_non_null(strstr(err, "No such file"));
}

static void test_check(void **state)
{
    (void)state;
    writer w = { 0 };
    for (int is_bad = 0; is_bad < 2; is_bad++) {
        put_start(&w, 3, 2, 0);
        put_tensor(&w, "numbers", 1, &(uint64_t){ 4 }, 0, 0);
        put_tensor(&w, "whole", 1, &(uint64_t){ 4 }, 26, 32);
        put_padding(&w, 32);
        for (uint32_t i = 0; i < 12; i++) put(&w, i == 3 && is_bad ? 0x7fc00000u : 0xffffffu, 4);
        save(&w, w.n);
        assert_int_equal(inspect(NULL, NULL, NULL), S2_EXIT_OK); /* no data is read */
        assert_int_equal(inspect("--check", NULL, NULL), is_bad ? S2_EXIT_INPUT : S2_EXIT_OK);
        assert_non_null(strstr(out, is_bad ? "finite 0, not finite 1" : "finite 1, not finite 0"));
        if (is_bad)
            assert_non_null(
                strstr(err, "tensor 'numbers': values not finite: 1, the first at index 3"));
    }
}

/* Nor may a name look like another one: marks of direction and ends of lines are spelled out. */
static void test_misleading_text(void **state)
{
    (void)state;
    static const struct {
        const char *bytes, *shown;
    } cases[] = {
        { "a\xe2\x80\xae"
          "fugg.b",
          "a\\u202efugg.b" },
        { "\xd8\x9c", "\\u061c" },
        { "\xe2\x80\x8f", "\\u200f" },
        { "\xe2\x81\xa6x\xe2\x81\xa9", "\\u2066x\\u2069" },
        { "\xe2\x80\xa8", "\\u2028" },
        { "\xd8\xb9\xe2\x82\xac", "\xd8\xb9\xe2\x82\xac" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        writer w = { 0 };
        char line[80];
        put_start(&w, 3, 1, 2);
        put_key(&w, "general.name", STRING);
        put_string(&w, cases[i].bytes, strlen(cases[i].bytes));
        put_key(&w, "note", STRING); /* names of keys are ASCII, or the file is refused */
        put_string(&w, cases[i].bytes, strlen(cases[i].bytes));
        put_tensor(&w, cases[i].bytes, 1, &(uint64_t){ 1 }, 24, 0);
        put_padding(&w, 32);
        put_zeros(&w, 1);
        save(&w, w.n);
        CHECK_CASE(inspect("--kv", "--tensors", NULL) == S2_EXIT_OK, "%s", err);
        (void)snprintf(line, sizeof line, "name          %s\n", cases[i].shown);
        CHECK_CASE(strstr(out, line), "%s not in\n%s", line, out);
        size_t n = 0; /* in the summary, two values, a tensor */
        for (const char *at = out; (at = strstr(at, cases[i].shown)); at++) n++;
        CHECK_CASE(n == 4, "%s %zu times in\n%s", cases[i].shown, n, out);
    }
}

/* Nothing a file says may drive the terminal. */
static void test_hostile_text(void **state)
{
    (void)state;
    static const char bytes[] = "\x1b]0;owned\a\r\n\xc2\x9b"
                                "2J\xed\xa0\x80\xf4\x90\x80\x80\xc0\xaf\xe2\x82";
    writer w = { 0 };
    put_start(&w, 3, 1, 2);
    put_key(&w, "general.architecture", STRING);
    put_string(&w, bytes, sizeof bytes - 1);
    put_array(&w, "list", STRING, 1);
    put_string(&w, bytes, sizeof bytes - 1);
    put_tensor(&w, "\xc2\x9b\xff", 1, &(uint64_t){ 1 }, 24, 0);
    put_padding(&w, 32);
    put_zeros(&w, 1);
    save(&w, w.n);
    assert_int_equal(inspect("--kv", "--tensors", NULL), S2_EXIT_OK);
    for (const char *c = out; *c; c++) assert_true(*c == '\n' || (uint8_t)*c >= 0x20);
    assert_null(strstr(out, "\xc2\x9b"));
    assert_non_null(strstr(out, "\\x1b]0;owned"));
    assert_non_null(strstr(out, "unsupported"));
    assert_int_equal(inspect("--kv", "--tensors", "--output=json"), S2_EXIT_OK);
    json_decref(parsed());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),         cmocka_unit_test(test_json),
        cmocka_unit_test(test_tokenizer),    cmocka_unit_test(test_broken),
        cmocka_unit_test(test_cut),          cmocka_unit_test(test_check),
        cmocka_unit_test(test_hostile_text), cmocka_unit_test(test_misleading_text),
    };
    return cmocka_run_group_tests(tests, make_names, remove_files);
}
