/* test_run_settings.c - settings through the values of a run and back: labels with commas, and runs of
 * programs that named a column by its method alone.
 */
#include "check.h"

#include "ask/variants.h"
#include "eval/run/fingerprint.h"
#include "eval/run/run_plan.h"

#include <string.h>

static s2a_setting read_setting(const char *text)
{
    static const s2a_setting base = { .budget = { .tokens = 64 } };
    s2a_variant v;
    CHECK_CASE(s2a_variant_read("test", text, strlen(text), &base, &v, NULL) == S2P_OK, "%s", text);
    return v.setting;
}

static void set(json_t *values, const char *key, const char *text)
{
    assert_int_equal(json_object_set_new(values, key, json_string(text)), 0);
}

static json_t *values_of(bool is_published, bool is_resized)
{
    json_t *values = json_object();
    set(values, "is.tasks", "synth");
    set(values, "is.task.synth", "{\"samples\":5}");
    set(values, "is.mode", is_published ? "published" : "default");
    set(values, "is.pictures",
        is_resized ? "size=0x0 pixels=0-0 framing=base structure=resized jpeg=75"
                   : "size=0x0 pixels=0-0 framing=base structure=source");
    return values;
}

static void add_settings(json_t *values, const s2a_setting *setting, int32_t n, s2e_common common,
                         s2e_column *column)
{
    s2_buffer text;
    s2_buffer_init(&text, 1 << 16);
    for (int32_t i = 0; i < n; i++) {
        char key[S2A_LABEL_SIZE + 32];
        column[i] = s2e_column_of(&setting[i], 3, false);
        (void)snprintf(key, sizeof key, "is.method.%.1000s", column[i].method);
        text.size = 0;
        s2e_setting_write(&setting[i], common, &text);
        s2_buffer_append(&text, "", 1);
        set(values, key, (const char *)text.data);
    }
    text.size = 0;
    s2e_columns_write(column, n, &text);
    s2_buffer_append(&text, "", 1);
    set(values, "is.methods", (const char *)text.data);
    s2_buffer_free(&text);
}

/* Every element, under both values that all settings of a run may share. */
static void test_round_trip(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "full",
        "s2prune",
        "s2prune:grid=9",
        "s2prune:allocator=uniform,selector=centre",
        "s2prune:allocator=random",
        "s2prune:selector=random,budget=10%",
        "s2prune:structure=resized",
        "s2prune:structure=source,after=2,image-size=336x448",
        "uniform:after=0,before-tower=pixelprune:rmse:0.015",
        "uniform:image-size=native",
        "fastv:mode=published,after=3",
        "fastv:mode=default",
        "sparsevlm:recycle_ratio=0.123456789012345",
        "gprune:temperature=0.5,iterations=7",
        "feather-full:stride=2",
    };
    for (int shared = 0; shared < 4; shared++) {
        const s2e_common common = { shared & 1, shared & 2 };
        s2a_setting setting[COUNT_OF(texts)], again;
        static s2e_column column[COUNT_OF(texts)];
        static s2e_run_plan plan;
        json_t *values = values_of(common.is_published, common.is_resized);
        for (size_t i = 0; i < COUNT_OF(texts); i++) setting[i] = read_setting(texts[i]);
        add_settings(values, setting, COUNT_OF(texts), common, column);
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(s2e_run_plan_read(values, &plan, &error) == S2P_OK, "%s", error.message);
        assert_int_equal(plan.n_columns, COUNT_OF(texts));
        for (size_t i = 0; i < COUNT_OF(texts); i++) {
            CHECK_CASE(strcmp(plan.column[i].method, column[i].method) == 0, "%s: %s", texts[i],
                       plan.column[i].method);
            CHECK_CASE(strcmp(plan.column[i].label, column[i].label) == 0, "%s: %s", texts[i],
                       plan.column[i].label);
            assert_string_equal(plan.column[i].budget, column[i].budget);
            assert_int_equal(plan.column[i].n_seeds, column[i].n_seeds);
            assert_true(s2e_setting_read(values, &plan.column[i], &again));
            assert_true(s2a_budget_is_same(again.budget, setting[i].budget));
            assert_true(again.published == setting[i].published &&
                        again.has_after == setting[i].has_after &&
                        again.is_resized == setting[i].is_resized &&
                        again.has_before == setting[i].has_before &&
                        again.before.metric == setting[i].before.metric &&
                        again.before.threshold == setting[i].before.threshold &&
                        again.width == setting[i].width && again.height == setting[i].height);
            assert_memory_equal(&again.parameters, &setting[i].parameters, sizeof again.parameters);
        }
        json_decref(values);
    }
}

/* As the program before labels wrote them. */
static void test_old_run(void **state)
{
    (void)state;
    static s2e_run_plan plan;
    char bare[S2E_METHOD];
    json_t *values = values_of(false, false);
    set(values, "is.methods", "full/-,s2prune/64,sparsevlm/64,gone/64");
    set(values, "is.method.full", "side=0 allocator=uniform selector=centre");
    set(values, "is.method.s2prune", "side=0 allocator=uniform selector=centre erc_deepstack=0");
    set(values, "is.method.sparsevlm",
        "side=0 allocator=uniform selector=centre recycle_ratio=0.5");
    assert_int_equal(s2e_run_plan_read(values, &plan, NULL), S2P_OK);
    assert_string_equal(plan.column[0].label, "full");
    assert_string_equal(plan.column[1].method, "s2prune");
    assert_string_equal(plan.column[1].label, "s2prune[uniform,centre]");
    assert_string_equal(plan.column[2].label, "sparsevlm[recycle_ratio=0.5]");
    assert_string_equal(plan.column[3].label, "gone"); /* of a program that has it */
    assert_string_equal(s2e_label_method(plan.column[1].label, bare), "s2prune");
    set(values, "is.mode", "published");
    assert_int_equal(s2e_run_plan_read(values, &plan, NULL), S2P_OK);
    assert_string_equal(plan.column[1].label, "s2prune[uniform,centre,published]");
    json_decref(values);
}

/* A setting that differs in nothing is written as before, so that such runs go on. */
static void test_same_words(void **state)
{
    (void)state;
    s2_buffer text;
    s2_buffer_init(&text, 1000);
    s2a_setting s = { .choice = { .allocator = "laplacian", .selector = "erc" } };
    s2a_setting_use(&s, "s2prune");
    s2e_setting_write(&s, (s2e_common){ false, false }, &text);
    s2_buffer_append(&text, "", 1);
    assert_string_equal((const char *)text.data,
                        "side=0 allocator=laplacian selector=erc erc_deepstack=0");
    s2_buffer_free(&text);
    const s2e_column c = s2e_column_of(&s, 3, true);
    assert_string_equal(c.method, "s2prune");
    s.choice.side = 9;
    assert_string_equal(s2e_column_of(&s, 3, true).method, "s2prune");
    assert_string_equal(s2e_column_of(&s, 3, false).method, "s2prune[K=9]");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_old_run),
        cmocka_unit_test(test_same_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
