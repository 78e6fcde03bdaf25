/* test_ask.c - one question to the bundled model: what the answer holds, who hears it, where it
 * ends. The argument is the source tree.
 */
#include "check.h"

#include "ask/ask.h"
#include "base/error.h"
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *source;
static s2v_engine *engine;
static s2_image picture;

static int open_model(void **state)
{
    (void)state;
    char model[1024], mmproj[1024], path[1024];
    (void)snprintf(model, sizeof model, "%s/models/s2prune-tiny/s2prune-tiny-f16.gguf", source);
    (void)snprintf(mmproj, sizeof mmproj, "%s/models/s2prune-tiny/mmproj-s2prune-tiny-f16.gguf",
                   source);
    (void)snprintf(path, sizeof path, "%s/data/synth/images/0000.jpg", source);
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = model;
    options.mmproj_path = mmproj;
    options.cache_bytes = (uint64_t)256 << 20;
    return s2v_engine_open(&engine, &options, NULL) != S2P_OK ||
           s2_image_load(path, S2_PIXELS_REFERENCE, NULL, &picture, NULL) != S2P_OK;
}

static int close_model(void **state)
{
    (void)state;
    s2_image_free(&picture);
    s2v_engine_close(engine);
    return 0;
}

static s2v_session *session_with(const char *const *stop, size_t n_stop, int keeps_prefix)
{
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.sampling.stop = stop;
    options.sampling.n_stop = n_stop;
    options.pictures_only = !keeps_prefix;
    s2v_session *session;
    assert_int_equal(s2v_session_create(&session, engine, &options, NULL), S2P_OK);
    return session;
}

static s2p_status ask(s2v_session *session, const char *question, const s2a_setting *setting,
                      const s2a_limits *limits, const s2a_listener *listener, s2a_answer *answer,
                      s2p_error *error)
{
    const s2v_message message = { .role = S2V_USER, .text = question, .n_images = 1 };
    const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                .messages = &message,
                                .n_messages = 1,
                                .images = &picture.view,
                                .n_images = 1 };
    s2v_session_reset(session);
    return s2a_ask(session, &prompt, setting, limits, listener, answer, error);
}

static s2a_setting setting_of(const char *method, int32_t budget)
{
    s2a_setting setting = { .budget = { .tokens = budget } };
    s2a_setting_use(&setting, method);
    return setting;
}

typedef struct ear {
    char text[256];
    s2p_status reply;
} ear;

static s2p_status hear(const char *text, size_t n, void *user, s2p_error *error)
{
    ear *e = user;
    assert_int_equal(strlen(text), n);
    (void)strncat(e->text, text, sizeof e->text - strlen(e->text) - 1);
    return e->reply == S2P_OK ? S2P_OK : s2_fail(error, e->reply, "enough");
}

static void test_answer(void **state)
{
    (void)state;
    s2v_session *session = session_with(NULL, 0, 0);
    const s2a_setting setting = setting_of("s2prune", 64);
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    const s2a_limits limits = { .n_tokens = 16, .n_logits = info.n_vocab };
    ear e = { "", S2P_OK };
    s2a_answer answer;
    assert_int_equal(ask(session, "Read the word.", &setting, &limits, &(s2a_listener){ hear, &e },
                         &answer, NULL),
                     S2P_OK);
    assert_string_equal(answer.text, "BOOKS");
    assert_string_equal(e.text, "BOOKS"); /* what was heard is the answer */
    assert_true(answer.is_stopped && answer.n_tokens == 2 && answer.generate_ms > 0.0);
    assert_true(s2a_tokens_per_second(&answer) > 0.0);
    assert_true(answer.n_parts == 1 && answer.part[0].n_keep == 64 && !answer.part[0].is_tiles);
    assert_true(answer.part[0].grid.rows == 24 && answer.part[0].side == 5);
    for (int32_t i = 1; i < 64; i++)
        assert_true(answer.part[0].keep[i - 1] < answer.part[0].keep[i]);
    assert_int_equal(answer.stats.image_tokens, 64);
    int32_t best = 0; /* greedy: the logits kept are those the first token was picked from */
    for (int32_t i = 1; i < info.n_vocab; i++)
        if (answer.logits[i] > answer.logits[best]) best = i;
    assert_int_equal(best, answer.token[0]);
    s2a_answer_free(&answer);
    assert_null(answer.text);

    assert_int_equal(ask(session, "Read the word.", &setting, &(s2a_limits){ .n_tokens = 1 }, NULL,
                         &answer, NULL),
                     S2P_OK);
    assert_true(!answer.is_stopped && answer.n_tokens == 1 && !answer.logits);
    s2a_answer_free(&answer);
    assert_int_equal(ask(session, "Read the word.", &setting, &(s2a_limits){ .n_tokens = 0 }, NULL,
                         &answer, NULL),
                     S2P_OK);
    assert_true(!answer.is_stopped && answer.n_tokens == 0 && !answer.text[0]);
    s2a_answer_free(&answer);
    s2v_session_free(session);
}

typedef struct ending {
    int32_t after, stays; /* tokens: when to say so, and how many */
} ending;

static int32_t end_after(const int32_t *token, int32_t n_tokens, const char *text, void *user)
{
    const ending *e = user;
    assert_true(token != NULL && strlen(text) <= 16);
    return n_tokens == e->after ? e->stays : -1;
}

/* An answer that its reader ends is that beginning, not a failure; regions come with it. */
static void test_ends_after(void **state)
{
    (void)state;
    s2v_session *session = session_with(NULL, 0, 0);
    const s2a_setting setting = setting_of("s2prune", 64);
    static const struct {
        ending ending;
        const char *text;
        int32_t n_tokens;
    } cases[] = { { { 9, 9 }, "6342", 5 }, /* never: the model stops before */
                  { { 2, 2 }, "63", 2 },
                  { { 3, 1 }, "6", 1 },
                  { { 3, 0 }, "", 0 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        ending e = cases[i].ending;
        const s2a_limits limits = { .n_tokens = 16, .ends_after = end_after, .user = &e };
        s2a_answer answer;
        assert_int_equal(
            ask(session, "What number is written?", &setting, &limits, NULL, &answer, NULL),
            S2P_OK);
        CHECK_CASE(strcmp(answer.text, cases[i].text) == 0, "%zu: '%s'", i, answer.text);
        CHECK_CASE(answer.n_tokens == cases[i].n_tokens && answer.is_stopped, "%zu: %d", i,
                   answer.n_tokens);
        int32_t sum = 0;
        float most = 0.0f;
        for (int32_t g = 0; g < 25; g++) {
            sum += answer.part[0].share[g];
            if (answer.part[0].score[g] > most) most = answer.part[0].score[g];
        }
        assert_true(sum == 64 && most == 1.0f && answer.part[0].raw[0] >= 0.0f);
        s2a_answer_free(&answer);
    }
    s2v_session_free(session);
}

/* Nothing of a stop string comes out, and what only looked like its beginning does. */
static void test_stop(void **state)
{
    (void)state;
    static const char *const stops[] = { "42", "6342x" };
    s2v_session *session = session_with(stops, 2, 0);
    const s2a_setting setting = setting_of("full", 0);
    ear e = { "", S2P_OK };
    s2a_answer answer;
    assert_int_equal(ask(session, "What number is written?", &setting,
                         &(s2a_limits){ .n_tokens = 16 }, &(s2a_listener){ hear, &e }, &answer,
                         NULL),
                     S2P_OK);
    assert_string_equal(answer.text, "63");
    assert_string_equal(e.text, "63");
    assert_true(answer.is_stopped && answer.n_tokens == 4);
    s2a_answer_free(&answer);
    assert_int_equal(ask(session, "What number is written?", &setting,
                         &(s2a_limits){ .n_tokens = 3 }, NULL, &answer, NULL),
                     S2P_OK);
    assert_string_equal(answer.text, "634"); /* held back until the end, then given */
    assert_false(answer.is_stopped);
    s2a_answer_free(&answer);
    s2v_session_free(session);
}

static void test_failures(void **state)
{
    (void)state;
    s2v_session *session = session_with(NULL, 0, 0);
    s2a_setting setting = setting_of("s2prune", 64);
    ear e = { "", S2P_EIO };
    s2a_answer answer;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(ask(session, "Read the word.", &setting, &(s2a_limits){ .n_tokens = 16 },
                         &(s2a_listener){ hear, &e }, &answer, &error),
                     S2P_EIO);
    assert_string_equal(error.message, "enough");
    assert_true(!answer.text && !answer.part && !answer.token); /* nothing to free */
    setting.choice.side = 9;                                    /* 81 regions, 64 tokens */
    assert_int_equal(ask(session, "Read the word.", &setting, &(s2a_limits){ .n_tokens = 16 }, NULL,
                         &answer, &error),
                     S2P_EBUDGET);
    assert_null(answer.text);
    s2v_session_free(session);
}

/* Budgets for each picture, and a parameter, reach the method. */
static void test_setting_reaches_the_engine(void **state)
{
    (void)state;
    s2v_session *session = session_with(NULL, 0, 0);
    s2a_setting setting = setting_of("s2prune", 64);
    const s2v_budget budget = { .tokens = 32 };
    const int32_t side = 2;
    s2a_answer answer, other;
    const s2a_limits limits = { .n_tokens = 1, .image_budget = &budget, .image_side = &side };
    assert_int_equal(ask(session, "Read the word.", &setting, &limits, NULL, &answer, NULL),
                     S2P_OK);
    assert_true(answer.part[0].n_keep == 32 && answer.part[0].side == 2);
    s2a_answer_free(&answer);

    setting = setting_of("gridprune", 64);
    const s2a_limits brief = { .n_tokens = 1 };
    assert_int_equal(ask(session, "Read the word.", &setting, &brief, NULL, &answer, NULL), S2P_OK);
    assert_int_equal(s2a_settings_set("--set", "zone=3", &setting, 1, NULL), S2P_OK);
    assert_int_equal(ask(session, "Read the word.", &setting, &brief, NULL, &other, NULL), S2P_OK);
    assert_int_equal(other.part[0].n_keep, 64);
    assert_memory_not_equal(answer.part[0].keep, other.part[0].keep, 64 * sizeof(int32_t));
    s2a_answer_free(&answer);
    s2a_answer_free(&other);
    s2v_session_free(session);
}

/* The second question about a picture prefills itself only, and says so; the answer is the same. */
static void test_prefix(void **state)
{
    (void)state;
    static const char *const questions[] = { "Read the word.", "What number is written?",
                                             "Read the word." };
    s2v_session *fresh = session_with(NULL, 0, 0), *keeping = session_with(NULL, 0, 1);
    const s2a_setting setting = setting_of("s2prune", 64);
    const s2a_limits limits = { .n_tokens = 16 };
    for (size_t i = 0; i < COUNT_OF(questions); i++) {
        s2a_answer expected, got;
        assert_int_equal(ask(fresh, questions[i], &setting, &limits, NULL, &expected, NULL),
                         S2P_OK);
        assert_int_equal(ask(keeping, questions[i], &setting, &limits, NULL, &got, NULL), S2P_OK);
        assert_string_equal(got.text, expected.text);
        assert_true(got.n_parts == 1 && got.part[0].n_keep == 64);
        assert_memory_equal(got.part[0].keep, expected.part[0].keep, 64 * sizeof(int32_t));
        assert_int_equal(got.stats.prompt_tokens, expected.stats.prompt_tokens);
        assert_int_equal(expected.stats.cached_tokens, 0);
        if (i == 0)
            assert_int_equal(got.stats.cached_tokens, 0);
        else
            assert_true(got.stats.cached_tokens > 64 &&
                        got.stats.cached_tokens < got.stats.prompt_tokens);
        s2a_answer_free(&expected);
        s2a_answer_free(&got);
    }
    s2v_session_free(fresh);
    s2v_session_free(keeping);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    source = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_ends_after),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_setting_reaches_the_engine),
        cmocka_unit_test(test_prefix),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
