/* test_markup.c - text from outside cannot become markup, and what is not text is shown as '?'. */
#include "check.h"

#include "base/markup.h"

#include <stdio.h>
#include <string.h>

static void check(const char *text, size_t n, bool has_lines, const char *expected)
{
    s2_buffer out;
    s2_buffer_init(&out, 4096);
    s2_markup_append(&out, text, n, has_lines);
    s2_buffer_append(&out, "", 1);
    assert_int_equal(out.status, S2P_OK);
    CHECK_CASE(strcmp((const char *)out.data, expected) == 0, "%s, expected %s", out.data,
               expected);
    s2_buffer_free(&out);
}

static void check_made(void (*make)(s2_buffer *, const char *), const char *text,
                       const char *expected)
{
    s2_buffer out;
    s2_buffer_init(&out, 4096);
    make(&out, text);
    s2_buffer_append(&out, "", 1);
    CHECK_CASE(strcmp((const char *)out.data, expected) == 0, "%s, expected %s", out.data,
               expected);
    s2_buffer_free(&out);
}

static void for_terminal(s2_buffer *out, const char *text)
{
    s2_terminal_append(out, text, strlen(text), true);
}

static void test_terminal(void **state)
{
    (void)state;
    check_made(for_terminal, "a\tb\nc <&> \xE4\xBD\xA0", "a\tb\nc <&> \xE4\xBD\xA0");
    check_made(for_terminal, "\x1B]0;title\x07\r\x08\x7F", "?]0;title????");
    check_made(for_terminal,
               "\xC2\x9B"
               "2J",
               "??2J");
    check_made(for_terminal,
               "a\xE2\x80\xAE"
               "b\xE2\x81\xA6"
               "c\xD8\x9C"
               "d\xE2\x80\x8F",
               "a?b?c?d?");
    check_made(for_terminal, "\xE2\x80\xA6 \xE2\x80\x94", "\xE2\x80\xA6 \xE2\x80\x94");
    check_made(for_terminal, "\xFF\xE2\x80", "???");
}

static void test_csv(void **state)
{
    (void)state;
    check_made(s2_csv_append, "plain", "plain");
    check_made(s2_csv_append, "a,b \"c\"", "\"a,b \"\"c\"\"\"");
    check_made(s2_csv_append, "=1+1", "'=1+1");
    check_made(s2_csv_append, "@SUM(A1,A2)", "\"'@SUM(A1,A2)\"");
    check_made(s2_csv_append, "-3.25", "-3.25");
    check_made(s2_csv_append, "+1e-3", "+1e-3");
    check_made(s2_csv_append, "-cmd|x", "'-cmd|x");
}

static void test_escapes(void **state)
{
    (void)state;
    static const struct {
        const char *text, *expected;
    } cases[] = {
        { "", "" },
        { "plain 42", "plain 42" },
        { "</script><img src=x onerror='a()'>",
          "&lt;/script&gt;&lt;img src=x onerror=&#39;a()&#39;&gt;" },
        { "a \"b\" & c", "a &quot;b&quot; &amp; c" },
        { "&lt;", "&amp;lt;" },
        { "na\xC3\xAFve \xE4\xBD\xA0 \xF0\x9F\x98\x80",
          "na\xC3\xAFve \xE4\xBD\xA0 \xF0\x9F\x98\x80" },
        { "\x1B[31m\x7F\x01", "?[31m??" },
        { "\xC2\x9B"
          "1m",
          "??1m" },                                              /* C1 control */
        { "\xC0\xAF\xE0\x80\xAF\xF0\x80\x80\xAF", "?????????" }, /* overlong */
        { "\xED\xA0\x80", "???" },                               /* surrogate */
        { "\xF4\x90\x80\x80\xFF\xFE", "??????" },
        { "\xEF\xBF\xBE", "???" },   /* no character */
        { "a\xE4\xBD", "a??" },      /* cut off */
        { "\xE4<b>", "?&lt;b&gt;" }, /* a lead byte hides nothing */
        { "\xC3\"", "?&quot;" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check(cases[i].text, strlen(cases[i].text), false, cases[i].expected);
    check("a\nb\tc\rd", 7, false, "a?b?c?d");
    check("a\nb\tc\rd", 7, true, "a\nb\tc?d");
    check("a\0b", 3, true, "a?b");
    check("\xE4\xBD\xA0", 2, false, "??"); /* never beyond n */
}

/* Whatever the bytes: nothing but entities begins with '&', and no markup sign is left. */
static void test_any_bytes(void **state)
{
    (void)state;
    uint32_t seed = 3;
    for (int round = 0; round < 2000; round++) {
        char text[32];
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = random_below(&seed, 2) ? (char)next_random(&seed)
                                             : "<>&\"'\xC3\xE4\xF0\x80"[random_below(&seed, 9)];
        s2_buffer out;
        s2_buffer_init(&out, 4096);
        s2_markup_append(&out, text, sizeof text, true);
        s2_buffer_append(&out, "", 1);
        const char *page = (const char *)out.data;
        assert_int_equal(strcspn(page, "<>\"'"), out.size - 1);
        for (const char *p = page; (p = strchr(p, '&')); p++)
            assert_true(strncmp(p, "&amp;", 5) == 0 || strncmp(p, "&lt;", 4) == 0 ||
                        strncmp(p, "&gt;", 4) == 0 || strncmp(p, "&quot;", 6) == 0 ||
                        strncmp(p, "&#39;", 5) == 0);
        for (size_t i = 0; i + 1 < out.size;) {
            const size_t n = s2_markup_character(page + i, out.size - 1 - i);
            assert_true(n > 0 || page[i] == '\n' || page[i] == '\t');
            i += n > 0 ? n : 1;
        }
        s2_buffer_free(&out);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_terminal),
        cmocka_unit_test(test_csv),
        cmocka_unit_test(test_escapes),
        cmocka_unit_test(test_any_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
