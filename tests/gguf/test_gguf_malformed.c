/* test_gguf_malformed.c - model files as they should not be: hundreds by hand, thousands by
 * machine.
 *
 * Each handmade file has one mistake and names the status and a piece of the sentence it must end
 * in, so a file refused for another reason is a failure too. Those that copy a published
 * vulnerability carry its number.
 *
 *   test_gguf_malformed                  the tests
 *   test_gguf_malformed corpus FOLDER    write a choice of the files there, as seeds for fuzz_gguf
 */
#include "check.h"
#include "gguf_promises.h"
#include "gguf_writer.h"

#include "gguf/gguf_parse.h"

#include <inttypes.h>

#define P(n) (UINT64_C(1) << (n)) /* power of two */

static const char *corpus; /* where to write seeds; NULL: do not */
static size_t n_cases;

static void write_seed(const writer *w)
{
    char path[512];
    if (w->n == 0 || w->n > 2048 || n_cases % 6 != 1) return;
    (void)snprintf(path, sizeof path, "%s/%03zu.gguf", corpus, n_cases);
    FILE *out = fopen(path, "wb");
    if (!out || fwrite(w->data, 1, w->n, out) != w->n || fclose(out) != 0) abort();
}

/* Parse a copy that ends where the file ends, so that one byte too far is seen; then start anew. */
static void expect(writer *w, s2p_status status, const char *says, const char *format, ...)
    S2_PRINTF(4, 5);

static void expect(writer *w, s2p_status status, const char *says, const char *format, ...)
{
    char name[160];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(name, sizeof name, format, args);
    va_end(args);

    n_cases++;
    if (corpus) write_seed(w);
    uint8_t *exact = malloc(w->n ? w->n : 1);
    assert_non_null(exact);
    if (w->n) memcpy(exact, w->data, w->n);
    s2v_gguf *file = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_gguf_parse(&file, exact, w->n, "bad", &error);
    CHECK_CASE(st == status && error.status == st, "%s: status %d, %s", name, st, error.message);
    CHECK_CASE(!file && strstr(error.message, says), "%s: %s", name, error.message);
    CHECK_CASE(strncmp(error.message, "bad: ", 5) == 0, "%s: %s", name, error.message);
    free(exact);
    w->n = 0;
}

/* Numbers that have broken readers: around int32, uint32, int64 and uint64. */
static const uint64_t huge[] = { P(31) - 1, P(31),          P(32) - 1,      P(32),
                                 P(32) + 5, P(61),          P(62) + 1,      P(63) - 1,
                                 P(63),     UINT64_MAX - 8, UINT64_MAX - 7, UINT64_MAX };

static const uint64_t bad_types[] = { 13, 14, 64, 255, 256, 0x7fffffff, 0x80000000, 0xffffffff };

/* --- start -------------------------------------------------------------------------------------
 */

static void test_start(void **state)
{
    (void)state;
    writer w = { 0 };
    static const struct {
        const char *start, *says;
        size_t n;
    } others[] = {
        { "", "empty", 0 },
        { "G", "start with 'GGUF'", 1 },
        { "GGU", "start with 'GGUF'", 3 },
        { "gguf\3\0\0\0", "start with 'GGUF'", 8 },
        { "GGUG\3\0\0\0", "start with 'GGUF'", 8 },
        { "FUGG\0\0\0\3", "byte-swapped", 8 },
        { "PK\3\4....", "zip archive", 8 },
        { "\x80\2}q", "pickle", 4 },
        { "tjgg\1\0\0\0", "GGJT", 8 },
        { "fmgg\1\0\0\0", "GGMF", 8 },
        { "lmgg\1\0\0\0", "GGML", 8 },
        { "\x10\0\0\0\0\0\0\0{\"a\"", "safetensors", 12 },
        { "version https://git-lfs.github.com/spec/v1\n", "Git LFS", 43 },
        { "\0\0\0\0\0\0\0\0", "start with 'GGUF'", 8 },
    };
    for (size_t i = 0; i < COUNT_OF(others); i++) {
        put_bytes(&w, others[i].start, others[i].n);
        expect(&w, S2P_EFORMAT, others[i].says, "magic %zu", i);
    }
    static const struct {
        uint32_t version;
        const char *says;
    } versions[] = { { 0, "version 0 is" },        { 1, "version 1 is" },
                     { 4, "version 4 is" },        { 5, "version 5 is" },
                     { 0x103, "version 259" },     { 0x7fffffff, "version 2147483647" },
                     { 0x80000003, "version 21" }, { 0xffffffff, "version 4294967295" },
                     { 0x01000000, "big-endian" }, { 0x02000000, "big-endian" },
                     { 0x03000000, "big-endian" } };
    for (size_t i = 0; i < COUNT_OF(versions); i++) {
        put_start(&w, versions[i].version, 0, 0);
        expect(&w, S2P_EUNSUPPORTED, versions[i].says, "version %u", versions[i].version);
    }
    for (size_t n = 4; n < 24; n++) {
        put_start(&w, 3, 0, 0);
        w.n = n;
        expect(&w, S2P_EFORMAT, "first 24 bytes", "cut at %zu", n);
    }
    free(w.data);
}

static void test_counts(void **state)
{
    (void)state;
    writer w = { 0 };
    static const uint64_t beyond[] = { 65537, P(20), P(31), P(32),     P(32) + 1,
                                       P(56), P(61), P(63), UINT64_MAX };
    for (size_t i = 0; i < COUNT_OF(beyond); i++) {
        put_start(&w, 3, beyond[i], 0);
        put_zeros(&w, 100);
        expect(&w, S2P_ELIMIT, "the limit is 65536", "%" PRIu64 " tensors", beyond[i]);
        put_start(&w, 3, 0, beyond[i]);
        put_zeros(&w, 100);
        expect(&w, S2P_ELIMIT, "the limit is 65536", "%" PRIu64 " keys", beyond[i]);
    }
    static const uint64_t too_many[] = { 1, 2, 100, 65536 };
    for (size_t i = 0; i < COUNT_OF(too_many); i++) {
        put_start(&w, 2, too_many[i], 0);
        put_zeros(&w, 33 * too_many[i] - 1);
        expect(&w, S2P_EFORMAT, "cannot fit", "%" PRIu64 " tensors and few bytes", too_many[i]);
        put_start(&w, 2, 0, too_many[i]);
        put_zeros(&w, 14 * too_many[i] - 1);
        expect(&w, S2P_EFORMAT, "cannot fit", "%" PRIu64 " keys and few bytes", too_many[i]);
    }
    for (uint64_t n_keys = 2; n_keys < 5; n_keys++) { /* fewer keys than claimed; padding follows */
        put_start(&w, 3, 0, n_keys);
        put_number(&w, "k", U8, 1, 1);
        put_zeros(&w, 100);
        expect(&w, S2P_EFORMAT, "key 2 of", "%" PRIu64 " keys, one there", n_keys);
    }
    put_start(&w, 3, 1, 1); /* the key eats what the tensor needs */
    put_array(&w, "k", U8, 60);
    put_zeros(&w, 60);
    expect(&w, S2P_EFORMAT, "a tensor count of 1 cannot fit", "no room for the tensor");
    free(w.data);
}

/* --- keys ---------------------------------------------------------------------------------------
 */

/* A file with one key whose name has this length, whatever follows. */
static void start_name(writer *w, uint64_t length, size_t n_bytes)
{
    put_start(w, 3, 0, 1);
    put(w, length, 8);
    for (size_t i = 0; i < n_bytes; i++) put_bytes(w, "k", 1);
}

static void test_key_names(void **state)
{
    (void)state;
    writer w = { 0 };
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        start_name(&w, huge[i], 40);
        expect(&w, S2P_EFORMAT, "key 1 of 1: a string of", "name of %" PRIu64 " bytes", huge[i]);
    }
    start_name(&w, 41, 40);
    expect(&w, S2P_EFORMAT, "41 bytes where 40", "name one byte too long");
    start_name(&w, 65537, 65537 + 40);
    expect(&w, S2P_ELIMIT, "the limit is 65536", "name of 64 KiB and one");
    start_name(&w, 0, 40);
    expect(&w, S2P_EFORMAT, "name is empty", "no name");
    static const char bad[] = { '\0', '\t', '\n', ' ', '\x1b', '\x7f', '\x80', '\xc3', '\xff' };
    for (size_t i = 0; i < sizeof bad; i++)
        for (size_t at = 0; at < 5; at += 2) {
            char name[5] = { 'a', 'b', 'c', 'd', 'e' };
            name[at] = bad[i];
            put_start(&w, 3, 0, 1);
            put_string(&w, name, sizeof name);
            put(&w, U8, 4);
            put(&w, 0, 1);
            expect(&w, S2P_EFORMAT, "not printable", "byte %d at %zu of a name", bad[i], at);
        }
    free(w.data);
}

static size_t width_of(uint32_t type)
{
    static const size_t width[] = {
        1, 1, 2, 2, 4, 4, 4, 1, 8, 12, 8, 8, 8
    }; /* string and array: heads */
    return width[type];
}

static void test_value_types(void **state)
{
    (void)state;
    writer w = { 0 };
    for (size_t i = 0; i < COUNT_OF(bad_types); i++) {
        put_start(&w, 3, 0, 1);
        put_number(&w, "k", bad_types[i], 0, 8);
        expect(&w, S2P_EFORMAT, "unknown value type", "value type %" PRIu64, bad_types[i]);
        put_start(&w, 3, 0, 1);
        put_array(&w, "k", bad_types[i], 1);
        put(&w, 0, 8);
        expect(&w, S2P_EFORMAT, "array of unknown value type", "item type %" PRIu64, bad_types[i]);
    }
    for (uint64_t count = 0; count < 3; count++) {
        put_start(&w, 3, 0, 1);
        put_array(&w, "k", ARRAY, count);
        put_zeros(&w, 100);
        expect(&w, S2P_EUNSUPPORTED, "array of arrays", "array of %" PRIu64 " arrays", count);
    }
    for (uint32_t type = U8; type <= F64; type++) /* each value cut to each shorter length */
        for (size_t n = 0; n < width_of(type); n++) {
            put_start(&w, 3, 0, 2); /* the first key makes the file long enough for the count */
            put_number(&w, "long.enough.for.two.keys", U64, 0, 8);
            put_key(&w, "k", type);
            put_zeros(&w, n);
            expect(&w, S2P_EFORMAT, "inside key 'k'", "%zu bytes of a value of type %u", n, type);
        }
    put_start(&w, 3, 0, 2); /* and before the type */
    put_number(&w, "long.enough.for.two.keys", U64, 0, 8);
    put_string(&w, "k", 1);
    expect(&w, S2P_EFORMAT, "inside key 'k'", "no type");
    free(w.data);
}

static void test_booleans(void **state)
{
    (void)state;
    writer w = { 0 };
    static const uint8_t bad[] = { 2, 3, 0x7f, 0x80, 0xfe, 0xff };
    for (size_t i = 0; i < sizeof bad; i++) {
        put_start(&w, 3, 0, 1);
        put_number(&w, "flag", BOOL, bad[i], 1);
        expect(&w, S2P_EFORMAT, "a boolean is", "boolean %u", (unsigned)bad[i]);
        for (size_t at = 0; at < 3; at++) {
            put_start(&w, 3, 0, 1);
            put_array(&w, "flags", BOOL, 3);
            for (size_t j = 0; j < 3; j++) put(&w, j == at ? bad[i] : 1, 1);
            expect(&w, S2P_EFORMAT, "a boolean is", "boolean %u at %zu", (unsigned)bad[i], at);
        }
    }
    free(w.data);
}

static void test_strings(void **state)
{
    (void)state;
    writer w = { 0 };
    for (size_t i = 0; i < COUNT_OF(huge); i++) {
        put_start(&w, 3, 0, 1);
        put_number(&w, "s", STRING, huge[i], 8);
        put_zeros(&w, 50);
        expect(&w, S2P_EFORMAT, "where 50 are left", "string of %" PRIu64, huge[i]);
        for (uint64_t at = 0; at < 3; at += 2) { /* the first or the last of three */
            put_start(&w, 3, 0, 1);
            put_array(&w, "tokens", STRING, 3);
            for (uint64_t j = 0; j < 3; j++) put(&w, j == at ? huge[i] : 0, 8);
            expect(&w, S2P_EFORMAT, "key 'tokens': a string of", "item of %" PRIu64, huge[i]);
        }
    }
    put_start(&w, 3, 0, 1);
    put_number(&w, "s", STRING, 51, 8);
    put_zeros(&w, 50);
    expect(&w, S2P_EFORMAT, "51 bytes where 50 are left", "string one byte too long");
    put_start(&w, 3, 0, 1);
    put_number(&w, "s", STRING, (16u << 20) + 1, 8);
    put_zeros(&w, (16u << 20) + 1);
    expect(&w, S2P_ELIMIT, "the limit is 16777216", "string of 16 MiB and one");
    free(w.data);
}

static void test_arrays(void **state)
{
    (void)state;
    writer w = { 0 };
    static const uint64_t beyond[] = { P(24) + 1, P(31), P(32), P(61), P(62), P(63), UINT64_MAX };
    for (uint32_t item = U8; item <= F64; item++) {
        if (item == ARRAY) continue;
        for (size_t i = 0; i < COUNT_OF(beyond); i++) {
            put_start(&w, 3, 0, 1);
            put_array(&w, "a", item, beyond[i]);
            put_zeros(&w, 64);
            expect(&w, S2P_ELIMIT, "the limit is 16777216", "%" PRIu64 " of type %u", beyond[i],
                   item);
        }
        const uint64_t short_by_one = 64 / width_of(item) + 1;
        for (int i = 0; i < 2; i++) {
            put_start(&w, 3, 0, 1);
            put_array(&w, "a", item, i ? P(24) : short_by_one);
            put_zeros(&w, 64);
            expect(&w, S2P_EFORMAT, "where 64 bytes are left", "too many of type %u", item);
        }
    }
    put_start(&w, 3, 0, 1); /* strings that eat the room of those after them */
    put_array(&w, "a", STRING, 4);
    put_string(&w, "sixteen letters!", 16);
    put(&w, 0, 8);
    expect(&w, S2P_EFORMAT, "inside key 'a'", "array ends early");
    free(w.data);
}

static void test_alignment(void **state)
{
    (void)state;
    writer w = { 0 };
    static const uint64_t bad[] = {
        0, 1, 2, 3, 4, 5, 7, 9, 12, 24, 31, 33, 65535, 65537, 131072, P(30), 0x80000000, 0xffffffff
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        put_start(&w, 3, 0, 1);
        put_number(&w, "general.alignment", U32, bad[i], 4);
        expect(&w, S2P_EFORMAT, "not a power of two from 8", "alignment %" PRIu64, bad[i]);
    }
    for (uint32_t type = U8; type <= F64; type++) {
        if (type == U32) continue;
        put_start(&w, 3, 0, 1);
        put_key(&w, "general.alignment", type);
        if (type == ARRAY) put(&w, U32, 4);
        put(&w,
            type == BOOL || type == ARRAY ? 1
            : type == STRING              ? 0
                                          : 64,
            type == ARRAY ? 8 : width_of(type));
        if (type == ARRAY) put(&w, 64, 4);
        expect(&w, S2P_EFORMAT, "not of type u32", "alignment of type %u", type);
    }
    free(w.data);
}

/* --- names twice, names that collide -------------------------------------------------------------
 */

static void test_twice(void **state)
{
    (void)state;
    writer w = { 0 };
    for (uint32_t n = 2; n < 40; n += 9)
        for (uint32_t first = 0; first < n - 1; first += n / 2) {
            char name[16];
            put_start(&w, 3, 0, n);
            for (uint32_t i = 0; i < n; i++) {
                (void)snprintf(name, sizeof name, "key%u", i == n - 1 ? first : i);
                put_number(&w, name, U32, i, 4);
            }
            expect(&w, S2P_EFORMAT, "is there twice", "key %u of %u again", first, n);
            put_start(&w, 3, n, 0);
            for (uint32_t i = 0; i < n; i++) {
                (void)snprintf(name, sizeof name, "w%u", i == n - 1 ? first : i);
                put_tensor(&w, name, 1, &(uint64_t){ 1 }, 0, 32 * i);
            }
            put_padding(&w, 32);
            put_zeros(&w, 32 * n);
            expect(&w, S2P_EFORMAT, "is there twice", "tensor %u of %u again", first, n);
        }
    free(w.data);
}

/* Names found by trial that all want one slot of the table. */
static void test_collisions(void **state)
{
    (void)state;
    enum { N = 300, SLOTS = 1024 };
    writer w = { 0 };
    for (int is_tensor = 0; is_tensor < 2; is_tensor++) {
        char name[16];
        put_start(&w, 3, is_tensor ? N : 0, is_tensor ? 0 : N);
        for (uint32_t i = 0, n = 0; n < N; i++) {
            const int length = snprintf(name, sizeof name, "%x", i);
            if (s2v_name_hash(name, (size_t)length) % SLOTS != 1000) continue;
            if (is_tensor)
                put_tensor(&w, name, 1, &(uint64_t){ 1 }, 0, 32 * n);
            else
                put_number(&w, name, U8, 0, 1);
            n++;
        }
        expect(&w, S2P_ELIMIT, "share one hash", "%d names in one slot", N);
    }
    free(w.data);
}

/* --- tensors
 * ---------------------------------------------------------------------------------------- */

/* One tensor "w" and `n_data` bytes of data after it. */
static void one_tensor(writer *w, uint32_t n_dims, const uint64_t *ne, uint64_t type,
                       uint64_t offset, size_t n_data)
{
    put_start(w, 3, 1, 0);
    put_tensor(w, "w", n_dims, ne, type, offset);
    put_padding(w, 32);
    put_zeros(w, n_data);
}

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
            expect(&w, S2P_EFORMAT, "need a multiple of", "rows of %" PRIu64 " in type %u", rows[i],
                   type);
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

/* --- by machine
 * ------------------------------------------------------------------------------------------ */

static void test_truncations(void **state)
{
    (void)state;
    writer w = { 0 };
    put_valid(&w);
    for (size_t n = 0; n < w.n; n++) {
        uint8_t *exact = malloc(n ? n : 1);
        assert_non_null(exact);
        memcpy(exact, w.data, n);
        s2v_gguf *file = NULL;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2v_gguf_parse(&file, exact, n, NULL, &error);
        CHECK_CASE(st == S2P_EFORMAT && !file && error.message[0], "%zu bytes: %d", n, st);
        free(exact);
    }
    print_message("%zu truncations\n", w.n);
    free(w.data);
}

/* Refused with a sentence, or accepted and all promises hold. */
static bool is_sound(const uint8_t *bytes, size_t n, size_t *n_accepted)
{
    s2v_gguf *file = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_gguf_parse(&file, bytes, n, "mutant", &error);
    const char *broken = st == S2P_OK ? gguf_broken_promise(file, bytes, n) : NULL;
    if (broken) print_error("not true: %s\n", broken);
    *n_accepted += st == S2P_OK;
    s2v_gguf_close(file);
    return st == S2P_OK ? !broken : !file && error.status == st && error.message[0];
}

static void test_bytes(void **state)
{
    (void)state;
    static const uint8_t values[] = { 0x00, 0x7f, 0x80, 0xff };
    writer w = { 0 };
    put_valid(&w);
    uint8_t *exact = malloc(w.n);
    assert_non_null(exact);
    size_t n_accepted = 0, n_mutants = 0;
    for (size_t at = 0; at < w.n; at++)
        for (size_t v = 0; v < sizeof values; v++, n_mutants++) {
            memcpy(exact, w.data, w.n);
            exact[at] = values[v];
            CHECK_CASE(is_sound(exact, w.n, &n_accepted), "byte %zu = %u", at, (unsigned)values[v]);
        }
    print_message("%zu mutants, %zu accepted\n", n_mutants, n_accepted);
    assert_true(n_accepted > 0 && n_accepted < n_mutants);
    free(exact);
    free(w.data);
}

/* Several bytes at once, seeded. */
static void test_random(void **state)
{
    (void)state;
    writer w = { 0 };
    const size_t header = put_valid(&w);
    uint8_t *exact = malloc(w.n);
    assert_non_null(exact);
    uint32_t seed = 1;
    size_t n_accepted = 0;
    for (int round = 0; round < 20000; round++) {
        memcpy(exact, w.data, w.n);
        const int32_t n = 1 + random_below(&seed, 4);
        for (int32_t i = 0; i < n; i++)
            exact[random_below(&seed, (int32_t)header)] = (uint8_t)random_below(&seed, 256);
        CHECK_CASE(is_sound(exact, w.n, &n_accepted), "round %d", round);
    }
    free(exact);
    free(w.data);
}

static void write_valid_seeds(void)
{
    writer w = { 0 };
    const uint64_t ne[2] = { 32, 2 };
    n_cases = 1;
    put_start(&w, 3, 0, 0);
    write_seed(&w);
    for (uint64_t version = 2; version < 4; version++) {
        n_cases = 6 * version + 1;
        w.n = 0;
        put_start(&w, (uint32_t)version, 2, 3);
        put_number(&w, "general.alignment", U32, 8, 4);
        put_array(&w, "s", STRING, 2);
        put_string(&w, "a", 1);
        put_string(&w, "bc", 2);
        put_number(&w, "f", F32, 0x7fc00000, 4);
        put_tensor(&w, "q", 2, ne, 8, 0);
        put_tensor(&w, "n", 1, ne, 0, 72);
        put_padding(&w, 8);
        put_zeros(&w, 72 + 128);
        write_seed(&w);
    }
    free(w.data);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest by_hand[] = {
        cmocka_unit_test(test_start),        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_key_names),    cmocka_unit_test(test_value_types),
        cmocka_unit_test(test_booleans),     cmocka_unit_test(test_strings),
        cmocka_unit_test(test_arrays),       cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_twice),        cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_tensor_names), cmocka_unit_test(test_dimensions),
        cmocka_unit_test(test_overflows),    cmocka_unit_test(test_tensor_types),
        cmocka_unit_test(test_places),       cmocka_unit_test(test_overlaps),
        cmocka_unit_test(test_published),    cmocka_unit_test(test_enough),
    };
    const struct CMUnitTest by_machine[] = {
        cmocka_unit_test(test_truncations),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_random),
    };
    const bool makes_corpus = argc == 3 && strcmp(argv[1], "corpus") == 0;
    if (makes_corpus) corpus = argv[2];
    const int failed = cmocka_run_group_tests(by_hand, NULL, NULL);
    if (!makes_corpus) return failed + cmocka_run_group_tests(by_machine, NULL, NULL);
    write_valid_seeds();
    return failed;
}
