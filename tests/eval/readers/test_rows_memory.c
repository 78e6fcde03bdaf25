/* test_rows_memory.c - memory is that of one row (one page per column), however long the file; a cell
 * of a gigabyte costs its row and no memory; without memory a reader says so and leaks nothing. */
#include "check.h"
#include "parquet_maker.h"
#include "table_files.h"

#include <malloc.h>
#include <unistd.h>

/* Every allocation of ours is counted, and one of them may fail; leaks show in `live`. */
static size_t live, most;
static int allocations_left = -1; /* that still succeed; negative: all do */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *old, size_t size);
char *__real_strdup(const char *text);
void __real_free(void *p);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *old, size_t size);
char *__wrap_strdup(const char *text);
void __wrap_free(void *p);

static bool must_fail(void) { return allocations_left >= 0 && allocations_left-- == 0; }

static void *counted(void *p)
{
    live += malloc_usable_size(p);
    if (live > most) most = live;
    return p;
}

void *__wrap_malloc(size_t size) { return must_fail() ? NULL : counted(__real_malloc(size)); }

void *__wrap_calloc(size_t n, size_t size)
{
    return must_fail() ? NULL : counted(__real_calloc(n, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (must_fail()) return NULL;
    live -= malloc_usable_size(old);
    return counted(__real_realloc(old, size));
}

char *__wrap_strdup(const char *text) { return must_fail() ? NULL : counted(__real_strdup(text)); }

void __wrap_free(void *p)
{
    live -= malloc_usable_size(p);
    __real_free(p);
}

#define MEGABYTE ((size_t)1 << 20)

/* Most bytes allocated at once while all rows are read and every fourth picture is loaded. */
static size_t memory_of(const char *path, int64_t n_rows)
{
    s2e_rows *rows;
    s2e_row row;
    s2p_error error;
    int64_t n = 0;
    const size_t before = most = live;
    assert_int_equal(s2e_rows_open(path, NULL, &rows, &error), S2P_OK);
    for (bool end = false;;) {
        CHECK_CASE(s2e_rows_next(rows, &row, &end, &error) == S2P_OK, "%s", error.message);
        if (end) break;
        const s2e_value *image = s2e_row_value(&row, "image");
        assert_true(image && image->type == S2E_PLACE && image->place->size == MEGABYTE);
        if (++n % 4 == 0) {
            s2_buffer bytes;
            s2_buffer_init(&bytes, 2 * MEGABYTE);
            CHECK_CASE(s2e_place_load(image->place, &bytes, &error) == S2P_OK, "%s", error.message);
            s2_buffer_free(&bytes);
        }
    }
    s2e_rows_close(rows);
    assert_int_equal(n, n_rows);
    assert_int_equal(live, before);
    return most - before;
}

/* n rows with a picture of a megabyte each, as TSV or JSON lines. */
static const char *write_pictures(const char *name, bool json, int n)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", table_folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    s2_buffer text;
    s2_buffer_init(&text, 2 * MEGABYTE);
    uint8_t *bytes = calloc(MEGABYTE, 1);
    assert_non_null(bytes);
    if (!json) fprintf(file, "index\timage\n");
    for (int i = 0; i < n; i++) {
        text.size = 0;
        memset(bytes, i, 1000);
        s2_base64_append(&text, bytes, MEGABYTE);
        fprintf(file, json ? "{\"index\":%d,\"image\":\"" : "%d\t", i);
        fwrite(text.data, 1, text.size, file);
        fprintf(file, json ? "\"}\n" : "\n");
    }
    free(bytes);
    s2_buffer_free(&text);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void test_flat(void **state)
{
    (void)state;
    const size_t loaded = 2 * MEGABYTE + MEGABYTE / 2; /* the buffer a picture is loaded into */
    size_t few = memory_of(write_pictures("few.tsv", false, 4), 4);
    size_t many = memory_of(write_pictures("many.tsv", false, 24), 24);
    CHECK_CASE(many <= few + 4096 && few < loaded + MEGABYTE, "tsv: %zu, %zu", few, many);
    few = memory_of(write_pictures("few.jsonl", true, 4), 4);
    many = memory_of(write_pictures("many.jsonl", true, 24), 24);
    CHECK_CASE(many <= few + 4096 && few < loaded + 4 * MEGABYTE, "jsonl: %zu, %zu", few, many);

    char path[4096];
    (void)snprintf(path, sizeof path, "%s/many.parquet", table_folder);
    size_t size[2];
    for (int k = 0; k < 2; k++) {
        parquet_maker maker;
        maker_open(&maker, path);
        for (int g = 0; g < (k ? 12 : 2); g++) maker_group(&maker, 2, MEGABYTE);
        maker_close(&maker);
        size[k] = memory_of(path, k ? 24 : 4);
    }
    CHECK_CASE(size[1] <= size[0] + 8192 && size[0] < loaded + 6 * MEGABYTE, "parquet: %zu, %zu",
               size[0], size[1]);
}

/* A table with a hole of a gigabyte in the middle: nothing on the disk, a cell of NULs to a reader. */
static const char *write_hole(const char *name, const char *before, const char *after)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", table_folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fprintf(file, "%s", before);
    assert_int_equal(fseek(file, 1L << 30, SEEK_CUR), 0);
    fprintf(file, "%s", after);
    assert_int_equal(fclose(file), 0);
    return path;
}

static void expect(const char *path, const char *expected)
{
    const s2e_rows_options options = { .max_row = 4 * MEGABYTE, .max_text = 2 * MEGABYTE };
    s2_buffer out;
    s2p_error error = { .message = "" };
    s2_buffer_init(&out, MEGABYTE);
    const size_t before = most = live;
    assert_int_equal(print_rows(path, &options, &out, &error), S2P_OK);
    s2_buffer_append(&out, "", 1);
    assert_string_equal((char *)out.data, expected);
    CHECK_CASE(most - before < 12 * MEGABYTE, "%zu bytes", most - before);
    s2_buffer_free(&out);
    (void)unlink(path);
}

static void test_gigabyte(void **state)
{
    (void)state;
    expect(write_hole("hole.tsv", "a\tb\timage\n1\t", "\t\n2\tx\t\n"),
           "! hole.tsv, row 1: column 'b': it has more than 2097152 bytes, the limit\n"
           "2: a=\"2\"; b=\"x\"; image=none\nlost 1\n");
    expect(write_hole("picture.tsv", "image\ta\n", "\t1\n\t2\n"),
           "! picture.tsv, row 1: column 'image': the picture is no base64 after 0 decoded bytes\n"
           "2: image=none; a=\"2\"\nlost 1\n");
    expect(write_hole("hole.jsonl", "{\"a\":\"", "\"}\n{\"a\":2}\n"),
           "! hole.jsonl, row 1: the record is longer than the limit of a row\n2: a=2\nlost 1\n");
}

/* Each allocation fails in turn: a status, never a crash; what was taken is given back. */
static void test_no_memory(void **state)
{
    (void)state;
    static const char *const paths[] = {
        S2_TEST_DATA "/tables/table.tsv",
        S2_TEST_DATA "/tables/duckdb-zstd.parquet",
        S2_TEST_DATA "/tables/hyparquet-delta.parquet",
    };
    for (size_t k = 0; k < COUNT_OF(paths); k++) {
        for (int fails = 0; fails < 400; fails++) {
            s2e_rows *rows;
            s2e_row row;
            s2p_error error = { .message = "" };
            const size_t before = live;
            bool end = false;
            allocations_left = fails;
            s2p_status st = s2e_rows_open(paths[k], NULL, &rows, &error);
            for (int i = 0; rows && !end && i < 100; i++)
                st = s2e_rows_next(rows, &row, &end, &error);
            const bool failed = allocations_left < 0;
            s2e_rows_close(rows);
            allocations_left = -1;
            CHECK_CASE(live == before, "%s: allocation %d leaks", paths[k], fails);
            if (!failed) break;
            CHECK_CASE(error.message[0] && (rows || st == S2P_ENOMEM), "%s: allocation %d: %s",
                       paths[k], fails, error.message);
        }
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) table_folder = argv[1];
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_flat),
                                        cmocka_unit_test(test_gigabyte),
                                        cmocka_unit_test(test_no_memory) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
