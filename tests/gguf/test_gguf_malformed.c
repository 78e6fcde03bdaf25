/* test_gguf_malformed.c - malformed headers, keys and values: by hand, and thousands by machine.
 *
 * Each handmade file has one mistake and names the status and a piece of the sentence it must end
 * in, so a file refused for another reason is a failure too. Tensors
 * and published vulnerabilities: test_gguf_malformed_tensors.c.
 *
 *   test_gguf_malformed                  the tests
 *   test_gguf_malformed corpus FOLDER    write some of the files there, as seeds for fuzz_gguf
 */
#include "malformed.h"

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
    expect(&w, S2P_EFORMAT, "41 bytes, but only 40", "name one byte too long");
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
        expect(&w, S2P_EFORMAT, "only 50 bytes are left", "string of %" PRIu64, huge[i]);
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
    expect(&w, S2P_EFORMAT, "51 bytes, but only 50 bytes are left", "string one byte too long");
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
            expect(&w, S2P_EFORMAT, "only 64 bytes are left", "too many of type %u", item);
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
            expect(&w, S2P_EFORMAT, "occurs twice", "key %u of %u again", first, n);
            put_start(&w, 3, n, 0);
            for (uint32_t i = 0; i < n; i++) {
                (void)snprintf(name, sizeof name, "w%u", i == n - 1 ? first : i);
                put_tensor(&w, name, 1, &(uint64_t){ 1 }, 0, 32 * i);
            }
            put_padding(&w, 32);
            put_zeros(&w, 32 * n);
            expect(&w, S2P_EFORMAT, "occurs twice", "tensor %u of %u again", first, n);
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
        cmocka_unit_test(test_start),     cmocka_unit_test(test_counts),
        cmocka_unit_test(test_key_names), cmocka_unit_test(test_value_types),
        cmocka_unit_test(test_booleans),  cmocka_unit_test(test_strings),
        cmocka_unit_test(test_arrays),    cmocka_unit_test(test_alignment),
        cmocka_unit_test(test_twice),     cmocka_unit_test(test_collisions),
        cmocka_unit_test(test_enough),
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
