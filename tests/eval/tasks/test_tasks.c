/* test_tasks.c - every benchmark reads the same samples from every layout; broken rows are noted and
 * the rest is read; judges and figures on small sets. The first argument is a folder to write in, the
 * second one with all benchmarks in all layouts.
 */
#include "check.h"

#include "base/file.h"
#include "eval/judging.h"
#include "eval/scoring/answer_reading.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static const char *folder, *data;

/* --- the same from everywhere -------------------------------------------------------- */

static void sha_of(const s2e_set *set, int32_t picture, char out[S2_SHA256_HEX])
{
    s2_buffer bytes;
    uint8_t digest[32];
    s2p_error error = { S2P_OK, "" };
    s2_buffer_init(&bytes, 1 << 20);
    CHECK_CASE(s2e_set_picture_bytes(set, picture, &bytes, &error) == S2P_OK, "%s", error.message);
    s2_sha256(bytes.data, bytes.size, digest);
    s2_sha256_hex(digest, out);
    s2_buffer_free(&bytes);
}

static void compare_samples(const char *what, const s2e_set *a, const s2e_sample *x,
                            const s2e_set *b, const s2e_sample *y)
{
    CHECK_CASE(strcmp(x->id, y->id) == 0, "%s: %s, %s", what, x->id, y->id);
    CHECK_CASE(strcmp(x->question, y->question) == 0, "%s %s", what, x->id);
    CHECK_CASE(strcmp(x->hint, y->hint) == 0, "%s %s: '%s', '%s'", what, x->id, x->hint, y->hint);
    CHECK_CASE(x->row == y->row, "%s %s", what, x->id);
    CHECK_CASE(!x->group == !y->group && (!x->group || strcmp(x->group, y->group) == 0), "%s %s",
               what, x->id);
    CHECK_CASE(x->n_answers == y->n_answers, "%s %s: %d, %d answers", what, x->id, x->n_answers,
               y->n_answers);
    for (int32_t i = 0; i < x->n_answers; i++)
        CHECK_CASE(strcmp(x->answer[i], y->answer[i]) == 0, "%s %s: '%s', '%s'", what, x->id,
                   x->answer[i], y->answer[i]);
    CHECK_CASE(x->n_choices == y->n_choices, "%s %s", what, x->id);
    for (int32_t i = 0; i < x->n_choices; i++)
        CHECK_CASE(x->choice[i].letter == y->choice[i].letter &&
                       strcmp(x->choice[i].text, y->choice[i].text) == 0,
                   "%s %s: choice %d", what, x->id, i);
    CHECK_CASE(x->n_categories == y->n_categories, "%s %s", what, x->id);
    for (int32_t i = 0; i < x->n_categories; i++)
        CHECK_CASE(strcmp(x->category[i], y->category[i]) == 0, "%s %s", what, x->id);
    CHECK_CASE(x->n_pictures == y->n_pictures, "%s %s", what, x->id);
    for (int32_t i = 0; i < x->n_pictures; i++) {
        char one[S2_SHA256_HEX], other[S2_SHA256_HEX];
        sha_of(a, x->picture[i], one);
        sha_of(b, y->picture[i], other);
        CHECK_CASE(strcmp(one, other) == 0, "%s %s: picture %d", what, x->id, i);
    }
}

static void test_layouts(void **state)
{
    (void)state;
    static const struct {
        const char *task;
        int32_t n_layouts, n_samples, n_pictures;
    } expected[] = {
        { "mmmu", 2, 3, 3 },     { "gqa", 4, 3, 2 },       { "scienceqa", 4, 2, 2 },
        { "textvqa", 4, 3, 2 },  { "vizwiz", 3, 3, 3 },    { "pope", 4, 6, 2 },
        { "mme", 4, 4, 2 },      { "mmbench", 3, 4, 2 },   { "mmbench-cn", 3, 4, 2 },
        { "mmvet", 4, 2, 2 },    { "ocrbench", 3, 2, 2 },  { "vqav2", 3, 3, 2 },
        { "docvqa", 3, 2, 2 },   { "infovqa", 3, 2, 2 },   { "chartqa", 3, 3, 2 },
        { "mmstar", 2, 3, 2 },   { "seedbench", 4, 2, 2 }, { "textvqa-noocr", 1, 3, 2 },
        { "manifest", 2, 2, 2 },
    };
    static const char *const layouts[] = { "tsv", "parquet", "original", "llava" };
    for (size_t t = 0; t < sizeof expected / sizeof *expected; t++) {
        const s2e_task *task = s2e_task_find(expected[t].task);
        assert_non_null(task);
        s2e_set first = { .n_samples = 0 };
        int32_t n = 0;
        for (size_t k = 0; k < 4; k++) {
            char path[1024], what[80];
            struct stat info;
            (void)snprintf(path, sizeof path, "%s/%s/%s", data, task->name, layouts[k]);
            (void)snprintf(what, sizeof what, "%s from %s", task->name, layouts[k]);
            if (stat(path, &info) != 0) continue;
            s2e_set set;
            s2p_error error = { S2P_OK, "" };
            CHECK_CASE(task->read(path, &set, &error) == S2P_OK, "%s: %s", what, error.message);
            CHECK_CASE(set.n_problems == 0, "%s: %s", what, set.problem[0].sentence);
            CHECK_CASE(set.n_samples == expected[t].n_samples, "%s: %d", what, set.n_samples);
            CHECK_CASE(set.n_pictures == expected[t].n_pictures, "%s: %d", what, set.n_pictures);
            if (n++ == 0) {
                first = set;
                continue;
            }
            for (int32_t i = 0; i < set.n_samples; i++)
                compare_samples(what, &first, &first.sample[i], &set, &set.sample[i]);
            s2e_set_free(&set);
        }
        CHECK_CASE(n == expected[t].n_layouts, "%s: %d layouts", task->name, n);
        s2e_set_free(&first);
    }
}

/* Questions about one picture are neighbours; rows tell the order of the data. */
static void test_order(void **state)
{
    (void)state;
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/gqa/tsv/GQA_TestDev_Balanced.tsv", data); /* a file */
    s2e_set set;
    assert_int_equal(s2e_task_find("gqa")->read(path, &set, NULL), S2P_OK);
    assert_string_equal(set.sample[0].id, "201");
    assert_string_equal(set.sample[1].id, "203");
    assert_string_equal(set.sample[2].id, "202");
    assert_int_equal(set.sample[1].row, 2);
    assert_int_equal(s2e_set_find(&set, "202"), 2);
    assert_int_equal(s2e_set_find(&set, "204"), -1);
    s2e_set_free(&set);
}

/* --- broken data ---------------------------------------------------------------------- */

static const char tiny_png[] = "iVBORw0KGgoAAAANSUhEUgAAAAIAAAACCAIAAAD91JpzAAAAEElEQVR42mP4z8AARAw"
                               "QCgAf7gP9i18U1AAAAABJRU5ErkJggg"
                               "==";

static s2p_status read_tsv(const char *task, const char *name, const char *text, s2e_set *set,
                           s2p_error *error)
{
    char path[1024];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(s2_file_write(path, text, strlen(text), NULL), S2P_OK);
    return s2e_task_find(task)->read(path, set, error);
}

static void test_broken_rows(void **state)
{
    (void)state;
    char text[4096];
    (void)snprintf(text, sizeof text,
                   "index\timage\tquestion\tanswer\tcategory\n"
                   "1\t%s\tIs it?\tYes\trandom,popular\n"
                   "2\t1\tIs it not?\tNo\trandom\n" /* the picture of row 1 */
                   "3\t99\tNobody's picture?\tNo\trandom\n"
                   "1\t%s\tTwice?\tYes\trandom\n"     /* the id again */
                   "5\t%s\tMaybe?\tPerhaps\trandom\n" /* no label */
                   "6\t\tNo picture?\tNo\trandom\n"
                   "7\t8\tLater?\tNo\tpopular\n"           /* the picture comes later */
                   "8\t%.40s!!!%s\tBroken?\tNo\tpopular\n" /* no base64 */
                   "9\t%s\t\tNo\tpopular\n",
                   tiny_png, tiny_png, tiny_png, tiny_png, tiny_png, tiny_png);
    s2e_set set;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(read_tsv("pope", "POPE.tsv", text, &set, &error) == S2P_OK, "%s", error.message);
    assert_int_equal(set.n_samples, 2);
    assert_string_equal(set.sample[1].id, "2");
    assert_int_equal(set.sample[1].picture[0], 0);
    assert_int_equal(set.sample[0].n_categories, 2);
    assert_int_equal(set.n_problems, 7);
    for (int32_t i = 0; i < set.n_problems; i++) {
        const s2e_problem *p = &set.problem[i];
        CHECK_CASE(strcmp(p->file, "POPE.tsv") == 0 && (p->row > 0 || strstr(p->sentence, "row 8")),
                   "%s, row %lld: %s", p->file, (long long)p->row, p->sentence);
    }
    assert_int_equal(set.problem[0].row, 4);
    s2e_set_free(&set);
    CHECK_CASE(read_tsv("pope", "POPE.tsv", "index\timage\n1\t\n", &set, &error) == S2P_EFORMAT,
               "%d", error.status);
    assert_non_null(strstr(error.message, "no sample that can be used"));
    assert_int_equal(s2e_task_find("mmvet")->read(data, &set, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "MMVet.tsv"));
    assert_int_equal(s2e_task_find("mmvet")->read("/nowhere", &set, &error), S2P_EIO);
}

static void test_missing_pictures(void **state)
{
    (void)state;
    char text[] = "{\"id\":1,\"image_path\":\"gone.png\",\"question\":\"?\",\"answer\":\"x\"}\n"
                  "{\"id\":2,\"image_path\":\"../up.png\",\"question\":\"?\",\"answer\":\"x\"}\n"
                  "{\"id\":3,\"image_path\":\"manifest.jsonl\",\"question\":\"?\",\"answer\":7}\n";
    s2e_set set;
    assert_int_equal(read_tsv("manifest", "manifest.jsonl", text, &set, NULL), S2P_OK);
    assert_int_equal(set.n_samples, 1);
    assert_int_equal(set.n_problems, 2);
    assert_string_equal(set.problem[0].sentence, "the picture 'gone.png' does not exist");
    assert_string_equal(set.sample[0].answer[0], "7");
    s2e_set_free(&set);
}

/* --- figures ---------------------------------------------------------------------------- */

static const s2e_figure *figure(const s2e_figures *all, const char *name, const char *section)
{
    for (int32_t i = 0; i < all->n; i++)
        if (strcmp(all->figure[i].name, name) == 0 && strcmp(all->figure[i].section, section) == 0)
            return &all->figure[i];
    return NULL;
}

static void check_figure(const s2e_figures *all, const char *name, const char *section,
                         double value, int32_t n)
{
    const s2e_figure *f = figure(all, name, section);
    CHECK_CASE(f && fabs(f->value - value) < 1e-6 && f->n == n, "%s %s: %g of %d", name, section,
               f ? f->value : -1.0, f ? f->n : -1);
}

/* Read a layout of the data, judge these answers in order of the rows, add up. */
static void add_up(const char *task_name, s2e_protocol protocol, const char *const *by_row,
                   s2e_figures *out)
{
    char path[1024];
    const s2e_task *task = s2e_task_find(task_name);
    (void)snprintf(path, sizeof path, "%s/%s/tsv", data, task_name);
    s2e_set set;
    assert_int_equal(task->read(path, &set, NULL), S2P_OK);
    const char *answer[16];
    s2e_verdict verdict[16];
    for (int32_t i = 0; i < set.n_samples; i++) answer[i] = by_row[set.sample[i].row];
    assert_int_equal(s2e_judge_all(task, &set, protocol, answer, NULL, verdict, NULL), S2P_OK);
    *out = (s2e_figures){ .n = 0 };
    assert_int_equal(task->aggregate(&set, protocol, verdict, out, NULL), S2P_OK);
    for (int32_t i = 0; i < set.n_samples; i++) s2e_verdict_free(&verdict[i]);
    s2e_set_free(&set);
}

/* Rows 7, 8, 1000007, 2000007 of MMBench in order of their index; golds A, B, C, B. */
static void test_circular(void **state)
{
    (void)state;
    const char *all[] = { "A", "B", "C", "B" }, *some[] = { "A", "B", "C", "C" },
               *few[] = { "A", NULL, NULL, NULL };
    s2e_figures f;
    add_up("mmbench", S2E_VLMEVALKIT, all, &f);
    check_figure(&f, "accuracy, circular", "", 100.0, 2);
    s2e_figures_free(&f);
    add_up("mmbench", S2E_VLMEVALKIT, some, &f);
    check_figure(&f, "accuracy, circular", "", 50.0, 2);
    check_figure(&f, "accuracy, all rows", "", 75.0, 4);
    check_figure(&f, "accuracy, base rows", "", 100.0, 2);
    check_figure(&f, "accuracy, circular", "finegrained", 50.0, 2);
    assert_string_equal(s2e_headline(&f)->name, "accuracy, circular");
    s2e_figures_free(&f);
    add_up("mmbench", S2E_PAPER, some, &f);
    assert_string_equal(s2e_headline(&f)->name, "accuracy, all rows");
    s2e_figures_free(&f);
    add_up("mmbench", S2E_LMMS, few, &f); /* what is not answered does not count */
    check_figure(&f, "accuracy, circular", "", 100.0, 1);
    s2e_figures_free(&f);
}

/* Two pairs: one wholly right, one by half. */
static void test_mme_figures(void **state)
{
    (void)state;
    const char *answer[] = { "Yes", "No", "Yes", "Yes" };
    s2e_figures f;
    for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
        add_up("mme", (s2e_protocol)p, answer, &f);
        check_figure(&f, "score", "OCR", 200.0, 2);
        check_figure(&f, "score", "code_reasoning", 50.0, 2);
        check_figure(&f, "acc+", "code_reasoning", 0.0, 2);
        check_figure(&f, "perception", "", 200.0, 2);
        check_figure(&f, "cognition", "", 50.0, 2);
        check_figure(&f, "total", "", 250.0, 4);
        assert_true(s2e_headline(&f)->best == 2800.0);
        s2e_figures_free(&f);
    }
}

/* Labels yes, no, yes, no, yes, no. An answer that is neither is yes to the official rule, a no to
 * VLMEvalKit (never a right one), and nothing to the others. */
static void test_pope_figures(void **state)
{
    (void)state;
    const char *answer[] = { "Yes", "No", "Unknown", "Unknown", "Yes", "Yes" };
    s2e_figures f;
    add_up("pope", S2E_OFFICIAL, answer, &f); /* 3 true yes, 2 false yes */
    check_figure(&f, "F1", "", 100.0 * 2.0 * 0.6 / 1.6, 6);
    check_figure(&f, "accuracy", "", 400.0 / 6.0, 6);
    check_figure(&f, "accuracy", "adversarial", 100.0, 2);
    check_figure(&f, "mean F1", "", (100.0 + 200.0 / 3.0 + 200.0 / 3.0) / 3.0, 6);
    s2e_figures_free(&f);
    add_up("pope", S2E_VLMEVALKIT, answer, &f); /* 2 true yes, 1 false yes, 1 missed */
    check_figure(&f, "recall", "", 200.0 / 3.0, 6);
    check_figure(&f, "accuracy", "", 50.0, 6);
    s2e_figures_free(&f);
    add_up("pope", S2E_PAPER, answer, &f); /* only an explicit no is a missed one */
    check_figure(&f, "recall", "", 100.0, 6);
    check_figure(&f, "precision", "", 200.0 / 3.0, 6);
    s2e_figures_free(&f);
    add_up("pope", S2E_LMMS, answer, &f);
    check_figure(&f, "yes ratio", "", 50.0, 6); /* of the labels */
    s2e_figures_free(&f);
}

static void test_other_figures(void **state)
{
    (void)state;
    s2e_figures f;
    const char *ocr[] = { "the centre", "y_2=-1" };
    add_up("ocrbench", S2E_PAPER, ocr, &f);
    check_figure(&f, "score", "", 0.2, 2);
    check_figure(&f, "hits", "Text Recognition", 1.0, 1);
    s2e_figures_free(&f);
    const char *vet[] = { "It is x=-1 or x=-5", "a woman" };
    add_up("mmvet", S2E_OFFICIAL, vet, &f);
    check_figure(&f, "reference match", "", 50.0, 2);
    check_figure(&f, "score", "ocr", 100.0, 1);
    check_figure(&f, "score", "ocr_math", 100.0, 1);
    check_figure(&f, "score", "rec", 0.0, 1);
    s2e_figures_free(&f);
    add_up("mmvet", S2E_VLMEVALKIT, vet, &f); /* one table of capabilities and combinations */
    check_figure(&f, "score", "rec", 0.0, 2);
    s2e_figures_free(&f);
    const char *mmmu[] = { "(B)", "none of these", "MgS" };
    add_up("mmmu", S2E_OFFICIAL, mmmu, &f); /* the first draw of two letters is A, which is right */
    check_figure(&f, "accuracy", "", 100.0, 3);
    check_figure(&f, "accuracy", "Science", 100.0, 1);
    check_figure(&f, "accuracy", "Art and Design", 100.0, 2);
    s2e_figures_free(&f);
    add_up("mmmu", S2E_LMMS, mmmu, &f); /* open answers are never right there */
    check_figure(&f, "accuracy", "Math", 100.0, 1);
    assert_true(s2e_headline(&f)->value < 70.0);
    s2e_figures_free(&f);
    const char *gqa[] = { "No.", "Light brown", "the man" };
    add_up("gqa", S2E_PAPER, gqa, &f);
    check_figure(&f, "accuracy", "", 100.0, 3);
    s2e_figures_free(&f);
    add_up("gqa", S2E_VLMEVALKIT, gqa, &f);
    check_figure(&f, "accuracy", "", 100.0 / 3.0, 3);
    s2e_figures_free(&f);
}

/* --- promises of every task ------------------------------------------------------------- */

static void test_promises(void **state)
{
    (void)state;
    static const char *const answers[] = { "",         " ",         "A",
                                           "yes",      "\xff\xfe",  "Final Answer:",
                                           "\\boxed{", "答案是B。", "1,234.5",
                                           "(((((" };
    char path[1024];
    for (size_t t = 0; s2e_task_at(t); t++) {
        const s2e_task *task = s2e_task_at(t);
        assert_true(task->title && task->summary && task->read && task->prompt && task->judge);
        if (strcmp(task->name, "synth") == 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s/tsv", data, task->name);
        s2e_set set;
        assert_int_equal(task->read(path, &set, NULL), S2P_OK);
        for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
            assert_true(task->predict[p] > 0);
            for (int32_t i = 0; i < set.n_samples; i++) {
                s2_buffer out;
                s2_buffer_init(&out, 1 << 16);
                assert_int_equal(task->prompt(&set.sample[i], (s2e_protocol)p, &out, NULL), S2P_OK);
                CHECK_CASE(out.size > 3 && !memchr(out.data, 0, out.size), "%s", task->name);
                s2_buffer_free(&out);
                for (size_t a = 0; a < sizeof answers / sizeof *answers; a++) {
                    s2e_verdict v = { .rule = NULL };
                    assert_int_equal(
                        task->judge(&set.sample[i], (s2e_protocol)p, NULL, answers[a], &v, NULL),
                        S2P_OK);
                    CHECK_CASE(v.rule && v.extracted && v.score >= 0.0f && v.score <= 1.0f,
                               "%s: '%s'", task->name, answers[a]);
                    CHECK_CASE(v.span_at + v.span_length <= strlen(answers[a]), "%s: '%s' %s",
                               task->name, answers[a], v.rule);
                    s2e_verdict_free(&v);
                }
            }
        }
        s2e_set_free(&set);
    }
}

static void test_early_stop(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool letter, yes_no;
    } cases[] = {
        { "A", true, false },      { " (b) ", true, false },   { "C).", true, false },
        { "(e", true, false },     { "F", false, false },      { "A bird", false, false },
        { "A..", false, false },   { "yes", false, true },     { "No.", false, true },
        { " NO! ", false, true },  { "no way", false, false }, { "", false, false },
        { "yes.!", false, false }, { "d))", true, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        CHECK_CASE(s2e_stops_at_letter(cases[i].text) == cases[i].letter, "'%s'", cases[i].text);
        CHECK_CASE(s2e_stops_at_yes_no(cases[i].text) == cases[i].yes_no, "'%s'", cases[i].text);
    }
    const int32_t thrice[] = { 9, 1, 2, 1, 2, 1, 2 }, twice[] = { 1, 2, 1, 2 }, one[] = { 5, 5, 5 };
    assert_int_equal(s2e_repeats_from(thrice, 7), 1);
    assert_int_equal(s2e_repeats_from(twice, 4), 4);
    assert_int_equal(s2e_repeats_from(one, 3), 0);
    assert_int_equal(s2e_repeats_from(one, 2), 2);
    int32_t longest[3 * 65];
    for (int32_t i = 0; i < 3 * 65; i++) longest[i] = i % 65;
    assert_int_equal(s2e_repeats_from(longest, 3 * 65), 3 * 65); /* 65 is one too many */
    for (int32_t i = 0; i < 3 * 64; i++) longest[i] = i % 64;
    assert_int_equal(s2e_repeats_from(longest, 3 * 64), 0);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    folder = argv[1];
    data = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_layouts),      cmocka_unit_test(test_order),
        cmocka_unit_test(test_broken_rows),  cmocka_unit_test(test_missing_pictures),
        cmocka_unit_test(test_circular),     cmocka_unit_test(test_mme_figures),
        cmocka_unit_test(test_pope_figures), cmocka_unit_test(test_other_figures),
        cmocka_unit_test(test_promises),     cmocka_unit_test(test_early_stop),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
