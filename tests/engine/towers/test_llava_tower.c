/* LLaVA-OneVision's tower against the same arithmetic written out in double: patches, learned
 * positions, blocks with heads and widths that need padding, tanh GELU, projector with erf GELU. */
#include "tiny_llava.h"

#define N LLAVA_VISION
#define T LLAVA_TOKENS
#define HEAD (LLAVA_VISION / LLAVA_HEADS)

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
            double sum = (double)b[o];
            for (int i = 0; i < in; i++) sum += (double)w[o * in + i] * x[r * in + i];
            y[r * out + o] = sum;
        }
}

static void layer_norm(const double *x, const float *w, const float *b, double *y)
{
    for (int r = 0; r < T; r++) {
        double mean = 0.0, variance = 0.0;
        for (int i = 0; i < N; i++) mean += x[r * N + i] / N;
        for (int i = 0; i < N; i++) variance += (x[r * N + i] - mean) * (x[r * N + i] - mean) / N;
        for (int i = 0; i < N; i++)
            y[r * N + i] =
                (x[r * N + i] - mean) / sqrt(variance + 1e-6) * (double)w[i] + (double)b[i];
    }
}

static double gelu_tanh(double x)
{
    return 0.5 * x * (1.0 + tanh(sqrt(2.0 / acos(-1.0)) * (x + 0.044715 * x * x * x)));
}

static double gelu_erf(double x) { return 0.5 * x * (1.0 + erf(x / sqrt(2.0))); }

static void attend(const double *q, const double *k, const double *v, double *out)
{
    for (int h = 0; h < LLAVA_HEADS; h++)
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
    static double x[T * N], q[T * N], k[T * N], v[T * N], y[T * N], wide[T * LLAVA_FF];
    layer_norm(h, weight("v.blk.%d.ln1.weight", b, N), weight("v.blk.%d.ln1.bias", b, N), x);
    linear(x, T, N, N, weight("v.blk.%d.attn_q.weight", b, N * N),
           weight("v.blk.%d.attn_q.bias", b, N), q);
    linear(x, T, N, N, weight("v.blk.%d.attn_k.weight", b, N * N),
           weight("v.blk.%d.attn_k.bias", b, N), k);
    linear(x, T, N, N, weight("v.blk.%d.attn_v.weight", b, N * N),
           weight("v.blk.%d.attn_v.bias", b, N), v);
    attend(q, k, v, x);
    linear(x, T, N, N, weight("v.blk.%d.attn_out.weight", b, N * N),
           weight("v.blk.%d.attn_out.bias", b, N), y);
    for (int i = 0; i < T * N; i++) h[i] += y[i];
    layer_norm(h, weight("v.blk.%d.ln2.weight", b, N), weight("v.blk.%d.ln2.bias", b, N), x);
    linear(x, T, N, LLAVA_FF, weight("v.blk.%d.ffn_up.weight", b, (size_t)N * LLAVA_FF),
           weight("v.blk.%d.ffn_up.bias", b, LLAVA_FF), wide);
    for (int i = 0; i < T * LLAVA_FF; i++) wide[i] = gelu_tanh(wide[i]);
    linear(wide, T, LLAVA_FF, N, weight("v.blk.%d.ffn_down.weight", b, (size_t)N * LLAVA_FF),
           weight("v.blk.%d.ffn_down.bias", b, N), y);
    for (int i = 0; i < T * N; i++) h[i] += y[i];
}

/* image: exactly one view. */
static void tower(const s2p_image *image, int n_blocks, double *out)
{
    enum { VALUES = 3 * TINY_PATCH * TINY_PATCH };
    static double patches[T * VALUES], h[T * N], wide[T * TINY_WIDTH];
    for (int t = 0; t < T; t++)
        for (int i = 0; i < VALUES; i++) {
            const int ch = i / (TINY_PATCH * TINY_PATCH), y = i / TINY_PATCH % TINY_PATCH;
            const int row = t / LLAVA_SIDE * TINY_PATCH + y;
            const int col = t % LLAVA_SIDE * TINY_PATCH + i % TINY_PATCH;
            patches[t * VALUES + i] =
                (image->pixels[row * image->stride + col * 3 + ch] / 255.0 - 0.5) / 0.5;
        }
    linear(patches, T, VALUES, N, weight("v.patch_embd.weight", 0, (size_t)N * VALUES),
           weight("v.patch_embd.bias", 0, N), h);
    const float *pos = weight("v.position_embd.weight", 0, (size_t)T * N);
    for (int i = 0; i < T * N; i++) h[i] += (double)pos[i];
    for (int b = 0; b < n_blocks; b++) block(h, b);
    linear(h, T, N, TINY_WIDTH, weight("mm.0.weight", 0, (size_t)N * TINY_WIDTH),
           weight("mm.0.bias", 0, TINY_WIDTH), wide);
    for (int i = 0; i < T * TINY_WIDTH; i++) wide[i] = gelu_erf(wide[i]);
    linear(wide, T, TINY_WIDTH, TINY_WIDTH, weight("mm.2.weight", 0, TINY_WIDTH * TINY_WIDTH),
           weight("mm.2.bias", 0, TINY_WIDTH), out);
}

/* --- the engine ------------------------------------------------------------------- */

static void keep_tokens(const char *name, int32_t index, const float *data, int32_t rows,
                        int32_t cols, void *user)
{
    (void)index;
    if (strcmp(name, "vis.merged") != 0) return;
    assert_int_equal(rows, T);
    assert_int_equal(cols, TINY_WIDTH);
    memcpy(user, data, (size_t)T * TINY_WIDTH * sizeof *data);
}

static void see(const question *q, float *tokens)
{
    s2p_error error = { S2P_OK, "" };
    s2v_engine *engine = tiny_open();
    const s2v_session_options options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &options);
    s2v_session_set_trace(session, keep_tokens, tokens);
    CHECK_CASE(prefill(session, q, NULL, &error) == S2P_OK, "%s", error.message);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

static void check_tower(int n_blocks)
{
    static float got[T * TINY_WIDTH];
    static double expected[T * TINY_WIDTH];
    tiny_write_pair(folder, "tower", &text, &mmproj);
    const question q = llava_question(NULL, 0, LLAVA_IMAGE, LLAVA_IMAGE, S2V_FRAMING_BASE);
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2v_gguf_open(&weights, tiny_mmproj_path, &error) == S2P_OK, "%s", error.message);
    tower(&q.image[0], n_blocks, expected);
    s2v_gguf_close(weights);
    see(&q, got);
    double worst = 0.0, largest = 0.0;
    for (int i = 0; i < T * TINY_WIDTH; i++) {
        worst = fmax(worst, fabs(expected[i] - (double)got[i]));
        largest = fmax(largest, fabs(expected[i]));
    }
    CHECK_CASE(worst <= 3e-6 * largest && largest > 0.5, "off by %g of %g", worst, largest);
}

static void equals_the_reference(void **state)
{
    (void)state;
    llava_mmproj(&mmproj);
    check_tower(LLAVA_BLOCKS);
}

/* The output of that layer is taken; without the key, the last one's. */
static void feature_layer_counts_blocks(void **state)
{
    (void)state;
    llava_mmproj(&mmproj);
    tiny_find_key(&mmproj, "clip.vision.feature_layer")->value[0] = 1;
    check_tower(1);
    llava_mmproj(&mmproj);
    tiny_drop_key(&mmproj,
                  (size_t)(tiny_find_key(&mmproj, "clip.vision.feature_layer") - mmproj.key));
    check_tower(LLAVA_BLOCKS);
}

/* Old files: fc1 is called ffn_down. Values follow the name, so the reference is the other file's.
 */
static void swapped_names_are_noticed(void **state)
{
    (void)state;
    llava_mmproj(&mmproj);
    static float straight[T * TINY_WIDTH], swapped[T * TINY_WIDTH];
    const question q = llava_question(NULL, 0, LLAVA_IMAGE, LLAVA_IMAGE, S2V_FRAMING_BASE);
    static const char *const constant[] = { "v.blk.%d.ffn_up.weight", "v.blk.%d.ffn_up.bias",
                                            "v.blk.%d.ffn_down.weight", "v.blk.%d.ffn_down.bias" };
    for (int b = 0; b < LLAVA_BLOCKS; b++)
        for (int i = 0; i < 4; i++) { /* one value for all, so that names do not matter */
            char name[64];
            (void)snprintf(name, sizeof name, "%.*s%d%s", 6, constant[i], b, constant[i] + 8);
            tiny_find_tensor(&mmproj, name)->poison = i < 2 ? 0.01f : 0.02f;
        }
    tiny_write_pair(folder, "straight", &text, &mmproj);
    see(&q, straight);
    for (size_t i = 0; i < mmproj.n_tensors; i++) {
        char *up = strstr(mmproj.tensor[i].name, "ffn_up"),
             *down = strstr(mmproj.tensor[i].name, "ffn_down");
        char rest[16];
        if (!up && !down) continue;
        (void)snprintf(rest, sizeof rest, "%s", up ? up + 6 : down + 8);
        (void)snprintf(up ? up : down, 24, "%s%s", up ? "ffn_down" : "ffn_up", rest);
    }
    tiny_write_pair(folder, "swapped", &text, &mmproj);
    see(&q, swapped);
    assert_memory_equal(straight, swapped, sizeof straight);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    vocabulary_init(&tiny_words);
    llava_text(&text);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_reference),
        cmocka_unit_test(feature_layer_counts_blocks),
        cmocka_unit_test(swapped_names_are_noticed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
