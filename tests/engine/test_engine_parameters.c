/* test_engine_parameters.c - parameters of a method reach it, and belong to what a prefix is known
 * by.
 */
#include "tiny_llava.h"

static const char *folder;

typedef struct kept {
    int32_t n, token[64];
    int32_t n_cached;
} kept;

/* Prefill anew: what is kept of the picture, and how much of the prompt was there already. */
static kept keep(s2v_session *session, question *q, const s2p_parameters *parameters)
{
    s2v_stats stats;
    s2p_error error = { S2P_OK, "" };
    kept out = { .n = 0 };
    q->prune.parameters = parameters;
    s2v_session_reset(session);
    CHECK_CASE(prefill(session, q, &stats, &error) == S2P_OK, "%s", error.message);
    const int32_t *token = s2p_plan_keep(s2v_session_plan(session, 0), &out.n);
    memcpy(out.token, token, (size_t)out.n * sizeof *token);
    out.n_cached = stats.cached_tokens;
    return out;
}

static bool is_same(const kept *a, const kept *b)
{
    return a->n == b->n && memcmp(a->token, b->token, sizeof a->token) == 0;
}

static void test_parameters(void **state)
{
    (void)state;
    static uint8_t pixels[252 * 196 * 3];
    const s2p_method *method = s2p_method_find("gprune");
    vocabulary_init(&tiny_words);
    tiny_text(&tiny_text_file, &tiny_words, TINY_LAYERS);
    tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
    tiny_write_pair(folder, "parameters", &tiny_text_file, &tiny_mmproj_file);
    s2v_engine *engine = tiny_open_caching();
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    question q = { .raw = "hello world <image> aaaa bcd", .n_images = 1 };
    q.image[0] = make_picture(pixels, 252, 196, 5);
    q.size[0] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                     .width = 9 * TINY_TOKEN_SIDE,
                                     .height = 7 * TINY_TOKEN_SIDE };
    s2v_prune_options_init(&q.prune);
    q.prune.method = s2p_method_about(method)->name;
    q.prune.budget.tokens = 20;

    s2p_parameters own, other;
    s2p_parameters_init(method, &own);
    s2p_parameters_init(method, &other);
    assert_int_equal(s2p_parameters_set(method, &other, "sim_threshold", "0.05", NULL), S2P_OK);
    assert_int_equal(s2p_parameters_set(method, &other, "temperature", "5", NULL), S2P_OK);
    const kept first = keep(session, &q, NULL);
    const kept spelled = keep(session, &q, &own); /* the same said aloud: the prefix is known */
    assert_true(is_same(&first, &spelled) && first.n == 20);
    assert_int_equal(first.n_cached, 0);
    assert_true(spelled.n_cached > 0);
    const kept changed = keep(session, &q, &other); /* another choice: nothing is recalled */
    assert_int_equal(changed.n_cached, 0);
    assert_false(is_same(&first, &changed));
    const kept again = keep(session, &q, &other);
    assert_true(again.n_cached > 0 && is_same(&changed, &again));

    own.value[0] = -1.0; /* not by s2p_parameters_set */
    s2p_error error = { S2P_OK, "" };
    q.prune.parameters = &own;
    s2v_session_reset(session);
    assert_int_equal(prefill(session, &q, NULL, &error), S2P_EINVAL);
    assert_string_equal(error.message, "sim_threshold '-1' is not a number from 1e-09 to 1");
    s2v_session_free(session);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_parameters) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
