/* test_signals.c - signals are rows of one table: names, shapes, what a view has of them. */
#include "check.h"
#include "method_signals.h"

static method_signals numbers;

/* Rows a reader can rely on: a name of its own, words, a shape of known letters. */
static void test_table(void **state)
{
    (void)state;
    size_t n = 0;
    for (; s2p_signal_at(n); n++) {
        const s2p_signal_info *info = s2p_signal_at(n);
        CHECK_CASE(info->name && info->words && info->shape && info->from, "%zu", n);
        CHECK_CASE(strspn(info->shape, "naLqtvhked") == strlen(info->shape), "%s", info->name);
        CHECK_CASE(strlen(info->shape) <= COUNT_OF(((s2p_signal *)0)->shape), "%s", info->name);
        CHECK_CASE((*info->shape == '\0') == (n == S2P_PIXELS), "%s", info->name);
        for (size_t i = 0; i < n; i++) assert_string_not_equal(info->name, s2p_signal_at(i)->name);
    }
    assert_int_equal(n, S2P_N_SIGNALS);
    assert_string_equal(s2p_need_text(S2P_NEED_TEXT | S2P_NEED_NORMED),
                        "embeddings of the question"); /* the lowest */
}

/* A signal is at hand when it has data and a size in each dimension of its shape. */
static void test_missing(void **state)
{
    (void)state;
    const uint32_t all = (UINT32_C(1) << S2P_N_SIGNALS) - 1;
    s2p_image image = { .width = 1 };
    s2p_view view = { .image = NULL };
    assert_int_equal(s2p_view_missing(&view, all), all);
    view.image = &image;
    assert_int_equal(s2p_view_missing(&view, all), all & ~(uint32_t)S2P_NEED_PIXELS);
    view.signal[S2P_HIDDEN] = (s2p_signal){ numbers.plain, { 4, 0, 1 } };
    assert_int_equal(s2p_view_missing(&view, S2P_NEED_HIDDEN), S2P_NEED_HIDDEN);
    view.signal[S2P_HIDDEN].shape[1] = 8;
    assert_int_equal(s2p_view_missing(&view, S2P_NEED_HIDDEN), 0);
    view.signal[S2P_HIDDEN].data = NULL;
    assert_int_equal(s2p_view_missing(&view, S2P_NEED_HIDDEN), S2P_NEED_HIDDEN);
}

/* Every dimension of every signal a method needs, one too many: refused, but for free widths. */
static void test_shapes_are_checked(void **state)
{
    (void)state;
    const s2p_grid grid = { 6, 6 };
    s2p_plan *plan;
    s2p_error error;
    int32_t n, n_refused = 0;
    fill_signals(&numbers, 3);
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    for (size_t m = 0; s2p_method_at(m); m++)
        for (size_t id = S2P_PIXELS + 1; s2p_signal_at(id); id++)
            for (size_t d = 0; s2p_signal_at(id)->shape[d]; d++) {
                const s2p_method *method = s2p_method_at(m);
                const char letter = s2p_signal_at(id)->shape[d];
                if (!(s2p_method_about(method)->needs >> id & 1) || !strchr("naL", letter))
                    continue;
                s2p_view view = view_of_signals(&numbers, NULL, 36, 9);
                view.signal[id].shape[d]++;
                if (letter == 'L' && id == S2P_NORMED) view.signal[id].shape[d] -= 2;
                CHECK_CASE(s2p_method_run(method, &view, plan, &error) == S2P_EINVAL, "%s %s",
                           s2p_method_about(method)->name, s2p_signal_at(id)->name);
                CHECK_CASE(strstr(error.message, ", expected "), "%s", error.message);
                (void)s2p_plan_keep(plan, &n);
                assert_int_equal(n, 0);
                n_refused++;
            }
    assert_true(n_refused > 20);
    s2p_view view = view_of_signals(&numbers, NULL, 36, 9);
    view.signal[S2P_FEATURE].shape[0] = 35;
    assert_int_equal(s2p_method_run(s2p_method_find("divprune"), &view, plan, &error), S2P_EINVAL);
    assert_string_equal(error.message,
                        "method 'divprune': visual features: dimension 1 is 35, expected 36");
    view = view_of_signals(&numbers, NULL, 36, 9);
    view.signal[S2P_LAST_QUERY].shape[1] = 4; /* heads of one width */
    assert_int_equal(s2p_method_run(s2p_method_find("feather"), &view, plan, &error), S2P_EINVAL);
    assert_string_equal(error.message,
                        "method 'feather': keys before rotation: dimension 3 is 8, expected 4");
    s2p_plan_free(plan);
}

/* What a method takes beside its needs is checked where it is there. */
static void test_taken_signals(void **state)
{
    (void)state;
    const s2p_method *method = s2p_method_find("cdpruner");
    s2p_plan *plan;
    s2p_error error;
    fill_signals(&numbers, 3);
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ 6, 6 }), S2P_OK);
    s2p_view view = view_of_signals(&numbers, NULL, 36, 9);
    assert_int_equal(s2p_method_run(method, &view, plan, &error), S2P_OK);
    view.signal[S2P_ALIGNED] = (s2p_signal){ numbers.plain, { 35, SIGNAL_DIM } };
    assert_int_equal(s2p_method_run(method, &view, plan, &error), S2P_EINVAL);
    assert_int_equal(s2p_method_run(s2p_method_find("divprune"), &view, plan, &error), S2P_OK);
    s2p_plan_free(plan);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_table),
        cmocka_unit_test(test_missing),
        cmocka_unit_test(test_shapes_are_checked),
        cmocka_unit_test(test_taken_signals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
