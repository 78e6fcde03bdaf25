/* load.c - the decoder the architectures share: keys with ranges, tensors with shapes. */
#include "engine/decoder/decoder.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static void key_name(char *out, size_t capacity, const char *prefix, const char *key)
{
    (void)snprintf(out, capacity, "%s.%s", prefix, key);
}

s2p_status s2v_key_int(const s2v_gguf *file, const char *prefix, const char *key, int64_t low,
                       int64_t high, int32_t *out, s2p_error *error)
{
    char name[128];
    int64_t value;
    key_name(name, sizeof name, prefix, key);
    if (!s2v_gguf_int(file, name, &value))
        return s2_fail(error, S2P_EFORMAT, "the model has no integer key '%s'", name);
    if (value < low || value > high)
        return s2_fail(error, S2P_EFORMAT, "%s is %lld, expected %lld to %lld", name,
                       (long long)value, (long long)low, (long long)high);
    *out = (int32_t)value;
    return S2P_OK;
}

s2p_status s2v_key_float(const s2v_gguf *file, const char *prefix, const char *key, double low,
                         double high, float *out, s2p_error *error)
{
    char name[128];
    double value;
    key_name(name, sizeof name, prefix, key);
    if (!s2v_gguf_float(file, name, &value))
        return s2_fail(error, S2P_EFORMAT, "the model has no number key '%s'", name);
    if (!(value >= low && value <= high)) /* NaN too */
        return s2_fail(error, S2P_EFORMAT, "%s is %g, expected %g to %g", name, value, low, high);
    *out = (float)value;
    return S2P_OK;
}

/* RoPE uses the powers of one base on whole heads unless the style says otherwise: other variants of
 * llama.cpp would be ignored silently. A model with windows may divide the positions of its other layers. */
static s2p_status read_rope(s2v_decoder_params *p, const s2v_gguf *file,
                            const s2v_decoder_style *style, s2p_error *error)
{
    const char *const prefix = style->prefix;
    char name[128];
    int64_t n_rotated = p->head_dim;
    double factor;
    s2v_text type;
    p->rope_scale = 1.0f;
    key_name(name, sizeof name, prefix, "rope.dimension_count");
    const bool is_told = s2v_gguf_int(file, name, &n_rotated);
    if (!is_told && style->has_delta_nets)
        return s2_fail(error, S2P_EFORMAT, "the model has no integer key '%s'", name);
    const bool may_be_part = style->has_delta_nets && n_rotated >= 2 && n_rotated % 2 == 0;
    if (is_told && n_rotated != p->head_dim && (!may_be_part || n_rotated > p->head_dim))
        return s2_fail(error, S2P_EUNSUPPORTED, "%s is %lld, but a head has %d values", name,
                       (long long)n_rotated, p->head_dim);
    p->n_rotated = (int32_t)n_rotated;
    key_name(name, sizeof name, prefix, "rope.scaling.type");
    const bool is_linear = s2v_gguf_string(file, name, &type) && s2v_text_is(type, "linear");
    key_name(name, sizeof name, prefix, "rope.scaling.factor");
    const bool has_factor = s2v_gguf_find_key(file, name) != NULL;
    if (has_factor && !s2v_gguf_float(file, name, &factor))
        return s2_fail(error, S2P_EFORMAT, "%s is not a number", name);
    if (has_factor && factor != 1.0) {
        if (style->window_period == 0 || !is_linear)
            return s2_fail(error, S2P_EUNSUPPORTED, "%s is %g: scaled positions are not supported",
                           name, factor);
        if (!(factor > 0.0 && factor <= 1e6))
            return s2_fail(error, S2P_EFORMAT, "%s is %g, expected above 0 and up to 1e6", name,
                           factor);
        p->rope_scale = (float)(1.0 / factor);
    }
    if (s2v_gguf_find_tensor(file, "rope_freqs.weight"))
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "rope_freqs.weight scales positions, which is not supported");
    return S2P_OK;
}

/* The window of most layers and the base of their RoPE, for which older files rely on a default. */
static s2p_status read_window(s2v_decoder_params *p, const s2v_gguf *file,
                              const s2v_decoder_style *style, s2p_error *error)
{
    char name[128];
    if (style->window_period == 0) return S2P_OK;
    TRY(s2v_key_int(file, style->prefix, "attention.sliding_window", 1, 1 << 30, &p->window,
                    error));
    p->window_base = 10000.0f;
    key_name(name, sizeof name, style->prefix, "rope.freq_base_swa");
    if (s2v_gguf_find_key(file, name))
        TRY(s2v_key_float(file, style->prefix, "rope.freq_base_swa", 1.0, 1e12, &p->window_base,
                          error));
    int64_t period;
    key_name(name, sizeof name, style->prefix, "attention.sliding_window_pattern");
    if (s2v_gguf_find_key(file, name) &&
        (!s2v_gguf_int(file, name, &period) || period != style->window_period))
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "%s is not %d, which selects the layers that see all rows", name,
                       style->window_period);
    return S2P_OK;
}

/* How many experts there are, how many of them a row uses, and their width: a key, or the share of one in
 * the width they have together. */
static s2p_status read_experts(s2v_decoder_params *p, const s2v_gguf *file, const char *prefix,
                               s2p_error *error)
{
    char name[128];
    key_name(name, sizeof name, prefix, "expert_feed_forward_length");
    TRY(s2v_key_int(file, prefix, "expert_count", 2, S2V_MAX_EXPERTS, &p->n_experts, error));
    TRY(s2v_key_int(file, prefix, "expert_used_count", 1,
                    p->n_experts < S2V_MAX_USED ? p->n_experts : S2V_MAX_USED, &p->n_experts_used,
                    error));
    if (s2v_gguf_find_key(file, name))
        return s2v_key_int(file, prefix, "expert_feed_forward_length", 1, 1 << 20, &p->n_ff, error);
    TRY(s2v_key_int(file, prefix, "feed_forward_length", p->n_experts_used, 1 << 20, &p->n_ff,
                    error));
    p->n_ff /= p->n_experts_used;
    return S2P_OK;
}

/* The expert every row goes through. */
static s2p_status read_shared_expert(s2v_decoder_params *p, const s2v_gguf *file,
                                     const char *prefix, s2p_error *error)
{
    return s2v_key_int(file, prefix, "expert_shared_feed_forward_length", 1, 1 << 20,
                       &p->n_shared_ff, error);
}

/* Sizes of the delta nets, and which layers attend. A block behind the layers, which guesses the token
 * after the next, is counted in block_count and left out. */
static s2p_status read_delta_nets(s2v_decoder_params *p, const s2v_gguf *file, const char *prefix,
                                  s2p_error *error)
{
    s2v_delta_params *d = &p->delta;
    int32_t inner, n_guessing = 0;
    char name[128];
    key_name(name, sizeof name, prefix, "nextn_predict_layers");
    if (s2v_gguf_find_key(file, name))
        TRY(s2v_key_int(file, prefix, "nextn_predict_layers", 0, p->n_layers - 1, &n_guessing,
                        error));
    p->n_layers -= n_guessing;
    TRY(s2v_key_int(file, prefix, "full_attention_interval", 1, p->n_layers, &p->attends_every,
                    error));
    key_name(name, sizeof name, prefix, "attention.recurrent_layers");
    const s2v_gguf_key *list = s2v_gguf_find_key(file, name);
    bool is_state = false;
    for (int32_t i = 0; list && i < p->n_layers; i++)
        if (list->count < (uint64_t)p->n_layers ||
            !s2v_gguf_item_bool(list, (uint64_t)i, &is_state) || is_state == s2v_attends(p, i))
            return s2_fail(error, S2P_EUNSUPPORTED,
                           "%s does not give full attention to every %d-th layer", name,
                           p->attends_every);
    TRY(s2v_key_int(file, prefix, "ssm.conv_kernel", 2, 16, &d->n_taps, error));
    TRY(s2v_key_int(file, prefix, "ssm.state_size", 2, 1024, &d->head_dim, error));
    TRY(s2v_key_int(file, prefix, "ssm.group_count", 1, 1024, &d->n_key_heads, error));
    TRY(s2v_key_int(file, prefix, "ssm.time_step_rank", 1, 1024, &d->n_value_heads, error));
    TRY(s2v_key_int(file, prefix, "ssm.inner_size", 1, 1 << 20, &inner, error));
    if (d->n_value_heads % d->n_key_heads != 0 || inner != d->n_value_heads * d->head_dim)
        return s2_fail(error, S2P_EFORMAT,
                       "%s.ssm has %d key heads, and %d value heads of %d values in %d", prefix,
                       d->n_key_heads, d->n_value_heads, d->head_dim, inner);
    p->has_output_gate = true;
    return S2P_OK;
}

static s2p_status read_params(s2v_decoder_params *p, const s2v_gguf *file,
                              const s2v_decoder_style *style, s2p_error *error)
{
    const char *const prefix = style->prefix;
    TRY(s2v_key_int(file, prefix, "block_count", 1, S2V_MAX_LAYERS, &p->n_layers, error));
    TRY(s2v_key_int(file, prefix, "embedding_length", 1, 1 << 17, &p->n_embd, error));
    p->attends_every = 1;
    if (style->has_delta_nets) TRY(read_delta_nets(p, file, prefix, error));
    if (style->has_experts) {
        TRY(read_experts(p, file, prefix, error));
        if (style->has_delta_nets) TRY(read_shared_expert(p, file, prefix, error));
    } else {
        TRY(s2v_key_int(file, prefix, "feed_forward_length", 1, 1 << 20, &p->n_ff, error));
    }
    TRY(s2v_key_int(file, prefix, "attention.head_count", 1, 1024, &p->n_heads, error));
    TRY(s2v_key_int(file, prefix, "attention.head_count_kv", 1, 1024, &p->n_kv_heads, error));
    TRY(s2v_key_int(file, prefix, "context_length", 1, 1 << 20, &p->n_ctx_train, error));
    TRY(s2v_key_float(file, prefix, "rope.freq_base", 1.0, 1e12, &p->rope_base, error));
    TRY(s2v_key_float(file, prefix, "attention.layer_norm_rms_epsilon", 0.0, 1.0, &p->rms_eps,
                      error));

    /* The width of a head: a key of the file, or the rows' width divided among the heads. */
    char name[128];
    key_name(name, sizeof name, prefix, "attention.key_length");
    const bool has_length = s2v_gguf_find_key(file, name) != NULL;
    if ((!has_length && p->n_embd % p->n_heads != 0) || p->n_heads % p->n_kv_heads != 0)
        return s2_fail(error, S2P_EFORMAT, "%d heads and %d KV heads do not divide a width of %d",
                       p->n_heads, p->n_kv_heads, p->n_embd);
    p->head_dim = p->n_embd / p->n_heads;
    if (has_length)
        TRY(s2v_key_int(file, prefix, "attention.key_length", 2, 1024, &p->head_dim, error));
    key_name(name, sizeof name, prefix, "attention.value_length");
    int64_t value_length;
    if (s2v_gguf_int(file, name, &value_length) && value_length != p->head_dim)
        return s2_fail(error, S2P_EUNSUPPORTED, "%s is %lld, but a head has %d values", name,
                       (long long)value_length, p->head_dim);
    if (p->head_dim % 2 != 0 || p->head_dim > 1024)
        return s2_fail(error, S2P_EFORMAT, "a head of %d values is not supported", p->head_dim);
    TRY(read_rope(p, file, style, error));
    TRY(read_window(p, file, style, error));
    p->is_gelu = style->is_gelu;
    p->text_scale = style->scales_text ? sqrtf((float)p->n_embd) : 1.0f;
    const bool is_deepest = style->deepest > 0 && p->n_layers == style->deepest;
    p->score_scale = 1.0f / sqrtf((float)(is_deepest ? p->n_embd / p->n_heads : p->head_dim));
    const s2v_gguf_key *tokens = s2v_gguf_find_key(file, "tokenizer.ggml.tokens");
    if (!tokens || tokens->type != S2V_GGUF_ARRAY || tokens->count < 1 || tokens->count > (1 << 24))
        return s2_fail(error, S2P_EFORMAT, "the model has no list 'tokenizer.ggml.tokens'");
    p->n_vocab = (int32_t)tokens->count;

    key_name(name, sizeof name, prefix, "n_deepstack_layers");
    if (style->has_deepstack && s2v_gguf_find_key(file, name))
        TRY(s2v_key_int(file, prefix, "n_deepstack_layers", 0,
                        p->n_layers < S2V_MAX_DEEPSTACK ? p->n_layers : S2V_MAX_DEEPSTACK,
                        &p->n_deepstack, error));
    p->rotates_neighbours = style->rotates_neighbours;

    /* Pairs of values for each coordinate of M-RoPE; absent for plain RoPE. */
    key_name(name, sizeof name, prefix, "rope.dimension_sections");
    const s2v_gguf_key *sections = s2v_gguf_find_key(file, name);
    p->n_planes = 1;
    p->is_interleaved = style->is_interleaved;
    if (!sections) return S2P_OK;
    int64_t sum = 0;
    for (uint64_t i = 0; i < sections->count && i < 4; i++) {
        int64_t value;
        if (!s2v_gguf_item_int(sections, i, &value) || value < 0 || value > p->head_dim)
            return s2_fail(error, S2P_EFORMAT, "%s[%d] is not a count up to %d", name, (int)i,
                           p->head_dim);
        p->sections[i] = (int32_t)value;
        sum += value;
    }
    if (sections->count < 3 || sections->count > 4 || sum * 2 != p->n_rotated)
        return s2_fail(error, S2P_EFORMAT, "%s adds up to %lld pairs, expected %d", name,
                       (long long)sum, p->n_rotated / 2);
    if (p->sections[0] > 0) p->n_planes = 4;
    return S2P_OK;
}

static bool has_window(const s2v_decoder_style *style, int32_t i)
{
    return style->window_period > 0 && (i + 1) % style->window_period != 0;
}

static void load_attention(s2v_attention_weights *a, s2v_loader *l, const s2v_decoder_params *p,
                           const s2v_decoder_style *style, int32_t i)
{
    const int64_t n = p->n_embd, heads = (int64_t)p->n_heads * p->head_dim,
                  kv = (int64_t)p->n_kv_heads * p->head_dim;
    a->q = s2v_loader_get(l, "blk.%d.attn_q.weight", i, S2V_USE_MATRIX, n,
                          p->has_output_gate ? 2 * heads : heads);
    a->k = s2v_loader_get(l, "blk.%d.attn_k.weight", i, S2V_USE_MATRIX, n, kv);
    a->v = s2v_loader_get(l, "blk.%d.attn_v.weight", i, S2V_USE_MATRIX, n, kv);
    if (style->has_biases) {
        a->q_bias = s2v_loader_get(l, "blk.%d.attn_q.bias", i, S2V_USE_VECTOR, heads, 1);
        a->k_bias = s2v_loader_get(l, "blk.%d.attn_k.bias", i, S2V_USE_VECTOR, kv, 1);
        a->v_bias = s2v_loader_get(l, "blk.%d.attn_v.bias", i, S2V_USE_VECTOR, kv, 1);
    }
    if (style->has_head_norms) {
        a->q_norm =
            s2v_loader_get(l, "blk.%d.attn_q_norm.weight", i, S2V_USE_VECTOR, p->head_dim, 1);
        a->k_norm =
            s2v_loader_get(l, "blk.%d.attn_k_norm.weight", i, S2V_USE_VECTOR, p->head_dim, 1);
    }
    a->out = s2v_loader_get(l, "blk.%d.attn_output.weight", i, S2V_USE_MATRIX, heads, n);
    a->rope_base = p->rope_base;
    a->rope_scale = p->rope_scale;
    if (!has_window(style, i)) return;
    a->rope_base = p->window_base;
    a->rope_scale = 1.0f;
}

static void load_delta_net(s2v_delta_weights *w, s2v_loader *l, const s2v_decoder_params *p,
                           int32_t i)
{
    const s2v_delta_params *d = &p->delta;
    const int64_t n = p->n_embd, heads = d->n_value_heads, values = heads * d->head_dim,
                  channels = s2v_delta_channels(d);
    w->qkv = s2v_loader_get(l, "blk.%d.attn_qkv.weight", i, S2V_USE_MATRIX, n, channels);
    w->gate = s2v_loader_get(l, "blk.%d.attn_gate.weight", i, S2V_USE_MATRIX, n, values);
    w->alpha = s2v_loader_get(l, "blk.%d.ssm_alpha.weight", i, S2V_USE_MATRIX, n, heads);
    w->beta = s2v_loader_get(l, "blk.%d.ssm_beta.weight", i, S2V_USE_MATRIX, n, heads);
    w->conv = s2v_loader_get(l, "blk.%d.ssm_conv1d.weight", i, S2V_USE_VECTOR, d->n_taps, channels);
    w->dt_bias = s2v_loader_get(l, "blk.%d.ssm_dt.bias", i, S2V_USE_VECTOR, heads, 1);
    w->a = s2v_loader_get(l, "blk.%d.ssm_a", i, S2V_USE_VECTOR, heads, 1);
    w->norm = s2v_loader_get(l, "blk.%d.ssm_norm.weight", i, S2V_USE_VECTOR, d->head_dim, 1);
    w->out = s2v_loader_get(l, "blk.%d.ssm_out.weight", i, S2V_USE_MATRIX, values, n);
}

static void load_layer(s2v_layer *layer, s2v_loader *l, const s2v_decoder_params *p,
                       const s2v_decoder_style *style, int32_t i)
{
    const int64_t n = p->n_embd, ff = p->n_ff;
    s2v_ffn_weights *f = &layer->ffn;
    layer->kind = s2v_attends(p, i) ? S2V_LAYER_ATTENTION : S2V_LAYER_DELTA_NET;
    if (has_window(style, i)) layer->window = p->window;
    layer->attn_norm = s2v_loader_get(l, "blk.%d.attn_norm.weight", i, S2V_USE_VECTOR, n, 1);
    if (layer->kind == S2V_LAYER_ATTENTION)
        load_attention(&layer->attention, l, p, style, i);
    else
        load_delta_net(&layer->delta, l, p, i);
    if (style->has_post_norms) {
        layer->attn_added =
            s2v_loader_get(l, "blk.%d.post_attention_norm.weight", i, S2V_USE_VECTOR, n, 1);
        layer->ffn_added =
            s2v_loader_get(l, "blk.%d.post_ffw_norm.weight", i, S2V_USE_VECTOR, n, 1);
    }
    layer->ffn_norm = s2v_loader_get(
        l, style->has_delta_nets ? "blk.%d.post_attention_norm.weight" : "blk.%d.ffn_norm.weight",
        i, S2V_USE_VECTOR, n, 1);
    if (style->has_experts) {
        const int64_t n_experts = p->n_experts;
        f->router =
            s2v_loader_get(l, "blk.%d.ffn_gate_inp.weight", i, S2V_USE_MATRIX, n, n_experts);
        f->gate = s2v_loader_experts(l, "blk.%d.ffn_gate_exps.weight", i, n, ff, n_experts);
        f->up = s2v_loader_experts(l, "blk.%d.ffn_up_exps.weight", i, n, ff, n_experts);
        f->down = s2v_loader_experts(l, "blk.%d.ffn_down_exps.weight", i, ff, n, n_experts);
        if (p->n_shared_ff == 0) return;
        const int64_t shared = p->n_shared_ff;
        f->shared_router =
            s2v_loader_get(l, "blk.%d.ffn_gate_inp_shexp.weight", i, S2V_USE_VECTOR, n, 1);
        f->shared_gate =
            s2v_loader_get(l, "blk.%d.ffn_gate_shexp.weight", i, S2V_USE_MATRIX, n, shared);
        f->shared_up =
            s2v_loader_get(l, "blk.%d.ffn_up_shexp.weight", i, S2V_USE_MATRIX, n, shared);
        f->shared_down =
            s2v_loader_get(l, "blk.%d.ffn_down_shexp.weight", i, S2V_USE_MATRIX, shared, n);
        return;
    }
    f->gate = s2v_loader_get(l, "blk.%d.ffn_gate.weight", i, S2V_USE_MATRIX, n, ff);
    f->up = s2v_loader_get(l, "blk.%d.ffn_up.weight", i, S2V_USE_MATRIX, n, ff);
    f->down = s2v_loader_get(l, "blk.%d.ffn_down.weight", i, S2V_USE_MATRIX, ff, n);
}

int32_t s2v_layer_matrices(const s2v_layer *layer, struct ggml_tensor *out[S2V_LAYER_MATRICES])
{
    const s2v_attention_weights *a = &layer->attention;
    const s2v_delta_weights *d = &layer->delta;
    const s2v_ffn_weights *f = &layer->ffn;
    const bool attends = layer->kind == S2V_LAYER_ATTENTION;
    struct ggml_tensor *const all[S2V_LAYER_MATRICES] = { attends ? a->q : d->qkv,
                                                          attends ? a->k : d->gate,
                                                          attends ? a->v : d->alpha,
                                                          attends ? a->out : d->beta,
                                                          attends ? NULL : d->out,
                                                          f->gate,
                                                          f->up,
                                                          f->down,
                                                          f->router,
                                                          f->shared_gate,
                                                          f->shared_up,
                                                          f->shared_down };
    int32_t n = 0;
    for (int32_t i = 0; i < S2V_LAYER_MATRICES; i++)
        if (all[i]) out[n++] = all[i];
    return n;
}

s2p_status s2v_decoder_load(s2v_decoder *decoder, s2v_loader *loader,
                            const s2v_decoder_style *style, int32_t gpu_layers)
{
    s2v_decoder_params *p = &decoder->p;
    TRY(read_params(p, loader->file, style, loader->error));
    decoder->layers = calloc((size_t)p->n_layers, sizeof *decoder->layers);
    if (!decoder->layers)
        return s2_fail_memory(loader->error, sizeof *decoder->layers, "the layers");
    const int32_t on_device = gpu_layers < 0 || gpu_layers > p->n_layers ? p->n_layers : gpu_layers;
    decoder->first_on_device = p->n_layers - on_device;

    loader->keeps_blocks = true;
    struct ggml_tensor *periods[2] = { NULL, NULL }; /* of layers that see all, and with a window */
    for (int32_t i = 0; i < p->n_layers; i++) {
        loader->on_device = i >= decoder->first_on_device;
        if (i == decoder->first_on_device && loader->devices->main != loader->devices->cpu)
            for (int w = 0; w < (p->window > 0 ? 2 : 1); w++)
                periods[w] = s2v_loader_powers(loader, (double)(w ? p->window_base : p->rope_base),
                                               p->n_rotated / 2);
        decoder->layers[i].attention.rope_periods = periods[has_window(style, i)];
        loader->as_f32 = i == 0; /* a product with half weights rounds its rows; ERC is read here */
        load_layer(&decoder->layers[i], loader, p, style, i);
    }
    loader->as_f32 = false;
    decoder->output_norm =
        s2v_loader_get(loader, "output_norm.weight", -1, S2V_USE_VECTOR, p->n_embd, 1);
    decoder->output =
        s2v_loader_try(loader, "output.weight", -1, S2V_USE_MATRIX, p->n_embd, p->n_vocab);
    const bool is_tied = !decoder->output;
    if (is_tied) /* the same numbers, in the layout products like */
        decoder->output =
            s2v_loader_get(loader, "token_embd.weight", -1, S2V_USE_MATRIX, p->n_embd, p->n_vocab);
    loader->keeps_blocks = false;
    loader->on_device = decoder->first_on_device == 0; /* embeddings go with layer 0 */
    if (is_tied && decoder->output && loader->on_device &&
        s2v_device_takes(loader->devices, decoder->output, false) &&
        s2v_device_takes(loader->devices, decoder->output, true))
        decoder->token_embd = decoder->output; /* a device looks rows up where it multiplies */
    else
        decoder->token_embd =
            s2v_loader_get(loader, "token_embd.weight", -1, S2V_USE_ROWS, p->n_embd, p->n_vocab);
    loader->on_device = false;
    return loader->status;
}

void s2v_decoder_free(s2v_decoder *decoder)
{
    free(decoder->layers);
    decoder->layers = NULL;
}
