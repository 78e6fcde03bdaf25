/* test_compare_report.c - what the writers of a comparison make of it: hand-worked rows in every
 * form, and hostile words that must stay words.
 */
#include "check.h"

#include "base/json.h"
#include "compare/compare.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NEAR(a, b) (fabs((a) - (b)) < 1e-9)

static s2a_part part_of(int32_t rows, int32_t cols, int32_t *keep, int32_t n)
{
    return (s2a_part){ .grid = { rows, cols }, .keep = keep, .n_keep = n };
}

/* --- writers --------------------------------------------------------------------------------- */

static uint8_t pixels[8 * 6 * 3];
static const s2p_image picture = { 8, 6, 24, pixels };

typedef struct example { /* four rows: full, two with a budget, one that failed */
    int32_t all[48], some[2][4], token[3];
    s2a_part part[3];
    compare_row row[4];
    compare_report report;
    const char *path;
} example;

#define HOSTILE "</script><img src=x onerror=alert(1)>\"' onload='x"

static void make_example(example *e, char *answer, const char *question, const char *path)
{
    memset(e, 0, sizeof *e);
    for (int32_t i = 0; i < 48; i++) e->all[i] = i;
    for (int32_t i = 0; i < 4; i++) {
        e->some[0][i] = 10 + i;
        e->some[1][i] = 12 + i;
    }
    e->part[0] = part_of(6, 8, e->all, 48);
    for (int k = 0; k < 2; k++) e->part[1 + k] = part_of(6, 8, e->some[k], 4);
    static const char *const methods[] = { "full", "uniform", "s2prune", "fastv" };
    for (int i = 0; i < 4; i++) {
        e->row[i] = (compare_row){ .setting = { .method = methods[i],
                                                .budget = { .tokens = i > 0 ? 4 : 0 } },
                                   .answer = { .part = &e->part[i],
                                               .n_parts = 1,
                                               .text = answer,
                                               .token = e->token,
                                               .n_tokens = 3,
                                               .is_stopped = true,
                                               .stats = { .prompt_ms = i == 0 ? 200.0 : 50.0,
                                                          .select_ms = 0.5,
                                                          .probe_ms = 0.25,
                                                          .image_tokens = i == 0 ? 48 : 4,
                                                          .image_tokens_full = 48,
                                                          .kv_visual_bytes = 1 << 19 },
                                               .generate_ms = 100.0 } };
    }
    e->row[3].answer = (s2a_answer){ .text = NULL };
    e->row[3].error = (s2p_error){ S2P_EUNSUPPORTED, "" };
    (void)snprintf(e->row[3].error.message, sizeof e->row[3].error.message, "not for \"this\", %s",
                   question);
    e->path = path;
    e->report = (compare_report){ .row = e->row,
                                  .n_rows = 4,
                                  .model = "tiny.gguf",
                                  .question = question,
                                  .mode = "default",
                                  .expect = "yes",
                                  .reference = "s2prune",
                                  .path = &e->path,
                                  .picture = &picture,
                                  .n_pictures = 1,
                                  .image_ms = 1.5,
                                  .vision_ms = 12.5 };
}

static char *written(const compare_report *report, enum compare_format format)
{
    s2_buffer out;
    s2_buffer_init(&out, 1 << 20);
    s2_compare_write(report, format, &out);
    s2_buffer_append(&out, "", 1);
    assert_int_equal(out.status, S2P_OK);
    return (char *)out.data;
}

static void test_reference(void **state)
{
    (void)state;
    example e;
    char answer[] = "yes";
    make_example(&e, answer, "q", "p");
    assert_null(s2_compare_reference(&e.report, &e.row[0])); /* no budget to share */
    assert_ptr_equal(s2_compare_reference(&e.report, &e.row[1]), &e.row[2]);
    assert_null(s2_compare_reference(&e.report, &e.row[2])); /* itself */
    assert_true(NEAR(s2_compare_iou(&e.row[1], &e.row[2]), 2.0 / 6));
    e.report.reference = "full"; /* has no budget: for all */
    assert_ptr_equal(s2_compare_reference(&e.report, &e.row[1]), &e.row[0]);
    assert_null(s2_compare_reference(&e.report, &e.row[0]));
    e.report.reference = "fastv"; /* failed */
    assert_null(s2_compare_reference(&e.report, &e.row[1]));
    assert_true(NEAR(s2_compare_speedup(&e.report, &e.row[1]), 4.0));
    assert_true(s2_compare_speedup(&e.report, &e.row[3]) < 0);
    assert_true(NEAR(s2_compare_select_ms(&e.row[1]), 0.75));
    assert_true(NEAR(s2_compare_decode_speed(&e.row[1]), 20.0)); /* two after the first in 0.1 s */
    e.row[1].answer.n_tokens = 1;
    assert_true(s2_compare_decode_speed(&e.row[1]) < 0);
    e.row[0].error.status = S2P_ENOMEM;
    assert_true(s2_compare_speedup(&e.report, &e.row[1]) < 0);
}

static void test_text(void **state)
{
    (void)state;
    example e;
    char answer[] =
        "Yes | it\x1B[2J is a rather long answer, longer than a table has room for\nmore";
    make_example(&e, answer, "Is it?\x1B", "p");
    char *text = written(&e.report, S2_COMPARE_TEXT);
    static const char expected[] =
        "question: Is it?  (expected: yes)\n"
        "model: tiny.gguf, 1 picture, 48 visual tokens, vision 12.5 ms once, shared by all rows; "
        "IoU with s2prune\n"
        "\n"
        "method   budget  kept  answer                             ok   edge  center   IoU  "
        "prefill "
        "ms  speedup  select ms  tok/s  KV MiB\n"
        "full          -    48  Yes | it?[2J is a rather long an\xE2\x80\xA6   \xE2\x9C\x93   .833"
        "    .333     -         200     1.00       0.75   20.0   0.500\n"
        "uniform       4     4  Yes | it?[2J is a rather long an\xE2\x80\xA6   \xE2\x9C\x93  1.000"
        "   1.000  .333        50.0     4.00       0.75   20.0   0.500\n"
        "s2prune       4     4  Yes | it?[2J is a rather long an\xE2\x80\xA6   \xE2\x9C\x93  1.000"
        "    .500     -        50.0     4.00       0.75   20.0   0.500\n"
        "fastv         4     -  (failed)                            -      -       -     -         "
        "  -        -          -      -       -\n"
        "\n"
        "fastv 4 failed: not for \"this\", Is it? \n";
    assert_string_equal(text, expected);
    free(text);

    text = written(&e.report, S2_COMPARE_MARKDOWN);
    assert_non_null(strstr(text, "| method | budget | kept | answer |"));
    assert_non_null(strstr(text, "|---|---:|---:|---|---:|"));
    assert_non_null(strstr(text, "| uniform | 4 | 4 | Yes \\| it?\\[2J is a rather"));
    assert_null(strchr(text, '\x1B'));
    free(text);
    e.report.expect = NULL; /* then there is nothing to be right about */
    text = written(&e.report, S2_COMPARE_TEXT);
    assert_null(strstr(text, " ok "));
    assert_null(strstr(text, "\xE2\x9C\x93"));
    free(text);
}

/* RFC 4180, read back by a small reader: every record has the fields of the header. */
static size_t csv_fields(const char **at, char field[][256])
{
    size_t n = 0, size = 0;
    bool is_quoted = false;
    for (const char *p = *at;; p++) {
        if (is_quoted && *p == '"' && p[1] == '"') {
            field[n][size++] = *p++;
        } else if (*p == '"') {
            assert_true(is_quoted || size == 0);
            is_quoted = !is_quoted;
        } else if (!is_quoted && (*p == ',' || *p == '\n' || *p == '\0')) {
            field[n++][size] = '\0';
            size = 0;
            *at = p + (*p != '\0');
            if (*p != ',') return n;
        } else {
            field[n][size++] = *p;
        }
    }
}

static void test_csv(void **state)
{
    (void)state;
    example e;
    char answer[] = "a \"quoted\", long\r\nanswer";
    make_example(&e, answer, "q", "p");
    char *text = written(&e.report, S2_COMPARE_CSV);
    const char *at = text;
    static char field[32][256];
    const size_t n = csv_fields(&at, field);
    assert_int_equal(n, 17);
    assert_string_equal(field[0], "method");
    assert_string_equal(field[15], "error");
    assert_string_equal(field[16], "tokens_used");
    for (int i = 0; i < 4; i++) {
        assert_int_equal(csv_fields(&at, field), n);
        assert_string_equal(field[0], e.row[i].setting.method);
        assert_string_equal(field[4], i < 3 ? answer : "");
        assert_string_equal(field[5], i < 3 ? "false" : "");
        assert_string_equal(field[15], i < 3 ? "" : "not for \"this\", q");
    }
    assert_int_equal(*at, '\0');
    assert_non_null(strstr(text, "\nuniform,4,4,48,\"a \"\"quoted\"\", long\r\nanswer\",false,"
                                 "1.000000,1.000000,0.333333,12.500000,50.000000,4.000000,0.750000,"
                                 "20.000000,524288,,4\n"));
    assert_non_null(strstr(text, "\nfull,,48,48,"));
    free(text);

    char lines[] = "two\nlines"; /* a line break alone needs quotes too */
    make_example(&e, lines, "q", "p");
    text = written(&e.report, S2_COMPARE_CSV);
    assert_non_null(strstr(text, ",\"two\nlines\","));
    free(text);
}

static void test_json(void **state)
{
    (void)state;
    example e;
    char answer[] = HOSTILE;
    make_example(&e, answer, "q", "caf\xE9.png"); /* a path may be any bytes */
    e.row[2].setting.budget = (s2a_budget){ .tokens = 0, .percent = 12.5 };
    char *text = written(&e.report, S2_COMPARE_JSON);
    json_t *root = NULL;
    assert_int_equal(s2_json_parse(text, strlen(text), "json", &root, NULL), S2P_OK);
    free(text);
    assert_string_equal(s2_json_string(root, "schema"), "s2prune.compare/1");
    assert_string_equal(s2_json_string(json_array_get(json_object_get(root, "images"), 0), "path"),
                        "caf?.png");
    const json_t *rows = json_object_get(root, "rows"), *matrix = json_object_get(root, "iou");
    assert_int_equal(json_array_size(rows), 4);
    const json_t *full = json_array_get(rows, 0), *one = json_array_get(rows, 1),
                 *failed = json_array_get(rows, 3);
    assert_true(json_is_null(json_object_get(full, "budget")));
    assert_int_equal(json_integer_value(json_object_get(one, "budget")), 4);
    assert_string_equal(s2_json_string(json_array_get(rows, 2), "budget"), "12.5%");
    assert_string_equal(s2_json_string(one, "text"), HOSTILE);
    assert_true(json_is_false(json_object_get(one, "ok")));
    assert_true(json_is_false(json_object_get(one, "failed")));
    assert_true(json_is_null(json_object_get(one, "iou"))); /* the reference has another budget */
    const json_t *part = json_array_get(json_object_get(one, "images"), 0);
    assert_int_equal(json_array_size(json_object_get(part, "kept")), 4);
    assert_int_equal(json_integer_value(json_array_get(json_object_get(part, "kept"), 3)), 13);
    assert_true(json_is_true(json_object_get(failed, "failed")));
    assert_string_equal(s2_json_string(failed, "error"), "not for \"this\", q");
    assert_null(json_object_get(failed, "text"));
    assert_int_equal(json_array_size(matrix), 4);
    for (size_t i = 0; i < 4; i++)
        for (size_t k = 0; k < 4; k++) {
            const json_t *iou = json_array_get(json_array_get(matrix, i), k);
            const double expected = i == k ? 1.0 : i == 0 || k == 0 ? 4.0 / 48 : 2.0 / 6;
            if (i == 3 || k == 3)
                assert_true(json_is_null(iou));
            else
                assert_true(fabs(json_real_value(iou) - expected) < 1e-8);
        }
    json_decref(root);
}

/* --- the page ------------------------------------------------------------------------------------
 */

/* Name of the element at p ("<div ..."), lower case. */
static size_t tag_name(const char *p, char out[32])
{
    size_t n = 0;
    while (isalnum((unsigned char)p[n]) && n < 31) {
        out[n] = p[n];
        n++;
    }
    out[n] = '\0';
    return n;
}

/* Every '<' begins an element this page uses, every element ends, no attribute runs a script. */
static void check_page(const char *page)
{
    static const char *const known = " html head meta title style body a header h1 h2 h3 p svg "
                                     "defs image use path main div table "
                                     "thead tbody tr th td section fieldset legend label input "
                                     "article figure figcaption span i dl "
                                     "dt dd meter details summary footer ";
    static char open[64][32];
    int depth = 0;
    const char *p = strstr(page, "<html");
    assert_non_null(p);
    for (; (p = strchr(p, '<')); p++) {
        char name[32], padded[40];
        const bool is_end = p[1] == '/';
        const size_t n = tag_name(p + 1 + is_end, name);
        (void)snprintf(padded, sizeof padded, " %s ", name);
        CHECK_CASE(n > 0 && strstr(known, padded), "%.40s", p);
        const char *end = p;
        for (bool is_quoted = false; *end && (is_quoted || *end != '>'); end++) {
            if (*end == '"') is_quoted = !is_quoted;
            CHECK_CASE(is_quoted || strncmp(end, " on", 3) != 0, "%.60s", p);
        }
        assert_true(*end == '>');
        const bool is_void = strcmp(name, "meta") == 0 || strcmp(name, "input") == 0;
        if (is_end) {
            assert_true(depth > 0);
            CHECK_CASE(strcmp(open[--depth], name) == 0, "%s ends %s", name, open[depth]);
        } else if (!is_void && end[-1] != '/') {
            assert_true(depth < 63);
            (void)snprintf(open[depth++], sizeof open[0], "%s", name);
        }
        p = end;
    }
    assert_int_equal(depth, 0);
}

static char *page_of(const compare_report *report)
{
    s2_buffer out;
    s2_buffer_init(&out, 1 << 20);
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2_compare_html(report, &out, &error) == S2P_OK, "%s", error.message);
    s2_buffer_append(&out, "", 1);
    return (char *)out.data;
}

static void test_page(void **state)
{
    (void)state;
    example e;
    char answer[] = "yes\nand more";
    make_example(&e, answer, "Is it?", "photo.png");
    char *page = page_of(&e.report);
    check_page(page);
    assert_non_null(strstr(page, "<h1>Is it?</h1>"));
    assert_non_null(strstr(page, "default-src 'none'"));
    assert_non_null(strstr(page, "yes\nand more</div>"));
    assert_non_null(strstr(page, "aria-label=\"S\xC2\xB2Prune 4: 4 of 6x8 tokens kept\""));
    /* tokens 12 to 15 of a grid 8 wide: four along row 1 from column 4 */
    assert_non_null(strstr(page, "d=\"M0 0H8V6H0ZM4 1h4v1h-4z\""));
    assert_non_null(strstr(page, "d=\"M4 1h1v1h-1zM5 1h1v1h-1zM6 1h1v1h-1zM7 1h1v1h-1z\""));
    /* tokens 10 to 13 as well; a run never leaves its row: 48 tokens are six of eight */
    assert_non_null(strstr(page, "ZM0 0h8v1h-8zM0 1h8v1h-8z"));
    assert_non_null(strstr(page, "<td style=\"--share:0.333\">0.33</td>"));
    assert_non_null(strstr(page, "failed: not for &quot;this&quot;, Is it?"));
    assert_null(strstr(page, "http:")); /* nothing from outside */
    assert_null(strstr(page, "https:"));
    assert_null(strstr(page, "url("));
    assert_null(strstr(page, "<script"));
    int n_pictures = 0;
    for (const char *p = page; (p = strstr(p, "data:image/png;base64,")); p++) n_pictures++;
    assert_int_equal(n_pictures, 1); /* once for all cards */
    free(page);
}

static void test_page_escapes(void **state)
{
    (void)state;
    static char words[][64] = { HOSTILE,
                                "\"><svg onload=alert(1)>",
                                "--></style></title><script>alert(1)</script>",
                                "]]>\x01\x1B[2J\xC3<b>\xFF",
                                "' autofocus onfocus='alert(1)",
                                "&lt;img&gt; %s %n %d" };
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        example e;
        make_example(&e, words[i], words[i], words[i]);
        e.report.model = e.report.expect = words[i];
        char *page = page_of(&e.report);
        check_page(page);
        assert_null(strstr(page, "<script"));
        assert_null(strstr(page, "<img"));
        assert_null(strstr(page, "<b>"));
        assert_null(strchr(page, '\x1B'));
        free(page);
    }
}

/* What does not fit is an error, not half a page. */
static void test_page_limit(void **state)
{
    (void)state;
    example e;
    char answer[] = "yes";
    make_example(&e, answer, "q", "p");
    s2_buffer out;
    s2p_error error = { S2P_OK, "" };
    for (size_t max = 0; max < 9000; max += 333) {
        s2_buffer_init(&out, max);
        assert_int_equal(s2_compare_html(&e.report, &out, &error), S2P_ELIMIT);
        s2_buffer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reference),  cmocka_unit_test(test_text),
        cmocka_unit_test(test_csv),        cmocka_unit_test(test_json),
        cmocka_unit_test(test_page),       cmocka_unit_test(test_page_escapes),
        cmocka_unit_test(test_page_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
