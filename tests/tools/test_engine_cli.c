/* test_engine_cli.c - `s2prune run` and the example as a user runs them: streams, exit codes, JSON,
 * and the answers of another implementation.
 *
 * Arguments: a folder, the program, the example, the folder of goldens. The last may not be there;
 * what needs it is skipped then.
 */
#include "tiny_run.h"

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "image/image.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_ARGUMENTS 64
#define MAX_OUTPUT (1 << 20)

static const char *folder, *program, *example, *goldens;
static char picture_path[512], wide_path[512];

typedef struct outcome {
    int code;
    char out[MAX_OUTPUT], err[8192];
} outcome;

static outcome last; /* too large for a stack */

/* --- running ---------------------------------------------------------------------- */

static void slurp(const char *path, char *text, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, capacity - 1, file)] = '\0';
    (void)fclose(file);
}

/* Run argv[0] with its streams in files of the folder; `in` may be NULL. */
static const outcome *run_program(const char *const *argv, const char *in)
{
    char out[512], err[512];
    (void)snprintf(out, sizeof out, "%s/out", folder);
    (void)snprintf(err, sizeof err, "%s/err", folder);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const int fd[3] = { open(in ? in : "/dev/null", O_RDONLY),
                            open(out, O_WRONLY | O_CREAT | O_TRUNC, 0600),
                            open(err, O_WRONLY | O_CREAT | O_TRUNC, 0600) };
        for (int i = 0; i < 3; i++)
            if (dup2(fd[i], i) < 0) _exit(126);
        char *copy[MAX_ARGUMENTS + 1] = { NULL }; /* execv wants them writable */
        for (int i = 0; argv[i] && i < MAX_ARGUMENTS; i++) copy[i] = strdup(argv[i]);
        (void)execv(copy[0], copy);
        _exit(127);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    CHECK_CASE(WIFEXITED(status), "%s %s: signal %d", argv[0], argv[1], WTERMSIG(status));
    last.code = WEXITSTATUS(status);
    slurp(out, last.out, sizeof last.out);
    slurp(err, last.err, sizeof last.err);
    return &last;
}

/* `s2prune run` on the tiny pair with more arguments, up to a NULL. */
static const outcome *run_tiny(const char *const *more)
{
    const char *argv[MAX_ARGUMENTS + 1] = { program,         "run", "-m",
                                            tiny_model_path, "-mm", tiny_mmproj_path };
    int n = 6;
    for (; *more && n < MAX_ARGUMENTS; more++) argv[n++] = *more;
    return run_program(argv, NULL);
}

#define RUN_TINY(...) run_tiny((const char *const[]){ __VA_ARGS__, NULL })

static json_t *parse(const outcome *o)
{
    const size_t n = strlen(o->out);
    json_t *root = NULL;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(o->code == 0, "exit %d: %s", o->code, o->err);
    assert_true(n > 1 && o->out[n - 1] == '\n' && !memchr(o->out, '\n', n - 1)); /* one line */
    CHECK_CASE(s2_json_parse(o->out, n, "stdout", &root, &error) == S2P_OK, "%s", error.message);
    return root;
}

static int write_files(void **state)
{
    (void)state;
    static uint8_t pixels[180 * 140 * 3];
    tiny_write_plain(folder);
    const s2p_image image = make_picture(pixels, 180, 140, 5);
    s2_buffer png;
    s2_buffer_init(&png, 1 << 20);
    (void)snprintf(picture_path, sizeof picture_path, "%s/picture.png", folder);
    (void)snprintf(wide_path, sizeof wide_path, "%s/wide.png", folder);
    assert_int_equal(s2_png_encode(&image, &png, NULL), S2P_OK);
    assert_int_equal(s2_file_write(picture_path, png.data, png.size, NULL), S2P_OK);
    s2_buffer_free(&png);
    const s2p_image wide = { 180, 1, 540, pixels };
    s2_buffer_init(&png, 1 << 20);
    assert_int_equal(s2_png_encode(&wide, &png, NULL), S2P_OK);
    assert_int_equal(s2_file_write(wide_path, png.data, png.size, NULL), S2P_OK);
    s2_buffer_free(&png);
    return 0;
}

/* --- mistakes --------------------------------------------------------------------- */

static void check_mistake(const outcome *o, int code, const char *sentence)
{
    CHECK_CASE(o->code == code, "%s: exit %d, %s", sentence, o->code, o->err);
    CHECK_CASE(strncmp(o->err, "error: ", 7) == 0 && strstr(o->err, sentence), "%s: %s", sentence,
               o->err);
    const char *end = strchr(o->err, '\n'); /* one line, whatever happened */
    CHECK_CASE(end && end[1] == '\0', "%s: %s", sentence, o->err);
    CHECK_CASE(o->out[0] == '\0', "%s: wrote %s", sentence, o->out);
}

static void test_mistakes(void **state)
{
    (void)state;
    const char *const i = picture_path;
    check_mistake(RUN_TINY("-i", i, "-p", "x", "-m", "/nowhere/model.gguf"), 3, "/nowhere/model");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "-mm", tiny_model_path), 3, "expected 'clip'");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "-m", i), 3, "picture.png");
    check_mistake(RUN_TINY("-i", "/nowhere/p.png", "-p", "x"), 3, "/nowhere/p.png");
    check_mistake(RUN_TINY("-i", tiny_model_path, "-p", "x"), 3, "plain.gguf");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "-c", "20"), 3, "more than the context of 20");
    check_mistake(RUN_TINY("-i", i, "-p", "caf\xe9"), 3, "UTF-8");
    check_mistake(RUN_TINY("-i", i, "--raw", "-p", "hello"), 2,
                  "contains <image> 0 times, but 1 picture was given");
    check_mistake(RUN_TINY("--raw", "-p", ""), 2, "empty");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "--budget", "0"), 2, "--budget");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "--budget", "-3"), 2, "--budget");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "--method", "s2prnue"), 2, "s2prnue");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "--budget", "20", "--grid", "5"), 2, "25");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "--budget", "20", "--image-budgets", "5,,"), 2,
                  "--image-budgets");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "--image-size", "100x100"), 2, "100x100");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "--image-size", "foo"), 2, "--image-size");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "--rpc", "127.0.0.1:1"), 3, "RPC");
    check_mistake(RUN_TINY("-i", i, "-p", "x", "--device", "none such"), 2, "none such");
    check_mistake(RUN_TINY("-i", i, "-o", "json"), 2, "-p TEXT");
}

/* NaN in a weight, and a file cut short: bad input, said before anything is answered. */
static void test_damaged_models(void **state)
{
    (void)state;
    char path[512];
    static tiny_file damaged;
    (void)snprintf(path, sizeof path, "%s/damaged.gguf", folder);
    damaged = tiny_text_file;
    tiny_find_tensor(&damaged, "blk.2.ffn_up.weight")->poison = NAN;
    tiny_write(&damaged, path);
    check_mistake(RUN_TINY("-i", picture_path, "-p", "x", "-m", path), 3, "weights are damaged");

    s2_buffer bytes;
    s2_buffer_init(&bytes, (size_t)64 << 20);
    assert_int_equal(s2_file_read(tiny_model_path, &bytes, NULL), S2P_OK);
    const size_t cuts[] = { 0, 3, 100, bytes.size / 2, bytes.size - 1 };
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        assert_int_equal(s2_file_write(path, bytes.data, cuts[i], NULL), S2P_OK);
        check_mistake(RUN_TINY("-i", picture_path, "-p", "x", "-m", path), 3, "damaged.gguf");
    }
    s2_buffer_free(&bytes);
}

static void test_too_many_pictures(void **state)
{
    (void)state;
    static const char *const rest[] = { "-p", "hello", "-n", "1", "-q" };
    for (int n = 20; n <= 21; n++) {
        const char *argv[2 * 21 + COUNT_OF(rest) + 1];
        int at = 0;
        for (int i = 0; i < n; i++) {
            argv[at++] = "-i";
            argv[at++] = picture_path;
        }
        for (size_t i = 0; i < COUNT_OF(rest); i++) argv[at++] = rest[i];
        argv[at] = NULL;
        const outcome *o = run_tiny(argv);
        if (n == 20)
            CHECK_CASE(o->code == 0, "%s", o->err);
        else
            check_mistake(o, 3, "21 pictures; the limit is 20");
    }
}

/* --- results ---------------------------------------------------------------------- */

static void test_text(void **state)
{
    (void)state;
    const outcome *o =
        RUN_TINY("-i", picture_path, "-p", "hello", "-n", "5", "--ignore-eos", "--budget", "9");
    assert_int_equal(o->code, 0);
    const size_t n = strlen(o->out);
    size_t n_lines;
    assert_true(n > 0 && o->out[n - 1] == '\n');
    assert_true(strncmp(o->err, "kept 9 of ", 10) == 0);
    assert_non_null(strstr(o->err, " visual tokens (s2prune, grid 2x2, after layer 0)\nimage "));
    n_lines = 0;
    for (const char *c = o->err; *c; c++) n_lines += *c == '\n';
    assert_int_equal(n_lines, 2); /* the summary and nothing else */

    o = RUN_TINY("-i", picture_path, "-p", "hello", "-n", "5", "--ignore-eos", "-q");
    assert_int_equal(o->code, 0);
    assert_string_equal(o->err, "");
    o = RUN_TINY("-p", "no picture", "-n", "3", "-q");
    assert_int_equal(o->code, 0);
}

typedef struct field {
    const char *path;
    json_type type;
} field;

/* "a.b" from the root. */
static const json_t *find(const json_t *root, const char *path)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s", path);
    char *dot = strchr(name, '.');
    if (dot) *dot++ = '\0';
    const json_t *value = json_object_get(root, name);
    return dot && value ? json_object_get(value, dot) : value;
}

/* Everything the contract names, and nothing else. */
static void check_fields(const json_t *root)
{
    static const field fields[] = {
        { "schema", JSON_STRING },
        { "text", JSON_STRING },
        { "tokens", JSON_ARRAY },
        { "finish_reason", JSON_STRING },
        { "usage.prompt_tokens", JSON_INTEGER },
        { "usage.text_tokens", JSON_INTEGER },
        { "usage.image_tokens_full", JSON_INTEGER },
        { "usage.image_tokens", JSON_INTEGER },
        { "usage.completion_tokens", JSON_INTEGER },
        { "usage.cached_tokens", JSON_INTEGER },
        { "timings.image_ms", JSON_REAL },
        { "timings.vision_ms", JSON_REAL },
        { "timings.layer0_ms", JSON_REAL },
        { "timings.probe_ms", JSON_REAL },
        { "timings.select_ms", JSON_REAL },
        { "timings.layers_ms", JSON_REAL },
        { "timings.prompt_ms", JSON_REAL },
        { "timings.predicted_ms", JSON_REAL },
        { "timings.predicted_per_second", JSON_REAL },
        { "kv.visual_bytes", JSON_INTEGER },
        { "kv.visual_bytes_paper", JSON_INTEGER },
        { "kv.total_bytes", JSON_INTEGER },
        { "flops", JSON_REAL },
        { "timings.tower", JSON_STRING },
        { "prune.method", JSON_STRING },
        { "prune.mode", JSON_STRING },
        { "model", JSON_STRING },
        { "question", JSON_STRING },
        { "pictures", JSON_ARRAY },
        { "timings.first_token_ms", JSON_REAL },
        { "timings.total_ms", JSON_REAL },
        { "prune.budget", JSON_INTEGER },
        { "prune.after", JSON_ARRAY },
        { "prune.left", JSON_ARRAY },
        { "prune.images", JSON_ARRAY },
        { "device.name", JSON_STRING },
        { "device.layers", JSON_INTEGER },
        { "device.bytes_up", JSON_INTEGER },
        { "device.bytes_down", JSON_INTEGER },
    };
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        const json_t *value = find(root, fields[i].path);
        CHECK_CASE(value && json_typeof(value) == fields[i].type, "%s", fields[i].path);
    }
    assert_int_equal(json_object_size(root), 13);
    assert_int_equal(json_object_size(json_object_get(root, "usage")), 6);
    assert_int_equal(json_object_size(json_object_get(root, "timings")), 13);
    static const char *const region[] = {
        "r0", "r1", "c0", "c1", "y0", "y1", "x0", "x1", "budget"
    };
    size_t index;
    json_t *image;
    json_array_foreach(find(root, "prune.images"), index, image)
    {
        assert_true(json_is_array(json_object_get(image, "tokens")));
        assert_true(json_is_integer(json_object_get(image, "grid")));
        assert_true(json_is_array(json_object_get(image, "kept")));
        const json_t *first = json_array_get(json_object_get(image, "regions"), 0);
        for (size_t k = 0; first && k < COUNT_OF(region); k++)
            assert_true(json_is_integer(json_object_get(first, region[k])));
        assert_true(!first || json_is_real(json_object_get(first, "var")));
        assert_true(!first || json_is_real(json_object_get(first, "score")));
    }
}

static void test_json(void **state)
{
    (void)state;
    json_t *root =
        parse(RUN_TINY("-i", picture_path, "-i", picture_path, "-p", "hello", "--image-size",
                       "252x196,140x140", "--image-budgets", "18,9", "--image-grids", "3,2", "-n",
                       "7", "--ignore-eos", "-o", "json", "-q"));
    check_fields(root);
    assert_string_equal(json_string_value(find(root, "schema")), "s2prune.run/1");
    assert_string_equal(json_string_value(find(root, "finish_reason")), "length");
    assert_int_equal(json_array_size(find(root, "tokens")), 7);
    assert_int_equal(json_integer_value(find(root, "usage.image_tokens_full")), 63 + 25);
    assert_int_equal(json_integer_value(find(root, "usage.image_tokens")), 18 + 9);
    assert_int_equal(json_integer_value(find(root, "usage.completion_tokens")), 7);
    const json_t *images = find(root, "prune.images");
    assert_int_equal(json_array_size(images), 2);
    assert_int_equal(json_integer_value(json_object_get(json_array_get(images, 1), "grid")), 2);
    assert_int_equal(json_array_size(json_object_get(json_array_get(images, 0), "regions")), 9);
    json_decref(root);

    root =
        parse(RUN_TINY("-p", "hello", "-o", "json", "-n", "0", "-q")); /* nothing to see or say */
    check_fields(root);
    assert_int_equal(json_array_size(find(root, "tokens")), 0);
    assert_int_equal(json_array_size(find(root, "prune.images")), 0);
    json_decref(root);
}

/* A picture too small to measure: a note on stderr, a result all the same. */
static void test_note(void **state)
{
    (void)state;
    const outcome *o =
        RUN_TINY("-i", wide_path, "-p", "hello", "-n", "1", "--budget", "3", "-o", "json");
    assert_non_null(strstr(o->err, "note: a picture is too small"));
    json_t *root = parse(o);
    assert_int_equal(json_integer_value(find(root, "usage.image_tokens")), 3);
    json_decref(root);
    o = RUN_TINY("-i", wide_path, "-p", "hello", "-n", "1", "-ngl", "2", "--device", "CPU");
    assert_non_null(strstr(o->err, "note: -ngl has no effect"));
    o = RUN_TINY("-i", wide_path, "-p", "hello", "-n", "1", "--device", "CPU");
    assert_null(strstr(o->err, "no effect"));
}

/* --- goldens ---------------------------------------------------------------------- */

static const int32_t *golden_ints(const s2v_gguf *file, const char *name, size_t *n)
{
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, name);
    assert_true(t && t->type == GGML_TYPE_I32);
    *n = (size_t)(t->ne[0] * t->ne[1]);
    return (const int32_t *)(const void *)t->data;
}

static void check_list(const json_t *array, const s2v_gguf *file, const char *name)
{
    size_t n;
    const int32_t *expected = golden_ints(file, name, &n);
    CHECK_CASE(json_array_size(array) == n, "%s: %zu, expected %zu", name, json_array_size(array),
               n);
    for (size_t i = 0; i < n; i++)
        CHECK_CASE(json_integer_value(json_array_get(array, i)) == expected[i], "%s[%zu]", name, i);
}

typedef struct golden_case {
    const char *name, *full; /* the file, and the one with its prompt */
    const char *pictures, *size, *budgets, *grids;
} golden_case;

static void check_golden(const golden_case *c, const char *pair)
{
    char path[4][1024], prompt[4096], logits[512];
    const char *const base = goldens;
    s2v_gguf *golden = NULL, *full = NULL;
    s2v_text text;
    (void)snprintf(path[0], sizeof path[0], "%s/hf/qwen25vl/%s.gguf", base, c->name);
    (void)snprintf(path[1], sizeof path[1], "%s/hf/qwen25vl/%s.gguf", base, c->full);
    assert_int_equal(s2v_gguf_open(&golden, path[0], NULL), S2P_OK);
    assert_int_equal(s2v_gguf_open(&full, path[1], NULL), S2P_OK);
    assert_true(s2v_gguf_string(full, "case.prompt", &text) && text.size < sizeof prompt);
    memcpy(prompt, text.data, text.size);
    prompt[text.size] = '\0';
    (void)snprintf(path[0], sizeof path[0], "%s/hf/qwen25vl/gguf/tiny-qwen2.5-vl-%s.gguf", base,
                   pair);
    (void)snprintf(path[1], sizeof path[1], "%s/hf/qwen25vl/gguf/mmproj-tiny-qwen2.5-vl-%s.gguf",
                   base, pair);
    (void)snprintf(path[2], sizeof path[2], "%s/hf/qwen25vl/image_a_500x375.png", base);
    (void)snprintf(path[3], sizeof path[3], "%s/hf/qwen25vl/image_b_431x300.png", base);
    (void)snprintf(logits, sizeof logits, "%s/logits.npy", folder);

    const char *argv[MAX_ARGUMENTS] = { program, "run",          "--raw",
                                        "-o",    "json",         "--kv-type",
                                        "f32",   "--ignore-eos", "-n",
                                        "16",    "-q",           "-m",
                                        path[0], "-mm",          path[1],
                                        "-p",    prompt,         "--logits",
                                        logits,  "--method",     c->budgets ? "s2prune" : "full" };
    int n = 21;
    for (const char *which = c->pictures; *which; which++) {
        argv[n++] = "-i";
        argv[n++] = path[*which == 'a' ? 2 : 3];
    }
    argv[n++] = "--image-size";
    argv[n++] = c->size;
    if (c->budgets) {
        argv[n++] = "--image-budgets";
        argv[n++] = c->budgets;
        argv[n++] = "--image-grids";
        argv[n++] = c->grids;
    }
    json_t *root = parse(run_program(argv, NULL));
    check_fields(root);
    check_list(find(root, "tokens"), golden, "tokens");
    for (size_t i = 0; c->budgets && c->pictures[i]; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "img%zu.kept", i);
        check_list(json_object_get(json_array_get(find(root, "prune.images"), i), "kept"), golden,
                   name);
    }
    json_decref(root);

    s2_array got;
    const s2v_gguf_tensor *expected = s2v_gguf_find_tensor(golden, "logits_last");
    assert_int_equal(s2_npy_read(logits, 1 << 20, &got, NULL), S2P_OK);
    assert_true(expected && got.type == S2_F32 && got.count == (size_t)expected->ne[0]);
    for (size_t i = 0; strcmp(pair, "f32") == 0 && i < got.count; i++)
        assert_true(fabsf(((const float *)got.data)[i] -
                          ((const float *)(const void *)expected->data)[i]) < 2e-3f);
    s2_array_free(&got);
    s2v_gguf_close(full);
    s2v_gguf_close(golden);
}

static void test_goldens(void **state)
{
    (void)state;
    static const golden_case cases[] = {
        { "full_sq", "full_sq", "a", "672x672", NULL, NULL },
        { "full_dyn", "full_dyn", "b", "native", NULL, NULL },
        { "full_multi", "full_multi", "ab", "672x672,native", NULL, NULL },
        { "pruned_sq_B32K4", "full_sq", "a", "672x672", "32", "4" },
        { "pruned_sq_B64K5", "full_sq", "a", "672x672", "64", "0" }, /* K by the rule */
        { "pruned_sq_B128K8", "full_sq", "a", "672x672", "128", "0" },
        { "pruned_sq_B192K9", "full_sq", "a", "672x672", "192", "9" },
        { "pruned_dyn_B48K4", "full_dyn", "b", "native", "48", "4" },
    };
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/hf/qwen25vl/gguf", goldens);
    if (access(path, R_OK) != 0) skip();
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        (void)snprintf(path, sizeof path, "%s/hf/qwen25vl/%s.gguf", goldens, cases[i].name);
        if (access(path, R_OK) != 0) continue;
        check_golden(&cases[i], "f32");
        if (i % 2 == 1) check_golden(&cases[i], "f16");
    }
}

/* --- the example ------------------------------------------------------------------ */

static void test_example(void **state)
{
    (void)state;
    static uint8_t pixels[600 * 400 * 3];
    char path[512], header[32];
    (void)snprintf(path, sizeof path, "%s/picture.ppm", folder);
    (void)make_picture(pixels, 600, 400, 5);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    (void)snprintf(header, sizeof header, "P6\n600 400\n255\n");
    assert_int_equal(fwrite(header, 1, strlen(header), file), strlen(header));
    assert_int_equal(fwrite(pixels, 1, sizeof pixels, file), sizeof pixels);
    (void)fclose(file);

    const char *argv[] = { example, tiny_model_path, tiny_mmproj_path, "hello world", NULL };
    const outcome *o = run_program(argv, path);
    CHECK_CASE(o->code == 0 && o->err[0] == '\0' && strlen(o->out) > 1, "%d %s", o->code, o->err);
    argv[1] = "/nowhere/model.gguf";
    o = run_program(argv, path);
    assert_int_equal(o->code, 1);
    assert_non_null(strstr(o->err, "/nowhere/model.gguf"));
    o = run_program(argv, tiny_model_path); /* no picture */
    assert_int_equal(o->code, 2);
    argv[1] = NULL;
    assert_int_equal(run_program(argv, NULL)->code, 2);
}

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    folder = argv[1];
    program = argv[2];
    example = argv[3];
    goldens = argv[4];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_mistakes),
        cmocka_unit_test(test_damaged_models),
        cmocka_unit_test(test_too_many_pictures),
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_json),
        cmocka_unit_test(test_note),
        cmocka_unit_test(test_goldens),
        cmocka_unit_test(test_example),
    };
    return cmocka_run_group_tests(tests, write_files, NULL);
}
