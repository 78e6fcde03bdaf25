/* test_target.c - budgets from targets: the arithmetic by hand, its promises on random points, and one
 * measurement of the bundled model. The argument is the source tree.
 */
#include "check.h"

#include "ask/target.h"
#include "image/image.h"

#include <stdio.h>
#include <string.h>

static const char *source;

static void test_by_hand(void **state)
{
    (void)state;
    /* 100 ms for the picture; 10 ms and 1 ms a token above 16; 1 MiB and 1/64 MiB a token */
    const s2a_points p = { .picture_ms = 100.0,
                           .n_tokens = { 16, 576 },
                           .prompt_ms = { 10.0, 570.0 },
                           .kv_bytes = { 1 << 20, (double)(1 << 20) + 560 * 16384.0 } };
    static const struct {
        s2a_target target;
        int32_t n;
        bool is_met;
        double percent;
    } cases[] = {
        { { 0.0, 0.0 }, 576, true, 100.0 }, { { 200.0, 0.0 }, 106, true, 18.4 },
        { { 110.0, 0.0 }, 16, true, 2.7 },  { { 109.0, 0.0 }, 16, false, 2.7 },
        { { 1e9, 0.0 }, 576, true, 100.0 }, { { 0.0, 2.0 }, 80, true, 13.9 },
        { { 200.0, 2.0 }, 80, true, 13.9 }, { { 150.0, 2.0 }, 56, true, 9.7 },
        { { 0.0, 0.5 }, 16, false, 2.7 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2a_target_choice c;
        char text[S2A_TARGET_TEXT];
        s2a_target_choose(&p, cases[i].target, &c);
        CHECK_CASE(c.n_tokens == cases[i].n && c.is_met == cases[i].is_met, "case %zu: %d", i,
                   c.n_tokens);
        CHECK_CASE(s2a_target_budget(&c).percent == cases[i].percent, "case %zu: %g", i,
                   s2a_target_budget(&c).percent);
        assert_true(c.ms == 100.0 + 10.0 + (c.n_tokens - 16));
        assert_true(strlen(s2a_target_text(&c, cases[i].target, text)) < sizeof text - 1);
        assert_int_equal(strstr(text, "above the target") == NULL, c.is_met);
    }
}

/* Within the limits or at the least; one token more would not be. Noise that makes more tokens faster is
 * taken as no difference. */
static void test_promises(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        double r[6];
        for (int k = 0; k < 6; k++) {
            seed = seed * 1664525u + 1013904223u;
            r[k] = (double)(seed >> 8) / (1 << 24);
        }
        const int32_t low = 1 + (int32_t)(r[0] * 64), high = low + (int32_t)(r[1] * 2000);
        const s2a_points p = { .picture_ms = 100 * r[2],
                               .n_tokens = { low, high },
                               .prompt_ms = { 20 * r[3], 200 * r[4] },
                               .kv_bytes = { 1e6 * r[5], 1e7 * r[3] } };
        const s2a_target target = { .ms = 300 * r[5], .mib = i % 2 ? 8 * r[2] : 0.0 };
        s2a_target_choice c;
        s2a_target_choose(&p, target, &c);
        assert_true(c.n_tokens >= low && c.n_tokens <= high && c.n_all == high);
        const s2a_budget budget = s2a_target_budget(&c);
        assert_true(budget.percent > 0.0 && budget.percent <= 100.0 && budget.n_more == 0);
        assert_int_equal(s2a_budget_tokens(budget, high), c.n_tokens); /* what is said is kept */
        if (!c.is_met) {
            assert_int_equal(c.n_tokens, low);
            continue;
        }
        assert_true((target.ms <= 0.0 || c.ms <= target.ms + 1e-9) &&
                    (target.mib <= 0.0 || c.mib <= target.mib + 1e-9));
    }
}

static void test_measured(void **state)
{
    (void)state;
    char model[1024], mmproj[1024], path[1024];
    (void)snprintf(model, sizeof model, "%s/models/s2prune-tiny/s2prune-tiny-f16.gguf", source);
    (void)snprintf(mmproj, sizeof mmproj, "%s/models/s2prune-tiny/mmproj-s2prune-tiny-f16.gguf",
                   source);
    (void)snprintf(path, sizeof path, "%s/data/synth/images/0000.jpg", source);
    s2v_engine_options options;
    s2v_engine *engine;
    s2v_session *session;
    s2_image picture;
    s2v_engine_options_init(&options);
    options.model_path = model;
    options.mmproj_path = mmproj;
    options.cache_bytes = (uint64_t)64 << 20;
    assert_int_equal(s2v_engine_open(&engine, &options, NULL), S2P_OK);
    assert_int_equal(s2_image_load(path, S2_PIXELS_REFERENCE, NULL, &picture, NULL), S2P_OK);
    assert_int_equal(s2v_session_create(&session, engine, NULL, NULL), S2P_OK);
    const s2v_message message = { .role = S2V_USER, .text = "Read the word.", .n_images = 1 };
    s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                          .messages = &message,
                          .n_messages = 1,
                          .images = &picture.view,
                          .n_images = 1 };
    s2a_setting setting = { .budget = { .tokens = 64 } };
    s2a_points p;
    s2a_setting_use(&setting, "s2prune");
    assert_int_equal(s2a_target_measure(session, &prompt, &setting, &p, NULL), S2P_OK);
    assert_true(p.n_tokens[0] == S2A_TARGET_LEAST && p.n_tokens[1] == 576);
    assert_true(p.picture_ms > 0.0 && p.prompt_ms[0] > 0.0 && p.kv_bytes[0] < p.kv_bytes[1]);
    assert_int_equal(s2v_session_length(session), 0);

    /* the cache of the choice is within the target, and one percent more is not */
    s2a_target_choice c;
    s2v_prune_options prune;
    s2v_stats stats;
    const double mib = (p.kv_bytes[0] + 0.3 * (p.kv_bytes[1] - p.kv_bytes[0])) / (1 << 20);
    s2a_target_choose(&p, (s2a_target){ .mib = mib }, &c);
    s2v_prune_options_init(&prune);
    prune.method = "s2prune";
    for (int more = 0; more < 2; more++) {
        prune.budget = (s2v_budget){ .percent = s2a_target_budget(&c).percent + more };
        s2v_session_reset(session);
        assert_int_equal(s2v_session_prefill(session, &prompt, &prune, &stats, NULL), S2P_OK);
        assert_int_equal((double)stats.kv_total_bytes <= mib * (1 << 20), !more);
    }
    s2a_setting_use(&setting, "full");
    s2v_session_reset(session);
    assert_int_equal(s2a_target_measure(session, &prompt, &setting, &p, NULL), S2P_EINVAL);
    prompt.n_images = 0;
    s2a_setting_use(&setting, "s2prune");
    assert_int_equal(s2a_target_measure(session, &prompt, &setting, &p, NULL), S2P_EINVAL);
    s2v_session_free(session);
    s2v_engine_close(engine);
    s2_image_free(&picture);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    source = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_by_hand),
        cmocka_unit_test(test_promises),
        cmocka_unit_test(test_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
