/* The towers of the Qwen-VL family without windows against the same arithmetic written out in double:
 * patches of two equal frames, norms, rotation in two dimensions, activation, merger. */
#include "tiny_qwen3.h"

enum { N = TINY_VISION, HEADS = 2, HEAD = N / HEADS, FF = TINY_VISION_FF, WIDE = 4 * N };
enum { ROWS = 3, COLS = 5, TOKENS = ROWS * COLS, T = 4 * TOKENS }; /* patches */

static const char *folder;
static tiny_file text, mmproj;

/* --- the reference ---------------------------------------------------------------- */

static s2v_gguf *weights;

static const float *weight(const char *pattern, int block, size_t n)
{
    char name[64];
    const char *mark = strstr(pattern, "%d");
    if (mark)
        (void)snprintf(name, sizeof name, "%.*s%d%s", (int)(mark - pattern), pattern, block,
                       mark + 2);
    else
        (void)snprintf(name, sizeof name, "%s", pattern);
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(weights, name);
    CHECK_CASE(t && t->n_bytes == n * sizeof(float), "%s", name);
    return (const float *)(const void *)t->data;
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

static void layer_norm(const double *x, int rows, int n, const float *w, const float *b, double *y)
{
    for (int r = 0; r < rows; r++) {
        double mean = 0.0, variance = 0.0;
        for (int i = 0; i < n; i++) mean += x[r * n + i] / n;
        for (int i = 0; i < n; i++) variance += (x[r * n + i] - mean) * (x[r * n + i] - mean) / n;
        for (int i = 0; i < n; i++)
            y[r * n + i] =
                (x[r * n + i] - mean) / sqrt(variance + 1e-6) * (double)w[i] + (double)b[i];
    }
}

static double gelu_quick(double x) { return x / (1.0 + exp(-1.702 * x)); }

static double gelu_erf(double x) { return 0.5 * x * (1.0 + erf(x / sqrt(2.0))); }

static double gelu_tanh(double x)
{
    return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static bool
    is_qwen3; /* learned positions, one matrix for queries, keys and values, tanh GELU, deepstack */

/* Line and column of patch t: tokens line by line, the 2 x 2 patches of each side by side. */
static int line_of(int t) { return t / 4 / COLS * 2 + t % 4 / 2; }
static int column_of(int t) { return t / 4 % COLS * 2 + t % 2; }

static void rotate(double *x)
{
    for (int t = 0; t < T; t++)
        for (int h = 0; h < HEADS; h++)
            for (int i = 0; i < HEAD / 2; i++) {
                const bool by_line = i < HEAD / 4;
                const double place = by_line ? line_of(t) : column_of(t);
                const double angle = place * pow(10000.0, -4.0 * (i % (HEAD / 4)) / HEAD);
                double *a = x + t * N + h * HEAD + i, *b = a + HEAD / 2;
                const double left = *a * cos(angle) - *b * sin(angle);
                *b = *a * sin(angle) + *b * cos(angle);
                *a = left;
            }
}

static void attend(const double *q, const double *k, const double *v, double *out)
{
    for (int h = 0; h < HEADS; h++)
        for (int r = 0; r < T; r++) {
            double p[T], sum = 0.0;
            for (int c = 0; c < T; c++) {
                double score = 0.0;
                for (int i = 0; i < HEAD; i++)
                    score += q[r * N + h * HEAD + i] * k[c * N + h * HEAD + i];
                sum += p[c] = exp(score / sqrt(HEAD));
            }
            for (int i = 0; i < HEAD; i++) {
                double value = 0.0;
                for (int c = 0; c < T; c++) value += p[c] / sum * v[c * N + h * HEAD + i];
                out[r * N + h * HEAD + i] = value;
            }
        }
}

static void block(double *h, int b)
{
    static double x[T * N], q[T * N], k[T * N], v[T * N], y[T * N], wide[T * FF];
    layer_norm(h, T, N, weight("v.blk.%d.ln1.weight", b, N), weight("v.blk.%d.ln1.bias", b, N), x);
    static const char *const part[] = { "attn_q", "attn_k", "attn_v" };
    double *const to[] = { q, k, v };
    for (int p = 0; p < 3; p++) {
        char matrix[64], bias[64];
        (void)snprintf(matrix, sizeof matrix, "v.blk.%d.%s.weight", b,
                       is_qwen3 ? "attn_qkv" : part[p]);
        (void)snprintf(bias, sizeof bias, "v.blk.%d.%s.bias", b, is_qwen3 ? "attn_qkv" : part[p]);
        const size_t n_parts = is_qwen3 ? 3 : 1, at = is_qwen3 ? (size_t)p : 0;
        linear(x, T, N, N, weight(matrix, b, n_parts * N * N) + at * N * N,
               weight(bias, b, n_parts * N) + at * N, to[p]);
    }
    rotate(q);
    rotate(k);
    attend(q, k, v, x);
    linear(x, T, N, N, weight("v.blk.%d.attn_out.weight", b, N * N),
           weight("v.blk.%d.attn_out.bias", b, N), y);
    for (int i = 0; i < T * N; i++) h[i] += y[i];
    layer_norm(h, T, N, weight("v.blk.%d.ln2.weight", b, N), weight("v.blk.%d.ln2.bias", b, N), x);
    linear(x, T, N, FF, weight("v.blk.%d.ffn_up.weight", b, (size_t)N * FF),
           weight("v.blk.%d.ffn_up.bias", b, FF), wide);
    for (int i = 0; i < T * FF; i++) wide[i] = is_qwen3 ? gelu_tanh(wide[i]) : gelu_quick(wide[i]);
    linear(wide, T, FF, N, weight("v.blk.%d.ffn_down.weight", b, (size_t)N * FF),
           weight("v.blk.%d.ffn_down.bias", b, N), y);
    for (int i = 0; i < T * N; i++) h[i] += y[i];
}

/* The four learned positions around each patch, the ends of the table on those of the picture. */
static void add_positions(double *h)
{
    const float *table = weight("v.position_embd.weight", 0, (size_t)N * QWEN3_SIDE * QWEN3_SIDE);
    const float *bias = weight("v.patch_embd.bias", 0, N);
    for (int t = 0; t < T; t++) {
        const double y = (QWEN3_SIDE - 1.0) * line_of(t) / (2 * ROWS - 1);
        const double x = (QWEN3_SIDE - 1.0) * column_of(t) / (2 * COLS - 1);
        for (int r = 0; r < QWEN3_SIDE; r++)
            for (int c = 0; c < QWEN3_SIDE; c++) {
                const double share = fmax(0.0, 1.0 - fabs(y - r)) * fmax(0.0, 1.0 - fabs(x - c));
                for (int i = 0; i < N; i++)
                    h[t * N + i] += share * (double)table[(r * QWEN3_SIDE + c) * N + i];
            }
        for (int i = 0; i < N; i++) h[t * N + i] += (double)bias[i];
    }
}

/* The patches of a token together are normed, then merged. */
static void merge_block(const double *h, int b, double *out)
{
    static double normed[T * N], wide[TOKENS * WIDE];
    layer_norm(h, TOKENS, WIDE, weight("v.deepstack.%d.norm.weight", b, WIDE),
               weight("v.deepstack.%d.norm.bias", b, WIDE), normed);
    linear(normed, TOKENS, WIDE, WIDE, weight("v.deepstack.%d.fc1.weight", b, (size_t)WIDE * WIDE),
           weight("v.deepstack.%d.fc1.bias", b, WIDE), wide);
    for (int i = 0; i < TOKENS * WIDE; i++) wide[i] = gelu_erf(wide[i]);
    linear(wide, TOKENS, WIDE, TINY_WIDTH,
           weight("v.deepstack.%d.fc2.weight", b, (size_t)WIDE * TINY_WIDTH),
           weight("v.deepstack.%d.fc2.bias", b, TINY_WIDTH), out);
}

enum { VALUES_OUT = TOKENS * TINY_WIDTH, MAX_OUT = (1 + QWEN3_DEEPSTACK) * VALUES_OUT };

/* image: of the size the tower sees. out: the tokens, and with Qwen3-VL what is added to them. */
static void tower(const s2p_image *image, double *out)
{
    enum { SIDE = TINY_PATCH, VALUES = 3 * SIDE * SIDE };
    static const double mean[3] = { 0.48, 0.46, 0.41 }, deviation[3] = { 0.27, 0.26, 0.28 };
    static double patches[T * VALUES], h[T * N], second[T * N], normed[T * N], wide[TOKENS * WIDE];
    for (int t = 0; t < T; t++)
        for (int i = 0; i < VALUES; i++) {
            const int ch = i / (SIDE * SIDE), row = line_of(t) * SIDE + i / SIDE % SIDE;
            const int col = column_of(t) * SIDE + i % SIDE;
            const uint8_t byte = image->pixels[row * image->stride + col * 3 + ch];
            patches[t * VALUES + i] = (byte / 255.0 - mean[ch]) / deviation[ch];
        }
    linear(patches, T, VALUES, N, weight("v.patch_embd.weight", 0, (size_t)N * VALUES), NULL, h);
    linear(patches, T, VALUES, N, weight("v.patch_embd.weight.1", 0, (size_t)N * VALUES), NULL,
           second);
    for (int i = 0; i < T * N; i++) h[i] += second[i];
    if (is_qwen3) add_positions(h);
    for (int b = 0; b < TINY_BLOCKS; b++) {
        block(h, b);
        if (is_qwen3 && b % 2 == 0) merge_block(h, b, out + (1 + b / 2) * VALUES_OUT);
    }
    layer_norm(h, T, N, weight("v.post_ln.weight", 0, N), weight("v.post_ln.bias", 0, N), normed);
    linear(normed, TOKENS, WIDE, WIDE, weight("mm.0.weight", 0, (size_t)WIDE * WIDE),
           weight("mm.0.bias", 0, WIDE), wide);
    for (int i = 0; i < TOKENS * WIDE; i++) wide[i] = gelu_erf(wide[i]);
    linear(wide, TOKENS, WIDE, TINY_WIDTH, weight("mm.2.weight", 0, (size_t)WIDE * TINY_WIDTH),
           weight("mm.2.bias", 0, TINY_WIDTH), out);
}

/* --- the engine ------------------------------------------------------------------- */

static question ask_about(const char *method, int32_t budget)
{
    static uint8_t pixels[ROWS * COLS * TINY_TOKEN_SIDE * TINY_TOKEN_SIDE * 3];
    question q = { .raw = "hello world <image> aaaa bcd", .n_images = 1 };
    q.image[0] = make_picture(pixels, COLS * TINY_TOKEN_SIDE, ROWS * TINY_TOKEN_SIDE, 5);
    q.size[0] = (s2v_image_options){ .size = sizeof(s2v_image_options),
                                     .width = q.image[0].width,
                                     .height = q.image[0].height };
    s2v_prune_options_init(&q.prune);
    q.prune.method = method;
    q.prune.budget.tokens = budget;
    return q;
}

static void keep_tokens(const char *name, int32_t index, const float *data, int32_t rows,
                        int32_t cols, void *user)
{
    const bool is_added = strcmp(name, "vis.deepstack") == 0;
    if (strcmp(name, "vis.merged") != 0 && !is_added) return;
    assert_int_equal(rows, TOKENS);
    assert_int_equal(cols, TINY_WIDTH);
    memcpy((float *)user + (is_added ? 1 + index : 0) * VALUES_OUT, data,
           VALUES_OUT * sizeof *data);
}

static void see(const char *kernels, float *tokens)
{
    s2p_error error = { S2P_OK, "" };
    s2v_engine_options options = tiny_options();
    options.tower = "f32";
    options.kernels = kernels;
    s2v_engine *engine = tiny_open_as(&options);
    const s2v_session_options o = tiny_session_options();
    s2v_session *session = tiny_session(engine, &o);
    const question q = ask_about(NULL, 0);
    s2v_session_set_trace(session, keep_tokens, tokens);
    CHECK_CASE(prefill(session, &q, NULL, &error) == S2P_OK, "%s", error.message);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

static void check_tower(int n_values)
{
    static float got[MAX_OUT];
    static double expected[MAX_OUT];
    static const char *const kernels[] = { "scalar", NULL, "ggml" };
    tiny_write_pair(folder, "tower", &text, &mmproj);
    const question q = ask_about(NULL, 0);
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2v_gguf_open(&weights, tiny_mmproj_path, &error) == S2P_OK, "%s", error.message);
    tower(&q.image[0], expected);
    s2v_gguf_close(weights);
    for (size_t k = 0; k < COUNT_OF(kernels); k++) {
        memset(got, 0, sizeof got);
        see(kernels[k], got);
        double worst = 0.0, largest = 0.0;
        for (int i = 0; i < n_values; i++) {
            worst = fmax(worst, fabs(expected[i] - (double)got[i]));
            largest = fmax(largest, fabs(expected[i]));
        }
        CHECK_CASE(worst <= 5e-6 * largest && largest > 0.5, "%s: off by %g of %g",
                   kernels[k] ? kernels[k] : "usual", worst, largest);
    }
}

static void qwen2_equals_the_reference(void **state)
{
    (void)state;
    is_qwen3 = false;
    tiny_text(&text, &tiny_words, TINY_LAYERS);
    qwen2_mmproj(&mmproj, TINY_BLOCKS);
    check_tower(VALUES_OUT);
}

static void qwen3_equals_the_reference(void **state)
{
    (void)state;
    is_qwen3 = true;
    qwen3_text(&text, TINY_LAYERS);
    qwen3_mmproj(&mmproj, TINY_BLOCKS);
    check_tower(MAX_OUT);
    tiny_text(&text, &tiny_words, TINY_LAYERS);
}

/* Old files: fc1 is called ffn_down, and feed_forward_length is 0. Values follow the name, so one value
 * for all makes names not matter. */
static void qwen2_swapped_names_are_noticed(void **state)
{
    (void)state;
    static float straight[TOKENS * TINY_WIDTH], swapped[TOKENS * TINY_WIDTH];
    static const char *const kernels[] = { NULL, "ggml" };
    for (size_t k = 0; k < COUNT_OF(kernels); k++) {
        qwen2_mmproj(&mmproj, TINY_BLOCKS);
        for (size_t i = 0; i < mmproj.n_tensors; i++) {
            const char *name = mmproj.tensor[i].name;
            if (strstr(name, "ffn_up")) mmproj.tensor[i].poison = 0.01f;
            if (strstr(name, "ffn_down")) mmproj.tensor[i].poison = 0.02f;
        }
        tiny_write_pair(folder, "straight", &text, &mmproj);
        see(kernels[k], straight);
        qwen2_swap_names(&mmproj);
        tiny_number(&mmproj, "clip.vision.feed_forward_length", U32, 0);
        tiny_number(&mmproj, "clip.use_silu", BOOL, 0);
        tiny_number(&mmproj, "clip.use_gelu", BOOL, 0);
        tiny_write_pair(folder, "swapped", &text, &mmproj);
        see(kernels[k], swapped);
        assert_memory_equal(straight, swapped, sizeof straight);
    }
}

static void qwen2_wants_quick_gelu(void **state)
{
    (void)state;
    static const char *const keys[] = { "clip.use_gelu", "clip.use_silu" };
    for (size_t i = 0; i < COUNT_OF(keys); i++) {
        qwen2_mmproj(&mmproj, TINY_BLOCKS);
        tiny_number(&mmproj, keys[i], BOOL, 1);
        tiny_write_pair(folder, "other", &text, &mmproj);
        const s2v_engine_options options = tiny_options();
        s2v_engine *engine;
        s2p_error error = { S2P_OK, "" };
        assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_EUNSUPPORTED);
        CHECK_CASE(strstr(error.message, keys[i]) && strstr(error.message, "quick GELU"), "%s",
                   error.message);
    }
}

/* Every method keeps its budget, and a second question about the picture finds what the first left. */
static void run_every_method(void)
{
    tiny_write_pair(folder, "methods", &text, &mmproj);
    s2v_engine *engine = tiny_open_caching();
    const s2v_session_options options = tiny_session_options();
    for (size_t i = 0; s2v_method_name(i); i++) {
        question q = ask_about(s2v_method_name(i), 6);
        float logits[2][N_VOCABULARY];
        for (int again = 0; again < 2; again++) {
            s2v_session *session = tiny_session(engine, &options);
            s2p_error error = { S2P_OK, "" };
            s2v_stats stats;
            CHECK_CASE(prefill(session, &q, &stats, &error) == S2P_OK, "%s: %s", s2v_method_name(i),
                       error.message);
            assert_int_equal(stats.image_tokens_full, TOKENS);
            CHECK_CASE(stats.image_tokens >= 1 && stats.image_tokens <= TOKENS, "%s keeps %d",
                       s2v_method_name(i), stats.image_tokens);
            memcpy(logits[again], s2v_session_logits(session), sizeof logits[again]);
            s2v_session_free(session);
        }
        CHECK_CASE(memcmp(logits[0], logits[1], sizeof logits[0]) == 0, "%s: other logits",
                   s2v_method_name(i));
    }
    s2v_engine_close(engine);
}

static void qwen2_runs_every_method(void **state)
{
    (void)state;
    tiny_text(&text, &tiny_words, TINY_LAYERS);
    qwen2_mmproj(&mmproj, TINY_BLOCKS);
    run_every_method();
}

static void qwen3_runs_every_method(void **state)
{
    (void)state;
    qwen3_text(&text, TINY_LAYERS);
    qwen3_mmproj(&mmproj, TINY_BLOCKS);
    run_every_method();
}

typedef struct hidden_rows { /* what the layers made of the rows, with what is added to them */
    float h[3][200 * TINY_WIDTH], added[3][200 * TINY_WIDTH];
    int32_t n[3];
} hidden_rows;

static void keep_hidden(const char *name, int32_t index, const float *data, int32_t rows,
                        int32_t cols, void *user)
{
    hidden_rows *out = user;
    const bool is_added = strcmp(name, "h_ds") == 0;
    if ((strcmp(name, "h") != 0 && !is_added) || index > 2) return;
    assert_true(rows <= 200 && cols == TINY_WIDTH);
    memcpy(is_added ? out->added[index] : out->h[index], data,
           (size_t)rows * TINY_WIDTH * sizeof *data);
    out->n[index] = rows;
}

/* After pruning, each kept token still gets what was made for it, and text gets nothing. */
static void qwen3_kept_tokens_keep_what_is_added(void **state)
{
    (void)state;
    static hidden_rows full, pruned;
    static float seen[MAX_OUT];
    qwen3_text(&text, TINY_LAYERS);
    qwen3_mmproj(&mmproj, TINY_BLOCKS);
    tiny_write_pair(folder, "kept", &text, &mmproj);
    see(NULL, seen);
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    int32_t n_kept = 0, first = -1;
    const int32_t *kept = NULL;
    s2v_session *session[2];
    for (int is_pruned = 0; is_pruned < 2; is_pruned++) {
        session[is_pruned] = tiny_session(engine, &options);
        s2v_session_set_trace(session[is_pruned], keep_hidden, is_pruned ? &pruned : &full);
        const question q = ask_about(is_pruned ? "s2prune" : NULL, 6);
        s2p_error error = { S2P_OK, "" };
        CHECK_CASE(prefill(session[is_pruned], &q, NULL, &error) == S2P_OK, "%s", error.message);
        if (is_pruned) kept = s2p_plan_keep(s2v_session_plan(session[1], 0), &n_kept);
    }
    assert_int_equal(n_kept, 6);
    for (int32_t r = 0; r < full.n[1] && first < 0;
         r++) /* the first row that something is added to */
        if (memcmp(full.h[1] + r * TINY_WIDTH, full.added[1] + r * TINY_WIDTH,
                   TINY_WIDTH * sizeof(float)) != 0)
            first = r;
    assert_true(first > 0);
    for (int32_t r = 0; r < pruned.n[2]; r++)
        for (int32_t k = 0; k < TINY_WIDTH; k++) {
            const int32_t t = r - first;
            const float *second = seen + 2 * VALUES_OUT;
            const float expected = t >= 0 && t < n_kept ? second[kept[t] * TINY_WIDTH + k] : 0.0f;
            const float got = pruned.added[2][r * TINY_WIDTH + k] - pruned.h[2][r * TINY_WIDTH + k];
            CHECK_CASE(fabsf(got - expected) <= 1e-5f, "row %d: %g, not %g", r, (double)got,
                       (double)expected);
        }
    s2v_session_free(session[0]);
    s2v_session_free(session[1]);
    s2v_engine_close(engine);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    vocabulary_init(&tiny_words);
    tiny_text(&text, &tiny_words, TINY_LAYERS);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qwen2_equals_the_reference),
        cmocka_unit_test(qwen2_swapped_names_are_noticed),
        cmocka_unit_test(qwen2_wants_quick_gelu),
        cmocka_unit_test(qwen2_runs_every_method),
        cmocka_unit_test(qwen3_equals_the_reference),
        cmocka_unit_test(qwen3_runs_every_method),
        cmocka_unit_test(qwen3_kept_tokens_keep_what_is_added),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
