/* What the tower attends to: the kernels against double arithmetic, tokens against patches, parts
 * of a tiled picture, threads, and a remembered picture. The values themselves are checked against
 * Hugging Face by "s2prune verify". */
#include "kernels/tower/received.h"
#include "tiny_llava.h"
#include "engine/prompt/steps.h"
#include "engine/vision/tower_cache.h"

#define MAX_PATCHES 512
#define MAX_HEAD 32
#define MAX_VIEWS 37
#define MAX_TOKENS 1024

static const char *folder;
static tiny_file text, mmproj;

/* --- the kernel ------------------------------------------------------------------ */

static uint32_t state = 1;

static float uniform(float spread)
{
    state = state * 1664525u + 1013904223u;
    return spread * ((float)(state >> 8) / (float)(1 << 23) - 1.0f);
}

static void receive_in_double(const s2v_head *h, double *out)
{
    static double row[1000];
    for (int32_t j = 0; j < h->n; j++) out[j] = 0.0;
    for (int32_t i = 0; i < h->n; i++) {
        double largest = -INFINITY, sum = 0.0;
        for (int32_t j = 0; j < h->n; j++) {
            row[j] = 0.0;
            for (int32_t d = 0; d < h->dim; d++)
                row[j] += (double)h->q[i * h->pitch + d] * (double)h->k[j * h->pitch + d];
            row[j] /= sqrt((double)h->dim);
            largest = fmax(largest, row[j]);
        }
        for (int32_t j = 0; j < h->n; j++) sum += row[j] = exp(row[j] - largest);
        for (int32_t j = 0; j < h->n; j++) out[j] += row[j] / sum;
    }
}

/* Lengths around the sizes of vectors, panels and blocks; from flat to nearly one key per query. */
static void kernels_add_up(void **unused)
{
    (void)unused;
    static const int32_t lengths[] = { 1, 2, 5, 6, 7, 8, 15, 16, 17, 23, 24, 25, 31, 64, 90, 333 };
    static const int32_t dims[] = { 1, 4, 24, 72, 80 };
    static const float spreads[] = { 0.01f, 1.0f, 8.0f };
    enum { PITCH = 83 };
    static float q[333 * PITCH], k[333 * PITCH], got[334];
    static double expected[333];
    for (size_t variant = 0; s2v_received_at(variant); variant++)
        for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
            for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
                for (size_t s = 0; s < sizeof spreads / sizeof *spreads; s++) {
                    const s2v_head h = { q, k, PITCH, lengths[i], dims[d] };
                    for (int32_t j = 0; j < h.n * PITCH; j++) {
                        q[j] = uniform(spreads[s]);
                        k[j] = uniform(spreads[s]);
                    }
                    float *scratch = malloc(s2v_received_scratch(h.n, h.dim) * sizeof *scratch);
                    assert_non_null(scratch);
                    got[h.n] = 7.0f;
                    s2v_received_at(variant)(&h, scratch, got);
                    free(scratch);
                    receive_in_double(&h, expected);
                    for (int32_t j = 0; j < h.n; j++)
                        CHECK_CASE(fabs((double)got[j] - expected[j]) <=
                                       3e-5 * expected[j] + 1e-6 * (double)h.n / 333,
                                   "variant %zu, %d x %d, +-%g: %.9g at %d, not %.9g", variant, h.n,
                                   h.dim, (double)spreads[s], (double)got[j], j, expected[j]);
                    assert_true(got[h.n] == 7.0f);
                }
}

/* --- seeing ----------------------------------------------------------------------- */

typedef struct shown { /* what the trace showed of the last block, view by view */
    int32_t block, n_patches, head_dim, n_views, n_calls;
    float received[MAX_VIEWS][MAX_PATCHES], n_queries[MAX_VIEWS][MAX_PATCHES];
    float key[MAX_VIEWS][MAX_PATCHES * MAX_HEAD];
} shown;

static void show(const char *name, int32_t index, const float *data, int32_t rows, int32_t cols,
                 void *user)
{
    shown *s = user;
    if (strncmp(name, "vis.attn", 8) != 0 && strncmp(name, "vis.key", 7) != 0) return;
    s->n_calls++;
    if (index < s->block) return;
    assert_true(rows <= MAX_PATCHES && cols <= MAX_HEAD && s->n_views < MAX_VIEWS);
    const size_t n = (size_t)rows * (size_t)cols * sizeof *data;
    if (strcmp(name, "vis.attn_received") == 0) memcpy(s->received[s->n_views], data, n);
    if (strcmp(name, "vis.attn_nq") == 0) memcpy(s->n_queries[s->n_views], data, n);
    if (strcmp(name, "vis.key_mean") == 0 || strcmp(name, "vis.key_rope_mean") == 0)
        memcpy(s->key[s->n_views], data, n);
    s->block = index;
    s->n_patches = rows;
    if (cols > 1) s->head_dim = cols;
}

typedef enum keeping { NOTHING, ROWS, ATTENTION } keeping; /* what is remembered of a picture */

typedef struct scene { /* a picture in front of a tower */
    s2v_engine *engine;
    s2v_session *session;
    s2v_frame frame;
    s2v_graph tower;
    float rows[MAX_TOKENS * TINY_WIDTH];
    s2v_tower_probe watched;
    double probe_ms;
    int32_t n_tokens;
} scene;

static scene *open_scene(const question *q, int32_t n_threads, keeping keeps)
{
    static scene memory[2];
    static int next;
    scene *c = &memory[next++ % 2];
    s2p_error error = { S2P_OK, "" };
    s2v_session_options options = tiny_session_options();
    options.n_threads = n_threads;
    options.no_cache = keeps == NOTHING;
    options.keep_attention = keeps == ATTENTION;
    memset(c, 0, sizeof *c);
    c->engine = tiny_open_caching();
    c->session = tiny_session(c->engine, &options);
    const s2v_model *model = &c->engine->model;
    CHECK_CASE(model->arch->frame(model, &q->image[0], &q->size[0], S2V_FRAMING_BASE, &c->frame,
                                  &error) == S2P_OK,
               "%s", error.message);
    s2v_tower_key(&c->engine->model, c->engine->identity.tower, n_threads, &c->frame);
    assert_int_equal(s2v_graph_init(&c->tower, &c->session->backends, 1000, &error), S2P_OK);
    for (int32_t p = 0; p < c->frame.n_parts; p++)
        c->n_tokens += s2v_part_tokens(&c->frame.part[p]);
    assert_true(c->frame.n_rows <= MAX_TOKENS);
    return c;
}

static void close_scene(scene *c)
{
    s2v_tower_probe_free(&c->watched);
    s2v_graph_free(&c->tower);
    s2v_frame_free(&c->frame);
    s2v_session_free(c->session);
    s2v_engine_close(c->engine);
}

static s2p_status try_to_see(scene *c, bool is_watched, s2p_error *error)
{
    s2v_tower_probe_free(&c->watched);
    assert_int_equal(s2v_rows_reserve(&c->session->rows, &c->engine->model.decoder,
                                      &c->engine->devices, &c->session->traffic,
                                      c->frame.n_rows + 1, 0, error),
                     S2P_OK);
    int32_t first_row = 1;
    s2v_prefill prefill_state = { .s = c->session,
                                  .needs =
                                      is_watched ? S2P_NEED_VISION_ATTN | S2P_NEED_VISION_KEY : 0,
                                  .frames = &c->frame,
                                  .tower_probe = &c->watched,
                                  .first_row = &first_row,
                                  .error = error };
    const s2p_status st = s2v_picture_rows(&prefill_state, &c->tower, 0);
    c->probe_ms = prefill_state.stats.probe_ms;
    const size_t row = TINY_WIDTH * sizeof(float);
    ggml_backend_tensor_get(c->session->rows.hidden, c->rows, row, (size_t)c->frame.n_rows * row);
    return st;
}

static void see(scene *c, bool is_watched)
{
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(try_to_see(c, is_watched, &error) == S2P_OK, "%s", error.message);
}

static void write_qwen(int n_blocks)
{
    tiny_text(&text, &tiny_words, TINY_LAYERS);
    tiny_mmproj(&mmproj, n_blocks);
    tiny_write_pair(folder, "qwen", &text, &mmproj);
}

static void write_llava(void)
{
    llava_text(&text);
    llava_mmproj(&mmproj);
    tiny_write_pair(folder, "llava", &text, &mmproj);
}

/* 9x7 tokens: windows of every kind. */
static question qwen_question(void) { return one_picture(NULL, 0); }

static double sum_of(const float *x, int32_t n)
{
    double sum = 0.0;
    for (int32_t i = 0; i < n; i++) sum += (double)x[i];
    return sum;
}

/* --- tokens and patches ------------------------------------------------------------ */

/* A token is the mean of its patches, which the trace shows in the order of the tokens. */
static void check_tokens(const scene *c, const shown *s)
{
    const int32_t n = s2v_part_tokens(&c->frame.part[0]), each = s->n_patches / n;
    const s2v_tower_probe *w = &c->watched;
    assert_int_equal(w->key_dim, s->head_dim);
    for (int32_t t = 0; t < n; t++) {
        double attn = 0.0;
        for (int32_t p = t * each; p < (t + 1) * each; p++)
            attn += (double)(s->received[0][p] / s->n_queries[0][p]) / each;
        CHECK_CASE(fabs(attn - (double)w->attn[t]) <= 1e-6 * attn, "token %d: %g, not %g", t,
                   (double)w->attn[t], attn);
        for (int32_t d = 0; d < w->key_dim; d++) {
            double key = 0.0;
            for (int32_t p = t * each; p < (t + 1) * each; p++)
                key += (double)s->key[0][p * w->key_dim + d] / each;
            assert_true(fabs(key - (double)w->key[t * w->key_dim + d]) <= 1e-6);
        }
    }
}

static shown last; /* large, so not on the stack */

static void qwen_tokens_are_means(void **unused)
{
    (void)unused;
    write_qwen(TINY_BLOCKS);
    const question q = qwen_question();
    scene *c = open_scene(&q, 2, NOTHING);
    last = (shown){ .block = 0 };
    s2v_session_set_trace(c->session, show, &last);
    see(c, true);
    assert_int_equal(last.block, TINY_BLOCKS - 1);
    assert_int_equal(last.n_patches, 4 * 63);
    assert_int_equal(last.n_calls, 2 * 4); /* two blocks, four arrays */
    check_tokens(c, &last);
    for (int32_t i = 0; i < last.n_patches; i++)
        assert_true(last.n_queries[0][i] == 4 * 63 && last.received[0][i] > 0.0f);
    assert_true(fabs(sum_of(last.received[0], last.n_patches) / last.n_patches - 1.0) < 1e-5);
    assert_true(fabs(sum_of(c->watched.attn, c->n_tokens) * 4 - 1.0) < 1e-5);
    assert_true(c->probe_ms > 0.0);
    close_scene(c);
}

/* Three blocks: the last one stays inside windows, of 4x4, 1x4, 4x3 and 1x3 tokens. */
static void windows_keep_to_themselves(void **unused)
{
    (void)unused;
    write_qwen(3);
    const question q = qwen_question();
    scene *c = open_scene(&q, 2, NOTHING);
    last = (shown){ .block = 0 };
    s2v_session_set_trace(c->session, show, &last);
    see(c, true);
    assert_int_equal(last.block, 2);
    check_tokens(c, &last);
    double sum[2][3] = { { 0.0 } };
    for (int32_t t = 0; t < c->n_tokens; t++) {
        const int32_t row = t / 9, col = t % 9;
        const int32_t rows = row < 4 ? 4 : 3, cols = col < 8 ? 4 : 1;
        for (int32_t p = 4 * t; p < 4 * t + 4; p++) {
            assert_true(last.n_queries[0][p] == (float)(4 * rows * cols));
            sum[row / 4][col / 4] += (double)(last.received[0][p] / last.n_queries[0][p]);
        }
    }
    for (int i = 0; i < 6; i++) assert_true(fabs(sum[i / 3][i % 3] - 1.0) < 1e-5);
    close_scene(c);
}

static void llava_watches_its_feature_layer(void **unused)
{
    (void)unused;
    for (int layer = 1; layer <= LLAVA_BLOCKS; layer++) {
        llava_text(&text);
        llava_mmproj(&mmproj);
        tiny_find_key(&mmproj, "clip.vision.feature_layer")->value[0] = layer;
        tiny_write_pair(folder, "feature", &text, &mmproj);
        const question q = llava_question(NULL, 0, 100, 80, S2V_FRAMING_BASE);
        scene *c = open_scene(&q, 2, NOTHING);
        last = (shown){ .block = 0 };
        s2v_session_set_trace(c->session, show, &last);
        see(c, true);
        assert_int_equal(last.block, layer - 1);
        assert_int_equal(last.n_calls, layer * 3); /* nothing is rotated */
        assert_int_equal(last.n_patches, LLAVA_TOKENS);
        check_tokens(c, &last);
        assert_true(fabs(sum_of(c->watched.attn, LLAVA_TOKENS) - 1.0) < 1e-5);
        close_scene(c);
    }
}

/* --- tiles -------------------------------------------------------------------------- */

static void next_view(const char *name, int32_t index, const float *data, int32_t rows,
                      int32_t cols, void *user)
{
    shown *s = user;
    show(name, index, data, rows, cols, user);
    if (strcmp(name, "vis.merged") == 0) s->n_views++;
}

static bool has_shares(const s2v_frame *f)
{
    for (size_t i = 0; i < f->n_blend; i++)
        if (f->blend[i].weight < 1.0f) return true;
    return false;
}

static void check_tiles(int32_t width, int32_t height, bool is_shrunk)
{
    static float expected[MAX_TOKENS], keys[MAX_TOKENS * MAX_HEAD];
    const question q = llava_question(NULL, 0, width, height, S2V_FRAMING_ANYRES);
    scene *c = open_scene(&q, 2, NOTHING);
    const s2v_part *part = &c->frame.part[1];
    assert_int_equal(c->frame.n_parts, 2);
    assert_int_equal(has_shares(&c->frame), is_shrunk);
    last = (shown){ .block = 0 };
    s2v_session_set_trace(c->session, next_view, &last);
    see(c, true);
    assert_int_equal(last.n_views, c->frame.n_views);
    const int32_t dim = c->watched.key_dim;
    memset(expected, 0, sizeof expected);
    memset(keys, 0, sizeof keys);
    for (int32_t row = 0; row < part->grid.rows; row++)
        for (int32_t col = 0; col < part->grid.cols; col++) {
            const int32_t token = row * part->grid.cols + col;
            for (size_t i = 0; i < c->frame.n_blend; i++) {
                const s2v_blend *b = &c->frame.blend[i];
                if (b->to != token) continue;
                expected[token] += b->weight * last.received[b->view][b->token] / LLAVA_TOKENS;
                for (int32_t d = 0; d < dim; d++)
                    keys[token * dim + d] += b->weight * last.key[b->view][b->token * dim + d];
            }
        }
    for (int32_t t = 0; t < s2v_part_tokens(part); t++) {
        const float *key = c->watched.key + (ptrdiff_t)(LLAVA_TOKENS + t) * dim;
        CHECK_CASE(fabsf(c->watched.attn[LLAVA_TOKENS + t] - expected[t]) <= 1e-7f, "token %d", t);
        for (int32_t d = 0; d < dim; d++) assert_true(fabsf(key[d] - keys[t * dim + d]) <= 1e-6f);
        assert_true(expected[t] > 0.0f);
    }

    /* part 0 is the picture in its base view */
    const question whole = llava_question(NULL, 0, width, height, S2V_FRAMING_BASE);
    scene *b = open_scene(&whole, 2, NOTHING);
    see(b, true);
    assert_memory_equal(b->watched.attn, c->watched.attn, LLAVA_TOKENS * sizeof(float));
    assert_memory_equal(b->watched.key, c->watched.key,
                        (size_t)LLAVA_TOKENS * (size_t)dim * sizeof(float));
    close_scene(b);
    close_scene(c);
}

/* The grid of the tiles is blended from the views as its features are. */
static void tiles_are_blended(void **unused)
{
    (void)unused;
    write_llava();
    check_tiles(150, 110, false);
    check_tiles(360, 300, true);
}

static int n_calls, cancel_at;

static int count_calls(const char *step, double done, void *user)
{
    (void)step, (void)done, (void)user;
    return ++n_calls == cancel_at;
}

static void nothing_is_left_of_a_cancelled_picture(void **unused)
{
    (void)unused;
    write_llava();
    const question q = llava_question(NULL, 0, 150, 110, S2V_FRAMING_ANYRES);
    scene *c = open_scene(&q, 1, ATTENTION);
    s2p_error error = { S2P_OK, "" };
    c->engine->options.progress = count_calls;
    for (cancel_at = 1;; cancel_at++) { /* in each block of each view */
        n_calls = 0;
        if (try_to_see(c, true, &error) == S2P_OK) break;
        assert_int_equal(error.status, S2P_ECANCELLED);
        assert_null(c->watched.attn);
        assert_null(c->watched.key);
        s2v_cache_stats stats;
        s2v_engine_get_cache_stats(c->engine, &stats);
        assert_true(stats.stored == 0 && stats.bytes == 0);
    }
    CHECK_CASE(cancel_at > 2 * c->frame.n_views, "%d calls", cancel_at);
    close_scene(c);
}

/* --- the same ----------------------------------------------------------------------- */

static void check_same(const question *q)
{
    static float rows[MAX_TOKENS * TINY_WIDTH], attn[MAX_TOKENS], key[MAX_TOKENS * MAX_HEAD];
    size_t n_key = 0;
    for (int32_t n_threads = 1; n_threads <= 3; n_threads++) {
        scene *c = open_scene(q, n_threads, NOTHING);
        const size_t n_rows = (size_t)c->frame.n_rows * TINY_WIDTH * sizeof *rows;
        see(c, false);
        assert_null(c->watched.attn);
        assert_true(c->probe_ms == 0.0); /* nobody asked, nothing was computed */
        memcpy(rows, c->rows, n_rows);
        see(c, true);
        assert_memory_equal(rows, c->rows, n_rows);
        if (n_threads == 1) {
            n_key = (size_t)c->n_tokens * (size_t)c->watched.key_dim;
            memcpy(attn, c->watched.attn, (size_t)c->n_tokens * sizeof *attn);
            memcpy(key, c->watched.key, n_key * sizeof *key);
        }
        for (int32_t t = 0; t < c->n_tokens; t++)
            assert_true(fabsf(c->watched.attn[t] - attn[t]) <= 1e-5f * attn[t]);
        for (size_t i = 0; i < n_key; i++) assert_true(fabsf(c->watched.key[i] - key[i]) <= 1e-5f);
        close_scene(c);
    }
}

static void watching_changes_nothing(void **unused)
{
    (void)unused;
    write_qwen(TINY_BLOCKS);
    question q = qwen_question();
    check_same(&q);
    write_llava();
    q = llava_question(NULL, 0, 150, 110, S2V_FRAMING_ANYRES);
    check_same(&q);
}

/* --- a picture seen before ------------------------------------------------------------ */

/* How often the tower ran: it shows something every time. */
static int32_t count_runs(scene *c, bool is_watched)
{
    last = (shown){ .block = 0 };
    s2v_session_set_trace(c->session, show, &last);
    see(c, is_watched);
    return last.n_calls > 0;
}

static void check_remembered(const question *q, keeping keeps)
{
    static float rows[MAX_TOKENS * TINY_WIDTH], attn[MAX_TOKENS], key[MAX_TOKENS * MAX_HEAD];
    scene *c = open_scene(q, 2, keeps);
    const size_t n_rows = (size_t)c->frame.n_rows * TINY_WIDTH * sizeof *rows;
    const size_t n_attn = (size_t)c->n_tokens * sizeof *attn;
    assert_int_equal(count_runs(c, false), 1);
    memcpy(rows, c->rows, n_rows);
    assert_int_equal(count_runs(c, false), 0);
    /* 1: the rows alone do not do for somebody who wants more; 2: it is known already */
    assert_int_equal(count_runs(c, true), keeps == ROWS);
    assert_memory_equal(rows, c->rows, n_rows);
    const size_t n_key = n_attn * (size_t)c->watched.key_dim;
    memcpy(attn, c->watched.attn, n_attn);
    memcpy(key, c->watched.key, n_key);
    for (int i = 0; i < 2; i++) {
        memset(c->rows, 0, sizeof c->rows);
        assert_int_equal(count_runs(c, true), 0);
        assert_memory_equal(rows, c->rows, n_rows);
        assert_memory_equal(attn, c->watched.attn, n_attn);
        assert_memory_equal(key, c->watched.key, n_key);
    }
    c->frame.patches[3] += 0.5f; /* another picture */
    s2v_tower_key(&c->engine->model, c->engine->identity.tower, 2, &c->frame);
    assert_int_equal(count_runs(c, true), 1);
    assert_true(memcmp(attn, c->watched.attn, n_attn) != 0);
    close_scene(c);

    scene *forgetful = open_scene(q, 2, NOTHING);
    see(forgetful, true);
    assert_memory_equal(attn, forgetful->watched.attn, n_attn);
    assert_memory_equal(key, forgetful->watched.key, n_key);
    assert_int_equal(count_runs(forgetful, true), 1);
    close_scene(forgetful);
}

static void remembered_pictures_serve_watchers(void **unused)
{
    (void)unused;
    for (keeping keeps = ROWS; keeps <= ATTENTION; keeps++) {
        write_qwen(TINY_BLOCKS);
        question q = qwen_question();
        check_remembered(&q, keeps);
        write_llava();
        q = llava_question(NULL, 0, 150, 110, S2V_FRAMING_ANYRES);
        check_remembered(&q, keeps);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    vocabulary_init(&tiny_words);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_add_up),
        cmocka_unit_test(qwen_tokens_are_means),
        cmocka_unit_test(windows_keep_to_themselves),
        cmocka_unit_test(llava_watches_its_feature_layer),
        cmocka_unit_test(tiles_are_blended),
        cmocka_unit_test(nothing_is_left_of_a_cancelled_picture),
        cmocka_unit_test(watching_changes_nothing),
        cmocka_unit_test(remembered_pictures_serve_watchers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
