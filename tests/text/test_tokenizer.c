/* test_tokenizer.c - text to tokens and back, on a vocabulary small enough to do by hand. */
#include "check.h"
#include "failing_malloc.h"
#include "vocabulary.h"

#define ACUTE "\xCC\x81"   /* U+0301, joins the letter before it */
#define E_ACUTE "\xC3\xA9" /* U+00E9 */
#define FFFD "\xEF\xBF\xBD"

static vocabulary standard;
static s2v_tokenizer *tokenizer;

static int set_up(void **state)
{
    (void)state;
    s2p_error error = { S2P_OK, "" };
    vocabulary_init(&standard);
    if (vocabulary_load(&standard, &tokenizer, &error) == S2P_OK) return 0;
    print_error("%s\n", error.message);
    return -1;
}

static int tear_down(void **state)
{
    (void)state;
    s2v_tokenizer_free(tokenizer);
    return 0;
}

/* --- by hand ------------------------------------------------------------------ */

/* The tokens of a text, as their own texts between bars. */
static void tokens_of(const char *text, size_t n, bool parse_special, s2_buffer *out)
{
    s2v_tokens tokens = { .id = NULL };
    assert_int_equal(s2v_tokenize(tokenizer, text, n, parse_special, &tokens, NULL), S2P_OK);
    for (size_t i = 0; i < tokens.n; i++) {
        if (i > 0) s2_buffer_append(out, "|", 1);
        s2v_token_bytes(tokenizer, tokens.id[i], true, out);
    }
    s2_buffer_append(out, "", 1);
    s2v_tokens_free(&tokens);
}

static void test_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text, *tokens;
        bool parse_special;
    } cases[] = {
        { "nothing", "", "", true },
        { "merges by rank", "hello", "hello", true },
        { "a space goes to the word", "hello world", "hello| world", true },
        { "merges do not cross a split", "hell or", "hell| |or", true },
        { "the smallest rank first", "aba", "aba", true },
        { "a a (rank 12) before a b (rank 20)", "aab", "aab", true },
        { "leftmost of equals", "aaa", "aa|a", true },
        { "c d, then cd e before b cd, though b c was in line earlier", "bcde", "b|cde", true },
        { "long runs", "aaaaaaaaaaaaa", "aaaaaaaa|aaaa|a", true },
        { "an ending", "us's", "us|'s", true },
        { "an ending in capitals has no merge", "us'S", "us|'|S", true },
        { "all but the last space before a word", "a    world", "a|  | | world", true },
        { "spaces at the end stay together", "a    ", "a|    ", true },
        { "line ends", "a\n\n\nb", "a|\n\n|\n|b", true },
        { "digits one by one", "1a2", "1|a|2", true },
        { "composed", "he" E_ACUTE, "he|" E_ACUTE, true },
        { "decomposed: NFC first", "he" ACUTE, "h|" E_ACUTE, true },
        { "a special token", "user<|im_end|>user", "user|<|im_end|>|user", true },
        { "the same as plain text", "<|im_end|>", "<|\x7C|i|m|_|e|n|d|\x7C|>", false },
        { "not quite one", "<|im_end|", "<|\x7C|i|m|_|e|n|d|\x7C", true },
        { "side by side", "<|im_end|><|im_end|>", "<|im_end|>|<|im_end|>", true },
        { "the longest", "<|fim|><|pad|>", "<|fim|><|pad|>", true },
        { "the shorter when the longer does not fit", "<|fim|><|pa", "<|fim|>|<|\x7C|p|a", true },
        { "the leftmost before the longest", "<|fim|><|x", "<|fim|>|<|\x7C|x", true },
        { "one inside a cut-off one", "<|fim<|im_end|>", "<|\x7C|f|i|m|<|im_end|>", true },
        { "user-defined ones too", "<tool_call>a", "<tool_call>|a", true },
        { "but not in plain text", "<tool_call>", "<|t|o|o|l|_|c|a|ll|>", false },
        { "no mark joins across one", "e<|im_end|>" ACUTE, "e|<|im_end|>|\xCC|\x81", true },
        { "fillers are never made", "[PAD399]", "[|P|A|D|3|9|9|]", true },
        { "nor those marked as user-defined", "[PAD398]", "[|P|A|D|3|9|8|]", true },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2_buffer got;
        s2_buffer_init(&got, 4096);
        tokens_of(cases[i].text, strlen(cases[i].text), cases[i].parse_special, &got);
        CHECK_CASE(strcmp((char *)got.data, cases[i].tokens) == 0, "%s: got %s", cases[i].why,
                   (char *)got.data);
        s2_buffer_free(&got);
    }
}

static void test_appends(void **state)
{
    (void)state;
    s2v_tokens tokens = { .id = NULL };
    assert_int_equal(s2v_tokenize(tokenizer, "hello", 5, false, &tokens, NULL), S2P_OK);
    assert_int_equal(s2v_tokenize(tokenizer, "a\0b", 3, false, &tokens, NULL), S2P_OK);
    assert_int_equal(tokens.n, 4);
    assert_int_equal(tokens.id[0], s2v_tokenizer_find(tokenizer, "hello"));
    assert_int_equal(tokens.id[2], s2v_tokenizer_find(tokenizer, "\xC4\x80")); /* byte 0 */
    s2v_tokens_free(&tokens);
}

static void test_lookups(void **state)
{
    (void)state;
    assert_int_equal(s2v_tokenizer_size(tokenizer), N_VOCABULARY);
    const int32_t im_end = s2v_tokenizer_find(tokenizer, "<|im_end|>");
    assert_int_equal(im_end, s2v_tokenizer_eos(tokenizer));
    assert_true(s2v_tokenizer_ends(tokenizer, im_end));
    assert_true(s2v_tokenizer_ends(tokenizer, s2v_tokenizer_find(tokenizer, "<|endoftext|>")));
    assert_false(s2v_tokenizer_ends(tokenizer, s2v_tokenizer_find(tokenizer, "<|im_start|>")));
    assert_false(s2v_tokenizer_ends(tokenizer, -1)); /* eot_token_id is not in the file */
    assert_int_equal(s2v_tokenizer_find(tokenizer, "<|nothing|>"), -1);
    assert_int_equal(s2v_tokenizer_find(tokenizer, ""), -1);
    for (int byte = 0; byte < 256; byte++) {
        const int32_t code = s2v_spelling_of((uint8_t)byte);
        assert_int_equal(s2v_byte_of(code), byte);
        assert_true(code > 0x20 && code != 0xAD && !(code >= 0x7F && code <= 0xA0) && code < 0x144);
    }
    assert_int_equal(s2v_byte_of(' '), -1);
    assert_int_equal(s2v_byte_of(0x144), -1);
    assert_int_equal(s2v_byte_of(0xAD), -1);
}

/* --- NFC ------------------------------------------------------------------------- */

static void test_nfc(void **state)
{
    (void)state;
    static const struct {
        const char *why;
        int32_t in[6], out[6]; /* ends with 0 */
    } cases[] = {
        { "composes", { 'e', 0x301 }, { 0xE9 } },
        { "singletons change", { 0x212B, 0x2126 }, { 0xC5, 0x3A9 } },
        { "marks in order of class, then composed", { 'a', 0x308, 0x323 }, { 0x1EA1, 0x308 } },
        { "composes twice", { 'a', 0x302, 0x301 }, { 0x1EA5 } },
        { "blocked by a mark of the same class", { 'a', 0x30D, 0x301 }, { 'a', 0x30D, 0x301 } },
        { "composition exclusion", { 0x958 }, { 0x915, 0x93C } },
        { "Hangul", { 0x1112, 0x1161, 0x11AB }, { 0xD55C } },
        { "Hangul syllable and a final", { 0xD558, 0x11AB }, { 0xD55C } },
        { "ligatures stay: not compatibility", { 0xFB01 }, { 0xFB01 } },
        { "a mark alone", { 0x301, 'a' }, { 0x301, 'a' } },
        { "beyond the first plane", { 0x1D15E }, { 0x1D157, 0x1D165 } },
    };
    s2v_codes codes = { .code = NULL };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        uint8_t text[24];
        size_t n = 0, n_out = 0;
        for (size_t k = 0; cases[i].in[k]; k++) n += s2v_utf8_write(cases[i].in[k], text + n);
        while (cases[i].out[n_out]) n_out++;
        assert_int_equal(s2v_nfc(text, n, &codes, NULL), S2P_OK);
        CHECK_CASE(codes.n == n_out && memcmp(codes.code, cases[i].out, n_out * 4) == 0, "%s",
                   cases[i].why);
    }
    s2v_codes_free(&codes);
}

/* Any order of marks gives the same result as any other that keeps equals in place. */
static void test_mark_order(void **state)
{
    (void)state;
    static const int32_t marks[] = { 0x327, 0x323, 0x301, 0x345, 0x334 }; /* classes all differ */
    uint32_t seed = 7;
    s2v_codes codes = { .code = NULL };
    int32_t first[8];
    size_t n_first = 0;
    for (int round = 0; round < 200; round++) {
        int32_t order[COUNT_OF(marks)];
        memcpy(order, marks, sizeof marks);
        for (int32_t i = COUNT_OF(marks) - 1; i > 0; i--) {
            const int32_t k = random_below(&seed, i + 1), swap = order[i];
            order[i] = order[k];
            order[k] = swap;
        }
        uint8_t text[24] = "q";
        size_t n = 1;
        for (size_t i = 0; i < COUNT_OF(marks); i++) n += s2v_utf8_write(order[i], text + n);
        assert_int_equal(s2v_nfc(text, n, &codes, NULL), S2P_OK);
        if (round == 0) {
            n_first = codes.n;
            memcpy(first, codes.code, n_first * 4);
        }
        assert_int_equal(codes.n, n_first);
        assert_memory_equal(codes.code, first, n_first * 4);
    }
    s2v_codes_free(&codes);
}

/* --- promises on seeded input -------------------------------------------------------- */

static int32_t random_code(uint32_t *seed)
{
    switch (random_below(seed, 8)) {
    case 0:
        return random_below(seed, 0x80);
    case 1:
        return "ab hello'sus\n\t <|>"[random_below(seed, 18)];
    case 2:
        return 0x300 + random_below(seed, 0x70);
    case 3:
        return 0xAC00 + random_below(seed, 0x2BA4);
    case 4:
        return 0x10000 + random_below(seed, 0x100000);
    case 5:
        return random_below(seed, 0xD800);
    default:
        return 'a' + random_below(seed, 4);
    }
}

/* Tokens give back the NFC of the text, and streaming gives back the same in whole characters. */
static void test_round_trip(void **state)
{
    (void)state;
    uint32_t seed = 2;
    s2v_codes codes = { .code = NULL };
    for (int round = 0; round < 3000; round++) {
        uint8_t text[4 * 64];
        size_t n = 0;
        for (int32_t left = random_below(&seed, 64); left > 0; left--)
            n += s2v_utf8_write(random_code(&seed), text + n);
        s2v_tokens tokens = { .id = NULL };
        s2_buffer expected, whole, streamed;
        s2_buffer_init(&expected, 4096);
        s2_buffer_init(&whole, 4096);
        s2_buffer_init(&streamed, 4096);
        assert_int_equal(s2v_tokenize(tokenizer, (char *)text, n, false, &tokens, NULL), S2P_OK);
        assert_int_equal(s2v_nfc(text, n, &codes, NULL), S2P_OK);
        for (size_t i = 0; i < codes.n; i++) {
            uint8_t utf8[4];
            s2_buffer_append(&expected, utf8, s2v_utf8_write(codes.code[i], utf8));
        }
        s2v_detokenizer stream = { .n_held = 0 };
        for (size_t i = 0; i < tokens.n; i++) {
            assert_true(tokens.id[i] >= 0 && tokens.id[i] < N_VOCABULARY);
            assert_int_equal(tokenizer->type[tokens.id[i]], S2V_TOKEN_NORMAL);
            s2v_token_bytes(tokenizer, tokens.id[i], false, &whole);
            s2v_detokenize(tokenizer, &stream, tokens.id[i], &streamed);
            int32_t code;
            for (size_t k = 0; k < streamed.size;) { /* whole characters at every moment */
                const size_t used = s2v_utf8_read(streamed.data + k, streamed.size - k, &code);
                assert_true(used > 0);
                k += used;
            }
        }
        s2v_detokenize_end(&stream, &streamed);
        assert_int_equal(whole.size, expected.size);
        assert_int_equal(streamed.size, expected.size);
        if (expected.size > 0) {
            assert_memory_equal(whole.data, expected.data, expected.size);
            assert_memory_equal(streamed.data, expected.data, expected.size);
        }
        s2_buffer_free(&expected);
        s2_buffer_free(&whole);
        s2_buffer_free(&streamed);
        s2v_tokens_free(&tokens);
    }
    s2v_codes_free(&codes);
}

/* Merging as it is defined: look at every pair, join the best, start over. */
static size_t join_slowly(int32_t *token, size_t n)
{
    for (;;) {
        const s2v_merge *best = NULL;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const s2v_merge *merge = s2v_merges_find(&tokenizer->merges, token[i], token[i + 1]);
            if (!merge || (best && best->rank <= merge->rank)) continue;
            best = merge;
            at = i;
        }
        if (!best) return n;
        token[at] = best->token;
        memmove(token + at + 1, token + at + 2, (n - at - 2) * sizeof *token);
        n--;
    }
}

static void test_merging_as_defined(void **state)
{
    (void)state;
    uint32_t seed = 11;
    s2v_bpe *bpe = NULL;
    assert_int_equal(s2v_bpe_create(&bpe, NULL), S2P_OK);
    for (int round = 0; round < 5000; round++) {
        int32_t fast[80], slow[80];
        size_t n = (size_t)random_below(&seed, (int32_t)COUNT_OF(fast));
        for (size_t i = 0; i < n; i++)
            fast[i] = slow[i] =
                tokenizer->byte_token[(uint8_t) "aabcdeheluswrd "[random_below(&seed, 15)]];
        const size_t n_slow = join_slowly(slow, n);
        assert_int_equal(s2v_bpe_join(bpe, &tokenizer->merges, fast, &n, NULL), S2P_OK);
        assert_int_equal(n, n_slow);
        if (n > 0) assert_memory_equal(fast, slow, n * sizeof *fast);
    }
    s2v_bpe_free(bpe);
}

/* A megabyte of the worst: all of these must end, and soon. */
static void test_long_texts(void **state)
{
    (void)state;
    static const char *const pattern[] = { "a",
                                           " ",
                                           "\n",
                                           " \n",
                                           "<|",
                                           "<|fim|><|",
                                           "'",
                                           "\xCC\x81\xCC\xA3", /* marks in the wrong order */
                                           "\xEA\xB0\x80",
                                           "ab",
                                           "1",
                                           " a",
                                           "\xF0\x9F\x99\x82" };
    const size_t n_bytes = (size_t)1 << 20;
    char *text = malloc(n_bytes);
    assert_non_null(text);
    for (size_t i = 0; i < COUNT_OF(pattern); i++) {
        const size_t period = strlen(pattern[i]), n = n_bytes - n_bytes % period;
        for (size_t k = 0; k < n; k++) text[k] = pattern[i][k % period];
        s2v_tokens tokens = { .id = NULL };
        s2_buffer back;
        s2_buffer_init(&back, 2 * n_bytes);
        assert_int_equal(s2v_tokenize(tokenizer, text, n, true, &tokens, NULL), S2P_OK);
        for (size_t k = 0; k < tokens.n; k++) s2v_token_bytes(tokenizer, tokens.id[k], true, &back);
        assert_int_equal(back.size, n);
        s2_buffer_free(&back);
        s2v_tokens_free(&tokens);
    }
    free(text);
}

/* --- bytes that are not UTF-8 ------------------------------------------------------------ */

static void test_refuses_invalid_text(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "\x80",
        "\xC0\xAF",
        "\xC1\xBF",
        "\xE0\x9F\xBF",
        "\xED\xA0\x80",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFF",
        "\xC3",
        "\xE2\x82",
        "\xF0\x9F\x99",
        "hello\xC3(",
    };
    s2v_tokens tokens = { .id = NULL };
    assert_int_equal(s2v_tokens_add(&tokens, 5), S2P_OK);
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        for (int parse = 0; parse < 2; parse++) {
            s2p_error error = { S2P_OK, "" };
            char text[64];
            const int n = snprintf(text, sizeof text, "hello<|im_end|>%s", bad[i]);
            CHECK_CASE(s2v_tokenize(tokenizer, text, (size_t)n, parse, &tokens, &error) ==
                           S2P_EFORMAT,
                       "%zu", i);
            assert_true(error.message[0] != '\0');
            assert_int_equal(tokens.n, 1); /* as before the call */
        }
    assert_int_equal(
        s2v_tokenize(tokenizer, "a", (size_t)S2V_TEXT_MAX_BYTES + 1, true, &tokens, NULL),
        S2P_ELIMIT);
    s2v_tokens_free(&tokens);
}

static void test_replacement(void **state)
{
    (void)state;
    static const struct {
        const char *in, *out; /* bytes.decode("utf-8", errors="replace") */
    } cases[] = {
        { "abc", "abc" },
        { E_ACUTE, E_ACUTE },
        { "\xC3", FFFD },
        { "\xC3(", FFFD "(" },
        { "\x80\x80", FFFD FFFD },
        { "\xE2\x82", FFFD },
        { "\xE2\x82z", FFFD "z" },
        { "\xE2\x82\xE2\x82\xAC", FFFD "\xE2\x82\xAC" },
        { "\xF0\x9F\x99", FFFD },
        { "\xF0\x9F\x99\xF0\x9F\x99\x82", FFFD "\xF0\x9F\x99\x82" },
        { "\xC0\xAF", FFFD FFFD },
        { "\xE0\x80\xAF", FFFD FFFD FFFD },
        { "\xED\xA0\x80", FFFD FFFD FFFD },
        { "\xF0\x80\x80\x80", FFFD FFFD FFFD FFFD },
        { "\xF4\x90\x80\x80", FFFD FFFD FFFD FFFD },
        { "\xF1\x80\x80z\xFF", FFFD "z" FFFD },
        { "\xF1\x80\xE1\x80\xC2"
          "b\x80"
          "c\x80\xBF"
          "d",
          FFFD FFFD FFFD "b" FFFD "c" FFFD FFFD "d" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (int by_token = 0; by_token < 2; by_token++) {
            s2_buffer out;
            s2_buffer_init(&out, 4096);
            s2v_detokenizer stream = { .n_held = 0 };
            const size_t n = strlen(cases[i].in);
            if (by_token)
                for (size_t k = 0; k < n; k++)
                    s2v_detokenize(tokenizer, &stream,
                                   tokenizer->byte_token[(uint8_t)cases[i].in[k]], &out);
            else
                s2v_detokenize_bytes(&stream, cases[i].in, n, &out);
            s2v_detokenize_end(&stream, &out);
            s2v_detokenize_end(&stream, &out); /* nothing left */
            CHECK_CASE(out.size == strlen(cases[i].out) &&
                           memcmp(out.data, cases[i].out, out.size) == 0,
                       "%zu", i);
            s2_buffer_free(&out);
        }
}

static void test_what_shows(void **state)
{
    (void)state;
    s2_buffer out;
    s2_buffer_init(&out, 4096);
    s2v_detokenizer stream = { .n_held = 0 };
    const int32_t ids[] = { s2v_tokenizer_find(tokenizer, "hello"),
                            s2v_tokenizer_find(tokenizer, "<|im_end|>"), /* control: not shown */
                            s2v_tokenizer_find(tokenizer, "<tool_call>"),
                            s2v_tokenizer_find(tokenizer, "[PAD398]"),
                            s2v_tokenizer_find(tokenizer, "[PAD399]"),
                            -1,
                            N_VOCABULARY,
                            INT32_MAX,
                            INT32_MIN };
    for (size_t i = 0; i < COUNT_OF(ids); i++) s2v_detokenize(tokenizer, &stream, ids[i], &out);
    s2v_detokenize_end(&stream, &out);
    s2_buffer_append(&out, "", 1);
    assert_string_equal((char *)out.data, "hello<tool_call>");
    s2_buffer_free(&out);
}

/* The tail of a generated token: nothing is allocated once the output has room. */
static void test_streaming_does_not_allocate(void **state)
{
    (void)state;
    s2_buffer out;
    s2_buffer_init(&out, 4096);
    assert_non_null(s2_buffer_extend(&out, 2048));
    out.size = 0;
    s2v_detokenizer stream = { .n_held = 0 };
    allocations_seen = 0;
    for (int32_t i = 0; i < N_VOCABULARY; i++) s2v_detokenize(tokenizer, &stream, i, &out);
    s2v_detokenize_end(&stream, &out);
    assert_int_equal(allocations_seen, 0);
    assert_true(out.size > 256);
    s2_buffer_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_appends),
        cmocka_unit_test(test_lookups),
        cmocka_unit_test(test_nfc),
        cmocka_unit_test(test_mark_order),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_merging_as_defined),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_refuses_invalid_text),
        cmocka_unit_test(test_replacement),
        cmocka_unit_test(test_what_shows),
        cmocka_unit_test(test_streaming_does_not_allocate),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
