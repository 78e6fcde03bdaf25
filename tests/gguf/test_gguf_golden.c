/* test_gguf_golden.c GOLDENS - model files written by other programs; exit 77 when they are not there. */
#include "check.h"
#include "gguf_promises.h"

#include <math.h>
#include <unistd.h>

static const char *golden_folder;

static s2v_gguf *open_golden(const char *path)
{
    char full[1024];
    (void)snprintf(full, sizeof full, "%s/%s", golden_folder, path);
    s2v_gguf *file = NULL;
    s2p_error error = { S2P_OK, "" };
    CHECK_CASE(s2v_gguf_open(&file, full, &error) == S2P_OK, "%s", error.message);
    for (size_t i = 0; i < s2v_gguf_n_keys(file); i++)
        assert_non_null(s2v_gguf_key_at(file, i)->value);
    for (size_t i = 0; i < s2v_gguf_n_tensors(file); i++) {
        s2v_gguf_odd odd = { 0, 0 };
        (void)s2v_gguf_count_odd(s2v_gguf_tensor_at(file, i), &odd);
        assert_int_equal(odd.count, 0);
    }
    return file;
}

static void check_int(const s2v_gguf *file, const char *name, int64_t expected)
{
    int64_t value = 0;
    CHECK_CASE(s2v_gguf_int(file, name, &value) && value == expected, "%s is %lld", name,
               (long long)value);
}

static void check_array(const s2v_gguf *file, const char *name, s2v_gguf_type item, uint64_t count)
{
    const s2v_gguf_key *key = s2v_gguf_find_key(file, name);
    CHECK_CASE(key && key->type == S2V_GGUF_ARRAY && key->item == item && key->count == count, "%s",
               name);
}

static void check_tensor(const s2v_gguf *file, const char *name, const char *type, int32_t n_dims,
                         int64_t ne0, int64_t ne1)
{
    const s2v_gguf_tensor *t = s2v_gguf_find_tensor(file, name);
    CHECK_CASE(t && strcmp(s2v_gguf_tensor_type(t->type, NULL, NULL), type) == 0, "%s", name);
    CHECK_CASE(t->n_dims == n_dims && t->ne[0] == ne0 && t->ne[1] == ne1, "%s", name);
}

static void test_golden_model(void **state)
{
    (void)state; /* values: goldens/hf/gguf_keys.md, column "tiny" */
    s2v_gguf *file = open_golden("hf/qwen25vl/gguf/tiny-qwen2.5-vl-f16.gguf");
    assert_int_equal(s2v_gguf_n_keys(file), 23);
    assert_int_equal(s2v_gguf_n_tensors(file), 51);
    s2v_text text;
    assert_true(s2v_gguf_string(file, "general.architecture", &text) &&
                is_text(text, "qwen2vl", 7));
    assert_true(s2v_gguf_string(file, "tokenizer.ggml.pre", &text) && is_text(text, "qwen2", 5));
    check_int(file, "general.file_type", 1);
    check_int(file, "qwen2vl.block_count", 4);
    check_int(file, "qwen2vl.context_length", 4096);
    check_int(file, "qwen2vl.embedding_length", 128);
    check_int(file, "qwen2vl.attention.head_count_kv", 2);
    check_int(file, "tokenizer.ggml.eos_token_id", 462);
    double real = 0;
    assert_true(s2v_gguf_float(file, "qwen2vl.rope.freq_base", &real) && real == 1e6);
    assert_true(s2v_gguf_float(file, "qwen2vl.attention.layer_norm_rms_epsilon", &real) &&
                fabs(real - 1e-6) < 1e-12);
    check_array(file, "qwen2vl.rope.dimension_sections", S2V_GGUF_I32, 4);
    check_array(file, "tokenizer.ggml.tokens", S2V_GGUF_STRING, 512);
    check_array(file, "tokenizer.ggml.merges", S2V_GGUF_STRING, 204);
    check_tensor(file, "token_embd.weight", "F16", 2, 128, 512);
    check_tensor(file, "blk.3.ffn_down.weight", "F16", 2, 256, 128);
    check_tensor(file, "blk.0.attn_k.bias", "F32", 1, 64, 1);
    check_tensor(file, "output_norm.weight", "F32", 1, 128, 1);
    s2v_gguf_close(file);
}

static void test_golden_tower(void **state)
{
    (void)state;
    s2v_gguf *file = open_golden("hf/qwen25vl/gguf/mmproj-tiny-qwen2.5-vl-f32.gguf");
    assert_int_equal(s2v_gguf_n_keys(file), 20);
    assert_int_equal(s2v_gguf_n_tensors(file), 71);
    s2v_text text;
    bool yes = false;
    assert_true(s2v_gguf_string(file, "clip.projector_type", &text));
    assert_true(is_text(text, "qwen2.5vl_merger", 16));
    assert_true(s2v_gguf_bool(file, "clip.has_vision_encoder", &yes) && yes);
    check_int(file, "clip.vision.patch_size", 14);
    check_int(file, "clip.vision.n_wa_pattern", 2);
    check_array(file, "clip.vision.image_mean", S2V_GGUF_F32, 3);
    check_tensor(file, "v.patch_embd.weight.1", "F32", 4, 14, 14);
    check_tensor(file, "mm.2.weight", "F32", 2, 256, 128);
    s2v_gguf_close(file);
}

static void test_golden_others(void **state)
{
    (void)state;
    static const char *const paths[] = {
        "hf/qwen25vl/gguf/tiny-qwen2.5-vl-f32.gguf",
        "hf/qwen25vl/gguf/mmproj-tiny-qwen2.5-vl-f16.gguf",
        "hf/qwen25vl/full_sq.gguf",
        "hf/qwen25vl/full_dyn.gguf",
        "hf/qwen25vl/full_multi.gguf",
        "hf/qwen25vl/preprocess.gguf",
        "hf/qwen25vl/pruned_sq_B32K4.gguf",
        "hf/qwen25vl/pruned_dyn_B48K4.gguf",
        "hf/llava_ov/full_base.gguf",
        "hf/llava_ov/full_anyres.gguf",
        "hf/llava_ov/preprocess.gguf",
        "hf/llava_ov/gguf/mmproj-tiny-llava-onevision-f16.gguf",
        "hf/llava_ov/gguf/tiny-llava-onevision-f32.gguf",
    };
    for (size_t i = 0; i < COUNT_OF(paths); i++) s2v_gguf_close(open_golden(paths[i]));
}

static void test_golden_vocabulary(void **state)
{
    (void)state; /* no tensors, and long arrays */
    s2v_gguf *file = open_golden("tokenizer/ggml-vocab-qwen2.gguf");
    assert_int_equal(s2v_gguf_n_tensors(file), 0);
    check_array(file, "tokenizer.ggml.merges", S2V_GGUF_STRING, 151387);
    const s2v_gguf_key *key = s2v_gguf_find_key(file, "tokenizer.ggml.tokens");
    assert_non_null(key);
    size_t cursor = 0;
    uint64_t n = 0;
    s2v_text text;
    while (s2v_gguf_next_string(key, &cursor, &text)) {
        if (n == 0) assert_true(is_text(text, "!", 1));
        if (n == 151643) assert_true(is_text(text, "<|endoftext|>", 13));
        n++;
    }
    assert_int_equal(n, key->count);
    s2v_gguf_close(file);
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    golden_folder = argv[1];
    char models[1024], vocabulary[1024];
    (void)snprintf(models, sizeof models, "%s/hf", golden_folder);
    (void)snprintf(vocabulary, sizeof vocabulary, "%s/tokenizer", golden_folder);
    if (access(models, R_OK) != 0 || access(vocabulary, R_OK) != 0) {
        printf("skipped: no models and vocabularies of other programs in %s\n", golden_folder);
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_golden_model),
        cmocka_unit_test(test_golden_tower),
        cmocka_unit_test(test_golden_others),
        cmocka_unit_test(test_golden_vocabulary),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
