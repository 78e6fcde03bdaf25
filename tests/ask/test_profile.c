/* test_profile.c - profiles that are taken, as text for --setting, and sentences for those that are not. */
#include "check.h"

#include "ask/profile.h"

#include <stdio.h>
#include <string.h>

#define BEGIN "{\"schema\":\"s2prune.profile/1\",\"setting\":"

static s2p_status parse(const char *text, s2a_profile *out, s2p_error *error)
{
    return s2a_profile_parse(text, strlen(text), "p.json", out, error);
}

static void test_taken(void **state)
{
    (void)state;
    static const struct {
        const char *text, *setting;
    } cases[] = {
        { BEGIN "{\"method\":\"full\"}}", "full" },
        { BEGIN "{\"method\":\"S2Prune\",\"budget\":\"64\"}}", "s2prune:budget=64" },
        { BEGIN "{\"method\":\"s2prune\",\"budget\":\"11%..100%\",\"min_confidence\":0.9,"
                "\"image_size\":\"448x336\"},\"measured\":{\"x\":[1]},\"search\":[1]}",
          "s2prune:budget=11%..100%,min-confidence=0.9,image-size=448x336" },
        { BEGIN "{\"method\":\"full\",\"image_size\":\"448x448\"},\"promise\":{\"max_loss\":2,"
                "\"confidence\":0.95},\"model\":{\"name\":\"m.gguf\",\"bytes\":7}}",
          "full:image-size=448x448" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2a_profile p;
        s2p_error error = { S2P_OK, "" };
        char text[S2A_PROFILE_TEXT];
        CHECK_CASE(parse(cases[i].text, &p, &error) == S2P_OK, "%zu: %s", i, error.message);
        assert_string_equal(s2a_profile_text(&p, text), cases[i].setting);
        if (i == 3) assert_true(p.model_bytes == 7 && p.max_loss > 1.9 && p.confidence > 0.9);
    }
}

static void test_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
    } cases[] = {
        { "", "p.json" },
        { "[]", "p.json is not a profile" },
        { "{}", "p.json is not a profile of s2prune tune (schema missing)" },
        { "{\"schema\":\"s2prune.run/1\"}", "(schema s2prune.run/1)" },
        { "{\"schema\":\"s2prune.profile/1\"}", "p.json: setting is missing" },
        { BEGIN "{}}", "p.json: setting has no method" },
        { BEGIN "{\"method\":\"file:/etc/passwd\",\"budget\":\"64\"}}",
          "are only for the commands" },
        { BEGIN "{\"method\":\"s2prune\"}}", "p.json: method 's2prune' needs a budget" },
        { BEGIN "{\"method\":\"full\",\"budget\":\"64\"}}", "takes no budget" },
        { BEGIN "{\"method\":\"s2prune\",\"budget\":\"64..32\"}}", "each budget must keep more" },
        { BEGIN "{\"method\":\"s2prune\",\"budget\":64}}", "setting.budget" },
        { BEGIN "{\"method\":\"s2prune\",\"budget\":\"64\",\"min_confidence\":0.9}}",
          "min_confidence needs a sequence of budgets, such as 64..192" },
        { BEGIN "{\"method\":\"s2prune\",\"budget\":\"6..9\",\"min_confidence\":2}}",
          "setting.min_confidence" },
        { BEGIN "{\"method\":\"s2prune\",\"budget\":\"64\",\"image_size\":\"0x9\"}}",
          "image_size" },
        { BEGIN "{\"method\":\"s2prune\",\"budget\":\"64\",\"image_size\":\"9x9,8x8\"}}",
          "image_size must be a single size" },
        { BEGIN "{\"method\":\"s2prune\",\"budget\":\"64\",\"plugin\":\"x.so\"}}",
          "setting.plugin" },
        { BEGIN "{\"method\":\"full\"},\"run\":\"rm\"}", "run" },
        { BEGIN "{\"method\":\"full\"},\"model\":{\"bytes\":-1}}", "model.bytes" },
        { BEGIN "{\"method\":\"full\"}} {}", "p.json" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2a_profile p;
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(parse(cases[i].text, &p, &error) != S2P_OK, "%s", cases[i].text);
        CHECK_CASE(strstr(error.message, cases[i].words), "%s: %s", cases[i].text, error.message);
        assert_null(p.method);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_taken),
                                        cmocka_unit_test(test_refused) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
