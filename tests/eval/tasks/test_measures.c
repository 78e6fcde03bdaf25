/* test_measures.c - ANLS and relaxed accuracy on answers worked by hand; the sets of
 * DocVQA, ChartQA, MMStar, SEED-Bench and RefCOCO: what broken rows become, and the figures. The first
 * argument is a folder to write in, the second one with all benchmarks in all layouts.
 */
#include "check.h"

#include "base/file.h"
#include "base/random.h"
#include "eval/judging.h"
#include "eval/scoring/answer_matching.h"
#include "eval/scoring/answer_reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder, *data;
static s2e_scratch scratch;

static s2e_str str(const char *text) { return s2e_str_of(&scratch, text); }

static int forget(void **state)
{
    (void)state;
    assert_false(scratch.failed);
    s2e_scratch_free(&scratch);
    return 0;
}

/* --- texts ------------------------------------------------------------------------------ */

static double anls(const char *answer, const char *reference)
{
    s2e_str used;
    return s2e_anls(&scratch, str(answer), &reference, 1, &used);
}

static void test_anls(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *reference;
        double score;
    } cases[] = {
        { "Philip Morris", "philip  morris", 1.0 }, /* case and spaces do not count */
        { "kitten", "sitting", 1.0 - 3.0 / 7.0 },
        { "ab", "cb", 0.5 },   /* a half is enough */
        { "abc", "xbz", 0.0 }, /* two thirds are too far */
        { "", "", 1.0 },
        { "", "x", 0.0 },
        { "  ", "", 1.0 }, /* nothing to change, of a length of two */
        { "0.28", "0.28 ", 1.0 },
        { "1998", "1989", 0.5 },
        { "  ab  ", "ac", 1.0 - 1.0 / 6.0 },           /* the length is that with the spaces */
        { "stra\u00dfe", "strasse", 1.0 - 2.0 / 7.0 }, /* capitals have seven letters */
        { "\u00df", "x", 0.5 },                        /* one change in "SS" */
        { "\u0130", "i\u0307", 1.0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const double got = anls(cases[i].answer, cases[i].reference);
        CHECK_CASE(fabs(got - cases[i].score) < 1e-12, "%zu: '%s', '%s': %.17g", i, cases[i].answer,
                   cases[i].reference, got);
    }
    const char *several[] = { "University of California", "UC", "nothing" };
    s2e_str used;
    assert_true(s2e_anls(&scratch, str("uc"), several, 3, &used) == 1.0);
    assert_true(s2e_is(used, "uc"));
    assert_true(s2e_anls(&scratch, str("uc"), several, 0, &used) == 0.0);
}

/* Distance by its definition: the last letter of one is gone, or of the other, or both are one. */
static size_t slow(const char *a, size_t n, const char *b, size_t m)
{
    if (n == 0 || m == 0) return n + m;
    const size_t both = slow(a, n - 1, b, m - 1) + (a[n - 1] != b[m - 1]),
                 left = slow(a, n - 1, b, m) + 1, right = slow(a, n, b, m - 1) + 1;
    const size_t least = left < right ? left : right;
    return both < least ? both : least;
}

static void test_anls_by_definition(void **state)
{
    (void)state;
    s2_random random = { 7 };
    for (int i = 0; i < 400; i++) {
        char text[2][8];
        for (int k = 0; k < 2; k++) {
            const uint32_t n = s2_random_below(&random, 7);
            for (uint32_t c = 0; c < n; c++) text[k][c] = "abc"[s2_random_below(&random, 3)];
            text[k][n] = '\0';
        }
        const size_t n = strlen(text[0]), m = strlen(text[1]), length = n > m ? n : m;
        const double far = length ? (double)slow(text[0], n, text[1], m) / (double)length : 0.0;
        const double wanted = 1.0 - far < 0.5 ? 0.0 : 1.0 - far;
        CHECK_CASE(anls(text[0], text[1]) == wanted, "'%s' '%s'", text[0], text[1]);
        CHECK_CASE(anls(text[1], text[0]) == wanted, "'%s' '%s'", text[0], text[1]);
        s2e_scratch_free(&scratch);
    }
}

/* A megabyte against a megabyte would be an hour of work: such texts are not alike. */
static void test_anls_of_long_texts(void **state)
{
    (void)state;
    const size_t n = (size_t)1 << 20;
    char *text = malloc(n + 1);
    assert_non_null(text);
    memset(text, 'a', n);
    text[n] = '\0';
    assert_true(anls(text, text) == 0.0);
    assert_true(anls("a", text) == 0.0);
    text[4000] = '\0';
    assert_true(anls(text, text) == 1.0);
    free(text);
}

static void test_relaxed(void **state)
{
    (void)state;
    static const struct {
        const char *answer, *reference;
        bool right;
    } cases[] = {
        { "105", "100", true },     { "95", "100", true },      { "105.1", "100", false },
        { "-100", "100", false },   { "52%", "0.5", true },     { "50%", "50", false },
        { "5%%", "0.05", true },    { "1,000", "1000", false }, /* a comma is no number */
        { "1,000", "1,000", true }, { "0", "0", true },         { "0.0", "0", false }, /* as text */
        { "0.00001", "0", false },  { "yes", "Yes", true },     { "Yes.", "Yes", false },
        { " 12 ", "12", true },     { "yes ", "yes", false },   { "nan", "nan", false },
        { "inf", "inf", false },    { "1e3", "1020", true },    { "12", "twelve", false },
        { "$5", "5", false },       { "", "", true },           { "-52", "-50", true },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_CASE(s2e_relaxed_match(&scratch, str(cases[i].answer), str(cases[i].reference)) ==
                       cases[i].right,
                   "%zu: '%s', '%s'", i, cases[i].answer, cases[i].reference);
}

/* --- sets ------------------------------------------------------------------------------- */

static void read_layout(const char *task, const char *layout, s2e_set *set)
{
    char path[1024];
    s2p_error error = { S2P_OK, "" };
    (void)snprintf(path, sizeof path, "%s/%s/%s", data, task, layout);
    CHECK_CASE(s2e_task_find(task)->read(path, set, &error) == S2P_OK, "%s", error.message);
    CHECK_CASE(set->n_problems == 0, "%s", set->problem[0].sentence);
}

/* Every expression is a sample; boxes and sizes are the same from every layout, names are its own. */
static void test_refcoco_layouts(void **state)
{
    (void)state;
    static const struct {
        const char *layout, *id[3], *split[3];
    } layouts[] = {
        { "tsv",
          { "RefCOCO_testA_0", "RefCOCO_testA_1", "RefCOCO_val_2" },
          { "RefCOCO_testA", "RefCOCO_testA", "RefCOCO_val" } },
        { "parquet", { "469/0", "469/1", "470/0" }, { "testA", "testA", "val" } },
        { "original",
          { "refcoco_testA/0", "refcoco_testA/1", "refcoco_val/0" },
          { "refcoco_testA", "refcoco_testA", "refcoco_val" } },
        { "llava",
          { "finetune_refcoco_testA/0", "finetune_refcoco_testA/1", "finetune_refcoco_val/0" },
          { "finetune_refcoco_testA", "finetune_refcoco_testA", "finetune_refcoco_val" } },
    };
    static const char *const expression[] = { "left man", "man in \"red\"", "the cup" },
                             *const box[] = { "[20, 10, 100, 60.5]", "[20, 10, 100, 60.5]",
                                              "[100.25, 30, 140.25, 90]" };
    for (size_t k = 0; k < sizeof layouts / sizeof *layouts; k++) {
        s2e_set set;
        read_layout("refcoco", layouts[k].layout, &set);
        assert_int_equal(set.n_samples, 3);
        assert_int_equal(set.n_pictures, 2);
        for (int32_t i = 0; i < 3; i++) {
            const s2e_sample *s = &set.sample[i];
            CHECK_CASE(strcmp(s->id, layouts[k].id[i]) == 0, "%s", s->id);
            CHECK_CASE(strcmp(s->question, expression[i]) == 0, "%s", s->question);
            CHECK_CASE(strcmp(s->answer[0], box[i]) == 0, "%s: %s", s->id, s->answer[0]);
            CHECK_CASE(strcmp(s->category[0], layouts[k].split[i]) == 0, "%s", s->category[0]);
            assert_true(json_real_value(json_object_get(s->extra, "width")) == 200.0);
            assert_true(json_real_value(json_object_get(s->extra, "height")) == 100.0);
        }
        s2e_set_free(&set);
    }
}

static s2p_status read_text(const char *task, const char *name, const char *text, s2e_set *set,
                            s2p_error *error)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(s2_file_write(path, text, strlen(text), NULL), S2P_OK);
    return s2e_task_find(task)->read(path, set, error);
}

static const char tiny_png[] = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mP4z8AARAw"
                               "QCgAf7gP9i18U1AAAAABJRU5ErkJggg==";

/* What is wrong with a row is a problem of the set; the rows around it are read. */
static void test_broken_rows(void **state)
{
    (void)state;
    static const struct {
        const char *task, *file, *head;
        const char *row[6]; /* the first is good, %s is the picture */
        const char *problem[6];
    } cases[] = {
        { "refcoco",
          "RefCOCO.tsv",
          "index\timage\tquestion\tanswer\twidth\theight\n",
          { "1\t%s\tq\t[0, 0, 1, 2]\t\t\n", "2\t%s\tq\t[5, 5, 5, 9]\t10\t10\n",
            "3\t%s\tq\tleft\t10\t10\n", "4\t%s\t\t[0, 0, 1, 1]\t10\t10\n",
            "5\t1\tq\t[0, 0, 1, 1]\t\t\n", "6\t%s\tq\t[0, 0, inf, 1e999]\t9\t9\n" },
          { "is empty", "no box in columns", "no text in column question", "no width and height",
            "no box in columns" } },
        { "docvqa",
          "DocVQA_VAL.tsv",
          "index\timage\tquestion\tanswer\n",
          { "1\t%s\tq\t['a', 'b']\n", "2\t%s\tq\t[]\n", "3\t%s\t\tx\n", "1\t%s\tq\tx\n",
            "\t%s\tq\tx\n" },
          { "no answer in answer", "no text in column question", "the id ", "no id" } },
        { "chartqa",
          "ChartQA_TEST.tsv",
          "index\timage\tquestion\tanswer\tsplit\n",
          { "1\t%s\tq\t5%%\ttest_human\n", "2\t%s\t\t5\ttest_human\n", "3\t\tq\t5\ttest_human\n" },
          { "no text in column question", "no picture in column image" } },
        { "mmstar",
          "MMStar.tsv",
          "index\timage\tquestion\tA\tB\tanswer\tcategory\tl2_category\n",
          { "1\t%s\tq\ta\tb\tA\tmath\tgeometry\n", "2\t%s\tq\ta\tb\t\tmath\tgeometry\n" },
          { "no text in column answer" } },
        { "seedbench",
          "SEEDBench_IMG.tsv",
          "index\timage\tquestion\tchoice_a\tchoice_b\tchoice_c\tchoice_d\tanswer\tquestion_type_"
          "id\n",
          { "1\t%s\tq\ta\tb\tc\td\tA\t3\n", "2\t%s\tq\ta\t\tc\td\tA\t3\n" },
          { "no text in column choice_b" } },
    };
    for (size_t t = 0; t < sizeof cases / sizeof *cases; t++) {
        char text[4096];
        size_t n = (size_t)snprintf(text, sizeof text, "%s", cases[t].head);
        int32_t n_rows = 0;
        for (; n_rows < 6 && cases[t].row[n_rows]; n_rows++) {
            const char *row = cases[t].row[n_rows], *hole = strstr(row, "%s");
            if (hole)
                n += (size_t)snprintf(text + n, sizeof text - n, "%.*s%s%s", (int)(hole - row), row,
                                      tiny_png, hole + 2);
            else
                n += (size_t)snprintf(text + n, sizeof text - n, "%s", row);
        }
        s2e_set set;
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(read_text(cases[t].task, cases[t].file, text, &set, &error) == S2P_OK, "%s: %s",
                   cases[t].task, error.message);
        CHECK_CASE(set.n_samples == 1 && set.n_problems == n_rows - 1, "%s: %d and %d",
                   cases[t].task, set.n_samples, set.n_problems);
        for (int32_t i = 0; i < set.n_problems; i++)
            CHECK_CASE(strstr(set.problem[i].sentence, cases[t].problem[i]), "%s %d: %s",
                       cases[t].task, i, set.problem[i].sentence);
        s2e_set_free(&set);
    }
}

/* Annotations that do not belong to an image, or are no boxes, cost that image alone. */
static void test_broken_annotations(void **state)
{
    (void)state;
    char folder_of[900];
    s2e_set set;
    s2p_error error = { S2P_OK, "" };
    (void)snprintf(folder_of, sizeof folder_of, "%s/x.png", folder);
    assert_int_equal(s2_file_write(folder_of, "not a picture", 13, NULL), S2P_OK);
    const char *text =
        "{\"images\": [{\"id\": 1, \"caption\": \"a\", \"file_name\": \"y/x.png\", \"width\": 9, "
        "\"height\": 9}, {\"id\": 2, \"caption\": \"b\", \"file_name\": \"x.png\", \"width\": 9, "
        "\"height\": 9}, {\"id\": 3, \"caption\": \"c\", \"file_name\": \"x.png\"}, {\"id\": 4, "
        "\"caption\": \"d\", \"file_name\": \"gone.png\"}], \"annotations\": [7, {\"image_id\": 1, "
        "\"bbox\": [1, 2, 3, 4]}, {\"image_id\": 2, \"bbox\": [1]}, {\"image_id\": 3, \"bbox\": "
        "[1, 2, "
        "3, 4]}, {\"image_id\": 4, \"bbox\": [1, 2, 3, 4]}]}";
    CHECK_CASE(read_text("refcoco", "finetune_refcoco_val.json", text, &set, &error) == S2P_OK,
               "%s", error.message);
    assert_int_equal(set.n_samples, 1);
    assert_string_equal(set.sample[0].answer[0], "[1, 2, 4, 6]");
    assert_int_equal(set.n_problems, 3);
    assert_non_null(strstr(set.problem[0].sentence, "image 2 has no annotation with a box"));
    assert_non_null(strstr(set.problem[1].sentence, "not a picture"));
    assert_non_null(strstr(set.problem[2].sentence, "gone.png"));
    s2e_set_free(&set);
}

/* Options in some other form stay in the question, and a letter is read all the same. */
static void test_mmstar_options(void **state)
{
    (void)state;
    char text[2048];
    (void)snprintf(text, sizeof text,
                   "index\timage\tquestion\tanswer\tcategory\tl2_category\n"
                   "1\t%s\t\"Which?\nChoices:\n(A) one\n(B) two\"\tB\tmath\tgeometry\n"
                   "2\t%s\t\"Which?\nOptions: A: a, b, B: c, C: , D: e\"\tD\tmath\tgeometry\n",
                   tiny_png, tiny_png);
    s2e_set set;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(read_text("mmstar", "MMStar.tsv", text, &set, &error) == S2P_OK, "%s",
               error.message);
    assert_int_equal(set.sample[0].n_choices, 0);
    assert_int_equal(set.sample[1].n_choices, 4);
    assert_string_equal(set.sample[1].question, "Which?");
    assert_string_equal(set.sample[1].choice[0].text, "a, b");
    assert_string_equal(set.sample[1].choice[2].text, "");
    assert_string_equal(set.sample[1].choice[3].text, "e");
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        s2e_verdict v = { .rule = NULL };
        assert_int_equal(
            s2e_task_find("mmstar")->judge(&set.sample[0], (s2e_protocol)p, NULL, "B", &v, NULL),
            S2P_OK);
        CHECK_CASE(v.score == 1.0f, "protocol %d", p);
        s2e_verdict_free(&v);
    }
    s2e_set_free(&set);
}

/* --- figures ---------------------------------------------------------------------------- */

static double value_of(const s2e_figures *all, const char *name, const char *section)
{
    for (int32_t i = 0; i < all->n; i++)
        if (strcmp(all->figure[i].name, name) == 0 && strcmp(all->figure[i].section, section) == 0)
            return all->figure[i].value;
    return -1.0;
}

/* Judge these answers, given in order of the rows; *counted: the headline from the task's counts. */
static void add_up(const char *name, s2e_protocol protocol, const char *const *by_row,
                   const char *grids, s2e_figures *out, double *counted)
{
    const s2e_task *task = s2e_task_find(name);
    const char *answer[8], *saw[8];
    s2e_verdict verdict[8];
    double count[64] = { 0.0 };
    s2e_set set;
    read_layout(name, "parquet", &set);
    for (int32_t i = 0; i < set.n_samples; i++) {
        answer[i] = by_row[set.sample[i].row];
        saw[i] = grids;
    }
    assert_int_equal(s2e_judge_all(task, &set, protocol, answer, saw, verdict, NULL), S2P_OK);
    *out = (s2e_figures){ .n = 0 };
    assert_int_equal(task->aggregate(&set, protocol, verdict, out, NULL), S2P_OK);
    if (task->counts) {
        assert_true(task->counts->n(&set) <= 64);
        task->counts->add(&set, protocol, verdict, 0, set.n_samples, count);
        *counted = task->counts->value(&set, protocol, count);
    }
    for (int32_t i = 0; i < set.n_samples; i++) s2e_verdict_free(&verdict[i]);
    s2e_set_free(&set);
}

/* One question of a skill right, of another skill one of two: 2 of 3, or the mean of 1 and 1/2. */
static void test_mmstar_figures(void **state)
{
    (void)state;
    const char *answer[] = { "B", "D", "C" };
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        s2e_figures f;
        double counted;
        add_up("mmstar", (s2e_protocol)p, answer, NULL, &f, &counted);
        const double wanted = p == S2E_LMMS ? 75.0 : 200.0 / 3.0;
        assert_true(fabs(s2e_headline(&f)->value - wanted) < 1e-9 && fabs(counted - wanted) < 1e-9);
        assert_true(fabs(value_of(&f, "accuracy", "") - 200.0 / 3.0) < 1e-9);
        assert_true(value_of(&f, "accuracy", "geometry") == 50.0);
        assert_true(value_of(&f, "accuracy", "coarse perception") == 100.0);
        s2e_figures_free(&f);
    }
}

static void test_text_figures(void **state)
{
    (void)state;
    const char *chart[] = { "0.58", "yes ", "2014" }, *document[] = { "0.28", "UC" };
    s2e_figures f;
    double counted;
    add_up("chartqa", S2E_OFFICIAL, chart, NULL, &f, &counted);
    assert_true(fabs(s2e_headline(&f)->value - 200.0 / 3.0) < 1e-9);
    assert_true(value_of(&f, "relaxed accuracy", "human") == 50.0);
    assert_true(value_of(&f, "relaxed accuracy", "augmented") == 100.0);
    s2e_figures_free(&f);
    add_up("chartqa", S2E_VLMEVALKIT, chart, NULL, &f, &counted); /* takes the space away */
    assert_true(s2e_headline(&f)->value == 100.0);
    s2e_figures_free(&f);
    add_up("docvqa", S2E_LMMS, document, NULL, &f, &counted); /* "it's UC" is five letters away */
    assert_true(s2e_headline(&f)->value == 50.0);
    assert_true(value_of(&f, "ANLS", "form") == 100.0);
    assert_true(value_of(&f, "ANLS", "table/list") == 0.0);
    s2e_figures_free(&f);
    const char *seed[] = { "A.", "D" };
    add_up("seedbench", S2E_OFFICIAL, seed, NULL, &f, &counted);
    assert_true(s2e_headline(&f)->value == 50.0);
    assert_true(value_of(&f, "accuracy", "Instance Location") == 100.0);
    s2e_figures_free(&f);
    add_up("seedbench", S2E_LMMS, seed, NULL, &f, &counted);
    assert_true(s2e_headline(&f)->value == 100.0);
    s2e_figures_free(&f);
}

/* Boxes of 80 by 50.5 at (20, 10), twice, and of 40 by 60 at (100.25, 30), in 200 by 100. */
static void test_refcoco_figures(void **state)
{
    (void)state;
    const char *fractions[] = { "[0.1, 0.1, 0.5, 0.605]", "[0.1, 0.1, 0.31, 0.605]", "no" };
    s2e_figures f;
    double counted;
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        add_up("refcoco", (s2e_protocol)p, fractions, NULL, &f, &counted);
        const double wanted = p == S2E_VLMEVALKIT ? 50.0 : 200.0 / 3.0;
        assert_true(fabs(value_of(&f, "accuracy@0.5", "") - 200.0 / 3.0) < 1e-9);
        assert_true(fabs(value_of(&f, "accuracy@0.7", "") - 100.0 / 3.0) < 1e-9);
        assert_true(fabs(value_of(&f, "accuracy@0.1", "") - 200.0 / 3.0) < 1e-9);
        assert_true(value_of(&f, "accuracy@0.5", "testA") == 100.0);
        CHECK_CASE(fabs(s2e_headline(&f)->value - wanted) < 1e-9 && fabs(counted - wanted) < 1e-9,
                   "protocol %d: %g and %g", p, s2e_headline(&f)->value, counted);
        s2e_figures_free(&f);
    }
    /* Pixels of a picture of 4 by 8 tokens: 224 by 112, or without that of 200 by 100. */
    const char *pixels[] = { "{\"bbox_2d\": [22, 11, 112, 68]}", "[22, 11, 112, 68]",
                             "[112, 34, 157, 101]" };
    add_up("refcoco", S2E_OFFICIAL, pixels, "[[4,8]]", &f, &counted);
    assert_true(value_of(&f, "accuracy@0.9", "") == 100.0);
    s2e_figures_free(&f);
    add_up("refcoco", S2E_OFFICIAL, pixels, NULL, &f, &counted);
    assert_true(value_of(&f, "accuracy@0.9", "") == 0.0);
    s2e_figures_free(&f);
    add_up("refcoco", S2E_OFFICIAL, pixels, "[[-4,8]]", &f, &counted); /* nothing it could be */
    assert_true(value_of(&f, "accuracy@0.9", "") == 0.0);
    s2e_figures_free(&f);
}

/* The paper has none of them: there it is the official score, of a final answer where there is one. */
static void test_paper_protocol(void **state)
{
    (void)state;
    static const struct {
        const char *task, *answer;
    } cases[] = { { "docvqa", "I think so.\nFinal Answer: 0.28" },
                  { "chartqa", "Final Answer: \\boxed{0.57}" },
                  { "refcoco", "[0, 0, 1, 1]? Final Answer: [0.1, 0.1, 0.5, 0.605]" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const s2e_task *task = s2e_task_find(cases[i].task);
        float score[2];
        s2e_set set;
        read_layout(task->name, "parquet", &set);
        for (int p = 0; p < 2; p++) {
            s2e_verdict v = { .rule = NULL };
            assert_int_equal(task->judge(&set.sample[0], p ? S2E_OFFICIAL : S2E_PAPER, NULL,
                                         cases[i].answer, &v, NULL),
                             S2P_OK);
            score[p] = v.score;
            s2e_verdict_free(&v);
        }
        CHECK_CASE(score[0] == 1.0f && score[1] < 1.0f, "%s: %g, %g", task->name, (double)score[0],
                   (double)score[1]);
        s2e_set_free(&set);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    folder = argv[1];
    data = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(test_anls, forget),
        cmocka_unit_test_teardown(test_anls_by_definition, forget),
        cmocka_unit_test_teardown(test_anls_of_long_texts, forget),
        cmocka_unit_test_teardown(test_relaxed, forget),
        cmocka_unit_test(test_refcoco_layouts),
        cmocka_unit_test(test_broken_rows),
        cmocka_unit_test(test_broken_annotations),
        cmocka_unit_test(test_mmstar_options),
        cmocka_unit_test(test_mmstar_figures),
        cmocka_unit_test(test_text_figures),
        cmocka_unit_test(test_refcoco_figures),
        cmocka_unit_test(test_paper_protocol),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
