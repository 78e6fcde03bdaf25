/* test_tiles.c - InternVL3 and SmolVLM on tiny models: towers against the same arithmetic in double, which
 * rows a picture in tiles becomes, and what pruning, caches and several turns make of them. */
#include "tiny_tiles.h"

#define N LLAVA_VISION
#define HEAD (LLAVA_VISION / LLAVA_HEADS)
#define MOST_ROWS (TILE_PATCHES + 1)

static const char *folder;
static tiny_file text, mmproj;

static void write_pair(bool is_smol)
{
    tiles_words(&tiny_words);
    if (is_smol) {
        smolvlm_text(&text, TINY_LAYERS);
        smolvlm_mmproj(&mmproj);
    } else {
        llava_text(&text);
        internvl_mmproj(&mmproj);
    }
    tiny_write_pair(folder, is_smol ? "smolvlm" : "internvl", &text, &mmproj);
}

static question tiled(const char *method, int32_t budget, s2v_framing view)
{
    question q = llava_question(method, budget, 110, 70, view);
    return q;
}

/* --- the tower in double ------------------------------------------------------------ */

static s2v_gguf *weights;

static const float *weight(const char *name, size_t n)
{
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(weights, name);
    CHECK_CASE(t && t->n_bytes == n * sizeof(float), "%s", name);
    return (const float *)(const void *)t->data;
}

static const float *block_weight(int block, const char *name, size_t n)
{
    char full[64];
    (void)snprintf(full, sizeof full, "v.blk.%d.%s", block, name);
    return weight(full, n);
}

static void linear(const double *x, int rows, int in, int out, const float *w, const float *b,
                   double *y)
{
    for (int r = 0; r < rows; r++)
        for (int o = 0; o < out; o++) {
            double sum = b ? (double)b[o] : 0.0;
            for (int i = 0; i < in; i++) sum += (double)w[o * in + i] * x[r * in + i];
            y[r * out + o] = sum;
        }
}

static void layer_norm(const double *x, int rows, int n, double eps, const float *w, const float *b,
                       double *y)
{
    for (int r = 0; r < rows; r++) {
        double mean = 0.0, variance = 0.0;
        for (int i = 0; i < n; i++) mean += x[r * n + i] / n;
        for (int i = 0; i < n; i++) variance += (x[r * n + i] - mean) * (x[r * n + i] - mean) / n;
        for (int i = 0; i < n; i++)
            y[r * n + i] =
                (x[r * n + i] - mean) / sqrt(variance + eps) * (double)w[i] + (double)b[i];
    }
}

static double gelu(double x, bool is_tanh)
{
    if (!is_tanh) return 0.5 * x * (1.0 + erf(x / sqrt(2.0)));
    return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static void attend(const double *q, const double *k, const double *v, int rows, double *out)
{
    for (int h = 0; h < LLAVA_HEADS; h++)
        for (int r = 0; r < rows; r++) {
            double p[MOST_ROWS], sum = 0.0;
            for (int c = 0; c < rows; c++) {
                double score = 0.0;
                for (int i = 0; i < HEAD; i++)
                    score += q[r * N + h * HEAD + i] * k[c * N + h * HEAD + i];
                sum += p[c] = exp(score / sqrt(HEAD));
            }
            for (int i = 0; i < HEAD; i++) {
                double value = 0.0;
                for (int c = 0; c < rows; c++) value += p[c] / sum * v[c * N + h * HEAD + i];
                out[r * N + h * HEAD + i] = value;
            }
        }
}

static void run_block(double *h, int rows, int b, bool is_smol)
{
    static double x[MOST_ROWS * N], q[MOST_ROWS * N], k[MOST_ROWS * N], v[MOST_ROWS * N],
        y[MOST_ROWS * N], wide[MOST_ROWS * LLAVA_FF];
    const float *s1 = is_smol ? NULL : block_weight(b, "ls1.weight", N);
    const float *s2 = is_smol ? NULL : block_weight(b, "ls2.weight", N);
    layer_norm(h, rows, N, 1e-6, block_weight(b, "ln1.weight", N), block_weight(b, "ln1.bias", N),
               x);
    linear(x, rows, N, N, block_weight(b, "attn_q.weight", N * N),
           block_weight(b, "attn_q.bias", N), q);
    linear(x, rows, N, N, block_weight(b, "attn_k.weight", N * N),
           block_weight(b, "attn_k.bias", N), k);
    linear(x, rows, N, N, block_weight(b, "attn_v.weight", N * N),
           block_weight(b, "attn_v.bias", N), v);
    attend(q, k, v, rows, x);
    linear(x, rows, N, N, block_weight(b, "attn_out.weight", N * N),
           block_weight(b, "attn_out.bias", N), y);
    for (int i = 0; i < rows * N; i++) h[i] += y[i] * (s1 ? (double)s1[i % N] : 1.0);
    layer_norm(h, rows, N, 1e-6, block_weight(b, "ln2.weight", N), block_weight(b, "ln2.bias", N),
               x);
    linear(x, rows, N, LLAVA_FF, block_weight(b, "ffn_up.weight", (size_t)N * LLAVA_FF),
           block_weight(b, "ffn_up.bias", LLAVA_FF), wide);
    for (int i = 0; i < rows * LLAVA_FF; i++) wide[i] = gelu(wide[i], is_smol);
    linear(wide, rows, LLAVA_FF, N, block_weight(b, "ffn_down.weight", (size_t)N * LLAVA_FF),
           block_weight(b, "ffn_down.bias", N), y);
    for (int i = 0; i < rows * N; i++) h[i] += y[i] * (s2 ? (double)s2[i % N] : 1.0);
}

/* image: exactly one tile. Patches go line by line here; the four of a token are put together last. */
static void tower(const s2p_image *image, bool is_smol, double *out)
{
    enum { VALUES = 3 * TINY_PATCH * TINY_PATCH };
    static double patches[TILE_PATCHES * VALUES], h[MOST_ROWS * N], x[TILE_PATCHES * N],
        token[TILE_TOKENS * TILE_WIDE], normed[TILE_TOKENS * TILE_WIDE],
        wide[TILE_TOKENS * TINY_WIDTH];
    const int first = is_smol ? 0 : 1, rows = TILE_PATCHES + first;
    for (int t = 0; t < TILE_PATCHES; t++)
        for (int i = 0; i < VALUES; i++) {
            const int ch = i / (TINY_PATCH * TINY_PATCH), y = i / TINY_PATCH % TINY_PATCH;
            const int row = t / 4 * TINY_PATCH + y, col = t % 4 * TINY_PATCH + i % TINY_PATCH;
            patches[t * VALUES + i] =
                (image->pixels[row * image->stride + col * 3 + ch] / 255.0 - 0.5) / 0.5;
        }
    linear(patches, TILE_PATCHES, VALUES, N, weight("v.patch_embd.weight", (size_t)N * VALUES),
           weight("v.patch_embd.bias", N), h + first * N);
    for (int i = 0; !is_smol && i < N; i++) h[i] = (double)weight("v.class_embd", N)[i];
    const float *pos = weight("v.position_embd.weight", (size_t)rows * N);
    for (int i = 0; i < rows * N; i++) h[i] += (double)pos[i];
    for (int b = 0; b < LLAVA_BLOCKS; b++) run_block(h, rows, b, is_smol);
    memcpy(x, h + first * N, sizeof x);
    if (is_smol)
        layer_norm(h, TILE_PATCHES, N, 1e-6, weight("v.post_ln.weight", N),
                   weight("v.post_ln.bias", N), x);
    for (int t = 0; t < TILE_TOKENS; t++)
        for (int k = 0; k < 4; k++) {
            const int y = t / 2 * 2 + k / 2, col = t % 2 * 2 + k % 2;
            memcpy(token + t * TILE_WIDE + k * N, x + (y * 4 + col) * N, N * sizeof *x);
        }
    if (is_smol) {
        linear(token, TILE_TOKENS, TILE_WIDE, TINY_WIDTH,
               weight("mm.model.fc.weight", (size_t)TILE_WIDE * TINY_WIDTH), NULL, out);
        return;
    }
    layer_norm(token, TILE_TOKENS, TILE_WIDE, 1e-5, weight("mm.model.mlp.0.weight", TILE_WIDE),
               weight("mm.model.mlp.0.bias", TILE_WIDE), normed);
    linear(normed, TILE_TOKENS, TILE_WIDE, TINY_WIDTH,
           weight("mm.model.mlp.1.weight", (size_t)TILE_WIDE * TINY_WIDTH),
           weight("mm.model.mlp.1.bias", TINY_WIDTH), wide);
    for (int i = 0; i < TILE_TOKENS * TINY_WIDTH; i++) wide[i] = gelu(wide[i], false);
    linear(wide, TILE_TOKENS, TINY_WIDTH, TINY_WIDTH,
           weight("mm.model.mlp.3.weight", TINY_WIDTH * TINY_WIDTH),
           weight("mm.model.mlp.3.bias", TINY_WIDTH), out);
}

static void keep_tokens(const char *name, int32_t index, const float *data, int32_t rows,
                        int32_t cols, void *user)
{
    (void)index;
    if (strcmp(name, "vis.merged") != 0) return;
    assert_true(rows == TILE_TOKENS && cols == TINY_WIDTH);
    memcpy(user, data, (size_t)TILE_TOKENS * TINY_WIDTH * sizeof *data);
}

static void towers(void **state)
{
    (void)state;
    for (int run = 0; run < 4; run++) { /* both models, on our kernels and on ggml's operators */
        static float got[TILE_TOKENS * TINY_WIDTH];
        static double expected[TILE_TOKENS * TINY_WIDTH];
        const bool is_smol = run % 2;
        write_pair(is_smol);
        question q = llava_question(NULL, 0, TILE, TILE, S2V_FRAMING_BASE);
        s2v_engine_options options = tiny_options();
        options.kernels = run < 2 ? "scalar" : "ggml";
        if (is_smol) /* to the longest side and back: a picture of one colour each third */
            for (int i = 0; i < TILE * TILE * 3; i++)
                ((uint8_t *)(uintptr_t)q.image[0].pixels)[i] = (uint8_t)(40 + 70 * (i % 3));
        assert_int_equal(s2v_gguf_open(&weights, tiny_mmproj_path, NULL), S2P_OK);
        tower(&q.image[0], is_smol, expected);
        s2v_gguf_close(weights);
        s2v_engine *engine = tiny_open_as(&options);
        const s2v_session_options session_options = tiny_session_options();
        s2v_session *session = tiny_session(engine, &session_options);
        s2p_error error = { S2P_OK, "" };
        s2v_session_set_trace(session, keep_tokens, got);
        CHECK_CASE(prefill(session, &q, NULL, &error) == S2P_OK, "%s", error.message);
        s2v_session_free(session);
        s2v_engine_close(engine);
        double worst = 0.0, largest = 0.0;
        for (int i = 0; i < TILE_TOKENS * TINY_WIDTH; i++) {
            worst = fmax(worst, fabs(expected[i] - (double)got[i]));
            largest = fmax(largest, fabs(expected[i]));
        }
        CHECK_CASE(worst <= 5e-6 * largest && largest > 0.5, "run %d: off by %g of %g", run, worst,
                   largest);
    }
}

/* --- rows ---------------------------------------------------------------------------- */

static s2v_frame frame_of(const s2v_engine *engine, const question *q)
{
    s2v_frame f;
    s2p_error error = { S2P_OK, "" };
    const s2v_model *m = &engine->model;
    CHECK_CASE(m->arch->frame(m, &q->image[0], &q->size[0], S2V_FRAMING_ANYRES, &f, &error) ==
                   S2P_OK,
               "%s", error.message);
    return f;
}

/* Three columns and two lines of tiles, tile by tile, then the whole picture. */
static void internvl_rows(void **state)
{
    (void)state;
    write_pair(false);
    s2v_engine *engine = tiny_open();
    question q = tiled(NULL, 0, S2V_FRAMING_AUTO);
    s2v_frame f = frame_of(engine, &q);
    assert_true(f.n_parts == 2 && f.n_views == 7 && f.n_rows == 28 && !f.text);
    assert_true(f.part[1].grid.rows == 4 && f.part[1].grid.cols == 6 && f.part[0].first == 24);
    static const int32_t expected[24] = { 0,  1,  4,  5,  8,  9,  2,  3,  6,  7,  10, 11,
                                          12, 13, 16, 17, 20, 21, 14, 15, 18, 19, 22, 23 };
    for (int32_t t = 0; t < 24; t++) assert_int_equal(s2v_part_row(&f.part[1], t), expected[t]);
    s2v_frame_free(&f);
    q.size[0].max_pixels = 2 * TILE * TILE; /* 2x1 is nearer to 1.57 than one tile */
    f = frame_of(engine, &q);
    assert_true(f.part[1].grid.rows == 2 && f.part[1].grid.cols == 4 && f.n_rows == 12);
    s2v_frame_free(&f);
    q.size[0] =
        (s2v_image_options){ .size = sizeof(s2v_image_options), .width = TILE, .height = 3 * TILE };
    f = frame_of(engine, &q);
    assert_true(f.part[1].grid.rows == 6 && f.part[1].grid.cols == 2 && f.n_rows == 16);
    s2v_frame_free(&f);
    q.size[0] =
        (s2v_image_options){ .size = sizeof(s2v_image_options), .framing = S2V_FRAMING_BASE };
    f = frame_of(engine, &q);
    assert_true(f.n_parts == 1 && f.n_views == 1 && f.n_rows == TILE_TOKENS);
    s2v_frame_free(&f);
    s2v_engine_close(engine);
}

/* Text between tiles; two line ends after the last line of tiles are one token. */
static void smolvlm_rows(void **state)
{
    (void)state;
    static const char *const expected[] = {
        "<fake_token_around_image>",
        "<row_1_col_1>",
        "",
        "<fake_token_around_image>",
        "<row_1_col_2>",
        "",
        "\xC4\x8A",
        "<fake_token_around_image>",
        "<row_2_col_1>",
        "",
        "<fake_token_around_image>",
        "<row_2_col_2>",
        "",
        "\xC4\x8A\xC4\x8A",
        "<fake_token_around_image>",
        "<global-img>",
        "",
        "<fake_token_around_image>",
    };
    write_pair(true);
    s2v_engine *engine = tiny_open();
    question q = tiled(NULL, 0, S2V_FRAMING_AUTO);
    s2v_frame f = frame_of(engine, &q);
    int32_t row = 0;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const bool is_view = expected[i][0] == '\0';
        const int32_t id = is_view ? -1 : s2v_tokenizer_find(engine->tokenizer, expected[i]);
        assert_true(is_view || id >= 0);
        for (int k = 0; k < (is_view ? TILE_TOKENS : 1); k++, row++)
            CHECK_CASE(row < f.n_rows && f.text[row] == id, "row %d", row);
    }
    assert_int_equal(row, f.n_rows);
    assert_int_equal(s2v_part_row(&f.part[1], 0), 2);
    assert_int_equal(s2v_part_row(&f.part[1], 2), 8);
    assert_int_equal(f.part[0].first, f.n_rows - 1 - TILE_TOKENS);
    s2v_frame_free(&f);
    q.size[0].framing = S2V_FRAMING_BASE;
    f = frame_of(engine, &q);
    assert_true(f.n_parts == 1 && f.n_rows == 2 + TILE_TOKENS + 1 && f.part[0].first == 2);
    s2v_frame_free(&f);

    /* They are counted as text, and before anything runs. */
    s2v_count count;
    s2p_error error = { S2P_OK, "" };
    q = tiled("s2prune", 10, S2V_FRAMING_AUTO);
    const s2v_prompt prompt = prompt_of(&q);
    assert_int_equal(s2v_engine_count(engine, &prompt, &q.prune, &count, &error), S2P_OK);
    assert_int_equal(count.image_tokens_full, 20);
    assert_int_equal(count.image_tokens, 10);
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    s2v_stats stats;
    CHECK_CASE(prefill(session, &q, &stats, &error) == S2P_OK, "%s", error.message);
    assert_int_equal(stats.text_tokens, count.text_tokens);
    assert_int_equal(stats.image_tokens, 10);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

static void refusals(void **state)
{
    (void)state;
    write_pair(false);
    s2v_engine *engine = tiny_open();
    static const struct {
        s2v_image_options options;
        const char *says;
    } cases[] = {
        { { .framing = S2V_FRAMING_SQUARE }, "stretches pictures" },
        { { .framing = S2V_FRAMING_CROP }, "stretches pictures" },
        { { .framing = (s2v_framing)9 }, "unknown framing 9" },
        { { .min_pixels = 5 }, "min pixels" },
        { { .width = 60, .height = 56 }, "multiples of 56" },
        { { .width = 56 }, "multiples of 56" },
        { { .width = 56 * 100, .height = 56 }, "multiples of 56" },
    };
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        question q = tiled(NULL, 0, S2V_FRAMING_AUTO);
        q.size[0] = cases[i].options;
        q.size[0].size = sizeof(s2v_image_options);
        s2p_error error = { S2P_OK, "" };
        assert_int_not_equal(prefill(session, &q, NULL, &error), S2P_OK);
        CHECK_CASE(strstr(error.message, cases[i].says), "%s", error.message);
    }
    question q = tiled("s2prune", 1, S2V_FRAMING_AUTO);
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(prefill(session, &q, NULL, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "a budget of 2 or more"));
    s2p_parameters parameters; /* a reading for models with deepstack */
    const s2p_method *method = s2p_method_find("s2prune");
    s2p_parameters_init(method, &parameters);
    assert_int_equal(s2p_parameters_set(method, &parameters, "erc_deepstack", "1", NULL), S2P_OK);
    q = tiled("s2prune", 4, S2V_FRAMING_AUTO);
    q.prune.parameters = &parameters;
    assert_int_equal(prefill(session, &q, NULL, &error), S2P_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "InternVL3 adds nothing"));
    assert_int_equal(s2v_engine_usual_framing(engine, 1, 1), S2V_FRAMING_ANYRES);
    q = tiled("s2prune", 4, S2V_FRAMING_AUTO);
    const s2v_budget nothing = { .tokens = 0 };
    q.prune.tile_budget = &nothing;
    assert_int_equal(prefill(session, &q, NULL, &error), S2P_EBUDGET);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

/* --- pruning ------------------------------------------------------------------------- */

/* Rows of the last prefill: those of text are all there, those of tokens are what the plans keep, and all
 * stand at the positions they had. */
static void check_rows(const s2v_session *s, const s2v_frame *f, int32_t n_before, int32_t n_after)
{
    const s2v_rows *rows = &s->rows;
    int32_t n_kept[2], next = 0, n_text = 0;
    const int32_t *kept[2] = { s2p_plan_keep(s2v_session_plan(s, 0), &n_kept[0]),
                               s2p_plan_keep(s2v_session_tile_plan(s, 0), &n_kept[1]) };
    for (int32_t i = 0; i < rows->n; i++) {
        const int32_t at = rows->pos[0][i];
        assert_true(i == 0 || at > rows->pos[0][i - 1]);
        if (rows->unit[i] < 0) {
            n_text++;
            continue;
        }
        const int32_t p = rows->unit[i] % S2V_MAX_PARTS;
        assert_int_equal(at, n_before + s2v_part_row(&f->part[p], rows->token[i]));
        bool is_kept = false;
        for (int32_t k = 0; k < n_kept[p]; k++) is_kept |= kept[p][k] == rows->token[i];
        assert_true(is_kept);
        next++;
    }
    assert_int_equal(next, n_kept[0] + n_kept[1]);
    assert_int_equal(n_text, n_before + n_after + f->n_rows - s2v_frame_tokens(f));
}

/* Every method keeps its budget, shared by the tokens of whole and tiles; all tokens are the unpruned
 * model bit for bit; a cache changes nothing. */
static void methods(void **state)
{
    (void)state;
    static answer full, all;
    for (int is_smol = 0; is_smol < 2; is_smol++) {
        write_pair(is_smol);
        s2v_engine *engine = tiny_open_caching();
        const s2v_session_options options = tiny_session_options();
        s2v_session *session = tiny_session(engine, &options);
        question q = tiled(NULL, 0, S2V_FRAMING_AUTO);
        s2v_frame f = frame_of(engine, &q);
        const int32_t n = s2v_frame_tokens(&f), budget = 12;
        prefill_only(session, &q, &full);
        for (size_t i = 0; s2p_method_at(i); i++) {
            const s2p_method_info *about = s2p_method_about(s2p_method_at(i));
            const bool keeps_all = about->keeps_all;
            if (about->resizes) continue; /* test_shrink */
            q = tiled(about->name, budget, S2V_FRAMING_AUTO);
            for (int repeat = 0; repeat < 2; repeat++) { /* the second one comes from the cache */
                static answer got[2];
                s2v_session_reset(session);
                prefill_only(session, &q, &got[repeat]);
                if (repeat == 0 && !keeps_all) {
                    int32_t n_whole, n_tiles;
                    (void)s2p_plan_keep(s2v_session_plan(session, 0), &n_whole);
                    (void)s2p_plan_keep(s2v_session_tile_plan(session, 0), &n_tiles);
                    const int32_t share = (int32_t)rint(budget * (double)TILE_TOKENS / n);
                    CHECK_CASE(n_whole == share && n_tiles == budget - share, "%s: %d and %d",
                               about->name, n_whole, n_tiles);
                }
                if (repeat == 1)
                    assert_memory_equal(got[0].first, got[1].first, sizeof got[0].first);
            }
            q.prune.budget.tokens = n;
            s2v_session_reset(session);
            prefill_only(session, &q, &all);
            assert_memory_equal(all.first, full.first, sizeof all.first);
        }
        s2v_frame_free(&f);
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
}

/* Tiles with a budget and a side of their own; what is left stands where it stood. */
static void own_budgets(void **state)
{
    (void)state;
    for (int is_smol = 0; is_smol < 2; is_smol++) {
        write_pair(is_smol);
        s2v_engine *engine = tiny_open();
        const s2v_session_options options = tiny_session_options();
        s2v_session *session = tiny_session(engine, &options);
        question q = tiled("s2prune", 2, S2V_FRAMING_AUTO);
        s2v_frame f = frame_of(engine, &q);
        const s2v_budget tiles = { .tokens = 9 };
        const int32_t side = 1, tile_side = 2;
        q.prune.image_side = &side;
        q.prune.tile_budget = &tiles;
        q.prune.tile_side = &tile_side;
        answer a;
        prefill_only(session, &q, &a);
        int32_t n_whole, n_tiles;
        (void)s2p_plan_keep(s2v_session_plan(session, 0), &n_whole);
        (void)s2p_plan_keep(s2v_session_tile_plan(session, 0), &n_tiles);
        assert_true(n_whole == 2 && n_tiles == 9);
        assert_int_equal(s2p_plan_layout(s2v_session_tile_plan(session, 0)).side, 2);
        /* "hello world " and, for InternVL, <img> before; what follows <image> after. */
        int32_t n_before = 0, last = session->rows.n - 1;
        while (session->rows.unit[last] < 0) last--;
        s2v_tokens before = { .id = NULL };
        assert_int_equal(s2v_tokenize(engine->tokenizer, "hello world ", 12, true, &before, NULL),
                         S2P_OK);
        n_before = (int32_t)before.n + !is_smol;
        s2v_tokens_free(&before);
        const int32_t n_after = a.stats.text_tokens - n_before - (f.n_rows - s2v_frame_tokens(&f));
        check_rows(session, &f, n_before, n_after);
        s2v_frame_free(&f);
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
}

/* Two pictures and a second turn are the same whether the engine remembers or not. */
static void turns(void **state)
{
    (void)state;
    for (int is_smol = 0; is_smol < 2; is_smol++) {
        static answer got[2][2];
        write_pair(is_smol);
        for (int caches = 0; caches < 2; caches++) {
            s2v_engine *engine = caches ? tiny_open_caching() : tiny_open();
            const s2v_session_options options = tiny_session_options();
            s2v_session *session = tiny_session(engine, &options);
            for (int again = 0; again <= caches; again++) {
                static uint8_t pixels[60 * 200 * 3];
                question q = tiled("s2prune", 10, S2V_FRAMING_AUTO);
                q.raw = "hello <image> and <image> aaaa bcd";
                q.image[1] = make_picture(pixels, 60, 200, 9);
                q.n_images = 2;
                s2v_session_reset(session);
                prefill_only(session, &q, &got[caches][0]);
                generate(session, &got[caches][0]);
                question next = tiled("s2prune", 10, S2V_FRAMING_AUTO);
                next.raw = "user hello ba cde";
                next.n_images = 0;
                prefill_only(session, &next, &got[caches][1]);
                generate(session, &got[caches][1]);
            }
            s2v_session_free(session);
            s2v_engine_close(engine);
        }
        for (int turn = 0; turn < 2; turn++) {
            assert_memory_equal(got[0][turn].first, got[1][turn].first, sizeof got[0][0].first);
            assert_memory_equal(got[0][turn].token, got[1][turn].token, sizeof got[0][0].token);
        }
    }
}

/* InternVL3.5: norms of heads instead of biases, under Qwen3's name. The norms count. */
static void qwen3_decoder(void **state)
{
    (void)state;
    static answer got[2];
    for (int run = 0; run < 2; run++) {
        tiles_words(&tiny_words);
        smolvlm_text(&text, TINY_LAYERS); /* has no biases */
        internvl_mmproj(&mmproj);
        tiny_find_key(&text, "general.architecture")->text = "qwen3";
        for (size_t i = 0; i < text.n_keys; i++)
            if (strncmp(text.key[i].name, "llama.", 6) == 0) memcpy(text.key[i].name, "qwen3", 5);
        for (int i = 0; i < TINY_LAYERS; i++) {
            tiny_add_tensor(&text, "blk.%d.attn_q_norm.weight", i, TINY_KV_WIDTH, 0)->poison =
                run ? 0.5f : 0.0f;
            tiny_add_tensor(&text, "blk.%d.attn_k_norm.weight", i, TINY_KV_WIDTH, 0);
        }
        tiny_write_pair(folder, "internvl3_5", &text, &mmproj);
        s2v_engine *engine = tiny_open();
        assert_string_equal(engine->model.arch->title, "InternVL3.5");
        const s2v_session_options options = tiny_session_options();
        s2v_session *session = tiny_session(engine, &options);
        const question q = tiled("s2prune", 12, S2V_FRAMING_AUTO);
        prefill_only(session, &q, &got[run]);
        generate(session, &got[run]);
        s2v_session_free(session);
        s2v_engine_close(engine);
    }
    assert_memory_not_equal(got[0].first, got[1].first, sizeof got[0].first);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(towers),   cmocka_unit_test(internvl_rows), cmocka_unit_test(smolvlm_rows),
        cmocka_unit_test(refusals), cmocka_unit_test(methods),       cmocka_unit_test(own_budgets),
        cmocka_unit_test(turns),    cmocka_unit_test(qwen3_decoder),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
