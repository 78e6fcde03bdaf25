/* LLaVA-OneVision: how pictures are seen, which rows they become, what pruning leaves. */
#include "tiny_llava.h"

#include "image/geometry.h"

#define WIDTH TINY_WIDTH
#define MAX_VIEWS 37
#define MAX_ROWS 600

static const char *folder;
static tiny_file text, mmproj;
static s2v_engine *good;

static int open_good(void **state)
{
    (void)state;
    vocabulary_init(&tiny_words);
    llava_text(&text);
    llava_mmproj(&mmproj);
    tiny_write_pair(folder, "llava", &text, &mmproj);
    good = tiny_open_caching();
    return 0;
}

static int close_good(void **state)
{
    (void)state;
    s2v_engine_close(good);
    return 0;
}

/* --- rows ------------------------------------------------------------------------- */

typedef struct record { /* what the tower gave, and what the decoder got */
    float view[MAX_VIEWS][LLAVA_TOKENS * WIDTH];
    int32_t n_views;
    float row[MAX_ROWS][WIDTH], next[MAX_ROWS][WIDTH]; /* before and after layer 0 */
    int32_t n_rows;
} record;

static record seen;

static void keep_rows(const char *name, int32_t index, const float *data, int32_t rows,
                      int32_t cols, void *user)
{
    record *r = user;
    if (strcmp(name, "vis.merged") == 0 || strcmp(name, "h") == 0) assert_int_equal(cols, WIDTH);
    if (strcmp(name, "vis.merged") == 0)
        memcpy(r->view[r->n_views++], data, sizeof r->view[0]);
    else if (strcmp(name, "h") == 0 && index == 0)
        memcpy(r->row, data, (size_t)(r->n_rows = rows) * sizeof r->row[0]);
    else if (strcmp(name, "h") == 0 && index == 1)
        memcpy(r->next, data, (size_t)rows * sizeof r->next[0]);
}

static s2v_session *watch(const question *q, s2v_stats *stats)
{
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(good, &options);
    s2p_error error = { S2P_OK, "" };
    seen.n_views = seen.n_rows = 0;
    s2v_session_set_trace(session, keep_rows, &seen);
    CHECK_CASE(prefill(session, q, stats, &error) == S2P_OK, "%s", error.message);
    return session;
}

static int32_t first_picture_row(const question *q)
{
    question alone = *q;
    alone.raw = "hello world ";
    alone.n_images = 0;
    s2v_session_free(watch(&alone, NULL));
    return seen.n_rows;
}

/* The value after which a line of the tiled picture ends. */
static const float *newline(void) { return (const float *)good->model.tower.newline->data; }

static void assert_row(int32_t row, const float *expected)
{
    for (int32_t k = 0; k < WIDTH; k++)
        CHECK_CASE(fabsf(seen.row[row][k] - expected[k]) <= 1e-5f, "row %d: %g, not %g at %d", row,
                   (double)seen.row[row][k], (double)expected[k], k);
}

/* The last row gives the logits, so pruning must not be able to take it. */
static void a_picture_at_the_end(void **state)
{
    (void)state;
    const s2v_session_options o = tiny_session_options();
    for (int no_newline = 0; no_newline < 2; no_newline++)
        for (int32_t budget = 5; budget <= LLAVA_TOKENS; budget += LLAVA_TOKENS - 5) {
            question q = llava_question("s2prune", budget, 90, 70, S2V_FRAMING_BASE);
            q.size[0].no_newline = no_newline;
            q.raw = "hello <image>";
            s2p_error error = { S2P_OK, "" };
            s2v_session *session = tiny_session(good, &o);
            const bool is_refused = no_newline && budget < LLAVA_TOKENS;
            CHECK_CASE(prefill(session, &q, NULL, &error) == (is_refused ? S2P_EINVAL : S2P_OK),
                       "%d, %d: %s", no_newline, budget, error.message);
            s2v_session_free(session);
        }
}

static void one_view_and_a_newline(void **state)
{
    (void)state;
    for (int no_newline = 0; no_newline < 2; no_newline++) {
        question q = llava_question(NULL, 0, 90, 70, S2V_FRAMING_BASE);
        q.size[0].no_newline = no_newline;
        const int32_t first = first_picture_row(&q);
        s2v_stats stats;
        s2v_session_free(watch(&q, &stats));
        assert_int_equal(seen.n_views, 1);
        for (int32_t t = 0; t < LLAVA_TOKENS; t++)
            assert_row(first + t, &seen.view[0][(ptrdiff_t)t * WIDTH]);
        if (!no_newline) assert_row(first + LLAVA_TOKENS, newline());
        assert_int_equal(stats.image_tokens_full, LLAVA_TOKENS);
        assert_int_equal(stats.text_tokens + LLAVA_TOKENS, seen.n_rows);
    }
}

/* A token of the tiles put together, padding cut off: the definition, one token at a time. */
static double tile_value(const s2_anyres *plan, int32_t y, int32_t x, int32_t k)
{
    const int32_t across = plan->best.width / LLAVA_IMAGE, down = plan->best.height / LLAVA_IMAGE;
    y += (down * LLAVA_SIDE - plan->full_rows) / 2;
    x += (across * LLAVA_SIDE - plan->full_cols) / 2;
    const int32_t view = 1 + y / LLAVA_SIDE * across + x / LLAVA_SIDE;
    const int32_t token = y % LLAVA_SIDE * LLAVA_SIDE + x % LLAVA_SIDE;
    return (double)seen.view[view][(ptrdiff_t)token * WIDTH + k];
}

static double clamp(double value, double high)
{
    return value < 0.0 ? 0.0 : value > high ? high : value;
}

/* Bilinear, corners not aligned. */
static double shrunk_value(const s2_anyres *plan, int32_t row, int32_t col, int32_t k)
{
    const double y = clamp((row + 0.5) * plan->full_rows / plan->rows - 0.5, plan->full_rows - 1);
    const double x = clamp((col + 0.5) * plan->full_cols / plan->cols - 0.5, plan->full_cols - 1);
    const int32_t y0 = (int32_t)y, x0 = (int32_t)x;
    const int32_t y1 = y0 + 1 < plan->full_rows ? y0 + 1 : y0;
    const int32_t x1 = x0 + 1 < plan->full_cols ? x0 + 1 : x0;
    const double fy = y - y0, fx = x - x0;
    return (1 - fy) * ((1 - fx) * tile_value(plan, y0, x0, k) + fx * tile_value(plan, y0, x1, k)) +
           fy * ((1 - fx) * tile_value(plan, y1, x0, k) + fx * tile_value(plan, y1, x1, k));
}

/* The view of a picture that fills it is the view of its pixels: tile 1 against the base view of
 * that crop. */
static void tiles_lines_and_newlines(void **state)
{
    (void)state;
    static const struct {
        int32_t width, height;
        bool is_shrunk;
    } cases[] = { { 120, 60, false },  { 110, 70, false }, { 50, 130, false }, { 61, 60, false },
                  { 180, 175, false }, { 300, 240, true }, { 360, 360, true }, { 390, 200, true } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const question q =
            llava_question(NULL, 0, cases[i].width, cases[i].height, S2V_FRAMING_ANYRES);
        const s2_anyres plan =
            s2_anyres_plan((s2_size){ cases[i].width, cases[i].height }, LLAVA_IMAGE, LLAVA_SIDE);
        CHECK_CASE((plan.rows != plan.full_rows) == cases[i].is_shrunk, "%dx%d", cases[i].width,
                   cases[i].height);
        const int32_t first = first_picture_row(&q);
        s2v_stats stats;
        s2v_session_free(watch(&q, &stats));
        assert_int_equal(seen.n_views, plan.n_views);
        assert_int_equal(stats.image_tokens_full, LLAVA_TOKENS + plan.rows * plan.cols);
        for (int32_t t = 0; t < LLAVA_TOKENS; t++)
            assert_row(first + t, &seen.view[0][(ptrdiff_t)t * WIDTH]);
        for (int32_t r = 0; r < plan.rows; r++) {
            const int32_t line = first + LLAVA_TOKENS + r * (plan.cols + 1);
            for (int32_t c = 0; c < plan.cols; c++) {
                float expected[WIDTH];
                for (int32_t k = 0; k < WIDTH; k++)
                    expected[k] = (float)shrunk_value(&plan, r, c, k);
                assert_row(line + c, expected);
            }
            assert_row(line + plan.cols, newline());
        }
    }
}

/* --- pixels ------------------------------------------------------------------------ */

static float level(uint8_t byte) { return ((float)byte / 255.0f - 0.5f) / 0.5f; }

/* Pixel (y, x) of a view, red. */
static float pixel(const s2v_frame *f, int32_t view, int32_t y, int32_t x)
{
    const int32_t patch = y / TINY_PATCH * LLAVA_SIDE + x / TINY_PATCH;
    const int32_t at = y % TINY_PATCH * TINY_PATCH + x % TINY_PATCH;
    return f->patches[((ptrdiff_t)view * f->n_patches + patch) * good->model.tower.patch_row + at];
}

static s2v_frame frame_of(const s2p_image *image, s2v_framing view)
{
    const s2v_image_options options = { .size = sizeof(s2v_image_options), .framing = view };
    s2v_frame f;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(good->model.arch->frame(&good->model, image, &options, S2V_FRAMING_BASE, &f,
                                       &error) == S2P_OK,
               "%s", error.message);
    return f;
}

/* Sizes for which no resizing happens, so that pixels can be named. */
static void padding_and_tiles_hold_the_right_pixels(void **state)
{
    (void)state;
    static uint8_t pixels[120 * 60 * 3];
    for (int i = 0; i < 120 * 60; i++) pixels[3 * i] = (uint8_t)(i % 251);
    const s2p_image low = { 60, 31, 180, pixels }; /* square: 14 lines above, 15 below */
    s2v_frame f = frame_of(&low, S2V_FRAMING_SQUARE);
    assert_int_equal(f.n_rows, LLAVA_TOKENS + 1);
    assert_true(fabsf(pixel(&f, 0, 13, 5) - level(127)) <= 1e-6f);
    assert_true(fabsf(pixel(&f, 0, 14, 5) - level(5)) <= 1e-6f);
    assert_true(fabsf(pixel(&f, 0, 44, 9) - level((30 * 60 + 9) % 251)) <= 1e-6f);
    assert_true(fabsf(pixel(&f, 0, 45, 9) - level(127)) <= 1e-6f);
    s2v_frame_free(&f);

    const s2p_image wide = { 120, 60, 360, pixels }; /* two tiles, filled */
    f = frame_of(&wide, S2V_FRAMING_ANYRES);
    assert_int_equal(f.n_views, 3);
    assert_true(fabsf(pixel(&f, 1, 7, 9) - level((7 * 120 + 9) % 251)) <= 1e-6f);
    assert_true(fabsf(pixel(&f, 2, 7, 9) - level((7 * 120 + 69) % 251)) <= 1e-6f);
    s2v_frame_free(&f);

    const s2p_image flat = { 120, 31, 360, pixels }; /* the same tiles, black above and below */
    f = frame_of(&flat, S2V_FRAMING_ANYRES);
    assert_int_equal(f.n_views, 3);
    assert_true(fabsf(pixel(&f, 1, 13, 3) - level(0)) <= 1e-6f);
    assert_true(fabsf(pixel(&f, 1, 14, 3) - level(3)) <= 1e-6f);
    assert_true(fabsf(pixel(&f, 2, 45, 3) - level(0)) <= 1e-6f);
    s2v_frame_free(&f);
}

/* --- pruning ----------------------------------------------------------------------- */

static void auto_sees_as_documented(void **state)
{
    (void)state;
    const struct {
        const char *method;
        int32_t n_images;
        s2v_framing expected;
    } cases[] = { { NULL, 1, S2V_FRAMING_ANYRES },      { "full", 1, S2V_FRAMING_ANYRES },
                  { "s2prune", 1, S2V_FRAMING_BASE },   { "random", 1, S2V_FRAMING_BASE },
                  { "s2prune", 2, S2V_FRAMING_SQUARE }, { NULL, 2, S2V_FRAMING_SQUARE } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        question q = llava_question(cases[i].method, 8, 90, 70, S2V_FRAMING_AUTO);
        q.n_images = cases[i].n_images;
        q.image[1] = q.image[0];
        if (q.n_images == 2) q.raw = "<image> hello <image>";
        s2v_session *session = watch(&q, NULL);
        for (int32_t p = 0; p < q.n_images; p++)
            CHECK_CASE(s2v_session_framing(session, p) == cases[i].expected, "case %zu", i);
        assert_int_equal(s2v_session_framing(session, q.n_images), S2V_FRAMING_AUTO);
        assert_true((s2v_session_tile_plan(session, 0) != NULL) ==
                    (cases[i].expected == S2V_FRAMING_ANYRES));
        s2v_session_free(session);
    }
}

/* The budget is split by tokens, at least one each; newlines stay. */
static void budgets_of_parts(void **state)
{
    (void)state;
    const s2_anyres plan = s2_anyres_plan((s2_size){ 110, 70 }, LLAVA_IMAGE, LLAVA_SIDE);
    const int32_t n_tiles = plan.rows * plan.cols, n = LLAVA_TOKENS + n_tiles;
    for (int32_t budget = 2; budget <= n + 3; budget++) {
        const question q = llava_question("s2prune", budget, 110, 70, S2V_FRAMING_ANYRES);
        s2v_stats stats;
        s2v_session *session = watch(&q, &stats);
        int32_t n_whole, n_tiled;
        (void)s2p_plan_keep(s2v_session_plan(session, 0), &n_whole);
        (void)s2p_plan_keep(s2v_session_tile_plan(session, 0), &n_tiled);
        const int32_t expected = budget < n ? budget : n;
        const double share = (double)expected * LLAVA_TOKENS / n;
        CHECK_CASE(n_whole + n_tiled == expected && n_whole >= 1 && n_tiled >= 1,
                   "budget %d: %d and %d", budget, n_whole, n_tiled);
        CHECK_CASE(fabs(n_whole - share) <= 0.5 || n_whole == 1, "budget %d: %d", budget, n_whole);
        assert_int_equal(stats.image_tokens, expected);
        assert_int_equal(session->rows.n, stats.text_tokens + expected);
        int32_t n_kept_text = 0;
        for (int32_t i = 0; i < session->rows.n; i++) n_kept_text += session->rows.unit[i] < 0;
        assert_int_equal(n_kept_text, stats.text_tokens);
        s2v_session_free(session);
    }
}

/* The tiles are pruned by their own scores, the newlines between the lines left out. */
static void tiles_are_selected_by_their_scores(void **state)
{
    (void)state;
    const question q = llava_question("s2prune", 30, 180, 70, S2V_FRAMING_ANYRES);
    const int32_t first = first_picture_row(&q) + LLAVA_TOKENS;
    s2v_session *session = watch(&q, NULL);
    const s2p_plan *tiles = s2v_session_tile_plan(session, 0);
    const s2p_grid grid = s2p_plan_layout(tiles).grid;
    assert_true(grid.rows > 1 && grid.cols > 1);
    float erc[MAX_ROWS];
    for (int32_t t = 0; t < grid.rows * grid.cols; t++) {
        const int32_t row = first + t / grid.cols * (grid.cols + 1) + t % grid.cols;
        double sum = 0.0;
        for (int32_t k = 0; k < WIDTH; k++)
            sum += pow((double)seen.next[row][k] - (double)seen.row[row][k], 2.0);
        erc[t] = (float)sqrt(sum);
    }
    int32_t n_kept, n_expected;
    const int32_t *kept = s2p_plan_keep(tiles, &n_kept);
    s2p_view view = { .budget = n_kept };
    view.image = &q.image[0];
    view.signal[S2P_ERC] = (s2p_signal){ erc, { grid.rows * grid.cols } };
    s2p_plan *plan;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2p_plan_create(&plan, grid), S2P_OK);
    CHECK_CASE(s2p_method_run(s2p_method_find("s2prune"), &view, plan, &error) == S2P_OK, "%s",
               error.message);
    const int32_t *expected = s2p_plan_keep(plan, &n_expected);
    assert_int_equal(n_kept, n_expected);
    assert_memory_equal(kept, expected, (size_t)n_kept * sizeof *kept);
    s2p_plan_free(plan);
    s2v_session_free(session);
}

/* Removing tokens is hiding them; keeping all is not pruning; positions are never renumbered. */
static void removal_equals_masking(void **state)
{
    (void)state;
    static const s2v_framing views[] = { S2V_FRAMING_BASE, S2V_FRAMING_SQUARE, S2V_FRAMING_ANYRES };
    const s2v_session_options options = tiny_session_options();
    for (size_t v = 0; v < COUNT_OF(views); v++) {
        static answer removed, hidden, all, full;
        question q = llava_question("s2prune", 7, 110, 70, views[v]);
        s2v_session *session = tiny_session(good, &options);
        prefill_only(session, &q, &removed);
        s2v_session_reset(session);
        session->trace.masks = true;
        prefill_only(session, &q, &hidden);
        session->trace.masks = false;
        assert_memory_equal(removed.kept, hidden.kept, sizeof removed.kept);
        CHECK_CASE(distance(hidden.first, removed.first) <= 1e-5, "view %d: %g", (int)views[v],
                   distance(hidden.first, removed.first));

        q.prune.budget.tokens = 1000;
        s2v_session_reset(session);
        ask(session, &q, &all);
        q.prune.method = NULL;
        s2v_session_reset(session);
        ask(session, &q, &full);
        assert_memory_equal(all.token, full.token, sizeof all.token);
        CHECK_CASE(distance(full.first, all.first) <= 1e-6, "view %d", (int)views[v]);
        CHECK_CASE(distance(full.first, removed.first) > 1e-4, "view %d: nothing was pruned",
                   (int)views[v]);
        s2v_session_free(session);
    }
}

/* Structure of a square is that of the padded picture: gray above and below is flat. */
static void structure_of_a_square(void **state)
{
    (void)state;
    static uint8_t pixels[120 * 40 * 3];
    uint32_t seed = 3;
    question q = llava_question("s2prune", 12, 90, 70, S2V_FRAMING_SQUARE);
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)next_random(&seed);
    q.image[0] = (s2p_image){ 120, 40, 360, pixels };
    q.prune.choice.side = 3; /* lines 0, 30, 90, 120; the picture is in 40 to 79 */
    s2v_session *session = watch(&q, NULL);
    const s2p_layout layout = s2p_plan_layout(s2v_session_plan(session, 0));
    for (int32_t g = 0; g < 9; g++)
        CHECK_CASE((layout.raw[g] > 0.0f) == (g / 3 == 1), "region %d: %g", g,
                   (double)layout.raw[g]);
    assert_int_equal(layout.support[8].row1, 120);
    assert_int_equal(layout.support[8].col1, 120);
    s2v_session_free(session);
}

/* A picture asked about again comes from memory, tiles and newlines with it. */
static void a_kept_picture_is_the_same(void **state)
{
    (void)state;
    s2v_session_options options = tiny_session_options();
    options.pictures_only = 1;
    s2v_session *session = tiny_session(good, &options);
    static answer first, again, other, plain;
    question q = llava_question("s2prune", 9, 300, 240, S2V_FRAMING_ANYRES);
    ask(session, &q, &first);
    s2v_session_reset(session);
    ask(session, &q, &again);
    assert_same_bits(&first, &again);
    q.size[0].no_newline = 1; /* the same patches, other rows */
    s2v_session_reset(session);
    ask(session, &q, &other);
    s2v_session_free(session);
    options.no_cache = 1;
    session = tiny_session(good, &options);
    ask(session, &q, &plain);
    s2v_session_free(session);
    assert_same_bits(&other, &plain);
}

/* --- refusals ----------------------------------------------------------------------- */

static void refuse_question(const question *q, s2p_status expected, const char *part)
{
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(good, &options);
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = prefill(session, q, NULL, &error);
    CHECK_CASE(st == expected && strstr(error.message, part), "%s: %s", part, error.message);
    s2v_session_free(session);
}

static void questions_it_refuses(void **state)
{
    (void)state;
    question q = llava_question("s2prune", 1, 110, 70, S2V_FRAMING_ANYRES);
    refuse_question(&q, S2P_EINVAL, "budget of 2 or more");
    q = llava_question("s2prune", 8, 110, 70, S2V_FRAMING_BASE);
    q.size[0].width = q.size[0].height = 56;
    refuse_question(&q, S2P_EINVAL, "sees 60x60");
    q.size[0] = (s2v_image_options){ .size = sizeof(s2v_image_options), .max_pixels = 4000 };
    refuse_question(&q, S2P_EINVAL, "one size");
    q.size[0] = (s2v_image_options){ .size = sizeof(s2v_image_options), .framing = (s2v_framing)7 };
    refuse_question(&q, S2P_EINVAL, "unknown framing 7");
    q = llava_question(NULL, 0, 400, 2, S2V_FRAMING_SQUARE);
    q.image[0].width = 8193;
    q.image[0].height = 1;
    q.image[0].stride = 8193 * 3;
    refuse_question(&q, S2P_ELIMIT, "8192 is the limit");
}

static void refuse_mmproj(s2p_status expected, const char *part)
{
    s2p_error error = { S2P_OK, "" };
    tiny_write_pair(folder, "bad", &text, &mmproj);
    const s2v_engine_options options = tiny_options();
    s2v_engine *engine;
    const s2p_status st = s2v_engine_open(&engine, &options, &error);
    CHECK_CASE(st == expected && strstr(error.message, part), "%s: %s", part, error.message);
    llava_mmproj(&mmproj);
}

static void files_it_refuses(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        static const double bad[] = { 0, LLAVA_BLOCKS + 1, -2 };
        tiny_find_key(&mmproj, "clip.vision.feature_layer")->value[0] = bad[i];
        refuse_mmproj(S2P_EUNSUPPORTED, "feature_layer");
    }
    tiny_find_key(&mmproj, "clip.use_gelu")->value[0] = 0;
    refuse_mmproj(S2P_EUNSUPPORTED, "another tower than SigLIP");
    tiny_add_tensor(&mmproj, "v.class_embd", 0, LLAVA_VISION, 0);
    refuse_mmproj(S2P_EUNSUPPORTED, "another tower than SigLIP");
    tiny_find_key(&mmproj, "clip.vision.image_size")->value[0] = 13;
    refuse_mmproj(S2P_EFORMAT, "image_size");
    tiny_find_key(&mmproj, "clip.vision.image_size")->value[0] = 84; /* other positions */
    refuse_mmproj(S2P_EFORMAT, "v.position_embd.weight");
    for (size_t i = mmproj.n_tensors; i-- > 0;) {
        char name[64];
        (void)snprintf(name, sizeof name, "%s", mmproj.tensor[i].name);
        if (strcmp(name, "v.image_newline") == 0) continue;
        tiny_drop_tensor(&mmproj, i);
        refuse_mmproj(S2P_EFORMAT, strstr(name, "blk.0.ffn_up.weight") ? "ffn_" : name);
    }
}

/* Without the tensor there are no newline rows; its old name is known. */
static void newline_is_optional(void **state)
{
    (void)state;
    s2v_engine *usual = good;
    const question q = llava_question(NULL, 0, 90, 70, S2V_FRAMING_BASE);
    int32_t n_rows[3];
    for (int i = 0; i < 3; i++) {
        llava_mmproj(&mmproj);
        tiny_tensor *t = tiny_find_tensor(&mmproj, "v.image_newline");
        if (i == 1) (void)snprintf(t->name, sizeof t->name, "model.image_newline");
        if (i == 2) tiny_drop_tensor(&mmproj, (size_t)(t - mmproj.tensor));
        tiny_write_pair(folder, "newline", &text, &mmproj);
        good = tiny_open_caching();
        s2v_session_free(watch(&q, NULL));
        n_rows[i] = seen.n_rows;
        s2v_engine_close(good);
    }
    good = usual;
    llava_mmproj(&mmproj);
    assert_int_equal(n_rows[0], n_rows[1]);
    assert_int_equal(n_rows[0], n_rows[2] + 1);
}

/* A file may list its tile sizes: the 36, or tiles are refused and the base view works. */
static void other_tile_sizes(void **state)
{
    (void)state;
    s2v_engine *usual = good;
    const double two[] = { 60, 120, 120, 60 };
    tiny_list(&mmproj, "clip.vision.image_grid_pinpoints", I32, 4, two);
    tiny_write_pair(folder, "pinpoints", &text, &mmproj);
    good = tiny_open_caching();
    question q = llava_question(NULL, 0, 110, 70, S2V_FRAMING_ANYRES);
    refuse_question(&q, S2P_EUNSUPPORTED, "other tile sizes");
    q.size[0].framing = S2V_FRAMING_BASE;
    s2v_session_free(watch(&q, NULL));
    s2v_engine_close(good);
    good = usual;
    llava_mmproj(&mmproj);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_view_and_a_newline),
        cmocka_unit_test(a_picture_at_the_end),
        cmocka_unit_test(tiles_lines_and_newlines),
        cmocka_unit_test(padding_and_tiles_hold_the_right_pixels),
        cmocka_unit_test(auto_sees_as_documented),
        cmocka_unit_test(budgets_of_parts),
        cmocka_unit_test(tiles_are_selected_by_their_scores),
        cmocka_unit_test(removal_equals_masking),
        cmocka_unit_test(structure_of_a_square),
        cmocka_unit_test(a_kept_picture_is_the_same),
        cmocka_unit_test(questions_it_refuses),
        cmocka_unit_test(files_it_refuses),
        cmocka_unit_test(newline_is_optional),
        cmocka_unit_test(other_tile_sizes),
    };
    return cmocka_run_group_tests(tests, open_good, close_good);
}
