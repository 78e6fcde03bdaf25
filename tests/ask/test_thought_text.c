/* Thoughts and answer: whatever the pieces, the same two texts. */
#include "ask/thought_text.h"

#include "check.h"

#include <string.h>

static void split(const char *text, size_t piece, bool has_thoughts, char *thoughts, char *answer)
{
    s2v_thought_text t;
    s2_buffer a, b;
    s2_buffer_init(&a, 4096);
    s2_buffer_init(&b, 4096);
    s2v_thought_text_init(&t, has_thoughts);
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i += piece)
        s2v_thought_text_feed(&t, text + i, i + piece < n ? piece : n - i, &a, &b);
    s2v_thought_text_end(&t, &a);
    s2_buffer_append(&a, "", 1);
    s2_buffer_append(&b, "", 1);
    (void)strcpy(thoughts, (const char *)a.data);
    (void)strcpy(answer, (const char *)b.data);
    s2_buffer_free(&a);
    s2_buffer_free(&b);
    s2v_thought_text_free(&t);
}

static void test_pieces(void **state)
{
    static const struct {
        const char *text, *thoughts, *answer;
    } cases[] = {
        { "A small one.\n</think>\n\nYes.\n", "A small one.", "Yes.\n" },
        { "\n a </th b\n\n</think>x", "a </th b", "x" },
        { "</think>\n\n{}", "", "{}" },
        { "no end </thin", "no end </thin", "" },
        { "a<</think></think>", "a<", "</think>" },
        { " \n ", "", "" },
        { "", "", "" },
    };
    (void)state;
    char thoughts[256], answer[256];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece < 30; piece++) {
            split(cases[i].text, piece, true, thoughts, answer);
            assert_string_equal(thoughts, cases[i].thoughts);
            assert_string_equal(answer, cases[i].answer);
            split(cases[i].text, piece, false, thoughts, answer);
            assert_string_equal(thoughts, "");
            assert_string_equal(answer, cases[i].text);
        }
}

/* What is certain goes out at once: only the beginning of the tag and white space wait. */
static void test_streams(void **state)
{
    s2v_thought_text t;
    s2_buffer a, b;
    (void)state;
    s2_buffer_init(&a, 4096);
    s2_buffer_init(&b, 4096);
    s2v_thought_text_init(&t, true);
    s2v_thought_text_feed(&t, "one two \n</th", 13, &a, &b);
    assert_int_equal(a.size, 7);
    s2v_thought_text_feed(&t, "x", 1, &a, &b);
    assert_int_equal(a.size, 14);
    s2v_thought_text_feed(&t, "</think> y", 10, &a, &b);
    assert_int_equal(b.size, 1);
    s2_buffer_free(&a);
    s2_buffer_free(&b);
    s2v_thought_text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_streams),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
