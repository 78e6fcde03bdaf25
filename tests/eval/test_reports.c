/* test_reports.c - the paper's two formulas on its own tables, places in a table, comparison of two
 * runs, and documents that stay documents whatever the data and the answers hold. The first
 * argument is a folder to write in, the second that of the goldens.
 */
#include "check.h"

#include "base/file.h"
#include "eval/report/documents.h"
#include "eval/report/escape.h"
#include "eval/run/fingerprint.h"
#include "eval/scoring/means.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder, *goldens;

/* --- formulas ------------------------------------------------------------------------- */

/* Every row of the paper's tables from its cells: MME / 28, ratios to the full row. */
static void test_paper_table(void **state)
{
    (void)state;
    char path[1024];
    json_t *root;
    (void)snprintf(path, sizeof path, "%s/bench/paper_table_aggregate.json", goldens);
    if (s2_json_read_file(path, 1 << 20, &root, NULL) != S2P_OK) skip();
    const json_t *full = json_object_get(root, "full"), *row;
    size_t i;
    int n_rows = 0;
    json_array_foreach(json_object_get(root, "rows"), i, row)
    {
        double value[16], best[16], whole[16];
        int32_t n = 0;
        const char *name;
        json_t *score;
        json_object_foreach(json_object_get(row, "scores"), name, score)
        {
            value[n] = json_number_value(score);
            whole[n] = json_number_value(json_object_get(full, name));
            best[n++] = strcmp(name, "MME") == 0 ? 2800.0 : 100.0;
        }
        const double acc = json_number_value(json_object_get(row, "recomputed_acc"));
        const double rel = json_number_value(json_object_get(row, "recomputed_rel"));
        CHECK_CASE(fabs(s2e_paper_acc(value, best, n) - acc) < 1e-3, "row %zu", i);
        CHECK_CASE(fabs(s2e_paper_rel(value, whole, n) - rel) < 1e-3, "row %zu", i);
        n_rows++;
    }
    assert_true(n_rows > 10);
    json_decref(root);
}

/* --- text from outside ------------------------------------------------------------------ */

static void check_escape(void (*escape)(s2_buffer *, const char *), const char *text,
                         const char *expected)
{
    s2_buffer out;
    s2_buffer_init(&out, 1000);
    escape(&out, text);
    s2_buffer_append(&out, "", 1);
    CHECK_CASE(strcmp((const char *)out.data, expected) == 0, "'%s' is '%s'", text,
               (const char *)out.data);
    s2_buffer_free(&out);
}

static void test_escape(void **state)
{
    (void)state;
    check_escape(s2e_csv_text, "=1+1", "'=1+1");
    check_escape(s2e_csv_text, "-5, no", "\"'-5, no\"");
    check_escape(s2e_csv_text, "+a\"b", "\"'+a\"\"b\"");
    check_escape(s2e_csv_text, "@x", "'@x");
    check_escape(s2e_csv_text, "\tx", "'\tx");
    check_escape(s2e_csv_text, "5-3", "5-3");
    check_escape(s2e_csv_text, "", "");
    check_escape(s2e_markdown_text, "a|b\n*c* <i> [x](y) `z` \\",
                 "a\\|b \\*c\\* &lt;i\\> \\[x\\](y) \\`z\\` \\\\");
    check_escape(s2e_markdown_text,
                 "a\xE2\x80\xAE"
                 "b\xD8\x9C"
                 "c\xE2\x80\xA8"
                 "d\xFF"
                 "e",
                 "a?b?c?d?e");
    check_escape(s2e_latex_text, "50% of $x_1^2 & #{~\\}",
                 "50\\% of \\$x\\_1\\textasciicircum{}2 \\& "
                 "\\#\\{\\textasciitilde{}\\textbackslash{}\\}");
    check_escape(s2e_latex_text,
                 "S\xC2\xB2 \xE2\x88\x92"
                 "1 <a|b> \"q\" \x01\xFF \xC3\xBC",
                 "S\\textsuperscript{2} $-$1 \\textless{}a\\textbar{}b\\textgreater{} "
                 "\\char34{}q\\char34{}  ? \xC3\xBC");
    check_escape(s2e_html_text, "<b a=\"x\">&", "&lt;b a=&quot;x&quot;&gt;&amp;");
}

/* --- documents ---------------------------------------------------------------------------- */

#define HOSTILE "</script><script>alert(1)</script><!-- =1|2 & \\\"x\\\""

static const char data[] =
    "[{\"image\":\"a.jpg\",\"questions\":[{\"category\":\"color\",\"question\":\"" HOSTILE
    "\",\"answer\":\"red\"},{\"category\":\"<i>odd\",\"question\":\"?\",\"answer\":\"2\"}]},"
    "{\"image\":\"b.jpg\",\"questions\":[{\"category\":\"color\",\"question\":\"?\",\"answer\":"
    "\"blue\"}]}]";

typedef struct made_run {
    s2e_set set;
    s2e_store *store;
    s2e_results results;
} made_run;

/* right: for each column a mask of the samples it answers rightly. */
static void make_run(made_run *run, const char *methods, const unsigned *right, const char *hash)
{
    char path[1024], task[128];
    (void)snprintf(path, sizeof path, "%s/eval.json", folder);
    assert_int_equal(s2_file_write(path, data, sizeof data - 1, NULL), S2P_OK);
    assert_int_equal(s2e_task_find("synth")->read(folder, &run->set, NULL), S2P_OK);
    (void)snprintf(task, sizeof task, "{\"samples\":3,\"data\":\"%s\"}", hash);
    json_t *values =
        json_pack("{s:s, s:s, s:s, s:s, s:s}", "is.methods", methods, "is.tasks", "synth",
                  "is.task.synth", task, "is.protocol", "paper", "about.model", "<m>.gguf");
    assert_int_equal(s2e_store_open(NULL, S2E_STORE_WRITE, &run->store, NULL), S2P_OK);
    assert_int_equal(s2e_fingerprint_agree(run->store, values, "memory", NULL), S2P_OK);
    s2e_run_plan plan;
    assert_int_equal(s2e_run_plan_read(values, &plan, NULL), S2P_OK);
    for (int32_t c = 0; c < plan.n_columns; c++)
        for (int32_t i = 0; i < 3; i++) {
            const bool is_right = (right[c] >> i & 1u) != 0;
            const s2e_record r = {
                .task = "synth",
                .sample = run->set.sample[i].id,
                .method = plan.column[c].method,
                .budget = plan.column[c].budget,
                .text = is_right ? run->set.sample[i].answer[0] : "=<img src=x onerror=alert(2)>",
                .prompt_ms = c == 1 ? 12.5 : 0.0,
                .kv_bytes = c == 1 ? 2 << 20 : 0,
                .flops = c == 1 ? 0.25e12 : 0.0,
                .tower_flops = c == 1 ? 0.5e12 : 0.0,
                .stages = c == 1 ? "[[0,64,3]]" : NULL,
                .tokens_before = 576,
                .tokens_after = strcmp(plan.column[c].budget, "-") == 0 ? 576 : 64,
                .grids = "[[24,24]]",
                .kept = c == 0 ? NULL : "[[1,5,575]]",
                .regions = c == 0 ? NULL
                                  : "[{\"side\":2,\"share\":[1,1,1,61],\"raw\":"
                                    "[1,2,3,4.5],\"score\":[0,0.5,1,1]}]"
            };
            assert_int_equal(s2e_store_add(run->store, &r, NULL), S2P_OK);
        }
    assert_int_equal(s2e_store_commit(run->store, NULL), S2P_OK);
    const s2e_set *sets[] = { &run->set };
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2e_results_load(run->store, sets, &run->results, &error) == S2P_OK, "%s",
               error.message);
    json_decref(values);
}

static void free_run(made_run *run)
{
    s2e_results_free(&run->results);
    s2e_store_close(run->store);
    s2e_set_free(&run->set);
}

static size_t count(const char *text, const char *word)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, word)); at++) n++;
    return n;
}

/* Names of a run that somebody else made are text in every document. */
static void test_foreign_names(void **state)
{
    (void)state;
    static const unsigned right[] = { 7, 3 };
    made_run run;
    make_run(&run, "full/-,a|<img src=x>/64", right, "h");
    s2e_comparison *comparison;
    s2e_report_input input = { .results = &run.results, .store = run.store, .baseline = "b|" };
    assert_int_equal(
        s2e_compare(&run.results, &run.results, &comparison, &input.n_comparisons, NULL), S2P_OK);
    input.comparison = comparison;
    assert_true(input.n_comparisons > 0);
    const s2e_document *document;
    for (size_t d = 0; (document = s2e_document_at(d)); d++) {
        if (!strstr(document->name, "report.")) continue;
        const bool is_page = strstr(document->name, ".html") != NULL;
        s2_buffer out;
        s2_buffer_init(&out, 1 << 24);
        assert_int_equal(document->write(&input, &out, NULL), S2P_OK);
        s2_buffer_append(&out, "", 1);
        const char *text = (const char *)out.data,
                   *spelled = is_page ? "a|&lt;img src=x&gt;" : "a\\|&lt;img src=x\\>";
        CHECK_CASE(count(text, "<img src") == 0, "%s: %.300s", document->name,
                   strstr(text, "<img src"));
        CHECK_CASE(count(text, spelled) >= 3, "%s: %zu times", document->name,
                   count(text, spelled));
        CHECK_CASE(is_page || count(text, "a|") == 0, "%s", document->name);
        s2_buffer_free(&out);
    }
    free(comparison);
    free_run(&run);
}

/* A method that fails with every question: it used no tokens, and nobody is ahead of it. */
static void test_all_failed(void **state)
{
    (void)state;
    static const unsigned right[] = { 7, 3, 1, 0 };
    made_run run;
    make_run(&run, "full/-,s2prune/64,uniform/64,random/64", right, "h");
    s2e_result *failed = &run.results.task[0].result[3];
    failed->n_failures = failed->n_answers;
    failed->image_tokens = 0.0;
    s2e_gain *gain;
    assert_int_equal(s2e_gains_make(&run.results.task[0], run.results.protocol, "s2prune", &gain),
                     S2P_OK);
    assert_non_null(gain[2].reference);
    assert_null(gain[3].reference);
    free(gain);
    const s2e_report_input input = { .results = &run.results, .store = run.store };
    const s2e_document *document;
    for (size_t d = 0; (document = s2e_document_at(d)); d++) {
        if (strcmp(document->name, "report.md") != 0) continue;
        s2_buffer out;
        s2_buffer_init(&out, 1 << 24);
        assert_int_equal(document->write(&input, &out, NULL), S2P_OK);
        s2_buffer_append(&out, "", 1);
        assert_non_null(strstr((const char *)out.data, "| Random | - (64) | 0.0 |"));
        s2_buffer_free(&out);
    }
    free_run(&run);
}

static void test_documents(void **state)
{
    (void)state;
    static const unsigned right[] = { 7, 3, 1, 0 }, others[] = { 4 };
    made_run run, baseline;
    make_run(&run, "full/-,s2prune/64,uniform/64,random/64", right, "h");
    make_run(&baseline, "dart/64", others, "h");
    s2e_comparison *comparison;
    s2e_report_input input = { .results = &run.results,
                               .store = run.store,
                               .baseline = "runs/<old>" };
    assert_int_equal(
        s2e_compare(&run.results, &baseline.results, &comparison, &input.n_comparisons, NULL),
        S2P_OK);
    input.comparison = comparison;
    assert_int_equal(input.n_comparisons, 4); /* one column there: against every one here */
    assert_true(comparison[1].only_ours == 2 && comparison[1].only_theirs == 1);
    assert_true(fabs(comparison[1].gain.value - 100.0 / 3) < 1e-9);
    /* picture a is won by two, b lost by one: of four patterns all are at least as large */
    assert_true(comparison[1].gain.p == 1.0 && comparison[1].gain.p_holm == 1.0);
    static const struct {
        const char *name, *has;
    } cases[] = {
        { "report.md", "| S\xC2\xB2Prune | 64 | **66.7** | **66.7** | **66.7** |" },
        { "report.md", "| Uniform Grid | 64 | <u>33.3</u> |" },
        { "report.md", "| Random | 64 | 0.0 |" },
        { "report.md",
          "| S\xC2\xB2Prune | 64 | **66.7** | **66.7** | **66.7** | 0.25 | 0.75 | 12.5 | 2.00 | "
          "0* |" },
        { "report.md", "| Uniform Grid | 64 | <u>33.3</u> | <u>33.3</u> | <u>33.3</u> | - | - | - "
                       "| 0.00 | - |" },
        { "report.md", "were moved: s2prune prunes after layer 0 instead of 3." },
        { "report.html", "were moved: s2prune prunes after layer 0 instead of 3." },
        { "table.tex", "were moved: s2prune prunes after layer 0 instead of 3." },
        { "report.html", "<td>0.25</td><td>0.75</td><td>12.5</td><td>2.00</td><td>0*</td>" },
        { "summary.json", "\"prunes_after\":\"0\",\"prunes_after_own\":\"3\"" },
        { "report.md", "| Synth | s2prune/64 | dart/64 | 66.7 | 33.3 | +33.3 |" },
        { "report.md", "runs/&lt;old\\>" },
        { "table.tex", "S\\textsuperscript{2}Prune~\\cite{s2prune} & \\textbf{66.7} & "
                       "\\textbf{66.7} & \\textbf{66.7\\%} & 0.25 & 0.75 & 12.5 & 2.00 & 0* \\\\" },
        { "table.tex", "Uniform Grid & \\underline{33.3} &" },
        { "table.tex", "\\multicolumn{9}{c}{\\emph{Retain 64 visual tokens}} \\\\" },
        { "table.tex", "\\caption{Results of \\textless{}m\\textgreater{}.gguf under" },
        { "table.tex", "{\\tiny [" },
        { "results.csv", "synth,s2prune,64,64.00,1,official,,accuracy,66.666667,100,3,1,,,,,,,,,,,,"
                         "0.25,0.75,12.5,2,0,3\n" },
        { "results.csv", "synth,s2prune,64,64.00,1,paper,,accuracy,66.666667,100,3,1," },
        { "per_sample.csv", ",2,\"[1,5,575]\",\"[1,1,1,61]\",\"[1,2,3,4.5]\",\"[0,0.5,1,1]\"," },
        { "per_sample.csv", ",'=<img src=x onerror=alert(2)>," },
        { "summary.json", "\"only_here\":2,\"only_there\":1" },
        { "summary.json", "\"num_samples\":3,\"mean_sample_score\":0.666666667,"
                          "\"accuracy_percent\":66.6666667" },
        { "run_config.json", "\"methods\":\"full/-,s2prune/64,uniform/64,random/64\"" },
        { "curves.svg", "Prune, 64: 66.7 [" },
        { "curves.svg", "Synth: accuracy (%)" },
        { "report.html", "<b><i class=\"c0\"></i>S\xC2\xB2Prune</b>" },
        { "report.html", "@media print" },
        { "report.html", "prefers-color-scheme:dark" },
        { "report.html", "&lt;m&gt;.gguf" },
        { "report.html", "\\u003c/script>\\u003cscript>alert(1)" },
        { "report.html", "\"kept\":[[[1,5,575]]]" },
    };
    size_t n_seen = 0;
    const s2e_document *document;
    for (size_t d = 0; (document = s2e_document_at(d)); d++) {
        s2_buffer out;
        s2p_error error = { S2P_OK, "" };
        s2_buffer_init(&out, 1 << 24);
        CHECK_CASE(document->write(&input, &out, &error) == S2P_OK, "%s: %s", document->name,
                   error.message);
        s2_buffer_append(&out, "", 1);
        const char *text = (const char *)out.data;
        for (size_t i = 0; i < COUNT_OF(cases); i++) {
            if (strcmp(cases[i].name, document->name) != 0) continue;
            CHECK_CASE(strstr(text, cases[i].has), "%s lacks %s:\n%s", document->name, cases[i].has,
                       text);
            n_seen++;
        }
        if (strcmp(document->name, "report.html") == 0) {
            assert_int_equal(count(text, "<script"), 2); /* the data and ours */
            assert_int_equal(count(text, "</script"), 2);
            assert_int_equal(count(text, "<img"), 0);
        }
        s2_buffer_free(&out);
    }
    assert_int_equal(n_seen, COUNT_OF(cases));
    free(comparison);
    free_run(&baseline);
    make_run(&baseline, "dart/64", others, "other");
    assert_int_equal(
        s2e_compare(&run.results, &baseline.results, &comparison, &input.n_comparisons, NULL),
        S2P_EINVAL); /* other data */
    free_run(&baseline);
    free_run(&run);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    folder = argv[1];
    goldens = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paper_table),   cmocka_unit_test(test_escape),
        cmocka_unit_test(test_foreign_names), cmocka_unit_test(test_documents),
        cmocka_unit_test(test_all_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
