/* test_gguf.c - model files as they should be: what is in them comes out. */
#include "check.h"
#include "failing_malloc.h"
#include "gguf_promises.h"
#include "gguf_writer.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

static s2v_gguf *parse(const writer *w)
{
    s2v_gguf *file = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_gguf_parse(&file, w->data, w->n, "a test", &error);
    CHECK_CASE(st == S2P_OK, "%s", error.message);
    const char *broken = gguf_broken_promise(file, w->data, w->n);
    CHECK_CASE(!broken, "%s", broken);
    return file;
}

static void test_values(void **state)
{
    (void)state;
    writer w = { 0 };
    put_valid(&w);
    s2v_gguf *file = parse(&w);
    assert_int_equal(s2v_gguf_version(file), 3);
    assert_int_equal(s2v_gguf_n_keys(file), 20);
    assert_int_equal(s2v_gguf_alignment(file), 64);

    static const struct {
        const char *name;
        bool is_int;
        int64_t value;
    } ints[] = {
        { "n.u8", true, 200 },
        { "n.i8", true, -1 },
        { "n.u16", true, 60000 },
        { "n.i16", true, -32768 },
        { "n.u32", true, UINT32_MAX },
        { "n.i32", true, INT32_MIN },
        { "n.i64", true, INT64_MIN },
        { "n.u64", false, 0 },
        { "n.f32", false, 0 },
        { "n.true", false, 0 },
        { "a.i32", false, 0 },
        { "empty", false, 0 },
        { "general.architecture", false, 0 },
        { "n.nothing", false, 0 },
        { "", false, 0 },
    };
    for (size_t i = 0; i < COUNT_OF(ints); i++) {
        int64_t value = 0;
        CHECK_CASE(s2v_gguf_int(file, ints[i].name, &value) == ints[i].is_int, "%s", ints[i].name);
        CHECK_CASE(value == ints[i].value, "%s", ints[i].name);
    }
    double real = 0;
    assert_true(s2v_gguf_float(file, "n.f32", &real) && real == 1.5);
    assert_true(s2v_gguf_float(file, "n.f64", &real) && real == -0.1);
    assert_false(s2v_gguf_float(file, "n.u8", &real) || s2v_gguf_float(file, "a.f32", &real));
    bool yes = false;
    assert_true(s2v_gguf_bool(file, "n.true", &yes) && yes);
    assert_true(s2v_gguf_bool(file, "n.false", &yes) && !yes);
    assert_false(s2v_gguf_bool(file, "n.u8", &yes) || s2v_gguf_bool(file, "a.bool", &yes));
    s2v_text text;
    assert_true(s2v_gguf_string(file, "general.architecture", &text) &&
                is_text(text, "qwen2vl", 7));
    assert_true(s2v_gguf_string(file, "empty", &text) && text.size == 0);
    assert_false(s2v_gguf_string(file, "a.string", &text) || s2v_gguf_string(file, "n.u8", &text));
    s2v_gguf_close(file);
    free(w.data);
}

static void test_arrays(void **state)
{
    (void)state;
    writer w = { 0 };
    put_valid(&w);
    s2v_gguf *file = parse(&w);
    const s2v_gguf_key *key = s2v_gguf_find_key(file, "a.i32");
    assert_true(key && key->type == S2V_GGUF_ARRAY && key->item == S2V_GGUF_I32 && key->count == 4);
    const int64_t ints[4] = { 0, 8, 16, -1 };
    double real;
    for (uint64_t i = 0; i < 4; i++) {
        int64_t value = 0;
        assert_true(s2v_gguf_item_int(key, i, &value));
        assert_int_equal(value, ints[i]);
        assert_false(s2v_gguf_item_float(key, i, &real));
    }
    key = s2v_gguf_find_key(file, "a.f32");
    for (uint64_t i = 0; i < 3; i++)
        assert_true(s2v_gguf_item_float(key, i, &real) && real == 0.25 * (double)i);
    assert_false(s2v_gguf_item_float(key, 3, &real));

    key = s2v_gguf_find_key(file, "a.string");
    size_t cursor = 0;
    s2v_text text;
    assert_true(s2v_gguf_next_string(key, &cursor, &text) && is_text(text, "one", 3));
    assert_true(s2v_gguf_next_string(key, &cursor, &text) && text.size == 0);
    assert_true(s2v_gguf_next_string(key, &cursor, &text) && is_text(text, "\0\xff!", 3));
    assert_false(s2v_gguf_next_string(key, &cursor, &text));
    cursor = SIZE_MAX - 3;
    assert_false(s2v_gguf_next_string(key, &cursor, &text));
    assert_int_equal(s2v_gguf_find_key(file, "a.empty")->count, 0);
    s2v_gguf_close(file);
    free(w.data);
}

static void test_changed_under_us(void **state)
{
    (void)state; /* a length that was accepted and then rewritten */
    writer w = { 0 };
    put_start(&w, 3, 0, 2);
    put_key(&w, "s", STRING);
    const size_t at = w.n;
    put_string(&w, "abc", 3);
    put_array(&w, "a", STRING, 1);
    const size_t at_item = w.n;
    put_string(&w, "abc", 3);
    s2v_gguf *file = parse(&w);
    memset(w.data + at, 0xff, 8);
    memset(w.data + at_item, 0x7f, 8);
    s2v_text text;
    size_t cursor = 0;
    assert_false(s2v_gguf_string(file, "s", &text));
    assert_false(s2v_gguf_next_string(s2v_gguf_find_key(file, "a"), &cursor, &text));
    s2v_gguf_close(file);
    free(w.data);
}

static void test_tensors(void **state)
{
    (void)state;
    writer w = { 0 };
    const size_t header = put_valid(&w);
    s2v_gguf *file = parse(&w);
    static const struct {
        const char *name, *type;
        int32_t n_dims;
        int64_t ne[4];
        uint64_t n_bytes, offset;
    } expected[] = {
        { "four", "F32", 4, { 8, 4, 2, 2 }, 512, 1024 },
        { "half", "F16", 2, { 3, 5, 1, 1 }, 30, 0 },
        { "blocks", "Q4_K", 2, { 256, 2, 1, 1 }, 288, 64 },
        { "last", "BF16", 1, { 7, 1, 1, 1 }, 14, 0xc00 },
    };
    const size_t start = (header + 63) / 64 * 64;
    assert_int_equal(s2v_gguf_n_tensors(file), COUNT_OF(expected));
    assert_int_equal(s2v_gguf_data_offset(file), start);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(file, i);
        assert_ptr_equal(t, s2v_gguf_find_tensor(file, expected[i].name));
        assert_string_equal(s2v_gguf_tensor_type(t->type, NULL, NULL), expected[i].type);
        assert_int_equal(t->n_dims, expected[i].n_dims);
        assert_memory_equal(t->ne, expected[i].ne, sizeof t->ne);
        assert_int_equal(t->n_bytes, expected[i].n_bytes);
        assert_ptr_equal(t->data, w.data + start + expected[i].offset);
    }
    assert_null(s2v_gguf_find_tensor(file, "fou"));
    assert_null(s2v_gguf_find_tensor(file, "n.u8"));
    s2v_gguf_close(file);
    free(w.data);
}

static void test_plain_variants(void **state)
{
    (void)
        state; /* version 2; no keys; no tensors; data without padding at the end; bytes after it */
    const uint64_t ne[1] = { 5 };
    for (size_t extra = 0; extra < 3; extra++) {
        writer w = { 0 };
        put_start(&w, 2, 1, 0);
        put_tensor(&w, "w", 1, ne, 24, 0);
        put_padding(&w, 32);
        put_zeros(&w, 5 + extra);
        s2v_gguf *file = parse(&w);
        assert_int_equal(s2v_gguf_version(file), 2);
        assert_int_equal(s2v_gguf_alignment(file), 32);
        assert_null(s2v_gguf_find_key(file, "w"));
        s2v_gguf_close(file);
        free(w.data);
    }
    writer w = { 0 };
    put_start(&w, 3, 0, 0);
    s2v_gguf *file = parse(&w);
    assert_int_equal(s2v_gguf_n_tensors(file), 0);
    assert_null(s2v_gguf_find_tensor(file, "w"));
    s2v_gguf_close(file);
    s2v_gguf_close(NULL);
    free(w.data);
}

static void test_alignments(void **state)
{
    (void)state;
    const uint64_t ne[1] = { 8 };
    for (uint64_t alignment = 8; alignment <= 65536; alignment *= 2) {
        writer w = { 0 };
        put_start(&w, 3, 2, 1);
        put_number(&w, "general.alignment", U32, alignment, 4);
        put_tensor(&w, "b", 1, ne, 24, alignment);
        put_tensor(&w, "a", 1, ne, 24, 0);
        put_padding(&w, alignment);
        put_zeros(&w, alignment + 8);
        s2v_gguf *file = parse(&w);
        assert_int_equal(s2v_gguf_alignment(file), alignment);
        s2v_gguf_close(file);
        free(w.data);
    }
}

/* Many names: the table grows, every one is found, none is found that is not there. */
static void test_many_names(void **state)
{
    (void)state;
    enum { N = 65536 };
    char name[32];
    writer w = { 0 };
    put_start(&w, 3, N, N);
    for (uint32_t i = 0; i < N; i++) {
        (void)snprintf(name, sizeof name, "key.%u", i);
        put_number(&w, name, U32, i, 4);
    }
    for (uint64_t i = 0; i < N; i++) {
        (void)snprintf(name, sizeof name, "blk.%u.weight", (unsigned)i);
        put_tensor(&w, name, 1, &(uint64_t){ 1 }, 24, 32 * (N - 1 - i)); /* back to front */
    }
    put_padding(&w, 32);
    put_zeros(&w, 32 * (N - 1) + 1);
    s2v_gguf *file = parse(&w);
    int64_t value = 0;
    assert_true(s2v_gguf_int(file, "key.0", &value) && value == 0);
    assert_true(s2v_gguf_int(file, "key.65535", &value) && value == 65535);
    assert_false(s2v_gguf_int(file, "key.65536", &value));
    assert_ptr_equal(s2v_gguf_find_tensor(file, "blk.7.weight"), s2v_gguf_tensor_at(file, 7));
    s2v_gguf_close(file);
    free(w.data);
}

static void test_types(void **state)
{
    (void)state; /* bytes of a block from what it holds: half-precision scales, sub-scales, bits */
    static const struct {
        uint32_t type;
        const char *name;
        int64_t block;
        size_t bytes;
    } known[] = {
        { 0, "F32", 1, 4 },
        { 1, "F16", 1, 2 },
        { 24, "I8", 1, 1 },
        { 25, "I16", 1, 2 },
        { 26, "I32", 1, 4 },
        { 27, "I64", 1, 8 },
        { 28, "F64", 1, 8 },
        { 30, "BF16", 1, 2 },
        { 2, "Q4_0", 32, 2 + 16 },
        { 3, "Q4_1", 32, 2 + 2 + 16 },
        { 6, "Q5_0", 32, 2 + 4 + 16 },
        { 7, "Q5_1", 32, 2 + 2 + 4 + 16 },
        { 8, "Q8_0", 32, 2 + 32 },
        { 9, "Q8_1", 32, 2 + 2 + 32 },
        { 10, "Q2_K", 256, 16 + 64 + 2 + 2 },
        { 11, "Q3_K", 256, 32 + 64 + 12 + 2 },
        { 12, "Q4_K", 256, 2 + 2 + 12 + 128 },
        { 13, "Q5_K", 256, 2 + 2 + 12 + 32 + 128 },
        { 14, "Q6_K", 256, 128 + 64 + 16 + 2 },
        { 15, "Q8_K", 256, 4 + 256 + 32 },
        { 16, "IQ2_XXS", 256, 2 + 64 },
        { 17, "IQ2_XS", 256, 2 + 64 + 8 },
        { 18, "IQ3_XXS", 256, 2 + 96 },
        { 19, "IQ1_S", 256, 2 + 32 + 16 },
        { 20, "IQ4_NL", 32, 2 + 16 },
        { 21, "IQ3_S", 256, 2 + 64 + 8 + 32 + 4 },
        { 22, "IQ2_S", 256, 2 + 64 + 8 + 8 },
        { 23, "IQ4_XS", 256, 2 + 2 + 4 + 128 },
        { 29, "IQ1_M", 256, 32 + 16 + 8 },
        { 34, "TQ1_0", 256, 48 + 4 + 2 },
        { 35, "TQ2_0", 256, 64 + 2 },
        { 39, "MXFP4", 32, 1 + 16 },
        { 40, "NVFP4", 64, 4 + 32 },
        { 41, "Q1_0", 128, 2 + 16 },
        { 42, "Q2_0", 64, 2 + 16 },
    };
    size_t n_known = 0;
    for (uint32_t type = 0; type < 1000; type++)
        n_known += s2v_gguf_tensor_type(type, NULL, NULL) != NULL;
    assert_int_equal(n_known, COUNT_OF(known));
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        int64_t block = 0;
        size_t bytes = 0;
        const char *name = s2v_gguf_tensor_type(known[i].type, &block, &bytes);
        assert_non_null(name);
        assert_string_equal(name, known[i].name);
        assert_int_equal(block, known[i].block);
        assert_int_equal(bytes, known[i].bytes);
    }
    assert_null(s2v_gguf_tensor_type(UINT32_MAX, NULL, NULL));
}

static void test_odd_values(void **state)
{
    (void)state;
    static const struct {
        uint32_t type;
        size_t width;
        uint64_t values[4]; /* the last two are not finite */
    } cases[] = {
        { 0, 4, { 0x7f7fffff, 0x80000001, 0x7f800000, 0xffc00000 } },
        { 1, 2, { 0x7bff, 0x8001, 0xfc00, 0x7e01 } },
        { 30, 2, { 0x7f7f, 0x8001, 0x7f80, 0xffc1 } },
        { 28, 8, { 0x7fefffffffffffff, 1, 0x7ff0000000000000, 0xfff8000000000000 } },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        writer w = { 0 };
        put(&w, 0, 1); /* odd addresses too */
        for (size_t v = 0; v < 4; v++) put(&w, cases[i].values[v], cases[i].width);
        s2v_gguf_tensor t = { .type = cases[i].type,
                              .n_bytes = 4 * cases[i].width,
                              .data = w.data + 1 };
        s2v_gguf_odd odd;
        assert_true(s2v_gguf_count_odd(&t, &odd));
        assert_int_equal(odd.count, 2);
        assert_int_equal(odd.first, 2);
        t.n_bytes = 2 * cases[i].width;
        assert_true(s2v_gguf_count_odd(&t, &odd) && odd.count == 0);
        t.type = 26;
        assert_false(s2v_gguf_count_odd(&t, &odd));
        free(w.data);
    }
}

/* --- files ------------------------------------------------------------------------------------ */

static char scratch[64];

static int make_scratch(void **state)
{
    (void)state;
    (void)snprintf(scratch, sizeof scratch, "/tmp/test_gguf.%ld", (long)getpid());
    return 0;
}

static int remove_scratch(void **state)
{
    (void)state;
    (void)remove(scratch);
    return 0;
}

static void save(const writer *w, size_t n)
{
    FILE *out = fopen(scratch, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(w->data, 1, n, out), n);
    assert_int_equal(fclose(out), 0);
}

static void test_open(void **state)
{
    (void)state;
    writer w = { 0 };
    put_valid(&w);
    save(&w, w.n);
    s2v_gguf *file = NULL;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2v_gguf_open(&file, scratch, &error), S2P_OK);
    assert_int_equal(s2v_gguf_n_bytes(file), w.n);
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, "four");
    s2v_gguf_want_pages(file);
    s2v_gguf_release_pages(file);
    assert_memory_equal(t->data, w.data + s2v_gguf_data_offset(file) + t->offset, t->n_bytes);
    s2v_gguf_close(file);
    free(w.data);
}

static void test_open_refusals(void **state)
{
    (void)state;
    writer w = { 0 };
    put_valid(&w);
    s2v_gguf *file = NULL;
    s2p_error error;
    (void)remove(scratch);
    assert_int_equal(s2v_gguf_open(&file, scratch, &error), S2P_EIO);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(s2v_gguf_open(&file, "/tmp", &error), S2P_EIO);
    assert_non_null(strstr(error.message, "not a regular file"));
    assert_int_equal(mkfifo(scratch, 0600), 0); /* nobody writes: must not wait */
    assert_int_equal(s2v_gguf_open(&file, scratch, &error), S2P_EIO);
    (void)remove(scratch);
    save(&w, 0);
    assert_int_equal(s2v_gguf_open(&file, scratch, &error), S2P_EFORMAT);
    assert_non_null(strstr(error.message, "empty"));
    save(&w, w.n - 1);
    assert_int_equal(s2v_gguf_open(&file, scratch, NULL), S2P_EFORMAT);
    assert_int_equal(s2v_gguf_open(&file, scratch, &error), S2P_EFORMAT);
    assert_null(file);
    assert_non_null(strstr(error.message, "test_gguf.")); /* the file's name, not its folder */
    assert_null(strstr(error.message, "/tmp"));
    free(w.data);
}

/* A broken file: what was read before the mistake, and no data. */
static void test_examine(void **state)
{
    (void)state;
    writer w = { 0 };
    const size_t header = put_valid(&w);
    s2v_gguf *file = NULL;
    s2p_error error;
    static const struct {
        size_t cut; /* bytes before the end of the header */
        size_t n_tensors;
    } cuts[] = { { 0, 4 }, { 1, 3 }, { 30, 3 } };
    for (size_t i = 0; i < COUNT_OF(cuts); i++) {
        save(&w, header - cuts[i].cut);
        assert_int_equal(s2v_gguf_examine(&file, scratch, &error), S2P_EFORMAT);
        assert_non_null(file);
        assert_null(strstr(error.message, "test_gguf."));
        assert_int_equal(s2v_gguf_n_keys(file), 20);
        assert_int_equal(s2v_gguf_claimed_tensors(file), 4);
        assert_int_equal(s2v_gguf_n_tensors(file), cuts[i].n_tensors);
        for (size_t t = 0; t < s2v_gguf_n_tensors(file); t++)
            assert_null(s2v_gguf_tensor_at(file, t)->data);
        s2v_gguf_close(file);
    }
    save(&w, 23);
    assert_int_equal(s2v_gguf_examine(&file, scratch, &error), S2P_EFORMAT);
    assert_null(file);
    save(&w, w.n);
    assert_int_equal(s2v_gguf_examine(&file, scratch, &error), S2P_OK);
    assert_non_null(s2v_gguf_tensor_at(file, 0)->data);
    s2v_gguf_close(file);
    free(w.data);
}

/* Fail the 1st, 2nd, ... allocation of each way in. */
static void test_no_memory(void **state)
{
    (void)state;
    writer w = { 0 };
    put_valid(&w);
    save(&w, w.n);
    for (int way = 0; way < 3; way++) {
        int n = 0;
        s2p_status st = S2P_ENOMEM;
        for (; st == S2P_ENOMEM && n < 100; n++) {
            s2v_gguf *file = NULL;
            s2p_error error = { S2P_OK, "" };
            allocations_left = n;
            if (way == 0) st = s2v_gguf_parse(&file, w.data, w.n, "w", &error);
            if (way == 1) st = s2v_gguf_open(&file, scratch, &error);
            if (way == 2) st = s2v_gguf_examine(&file, scratch, &error);
            allocations_left = -1;
            assert_int_equal(error.status, st);
            if (st == S2P_ENOMEM && way < 2) assert_null(file);
            s2v_gguf_close(file);
        }
        assert_int_equal(st, S2P_OK);
        assert_int_equal(n,
                         7); /* the object; keys, names; tensors, names, places; then none fails */
    }
    free(w.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),           cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_changed_under_us), cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_plain_variants),   cmocka_unit_test(test_alignments),
        cmocka_unit_test(test_many_names),       cmocka_unit_test(test_types),
        cmocka_unit_test(test_odd_values),       cmocka_unit_test(test_open),
        cmocka_unit_test(test_open_refusals),    cmocka_unit_test(test_examine),
        cmocka_unit_test(test_no_memory),
    };
    return cmocka_run_group_tests(tests, make_scratch, remove_scratch);
}
