/* test_engine_fork.c - a conversation that goes on twice, or in another process: the same bits as if
 * it had gone on where it was. A file that is not as it was written changes nothing.
 */
#include "tiny_llava.h"

#include "base/file.h"
#include "engine/session/session_file.h"

#include <sys/stat.h>
#include <unistd.h>

static const char *folder;
static answer whole, rest; /* too large for a stack */
static s2v_engine *engine;

static int open_engine(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    engine = tiny_open();
    return 0;
}

static int close_engine(void **state)
{
    (void)state;
    s2v_engine_close(engine);
    return 0;
}

static s2v_session_options small_options(s2v_kv_type type)
{
    s2v_session_options o = tiny_session_options();
    o.kv_type = type;
    o.n_threads = 1;
    o.n_ctx = 200;
    return o;
}

/* `n` tokens of an answer, as the first of `a`. */
static void say(s2v_session *session, int n, char *text, size_t capacity)
{
    for (int i = 0; i < n; i++) {
        const size_t at = strlen(text);
        int done;
        assert_int_equal(s2v_session_next(session, text + at, capacity - at, &done, NULL), S2P_OK);
    }
}

static char *file_path(const char *name)
{
    static char path[600];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* --- the same ------------------------------------------------------------------------------ */

/* After n tokens of it the answer goes on in `other`, which says the rest of `whole`. */
static void assert_goes_on(s2v_session *other, int n, const char *said)
{
    size_t n_tokens;
    char text[1024] = "";
    say(other, MAX_ANSWER - n, text, sizeof text);
    const int32_t *tokens = s2v_session_tokens(other, &n_tokens);
    assert_int_equal(n_tokens, MAX_ANSWER);
    assert_memory_equal(tokens, whole.token, sizeof whole.token);
    assert_memory_equal(s2v_session_logits(other), whole.last, sizeof whole.last);
    assert_int_equal(strlen(said) + strlen(text), strlen(whole.text));
    assert_string_equal(text, whole.text + strlen(said));
}

static void check_place(const question *q, const s2v_session_options *o, int n)
{
    s2p_error error = { S2P_OK, "" };
    s2v_session *session = tiny_session(engine, o), *forked, *restored = tiny_session(engine, o);
    ask(session, q, &whole);
    s2v_session_reset(session);
    char said[1024] = "";
    assert_int_equal(prefill(session, q, NULL, NULL), S2P_OK);
    say(session, n, said, sizeof said);
    CHECK_CASE(s2v_session_fork(&forked, session, NULL, &error) == S2P_OK, "%s", error.message);
    CHECK_CASE(s2v_session_save(session, file_path("place"), &error) == S2P_OK, "%s",
               error.message);
    if (n % 2) assert_int_equal(prefill(restored, q, NULL, NULL), S2P_OK); /* it was elsewhere */
    CHECK_CASE(s2v_session_restore(restored, file_path("place"), &error) == S2P_OK, "%s",
               error.message);
    assert_int_equal(s2v_session_length(restored), s2v_session_length(session));
    assert_goes_on(forked, n, said);
    assert_goes_on(restored, n, said);
    assert_goes_on(session, n, said); /* neither took anything from it */

    /* And another turn. */
    question next = *q;
    next.raw = "aaaa <image> bcd hello";
    answer *turn = &whole;
    prefill_only(session, &next, turn);
    prefill_only(forked, &next, &rest);
    assert_same_bits(turn, &rest);
    prefill_only(restored, &next, &rest);
    assert_same_bits(turn, &rest);
    s2v_session_free(session);
    s2v_session_free(forked);
    s2v_session_free(restored);
}

static void test_places(void **state)
{
    (void)state;
    static const char *const methods[] = { "s2prune", NULL, "fastv" };
    static const s2v_kv_type types[] = { S2V_KV_F16, S2V_KV_F32, S2V_KV_Q8_0 };
    static const int places[] = { 0, 1, 7 };
    for (int m = 0; m < 3; m++)
        for (int i = 0; i < 3; i++) {
            const question q = one_picture(methods[m], 12);
            s2v_session_options o = small_options(types[(m + i) % 3]);
            if (i == 1) o.kv_type_v = types[m];
            if (i == 2) { /* draws and penalties go on as well */
                o.sampling.temperature = 0.9f;
                o.sampling.repeat_penalty = 1.2f;
                o.sampling.seed = 11;
            }
            check_place(&q, &o, places[i]);
        }
}

/* Text that was held back is said by whoever goes on. */
static void test_held_text(void **state)
{
    (void)state;
    const question q = one_picture("s2prune", 12);
    s2v_session_options o = small_options(S2V_KV_F16);
    s2v_session *session = tiny_session(engine, &o);
    ask(session, &q, &whole);
    s2v_session_free(session);
    char stop[1040];
    (void)snprintf(stop, sizeof stop, "%s-never", whole.text);
    const char *const stops[] = { stop };
    o.sampling.stop = stops;
    o.sampling.n_stop = 1;
    char text[1024] = "";
    session = tiny_session(engine, &o);
    assert_int_equal(prefill(session, &q, NULL, NULL), S2P_OK);
    say(session, MAX_ANSWER, text, sizeof text);
    assert_string_equal(text, ""); /* all of it may be the beginning */
    s2v_session *forked, *restored = tiny_session(engine, &o), *other;
    s2v_session_options plain = small_options(S2V_KV_F16);
    assert_int_equal(s2v_session_fork(&forked, session, NULL, NULL), S2P_OK);
    assert_int_equal(s2v_session_fork(&other, session, &plain, NULL), S2P_OK);
    assert_int_equal(s2v_session_save(session, file_path("held"), NULL), S2P_OK);
    assert_int_equal(s2v_session_restore(restored, file_path("held"), NULL), S2P_OK);
    s2v_session_get_rest(forked, text, sizeof text);
    assert_string_equal(text, whole.text);
    s2v_session_get_rest(restored, text, sizeof text);
    assert_string_equal(text, whole.text);
    int done;
    assert_int_equal(s2v_session_next(other, text, sizeof text, &done, NULL), S2P_OK);
    assert_memory_equal(text, whole.text, strlen(whole.text)); /* nothing to wait for */
    s2v_session_free(session);
    s2v_session_free(forked);
    s2v_session_free(restored);
    s2v_session_free(other);
}

static void test_fork_refused(void **state)
{
    (void)state;
    const question q = one_picture(NULL, 0);
    s2v_session_options o = small_options(S2V_KV_F16);
    s2v_session *session = tiny_session(engine, &o), *forked = session;
    assert_int_equal(prefill(session, &q, NULL, NULL), S2P_OK);
    o.kv_type = S2V_KV_F32;
    assert_int_equal(s2v_session_fork(&forked, session, &o, NULL), S2P_EINVAL);
    assert_null(forked);
    o.kv_type = S2V_KV_F16;
    o.n_ctx = 20;
    assert_int_equal(s2v_session_fork(&forked, session, &o, NULL), S2P_ELIMIT);
    assert_null(forked);
    s2v_session_free(session);

    session = tiny_session(engine, NULL); /* nothing yet */
    assert_int_equal(s2v_session_fork(&forked, session, NULL, NULL), S2P_OK);
    assert_int_equal(s2v_session_length(forked), 0);
    int done;
    assert_int_equal(s2v_session_next(forked, NULL, 0, &done, NULL), S2P_EINVAL);
    assert_int_equal(prefill(forked, &q, NULL, NULL), S2P_OK);
    s2v_session_free(session);
    s2v_session_free(forked);
}

/* --- files ----------------------------------------------------------------------------------- */

static s2_buffer saved;

static void put_file(const char *path, const void *data, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* The bytes themselves, without a file around them. */
static void assert_not_believed(const s2v_session_shape *shape, size_t n, size_t at, uint8_t bits)
{
    s2v_session_bytes got;
    s2p_error error = { S2P_OK, "" };
    if (at < n) saved.data[at] ^= bits;
    const s2p_status st = s2v_session_file_check(saved.data, n, "bad", shape, &got, &error);
    if (at < n) saved.data[at] ^= bits;
    CHECK_CASE(st == S2P_EFORMAT || st == S2P_ELIMIT, "%zu bytes, byte %zu: %d", n, at, (int)st);
    assert_true(error.message[0] != '\0');
}

/* The first n bytes of the file, byte `at` changed by `bits`: refused, and the session as it was. */
static void assert_refused(s2v_session *session, size_t n, size_t at, uint8_t bits)
{
    s2p_error error = { S2P_OK, "" };
    const int32_t length = s2v_session_length(session);
    if (at < n) saved.data[at] ^= bits;
    put_file(file_path("bad"), saved.data, n);
    if (at < n) saved.data[at] ^= bits;
    const s2p_status st = s2v_session_restore(session, file_path("bad"), &error);
    CHECK_CASE(st == S2P_EFORMAT || st == S2P_ELIMIT, "%zu bytes, byte %zu: %d", n, at, (int)st);
    assert_true(error.message[0] != '\0');
    assert_int_equal(s2v_session_length(session), length);
}

static void test_damaged_files(void **state)
{
    (void)state;
    const question q = one_picture("s2prune", 9);
    const s2v_session_options o = small_options(S2V_KV_Q8_0);
    s2v_session *session = tiny_session(engine, &o);
    ask(session, &q, &whole);
    s2v_session_reset(session);
    assert_int_equal(prefill(session, &q, NULL, NULL), S2P_OK);
    assert_int_equal(s2v_session_save(session, file_path("good"), NULL), S2P_OK);
    struct stat info;
    assert_int_equal(stat(file_path("good"), &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);
    s2_buffer_init(&saved, SIZE_MAX);
    assert_int_equal(s2_file_read(file_path("good"), &saved, NULL), S2P_OK);
    CHECK_CASE(saved.size < 40000, "%zu bytes", saved.size);

    s2v_session_shape shape = { .n_layers = TINY_LAYERS,
                                .n_vocab = N_VOCABULARY,
                                .n_ctx = o.n_ctx,
                                .kv_type = (int32_t)o.kv_type,
                                .kv_type_v = (int32_t)o.kv_type,
                                .slot_bytes = (int32_t)s2v_past_slot_bytes(&session->past) };
    memcpy(shape.model, saved.data + 16, sizeof shape.model);
    s2v_session_bytes got;
    assert_int_equal(s2v_session_file_check(saved.data, saved.size, "good", &shape, &got, NULL),
                     S2P_OK);
    for (size_t n = 0; n < saved.size; n++) assert_not_believed(&shape, n, n, 0);
    for (size_t at = 0; at < saved.size; at++)
        assert_not_believed(&shape, saved.size, at, (uint8_t)(1u << at % 8));
    for (size_t n = 0; n < saved.size; n += 499) assert_refused(session, n, n, 0);
    for (size_t at = 0; at < saved.size; at += at < 128 ? 8 : 499)
        assert_refused(session, saved.size, at, (uint8_t)(1u << at % 8));
    s2_buffer_append(&saved, "x", 1);
    assert_refused(session, saved.size, saved.size, 0); /* one byte too many */
    saved.size--;

    char text[1024] = "";
    say(session, MAX_ANSWER, text, sizeof text); /* as if nothing had been tried */
    assert_string_equal(text, whole.text);
    assert_int_equal(s2v_session_restore(session, file_path("good"), NULL), S2P_OK);
    text[0] = '\0';
    say(session, MAX_ANSWER, text, sizeof text);
    assert_string_equal(text, whole.text);
    assert_int_equal(s2v_session_restore(session, file_path("none"), NULL), S2P_EIO);
    assert_int_equal(s2v_session_save(session, file_path("no/such/folder"), NULL), S2P_EIO);
    s2v_session_free(session);
    s2_buffer_free(&saved);
}

static void test_other_sessions(void **state)
{
    (void)state;
    const question q = one_picture(NULL, 0);
    s2v_session_options o = small_options(S2V_KV_F16);
    s2v_session *session = tiny_session(engine, &o);
    assert_int_equal(prefill(session, &q, NULL, NULL), S2P_OK);
    assert_int_equal(s2v_session_save(session, file_path("f16"), NULL), S2P_OK);
    s2v_session_free(session);

    o.kv_type = S2V_KV_F32;
    session = tiny_session(engine, &o);
    assert_int_equal(s2v_session_restore(session, file_path("f16"), NULL), S2P_EFORMAT);
    s2v_session_free(session);
    o.kv_type = S2V_KV_F16;
    o.kv_type_v = S2V_KV_Q8_0; /* other values */
    session = tiny_session(engine, &o);
    assert_int_equal(s2v_session_restore(session, file_path("f16"), NULL), S2P_EFORMAT);
    s2v_session_free(session);
    o.kv_type_v = S2V_KV_F16; /* the same, said in another way */
    session = tiny_session(engine, &o);
    assert_int_equal(s2v_session_restore(session, file_path("f16"), NULL), S2P_OK);
    s2v_session_free(session);
    o.n_ctx = 40;
    session = tiny_session(engine, &o);
    assert_int_equal(s2v_session_restore(session, file_path("f16"), NULL), S2P_ELIMIT);
    s2v_session_free(session);

    /* The same shapes, other weights. */
    vocabulary_init(&tiny_words);
    tiny_text(&tiny_text_file, &tiny_words, TINY_LAYERS);
    tiny_text_file.tensor[3].spread *= 1.01f;
    tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
    tiny_write_pair(folder, "other", &tiny_text_file, &tiny_mmproj_file);
    s2v_engine *other = tiny_open();
    o.n_ctx = 200;
    session = tiny_session(other, &o);
    assert_int_equal(s2v_session_restore(session, file_path("f16"), NULL), S2P_EFORMAT);
    s2v_session_free(session);
    s2v_engine_close(other);
}

int main(int argc, char **argv)
{
    assert_true(argc > 1);
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),         cmocka_unit_test(test_held_text),
        cmocka_unit_test(test_fork_refused),   cmocka_unit_test(test_damaged_files),
        cmocka_unit_test(test_other_sessions),
    };
    return cmocka_run_group_tests(tests, open_engine, close_engine);
}
