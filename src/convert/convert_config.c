/* convert_config.c - the numbers of a model, from its JSON files.
 *
 * Two layouts: as published (the text model's numbers at the top) and as transformers 5 writes them
 * (in text_config, rope in rope_parameters); a number is looked for in both. Whatever the engine
 * and llama.cpp take as given (merge 2, window 112, activations) must be what the file says, so a
 * model that only looks alike is refused here.
 */
#include "convert/convert_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_BYTES ((size_t)4 << 20)
#define MAX_VALUES ((size_t)1 << 17)
#define MAX_SIDE (1 << 20)

typedef struct reader {
    const char *name;                  /* of the file */
    const json_t *top, *text, *vision; /* text: also the top, in published files */
    s2p_error *error;
    s2p_status status; /* the first failure sticks */
} reader;

const char *s2v_family_name(s2v_family family)
{
    static const char *const names[] = { [S2V_QWEN2_5_VL] = "Qwen2.5-VL",
                                         [S2V_QWEN2_VL] = "Qwen2-VL",
                                         [S2V_LLAVA_ONEVISION] = "LLaVA-OneVision" };
    return names[family];
}

/* --- members --------------------------------------------------------------------------------- */

static void fail(reader *r, s2p_status status, const char *key, const char *what)
{
    if (r->status == S2P_OK)
        r->status = s2_fail(r->error, status, "%s: '%s' %s", r->name, key, what);
}

/* NULL members count as missing, as Python writes None. */
static const json_t *member(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    return json_is_null(value) ? NULL : value;
}

/* A text number: in text_config, else at the top. */
static const json_t *text_member(const reader *r, const char *key)
{
    const json_t *value = member(r->text, key);
    return value ? value : member(r->top, key);
}

static int32_t to_int(reader *r, const json_t *value, const char *key, int32_t min, int32_t max)
{
    if (!value) {
        fail(r, S2P_EFORMAT, key, "is missing");
        return min;
    }
    const json_int_t number = json_integer_value(value);
    if (!json_is_integer(value))
        fail(r, S2P_EFORMAT, key, "is not an integer");
    else if (number < min || number > max)
        fail(r, S2P_ELIMIT, key, "is out of range");
    else
        return (int32_t)number;
    return min;
}

static float to_float(reader *r, const json_t *value, const char *key, double fallback)
{
    const double number = value ? json_number_value(value) : fallback;
    if (value && !json_is_number(value))
        fail(r, S2P_EFORMAT, key, "is not a number");
    else if (!(number > 0.0) || !(number <= 1e9))
        fail(r, S2P_EFORMAT, key, "is out of range");
    return (float)number;
}

/* `key` must have one value, or be missing. */
static void expect_int(reader *r, const json_t *object, const char *key, int32_t expected)
{
    const json_t *value = member(object, key);
    if (value && (!json_is_integer(value) || json_integer_value(value) != expected))
        fail(r, S2P_EUNSUPPORTED, key, "has a value that is not supported");
}

static void expect_text(reader *r, const json_t *object, const char *key, const char *expected)
{
    const json_t *value = member(object, key);
    const char *text = json_string_value(value);
    if (value && (!text || strcmp(text, expected) != 0))
        fail(r, S2P_EUNSUPPORTED, key, "has a value that is not supported");
}

static void expect_bool(reader *r, const json_t *object, const char *key, bool expected)
{
    const json_t *value = member(object, key);
    if (value && (!json_is_boolean(value) || json_is_true(value) != expected))
        fail(r, S2P_EUNSUPPORTED, key, "has a value that is not supported");
}

/* --- text ------------------------------------------------------------------------------------ */

static void read_sections(reader *r, const json_t *rope, s2v_numbers *n)
{
    const json_t *list = member(rope, "mrope_section");
    int32_t sum = 0;
    if (json_array_size(list) != 3) {
        fail(r, S2P_EFORMAT, "mrope_section", "is not a list of three numbers");
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        n->sections[i] = to_int(r, json_array_get(list, i), "mrope_section", 0, MAX_SIDE);
        sum += n->sections[i];
    }
    if (r->status == S2P_OK && 2 * sum != n->n_embd / n->n_head)
        fail(r, S2P_EFORMAT, "mrope_section", "does not add up to half a head");
}

static void read_rope(reader *r, s2v_numbers *n)
{
    const json_t *rope = text_member(r, "rope_parameters");
    if (!rope) rope = text_member(r, "rope_scaling");
    if (rope && !json_is_object(rope)) {
        fail(r, S2P_EFORMAT, "rope_scaling", "is not an object");
        return;
    }
    const json_t *theta = member(rope, "rope_theta");
    n->rope_theta = to_float(r, theta ? theta : text_member(r, "rope_theta"), "rope_theta", 1e4);
    const json_t *type = member(rope, "rope_type");
    const char *kind = json_string_value(type ? type : member(rope, "type"));
    if (kind && strcmp(kind, "mrope") != 0 && strcmp(kind, "default") != 0)
        fail(r, S2P_EUNSUPPORTED, "rope_scaling", "stretches positions, which is not supported");
    if (n->family != S2V_LLAVA_ONEVISION) read_sections(r, rope, n);
}

static void read_text(reader *r, s2v_numbers *n)
{
    n->n_layers = to_int(r, text_member(r, "num_hidden_layers"), "num_hidden_layers", 1, 512);
    n->n_embd = to_int(r, text_member(r, "hidden_size"), "hidden_size", 1, MAX_SIDE);
    n->n_ff = to_int(r, text_member(r, "intermediate_size"), "intermediate_size", 1, MAX_SIDE);
    n->n_head = to_int(r, text_member(r, "num_attention_heads"), "num_attention_heads", 1, 4096);
    n->n_head_kv = to_int(r, text_member(r, "num_key_value_heads"), "num_key_value_heads", 1, 4096);
    n->n_vocab = to_int(r, text_member(r, "vocab_size"), "vocab_size", 1, 1 << 21);
    const json_t *length = text_member(r, "max_position_embeddings");
    n->n_ctx = length ? to_int(r, length, "max_position_embeddings", 1, 1 << 30) : 32768;
    n->rms_eps = to_float(r, text_member(r, "rms_norm_eps"), "rms_norm_eps", 1e-6);
    if (r->status == S2P_OK && n->n_embd % (2 * n->n_head) != 0)
        fail(r, S2P_EFORMAT, "hidden_size", "is not an even number per head");
    if (r->status == S2P_OK && n->n_head % n->n_head_kv != 0)
        fail(r, S2P_EFORMAT, "num_key_value_heads", "does not divide the number of heads");
    if (r->status == S2P_OK) read_rope(r, n);
    const json_t *head = text_member(r, "head_dim");
    if (head && r->status == S2P_OK &&
        to_int(r, head, "head_dim", 1, MAX_SIDE) != n->n_embd / n->n_head)
        fail(r, S2P_EUNSUPPORTED, "head_dim", "is not hidden_size / num_attention_heads");
    expect_text(r, r->text, "hidden_act", "silu");
    expect_bool(r, r->text, "use_sliding_window", false);
    if (member(r->top, "quantization_config"))
        fail(r, S2P_EUNSUPPORTED, "quantization_config",
             "says the weights are quantised; use the original checkpoint");

    const json_t *tie = member(r->top, "tie_word_embeddings");
    const json_t *text_tie = member(r->text, "tie_word_embeddings");
    n->may_be_tied = json_is_true(tie) || json_is_true(text_tie) || (!tie && !text_tie);
}

/* --- vision ---------------------------------------------------------------------------------- */

static void read_windows(reader *r, s2v_numbers *n)
{
    const json_t *list = member(r->vision, "fullatt_block_indexes");
    const size_t count = json_array_size(list);
    if (count == 0) {
        fail(r, S2P_EFORMAT, "fullatt_block_indexes", "is not a list of numbers");
        return;
    }
    n->v_full = 1 + to_int(r, json_array_get(list, 0), "fullatt_block_indexes", 0, 511);
    for (size_t i = 1; i < count; i++) {
        const int32_t block =
            to_int(r, json_array_get(list, i), "fullatt_block_indexes", 0, 1 << 16);
        if ((int64_t)block + 1 != (int64_t)(i + 1) * n->v_full)
            fail(r, S2P_EUNSUPPORTED, "fullatt_block_indexes", "is not one block every so many");
    }
    if (r->status == S2P_OK && count != (size_t)(n->v_layers / n->v_full))
        fail(r, S2P_EUNSUPPORTED, "fullatt_block_indexes", "is not one block every so many");
}

static void read_qwen_vision(reader *r, s2v_numbers *n)
{
    const json_t *v = r->vision;
    const bool is_old = n->family == S2V_QWEN2_VL;
    n->v_layers = to_int(r, member(v, "depth"), "depth", 1, 512);
    n->v_head = to_int(r, member(v, "num_heads"), "num_heads", 1, 4096);
    n->v_patch = to_int(r, member(v, "patch_size"), "patch_size", 1, 256);
    n->v_image = 560; /* a placeholder: pictures have any size */
    n->v_eps = n->rms_eps;
    const char *width = is_old ? "embed_dim" : "hidden_size";
    const char *out = is_old ? "hidden_size" : "out_hidden_size";
    n->v_embd = to_int(r, member(v, width), width, 1, 1 << 16);
    if (r->status == S2P_OK && to_int(r, member(v, out), out, 1, MAX_SIDE) != n->n_embd)
        fail(r, S2P_EFORMAT, out, "of the tower is not the text model's hidden_size");
    if (is_old) {
        const json_t *ratio = member(v, "mlp_ratio");
        const double times = ratio ? json_number_value(ratio) : 4.0;
        n->v_ff = 4 * n->v_embd;
        if (times < 4.0 || times > 4.0) fail(r, S2P_EUNSUPPORTED, "mlp_ratio", "is not 4");
        expect_text(r, v, "hidden_act", "quick_gelu");
    } else {
        n->v_ff = to_int(r, member(v, "intermediate_size"), "intermediate_size", 1, MAX_SIDE);
        expect_text(r, v, "hidden_act", "silu");
        expect_int(r, v, "window_size", 112);
        if (r->status == S2P_OK) read_windows(r, n);
    }
    expect_int(r, v, "spatial_merge_size", 2);
    expect_int(r, v, "temporal_patch_size", 2);
    expect_int(r, v, "in_chans", 3);
    expect_int(r, v, "in_channels", 3);
}

static void read_llava_vision(reader *r, s2v_numbers *n)
{
    const json_t *v = r->vision;
    expect_text(r, v, "model_type", "siglip_vision_model");
    expect_text(r, v, "hidden_act", "gelu_pytorch_tanh");
    expect_int(r, v, "num_channels", 3);
    expect_text(r, r->top, "projector_hidden_act", "gelu");
    expect_bool(r, r->top, "multimodal_projector_bias", true);
    expect_text(r, r->top, "vision_feature_select_strategy", "full");
    n->v_layers = to_int(r, member(v, "num_hidden_layers"), "num_hidden_layers", 1, 512);
    n->v_head = to_int(r, member(v, "num_attention_heads"), "num_attention_heads", 1, 4096);
    n->v_patch = to_int(r, member(v, "patch_size"), "patch_size", 1, 256);
    n->v_image = to_int(r, member(v, "image_size"), "image_size", 1, 1 << 14);
    n->v_embd = to_int(r, member(v, "hidden_size"), "hidden_size", 1, 1 << 16);
    n->v_ff = to_int(r, member(v, "intermediate_size"), "intermediate_size", 1, MAX_SIDE);
    n->v_eps = to_float(r, member(v, "layer_norm_eps"), "layer_norm_eps", 1e-6);
    const json_t *layer = member(r->top, "vision_feature_layer");
    const int32_t at = layer ? to_int(r, layer, "vision_feature_layer", -512, 512) : -1;
    n->v_feature = at < 0 ? n->v_layers + 1 + at : at; /* -1: the output of the last layer */
    if (r->status == S2P_OK && (n->v_feature < 1 || n->v_feature > n->v_layers))
        fail(r, S2P_EFORMAT, "vision_feature_layer", "is no layer of the tower");
    if (r->status == S2P_OK && n->v_patch > n->v_image)
        fail(r, S2P_EFORMAT, "patch_size", "is larger than the picture");
}

/* --- files ----------------------------------------------------------------------------------- */

static s2p_status read_json(const char *folder, const char *name, json_t **out, s2p_error *error)
{
    char *path = s2v_path_in(folder, name);
    if (!path) return s2_fail_memory(error, strlen(folder), "a file name");
    const s2p_status st = s2v_json_read(path, name, MAX_BYTES, MAX_VALUES, out, error);
    free(path);
    return st;
}

static void read_triple(reader *r, const json_t *object, const char *key, bool is_scale,
                        float out[3])
{
    const json_t *list = member(object, key);
    if (json_array_size(list) != 3) {
        fail(r, S2P_EFORMAT, key, "is not a list of three numbers");
        return;
    }
    for (size_t i = 0; i < 3; i++) {
        const json_t *item = json_array_get(list, i);
        const double value = json_number_value(item);
        if (!json_is_number(item) || !(fabs(value) <= 1e3) || (is_scale && !(value > 1e-6)))
            fail(r, S2P_EFORMAT, key, "is not a list of three numbers");
        out[i] = (float)value;
    }
}

/* Mean and deviation of the pixels. transformers 5 keeps them in processor_config.json. */
static s2p_status read_preprocessor(const char *folder, s2v_numbers *n, s2p_error *error)
{
    json_t *file = NULL;
    reader r = { .name = "preprocessor_config.json", .error = error };
    char *path = s2v_path_in(folder, r.name);
    if (!path) return s2_fail_memory(error, strlen(folder), "a file name");
    s2p_status st = s2v_json_read(path, r.name, MAX_BYTES, MAX_VALUES, &file, error);
    free(path);
    const json_t *values = file;
    if (st == S2P_EIO) {
        s2p_error second;
        r.name = "processor_config.json";
        if (read_json(folder, r.name, &file, &second) == S2P_OK) {
            st = S2P_OK;
            values = json_object_get(file, "image_processor");
        }
    }
    if (st == S2P_OK) {
        read_triple(&r, values, "image_mean", false, n->mean);
        read_triple(&r, values, "image_std", true, n->std);
        if (n->family != S2V_LLAVA_ONEVISION) {
            expect_int(&r, values, "patch_size", n->v_patch);
            expect_int(&r, values, "merge_size", 2);
            expect_int(&r, values, "temporal_patch_size", 2);
        }
        st = r.status;
    }
    json_decref(file);
    return st;
}

static s2p_status read_config(const json_t *config, s2v_numbers *n, s2p_error *error)
{
    reader r = { .name = "config.json", .top = config, .error = error };
    const char *kind = s2_json_string(config, "model_type");
    if (!kind) return s2_fail(error, S2P_EFORMAT, "config.json: 'model_type' is missing");
    if (strcmp(kind, "qwen2_5_vl") == 0)
        n->family = S2V_QWEN2_5_VL;
    else if (strcmp(kind, "qwen2_vl") == 0)
        n->family = S2V_QWEN2_VL;
    else if (strcmp(kind, "llava_onevision") == 0)
        n->family = S2V_LLAVA_ONEVISION;
    else
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "config.json: model_type '%.40s' is not one of qwen2_5_vl, qwen2_vl and "
                       "llava_onevision",
                       kind);
    r.text = member(config, "text_config");
    r.vision = member(config, "vision_config");
    if (r.text && !json_is_object(r.text)) fail(&r, S2P_EFORMAT, "text_config", "is not an object");
    if (!r.text && n->family == S2V_LLAVA_ONEVISION)
        fail(&r, S2P_EFORMAT, "text_config", "is missing");
    if (!r.text) r.text = config;
    if (!json_is_object(r.vision)) fail(&r, S2P_EFORMAT, "vision_config", "is not an object");
    if (n->family == S2V_LLAVA_ONEVISION) expect_text(&r, r.text, "model_type", "qwen2");
    if (r.status == S2P_OK) read_text(&r, n);
    if (r.status != S2P_OK) return r.status;
    if (n->family == S2V_LLAVA_ONEVISION)
        read_llava_vision(&r, n);
    else
        read_qwen_vision(&r, n);
    if (r.status == S2P_OK && n->v_embd % n->v_head != 0)
        fail(&r, S2P_EFORMAT, "vision_config", "has heads that do not divide its width");
    return r.status;
}

s2p_status s2v_numbers_read(const char *folder, s2v_numbers *out, json_t **config, s2p_error *error)
{
    *out = (s2v_numbers){ 0 };
    s2p_status st = read_json(folder, "config.json", config, error);
    if (st == S2P_OK) st = read_config(*config, out, error);
    if (st == S2P_OK) st = read_preprocessor(folder, out, error);
    if (st == S2P_OK) return S2P_OK;
    json_decref(*config);
    *config = NULL;
    return st;
}
