/* test_pieces.c - SentencePiece on a vocabulary small enough to do by hand. */
#include "check.h"
#include "failing_malloc.h"
#include "pieces_vocabulary.h"
#include "text/pieces.h"
#include "text/unicode.h"

#include <math.h>

static pieces standard;
static s2v_tokenizer *tokenizer;

static int set_up(void **state)
{
    (void)state;
    s2p_error error = { S2P_OK, "" };
    pieces_init(&standard);
    if (pieces_open(&standard, &tokenizer, &error) == S2P_OK) return 0;
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

/* The tokens of a text as the vocabulary writes them, between bars. */
static void tokens_of(const s2v_tokenizer *t, const char *text, bool parse_special, s2_buffer *out)
{
    s2v_tokens tokens = { .id = NULL };
    assert_int_equal(s2v_tokenize(t, text, strlen(text), parse_special, &tokens, NULL), S2P_OK);
    for (size_t i = 0; i < tokens.n; i++) {
        const s2v_text token = s2v_token_text(t, tokens.id[i]);
        if (i > 0) s2_buffer_append(out, "|", 1);
        s2_buffer_append(out, token.data, token.size);
    }
    s2_buffer_append(out, "", 1);
    s2v_tokens_free(&tokens);
}

static void check_tokens(const s2v_tokenizer *t, const char *why, const char *text,
                         bool parse_special, const char *expected)
{
    s2_buffer got;
    s2_buffer_init(&got, 4096);
    tokens_of(t, text, parse_special, &got);
    CHECK_CASE(strcmp((char *)got.data, expected) == 0, "%s: got %s", why, (char *)got.data);
    s2_buffer_free(&got);
}

static void test_by_hand(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text, *tokens;
        bool parse_special;
    } cases[] = {
        { "nothing", "", "", true },
        { "a space goes before the text", "the", SP "the", true },
        { "highest score first: _t, he, then _the", "the the", SP "the|" SP "the", true },
        { "no piece for the start", "in", SP "|in", true },
        { "the space itself", " ", SP SP, true },
        { "runs of spaces", "a     b", SP "|a|" SP SP SP SP "|" SP "|b", true },
        { "U+2581 is a space", "the" SP "the", SP "the|" SP "the", true },
        { "ab before ba", "aba", SP "|aba", true },
        { "leftmost of equals, here aa", "aaaa", SP "|aa|aa", true },
        { "aaa from aa and a", "aaaaa", SP "|aa|aaa", true },
        { "built up in steps", "hello", SP "hello", true },
        { "a character of two bytes", "\xC3\xA9t", SP "|\xC3\xA9t", true },
        { "a character without a piece: its bytes", "\xE2\x82\xAC", SP "|<0xE2>|<0x82>|<0xAC>",
          true },
        { "line ends are bytes", "a\nb", SP "|a|<0x0A>|b", true },
        { "what looks like a byte is text", "<0x0A>", SP "|<|<0x30>|<0x78>|<0x30>|<0x41>|>", true },
        { "a special token; a space goes before what follows", "the<image>the",
          SP "the|<image>|" SP "the", true },
        { "nothing between two", "<s><image></s>", "<s>|<image>|</s>", true },
        { "as plain text", "</s>", SP "|<|<0x2F>|<0x73>|>", false },
        { "a piece users defined is part of plain text too", "a\n\nb", SP "|a|\n\n|" SP "|b",
          false },
        { "the unknown token is special", "<unk>", "<unk>", true },
        { "and plain text otherwise", "<unk>", SP "|<|<0x75>|n|<0x6B>|>", false },
        { "nor are fillers", "[PAD319]",
          SP "|<0x5B>|<0x50>|<0x41>|<0x44>|<0x33>|<0x31>|<0x39>|<0x5D>", true },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_tokens(tokenizer, cases[i].why, cases[i].text, cases[i].parse_special,
                     cases[i].tokens);
    assert_int_equal(s2v_tokenizer_bos(tokenizer), 1);
    assert_int_equal(s2v_tokenizer_eos(tokenizer), 2);
    assert_true(s2v_tokenizer_ends(tokenizer, 2));
    assert_string_equal(s2v_tokenizer_title(tokenizer), "SentencePiece");
}

/* Settings of the file, each alone. */
static void test_settings(void **state)
{
    (void)state;
    static pieces v;
    s2v_tokenizer *made = NULL;
    v = standard;
    v.space = 0;
    v.adds_bos = 0;
    assert_int_equal(pieces_open(&v, &made, NULL), S2P_OK);
    check_tokens(made, "no space in front", "the the<image>in", true, "the|" SP "the|<image>|in");
    assert_int_equal(s2v_tokenizer_bos(made), -1);
    s2v_tokenizer_free(made);

    v = standard;
    pieces_drop_bytes(&v);
    assert_int_equal(pieces_open(&v, &made, NULL), S2P_OK);
    check_tokens(made, "unknown characters in a row are one token", "a\xE2\x82\xAC\nb\n", true,
                 SP "|a|<unk>|b|<unk>");
    s2v_tokenizer_free(made);
    v.unknown = -1; /* found by its type */
    assert_int_equal(pieces_open(&v, &made, NULL), S2P_OK);
    check_tokens(made, "unknown by type", "\xE2\x82\xAC", true, SP "|<unk>");
    s2v_tokenizer_free(made);

    v = standard;
    v.score[s2v_tokenizer_find(tokenizer, "ba")] = v.score[s2v_tokenizer_find(tokenizer, "ab")];
    assert_int_equal(pieces_open(&v, &made, NULL), S2P_OK);
    check_tokens(made, "equal scores: the leftmost", "bab", true, SP "|ba|b");
    s2v_tokenizer_free(made);

    v = standard; /* a piece that reaches into the next word */
    (void)snprintf(v.token[s2v_tokenizer_find(tokenizer, "aba")], sizeof v.token[0], "b" SP);
    assert_int_equal(pieces_open(&v, &made, NULL), S2P_OK);
    assert_false(made->is_cut_at_spaces);
    check_tokens(made, "merges may cross", "b a", true, SP "|b" SP "|a");
    s2v_tokenizer_free(made);
}

/* --- tokens to text ------------------------------------------------------------------ */

static void test_decoding(void **state)
{
    (void)state;
    static const struct {
        const char *why, *text;
        int32_t id[8]; /* ends with -1 */
    } cases[] = {
        { "the first space is the one that was added", "the", { 261, -1 } },
        { "only the first", "the the", { 261, 261, -1 } },
        { "a second one was in the text", " the", { 276, 261, -1 } },
        { "after a token that shows nothing too", "the", { 1, 261, -1 } },
        { "a text that starts without", "in the", { 273, 261, -1 } },
        { "bytes become a character", "\xE2\x82\xAC", { 3 + 0xE2, 3 + 0x82, 3 + 0xAC, -1 } },
        { "a space as a byte", "in", { 3 + 0x20, 273, -1 } },
        { "half a character",
          "\xEF\xBF\xBD"
          "in",
          { 3 + 0xE2, 273, -1 } },
        { "unknown and fillers show nothing", "in", { 0, 319, 273, -1 } },
        { "pieces users defined are text",
          "\n\n"
          "in",
          { 290, 273, -1 } },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_detokenizer stream = { .n_held = 0 };
        s2_buffer out;
        s2_buffer_init(&out, 4096);
        for (size_t k = 0; cases[i].id[k] >= 0; k++)
            s2v_detokenize(tokenizer, &stream, cases[i].id[k], &out);
        s2v_detokenize_end(&stream, &out);
        s2_buffer_append(&out, "", 1);
        CHECK_CASE(strcmp((char *)out.data, cases[i].text) == 0, "%s: got '%s'", cases[i].why,
                   (char *)out.data);
        s2_buffer_free(&out);
    }
    s2_buffer out;
    s2_buffer_init(&out, 64);
    s2v_token_bytes(tokenizer, 261, false, &out); /* a token alone keeps its space */
    s2v_token_bytes(tokenizer, 0, true, &out);
    assert_int_equal(out.size, 9);
    assert_memory_equal(out.data, " the<unk>", 9);
    s2_buffer_free(&out);
    assert_int_equal(s2v_piece_byte((s2v_text){ "<0x1F>", 6 }), 0x1F);
    assert_int_equal(s2v_piece_byte((s2v_text){ "<0x1f>", 6 }), -1);
    assert_int_equal(s2v_piece_byte((s2v_text){ "<0x1F", 5 }), -1);
}

static void append(char *text, size_t capacity, const char *more)
{
    const size_t n = strlen(text);
    assert_true(n + strlen(more) < capacity);
    (void)snprintf(text + n, capacity - n, "%s", more);
}

/* Decoding gives the text back, with U+2581 as a space; streamed, in whole characters. */
static void test_round_trip(void **state)
{
    (void)state;
    static const char *const part[] = { "the",    " ",    "a",  "ab",       "hello",
                                        "\n",     "\n\n", SP,   "\xC3\xA9", "\xF0\x9F\x99\x82",
                                        "<0x0A>", "</s>", "in", "  ",       "1" };
    uint32_t seed = 3;
    for (int round = 0; round < 3000; round++) {
        char text[256] = "", expected[256] = "";
        for (int32_t left = random_below(&seed, 20); left > 0; left--) {
            const char *next = part[random_below(&seed, (int32_t)COUNT_OF(part))];
            append(text, sizeof text, next);
            append(expected, sizeof expected, strcmp(next, SP) == 0 ? " " : next);
        }
        if (strstr(text, "\n\n")) continue; /* a space is added after it */
        s2v_tokens tokens = { .id = NULL };
        s2v_detokenizer stream = { .n_held = 0 };
        s2_buffer out;
        s2_buffer_init(&out, 4096);
        assert_int_equal(s2v_tokenize(tokenizer, text, strlen(text), false, &tokens, NULL), S2P_OK);
        for (size_t i = 0; i < tokens.n; i++) {
            assert_true(tokenizer->type[tokens.id[i]] == S2V_TOKEN_NORMAL ||
                        tokenizer->type[tokens.id[i]] == S2V_TOKEN_BYTE);
            s2v_detokenize(tokenizer, &stream, tokens.id[i], &out);
        }
        s2v_detokenize_end(&stream, &out);
        s2_buffer_append(&out, "", 1);
        CHECK_CASE(strcmp((char *)out.data, expected) == 0, "'%s': got '%s'", expected,
                   (char *)out.data);
        s2_buffer_free(&out);
        s2v_tokens_free(&tokens);
    }
}

/* Joining as SentencePiece defines it, on texts: look at every pair, join the one whose piece has
 * the highest score, start over. */
static size_t join_slowly(const char *text, int32_t *token)
{
    size_t start[128], n = 0; /* symbol i is text[start[i]..start[i + 1]) */
    for (size_t i = 0; text[i]; n++) {
        int32_t code;
        start[n] = i;
        i += s2v_utf8_read((const uint8_t *)text + i, strlen(text + i), &code);
    }
    start[n] = strlen(text);
    for (;;) {
        int32_t best = -1;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            const int32_t found =
                s2v_vocab_find(tokenizer, text + start[i], start[i + 2] - start[i]);
            if (found < 0 || (best >= 0 && standard.score[found] <= standard.score[best])) continue;
            best = found;
            at = i;
        }
        if (best < 0) break;
        memmove(start + at + 1, start + at + 2, (n - at - 1) * sizeof *start);
        n--;
    }
    for (size_t i = 0; i < n; i++)
        token[i] = s2v_vocab_find(tokenizer, text + start[i], start[i + 1] - start[i]);
    return n;
}

static void test_joining_as_defined(void **state)
{
    (void)state;
    static const char *const part[] = {
        SP, "t", "h", "e", "l", "o", "a", "b", "i", "n", "the", "ab"
    };
    uint32_t seed = 5;
    for (int round = 0; round < 5000; round++) {
        char text[256] = SP;
        int32_t slow[128];
        for (int32_t left = random_below(&seed, 30); left > 0; left--)
            append(text, sizeof text, part[random_below(&seed, (int32_t)COUNT_OF(part))]);
        s2v_tokens tokens = { .id = NULL };
        const size_t n_slow = join_slowly(text, slow);
        assert_int_equal(s2v_tokenize(tokenizer, text + 3, strlen(text + 3), false, &tokens, NULL),
                         S2P_OK);
        if (text[3]) {
            assert_int_equal(tokens.n, n_slow);
            assert_memory_equal(tokens.id, slow, n_slow * sizeof *slow);
        }
        s2v_tokens_free(&tokens);
    }
}

/* A megabyte of the worst: all of these must end, and soon. */
static void test_long_texts(void **state)
{
    (void)state;
    static const char *const pattern[] = { "a",       " ",   "\n", "ab",   "hell",
                                           " the",    SP,    "<",  "<ima", "\xF0\x9F\x99\x82",
                                           "<image>", "\n\n" };
    const size_t n_bytes = (size_t)1 << 20;
    char *text = malloc(n_bytes);
    assert_non_null(text);
    for (size_t i = 0; i < COUNT_OF(pattern); i++) {
        const size_t period = strlen(pattern[i]), n = n_bytes - n_bytes % period;
        for (size_t k = 0; k < n; k++) text[k] = pattern[i][k % period];
        s2v_tokens tokens = { .id = NULL };
        assert_int_equal(s2v_tokenize(tokenizer, text, n, true, &tokens, NULL), S2P_OK);
        assert_true(tokens.n > n / 16);
        s2v_tokens_free(&tokens);
    }
    free(text);
}

/* --- refusals -------------------------------------------------------------------------- */

static void refuse(const char *why, const pieces *v, s2p_status expected)
{
    s2v_tokenizer *made = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = pieces_open(v, &made, &error);
    CHECK_CASE(st == expected && !made, "%s: status %d, %s", why, st, error.message);
    assert_true(error.status == st && error.message[0] != '\0');
}

static void set_token(pieces *v, size_t i, const char *text)
{
    (void)snprintf(v->token[i], sizeof v->token[0], "%s", text);
}

static void test_refuses_vocabularies(void **state)
{
    (void)state;
    static pieces v;
#define CHANGED(why, status, ...) \
    do {                          \
        v = standard;             \
        __VA_ARGS__;              \
        refuse(why, &v, status);  \
    } while (0)
    CHANGED("no scores", S2P_EFORMAT, v.has_scores = false);
    CHANGED("a score too few", S2P_EFORMAT, v.n_scores--);
    CHANGED("scores that are whole numbers", S2P_EFORMAT, v.score_type = I32);
    CHANGED("a score that is no number", S2P_EFORMAT, v.score[270] = NAN);
    CHANGED("an infinite score", S2P_EFORMAT, v.score[270] = -INFINITY);
    CHANGED("not even of a control token", S2P_EFORMAT, v.score[1] = NAN);
    CHANGED("a type too few", S2P_EFORMAT, v.n_types--);
    CHANGED("type 0", S2P_EFORMAT, v.type[270] = 0);
    CHANGED("twice the same", S2P_EFORMAT, set_token(&v, 300, "hello"));
    CHANGED("an empty piece", S2P_EFORMAT, set_token(&v, 270, ""));
    CHANGED("a piece that is not UTF-8", S2P_EFORMAT, set_token(&v, 270, "\xE2\x96"));
    CHANGED("a byte that is none", S2P_EFORMAT, set_token(&v, 3 + 65, "<0xG1>"));
    CHANGED("a byte in small letters", S2P_EFORMAT, set_token(&v, 3 + 0xAB, "<0xab>"));
    CHANGED("a byte missing", S2P_EFORMAT, v.type[3 + 65] = S2V_TOKEN_UNUSED);
    CHANGED("neither bytes nor unknown", S2P_EFORMAT, pieces_drop_bytes(&v);
            v.type[0] = S2V_TOKEN_CONTROL; v.unknown = -1);
    CHANGED("an unknown token that is a piece", S2P_EFORMAT, pieces_drop_bytes(&v);
            v.unknown = 261);
    CHANGED("an unknown token beyond the vocabulary", S2P_EFORMAT, v.unknown = N_PIECES);
    CHANGED("a start beyond it", S2P_EFORMAT, v.bos = N_PIECES);
#undef CHANGED
}

/* Long pieces: cutting all of them would take hours, so the sum is refused before the first. */
static void test_refuses_long_pieces(void **state)
{
    (void)state;
    writer w = { .data = NULL };
    s2v_gguf *file = NULL;
    s2v_tokenizer *made = NULL;
    s2p_error error = { S2P_OK, "" };
    const size_t n = 200, longest = 4096;
    char text[4096];
    put_start(&w, 3, 0, 4);
    put_key(&w, "tokenizer.ggml.model", STRING);
    put_string(&w, "llama", 5);
    put_array(&w, "tokenizer.ggml.tokens", STRING, n);
    for (size_t i = 0; i < n; i++) {
        memset(text, 'a', longest);
        text[longest - 1 - i] = 'b';
        put_string(&w, text, i ? longest : 1); /* the unknown token */
    }
    put_array(&w, "tokenizer.ggml.token_type", I32, n);
    for (size_t i = 0; i < n; i++) put(&w, i ? S2V_TOKEN_NORMAL : S2V_TOKEN_UNKNOWN, 4);
    put_array(&w, "tokenizer.ggml.scores", F32, n);
    for (size_t i = 0; i < n; i++) put(&w, 0, 4);
    put_padding(&w, 32);
    assert_int_equal(s2v_gguf_parse(&file, w.data, w.n, "vocabulary", NULL), S2P_OK);
    assert_int_equal(s2v_tokenizer_create(&made, file, &error), S2P_ELIMIT);
    s2v_gguf_close(file);
    free(w.data);
}

static void test_refuses_invalid_text(void **state)
{
    (void)state;
    s2v_tokens tokens = { .id = NULL };
    assert_int_equal(s2v_tokens_add(&tokens, 5), S2P_OK);
    for (int parse = 0; parse < 2; parse++)
        assert_int_equal(s2v_tokenize(tokenizer, "the\xC3(", 5, parse, &tokens, NULL), S2P_EFORMAT);
    assert_int_equal(tokens.n, 1); /* as before */
    s2v_tokens_free(&tokens);
}

static void test_without_memory(void **state)
{
    (void)state;
    writer w = { .data = NULL };
    pieces_write(&standard, &w);
    s2v_gguf *file = NULL;
    assert_int_equal(s2v_gguf_parse(&file, w.data, w.n, "vocabulary", NULL), S2P_OK);
    s2p_status st = S2P_ENOMEM;
    int n_failed = 0;
    for (int n = 0; st == S2P_ENOMEM; n++) {
        s2v_tokenizer *made = NULL;
        s2p_error error = { S2P_OK, "" };
        allocations_left = n;
        st = s2v_tokenizer_create(&made, file, &error);
        allocations_left = -1;
        assert_true(st == S2P_OK ? made != NULL : !made && error.status == S2P_ENOMEM);
        n_failed += st != S2P_OK;
        s2v_tokenizer_free(made);
    }
    assert_int_equal(st, S2P_OK);
    assert_true(n_failed >= 8);
    s2v_gguf_close(file);
    free(w.data);

    st = S2P_ENOMEM;
    for (int n = 0; st == S2P_ENOMEM; n++) {
        s2v_tokens tokens = { .id = NULL };
        allocations_left = n;
        st = s2v_tokenize(tokenizer, "the<image>hello", 15, true, &tokens, NULL);
        allocations_left = -1;
        assert_int_equal(tokens.n, st == S2P_OK ? 3 : 0);
        s2v_tokens_free(&tokens);
    }
    assert_int_equal(st, S2P_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_settings),
        cmocka_unit_test(test_decoding),
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_joining_as_defined),
        cmocka_unit_test(test_long_texts),
        cmocka_unit_test(test_refuses_vocabularies),
        cmocka_unit_test(test_refuses_long_pieces),
        cmocka_unit_test(test_refuses_invalid_text),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
