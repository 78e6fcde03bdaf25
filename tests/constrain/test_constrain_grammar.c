/* test_constrain_grammar.c - GBNF: what is allowed, what is refused, counters, recursion and limits. */
#include "check.h"
#include "constrain/constraint.h"

#include <stdlib.h>
#include <string.h>

/* 'a': the text is complete; 'p': it may go on; 'r': it is not allowed; 'x': the grammar is refused. */
static char judge(const char *grammar, const char *text)
{
    s2c_constraint *c = NULL;
    bool is_allowed, is_complete;
    s2p_error error = { S2P_OK, "" };
    if (s2c_constraint_create(&c, S2C_GBNF, grammar, strlen(grammar), S2C_LINE, &error) != S2P_OK) {
        assert_true(error.message[0] != '\0');
        return 'x';
    }
    assert_int_equal(s2c_constraint_check(c, text, strlen(text), &is_allowed, &is_complete),
                     S2P_OK);
    s2c_constraint_free(c);
    return (char)(is_complete ? 'a' : is_allowed ? 'p' : 'r');
}

static void test_texts(void **state)
{
    static const struct {
        const char *grammar, *text;
        char expected;
    } cases[] = {
        { "root ::= \"ab\"", "ab", 'a' },
        { "root ::= \"ab\"", "a", 'p' },
        { "root ::= \"ab\"", "abc", 'r' },
        { "root ::= [^a-c]", "\xC3\xBC", 'a' },            /* one character, two bytes */
        { "root ::= [^a-c]", "\xC3", 'p' },                /* half a character */
        { "root ::= [\\u00e4-\\u00fc]", "\xC3\xBD", 'r' }, /* one above the range */
        { "root ::= .", "\xED\xA0\x80", 'r' },             /* a surrogate */
        { "root ::= .", "\xC0\x80", 'r' },                 /* an overlong form */
        { "root ::= (\"a\" | \"b\"){2,3}", "ab", 'a' },
        { "root ::= (\"a\" | \"b\"){2,3}", "abab", 'r' },
        { "root ::= \"a\"{1000000000}", "aaa", 'p' },     /* counted, not copied */
        { "root ::= (\"a\"?){2,4} \"b\"", "aaaab", 'a' }, /* a body that may be empty */
        { "root ::= (\"a\"?){2,4} \"b\"", "b", 'a' },
        { "root ::= (\"a\"?){2,4} \"b\"", "aaaaab", 'r' },
        { "root ::= (\"a\"*)*", "", 'a' },
        { "root ::= (\"a\"*)* \"b\"", "aab", 'a' },
        { "root ::= x x x\nx ::= \"\" | \"a\"", "aa", 'a' },
        { "root ::= x x x\nx ::= \"\" | \"a\"", "aaaa", 'r' },
        { "root ::= \"(\" root \")\" | \"\"", "(())", 'a' },
        { "root ::= \"a\" root | \"b\"", "ab", 'a' },
        { "root ::= \"a\" # \"b\"\n", "a", 'a' },
        { "root ::= (\n \"a\" |\r\n \"b\"\n)", "b", 'a' },
        { "root ::= \"a\"* \"b\" | \"a\"* \"c\"", "aaac", 'a' },
        { "root ::= \"a\"", "", 'p' },
        /* refused */
        { "root ::= root \"a\" | \"b\"", "", 'x' },
        { "root ::= e root \"a\" | \"b\"\ne ::= \"c\"?", "",
          'x' },                            /* left recursion behind an empty rule */
        { "root ::= \"a\" root", "", 'x' }, /* never ends */
        { "root ::= item", "", 'x' },
        { "start ::= \"a\"", "", 'x' },
        { "root ::= \"a\"{3,2}", "", 'x' },
        { "root ::= \"a\"{99999999999}", "", 'x' },
        { "root ::= (\"a\"", "", 'x' },
        { "root ::= \"a\nb\"", "", 'x' },
        { "root ::= <think>", "", 'x' },
        { "root ::= \"a\"\nroot ::= \"b\"", "", 'x' },
        { "root ::= [z-a]", "", 'x' },
        { "root ::= \"\\ud800\"", "", 'x' },
        { "root = \"a\"", "", 'x' },
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (judge(cases[i].grammar, cases[i].text) != cases[i].expected)
            fail_msg("%s on '%s': expected %c, got %c", cases[i].grammar, cases[i].text,
                     cases[i].expected, judge(cases[i].grammar, cases[i].text));
}

static void test_sentences(void **state)
{
    static const char grammar[] = "root ::= \"a\"\n  other ::= item\nitem2 ::= \"b\"";
    s2c_constraint *c = NULL;
    s2p_error error = { S2P_OK, "" };
    (void)state;
    assert_int_equal(
        s2c_constraint_create(&c, S2C_GBNF, grammar, sizeof grammar - 1, S2C_LINE, &error),
        S2P_EINVAL);
    assert_string_equal(error.message,
                        "line 2, column 13: there is no rule 'item'; did you mean 'item2'?");
}

/* Recursion deeper than the stack is closed off, never stuck: some byte always leads on. */
static void test_depth(void **state)
{
    static const char grammar[] = "root ::= \"(\" root \")\" \"!\" | \"x\"";
    s2c_constraint *c = NULL;
    char text[1024];
    bool is_allowed, is_complete;
    (void)state;
    assert_int_equal(
        s2c_constraint_create(&c, S2C_GBNF, grammar, sizeof grammar - 1, S2C_LINE, NULL), S2P_OK);
    size_t depth = 0;
    for (size_t n = 1; n < 400; n++) {
        memset(text, '(', n);
        text[n] = 'x';
        assert_int_equal(s2c_constraint_check(c, text, n, &is_allowed, &is_complete), S2P_OK);
        if (!is_allowed) break;
        depth = n;
        assert_int_equal(s2c_constraint_check(c, text, n + 1, &is_allowed, &is_complete), S2P_OK);
        assert_true(is_allowed);
    }
    assert_int_equal(depth, S2C_MAX_DEPTH);
    s2c_constraint_free(c);
}

static void test_limits(void **state)
{
    (void)state;
    const size_t n = 300000;
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, '(', n);
    text[n] = '\0';
    memcpy(text, "root ::= ", 9);
    assert_int_equal(judge(text, ""), 'x'); /* more bytes than a grammar may have */
    text[100000] = '\0';
    assert_int_equal(judge(text, ""), 'x'); /* nested too deep */
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_texts),
        cmocka_unit_test(test_sentences),
        cmocka_unit_test(test_depth),
        cmocka_unit_test(test_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
