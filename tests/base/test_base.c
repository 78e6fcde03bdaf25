/* test_base.c - buffers, files, paths, JSON, SHA-256, random numbers. */
#include "check.h"

#include "base/file.h"
#include "base/json.h"
#include "base/json_limit.h"
#include "base/path.h"
#include "base/random.h"
#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void test_buffer(void **state)
{
    (void)state;
    s2_buffer b;
    s2_buffer_init(&b, 1000);
    for (int i = 0; i < 90; i++) s2_buffer_printf(&b, "%02d,", i);
    assert_int_equal(b.size, 270);
    assert_memory_equal(b.data + 267, "89,", 3);
    s2_buffer_append(&b, NULL, 0);
    assert_null(s2_buffer_extend(&b, 731)); /* one too many */
    assert_int_equal(b.status, S2P_ELIMIT);
    s2_buffer_append(&b, "x", 1); /* a failed buffer ignores what follows */
    assert_int_equal(b.size, 270);
    s2_buffer_free(&b);
    assert_int_equal(b.status, S2P_OK);
    assert_non_null(s2_buffer_extend(&b, 1000)); /* exactly the maximum */
    assert_int_equal(b.status, S2P_OK);
    s2_buffer_free(&b);
}

static void test_files(void **state)
{
    (void)state;
    static const char path[] = "test_base.tmp";
    s2p_error error;
    s2_buffer b;
    assert_int_equal(s2_file_write(path, "first", 5, &error), S2P_OK);
    assert_int_equal(s2_file_write(path, "second", 6, &error), S2P_OK);
    s2_buffer_init(&b, 6);
    assert_int_equal(s2_file_read(path, &b, &error), S2P_OK); /* as large as the limit */
    assert_int_equal(b.size, 6);
    assert_memory_equal(b.data, "second", 6);
    s2_buffer_free(&b);
    s2_buffer_init(&b, 5);
    assert_int_equal(s2_file_read(path, &b, &error), S2P_ELIMIT);
    s2_buffer_free(&b);

    struct stat info;
    const mode_t mask = umask(0);
    umask(mask);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0666 & ~mask); /* as any other new file */
    remove(path);

    assert_int_equal(s2_file_write("no/such/folder/x", "x", 1, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "no/such/folder/x"));
    if (access("/dev/full", W_OK) == 0)
        assert_int_equal(s2_file_write("/dev/full", "x", 1, &error), S2P_EIO);
    s2_buffer_init(&b, 100);
    assert_int_equal(s2_file_read("/", &b, &error), S2P_EIO); /* a folder */
    s2_buffer_free(&b);
    s2_buffer_init(&b, 100000); /* a file without an end and without a size */
    assert_int_equal(s2_file_read("/dev/zero", &b, &error), S2P_ELIMIT);
    s2_buffer_free(&b);
}

/* Nothing but a regular file is opened, nothing is written through a link, no pipe is waited for. */
static void test_opening(void **state)
{
    (void)state;
    static const char file[] = "test_base.file", soft[] = "test_base.soft",
                      hard[] = "test_base.hard", pipe_name[] = "test_base.pipe";
    const char *const names[] = { file, soft, hard, pipe_name };
    s2p_error error;
    s2_buffer b;
    int fd;
    for (size_t i = 0; i < COUNT_OF(names); i++) (void)remove(names[i]);
    assert_int_equal(s2_file_open(file, S2_FILE_READ, &fd, &error), S2P_EIO); /* not there */
    assert_int_equal(fd, -1);
    assert_int_equal(s2_file_open(file, S2_FILE_OWN, &fd, &error), S2P_OK); /* now it is */
    assert_int_equal(s2_write_all(fd, "12345", 5), 0);
    close(fd);
    assert_int_equal(s2_file_open(file, S2_FILE_OWN_APPEND, &fd, &error), S2P_OK);
    assert_int_equal(s2_write_all(fd, "678", 3), 0);
    close(fd);

    assert_int_equal(symlink(file, soft), 0);
    assert_int_equal(s2_file_open(soft, S2_FILE_OWN, &fd, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "symbolic link"));
    assert_int_equal(s2_file_open(soft, S2_FILE_READ, &fd, &error), S2P_OK);
    close(fd);
    assert_int_equal(link(file, hard), 0);
    assert_int_equal(s2_file_open(hard, S2_FILE_OWN, &fd, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "other names"));
    assert_int_equal(mkfifo(pipe_name, 0600), 0);
    for (int use = S2_FILE_READ; use <= S2_FILE_OWN_APPEND; use++)
        assert_int_equal(s2_file_open(pipe_name, (s2_file_use)use, &fd, &error), S2P_EIO);
    assert_int_equal(s2_file_open("/", S2_FILE_READ, &fd, &error), S2P_EIO);
    assert_null(s2_file_stream(pipe_name));

    s2_buffer_init(&b, 100);
    assert_int_equal(s2_file_read(pipe_name, &b, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "without a writer"));
    assert_int_equal(s2_file_write(pipe_name, "x", 1, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "without a reader"));
    assert_int_equal(s2_file_read(hard, &b, &error), S2P_OK);
    assert_int_equal(b.size, 8);
    assert_memory_equal(b.data, "12345678", 8);
    s2_buffer_free(&b);

    (void)remove(soft);
    assert_int_equal(symlink("/dev/null", soft), 0); /* of others, to a device */
    assert_int_equal(s2_file_write(soft, "x", 1, &error), S2P_EIO);
    for (size_t i = 0; i < COUNT_OF(names); i++) assert_int_equal(remove(names[i]), 0);
}

static s2p_status parse(const char *text, json_t **out)
{
    return s2_json_parse(text, strlen(text), "text", out, NULL);
}

static void test_json(void **state)
{
    (void)state;
    json_t *root;
    assert_int_equal(parse("{\"n\":[1,2,3],\"x\":[0.5,\"0x1.8p+1\"],\"k\":7,\"s\":\"hi\"}", &root),
                     S2P_OK);
    size_t n;
    int32_t *ints = s2_json_ints(json_object_get(root, "n"), &n), k;
    assert_int_equal(n, 3);
    assert_int_equal(ints[2], 3);
    free(ints);
    double *doubles = s2_json_doubles(json_object_get(root, "x"), &n);
    assert_int_equal(n, 2);
    assert_true(doubles[1] == 3.0);
    free(doubles);
    assert_true(s2_json_int(root, "k", &k) && k == 7);
    assert_false(s2_json_int(root, "s", &k));
    assert_false(s2_json_int(root, "missing", &k));
    assert_string_equal(s2_json_string(root, "s"), "hi");
    assert_null(s2_json_string(root, "k"));
    assert_null(s2_json_ints(json_object_get(root, "x"), &n));
    assert_null(s2_json_ints(json_object_get(root, "missing"), &n));

    s2_buffer b;
    s2_buffer_init(&b, 1000);
    assert_int_equal(s2_json_write(json_object_get(root, "n"), 9, &b), S2P_OK);
    assert_memory_equal(b.data, "[1,2,3]", 7);
    s2_buffer_free(&b);
    json_decref(root);

    static const char *const bad[] = { "",      "{",          "{\"a\":1,\"a\":2}",
                                       "[NaN]", "\"\xff\"",   "[1e999]",
                                       "[01]",  "{\"a\":1}x", "[99999999999999999999]" };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK_CASE(parse(bad[i], &root) == S2P_EFORMAT && !root, "%s", bad[i]);
    assert_int_equal(parse("[3000000000]", &root), S2P_OK);
    assert_null(s2_json_ints(root, &n)); /* beyond 32 bits */
    json_decref(root);

    char deep[2001];
    memset(deep, '[', 1000);
    memset(deep + 1000, ']', 1000);
    deep[2000] = '\0';
    assert_int_equal(parse(deep, &root), S2P_ELIMIT);
    assert_int_equal(parse("[\"[[[[ \\\" ]\"]", &root),
                     S2P_OK); /* brackets in strings do not count */
    json_decref(root);
}

static void test_sha256(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        size_t repeat;
        const char *hex;
    } cases[] = {
        /* FIPS 180-4 examples */
        { "", 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { "abc", 1, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
        { "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
          "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1" },
        { "a", 1000000, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0" }
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const size_t length = strlen(cases[i].text), n = length * cases[i].repeat;
        char *text = malloc(n + 1), hex[65];
        uint8_t digest[32];
        assert_non_null(text);
        for (size_t k = 0; k < cases[i].repeat; k++)
            memcpy(text + k * length, cases[i].text, length);
        s2_sha256(text, n, digest);
        for (int k = 0; k < 32; k++) (void)snprintf(hex + 2 * k, 3, "%02x", digest[k]);
        assert_string_equal(hex, cases[i].hex);
        free(text);
    }
}

/* In pieces of every size, with the CPU's instructions and without: one digest. */
static void test_sha256_pieces(void **state)
{
    (void)state;
    uint8_t text[1000], whole[32], digest[32];
    for (size_t i = 0; i < sizeof text; i++) text[i] = (uint8_t)(i * i >> 3);
    for (size_t n = 0; n <= sizeof text; n += n < 260 ? 1 : 37) {
        s2_sha256(text, n, whole);
        for (size_t piece = 1; piece <= 130; piece += 43) {
            s2_sha256_state plain, fast;
            s2_sha256_start_plain(&plain);
            s2_sha256_start(&fast);
            for (size_t at = 0; at < n; at += piece) {
                const size_t length = n - at < piece ? n - at : piece;
                s2_sha256_add(&plain, text + at, length);
                s2_sha256_add(&fast, text + at, length);
            }
            s2_sha256_finish(&plain, digest);
            assert_memory_equal(digest, whole, 32);
            s2_sha256_finish(&fast, digest);
            assert_memory_equal(digest, whole, 32);
        }
    }
    char hex[S2_SHA256_HEX];
    s2_sha256("abc", 3, whole);
    s2_sha256_hex(whole, hex);
    assert_string_equal(hex, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

static void test_paths(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "a.gguf", "a.gguf" }, { "x/a.gguf", "a.gguf" }, { "/x/y/a", "a" },
        { "/", "/" },           { "x/", "x/" },           { "", "" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        assert_string_equal(s2_base_name(cases[i][0]), cases[i][1]);
    char *path = s2_path_in("folder", "name");
    assert_string_equal(path, "folder/name");
    free(path);
}

/* The folders a path goes through are created, the last name is not, and a file in the way is told. */
static void test_parents(void **state)
{
    (void)state;
    static const char *const made[] = { "test_base.dir/a//b", "test_base.dir/a", "test_base.dir" };
    struct stat info;
    assert_int_equal(s2_make_parents("test_base.dir/a//b/c"), 0);
    assert_int_equal(stat(made[0], &info), 0);
    assert_int_equal(stat("test_base.dir/a//b/c", &info), -1);
    assert_int_equal(s2_make_parents("test_base.dir/a//b/c"), 0); /* all are there */
    assert_int_equal(s2_make_parents("name"), 0);
    assert_int_equal(s2_make_parents(""), 0);
    assert_int_equal(s2_make_parents("/"), 0);
    assert_int_equal(s2_file_write("test_base.dir/a/file", "", 0, NULL), S2P_OK);
    assert_int_equal(s2_make_parents("test_base.dir/a/file/x/y"), ENOTDIR);
    remove("test_base.dir/a/file");
    for (size_t i = 0; i < COUNT_OF(made); i++) assert_int_equal(rmdir(made[i]), 0);
}

/* Brackets and commas outside strings are counted before anything is parsed. */
static void test_json_limits(void **state)
{
    (void)state;
    static const char text[] = "{\"a\": [1, 2, \"[,{\\\"[\"]}"; /* 2 brackets, 2 commas */
    json_t *out = NULL;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2_json_parse_few(text, sizeof text - 1, "t", 4, &out, &error), S2P_OK);
    json_decref(out);
    assert_int_equal(s2_json_parse_few(text, sizeof text - 1, "t", 3, &out, &error), S2P_ELIMIT);
    assert_null(out);
    assert_string_equal(error.message, "t: JSON of 4 values; the limit is 3");
    assert_int_equal(s2_json_read_in("/none", "f.json", 99, 9, &out, &error), S2P_EIO);
    assert_null(out);
}

static void test_random(void **state)
{
    (void)state;
    s2_random r = { 0 };
    assert_true(s2_random_next(&r) ==
                0xE220A8397B1DCDAFu); /* splitmix64's published first output */
    int32_t count[7] = { 0 };
    for (int i = 0; i < 70000; i++) count[s2_random_below(&r, 7)]++;
    for (int i = 0; i < 7; i++) assert_in_range(count[i], 9600, 10400);
    assert_int_equal(s2_random_below(&r, 1), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_buffer),  cmocka_unit_test(test_files),
        cmocka_unit_test(test_opening), cmocka_unit_test(test_json),
        cmocka_unit_test(test_sha256),  cmocka_unit_test(test_sha256_pieces),
        cmocka_unit_test(test_random),  cmocka_unit_test(test_paths),
        cmocka_unit_test(test_parents), cmocka_unit_test(test_json_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
