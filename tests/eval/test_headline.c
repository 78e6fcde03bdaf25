/* test_headline.c - intervals of F1, of sums over pairs and of whole groups: those of counts by
 * picture are those of the benchmark's own arithmetic on sets made of the drawn pictures.
 */
#include "check.h"

#include "base/random.h"
#include "base/statistics.h"
#include "eval/judging.h"
#include "eval/report/results.h"
#include "eval/run/fingerprint.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PICTURES = 24, EACH = 4, SAMPLES = PICTURES * EACH };

typedef struct made { /* a run of two columns, the second with two seeds */
    const s2e_task *task;
    s2e_set set;
    s2e_store *store;
    s2e_results results;
} made;

/* Two pairs to a picture, in one of three categories; odd pictures are asked less. */
static void make_set(const char *task, s2e_set *set)
{
    static const char *const categories[] = { "random", "popular", "count" };
    assert_int_equal(s2e_set_start(set, "/", NULL), S2P_OK);
    for (int i = 0; i < SAMPLES; i++) {
        char name[40], id[60], group[40];
        const int picture = i / EACH, pair = i % EACH / 2;
        const bool is_options = strncmp(task, "mmbench", 7) == 0 || strcmp(task, "mmstar") == 0;
        const char *answer = is_options ? "A" : i % 3 ? "yes" : "no";
        const char *category = categories[picture % 3];
        const s2e_choice choice[] = { { 'A', "one" }, { 'B', "two" } };
        int32_t number;
        if (picture % 5 == 4 && i % EACH > 1) continue;
        (void)snprintf(name, sizeof name, "%d.jpg", picture);
        (void)snprintf(group, sizeof group, "%d/%d", picture, pair);
        (void)snprintf(id, sizeof id, "%s%s", group, i % 2 ? "/b" : "");
        const s2e_picture seen = { .file = name, .heterogeneity = -1.0 };
        assert_int_equal(s2e_set_add_picture(set, name, &seen, &number, NULL), S2P_OK);
        assert_true(s2e_set_category(set, category) >= 0);
        const s2e_sample draft = { .id = id,
                                   .question = "?",
                                   .hint = "",
                                   .answer = &answer,
                                   .n_answers = 1,
                                   .choice = choice,
                                   .n_choices = is_options ? 2 : 0,
                                   .category = &category,
                                   .n_categories = 1,
                                   .group = group,
                                   .picture = &number,
                                   .n_pictures = 1 };
        assert_int_equal(s2e_set_add(set, &draft, NULL, NULL), S2P_OK);
    }
    assert_int_equal(s2e_set_finish(set, NULL), S2P_OK);
}

static void make(made *m, const char *name, const char *protocol)
{
    char task[64], key[40];
    m->task = s2e_task_find(name);
    make_set(name, &m->set);
    (void)snprintf(task, sizeof task, "{\"samples\":%d,\"data\":\"h\"}", m->set.n_samples);
    (void)snprintf(key, sizeof key, "is.task.%s", name);
    json_t *values = json_pack("{s:s, s:s, s:s, s:s}", "is.methods", "s2prune/64,random/64*2",
                               "is.tasks", name, key, task, "is.protocol", protocol);
    assert_int_equal(s2e_store_open(NULL, S2E_STORE_WRITE, &m->store, NULL), S2P_OK);
    assert_int_equal(s2e_fingerprint_agree(m->store, values, "memory", NULL), S2P_OK);
    json_decref(values);
    s2_random random = { 7 };
    for (int run = 0; run < 3; run++)
        for (int32_t i = 0; i < m->set.n_samples; i++) {
            static const char *const yes_no[] = { "yes", "yes", "no", "no idea at all" };
            const uint32_t drawn = s2_random_below(&random, 10);
            const s2e_record r = { .task = name,
                                   .sample = m->set.sample[i].id,
                                   .method = run == 0 ? "s2prune" : "random",
                                   .budget = "64",
                                   .seed = run == 2,
                                   .text = m->set.sample[i].n_choices ? drawn < 8 ? "A" : "B"
                                                                      : yes_no[drawn % 4] };
            assert_int_equal(s2e_store_add(m->store, &r, NULL), S2P_OK);
        }
    assert_int_equal(s2e_store_commit(m->store, NULL), S2P_OK);
    const s2e_set *sets[] = { &m->set };
    assert_int_equal(s2e_results_load(m->store, sets, &m->results, NULL), S2P_OK);
}

/* The benchmark's own number on a set in which the units stand as often as they were drawn. */
static double slow_value(const made *m, s2e_protocol protocol, const s2e_verdict *verdict,
                         const int32_t *first, const int32_t *unit, int32_t n_units)
{
    enum { ROOM = PICTURES * EACH };
    static s2e_sample sample[ROOM];
    static s2e_verdict copy[ROOM];
    static char group[ROOM][60], id[ROOM][60];
    s2e_set set = m->set;
    s2e_figures figures = { .figure = NULL };
    int32_t n = 0;
    for (int32_t u = 0; u < n_units; u++)
        for (int32_t i = first[unit[u]]; i < first[unit[u] + 1]; i++, n++) {
            sample[n] = m->set.sample[i];
            copy[n] = verdict[i];
            (void)snprintf(group[n], sizeof group[n], "%d %s", u, sample[n].group);
            (void)snprintf(id[n], sizeof id[n], "%d %s", u, sample[n].id);
            sample[n].group = group[n];
            sample[n].id = id[n];
        }
    set.sample = sample;
    set.n_samples = n;
    assert_int_equal(m->task->aggregate(&set, protocol, copy, &figures, NULL), S2P_OK);
    const double value = s2e_headline(&figures)->value;
    s2e_figures_free(&figures);
    return value;
}

static void check(const char *name, const char *protocol_name)
{
    enum { ROUNDS = S2E_RESAMPLES };
    static double drawn[2][ROUNDS];
    made m;
    make(&m, name, protocol_name);
    const s2e_task_results *task = &m.results.task[0];
    const s2e_protocol protocol = m.results.protocol;
    int32_t first[PICTURES + 1], n_units = 0;
    for (int32_t i = 0; i < m.set.n_samples; i++)
        if (i == 0 || m.set.sample[i].picture[0] != m.set.sample[i - 1].picture[0])
            first[n_units++] = i;
    first[n_units] = m.set.n_samples;
    s2e_judged judged[3];
    for (int run = 0; run < 3; run++)
        assert_int_equal(s2e_judged_load(m.store, m.task, &m.set, &task->result[run > 0].column,
                                         run == 2, NULL, NULL, &judged[run], NULL),
                         S2P_OK);
    s2_random random = { 1 };
    for (int r = 0; r < ROUNDS; r++) {
        int32_t unit[PICTURES];
        double value[3];
        for (int32_t u = 0; u < n_units; u++)
            unit[u] = (int32_t)s2_random_below(&random, (uint32_t)n_units);
        for (int run = 0; run < 3; run++)
            value[run] =
                slow_value(&m, protocol, judged[run].verdict[protocol], first, unit, n_units);
        drawn[0][r] = value[0];
        drawn[1][r] = value[0] - (value[1] + value[2]) / 2.0;
    }
    for (int paired = 0; paired < 2; paired++) {
        s2e_interval interval;
        double best;
        const s2e_result *one = &task->result[0], *other = paired ? &task->result[1] : NULL;
        s2_sort_numbers(drawn[paired], ROUNDS);
        assert_int_equal(s2e_headline_interval(task, protocol, one, other, &interval), S2P_OK);
        const double value = s2e_result_headline(one, protocol, &best) -
                             (other ? s2e_result_headline(other, protocol, &best) : 0.0);
        CHECK_CASE(fabs(interval.value - value) < 1e-9, "%s: %.9g is not %.9g", name,
                   interval.value, value);
        CHECK_CASE(fabs(interval.low - drawn[paired][ROUNDS / 40]) < 1e-9 &&
                       fabs(interval.high - drawn[paired][ROUNDS - 1 - ROUNDS / 40]) < 1e-9,
                   "%s: [%.9g, %.9g] is not [%.9g, %.9g]", name, interval.low, interval.high,
                   drawn[paired][ROUNDS / 40], drawn[paired][ROUNDS - 1 - ROUNDS / 40]);
        assert_true(interval.low < interval.value && interval.value < interval.high);
    }
    for (int run = 0; run < 3; run++) s2e_judged_free(&judged[run]);
    s2e_results_free(&m.results);
    s2e_store_close(m.store);
    s2e_set_free(&m.set);
}

static void test_f1(void **state)
{
    (void)state;
    check("pope", "paper");
    check("pope", "vlmevalkit");
}

static void test_pairs(void **state)
{
    (void)state;
    check("mme", "official");
}

static void test_groups(void **state)
{
    (void)state;
    check("mmbench", "vlmevalkit"); /* circular */
    check("mmbench", "paper");      /* all rows */
    check("mmstar", "lmms");        /* the mean of its skills */
    check("mmstar", "official");    /* all questions */
}

/* Pixels are those of what the model saw, and the store says how large that was: 8 tokens of 28 pixels
 * stand for the 200 pixels of the data. */
static void test_what_was_seen(void **state)
{
    (void)state;
    static const char *const grids[] = { "[[4,8]]", NULL, "[[4,8],[1,1]]", "[[]]" };
    static const float right[] = { 1.0f, 0.0f, 1.0f, 0.0f };
    const s2e_task *task = s2e_task_find("refcoco");
    s2e_store *store;
    s2e_set set = { .n_samples = 0 };
    assert_int_equal(s2e_store_open(NULL, S2E_STORE_WRITE, &store, NULL), S2P_OK);
    assert_int_equal(s2e_set_start(&set, "/", NULL), S2P_OK);
    for (int i = 0; i < 4; i++) {
        const char id[] = { (char)('a' + i), 0 };
        const s2e_sample draft = { .id = id, .question = "?", .hint = "" };
        json_t *extra = json_pack("{s:[ffff], s:f, s:f}", "box", 150.0, 0.0, 200.0, 20.0, "width",
                                  200.0, "height", 100.0);
        assert_int_equal(s2e_set_add(&set, &draft, extra, NULL), S2P_OK);
        const s2e_record r = { .task = "refcoco",
                               .sample = id,
                               .method = "full",
                               .budget = "-",
                               .text = "[168, 2, 224, 22.4]",
                               .grids = grids[i] };
        assert_int_equal(s2e_store_add(store, &r, NULL), S2P_OK);
    }
    assert_int_equal(s2e_store_commit(store, NULL), S2P_OK);
    assert_int_equal(s2e_set_finish(&set, NULL), S2P_OK);
    s2e_judged judged;
    const s2e_column column = { "full", "full", "-", 1 };
    assert_int_equal(s2e_judged_load(store, task, &set, &column, 0, NULL, NULL, &judged, NULL),
                     S2P_OK);
    for (int i = 0; i < 4; i++)
        CHECK_CASE(judged.verdict[S2E_OFFICIAL][i].score == right[i], "%d: %s", i,
                   judged.verdict[S2E_OFFICIAL][i].extracted);
    s2e_judged_free(&judged);
    s2e_set_free(&set);
    s2e_store_close(store);
}

/* A mean in another unit: hits of 1000 for OCRBench. */
static void test_mean(void **state)
{
    (void)state;
    made m;
    s2e_interval interval, mean;
    double best;
    make(&m, "ocrbench", "paper");
    const s2e_task_results *task = &m.results.task[0];
    const s2e_result *one = &task->result[0];
    assert_int_equal(s2e_headline_interval(task, S2E_PAPER, one, NULL, &interval), S2P_OK);
    assert_int_equal(s2e_interval_of(&m.set, one->score[S2E_PAPER], &mean), S2P_OK);
    const double hits = s2e_result_headline(one, S2E_PAPER, &best);
    assert_true(fabs(interval.value - hits) < 1e-9 && hits > 0.0);
    assert_true(fabs(interval.low / mean.low - hits / mean.value) < 1e-9);
    s2e_results_free(&m.results);
    s2e_store_close(m.store);
    s2e_set_free(&m.set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_f1),     cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_groups), cmocka_unit_test(test_what_was_seen),
        cmocka_unit_test(test_mean),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
