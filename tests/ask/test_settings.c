/* test_settings.c - which settings a list of methods and budgets gives, what is refused, parameters,
 * the lists that have a value for each picture, and the prune object of a request.
 */
#include "check.h"

#include "ask/settings.h"

#include <stdio.h>
#include <string.h>

#define LONG_32 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define LONG_64 LONG_32 LONG_32
#define LONG_100 LONG_64 LONG_32 "aaaa"
#define MANY_ZEROS "000000000000000000000000000000000000"

static s2a_setting settings[S2A_MAX_SETTINGS];
static int32_t n_settings;

static s2p_status read_lists(const char *methods, const char *budgets, s2p_error *error)
{
    static const s2a_setting base = { .published = true, .choice = { .side = 3, .seed = 7 } };
    const s2a_lists lists = { .methods = methods,
                              .budgets = budgets,
                              .methods_source = "--methods",
                              .budgets_source = "--budgets" };
    n_settings = 5;
    return s2a_settings_read(&lists, &base, settings, &n_settings, error);
}

/* --- methods times budgets ------------------------------------------------------------- */

static void test_order(void **state)
{
    (void)state;
    char budget[S2A_BUDGET_TEXT];
    assert_int_equal(read_lists("full,random,s2prune", "32,64,10%", NULL), S2P_OK);
    static const char *const expected[] = { "full -",     "random 32",  "s2prune 32", "random 64",
                                            "s2prune 64", "random 10%", "s2prune 10%" };
    assert_int_equal(n_settings, COUNT_OF(expected)); /* full once */
    for (int32_t i = 0; i < n_settings; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "%s %s", settings[i].method,
                       s2a_budget_text(settings[i].budget, budget));
        assert_string_equal(text, expected[i]);
        assert_true(settings[i].published && settings[i].choice.side == 3 &&
                    settings[i].choice.seed == 7);
        assert_int_equal(s2a_keeps_all(&settings[i]), i == 0);
        assert_int_equal(s2a_draws(&settings[i]), settings[i].method[0] == 'r');
    }
    int32_t n_methods = 0;
    while (s2v_method_name((size_t)n_methods)) n_methods++;
    assert_int_equal(read_lists("all", "64,0.5%", NULL), S2P_OK);
    assert_int_equal(n_settings, 2 * n_methods - 1);
    assert_int_equal(read_lists("s2prune", MANY_ZEROS "64," MANY_ZEROS "9.5%", NULL), S2P_OK);
    assert_true(n_settings == 2 && settings[0].budget.tokens == 64 &&
                settings[1].budget.percent == 9.5);
}

static void test_refusals(void **state)
{
    (void)state;
    static const struct {
        const char *methods, *budgets, *sentence;
    } cases[] = {
        { "full,s2prnue", "64", "--methods: unknown method 's2prnue' (did you mean 's2prune'?)" },
        { "zzzzzzzz", "64", "--methods: unknown method 'zzzzzzzz'; there are full random" },
        { LONG_64, "64", "--methods: unknown method 'aaaaaaaa" },
        { "full," LONG_64 ",random", "64", "--methods: unknown method 'aaaaaaaa" },
        { LONG_100, "64", "--methods: unknown method 'aaaaaaaa" },
        { "full," LONG_100, "64", "--methods: unknown method 'aaaaaaaa" },
        { "full,random,full", "64", "--methods names 'full' twice" },
        { "", "64", "--methods has an empty name" },
        { "full,", "64", "--methods has an empty name" },
        { ",full", "64", "--methods has an empty name" },
        { "full,,random", "64", "--methods has an empty name" },
        { "full,all", "64", "--methods: unknown method 'all'" },
        { "full,s2prune ", "64", "--methods: unknown method 's2prune ' (did you" },
        { "full", "0", "--budgets '0' is neither a number of tokens from 1 to " },
        { "full", "64,", "--budgets '' is neither" },
        { "full", "64,,32", "--budgets '' is neither" },
        { "full", "64,32,64", "--budgets names 64 twice" },
        { "full", "64," MANY_ZEROS "64", "--budgets names 0000" },
        { "full", "10%,10.0%", "--budgets names 10.0% twice" },
        { "full", "101%", "--budgets '101%' is neither" },
        { "full", "0%", "--budgets '0%' is neither" },
        { "full", "%", "--budgets '%' is neither" },
        { "full", "inf%", "--budgets 'inf%' is neither" },
        { "full", "nan%", "--budgets 'nan%' is neither" },
        { "full", "-5", "--budgets '-5' is neither" },
        { "full", "-5%", "--budgets '-5%' is neither" },
        { "full", "6 4", "--budgets '6 4' is neither" },
        { "full", " 64", "--budgets ' 64' is neither" },
        { "full", "64%%", "--budgets '64%%' is neither" },
        { "full", "99999999999999999999999999999999999999999999999999999999999999999999999999",
          "--budgets '9999" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(read_lists(cases[i].methods, cases[i].budgets, &error) == S2P_EINVAL, "%s %s",
                   cases[i].methods, cases[i].budgets);
        CHECK_CASE(strstr(error.message, cases[i].sentence) == error.message, "%s", error.message);
        assert_int_equal(n_settings, 0);
    }
}

static void test_limits(void **state)
{
    (void)state;
    char many[512] = "1";
    for (int i = 2, at = 1; i <= 64; i++)
        at += snprintf(many + at, sizeof many - (size_t)at, ",%d", i);
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(read_lists("all", many, &error), S2P_ELIMIT);
    assert_non_null(strstr(error.message, "the limit is 256"));
    assert_int_equal(n_settings, 0);
    (void)snprintf(many + strlen(many), sizeof many - strlen(many), ",65");
    assert_int_equal(read_lists("full", many, &error), S2P_ELIMIT);
}

static void test_budgets(void **state)
{
    (void)state;
    assert_int_equal(s2a_budget_tokens((s2a_budget){ .tokens = 64, .percent = 0.0 }, 576), 64);
    assert_int_equal(s2a_budget_tokens((s2a_budget){ .tokens = 0, .percent = 12.5 }, 576), 72);
    assert_int_equal(s2a_budget_tokens((s2a_budget){ .tokens = 0, .percent = 0.001 }, 576), 1);
    assert_true(s2a_budget_is_none((s2a_budget){ .tokens = 0, .percent = 0.0 }));
    s2a_budget budget; /* only text[0..n) counts, whatever follows */
    assert_int_equal(s2a_budget_read("x", "641", 2, 100, &budget, NULL), S2P_EINVAL);
    assert_int_equal(s2a_budget_read("x", "64,1", 2, 100, &budget, NULL), S2P_OK);
    assert_int_equal(s2a_budget_read("x", "64", 2, 63, &budget, NULL), S2P_EINVAL);
}

/* "auto" is a third, rounded to the nearest, at least 64, and never more than there is. */
static void test_automatic_budget(void **state)
{
    (void)state;
    static const int32_t cases[][2] = { { 1, 1 },     { 63, 63 },   { 64, 64 },   { 65, 64 },
                                        { 193, 64 },  { 194, 65 },  { 256, 85 },  { 575, 192 },
                                        { 576, 192 }, { 577, 192 }, { 578, 193 }, { 1280, 427 } };
    s2a_budget budget;
    char text[S2A_BUDGET_TEXT];
    assert_int_equal(s2a_budget_read("x", "Auto", 4, 100, &budget, NULL), S2P_OK);
    assert_string_equal(s2a_budget_text(budget, text), "auto");
    assert_false(s2a_budget_is_none(budget));
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        CHECK_CASE(s2a_budget_tokens(budget, cases[i][0]) == cases[i][1], "%d tokens: %d",
                   cases[i][0], s2a_budget_tokens(budget, cases[i][0]));
}

/* Budgets that grow: read, written as they were, one by one; and what is none. */
static void test_growing_budgets(void **state)
{
    (void)state;
    static const char *const good[] = { "64",         "64..192",      "64..33%..100%",
                                        "auto..100%", "1..2..3..4",   "12.5%..50%",
                                        "64..auto",   "48..11%..300", "0.001%..0.0010001%" };
    static const struct {
        const char *text, *words;
    } bad[] = {
        { "64..", "has no budget after '..'" }, { "..64", "has no budget before '..'" },
        { "64....192", "has no budget" },       { "..", "has no budget before" },
        { "64...192", "'.192' is neither" },    { "64..64", "each budget must keep more" },
        { "192..64", "each budget must" },      { "50%..50%", "each budget must" },
        { "100%..64", "each budget must" },     { "100%..auto", "each budget must" },
        { "auto..auto", "each budget" },        { "1..2..3..4..5", "more than 4 budgets" },
        { "64..0", "'0' is neither" },          { "64..101%", "'101%' is neither" },
        { "64..192 ", "'192 ' is neither" },    { "64.192", "'64.192' is neither" },
        { "auto64", "'auto64' is neither" },
    };
    s2a_budget budget, again;
    char text[S2A_BUDGET_TEXT];
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        CHECK_CASE(s2a_budget_read_steps("x", good[i], strlen(good[i]), 1000, &budget, NULL) ==
                       S2P_OK,
                   "%s", good[i]);
        CHECK_CASE(strcmp(s2a_budget_text(budget, text), good[i]) == 0, "%s: %s", good[i], text);
        assert_int_equal(s2a_budget_read_steps("x", text, strlen(text), 1000, &again, NULL),
                         S2P_OK);
        assert_true(s2a_budget_is_same(budget, again));
        assert_true(i == 0 || !s2a_budget_is_same(budget, s2a_budget_single(budget, 0)));
    }
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(s2a_budget_read_steps("x", bad[i].text, strlen(bad[i].text), 1000, &budget,
                                         &error) == S2P_EINVAL,
                   "%s", bad[i].text);
        CHECK_CASE(strstr(error.message, bad[i].words), "%s: %s", bad[i].text, error.message);
        assert_true(s2a_budget_is_none(budget) && budget.n_more == 0);
    }
    assert_int_equal(s2a_budget_read("x", "64..192", 7, 1000, &budget, NULL), S2P_EINVAL);
    assert_int_equal(s2a_budget_read_steps("x", "64..192..9", 7, 1000, &budget, NULL), S2P_OK);
    assert_true(budget.n_more == 1 && s2a_budget_step(budget, 1).tokens == 192);
}

/* --- parameters ------------------------------------------------------------------------ */

static double value_of(int32_t index, const char *name)
{
    const s2p_method *method = s2p_method_find(settings[index].method);
    const s2p_parameter *row;
    for (size_t i = 0; (row = s2p_method_parameter(method, i)); i++)
        if (strcmp(row->name, name) == 0) return settings[index].parameters.value[i];
    return -1.0;
}

static void test_parameters(void **state)
{
    (void)state;
    assert_int_equal(read_lists("full,gridprune,holov", "32,64", NULL), S2P_OK);
    const double own = value_of(1, "alpha");
    assert_true(own != 0.25 && value_of(2, "alpha") != 0.25);
    assert_int_equal(s2a_settings_set("--set", "alpha=0.25", settings, n_settings, NULL), S2P_OK);
    for (int32_t i = 1; i < 5; i++) /* both methods, both budgets */
        assert_true(value_of(i, "alpha") == 0.25);
    assert_int_equal(s2a_settings_set("--set", "holov.alpha=0.5", settings, n_settings, NULL),
                     S2P_OK);
    assert_true(value_of(1, "alpha") == 0.25 && value_of(2, "alpha") == 0.5 &&
                value_of(3, "alpha") == 0.25 && value_of(4, "alpha") == 0.5);
    s2a_setting_use(&settings[1], "gridprune"); /* its own again */
    assert_true(value_of(1, "alpha") == own);

    static const struct {
        const char *text, *sentence;
    } cases[] = {
        { "alpha", "--set 'alpha' is not NAME=VALUE" },
        { "=1", "--set '=1' is not NAME=VALUE" },
        { "", "--set '' is not NAME=VALUE" },
        { "alhpa=1", "--set 'alhpa=1': no such parameter; there are gridprune." },
        { "dart.per_pivot=1", "--set 'dart.per_pivot=1': no such parameter; there are gridprune." },
        { "holov.=1", "--set 'holov.=1': no such parameter" },
        { ".alpha=1", "--set '.alpha=1': no such parameter" },
        { LONG_100 "=1", "--set 'aaaaaaaa" },
        { "alpha=x", "--set " },
        { "holov.alpha=", "--set " },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(s2a_settings_set("--set", cases[i].text, settings, n_settings, &error) ==
                       S2P_EINVAL,
                   "%s", cases[i].text);
        CHECK_CASE(strstr(error.message, cases[i].sentence) == error.message, "%s", error.message);
    }
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(read_lists("full,random", "32", NULL), S2P_OK);
    assert_int_equal(s2a_settings_set("--set", "alpha=1", settings, n_settings, &error),
                     S2P_EINVAL);
    assert_string_equal(error.message, "--set 'alpha=1': none of these methods has parameters");
}

/* --- a value for each picture ------------------------------------------------------------ */

static void test_counts(void **state)
{
    (void)state;
    int32_t count[4] = { -1, -1, -1, -1 };
    assert_int_equal(s2a_counts_read("x", "64,0,32", 100, count, 4, NULL), S2P_OK);
    assert_true(count[0] == 64 && count[1] == 0 && count[2] == 32 && count[3] == 32);
    static const char *const bad[] = {
        "",    ",",  "64,",   ",64", "64,,32",        "-1", "+1", " 1",
        "101", "6a", "64;32", "10%", MANY_ZEROS "101"
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(s2a_counts_read("x", bad[i], 100, count, 4, &error) == S2P_EINVAL, "%s", bad[i]);
        CHECK_CASE(strstr(error.message, "is not a list such as 64,32"), "%s", error.message);
    }
    assert_int_equal(s2a_counts_read("x", "1,2,3,4,5", 100, count, 4, NULL), S2P_ELIMIT);
}

static void test_sizes(void **state)
{
    (void)state;
    s2v_image_options size[3] = { { .min_pixels = 5 }, { .width = 9 }, { .height = 9 } };
    assert_int_equal(s2a_sizes_read("x", "672x448,native", size, 3, NULL), S2P_OK);
    assert_true(size[0].width == 672 && size[0].height == 448 && size[0].min_pixels == 5);
    for (int i = 1; i < 3; i++) assert_true(size[i].width == 0 && size[i].height == 0);
    static const char *const bad[] = { "",     "native,", "672",     "672x",  "x672",  "0x5",
                                       "5x0",  "-5x5",    "16385x5", "5x5x5", "nativ", "natives",
                                       "5 x5", "5X5",     "5x5,foo", "5,5x5" };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(s2a_sizes_read("x", bad[i], size, 3, &error) == S2P_EINVAL, "%s", bad[i]);
        CHECK_CASE(strstr(error.message, "neither native nor WIDTHxHEIGHT"), "%s", error.message);
    }
    assert_int_equal(s2a_sizes_read("x", "5x5,5x5,5x5,5x5", size, 3, NULL), S2P_ELIMIT);
}

/* --- the prune object of a request ------------------------------------------------------ */

static s2p_status read_object(const char *text, const char *virtual_name, s2a_prune_request *out,
                              char param[S2_JSON_PARAM], s2p_error *error)
{
    static const s2a_setting base = { .method = "s2prune", .budget = { .tokens = 64 } };
    json_t *object = NULL;
    assert_int_equal(s2_json_parse(text, strlen(text), "object", &object, NULL), S2P_OK);
    const s2p_status st =
        s2a_prune_read(object, "prune.", virtual_name, &base, NULL, out, param, error);
    json_decref(object);
    return st;
}

static void test_prune_object(void **state)
{
    (void)state;
    s2a_prune_request r;
    char param[S2_JSON_PARAM];
    assert_int_equal(read_object("{\"method\":\"FastV\",\"budget\":\"11%\",\"grid\":3,\"seed\":5,"
                                 "\"mode\":\"published\",\"keep\":[1,4],"
                                 "\"return\":[\"tokens\",\"scores\"]}",
                                 NULL, &r, param, NULL),
                     S2P_OK);
    assert_string_equal(r.setting.method, "fastv");
    assert_true(r.has_budget && r.setting.budget.percent == 11.0 && r.setting.choice.side == 3 &&
                r.setting.choice.seed == 5 && r.setting.published);
    assert_true(r.n_keep == 2 && r.keep[1] == 4);
    assert_true(r.wants_tokens && !r.wants_regions && r.wants_scores);
    s2a_prune_request_free(&r);
    assert_int_equal(read_object("{\"budget\":null}", "random-32", &r, param, NULL), S2P_OK);
    assert_string_equal(r.setting.method, "random");
    assert_true(r.has_budget && r.setting.budget.tokens == 32 && !r.keep);
    assert_int_equal(
        read_object("{\"budget\":\"64..33%..100%\",\"min_confidence\":0.5}", NULL, &r, param, NULL),
        S2P_OK);
    assert_true(r.setting.budget.n_more == 2 && s2a_min_confidence(&r.setting) == 0.5);
    assert_int_equal(read_object("{\"budget\":\"auto\"}", NULL, &r, param, NULL), S2P_OK);
    assert_int_equal(s2a_budget_tokens(r.setting.budget, 576), 192);
    assert_true(s2a_min_confidence(&r.setting) == S2A_MIN_CONFIDENCE);

    static const struct {
        const char *text, *param, *words;
    } bad[] = {
        { "{\"method\":\"s2prun\"}", "prune.method", "did you mean 's2prune'?" },
        { "{\"method\":\"zzzzzzzz\"}", "prune.method", "there are" },
        { "{\"budget\":\"64\"}", "prune.budget", "11%" },
        { "{\"budget\":0}", "prune.budget", "from 1 to" },
        { "{\"budget\":\"64..32\"}", "prune.budget", "each budget must keep more" },
        { "{\"budget\":\"none\"}", "prune.budget", "64..192" },
        { "{\"budget\":\"1e1%\"}", "prune.budget", "64..192" },
        { "{\"min_confidence\":0}", "prune.min_confidence", "must be from" },
        { "{\"min_confidence\":1.5}", "prune.min_confidence", "must be from" },
        { "{\"grid\":-1}", "prune.grid", "must be from" },
        { "{\"allocator\":\"none\"}", "prune.allocator", "unknown allocator" },
        { "{\"selector\":\"none\"}", "prune.selector", "unknown selector" },
        { "{\"keep\":[2,1]}", "prune.keep", "ascending" },
        { "{\"return\":[\"all\"]}", "prune.return", "tokens, regions or scores" },
        { "{\"parameters\":{\"none\":1}}", "prune.parameters", "none" },
        { "{\"colour\":1}", "prune.colour", "is not known; there are method, budget" },
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(read_object(bad[i].text, NULL, &r, param, &error) == S2P_EINVAL, "%s",
                   bad[i].text);
        CHECK_CASE(strcmp(param, bad[i].param) == 0, "%s: %s", bad[i].text, param);
        CHECK_CASE(strstr(error.message, bad[i].words), "%s: %s", bad[i].text, error.message);
        s2a_prune_request_free(&r);
    }
}

static void test_details(void **state)
{
    (void)state;
    static const char map[] = "low=64,auto=default,high=full";
    assert_int_equal(s2a_detail_budget(map, "low"), 64);
    assert_int_equal(s2a_detail_budget(map, "auto"), 0);
    assert_int_equal(s2a_detail_budget(map, "high"), S2P_MAX_TOKENS);
    assert_int_equal(s2a_detail_budget("low=8", "high"), 0);
    assert_int_equal(s2a_detail_map_check("x", map, NULL), S2P_OK);
    static const char *const bad[] = {
        "lo=64", "low", "low=", "low=0", "low=6x", "low=64,,high=1"
    };
    for (size_t i = 0; i < COUNT_OF(bad); i++)
        CHECK_CASE(s2a_detail_map_check("x", bad[i], NULL) == S2P_EINVAL, "%s", bad[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_automatic_budget),
        cmocka_unit_test(test_growing_budgets),
        cmocka_unit_test(test_parameters),
        cmocka_unit_test(test_counts),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_prune_object),
        cmocka_unit_test(test_details),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
