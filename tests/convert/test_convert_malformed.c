/* test_convert_malformed.c - checkpoints with one mistake each.
 *
 * Every line changes one piece of one file of a good checkpoint and names the status and a piece of
 * the sentence that must come; no file may be left in the folder of the results.
 *
 *   test_convert_malformed FOLDER
 */
#include "checkpoint_maker.h"

#include "convert/convert.h"

static char folder[512];
static size_t n_cases;

static void expect(const maker *m, s2p_status status, const char *says, const char *name)
{
    char from[600], to[600], model[700], mmproj[700];
    (void)snprintf(from, sizeof from, "%s/from", folder);
    (void)snprintf(to, sizeof to, "%s/to", folder);
    (void)snprintf(model, sizeof model, "%s/m.gguf", to);
    (void)snprintf(mmproj, sizeof mmproj, "%s/mm.gguf", to);
    make_checkpoint(m, from);
    (void)mkdir(to, 0777);
    (void)maker_empty(to);
    n_cases++;
    const s2v_convert_options o = {
        .folder = from, .outfile = model, .mmproj_out = mmproj, .type = 1, .verify = true
    };
    s2v_convert_result result;
    s2p_error error = { S2P_OK, "" };
    const s2p_status st = s2v_convert(&o, &result, &error);
    CHECK_CASE(st == status, "%s: status %d, %s", name, st, error.message);
    CHECK_CASE(st == S2P_OK || (error.status == st && strstr(error.message, says)), "%s: %s", name,
               error.message);
    const int n_left = maker_empty(to);
    CHECK_CASE(n_left == (st == S2P_OK ? 2 : 0), "%s: %d files left", name, n_left);
}

typedef struct mistake {
    const char *find, *replace;
    s2p_status status;
    const char *says;
} mistake;

static void expect_all(maker m, const char *file, const mistake *list, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const maker_edit edit = { file, list[i].find, list[i].replace };
        m.edit = &edit;
        expect(&m, list[i].status, list[i].says, list[i].replace ? list[i].replace : file);
    }
}

#define QWEN \
    (maker) { .kind = MAKE_QWEN2_5 }
#define FORMAT S2P_EFORMAT
#define OTHER S2P_EUNSUPPORTED
#define LIMIT S2P_ELIMIT

static void test_good(void **state)
{
    (void)state;
    for (int kind = 0; kind < 3; kind++) {
        expect(&(maker){ .kind = (maker_kind)kind }, S2P_OK, "", "as it is");
        expect(&(maker){ .kind = (maker_kind)kind, .is_nested = true }, S2P_OK, "", "nested");
    }
}

/* Any file may be missing or not be JSON. */
static void test_files(void **state)
{
    (void)state;
    static const char *const names[] = { "config.json", "tokenizer.json", "tokenizer_config.json",
                                         "preprocessor_config.json" };
    static const mistake list[] = {
        { NULL, NULL, S2P_EIO, "cannot open" },
        { NULL, "", FORMAT, "not valid JSON" },
        { NULL, "{", FORMAT, "not valid JSON" },
        { NULL, "[]", FORMAT, "is not a JSON object" },
        { NULL, "{\"a\":1,\"a\":2}", FORMAT, "not valid JSON" },
        { NULL, "{\"a\":\"\xff\"}", FORMAT, "not valid JSON" },
    };
    for (size_t i = 0; i < COUNT_OF(names); i++) expect_all(QWEN, names[i], list, COUNT_OF(list));
    static const mistake weights[] = {
        { NULL, NULL, S2P_EIO, "neither model.safetensors nor" },
        { NULL, "", FORMAT, "empty" },
        { NULL, "version https://git-lfs.github.com/spec/v1", FORMAT, "Git LFS" },
        { NULL, "PK\3\4 and so on", FORMAT, "zip archive" },
    };
    expect_all(QWEN, "model.safetensors", weights, COUNT_OF(weights));
}

static void test_config(void **state)
{
    (void)state;
    static const mistake list[] = {
        { "\"qwen2_5_vl\"", "\"qwen4_exp\"", OTHER, "model_type 'qwen4_exp'" },
        { "\"qwen2_5_vl\"", "\"qwen3_vl_moe\"", FORMAT, "'text_config' is missing" },
        { "\"qwen2_5_vl\"", "\"qwen3_vl\"", FORMAT, "'text_config' is missing" },
        { "\"qwen2_5_vl\"", "5", FORMAT, "'model_type' is missing" },
        { "\"qwen2_5_vl\"", "\"llama\"", OTHER,
          "model_type 'llama' is not one of qwen2_5_vl, qwen2_vl, qwen3_vl, qwen3_vl_moe, "
          "llava_onevision, "
          "llava, "
          "internvl, internvl_chat, smolvlm, idefics3, gemma3, qwen3_5 and qwen3_5_moe" },
        { "\"qwen2_5_vl\"", "\"llava_onevision\"", FORMAT, "'text_config' is missing" },
        { "\"tie_word", "\"text_config\":3,\"tie_word", FORMAT, "'text_config' is not an object" },
        { "\"tie_word", "\"quantization_config\":{},\"tie_word", OTHER, "quantized" },
        { "\"vision_config\":", "\"other\":", FORMAT, "'vision_config' is not an object" },
        { "\"num_hidden_layers\":2,", "", FORMAT, "'num_hidden_layers' is missing" },
        { "\"num_hidden_layers\":2", "\"num_hidden_layers\":0", LIMIT, "'num_hidden_layers'" },
        { "\"num_hidden_layers\":2", "\"num_hidden_layers\":-2", LIMIT, "'num_hidden_layers'" },
        { "\"num_hidden_layers\":2", "\"num_hidden_layers\":1000000", LIMIT, "out of range" },
        { "\"num_hidden_layers\":2", "\"num_hidden_layers\":2.0", FORMAT, "not an integer" },
        { "\"num_hidden_layers\":2", "\"num_hidden_layers\":\"2\"", FORMAT, "not an integer" },
        { "\"num_hidden_layers\":2", "\"num_hidden_layers\":1", FORMAT, "unknown to Qwen2.5-VL" },
        { "\"num_hidden_layers\":2", "\"num_hidden_layers\":3", FORMAT, "no tensor for 'blk.2." },
        { "\"hidden_size\":32", "\"hidden_size\":33", FORMAT, "even number per head" },
        { "\"hidden_size\":32", "\"hidden_size\":64", FORMAT, "half a head" },
        { "\"hidden_size\":32", "\"hidden_size\":99999999999", LIMIT, "'hidden_size'" },
        { "\"hidden_size\":32", "\"hidden_size\":null", FORMAT, "'hidden_size' is missing" },
        { "\"intermediate_size\":64", "\"intermediate_size\":63", FORMAT, "expected [32, 63]" },
        { "\"intermediate_size\":64", "\"intermediate_size\":[64]", FORMAT, "not an integer" },
        { "\"num_attention_heads\":2", "\"num_attention_heads\":3", FORMAT,
          "even number per head" },
        { "\"num_attention_heads\":2", "\"num_attention_heads\":0", LIMIT, "out of range" },
        { "\"num_key_value_heads\":1", "\"num_key_value_heads\":0", LIMIT, "out of range" },
        { "\"num_key_value_heads\":1", "\"num_key_value_heads\":3", FORMAT, "does not divide" },
        { "\"num_key_value_heads\":1", "\"num_key_value_heads\":2", FORMAT, "expected [32]" },
        { "\"num_key_value_heads\":1,", "", FORMAT, "'num_key_value_heads' is missing" },
        { "\"max_position_embeddings\":1000", "\"max_position_embeddings\":0", LIMIT, "range" },
        { "\"rms_norm_eps\":1e-06", "\"rms_norm_eps\":0", FORMAT, "'rms_norm_eps'" },
        { "\"rms_norm_eps\":1e-06", "\"rms_norm_eps\":-1e-6", FORMAT, "'rms_norm_eps'" },
        { "\"rms_norm_eps\":1e-06", "\"rms_norm_eps\":\"1e-6\"", FORMAT, "not a number" },
        { "\"vocab_size\":8", "\"vocab_size\":9", FORMAT, "expected [9, 32]" },
        { "\"vocab_size\":8", "\"vocab_size\":0", LIMIT, "'vocab_size'" },
        { "\"vocab_size\":8", "\"vocab_size\":2000000000", LIMIT, "'vocab_size'" },
        { "\"rope_theta\":1000000.0", "\"rope_theta\":0", FORMAT, "'rope_theta'" },
        { "\"rope_theta\":1000000.0", "\"rope_theta\":1e300", FORMAT, "'rope_theta'" },
        { "\"type\":\"default\"", "\"type\":\"yarn\"", OTHER, "scales positions" },
        { "\"rope_scaling\":{", "\"rope_scaling\":3,\"x\":{", FORMAT, "is not an object" },
        { "\"mrope_section\":[2,2,4]", "\"mrope_section\":[2,2]", FORMAT, "three numbers" },
        { "\"mrope_section\":[2,2,4]", "\"mrope_section\":[2,2,5]", FORMAT, "half a head" },
        { "\"mrope_section\":[2,2,4]", "\"mrope_section\":[-2,6,4]", LIMIT, "mrope_section" },
        { "\"mrope_section\":[2,2,4]", "\"mrope_section\":8", FORMAT, "three numbers" },
        { "\"use_sliding_window\":false", "\"use_sliding_window\":true", OTHER, "sliding" },
        { "\"hidden_act\":\"silu\"", "\"hidden_act\":\"gelu\"", OTHER, "'hidden_act'" },
        { "\"vocab_size\":8", "\"vocab_size\":8,\"head_dim\":8", OTHER, "'head_dim'" },
        { "\"eos_token_id\":5", "\"eos_token_id\":5,\"pad_token_id\":5,\"unk_token_id\":8", FORMAT,
          "'unk_token_id' is not a token" },
        { "\"bos_token_id\":4", "\"bos_token_id\":-1", FORMAT, "'bos_token_id' is not a token" },
    };
    expect_all(QWEN, "config.json", list, COUNT_OF(list));
    static const mistake nested[] = {
        { "\"rope_type\":\"default\"", "\"rope_type\":\"dynamic\"", OTHER, "scales positions" },
        { "\"mrope_section\":[2,2,4]", "\"mrope_section\":[1,1,1]", FORMAT, "half a head" },
        { "\"num_hidden_layers\":2", "\"num_hidden_layers\":3", FORMAT, "no tensor for 'blk.2." },
    };
    expect_all((maker){ .is_nested = true }, "config.json", nested, COUNT_OF(nested));
}

static void test_vision_config(void **state)
{
    (void)state;
    static const mistake qwen[] = {
        { "\"depth\":2", "\"depth\":1", OTHER, "every Nth" },
        { "\"depth\":2", "\"depth\":0", LIMIT, "'depth'" },
        { "\"depth\":2,", "", FORMAT, "'depth' is missing" },
        { "\"hidden_size\":16", "\"hidden_size\":18", FORMAT, "expected [18" },
        { "\"num_heads\":2", "\"num_heads\":3", FORMAT, "do not divide" },
        { "\"intermediate_size\":24", "\"intermediate_size\":25", FORMAT, "expected [" },
        { "\"out_hidden_size\":32", "\"out_hidden_size\":31", FORMAT, "is not the text model's" },
        { "\"window_size\":112", "\"window_size\":224", OTHER, "'window_size'" },
        { "\"fullatt_block_indexes\":[1]", "\"fullatt_block_indexes\":[]", FORMAT, "not a list" },
        { "\"fullatt_block_indexes\":[1]", "\"fullatt_block_indexes\":[0]", OTHER, "every Nth" },
        { "\"fullatt_block_indexes\":[1]", "\"fullatt_block_indexes\":[1,2]", OTHER, "every Nth" },
        { "\"fullatt_block_indexes\":[1]", "\"fullatt_block_indexes\":[-1]", LIMIT, "range" },
        { "\"fullatt_block_indexes\":[1]", "\"fullatt_block_indexes\":[1,3]", OTHER, "every Nth" },
        { "\"spatial_merge_size\":2", "\"spatial_merge_size\":1", OTHER, "'spatial_merge_size'" },
        { "\"temporal_patch_size\":2", "\"temporal_patch_size\":1", OTHER, "temporal_patch_size" },
        { "\"in_chans\":3", "\"in_chans\":1", OTHER, "'in_chans'" },
        { "\"patch_size\":2}", "\"patch_size\":3}", FORMAT, "expected [16, 3, 2, 3, 3]" },
        { "\"patch_size\":2}", "\"patch_size\":0}", LIMIT, "'patch_size'" },
    };
    expect_all(QWEN, "config.json", qwen, COUNT_OF(qwen));
    static const mistake old[] = {
        { "\"embed_dim\":16,", "", FORMAT, "'embed_dim' is missing" },
        { "\"depth\":2", "\"depth\":1", FORMAT, "unknown to Qwen2-VL with 1 layers" },
        { "\"mlp_ratio\":4", "\"mlp_ratio\":2", FORMAT, "expected" },
        { "\"mlp_ratio\":4", "\"mlp_ratio\":0", FORMAT, "mlp_ratio" },
        { "\"mlp_ratio\":4", "\"mlp_ratio\":1e30", FORMAT, "mlp_ratio" },
        { "\"hidden_act\":\"quick_gelu\"", "\"hidden_act\":\"gelu\"", OTHER, "hidden_act" },
        { "\"embed_dim\":16,\"hidden_size\":32", "\"embed_dim\":16,\"hidden_size\":16", FORMAT,
          "is not the text model's" },
    };
    expect_all((maker){ .kind = MAKE_QWEN2 }, "config.json", old, COUNT_OF(old));
    static const mistake llava[] = {
        { "\"model_type\":\"qwen2\"", "\"model_type\":\"llama\"", OTHER, "'model_type'" },
        { "siglip_vision_model", "clip_vision_model", OTHER, "'model_type'" },
        { "\"vision_feature_layer\":-1", "\"vision_feature_layer\":-4", FORMAT, "not a layer" },
        { "\"vision_feature_layer\":-1", "\"vision_feature_layer\":[-1,-2]", FORMAT, "integer" },
        { "\"vision_feature_layer\":-1", "\"vision_feature_layer\":3", FORMAT, "not a layer" },
        { "select_strategy\":\"full\"", "select_strategy\":\"default\"", OTHER, "strategy" },
        { "\"projector_hidden_act\":\"gelu\"", "\"projector_hidden_act\":\"relu\"", OTHER, "proj" },
        { "\"image_size\":7", "\"image_size\":1", FORMAT, "larger than the picture" },
        { "\"image_size\":7", "\"image_size\":9", FORMAT, "expected [16, 16]" },
        { "\"patch_size\":2}", "\"patch_size\":1}", FORMAT, "expected [16, 3, 1, 1]" },
        { "\"num_attention_heads\":2,\"num_hidden_layers\":2,\"patch",
          "\"num_attention_heads\":2,\"num_hidden_layers\":1,\"patch", FORMAT, "with 1 layers" },
    };
    expect_all((maker){ .kind = MAKE_LLAVA }, "config.json", llava, COUNT_OF(llava));
}

static void test_preprocessor(void **state)
{
    (void)state;
    static const mistake list[] = {
        { "[0.5,0.25,0.5]", "[0.5,0.25]", FORMAT, "'image_mean' is not a list of three" },
        { "[0.5,0.25,0.5]", "0.5", FORMAT, "'image_mean' is not a list of three" },
        { "[0.5,0.25,0.5]", "[0.5,\"0.25\",0.5]", FORMAT, "'image_mean' is not a list of three" },
        { "[0.5,0.5,0.25]", "[0.5,0,0.25]", FORMAT, "'image_std' is not a list of three" },
        { "[0.5,0.5,0.25]", "[0.5,1e30,0.25]", FORMAT, "'image_std' is not a list of three" },
        { "\"image_std\"", "\"std\"", FORMAT, "'image_std' is not a list of three" },
        { "{\"image", "{\"patch_size\":14,\"image", OTHER, "'patch_size'" },
        { "{\"image", "{\"merge_size\":3,\"image", OTHER, "'merge_size'" },
        { "{\"image", "{\"min_pixels\":0,\"image", LIMIT, "'min_pixels'" },
        { "{\"image", "{\"max_pixels\":\"9\",\"image", FORMAT, "'max_pixels'" },
        { "{\"image", "{\"max_pixels\":4294967296,\"image", LIMIT, "'max_pixels'" },
        { "{\"image", "{\"size\":{\"longest_edge\":-1},\"image", LIMIT, "'longest_edge'" },
        { "{\"image", "{\"min_pixels\":9,\"max_pixels\":8,\"image", FORMAT, "'min_pixels'" },
    };
    expect_all(QWEN, "preprocessor_config.json", list, COUNT_OF(list));
}

static void test_tokenizer(void **state)
{
    (void)state;
    static const mistake list[] = {
        { "\"model\":{", "\"other\":{", FORMAT, "'model' is missing" },
        { "\"type\":\"BPE\"", "\"type\":\"Unigram\"", OTHER, "not BPE" },
        { "\"type\":\"BPE\"", "\"type\":\"BPE\",\"byte_fallback\":true", OTHER, "SentencePiece" },
        { "\"type\":\"BPE\"", "\"type\":\"BPE\",\"ignore_merges\":true", OTHER, "kind of BPE" },
        { "\"type\":\"Split\"", "\"type\":\"Digits\"", OTHER, "neither Qwen2's" },
        { "'ve|'m", "'ve|'n", OTHER, "neither Qwen2's" },
        { "{\"type\":\"ByteLevel\"}", "{\"type\":\"Metaspace\"}", OTHER, "neither Qwen2's" },
        { ",{\"type\":\"ByteLevel\"}", "", OTHER, "neither Qwen2's" },
        { "\"type\":\"NFC\"", "\"type\":\"NFKC\"", OTHER, "normalizer" },
        { "\"post_processor\":null", "\"post_processor\":{\"type\":\"TemplateProcessing\"}", OTHER,
          "post-processor" },
        { "\"vocab\":{", "\"vocab\":[],\"x\":{", FORMAT, "'vocab' is not an object" },
        { "\"a\":0,\"b\":1,\"ab\":2,\"\xc4\xa0\":3", "", FORMAT, "'vocab' is not an object" },
        { "\"b\":1", "\"b\":0", FORMAT, "have the same id" },
        { "\"b\":1", "\"b\":-1", FORMAT, "the id of token 'b'" },
        { "\"b\":1", "\"b\":8", FORMAT, "the id of token 'b'" },
        { "\"b\":1", "\"b\":4294967297", FORMAT, "the id of token 'b'" },
        { "\"b\":1", "\"b\":1.0", FORMAT, "the id of token 'b'" },
        { "\"b\":1", "\"b\":\"1\"", FORMAT, "the id of token 'b'" },
        { "\"b\":1", "\"b\":1,\"\":7", FORMAT, "a token is empty" },
        { "\"id\":4", "\"id\":0", FORMAT, "have the same id" },
        { "\"id\":4", "\"id\":9", FORMAT, "the id of token '<|endoftext|>'" },
        { "\"id\":4,", "", FORMAT, "the id of token '<|endoftext|>'" },
        { "\"content\":\"<tool>\",", "", FORMAT, "an added token has no 'content'" },
        { "\"content\":\"<tool>\"", "\"content\":\"\"", FORMAT, "a token is empty" },
        { "\"added_tokens\":[", "\"added_tokens\":{},\"x\":[", FORMAT, "'added_tokens' is not" },
        { "\"merges\":[[\"a\",\"b\"]]", "\"merges\":[]", FORMAT, "'merges' is not a list" },
        { "\"merges\":[[\"a\",\"b\"]]", "\"merges\":{}", FORMAT, "'merges' is not a list" },
        { "\"merges\":[[\"a\",\"b\"]]", "\"x\":1", FORMAT, "'merges' is not a list" },
        { "[\"a\",\"b\"]", "[\"a\"]", FORMAT, "merge 1 is not a pair" },
        { "[\"a\",\"b\"]", "[\"a\",\"b\",\"a\"]", FORMAT, "merge 1 is not a pair" },
        { "[\"a\",\"b\"]", "[\"b\",\"a\"]", FORMAT, "merge 1 is not a pair" },
        { "[\"a\",\"b\"]", "[\"\",\"a\"]", FORMAT, "merge 1 is not a pair" },
        { "[\"a\",\"b\"]", "[1,2]", FORMAT, "merge 1 is not a pair" },
        { "[\"a\",\"b\"]", "\"ab\"", FORMAT, "merge 1 is not a pair" },
        { "[\"a\",\"b\"]", "\"a b c\"", FORMAT, "merge 1 is not a pair" },
        { "[\"a\",\"b\"]", "\"a  b\"", FORMAT, "merge 1 is not a pair" },
        { "[\"a\",\"b\"]", "\"a b\",7", FORMAT, "merge 2 is not a pair" },
        { "[\"a\",\"b\"]", "\"a b\"", S2P_OK, "" },
    };
    expect_all(QWEN, "tokenizer.json", list, COUNT_OF(list));
    static const mistake settings[] = {
        { "\"{{ x }}\"", "[{\"name\":\"default\",\"template\":\"y\"}]", S2P_OK, "" },
        { "\"eos_token\":\"<|im_end|>\"", "\"eos_token\":7", S2P_OK, "" },
    };
    expect_all(QWEN, "tokenizer_config.json", settings, COUNT_OF(settings));
}

static void test_tensors(void **state)
{
    (void)state;
    static const mistake list[] = {
        { "\"lm_head.weight\"", "\"head.weight\"", FORMAT, "tensor 'head.weight' is unknown to" },
        { "\"lm_head.weight\"", "\"lm_head.bias\"", FORMAT, "'lm_head.bias' is unknown to" },
        { "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.side_proj.weight", FORMAT,
          "is unknown to" },
        { "model.layers.1.mlp.up_proj.weight", "model.layers.2.mlp.up_proj.weight", FORMAT,
          "is unknown to" },
        { "model.layers.1.mlp.up_proj.weight", "model.layers.01.mlp.up_proj.weight", FORMAT,
          "is unknown to" },
        { "model.layers.1.mlp.up_proj.weight", "model.layers.-1.mlp.up_proj.weight", FORMAT,
          "is unknown to" },
        { "model.layers.1.mlp.up_proj.weight", "model.layers.4294967297.mlp.up_proj.weight", FORMAT,
          "is unknown to" },
        { "model.layers.1.mlp.up_proj.weight", "model.layers..mlp.up_proj.weight", FORMAT,
          "is unknown to" },
        { "model.layers.1.mlp.up_proj.weight", "model.language_model.layers.0.mlp.up_proj.weight",
          FORMAT, "occurs twice" },
        { "model.layers.1.mlp.up_proj.weight", "model.layers.1.self_attn.rotary_emb.inv_freq",
          FORMAT, "no tensor for 'blk.1.ffn_up.weight'" },
        { "\"visual.merger.ln_q.weight\"", "\"visual.rotary_pos_emb.inv_freq\"", FORMAT,
          "no tensor for 'v.post_ln.weight'" },
        { "visual.blocks.0.norm1.weight", "visual.blocks.0.norm1.bias", FORMAT, "is unknown to" },
        { "visual.blocks.0.attn.qkv.weight\":{\"dtype\":\"F32\",\"shape\":[48,16]",
          "visual.blocks.0.attn.qkv.weight\":{\"dtype\":\"F32\",\"shape\":[16,48]", FORMAT,
          "is [16, 48], expected [48, 16]" },
        { "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[8,32]",
          "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[32,8]", FORMAT, "expected [8, 32]" },
        { "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[8,32]",
          "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[256]", FORMAT, "expected [8, 32]" },
        { "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[8,32]",
          "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[1,8,32]", FORMAT, "expected [8, 32]" },
        { "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[8,32]",
          "lm_head.weight\":{\"dtype\":\"I32\",\"shape\":[8,32]", OTHER, "type I32" },
        { "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[8,32]",
          "lm_head.weight\":{\"dtype\":\"F64\",\"shape\":[8,32]", FORMAT, "type and shape need" },
        { "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[8,32]",
          "lm_head.weight\":{\"dtype\":\"U32\",\"shape\":[8,32]", OTHER, "type U32" },
        { "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[8,32]",
          "lm_head.weight\":{\"dtype\":\"F32\",\"shape\":[0,32]", FORMAT, "type and shape need" },
        { "[0,1024]", "[0,1020]", FORMAT, "type and shape need" },
        { "\"__metadata__\":{\"format\":\"pt\"},", "", S2P_OK, "" },
        { "\"format\":\"pt\"", "\"format\":1", FORMAT, "not a string" },
    };
    expect_all(QWEN, "model.safetensors", list, COUNT_OF(list));
}

static void test_shards(void **state)
{
    (void)state;
    const maker m = { .n_shards = 2 };
    expect(&m, S2P_OK, "", "two files");
#define FIRST "model-00001-of-00002.safetensors"
#define SECOND "model-00002-of-00002.safetensors"
    static const mistake index[] = {
        { NULL, NULL, S2P_EIO, "neither model.safetensors nor" },
        { NULL, "{}", FORMAT, "'weight_map' is missing" },
        { NULL, "{\"weight_map\":{}}", FORMAT, "'weight_map' is empty" },
        { NULL, "{\"weight_map\":[]}", FORMAT, "'weight_map' is missing or not an object" },
        { NULL, "not json", FORMAT, "not valid JSON" },
        { "\"lm_head.weight\":\"" FIRST "\"", "\"lm_head.weight\":1", FORMAT,
          "in the same folder" },
        { "\"lm_head.weight\":\"" FIRST "\"", "\"lm_head.weight\":\"../x.safetensors\"", FORMAT,
          "in the same folder" },
        { "\"lm_head.weight\":\"" FIRST "\"", "\"lm_head.weight\":\"/etc/x.safetensors\"", FORMAT,
          "in the same folder" },
        { "\"lm_head.weight\":\"" FIRST "\"", "\"lm_head.weight\":\"pytorch_model.bin\"", FORMAT,
          "in the same folder" },
        { "\"lm_head.weight\":\"" FIRST "\"", "\"lm_head.weight\":\".safetensors\"", FORMAT,
          "in the same folder" },
        { "\"lm_head.weight\":\"" FIRST "\"", "\"lm_head.weight\":\"model-9.safetensors\"", S2P_EIO,
          "cannot open" },
        { "\"lm_head.weight\":\"" FIRST "\"", "\"lm_head.weight\":\"" SECOND "\"", FORMAT,
          "not where the index says" },
        { "\"lm_head.weight\":\"" FIRST "\",", "", FORMAT, "which the index does not list" },
        { "\"lm_head.weight\":\"" FIRST "\",",
          "\"lm_head.weight\":\"" FIRST "\",\"more\":\"" FIRST "\",", FORMAT, "'more' is not in" },
    };
    expect_all(m, "model.safetensors.index.json", index, COUNT_OF(index));
    static const mistake shard[] = {
        { NULL, NULL, S2P_EIO, "cannot open" },
        { NULL, "", FORMAT, "empty" },
        { NULL, "GGUF and so on", FORMAT, "GGUF" },
        { "\"F32\"", "\"F33\"", FORMAT, "unknown dtype" },
    };
    expect_all(m, SECOND, shard, COUNT_OF(shard));
    expect_all(m, FIRST, shard, COUNT_OF(shard));
}

/* Values that would ruin the model: found while they stream through, and nothing is left. */
static void test_values(void **state)
{
    (void)state;
    static const struct {
        const char *dtype;
        uint32_t bits;
        s2p_status status;
        const char *says;
    } cases[] = {
        { "F32", 0x7fc00000, FORMAT, "not finite" },
        { "F32", 0xff800000, FORMAT, "not finite" },
        { "F32", 0x477ff000, FORMAT, "too large for f16" },
        { "F32", 0x477fe000, S2P_OK, "" },
        { "BF16", 0x7f80, FORMAT, "not finite" },
        { "BF16", 0x4780, FORMAT, "too large for f16" },
        { "F16", 0x7c00, FORMAT, "not finite" },
        { "F16", 0xfe00, FORMAT, "not finite" },
        { "F16", 0x7bff, S2P_OK, "" },
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char path[700], to[600], model[700], mmproj[700], from[600];
        (void)snprintf(from, sizeof from, "%s/from", folder);
        (void)snprintf(to, sizeof to, "%s/to", folder);
        (void)snprintf(path, sizeof path, "%s/model.safetensors", from);
        (void)snprintf(model, sizeof model, "%s/m.gguf", to);
        (void)snprintf(mmproj, sizeof mmproj, "%s/mm.gguf", to);
        make_checkpoint(&(maker){ .dtype = cases[i].dtype }, from);
        FILE *file = fopen(path, "r+b"); /* the last value of the file: a patch kernel */
        const int width = strcmp(cases[i].dtype, "F32") == 0 ? 4 : 2;
        assert_non_null(file);
        assert_int_equal(fseek(file, -width, SEEK_END), 0);
        for (int b = 0; b < width; b++) fputc((int)(cases[i].bits >> (8 * b) & 255u), file);
        fclose(file);
        n_cases++;
        const s2v_convert_options o = {
            .folder = from, .outfile = model, .mmproj_out = mmproj, .type = 1
        };
        s2v_convert_result result;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2v_convert(&o, &result, &error);
        CHECK_CASE(st == cases[i].status && strstr(error.message, cases[i].says), "%s %x: %s",
                   cases[i].dtype, cases[i].bits, error.message);
        assert_int_equal(maker_empty(to), st == S2P_OK ? 2 : 0);
    }
}

/* Blocks are somebody else's arithmetic; without it they are refused and nothing appears. */
static void test_no_codec(void **state)
{
    (void)state;
    char from[600], to[600], model[700], mmproj[700];
    (void)snprintf(from, sizeof from, "%s/from", folder);
    (void)snprintf(to, sizeof to, "%s/to", folder);
    (void)snprintf(model, sizeof model, "%s/m.gguf", to);
    (void)snprintf(mmproj, sizeof mmproj, "%s/mm.gguf", to);
    make_checkpoint(&(maker){ .dtype = "F32" }, from);
    s2v_convert_options o = { .folder = from, .outfile = model, .mmproj_out = mmproj };
    while (strcmp(s2v_convert_type_name(o.type), "q8_0") != 0) o.type++;
    s2v_convert_result result;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2v_convert(&o, &result, &error), S2P_EINVAL);
    assert_non_null(strstr(error.message, "no codec for Q8_0"));
    assert_int_equal(maker_empty(to), 0);
}

static void test_enough(void **state)
{
    (void)state;
    print_message("%zu checkpoints\n", n_cases);
    assert_true(n_cases >= 150);
}

int main(int argc, char **argv)
{
    if (argc < 2) return 2;
    (void)snprintf(folder, sizeof folder, "%s", argv[1]);
    (void)mkdir(folder, 0777);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),         cmocka_unit_test(test_files),
        cmocka_unit_test(test_config),       cmocka_unit_test(test_vision_config),
        cmocka_unit_test(test_preprocessor), cmocka_unit_test(test_tokenizer),
        cmocka_unit_test(test_tensors),      cmocka_unit_test(test_shards),
        cmocka_unit_test(test_values),       cmocka_unit_test(test_no_codec),
        cmocka_unit_test(test_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
