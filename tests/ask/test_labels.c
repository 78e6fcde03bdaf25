/* test_labels.c - the name of a setting: every element, in its order, and only where it applies. */
#include "check.h"

#include "ask/settings.h"

#include <stdio.h>
#include <string.h>

static s2a_setting of(const char *method)
{
    s2a_setting setting = { .budget = { .tokens = 64 } };
    s2a_setting_use(&setting, method);
    return setting;
}

static void check(s2a_setting setting, const char *label, const char *title)
{
    char text[S2A_LABEL_SIZE];
    assert_string_equal(s2a_setting_label(&setting, text), label);
    assert_string_equal(s2a_setting_title(&setting, text), title);
    setting.budget.tokens = 32; /* neither is part of the name */
    setting.choice.seed = 7;
    assert_string_equal(s2a_setting_label(&setting, text), label);
}

/* Nothing differs: the label is the method. */
static void test_defaults(void **state)
{
    (void)state;
    const s2p_method *method;
    for (size_t i = 0; (method = s2p_method_at(i)); i++) {
        const s2p_method_info *about = s2p_method_about(method);
        s2a_setting setting = of(about->name);
        assert_non_null(about->title);
        check(setting, about->name, about->title);
        setting.choice.allocator = s2p_allocator_name(0); /* said, and still the default */
        setting.choice.selector = s2p_selector_name(0);
        if (about->n_stages == 1) {
            setting.has_after = true;
            setting.after = about->after[0];
        }
        check(setting, about->name, about->title);
        for (size_t k = 0; k < i; k++)
            assert_string_not_equal(s2p_method_about(s2p_method_at(k))->title, about->title);
    }
    check(of("full"), "full", "All tokens");
    check(of("s2prune"), "s2prune", "S\xc2\xb2Prune");
}

static void test_elements(void **state)
{
    (void)state;
    s2a_setting s = of("s2prune");
    s.choice.allocator = "uniform";
    s.choice.selector = "centre";
    check(s, "s2prune[uniform,centre]", "S\xc2\xb2Prune [uniform, centre]");
    s = of("s2prune");
    s.choice.side = 10;
    check(s, "s2prune[K=10]", "S\xc2\xb2Prune [K=10]");
    s = of("fastv");
    s.published = true;
    check(s, "fastv[published]", "FastV [published]");
    s = of("s2prune");
    s.has_after = true;
    s.after = 2;
    check(s, "s2prune[L2]", "S\xc2\xb2Prune [after layer 2]");
    s = of("fastv");
    s.has_after = true;
    s.after = S2P_BEFORE_DECODER;
    check(s, "fastv[L-1]", "FastV [before the decoder]");
    s = of("sparsevlm");
    assert_int_equal(s2a_settings_set("--set", "recycle_ratio=0.5", &s, 1, NULL), S2P_OK);
    check(s, "sparsevlm[recycle_ratio=0.5]", "SparseVLM [recycle_ratio=0.5]");
    s = of("s2prune");
    s.is_resized = true;
    check(s, "s2prune[structure=resized]", "S\xc2\xb2Prune [structure=resized]");
    s = of("full");
    s.has_before = true;
    check(s, "full[pixelprune]", "All tokens [PixelPrune]");
    s = of("s2prune");
    s.has_before = true;
    s.before = (s2p_pixelprune){ .metric = S2P_DISTANCE_MAE, .threshold = 0.01 };
    s.choice.side = 4;
    s.is_resized = true;
    check(s, "s2prune[K=4,pixelprune:mae:0.01,structure=resized]",
          "S\xc2\xb2Prune [K=4, PixelPrune mae 0.01, structure=resized]");
    s = of("visionzip");
    s.width = 336;
    s.height = 448;
    check(s, "visionzip[336x448]", "VisionZip [336x448]");
}

/* Layers: of a setting that says none, its own. */
static void test_layers(void **state)
{
    (void)state;
    s2p_error error;
    s2a_setting s = of("uniform");
    assert_true(s2a_full_layers(&s, 28) == 0 && !s2a_prunes_cache(&s));
    s.has_after = true;
    s.after = 0;
    assert_true(s2a_full_layers(&s, 28) == 1 && s2a_prunes_cache(&s));
    s.after = 26;
    assert_int_equal(s2a_settings_check_after("--after", &s, 1, 28, &error), S2P_OK);
    s.after = 27;
    assert_int_equal(s2a_settings_check_after("--after", &s, 1, 0, &error), S2P_OK);
    assert_int_equal(s2a_settings_check_after("--after", &s, 1, 28, &error), S2P_EUNSUPPORTED);
    assert_string_equal(error.message,
                        "--after 27: the model has 28 layers; the last to prune after is 26");
    s = of("full");
    s.has_after = true;
    s.after = 99;
    assert_int_equal(s2a_settings_check_after("--after", &s, 1, 28, &error), S2P_OK);
    check(s, "full", "All tokens");
    assert_true(s2a_full_layers(&s, 28) == 28 && !s2a_prunes_cache(&s));
    s = of("fastv");
    assert_true(s2a_full_layers(&s, 28) == 2 && !s2a_prunes_cache(&s));
    s.has_after = true;
    s.after = 5;
    assert_true(s2a_full_layers(&s, 28) == 6 && !s2a_prunes_cache(&s));
    s = of("sparsevlm");
    assert_int_equal(s2a_full_layers(&s, 28), -1);
    s.has_after = true;
    assert_int_equal(s2a_settings_check_after("--after", &s, 1, 0, &error), S2P_EUNSUPPORTED);
}

/* The prune object of a request; what a server uses by default is for methods that can. */
static void test_layer_of_a_request(void **state)
{
    (void)state;
    static const struct {
        const char *json, *label; /* NULL: refused */
    } cases[] = {
        { "{\"method\":\"uniform\",\"after\":0}", "uniform[L0]" },
        { "{\"method\":\"uniform\"}", "uniform[L2]" },
        { "{\"method\":\"sparsevlm\"}", "sparsevlm" },
        { "{\"method\":\"fastv\",\"after\":-1}", NULL },
        { "{\"method\":\"sparsevlm\",\"after\":3}", NULL },
        { "{\"method\":\"uniform\",\"after\":1.5}", NULL },
        { "{\"method\":\"uniform\",\"after\":-2}", NULL },
    };
    s2a_setting usual = of("s2prune");
    usual.has_after = true;
    usual.after = 2;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char param[S2_JSON_PARAM], label[S2A_LABEL_SIZE];
        s2a_prune_request request;
        json_t *object = json_loads(cases[i].json, 0, NULL);
        const s2p_status st =
            s2a_prune_read(object, "prune.", NULL, &usual, NULL, &request, param, NULL);
        if (cases[i].label) {
            assert_int_equal(st, S2P_OK);
            assert_string_equal(s2a_setting_label(&request.setting, label), cases[i].label);
        } else {
            assert_int_not_equal(st, S2P_OK);
            assert_string_equal(param, "prune.after");
        }
        s2a_prune_request_free(&request);
        json_decref(object);
    }
}

/* Every element at once, in the fixed order. */
static void test_order(void **state)
{
    (void)state;
    s2a_setting s = of("s2prune");
    s.choice = (s2p_choice){ .side = 9, .allocator = "fft", .selector = "norm" };
    assert_int_equal(s2a_settings_set("--set", "erc_deepstack=1", &s, 1, NULL), S2P_OK);
    s.is_renumbered = true;
    s.published = s.has_after = s.is_resized = true;
    s.after = 12;
    s.width = s.height = 336;
    check(
        s,
        "s2prune[fft,norm,K=9,erc_deepstack=1,published,L12,renumbered,structure=resized,336x336]",
        "S\xc2\xb2Prune [fft, norm, K=9, erc_deepstack=1, published, after layer 12, renumbered, "
        "structure=resized, 336x336]");
}

/* What a method does not read changes nothing, so it is not in the name. */
static void test_only_what_applies(void **state)
{
    (void)state;
    s2a_setting s = of("fastv");
    s.choice = (s2p_choice){ .side = 9, .allocator = "uniform", .selector = "centre" };
    s.is_resized = true;
    check(s, "fastv", "FastV");
    s2a_setting_use(&s, "equal-density"); /* its regions, but neither of its two rules */
    check(s, "equal-density[K=9]", "Equal-Density [K=9]");
    s2a_setting_use(&s, "s2prune"); /* no rule that reads the picture */
    check(s, "s2prune[uniform,centre,K=9]", "S\xc2\xb2Prune [uniform, centre, K=9]");
    s = of("full");
    s.published = true;
    check(s, "full", "All tokens");
}

/* Both tables have "random": the label says which of the two it is. */
static void test_two_meanings(void **state)
{
    (void)state;
    s2a_setting s = of("s2prune");
    s.choice.allocator = "random";
    check(s, "s2prune[allocator=random]", "S\xc2\xb2Prune [allocator=random]");
    s = of("s2prune");
    s.choice.selector = "random";
    check(s, "s2prune[selector=random]", "S\xc2\xb2Prune [selector=random]");
}

/* Values that differ in the last bit have different labels. */
static void test_numbers(void **state)
{
    (void)state;
    char a[S2A_LABEL_SIZE], b[S2A_LABEL_SIZE];
    s2a_setting s = of("sparsevlm");
    assert_int_equal(s2a_settings_set("--set", "recycle_ratio=0.1", &s, 1, NULL), S2P_OK);
    check(s, "sparsevlm[recycle_ratio=0.1]", "SparseVLM [recycle_ratio=0.1]");
    (void)s2a_setting_label(&s, a);
    assert_int_equal(s2a_settings_set("--set", "recycle_ratio=0.10000000000000002", &s, 1, NULL),
                     S2P_OK);
    assert_string_not_equal(s2a_setting_label(&s, b), a);
    s2a_setting whole = of("visionzip");
    assert_int_equal(s2a_settings_set("--set", "dominant=1000000", &whole, 1, NULL), S2P_OK);
    check(whole, "visionzip[dominant=1000000]", "VisionZip [dominant=1000000]");
}

static s2p_status nothing(const s2p_view *view, s2p_grid grid, int32_t *keep, int32_t *n_keep,
                          void *user, s2p_error *error)
{
    (void)view;
    (void)grid;
    (void)keep;
    (void)n_keep;
    (void)user;
    (void)error;
    return S2P_OK;
}

/* The longest there can be: a method of one's own with eight parameters of the longest names. */
static void test_longest(void **state)
{
    (void)state;
    char names[S2P_MAX_PARAMETERS][65], method_name[65], title[65], label[S2A_LABEL_SIZE];
    s2p_parameter rows[S2P_MAX_PARAMETERS];
    memset(method_name, 'm', 64);
    memset(title, 't', 64);
    method_name[64] = title[64] = '\0';
    for (int32_t i = 0; i < S2P_MAX_PARAMETERS; i++) {
        memset(names[i], 'a' + i, 64);
        names[i][64] = '\0';
        rows[i] = (s2p_parameter){ names[i], "", 0, -1e308, 1e308, 0.0 };
    }
    s2p_method_definition definition;
    s2p_method_definition_init(&definition);
    definition.name = method_name;
    definition.title = title;
    definition.n_parameters = S2P_MAX_PARAMETERS;
    definition.parameters = rows;
    definition.function = nothing;
    definition.needs = S2P_NEED_PIXELS;
    s2p_method *own = NULL;
    assert_int_equal(s2p_method_make(&own, &definition, NULL), S2P_OK);
    assert_string_equal(s2p_method_about(own)->title, title);
    s2a_setting s = { .method = method_name,
                      .own_method = own,
                      .published = true,
                      .has_after = true,
                      .after = INT32_MIN,
                      .is_resized = true,
                      .width = 16384,
                      .height = 16384 };
    for (int32_t i = 0; i < S2P_MAX_PARAMETERS; i++)
        s.parameters.value[i] = -1.2345678901234567e-300;
    const size_t n = strlen(s2a_setting_label(&s, label));
    assert_true(n < S2A_LABEL_SIZE - 1 && strcmp(label + n - 13, ",16384x16384]") == 0);
    const size_t n_title = strlen(s2a_setting_title(&s, label));
    assert_true(n_title < S2A_LABEL_SIZE - 1 && label[n_title - 1] == ']');
    s2p_method_free(own);
    definition.title = "";
    assert_int_equal(s2p_method_make(&own, &definition, NULL), S2P_EINVAL);
    definition.title = NULL;
    assert_int_equal(s2p_method_make(&own, &definition, NULL), S2P_OK);
    assert_string_equal(s2p_method_about(own)->title, method_name);
    s2p_method_free(own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_only_what_applies),
        cmocka_unit_test(test_two_meanings),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_longest),
        cmocka_unit_test(test_layers),
        cmocka_unit_test(test_layer_of_a_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
