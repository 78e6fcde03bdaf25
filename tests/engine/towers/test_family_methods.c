/* test_family_methods.c - every method on every family: two pictures, two budgets, two turns.
 *
 * What is kept is ascending and as many as asked for; a second turn gives the same bits in a session that
 * goes on, in one that finds the first turn in the cache and in one that computes everything. A method that
 * cannot run on a family says why in a sentence. On LLaVA-1.5 also as published.
 */
#include "tiny_experts.h"
#include "tiny_gemma.h"

static const char *folder;
static tiny_file text, mmproj;

typedef enum family {
    QWEN2_5,
    QWEN2,
    QWEN3,
    QWEN3_MOE,
    ONEVISION,
    LLAVA_1_5,
    INTERNVL,
    SMOLVLM,
    GEMMA_3,
    N_FAMILIES
} family;

static const char *const names[N_FAMILIES] = { "qwen2.5",  "qwen2",     "qwen3",
                                               "qwen3moe", "onevision", "llava1.5",
                                               "internvl", "smolvlm",   "gemma3" };

/* A class row and a norm before the blocks; no newline, no bias of the patches. */
static void llava_1_5_mmproj(tiny_file *f)
{
    llava_mmproj(f);
    tiny_find_key(f, "clip.use_gelu")->value[0] = 0;
    tiles_drop(f, "v.image_newline");
    tiles_drop(f, "v.patch_embd.bias");
    tiny_find_tensor(f, "v.position_embd.weight")->ne[1] = LLAVA_TOKENS + 1;
    tiny_add_tensor(f, "v.class_embd", 0, LLAVA_VISION, 0)->spread = 0.5f;
    tiny_add_tensor(f, "v.pre_ln.weight", 0, LLAVA_VISION, 0);
    tiny_add_tensor(f, "v.pre_ln.bias", 0, LLAVA_VISION, 0)->centre = 0.0f;
}

static void write_family(family which)
{
    if (which == INTERNVL || which == SMOLVLM || which == GEMMA_3)
        tiles_words(&tiny_words);
    else
        vocabulary_init(&tiny_words);
    if (which == QWEN2_5 || which == QWEN2) tiny_text(&text, &tiny_words, TINY_LAYERS);
    if (which == QWEN3) qwen3_text(&text, TINY_LAYERS);
    if (which == QWEN3_MOE) experts_text(&text, TINY_LAYERS);
    if (which == ONEVISION || which == INTERNVL) llava_text(&text);
    if (which == LLAVA_1_5 || which == SMOLVLM) smolvlm_text(&text, TINY_LAYERS);
    if (which == QWEN2_5) tiny_mmproj(&mmproj, TINY_BLOCKS);
    if (which == QWEN2) qwen2_mmproj(&mmproj, TINY_BLOCKS);
    if (which == QWEN3 || which == QWEN3_MOE) qwen3_mmproj(&mmproj, TINY_BLOCKS);
    if (which == ONEVISION) llava_mmproj(&mmproj);
    if (which == LLAVA_1_5) llava_1_5_mmproj(&mmproj);
    if (which == INTERNVL) internvl_mmproj(&mmproj);
    if (which == SMOLVLM) smolvlm_mmproj(&mmproj);
    if (which == GEMMA_3) gemma_text(&text);
    if (which == GEMMA_3) gemma_mmproj(&mmproj);
    tiny_write_pair(folder, names[which], &text, &mmproj);
}

/* Two pictures, the second wider. Tiles where the family has them. */
static question two_pictures(family which, const char *method, int32_t budget)
{
    static uint8_t pixels[2][240 * 160 * 3];
    question q = { .raw = "hello <image> world <image> aaaa bcd", .n_images = 2 };
    q.image[0] = make_picture(pixels[0], 150, 150, 5);
    q.image[1] = make_picture(pixels[1], 240, 130, 9);
    for (int i = 0; i < MAX_QUESTION_IMAGES; i++) s2v_image_options_init(&q.size[i]);
    for (int i = 0; i < 2 && which <= QWEN3_MOE; i++) {
        q.size[i].width = (6 + i) * TINY_TOKEN_SIDE;
        q.size[i].height = 5 * TINY_TOKEN_SIDE;
    }
    s2v_prune_options_init(&q.prune);
    q.prune.method = method;
    q.prune.budget.tokens = budget;
    return q;
}

typedef struct turns { /* what two prefills leave */
    answer first;
    float second[N_VOCABULARY];
    int32_t tiles[2][256], n_tiles[2], n_parts[2];
} turns;

static void keep_tiles(const s2v_session *session, turns *t)
{
    for (int i = 0; i < 2; i++) {
        const s2p_plan *plan = s2v_session_tile_plan(session, i);
        const int32_t *kept = plan ? s2p_plan_keep(plan, &t->n_tiles[i]) : NULL;
        if (kept) memcpy(t->tiles[i], kept, (size_t)t->n_tiles[i] * sizeof *kept);
    }
}

/* Returns how the first turn ended; error has the sentence. */
static s2p_status run_turns(s2v_engine *engine, const question *q, turns *t, s2p_error *error)
{
    const question again = { .raw = "bcd hello", .prune = q->prune };
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    s2v_stats stats;
    memset(t, 0, sizeof *t);
    s2p_status st = prefill(session, q, &stats, error);
    if (st == S2P_OK) {
        take_prefill(session, &stats, 2, &t->first);
        t->first.stats = (s2v_stats){ .image_tokens = stats.image_tokens,
                                      .image_tokens_full = stats.image_tokens_full };
        keep_tiles(session, t);
        CHECK_CASE(prefill(session, &again, NULL, error) == S2P_OK, "%s: second turn: %s",
                   q->prune.method, error->message);
        memcpy(t->second, s2v_session_logits(session), sizeof t->second);
    }
    s2v_session_free(session);
    return st;
}

static void check_ascending(const int32_t *kept, int32_t n)
{
    for (int32_t i = 1; i < n; i++) assert_true(kept[i] > kept[i - 1]);
}

static void check_logits(const char *method, const float *logits)
{
    for (int32_t i = 0; i < N_VOCABULARY; i++)
        CHECK_CASE(isfinite(logits[i]), "%s: logit %d", method, i);
}

/* In a fresh engine, in one that remembers, and there once more. */
static void check_method(family which, s2v_engine *engine, s2v_engine *caching, const char *method,
                         int32_t budget)
{
    static turns plain, stored, recalled;
    s2p_error error = { S2P_OK, "" };
    const question q = two_pictures(which, method, budget);
    const s2p_method *m = s2p_method_find(method);
    const s2p_status st = run_turns(engine, &q, &plain, &error);
    if (st != S2P_OK) { /* a sentence with the method's name or what it lacks */
        CHECK_CASE((st == S2P_EUNSUPPORTED || st == S2P_EINVAL || st == S2P_EBUDGET) &&
                       strlen(error.message) > 20,
                   "%s on %s: %d '%s'", method, names[which], (int)st, error.message);
        print_message("%s on %s, %d tokens: %s\n", method, names[which], budget, error.message);
        return;
    }
    int32_t total = 0;
    for (int i = 0; i < 2; i++) {
        check_ascending(plain.first.kept[i], plain.first.n_kept[i]);
        check_ascending(plain.tiles[i], plain.n_tiles[i]);
        const int32_t n = plain.first.n_kept[i] + plain.n_tiles[i];
        total += n;
        if (!s2p_method_about(m)->keeps_all)
            CHECK_CASE(n == budget, "%s on %s kept %d, not %d", method, names[which], n, budget);
    }
    assert_int_equal(plain.first.stats.image_tokens, total);
    check_logits(method, plain.first.first);
    check_logits(method, plain.second);
    assert_int_equal(run_turns(caching, &q, &stored, &error), S2P_OK);
    assert_int_equal(run_turns(caching, &q, &recalled, &error), S2P_OK);
    CHECK_CASE(memcmp(&plain, &stored, sizeof plain) == 0, "%s on %s: not as computed", method,
               names[which]);
    CHECK_CASE(memcmp(&plain, &recalled, sizeof plain) == 0, "%s on %s: not as remembered", method,
               names[which]);
}

static void check_family(family which)
{
    write_family(which);
    s2v_engine *engine = tiny_open(), *caching = tiny_open_caching();
    const bool has_few = which >= ONEVISION;
    for (size_t i = 0; s2v_method_name(i); i++) {
        check_method(which, engine, caching, s2v_method_name(i), has_few ? 3 : 6);
        check_method(which, engine, caching, s2v_method_name(i), has_few ? 4 : 15);
        s2v_engine_forget(caching);
    }
    s2v_engine_close(engine);
    s2v_engine_close(caching);
}

static void test_qwen2_5(void **state) { (void)state, check_family(QWEN2_5); }
static void test_qwen2(void **state) { (void)state, check_family(QWEN2); }
static void test_qwen3(void **state) { (void)state, check_family(QWEN3); }
static void test_qwen3_moe(void **state) { (void)state, check_family(QWEN3_MOE); }
static void test_onevision(void **state) { (void)state, check_family(ONEVISION); }
static void test_llava_1_5(void **state) { (void)state, check_family(LLAVA_1_5); }
static void test_internvl(void **state) { (void)state, check_family(INTERNVL); }
static void test_smolvlm(void **state) { (void)state, check_family(SMOLVLM); }
static void test_gemma_3(void **state) { (void)state, check_family(GEMMA_3); }

/* As the authors' code has them, on the model nearly all of them were published on. */
static void test_published(void **state)
{
    (void)state;
    static turns t;
    write_family(LLAVA_1_5);
    s2v_engine *engine = tiny_open();
    int n_run = 0;
    for (size_t i = 0; s2v_method_name(i); i++) {
        question q = two_pictures(LLAVA_1_5, s2v_method_name(i), 4);
        s2p_error error = { S2P_OK, "" };
        q.prune.published = 1;
        const s2p_status st = run_turns(engine, &q, &t, &error);
        if (st != S2P_OK) {
            CHECK_CASE(strlen(error.message) > 20, "%s: %d", s2v_method_name(i), (int)st);
            print_message("%s as published: %s\n", s2v_method_name(i), error.message);
            continue;
        }
        n_run++;
        check_logits(s2v_method_name(i), t.first.first);
    }
    assert_true(n_run > 15);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    folder = argc > 1 ? argv[1] : ".";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_qwen2_5),   cmocka_unit_test(test_qwen2),
        cmocka_unit_test(test_qwen3),     cmocka_unit_test(test_qwen3_moe),
        cmocka_unit_test(test_onevision), cmocka_unit_test(test_llava_1_5),
        cmocka_unit_test(test_internvl),  cmocka_unit_test(test_smolvlm),
        cmocka_unit_test(test_gemma_3),   cmocka_unit_test(test_published),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
