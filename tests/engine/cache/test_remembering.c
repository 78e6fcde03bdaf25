/* test_remembering.c - answers with the engine's cache equal those without it, logit for logit: from
 * memory, from files, after eviction and return, for every method that may, one picture and two, on
 * the bundled model and on the reference's; and what makes another key.
 *
 * Arguments: a folder of its own, the source folder, the goldens (their models are optional).
 */
#include "tiny_llava.h"

#include "engine/vision/tower_cache.h"
#include "image/image.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)
#define MOST_METHODS 64

static const char *work, *source, *goldens;
static int n_notes;

static void count_note(const char *text, void *user)
{
    (void)user;
    n_notes += strstr(text, "computed anew") != NULL;
}

static void empty_folder(const char *folder)
{
    char command[700];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static s2v_cache_stats count(const s2v_engine *engine)
{
    s2v_cache_stats stats;
    s2v_engine_get_cache_stats(engine, &stats);
    assert_true(stats.bytes <= stats.limit);
    return stats;
}

/* --- models --------------------------------------------------------------------------- */

typedef struct subject {
    const char *name, *model, *mmproj; /* below the source folder or the goldens */
    bool is_golden;
    size_t every; /* so many-th method sees two pictures */
} subject;

static const subject subjects[] = {
    { "bundled", "models/s2prune-tiny/s2prune-tiny-f16.gguf",
      "models/s2prune-tiny/mmproj-s2prune-tiny-f16.gguf", false, 1 },
    { "qwen", "hf/qwen25vl/gguf/tiny-qwen2.5-vl-f32.gguf",
      "hf/qwen25vl/gguf/mmproj-tiny-qwen2.5-vl-f32.gguf", true, 1 },
    { "llava", "hf/llava_ov/gguf/tiny-llava-onevision-f16.gguf",
      "hf/llava_ov/gguf/mmproj-tiny-llava-onevision-f16.gguf", true, 6 },
};

/* NULL: the model is not at hand. */
static s2v_engine *open_subject(const subject *s, uint64_t cache_bytes, const char *folder)
{
    char model[1024], mmproj[1024];
    const char *root = s->is_golden ? goldens : source;
    (void)snprintf(model, sizeof model, "%s/%s", root, s->model);
    (void)snprintf(mmproj, sizeof mmproj, "%s/%s", root, s->mmproj);
    if (access(model, R_OK) != 0) return NULL;
    s2v_engine_options options;
    s2v_engine_options_init(&options);
    options.model_path = model;
    options.mmproj_path = mmproj;
    options.n_threads = 1;
    options.cache_bytes = cache_bytes;
    options.cache_dir = folder;
    options.note = count_note;
    return tiny_open_as(&options);
}

/* --- questions -------------------------------------------------------------------------- */

typedef struct asked { /* what came out of a prefill; logits are the session's */
    s2v_stats stats;
    const float *logits;
    size_t n;
} asked;

static s2_image pictures[2];

static asked ask_about(s2v_session *session, const char *method, int32_t n_images, int which)
{
    static const char *const text[] = { "Read the word.", "Where is the ring, above or below?" };
    const s2v_message message = { S2V_USER, text[which], n_images };
    const s2p_image image[] = { pictures[0].view, pictures[1].view };
    s2v_engine_info info;
    s2v_engine_get_info(session->engine, &info);
    s2v_image_options size[2] = { { .size = sizeof *size, .framing = S2V_FRAMING_BASE },
                                  { .size = sizeof *size, .framing = S2V_FRAMING_BASE } };
    for (int i = 0; info.merge_size > 1 && i < 2; i++) /* the others have one size */
        size[i] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                       .width = 224 - 56 * i,
                                       .height = 168 };
    const s2v_prompt prompt = { .size = sizeof(s2v_prompt),
                                .messages = &message,
                                .n_messages = 1,
                                .images = image,
                                .n_images = n_images,
                                .image_options = size };
    s2v_prune_options prune;
    s2v_prune_options_init(&prune);
    prune.method = method;
    prune.budget.tokens = 16;
    asked out = { .n = (size_t)info.n_vocab };
    s2p_error error = { S2P_OK, "" };
    s2v_session_reset(session);
    CHECK_CASE(s2v_session_prefill(session, &prompt, &prune, &out.stats, &error) == S2P_OK,
               "%s: %s", method, error.message);
    out.logits = s2v_session_logits(session);
    return out;
}

static s2v_session *open_session(s2v_engine *engine, int no_cache)
{
    s2v_session_options options;
    s2v_session_options_init(&options);
    options.n_ctx = 2048;
    options.no_cache = no_cache;
    return tiny_session(engine, &options);
}

typedef struct truth { /* logits from scratch */
    float *logits[MOST_METHODS][2][2];
    const char *method[MOST_METHODS];
    int32_t n_pictures[MOST_METHODS]; /* at most */
    size_t n_methods, n_bytes;
} truth;

static void make_truth(s2v_engine *engine, size_t every, truth *t)
{
    s2v_session *scratch = open_session(engine, 1);
    *t = (truth){ .n_methods = 0 };
    for (size_t m = 0; s2p_method_at(m); m++) {
        if (s2p_method_about(s2p_method_at(m))->sees_question) continue;
        if (s2p_method_about(s2p_method_at(m))->resizes) continue; /* test_shrink */
        t->method[t->n_methods] = s2p_method_about(s2p_method_at(m))->name;
        const int32_t n = t->n_methods % every == 0 ? 2 : 1;
        t->n_pictures[t->n_methods] = n;
        for (int i = 0; i < 2 * n; i++) {
            const asked a = ask_about(scratch, t->method[t->n_methods], 1 + i / 2, i % 2);
            t->n_bytes = a.n * sizeof(float);
            float *copy = malloc(t->n_bytes);
            assert_non_null(copy);
            t->logits[t->n_methods][i / 2][i % 2] = memcpy(copy, a.logits, t->n_bytes);
        }
        t->n_methods++;
    }
    assert_true(t->n_methods >= 12);
    s2v_session_free(scratch);
}

static void free_truth(truth *t)
{
    for (size_t m = 0; m < t->n_methods; m++)
        for (int i = 0; i < 4; i++) free(t->logits[m][i / 2][i % 2]);
}

static asked check(s2v_session *session, const truth *t, size_t m, int32_t n_images, int which)
{
    const asked a = ask_about(session, t->method[m], n_images, which);
    CHECK_CASE(memcmp(a.logits, t->logits[m][n_images - 1][which], t->n_bytes) == 0,
               "%s, %d pictures, question %d: other logits", t->method[m], n_images, which);
    return a;
}

/* --- the same answers --------------------------------------------------------------------- */

/* Bytes all of it takes. */
static uint64_t check_memory_and_files(const subject *s, const truth *t, const char *folder)
{
    s2v_engine *engine = open_subject(s, 256 * MIB, folder);
    s2v_session *first = open_session(engine, 0), *second = open_session(engine, 0);
    for (size_t m = 0; m < t->n_methods; m++)
        for (int32_t n = 1; n <= t->n_pictures[m]; n++) {
            assert_int_equal(check(first, t, m, n, 0).stats.cached_tokens, 0);
            assert_true(check(second, t, m, n, 1).stats.cached_tokens > 0);
            assert_true(check(second, t, m, n, 0).stats.cached_tokens > 0);
        }
    assert_int_equal(count(engine).disk_hits, 0);
    assert_true(count(engine).evictions == 0 && count(engine).disk_bytes > count(engine).bytes / 2);
    s2v_session_free(first);
    s2v_session_free(second);
    s2v_engine_close(engine);

    engine = open_subject(s, 256 * MIB, folder);
    first = open_session(engine, 0);
    uint64_t n_asked = 0;
    for (size_t m = 0; m < t->n_methods; m++)
        for (int32_t n = 1; n <= t->n_pictures[m]; n++, n_asked++)
            assert_true(check(first, t, m, n, 1).stats.cached_tokens > 0);
    assert_int_equal(count(engine).disk_hits, n_asked);
    assert_int_equal(count(engine).misses, 0);
    const uint64_t n_bytes = count(engine).bytes;
    s2v_engine_forget(engine);
    assert_true(n_bytes > 0 && count(engine).bytes == 0);
    assert_true(check(first, t, 0, 1, 1).stats.cached_tokens > 0); /* the files stay */
    s2v_session_free(first);
    s2v_engine_close(engine);
    return n_bytes;
}

/* Room for a few: what comes back was gone in between. */
static void check_eviction(const subject *s, const truth *t, uint64_t room)
{
    s2v_engine *engine = open_subject(s, room, NULL);
    s2v_session *session = open_session(engine, 0);
    int n_hits = 0, n_misses = 0;
    for (int round = 0; round < 2; round++)
        for (size_t m = 0; m < t->n_methods; m++)
            for (int i = 0; i < 1 + t->n_pictures[m]; i++) {
                const asked a = check(session, t, m, 1 + i / 2, i % 2);
                *(a.stats.cached_tokens > 0 ? &n_hits : &n_misses) += 1;
                (void)count(engine);
            }
    assert_true(n_hits > 0 && n_misses >= (int)t->n_methods && count(engine).evictions > 0);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

static void answers_are_the_same(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(subjects); i++) {
        char folder[600];
        truth t;
        (void)snprintf(folder, sizeof folder, "%s/same-%zu", work, i);
        empty_folder(folder);
        s2v_engine *plain = open_subject(&subjects[i], 0, NULL);
        if (!plain) continue;
        make_truth(plain, subjects[i].every, &t);
        s2v_engine_close(plain);
        const uint64_t n_bytes = check_memory_and_files(&subjects[i], &t, folder);
        check_eviction(&subjects[i], &t, n_bytes / 3);
        free_truth(&t);
        assert_int_equal(n_notes, 0);
    }
}

/* --- files of others, broken files ---------------------------------------------------------- */

/* One byte of every file of the folder is another one. */
static int spoil(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        char path[900];
        if (!strstr(e->d_name, ".s2cache")) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        FILE *file = fopen(path, "r+b");
        assert_true(file && fseek(file, 500, SEEK_SET) == 0 && fputc('#', file) == '#');
        assert_int_equal(fclose(file), 0);
        n++;
    }
    closedir(dir);
    return n;
}

static void broken_files_are_computed_anew(void **state)
{
    (void)state;
    static answer expected, got;
    char folder[600];
    (void)snprintf(folder, sizeof folder, "%s/broken", work);
    empty_folder(folder);
    tiny_write_plain(work);
    s2v_engine_options options = tiny_options();
    options.cache_bytes = MIB;
    options.cache_dir = folder;
    options.note = count_note;
    const s2v_session_options usual = tiny_session_options();
    const question q = one_picture("s2prune", 18);
    for (int round = 0; round < 3; round++) {
        s2v_engine *engine = tiny_open_as(&options);
        s2v_session *session = tiny_session(engine, &usual);
        n_notes = 0;
        ask(session, &q, round == 0 ? &expected : &got);
        if (round > 0) assert_same_bits(&expected, &got);
        assert_int_equal(n_notes, round == 1 ? 2 : 0); /* the prefix, then the picture */
        assert_int_equal(count(engine).disk_refused, round == 1 ? 2 : 0);
        assert_int_equal(count(engine).disk_hits, round == 2); /* both were written anew */
        if (round == 0) assert_int_equal(spoil(folder), 2);
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
}

/* A file whose checksum is right, and whose contents are of something else. */
static void a_block_of_another_kind(void **state)
{
    (void)state;
    static answer expected, got;
    tiny_write_plain(work);
    s2v_engine_options options = tiny_options();
    options.cache_bytes = MIB;
    options.note = count_note;
    s2v_engine *engine = tiny_open_as(&options);
    const s2v_session_options usual = tiny_session_options();
    s2v_session *session = tiny_session(engine, &usual);
    question q = one_picture("s2prune", 18);
    ask(session, &q, &expected);
    const uint64_t stored = count(engine).stored;
    /* the same keys lead to rubbish: as much as there was, or less */
    for (int round = 0; round < 2; round++) {
        const s2v_model *model = &engine->model;
        s2v_frame frame = { .patches = NULL };
        assert_int_equal(
            model->arch->frame(model, &q.image[0], &q.size[0], S2V_FRAMING_BASE, &frame, NULL),
            S2P_OK);
        s2v_cache_clear(engine->cache);
        s2v_tower_key(&engine->model, engine->identity.tower, session->backends.n_threads, &frame);
        s2v_cache_block *block = s2v_cache_room(engine->cache, round ? 40 : 100000);
        memset(block->bytes, 0x7f, block->n);
        s2v_cache_keep(engine->cache, block, frame.key);
        s2v_cache_release(engine->cache, block);
        s2v_frame_free(&frame);
        n_notes = 0;
        s2v_session_reset(session);
        ask(session, &q, &got);
        assert_same_bits(&expected, &got);
        assert_int_equal(n_notes, 1);
        assert_int_equal(got.stats.tower_runs, 1);
    }
    assert_int_equal(count(engine).stored, stored + 2 * 3);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

/* --- what makes another key -------------------------------------------------------------------- */

/* Ask an engine opened so, with a folder that has what the plain one left. */
static s2v_cache_stats ask_with(const s2v_engine_options *options, const s2v_session_options *with)
{
    static answer a;
    s2v_engine *engine = tiny_open_as(options);
    s2v_session *session = tiny_session(engine, with);
    const question q = one_picture("s2prune", 18);
    prefill_only(session, &q, &a);
    const s2v_cache_stats stats = count(engine);
    s2v_session_free(session);
    s2v_engine_close(engine);
    return stats;
}

static void models_and_precisions(void **state)
{
    (void)state;
    char folder[600];
    (void)snprintf(folder, sizeof folder, "%s/models", work);
    empty_folder(folder);
    tiny_write_plain(work);
    s2v_engine_options options = tiny_options();
    s2v_session_options session = tiny_session_options();
    options.cache_bytes = MIB;
    options.cache_dir = folder;
    options.kernels = "scalar";
    assert_int_equal(ask_with(&options, &session).stored, 2);
    assert_int_equal(ask_with(&options, &session).disk_hits, 1); /* the same: the prefix */

    session.kv_type = S2V_KV_F16; /* another cache: the picture alone */
    s2v_cache_stats stats = ask_with(&options, &session);
    assert_true(stats.disk_hits == 1 && stats.stored == 1);
    session.kv_type = S2V_KV_F32;
    session.kv_type_v = S2V_KV_F16; /* of the values alone */
    stats = ask_with(&options, &session);
    assert_true(stats.disk_hits == 1 && stats.stored == 1);
    session.kv_type_v = S2V_KV_F32; /* as the first, said in another way */
    stats = ask_with(&options, &session);
    assert_true(stats.disk_hits == 1 && stats.stored == 0);
    session.kv_type_v = S2V_KV_SAME;
    session.plain_attention = 1;
    stats = ask_with(&options, &session);
    assert_true(stats.disk_hits == 1 && stats.stored == 1);
    session.plain_attention = 0;
    session.n_batch = 7; /* other graphs */
    stats = ask_with(&options, &session);
    assert_true(stats.disk_hits == 1 && stats.stored == 1);
    session.n_batch = 0;
    session.n_threads = 2; /* the engine has one */
    stats = ask_with(&options, &session);
    assert_true(stats.disk_hits == 0 && stats.stored == 2);
    session.n_threads = 0;

    int n = 0;
    options.kernels = "ggml";
    assert_int_equal(ask_with(&options, &session).disk_hits, 0);
    for (size_t i = 0; s2v_kernels_name(i);
         i++) { /* f32, bf16, int8, as far as this CPU has them */
        options.kernels = s2v_kernels_name(i);
        if (strcmp(options.kernels, "scalar") == 0) continue;
        assert_int_equal(ask_with(&options, &session).disk_hits, 0);
        n++;
    }
    assert_true(n > 0);
    options.kernels = "scalar";
    assert_int_equal(ask_with(&options, &session).disk_hits, 1);

    /* the tower of the same mmproj serves another text model, which has other weights or only another
     * time: its own prefix */
    static char other[600];
    (void)snprintf(other, sizeof other, "%s/other.gguf", work);
    tiny_find_tensor(&tiny_text_file, "blk.1.ffn_up.weight")->spread *= 1.5f;
    tiny_write(&tiny_text_file, other);
    options.model_path = other;
    stats = ask_with(&options, &session);
    assert_true(stats.disk_hits == 1 && stats.stored == 1);
    assert_int_equal(ask_with(&options, &session).stored, 0);
    const struct timespec later[2] = { { 2000000000, 1 }, { 2000000000, 1 } };
    assert_int_equal(utimensat(AT_FDCWD, other, later, 0), 0);
    stats = ask_with(&options, &session);
    assert_true(stats.disk_hits == 1 && stats.stored == 1);

    /* another mmproj serves nobody else */
    static char tower[600];
    (void)snprintf(tower, sizeof tower, "%s/mmproj-other.gguf", work);
    tiny_find_tensor(&tiny_mmproj_file, "v.blk.0.attn_out.weight")->spread *= 1.5f;
    tiny_write(&tiny_mmproj_file, tower);
    options.mmproj_path = tower;
    stats = ask_with(&options, &session);
    assert_true(stats.disk_hits == 0 && stats.stored == 2);
}

/* The same bytes in another shape; a picture without structure, of which patches cannot tell. */
static void shapes(void **state)
{
    (void)state;
    static uint8_t pixels[180 * 140 * 3];
    static answer a;
    tiny_write_plain(work);
    s2v_engine *engine = tiny_open_caching();
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    for (int is_gray = 0; is_gray < 2; is_gray++) {
        question q = one_picture("s2prune", 18);
        memcpy(pixels, q.image[0].pixels, sizeof pixels);
        if (is_gray) memset(pixels, 90, sizeof pixels);
        q.image[0].pixels = pixels;
        s2v_session_reset(session);
        prefill_only(session, &q, &a);
        assert_true(a.stats.cached_tokens == 0 && a.stats.tower_runs == 1);
        question turned = q; /* stretched to the same tokens */
        turned.image[0] = (s2p_image){ 140, 180, (ptrdiff_t)3 * 140, pixels };
        s2v_session_reset(session);
        prefill_only(session, &turned, &a);
        assert_int_equal(a.stats.cached_tokens, 0);
        assert_int_equal(a.stats.tower_runs, !is_gray); /* it reads the same */
        turned.size[0] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                              .width = q.size[0].height,
                                              .height = q.size[0].width };
        s2v_session_reset(session);
        prefill_only(session, &turned, &a); /* as many patches, all of one color */
        assert_true(a.stats.cached_tokens == 0 && a.stats.tower_runs == 1);
        s2v_session_reset(session);
        prefill_only(session, &q, &a);
        assert_true(a.stats.cached_tokens > 0);
    }
    s2v_session_free(session);
    s2v_engine_close(engine);
}

static void a_folder_needs_memory(void **state)
{
    (void)state;
    tiny_write_plain(work);
    s2v_engine_options options = tiny_options();
    s2v_engine *engine;
    s2p_error error;
    options.cache_dir = work;
    assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_EINVAL);
    options.cache_bytes = MIB;
    options.cache_dir = "/nowhere/at all";
    assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_EIO);
    assert_null(engine);
}

int main(int argc, char **argv)
{
    if (argc != 4) return 2;
    work = argv[1];
    source = argv[2];
    goldens = argv[3];
    vocabulary_init(&tiny_words);
    for (int i = 0; i < 2; i++) {
        char path[1024];
        (void)snprintf(path, sizeof path, "%s/data/synth/images/000%d.jpg", source, i);
        if (s2_image_load(path, S2_PIXELS_REFERENCE, NULL, &pictures[i], NULL) != S2P_OK) return 1;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_are_the_same),
        cmocka_unit_test(broken_files_are_computed_anew),
        cmocka_unit_test(a_block_of_another_kind),
        cmocka_unit_test(models_and_precisions),
        cmocka_unit_test(shapes),
        cmocka_unit_test(a_folder_needs_memory),
    };
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    for (int i = 0; i < 2; i++) s2_image_free(&pictures[i]);
    return failed;
}
