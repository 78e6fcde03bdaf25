/* test_eval.c - reading the benchmark, scoring, accuracies, intervals, tables; then the loop on the
 * bundled model. The first argument is a folder to write in, the second the source tree.
 */
#include "check.h"

#include "base/file.h"
#include "base/random.h"
#include "eval/evaluate.h"
#include "eval/report/documents.h"
#include "eval/run/fingerprint.h"
#include "eval/judging.h"
#include "image/image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *folder, *source;

static s2p_status read_text(const char *text, s2e_set *set, s2p_error *error)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/eval.json", folder);
    assert_int_equal(s2_file_write(path, text, strlen(text), NULL), S2P_OK);
    return s2e_task_find("synth")->read(folder, set, error);
}

#define Q(category, answer) \
    "{\"category\":\"" category "\",\"question\":\"?\",\"answer\":\"" answer "\"}"
#define PICTURE(h, questions) \
    "{\"image\":\"images/a.jpg\",\"heterogeneity\":" h ",\"questions\":[" questions "]}"

static const char small_set[] =
    "[" PICTURE("3", Q("color", "red") "," Q("count", "2")) "," /* high */
    PICTURE("1", Q("color", "blue")) ","                        /* low */
    PICTURE("2.5", Q("odd", "x") "," Q("color", "red")) "]";    /* medium */

/* --- reading ---------------------------------------------------------------- */

static void test_read(void **state)
{
    (void)state;
    s2e_set set;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(read_text(small_set, &set, &error), S2P_OK);
    assert_int_equal(set.n_pictures, 3);
    assert_int_equal(set.n_samples, 5);
    assert_string_equal(set.sample[0].category[0], "color");
    assert_string_equal(set.sample[3].category[0], "odd"); /* its own category */
    assert_string_equal(set.category[0], "exist");         /* the table's order */
    assert_int_equal(s2e_first_picture(&set.sample[2]), 1);
    assert_true(set.picture[2].heterogeneity == 2.5);
    s2e_set_limit(&set, 9); /* more than there are */
    assert_int_equal(set.n_samples, 5);
    s2e_set_limit(&set, 3);
    assert_int_equal(set.n_samples, 3);
    assert_int_equal(set.n_pictures, 2);
    s2e_set_free(&set);
}

static void test_refuse(void **state)
{
    (void)state;
    static const char *const bad[] = {
        "",
        "{}",
        "[]",
        "[{}]",
        "[1]",
        "[{\"image\":\"a.jpg\",\"questions\":[]}]",
        "[{\"image\":\"a.jpg\",\"questions\":[{\"category\":\"color\",\"question\":\"?\"}]}]",
        "[{\"image\":\"a.jpg\",\"questions\":[{\"category\":1,\"question\":\"?\",\"answer\":\"\"}]}"
        "]",
        "[{\"image\":\"/etc/passwd\",\"questions\":[" Q("color", "red") "]}]",
        "[{\"image\":\"../a.jpg\",\"questions\":[" Q("color", "red") "]}]",
        "[{\"image\":\"x/..\",\"questions\":[" Q("color", "red") "]}]",
        "[{\"image\":7,\"questions\":[" Q("color", "red") "]}]",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        s2e_set set;
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(read_text(bad[i], &set, &error) == S2P_EFORMAT, "%zu: %s", i, error.message);
        CHECK_CASE(!set.extras && !set.sample && error.message[0], "%zu", i);
    }
    char text[16384] = "[";
    for (int i = 0; i < S2E_MAX_CATEGORIES; i++) { /* eight are known: these are too many */
        char item[128];
        (void)snprintf(item, sizeof item,
                       "%s{\"image\":\"a\",\"questions\":[{\"category\":\"c%d\","
                       "\"question\":\"?\",\"answer\":\"\"}]}",
                       i ? "," : "", i);
        (void)strncat(text, item, sizeof text - strlen(text) - 1);
    }
    (void)strncat(text, "]", sizeof text - strlen(text) - 1);
    s2e_set set;
    assert_int_equal(read_text(text, &set, NULL), S2P_ELIMIT);
    assert_int_equal(s2e_task_find("synth")->read("/nowhere", &set, NULL), S2P_EIO);
    assert_null(s2e_task_find("popo"));
}

static void test_score(void **state)
{
    (void)state;
    static const struct {
        const char *answer;
        float score;
        size_t at, length;
    } cases[] = {
        { "top left", 1.0f, 0, 8 },  { " top left\n", 1.0f, 1, 8 }, { "top lef", 0.0f, 0, 7 },
        { "top left.", 0.0f, 0, 9 }, { "Top left", 0.0f, 0, 8 },    { "", 0.0f, 0, 0 },
    };
    const s2e_task *task = s2e_task_find("synth");
    const char *expected = "top left";
    const s2e_sample sample = { .question = "?", .answer = &expected, .n_answers = 1 };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (int p = 0; p < S2E_N_PROTOCOLS; p++) {
            s2e_verdict v = { .rule = NULL };
            assert_int_equal(task->judge(&sample, (s2e_protocol)p, NULL, cases[i].answer, &v, NULL),
                             S2P_OK);
            CHECK_CASE(v.score == cases[i].score, "%zu", i);
            CHECK_CASE(v.span_at == cases[i].at && v.span_length == cases[i].length, "%zu", i);
            assert_string_equal(v.rule, "exact");
            s2e_verdict_free(&v);
        }
}

/* --- figures ---------------------------------------------------------------- */

static void test_accuracy(void **state)
{
    (void)state;
    s2e_set set;
    assert_int_equal(read_text(small_set, &set, NULL), S2P_OK);
    const float score[] = { 1.0f, 0.0f, 1.0f, 1.0f, 0.25f };
    const s2e_accuracy a = s2e_accuracy_of(&set, score);
    const int32_t color = 1, exist = 0;
    assert_true(fabs(a.category[color] - 75.0) < 1e-9); /* (1 + 1 + 0.25) / 3 */
    assert_true(a.category[exist] < 0.0 && a.n_category[exist] == 0);
    assert_true(fabs(a.mean - (75.0 + 0.0 + 100.0) / 3.0) < 1e-9);
    assert_true(fabs(a.all - 65.0) < 1e-9);
    double third[3];
    assert_true(s2e_thirds(&set, score, third));
    assert_true(fabs(third[0] - 100.0) < 1e-9);
    assert_true(fabs(third[1] - 62.5) < 1e-9);
    assert_true(fabs(third[2] - 50.0) < 1e-9);
    set.picture[1].heterogeneity = -1.0; /* not stated */
    assert_false(s2e_thirds(&set, score, third));
    s2e_set_free(&set);
}

/* Pictures with four questions each; the second method is right wherever the first is, and more. */
static void test_bootstrap(void **state)
{
    (void)state;
    enum { PICTURES = 100, QUESTIONS = 4 * PICTURES };
    s2e_sample sample[QUESTIONS];
    int32_t picture[QUESTIONS];
    float worse[QUESTIONS], better[QUESTIONS];
    s2_random random = { 5 };
    for (int32_t i = 0; i < QUESTIONS; i++) {
        picture[i] = i / 4;
        sample[i] = (s2e_sample){ .picture = &picture[i], .n_pictures = 1 };
        worse[i] = s2_random_below(&random, 100) < 40 ? 1.0f : 0.0f;
        better[i] = s2_random_below(&random, 100) < 20 ? 1.0f : worse[i];
    }
    const s2e_set set = { .sample = sample, .n_pictures = PICTURES, .n_samples = QUESTIONS };
    s2e_interval one, gain, again, none;
    assert_int_equal(s2e_bootstrap(&set, better, NULL, &one), S2P_OK);
    assert_int_equal(s2e_bootstrap(&set, better, worse, &gain), S2P_OK);
    assert_int_equal(s2e_bootstrap(&set, better, worse, &again), S2P_OK);
    assert_int_equal(s2e_bootstrap(&set, better, better, &none), S2P_OK);
    assert_memory_equal(&gain, &again, sizeof gain);
    assert_true(none.value == 0.0 && none.low == 0.0 && none.high == 0.0);
    assert_true(gain.low > 0.0 && gain.low < gain.value && gain.value < gain.high);
    assert_true(one.low < one.value && one.value < one.high);
    /* 400 questions, half of them right: sqrt(.25 / 400) is 2.5 points, the interval four of them
     */
    assert_true(one.high - one.low > 6.0 && one.high - one.low < 14.0);
    assert_true(gain.high - gain.low < one.high - one.low); /* paired: the common part cancels */
}

/* --- tables ----------------------------------------------------------------- */

#define FULL             \
    {                    \
        .method = "full" \
    }
#define RANDOM_64                                     \
    {                                                 \
        .method = "random", .budget = {.tokens = 64 } \
    }
#define S2PRUNE_64                                     \
    {                                                  \
        .method = "s2prune", .budget = {.tokens = 64 } \
    }

static void test_report(void **state)
{
    (void)state;
    s2e_set set;
    assert_int_equal(read_text(small_set, &set, NULL), S2P_OK);
    float full[] = { 1, 1, 1, 1, 1 }, ours[] = { 1, 0, 1, 1, 1 }, other[] = { 0, 0, 0.5f, 0, 1 };
    s2e_result result[] = {
        { .column = { "full", "full", "-", 1 }, .score = { full }, .image_tokens = 576 },
        { .column = { "random", "random", "64", 2 },
          .budget = { .tokens = 64 },
          .score = { other },
          .image_tokens = 64 },
        { .column = { "s2prune", "s2prune", "64", 1 },
          .budget = { .tokens = 64 },
          .score = { ours },
          .image_tokens = 64 },
    };
    const s2e_task_results results = { s2e_task_find("synth"), &set, result, 3 };
    const s2e_report report = {
        .model = "m", .results = &results, .reference = "s2prune", .is_first = true
    };
    static const struct {
        s2e_format format;
        const char *part;
    } parts[] = {
        { S2E_TEXT, "synth with m: 3 pictures, 5 questions" },
        { S2E_TEXT, "\nrandom              64   +50.0 " },
        { S2E_MARKDOWN, "| full | 576 | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 |" },
        { S2E_MARKDOWN, "|---|---:|" },
        { S2E_MARKDOWN, "| s2prune | 64 | 100.0 | 100.0 | 50.0 |" },
        { S2E_CSV, "synth,random,64,2,color,3,50.0000," },
        { S2E_CSV, "synth,s2prune,64,1,all,5,80.0000," },
        { S2E_JSON, "\"reference_gain\":{\"value\":50.0" },
    };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        s2_buffer out;
        s2_buffer_init(&out, 1 << 20);
        assert_int_equal(s2e_report_write(&report, parts[i].format, &out), S2P_OK);
        s2_buffer_append(&out, "", 1);
        CHECK_CASE(strstr((const char *)out.data, parts[i].part), "%zu: %s", i,
                   (const char *)out.data);
        s2_buffer_free(&out);
    }
    s2e_set_free(&set);
}

/* A share is compared with the same share, not with a budget that happens to be as large. */
static void test_report_of_shares(void **state)
{
    (void)state;
    s2e_set set;
    assert_int_equal(read_text(small_set, &set, NULL), S2P_OK);
    float ours[] = { 1, 0, 1, 1, 1 }, other[] = { 0, 0, 0.5f, 0, 1 };
    s2e_result result[] = {
        { .column = { "s2prune", "s2prune", "12.5%", 1 },
          .budget = { .percent = 12.5 },
          .score = { ours } },
        { .column = { "dart", "dart", "12.5%", 1 },
          .budget = { .percent = 12.5 },
          .score = { other } },
        { .column = { "fastv", "fastv", "72", 1 }, .budget = { .tokens = 72 }, .score = { other } },
    };
    const s2e_task_results results = { s2e_task_find("synth"), &set, result, 3 };
    const s2e_report report = {
        .model = "m", .results = &results, .is_published = true, .reference = "s2prune"
    };
    s2_buffer text, out;
    s2_buffer_init(&text, 1 << 20);
    s2_buffer_init(&out, 1 << 20);
    assert_int_equal(s2e_report_write(&report, S2E_TEXT, &text), S2P_OK);
    s2_buffer_append(&text, "", 1);
    assert_non_null(strstr((const char *)text.data, "percent right; methods as published"));
    assert_int_equal(s2e_report_write(&report, S2E_JSON, &out), S2P_OK);
    json_t *root = NULL;
    assert_int_equal(s2_json_parse(out.data, out.size, "report", &root, NULL), S2P_OK);
    assert_string_equal(s2_json_string(root, "mode"), "published");
    const json_t *list = json_object_get(root, "results");
    assert_true(json_real_value(json_object_get(json_array_get(list, 0), "budget_percent")) ==
                12.5);
    assert_non_null(json_object_get(json_array_get(list, 1), "reference_gain"));
    assert_null(json_object_get(json_array_get(list, 2), "reference_gain"));
    assert_null(json_object_get(json_array_get(list, 2), "budget_percent"));
    json_decref(root);
    s2_buffer_free(&out);
    s2_buffer_free(&text);
    s2e_set_free(&set);
}

/* --- with the model --------------------------------------------------------- */

static s2v_engine *open_bundled(void)
{
    char model[1024], mmproj[1024];
    (void)snprintf(model, sizeof model, "%s/models/s2prune-tiny/s2prune-tiny-f16.gguf", source);
    (void)snprintf(mmproj, sizeof mmproj, "%s/models/s2prune-tiny/mmproj-s2prune-tiny-f16.gguf",
                   source);
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = model;
    options.mmproj_path = mmproj;
    options.cache_bytes = (uint64_t)256 << 20;
    s2v_engine *engine;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_engine_open(&engine, &options, &error);
    CHECK_CASE(st == S2P_OK, "%s", error.message);
    return engine;
}

static const float *logits_of(s2v_session *session, const s2p_image *image, const char *text)
{
    const s2v_message message = { .role = S2V_USER, .text = text, .n_images = 1 };
    const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                .messages = &message,
                                .n_messages = 1,
                                .images = image,
                                .n_images = 1 };
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    prune.method = "s2prune";
    s2v_session_reset(session);
    assert_int_equal(s2v_session_prefill(session, &prompt, &prune, NULL, NULL), S2P_OK);
    return s2v_session_logits(session);
}

/* A remembered picture gives the same bits, and one changed pixel is another picture. */
static void test_keep_picture(void **state)
{
    (void)state;
    s2v_engine *engine = open_bundled();
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    s2v_session *fresh, *keeping;
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.no_cache = 1;
    assert_int_equal(s2v_session_create(&fresh, engine, &options, NULL), S2P_OK);
    options.no_cache = 0;
    options.pictures_only = 1;
    assert_int_equal(s2v_session_create(&keeping, engine, &options, NULL), S2P_OK);
    char path[1024];
    s2_image picture[2];
    for (int i = 0; i < 2; i++) {
        (void)snprintf(path, sizeof path, "%s/data/synth/images/000%d.jpg", source, i);
        assert_int_equal(s2_image_load(path, S2_PIXELS_REFERENCE, NULL, &picture[i], NULL), S2P_OK);
    }
    static const char *const ask[] = { "Read the word.", "Where is the word?", "Is there a ring?" };
    const size_t n = (size_t)info.n_vocab * sizeof(float);
    for (size_t i = 0; i < 6; i++) {
        if (i == 4) picture[0].pixels[3 * 300 * 672] ^= 0x80; /* i = 4: question 1, picture 0 */
        const s2p_image *image = &picture[i == 3].view;
        const float *expected = logits_of(fresh, image, ask[i % 3]);
        const float *got = logits_of(keeping, image, ask[i % 3]);
        CHECK_CASE(memcmp(expected, got, n) == 0, "question %zu", i);
    }
    for (int i = 0; i < 2; i++) s2_image_free(&picture[i]);
    s2v_session_free(fresh);
    s2v_session_free(keeping);
    s2v_engine_close(engine);
}

static s2v_session *session_of(s2v_engine *engine)
{
    s2v_session_options options;
    s2v_session_options_init(&options);
    s2v_session *session;
    assert_int_equal(s2v_session_create(&session, engine, &options, NULL), S2P_OK);
    return session;
}

static const s2v_image_options whole = { .size = sizeof(s2v_image_options),
                                         .framing = S2V_FRAMING_BASE };

/* A store in memory that says what it is about. */
static s2e_store *store_of(const char *methods, int32_t n_samples)
{
    char task[64];
    (void)snprintf(task, sizeof task, "{\"samples\":%d}", n_samples);
    s2e_store *store;
    json_t *values = json_pack("{s:s, s:s, s:s}", "is.methods", methods, "is.tasks", "synth",
                               "is.task.synth", task);
    assert_int_equal(s2e_store_open(NULL, S2E_STORE_WRITE, &store, NULL), S2P_OK);
    assert_int_equal(s2e_fingerprint_agree(store, values, "memory", NULL), S2P_OK);
    json_decref(values);
    return store;
}

typedef struct heard {
    int64_t done, stop_at; /* safe answers; cancel with so many, 0: never */
} heard;

static void hear(const s2e_progress *p, void *user)
{
    heard *h = user;
    assert_true(p->done > h->done && p->todo > 0 && p->n_failures == 0);
    assert_true(p->right >= 0.0 && p->right <= p->n_right);
    h->done = p->done;
}

static bool stop(void *user)
{
    const heard *h = user;
    return h->stop_at > 0 && h->done >= h->stop_at;
}

static void test_evaluate(void **state)
{
    (void)state;
    char data[1024];
    (void)snprintf(data, sizeof data, "%s/data/synth", source);
    s2v_engine *engine = open_bundled();
    const s2e_task *task = s2e_task_find("synth");
    s2e_set set;
    assert_int_equal(task->read(data, &set, NULL), S2P_OK);
    assert_true(set.n_pictures >= 200 && set.n_samples >= 1600 && set.n_categories == 8);
    s2e_set_limit(&set, 17);
    s2a_setting setting[] = { FULL, RANDOM_64, S2PRUNE_64 };
    for (int i = 0; i < 3; i++) s2a_setting_use(&setting[i], setting[i].method);
    const s2e_asking asking = { task, &set, 8 };
    heard h = { 0, 0 };
    s2e_evaluation job = { .session = session_of(engine),
                           .image_options = &whole,
                           .task = &asking,
                           .n_tasks = 1,
                           .setting = setting,
                           .n_settings = 3,
                           .n_seeds = 2,
                           .shard = { 0, 1, NULL },
                           .store = store_of("full/-,random/64*2,s2prune/64", 17),
                           .keeps_selections = true,
                           .watch = { hear, stop, &h } };
    assert_int_equal(s2e_evaluation_answers(&job), 17 * 4);
    assert_int_equal(s2e_evaluate(&job, NULL), S2P_OK);
    assert_int_equal(h.done, 17 * 4);
    const s2e_set *sets[] = { &set };
    s2e_results results, again;
    assert_int_equal(s2e_results_load(job.store, sets, &results, NULL), S2P_OK);
    const s2e_result *result = results.task[0].result;
    assert_true(result[0].image_tokens > 575.9 && fabs(result[2].image_tokens - 64.0) < 1e-6);
    assert_true(s2e_accuracy_of(&set, result[0].score[S2E_PAPER]).all > 80.0);
    assert_true(s2e_accuracy_of(&set, result[2].score[S2E_PAPER]).all >
                s2e_accuracy_of(&set, result[1].score[S2E_PAPER]).all);
    double best;
    assert_true(fabs(s2e_result_headline(&result[2], S2E_PAPER, &best) -
                     s2e_accuracy_of(&set, result[2].score[S2E_PAPER]).all) < 1e-4);

    /* Stopped, gone on, in two parts, with prefixes computed anew: the same answers. */
    s2e_store *first = job.store;
    s2v_session *keeping = job.session;
    s2v_session_options plain;
    s2v_session_options_init(&plain);
    plain.pictures_only = 1;
    assert_int_equal(s2v_session_create(&job.session, engine, &plain, NULL), S2P_OK);
    job.store = store_of("full/-,random/64*2,s2prune/64", 17);
    job.keeps_selections = false;
    h = (heard){ 0, 3 };
    assert_int_equal(s2e_evaluate(&job, NULL), S2P_ECANCELLED);
    assert_true(h.done >= 3 && h.done < 17 * 4);
    assert_int_equal(s2e_results_load(job.store, sets, &again, NULL), S2P_EFORMAT); /* not whole */
    int64_t n = 0;
    assert_int_equal(s2e_store_count(job.store, NULL, false, &n, NULL), S2P_OK);
    assert_int_equal(n, h.done);
    int64_t of_parts = 0;
    for (int32_t i = 0; i < 2; i++) {
        h = (heard){ 0, 0 };
        job.shard = (s2e_shard){ i, 2, NULL };
        of_parts += s2e_evaluation_answers(&job);
        assert_int_equal(s2e_evaluate(&job, NULL), S2P_OK);
    }
    assert_int_equal(of_parts, 17 * 4);
    assert_int_equal(s2e_results_load(job.store, sets, &again, NULL), S2P_OK);
    for (int i = 0; i < 3; i++)
        assert_memory_equal(result[i].score[0], again.task[0].result[i].score[0],
                            17 * sizeof(float));
    s2e_results_free(&again);
    s2e_results_free(&results);
    s2e_store_close(first);
    s2e_store_close(job.store);
    s2v_session_free(job.session);
    s2v_session_free(keeping);
    s2e_set_free(&set);
    s2v_engine_close(engine);
}

/* Shares and modes reach the engine: 12.5 % of 576, and DART's four more than it was asked for. */
static void test_shares_and_modes(void **state)
{
    (void)state;
    char data[1024];
    (void)snprintf(data, sizeof data, "%s/data/synth", source);
    s2v_engine *engine = open_bundled();
    const s2e_task *task = s2e_task_find("synth");
    s2e_set set;
    assert_int_equal(task->read(data, &set, NULL), S2P_OK);
    s2e_set_limit(&set, 2);
    static const struct {
        s2a_setting setting;
        const char *column;
        double kept;
    } cases[] = {
        { { .budget = { .percent = 12.5 } }, "dart/12.5%", 72.0 },
        { { .budget = { .percent = 12.5 }, .published = true }, "dart[published]/12.5%", 76.0 },
        { { .budget = { .tokens = 64 }, .published = true }, "dart[published]/64", 68.0 },
    };
    const s2e_asking asking = { task, &set, 2 };
    const s2e_set *sets[] = { &set };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2a_setting setting = cases[i].setting;
        s2a_setting_use(&setting, "dart");
        const s2e_evaluation job = { .session = session_of(engine),
                                     .image_options = &whole,
                                     .task = &asking,
                                     .n_tasks = 1,
                                     .setting = &setting,
                                     .n_settings = 1,
                                     .n_seeds = 1,
                                     .shard = { 0, 1, NULL },
                                     .store = store_of(cases[i].column, 2) };
        s2e_results results;
        assert_int_equal(s2e_evaluate(&job, NULL), S2P_OK);
        assert_int_equal(s2e_results_load(job.store, sets, &results, NULL), S2P_OK);
        CHECK_CASE(fabs(results.task[0].result[0].image_tokens - cases[i].kept) < 1e-6, "%zu: %g",
                   i, results.task[0].result[0].image_tokens);
        s2e_results_free(&results);
        s2e_store_close(job.store);
        s2v_session_free(job.session);
    }
    s2e_set_free(&set);
    s2v_engine_close(engine);
}

/* A picture that cannot be read costs its own samples; a model that refuses the first ends it. */
static void test_failures(void **state)
{
    (void)state;
    static const char text[] = "[" PICTURE("1", Q("color", "red")) "]";
    s2v_engine *engine = open_bundled();
    s2e_set set;
    assert_int_equal(read_text(text, &set, NULL), S2P_OK); /* its picture is not there */
    s2a_setting setting = S2PRUNE_64;
    s2a_setting_use(&setting, setting.method);
    const s2e_asking asking = { s2e_task_find("synth"), &set, 2 };
    const s2e_set *sets[] = { &set };
    s2e_evaluation job = { .session = session_of(engine),
                           .image_options = &whole,
                           .task = &asking,
                           .n_tasks = 1,
                           .setting = &setting,
                           .n_settings = 1,
                           .n_seeds = 1,
                           .shard = { 0, 1, NULL },
                           .store = store_of("s2prune/64", 1) };
    s2e_results results;
    int64_t n = 0;
    assert_int_equal(s2e_evaluate(&job, NULL), S2P_OK);
    assert_int_equal(s2e_store_count(job.store, "synth", true, &n, NULL), S2P_OK);
    assert_int_equal(n, 1);
    assert_int_equal(s2e_results_load(job.store, sets, &results, NULL), S2P_OK);
    double best;
    assert_true(s2e_result_headline(&results.task[0].result[0], S2E_PAPER, &best) == 0.0);
    assert_int_equal(results.task[0].result[0].n_failures, 1);
    s2e_results_free(&results);
    s2e_store_close(job.store);
    s2e_set_free(&set);

    char data[1024];
    (void)snprintf(data, sizeof data, "%s/data/synth", source);
    assert_int_equal(s2e_task_find("synth")->read(data, &set, NULL), S2P_OK);
    s2e_set_limit(&set, 1);
    setting.choice.side = 9; /* 81 regions for 64 tokens */
    job.store = store_of("s2prune/64", 1);
    assert_int_equal(s2e_evaluate(&job, NULL), S2P_EBUDGET);
    assert_int_equal(s2e_store_count(job.store, NULL, false, &n, NULL), S2P_OK);
    assert_int_equal(n, 0);
    s2e_store_close(job.store);
    s2v_session_free(job.session);
    s2e_set_free(&set);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    if (argc < 3) return 2;
    folder = argv[1];
    source = argv[2];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_read),
        cmocka_unit_test(test_refuse),
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_accuracy),
        cmocka_unit_test(test_bootstrap),
        cmocka_unit_test(test_report),
        cmocka_unit_test(test_keep_picture),
        cmocka_unit_test(test_evaluate),
        cmocka_unit_test(test_report_of_shares),
        cmocka_unit_test(test_shares_and_modes),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
