/* test_own_method.c - methods the caller makes: definitions, what they receive, what is refused. */
#include "check.h"
#include "s2prune.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { SIDE = 4, N = SIDE * SIDE, BUDGET = 5 };

typedef struct behavior {
    int32_t first, step, n; /* keeps first, first + step, ...; n < 0: as many as asked for */
    s2p_status status;
    const char *sentence;
    int n_calls;
    double seen; /* parameter 0 */
    s2p_mode mode;
} behavior;

static s2p_status act(const s2p_view *view, s2p_grid grid, int32_t *keep, int32_t *n_keep,
                      void *user, s2p_error *error)
{
    behavior *b = user;
    assert_int_equal(grid.rows * grid.cols, N);
    b->n_calls++;
    b->seen = view->parameters->value[0];
    if (b->n >= 0) *n_keep = b->n;
    for (int32_t i = 0; i < *n_keep && i < N; i++) keep[i] = b->first + b->step * i;
    if (b->sentence) {
        error->status = b->status;
        (void)snprintf(error->message, sizeof error->message, "%s", b->sentence);
    }
    return b->status;
}

static const s2p_parameter rows[] = { { "depth", "how deep", 1, 0, 9, 3 } };

static s2p_method_definition define(behavior *b)
{
    s2p_method_definition d;
    s2p_method_definition_init(&d);
    d.name = "mine";
    d.parameters = rows;
    d.n_parameters = 1;
    d.function = act;
    d.user = b;
    return d;
}

static s2p_status run(behavior *b, const s2p_parameters *parameters, s2p_plan *plan,
                      s2p_error *error)
{
    const s2p_method_definition d = define(b);
    s2p_method *method;
    assert_int_equal(s2p_method_make(&method, &d, error), S2P_OK);
    const s2p_view view = { .budget = BUDGET, .mode = b->mode, .parameters = parameters };
    const s2p_status st = s2p_method_run(method, &view, plan, error);
    s2p_method_free(method);
    return st;
}

static void test_keeps(void **state)
{
    (void)state;
    s2p_plan *plan;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ SIDE, SIDE }), S2P_OK);
    behavior b = { .first = 14, .step = -3, .n = -1 };
    assert_int_equal(run(&b, NULL, plan, &error), S2P_OK);
    int32_t n;
    const int32_t *keep = s2p_plan_keep(plan, &n), *order = s2p_plan_order(plan, &n);
    assert_int_equal(n, BUDGET);
    for (int32_t i = 0; i < n; i++) {
        assert_int_equal(keep[i], 2 + 3 * i); /* ascending */
        assert_int_equal(order[i], 14 - 3 * i);
    }
    assert_true(b.seen == 3.0);
    const s2p_parameters set = { { 7.0 } }, wrong = { { 10.0 } };
    assert_int_equal(run(&b, &set, plan, &error), S2P_OK);
    assert_true(b.seen == 7.0 && b.n_calls == 2);
    assert_int_equal(run(&b, &wrong, plan, &error), S2P_EINVAL);
    assert_int_equal(b.n_calls, 2); /* refused before it ran */
    s2p_plan_free(plan);
}

static void test_misbehaves(void **state)
{
    (void)state;
    static const struct {
        behavior b;
        s2p_status status;
        const char *sentence;
    } cases[] = {
        { { .first = 3, .step = 0, .n = -1 }, S2P_EINVAL, "method 'mine' kept token 3 twice" },
        { { .first = 13, .step = 1, .n = -1 }, S2P_EINVAL, "kept token 16 of a grid of 16" },
        { { .first = -1, .step = 1, .n = -1 }, S2P_EINVAL, "kept token -1 of a grid of 16" },
        { { .step = 1, .n = 4 }, S2P_EINVAL, "method 'mine' kept 4 tokens, not 5" },
        { { .step = 1, .n = 6 }, S2P_EINVAL, "method 'mine' kept 6 tokens, not 5" },
        { { .step = 1, .n = 1 << 20 }, S2P_EINVAL, "kept 1048576 tokens, not 5" },
        { { .step = 1, .n = 0 }, S2P_EINVAL, "kept 0 tokens, not 5" },
        { { .step = 1, .n = 0, .mode = S2P_MODE_PUBLISHED },
          S2P_EINVAL,
          "kept 0 tokens, not 1 to 16" },
        { { .step = 1, .n = 17, .mode = S2P_MODE_PUBLISHED },
          S2P_EINVAL,
          "kept 17 tokens, not 1 to 16" },
        { { .step = 0, .n = 2, .mode = S2P_MODE_PUBLISHED }, S2P_EINVAL, "kept token 0 twice" },
        { { .step = 1, .n = -1, .status = S2P_EIO, .sentence = "the file is gone" },
          S2P_EIO,
          "the file is gone" },
        { { .step = 1, .n = -1, .status = S2P_ENOMEM }, S2P_ENOMEM, "method 'mine': " },
    };
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ SIDE, SIDE }), S2P_OK);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        behavior b = cases[i].b;
        s2p_error error = { S2P_OK, "" };
        int32_t n = -1;
        CHECK_CASE(run(&b, NULL, plan, &error) == cases[i].status, "%zu: %s", i, error.message);
        CHECK_CASE(strstr(error.message, cases[i].sentence), "%zu: %s", i, error.message);
        (void)s2p_plan_keep(plan, &n);
        assert_int_equal(n, 0); /* nothing is left behind */
    }
    s2p_plan_free(plan);
}

/* In the published mode the count is the method's. */
static void test_own_counts(void **state)
{
    (void)state;
    s2p_plan *plan;
    assert_int_equal(s2p_plan_create(&plan, (s2p_grid){ SIDE, SIDE }), S2P_OK);
    for (int32_t n_kept = 1; n_kept <= N; n_kept++) {
        behavior b = { .step = 1, .n = n_kept, .mode = S2P_MODE_PUBLISHED };
        int32_t n;
        assert_int_equal(run(&b, NULL, plan, NULL), S2P_OK);
        (void)s2p_plan_keep(plan, &n);
        assert_int_equal(n, n_kept);
    }
    s2p_plan_free(plan);
}

/* The definition may be gone, and with it its strings. */
static void test_is_copied(void **state)
{
    (void)state;
    behavior b = { .step = 1, .n = -1 };
    char name[] = "copied", parameter[] = "depth", help[] = "how deep";
    const s2p_parameter one = { parameter, help, 1, 0, 9, 3 };
    s2p_method_definition d = define(&b);
    d.name = name;
    d.parameters = &one;
    d.needs = S2P_NEED_FEATURE;
    d.n_stages = 2;
    d.after[0] = 1;
    d.after[1] = 4;
    s2p_method *method;
    assert_int_equal(s2p_method_make(&method, &d, NULL), S2P_OK);
    memset(name, 'x', sizeof name - 1);
    memset(parameter, 'x', sizeof parameter - 1);
    memset(help, 'x', sizeof help - 1);
    const s2p_method_info *about = s2p_method_about(method);
    assert_string_equal(about->name, "copied");
    assert_string_equal(s2p_method_parameter(method, 0)->name, "depth");
    assert_true(about->n_stages == 2 && about->after[1] == 4 && about->needs == S2P_NEED_FEATURE);
    assert_null(s2p_method_find("copied")); /* there is no registry */
    s2p_method_free(method);
    s2p_method_free(NULL);
}

static void test_refused(void **state)
{
    (void)state;
    behavior b = { .n = -1 };
    static const s2p_parameter twice[] = { { "a", "", 0, 0, 1, 0 }, { "a", "", 0, 0, 1, 0 } };
    for (int i = 0; i < 12; i++) {
        s2p_method_definition d = define(&b);
        s2p_method *method = (s2p_method *)&d;
        s2p_error error = { S2P_OK, "" };
        if (i == 0) d.name = NULL;
        if (i == 1) d.name = "";
        if (i == 2) d.name = "Upper";
        if (i == 3) d.name = "divprune";
        if (i == 4) d.function = NULL;
        if (i == 5) d.n_stages = 0;
        if (i == 6) d.n_stages = S2P_MAX_STAGES + 1;
        if (i == 7) d.n_stages = 2, d.after[0] = d.after[1] = 3;
        if (i == 8) d.after[0] = -2;
        if (i == 9) d.parameters = twice, d.n_parameters = 2;
        if (i == 10) d.needs = 1u << S2P_N_SIGNALS;
        if (i == 11) d.size = 0;
        CHECK_CASE(s2p_method_make(&method, &d, &error) == S2P_EINVAL, "%d", i);
        CHECK_CASE(!method && strlen(error.message) > 10, "%d: %s", i, error.message);
    }
}

/* A program of an earlier header has a shorter struct; one of a later header a longer one. */
static void test_sizes(void **state)
{
    (void)state;
    behavior b = { .n = -1 };
    struct {
        s2p_method_definition d;
        unsigned char later[16];
    } grown = { .d = define(&b) };
    s2p_method *method;
    grown.d.size = sizeof grown;
    assert_int_equal(s2p_method_make(&method, &grown.d, NULL), S2P_OK);
    s2p_method_free(method);
    grown.later[3] = 1;
    assert_int_equal(s2p_method_make(&method, &grown.d, NULL), S2P_EINVAL);
    grown.d.size = offsetof(s2p_method_definition, user); /* `user` did not exist */
    assert_int_equal(s2p_method_make(&method, &grown.d, NULL), S2P_OK);
    s2p_method_free(method);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keeps),     cmocka_unit_test(test_misbehaves),
        cmocka_unit_test(test_is_copied), cmocka_unit_test(test_refused),
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_own_counts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
