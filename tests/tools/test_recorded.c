/* test_recorded.c - recorded arrays: right ones reach the method, wrong ones are refused by name.
 *
 * The rules of the published methods are proven by the goldens; here stand the doors in front, and
 * that a golden with one thing wrong never passes.
 */
#include "check.h"
#include "verify/golden.h"
#include "plan/golden_fields.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GOLDENS S2_TEST_DATA "/goldens/methods/"

static const s2p_grid grid = { 4, 5 };
static s2p_error error;

/* An array of this shape; element i is i % 7 + 1. */
static s2_array make(s2_dtype type, int32_t n_dims, int64_t a, int64_t b, int64_t c)
{
    s2_array x = { .type = type, .n_dims = n_dims, .shape = { a, b, c, 1 } };
    x.count = (size_t)(a * b * c);
    x.data = calloc(x.count, s2_dtype_size(type));
    assert_non_null(x.data);
    for (size_t i = 0; i < x.count; i++) {
        if (type == S2_F32) ((float *)x.data)[i] = (float)(i % 7 + 1);
        if (type == S2_F64) ((double *)x.data)[i] = (double)(i % 7 + 1);
        if (type == S2_I32) ((int32_t *)x.data)[i] = (int32_t)(i % 7 + 1);
    }
    return x;
}

static s2_recorded recorded_for(const char *method)
{
    return (s2_recorded){
        .method = s2p_method_find(method), .grid = grid, .image_start = 2, .n_after = 5
    };
}

static s2p_status take(s2_golden_fields *f, s2_field field, s2_array array)
{
    error = (s2p_error){ S2P_OK, "" };
    const s2p_status st = s2_golden_fields_take(f, field, &array, "x.npy", &error);
    s2_array_free(&array);
    return st;
}

static void test_shapes(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        s2_field field;
        s2_dtype type;
        int32_t n_dims;
        int64_t shape[3];
        const char *sentence; /* NULL: it is right */
    } cases[] = {
        { "gprune", S2_FIELD_FEAT, S2_F32, 2, { 20, 3, 1 }, NULL },
        { "gprune", S2_FIELD_FEAT, S2_F64, 2, { 20, 3, 1 }, NULL },
        { "gprune",
          S2_FIELD_FEAT,
          S2_I32,
          2,
          { 20, 3, 1 },
          "feat: 'x.npy' is int32 [20][3], expected float32 [20][d] for 4x5 tokens" },
        { "gprune",
          S2_FIELD_FEAT,
          S2_F32,
          2,
          { 21, 3, 1 },
          "feat: 'x.npy' is float32 [21][3], expected float32 [20][d] for 4x5 tokens" },
        { "gprune",
          S2_FIELD_FEAT,
          S2_F32,
          1,
          { 20, 1, 1 },
          "feat: 'x.npy' is float32 [20], expected float32 [20][d] for 4x5 tokens" },
        { "fastv", S2_FIELD_INPUT, S2_F32, 2, { 4, 27, 1 }, NULL },
        { "fastv",
          S2_FIELD_INPUT,
          S2_F32,
          2,
          { 4, 28, 1 },
          "input: 'x.npy' is float32 [4][28], expected float32 [h][27] for 4x5 tokens" },
        { "dart", S2_FIELD_HIDDEN, S2_F32, 2, { 27, 3, 1 }, NULL },
        { "dart", S2_FIELD_K, S2_F32, 3, { 2, 27, 3 }, NULL },
        { "dart",
          S2_FIELD_K,
          S2_F32,
          3,
          { 2, 20, 3 },
          "k: 'x.npy' is float32 [2][20][3], expected float32 [k][27][d] for 4x5 tokens" },
        { "euti", S2_FIELD_K, S2_F32, 3, { 2, 20, 3 }, NULL },
        { "euti", S2_FIELD_HIDDEN, S2_F32, 2, { 20, 3, 1 }, NULL },
        { "prumerge+", S2_FIELD_K, S2_F32, 2, { 21, 3, 1 }, NULL },
        { "prumerge+",
          S2_FIELD_K,
          S2_F32,
          2,
          { 20, 3, 1 },
          "k: 'x.npy' is float32 [20][3], expected float32 [21][d] for 4x5 tokens" },
        { "holov", S2_FIELD_ATTN, S2_F32, 1, { 20, 1, 1 }, NULL },
        { "holov", S2_FIELD_ATTN, S2_F32, 2, { 3, 20, 1 }, NULL },
        { "holov",
          S2_FIELD_ATTN,
          S2_F32,
          3,
          { 3, 2, 20 },
          "attn: 'x.npy' is float32 [3][2][20], expected float32 [20] for 4x5 tokens" },
        { "sparsevlm", S2_FIELD_ATTN, S2_F32, 3, { 3, 2, 20 }, NULL },
        { "visionzip",
          S2_FIELD_CLS_HIDDEN,
          S2_F32,
          2,
          { 2, 3, 1 },
          "cls_hidden: 'x.npy' is float32 [2][3], expected float32 [1][d] for 4x5 tokens" },
        { "cdpruner",
          S2_FIELD_TXT_EMBED,
          S2_F32,
          2,
          { 0, 3, 1 },
          "txt_embed: 'x.npy' is float32 [0][3], expected float32 [t][d] for 4x5 tokens" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const s2_recorded r = recorded_for(cases[i].method);
        s2_golden_fields f = { .of = &r };
        const int64_t *s = cases[i].shape;
        s2_array x = make(cases[i].type, cases[i].n_dims, s[0] ? s[0] : 1, s[1], s[2]);
        if (s[0] == 0) x.shape[0] = 0, x.count = 0;
        const s2p_status st = take(&f, cases[i].field, x);
        CHECK_CASE(st == (cases[i].sentence ? S2P_EFORMAT : S2P_OK), "%zu: %s", i, error.message);
        if (cases[i].sentence) assert_string_equal(error.message, cases[i].sentence);
        s2_golden_fields_free(&f);
    }
}

static void test_numbers_must_be_finite(void **state)
{
    (void)state;
    static const double bad[] = { NAN, INFINITY, -INFINITY, 1e300 };
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        const s2_recorded r = recorded_for("divprune");
        s2_golden_fields f = { .of = &r };
        s2_array x = make(S2_F64, 2, 20, 3, 1);
        ((double *)x.data)[41] = bad[i];
        assert_int_equal(take(&f, S2_FIELD_FEAT, x), S2P_EFORMAT);
        assert_string_equal(error.message, "feat: element 41 of 'x.npy' is not a finite float32");
        assert_null(f.field[S2_FIELD_FEAT].data);
        s2_golden_fields_free(&f);
    }
}

/* Arrays that are right alone and wrong together. */
static void test_arrays_must_go_together(void **state)
{
    (void)state;
    static const struct {
        const char *method;
        s2_field a, b;
        int32_t n_dims[2];
        int64_t shape[2][3];
        const char *sentence;
    } cases[] = {
        { "feather",
          S2_FIELD_Q_LAST,
          S2_FIELD_K_IMG,
          { 2, 3 },
          { { 4, 8, 1 }, { 2, 20, 6 } },
          "k_img: rows of 6 values, but q_last has 8" },
        { "euti",
          S2_FIELD_Q,
          S2_FIELD_K,
          { 3, 3 },
          { { 4, 9, 8 }, { 2, 20, 6 } },
          "k: rows of 6 values, but q has 8" },
        { "prumerge+",
          S2_FIELD_Q,
          S2_FIELD_K,
          { 2, 2 },
          { { 21, 8, 1 }, { 21, 6, 1 } },
          "k: rows of 6 values, but q has 8" },
        { "cdpruner",
          S2_FIELD_IMG_EMBED,
          S2_FIELD_TXT_EMBED,
          { 2, 2 },
          { { 20, 8, 1 }, { 3, 6, 1 } },
          "txt_embed: rows of 6 values, but img_embed has 8" },
        { "s2prune",
          S2_FIELD_H0,
          S2_FIELD_H1,
          { 2, 2 },
          { { 20, 8, 1 }, { 20, 6, 1 } },
          "h1: rows of 6 values, but h0 has 8" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const s2_recorded r = recorded_for(cases[i].method);
        s2_golden_fields f = { .of = &r };
        const int64_t *a = cases[i].shape[0], *b = cases[i].shape[1];
        assert_int_equal(take(&f, cases[i].a, make(S2_F32, cases[i].n_dims[0], a[0], a[1], a[2])),
                         S2P_OK);
        assert_int_equal(take(&f, cases[i].b, make(S2_F32, cases[i].n_dims[1], b[0], b[1], b[2])),
                         S2P_OK);
        s2p_view view = { .budget = 3 };
        assert_int_equal(s2_golden_fields_show(&f, &view, &error), S2P_EFORMAT);
        assert_string_equal(error.message, cases[i].sentence);
        s2_golden_fields_free(&f);
    }
    s2_recorded r = recorded_for("dart");
    s2_golden_fields f = { .of = &r }; /* how many rows there are was not said */
    r.n_after = 0;
    assert_int_equal(take(&f, S2_FIELD_K, make(S2_F32, 3, 2, 30, 4)), S2P_OK);
    assert_int_equal(take(&f, S2_FIELD_HIDDEN, make(S2_F32, 2, 31, 4, 1)), S2P_OK);
    s2p_view view = { .budget = 3 };
    assert_int_equal(s2_golden_fields_show(&f, &view, &error), S2P_EFORMAT);
    assert_string_equal(error.message, "k: keys of 30 rows, but hidden has 31");
    s2_golden_fields_free(&f);
    r = recorded_for("fastv");
    f.of = &r;
    r.n_after = 0;
    r.image_start = 9;
    assert_int_equal(take(&f, S2_FIELD_INPUT, make(S2_F32, 2, 2, 28, 1)), S2P_OK);
    assert_int_equal(s2_golden_fields_show(&f, &view, &error), S2P_EFORMAT);
    s2_golden_fields_free(&f);
}

/* What is made on the way: heads averaged, the picture's part of a row, a mean query. */
static void test_derived(void **state)
{
    (void)state;
    s2_recorded r = recorded_for("fastv");
    s2_golden_fields f = { .of = &r };
    assert_int_equal(take(&f, S2_FIELD_INPUT, make(S2_F32, 2, 2, 27, 1)), S2P_OK);
    s2p_view view = { .budget = 3 };
    assert_int_equal(s2_golden_fields_show(&f, &view, &error), S2P_OK);
    assert_int_equal(view.signal[S2P_QUERY_ATTN].shape[0], 1);
    for (int32_t i = 0; i < 20; i++) { /* rows of i % 7 + 1, the picture from 2 on */
        const float first = (float)((2 + i) % 7 + 1), second = (float)((27 + 2 + i) % 7 + 1);
        assert_true(view.signal[S2P_LAST_ATTN].data[i] == (first + second) / 2);
    }
    s2_golden_fields_free(&f);
    r = recorded_for("euti");
    f.of = &r;
    assert_int_equal(take(&f, S2_FIELD_Q, make(S2_F32, 3, 1, 7, 1)), S2P_OK);
    assert_int_equal(take(&f, S2_FIELD_K, make(S2_F32, 3, 1, 20, 1)), S2P_OK);
    view = (s2p_view){ .budget = 3 };
    assert_int_equal(s2_golden_fields_show(&f, &view, &error), S2P_OK);
    assert_true(view.signal[S2P_MEAN_QUERY].data[0] == 4.0f); /* of 1 to 7 */
    s2_golden_fields_free(&f);
}

/* --- goldens with one thing wrong ------------------------------------------------------ */

static bool passes(const s2_golden *golden, s2_verdict *v)
{
    static const char *const arrays[2] = { GOLDENS, NULL };
    s2_golden_check(golden, arrays, v);
    const bool passed = v->n_failed == 0;
    return passed;
}

/* Change the last entry of a list so that it cannot be right any more. */
static bool spoil(json_t *c, const char *key)
{
    json_t *list = json_object_get(c, key);
    if (!json_is_array(list) || json_array_size(list) == 0) return false;
    const size_t last = json_array_size(list) - 1;
    const json_int_t value = json_integer_value(json_array_get(list, last));
    return json_array_set_new(list, last, json_integer(value + 1)) == 0;
}

static void test_spoilt_goldens_fail(void **state)
{
    (void)state;
    static const struct {
        const char *method, *keys[4];
    } cases[] = {
        { "fastv", { "selected" } },
        { "feather", { "selected" } },
        { "dart", { "selected", "selected_abs", "pivot_image", "pivot_order_cpython" } },
        { "gprune", { "selected" } },
        { "visionzip_clip", { "dominant_patches", "contextual_targets", "assign" } },
        { "visionzip_qwen", { "dominant_idx", "contextual_targets", "assign", "selected" } },
        { "vispruner", { "selected" } },
        { "holov", { "selected", "selected_in_output_order" } },
        { "cdpruner", { "selected" } },
        { "divprune", { "selected", "order" } },
        { "euti", { "selected" } },
        { "sparsevlm", { "raters", "kept", "recycled" } },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t k = 0; k < 4 && cases[i].keys[k]; k++) {
            char path[512];
            s2_golden golden;
            s2_verdict v;
            (void)snprintf(path, sizeof path, GOLDENS "%s/cases.json", cases[i].method);
            assert_int_equal(s2_golden_read(path, &golden, NULL), S2P_OK);
            assert_string_equal(golden.kind->family, cases[i].method);
            assert_true(spoil(json_array_get(golden.cases, 0), cases[i].keys[k]));
            CHECK_CASE(!passes(&golden, &v) && v.n_failed == 1, "%s %s", cases[i].method,
                       cases[i].keys[k]);
            s2_verdict_free(&v);
            s2_golden_free(&golden);
        }
}

/* Any member gone, or another kind of thing: a failure, never a crash. */
static void test_mangled_goldens_fail(void **state)
{
    (void)state;
    static const char *const methods[] = { "fastv",     "feather",        "dart",
                                           "gprune",    "holov",          "cdpruner",
                                           "divprune",  "visionzip_clip", "visionzip_qwen",
                                           "vispruner", "euti",           "sparsevlm",
                                           "prumerge" };
    for (size_t m = 0; m < COUNT_OF(methods); m++) {
        char path[512];
        s2_golden golden;
        (void)snprintf(path, sizeof path, GOLDENS "%s/cases.json", methods[m]);
        assert_int_equal(s2_golden_read(path, &golden, NULL), S2P_OK);
        while (json_array_size(golden.cases) > 1) json_array_remove(golden.cases, 1);
        json_t *whole = json_deep_copy(json_array_get(golden.cases, 0)), *value;
        const char *key;
        json_object_foreach(whole, key, value)
        {
            static const char *const replacement[] = { "-5", "2000000000", "\"inputs/none.npy\"",
                                                       "[]", "{}" };
            for (size_t r = 0; r < COUNT_OF(replacement); r++) {
                json_t *c = json_deep_copy(whole);
                json_object_set_new(c, key, json_loads(replacement[r], JSON_DECODE_ANY, NULL));
                json_array_set_new(golden.cases, 0, c);
                s2_verdict v;
                (void)passes(&golden, &v); /* some members are notes; what counts is that it ends */
                s2_verdict_free(&v);
            }
        }
        json_t *c = json_deep_copy(whole);
        json_object_set_new(c, "N", json_integer(17));
        json_array_set_new(golden.cases, 0, c);
        s2_verdict v;
        CHECK_CASE(!passes(&golden, &v), "%s", methods[m]);
        s2_verdict_free(&v);
        json_decref(whole);
        s2_golden_free(&golden);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_numbers_must_be_finite),
        cmocka_unit_test(test_arrays_must_go_together),
        cmocka_unit_test(test_derived),
        cmocka_unit_test(test_spoilt_goldens_fail),
        cmocka_unit_test(test_mangled_goldens_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
