/* test_gguf_malformed_tensors.c - malformed tensors, and published vulnerabilities by their number.
 *
 *   test_gguf_malformed_tensors                  the tests
 *   test_gguf_malformed_tensors corpus FOLDER    write some of the files there, as seeds for fuzz_gguf
 */
#include "malformed.h"

static void test_tensor_names(void **state)
{
    (void)state;
    writer w = { 0 };
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        put_start(&w, 3, 1, 0);
        put(&w, huge[i], 8);
        put_zeros(&w, 100);
        expect(&w, S2P_EFORMAT, "tensor 1 of 1: a string of", "name of %" PRIu64 " bytes", huge[i]);
    }
    static const size_t lengths[] = { 64, 65, 127, 128, 255, 256, 1000, 65536 };
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        put_start(&w, 3, 1, 0);
        put(&w, lengths[i], 8);
        for (size_t j = 0; j < lengths[i]; j++) put_bytes(&w, "w", 1);
        put_zeros(&w, 100);
        expect(&w, S2P_ELIMIT, "the limit is 63", "name of %zu bytes", lengths[i]);
    }
    put_start(&w, 3, 1, 0);
    put_tensor(&w, "", 1, &(uint64_t){ 1 }, 0, 0);
    put_zeros(&w, 100);
    expect(&w, S2P_EFORMAT, "name is empty", "no name");
    static const char bad[] = { '\0', '\n', '\x1b', '\x7f' };
    for (size_t i = 0; i < sizeof bad; i++)
        for (size_t at = 0; at < 5; at += 2) {
            char name[5] = { 'a', 'b', 'c', 'd', 'e' };
            name[at] = bad[i];
            put_start(&w, 3, 1, 0);
            put_string(&w, name, sizeof name);
            put_zeros(&w, 100);
            expect(&w, S2P_EFORMAT, "control characters", "byte %d at %zu of a name", bad[i], at);
        }
    free(w.data);
}

static void test_dimensions(void **state)
{
    (void)state;
    writer w = { 0 };
    static const uint32_t bad[] = { 0, 5, 6, 8, 255, 65536, 0x7fffffff, 0x80000000, 0xffffffff };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put_start(&w, 3, 1, 0);
        put_string(&w, "w", 1);
        put(&w, bad[i], 4);
        for (int d = 0; d < 10; d++) put(&w, 1, 8);
        put_zeros(&w, 100);
        expect(&w, S2P_EFORMAT, "dimensions, not 1 to 4", "%u dimensions", bad[i]);
    }
    static const uint64_t sizes[] = { 0, P(63), P(63) + 1, UINT64_MAX };
    for (size_t i = 0; i < COUNT_OF(sizes); i++)
        for (uint32_t n_dims = 1; n_dims <= 4; n_dims++)
            for (uint32_t d = 0; d < n_dims; d++) {
                uint64_t ne[4] = { 4, 4, 4, 4 };
                ne[d] = sizes[i];
                one_tensor(&w, n_dims, ne, 0, 0, 1024);
                expect(&w, S2P_EFORMAT, "tensor 'w': dimension", "ne[%u] = %" PRIu64, d, sizes[i]);
            }
    for (size_t n = 1; n < 33 - 9; n++) { /* the description cut at each length after the name */
        put_start(&w, 3, 2, 0);
        put_tensor(&w, "a name to make room for two", 4, (uint64_t[]){ 1, 1, 1, 1 }, 0, 0);
        const size_t before = w.n;
        put_tensor(&w, "w", 1, &(uint64_t){ 4 }, 0, 32);
        w.n = before + 9 + n;
        expect(&w, S2P_EFORMAT, "inside tensor 'w'", "%zu bytes of a tensor", n);
    }
    free(w.data);
}

static void test_overflows(void **state)
{
    (void)state;
    writer w = { 0 };
    static const struct {
        uint64_t ne[4];
        uint32_t n_dims, type;
        const char *says;
    } shapes[] = {
        { { P(32), P(32) }, 2, 0, "shape 4294967296x4294967296: element count overflows" },
        { { P(33), P(31) }, 2, 0, "element count overflows" },
        { { P(22), P(21), P(21) }, 3, 0, "element count overflows" },
        { { P(16), P(16), P(16), P(16) }, 4, 24, "element count overflows" },
        { { P(63) - 1, 2 }, 2, 24, "element count overflows" },
        { { 2, P(63) - 1 }, 2, 24, "element count overflows" },
        { { P(62), 2 }, 2, 24, "element count overflows" },
        { { 1, 1, P(62), 2 }, 4, 24, "element count overflows" },
        { { P(62), 1, 1, 4 }, 4, 24, "element count overflows" },
        { { 3037000500, 3037000500 }, 2, 24, "element count overflows" }, /* just above 2^63 */
        { { 2097153, 2097153, 2097153 }, 3, 24, "element count overflows" },
        { { P(63) - 1, P(63) - 1, P(63) - 1, P(63) - 1 }, 4, 0, "element count overflows" },
        { { P(61), 8 }, 2, 12, "element count overflows" },
        { { 256, P(55) }, 2, 14, "element count overflows" },
        { { P(32) + 256, P(32) }, 2, 8, "element count overflows" },
        { { P(61) }, 1, 0, "byte count overflows" }, /* elements fit, bytes do not */
        { { P(62) }, 1, 0, "byte count overflows" },
        { { P(62) }, 1, 1, "byte count overflows" },
        { { P(62) }, 1, 30, "byte count overflows" },
        { { P(60) }, 1, 28, "byte count overflows" },
        { { P(60) }, 1, 27, "byte count overflows" },
        { { P(61), 2 }, 2, 26, "byte count overflows" },
        { { P(31), P(30) }, 2, 0, "byte count overflows" },
        { { P(63) - 32 }, 1, 8, "byte count overflows" }, /* 34 bytes for 32 values */
        { { P(63) - 32 }, 1, 9, "byte count overflows" },
        { { P(63) - 256 }, 1, 15, "byte count overflows" },
        { { P(63) - 1 }, 1, 24, "beyond the 1024 bytes" }, /* a number, only far too large */
        { { P(61) - 1 }, 1, 0, "beyond the 1024 bytes" },
        { { P(63) - 256 }, 1, 12, "beyond the 1024 bytes" },
    };
    for (size_t i = 0; i < COUNT_OF(shapes); i++) {
        one_tensor(&w, shapes[i].n_dims, shapes[i].ne, shapes[i].type, 0, 1024);
        expect(&w, S2P_EFORMAT, shapes[i].says, "shape %zu", i);
    }
    free(w.data);
}

static void test_tensor_types(void **state)
{
    (void)state;
    writer w = { 0 };
    static const uint64_t bad[] = {
        4,  5,  31,  32,  33,  36,    37,         38,         43,
        44, 63, 100, 255, 256, 65536, 0x7fffffff, 0x80000000, 0xffffffff
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        one_tensor(&w, 1, &(uint64_t){ 256 }, bad[i], 0, 2048);
        expect(&w, S2P_EUNSUPPORTED, "unknown or removed type", "type %" PRIu64, bad[i]);
    }
    for (uint32_t type = 0; type < 43; type++) { /* rows that are not whole blocks */
        int64_t block = 1;
        if (!s2v_gguf_tensor_type(type, &block, NULL) || block == 1) continue;
        const uint64_t n = (uint64_t)block;
        const uint64_t rows[] = { 1, n / 2, n - 1, n + 1, n + n / 2 };
        for (size_t i = 0; i < COUNT_OF(rows); i++) {
            one_tensor(&w, 2, (uint64_t[]){ rows[i], n }, type, 0,
                       100000); /* the product is whole */
            expect(&w, S2P_EFORMAT, "must be a multiple of", "rows of %" PRIu64 " in type %u",
                   rows[i], type);
        }
    }
    free(w.data);
}

static void test_places(void **state)
{
    (void)state;
    writer w = { 0 };
    static const uint64_t skew[] = {
        1, 2, 4, 8, 16, 31, 33, 48, P(32) + 1, P(63) + 16, UINT64_MAX
    };
    for (size_t i = 0; i < COUNT_OF(skew); i++) {
        one_tensor(&w, 1, &(uint64_t){ 4 }, 0, skew[i], 1024);
        expect(&w, S2P_EFORMAT, "not a multiple of 32", "offset %" PRIu64, skew[i]);
    }
    static const uint64_t beyond[] = { 1024 + 32,  P(31), P(32),          P(62),
                                       P(63) - 32, P(63), UINT64_MAX - 31 };
    for (size_t i = 0; i < COUNT_OF(beyond); i++) {
        one_tensor(&w, 1, &(uint64_t){ 4 }, 0, beyond[i], 1024);
        expect(&w, S2P_EFORMAT, "is beyond the 1024 bytes", "offset %" PRIu64, beyond[i]);
        one_tensor(&w, 1, &(uint64_t){ P(62) }, 24, beyond[i], 1024);
        expect(&w, S2P_EFORMAT, "is beyond the 1024 bytes", "far and large, %" PRIu64, beyond[i]);
    }
    for (uint32_t type = 0; type < 43; type++) { /* one byte short, for every type */
        int64_t block = 1;
        size_t bytes = 0;
        if (!s2v_gguf_tensor_type(type, &block, &bytes)) continue;
        one_tensor(&w, 2, (uint64_t[]){ (uint64_t)block, 3 }, type, 0, 3 * bytes - 1);
        expect(&w, S2P_EFORMAT, "is beyond the", "type %u, one byte short", type);
    }
    for (size_t n = 0; n < 31; n += 5) { /* the padding is not all there */
        put_start(&w, 3, 1, 0);
        put_tensor(&w, "w", 1, &(uint64_t){ 4 }, 0, 0); /* 57 bytes so far */
        put_zeros(&w, n < 7 ? n : 6);
        expect(&w, S2P_EFORMAT, "tensor data starts at 64", "%zu bytes of padding", n);
    }
    put_start(&w, 3, 1, 1); /* a wide alignment puts the data behind the end */
    put_number(&w, "general.alignment", U32, 65536, 4);
    put_tensor(&w, "w", 1, &(uint64_t){ 4 }, 0, 0);
    put_zeros(&w, 4096);
    expect(&w, S2P_EFORMAT, "tensor data starts at 65536", "alignment beyond the end");
    free(w.data);
}

static void test_overlaps(void **state)
{
    (void)state;
    writer w = { 0 };
    static const struct {
        const char *name;
        uint64_t offset[3], size[3];
    } cases[] = {
        { "same place", { 0, 0, 512 }, { 32, 32, 32 } },
        { "one byte", { 0, 32, 512 }, { 33, 32, 32 } },
        { "one inside another", { 0, 64, 512 }, { 256, 32, 32 } },
        { "small one first in the list", { 64, 0, 512 }, { 32, 256, 32 } },
        { "first and last of the list", { 256, 0, 256 }, { 64, 64, 64 } },
        { "the middle reaches over", { 0, 128, 256 }, { 64, 129, 64 } },
        { "all three", { 0, 32, 64 }, { 512, 512, 512 } },
        { "back to front", { 512, 256, 0 }, { 64, 64, 257 } },
    };
    static const char *const names[] = { "a", "b", "c" };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        put_start(&w, 3, 3, 0);
        for (size_t t = 0; t < 3; t++)
            put_tensor(&w, names[t], 1, &cases[i].size[t], 24, cases[i].offset[t]);
        put_padding(&w, 32);
        put_zeros(&w, 1024);
        expect(&w, S2P_EFORMAT, "overlap at offset", "%s", cases[i].name);
    }
    free(w.data);
}

/* --- published vulnerabilities
 * ------------------------------------------------------------------------ */

/* Two tensors of bytes that together do not fit a number, a third behind them. */
static void sum_of_sizes(writer *w, uint64_t first, uint64_t second)
{
    put_start(w, 3, 3, 0);
    put_tensor(w, "a", 1, &first, 24, 0);
    put_tensor(w, "b", 1, &second, 24, (first + 31) / 32 * 32);
    put_tensor(w, "c", 1, &(uint64_t){ 64 }, 24, (first + 31) / 32 * 32 + (second + 31) / 32 * 32);
    put_padding(w, 32);
    put_zeros(w, 1024);
}

static void test_published(void **state)
{
    (void)state;
    writer w = { 0 };
    put_start(&w, 3, 1, 0); /* more dimensions than the array for them has room */
    put_tensor(&w, "w", 12,
               (uint64_t[12]){ 1, 1, 1, 1, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41, 0x41 }, 0, 0);
    put_zeros(&w, 1024);
    expect(&w, S2P_EFORMAT, "has 12 dimensions", "CVE-2024-21802");

    put_start(&w, 3, 0, 1); /* count * 16 bytes wraps to 16 */
    put_array(&w, "tokenizer.ggml.tokens", STRING, P(60) + 1);
    for (int i = 0; i < 20; i++) put_string(&w, "AAAAAAAA", 8);
    expect(&w, S2P_ELIMIT, "the limit is 16777216", "CVE-2024-21825 strings");
    put_start(&w, 3, 0, 1); /* count * 8 bytes wraps to 8 */
    put_array(&w, "a", F64, P(61) + 1);
    put_zeros(&w, 512);
    expect(&w, S2P_ELIMIT, "the limit is 16777216", "CVE-2024-21825 numbers");

    put_start(&w, 3, UINT64_MAX / 88 + 2, 0); /* count * sizeof an entry wraps */
    put_zeros(&w, 1024);
    expect(&w, S2P_ELIMIT, "a tensor count of", "CVE-2024-21836");
    put_start(&w, 3, 0, UINT64_MAX / 48 + 2);
    put_zeros(&w, 1024);
    expect(&w, S2P_ELIMIT, "a key count of", "CVE-2024-23605");

    put_start(&w, 3, 0, 1); /* length + 1 for the final NUL wraps to 0 */
    put(&w, UINT64_MAX, 8);
    put_zeros(&w, 512);
    expect(&w, S2P_EFORMAT, "18446744073709551615 bytes", "CVE-2024-23496 name");
    put_start(&w, 3, 0, 1);
    put_number(&w, "s", STRING, UINT64_MAX, 8);
    put_zeros(&w, 512);
    expect(&w, S2P_EFORMAT, "18446744073709551615 bytes", "CVE-2024-23496 value");

    put_start(&w, 3, 0, 4); /* ends among the keys: what was not read must not be freed */
    put_key(&w, "first", STRING);
    put_string(&w, "a value with its own bytes", 26);
    put_key(&w, "second", STRING);
    put(&w, 200, 8);
    expect(&w, S2P_EFORMAT, "key 'second'", "CVE-2024-32878");
    put_start(&w, 3, 0, 3);
    put_array(&w, "first", STRING, 3);
    put_string(&w, "x", 1);
    put(&w, 200, 8);
    put_zeros(&w, 20);
    expect(&w, S2P_EFORMAT, "key 'first'", "CVE-2024-32878 array");

    put_start(&w, 3, 0, 1); /* nothing there to point at */
    put_string(&w, "", 0);
    put(&w, STRING, 4);
    put_string(&w, "", 0);
    expect(&w, S2P_EFORMAT, "name is empty", "CVE-2024-41130 key");
    put_start(&w, 3, 1, 1);
    put_array(&w, "general.alignment", STRING, 0);
    put_tensor(&w, "w", 1, &(uint64_t){ 4 }, 0, 0);
    expect(&w, S2P_EFORMAT, "not of type u32", "CVE-2024-41130 empty array");

    static const uint64_t lengths[] = { P(31), P(32) - 1, P(32) + 4,
                                        UINT64_MAX - 3 }; /* as int32: negative, 4 */
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        put_start(&w, 3, 0, 1);
        put_array(&w, "tokenizer.ggml.tokens", STRING, 2);
        put(&w, lengths[i], 8);
        put_string(&w, "tokens", 6);
        expect(&w, S2P_EFORMAT, "a string of", "CVE-2025-49847 length %" PRIu64, lengths[i]);
    }
    sum_of_sizes(&w, P(63) - 32, P(63) - 32); /* the sum wraps to 0 and something */
    expect(&w, S2P_EFORMAT, "beyond the 1024 bytes", "CVE-2025-53630");
    sum_of_sizes(&w, P(62), P(63) - 64);
    expect(&w, S2P_EFORMAT, "beyond the 1024 bytes", "CVE-2025-53630 three parts");
    sum_of_sizes(&w, P(63) - 1, P(63) - 1); /* the padding of the last one wraps */
    expect(&w, S2P_EFORMAT, "beyond the 1024 bytes", "CVE-2026-27940");
    one_tensor(&w, 1, &(uint64_t){ UINT64_MAX - 15 }, 24, 0, 1024);
    expect(&w, S2P_EFORMAT, "dimension 0 is", "CVE-2026-27940 one tensor");
    one_tensor(&w, 2, (uint64_t[]){ P(62), 1 }, 0, 0, 1024); /* bytes wrap to 0 */
    expect(&w, S2P_EFORMAT, "byte count overflows", "CVE-2026-33298");
    one_tensor(&w, 2, (uint64_t[]){ P(62) + 4, 1 }, 0, 0, 1024); /* bytes wrap to 16 */
    expect(&w, S2P_EFORMAT, "byte count overflows", "CVE-2026-33298 small");

    one_tensor(&w, 2, (uint64_t[]){ 4096, 4096 }, 1, 0, 1024); /* 32 MiB in a file of 1 KiB */
    expect(&w, S2P_EFORMAT, "beyond the 1024 bytes", "CVE-2026-7482 size");
    one_tensor(&w, 1, &(uint64_t){ 4 }, 0, 1024, 1024); /* starts at the end */
    expect(&w, S2P_EFORMAT, "beyond the 1024 bytes", "CVE-2026-7482 offset");
    one_tensor(&w, 1, &(uint64_t){ 64 }, 24, UINT64_MAX - 31, 1024); /* offset + size wraps to 32 */
    expect(&w, S2P_EFORMAT, "beyond the 1024 bytes", "CVE-2026-7482 wrap");

    static const uint64_t cut[] = { P(32) + 32, P(33) + 32, P(62) + 32 }; /* 32 in a 32-bit int */
    for (size_t i = 0; i < COUNT_OF(cut); i++) {
        one_tensor(&w, 2, (uint64_t[]){ cut[i], 1 }, 8, 0, 1024);
        expect(&w, S2P_EFORMAT, "is beyond the 1024 bytes", "CVE-2026-53923 %" PRIu64, cut[i]);
    }
    free(w.data);
}

static void test_enough(void **state)
{
    (void)state;
    print_message("%zu malformed files by hand\n", n_cases);
    assert_true(n_cases >= 300);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tensor_names), cmocka_unit_test(test_dimensions),
        cmocka_unit_test(test_overflows),    cmocka_unit_test(test_tensor_types),
        cmocka_unit_test(test_places),       cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_published),    cmocka_unit_test(test_enough),
    };
    if (argc == 3 && strcmp(argv[1], "corpus") == 0) {
        corpus = argv[2];
        seed_prefix = "tensor_";
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
