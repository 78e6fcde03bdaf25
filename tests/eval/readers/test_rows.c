/* test_rows.c - tables of text and JSON: what is read from them, and what is said of broken ones. */
#include "check.h"
#include "table_files.h"

#include "base/base64_decode.h"
#include "eval/readers/references.h"

/* The rows of a file with this name and these bytes are exactly these lines. */
static void expect(const char *name, const char *bytes, size_t n, const s2e_rows_options *options,
                   const char *expected)
{
    s2_buffer out;
    s2p_error error = { .message = "" };
    s2_buffer_init(&out, (size_t)1 << 24);
    const s2p_status st = print_rows(write_table(name, bytes, n), options, &out, &error);
    if (st != S2P_OK) s2_buffer_printf(&out, "%s", error.message);
    s2_buffer_append(&out, "", 1);
    assert_string_equal((char *)out.data, expected);
    s2_buffer_free(&out);
}

static void expect_text(const char *name, const char *text, const char *expected)
{
    expect(name, text, strlen(text), NULL, expected);
}

/* 49 bytes: the shortest whose base64 (68 characters) is longer than a reference. */
#define PICTURE "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eg=="
#define PLACE "@64cc0ab1:52" /* checked by sha256sum of A..Za..z */

static void test_quoting(void **state)
{
    (void)state;
    expect_text(
        "a.tsv",
        "index\tquestion\n1\tplain\n2\t\"tab\there\"\n3\t\"two\nlines\"\n4\t\"say \"\"hi\"\"\"\n",
        "1: index=\"1\"; question=\"plain\"\n2: index=\"2\"; question=\"tab\there\"\n"
        "3: index=\"3\"; question=\"two\nlines\"\n4: index=\"4\"; question=\"say \"hi\"\"\nlost "
        "0\n");
    expect_text("b.tsv",
                "a\tb\n5\" wide\tx\"y\n\"p\"q\t\n", /* as pandas: a quote later is a character */
                "1: a=\"5\" wide\"; b=\"x\"y\"\n2: a=\"pq\"; b=\"\"\nlost 0\n");
    expect_text("c.csv", "a,b\n\"1,5\",\t\n", "1: a=\"1,5\"; b=\"\t\"\nlost 0\n");
    expect_text("noending", "a,b\n1,2\n", "1: a=\"1\"; b=\"2\"\nlost 0\n");
}

static void test_line_ends(void **state)
{
    (void)state;
    expect_text(
        "a.tsv", "\xEF\xBB\xBFindex\tq\r\n1\ta\r\n\r\n2\tb\r3\tc", /* BOM, CR LF, CR, no end */
        "1: index=\"1\"; q=\"a\"\n2: index=\"2\"; q=\"b\"\n3: index=\"3\"; q=\"c\"\nlost 0\n");
    expect_text("b.tsv", "a\tb\n1\t", "1: a=\"1\"; b=\"\"\nlost 0\n");
    expect_text("c.tsv", "a\tb\n", "lost 0\n");
}

static void test_text_faults(void **state)
{
    (void)state;
    expect_text("a.tsv", "a\tb\n1\n2\tx\n3\ty\tz\n",
                "! a.tsv, row 1: it has 1 fields, the header 2\n2: a=\"2\"; b=\"x\"\n"
                "! a.tsv, row 3: it has 3 fields, the header 2\nlost 2\n");
    expect_text(
        "b.tsv", "a\tb\n1\t\xFF\n2\tx\n3\t\xED\xA0\x80\n",
        "! b.tsv, row 1: column 'b': it is not UTF-8 text without NUL\n2: a=\"2\"; b=\"x\"\n"
        "! b.tsv, row 3: column 'b': it is not UTF-8 text without NUL\nlost 2\n");
    expect("c.tsv", "a\tb\n1\tx\0y\n2\tz\n", 14, NULL,
           "! c.tsv, row 1: column 'b': it is not UTF-8 text without NUL\n2: a=\"2\"; "
           "b=\"z\"\nlost 1\n");
    expect_text("d.tsv", "a\tb\n1\tx\n2\t\"cut",
                "1: a=\"1\"; b=\"x\"\n! d.tsv, row 2: the file ends inside quotes\nlost 1\n");
    expect_text("e.tsv", "a\tb\ta\n1\t2\t3\n", "e.tsv: columns 1 and 3 are both 'a'");
    expect_text("f.tsv", "", "f.tsv: it is empty");
    expect_text("g.tsv", "\"a\tb\n1\n", "g.tsv: it ends inside the quotes of its header");
    s2e_rows_options options = { .max_text = 4 };
    expect("h.tsv", "a\tb\n1\t12345\n2\t1234\n", 19, &options,
           "! h.tsv, row 1: column 'b': it has more than 4 bytes, the limit\n2: a=\"2\"; "
           "b=\"1234\"\nlost 1\n");
}

static void test_pictures(void **state)
{
    (void)state;
    expect_text(
        "a.tsv", "index\timage\n1\t" PICTURE "\n2\t1\n3\t['" PICTURE "', \"" PICTURE "\"]\n4\t\n",
        "1: index=\"1\"; image=" PLACE "*\n2: index=\"2\"; image=\"1\"\n"
        "3: index=\"3\"; image=[" PLACE "," PLACE "]**\n4: index=\"4\"; image=none\nlost 0\n");
    expect_text("b.tsv",
                "image\n\"data:image/png;base64," PICTURE "\"\n\"[\"\"" PICTURE "\"\"]\"\n",
                "1: image=" PLACE "*\n2: image=[" PLACE "]*\nlost 0\n");
    expect_text(
        "c.tsv",
        "image\timage_2\n" PICTURE "x\t\n\t" PICTURE "\nQ" PICTURE "\tx\n['" PICTURE
        "\tx\n['a', 7]\tx\n",
        "! c.tsv, row 1: column 'image': the picture is no base64 after 52 decoded bytes\n"
        "2: image=none; image_2=" PLACE "*\n"
        "! c.tsv, row 3: column 'image': the picture is no base64 after 53 decoded bytes\n"
        "! c.tsv, row 4: column 'image': the list of pictures does not end\n"
        "! c.tsv, row 5: column 'image': the list of pictures is not a list of strings\nlost 4\n");
    char cut[128];
    (void)snprintf(cut, sizeof cut, "image\n%.70s\n", PICTURE);
    expect_text("d.tsv", cut,
                "! d.tsv, row 1: column 'image': the picture is cut base64 after 51 decoded "
                "bytes\nlost 1\n");
    const s2e_rows_options small = { .max_picture = 51 };
    expect(
        "e.tsv", "image\n" PICTURE "\n", strlen(PICTURE) + 7, &small,
        "! e.tsv, row 1: column 'image': the picture has more than 51 bytes, the limit\nlost 1\n");
    const char *const figure[] = { "figure" }, *const index[] = { "index" };
    const s2e_rows_options other = { .picture = figure, .n_pictures = 1 };
    expect("f.csv", "figure,image\n" PICTURE ",x\n", strlen(PICTURE) + 16, &other,
           "1: figure=" PLACE "*; image=\"x\"\nlost 0\n");
    const s2e_rows_options few = { .column = index, .n_columns = 1 };
    expect("g.tsv", "index\timage\n1\t!!\n", 17, &few, "1: index=\"1\"\nlost 0\n");
}

static void test_nan(void **state)
{
    (void)state;
    const s2e_rows_options options = { .nan_is_none = true };
    const char *text = "a\tb\tc\nNA\t\tna\nnull\tNone\tnAn\n1.#QNAN\t#N/A N/A\tNULL \n";
    expect("a.tsv", text, strlen(text), &options,
           "1: a=none; b=none; c=\"na\"\n2: a=none; b=none; c=\"nAn\"\n3: a=none; b=none; c=\"NULL "
           "\"\nlost 0\n");
    assert_true(s2e_text_is_nan("", 0) && s2e_text_is_nan("-1.#QNAN", 8) &&
                !s2e_text_is_nan("nan ", 4));
}

static void test_json_shapes(void **state)
{
    (void)state;
    const char *rows = "1: id=7; q=\"a\"\n2: id=\"x\"; q=[1,2.5,true,none,{k=\"v\"}]\nlost 0\n";
    expect_text(
        "a.jsonl",
        "{\"id\":7,\"q\":\"a\"}\n\n{\"id\":\"x\",\"q\":[1,2.5,true,null,{\"k\":\"v\"}]}\r\n", rows);
    expect_text("b.json",
                "{\"id\":7,\"q\":\"a\"}\n{\"id\":\"x\",\"q\":[1,2.5,true,null,{\"k\":\"v\"}]}",
                rows);
    expect_text(
        "c.json",
        " [ {\"id\":7,\"q\":\"a\"} ,\n{\"id\":\"x\",\"q\":[1,2.5,true,null,{\"k\":\"v\"}]}]", rows);
    expect_text(
        "d.json", "{\"v1_0\": {\"q\":\"a\"}, \"v1_\\u0031\": {\"q\":\"]}\\\"\"}, \"n\": [1]}",
        "1: id=\"v1_0\"; q=\"a\"\n2: id=\"v1_1\"; q=\"]}\"\"\n3: id=\"n\"; value=[1]\nlost 0\n");
    const s2e_rows_options member = { .member = "data" };
    const char *nested = "{\"info\":{\"data\":[5]},\"data\":[{\"q\":1},{\"q\":2}],\"z\":0}";
    expect("e.json", nested, strlen(nested), &member, "1: q=1\n2: q=2\nlost 0\n");
    const s2e_rows_options absent = { .member = "rows" };
    expect("f.json", nested, strlen(nested), &absent, "f.json: the object has no member 'rows'");
    expect_text("g.json", "[]", "lost 0\n");
    expect_text("h.json", "{}", "lost 0\n");
    expect_text("i.json", "12", "i.json: it begins with neither '{' nor '['");
}

static void test_json_faults(void **state)
{
    (void)state;
    expect_text(
        "a.jsonl",
        "{\"a\":1}\n{\"a\":\n{\"a\":1,\"a\":2}\n{\"a\":\"\xFF\"}\n{\"a\":3}{\n{\"a\":4}\n{"
        "\"a\":\"\\u0000\"}\n{\"a\":01}",
        "1: a=1\n! a.jsonl, row 2: it is not a JSON object near its byte 5\n! a.jsonl, row 3: "
        "it has 'a' twice\n"
        "! a.jsonl, row 4: 'a': it is not valid JSON\n"
        "! a.jsonl, row 5: it is not a JSON object near its byte 7\n6: a=4\n"
        "! a.jsonl, row 7: 'a': it is not valid JSON\n"
        "! a.jsonl, row 8: 'a': it is not valid JSON\nlost 6\n");
    expect_text("b.json", "[{\"a\":1},{\"a\":x},{\"a\":2},{\"a\":\"cut",
                "1: a=1\n! b.json, row 2: 'a': it is not valid JSON\n3: a=2\n"
                "! b.json, row 4: the file ends inside it\nlost 2\n");
    expect_text("c.json", "[{\"a\":1} {\"a\":2}]",
                "1: a=1\n! c.json, row 2: no comma before it\nlost 1\n");
    expect_text("d.json", "[1,]",
                "1: value=1\n! d.json, row 2: there is no value where it should be\nlost 1\n");
    const s2e_rows_options small = { .max_row = 4096, .max_text = 9 };
    s2_buffer text;
    s2_buffer_init(&text, 1 << 20);
    s2_buffer_printf(&text, "[{\"a\":1},{\"a\":\"%*s\"},{\"a\":\"0123456789\"},{\"a\":2}]", 5000,
                     "");
    expect("e.json", (char *)text.data, text.size, &small,
           "1: a=1\n! e.json, row 2: the record is longer than the limit of a row\n"
           "! e.json, row 3: 'a': a text has 10 bytes; the limit is 9\n4: a=2\nlost 2\n");
    s2_buffer_free(&text);
}

static void test_json_pictures(void **state)
{
    (void)state;
    expect_text("a.jsonl",
                "{\"image\":\"" PICTURE "\"}\n{\"image\":[\"" PICTURE "\",\"x\"]}\n"
                "{\"image\":{\"path\":null,\"bytes\":\"" PICTURE
                "\"}}\n{\"image\":[{\"bytes\":\"" PICTURE "\"}]}\n{\"image\":null}\n",
                "1: image=" PLACE "*\n2: image=[" PLACE ",\"x\"]*\n3: image={path=none,bytes=" PLACE
                "}*\n"
                "4: image=[{bytes=" PLACE "}]*\n5: image=none\nlost 0\n");
    /* the escapes that writers put into base64: PHP's for '/', Java's for '=' */
    expect_text(
        "b.jsonl",
        "{\"image\":\"data:image\\/"
        "png;base64,"
        "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eg\\u003d\\u003D\"}",
        "1: image=" PLACE "*\nlost 0\n");
    expect_text("c.jsonl",
                "{\"image\":\"" PICTURE
                "\\\\\"}\n{\"image\":{\"bytes\":{\"bytes\":{\"bytes\":\"x\"}}}}",
                "! c.jsonl, row 1: 'image': the picture is no base64 after 52 decoded bytes\n"
                "2: image={bytes={bytes={bytes=\"x\"}}}\nlost 1\n");
}

/* A file name longer than a reference is still a text where all of it is at hand. */
static void test_file_names(void **state)
{
    (void)state;
#define NAME "a/folder/whose/name/is/longer/than/sixty/four/bytes/with/a/picture/0001.jpg"
    expect_text("a.jsonl", "{\"image\":\"" NAME "\"}\n{\"image\":[\"" NAME "\"]}\n",
                "1: image=\"" NAME "\"\n2: image=[\"" NAME "\"]\nlost 0\n");
}

static void test_shards(void **state)
{
    (void)state;
    write_text("t-00001-of-00003.jsonl", "{\"a\":2}\nbad\n");
    write_text("t-00002-of-00003.jsonl", "{\"a\":3}\n{\"a\":4}\n");
    expect_text("t-00000-of-00003.jsonl", "{\"a\":1}\n",
                "1: a=1\n1: a=2\n! t-00001-of-00003.jsonl, row 2: it is not valid JSON\n1: a=3\n2: "
                "a=4\nlost 1\n");
    s2e_rows *rows;
    s2p_error error;
    assert_int_equal(
        s2e_rows_open(write_text("u-00000-of-00002.tsv", "a\n1\n"), NULL, &rows, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "u-00001-of-00002.tsv', one of 2 shards"));
    assert_null(rows);
}

/* A picture that is no longer what was hashed is refused, as is one larger than the buffer takes. */
static void test_places(void **state)
{
    (void)state;
    s2e_rows *rows;
    s2e_row row;
    s2p_error error;
    bool end;
    const char *path = write_text("p.tsv", "image\n" PICTURE "\n");
    assert_int_equal(s2e_rows_open(path, NULL, &rows, &error), S2P_OK);
    assert_int_equal(s2e_rows_next(rows, &row, &end, &error), S2P_OK);
    s2e_place copy;
    assert_int_equal(s2e_place_copy(s2e_row_value(&row, "image")->place, &copy, &error), S2P_OK);
    s2e_rows_close(rows);
    s2_buffer bytes;
    s2_buffer_init(&bytes, 51);
    assert_int_equal(s2e_place_load(&copy, &bytes, &error), S2P_ELIMIT);
    bytes.max = 1000;
    assert_int_equal(s2e_place_load(&copy, &bytes, &error), S2P_OK);
    assert_int_equal(bytes.size, 52);
    assert_memory_equal(bytes.data, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz", 52);
    const char *const other = PICTURE;
    char same_size[128]; /* another picture of as many bytes */
    (void)snprintf(same_size, sizeof same_size, "image\nR%s\n", other + 1);
    write_text("p.tsv", same_size);
    assert_int_equal(s2e_place_load(&copy, &bytes, &error), S2P_EFORMAT);
    assert_non_null(strstr(error.message, "changed after it was read"));
    assert_int_equal(bytes.size, 52);
    write_text("p.tsv", "image\nR" PICTURE "\n");
    assert_int_equal(s2e_place_load(&copy, &bytes, &error), S2P_EFORMAT);
    assert_int_equal(bytes.size, 52);
    write_text("p.tsv", "image\n");
    assert_int_equal(s2e_place_load(&copy, &bytes, &error), S2P_EFORMAT);
    s2e_place_free(&copy);

    s2e_place file;
    assert_int_equal(s2e_place_of_file(write_text("p.png", "abc"), &file, &error), S2P_OK);
    assert_string_equal(file.sha256,
                        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    bytes.size = 0;
    assert_int_equal(s2e_place_load(&file, &bytes, &error), S2P_OK);
    assert_memory_equal(bytes.data, "abc", 3);
    s2_buffer_free(&bytes);
}

/* Seeded bytes through base64 in pieces of random sizes, with line ends in between. */
static void test_base64(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 300; round++) {
        uint8_t bytes[200], out[S2_BASE64_ROOM(400)];
        const size_t n = (size_t)random_below(&seed, 200);
        for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)next_random(&seed);
        s2_buffer text;
        s2_buffer_init(&text, 1000);
        s2_base64_append(&text, bytes, n);
        s2_base64 base64 = { .bits = 0 };
        size_t n_out = 0;
        for (size_t i = 0; i < text.size;) {
            size_t m = (size_t)random_below(&seed, 30);
            if (m > text.size - i) m = text.size - i;
            n_out += s2_base64_decode(&base64, text.data + i, m, out + n_out);
            if (random_below(&seed, 4) == 0)
                n_out += s2_base64_decode(&base64, "\r\n", 2, out + n_out);
            i += m;
        }
        assert_true(s2_base64_is_whole(&base64));
        assert_int_equal(n_out, n);
        assert_memory_equal(out, bytes, n);
        if (n > 0) {
            base64 = (s2_base64){ .bits = 0 };
            (void)s2_base64_decode(&base64, text.data, text.size - 1, out);
            assert_false(s2_base64_is_whole(&base64));
            base64 = (s2_base64){ .bits = 0 };
            (void)s2_base64_decode(&base64, text.data, text.size, out);
            (void)s2_base64_decode(&base64, "=", 1, out);
            assert_false(s2_base64_is_whole(&base64));
        }
        s2_buffer_free(&text);
    }
}

static void test_cells(void **state)
{
    (void)state;
    s2e_rows *rows;
    s2e_row row;
    s2p_error error;
    bool end;
    const char *path =
        write_text("v.jsonl", "{\"i\":7,\"f\":12.0,\"g\":0.1,\"s\":\"12.0\",\"t\":true,\"n\":null,"
                              "\"l\":\"['a', 'b']\",\"m\":[1],\"z\":\"x\"}");
    assert_int_equal(s2e_rows_open(path, NULL, &rows, &error), S2P_OK);
    assert_int_equal(s2e_rows_next(rows, &row, &end, &error), S2P_OK);
    assert_string_equal(s2e_row_text(&row, "i"), "7");
    assert_string_equal(s2e_row_text(&row, "f"), "12.0");
    assert_string_equal(s2e_row_text(&row, "g"), "0.1");
    assert_string_equal(s2e_row_text(&row, "t"), "True");
    assert_null(s2e_row_text(&row, "n"));
    assert_null(s2e_row_text(&row, "absent"));
    int64_t whole = 0;
    assert_true(s2e_row_int(&row, "i", &whole) && whole == 7);
    assert_true(s2e_row_int(&row, "f", &whole) && whole == 12);
    whole = 0;
    assert_true(s2e_row_int(&row, "s", &whole) && whole == 12);
    assert_false(s2e_row_int(&row, "g", &whole) || s2e_row_int(&row, "n", &whole) ||
                 s2e_row_int(&row, "l", &whole));
    const s2e_value *list;
    assert_int_equal(s2e_row_list(&row, "l", &list, &error), S2P_OK);
    assert_true(list->n == 2 && strcmp(list->item[1].text, "b") == 0);
    assert_int_equal(s2e_row_list(&row, "m", &list, &error), S2P_OK);
    assert_true(list->n == 1 && list->item[0].whole == 1);
    assert_int_equal(s2e_row_list(&row, "n", &list, &error), S2P_OK);
    assert_null(list);
    assert_int_equal(s2e_row_list(&row, "i", &list, &error), S2P_EFORMAT);
    assert_string_equal(error.message, "v.jsonl, row 1: column 'i': it is not a list");
    assert_int_equal(s2e_row_list(&row, "z", &list, &error), S2P_EFORMAT);
    s2e_rows_close(rows);

    s2e_references *references;
    assert_int_equal(s2e_references_create(&references, &error), S2P_OK);
    assert_int_equal(s2e_references_add(references, "12", 3, &error), S2P_OK);
    assert_int_equal(s2e_references_add(references, "12", 4, &error), S2P_OK);
    assert_int_equal(s2e_references_find(references, "12"), 3);
    assert_int_equal(s2e_references_find(references, "13"), -1);
    s2e_references_free(references);
}

int main(int argc, char **argv)
{
    if (argc > 1) table_folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_quoting),     cmocka_unit_test(test_line_ends),
        cmocka_unit_test(test_text_faults), cmocka_unit_test(test_pictures),
        cmocka_unit_test(test_nan),         cmocka_unit_test(test_json_shapes),
        cmocka_unit_test(test_json_faults), cmocka_unit_test(test_json_pictures),
        cmocka_unit_test(test_shards),      cmocka_unit_test(test_file_names),
        cmocka_unit_test(test_places),      cmocka_unit_test(test_base64),
        cmocka_unit_test(test_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
