/* test_tokenizer_vocabulary.c - vocabularies that are refused, and memory that runs out. */
#include "check.h"
#include "failing_malloc.h"
#include "vocabulary.h"

#define ACUTE "\xCC\x81" /* U+0301, joins the letter before it */

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

/* --- vocabularies that are wrong ----------------------------------------------------------- */

static void set_token(vocabulary *v, size_t i, const char *text)
{
    (void)snprintf(v->token[i], sizeof v->token[0], "%s", text);
}

static void set_merge(vocabulary *v, const char *line)
{
    (void)snprintf(v->merge[3], sizeof v->merge[0], "%s", line);
}

static void refuse(const char *why, const vocabulary *v, s2p_status expected)
{
    s2v_tokenizer *made = NULL;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = vocabulary_load(v, &made, &error);
    CHECK_CASE(st == expected && !made, "%s: status %d, %s", why, st, error.message);
    assert_true(error.status == st && error.message[0] != '\0');
}

/* Each starts from the right one, with one thing changed. */
static void test_refuses_vocabularies(void **state)
{
    (void)state;
    static vocabulary v;
    const size_t a_special = 256 + 30;
    char longer[300];
    memset(longer, 'x', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
#define CHANGED(why, status, ...) \
    do {                          \
        v = standard;             \
        __VA_ARGS__;              \
        refuse(why, &v, status);  \
    } while (0)
    CHANGED("no model", S2P_EFORMAT, v.model = NULL);
    CHANGED("another model", S2P_EUNSUPPORTED, v.model = "bert");
    CHANGED("no pre-tokenizer", S2P_EFORMAT, v.pre = NULL);
    CHANGED("another pre-tokenizer", S2P_EUNSUPPORTED, v.pre = "default");
    CHANGED("one that only starts alike", S2P_EUNSUPPORTED, v.pre = "qwen2x");
    CHANGED("control characters in it", S2P_EUNSUPPORTED, v.pre = "\x1b[2J");
    CHANGED("no types", S2P_EFORMAT, v.has_types = false);
    CHANGED("no merges", S2P_EFORMAT, v.has_merges = false);
    CHANGED("a type too few", S2P_EFORMAT, v.n_types--);
    CHANGED("a token too few", S2P_EFORMAT, v.n_tokens--);
    CHANGED("no tokens", S2P_EFORMAT, v.n_tokens = v.n_types = 0);
    CHANGED("type 0", S2P_EFORMAT, v.type[300] = 0);
    CHANGED("type 7", S2P_EFORMAT, v.type[300] = 7);
    CHANGED("a negative type", S2P_EFORMAT, v.type[300] = -1);
    CHANGED("an empty token", S2P_EFORMAT, set_token(&v, 300, ""));
    CHANGED("a token that is not UTF-8", S2P_EFORMAT, set_token(&v, 300, "\xC3("));
    CHANGED("twice the same", S2P_EFORMAT, set_token(&v, 300, "hello"));
    CHANGED("a special token too long", S2P_EFORMAT, set_token(&v, a_special, longer));
    CHANGED("a byte without a token", S2P_EFORMAT, set_token(&v, 'k', "kk"));
    CHANGED("a byte as a special token", S2P_EFORMAT, v.type['k'] = S2V_TOKEN_CONTROL);
    CHANGED("a merge without a space", S2P_EFORMAT, set_merge(&v, "hello"));
    CHANGED("an empty merge", S2P_EFORMAT, set_merge(&v, ""));
    CHANGED("only a space", S2P_EFORMAT, set_merge(&v, " "));
    CHANGED("nothing on the left", S2P_EFORMAT, set_merge(&v, " hello"));
    CHANGED("nothing on the right", S2P_EFORMAT, set_merge(&v, "hello "));
    CHANGED("two spaces", S2P_EFORMAT, set_merge(&v, "he l lo"));
    CHANGED("an unknown left", S2P_EFORMAT, set_merge(&v, "zz o"));
    CHANGED("an unknown right", S2P_EFORMAT, set_merge(&v, "hell zz"));
    CHANGED("an unknown join", S2P_EFORMAT, set_merge(&v, "o hell"));
    CHANGED("the same merge twice", S2P_EFORMAT, set_merge(&v, "he ll"));
    CHANGED("a merge that makes a special token", S2P_EFORMAT,
            v.type[s2v_tokenizer_find(tokenizer, "hello")] = S2V_TOKEN_CONTROL);
    CHANGED("end of text beyond the vocabulary", S2P_EFORMAT, v.eos = N_VOCABULARY);
    CHANGED("far beyond", S2P_EFORMAT, v.eos = UINT32_MAX);
    CHANGED("start of text beyond it", S2P_EFORMAT, v.bos = N_VOCABULARY);
    CHANGED("a token before every prompt", S2P_EUNSUPPORTED, v.adds_bos = true);
#undef CHANGED
}

/* Less than the standard one, and still right. */
static void test_accepts_vocabularies(void **state)
{
    (void)state;
    static vocabulary v;
    s2v_tokenizer *made = NULL;
    v = standard;
    v.eos = -1;
    v.architecture = NULL;
    v.n_merges = 0;
    assert_int_equal(vocabulary_load(&v, &made, NULL), S2P_OK);
    assert_int_equal(s2v_tokenizer_eos(made), -1);
    s2v_tokens tokens = { .id = NULL };
    assert_int_equal(s2v_tokenize(made, "hello", 5, true, &tokens, NULL), S2P_OK);
    assert_int_equal(tokens.n, 5);
    s2v_tokens_free(&tokens);
    s2v_tokenizer_free(made);

    v = standard; /* no special token at all */
    for (size_t i = 0; i < v.n_types; i++) v.type[i] = S2V_TOKEN_NORMAL;
    assert_int_equal(vocabulary_load(&v, &made, NULL), S2P_OK);
    assert_int_equal(s2v_tokenize(made, "<|im_end|>", 10, true, &tokens, NULL), S2P_OK);
    assert_int_equal(tokens.n, 10);
    assert_false(s2v_tokenizer_ends(made, s2v_tokenizer_find(made, "<|endoftext|>")));
    s2v_tokens_free(&tokens);
    s2v_tokenizer_free(made);
}

/* --- no memory ---------------------------------------------------------------------------------
 */

static void test_without_memory(void **state)
{
    (void)state;
    writer w = { .data = NULL };
    vocabulary_write(&standard, &w);
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
    assert_true(n_failed >= 6);
    s2v_gguf_close(file);
    free(w.data);

    static const char text[] = "hello" ACUTE "<|im_end|> world";
    st = S2P_ENOMEM;
    for (int n = 0; st == S2P_ENOMEM; n++) {
        s2v_tokens tokens = { .id = NULL };
        allocations_left = n;
        st = s2v_tokenize(tokenizer, text, sizeof text - 1, true, &tokens, NULL);
        allocations_left = -1;
        assert_true(st == S2P_OK ? tokens.n > 3 : tokens.n == 0);
        s2v_tokens_free(&tokens);
    }
    assert_int_equal(st, S2P_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refuses_vocabularies),
        cmocka_unit_test(test_accepts_vocabularies),
        cmocka_unit_test(test_without_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
