/* test_engine_published.c - methods as their authors have them: other counts, other orders, rows of
 * zeros, refusals; and the compaction that makes such rows.
 *
 * Towers of random weights attend nearly evenly. Two pairs here have large query biases in the last
 * block of the tower: every patch attends to the same few, as trained towers do.
 */
#include "method_scenes.h"

#include "engine/prompt/steps.h"
#include "prune/methods/prumerge.h"

#define PEAK 12.0f /* of the biases */

static const scene nine_by_nine = { "9x9", false, 1, { 9 }, { 9 }, S2V_FRAMING_AUTO };
static pair peaked[] = { { .is_llava = false, .n_layers = TINY_LAYERS },
                         { .is_llava = true, .n_layers = TINY_LAYERS } };
static outcome first, second; /* too large for a stack */

static int open_all(void **state)
{
    open_pairs(state);
    for (int i = 0; i < 2; i++) {
        if (peaked[i].is_llava) {
            llava_text(&tiny_text_file);
            llava_mmproj(&tiny_mmproj_file);
        } else {
            tiny_text(&tiny_text_file, &tiny_words, TINY_LAYERS);
            tiny_mmproj(&tiny_mmproj_file, TINY_BLOCKS);
        }
        char name[32];
        (void)snprintf(name, sizeof name, "v.blk.%d.attn_q.bias",
                       (i ? LLAVA_BLOCKS : TINY_BLOCKS) - 1);
        tiny_find_tensor(&tiny_mmproj_file, name)->spread = PEAK;
        tiny_write_pair(folder, i ? "peaked-llava" : "peaked-qwen", &tiny_text_file,
                        &tiny_mmproj_file);
        peaked[i].engine = tiny_open();
    }
    return 0;
}

static int close_all(void **state)
{
    for (int i = 0; i < 2; i++) s2v_engine_close(peaked[i].engine);
    return close_pairs(state);
}

static question as_published(const scene *sc, const char *method, int32_t budget)
{
    question q = scene_question(sc, method, budget);
    q.prune.published = 1;
    return q;
}

/* --- counts -------------------------------------------------------------------------------- */

static void check_stages(const scene *sc, const char *method, int32_t budget, int32_t n_stages,
                         const int32_t *expected)
{
    s2v_session *s = pair_session(&pairs[2], 0);
    const question q = as_published(sc, method, budget);
    prefill_well(s, &q, &first);
    assert_int_equal(first.stats.n_stages, n_stages);
    for (int32_t i = 0; i < n_stages; i++)
        CHECK_CASE(first.stats.stage_tokens[i] == expected[i], "%s: stage %d leaves %d, not %d",
                   method, i, first.stats.stage_tokens[i], expected[i]);
    assert_int_equal(first.n_kept[0], expected[n_stages - 1]);
    assert_int_equal(first.stats.image_tokens, expected[n_stages - 1]);
    assert_int_equal(first.n_rows, first.stats.text_tokens + expected[n_stages - 1]);
    s2v_session_free(s);
}

static void counts_of_the_authors(void **state)
{
    (void)state;
    /* half, half of that, one; whatever the budget */
    check_stages(&scenes[1], "v2drop", 20, 3, (const int32_t[]){ 31, 15, 1 });
    check_stages(&scenes[1], "v2drop", 2, 3, (const int32_t[]){ 31, 15, 1 });
    check_stages(&scenes[3], "v2drop", 5, 3, (const int32_t[]){ 3, 1, 1 });
    /* 4 + 8 floor(B / 8) */
    check_stages(&scenes[1], "dart", 8, 1, (const int32_t[]){ 12 });
    check_stages(&scenes[1], "dart", 15, 1, (const int32_t[]){ 12 });
    check_stages(&scenes[1], "dart", 33, 1, (const int32_t[]){ 36 });
    /* 66, 30 and 17, and one cluster in ten of the best 30 % of those dropped, rounded up */
    check_stages(&nine_by_nine, "sparsevlm", 64, 3, (const int32_t[]){ 67, 32, 18 });
    /* with a budget of all tokens nobody prunes */
    check_stages(&scenes[1], "sparsevlm", 64, 3, (const int32_t[]){ 63, 63, 63 });
    check_stages(&scenes[1], "dart", 63, 1, (const int32_t[]){ 63 });
}

/* The best 0.3 and the lattice; then 0.09 of those. */
static void feather_keeps_the_lattice(void **state)
{
    (void)state;
    s2v_session *s = pair_session(&pairs[2], 0);
    for (int i = 0; i < 2; i++) {
        const scene *sc = i ? &nine_by_nine : &scenes[2];
        const int32_t n_tokens = sc->rows[0] * sc->cols[0], n_best = (int32_t)(0.3 * n_tokens);
        const question q = as_published(sc, "feather-full", 5);
        prefill_well(s, &q, &first);
        const int32_t n = first.stats.stage_tokens[0];
        CHECK_CASE(n >= n_best && n <= n_best + 9, "%s: %d", sc->name, n);
        assert_true(n > n_best); /* not all of the lattice is among the best */
        assert_int_equal(first.stats.stage_tokens[1], (int32_t)(0.09 * n));
    }
    s2v_session_free(s);
}

/* What a method does not say about published is what it does anyway. */
static void others_stay_as_they_are(void **state)
{
    (void)state;
    const s2p_method *m;
    for (int i = 0; i < 2; i++) {
        s2v_session *s = pair_session(&pairs[i], 0);
        for (size_t k = 0; (m = s2p_method_at(k)) != NULL; k++) {
            if (s2p_method_about(m)->resizes) continue;
            const bool is_same = !s2p_method_about(m)->published ||
                                 strcmp(s2p_method_about(m)->name, "visionzip") == 0;
            const scene *sc = &scenes[i ? 6 : 4];
            question q = scene_question(sc, s2p_method_about(m)->name, 6);
            if (!is_same) continue;
            prefill_well(s, &q, &first);
            q.prune.published = 1;
            prefill_well(s, &q, &second);
            assert_true(same_kept(&first, &second));
            assert_memory_equal(first.logits, second.logits, sizeof first.logits);
        }
        s2v_session_free(s);
    }
}

static void refuse(const question *q, const char *part)
{
    s2v_session *s = pair_session(&pairs[0], 0);
    prefill_outcome(s, q, &first);
    CHECK_CASE(first.status == S2P_EUNSUPPORTED && strstr(first.error.message, part), "%s: %s",
               part, first.error.message);
    s2v_session_free(s);
}

static void published_refusals(void **state)
{
    (void)state;
    question q = as_published(&scenes[1], "dart", 7);
    refuse(&q, "cannot take 0 tokens");
    q = as_published(&scenes[0], "dart", 11); /* 4 + 8 fit 12 */
    s2v_session *s = pair_session(&pairs[0], 0);
    prefill_well(s, &q, &first);
    assert_int_equal(first.n_kept[0], 12);
    s2v_session_free(s);
    q = as_published(&scenes[3], "dart", 5);
    refuse(&q, "dart as published");
    q = as_published(&scenes[1], "dart", 16);
    q.raw = questions[0][2]; /* one token after the picture and its mark */
    refuse(&q, "four tokens after the picture; there are 2");
    q = as_published(&nine_by_nine, "sparsevlm", 63);
    refuse(&q, "192, 128 or 64");
    q = as_published(&scenes[1], "vispruner", 20);
    refuse(&q, "cannot pair the 53 tokens");
    q.prune.budget.tokens = 22;
    s = pair_session(&pairs[0], 0);
    prefill_well(s, &q, &first);
    assert_int_equal(first.n_kept[0], 22);
    s2v_session_free(s);
}

/* --- rows of zeros ---------------------------------------------------------------------------- */

typedef struct watched { /* the rows that entered the decoder, and the tower's attention */
    float row[MAX_ROWS][TINY_WIDTH];
    double attn[MAX_ROWS];
    int32_t n_tokens;
} watched;

static watched seen;

static void keep_rows(const char *name, int32_t index, const float *data, int32_t rows,
                      int32_t cols, void *user)
{
    watched *w = user;
    if (strcmp(name, "h") == 0 && index == 0)
        memcpy(w->row, data, (size_t)rows * (size_t)cols * sizeof *data);
}

static void keep_attention(const s2v_selection *choice, void *user)
{
    watched *w = user;
    const s2p_view *view = choice->view;
    const s2p_grid grid = choice->grid;
    w->n_tokens = grid.rows * grid.cols;
    const float *attn = view->signal[S2P_VISION_ATTN].data;
    for (int32_t i = 0; attn && i < w->n_tokens; i++) w->attn[i] = (double)attn[i];
}

static s2v_session *watch(const pair *p, const question *q)
{
    s2v_session *s = pair_session(p, 0);
    s2v_session_set_trace(s, keep_rows, &seen);
    s2v_session_set_recorder(s, keep_attention, &seen);
    prefill_outcome(s, q, &first);
    return s;
}

/* The unit's rows as picked, then rows of nothing at position -1; text as ever. */
static int32_t check_blanks(const s2v_session *s, int32_t unit, bool as_picked)
{
    int32_t n, k = 0, n_zeros = 0;
    const s2p_plan *plan = unit_plan(s, unit);
    const int32_t *order = as_picked ? s2p_plan_order(plan, &n) : s2p_plan_keep(plan, &n);
    const int32_t n_blanks = s2p_plan_blanks(plan);
    for (int32_t i = 0; i < first.n_rows; i++) {
        if (first.unit[i] != unit) continue;
        if (k < n) {
            assert_int_equal(first.token[i], order[k++]);
            continue;
        }
        assert_int_equal(first.token[i], -1);
        for (int plane = 0; plane < 3; plane++) assert_int_equal(first.pos[plane][i], -1);
        for (int32_t d = 0; d < TINY_WIDTH; d++) assert_true(seen.row[i][d] == 0.0f);
        n_zeros++;
    }
    assert_int_equal(k, n);
    assert_int_equal(n_zeros, n_blanks);
    return n_blanks;
}

/* A quota larger than its run is lost, and zeros stand for it: the budget in rows, not tokens. */
static void holov_pads_with_zeros(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        int32_t n_blanks = 0, n_reordered = 0;
        for (int32_t budget = 1; budget < 16; budget++) {
            const scene *sc = &scenes[i ? 5 : 0]; /* 16 tokens, 12 tokens */
            if (!i && budget > 11) continue;
            const question q = as_published(sc, "holov", budget);
            s2v_session *s = watch(&peaked[i], &q);
            CHECK_CASE(first.status == S2P_OK, "%s", first.error.message);
            n_blanks += check_blanks(s, 0, true);
            assert_int_equal(first.stats.image_tokens, budget);
            assert_int_equal(first.n_rows, first.stats.text_tokens + budget);
            for (int32_t l = 0; l < TINY_LAYERS; l++)
                assert_int_equal(first.n_slots[l], first.n_rows);
            for (int32_t r = 1; r < first.n_rows; r++)
                n_reordered += first.token[r] >= 0 && first.token[r] < first.token[r - 1];
            s2v_session_free(s);
        }
        CHECK_CASE(n_blanks > 0 && n_reordered > 0, "pair %d: %d and %d", i, n_blanks, n_reordered);
    }
}

static int compare_doubles(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* Outliers, every step-th token but the last, one row for the dropped. */
static int32_t expected_prumerge(void)
{
    double sorted[MAX_ROWS], limit;
    bool is_in[MAX_ROWS] = { false };
    const int32_t n = seen.n_tokens;
    memcpy(sorted, seen.attn, sizeof sorted);
    qsort(sorted, (size_t)n, sizeof *sorted, compare_doubles);
    const double ratio = s2p_outlier_ratio(sorted, n);
    const int32_t n_top = (int32_t)(n * ratio), step = ratio > 0.0 ? (int32_t)(1.0 / ratio) / 3 : 0;
    if (step < 1) return -1;
    int32_t n_kept = 0;
    limit = n_top > 0 ? sorted[n - n_top] : INFINITY;
    for (int32_t i = 0; i < n; i++) {
        is_in[i] = seen.attn[i] >= limit || (i % step == 0 && i < n - 1);
        n_kept += is_in[i];
    }
    return n_kept + 1;
}

/* A context that holds the prompt, but not a row more. */
static void need_room(const pair *p, const question *q)
{
    for (int32_t spare = 0; spare < 2; spare++) {
        s2v_session_options options = tiny_session_options();
        options.n_ctx = first.stats.text_tokens + first.stats.image_tokens_full + spare;
        s2v_session *s = tiny_session(p->engine, &options);
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = prefill(s, q, NULL, &error);
        CHECK_CASE(st == (spare ? S2P_OK : S2P_ELIMIT), "%d: %s", (int)st, error.message);
        s2v_session_free(s);
    }
}

/* The count follows from the picture; where everything is kept the row for the dropped is zeros,
 * and there has to be room for it. */
static void prumerge_counts_outliers(void **state)
{
    (void)state;
    static uint8_t pixels[5 * TINY_TOKEN_SIDE * TINY_TOKEN_SIDE * 3];
    const scene one_by_five = { "1x5", false, 1, { 5 }, { 1 }, S2V_FRAMING_AUTO };
    int n_refused = 0, n_kept_all = 0;
    for (uint32_t seed = 1; seed < 60; seed++) {
        const int i = seed % 3 == 0; /* LLaVA now and then */
        question q = as_published(i ? &scenes[5] : &one_by_five, "prumerge+", 3);
        q.image[0] = make_picture(pixels, 5 * TINY_TOKEN_SIDE, TINY_TOKEN_SIDE, seed);
        s2v_session *s = watch(&peaked[i], &q);
        const int32_t expected = expected_prumerge();
        if (expected < 0) {
            assert_int_equal(first.status, S2P_EUNSUPPORTED);
            n_refused++;
        } else {
            CHECK_CASE(first.status == S2P_OK, "%s", first.error.message);
            CHECK_CASE(first.stats.image_tokens == expected, "%d, not %d", first.stats.image_tokens,
                       expected);
            if (check_blanks(s, 0, false) == 0) {
                s2v_session_free(s);
                continue;
            }
            if (n_kept_all++ == 0) need_room(&peaked[i], &q);
        }
        s2v_session_free(s);
    }
    CHECK_CASE(n_refused > 0 && n_kept_all > 0, "%d and %d", n_refused, n_kept_all);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];

    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts_of_the_authors),   cmocka_unit_test(feather_keeps_the_lattice),
        cmocka_unit_test(others_stay_as_they_are), cmocka_unit_test(published_refusals),
        cmocka_unit_test(holov_pads_with_zeros),   cmocka_unit_test(prumerge_counts_outliers),
    };
    return cmocka_run_group_tests(tests, open_all, close_all);
}
