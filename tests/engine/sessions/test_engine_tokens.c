/* test_engine_tokens.c - text as tokens and back, prompts rendered and counted, and options from
 * programs of another version of the header.
 */
#include "tiny_llava.h"

#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static const char *folder;
static s2v_engine *engine;

static void test_text(void **state)
{
    (void)state;
    int32_t token[64], first;
    char text[64];
    size_t n, n_bytes;
    s2p_error error = { S2P_OK, "" };
    static const char hello[] = "hello <|im_end|>";
    assert_int_equal(
        s2v_engine_tokenize(engine, hello, strlen(hello), 0, token, COUNT_OF(token), &n, &error),
        S2P_OK);
    assert_true(n > 3); /* the mark is text */
    assert_int_equal(
        s2v_engine_detokenize(engine, token, n, 0, text, sizeof text, &n_bytes, &error), S2P_OK);
    assert_string_equal(text, hello);
    assert_int_equal(n_bytes, strlen(hello));
    const size_t n_plain = n;
    first = token[0];
    token[0] = token[1] = -5;
    assert_int_equal(s2v_engine_tokenize(engine, hello, strlen(hello), 0, token, 1, &n, NULL),
                     S2P_OK);
    assert_true(n == n_plain && token[0] == first && token[1] == -5); /* not beyond capacity */
    assert_int_equal(s2v_engine_tokenize(engine, hello, strlen(hello), 1, token, 64, &n, NULL),
                     S2P_OK);
    assert_true(n < n_plain && s2v_engine_token_ends(engine, token[n - 1]));
    assert_false(s2v_engine_token_ends(engine, token[0]));
    assert_int_equal(s2v_engine_get_token(engine, token[n - 1], 1, text, sizeof text), 10);
    assert_memory_equal(text, "<|im_end|>", 10);
    assert_int_equal(s2v_engine_get_token(engine, token[n - 1], 0, text, sizeof text), 0);
    assert_int_equal(s2v_engine_detokenize(engine, token, n, 1, text, 6, &n_bytes, NULL), S2P_OK);
    assert_string_equal(text, "hello"); /* cut */
    assert_int_equal(n_bytes, strlen(hello));

    assert_int_equal(s2v_engine_vocabulary(engine), N_VOCABULARY);
    token[1] = N_VOCABULARY;
    assert_int_equal(
        s2v_engine_detokenize(engine, token, 2, 0, text, sizeof text, &n_bytes, &error),
        S2P_EINVAL);
    assert_non_null(strstr(error.message, "tokens[1]"));
    assert_int_equal(s2v_engine_get_token(engine, N_VOCABULARY, 1, text, sizeof text), 0);
    assert_int_equal(s2v_engine_tokenize(engine, "\xff", 1, 0, token, 64, &n, &error), S2P_EFORMAT);
}

static void test_render(void **state)
{
    (void)state;
    int32_t token[256];
    size_t n, n_again, n_bytes;
    static char text[1024];
    const s2v_message message = { S2V_USER, "hello <image> and <image>", 2 };
    s2v_prompt prompt;
    s2v_prompt_init(&prompt);
    prompt.messages = &message;
    prompt.n_messages = 1;
    prompt.n_images = 2;
    assert_int_equal(s2v_engine_render(engine, &prompt, token, COUNT_OF(token), &n, NULL), S2P_OK);
    assert_int_equal(s2v_engine_render(engine, &prompt, NULL, 0, &n_again, NULL), S2P_OK);
    assert_int_equal(n, n_again);
    size_t n_text = 0, n_pictures = 0;
    for (size_t i = 0; i < n; i++) {
        if (token[i] < 0)
            assert_int_equal(token[i], S2V_PICTURE((int32_t)n_pictures)), n_pictures++;
        if (token[i] >= 0) token[n_text++] = token[i];
    }
    assert_int_equal(n_pictures, 2);
    assert_int_equal(
        s2v_engine_detokenize(engine, token, n_text, 1, text, sizeof text, &n_bytes, NULL), S2P_OK);
    assert_string_equal(text, "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
                              "<|im_start|>user\nhello <|vision_start|><|vision_end|> and "
                              "<|vision_start|><|vision_end|><|im_end|>\n<|im_start|>assistant\n");
    prompt.n_images = 1; /* two are marked */
    assert_int_equal(s2v_engine_render(engine, &prompt, token, COUNT_OF(token), &n, NULL),
                     S2P_EINVAL);
}

/* What is counted is what a prefill takes, and it needs no pixels. */
static void test_count(void **state)
{
    (void)state;
    static const char *const methods[] = { "full", "s2prune", "sparsevlm" };
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    for (size_t i = 0; i < 2 * COUNT_OF(methods); i++) {
        question q = one_picture(methods[i / 2], 17);
        if (i % 2) q.prune.budget.percent = 40.0;
        s2v_stats stats;
        s2v_count count;
        s2p_error error = { S2P_OK, "" };
        s2v_session_reset(session);
        assert_int_equal(prefill(session, &q, &stats, &error), S2P_OK);
        s2v_prompt prompt = prompt_of(&q);
        const s2p_image outline = { .width = 180, .height = 140 };
        prompt.images = &outline;
        CHECK_CASE(s2v_engine_count(engine, &prompt, &q.prune, &count, &error) == S2P_OK, "%s",
                   error.message);
        CHECK_CASE(count.text_tokens == stats.text_tokens &&
                       count.image_tokens_full == stats.image_tokens_full &&
                       count.image_tokens == stats.image_tokens,
                   "%s: %d, %d, %d", methods[i / 2], count.text_tokens, count.image_tokens_full,
                   count.image_tokens);
        q.prune.published = 1;
        assert_int_equal(s2v_engine_count(engine, &prompt, &q.prune, &count, NULL), S2P_OK);
        assert_true(i < 2 ? count.image_tokens == 63 : count.image_tokens == -1);
        q.prune.budget = (s2v_budget){ .tokens = 0 };
        assert_int_equal(s2v_engine_count(engine, &prompt, &q.prune, &count, NULL),
                         i < 2 ? S2P_OK : S2P_EBUDGET);
    }
    s2v_session_free(session);
}

/* --- other versions of the header --------------------------------------------------------- */

static void *edge[8];
static int n_edges;

/* `size` bytes of `from` at the end of a page, before one that cannot be read: what an earlier header
 * does not have is not touched. */
static void *at_the_edge(const void *from, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    assert_true(n_edges < (int)COUNT_OF(edge));
    assert_int_equal(posix_memalign(&edge[n_edges], page, 2 * page), 0);
    char *second = (char *)edge[n_edges++] + page;
    assert_int_equal(mprotect(second, page, PROT_NONE), 0);
    memcpy(second - size, from, size);
    memcpy(second - size, &size, sizeof size);
    return second - size;
}

static void free_edges(void)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    while (n_edges > 0) {
        n_edges--;
        assert_int_equal(mprotect((char *)edge[n_edges] + page, page, PROT_READ | PROT_WRITE), 0);
        free(edge[n_edges]);
    }
}

static void test_older_header(void **state)
{
    (void)state;
    static answer a, b;
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    question q = one_picture("s2prune", 17);
    q.raw = "hello <image> aaaa";
    prefill_only(session, &q, &a);
    s2v_session_free(session);

    /* Without the fields from `rpc_server`, `plain_attention`, `n_answer`, `choice`, `no_newline` on. */
    const s2v_engine_options plain = tiny_options();
    s2v_engine_options *eo = at_the_edge(&plain, offsetof(s2v_engine_options, rpc_server));
    const s2v_session_options *so =
        at_the_edge(&options, offsetof(s2v_session_options, sampling) + sizeof(s2v_sampling));
    const s2v_prompt whole = prompt_of(&q);
    s2v_prompt *p = at_the_edge(&whole, offsetof(s2v_prompt, n_answer));
    p->image_options = at_the_edge(&q.size[0], offsetof(s2v_image_options, no_newline) / 8 * 8);
    const s2v_prune_options *prune =
        at_the_edge(&q.prune, offsetof(s2v_prune_options, choice) / 8 * 8);
    s2v_engine *older;
    s2p_error error = { S2P_OK, "" };
    s2v_stats stats;
    CHECK_CASE(s2v_engine_open(&older, eo, &error) == S2P_OK, "%s", error.message);
    CHECK_CASE(s2v_session_create(&session, older, so, &error) == S2P_OK, "%s", error.message);
    CHECK_CASE(s2v_session_prefill(session, p, prune, &stats, &error) == S2P_OK, "%s",
               error.message);
    take_prefill(session, &stats, 1, &b);
    assert_memory_equal(a.first, b.first, sizeof a.first);
    assert_memory_equal(a.kept[0], b.kept[0], sizeof a.kept[0]);
    s2v_session_free(session);
    s2v_engine_close(older);
    free_edges();
}

/* _init of an earlier header leaves what lies behind its struct alone. */
static void test_older_init(void **state)
{
    (void)state;
    s2v_session_options o;
    memset(&o, 0x5A, sizeof o);
    const size_t size = offsetof(s2v_session_options, no_cache);
    s2v_session_options_init_sized(&o, size);
    assert_true(o.size == size && o.kv_type_v == S2V_KV_SAME && o.sampling.top_p == 1.0f);
    assert_int_equal(o.no_cache, 0x5A5A5A5A);
}

static void test_newer_header(void **state)
{
    (void)state;
    struct {
        s2v_session_options o;
        unsigned char later[32];
    } grown = { .o = tiny_session_options() };
    s2v_session *session;
    s2p_error error = { S2P_OK, "" };
    grown.o.size = sizeof grown;
    assert_int_equal(s2v_session_create(&session, engine, &grown.o, &error), S2P_OK);
    s2v_sampling sampling = grown.o.sampling;
    sampling.reserved[sizeof sampling.reserved / sizeof *sampling.reserved - 1] = 1;
    assert_int_equal(s2v_session_set_sampling(session, &sampling, &error), S2P_EINVAL);
    s2v_session_free(session);
    grown.later[31] = 1;
    assert_int_equal(s2v_session_create(&session, engine, &grown.o, &error), S2P_EINVAL);
    CHECK_CASE(strstr(error.message, "s2v_session_options has"), "%s", error.message);
    grown.o.size = 0;
    assert_int_equal(s2v_session_create(&session, engine, &grown.o, &error), S2P_EINVAL);
    CHECK_CASE(strstr(error.message, "s2v_session_options_init"), "%s", error.message);
    s2v_engine_options none = { .model_path = "x" };
    s2v_engine *other;
    assert_int_equal(s2v_engine_open(&other, &none, &error), S2P_EINVAL);
    CHECK_CASE(strstr(error.message, "s2v_engine_options_init"), "%s", error.message);
    assert_int_equal(s2v_engine_open(&other, NULL, &error), S2P_EINVAL);
    assert_string_equal(s2v_version(), "0.1.0");
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    tiny_write_plain(folder);
    engine = tiny_open();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),       cmocka_unit_test(test_render),
        cmocka_unit_test(test_count),      cmocka_unit_test(test_older_header),
        cmocka_unit_test(test_older_init), cmocka_unit_test(test_newer_header),
    };
    const int n_failed = cmocka_run_group_tests(tests, NULL, NULL);
    s2v_engine_close(engine);
    return n_failed;
}
