/* test_safetensors.c - checkpoint files as they should not be, and one as it should.
 *
 * Each handmade file has one mistake and names the status and a piece of the sentence it must end
 * in. Then the mechanical ones: every length and every byte of a good file.
 *
 *   test_safetensors                  the tests
 *   test_safetensors corpus FOLDER    write the small files there, as seeds for fuzz_safetensors
 */
#include "check.h"
#include "gguf_writer.h"
#include "safetensors_promises.h"

#include <inttypes.h>
#include <unistd.h>

static const char *corpus; /* where to write seeds; NULL: do not */
static size_t n_cases;

static void write_seed(const writer *w)
{
    char path[512];
    if (!corpus || w->n > 1024) return;
    (void)snprintf(path, sizeof path, "%s/%03zu.safetensors", corpus, n_cases);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(w->data, 1, w->n, out) != w->n || fclose(out) != 0) abort();
}

/* Length, header, n zero bytes of data. */
static void put_file(writer *w, const char *header, size_t n)
{
    w->n = 0;
    put(w, strlen(header), 8);
    put_bytes(w, header, strlen(header));
    put_zeros(w, n);
}

/* Parse a copy that ends where the file ends, so that one byte too far is seen. */
static s2p_status parse(const writer *w, s2v_safetensors **file, s2p_error *error, uint8_t **copy)
{
    *copy = malloc(w->n ? w->n : 1);
    assert_non_null(*copy);
    if (w->n) memcpy(*copy, w->data, w->n);
    return s2v_safetensors_parse(file, *copy, w->n, "bad", error);
}

static void expect(writer *w, s2p_status status, const char *says, const char *name)
{
    s2v_safetensors *file = NULL;
    s2p_error error = { S2P_OK, "" };
    uint8_t *copy = NULL;
    n_cases++;
    write_seed(w);
    const s2p_status st = parse(w, &file, &error, &copy);
    CHECK_CASE(st == status && error.status == st, "%s: status %d, %s", name, st, error.message);
    CHECK_CASE(!file && strstr(error.message, says), "%s: %s", name, error.message);
    CHECK_CASE(strncmp(error.message, "bad: ", 5) == 0, "%s: %s", name, error.message);
    free(copy);
}

static void expect_header(const char *header, size_t n, s2p_status status, const char *says)
{
    writer w = { 0 };
    put_file(&w, header, n);
    expect(&w, status, says, header);
    free(w.data);
}

#define ONE(dtype, shape, offsets) \
    "{\"w\":{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}}"
#define W(name, shape, offsets) \
    "\"" name "\":{\"dtype\":\"F32\",\"shape\":" shape ",\"data_offsets\":" offsets "}"

static const char valid[] = "{\"__metadata__\":{\"format\":\"pt\"},"
                            "\"b.weight\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":"
                            "[4,16]},\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                            "\"none\":{\"dtype\":\"I64\",\"shape\":[0,7],\"data_offsets\":[4,4]},"
                            "\"c\":{\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[16,21]}}  ";

static void test_valid(void **state)
{
    (void)state;
    writer w = { 0 };
    put_file(&w, valid, 21);
    const size_t data = w.n - 21;
    for (size_t i = 0; i < 21; i++) w.data[data + i] = (uint8_t)(100 + i);
    n_cases++;
    write_seed(&w);
    s2v_safetensors *file = NULL;
    s2p_error error = { S2P_OK, "" };
    uint8_t *copy = NULL;
    assert_int_equal(parse(&w, &file, &error, &copy), S2P_OK);
    assert_null(safetensors_broken_promise(file, w.n));
    assert_int_equal(s2v_safetensors_n_tensors(file), 4);
    static const char *const names[] = { "a", "none", "b.weight", "c" }; /* by place */
    for (size_t i = 0; i < 4; i++) assert_string_equal(s2v_safetensors_at(file, i)->name, names[i]);
    const s2v_st_tensor *b = s2v_safetensors_at(file, 2);
    assert_int_equal(b->type, S2V_ST_BF16);
    assert_int_equal(b->n_dims, 2);
    assert_int_equal(b->shape[0], 2);
    assert_int_equal(b->shape[1], 3);
    uint8_t bytes[4];
    assert_int_equal(s2v_safetensors_read(file, b, 3, 4, bytes, &error), S2P_OK);
    assert_int_equal(bytes[0], 107);
    assert_int_equal(s2v_safetensors_read(file, b, 9, 4, bytes, &error), S2P_EINVAL);
    assert_int_equal(s2v_safetensors_read(file, b, UINT64_MAX, 4, bytes, &error), S2P_EINVAL);
    s2v_safetensors_close(file);
    free(copy);
    free(w.data);
}

/* --- start ------------------------------------------------------------------------------------ */

static void test_start(void **state)
{
    (void)state;
    writer w = { 0 };
    static const struct {
        const char *start, *says;
        size_t n;
    } others[] = {
        { "", "empty", 0 },
        { "\2", "only 1 bytes", 1 },
        { "\2\0\0\0\0\0\0\0", "only 8 bytes", 8 },
        { "\2\0\0\0\0\0\0\0{", "only 9 bytes", 9 },
        { "PK\3\4........", "zip archive", 12 },
        { "\x80\2}q.......", "pickle", 11 },
        { "version https://git-lfs.github.com/spec/v1\n", "Git LFS", 43 },
        { "GGUF\3\0\0\0........", "GGUF", 16 },
        { "\2\0\0\0\0\0\0\0[]", "not a JSON object", 10 },
        { "\2\0\0\0\0\0\0\0 {}", "not a JSON object", 11 },
        { "\0\0\0\0\0\0\0\0{}", "not a JSON object", 10 },
        { "\1\0\0\0\0\0\0\0{}", "not a JSON object", 10 },
        { "\3\0\0\0\0\0\0\0{}", "3 bytes, but the file has only 10", 10 },
        { "\xff\xff\xff\xff\xff\xff\xff\xff{}", "but the file has only 10", 10 },
        { "\xf8\xff\xff\xff\xff\xff\xff\xff{}", "but the file has only 10", 10 },
        { "\0\0\0\0\0\0\0\x80{}", "but the file has only 10", 10 },
        { "\2\0\0\0\1\0\0\0{}", "but the file has only 10", 10 },
        { "\0\0\0\0\0\0\0\2{}", "but the file has only 10", 10 },
    };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        w.n = 0;
        put_bytes(&w, others[i].start, others[i].n);
        expect(&w, S2P_EFORMAT, others[i].says, others[i].says);
    }
    free(w.data);
}

/* A header as long as the format allows and longer than ours may be: refused before it is read. */
static void test_large_header(void **state)
{
    (void)state;
    static const size_t sizes[] = { S2V_ST_MAX_HEADER + 1, (size_t)100 << 20 };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        writer w = { 0 };
        put(&w, sizes[i], 8);
        put_bytes(&w, "{\"", 2);
        w.data = realloc(w.data, 8 + sizes[i]);
        assert_non_null(w.data);
        memset(w.data + 10, ' ', sizes[i] - 2);
        w.n = 8 + sizes[i];
        expect(&w, S2P_ELIMIT, "the limit is 8388608", "a large header");
        free(w.data);
    }
}

/* Few bytes that would be many values. */
static void test_many_values(void **state)
{
    (void)state;
    static const char *const pieces[] = { "[],", "{},", "0,", "[[", "{\"\":[" };
    for (size_t i = 0; i < COUNT_OF(pieces); i++) {
        writer w = { 0 };
        put(&w, 0, 8);
        put_bytes(&w, "{\"a\":[", 6);
        while (w.n < 1500000) put_bytes(&w, pieces[i], strlen(pieces[i]));
        const size_t n = w.n - 8;
        for (size_t b = 0; b < 8; b++) w.data[b] = (uint8_t)(n >> (8 * b));
        expect(&w, S2P_ELIMIT, "the limit is", pieces[i]);
        free(w.data);
    }
    writer w = { 0 }; /* more tensors than the limit, each of them fine */
    put(&w, 0, 8);
    for (int i = 0; i <= 16384; i++) {
        char text[64];
        const int n = snprintf(text, sizeof text, "%s\"%d\":0", i ? "," : "{", i);
        put_bytes(&w, text, (size_t)n);
    }
    put_bytes(&w, "}", 1);
    for (size_t b = 0; b < 8; b++) w.data[b] = (uint8_t)((w.n - 8) >> (8 * b));
    expect(&w, S2P_ELIMIT, "16385 tensors; the limit is 16384", "many tensors");
    free(w.data);
}

/* --- JSON ------------------------------------------------------------------------------------- */

static void test_json(void **state)
{
    (void)state;
    static const char *const broken[] = {
        "{\"w\"",
        "{\"w\":}",
        "{\"w\":1",
        "{}}",
        "{},",
        "{}x",
        "{w:1}",
        "{'w':1}",
        "{\"w\":NaN}",
        "{\"w\":1e999}",
        "{\"w\":01}",
        "{\"w\":[1,]}",
        "{\"w\":\"\x80\"}",
        "{\"\xff\":1}",
        "{\"\xc0\xaf\":1}",
        "{\"\xed\xa0\x80\":1}",
        "{\"\xf4\x90\x80\x80\":1}",
        "{\"w\":\"\\ud800\"}",
        "{\"\\u0000\":1}",
        "{\"w\":\"\1\"}",
        "{\"w\":99999999999999999999}",
        "{\"w\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}",
        "{" W("w", "[]", "[0,4]") "," W("w", "[]", "[4,8]") "}",
        "{\"__metadata__\":{},\"__metadata__\":{}}",
        "{\"__metadata__\":{\"a\":\"1\",\"a\":\"1\"}}",
    };
    for (size_t i = 0; i < COUNT_OF(broken); i++)
        expect_header(broken[i], 8, S2P_EFORMAT, "not valid JSON");
    char deep[76] = "{\"w\":";
    memset(deep + 5, '[', 70);
    expect_header(deep, 0, S2P_ELIMIT, "nested");
    writer w = { 0 };
    put(&w, 4, 8);
    put_bytes(&w, "{\0\0}", 4);
    expect(&w, S2P_EFORMAT, "not valid JSON", "NUL in the header");
    free(w.data);
}

static void test_metadata(void **state)
{
    (void)state;
    static const char *const values[] = { "1", "\"pt\"", "[]", "null", "true" };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        char header[64];
        (void)snprintf(header, sizeof header, "{\"__metadata__\":%s}", values[i]);
        expect_header(header, 0, S2P_EFORMAT, "'__metadata__' is not an object");
        if (i == 1) continue;
        (void)snprintf(header, sizeof header, "{\"__metadata__\":{\"k\":%s}}", values[i]);
        expect_header(header, 0, S2P_EFORMAT, "'__metadata__' holds 'k', not a string");
    }
}

/* --- tensors ------------------------------------------------------------------------------------
 */

static void test_members(void **state)
{
    (void)state;
    static const char *const values[] = {
        "1",
        "null",
        "[]",
        "{}",
        "\"F32\"",
        "{\"dtype\":\"F32\"}",
        "{\"dtype\":\"F32\",\"shape\":[]}",
        "{\"dtype\":\"F32\",\"data_offsets\":[0,4]}",
        "{\"shape\":[],\"data_offsets\":[0,4]}",
        "{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4],\"more\":1}",
    };
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        char header[160];
        (void)snprintf(header, sizeof header, "{\"w\":%s}", values[i]);
        expect_header(header, 4, S2P_EFORMAT, "is not an object of dtype, shape and data_offsets");
    }
    expect_header("{\"w\":{\"type\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}", 4, S2P_EFORMAT,
                  "'dtype' is not a string");
    expect_header("{\"w\":{\"dtype\":\"F32\",\"shapes\":[],\"data_offsets\":[0,4]}}", 4,
                  S2P_EFORMAT, "'shape' is not a list");
    expect_header("{\"w\":{\"dtype\":\"F32\",\"shape\":[],\"offsets\":[0,4]}}", 4, S2P_EFORMAT,
                  "'data_offsets' is not");
    expect_header("{" W("", "[]", "[0,4]") "}", 4, S2P_EFORMAT, "name is empty");
    expect_header("{" W("a\\nb", "[]", "[0,4]") "}", 4, S2P_EFORMAT, "control characters");
    expect_header("{" W("a\\u001b[2J", "[]", "[0,4]") "}", 4, S2P_EFORMAT, "control characters");
    expect_header("{" W("a\\u007f", "[]", "[0,4]") "}", 4, S2P_EFORMAT, "control characters");
    char name[800] = "{\"";
    memset(name + 2, 'n', 513);
    (void)snprintf(name + 515, sizeof name - 515,
                   "\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]}}");
    expect_header(name, 4, S2P_EFORMAT, "too long");
}

static void test_types(void **state)
{
    (void)state;
    static const char *const unknown[] = { "\"f32\"",  "\"F32 \"", "\"\"",        "\"F128\"",
                                           "\"BF17\"", "\"Q4_0\"", "\"float32\"", "\"C64\"" };
    static const char *const no_text[] = { "0", "null", "[\"F32\"]", "{}", "true" };
    char header[160];
    for (size_t i = 0; i < COUNT_OF(unknown); i++) {
        (void)snprintf(header, sizeof header, ONE("%s", "[]", "[0,4]"), unknown[i]);
        expect_header(header, 4, S2P_EFORMAT, "unknown dtype");
    }
    for (size_t i = 0; i < COUNT_OF(no_text); i++) {
        (void)snprintf(header, sizeof header, ONE("%s", "[]", "[0,4]"), no_text[i]);
        expect_header(header, 4, S2P_EFORMAT, "'dtype' is not a string");
    }
    static const struct {
        const char *type;
        int width;
    } sizes[] = { { "BOOL", 1 }, { "U8", 1 },  { "I8", 1 },  { "F8_E5M2", 1 }, { "F8_E4M3", 1 },
                  { "I16", 2 },  { "U16", 2 }, { "F16", 2 }, { "BF16", 2 },    { "I32", 4 },
                  { "U32", 4 },  { "F32", 4 }, { "F64", 8 }, { "I64", 8 },     { "U64", 8 } };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) /* one byte more than the type needs */
        for (int more = -1; more <= 1; more += 2) {
            const int n = 3 * sizes[i].width + more;
            (void)snprintf(header, sizeof header, ONE("\"%s\"", "[3]", "[0,%d]"), sizes[i].type, n);
            expect_header(header, (size_t)n, S2P_EFORMAT, "but its type and shape need");
        }
}

static void test_shapes(void **state)
{
    (void)state;
    static const char *const wrong[] = { "[-1]",  "[1.0]",      "[\"1\"]", "[null]",
                                         "[[1]]", "[1,-9e0,1]", "[true]" };
    static const char *const no_list[] = { "1", "null", "{}", "\"[1]\"" };
    static const char *const wraps[] = {
        "[4294967296,4294967296]", "[9223372036854775807,2]",   "[9223372036854775807]",
        "[4611686018427387905,4]", "[65536,65536,65536,65536]", "[65536,65536,65536,65537]",
        "[4294967297,4294967297]", "[2,4611686018427387904]",   "[1073741824,1073741824,16]",
    };
    char header[200];
    for (size_t i = 0; i < COUNT_OF(wrong); i++) {
        (void)snprintf(header, sizeof header, ONE("\"F32\"", "%s", "[0,4]"), wrong[i]);
        expect_header(header, 4, S2P_EFORMAT, "a dimension is not a valid size");
    }
    for (size_t i = 0; i < COUNT_OF(no_list); i++) {
        (void)snprintf(header, sizeof header, ONE("\"F32\"", "%s", "[0,4]"), no_list[i]);
        expect_header(header, 4, S2P_EFORMAT, "'shape' is not a list");
    }
    for (size_t i = 0; i < COUNT_OF(wraps); i++) {
        (void)snprintf(header, sizeof header, ONE("\"F32\"", "%s", "[0,4]"), wraps[i]);
        expect_header(header, 4, S2P_EFORMAT, "overflows");
    }
    expect_header(ONE("\"F32\"", "[1,1,1,1,1,1,1,1,1]", "[0,4]"), 4, S2P_ELIMIT, "9 dimensions");
}

static void test_places(void **state)
{
    (void)state;
    static const char *const offsets[] = {
        "[]",      "[0]",     "[0,4,4]",   "4",           "null",
        "{}",      "[4,0]",   "[-4,0]",    "[-4,-8]",     "[0,-4]",
        "[0,4.0]", "[0.0,4]", "[\"0\",4]", "[null,null]", "[[0],[4]]",
    };
    char header[200];
    for (size_t i = 0; i < COUNT_OF(offsets); i++) {
        (void)snprintf(header, sizeof header, ONE("\"F32\"", "[1]", "%s"), offsets[i]);
        expect_header(header, 4, S2P_EFORMAT, "'data_offsets' is not a pair of begin and end");
    }
    static const struct {
        const char *offsets;
        size_t n;
        const char *says;
    } places[] = {
        { "[0,5]", 4, "ends at byte 5 of 4" },
        { "[4,8]", 4, "ends at byte 8 of 4" },
        { "[0,9223372036854775807]", 4, "of 4 bytes of data" },
        { "[9223372036854775803,9223372036854775807]", 4, "of 4 bytes of data" },
        { "[0,3]", 4, "3 bytes, but its type and shape need 4" },
        { "[0,4]", 3, "ends at byte 4 of 3" },
        { "[0,4]", 5, "1 unused byte after the last tensor" },
        { "[0,4]", 1000, "996 unused bytes after the last tensor" },
        { "[1,5]", 5, "1 unused byte before tensor 'w'" },
        { "[4,8]", 8, "4 unused bytes before tensor 'w'" },
        { "[0,0]", 4, "0 bytes, but" },
    };
    for (size_t i = 0; i < COUNT_OF(places); i++) {
        (void)snprintf(header, sizeof header, ONE("\"F32\"", "[1]", "%s"), places[i].offsets);
        expect_header(header, places[i].n, S2P_EFORMAT, places[i].says);
    }
    expect_header("{}", 1, S2P_EFORMAT, "1 unused byte after the last tensor");
    expect_header("{\"__metadata__\":{}}", 64, S2P_EFORMAT,
                  "64 unused bytes after the last tensor");
    static const struct {
        const char *header, *says;
        size_t n;
    } pairs[] = {
        { "{" W("a", "[1]", "[0,4]") "," W("b", "[1]", "[0,4]") "}", "'a' and 'b' overlap", 4 },
        { "{" W("a", "[2]", "[0,8]") "," W("b", "[1]", "[4,8]") "}", "'a' and 'b' overlap", 8 },
        { "{" W("a", "[2]", "[0,8]") "," W("b", "[2]", "[4,12]") "}", "'a' and 'b' overlap", 12 },
        { "{" W("b", "[2]", "[3,11]") "," W("a", "[1]", "[0,4]") "}", "'a' and 'b' overlap", 11 },
        { "{" W("a", "[1]", "[0,4]") "," W("b", "[1]", "[8,12]") "}", "4 unused bytes before", 12 },
        { "{" W("a", "[1]", "[0,4]") "," W("b", "[1]", "[5,9]") "}",
          "1 unused byte before tensor 'b'", 9 },
        { "{" W("a", "[1]", "[4,8]") "," W("b", "[0]", "[0,0]") "}",
          "4 unused bytes before tensor 'a'", 8 },
        { "{" W("a", "[2]", "[0,8]") "," W("b", "[0]", "[4,4]") "}", "'a' and 'b' overlap", 8 },
    };
    for (size_t i = 0; i < COUNT_OF(pairs); i++)
        expect_header(pairs[i].header, pairs[i].n, S2P_EFORMAT, pairs[i].says);
}

/* --- by machine ---------------------------------------------------------------------------------
 */

static void check_any(const writer *w)
{
    s2v_safetensors *file = NULL;
    s2p_error error = { S2P_OK, "" };
    uint8_t *copy = NULL;
    const s2p_status st = parse(w, &file, &error, &copy);
    if (st == S2P_OK)
        CHECK_CASE(!safetensors_broken_promise(file, w->n), "%s",
                   safetensors_broken_promise(file, w->n));
    else
        assert_true(!file && error.status == st && error.message[0]);
    s2v_safetensors_close(file);
    free(copy);
}

static void test_every_length(void **state)
{
    (void)state;
    writer w = { 0 };
    put_file(&w, valid, 21);
    for (const size_t n = w.n; w.n-- > 0;) {
        s2v_safetensors *file = NULL;
        uint8_t *copy = NULL;
        assert_true(w.n < n);
        assert_int_equal(parse(&w, &file, NULL, &copy), S2P_EFORMAT);
        assert_null(file);
        free(copy);
    }
    free(w.data);
}

static void test_every_byte(void **state)
{
    (void)state;
    static const uint8_t bytes[] = { 0x00, 0x7f, 0x80, 0xff, '"', '0', '9', ',', '}', ']' };
    writer w = { 0 };
    put_file(&w, valid, 21);
    for (size_t i = 0; i < w.n; i++)
        for (size_t b = 0; b < COUNT_OF(bytes); b++) {
            const uint8_t before = w.data[i];
            w.data[i] = bytes[b];
            check_any(&w);
            w.data[i] = before;
        }
    free(w.data);
}

/* --- files --------------------------------------------------------------------------------------
 */

static void test_files(void **state)
{
    (void)state;
    s2v_safetensors *file = NULL;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2v_safetensors_open(&file, "no-such-file.safetensors", &error), S2P_EIO);
    assert_non_null(strstr(error.message, "cannot open"));
    assert_int_equal(s2v_safetensors_open(&file, ".", &error), S2P_EIO);
    assert_int_equal(s2v_safetensors_open(&file, "/dev/null", &error), S2P_EIO);
    assert_null(file);

    char path[] = "safetensors-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    writer w = { 0 };
    put_file(&w, valid, 21);
    assert_int_equal(write(fd, w.data, w.n), w.n);
    assert_int_equal(s2v_safetensors_open(&file, path, &error), S2P_OK);
    assert_string_equal(s2v_safetensors_name(file), path);
    assert_null(safetensors_broken_promise(file, w.n));
    assert_int_equal(ftruncate(fd, (off_t)w.n - 1), 0); /* under our eyes */
    uint8_t bytes[5];
    const s2v_st_tensor *last = s2v_safetensors_at(file, 3);
    assert_int_equal(s2v_safetensors_read(file, last, 0, 4, bytes, &error), S2P_OK);
    assert_int_equal(s2v_safetensors_read(file, last, 0, 5, bytes, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "became shorter"));
    s2v_safetensors_close(file);
    s2v_safetensors_close(NULL);
    close(fd);
    unlink(path);
    free(w.data);
}

static void test_enough(void **state)
{
    (void)state;
    print_message("%zu handmade files\n", n_cases);
    assert_true(n_cases >= 150);
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "corpus") == 0) corpus = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_valid),        cmocka_unit_test(test_start),
        cmocka_unit_test(test_large_header), cmocka_unit_test(test_many_values),
        cmocka_unit_test(test_json),         cmocka_unit_test(test_metadata),
        cmocka_unit_test(test_members),      cmocka_unit_test(test_types),
        cmocka_unit_test(test_shapes),       cmocka_unit_test(test_places),
        cmocka_unit_test(test_every_length), cmocka_unit_test(test_every_byte),
        cmocka_unit_test(test_files),        cmocka_unit_test(test_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
