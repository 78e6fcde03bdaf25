/* test_npy.c - arrays in and out: NumPy's own bytes, lying headers, round trips. */
#include "check.h"
#include "failing_malloc.h"

#include "base/npy.h"

#include <stdio.h>
#include <string.h>

/* numpy.save(np.arange(6, dtype='<f4').reshape(2, 3)), byte for byte. */
static const char header_2x3[] =
    "\x93NUMPY\x01\x00\x76\x00{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
    "                                                          \n";

static size_t make_file(uint8_t *out, const char *version, const char *header, size_t length,
                        size_t n_data)
{
    size_t n = 0;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (uint8_t)version[0];
    out[7] = (uint8_t)version[1];
    n = 8;
    for (int i = 0; i < (version[0] == 1 ? 2 : 4); i++) out[n++] = (uint8_t)(length >> (8 * i));
    memcpy(out + n, header, strlen(header));
    n += strlen(header);
    memset(out + n, 0, n_data);
    return n + n_data;
}

static void test_same_bytes_as_numpy(void **state)
{
    (void)state;
    float values[6] = { 0, 1, 2, 3, 4, 5 };
    const s2_array array = { S2_F32, 2, { 2, 3, 1, 1 }, 6, values };
    s2_buffer out;
    s2_buffer_init(&out, 4096);
    assert_int_equal(s2_npy_format(&array, &out), S2P_OK);
    assert_int_equal(out.size, 128 + sizeof values);
    assert_memory_equal(out.data, header_2x3, 128);
    assert_memory_equal(out.data + 128, values, sizeof values);
    s2_buffer_free(&out);
}

static void test_round_trip(void **state)
{
    (void)state;
    static const s2_dtype types[] = { S2_U8, S2_I32, S2_I64, S2_F32, S2_F64 };
    uint8_t data[8 * 24];
    for (size_t i = 0; i < sizeof data; i++) data[i] = (uint8_t)(i * 7);
    for (size_t t = 0; t < COUNT_OF(types); t++)
        for (int32_t n_dims = 0; n_dims <= 4; n_dims++) {
            const s2_array array = { types[t],
                                     n_dims,
                                     { n_dims > 0 ? 2 : 1, n_dims > 1 ? 3 : 1, n_dims > 2 ? 2 : 1,
                                       n_dims > 3 ? 2 : 1 },
                                     (size_t[]){ 1, 2, 6, 12, 24 }[n_dims],
                                     data };
            s2_array back;
            s2_buffer out;
            s2_buffer_init(&out, 4096);
            assert_int_equal(s2_npy_format(&array, &out), S2P_OK);
            assert_int_equal(s2_npy_parse(out.data, out.size, "x", &back, NULL), S2P_OK);
            assert_int_equal(back.type, array.type);
            assert_int_equal(back.n_dims, n_dims);
            assert_memory_equal(back.shape, array.shape, sizeof back.shape);
            assert_memory_equal(back.data, data, array.count * s2_dtype_size(array.type));
            s2_array_free(&back);
            s2_buffer_free(&out);
        }
}

/* clang-format off */
static const struct {
    const char *lie, *header;
    size_t n_data;
    s2p_status expect;
} headers[] = {
    { "spaces and order do not matter", "{ 'shape':(2,2,) ,'descr':\"<f4\",'fortran_order':False}", 16, S2P_OK },
    { "a scalar",             "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4, S2P_OK },
    { "nothing in it",        "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", 0, S2P_OK },
    { "one byte short",       "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 15, S2P_EFORMAT },
    { "one byte long",        "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 17, S2P_EFORMAT },
    { "product wraps to 0",   "{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0, S2P_EFORMAT },
    { "bytes wrap",           "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693952,), }", 0, S2P_EFORMAT },
    { "bytes wrap to 16",     "{'descr': '<f8', 'fortran_order': False, 'shape': (2305843009213693954,), }", 16, S2P_EFORMAT },
    { "number overflows",     "{'descr': '<f4', 'fortran_order': False, 'shape': (18446744073709551617,), }", 4, S2P_EFORMAT },
    { "negative",             "{'descr': '<f4', 'fortran_order': False, 'shape': (-1,), }", 4, S2P_EFORMAT },
    { "huge times zero",      "{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775800, 0), }", 0, S2P_EFORMAT },
    { "a number, no tuple",   "{'descr': '<f4', 'fortran_order': False, 'shape': (4), }", 16, S2P_EFORMAT },
    { "five dimensions",      "{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1), }", 4, S2P_EFORMAT },
    { "Fortran order",        "{'descr': '<f4', 'fortran_order': True, 'shape': (4,), }", 16, S2P_EFORMAT },
    { "big-endian",           "{'descr': '>f4', 'fortran_order': False, 'shape': (4,), }", 16, S2P_EFORMAT },
    { "objects (pickle)",     "{'descr': '|O', 'fortran_order': False, 'shape': (4,), }", 16, S2P_EFORMAT },
    { "half precision",       "{'descr': '<f2', 'fortran_order': False, 'shape': (4,), }", 8, S2P_EFORMAT },
    { "a record type",        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", 16, S2P_EFORMAT },
    { "unbalanced quote",     "{'descr': '<f4\", 'fortran_order': False, 'shape': (4,), }", 16, S2P_EFORMAT },
    { "a key twice",          "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (4,), }", 16, S2P_EFORMAT },
    { "a key too many",       "{'descr': '<f4', 'x': 1, 'fortran_order': False, 'shape': (4,), }", 16, S2P_EFORMAT },
    { "a key missing",        "{'descr': '<f4', 'shape': (4,), }", 16, S2P_EFORMAT },
    { "no dict",              "[]", 16, S2P_EFORMAT },
    { "text after the dict",  "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), } x", 16, S2P_EFORMAT },
    { "empty",                "", 0, S2P_EFORMAT },
};
/* clang-format on */

static void test_headers(void **state)
{
    (void)state;
    uint8_t file[4096];
    for (size_t i = 0; i < COUNT_OF(headers); i++)
        for (char major = 1; major <= 3; major++) {
            const char version[2] = { major, 0 };
            const size_t n = make_file(file, version, headers[i].header, strlen(headers[i].header),
                                       headers[i].n_data);
            s2_array array = { .data = NULL };
            s2p_error error = { 0 };
            const s2p_status st = s2_npy_parse(file, n, "f", &array, &error);
            CHECK_CASE(st == headers[i].expect, "%s: %s", headers[i].lie, error.message);
            s2_array_free(&array);
        }
}

static void test_lying_lengths(void **state)
{
    (void)state;
    static const char good[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
    uint8_t file[4096];
    s2_array array;
    size_t n = make_file(file, (const char[]){ 1, 0 }, good, 60000, 16);
    assert_int_equal(s2_npy_parse(file, n, "f", &array, NULL), S2P_EFORMAT);
    n = make_file(file, (const char[]){ 2, 0 }, good, 0xffffffffu, 16);
    assert_int_equal(s2_npy_parse(file, n, "f", &array, NULL), S2P_ELIMIT);
    n = make_file(file, (const char[]){ 4, 0 }, good, strlen(good), 16);
    assert_int_equal(s2_npy_parse(file, n, "f", &array, NULL), S2P_EUNSUPPORTED);
    n = make_file(file, (const char[]){ 1, 0 }, good, strlen(good), 16);
    for (size_t cut = 0; cut < n; cut++) { /* an exact copy, so that reading past it is seen */
        uint8_t *part = test_malloc(cut + 1);
        memcpy(part, file, cut);
        assert_int_not_equal(s2_npy_parse(part, cut, "f", &array, NULL), S2P_OK);
        test_free(part);
    }
}

static void test_files_and_memory(void **state)
{
    (void)state;
    float values[6] = { 0, 1, 2, 3, 4, 5 };
    const s2_array array = { S2_F32, 2, { 2, 3, 1, 1 }, 6, values };
    static const char path[] = "test_npy.tmp.npy";
    s2_array back;
    s2p_error error;
    assert_int_equal(s2_npy_write(path, &array, &error), S2P_OK);
    assert_int_equal(s2_npy_read(path, 1000, &back, &error), S2P_OK);
    assert_memory_equal(back.data, values, sizeof values);
    s2_array_free(&back);
    assert_int_equal(s2_npy_read(path, 100, &back, &error), S2P_ELIMIT);
    assert_int_equal(s2_npy_read("no/such/file.npy", 1000, &back, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "no/such/file.npy"));

    int n = 0;
    s2p_status st;
    do { /* every allocation of a read and a write, in turn */
        allocations_left = n++;
        st = s2_npy_read(path, 1000, &back, &error);
        if (st == S2P_OK) {
            s2_array_free(&back);
            st = s2_npy_write(path, &array, &error);
        }
        allocations_left = -1;
        assert_true(st == S2P_OK || st == S2P_ENOMEM);
    } while (st != S2P_OK);
    assert_true(n > 3);
    remove(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes_as_numpy),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_headers),
        cmocka_unit_test(test_lying_lengths),
        cmocka_unit_test(test_files_and_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
