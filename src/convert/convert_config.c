/* convert_config.c - the numbers of a model, from its JSON files.
 *
 * Two layouts: as published (the text model's numbers at the top) and as transformers 5 writes them
 * (in text_config, rope in rope_parameters); a number is looked for in both. Whatever the engine
 * and llama.cpp take as given (merge 2, window 112, activations) must be what the file says, so a
 * model that only looks alike is refused here.
 */
#include "convert/convert_steps.h"

#include "base/json_limit.h"
#include "convert/family.h"

#include <string.h>

#define MAX_BYTES ((size_t)4 << 20)
#define MAX_VALUES ((size_t)1 << 17)

static void read_rope(s2v_config *c, s2v_numbers *n)
{
    const json_t *rope = s2v_config_text_member(c, "rope_parameters");
    if (!rope) rope = s2v_config_text_member(c, "rope_scaling");
    if (rope && !json_is_object(rope)) {
        s2v_config_fail(c, S2P_EFORMAT, "rope_scaling", "is not an object");
        return;
    }
    const bool has_windows = n->family->has_windows;
    const json_t *wide = has_windows ? s2v_config_member(rope, "full_attention") : NULL;
    const json_t *narrow = has_windows ? s2v_config_member(rope, "sliding_attention") : NULL;
    if (wide) rope = wide; /* transformers 5 has one for each kind of layer */
    const json_t *theta = s2v_config_member(rope, "rope_theta");
    if (!theta) theta = s2v_config_text_member(c, "rope_theta");
    n->rope_theta = s2v_config_to_float(c, theta, "rope_theta", has_windows ? 1e6 : 1e4);
    const json_t *type = s2v_config_member(rope, "rope_type");
    const char *kind = json_string_value(type ? type : s2v_config_member(rope, "type"));
    const bool is_dynamic = kind && n->family->may_be_dynamic && strcmp(kind, "dynamic") == 0;
    const bool is_linear = kind && has_windows && strcmp(kind, "linear") == 0;
    if (is_linear)
        n->rope_factor =
            s2v_config_to_float(c, s2v_config_member(rope, "factor"), "rope_scaling.factor", 0.0);
    if (is_linear && c->status == S2P_OK && !(n->rope_factor >= 1.0f && n->rope_factor <= 1e6f))
        s2v_config_fail(c, S2P_EFORMAT, "rope_scaling.factor", "is not a number from 1 to 1e6");
    if (has_windows) {
        theta = s2v_config_member(narrow, "rope_theta");
        if (!theta) theta = s2v_config_text_member(c, "rope_local_base_freq");
        n->window_theta = s2v_config_to_float(c, theta, "rope_local_base_freq", 1e4);
    }
    if (kind && !is_dynamic && !is_linear && strcmp(kind, "mrope") != 0 &&
        strcmp(kind, "default") != 0)
        s2v_config_fail(c, S2P_EUNSUPPORTED, "rope_scaling",
                        "scales positions, which is not supported");
    if (n->family->read_rope) n->family->read_rope(c, rope, n);
}

/* A size; `usual` where the configuration leaves it out, unless that is 0. */
static int32_t read_size(s2v_config *c, const char *key, int32_t high, int32_t usual)
{
    const bool is_left_out = usual > 0 && !s2v_config_text_member(c, key);
    return is_left_out ? usual : s2v_config_text_int(c, key, 1, high);
}

static void read_text_numbers(s2v_config *c, s2v_numbers *n)
{
    const s2v_family *f = n->family;
    n->n_layers = read_size(c, "num_hidden_layers", 512, f->usual.n_layers);
    n->n_embd = read_size(c, "hidden_size", S2V_CONFIG_MAX_SIDE, f->usual.n_embd);
    if (!f->may_lack_ff || s2v_config_text_member(c, "intermediate_size"))
        n->n_ff = read_size(c, "intermediate_size", S2V_CONFIG_MAX_SIDE, f->usual.n_ff);
    n->n_head = read_size(c, "num_attention_heads", 4096, f->usual.n_head);
    const int32_t usual_kv = f->usual.n_head_kv ? f->usual.n_head_kv : n->n_head;
    n->n_head_kv = read_size(c, "num_key_value_heads", 4096, f->usual.n_head ? usual_kv : 0);
    n->n_vocab = read_size(c, "vocab_size", 1 << 21, f->usual.n_vocab);
    n->n_ctx =
        read_size(c, "max_position_embeddings", 1 << 30, f->usual.n_ctx ? f->usual.n_ctx : 32768);
    n->rms_eps =
        s2v_config_to_float(c, s2v_config_text_member(c, "rms_norm_eps"), "rms_norm_eps", 1e-6);
    const bool has_head_dim =
        n->family->has_head_dim &&
        (f->usual.head_dim > 0 || s2v_config_text_member(c, "head_dim") != NULL);
    if (has_head_dim) n->head_dim = read_size(c, "head_dim", 1024, f->usual.head_dim);
    if (c->status == S2P_OK && !has_head_dim) n->head_dim = n->n_embd / n->n_head;
    if (c->status == S2P_OK && has_head_dim && n->head_dim % 2 != 0)
        s2v_config_fail(c, S2P_EFORMAT, "head_dim", "is not an even number");
    if (c->status == S2P_OK && !has_head_dim && n->n_embd % (2 * n->n_head) != 0)
        s2v_config_fail(c, S2P_EFORMAT, "hidden_size", "is not an even number per head");
    if (c->status == S2P_OK && n->n_head % n->n_head_kv != 0)
        s2v_config_fail(c, S2P_EFORMAT, "num_key_value_heads",
                        "does not divide the number of heads");
    if (c->status == S2P_OK) read_rope(c, n);
    if (c->status == S2P_OK && s2v_config_text_member(c, "head_dim") &&
        s2v_config_text_int(c, "head_dim", 1, S2V_CONFIG_MAX_SIDE) != n->head_dim)
        s2v_config_fail(c, S2P_EUNSUPPORTED, "head_dim",
                        "is not hidden_size / num_attention_heads");
    s2v_config_expect_text(c, c->text, "hidden_act", "silu");
    s2v_config_expect_bool(c, c->text, "use_sliding_window", false);
    if (s2v_config_member(c->top, "quantization_config"))
        s2v_config_fail(c, S2P_EUNSUPPORTED, "quantization_config",
                        "says the weights are quantized; use the original checkpoint");

    const json_t *tie = s2v_config_member(c->top, "tie_word_embeddings");
    const json_t *text_tie = s2v_config_member(c->text, "tie_word_embeddings");
    n->may_be_tied = json_is_true(tie) || json_is_true(text_tie) || (!tie && !text_tie);
}

static s2p_status read_config(const json_t *config, s2v_numbers *n, s2p_error *error)
{
    s2v_config c = { .name = "config.json", .top = config, .error = error };
    const char *kind = s2_json_string(config, "model_type");
    if (!kind) return s2_fail(error, S2P_EFORMAT, "config.json: 'model_type' is missing");
    c.text = s2v_config_member(config, "text_config");
    if (!c.text) c.text = s2v_config_member(config, "llm_config");
    const char *found = json_string_value(s2v_config_member(c.text, "model_type"));
    n->family = s2v_family_find(kind, found, error);
    if (!n->family) return S2P_EUNSUPPORTED;
    const char *text_type = n->family->text_type;

    c.vision = s2v_config_member(config, "vision_config");
    if (c.text && !json_is_object(c.text))
        s2v_config_fail(&c, S2P_EFORMAT, "text_config", "is not an object");
    if (!c.text && text_type) s2v_config_fail(&c, S2P_EFORMAT, "text_config", "is missing");
    if (!c.text) c.text = config;
    if (!json_is_object(c.vision))
        s2v_config_fail(&c, S2P_EFORMAT, "vision_config", "is not an object");
    if (text_type) s2v_config_expect_text(&c, c.text, "model_type", text_type);
    if (c.status == S2P_OK) read_text_numbers(&c, n);
    if (c.status == S2P_OK) {
        n->family->read_vision(&c, n);
        if (c.status == S2P_OK && n->v_embd % n->v_head != 0)
            s2v_config_fail(&c, S2P_EFORMAT, "vision_config",
                            "has heads that do not divide its width");
    }
    return c.status;
}

/* Mean and deviation of the pixels. transformers 5 keeps them in processor_config.json. */
static s2p_status read_preprocessor(const char *folder, s2v_numbers *n, s2p_error *error)
{
    json_t *file = NULL;
    s2v_config c = { .name = "preprocessor_config.json", .error = error };
    s2p_status st = s2_json_read_in(folder, c.name, MAX_BYTES, MAX_VALUES, &file, error);
    const json_t *values = file;
    if (st == S2P_EIO) {
        s2p_error second;
        c.name = "processor_config.json";
        if (s2_json_read_in(folder, c.name, MAX_BYTES, MAX_VALUES, &file, &second) == S2P_OK) {
            st = S2P_OK;
            values = json_object_get(file, "image_processor");
            if (!json_is_object(values))
                st = s2_fail(error, S2P_EFORMAT,
                             "preprocessor_config.json is missing, and processor_config.json has "
                             "no 'image_processor'; add preprocessor_config.json to '%.200s'",
                             folder);
        }
    }
    if (st == S2P_OK) {
        s2v_config_triple(&c, values, "image_mean", false, n->mean);
        s2v_config_triple(&c, values, "image_std", true, n->std);
        if (n->family->read_pixels) n->family->read_pixels(&c, values, n);
        st = c.status;
    }
    json_decref(file);
    return st;
}

s2p_status s2v_numbers_read(const char *folder, s2v_numbers *out, json_t **config, s2p_error *error)
{
    *out = (s2v_numbers){ 0 };
    s2p_status st = s2_json_read_in(folder, "config.json", MAX_BYTES, MAX_VALUES, config, error);
    if (st == S2P_OK) st = read_config(*config, out, error);
    if (st == S2P_OK) st = read_preprocessor(folder, out, error);
    if (st == S2P_OK) return S2P_OK;
    json_decref(*config);
    *config = NULL;
    return st;
}
