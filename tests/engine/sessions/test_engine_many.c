/* test_engine_many.c - sessions that decode together say what each says alone: of different lengths,
 * methods, budgets and caches, coming and going; one that cannot go on leaves the others alone.
 */
#include "tiny_llava.h"

#define MOST 9 /* more than one round of rows */

static const char *folder;
static answer alone[MOST]; /* too large for a stack */

static const char *const texts[] = {
    "hello world <image> aaaa bcd",
    "<image>u",
    "hello world <image> user cde 0123456789 0123456789 0123456789 0123456789",
};

/* What session i of the crowd is asked, and how. */
static question question_of(bool is_llava, int i)
{
    static const char *const methods[] = { "s2prune", NULL, "fastv", "visionzip", "random" };
    const char *method = methods[i % 5];
    question q = is_llava ? llava_question(method, 5 + i, 150, 110, S2V_FRAMING_BASE)
                          : one_picture(method, 10 + 3 * i);
    q.raw = texts[i % 3];
    return q;
}

static s2v_session_options options_of(int i)
{
    static const s2v_kv_type types[] = { S2V_KV_F32, S2V_KV_F16, S2V_KV_Q8_0 };
    s2v_session_options o = tiny_session_options();
    o.kv_type = types[i % 3];
    if (i % 2) o.kv_type_v = types[(i + 1) % 3];
    o.plain_attention = i == 5;
    o.n_batch = i % 2 ? 30 : 0;
    o.n_threads = 1 + i % 2;
    o.n_ctx = 300 + 10 * i;
    if (i % 4 == 3) { /* drawn, not the first maximum */
        o.sampling.temperature = 0.8f;
        o.sampling.top_k = 20;
        o.sampling.repeat_penalty = 1.1f;
        o.sampling.seed = 7 + (uint64_t)i;
    }
    return o;
}

static s2v_engine *open_pair(bool is_llava)
{
    if (is_llava) {
        vocabulary_init(&tiny_words);
        llava_text(&tiny_text_file);
        llava_mmproj(&tiny_mmproj_file);
        tiny_write_pair(folder, "llava", &tiny_text_file, &tiny_mmproj_file);
    } else {
        tiny_write_plain(folder);
    }
    return tiny_open();
}

/* Session i has been alone; `session` is it among others. */
static void assert_like_alone(int i, const s2v_session *session, const char *text)
{
    size_t n;
    const int32_t *tokens = s2v_session_tokens(session, &n);
    assert_int_equal(n, MAX_ANSWER);
    CHECK_CASE(memcmp(tokens, alone[i].token, sizeof alone[i].token) == 0, "session %d", i);
    assert_string_equal(text, alone[i].text);
    /* A product that is added up in another order may be rounded to another number of the cache. */
    const double d = distance(alone[i].last, s2v_session_logits(session));
    const s2v_kv_types *type = &session->past.type;
    const bool is_exact = type->k == GGML_TYPE_F32 && type->v == GGML_TYPE_F32;
    CHECK_CASE(d <= (is_exact ? 1e-5 : 2e-3), "session %d: %g", i, d);
}

/* n sessions; number i joins at step i / 2 and leaves when its answer is complete. */
static void run_together(s2v_engine *engine, bool is_llava, int n)
{
    s2v_session *session[MOST] = { NULL };
    char text[MOST][1024] = { "" };
    int n_said[MOST] = { 0 }, n_left = n;
    for (int at = 0; n_left > 0; at++) {
        s2v_step steps[MOST];
        int who[MOST], n_steps = 0;
        for (int i = 0; i < n; i++) {
            if (at == i / 2) {
                const question q = question_of(is_llava, i);
                const s2v_session_options o = options_of(i);
                session[i] = tiny_session(engine, &o);
                assert_int_equal(prefill(session[i], &q, NULL, NULL), S2P_OK);
            }
            if (!session[i] || n_said[i] == MAX_ANSWER) continue;
            const size_t used = strlen(text[i]);
            who[n_steps] = i;
            steps[n_steps++] = (s2v_step){ .session = session[i],
                                           .text = text[i] + used,
                                           .capacity = sizeof text[i] - used };
        }
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(s2v_decode_many(steps, (size_t)n_steps, &error) == S2P_OK, "%s", error.message);
        for (int k = 0; k < n_steps; k++) {
            const int i = who[k];
            CHECK_CASE(steps[k].status == S2P_OK && !steps[k].done, "session %d: %s", i,
                       steps[k].error.message);
            if (++n_said[i] < MAX_ANSWER) continue;
            assert_like_alone(i, session[i], text[i]);
            s2v_session_free(session[i]);
            session[i] = NULL;
            n_left--;
        }
    }
}

static void test_together(void **state)
{
    (void)state;
    for (int is_llava = 0; is_llava < 2; is_llava++) {
        s2v_engine *engine = open_pair(is_llava);
        for (int i = 0; i < MOST; i++) {
            const question q = question_of(is_llava, i);
            const s2v_session_options o = options_of(i);
            s2v_session *session = tiny_session(engine, &o);
            ask(session, &q, &alone[i]);
            s2v_session_free(session);
        }
        for (int n = 1; n <= MOST; n++) run_together(engine, is_llava, n);
        s2v_engine_close(engine);
    }
}

/* --- one that cannot go on --------------------------------------------------------------- */

static void test_full_context(void **state)
{
    (void)state;
    s2v_engine *engine = open_pair(false);
    question q = one_picture("s2prune", 10);
    s2v_session_options o = tiny_session_options();
    s2v_session *session[3];
    static answer probe;
    session[0] = tiny_session(engine, &o);
    ask(session[0], &q, &alone[0]);
    s2v_session_free(session[0]);
    session[0] = tiny_session(engine, &o);
    prefill_only(session[0], &q, &probe);
    o.n_ctx = probe.stats.text_tokens + probe.stats.image_tokens_full; /* just the prompt */
    q.prune.method = NULL;
    session[1] = tiny_session(engine, &o);
    prefill_only(session[1], &q, &probe);
    session[2] = tiny_session(engine, NULL); /* was never asked */
    char text[3][1024] = { "" };
    int n_full = 0;
    for (int at = 0; at < MAX_ANSWER; at++) {
        s2v_step steps[3];
        for (int i = 0; i < 3; i++)
            steps[i] = (s2v_step){ .session = session[2 - i],
                                   .text = text[2 - i] + strlen(text[2 - i]),
                                   .capacity = 64 };
        assert_int_equal(s2v_decode_many(steps, 3, NULL), S2P_OK);
        assert_int_equal(steps[0].status, S2P_EINVAL);
        assert_true(steps[0].error.message[0] != '\0');
        assert_int_equal(steps[2].status, S2P_OK);
        n_full += steps[1].status == S2P_ELIMIT;
    }
    assert_int_equal(n_full, MAX_ANSWER - 1); /* the first token needs no slot */
    assert_like_alone(0, session[0], text[0]);
    size_t n;
    (void)s2v_session_tokens(session[1], &n);
    assert_int_equal(n, 1);
    for (int i = 0; i < 3; i++) s2v_session_free(session[i]);
    s2v_engine_close(engine);
}

static void test_refused(void **state)
{
    (void)state;
    s2v_engine *engine = open_pair(false), *stranger = tiny_open();
    const question q = one_picture("s2prune", 10);
    s2v_session *a = tiny_session(engine, NULL), *b = tiny_session(stranger, NULL);
    assert_int_equal(prefill(a, &q, NULL, NULL), S2P_OK);
    assert_int_equal(prefill(b, &q, NULL, NULL), S2P_OK);
    char text[64];
    s2p_error error = { S2P_OK, "" };
    s2v_step steps[65] = { { .session = a, .text = text, .capacity = sizeof text },
                           { .session = b, .text = text, .capacity = sizeof text } };
    assert_int_equal(s2v_decode_many(steps, 2, &error), S2P_EINVAL);
    steps[1].session = a;
    assert_int_equal(s2v_decode_many(steps, 2, &error), S2P_EINVAL);
    steps[1].session = NULL;
    assert_int_equal(s2v_decode_many(steps, 2, &error), S2P_EINVAL);
    assert_int_equal(s2v_decode_many(steps, 0, &error), S2P_ELIMIT);
    assert_int_equal(s2v_decode_many(steps, 65, &error), S2P_ELIMIT);
    size_t n;
    (void)s2v_session_tokens(a, &n);
    assert_int_equal(n, 0);
    steps[0].capacity = 0; /* no room for text is fine */
    assert_int_equal(s2v_decode_many(steps, 1, &error), S2P_OK);
    assert_int_equal(steps[0].status, S2P_OK);
    s2v_session_free(a);
    s2v_session_free(b);
    s2v_engine_close(engine);
    s2v_engine_close(stranger);
}

/* --- while another is prefilled ---------------------------------------------------------- */

typedef struct crowd {
    s2v_step step[3];
    char text[2][1024];
    int n_steps;
} crowd;

static int advance(const char *name, double done, void *user)
{
    crowd *c = user;
    (void)name, (void)done;
    if (c->n_steps == MAX_ANSWER) return 0;
    for (int i = 0; i < 2; i++) {
        c->step[i].text = c->text[i] + strlen(c->text[i]);
        c->step[i].capacity = 64;
    }
    assert_int_equal(s2v_decode_many(c->step, 3, NULL), S2P_OK);
    assert_int_equal(c->step[2].status, S2P_EINVAL); /* the one that is prefilled */
    c->n_steps++;
    return 0;
}

static void test_during_a_prefill(void **state)
{
    (void)state;
    s2v_engine *engine = open_pair(false);
    static crowd c;
    static answer newcomer, expected;
    for (int i = 0; i < 2; i++) {
        const question q = question_of(false, i);
        s2v_session_options o = options_of(i);
        c.step[i].session = tiny_session(engine, &o);
        ask(c.step[i].session, &q, &alone[i]);
        s2v_session_reset(c.step[i].session);
        assert_int_equal(prefill(c.step[i].session, &q, NULL, NULL), S2P_OK);
    }
    const question q = question_of(false, 2);
    s2v_session_options o = options_of(2);
    s2v_session *session = tiny_session(engine, &o);
    ask(session, &q, &expected);
    s2v_session_reset(session);
    c.step[2].session = session;
    s2v_session_set_progress(session, advance, &c);
    ask(session, &q, &newcomer);
    assert_same_bits(&expected, &newcomer);
    assert_int_equal(c.n_steps, MAX_ANSWER);
    for (int i = 0; i < 2; i++) assert_like_alone(i, c.step[i].session, c.text[i]);
    for (int i = 0; i < 3; i++) s2v_session_free(c.step[i].session);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    assert_true(argc > 1);
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_full_context),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_during_a_prefill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
