/* test_engine_refuse.c - files that cannot be: a status, a sentence, and nothing worse.
 *
 * Each key and each tensor of a good pair is left out, changed in type, shape or value in turn.
 */
#include "refused_pair.h"

/* --- keys ------------------------------------------------------------------------- */

typedef struct wrong_value {
    const char *key;
    double value[4]; /* each of them; 0 ends the list but for the first */
} wrong_value;

static void refuse_values(bool is_text, const wrong_value *cases, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t v = 0; v < 4 && (v == 0 || cases[i].value[v] != 0.0); v++) {
            changed = is_text ? text_file : mmproj_file;
            tiny_key *key = tiny_find_key(&changed, cases[i].key);
            if (key->type == U32) key->type = I64;
            key->value[0] = cases[i].value[v];
            char how[64];
            (void)snprintf(how, sizeof how, "with %g as", cases[i].value[v]);
            const bool divides = cases[i].value[v] == 3.0 || cases[i].value[v] == 16.0;
            refuse_changed(is_text, how, divides ? "divide" : cases[i].key);
        }
}

static void test_keys_out_of_range(void **state)
{
    (void)state;
    static const wrong_value text[] = {
        { "qwen2vl.block_count", { 0, -1, 513, 1e9 } },
        { "qwen2vl.context_length", { 0, -1, (1 << 20) + 1 } },
        { "qwen2vl.embedding_length", { 0, -1, (1 << 17) + 1, 1e12 } },
        { "qwen2vl.feed_forward_length", { 0, -1, (1 << 20) + 1, 1e12 } },
        { "qwen2vl.attention.head_count", { 0, -1, 3, 1025 } },
        { "qwen2vl.attention.head_count_kv", { 0, -1, 3, 1025 } },
        { "qwen2vl.rope.dimension_sections", { -1, 5, 33, 1e9 } },
        { "qwen2vl.rope.freq_base", { 0, -1, NAN, INFINITY } },
        { "qwen2vl.attention.layer_norm_rms_epsilon", { -1, 1.5, NAN, INFINITY } },
    };
    static const wrong_value mmproj[] = {
        { "clip.vision.block_count", { 0, -1, 513, 1e9 } },
        { "clip.vision.embedding_length", { 0, -1, (1 << 16) + 1, 1e12 } },
        { "clip.vision.attention.head_count", { 0, 3, 16, 1025 } },
        { "clip.vision.patch_size", { 0, -1, 65, 1e9 } },
        { "clip.vision.projection_dim", { 0, -1, (1 << 17) + 1, 1e12 } },
        { "clip.vision.n_wa_pattern", { 0, -1, 513, 1e9 } },
        { "clip.vision.attention.layer_norm_epsilon", { -1, 1.5, NAN, INFINITY } },
        { "clip.vision.image_mean", { NAN, INFINITY } },
        { "clip.vision.image_std", { 0, -1, NAN, INFINITY } },
    };
    refuse_values(true, text, COUNT_OF(text));
    refuse_values(false, mmproj, COUNT_OF(mmproj));

    static const char *const lists[] = { "qwen2vl.rope.dimension_sections",
                                         "clip.vision.image_mean", "clip.vision.image_std" };
    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (uint64_t n = 0; n <= 5; n++) {
            if (n == 3 || (i == 0 && n == 4)) continue;
            changed = i == 0 ? text_file : mmproj_file;
            tiny_find_key(&changed, lists[i])->n = n;
            refuse_changed(i == 0, "with another length", lists[i]);
        }

    static const struct { /* may be left out, but not be wrong */
        const char *key;
        double value;
    } optional[] = {
        { "clip.vision.spatial_merge_size", 3 }, { "clip.vision.window_size", 0 },
        { "clip.vision.window_size", 5000 },     { "clip.vision.image_min_pixels", 0 },
        { "clip.vision.image_max_pixels", -1 },
    };
    for (size_t i = 0; i < COUNT_OF(optional); i++) {
        changed = mmproj_file;
        tiny_number(&changed, optional[i].key, I32, optional[i].value);
        refuse_changed(false, "with a wrong", optional[i].key);
    }
}

/* A file may have more than the graph wants. */
static void test_more_tensors_than_needed(void **state)
{
    (void)state;
    s2v_engine *engine;
    s2p_error error;
    changed = text_file;
    (void)tiny_add_tensor(&changed, "blk.99.attn_q.weight", 0, 32, 3);
    assert_int_equal(open_changed(true, &engine, &error), S2P_OK);
    s2v_engine_close(engine);
    changed = text_file;
    tiny_find_key(&changed, "qwen2vl.block_count")->value[0] = N_LAYERS + 1;
    refuse_changed(true, "one layer too few:", "blk.2.");
}

static void test_pair_that_does_not_fit(void **state)
{
    (void)state;
    changed = mmproj_file;
    tiny_find_key(&changed, "clip.vision.projection_dim")->value[0] = 32;
    tiny_find_tensor(&changed, "mm.2.weight")->ne[1] = 32;
    tiny_find_tensor(&changed, "mm.2.bias")->ne[0] = 32;
    refuse_changed(false, "a projector of", "rows of 32, the model takes 64");
    changed = mmproj_file;
    tiny_find_key(&changed, "clip.projector_type")->text = "qwen3vl_merger";
    refuse_changed(false, "another",
                   "the vision part of Qwen3-VL, whose language part is 'qwen3vl'");
    changed = mmproj_file;
    tiny_find_key(&changed, "general.architecture")->text = "qwen2vl";
    refuse_changed(false, "a model as", "expected 'clip'");
    changed = text_file;
    tiny_find_key(&changed, "general.architecture")->text = "a\x1b[31m\xff";
    refuse_changed(true, "an unknown", "whose language part is 'qwen2vl', not");
    changed = text_file; /* a vocabulary of another size than the matrices have */
    tiny_find_tensor(&changed, "token_embd.weight")->ne[1] = N_VOCABULARY - 1;
    refuse_changed(true, "an embedding of",
                   "token_embd.weight is [64, 399, 1], expected [64, 400]");
    changed = text_file;
    tiny_find_tensor(&changed, "output.weight")->ne[1] = N_VOCABULARY + 32;
    refuse_changed(true, "an output of", "output.weight is [64, 432, 1], expected [64, 400]");
}

/* Models llama.cpp reads and the engine does not are refused by name, a pair of two models as one. */
static void test_other_models(void **state)
{
    (void)state;
    static const struct {
        const char *text, *projector, *sentence;
    } cases[] = {
        { "llama", "gemma3",
          "the vision part of Gemma 3, whose language part is 'gemma3', not 'llama'" },
        { "phi3", "mlp", "LLaVA on Phi-3 ('phi3'" },
        { "internlm2", "internvl", "InternVL 2 or 2.5 on InternLM2 ('internlm2' with projector" },
        { "gemma2", "internvl", "an InternVL model ('gemma2' with projector 'internvl')" },
        { "llama", "resampler", "there is no grid to prune by" },
        { "qwen2", "ultravox", "it is an audio model without vision" },
        { "llama", "qwen2.5vl_merger",
          "the vision part of Qwen2.5-VL, whose language part is 'qwen2vl', not 'llama'" },
        { "qwen2vl", "mlp", "the vision part of LLaVA-OneVision, whose language part is 'qwen2'" },
        { "qwen2vl", "mlp+", "the vision part of LLaVA-1.5, whose language part is 'llama'" },
        { "gpt5", "unheard_of", "model 'gpt5' with projector 'unheard_of' is not supported" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        tiny_file text = text_file;
        tiny_find_key(&text, "general.architecture")->text = cases[i].text;
        char path[512];
        (void)snprintf(path, sizeof path, "%s/other.gguf", folder);
        tiny_write(&text, path);
        changed = mmproj_file;
        const bool has_class_row = strcmp(cases[i].projector, "mlp+") == 0;
        if (has_class_row) tiny_add_tensor(&changed, "v.class_embd", 0, TINY_VISION, 0);
        tiny_find_key(&changed, "clip.projector_type")->text =
            has_class_row ? "mlp" : cases[i].projector;
        s2v_engine_options options = tiny_options();
        char mmproj[512];
        (void)snprintf(mmproj, sizeof mmproj, "%s/changed.gguf", folder);
        tiny_write(&changed, mmproj);
        options.model_path = path;
        options.mmproj_path = mmproj;
        s2v_engine *engine;
        s2p_error error = { S2P_OK, "" };
        assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_EUNSUPPORTED);
        CHECK_CASE(strstr(error.message, cases[i].sentence), "'%s'", error.message);
    }
}

/* What is listed as running is what opens. */
static void test_list_of_architectures(void **state)
{
    (void)state;
    static const s2v_architecture expected[] = {
        { "Qwen2.5-VL", "qwen2vl", "qwen2.5vl_merger" },
        { "LLaVA-OneVision", "qwen2", "mlp" },
        { "Qwen2-VL", "qwen2vl", "qwen2vl_merger" },
        { "Qwen3-VL", "qwen3vl", "qwen3vl_merger" },
        { "LLaVA-1.5", "llama", "mlp" },
        { "InternVL3", "qwen2", "internvl" },
        { "InternVL3.5", "qwen3", "internvl" },
        { "SmolVLM", "llama", "idefics3" },
        { "Qwen3-VL MoE", "qwen3vlmoe", "qwen3vl_merger" },
        { "InternVL3.5 MoE", "qwen3moe", "internvl" },
        { "Gemma 3", "gemma3", "gemma3" },
        { "Qwen3.5", "qwen35", "qwen3vl_merger" },
        { "Qwen3.5 MoE", "qwen35moe", "qwen3vl_merger" },
    };
    s2v_architecture a;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        assert_int_equal(s2v_architecture_get(i, &a), 1);
        assert_string_equal(a.title, expected[i].title);
        assert_string_equal(a.name, expected[i].name);
        assert_string_equal(a.projector, expected[i].projector);
    }
    assert_int_equal(s2v_architecture_get(COUNT_OF(expected), &a), 0);
}

static void test_paths(void **state)
{
    (void)state;
    char empty[512];
    (void)snprintf(empty, sizeof empty, "%s/empty.gguf", folder);
    FILE *file = fopen(empty, "wb");
    assert_non_null(file);
    (void)fclose(file);
    const struct {
        const char *model, *mmproj;
        s2p_status status;
    } cases[] = {
        { NULL, tiny_mmproj_path, S2P_EINVAL },
        { tiny_model_path, NULL, S2P_EINVAL },
        { "/nowhere/model.gguf", tiny_mmproj_path, S2P_EIO },
        { tiny_model_path, "/nowhere/mmproj.gguf", S2P_EIO },
        { tiny_mmproj_path, tiny_model_path, S2P_EFORMAT },
        { tiny_model_path, tiny_model_path, S2P_EFORMAT },
        { tiny_mmproj_path, tiny_mmproj_path, S2P_EFORMAT },
        { empty, tiny_mmproj_path, S2P_EFORMAT },
        { tiny_model_path, empty, S2P_EFORMAT },
        { folder, tiny_mmproj_path, S2P_EIO },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        s2v_engine_options options = tiny_options();
        options.model_path = cases[i].model;
        options.mmproj_path = cases[i].mmproj;
        s2v_engine *engine;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2v_engine_open(&engine, &options, &error);
        CHECK_CASE(st == cases[i].status && !engine, "%zu: %d %s", i, (int)st, error.message);
        assert_true(error.message[0] != '\0');
        assert_int_equal(s2v_engine_open(&engine, &options, NULL), st); /* nobody need listen */
    }
}

static void test_engine_options(void **state)
{
    (void)state;
    s2v_engine *engine;
    s2p_error error;
    s2v_engine_options options = tiny_options();
    options.device = "no such device";
    assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "no such device"));
    options = tiny_options();
    options.max_memory = 1000;
    assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_ENOMEM);
    static const int32_t threads[] = { -1, 257, INT32_MAX, INT32_MIN };
    for (size_t i = 0; i < COUNT_OF(threads); i++) {
        options = tiny_options();
        options.n_threads = threads[i];
        assert_int_equal(s2v_engine_open(&engine, &options, &error), S2P_EINVAL);
        s2v_session_options session_options = tiny_session_options();
        session_options.n_threads = threads[i];
        s2v_session *session;
        assert_int_equal(s2v_session_create(&session, good, &session_options, &error), S2P_EINVAL);
        assert_null(session);
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) return 2;
    folder = argv[1];
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keys_missing_or_of_another_type),
        cmocka_unit_test(test_keys_out_of_range),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_more_tensors_than_needed),
        cmocka_unit_test(test_pair_that_does_not_fit),
        cmocka_unit_test(test_other_models),
        cmocka_unit_test(test_list_of_architectures),
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_engine_options),
        cmocka_unit_test(test_damaged_weights),
    };
    return cmocka_run_group_tests(tests, open_good, close_good);
}
