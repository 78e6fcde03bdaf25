/* test_verify.c - golden files are read as they are meant, and a wrong one never passes.
 *
 * A check that cannot fail proves nothing, so most cases here are goldens with one thing wrong.
 */
#include "check.h"
#include "verify/checks.h"
#include "verify/golden.h"
#include "verify/synth.h"

#include <stdio.h>
#include <string.h>

#define ALGO S2_TEST_DATA "/goldens/algo/"
#define METHOD S2_TEST_DATA "/goldens/methods/s2prune/"

static const char *const arrays[2] = { S2_TEST_DATA "/goldens/methods", NULL };

static s2_verdict verdict_on(const char *path)
{
    s2_golden golden;
    s2p_error error = { S2P_OK, "" };
    s2_verdict verdict;
    assert_int_equal(s2_golden_read(path, &golden, &error), S2P_OK);
    assert_non_null(golden.kind);
    s2_golden_check(&golden, arrays, &verdict);
    s2_golden_free(&golden);
    return verdict;
}

/* The lists that come with the project all hold. */
static void test_bundled_goldens(void **state)
{
    (void)state;
    static const char *const files[] = {
        ALGO "partition.json",    ALGO "partition.txt",       ALGO "map.json",
        ALGO "map.txt",           ALGO "alloc.json",          ALGO "alloc.txt",
        ALGO "cells.json",        ALGO "cells.txt",           ALGO "smart_resize.json",
        ALGO "anyres.json",       ALGO "mrope.json",          METHOD "allocator_cases.json",
        METHOD "cell_cases.json", METHOD "region_cases.json", METHOD "cases.json",
    };
    for (size_t i = 0; i < COUNT_OF(files); i++) {
        s2_verdict v = verdict_on(files[i]);
        CHECK_CASE(v.n_failed == 0 && v.n_cases > 0, "%s: %.*s", files[i], (int)v.lines.size,
                   v.lines.data ? (const char *)v.lines.data : "");
        s2_verdict_free(&v);
    }
}

/* Selections whose hashes the method's authors published are among the cases. */
static void test_published_hashes(void **state)
{
    (void)state;
    json_t *cases = NULL;
    size_t n = 0;
    assert_int_equal(s2_json_read_file(METHOD "cases.json", 1 << 24, &cases, NULL), S2P_OK);
    for (size_t i = 0; i < json_array_size(cases); i++)
        n += s2_json_string(json_array_get(cases, i), "authors_sha256_int64le") != NULL;
    json_decref(cases);
    assert_int_equal(n, 2);
}

/* --- text and JSON say the same ------------------------------------------- */

static void test_text_equals_json(void **state)
{
    (void)state;
    static const char *const stages[] = { "partition", "map", "cells", "alloc" };
    static const char *const members[] = { "rows", "tok", "cells", "n" };
    for (size_t s = 0; s < COUNT_OF(stages); s++) {
        char path[512];
        s2_golden a, b;
        (void)snprintf(path, sizeof path, ALGO "%s.txt", stages[s]);
        assert_int_equal(s2_golden_read(path, &a, NULL), S2P_OK);
        (void)snprintf(path, sizeof path, ALGO "%s.json", stages[s]);
        assert_int_equal(s2_golden_read(path, &b, NULL), S2P_OK);
        assert_ptr_equal(a.kind, b.kind);
        assert_int_equal(json_array_size(a.cases), json_array_size(b.cases));
        for (size_t i = 0; i < json_array_size(a.cases); i++) {
            const json_t *x = json_array_get(a.cases, i), *y = json_array_get(b.cases, i);
            assert_int_equal(s2_expects_error(x, "none"), s2_expects_error(y, "none"));
            assert_true(
                json_equal(json_object_get(x, members[s]), json_object_get(y, members[s])) ||
                s2_expects_error(x, "none"));
        }
        s2_golden_free(&a);
        s2_golden_free(&b);
    }
}

/* A number of more digits than any word of ours has. */
#define ZEROS "0000000000000000000000000000000000"
#define LONG_WORD "# cells: ...\nC 1 1 1\nx " ZEROS ZEROS "\n"

static s2p_status read_text(const char *text, const char **stage, json_t **cases, s2p_error *error)
{
    return s2_golden_text(text, strlen(text), "t", stage, cases, error);
}

static void test_malformed_text(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "# cells: ...\nC 1 1\nx 0 1 0 1\n",        /* a scalar is missing */
        "# cells: ...\nC 1 1 1 1\nx 0 1 0 1\n",    /* one too many */
        "# cells: ...\nx 0 1 0 1\n",               /* a list before any case */
        "# cells: ...\nC 1 1 1\ny 0 1 0 1\n",      /* unknown tag */
        "# cells: ...\nC 1 1 1\nx 0 1 0 1\nx 0\n", /* the same list twice */
        "# cells: ...\n",                          /* nothing */
        "# cells: ...\nC 1 1 1\nx \xff\xfe\n",     /* not UTF-8 */
        LONG_WORD,
    };
    for (size_t i = 0; i < COUNT_OF(texts); i++) {
        const char *stage;
        json_t *cases;
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(read_text(texts[i], &stage, &cases, &error) == S2P_EFORMAT, "text %zu", i);
        assert_null(cases);
        assert_true(strlen(error.message) > 0);
    }
    const char *stage = "x";
    json_t *cases;
    assert_int_equal(read_text("hello\n", &stage, &cases, NULL), S2P_OK); /* not ours, not broken */
    assert_null(stage);
    assert_int_equal(read_text("", &stage, &cases, NULL), S2P_OK);
    assert_null(stage);
}

/* --- wrong goldens fail --------------------------------------------------- */

typedef struct expectation {
    s2_case_check check;
    const char *json;
    bool differs, malformed;
} expectation;

static void run_case(const expectation *e)
{
    json_t *c = json_loads(e->json, 0, NULL);
    assert_non_null(c);
    const s2_golden_kind kind = { "test", "test", e->check };
    const s2_golden golden = { &kind, json_pack("[o]", c) };
    s2_verdict v;
    s2_golden_check(&golden, arrays, &v);
    CHECK_CASE(v.has_difference == e->differs && v.is_malformed == e->malformed, "%.150s: %.*s",
               e->json, (int)v.lines.size, v.lines.data ? (const char *)v.lines.data : "");
    CHECK_CASE(v.n_failed == (e->differs || e->malformed), "%s", e->json);
    s2_verdict_free(&v);
    json_decref(golden.cases);
}

#define PROMPT(options)                                                                         \
    "{\"benchmark\":\"MMMU\",\"harness\":\"lmms-eval default\",\"row\":{\"question\":\"q\","    \
    "\"options\":" options "},\"prompt\":\"q\\nA. cat\\nB. it's\\n\\nAnswer with the option's " \
    "letter from the given choices directly.\"}"

static void test_each_check_can_fail(void **state)
{
    (void)state;
    static const expectation cases[] = {
        /* partition */
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":2,\"rows\":[0,2,4],\"cols\":[0,2,4]}", false,
          false },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":2,\"rows\":[0,2,4],\"cols\":[0,3,4]}", true,
          false },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":2,\"rows\":[0,1,4],\"cols\":[0,2,4]}", true,
          false },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":2,\"rows\":[0,4],\"cols\":[0,2,4]}", true,
          false },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":5,\"error\":true}", false, false },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":2000000000,\"error\":true}", false, false },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":-1,\"ok\":0}", false, false },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":2,\"error\":true}", true, false },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":5,\"rows\":[0],\"cols\":[0]}", true, false },
        { s2_check_partition, "{\"H\":4,\"W\":4}", false, true },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":2}", false, true },
        { s2_check_partition, "{\"H\":4,\"W\":4,\"K\":99999999999}", false, true },
        /* map */
        { s2_check_map, "{\"n_tok\":3,\"n_pix\":30,\"K\":3,\"tok\":[0,1,2,3],\"pix\":[0,10,20,30]}",
          false, false },
        { s2_check_map, "{\"n_tok\":3,\"n_pix\":30,\"K\":3,\"tok\":[0,1,2,3],\"pix\":[0,10,21,30]}",
          true, false },
        { s2_check_map, "{\"n_tok\":3,\"n_pix\":0,\"K\":3,\"tok\":[0,1,2,3],\"pix\":[0,0,0,0]}",
          false, true },
        /* alloc */
        { s2_check_alloc, "{\"B\":3,\"c\":[\"0x1p+0\",\"0x0p+0\"],\"n\":[4,4],\"out\":[2,1]}",
          false, false },
        { s2_check_alloc, "{\"B\":3,\"c\":[\"0x1p+0\",\"0x0p+0\"],\"n\":[4,4],\"out\":[1,2]}", true,
          false },
        { s2_check_alloc, "{\"B\":1,\"c\":[1,0],\"n\":[4,4],\"error\":true}", false, false },
        { s2_check_alloc, "{\"B\":3,\"c\":[1,\"nan\"],\"n\":[4,4],\"out\":null}", false, false },
        { s2_check_alloc, "{\"B\":3,\"c\":[1,0],\"n\":[4,4],\"error\":true}", true, false },
        { s2_check_alloc, "{\"B\":3,\"c\":[1],\"n\":[4,4],\"out\":[2,1]}", false, true },
        { s2_check_alloc, "{\"B\":3,\"c\":[1,0],\"n\":[4,99999999999],\"out\":[2,1]}", false,
          true },
        { s2_check_alloc, "{\"G\":3,\"B\":3,\"c\":[1,0],\"n\":[4,4],\"out\":[2,1]}", false, true },
        { s2_check_allocator, "{\"B\":3,\"scores\":[0.5,0.25],\"caps\":[4,4],\"alloc\":[2,1]}",
          false, false },
        { s2_check_allocator, "{\"B\":3,\"scores\":[0.25,0.5],\"caps\":[4,4],\"alloc\":[2,1]}",
          true, false },
        /* cells */
        { s2_check_cells, "{\"h\":1,\"w\":2,\"b\":2,\"cells\":[0,1,0,1,0,1,1,2]}", false, false },
        { s2_check_cells, "{\"h\":1,\"w\":2,\"b\":2,\"cells\":[[0,1,0,1],[0,1,1,2]]}", false,
          false },
        { s2_check_cells, "{\"h\":1,\"w\":2,\"b\":2,\"cells\":[0,1,1,2,0,1,0,1]}", true, false },
        { s2_check_cells, "{\"h\":1,\"w\":2,\"b\":3,\"error\":true}", false, false },
        { s2_check_cells, "{\"h\":1,\"w\":2,\"b\":2147483647,\"error\":true}", false, false },
        { s2_check_cells, "{\"h\":1,\"w\":2,\"b\":2,\"cells\":\"all\"}", false, true },
        { s2_check_cell, "{\"region\":[2,3,5,7],\"B\":2,\"cells\":[[2,3,5,6],[2,3,6,7]]}", false,
          false },
        { s2_check_cell, "{\"region\":[2,3,5,7],\"B\":2,\"cells\":[[2,3,5,7],[2,3,6,7]]}", true,
          false },
        { s2_check_cell, "{\"region\":[2,3,5],\"B\":2,\"cells\":[[2,3,5,7]]}", false, true },
        { s2_check_region, "{\"grid\":3,\"K\":1,\"regions\":[[0,3,0,3]]}", false, false },
        { s2_check_region, "{\"grid\":3,\"K\":1,\"regions\":[[0,3,0,2]]}", true, false },
        /* sizes and positions */
        { s2_check_smart_resize,
          "{\"h\":70,\"w\":98,\"min\":3136,\"max\":1003520,\"out\":[56,112]}", false,
          false }, /* 2.5 and 3.5 to even */
        { s2_check_smart_resize,
          "{\"h\":70,\"w\":98,\"min\":3136,\"max\":1003520,\"out\":[84,112]}", true, false },
        { s2_check_smart_resize, "{\"h\":1,\"w\":201,\"min\":3136,\"max\":1003520,\"out\":null}",
          false, false },
        { s2_check_anyres,
          "{\"h\":384,\"w\":384,\"best\":[384,384],\"views\":2,\"unpadded\":729,\"newlines\":27,"
          "\"total\":1485}",
          false, false },
        { s2_check_anyres,
          "{\"h\":384,\"w\":384,\"best\":[384,384],\"views\":2,\"unpadded\":729,\"newlines\":27,"
          "\"total\":1486}",
          true, false },
        { s2_check_mrope, "{\"segments\":[1,[4,4],1],\"n\":6,\"next_pos\":4,\"rope_delta\":-2}",
          false, false },
        { s2_check_mrope, "{\"segments\":[1,[4,4],1],\"n\":6,\"next_pos\":5}", true, false },
        { s2_check_mrope, "{\"segments\":[1,[4,4],1],\"n\":6,\"next_pos\":4,\"pos\":[1,2]}", true,
          false },
        { s2_check_mrope, "{\"segments\":[-1],\"n\":1,\"next_pos\":1}", false, true },
        { s2_check_mrope, "{\"segments\":[[90000,90000]],\"n\":1,\"next_pos\":1}", false, true },
        { s2_check_mrope, "{\"n\":1}", false, true },
        { s2_check_prng,
          "{\"xorshift32_seed1\":[270369],\"hash32\":[[1,2,3,4,1240082177]],\"crc\":[]}", false,
          false },
        { s2_check_prng, "{\"xorshift32_seed1\":[270368],\"hash32\":[],\"crc\":[]}", true, false },
        { s2_check_prng, "{\"hash32\":[[1,2,3,4,1240082178]],\"crc\":[]}", true, false },
        { s2_check_prng, "{\"hash32\":[],\"crc\":[[\"flat\",3,8,8,1422522156]]}", true, false },
        { s2_check_prng, "{\"hash32\":[],\"crc\":[[\"oil\",3,8,8,1422522155]]}", false, true },
        /* pictures and arrays */
        { s2_check_resize,
          "{\"kind\":\"noise\",\"seed\":1,\"w\":8,\"h\":8,\"W\":4,\"H\":4,\"crc32\":1,\"sum\":1}",
          true, false },
        { s2_check_resize,
          "{\"kind\":\"noise\",\"seed\":1,\"w\":80000,\"h\":80000,\"W\":4,\"H\":4,\"crc32\":1,"
          "\"sum\":1}",
          false, true },
        { s2_check_s2prune,
          "{\"image\":\"../../etc\",\"erc\":\"x\",\"grid\":24,\"K\":4,\"B\":32,\"selected\":[1]}",
          false, true },
        { s2_check_s2prune,
          "{\"image\":\"s2prune/"
          "none.npy\",\"erc\":\"x\",\"grid\":24,\"K\":4,\"B\":32,\"selected\":[1]}",
          false, true },
        { s2_check_s2prune,
          "{\"gray\":\"s2prune/gray_synth0.npy\",\"erc\":\"s2prune/"
          "erc_0_N729.npy\",\"grid\":24,\"K\":4,"
          "\"B\":32,\"selected\":[1]}",
          false, true },
        { s2_check_s2prune,
          "{\"gray\":\"s2prune/gray_synth0.npy\",\"erc\":\"s2prune/"
          "erc_0_N576.npy\",\"grid\":24,\"K\":4,"
          "\"B\":15,\"error\":\"budget\"}",
          false, false },
        { s2_check_s2prune,
          "{\"gray\":\"s2prune/gray_synth0.npy\",\"erc\":\"s2prune/"
          "erc_0_N576.npy\",\"grid\":24,\"K\":4,"
          "\"B\":16,\"error\":\"budget\"}",
          true, false },
        /* prompts: options as a list and as Python prints one; without them it is another question */
        { s2_check_bench, PROMPT("[\"cat\",\"it's\"]"), false, false },
        { s2_check_bench, PROMPT("\"['cat', \\\"it's\\\"]\""), false, false },
        { s2_check_bench, PROMPT("\"[]\""), true, false },
        { s2_check_bench, PROMPT("\"['cat\""), true, false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) run_case(&cases[i]);
}

/* Change every integer list of a real pipeline case in turn: each change is noticed. */
static void test_pipeline_notices_every_step(void **state)
{
    (void)state;
    static const char *const members[] = { "rows", "cols", "prow",   "pcol", "stat",
                                           "raw",  "norm", "budget", "sel",  NULL };
    s2_golden golden;
    assert_int_equal(s2_golden_read(ALGO "pipeline.json", &golden, NULL), S2P_OK);
    json_t *small = NULL; /* a case whose picture is quickly made */
    for (size_t i = 0; i < json_array_size(golden.cases) && !small; i++) {
        json_t *c = json_array_get(golden.cases, i);
        if (json_integer_value(json_object_get(c, "img_w")) <= 168) small = c;
    }
    assert_non_null(small);
    for (size_t m = 0; m < COUNT_OF(members); m++) {
        json_t *copy = json_deep_copy(small);
        json_t *list = members[m] ? json_object_get(copy, members[m]) : NULL;
        if (list && json_is_array(json_array_get(list, 1))) list = json_array_get(list, 1);
        if (list && json_is_string(json_array_get(list, 1)))
            json_array_set_new(list, 1, json_string("0x1.8p+9"));
        else if (list)
            json_array_set_new(list, 1,
                               json_integer(json_integer_value(json_array_get(list, 1)) + 1));
        const s2_golden one = { golden.kind, json_pack("[o]", copy) };
        s2_verdict v;
        s2_golden_check(&one, arrays, &v);
        CHECK_CASE(v.n_failed == (members[m] ? 1u : 0u), "%s",
                   members[m] ? members[m] : "unchanged");
        CHECK_CASE(!v.is_malformed, "%s", members[m] ? members[m] : "unchanged");
        s2_verdict_free(&v);
        json_decref(one.cases);
    }
    s2_golden_free(&golden);
}

/* The same for a recorded selection, the published hash included. */
static void test_recording_notices_every_step(void **state)
{
    (void)state;
    static const char *const members[] = { "raw", "norm", "budgets", "cells", "selected" };
    s2_golden golden;
    assert_int_equal(s2_golden_read(METHOD "cases.json", &golden, NULL), S2P_OK);
    for (size_t m = 0; m <= COUNT_OF(members); m++) {
        json_t *copy = json_deep_copy(json_array_get(golden.cases, 0));
        if (m < COUNT_OF(members)) {
            json_t *list = json_object_get(copy, members[m]);
            if (json_is_array(json_array_get(list, 0))) list = json_array_get(list, 0);
            if (json_is_real(json_array_get(list, 0)))
                json_array_set_new(list, 0,
                                   json_real(json_real_value(json_array_get(list, 0)) * 1.0001));
            else
                json_array_set_new(list, 0,
                                   json_integer(json_integer_value(json_array_get(list, 0)) + 1));
        } else {
            assert_true(json_is_string(json_object_get(copy, "authors_sha256_int64le")));
            json_object_set_new(copy, "authors_sha256_int64le", json_string("df83"));
        }
        const s2_golden one = { golden.kind, json_pack("[o]", copy) };
        s2_verdict v;
        s2_golden_check(&one, arrays, &v);
        CHECK_CASE(v.n_failed == 1 && v.has_difference, "member %zu", m);
        s2_verdict_free(&v);
        json_decref(one.cases);
    }
    s2_golden_free(&golden);
}

/* --- recipes -------------------------------------------------------------- */

static void test_recipes_refuse(void **state)
{
    (void)state;
    static const struct {
        const char *kind;
        int32_t width, height;
    } cases[] = { { "oil", 8, 8 },   { "grad", 1, 8 },   { "rects", 2, 8 },
                  { "noise", 0, 8 }, { "noise", -1, 8 }, { "flat", 65536, 65536 },
                  { "", 8, 8 } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2_image out;
        CHECK_CASE(s2_synth_picture(cases[i].kind, 1, cases[i].width, cases[i].height, &out,
                                    NULL) == S2P_EINVAL,
                   "%s", cases[i].kind);
    }
}

static void test_scores(void **state)
{
    (void)state;
    float erc[64];
    s2_synth_erc(1, 0, 64, erc);
    assert_true(erc[0] == 270369u / 256u / 16777216.0f);
    s2_synth_erc(1, 4, 64, erc);
    for (int i = 0; i < 64; i++)
        assert_true(erc[i] >= 0 && erc[i] < 4 && erc[i] == (float)(int)erc[i]);
    assert_int_equal(s2_crc32((const uint8_t *)"123456789", 9), 0xCBF43926u);
}

static void test_stored_pictures(void **state)
{
    (void)state;
    s2_verdict v;
    assert_true(s2_golden_is_picture("a/img_bump_9_32x32.png"));
    assert_false(s2_golden_is_picture("a/photo.png"));
    s2_golden_check_picture(ALGO "img_bump_9_32x32.png", &v);
    assert_int_equal(v.n_failed, 0);
    s2_verdict_free(&v);
    static const char *const names[] = { "img_.png", "img_bump_9.png", "img_bump_9_32x.png",
                                         "img_bump_9_32x32_.png", "img_bump_99999999999_1x1.png" };
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        s2_golden_check_picture(names[i], &v);
        CHECK_CASE(v.is_malformed && v.n_failed == 1, "%s", names[i]);
        s2_verdict_free(&v);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bundled_goldens),
        cmocka_unit_test(test_published_hashes),
        cmocka_unit_test(test_text_equals_json),
        cmocka_unit_test(test_malformed_text),
        cmocka_unit_test(test_each_check_can_fail),
        cmocka_unit_test(test_pipeline_notices_every_step),
        cmocka_unit_test(test_recording_notices_every_step),
        cmocka_unit_test(test_recipes_refuse),
        cmocka_unit_test(test_scores),
        cmocka_unit_test(test_stored_pictures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
