/* test_pretokenize.c - each split by hand against its pattern, run by PCRE2.
 *
 * Without PCRE2 the cases worked by hand remain. White space is written out in the pattern: PCRE2's
 * \s also takes U+180E, which is no white space in Unicode. Random code points come from blocks
 * that have been complete for long, so that the Unicode versions of two libraries do not matter.
 */
#include "check.h"

#include "text/pretokenize.h"
#include "text/unicode.h"

#include <string.h>

#ifdef S2_HAVE_PCRE2
#define PCRE2_CODE_UNIT_WIDTH 32
#include <pcre2.h>
#endif

#define MAX_CODES 4096

typedef size_t split(const int32_t *code, size_t n);

/* Code points of UTF-8; the split as text with bars. */
static void check_split(split *pretoken, const char *const cases[][2], size_t n_cases)
{
    for (size_t i = 0; i < n_cases; i++) {
        const uint8_t *text = (const uint8_t *)cases[i][0];
        const size_t n = strlen(cases[i][0]);
        int32_t code[64];
        char got[160];
        size_t n_codes = 0, at = 0;
        for (size_t k = 0; k < n;) {
            const size_t used = s2v_utf8_read(text + k, n - k, &code[n_codes++]);
            assert_true(used > 0);
            k += used;
        }
        for (size_t from = 0; from < n_codes;) {
            const size_t length = pretoken(code + from, n_codes - from);
            assert_true(length > 0 && length <= n_codes - from);
            if (from > 0) got[at++] = '|';
            for (size_t k = 0; k < length; k++)
                at += s2v_utf8_write(code[from + k], (uint8_t *)got + at);
            from += length;
        }
        got[at] = '\0';
        CHECK_CASE(strcmp(got, cases[i][1]) == 0, "%s: got %s", cases[i][0], got);
    }
}

static void test_qwen2(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "hello world", "hello| world" },
        { "hello  world", "hello| | world" },
        { "it's we'll I'M you'D", "it|'s| we|'ll| I|'M| you|'D" },
        { "'REx 'VEx 'rx", "'RE|x| '|VEx| '|rx" }, /* after a space the mark stands with it */
        { "x'\xC5\xBFy", "x|'\xC5\xBF|y" },        /* the long s folds to s */
        { "x'\xE2\x84\xAAy", "x|'\xE2\x84\xAAy" }, /* the Kelvin sign folds to k: no ending */
        { "''s", "''|s" },
        { "don\xE2\x80\x99t", "don|\xE2\x80\x99t" },
        { "1234", "1|2|3|4" },
        { "a1b", "a|1|b" },
        { " 1", " |1" },
        { "  1", " | |1" }, /* the last space is left to what follows, which does not want it */
        { "   1", "  | |1" },
        { "foo_bar", "foo|_bar" },
        { "a.b", "a|.b" },
        { "a...b", "a|...|b" },
        { " ...b", " ...|b" },
        { "  ...b", " | ...|b" },
        { "\t...b", "\t|...|b" },
        { "a!\n\nb", "a|!\n\n|b" },
        { "a \n b", "a| \n| b" },
        { "a \n \n  b", "a| \n \n| | b" },
        { "a\r\n\r\nb", "a|\r\n\r\n|b" },
        { "a   ", "a|   " },
        { "   ", "   " },
        { "\n", "\n" },
        { "\xC2\xA0x", "\xC2\xA0x" },
        { "\xE3\x80\x80x y", "\xE3\x80\x80x| y" },
        { "e\xCC\x81x", "e|\xCC\x81x" },
        { "\xF0\x9F\x99\x82!", "\xF0\x9F\x99\x82!" },
        { "\xD9\xA3\xE2\x85\xA7\xC2\xBD", "\xD9\xA3|\xE2\x85\xA7|\xC2\xBD" }, /* Nd, Nl, No */
        { "\xE1\xA0\x8E x", "\xE1\xA0\x8E| x" }, /* U+180E is no space */
        { "\xC2\x85x", "\xC2\x85x" },
        { "\xC2\x85\xC2\x85", "\xC2\x85\xC2\x85" },
    };
    check_split(s2v_pretoken_qwen2, cases, COUNT_OF(cases));
}

static void test_smollm(void **state)
{
    (void)state;
    static const char *const cases[][2] = {
        { "hello world", "hello| world" },
        { "hello  world", "hello| | world" },
        { "it's we'll", "it|'s| we|'ll" },
        { "it'S we'LL", "it|'|S| we|'|LL" }, /* endings are lower case */
        { "x'\xC5\xBFy", "x|'|\xC5\xBFy" },  /* the long s does not fold here */
        { "''s", "''|s" },
        { "1234", "1|2|3|4" },
        { "a1b", "a|1|b" },
        { " 1", " |1" },
        { "a   1", "a|   |1" }, /* the digit ends the part: the whole run is one stretch */
        { "a   b", "a|  | b" },
        { "x 1  2", "x| |1|  |2" },
        { "foo_bar", "foo|_|bar" }, /* only a space goes with a word */
        { "a!\n\nb", "a|!|\n|\n|b" },
        { "!\n", "!|\n" }, /* line ends do not go with marks */
        { "a \n b", "a| \n| b" },
        { "\tx", "\t|x" },
        { "\t\tx", "\t|\t|x" },
        { " ...b", " ...|b" },
        { "  ...b", " | ...|b" },
        { "a   ", "a|   " },
        { "\xC2\xA0x", "\xC2\xA0|x" },
        { "e\xCC\x81x", "e|\xCC\x81|x" },
        { " \xF0\x9F\x99\x82!", " \xF0\x9F\x99\x82!" },
        { "\xD9\xA3\xE2\x85\xA7\xC2\xBD", "\xD9\xA3|\xE2\x85\xA7|\xC2\xBD" }, /* Nd, Nl, No */
    };
    check_split(s2v_pretoken_smollm, cases, COUNT_OF(cases));
}

#ifdef S2_HAVE_PCRE2

#define WHITE "\\p{Z}\\t-\\r\\x{85}"

static const struct {
    split *pretoken;
    const char *pattern;
} patterns[] = {
    { s2v_pretoken_qwen2, "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}|"
                          " ?[^" WHITE "\\p{L}\\p{N}]+[\\r\\n]*|[" WHITE "]*[\\r\\n]+|"
                          "[" WHITE "]+(?![^" WHITE "])|[" WHITE "]+" },
    /* A part ends before a digit, so a digit after white space is not "something else". */
    { s2v_pretoken_smollm, "\\p{N}|'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?[^" WHITE "\\p{L}\\p{N}]+|"
                           "[" WHITE "]+(?![^" WHITE "\\p{N}])|[" WHITE "]+" },
};

static int32_t random_code(uint32_t *seed)
{
    static const struct {
        int32_t first, n;
    } blocks[] = {
        { 0, 0x80 },        { 0x80, 0x80 },     { 0x100, 0x150 },  { 0x300, 0x70 },
        { 0x400, 0x100 },   { 0x5D0, 0x1B },    { 0x660, 10 },     { 0x905, 0x35 },
        { 0x966, 10 },      { 0xE01, 0x3A },    { 0x1100, 0x100 }, { 0x1680, 1 },
        { 0x180E, 1 },      { 0x1E00, 0x100 },  { 0x2000, 0x65 },  { 0x20D0, 0x21 },
        { 0x2100, 0x8C },   { 0x2200, 0x100 },  { 0x3000, 0x40 },  { 0x3041, 0x56 },
        { 0x4E00, 0x5000 }, { 0xAC00, 0x2BA4 }, { 0xE000, 0x100 }, { 0xFB00, 7 },
        { 0xFE00, 0x10 },   { 0x10400, 0x50 },  { 0x1D400, 0x55 }, { 0x1D7CE, 0x32 },
        { 0x1F300, 0x100 }, { 0x20000, 0x100 },
    };
    static const int32_t often[] = { ' ', ' ', '\n',  '\r',   '\t', '\'', 's',    'S',
                                     't', 'r', 'e',   'L',    'l',  'v',  'd',    'm',
                                     '1', '.', 0x17F, 0x212A, 0xA0, 0x85, 0x2028, 0x3000 };
    if (random_below(seed, 3) > 0) return often[random_below(seed, (int32_t)COUNT_OF(often))];
    const int32_t block = random_below(seed, (int32_t)COUNT_OF(blocks));
    return blocks[block].first + random_below(seed, blocks[block].n);
}

static void check_pattern(split *pretoken, const char *text)
{
    uint32_t pattern[512];
    const size_t n_pattern = strlen(text);
    assert_true(n_pattern <= COUNT_OF(pattern));
    for (size_t i = 0; i < n_pattern; i++) pattern[i] = (uint8_t)text[i];
    int code_error;
    PCRE2_SIZE where;
    pcre2_code *compiled =
        pcre2_compile(pattern, n_pattern, PCRE2_UTF | PCRE2_UCP, &code_error, &where, NULL);
    assert_non_null(compiled);
    pcre2_match_data *match = pcre2_match_data_create_from_pattern(compiled, NULL);
    assert_non_null(match);
    (void)pcre2_jit_compile(compiled, PCRE2_JIT_COMPLETE);

    uint32_t seed = 17;
    size_t n_stretches = 0;
    for (int round = 0; round < 20000; round++) {
        static int32_t code[MAX_CODES];
        static uint32_t subject[MAX_CODES];
        const size_t n = (size_t)random_below(&seed, round % 100 ? 40 : MAX_CODES);
        for (size_t i = 0; i < n; i++) subject[i] = (uint32_t)(code[i] = random_code(&seed));
        for (size_t from = 0; from < n; n_stretches++) {
            const size_t length = pretoken(code + from, n - from);
            const int found = pcre2_match(compiled, subject, n, from,
                                          PCRE2_ANCHORED | PCRE2_NO_UTF_CHECK, match, NULL);
            assert_int_equal(found, 1);
            const PCRE2_SIZE *at = pcre2_get_ovector_pointer(match);
            CHECK_CASE(at[1] == from + length, "round %d, from %zu (U+%04X): %zu, not %zu", round,
                       from, (unsigned)code[from], length, at[1] - from);
            from += length;
        }
    }
    assert_true(n_stretches > 100000);
    pcre2_match_data_free(match);
    pcre2_code_free(compiled);
}

static void test_as_pcre2(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(patterns); i++)
        check_pattern(patterns[i].pretoken, patterns[i].pattern);
}

/* Every code point alone, by class, against the same library. */
static void test_classes(void **state)
{
    (void)state;
    static const char *const classes[] = { "[^\\p{Z}\\t-\\r\\x{85}\\p{L}\\p{N}]", "\\p{L}",
                                           "\\p{N}", "[\\p{Z}\\t-\\r\\x{85}]" };
    int n_differ = 0;
    for (size_t i = 0; i < COUNT_OF(classes); i++) {
        uint32_t pattern[64];
        const size_t length = strlen(classes[i]);
        for (size_t k = 0; k < length; k++) pattern[k] = (uint8_t)classes[i][k];
        int code_error;
        PCRE2_SIZE where;
        pcre2_code *compiled =
            pcre2_compile(pattern, length, PCRE2_UTF | PCRE2_UCP, &code_error, &where, NULL);
        assert_non_null(compiled);
        pcre2_match_data *match = pcre2_match_data_create_from_pattern(compiled, NULL);
        for (uint32_t code = 0; code < 0x110000; code++) {
            if (code >= 0xD800 && code < 0xE000) continue;
            const int found = pcre2_match(compiled, &code, 1, 0, PCRE2_NO_UTF_CHECK, match, NULL);
            n_differ += (found == 1) != (s2v_class_of((int32_t)code) == (s2v_class)i);
        }
        pcre2_match_data_free(match);
        pcre2_code_free(compiled);
    }
    /* Unicode adds letters with every version: a few thousand may be known to one of the two only.
     */
    assert_true(n_differ < 2 * 20000);
}

#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qwen2),
        cmocka_unit_test(test_smollm),
#ifdef S2_HAVE_PCRE2
        cmocka_unit_test(test_as_pcre2),
        cmocka_unit_test(test_classes),
#endif
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
