/* test_quantize.c - which tensor gets which type, and a file that is written anew.
 *
 * The rules are worked out by hand on lists of layers; that whole files equal llama-quantize's is
 * checked where that program is at hand (convert/quantize_peer.sh).
 *
 *   test_quantize FOLDER
 */
#include "checkpoint_maker.h"

#include "convert/convert.h"
#include "convert/quantize.h"
#include "convert/quantize_types.h"
#include "convert/recode.h"

#include <ggml.h>

#include <errno.h>
#include <math.h>

static char folder[512];

static const char *in(const char *name)
{
    static char path[16][600];
    static int next;
    char *out = path[next = (next + 1) % 16];
    (void)snprintf(out, sizeof path[0], "%s/%s", folder, name);
    return out;
}

static size_t kind_of(const char *name)
{
    size_t i = 0;
    while (strcmp(s2v_quant_name(i), name) != 0) i++;
    return i;
}

/* --- choices ------------------------------------------------------------------------------------
 */

static s2v_tensor_type choose(s2v_quant_chooser *c, const char *name, int64_t ne0, int64_t ne1)
{
    const s2v_gguf_tensor t = { .name = { name, strlen(name) },
                                .type = S2V_TENSOR_F16,
                                .n_dims = 2,
                                .ne = { ne0, ne1, 1, 1 } };
    return s2v_quant_choose(c, &t);
}

/* 16 layers: two first, two last, and 4, 7, 10, 13 between them. */
static void test_important_layers(void **state)
{
    (void)state;
    static const bool more[16] = { 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1 };
    s2v_quant_chooser c = { .kind = s2v_quant_kind_at(kind_of("Q4_K_M")),
                            .n_layers = 16,
                            .n_value = 16 };
    for (int i = 0; i < 16; i++) {
        const s2v_tensor_type wanted = more[i] ? S2V_TENSOR_Q6_K : S2V_TENSOR_Q4_K;
        CHECK_CASE(choose(&c, "blk.0.attn_v.weight", 256, 8) == wanted, "attn_v %d", i);
        CHECK_CASE(choose(&c, "blk.0.ffn_down.weight", 256, 8) == wanted, "ffn_down %d", i);
        assert_int_equal(choose(&c, "blk.0.attn_k.weight", 256, 8), S2V_TENSOR_Q4_K);
        assert_int_equal(choose(&c, "blk.0.ffn_up.weight", 256, 8), S2V_TENSOR_Q4_K);
    }
    assert_int_equal(c.n_fallback, 0);
}

static void test_choices(void **state)
{
    (void)state;
    static const struct {
        const char *kind, *name;
        int64_t ne0, ne1;
        bool is_tied;
        s2v_tensor_type wanted;
    } cases[] = {
        { "Q4_0", "output.weight", 256, 8, false, S2V_TENSOR_Q6_K },
        { "Q4_0", "output.weight", 32, 8, false, S2V_TENSOR_Q8_0 }, /* no blocks of 256 */
        { "Q4_0", "output.weight", 24, 8, false, S2V_TENSOR_F16 },
        { "Q8_0", "output.weight", 256, 8, false, S2V_TENSOR_Q8_0 },
        { "Q4_0", "token_embd.weight", 256, 8, false, S2V_TENSOR_Q4_0 },
        { "Q4_0", "token_embd.weight", 256, 8, true, S2V_TENSOR_Q6_K },
        { "Q5_K_M", "token_embd.weight", 256, 8, false, S2V_TENSOR_Q5_K },
        { "Q4_K_M", "blk.0.attn_q.weight", 64, 8, false, S2V_TENSOR_Q5_0 },
        { "Q5_K_M", "blk.0.attn_q.weight", 64, 8, false, S2V_TENSOR_Q5_1 },
        { "Q6_K", "blk.0.attn_q.weight", 64, 8, false, S2V_TENSOR_Q8_0 },
        { "Q6_K", "blk.0.attn_q.weight", 65, 8, false, S2V_TENSOR_F16 },
        { "Q4_0", "blk.0.attn_q.weight", 3420, 8, false, S2V_TENSOR_F16 },
        { "BF16", "blk.0.attn_q.weight", 3420, 8, false, S2V_TENSOR_BF16 },
        { "Q4_0", "v.patch_embd.weight", 64, 8, false, S2V_TENSOR_F16 }, /* stays what it is */
        { "BF16", "v.position_embd.weight", 64, 8, false, S2V_TENSOR_F16 },
        { "BF16", "blk.0.attn_norm.weight", 64, 8, false, S2V_TENSOR_F16 },
        { "BF16", "blk.0.attn_q.bias", 64, 8, false, S2V_TENSOR_F16 },
        { "BF16", "blk.0.attn_q.weight", 64, 1, false, S2V_TENSOR_F16 }, /* a vector */
        { "Q4_0", "v.patch_embd.weight.1", 64, 8, false, S2V_TENSOR_F16 },
        { "Q4_0", "blk.0.ssm_conv1d.weight", 4, 64, false, S2V_TENSOR_F16 },
        { "BF16", "blk.0.ssm_conv1d.weight", 4, 64, false, S2V_TENSOR_F16 },
        { "BF16", "blk.0.ssm_dt.bias", 64, 1, false, S2V_TENSOR_F16 },
        { "BF16", "blk.0.ssm_a", 64, 1, false, S2V_TENSOR_F16 },
        { "Q4_0", "blk.0.ssm_alpha.weight", 256, 8, false, S2V_TENSOR_Q4_0 },
        { "Q4_K_M", "blk.0.ssm_out.weight", 256, 8, false, S2V_TENSOR_Q4_K },
        { "Q4_K_M", "blk.0.attn_gate.weight", 256, 8, false, S2V_TENSOR_Q4_K },
        { "Q4_K_M", "blk.0.ffn_gate_inp.weight", 256, 8, false, S2V_TENSOR_F16 },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_quant_chooser c = { .kind = s2v_quant_kind_at(kind_of(cases[i].kind)),
                                .is_tied = cases[i].is_tied,
                                .n_layers = 8 };
        CHECK_CASE(choose(&c, cases[i].name, cases[i].ne0, cases[i].ne1) == cases[i].wanted,
                   "%s of %s", cases[i].kind, cases[i].name);
    }
    s2v_quant_chooser big = { .kind = s2v_quant_kind_at(kind_of("Q4_K_M")),
                              .is_80_layer_qwen2 = true,
                              .i_value = 12,
                              .n_value = 80,
                              .n_layers = 80 };
    assert_int_equal(choose(&big, "blk.9.attn_v.weight", 256, 8), S2V_TENSOR_Q6_K); /* 12: more */
    assert_int_equal(choose(&big, "blk.9.attn_v.weight", 256, 8), S2V_TENSOR_Q5_K); /* 13: usual */
}

/* With experts the layer is read from the name: there are two ways down in it. Eight experts share
 * matrices that are small beside them, and these get more bits. */
static void test_expert_choices(void **state)
{
    (void)state;
    for (int32_t n_experts = 8; n_experts <= 16; n_experts += 8) {
        const bool few = n_experts == 8;
        s2v_quant_chooser c = { .kind = s2v_quant_kind_at(kind_of("Q4_K_M")),
                                .n_experts = n_experts,
                                .n_value = 16,
                                .n_layers = 16 };
        for (int layer = 0; layer < 16; layer++) {
            static const bool more[16] = { 1, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 0, 0, 1, 1, 1 };
            static const char *const way[] = { "exps", "shexp" };
            for (size_t k = 0; k < COUNT_OF(way); k++) {
                char name[64];
                (void)snprintf(name, sizeof name, "blk.%d.ffn_down_%s.weight", layer, way[k]);
                CHECK_CASE(choose(&c, name, 256, 8) ==
                               (more[layer] ? S2V_TENSOR_Q6_K : S2V_TENSOR_Q4_K),
                           "%s", name);
            }
            CHECK_CASE(choose(&c, "blk.0.attn_qkv.weight", 256, 8) == (few ? S2V_TENSOR_Q8_0
                                                                       : more[layer]
                                                                           ? S2V_TENSOR_Q6_K
                                                                           : S2V_TENSOR_Q4_K),
                       "attn_qkv %d", layer);
        }
        assert_int_equal(choose(&c, "blk.0.attn_k.weight", 256, 8),
                         few ? S2V_TENSOR_Q8_0 : S2V_TENSOR_Q4_K);
        assert_int_equal(choose(&c, "blk.0.attn_output.weight", 256, 8),
                         few ? S2V_TENSOR_Q5_K : S2V_TENSOR_Q4_K);
    }
}

static void test_order(void **state)
{
    (void)state;
    static const char *const sorted[] = {
        "mm.0.bias",          "output.weight", "v.blk.10.ln1.weight",
        "v.blk.2.ln1.weight", "blk.0.b",       "blk.2.a",
        "blk.2.ab",           "blk.10.a"
    };
    for (size_t i = 0; i < COUNT_OF(sorted); i++)
        for (size_t k = 0; k < COUNT_OF(sorted); k++) {
            const s2v_gguf_tensor a = { .name = { sorted[i], strlen(sorted[i]) } };
            const s2v_gguf_tensor b = { .name = { sorted[k], strlen(sorted[k]) } };
            const int order = s2v_quant_compare(&a, &b);
            CHECK_CASE((order > 0) - (order < 0) == (i > k) - (i < k), "%s, %s", sorted[i],
                       sorted[k]);
        }
    static const struct {
        const char *name;
        int32_t layer;
    } layers[] = { { "blk.7.x", 7 },
                   { "blk.x", -1 },
                   { "blk.7", -1 },
                   { "v.blk.7.x", -1 },
                   { "blk.99999999999.x", -1 },
                   { "blk..x", -1 } };
    for (size_t i = 0; i < COUNT_OF(layers); i++)
        assert_int_equal(s2v_quant_layer((s2v_text){ layers[i].name, strlen(layers[i].name) }),
                         layers[i].layer);
}

/* --- rows ---------------------------------------------------------------------------------------
 */

typedef struct taken {
    writer data;
} taken;

static s2p_status take(void *user, const void *data, size_t n, s2p_error *error)
{
    (void)error;
    put_bytes(&((taken *)user)->data, data, n);
    return S2P_OK;
}

/* Threads and slabs change nothing: the same bytes as one call of ggml for the whole tensor. */
static void test_recode(void **state)
{
    (void)state;
    enum { ROW = 512, N_ROWS = 9001 }; /* several slabs, the last one short */
    float *values = malloc((size_t)ROW * N_ROWS * sizeof *values);
    uint8_t *wanted = malloc((size_t)ROW * N_ROWS * sizeof *values);
    assert_true(values && wanted);
    uint32_t seed = 3;
    for (size_t i = 0; i < (size_t)ROW * N_ROWS; i++)
        values[i] = (float)next_random(&seed) / 8388608.0f - 1.0f;
    static const s2v_tensor_type types[] = { S2V_TENSOR_F32,  S2V_TENSOR_F16,  S2V_TENSOR_BF16,
                                             S2V_TENSOR_Q8_0, S2V_TENSOR_Q4_0, S2V_TENSOR_Q4_K };
    for (size_t t = 0; t < COUNT_OF(types); t++) {
        const size_t n =
            ggml_quantize_chunk((enum ggml_type)types[t], values, wanted, 0, N_ROWS, ROW, NULL);
        for (int32_t n_threads = 1; n_threads <= 3; n_threads += 2) {
            s2v_recoder *recoder = NULL;
            taken out = { 0 };
            s2p_error error = { S2P_OK, "" };
            assert_int_equal(s2v_recoder_create(&recoder, s2v_block_codec(), n_threads, &error),
                             S2P_OK);
            const s2v_recoding job = { .name = "w",
                                       .from = S2V_TENSOR_F32,
                                       .to = types[t],
                                       .n_per_row = ROW,
                                       .n_rows = N_ROWS,
                                       .rows = (const uint8_t *)values,
                                       .sink = take,
                                       .user = &out };
            assert_int_equal(s2v_recode(recoder, &job, &error), S2P_OK);
            assert_int_equal(out.data.n, n);
            assert_memory_equal(out.data.data, wanted, n);
            free(out.data.data);
            s2v_recoder_free(recoder);
        }
    }
    free(values);
    free(wanted);
}

/* Every finite number there is in 16 bits, as ggml reads it: 31 * 1024 of F16 and 255 * 128 of
 * BF16, with both signs, in whole rows. */
static void test_all_halves(void **state)
{
    (void)state;
    static const struct {
        s2v_tensor_type from;
        uint16_t n; /* finite numbers of one sign */
        int64_t row;
    } cases[] = { { S2V_TENSOR_F16, 0x7c00, 1024 }, { S2V_TENSOR_BF16, 0x7f80, 128 } };
    static uint16_t halves[2 * 0x7f80];
    static float wanted[2 * 0x7f80];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const size_t n = 2 * (size_t)cases[c].n;
        for (size_t i = 0; i < n; i++) halves[i] = (uint16_t)(i / 2 | (i % 2) << 15);
        ggml_get_type_traits((enum ggml_type)cases[c].from)->to_float(halves, wanted, (int64_t)n);
        s2v_recoder *recoder = NULL;
        taken out = { 0 };
        s2p_error error = { S2P_OK, "" };
        assert_int_equal(s2v_recoder_create(&recoder, s2v_block_codec(), 0, &error), S2P_OK);
        const s2v_recoding job = { .name = "w",
                                   .from = cases[c].from,
                                   .to = S2V_TENSOR_F32,
                                   .n_per_row = cases[c].row,
                                   .n_rows = (int64_t)n / cases[c].row,
                                   .rows = (const uint8_t *)halves,
                                   .sink = take,
                                   .user = &out };
        CHECK_CASE(s2v_recode(recoder, &job, &error) == S2P_OK, "%s", error.message);
        assert_int_equal(out.data.n, n * sizeof *wanted);
        assert_memory_equal(out.data.data, wanted, n * sizeof *wanted);
        free(out.data.data);
        s2v_recoder_free(recoder);
    }
}

/* To F16 and BF16, as ggml rounds: between every two neighbours, and a little on both sides of the
 * middle. */
static void test_all_roundings(void **state)
{
    (void)state;
    enum { N = 0x7f7f, EACH = 8 };
    static const struct {
        s2v_tensor_type to;
        uint16_t n; /* the largest finite number */
    } cases[] = { { S2V_TENSOR_F16, 0x7bff }, { S2V_TENSOR_BF16, 0x7f7f } };
    static float values[N * EACH];
    static uint16_t wanted[N * EACH];
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        const struct ggml_type_traits *traits = ggml_get_type_traits((enum ggml_type)cases[c].to);
        const int64_t n = cases[c].n;
        for (uint16_t i = 0; i < n; i++) {
            float pair[2];
            traits->to_float((const uint16_t[]){ i, (uint16_t)(i + 1) }, pair, 2);
            const float middle = pair[0] / 2 + pair[1] / 2;
            float *to = values + (size_t)i * EACH;
            to[0] = pair[0];
            to[1] = nextafterf(pair[0], pair[1]);
            to[2] = nextafterf(middle, pair[0]);
            to[3] = middle;
            to[4] = nextafterf(middle, pair[1]);
            to[5] = nextafterf(pair[1], pair[0]);
            to[6] = -middle;
            to[7] = -nextafterf(middle, pair[1]);
        }
        traits->from_float_ref(values, wanted, n * EACH);
        s2v_recoder *recoder = NULL;
        taken out = { 0 };
        s2p_error error = { S2P_OK, "" };
        assert_int_equal(s2v_recoder_create(&recoder, NULL, 0, &error), S2P_OK);
        const s2v_recoding job = { .name = "w",
                                   .from = S2V_TENSOR_F32,
                                   .to = cases[c].to,
                                   .n_per_row = EACH,
                                   .n_rows = n,
                                   .rows = (const uint8_t *)values,
                                   .sink = take,
                                   .user = &out };
        CHECK_CASE(s2v_recode(recoder, &job, &error) == S2P_OK, "%s", error.message);
        assert_int_equal(out.data.n, n * EACH * 2);
        assert_memory_equal(out.data.data, wanted, out.data.n);
        free(out.data.data);
        s2v_recoder_free(recoder);
    }
}

static void test_odd_values(void **state)
{
    (void)state;
    static const struct {
        s2v_tensor_type from, to;
        uint32_t bits;
        bool is_fine;
    } cases[] = {
        { S2V_TENSOR_F32, S2V_TENSOR_F32, 0x7f7fffff, true },
        { S2V_TENSOR_F32, S2V_TENSOR_F32, 0x7f800000, false },
        { S2V_TENSOR_F32, S2V_TENSOR_F16, 0x477fefff, true },
        { S2V_TENSOR_F32, S2V_TENSOR_F16, 0xc77ff000, false },
        { S2V_TENSOR_F32, S2V_TENSOR_BF16, 0x7f7f7fff, true },
        { S2V_TENSOR_F32, S2V_TENSOR_BF16, 0x7f7f8000, false },
        { S2V_TENSOR_F32, S2V_TENSOR_Q8_0, 0x7fc00001, false },
        { S2V_TENSOR_BF16, S2V_TENSOR_BF16, 0x7f7f, true },
        { S2V_TENSOR_BF16, S2V_TENSOR_BF16, 0x7f80, false },
        { S2V_TENSOR_F16, S2V_TENSOR_F16, 0x7bff, true },
        { S2V_TENSOR_F16, S2V_TENSOR_F16, 0xfc01, false },
        { S2V_TENSOR_F16, S2V_TENSOR_Q4_0, 0x7c00, false },
        { S2V_TENSOR_F16, S2V_TENSOR_F32, 0x7c00, false },
        { S2V_TENSOR_F16, S2V_TENSOR_Q8_0, 0xfbff, true },
        { S2V_TENSOR_BF16, S2V_TENSOR_F16, 0x477f, true },
        { S2V_TENSOR_BF16, S2V_TENSOR_F16, 0xc780, false },
        { S2V_TENSOR_BF16, S2V_TENSOR_F32, 0xff7f, true },
        { S2V_TENSOR_BF16, S2V_TENSOR_F32, 0xffc0, false },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        _Alignas(16) uint8_t row[256] = { 0 };
        const size_t width = s2v_gguf_row_bytes(cases[i].from, 1);
        memcpy(row + 40 * width, &cases[i].bits, width);
        s2v_recoder *recoder = NULL;
        taken out = { 0 };
        s2p_error error = { S2P_OK, "" };
        assert_int_equal(s2v_recoder_create(&recoder, s2v_block_codec(), 0, &error), S2P_OK);
        const s2v_recoding job = { .name = "w",
                                   .from = cases[i].from,
                                   .to = cases[i].to,
                                   .n_per_row = 64,
                                   .n_rows = 1,
                                   .rows = row,
                                   .sink = take,
                                   .user = &out };
        const s2p_status st = s2v_recode(recoder, &job, &error);
        CHECK_CASE(st == (cases[i].is_fine ? S2P_OK : S2P_EFORMAT), "case %zu: %s", i,
                   error.message);
        free(out.data.data);
        s2v_recoder_free(recoder);
    }
}

/* --- files --------------------------------------------------------------------------------------
 */

static void make_models(void)
{
    s2v_convert_result result;
    s2p_error error = { S2P_OK, "" };
    make_checkpoint(&(maker){ .kind = MAKE_QWEN2_5 }, in("from"));
    const s2v_convert_options o = {
        .folder = in("from"), .outfile = in("m.gguf"), .mmproj_out = in("mm.gguf"), .type = 1
    };
    CHECK_CASE(s2v_convert(&o, &result, &error) == S2P_OK, "%s", error.message);
}

static s2p_status quantize(const char *input, const char *type, const char *layer0,
                           s2v_quant_result *result, s2p_error *error)
{
    const s2v_quant_options o = { .input = input,
                                  .output = in("out.gguf"),
                                  .type = kind_of(type),
                                  .keep_layer0 = layer0,
                                  .codec = s2v_block_codec() };
    (void)unlink(o.output);
    return s2v_quantize(&o, result, error);
}

static void test_file(void **state)
{
    (void)state;
    make_models();
    s2v_quant_result result;
    s2p_error error = { S2P_OK, "" };
    s2v_gguf *before = NULL, *after = NULL;
    assert_int_equal(quantize(in("m.gguf"), "Q8_0", NULL, &result, &error), S2P_OK);
    assert_int_equal(result.n_tensors, 27);
    assert_int_equal(s2v_gguf_open(&before, in("m.gguf"), &error), S2P_OK);
    assert_int_equal(s2v_gguf_open(&after, in("out.gguf"), &error), S2P_OK);
    assert_int_equal(s2v_gguf_n_bytes(after), result.n_bytes_to);
    assert_int_equal(s2v_gguf_n_keys(after), s2v_gguf_n_keys(before));
    int64_t file_type = 0;
    assert_true(s2v_gguf_int(after, "general.file_type", &file_type));
    assert_int_equal(file_type, 7);
    for (size_t i = 0; i < s2v_gguf_n_keys(before); i++) { /* all others as they were */
        const s2v_gguf_key *a = s2v_gguf_key_at(before, i);
        char name[128];
        (void)snprintf(name, sizeof name, "%.*s", (int)a->name.size, a->name.data);
        const s2v_gguf_key *b = s2v_gguf_find_key(after, name);
        assert_non_null(b);
        if (strcmp(name, "general.file_type") != 0)
            assert_memory_equal(a->value, b->value, a->n_bytes);
    }
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(after, "blk.1.attn_q.weight");
    assert_non_null(t);
    assert_int_equal(t->type, S2V_TENSOR_Q8_0);
    float row[32];
    ggml_get_type_traits(GGML_TYPE_Q8_0)->to_float(t->data, row, 32);
    const s2v_gguf_tensor *source = s2v_gguf_find_tensor(before, "blk.1.attn_q.weight");
    for (int i = 0; i < 32; i++) {
        ggml_fp16_t half;
        memcpy(&half, source->data + 2 * i, 2);
        assert_true(row[i] - ggml_fp16_to_fp32(half) < 0.01f &&
                    ggml_fp16_to_fp32(half) - row[i] < 0.01f);
    }
    s2v_gguf_close(before);
    s2v_gguf_close(after);
}

static void test_layer0(void **state)
{
    (void)state;
    make_models();
    s2v_quant_result result;
    s2p_error error = { S2P_OK, "" };
    s2v_gguf *file = NULL;
    assert_int_equal(quantize(in("m.gguf"), "Q4_0", "F16", &result, &error), S2P_OK);
    assert_int_equal(s2v_gguf_open(&file, in("out.gguf"), &error), S2P_OK);
    assert_int_equal(s2v_gguf_find_tensor(file, "blk.0.attn_q.weight")->type, S2V_TENSOR_F16);
    assert_int_equal(s2v_gguf_find_tensor(file, "blk.0.attn_q.bias")->type, S2V_TENSOR_F32);
    assert_int_equal(s2v_gguf_find_tensor(file, "blk.1.attn_q.weight")->type, S2V_TENSOR_Q4_0);
    s2v_gguf_close(file);
    assert_int_equal(quantize(in("m.gguf"), "Q4_0", "Q4_K", &result, &error), S2P_EINVAL);
}

static int stop(const char *step, double done, void *user)
{
    (void)step;
    (void)user;
    return done > 0.3;
}

static void test_refusals(void **state)
{
    (void)state;
    make_models();
    s2v_quant_result result;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(quantize(in("none.gguf"), "Q4_0", NULL, &result, &error), S2P_EIO);
    assert_int_equal(quantize(in("from/config.json"), "Q4_0", NULL, &result, &error), S2P_EFORMAT);
    s2v_quant_options o = { .input = in("m.gguf"),
                            .output = in("m.gguf"),
                            .codec = s2v_block_codec() };
    assert_int_equal(s2v_quantize(&o, &result, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "both input and output"));
    o.output = in("out.gguf");
    o.type = 99;
    assert_int_equal(s2v_quantize(&o, &result, &error), S2P_EINVAL);
    o.type = 0;
    o.progress = stop;
    assert_int_equal(s2v_quantize(&o, &result, &error), S2P_ECANCELLED);
    assert_int_equal(access(in("out.gguf"), F_OK), -1);
    o.progress = NULL;
    o.output = in("no-such-folder/out.gguf");
    assert_int_equal(s2v_quantize(&o, &result, &error), S2P_EIO);
    assert_int_equal(result.write_errno, ENOENT);

    o.output = in("q8.gguf"); /* from quantised to other: refused; to the same: a copy */
    o.type = kind_of("Q8_0");
    assert_int_equal(s2v_quantize(&o, &result, &error), S2P_OK);
    assert_int_equal(quantize(in("q8.gguf"), "Q4_0", NULL, &result, &error), S2P_EUNSUPPORTED);
    assert_non_null(strstr(error.message, "already"));
    assert_int_equal(access(in("out.gguf"), F_OK), -1);
    assert_int_equal(quantize(in("q8.gguf"), "Q8_0", NULL, &result, &error), S2P_OK);
}

/* Model files the validator or the quantiser must refuse, through this door. */
static void test_malformed(void **state)
{
    (void)state;
    static const struct {
        const char *arch;
        bool has_parts;
        s2p_status status;
        const char *says;
    } cases[] = { { NULL, false, S2P_EFORMAT, "general.architecture" },
                  { "gemma2", false, S2P_EUNSUPPORTED,
                    "'gemma2' is not one of qwen2vl, qwen2, qwen3vl, qwen3, llama, qwen3vlmoe, "
                    "qwen3moe, gemma3, qwen35, qwen35moe and clip" },
                  { "gemma3", false, S2P_EFORMAT, "no tensor" },
                  { "llama", false, S2P_EFORMAT, "no tensor" },
                  { "qwen35moe", false, S2P_EFORMAT, "no tensor" },
                  { "qwen3vl", false, S2P_EFORMAT, "no tensor" },
                  { "qwen3", false, S2P_EFORMAT, "no tensor" },
                  { "qwen2", true, S2P_EUNSUPPORTED, "one of 2 parts" },
                  { "qwen2", false, S2P_EFORMAT, "no tensor" } };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        writer w = { 0 };
        put_start(&w, 3, 0, (cases[i].arch ? 1u : 0u) + (cases[i].has_parts ? 1u : 0u));
        if (cases[i].arch) {
            put_key(&w, "general.architecture", STRING);
            put_string(&w, cases[i].arch, strlen(cases[i].arch));
        }
        if (cases[i].has_parts) put_number(&w, "split.count", U16, 2, 2);
        maker_write(folder, "bad.gguf", w.data, w.n);
        free(w.data);
        s2v_quant_result result;
        s2p_error error = { S2P_OK, "" };
        assert_int_equal(quantize(in("bad.gguf"), "Q4_0", NULL, &result, &error), cases[i].status);
        CHECK_CASE(strstr(error.message, cases[i].says), "%s", error.message);
        assert_int_equal(access(in("out.gguf"), F_OK), -1);
    }
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    (void)snprintf(folder, sizeof folder, "%s", argv[1]);
    (void)mkdir(folder, 0777);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_important_layers),
        cmocka_unit_test(test_choices),
        cmocka_unit_test(test_expert_choices),
        cmocka_unit_test(test_order),
        cmocka_unit_test(test_recode),
        cmocka_unit_test(test_all_halves),
        cmocka_unit_test(test_all_roundings),
        cmocka_unit_test(test_odd_values),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_layer0),
        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_malformed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
