/* test_trials.c - trials filled by hand: rates, answers read back, where tokens lie, overlaps. */
#include "analyze/analyses.h"
#include "analyze/rates.h"
#include "analyze/sources/sources.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *folder;

static s2a_setting setting_of(const char *method, int32_t budget)
{
    s2a_setting s = { .budget = { .tokens = budget } };
    s2a_setting_use(&s, method);
    return s;
}

/* Four pictures of two questions, kinds "a" and "b"; full, random, s2prune and fastv with 4 tokens. */
static void make(s2_trials *t)
{
    *t = (s2_trials){ .n_pictures = 0 };
    const s2_trial_part part = { .name = "made" };
    assert_int_equal(s2_trials_add_part(t, &part, NULL), S2P_OK);
    (void)snprintf(t->model, sizeof t->model, "m.gguf");
    (void)snprintf(t->run, sizeof t->run, "r");
    for (int i = 0; i < 4; i++) {
        char file[16];
        (void)snprintf(file, sizeof file, "%d.png", i);
        assert_int_equal(s2_trials_add_picture(t, file, i, NULL), S2P_OK);
        assert_int_equal(s2_trials_add_question(t, "first?", "yes", "a", 2 * i, NULL), S2P_OK);
        assert_int_equal(s2_trials_add_question(t, "second?", "no", "b", 2 * i + 1, NULL), S2P_OK);
    }
    const s2a_setting settings[] = { setting_of("full", 0), setting_of("random", 4),
                                     setting_of("s2prune", 4), setting_of("fastv", 4) };
    assert_int_equal(s2_trials_set(t, settings, 4, NULL), S2P_OK);
}

/* full: all right. random: "a" right on two of four, "b" never. s2prune: "a" always, "b" on two. fastv:
 * never. Tokens of an 8 x 8 grid: a corner each for fastv, the middle for s2prune, a row for random. */
static void fill(s2_trials *t)
{
    static const int32_t corners[] = { 0, 7, 56, 63 }, middle[] = { 27, 28, 35, 36 };
    static const int32_t row[] = { 32, 33, 34, 35 };
    const s2p_grid grid = { 8, 8 };
    for (int32_t q = 0; q < 8; q++) {
        const int is_a = q % 2 == 0, half = q / 2 < 2;
        const float score[] = { 1.0f, is_a && half ? 1.0f : 0.0f, is_a || half ? 1.0f : 0.0f,
                                0.0f };
        const int32_t *kept[] = { NULL, row, middle, corners };
        for (int32_t s = 0; s < 4; s++)
            assert_int_equal(
                s2_trial_fill(t, s, q, score[s], "yes", grid, kept[s], kept[s] ? 4 : 0, NULL),
                S2P_OK);
    }
}

static void test_rates(void **state)
{
    (void)state;
    s2_trials t;
    s2_rate rate;
    make(&t);
    fill(&t);
    assert_int_equal(s2_rate_of(&t, 2, S2_NO_SETTING, S2_EVERYTHING, &rate), S2P_OK);
    assert_true(rate.value == 75.0 && rate.n == 8);
    assert_true(rate.low >= 50.0 && rate.low < 75.0 && rate.high > 75.0 && rate.high <= 100.0);
    assert_int_equal(s2_rate_of(&t, 2, 1, (s2_scope){ 0, 1, NULL }, &rate),
                     S2P_OK); /* kind b, against random */
    assert_true(rate.value == 50.0 && rate.n == 4);
    const bool first[4] = { true, false, false, false };
    assert_int_equal(s2_rate_of(&t, 2, S2_NO_SETTING, (s2_scope){ 0, 0, first }, &rate), S2P_OK);
    assert_true(rate.value == 100.0 && rate.low == 100.0 && rate.high == 100.0 && rate.n == 1);
    s2_test test;
    assert_int_equal(s2_rate_test(&t, 2, 1, &test), S2P_OK);
    assert_true(test.statistic == 0.5 && test.p == 0.125); /* four pictures won: 2 of 16 patterns */
    assert_int_equal(s2_trials_find(&t, "s2prune", (s2a_budget){ .tokens = 4 }), 2);
    assert_int_equal(s2_trials_find(&t, "s2prune", (s2a_budget){ .tokens = 5 }), -1);
    assert_int_equal(s2_trials_find(&t, "full", (s2a_budget){ .tokens = 5 }), 0);
    s2_trials_free(&t);
}

static void test_rate_table(void **state)
{
    (void)state;
    s2_trials t;
    s2_table table;
    make(&t);
    fill(&t);
    s2_table_init(&table, "t");
    assert_int_equal(s2_rate_table(&t, 0, "random", &table), S2P_OK);
    assert_int_equal(s2_table_n_rows(&table), 4);
    /* setting, budget, a, b, Acc., Rel., all: S2Prune has 100 and 50. */
    const double expected[] = { 100.0, 50.0, 75.0, 75.0, 75.0 };
    for (int32_t i = 0; i < 5; i++)
        assert_true(s2_table_cell(&table, 2, 2 + i)->number == expected[i]);
    s2_table_free(&table);
    s2_trials_free(&t);
}

static void test_answers_come_back(void **state)
{
    (void)state;
    char path[512];
    s2_trials t, again;
    int32_t n_filled, n_bad;
    (void)snprintf(path, sizeof path, "%s/answers.jsonl", folder);
    (void)unlink(path);
    make(&t);
    fill(&t);
    FILE *file = s2_answers_open(path, NULL);
    assert_non_null(file);
    for (int32_t s = 1; s < 4; s++)
        for (int32_t q = 0; q < 8; q++)
            assert_int_equal(s2_answers_append(file, &t, s, q, NULL), S2P_OK);
    (void)fputs("{\"model\":\"m.gguf\",\"run\":\"r\",\"task\":\"ma",
                file); /* stopped while writing */
    (void)fclose(file);
    file = s2_answers_open(path, NULL); /* and going on */
    assert_int_equal(s2_answers_append(file, &t, 0, 0, NULL), S2P_OK);
    (void)fclose(file);
    make(&again);
    assert_int_equal(s2_answers_read(path, &again, &n_filled, &n_bad, NULL), S2P_OK);
    assert_int_equal(n_filled, 25);
    assert_int_equal(n_bad, 1);
    for (int32_t s = 0; s < 4; s++)
        for (int32_t q = 0; q < 8; q++) {
            const s2_trial *a = s2_trial_at(&t, s, q), *b = s2_trial_at(&again, s, q);
            if (s == 0 && q > 0) {
                assert_false(s2_trial_is_done(b));
                continue;
            }
            assert_true(a->score == b->score && a->n_kept == b->n_kept);
            assert_string_equal(a->answer, b->answer);
            if (a->n_kept) assert_memory_equal(a->kept, b->kept, sizeof *a->kept * 4);
        }
    s2_trials_free(&again);
    make(&again); /* another model's answers are not ours */
    (void)snprintf(again.model, sizeof again.model, "other.gguf");
    assert_int_equal(s2_answers_read(path, &again, &n_filled, &n_bad, NULL), S2P_OK);
    assert_int_equal(n_filled, 0);
    s2_trials_free(&again);
    make(&again); /* nor are those of another size of pictures */
    (void)snprintf(again.run, sizeof again.run, "s");
    assert_int_equal(s2_answers_read(path, &again, &n_filled, &n_bad, NULL), S2P_OK);
    assert_int_equal(n_filled, 0);
    s2_trials_free(&again);
    s2_trials_free(&t);
    make(&again);
    assert_int_equal(s2_answers_read("/nowhere/at/all", &again, &n_filled, &n_bad, NULL), S2P_OK);
    assert_int_equal(n_filled, 0);
    s2_trials_free(&again);
}

static void test_malformed_answers(void **state)
{
    (void)state;
    static const char *const lines[] = {
        "[]",
        "{}",
        "{\"model\":\"m.gguf\"}",
        "{\"model\":\"m.gguf\",\"run\":\"r\",\"task\":\"made\",\"image\":\"0.png\",\"question\":"
        "\"first?\","
        "\"setting\":\"s2prune/4/0/laplacian/erc\",\"score\":2}",
        "{\"model\":\"m.gguf\",\"run\":\"r\",\"task\":\"made\",\"image\":\"0.png\",\"question\":"
        "\"first?\","
        "\"setting\":\"s2prune/4/0/laplacian/erc\",\"score\":1,\"tokens\":[0,8],\"kept\":[1]}",
        "{\"model\":\"m.gguf\",\"run\":\"r\",\"task\":\"made\",\"image\":\"0.png\",\"question\":"
        "\"first?\","
        "\"setting\":\"s2prune/4/0/laplacian/erc\",\"score\":1,\"tokens\":[8,8],\"kept\":[1,64]}",
        "{\"model\":\"m.gguf\",\"run\":\"r\",\"task\":\"made\",\"image\":\"0.png\",\"question\":"
        "\"first?\","
        "\"setting\":\"s2prune/4/0/laplacian/erc\",\"score\":1,\"tokens\":[8,8],\"kept\":[3,2]}",
    };
    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        s2_trials t;
        int32_t n_filled, n_bad;
        make(&t);
        assert_int_equal(s2_answers_parse(lines[i], strlen(lines[i]), &t, &n_filled, &n_bad),
                         S2P_OK);
        CHECK_CASE(n_filled == 0 && n_bad == 1, "%s: %d filled, %d bad", lines[i], n_filled, n_bad);
        s2_trials_free(&t);
    }
}

static void test_samples_of_eval(void **state)
{
    (void)state;
    static const char lines[] =
        "{\"task\":\"made\",\"method\":\"s2prune\",\"budget\":4,\"seed\":0,\"image\":\"1.png\","
        "\"category\":\"a\",\"question\":\"first?\",\"expected\":\"yes\",\"answer\":\"yes\","
        "\"score\":1}\n"
        "{\"task\":\"made\",\"method\":\"full\",\"budget\":0,\"seed\":0,\"image\":\"1.png\","
        "\"question\":\"second?\",\"answer\":\"yes\",\"score\":0}\n"
        "{\"task\":\"made\",\"method\":\"random\",\"budget\":4,\"seed\":1,\"image\":\"1.png\","
        "\"question\":\"first?\",\"answer\":\"yes\",\"score\":1}\n";
    s2_trials t;
    int32_t n_filled, n_bad;
    make(&t);
    assert_int_equal(s2_answers_parse(lines, sizeof lines - 1, &t, &n_filled, &n_bad), S2P_OK);
    assert_int_equal(n_filled, 2); /* the second seed of a method that draws is left out */
    assert_int_equal(n_bad, 0);
    assert_true(s2_trial_at(&t, 2, 2)->score == 1.0f && s2_trial_at(&t, 0, 3)->score == 0.0f);
    s2_trials_free(&t);
}

/* The questions of a picture see one grid; pictures may differ, and then there is no common map. */
static void test_grids_must_agree(void **state)
{
    (void)state;
    s2_trials t;
    s2p_error error;
    s2_study study = { .n = 0 };
    const int32_t kept[] = { 1 };
    make(&t);
    assert_int_equal(s2_trials_need_grid(&t, &error), S2P_EINVAL);
    assert_int_equal(s2_trial_fill(&t, 1, 0, 1.0f, NULL, (s2p_grid){ 8, 8 }, kept, 1, &error),
                     S2P_OK);
    assert_int_equal(s2_trials_need_grid(&t, &error), S2P_OK);
    assert_int_equal(s2_trial_fill(&t, 1, 1, 1.0f, NULL, (s2p_grid){ 8, 9 }, kept, 1, &error),
                     S2P_EINVAL);
    assert_non_null(strstr(error.message, "8x9"));
    assert_int_equal(s2_trial_fill(&t, 1, 2, 1.0f, NULL, (s2p_grid){ 8, 9 }, kept, 1, &error),
                     S2P_OK); /* another picture */
    assert_true(t.has_grids && t.picture[1].grid.cols == 9);
    assert_int_equal(s2_analyze_spatial(&t, &study, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "8x9"));
    s2_study_free(&study);
    s2_trials_free(&t);
}

static void test_edge_and_centre(void **state)
{
    (void)state;
    const s2p_grid grid = { 24, 24 };
    int32_t n_edge = 0, n_centre = 0;
    for (int32_t i = 0; i < 576; i++) {
        n_edge += s2_is_edge(grid, i);
        n_centre += s2_is_centre(grid, i);
    }
    assert_int_equal(n_edge, 176); /* the supplement counts 24^2 - 20^2 */
    assert_int_equal(n_centre, 144);
}

static const s2_table *table_of(const s2_study *study, const char *name)
{
    for (int32_t i = 0; i < study->n; i++)
        if (study->item[i]->kind == S2_STUDY_TABLE && strcmp(study->item[i]->name, name) == 0)
            return &study->item[i]->table;
    fail_msg("no table %s", name);
    return NULL;
}

static void test_spatial(void **state)
{
    (void)state;
    s2_trials t;
    s2_study study = { .n = 0 };
    s2p_error error;
    make(&t);
    fill(&t);
    assert_int_equal(s2_analyze_spatial(&t, &study, &error), S2P_OK);
    const s2_table *shares = table_of(&study, "spatial_shares");
    assert_int_equal(s2_table_n_rows(shares), 3); /* the full model's tokens are not known here */
    assert_true(s2_table_cell(shares, 1, 2)->number == 0.0); /* s2prune: no edge, all centre */
    assert_true(s2_table_cell(shares, 1, 6)->number == 1.0);
    assert_true(s2_table_cell(shares, 2, 2)->number == 1.0); /* fastv: corners */
    assert_true(s2_table_cell(shares, 2, 6)->number == 0.0);
    assert_true(s2_table_cell(shares, 0, 10)->number > 0.4); /* random: one row, all the time */
    assert_true(s2_table_cell(shares, 0, 11)->number < 0.01);
    s2_study_free(&study);
    s2_trials_free(&t);
}

/* The paper's shares at layer 8, 67.6 and 8.6 %, are next to ours; at other budgets there are none. */
static void test_printed_shares(void **state)
{
    (void)state;
    s2_trials t = { .n_pictures = 0 };
    s2_study study = { .n = 0 };
    s2p_error error;
    const s2a_setting settings[] = { setting_of("feather-top-8", 64),
                                     setting_of("feather-top-8", 32), setting_of("uniform", 64) };
    int32_t kept[64];
    for (int32_t i = 0; i < 64; i++) kept[i] = i; /* of 48 and 16 in rows 0 to 2: 50 at the edge */
    assert_int_equal(s2_trials_add_picture(&t, "0.png", 0, NULL), S2P_OK);
    assert_int_equal(s2_trials_add_question(&t, "first?", "yes", "a", 0, NULL), S2P_OK);
    assert_int_equal(s2_trials_set(&t, settings, 3, NULL), S2P_OK);
    for (int32_t s = 0; s < 3; s++)
        assert_int_equal(s2_trial_fill(&t, s, 0, 1.0f, "yes", (s2p_grid){ 24, 24 }, kept, 64, NULL),
                         S2P_OK);
    assert_int_equal(s2_analyze_spatial(&t, &study, &error), S2P_OK);
    const s2_table *shares = table_of(&study, "spatial_shares");
    assert_true(fabs(s2_table_cell(shares, 0, 2)->number - 50.0 / 64.0) < 1e-9);
    assert_true(s2_table_cell(shares, 0, 16)->number == .676);
    assert_true(s2_table_cell(shares, 0, 17)->number == .086);
    assert_true(isnan(s2_table_cell(shares, 1, 16)->number));
    assert_true(isnan(s2_table_cell(shares, 2, 16)->number));
    s2_study_free(&study);
    s2_trials_free(&t);
}

/* A band at every fourth row is found; tokens spread evenly show none. */
static void test_banding(void **state)
{
    (void)state;
    const s2p_grid grid = { 24, 24 };
    s2_trial trial[40];
    const s2_trial *kept[40];
    int32_t token[40][48];
    s2_banding band;
    uint32_t seed = 5;
    for (int is_banded = 0; is_banded < 2; is_banded++) {
        for (int i = 0; i < 40; i++) {
            for (int k = 0; k < 48; k++) {
                const int32_t row = is_banded ? 4 * (k / 8) : k / 2;
                token[i][k] = row * 24 + (is_banded ? 3 * (k % 8) + random_below(&seed, 3)
                                                    : 12 * (k % 2) + random_below(&seed, 12));
            }
            trial[i] = (s2_trial){ .kept = token[i], .n_kept = 48 };
            kept[i] = &trial[i];
        }
        assert_int_equal(s2_banding_of(kept, 40, grid, true, &band), S2P_OK);
        if (is_banded) {
            assert_true(band.share > 0.5 && band.p < 0.01);
            assert_true(band.period == 4.0 || band.period == 2.0);
        } else {
            assert_true(band.share < 1e-12 && band.p > 0.5);
        }
    }
}

static void test_overlap(void **state)
{
    (void)state;
    int32_t a[] = { 1, 3, 5, 7 }, b[] = { 3, 4, 7, 8 };
    const s2_trial x = { .kept = a, .n_kept = 4 }, y = { .kept = b, .n_kept = 4 };
    assert_true(s2_overlap_of(&x, &y) == 2.0 / 6.0);
    assert_true(s2_overlap_of(&x, &x) == 1.0);
    s2_trials t;
    s2_study study = { .n = 0 };
    make(&t);
    fill(&t);
    assert_int_equal(s2_analyze_overlap(&t, &study, NULL), S2P_OK);
    assert_int_equal(s2_table_n_rows(table_of(&study, "overlap_table")), 3);
    const double first = s2_table_cell(table_of(&study, "overlap_table"), 0, 3)->number;
    assert_true(fabs(first - 1.0 / 7.0) < 1e-12);
    s2_study_free(&study);
    s2_trials_free(&t);
}

static void test_figures_of_scores(void **state)
{
    (void)state;
    s2_trials t;
    s2_study study = { .n = 0 };
    s2p_error error;
    make(&t);
    fill(&t);
    assert_int_equal(s2_analyze_retention(&t, &study, &error), S2P_OK);
    assert_int_equal(s2_analyze_budget(&t, &study, &error), S2P_OK);
    const int32_t n = study.n; /* what has nothing to show is refused and leaves no empty figure */
    assert_int_equal(s2_analyze_ablation(&t, &study, &error), S2P_EINVAL);
    assert_int_equal(study.n, n);
    assert_int_equal(s2_analyze_heterogeneity(&t, &study, &error),
                     S2P_EINVAL); /* no equal density */
    s2_buffer page;
    s2_buffer_init(&page, 1 << 22);
    assert_int_equal(s2_study_html(&study, "t <1>", "model: a & b", &page), S2P_OK);
    s2_buffer_append(&page, "", 1);
    assert_non_null(strstr((const char *)page.data, "t &lt;1&gt;"));
    assert_non_null(strstr((const char *)page.data, "a &amp; b"));
    assert_null(strstr((const char *)page.data, "nan"));
    s2_buffer_free(&page);
    s2_study_free(&study);
    s2_trials_free(&t);
}

/* Low third loses, high third gains: by picture, not by question. */
static void test_heterogeneity(void **state)
{
    (void)state;
    s2_trials t = { .n_pictures = 0 };
    s2_study study = { .n = 0 };
    s2a_setting settings[2] = { setting_of("equal-density", 4), setting_of("s2prune", 4) };
    settings[1].choice.selector = "centre";
    for (int i = 0; i < 6; i++) {
        assert_int_equal(s2_trials_add_picture(&t, "p", i, NULL), S2P_OK);
        assert_int_equal(s2_trials_add_question(&t, "q", "yes", "a", i, NULL), S2P_OK);
        t.picture[i].structure = (s2_trial_structure){ 6.0 - i, { 8, 8 }, 1 };
    }
    assert_int_equal(s2_trials_set(&t, settings, 2, NULL), S2P_OK);
    for (int32_t i = 0; i < 6; i++) {
        const float gain = i < 2 ? 1.0f : 0.0f; /* the first pictures have most */
        assert_int_equal(s2_trial_fill(&t, 0, i, 0.0f, "", (s2p_grid){ 8, 8 }, NULL, 0, NULL),
                         S2P_OK);
        assert_int_equal(s2_trial_fill(&t, 1, i, gain, "", (s2p_grid){ 8, 8 }, NULL, 0, NULL),
                         S2P_OK);
    }
    assert_int_equal(s2p_coarse_side((s2p_grid){ 8, 8 }, 4), 1); /* of the stored values */
    assert_int_equal(s2_analyze_heterogeneity(&t, &study, NULL), S2P_OK);
    const s2_table *table = table_of(&study, "heterogeneity_table");
    const double expected[] = { 0.0, 0.0, 100.0 };
    for (int32_t g = 0; g < 3; g++) assert_true(s2_table_cell(table, g, 8)->number == expected[g]);
    s2_study_free(&study);
    study = (s2_study){ .n = 0 };
    t.picture[0].structure.side =
        3; /* stored for other regions: the picture is measured, if it can be */
    s2p_error error;
    assert_int_equal(s2_analyze_heterogeneity(&t, &study, &error), S2P_EIO);
    s2_study_free(&study);
    s2_trials_free(&t);
}

/* Two parts, of means and of a benchmark with another number: each by itself, then their mean. */
static void test_parts(void **state)
{
    (void)state;
    s2_trials t = { .n_pictures = 0 };
    const s2_trial_part one = { .name = "one", .title = "One", .n_all = 4 };
    const s2_trial_part two = { .name = "two", .title = "Two", .best = 1000.0, .n_all = 2 };
    const s2a_setting settings[] = { setting_of("full", 0), setting_of("s2prune", 4) };
    s2_rate rate;
    char text[S2_NAMES_SIZE];
    for (int32_t p = 0; p < 2; p++) {
        assert_int_equal(s2_trials_add_part(&t, p ? &two : &one, NULL), S2P_OK);
        for (int32_t i = 0; i < 2; i++) {
            assert_int_equal(s2_trials_add_picture(&t, "p", i, NULL), S2P_OK);
            assert_int_equal(s2_trials_add_question(&t, "q", "yes", "a", i, NULL), S2P_OK);
        }
    }
    assert_int_equal(t.n_categories, 2); /* "a" of one is not "a" of the other */
    assert_string_equal(s2_trials_names(&t, text), "one, two");
    assert_string_equal(s2_trials_extent(&t, text), "2 of 4 questions of one");
    assert_int_equal(s2_trials_set(&t, settings, 2, NULL), S2P_OK);
    static const float score[2][4] = { { 1.0f, 1.0f, 1.0f, 0.5f }, { 1.0f, 0.0f, 0.6f, 0.0f } };
    for (int32_t s = 0; s < 2; s++)
        for (int32_t q = 0; q < 4; q++)
            assert_int_equal(
                s2_trial_fill(&t, s, q, score[s][q], "", (s2p_grid){ 0, 0 }, NULL, 0, NULL),
                S2P_OK);
    assert_int_equal(s2_rate_of(&t, 1, S2_NO_SETTING, (s2_scope){ 0, -1, NULL }, &rate), S2P_OK);
    assert_true(rate.value == 50.0 && rate.best == 100.0 && rate.n == 2);
    assert_int_equal(s2_rate_of(&t, 1, S2_NO_SETTING, (s2_scope){ 1, -1, NULL }, &rate), S2P_OK);
    assert_true(fabs(rate.value - 300.0) < 1e-4 && rate.best == 1000.0);
    assert_int_equal(s2_rate_of(&t, 1, S2_NO_SETTING, S2_EVERYTHING, &rate), S2P_OK); /* Acc. */
    assert_true(fabs(rate.value - 40.0) < 1e-4 && rate.n == 4);
    assert_true(rate.low < 40.0 && rate.high > 40.0);
    assert_int_equal(s2_rate_retained(&t, 1, S2_NO_SETTING, 0, S2_EVERYTHING, &rate), S2P_OK);
    assert_true(fabs(rate.value - 45.0) < 1e-4); /* Rel.: 50 of 100 and 300 of 750 */
    s2_table table;
    s2_table_init(&table, "t");
    assert_int_equal(s2_rate_table(&t, 0, NULL, &table), S2P_OK);
    const char *const keys[] = { "setting", "budget", "one", "two", "acc" };
    for (int32_t c = 0; c < 5; c++) assert_string_equal(table.column[c].key, keys[c]);
    s2_table_free(&table);
    s2_trials_free(&t);
}

/* "random" is both a way to share and a way to choose: a table that has both tells them apart. */
static void test_labels(void **state)
{
    (void)state;
    static const struct {
        const char *allocator, *selector, *label;
    } cases[] = { { NULL, NULL, "s2prune" },
                  { "random", NULL, "s2prune[allocator=random]" },
                  { NULL, "random", "s2prune[selector=random]" },
                  { "uniform", "centre", "s2prune[uniform,centre]" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char label[S2_LABEL_SIZE];
        const s2a_setting setting = { .method = "s2prune",
                                      .choice = { .allocator = cases[i].allocator,
                                                  .selector = cases[i].selector } };
        assert_string_equal(s2_setting_label(&setting, false, label), cases[i].label);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_labels),
        cmocka_unit_test(test_rates),
        cmocka_unit_test(test_rate_table),
        cmocka_unit_test(test_answers_come_back),
        cmocka_unit_test(test_malformed_answers),
        cmocka_unit_test(test_samples_of_eval),
        cmocka_unit_test(test_grids_must_agree),
        cmocka_unit_test(test_edge_and_centre),
        cmocka_unit_test(test_spatial),
        cmocka_unit_test(test_printed_shares),
        cmocka_unit_test(test_banding),
        cmocka_unit_test(test_overlap),
        cmocka_unit_test(test_figures_of_scores),
        cmocka_unit_test(test_heterogeneity),
        cmocka_unit_test(test_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
