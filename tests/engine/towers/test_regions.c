/* test_regions.c - regions of a picture that stay or go: tokens worked by hand, and for every method on every
 * kind of framing that what is to be kept is kept, that what is dropped is in no layer, and that the budget
 * holds to the token.
 */
#include "tiny_qwen3.h"
#include "tiny_run.h"
#include "tiny_tiles.h"

#include "engine/decoder/past.h"
#include "engine/vision/regions.h"
#include "engine/vision/tower_cache.h"

static const char *folder;
static answer a, b;

/* --- tokens -------------------------------------------------------------------------- */

static void mark_one(s2p_region region, s2_size size, s2_size shown, s2p_grid grid, uint8_t *mark)
{
    s2v_image_options options;
    s2v_image_options_init(&options);
    options.regions = &region;
    options.n_regions = 1;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2v_regions_check(&options, 0, size, &error) == S2P_OK, "%s", error.message);
    s2v_regions_mark(&options, size, shown, grid, mark);
}

static void test_tokens(void **state)
{
    (void)state;
    static const struct {
        s2p_region region;
        s2_size size, shown;
        s2p_grid grid;
        s2p_rect tokens;
    } cases[] = {
        /* 28 pixels a token: exactly tokens 1 and 2 of row 0 */
        { { 28, 0, 56, 28, NULL, 0 }, { 112, 84 }, { 112, 84 }, { 3, 4 }, { 0, 1, 1, 3 } },
        /* any part counts: one pixel more on each side */
        { { 27, 0, 58, 29, NULL, 0 }, { 112, 84 }, { 112, 84 }, { 3, 4 }, { 0, 0, 2, 4 } },
        /* a third of a side is no whole number, and is still one token */
        { { 100.0 / 3, 0, 100.0 / 3, 5, NULL, 0 },
          { 100, 5 },
          { 100, 5 },
          { 1, 3 },
          { 0, 1, 1, 2 } },
        /* what is outside does not count */
        { { -50, -50, 60, 1000, NULL, 0 }, { 112, 84 }, { 112, 84 }, { 3, 4 }, { 0, 0, 3, 1 } },
        /* fewer pixels than tokens: a pixel is several tokens */
        { { 1, 0, 1, 1, NULL, 0 }, { 2, 1 }, { 2, 1 }, { 1, 8 }, { 0, 4, 1, 8 } },
        /* padded to a square: 40 rows above and below, row 0 of the picture is in token row 1 of 4 */
        { { 0, 0, 160, 1, NULL, 0 }, { 160, 80 }, { 160, 160 }, { 4, 4 }, { 1, 0, 2, 4 } },
        /* cropped to its middle: columns 40 to 120 are shown */
        { { 60, 0, 1, 80, NULL, 0 }, { 160, 80 }, { 80, 80 }, { 4, 4 }, { 0, 1, 4, 2 } },
    };
    static uint8_t mark[64];
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        mark_one(cases[i].region, cases[i].size, cases[i].shown, cases[i].grid, mark);
        const s2p_rect t = cases[i].tokens;
        for (int32_t r = 0; r < cases[i].grid.rows; r++)
            for (int32_t c = 0; c < cases[i].grid.cols; c++)
                CHECK_CASE(mark[r * cases[i].grid.cols + c] ==
                               (r >= t.row0 && r < t.row1 && c >= t.col0 && c < t.col1),
                           "case %zu, token %d,%d", i, r, c);
    }
}

/* A mask of a rectangle of whole pixels is the rectangle; a dropped token is not kept. */
static void test_masks(void **state)
{
    (void)state;
    static uint8_t pixel[70 * 50], mark[2][12 * 9];
    const s2_size size = { 70, 50 };
    const s2p_grid grid = { 9, 12 };
    uint32_t seed = 5;
    for (int i = 0; i < 2000; i++) {
        const int32_t x = (int32_t)(next_random(&seed) % 70u),
                      y = (int32_t)(next_random(&seed) % 50u);
        const int32_t w = 1 + (int32_t)(next_random(&seed) % (uint32_t)(70 - x)),
                      h = 1 + (int32_t)(next_random(&seed) % (uint32_t)(50 - y));
        memset(pixel, 0, sizeof pixel);
        for (int32_t r = y; r < y + h; r++) memset(pixel + r * 70 + x, 1 + i % 255, (size_t)w);
        const s2p_region box = { .x = x, .y = y, .width = w, .height = h };
        mark_one(box, size, size, grid, mark[0]);
        mark_one((s2p_region){ .mask = pixel }, size, size, grid, mark[1]);
        assert_memory_equal(mark[0], mark[1], sizeof mark[0]);
    }
    const s2p_region both[] = {
        { .x = 0, .y = 0, .width = 70, .height = 50 },
        { .x = 0, .y = 0, .width = 5, .height = 5, .kind = S2P_REGION_DROP }
    };
    s2v_image_options options;
    s2v_image_options_init(&options);
    options.regions = both;
    options.n_regions = 2;
    s2v_regions_mark(&options, size, size, grid, mark[0]);
    assert_int_equal(mark[0][0], S2V_MARK_DROP);
    assert_int_equal(mark[0][5], S2V_MARK_KEEP);
}

/* --- every method ----------------------------------------------------------------------- */

static bool has(const int32_t *list, int32_t n, int32_t token)
{
    for (int32_t i = 0; i < n; i++)
        if (list[i] == token) return true;
    return false;
}

/* Of 9x7 tokens of 20 pixels: columns 2 to 3 of rows 1 to 2 stay, the last column goes. */
static s2p_region regions[] = { { 40, 20, 40, 40, NULL, S2P_REGION_KEEP },
                                { 160, 0, 20, 140, NULL, S2P_REGION_DROP } };
enum { N_KEPT = 4, N_DROPPED = 7, N_TOKENS = 63 };

static question with_regions(const char *method, int32_t budget)
{
    question q = one_picture(method, budget);
    q.size[0].regions = regions;
    q.size[0].n_regions = 2;
    return q;
}

static bool is_kept_region(int32_t token)
{
    return token / 9 >= 1 && token / 9 < 3 && token % 9 >= 2 && token % 9 < 4;
}

static void check_regions(const char *name, int32_t budget, const answer *got, const s2v_session *s)
{
    const int32_t n = got->n_kept[0];
    for (int32_t t = 0; t < N_TOKENS; t++) {
        if (is_kept_region(t)) CHECK_CASE(has(got->kept[0], n, t), "%s dropped %d", name, t);
        if (t % 9 == 8) CHECK_CASE(!has(got->kept[0], n, t), "%s kept %d", name, t);
    }
    for (int32_t i = 1; i < n; i++) assert_true(got->kept[0][i] > got->kept[0][i - 1]);
    const s2p_method_info *about = s2p_method_about(s2p_method_find(name));
    const int32_t most = N_TOKENS - N_DROPPED;
    CHECK_CASE(n == (about->keeps_all || budget > most ? most : budget), "%s kept %d of %d", name,
               n, budget);
    assert_int_equal(got->stats.image_tokens, n);
    /* in no layer: none remembers more rows than there are without the dropped ones */
    for (int32_t i = 0; i < s->past.n_layers; i++)
        CHECK_CASE(s2v_past_length(&s->past, i) <= got->stats.text_tokens + most,
                   "%s: layer %d has %d rows", name, i, s2v_past_length(&s->past, i));
}

static void check_family(void)
{
    static const int32_t budgets[] = { N_KEPT, 5, 17, 56, 63 };
    s2v_engine *engine = tiny_open_caching();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    for (size_t i = 0; s2p_method_at(i); i++) {
        const char *name = s2p_method_about(s2p_method_at(i))->name;
        if (s2p_method_about(s2p_method_at(i))->resizes) continue; /* another grid */
        for (size_t k = 0; k < COUNT_OF(budgets); k++) {
            const question q = with_regions(name, budgets[k]);
            const s2v_prompt prompt = prompt_of(&q);
            s2v_count count;
            s2p_error error = { S2P_OK, "" };
            s2v_session_reset(s);
            prefill_only(s, &q, &a);
            check_regions(name, budgets[k], &a, s);
            assert_int_equal(s2v_engine_count(engine, &prompt, &q.prune, &count, &error), S2P_OK);
            assert_int_equal(count.image_tokens, a.stats.image_tokens);
            s2v_session_reset(s); /* from the cache of prompts, where the method is in it */
            prefill_only(s, &q, &b);
            assert_memory_equal(a.first, b.first, sizeof a.first);
            assert_int_equal(b.n_kept[0], a.n_kept[0]);
        }
    }
    s2v_session_free(s);
    s2v_engine_close(engine);
}

static void test_every_method(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    check_family();
    vocabulary_init(&tiny_words); /* rows that are added after early layers */
    qwen3_text(&tiny_text_file, TINY_LAYERS);
    qwen3_mmproj(&tiny_mmproj_file, 6);
    tiny_write_pair(folder, "qwen3", &tiny_text_file, &tiny_mmproj_file);
    check_family();
}

/* The decoder without dropped tokens is the one that was given the other tokens by hand before its first
 * layer, bit for bit. */
static void test_dropped_leaves_no_trace(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    question q = one_picture("full", 63);
    const s2p_region most = { 0, 0, 160, 140, NULL, S2P_REGION_DROP };
    q.size[0].regions = &most;
    q.size[0].n_regions = 1;
    prefill_only(s, &q, &a);
    assert_int_equal(a.n_kept[0], N_DROPPED); /* the last column is left */
    const s2p_region rest = { 160, 0, 20, 140, NULL, S2P_REGION_DROP };
    q.size[0].regions = &rest;
    s2v_session_reset(s);
    prefill_only(s, &q, &b);
    assert_int_equal(b.n_kept[0], N_TOKENS - N_DROPPED);
    assert_memory_not_equal(a.first, b.first, sizeof a.first);
    int32_t keep[N_TOKENS], n = 0;
    for (int32_t t = 0; t < N_TOKENS; t++)
        if (t % 9 != 8) keep[n++] = t;
    question chosen = one_picture("uniform", n);
    chosen.prune.keep = keep;
    chosen.prune.n_keep = n;
    s2v_session_reset(s);
    prefill_only(s, &chosen, &a);
    assert_memory_equal(a.first, b.first, sizeof a.first);
    s2v_session_free(s);
    s2v_engine_close(engine);
}

/* --- merging ------------------------------------------------------------------------------ */

/* Rows that are merged are of tokens that no region names: a dropped one would leak through them, and a kept one
 * would no longer be what it was. */
static void check_merges(const char *name, const s2p_plan *plan)
{
    int32_t n_merges;
    const s2p_merge *merge = s2p_plan_merges(plan, &n_merges);
    for (int32_t i = 0; i < n_merges; i++) {
        CHECK_CASE(merge[i].from % 9 != 8 && merge[i].into % 9 != 8, "%s merges a dropped token",
                   name);
        CHECK_CASE(!is_kept_region(merge[i].from) && !is_kept_region(merge[i].into),
                   "%s merges a kept token", name);
    }
}

/* Overwrites what the engine remembers of the tower's rows and signals for the dropped tokens. */
static void poison(const s2v_engine *engine, const s2v_session *s, const question *q)
{
    const s2v_model *model = &engine->model;
    s2v_frame frame = { .patches = NULL };
    s2v_tower_known known;
    assert_int_equal(
        model->arch->frame(model, &q->image[0], &q->size[0], S2V_FRAMING_BASE, &frame, NULL),
        S2P_OK);
    s2v_tower_key(model, engine->identity.tower, s->backends.n_threads, &frame);
    assert_true(s2v_tower_recall(engine->cache, model, &frame, true, &known));
    const size_t width = (size_t)model->decoder.p.n_embd, key = (size_t)known.key_dim;
    float *rows = (float *)(uintptr_t)known.rows, *attn = (float *)(uintptr_t)known.attn,
          *keys = (float *)(uintptr_t)known.key;
    for (size_t t = 8; t < N_TOKENS; t += 9) {
        for (size_t d = 0; d <= (size_t)model->decoder.p.n_deepstack; d++)
            for (size_t k = 0; k < width; k++)
                rows[(d * N_TOKENS + t) * width + k] = 1e4f * (float)(k % 7) - 2e4f;
        attn[t] = 1e4f;
        for (size_t k = 0; k < key; k++) keys[t * key + k] = -3e4f * (float)(k % 3);
    }
    s2v_cache_release(engine->cache, known.block);
    s2v_frame_free(&frame);
}

/* Whatever the tower made of the dropped tokens, for every method and mode the answer has the same bits. */
static void check_no_leak(void)
{
    const s2v_session_options options = tiny_session_options();
    s2v_session_options looking = options;
    looking.keep_attention = 1;
    looking.pictures_only = 1;
    s2v_engine *clean = tiny_open(), *engine = tiny_open_caching();
    s2v_session *first = tiny_session(clean, &options), *second = tiny_session(engine, &looking);
    question q = one_picture("full", N_TOKENS);
    prefill_only(second, &q, &a);
    poison(engine, second, &q);
    s2v_session_reset(second);
    prefill_only(second, &q, &b); /* where nothing is dropped it shows */
    assert_memory_not_equal(a.first, b.first, sizeof a.first);
    int32_t n_merging = 0;
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method_info *about = s2p_method_about(s2p_method_at(i));
        for (int published = 0; published < 2 && !about->resizes; published++) {
            s2p_error error = { S2P_OK, "" };
            s2v_stats stats;
            q = with_regions(about->name, 17);
            q.prune.published = published;
            s2v_session_reset(first);
            const s2p_status st = prefill(first, &q, &stats, &error);
            if (published && st != S2P_OK) continue; /* the authors' code has limits of its own */
            CHECK_CASE(st == S2P_OK, "%s: %s", about->name, error.message);
            take_prefill(first, &stats, 1, &a);
            check_merges(about->name, s2v_session_plan(first, 0));
            int32_t n_merges;
            (void)s2p_plan_merges(s2v_session_plan(first, 0), &n_merges);
            n_merging += n_merges > 0;
            s2v_session_reset(second);
            prefill_only(second, &q, &b);
            CHECK_CASE(b.stats.tower_runs == 0, "%s: not from the cache", about->name);
            CHECK_CASE(memcmp(a.first, b.first, sizeof a.first) == 0 &&
                           a.n_kept[0] == b.n_kept[0] &&
                           memcmp(a.kept[0], b.kept[0], (size_t)a.n_kept[0] * sizeof(int32_t)) == 0,
                       "%s%s: a dropped token leaks", about->name, published ? ", published" : "");
            for (int32_t t = 0; t < N_TOKENS; t++) {
                if (is_kept_region(t))
                    CHECK_CASE(has(a.kept[0], a.n_kept[0], t), "%s", about->name);
                if (t % 9 == 8) CHECK_CASE(!has(a.kept[0], a.n_kept[0], t), "%s", about->name);
            }
        }
    }
    assert_true(n_merging >= 4);
    s2v_session_free(first);
    s2v_session_free(second);
    s2v_engine_close(clean);
    s2v_engine_close(engine);
}

static void test_nothing_leaks(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    check_no_leak();
    vocabulary_init(&tiny_words);
    qwen3_text(&tiny_text_file, TINY_LAYERS);
    qwen3_mmproj(&tiny_mmproj_file, 6);
    tiny_write_pair(folder, "qwen3", &tiny_text_file, &tiny_mmproj_file);
    check_no_leak();
}

/* Several pictures, each with its own; and the whole picture with tiles. */
static void test_pictures_and_tiles(void **state)
{
    (void)state;
    static uint8_t pixels[240 * 160 * 3];
    tiny_write_plain(folder);
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    question q = with_regions("s2prune", 9);
    q.raw = "<image> world <image> bcd";
    q.n_images = 2;
    q.image[1] = q.image[0];
    q.size[1] = q.size[0];
    q.size[1].regions = regions + 1; /* only what is dropped */
    q.size[1].n_regions = 1;
    prefill_only(s, &q, &a);
    for (int32_t t = 0; t < N_TOKENS; t++)
        if (is_kept_region(t)) assert_true(has(a.kept[0], a.n_kept[0], t));
    assert_int_equal(a.n_kept[0], 9);
    assert_int_equal(a.n_kept[1], 9);
    for (int32_t r = 0; r < 7; r++) assert_false(has(a.kept[1], 9, 9 * r + 8));
    s2v_session_free(s);
    s2v_engine_close(engine);

    static tiny_file text, mmproj;
    tiles_words(&tiny_words);
    llava_text(&text);
    internvl_mmproj(&mmproj);
    tiny_write_pair(folder, "internvl", &text, &mmproj);
    engine = tiny_open();
    s = tiny_session(engine, &options);
    for (size_t i = 0; s2p_method_at(i); i++) {
        const s2p_method_info *about = s2p_method_about(s2p_method_at(i));
        q = (question){ .raw = "hello <image> bcd", .n_images = 1 };
        q.image[0] = make_picture(pixels, 240, 130, 9);
        s2v_image_options_init(&q.size[0]);
        q.size[0].framing = S2V_FRAMING_ANYRES;
        const s2p_region left[] = { { 0, 0, 10, 10, NULL, S2P_REGION_KEEP },
                                    { 230, 120, 10, 10, NULL, S2P_REGION_DROP } };
        q.size[0].regions = left;
        q.size[0].n_regions = 2;
        s2v_prune_options_init(&q.prune);
        q.prune.method = about->name;
        q.prune.budget.tokens = 12;
        if (about->resizes) continue;
        s2v_session_reset(s);
        prefill_only(s, &q, &a);
        for (int p = 0; p < 2; p++) {
            int32_t n;
            const s2p_plan *plan = p ? s2v_session_tile_plan(s, 0) : s2v_session_plan(s, 0);
            const int32_t *kept = s2p_plan_keep(plan, &n);
            const s2p_grid grid = s2p_plan_layout(plan).grid;
            CHECK_CASE(has(kept, n, 0), "%s, part %d", about->name, p);
            CHECK_CASE(!has(kept, n, grid.rows * grid.cols - 1), "%s, part %d", about->name, p);
        }
        if (!about->keeps_all) assert_int_equal(a.stats.image_tokens, 12);
    }
    s2v_session_free(s);
    s2v_engine_close(engine);
}

/* PixelPrune drops a plain picture's tokens; those that have to stay enter the tower all the same. */
static void test_before_tower(void **state)
{
    (void)state;
    static uint8_t pixels[180 * 140 * 3];
    tiny_write_plain(folder);
    memset(pixels, 200, sizeof pixels);
    s2v_engine *engine = tiny_open_caching();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    question q = with_regions("s2prune", 5);
    q.image[0].pixels = pixels;
    q.size[0].before_tower = 1;
    q.size[0].n_regions = 0;
    prefill_only(s, &q, &a);
    assert_in_range(a.stats.tower_tokens, 1, 3);
    q.size[0].n_regions = 2;
    for (int again = 0; again < 2; again++) {
        s2v_session_reset(s);
        prefill_only(s, &q, &a);
        assert_in_range(a.stats.tower_tokens, N_KEPT, N_KEPT + 3);
        for (int32_t t = 0; t < N_TOKENS; t++)
            if (is_kept_region(t)) assert_true(has(a.kept[0], a.n_kept[0], t));
    }
    s2v_session_free(s);
    s2v_engine_close(engine);
}

/* --- refusals ----------------------------------------------------------------------------- */

static void refuse(const question *q, s2p_status expected, const char *part)
{
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *s = tiny_session(engine, &options);
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = prefill(s, q, NULL, &error);
    CHECK_CASE(st == expected && strstr(error.message, part), "%d: %s", (int)st, error.message);
    s2v_session_free(s);
    s2v_engine_close(engine);
}

static void test_refusals(void **state)
{
    (void)state;
    static const s2p_region bad[] = {
        { NAN, 0, 1, 1, NULL, 0 },       { 0, 0, INFINITY, 1, NULL, 0 }, { 0, 0, 0, 5, NULL, 0 },
        { 0, 0, 5, -1, NULL, 0 },        { 180, 0, 5, 5, NULL, 0 },      { -9, 0, 9, 5, NULL, 0 },
        { 0, 1e300, 5, 1e300, NULL, 0 },
    };
    tiny_write_plain(folder);
    question q = with_regions("s2prune", N_KEPT - 1);
    refuse(&q, S2P_EBUDGET,
           "the regions of picture 1 keep 4 tokens, but its budget is 3; raise the budget");
    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        q = with_regions("s2prune", 9);
        q.size[0].regions = &bad[i];
        q.size[0].n_regions = 1;
        refuse(&q, S2P_EINVAL, "region 1 of picture 1");
    }
    q = with_regions("s2prune", 9);
    q.size[0].n_regions = 1000000000;
    refuse(&q, S2P_ELIMIT, "has 1000000000 regions; the limit is 256");
    q.size[0].n_regions = -1;
    refuse(&q, S2P_ELIMIT, "regions");
    const s2p_region all = { 0, 0, 180, 140, NULL, S2P_REGION_DROP };
    q.size[0].regions = &all;
    q.size[0].n_regions = 1;
    refuse(&q, S2P_EINVAL, "drop every token of picture 1");
    q = with_regions("s2prune", 9);
    const int32_t keep[] = { 1, 2 };
    q.prune.keep = keep;
    q.prune.n_keep = 2;
    refuse(&q, S2P_EINVAL, "chosen tokens and regions");
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tokens),        cmocka_unit_test(test_masks),
        cmocka_unit_test(test_every_method),  cmocka_unit_test(test_dropped_leaves_no_trace),
        cmocka_unit_test(test_nothing_leaks), cmocka_unit_test(test_pictures_and_tiles),
        cmocka_unit_test(test_before_tower),  cmocka_unit_test(test_refusals),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
