/* The tower on its own kernels, inside the engine: every table this CPU runs against ggml's own
 * products, both architectures, odd shapes, any number of threads; and what is refused. */
#include "tiny_llava.h"

#include "kernels/tower/kernels.h"

#define MAX_TOKENS 512

typedef struct tokens { /* all views, one after the other */
    int32_t n, width;
    float value[MAX_TOKENS * TINY_WIDTH];
} tokens;

static const char *folder;

static void keep_tokens(const char *name, int32_t index, const float *data, int32_t rows,
                        int32_t cols, void *user)
{
    (void)index;
    tokens *t = user;
    if (strcmp(name, "vis.merged") != 0) return;
    assert_true(t->n + rows <= MAX_TOKENS && cols == TINY_WIDTH);
    memcpy(t->value + (ptrdiff_t)t->n * cols, data, (size_t)(rows * cols) * sizeof *data);
    t->n += rows;
    t->width = cols;
}

static void see(const question *q, const char *kernels, int32_t n_threads, tokens *out)
{
    s2p_error error = { S2P_OK, "" };
    s2v_engine_options options = tiny_options();
    options.kernels = kernels;
    options.n_threads = n_threads;
    s2v_engine *engine;
    CHECK_CASE(s2v_engine_open(&engine, &options, &error) == S2P_OK, "%s", error.message);
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    if (strstr(kernels, "int8") || strstr(kernels, "vnni")) /* quantized matrices have their own */
        assert_non_null(strstr(info.kernels, kernels));
    else
        assert_string_equal(info.kernels, kernels);
    const s2v_session_options session_options = tiny_session_options();
    s2v_session *session = tiny_session(engine, &session_options);
    out->n = 0;
    s2v_session_set_trace(session, keep_tokens, out);
    CHECK_CASE(prefill(session, q, NULL, &error) == S2P_OK, "%s", error.message);
    s2v_session_free(session);
    s2v_engine_close(engine);
}

static double difference(const tokens *a, const tokens *b)
{
    double worst = 0.0, largest = 0.0;
    assert_int_equal(a->n, b->n);
    for (int32_t i = 0; i < a->n * a->width; i++) {
        worst = fmax(worst, fabs((double)a->value[i] - (double)b->value[i]));
        largest = fmax(largest, fabs((double)a->value[i]));
    }
    return worst / largest;
}

/* How far a table may be from float32 arithmetic, as a share of the largest value. */
static double bound_of(const char *kernels)
{
    if (strstr(kernels, "int8") || strstr(kernels, "vnni") || strstr(kernels, "q8")) return 5e-2;
    return strstr(kernels, "bf16") ? 3e-2 : 1e-5;
}

static void compare_all(const question *q, const char *what)
{
    static tokens usual, made, again;
    see(q, "ggml", 2, &usual);
    assert_true(usual.n > 0);
    for (size_t i = 0; s2v_kernels_name(i); i++) {
        const char *name = s2v_kernels_name(i);
        see(q, name, 2, &made);
        const double off = difference(&usual, &made);
        CHECK_CASE(off <= bound_of(name), "%s, %s: off by %g", what, name, off);
        CHECK_CASE(off > 0.0 || usual.n < 4, "%s, %s: ggml's bits", what, name);
        for (int32_t n_threads = 1; n_threads <= 3; n_threads += 2) { /* the same bits */
            see(q, name, n_threads, &again);
            CHECK_CASE(memcmp(made.value, again.value,
                              (size_t)(made.n * made.width) * sizeof *made.value) == 0,
                       "%s, %s: %d threads", what, name, n_threads);
        }
    }
}

static void qwen_equals_ggml(void **state)
{
    (void)state;
    static uint8_t pixels[40 * 40 * TINY_TOKEN_SIDE * TINY_TOKEN_SIDE * 3];
    static const struct {
        int32_t cols, rows;
    } grids[] = { { 1, 1 }, { 5, 3 }, { 4, 4 }, { 9, 6 } };
    tiny_write_plain(folder);
    for (size_t i = 0; i < sizeof grids / sizeof *grids; i++) {
        char what[32];
        (void)snprintf(what, sizeof what, "%d by %d tokens", grids[i].rows, grids[i].cols);
        question q = one_picture("s2prune", 1000);
        q.image[0] = make_picture(pixels, grids[i].cols * TINY_TOKEN_SIDE,
                                  grids[i].rows * TINY_TOKEN_SIDE, 7);
        compare_all(&q, what);
    }
}

static void llava_equals_ggml(void **state)
{
    (void)state;
    static tiny_file text, mmproj;
    llava_text(&text);
    llava_mmproj(&mmproj);
    tiny_write_pair(folder, "llava", &text, &mmproj);
    const question whole = llava_question(NULL, 0, LLAVA_IMAGE, LLAVA_IMAGE, S2V_FRAMING_BASE);
    compare_all(&whole, "one view");
    const question tiles = llava_question(NULL, 0, 150, 110, S2V_FRAMING_ANYRES);
    compare_all(&tiles, "tiles");
}

static void set_types(tiny_file *file, uint32_t type, bool is_mixed)
{
    for (size_t i = 0; i < file->n_tensors; i++) {
        tiny_tensor *t = &file->tensor[i];
        if (t->n_dims < 2 || strncmp(t->name, "v.patch_embd", 12) == 0) continue;
        if (t->ne[0] % 32 == 0 && (!is_mixed || i % 3 != 0))
            t->type = type;
        else if (i % 2)
            t->type = GGML_TYPE_F16;
    }
}

/* Every table on quantized files against ggml with the same file, which rounds rows to bytes too. Rows of
 * 44 are not whole blocks and stay floats; in mixed files so do others, even of one product. */
static void quantized_towers_equal_ggml(void **state)
{
    (void)state;
    static const uint32_t types[] = { GGML_TYPE_Q8_0, GGML_TYPE_Q4_0, GGML_TYPE_Q4_1,
                                      GGML_TYPE_Q5_0, GGML_TYPE_Q5_1 };
    static tokens usual, made, again;
    const question q = one_picture("s2prune", 1000);
    for (size_t i = 0; i < 2 * sizeof types / sizeof *types; i++) {
        tiny_write_plain(folder);
        set_types(&tiny_mmproj_file, types[i / 2], i % 2);
        tiny_write_pair(folder, "quantized", &tiny_text_file, &tiny_mmproj_file);
        see(&q, "ggml", 2, &usual);
        for (size_t k = 0; s2v_kernels_name(k); k++) {
            const char *name = s2v_kernels_name(k);
            see(&q, name, 2, &made);
            const double off = difference(&usual, &made);
            CHECK_CASE(off <= 5e-2, "type %u, %s: off by %g", types[i / 2], name, off);
            see(&q, name, 3, &again);
            assert_memory_equal(made.value, again.value,
                                (size_t)(made.n * made.width) * sizeof *made.value);
        }
    }
}

static void names_are_checked(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    s2v_engine *engine;
    s2p_error error;
    s2v_engine_options options = tiny_options();
    options.kernels = "abacus";
    assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "'abacus'"));
    assert_non_null(strstr(error.message, "scalar"));
    options.kernels = NULL;
    options.tower = "f64";
    assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "'f64'"));
    options.tower = "f32";
    assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_OK);
    s2v_engine_info info;
    s2v_engine_get_info(engine, &info);
    assert_string_equal(info.kernels, s2v_kernels_usual(0));
    s2v_engine_close(engine);
}

/* f32 is exact in the weights of every file; auto takes bytes for what is quantized already. */
static void precisions_of_a_quantized_file(void **state)
{
    (void)state;
    static const char *const towers[] = { "f32", "auto", "q8", "int8", "bf16" };
    tiny_write_plain(folder);
    set_types(&tiny_mmproj_file, GGML_TYPE_Q8_0, false);
    tiny_write_pair(folder, "precisions", &tiny_text_file, &tiny_mmproj_file);
    for (size_t i = 0; i < sizeof towers / sizeof *towers; i++) {
        s2v_engine *engine;
        s2p_error error = { S2P_OK, "" };
        s2v_engine_options options = tiny_options();
        options.tower = towers[i];
        CHECK_CASE(s2v_engine_open(&engine, &options, &error) == S2P_OK, "%s", error.message);
        s2v_engine_info info;
        s2v_engine_get_info(engine, &info);
        const bool rounds = strcmp(info.kernels, s2v_kernels_usual(0)) != 0;
        assert_int_equal(info.tower_rounds, rounds);
        if (i == 0) assert_false(rounds);
        if (i == 1 && s2v_kernels_find("avx512-q8"))
            assert_true(strncmp(info.kernels, "avx512-q8+avx512", 16) == 0 ||
                        strncmp(info.kernels, "amx-bf16", 8) == 0);
        s2v_engine_close(engine);
    }
}

static char said[256];

static void keep_note(const char *text, void *user)
{
    (void)user;
    (void)snprintf(said, sizeof said, "%s", text);
}

/* A type that no kernel reads: the tower is ggml's, the info says so, a name is refused, another precision
 * noted. */
static void other_towers_are_named(void **state)
{
    (void)state;
    tiny_write_plain(folder);
    tiny_find_tensor(&tiny_mmproj_file, "v.blk.0.attn_k.weight")->type = GGML_TYPE_IQ4_NL;
    tiny_write_pair(folder, "other", &tiny_text_file, &tiny_mmproj_file);
    s2v_engine *engine;
    s2p_error error = { S2P_OK, "" };
    s2v_engine_info info;
    s2v_engine_options options = tiny_options();
    options.note = keep_note;
    options.tower = "int8";
    said[0] = '\0';
    CHECK_CASE(s2v_engine_open(&engine, &options, &error) == S2P_OK, "%s", error.message);
    s2v_engine_get_info(engine, &info);
    assert_string_equal(info.kernels, "ggml");
    assert_non_null(strstr(said, "int8"));
    s2v_engine_close(engine);
    options.kernels = "scalar";
    assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "'scalar'"));
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(qwen_equals_ggml),
        cmocka_unit_test(llava_equals_ggml),
        cmocka_unit_test(quantized_towers_equal_ggml),
        cmocka_unit_test(precisions_of_a_quantized_file),
        cmocka_unit_test(names_are_checked),
        cmocka_unit_test(other_towers_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
