/* program_runs.h - run the real program as a user or a script does, and the files such runs read.
 *
 * Every run goes through a shell with both streams redirected, so pipes and devices can be part of a
 * case.
 */
#ifndef TESTS_PROGRAM_RUNS_H
#define TESTS_PROGRAM_RUNS_H

#include "check.h"

#include "base/file.h"
#include "base/json.h"
#include "base/npy.h"
#include "image/image.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define GOLDENS S2_TEST_DATA "/goldens"
#define PICTURE GOLDENS "/algo/img_rects_1017_168x168.png"
#define ERC GOLDENS "/methods/s2prune/erc_0_N576.npy"

static const char *program, *folder;

typedef struct outcome {
    int code;
    char out[1 << 18], err[4096];
} outcome;

static outcome last; /* too large for a stack */

static inline void slurp(const char *name, char *text, size_t capacity)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(text, 1, capacity - 1, file);
    text[n] = '\0';
    (void)fclose(file);
}

/* Run "s2prune <arguments>" in the folder; `arguments` may redirect standard output. */
static inline const outcome *run_with(const char *before, const char *arguments)
{
    char line[4096];
    const int n = snprintf(line, sizeof line, "cd '%s' && { %s '%s' %s ; } >out 2>err", folder,
                           before, program, arguments);
    assert_true(n > 0 && (size_t)n < sizeof line);
    const int status = system(line);
    assert_true(WIFEXITED(status));
    last.code = WEXITSTATUS(status);
    slurp("out", last.out, sizeof last.out);
    slurp("err", last.err, sizeof last.err);
    return &last;
}

static inline const outcome *run(const char *arguments) { return run_with("", arguments); }

static inline json_t *run_json(const char *arguments)
{
    const outcome *o = run(arguments);
    CHECK_CASE(o->code == 0 && o->err[0] == '\0', "%s: %d %s", arguments, o->code, o->err);
    const size_t n = strlen(o->out);
    assert_true(n > 1 && o->out[n - 1] == '\n' && !memchr(o->out, '\n', n - 1)); /* one line */
    json_t *root = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2_json_parse(o->out, n, "stdout", &root, &error);
    CHECK_CASE(st == S2P_OK, "%s: %s", arguments, error.message);
    return root;
}

static inline int64_t number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    CHECK_CASE(json_is_integer(value), "%s", key);
    return json_integer_value(value);
}

/* --- files the cases need ------------------------------------------------- */

static inline void write_array(const char *name, s2_dtype type, int32_t n_dims, int64_t a,
                               int64_t b, void *data)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    const s2_array array = { type, n_dims, { a, b, 1, 1 }, (size_t)(a * b), data };
    assert_int_equal(s2_npy_write(path, &array, NULL), S2P_OK);
}

static inline void write_picture(const char *name, int32_t side)
{
    static uint8_t pixels[64 * 64 * 3];
    char path[512];
    uint32_t seed = 5;
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)next_random(&seed);
    const s2p_image view = { side, side, side * 3, pixels };
    s2_buffer bytes;
    s2_buffer_init(&bytes, 1 << 20);
    assert_int_equal(s2_png_encode(&view, &bytes, NULL), S2P_OK);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(s2_file_write(path, bytes.data, bytes.size, NULL), S2P_OK);
    s2_buffer_free(&bytes);
}

static inline int make_files(void **state)
{
    (void)state;
    static float values[576], h0[576 * 2], h1[576 * 2], attn[3 * 576];
    static double wide[576];
    static int32_t whole[576];
    uint32_t seed = 1;
    for (int i = 0; i < 576; i++) {
        values[i] = (float)random_below(&seed, 1000);
        h0[2 * i] = 1.0f; /* h1 - h0 = (3v, 4v): its norm is 5v exactly */
        h1[2 * i] = 1.0f + 3.0f * values[i];
        h1[2 * i + 1] = 4.0f * values[i];
        wide[i] = 5.0 * (double)values[i];
    }
    for (int i = 0; i < 3 * 576; i++) attn[i] = (float)random_below(&seed, 1000);
    write_array("h0.npy", S2_F32, 2, 576, 2, h0);
    write_array("h1.npy", S2_F32, 2, 576, 2, h1);
    write_array("attn.npy", S2_F32, 2, 3, 576, attn);
    write_array("erc64.npy", S2_F64, 1, 576, 1, wide);
    write_array("int.npy", S2_I32, 1, 576, 1, whole);
    write_array("matrix.npy", S2_F32, 2, 24, 24, values);
    values[7] = NAN;
    write_array("nan.npy", S2_F32, 1, 576, 1, values);
    values[7] = 0.0f;
    wide[575] = 1e300; /* a double that no float holds */
    write_array("inf.npy", S2_F64, 1, 576, 1, wide);
    write_picture("tiny.png", 2);
    write_picture("narrow.png", 20);

    char path[512];
    (void)snprintf(path, sizeof path, "%s/lying.npy", folder);
    s2_buffer bytes;
    s2_buffer_init(&bytes, 1 << 16);
    assert_int_equal(s2_file_read(ERC, &bytes, NULL), S2P_OK);
    assert_int_equal(s2_file_write(path, bytes.data, bytes.size - 4, NULL), S2P_OK);
    s2_buffer_free(&bytes);
    return 0;
}

#endif /* TESTS_PROGRAM_RUNS_H */
