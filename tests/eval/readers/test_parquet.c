/* test_parquet.c - Parquet files of other writers, value by value; and what broken ones cost.
 *
 *     test_parquet WORK [FOLDER]   FOLDER: one made by make_tables.mjs (default: tests/data/tables)
 */
#include "check.h"
#include "table_files.h"

#include <dirent.h>

static const char *tables = S2_TEST_DATA "/tables";

static const char *path_of(const char *name)
{
    static char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", tables, name);
    return path;
}

static char *rows_of(const char *path, const s2e_rows_options *options)
{
    s2_buffer out;
    s2p_error error = { .message = "" };
    s2_buffer_init(&out, (size_t)1 << 30);
    const s2p_status st = print_rows(path, options, &out, &error);
    if (st != S2P_OK) s2_buffer_printf(&out, "%s", error.message);
    s2_buffer_append(&out, "", 1);
    assert_int_equal(out.status, S2P_OK);
    return (char *)out.data;
}

static bool is_parquet(const char *name)
{
    const size_t n = strlen(name);
    return n > 8 && strcmp(name + n - 8, ".parquet") == 0;
}

/* Where two texts part, for the failure message. */
static void check_same(const char *name, const char *got, const char *expected)
{
    size_t i = 0;
    while (got[i] && got[i] == expected[i]) i++;
    const size_t from = i > 60 ? i - 60 : 0;
    CHECK_CASE(strcmp(got, expected) == 0, "%s: ...%.120s\n      not ...%.120s", name, got + from,
               expected + from);
}

static void test_values(void **state)
{
    (void)state;
    char *expected = rows_of(path_of("table.jsonl"), NULL);
    assert_non_null(strstr(expected, "]; boxes=[{label=")); /* it is no empty table */
    assert_non_null(strstr(expected, "*\n"));
    DIR *folder = opendir(tables);
    assert_non_null(folder);
    int n = 0;
    for (const struct dirent *entry; (entry = readdir(folder));) {
        if (!is_parquet(entry->d_name)) continue;
        char *got = rows_of(path_of(entry->d_name), NULL);
        check_same(entry->d_name, got, expected);
        free(got);
        n++;
    }
    closedir(folder);
    free(expected);
    assert_true(n >= 3);
}

/* A cell the way every form can say it: numbers as text, lists out of literals, pictures as places;
 * nothing and "" are the same. */
static void print_common(const s2e_row *row, const char *column, s2_buffer *out)
{
    const s2e_value *value = s2e_row_value(row, column);
    const s2e_place *place[1];
    const s2e_value *list;
    s2p_error error;
    if (s2e_value_places(value, place, 1) == 1) {
        s2_buffer_printf(out, "@%s", place[0]->sha256);
    } else if (strcmp(column, "answers") == 0 || strcmp(column, "boxes") == 0) {
        if (value && value->type == S2E_TEXT && value->n == 0)
            list = NULL;
        else
            assert_int_equal(s2e_row_list(row, column, &list, &error), S2P_OK);
        if (list) print_value(list, out);
    } else {
        const char *text = s2e_row_text(row, column);
        s2_buffer_printf(out, "%s", text ? text : "");
    }
    s2_buffer_printf(out, "|");
}

static char *common_rows(const char *path)
{
    static const char *const columns[] = { "index",   "flag",     "small", "score",
                                           "weight",  "question", "hint",  "category",
                                           "answers", "boxes",    "image", "image_2" };
    s2_buffer out;
    s2p_error error;
    s2e_rows *rows;
    s2_buffer_init(&out, (size_t)1 << 30);
    assert_int_equal(s2e_rows_open(path, NULL, &rows, &error), S2P_OK);
    for (;;) {
        s2e_row row;
        bool end;
        const s2p_status st = s2e_rows_next(rows, &row, &end, &error);
        CHECK_CASE(st == S2P_OK, "%s", error.message);
        if (end) break;
        for (size_t i = 0; i < COUNT_OF(columns); i++) print_common(&row, columns[i], &out);
        s2_buffer_printf(&out, "\n");
    }
    s2e_rows_close(rows);
    s2_buffer_append(&out, "", 1);
    return (char *)out.data;
}

/* TSV, JSON lines and Parquet of one table: the same rows. */
static void test_forms(void **state)
{
    (void)state;
    char *tsv = common_rows(path_of("table.tsv")), *jsonl = common_rows(path_of("table.jsonl"));
    char *parquet = common_rows(path_of("hyparquet-snappy.parquet"));
    check_same("tsv", tsv, jsonl);
    check_same("parquet", parquet, jsonl);
    free(tsv);
    free(jsonl);
    free(parquet);
}

static s2_buffer read_bytes(const char *name)
{
    s2_buffer b;
    s2p_error error;
    s2_buffer_init(&b, (size_t)1 << 30);
    CHECK_CASE(s2_file_read(path_of(name), &b, &error) == S2P_OK, "%s", error.message);
    return b;
}

/* The page of row `number`'s second picture. */
static uint64_t page_of_row(const char *path, int64_t number)
{
    s2e_rows *rows;
    s2e_row row;
    s2p_error error;
    bool end = false;
    uint64_t page = 0;
    assert_int_equal(s2e_rows_open(path, NULL, &rows, &error), S2P_OK);
    for (int64_t i = 0; i < number && !end; i++) {
        assert_int_equal(s2e_rows_next(rows, &row, &end, &error), S2P_OK);
        const s2e_value *value = s2e_row_value(&row, "image");
        const s2e_place *place[1];
        if (s2e_value_places(value, place, 1) == 1) page = place[0]->page;
    }
    s2e_rows_close(rows);
    return page;
}

/* A page without a header costs the rest of its row group, and only where its column is read. */
static void test_broken_page(void **state)
{
    (void)state;
    s2_buffer file = read_bytes("hyparquet-snappy.parquet"); /* seven rows in a group */
    const uint64_t page = page_of_row(path_of("hyparquet-snappy.parquet"), 8);
    assert_true(page > 4);
    memset(file.data + page, 0xFF, 4);
    const char *path = write_table("broken.parquet", file.data, file.size);
    char *got = rows_of(path, NULL);
    assert_non_null(strstr(got, "\n7: index="));
    CHECK_CASE(strstr(got, "\n! broken.parquet, rows 8 to 14: broken.parquet: the page at byte "),
               "%s", got);
    assert_non_null(strstr(got, "\n15: index="));
    assert_non_null(strstr(got, "\nlost 7\n"));
    free(got);

    static const char *const index[] = { "index" };
    const s2e_rows_options few = { .column = index, .n_columns = 1 };
    got = rows_of(path, &few);
    assert_non_null(strstr(got, "\n8: index="));
    assert_non_null(strstr(got, "\nlost 0\n"));
    free(got);
    s2_buffer_free(&file);
}

static void test_limits(void **state)
{
    (void)state;
    const s2e_rows_options text = { .max_text = 30 }, picture = { .max_picture = 100 };
    const s2e_rows_options page = { .max_page = 100 }, row = { .max_row = 1000 };
    const char *path = path_of("duckdb-zstd.parquet");
    char *got = rows_of(path, &text);
    assert_non_null(strstr(got, "bytes; the limit is 30\n"));
    assert_non_null(strstr(got, ": index=")); /* rows of short texts are there */
    free(got);
    got = rows_of(path, &picture);
    assert_non_null(strstr(got, "column 'bytes': the picture has "));
    assert_non_null(strstr(got, ": index="));
    free(got);
    got = rows_of(path, &page);
    assert_non_null(
        strstr(got, "! duckdb-zstd.parquet, rows 1 to 24: duckdb-zstd.parquet: the page at"));
    free(got);
    got = rows_of(path, &row);
    assert_non_null(strstr(got, "its values have more than 1000 bytes, the limit"));
    free(got);
}

static void test_refusals(void **state)
{
    (void)state;
    s2_buffer file = read_bytes("duckdb-zstd.parquet");
    char *got = rows_of(write_table("cut.parquet", file.data, file.size - 1), NULL);
    assert_string_equal(got, "cut.parquet: it is truncated: a Parquet file ends with PAR1");
    free(got);
    got = rows_of(write_table("short.parquet", file.data, 11), NULL);
    assert_string_equal(got, "short.parquet: 11 bytes are not a Parquet file");
    free(got);
    got = rows_of(write_text("text.parquet", "hello"), NULL);
    assert_string_equal(got, "text.parquet: a Parquet file begins with PAR1");
    free(got);
    file.data[file.size - 5] = 0x7F; /* a footer of two gigabytes */
    got = rows_of(write_table("huge.parquet", file.data, file.size), NULL);
    assert_non_null(strstr(got, "huge.parquet: a footer of 21"));
    free(got);
    memcpy(file.data + file.size - 4, "PARE", 4);
    got = rows_of(write_table("secret.parquet", file.data, file.size), NULL);
    assert_string_equal(got, "secret.parquet: it is encrypted");
    free(got);
    s2_buffer_free(&file);
}

/* Any damage is a sentence or a row: bytes changed, one at a time. */
static void test_damage(void **state)
{
    (void)state;
    static const char *const names[] = { "duckdb-zstd-v2.parquet", "hyparquet-snappy.parquet",
                                         "hyparquet-delta.parquet" };
    uint32_t seed = 5;
    const s2e_rows_options options = { .max_text = 1 << 16,
                                       .max_row = 1 << 20,
                                       .max_page = 1 << 20 };
    for (size_t k = 0; k < COUNT_OF(names); k++) {
        s2_buffer file = read_bytes(names[k]);
        int n_broken = 0;
        for (int round = 0; round < 400; round++) {
            /* half of them in the footer, where the numbers are */
            const size_t n = file.size / 2 + 1;
            const size_t at =
                (round % 2 ? file.size - n : 0) + (size_t)random_below(&seed, (int32_t)n);
            const uint8_t before = file.data[at];
            file.data[at] = (uint8_t)next_random(&seed);
            s2e_rows *rows;
            s2p_error error = { .message = "" };
            s2p_status st = s2e_rows_open(write_table("damaged.parquet", file.data, file.size),
                                          &options, &rows, &error);
            if (st != S2P_OK) {
                CHECK_CASE(error.message[0] && !rows, "%s, byte %zu", names[k], at);
                n_broken++;
            }
            bool end = false;
            for (int i = 0; rows && !end && i < 1000; i++) {
                s2e_row row;
                st = s2e_rows_next(rows, &row, &end, &error);
                CHECK_CASE(st == S2P_OK || s2e_row_is_lost(st), "%s, byte %zu: %s", names[k], at,
                           error.message);
                n_broken += st != S2P_OK;
            }
            s2e_rows_close(rows);
            file.data[at] = before;
        }
        assert_true(n_broken > 20);
        s2_buffer_free(&file);
    }
}

int main(int argc, char **argv)
{
    if (argc > 1) table_folder = argv[1];
    if (argc > 2) tables = argv[2];
    const struct CMUnitTest all[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_forms),
        cmocka_unit_test(test_limits),   cmocka_unit_test(test_broken_page),
        cmocka_unit_test(test_refusals), cmocka_unit_test(test_damage),
    };
    if (argc > 2) { /* another table: only what holds for any */
        const struct CMUnitTest any[] = { cmocka_unit_test(test_values),
                                          cmocka_unit_test(test_forms) };
        return cmocka_run_group_tests(any, NULL, NULL);
    }
    return cmocka_run_group_tests(all, NULL, NULL);
}
