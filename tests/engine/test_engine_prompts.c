/* test_engine_prompts.c - options, prompts and pictures that cannot be, and small ones that can.
 *
 * After each refusal the same session still answers.
 */
#include "changed_pair.h"

static answer given;

/* --- sessions ---------------------------------------------------------------------- */

static void test_session_options(void **state)
{
    (void)state;
    s2v_session *session;
    s2p_error error;
    s2v_session_options o = tiny_session_options();
    static const int32_t contexts[] = { -1, (1 << 20) + 1, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < COUNT_OF(contexts); i++) {
        o = tiny_session_options();
        o.n_ctx = contexts[i];
        assert_int_equal(s2v_session_create(&session, good, &o, &error), S2P_EINVAL);
        o = tiny_session_options();
        o.n_batch = contexts[i];
        assert_int_equal(s2v_session_create(&session, good, &o, &error), S2P_EINVAL);
        assert_null(session);
    }
    o = tiny_session_options();
    o.kv_type = (s2v_kv_type)7;
    assert_int_equal(s2v_session_create(&session, good, &o, &error), S2P_EINVAL);

    const question q = one_picture("s2prune", 18);
    for (int i = 0; i < 6; i++) {
        o = tiny_session_options();
        if (i == 0) o.sampling.temperature = NAN;
        if (i == 1) o.sampling.temperature = -1.0f;
        if (i == 2) o.sampling.top_p = 0.0f;
        if (i == 3) o.sampling.min_p = 2.0f;
        if (i == 4) o.sampling.repeat_penalty = 0.0f;
        if (i == 5) o.sampling.top_k = -1;
        session = tiny_session(good, &o);
        CHECK_CASE(prefill(session, &q, NULL, &error) == S2P_EINVAL, "%d", i);
        s2v_session_free(session);
    }

    changed = text_file; /* heads of 16: no block of 32 fits */
    tiny_find_key(&changed, "qwen2vl.attention.head_count")->value[0] = 4;
    tiny_find_key(&changed, "qwen2vl.attention.head_count_kv")->value[0] = 2;
    tiny_key *sections = tiny_find_key(&changed, "qwen2vl.rope.dimension_sections");
    for (int i = 0; i < 3; i++) sections->value[i] = i == 0 ? 2 : 3;
    s2v_engine *engine;
    assert_int_equal(open_changed(true, &engine, &error), S2P_OK);
    o = tiny_session_options();
    o.kv_type = S2V_KV_Q8_0;
    assert_int_equal(s2v_session_create(&session, engine, &o, &error), S2P_EUNSUPPORTED);
    s2v_engine_close(engine);
}

static void test_one_layer(void **state)
{
    (void)state;
    tiny_text(&changed, &tiny_words, 1);
    s2p_error error;
    question q = one_picture("s2prune", 18);
    assert_int_equal(prefill_changed(true, &q, &error), S2P_EUNSUPPORTED);
    q = one_picture(NULL, 0);
    assert_int_equal(prefill_changed(true, &q, &error), S2P_OK);
}

/* --- prompts ----------------------------------------------------------------------- */

static s2p_status say(const question *q, const s2v_session_options *o, s2p_error *error)
{
    s2v_session *session = tiny_session(good, o);
    *error = (s2p_error){ S2P_OK, "" };
    const s2p_status st = prefill(session, q, NULL, error);
    assert_true(st == S2P_OK || (error->status == st && error->message[0]));
    if (st != S2P_OK) { /* nothing is left of it */
        int done;
        char text[8];
        assert_int_equal(s2v_past_length(&session->past, 0), 0);
        assert_int_equal(s2v_session_next(session, text, sizeof text, &done, NULL), S2P_EINVAL);
        const question fine = one_picture("s2prune", 18);
        ask(session, &fine, &given);
    }
    s2v_session_free(session);
    return st;
}

static void test_prompts(void **state)
{
    (void)state;
    s2v_session_options o = tiny_session_options();
    s2p_error error;
    question q = one_picture("s2prune", 18);
    static const struct {
        const char *raw;
        int32_t n_images;
        s2p_status status;
    } cases[] = {
        { "", 0, S2P_EINVAL },
        { "hello", 0, S2P_OK },
        { "hello <image>", 0, S2P_EINVAL },
        { "hello", 1, S2P_EINVAL },
        { "<image><image>", 1, S2P_EINVAL },
        { "<image>", 1, S2P_OK },
        { "<image>", -1, S2P_ELIMIT },
        { "<image>", 65, S2P_ELIMIT },
        { "<image>", INT32_MAX, S2P_ELIMIT },
        { "caf\xe9 <image>", 1, S2P_EFORMAT },
        { "\xed\xa0\x80 <image>", 1, S2P_EFORMAT },
        { "\xf4\x90\x80\x80 <image>", 1, S2P_EFORMAT },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        q.raw = cases[i].raw;
        q.n_images = cases[i].n_images;
        const s2p_status st = say(&q, &o, &error);
        CHECK_CASE(st == cases[i].status, "'%s', %d: %s", q.raw, q.n_images, error.message);
    }

    s2v_session *session = tiny_session(good, &o);
    const s2v_message none = { .role = S2V_USER, .text = "" };
    s2v_prompt prompt = { .size = sizeof(s2v_prompt), .messages = NULL };
    assert_int_equal(s2v_session_prefill(session, &prompt, NULL, NULL, &error), S2P_EINVAL);
    prompt = (s2v_prompt){ .size = sizeof(s2v_prompt), .messages = &none, .n_messages = 0 };
    assert_int_equal(s2v_session_prefill(session, &prompt, NULL, NULL, &error), S2P_EINVAL);
    prompt = (s2v_prompt){ .size = sizeof(s2v_prompt), .raw = "<image>", .n_images = 1 };
    assert_int_equal(s2v_session_prefill(session, &prompt, NULL, NULL, &error), S2P_EINVAL);
    prompt = (s2v_prompt){ .size = sizeof(s2v_prompt),
                           .messages = &none,
                           .n_messages = 1 }; /* a template is not empty */
    assert_int_equal(s2v_session_prefill(session, &prompt, NULL, NULL, &error), S2P_OK);
    s2v_session_free(session);
}

static void test_contexts(void **state)
{
    (void)state;
    s2v_session_options o = tiny_session_options();
    s2p_error error;
    question q = one_picture("s2prune", 18);
    s2v_session *session = tiny_session(good, &o);
    prefill_only(session, &q, &given);
    const int32_t left = s2v_past_length(&session->past, 0),
                  n = left + 63 - 18; /* before pruning */
    s2v_session_free(session);

    o.n_ctx = left - 1;
    assert_int_equal(say(&(question){ .raw = "hello" }, &o, &error), S2P_OK);
    session = tiny_session(good, &o);
    assert_int_equal(prefill(session, &q, NULL, &error), S2P_ELIMIT);
    char numbers[128];
    (void)snprintf(numbers, sizeof numbers,
                   "%d tokens of the prompt are more than the context of %d", left, left - 1);
    assert_non_null(strstr(error.message, numbers));
    s2v_session_free(session);

    o.n_ctx = n; /* all of it fits; what pruning frees is room for the answer */
    session = tiny_session(good, &o);
    assert_int_equal(prefill(session, &q, NULL, &error), S2P_OK);
    int done, n_said = 0;
    char text[64];
    s2p_status st;
    while ((st = s2v_session_next(session, text, sizeof text, &done, &error)) == S2P_OK) n_said++;
    assert_int_equal(st, S2P_ELIMIT);
    assert_int_equal(n_said, 63 - 18 + 1); /* the last one needs no cell */
    assert_int_equal(s2v_session_next(session, text, sizeof text, &done, &error), S2P_ELIMIT);
    size_t n_tokens;
    (void)s2v_session_tokens(session, &n_tokens);
    assert_int_equal(n_tokens, n_said);
    s2v_session_reset(session);
    q.n_answer = 63 - 18;
    assert_int_equal(prefill(session, &q, NULL, &error), S2P_OK);
    s2v_stats stats;
    q.n_answer++; /* known before the tower runs, and the conversation stays as it is */
    assert_int_equal(prefill(session, &(question){ .raw = "hello", .n_answer = n }, NULL, &error),
                     S2P_ELIMIT);
    assert_int_equal(s2v_session_length(session), n - 63 + 18);
    s2v_session_reset(session);
    assert_int_equal(prefill(session, &q, &stats, &error), S2P_ELIMIT);
    assert_int_equal(stats.tower_runs, 0);
    assert_int_equal(stats.image_tokens_full, 63);
    q.prune.method = NULL; /* all of it stays */
    q.n_answer = 1;
    assert_int_equal(prefill(session, &q, NULL, &error), S2P_ELIMIT);
    s2v_session_free(session);
}

static void test_many_pictures(void **state)
{
    (void)state;
    static uint8_t pixels[64 * 64 * 3];
    static s2p_image images[64];
    static char raw[64 * 8 + 16];
    s2v_session_options o = tiny_session_options();
    s2p_error error;
    for (int i = 0; i < 64; i++) images[i] = make_picture(pixels, 64, 64, 3);
    static const int32_t counts[] = { 0, 20, 64 };
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        raw[0] = '\0';
        for (int32_t k = 0; k < counts[i]; k++)
            (void)snprintf(raw + strlen(raw), sizeof raw - strlen(raw), "<image>");
        (void)snprintf(raw + strlen(raw), sizeof raw - strlen(raw), " hello");
        const s2v_prompt prompt = {
            .size = sizeof(s2v_prompt), .raw = raw, .images = images, .n_images = counts[i]
        };
        s2v_prune_options prune;
        s2v_prune_options_init(&prune);
        prune.method = "s2prune";
        prune.budget.tokens = 3;
        s2v_stats stats;
        s2v_session *session = tiny_session(good, &o);
        const s2p_status st = s2v_session_prefill(session, &prompt, &prune, &stats, &error);
        CHECK_CASE(st == S2P_OK, "%d pictures: %s", counts[i], error.message);
        assert_int_equal(stats.image_tokens, 3 * counts[i]);
        assert_int_equal(s2v_session_plan(session, counts[i]) == NULL, 1);
        assert_null(s2v_session_plan(session, -1));
        s2v_session_free(session);
    }
}

static void test_budgets(void **state)
{
    (void)state;
    const s2v_session_options o = tiny_session_options();
    s2p_error error;
    static const int32_t budgets[] = { 0, -1, INT32_MIN };
    for (size_t i = 0; i < COUNT_OF(budgets); i++) {
        question q = one_picture("s2prune", budgets[i]);
        assert_int_equal(say(&q, &o, &error), S2P_EBUDGET);
        q = one_picture("random", 18);
        const s2v_budget of_picture = { .tokens = budgets[i] };
        q.prune.image_budget = &of_picture;
        assert_int_equal(say(&q, &o, &error), S2P_EBUDGET);
    }
    question q = one_picture("no such method", 18);
    assert_int_equal(say(&q, &o, &error), S2P_EINVAL);
    for (size_t i = 0; s2v_method_name(i); i++) { /* what is offered runs */
        const bool fits =
            s2p_method_about(s2p_method_at(i))->n_stages < good->model.decoder.p.n_layers;
        q = one_picture(s2v_method_name(i), 18);
        assert_int_equal(say(&q, &o, &error), fits ? S2P_OK : S2P_EUNSUPPORTED);
    }
    q = one_picture("s2prune", 18);
    q.prune.choice.allocator = "no such allocator";
    assert_int_equal(say(&q, &o, &error), S2P_EINVAL);
    q = one_picture("s2prune", 18);
    q.prune.choice.selector = "no such selector";
    assert_int_equal(say(&q, &o, &error), S2P_EINVAL);
    q = one_picture("s2prune", 62);
    q.prune.choice.side = 8; /* the picture has 7 rows of tokens */
    assert_int_not_equal(say(&q, &o, &error), S2P_OK);
    q.prune.choice.side = -1;
    assert_int_not_equal(say(&q, &o, &error), S2P_OK);
    q = one_picture("s2prune", 18);
    q.prune.choice.side = 5; /* 25 regions, 18 tokens */
    assert_int_equal(say(&q, &o, &error), S2P_EBUDGET);
    q.prune.budget.percent = NAN; /* no share: the count stands */
    q.prune.choice.side = 0;
    assert_int_equal(say(&q, &o, &error), S2P_OK);
}

/* --- pictures ---------------------------------------------------------------------- */

static int n_notes;
static char last_note[256];

static void take_note(const char *text, void *user)
{
    (void)user;
    n_notes++;
    (void)snprintf(last_note, sizeof last_note, "%s", text);
}

static void test_small_pictures(void **state)
{
    (void)state;
    static uint8_t pixels[3 * 600 * 3];
    static const struct {
        int32_t width, height, budget, side;
        bool is_stretched; /* to 9x7 tokens */
        s2p_status status;
        bool is_noted;
    } cases[] = {
        { 1, 1, 3, 0, false, S2P_OK, true },
        { 2, 2, 3, 0, false, S2P_OK, true },
        { 2, 90, 3, 0, false, S2P_OK, true },
        { 1, 200, 3, 0, false, S2P_OK, true },
        { 3, 3, 3, 0, false, S2P_OK, false },
        { 3, 500, 3, 0, false, S2P_OK, false },
        { 500, 3, 3, 0, false, S2P_OK, false },
        { 4, 4, 30, 5, true, S2P_OK, true }, /* a region without a pixel */
        { 5, 5, 30, 5, true, S2P_OK, false },
        { 1, 1, 63, 0, true, S2P_OK, false }, /* nothing to choose */
        { 1, 201, 3, 0, false, S2P_EUNSUPPORTED, false },
        { 600, 2, 3, 0, false, S2P_EUNSUPPORTED, false },
    };
    s2v_engine_options options = tiny_options();
    options.note = take_note;
    s2v_engine *engine;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_OK);
    const s2v_session_options o = tiny_session_options();
    s2v_session *session = tiny_session(engine, &o);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        question q = one_picture("s2prune", cases[i].budget);
        q.image[0] = make_picture(pixels, cases[i].width, cases[i].height, 7);
        if (!cases[i].is_stretched)
            q.size[0] = (s2v_image_options){ .size = sizeof(s2v_image_options), .width = 0 };
        q.prune.choice.side = cases[i].side;
        n_notes = 0;
        s2v_stats stats;
        const s2p_status st = prefill(session, &q, &stats, &error);
        CHECK_CASE(st == cases[i].status, "%dx%d: %d %s", cases[i].width, cases[i].height, (int)st,
                   st == S2P_OK ? "" : error.message);
        if (st == S2P_OK) assert_int_equal(stats.image_tokens, cases[i].budget);
        CHECK_CASE(n_notes == cases[i].is_noted, "%dx%d: %d notes", cases[i].width, cases[i].height,
                   n_notes);
        if (n_notes > 0) assert_non_null(strstr(last_note, "too small"));
        s2v_session_reset(session);
    }
    s2v_session_free(session);
    s2v_engine_close(engine);
}

static void test_wrong_pictures(void **state)
{
    (void)state;
    const s2v_session_options o = tiny_session_options();
    s2p_error error;
    const question fine = one_picture("s2prune", 18);
    for (int i = 0; i < 6; i++) {
        question q = fine;
        if (i == 0) q.image[0].pixels = NULL;
        if (i == 1) q.image[0].width = 0;
        if (i == 2) q.image[0].height = -5;
        if (i == 3) q.image[0].stride = 3 * 180 - 1;
        if (i == 4) q.image[0].stride = -540;
        if (i == 5) q.image[0].width = INT32_MAX;
        const s2p_status st = say(&q, &o, &error);
        CHECK_CASE(st == S2P_EINVAL || st == S2P_ELIMIT, "%d: %d", i, (int)st);
    }
    static const s2v_image_options sizes[] = {
        { .width = 27, .height = 28 },
        { .width = 28 },
        { .height = 28 },
        { .width = -28, .height = 28 },
        { .width = 28, .height = 29 },
        { .width = 28 * 129, .height = 28 * 129 },
        { .width = 28 * 76695844 - 28 * 4, .height = 28 * 76695840 },
        { .min_pixels = 100, .max_pixels = 10 },
        { .min_pixels = INT64_MAX },
    };
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
        question q = fine;
        q.size[0] = sizes[i];
        q.size[0].size = sizeof q.size[0];
        const s2p_status st = say(&q, &o, &error);
        CHECK_CASE(st == S2P_EINVAL || st == S2P_ELIMIT, "%zu: %d", i, (int)st);
    }
}

/* The file's limits hold up to 1,280 tokens; those of the prompt before them. */
static void test_picture_limits(void **state)
{
    (void)state;
    static const int64_t side = TINY_TOKEN_SIDE, usual = 1280 * side * side;
    static const struct {
        int64_t low, high, taken; /* high 0: not in the file */
        int64_t asked;
        int32_t n_tokens; /* of 180x140 pixels, 6x5 by themselves */
    } cases[] = {
        { 1, 0, usual, 0, 30 },
        { 1, 12 * side * side, 12 * side * side, 0, 9 },
        { 1, 12 * side * side, 12 * side * side, 20 * side * side, 15 },
        { 1, usual, usual, 0, 30 },
        { 1, 16384 * side * side, usual, 0, 30 },
        { 40 * side * side, 16384 * side * side, usual, 0, 48 },
        { 1281 * side * side, 16384 * side * side, 16384 * side * side, 0, -1 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_engine *engine;
        s2v_engine_info info;
        s2p_error error = { S2P_OK, "" };
        changed = mmproj_file;
        tiny_number(&changed, "clip.vision.image_min_pixels", U32, (double)cases[i].low);
        if (cases[i].high)
            tiny_number(&changed, "clip.vision.image_max_pixels", U32, (double)cases[i].high);
        assert_int_equal(open_changed(false, &engine, &error), S2P_OK);
        s2v_engine_get_info(engine, &info);
        CHECK_CASE(info.max_pixels == cases[i].taken && info.file_max_pixels == cases[i].high,
                   "%zu: %lld", i, (long long)info.max_pixels);
        const s2v_session_options o = tiny_session_options();
        s2v_session *session = tiny_session(engine, &o);
        question q = one_picture("s2prune", 4);
        q.size[0] =
            (s2v_image_options){ .size = sizeof(s2v_image_options), .max_pixels = cases[i].asked };
        if (cases[i].n_tokens > 0) {
            prefill_only(session, &q, &given);
            CHECK_CASE(given.stats.image_tokens_full == cases[i].n_tokens, "%zu: %d tokens", i,
                       given.stats.image_tokens_full);
        }
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
}

/* --- cancelling ---------------------------------------------------------------------- */

static int n_steps, cancel_at;

static int count_steps(const char *step, double done, void *user)
{
    (void)user;
    assert_true(step[0] && done >= 0.0 && done <= 1.0);
    return ++n_steps == cancel_at;
}

static void test_cancelling(void **state)
{
    (void)state;
    const question q = one_picture("s2prune", 18);
    s2v_session_options o = tiny_session_options();
    o.n_batch = 20;
    s2v_engine_options options = tiny_options();
    options.progress = count_steps;
    int n_cancelled = 0, is_over = 0;
    for (cancel_at = 1; !is_over; cancel_at++) {
        s2v_engine *engine;
        s2p_error error = { S2P_OK, "" };
        n_steps = 0;
        s2p_status st = s2v_engine_open(&engine, &options, &error);
        s2v_session *session = NULL;
        if (st == S2P_OK) {
            session = tiny_session(engine, &o);
            st = prefill(session, &q, NULL, &error);
        }
        assert_true(st == S2P_OK || st == S2P_ECANCELLED);
        if (st == S2P_ECANCELLED) n_cancelled++;
        if (st == S2P_ECANCELLED && session) ask(session, &q, &given); /* and it works again */
        is_over = st == S2P_OK;
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
    CHECK_CASE(n_cancelled >= 7, "%d steps", n_cancelled); /* weights, vision, 4 chunks, 2 chunks */
}

static void test_small_texts(void **state)
{
    (void)state;
    const s2v_session_options o = tiny_session_options();
    const question q = one_picture("s2prune", 18);
    s2v_session *session = tiny_session(good, &o);
    ask(session, &q, &given);
    s2v_session_reset(session);
    s2p_error error;
    assert_int_equal(prefill(session, &q, NULL, &error), S2P_OK);
    for (int i = 0; i < MAX_ANSWER; i++) {
        char text[4] = "???";
        int done;
        const size_t capacity = (size_t)(i % 3);
        assert_int_equal(s2v_session_next(session, text, capacity, &done, &error), S2P_OK);
        assert_int_equal(text[capacity], '?');
        if (capacity > 0) assert_true(strlen(text) < capacity);
    }
    size_t n;
    assert_memory_equal(s2v_session_tokens(session, &n), given.token, sizeof given.token);
    s2v_session_free(session);
    s2v_session_free(NULL);
    s2v_engine_close(NULL);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_session_options), cmocka_unit_test(test_one_layer),
        cmocka_unit_test(test_prompts),         cmocka_unit_test(test_contexts),
        cmocka_unit_test(test_many_pictures),   cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_small_pictures),  cmocka_unit_test(test_wrong_pictures),
        cmocka_unit_test(test_picture_limits),  cmocka_unit_test(test_cancelling),
        cmocka_unit_test(test_small_texts),
    };
    return cmocka_run_group_tests(tests, open_good, close_good);
}
