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
    assert_int_equal(ask(session, "Read the word.", &setting, &limits,
                         &(s2a_listener){ .receive = hear, .user = &e }, &answer, NULL),
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
                         &(s2a_limits){ .n_tokens = 16 },
                         &(s2a_listener){ .receive = hear, .user = &e }, &answer, NULL),
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
                         &(s2a_listener){ .receive = hear, .user = &e }, &answer, &error),
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

/* --- several budgets ---------------------------------------------------------------------- */

static s2a_setting growing(const char *method, const char *budget, double min_confidence)
{
    s2a_setting setting = setting_of(method, 64);
    assert_int_equal(
        s2a_budget_read_steps("x", budget, strlen(budget), S2P_MAX_TOKENS, &setting.budget, NULL),
        S2P_OK);
    setting.min_confidence = min_confidence;
    return setting;
}

static s2a_limits limits_of(int32_t n_tokens)
{
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    return (s2a_limits){ .n_tokens = n_tokens, .n_vocab = info.n_vocab };
}

static void check_same(const s2a_answer *got, const s2a_answer *expected, const char *name)
{
    CHECK_CASE(strcmp(got->text, expected->text) == 0, "%s: %s", name, got->text);
    CHECK_CASE(
        got->n_tokens == expected->n_tokens &&
            memcmp(got->token, expected->token, (size_t)got->n_tokens * sizeof *got->token) == 0,
        "%s", name);
    assert_int_equal(got->n_parts, expected->n_parts);
    for (int32_t p = 0; p < got->n_parts; p++) {
        assert_int_equal(got->part[p].n_keep, expected->part[p].n_keep);
        assert_memory_equal(got->part[p].keep, expected->part[p].keep,
                            (size_t)got->part[p].n_keep * sizeof(int32_t));
    }
    assert_int_equal(got->stats.image_tokens, expected->stats.image_tokens);
}

/* With every method: an answer below the confidence is the one of the larger budget, token for token; one
 * above it is that of the smaller; who listens hears only the answer; and the tower ran once. */
static void test_escalation(void **state)
{
    (void)state;
    const char *method;
    s2v_session *session = session_with(NULL, 0, 0);
    const s2a_limits limits = limits_of(5);
    for (size_t i = 0; (method = s2v_method_name(i)); i++) {
        const s2a_setting small = setting_of(method, 64), large = setting_of(method, 192);
        s2a_answer expected[2], got;
        static const char question[] = "What number is written?";
        assert_int_equal(ask(session, question, &small, &limits, NULL, &expected[0], NULL), S2P_OK);
        assert_int_equal(ask(session, question, &large, &limits, NULL, &expected[1], NULL), S2P_OK);
        assert_true(expected[0].attempts.n == 0);
        for (int k = 0; k < 2; k++) {
            const s2a_setting both = growing(method, "64..192", k ? 1.0 : S2A_LEAST_CONFIDENCE);
            ear e = { "", S2P_OK };
            if (k) s2v_engine_forget(engine);
            assert_int_equal(ask(session, question, &both, &limits,
                                 &(s2a_listener){ .receive = hear, .user = &e }, &got, NULL),
                             S2P_OK);
            check_same(&got, &expected[k && !s2a_keeps_all(&both)], method);
            assert_string_equal(e.text, got.text);
            /* resize shows the tower another picture for each budget */
            const int n_towers = s2p_method_about(s2p_method_find(method))->resizes ? 2 * k : k;
            CHECK_CASE(got.stats.tower_runs == n_towers, "%s: %d", method, got.stats.tower_runs);
            const s2a_attempts *a = &got.attempts;
            assert_int_equal(a->n, s2a_keeps_all(&both) ? 0 : k + 1);
            if (a->n == 2) {
                assert_true(a->list[0].image_tokens == expected[0].stats.image_tokens);
                assert_true(a->list[0].confidence < 1.0 && a->list[0].confidence > 0.0);
                assert_true(a->earlier_ms > 0.0 && a->earlier_ms == a->list[0].ms);
                assert_true(got.stats.flops == expected[0].stats.flops + expected[1].stats.flops);
            }
            s2a_answer_free(&got);
        }
        s2a_answer_free(&expected[0]);
        s2a_answer_free(&expected[1]);
    }
    s2v_session_free(session);
}

static int32_t end_after_two(const int32_t *token, int32_t n_tokens, const char *text, void *user)
{
    (void)token;
    (void)text;
    (void)user;
    return n_tokens >= 2 ? 1 : -1;
}

/* The decision falls with the third token: with a limit of 1, 2, 3 tokens and more, with stop strings, with an
 * answer ended from outside, and with no token at all. */
static void test_decisions(void **state)
{
    (void)state;
    static const char *const stop[] = { "63" };
    const s2a_setting both = growing("s2prune", "64..192", 1.0), large = setting_of("s2prune", 192);
    for (int32_t n = 0; n <= 5; n++)
        for (size_t n_stop = 0; n_stop < 2; n_stop++) {
            s2v_session *session = session_with(stop, n_stop, 1);
            s2a_limits limits = limits_of(n);
            if (n == 5) limits.ends_after = end_after_two;
            s2a_answer expected, got;
            ear e = { "", S2P_OK };
            assert_int_equal(
                ask(session, "What number is written?", &large, &limits, NULL, &expected, NULL),
                S2P_OK);
            assert_int_equal(ask(session, "What number is written?", &both, &limits,
                                 &(s2a_listener){ .receive = hear, .user = &e }, &got, NULL),
                             S2P_OK);
            assert_int_equal(got.attempts.n, n == 0 ? 1 : 2);
            if (n < 5) assert_string_equal(e.text, got.text); /* else the end was heard too */
            if (n > 0) check_same(&got, &expected, "limits");
            s2a_answer_free(&expected);
            s2a_answer_free(&got);
            s2v_session_free(session);
        }
}

/* A budget that keeps no more of this picture is not asked with; three in a row are; and without the size of
 * the vocabulary nothing can be decided. */
static void test_steps(void **state)
{
    (void)state;
    static const struct {
        const char *budget;
        int32_t n, last;
    } cases[] = {
        { "64..10%", 1, 64 },    { "64..10%..192", 2, 192 },      { "64..33%..100%", 3, 576 },
        { "600..100%", 1, 576 }, { "64..96..128..auto", 4, 192 }, { "auto..33%", 1, 192 }
    };
    s2v_session *session = session_with(NULL, 0, 1);
    s2a_limits limits = limits_of(16);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const s2a_setting setting = growing("s2prune", cases[i].budget, 1.0);
        s2a_answer answer;
        assert_int_equal(ask(session, "Read the word.", &setting, &limits, NULL, &answer, NULL),
                         S2P_OK);
        CHECK_CASE(answer.attempts.n == cases[i].n, "%s: %d", cases[i].budget, answer.attempts.n);
        CHECK_CASE(answer.stats.image_tokens == cases[i].last, "%s: %d", cases[i].budget,
                   answer.stats.image_tokens);
        s2a_answer_free(&answer);
    }
    const s2a_setting setting = growing("s2prune", "64..192", 1.0);
    s2a_answer answer;
    limits.n_vocab = 0;
    assert_int_equal(ask(session, "Read the word.", &setting, &limits, NULL, &answer, NULL),
                     S2P_EINVAL);
    s2v_session_free(session);
}

/* Asked again, both prompts come from the engine's cache. */
static void test_both_prompts_are_cached(void **state)
{
    (void)state;
    s2v_session *session = session_with(NULL, 0, 1);
    const s2a_setting both = growing("s2prune", "64..192", 1.0);
    const s2a_limits limits = limits_of(16);
    s2v_cache_stats before, after;
    s2a_answer answer;
    s2v_engine_forget(engine);
    assert_int_equal(ask(session, "Read the word.", &both, &limits, NULL, &answer, NULL), S2P_OK);
    assert_true(answer.stats.tower_runs == 1 && answer.stats.cached_tokens == 0);
    s2a_answer_free(&answer);
    s2v_engine_get_cache_stats(engine, &before);
    assert_int_equal(ask(session, "What number is written?", &both, &limits, NULL, &answer, NULL),
                     S2P_OK);
    assert_true(answer.stats.tower_runs == 0 && answer.stats.cached_tokens > 192);
    s2v_engine_get_cache_stats(engine, &after);
    assert_int_equal(after.hits - before.hits, 2);
    s2a_answer_free(&answer);
    s2v_session_free(session);
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
        cmocka_unit_test(test_escalation),
        cmocka_unit_test(test_decisions),
        cmocka_unit_test(test_steps),
        cmocka_unit_test(test_both_prompts_are_cached),
    };
    return cmocka_run_group_tests(tests, open_model, close_model);
}
