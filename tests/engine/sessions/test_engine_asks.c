/* test_engine_asks.c - prompts prefilled together leave what each leaves alone: without pictures, behind
 * pictures the cache knows, in later turns; who cannot go is as before, who is refused or cancelled
 * leaves the others alone.
 */
#include "tiny_run.h"

#define MOST 6

static const char *folder;
static answer alone[MOST], among[MOST]; /* too large for a stack */

/* Number i: without a picture if it is even. */
static question question_of(int i)
{
    static const char *const methods[] = { NULL,        "s2prune", "fastv",
                                           "visionzip", "s2prune", "random" };
    static const char *const texts[] = {
        "hello world user 0123456789 0123456789 0123456789 cde",
        "hello world <image> user 0123456789 0123456789 0123456789 cde",
        "0123456789 aaaa",
        "<image>u 0123456789 aaaa bcd cde",
    };
    question q = one_picture(methods[i % 6], 10 + 3 * i);
    q.raw = texts[i % 4];
    q.n_images = i % 2;
    return q;
}

static s2v_session_options options_of(int i)
{
    static const s2v_kv_type types[] = { S2V_KV_F32, S2V_KV_F16, S2V_KV_Q8_0 };
    s2v_session_options o = tiny_session_options();
    o.kv_type = types[i % 3];
    o.plain_attention = i == 4;
    o.n_ctx = 300 + 10 * i;
    return o;
}

typedef struct asked { /* what a call needs, and where it points */
    s2v_ask ask[MOST];
    s2v_prompt prompt[MOST];
    question question[MOST];
    size_t n, n_ran;
} asked;

static void add(asked *a, s2v_session *session, const question *q)
{
    const size_t i = a->n++;
    a->question[i] = *q;
    a->prompt[i] = prompt_of(&a->question[i]);
    a->ask[i] =
        (s2v_ask){ .session = session, .prompt = &a->prompt[i], .prune = &a->question[i].prune };
}

static void run(asked *a)
{
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2v_prefill_many(a->ask, a->n, &a->n_ran, &error) == S2P_OK, "%s", error.message);
}

static void assert_all_ran(const asked *a)
{
    assert_int_equal(a->n_ran, a->n);
    for (size_t i = 0; i < a->n; i++)
        CHECK_CASE(a->ask[i].status == S2P_OK, "%zu: %s", i, a->ask[i].error.message);
}

/* What the prefill left, and what is said then. */
static void take(s2v_session *session, const s2v_stats *stats, int32_t n_images, answer *a)
{
    take_prefill(session, stats, n_images, a);
    generate(session, a);
}

static void assert_alike(int i, const answer *expected, const answer *got, bool is_exact)
{
    const s2v_stats *a = &expected->stats, *b = &got->stats;
    CHECK_CASE(a->text_tokens == b->text_tokens && a->prompt_tokens == b->prompt_tokens &&
                   a->image_tokens == b->image_tokens && a->cached_tokens == b->cached_tokens &&
                   a->image_tokens_full == b->image_tokens_full && a->n_stages == b->n_stages &&
                   a->kv_total_bytes == b->kv_total_bytes &&
                   a->kv_visual_bytes == b->kv_visual_bytes,
               "session %d", i);
    assert_memory_equal(a->stage_after, b->stage_after, sizeof a->stage_after);
    assert_memory_equal(a->stage_tokens, b->stage_tokens, sizeof a->stage_tokens);
    assert_true(a->flops == b->flops);
    assert_true(b->prompt_ms > 0.0);
    const double first = distance(expected->first, got->first);
    CHECK_CASE(first <= (is_exact ? 1e-5 : 2e-3), "session %d: %g", i,
               first); /* as in test_engine_many */
    assert_same_answer(expected, got);
}

static void test_together(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open_caching();
    for (int n = 2; n <= MOST; n++) {
        s2v_session *session[MOST];
        asked a = { .n = 0 };
        for (int i = 0; i < n; i++) {
            const question q = question_of(i);
            const s2v_session_options o = options_of(i);
            session[i] = tiny_session(engine, &o);
            for (int time = 0; time < 2; time++) { /* the second knows the picture */
                s2v_session_reset(session[i]);
                ask(session[i], &q, &alone[i]);
            }
            s2v_session_reset(session[i]);
            add(&a, session[i], &q);
        }
        run(&a);
        assert_all_ran(&a);
        for (int i = 0; i < n; i++) {
            take(session[i], &a.ask[i].stats, a.question[i].n_images, &among[i]);
            assert_true(among[i].stats.layer0_ms == 0.0); /* it was no stage of its own */
            assert_alike(i, &alone[i], &among[i], options_of(i).kv_type == S2V_KV_F32);
        }
        for (int i = 0; i < n; i++) s2v_session_free(session[i]);
    }
    s2v_engine_close(engine);
}

/* Behind an answer that ended with a token not yet run, and a picture some layers of which have lost slots. */
static void test_later_turns(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open();
    s2v_session *session[2][3];
    const s2v_session_options o = tiny_session_options();
    question next = question_of(0);
    asked a = { .n = 0 };
    for (int time = 0; time < 2; time++)
        for (int i = 0; i < 3; i++) {
            static answer before;
            const question q = question_of(2 * i + 1);
            session[time][i] = tiny_session(engine, &o);
            ask(session[time][i], &q, &before);
        }
    for (int i = 0; i < 3; i++) {
        ask(session[0][i], &next, &alone[i]);
        add(&a, session[1][i], &next);
    }
    run(&a);
    assert_all_ran(&a);
    for (int i = 0; i < 3; i++) {
        take(session[1][i], &a.ask[i].stats, 0, &among[i]);
        assert_alike(i, &alone[i], &among[i], true);
        assert_int_equal(session[0][i]->next_pos, session[1][i]->next_pos);
        assert_non_null(s2v_session_plan(session[1][i], 0)); /* of the picture before */
    }
    for (int i = 0; i < 6; i++) s2v_session_free(session[i / 3][i % 3]);
    s2v_engine_close(engine);
}

/* --- who goes ------------------------------------------------------------------------------ */

static void test_who_goes(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open_caching();
    s2v_session_options o = tiny_session_options();
    const question text = question_of(0), picture = question_of(1);
    question brief = text;
    brief.raw = "aaaa";
    s2v_session *session[4];
    for (int i = 0; i < 4; i++) session[i] = tiny_session(engine, &o);

    /* a picture nobody has seen: the first goes without it, and it is as it was */
    asked a = { .n = 0 };
    add(&a, session[0], &text);
    add(&a, session[1], &picture);
    add(&a, session[2], &text);
    run(&a);
    assert_int_equal(a.n_ran, 1);
    assert_true(!a.ask[0].deferred && a.ask[1].deferred && a.ask[2].deferred);
    assert_int_equal(s2v_past_length(&session[1]->past, 0), 0);
    assert_int_equal(session[1]->next_pos, 0);
    assert_int_equal(s2v_past_length(&session[2]->past, 0), 0);

    /* first in line it goes alone; then it is known and goes with others */
    a = (asked){ .n = 0 };
    add(&a, session[1], &picture);
    add(&a, session[2], &text);
    run(&a);
    assert_int_equal(a.n_ran, 1);
    assert_int_equal(a.ask[0].stats.tower_runs, 1);
    for (int i = 0; i < 4; i++) s2v_session_reset(session[i]);
    a = (asked){ .n = 0 };
    add(&a, session[2], &text);
    add(&a, session[1], &picture);
    add(&a, session[3], &brief); /* another kernel's */
    run(&a);
    assert_int_equal(a.n_ran, 2);
    assert_true(a.ask[1].stats.cached_tokens > 0);
    assert_int_equal(s2v_past_length(&session[3]->past, 0), 0);

    /* known, but more rows than the first takes at once: what was recalled goes back */
    s2v_session_free(session[0]);
    o.n_batch = a.ask[0].stats.text_tokens + 9;
    session[0] = tiny_session(engine, &o);
    for (int i = 1; i < 4; i++) s2v_session_reset(session[i]);
    a = (asked){ .n = 0 };
    add(&a, session[0], &text);
    add(&a, session[1], &picture);
    run(&a);
    assert_int_equal(a.n_ran, 1);
    assert_int_equal(s2v_past_length(&session[1]->past, 0), 0);
    ask(session[1], &picture, &among[0]);
    ask(session[2], &picture, &alone[0]);
    assert_same_bits(&alone[0], &among[0]);
    for (int i = 0; i < 4; i++) s2v_session_free(session[i]);
    s2v_engine_close(engine);
}

/* A turn that does not go, or is refused, leaves the answer before it where it was. */
static void test_undone_turn(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open_caching();
    s2v_session *a = tiny_session(engine, NULL), *b = tiny_session(engine, NULL);
    const question text = question_of(0), picture = question_of(3);
    question refused = picture;
    refused.n_answer = 1 << 20;
    char piece[64];
    int done;
    assert_int_equal(prefill(b, &text, NULL, NULL), S2P_OK);
    assert_int_equal(s2v_session_next(b, piece, sizeof piece, &done, NULL), S2P_OK);
    const int32_t pending = b->pending, next_pos = b->next_pos,
                  n_slots = s2v_past_length(&b->past, 0);
    asked turn = { .n = 0 };
    add(&turn, a, &text);
    add(&turn, b, &picture);
    run(&turn);
    assert_int_equal(turn.n_ran, 1);
    assert_int_equal(prefill(b, &refused, NULL, NULL), S2P_ELIMIT);
    size_t n;
    (void)s2v_session_tokens(b, &n);
    assert_int_equal(n, 1);
    assert_int_equal(b->pending, pending);
    assert_int_equal(b->next_pos, next_pos);
    assert_int_equal(s2v_past_length(&b->past, 0), n_slots);
    assert_int_equal(s2v_session_next(b, piece, sizeof piece, &done, NULL), S2P_OK);
    s2v_session_free(a);
    s2v_session_free(b);
    s2v_engine_close(engine);
}

/* --- who is refused or leaves -------------------------------------------------------------- */

typedef struct watch {
    int n_told, stops_at; /* 0: never */
    s2v_session *other;   /* decodes meanwhile; NULL: none */
} watch;

static int told(const char *step, double done, void *user)
{
    watch *w = user;
    char piece[64];
    int is_done;
    (void)step;
    assert_true(done > 0.0 && done <= 1.0);
    if (w->other)
        assert_int_equal(s2v_session_next(w->other, piece, sizeof piece, &is_done, NULL), S2P_OK);
    return ++w->n_told == w->stops_at;
}

static void test_refused_and_cancelled(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open();
    const s2v_session_options o = tiny_session_options();
    s2v_session *session[4], *other = tiny_session(engine, &o);
    watch w[4] = { { .n_told = 0 } };
    const question q = question_of(0);
    question bad = q;
    bad.prune.method = "no such method";
    for (int i = 0; i < 4; i++) {
        session[i] = tiny_session(engine, &o);
        s2v_session_set_progress(session[i], told, &w[i]);
    }
    ask(session[0], &q, &alone[0]);
    s2v_session_reset(session[0]);
    assert_int_equal(prefill(other, &q, NULL, NULL), S2P_OK);

    w[0] = (watch){ .other = other };
    w[2] = (watch){ .stops_at = 3 };
    asked a = { .n = 0 };
    for (int i = 0; i < 4; i++) add(&a, session[i], i == 1 ? &bad : &q);
    run(&a);
    assert_int_equal(a.n_ran, 4);
    assert_int_equal(a.ask[1].status, S2P_EINVAL);
    assert_non_null(strstr(a.ask[1].error.message, "no such method"));
    assert_int_equal(a.ask[2].status, S2P_ECANCELLED);
    assert_int_equal(s2v_past_length(&session[2]->past, 0), 0);
    assert_int_equal(w[1].n_told, 0);
    assert_int_equal(w[2].n_told, 3);
    assert_int_equal(w[0].n_told, 2 * TINY_LAYERS + 1);
    for (int i = 0; i < 4; i += 3) {
        assert_int_equal(a.ask[i].status, S2P_OK);
        take(session[i], &a.ask[i].stats, 0, &among[0]);
        assert_alike(i, &alone[0], &among[0], true);
    }

    /* nobody waits any more: it stops there */
    a = (asked){ .n = 0 };
    for (int i = 0; i < 3; i++) {
        s2v_session_reset(session[i]);
        w[i] = (watch){ .stops_at = 1 + i };
        add(&a, session[i], &q);
    }
    run(&a);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(a.ask[i].status, S2P_ECANCELLED);
        assert_int_equal(w[i].n_told, 1 + i);
        assert_int_equal(s2v_past_length(&session[i]->past, 0), 0);
    }
    for (int i = 0; i < 4; i++) s2v_session_free(session[i]);
    s2v_session_free(other);
    s2v_engine_close(engine);
}

static void test_calls(void **state)
{
    (void)state;
    s2v_engine *engine = tiny_open(), *stranger = tiny_open();
    s2v_session *a = tiny_session(engine, NULL), *b = tiny_session(stranger, NULL);
    const question q = question_of(0);
    const s2v_prompt prompt = prompt_of(&q);
    s2v_ask asks[65] = { { .session = a, .prompt = &prompt }, { .session = b, .prompt = &prompt } };
    s2p_error error = { S2P_OK, "" };
    size_t n_ran = 7;
    assert_int_equal(s2v_prefill_many(asks, 2, &n_ran, &error), S2P_EINVAL);
    assert_int_equal(n_ran, 0);
    asks[1].session = a;
    assert_int_equal(s2v_prefill_many(asks, 2, &n_ran, &error), S2P_EINVAL);
    asks[1].session = NULL;
    assert_int_equal(s2v_prefill_many(asks, 2, &n_ran, &error), S2P_EINVAL);
    assert_int_equal(s2v_prefill_many(asks, 0, &n_ran, &error), S2P_ELIMIT);
    assert_int_equal(s2v_prefill_many(asks, 65, &n_ran, &error), S2P_ELIMIT);
    assert_int_equal(s2v_prefill_many(NULL, 1, &n_ran, &error), S2P_ELIMIT);
    asks[0].prompt = NULL;
    assert_int_equal(s2v_prefill_many(asks, 1, &n_ran, &error), S2P_EINVAL);
    asks[0].prompt = &prompt; /* prune NULL: every token */
    assert_int_equal(s2v_prefill_many(asks, 1, &n_ran, &error), S2P_OK);
    assert_int_equal(n_ran, 1);
    assert_int_equal(asks[0].status, S2P_OK);
    s2v_session_free(a);
    s2v_session_free(b);
    s2v_engine_close(engine);
    s2v_engine_close(stranger);
}

int main(int argc, char **argv)
{
    assert_true(argc > 1);
    folder = argv[1];
    tiny_write_plain(folder);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_together),
        cmocka_unit_test(test_later_turns),
        cmocka_unit_test(test_who_goes),
        cmocka_unit_test(test_undone_turn),
        cmocka_unit_test(test_refused_and_cancelled),
        cmocka_unit_test(test_calls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
