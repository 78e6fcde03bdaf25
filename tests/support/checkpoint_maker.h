/* checkpoint_maker.h - write a small checkpoint as Hugging Face publishes it, the wrong ones too.
 *
 * Qwen2.5-VL, Qwen2-VL or LLaVA-OneVision of two layers each, weights seeded, in either layout, in
 * one file or two. An edit replaces a piece of one file's text on the way, so that a test says what
 * is wrong in one line.
 */
#ifndef TESTS_CHECKPOINT_MAKER_H
#define TESTS_CHECKPOINT_MAKER_H

#include "check.h"
#include "gguf_writer.h"

#include <dirent.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

typedef enum maker_kind { MAKE_QWEN2_5, MAKE_QWEN2, MAKE_LLAVA } maker_kind;

typedef struct maker_edit {
    const char *file, *find, *replace; /* find NULL: `replace` is the whole file, NULL: no file */
} maker_edit;

typedef struct maker {
    maker_kind kind;
    const char *dtype; /* F32 unless given; F16, BF16 */
    bool is_nested;    /* transformers 5: text_config, other prefixes */
    bool has_no_head;  /* no output matrix */
    int n_shards;      /* 0: one file without an index */
    int scale;         /* widths are multiplied by it; 0: 1 */
    const maker_edit *edit;
    const char *pixel_limits; /* behind the members of preprocessor_config.json; NULL: none */
} maker;

typedef struct maker_state {
    const maker *m;
    const char *folder;
    writer header, data;
    writer map; /* lines of the index */
    int shard, n_in_shard;
    uint32_t seed;
} maker_state;

static inline void maker_path(char *out, size_t room, const char *folder, const char *name)
{
    (void)snprintf(out, room, "%s/%s", folder, name);
}

static inline void maker_write(const char *folder, const char *name, const void *data, size_t n)
{
    char path[1024];
    maker_path(path, sizeof path, folder, name);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(data, 1, n, file) != n || fclose(file) != 0) abort();
}

static inline void put_format(writer *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void put_format(writer *w, const char *format, ...)
{
    char text[2048];
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || (size_t)n >= sizeof text) abort();
    put_bytes(w, text, (size_t)n);
}

/* The text with the edit of this file in it; false: the file is left out. Aborts when the piece to
 * replace is not there: a test that changes nothing proves nothing. */
static inline bool maker_apply(const maker_edit *edit, const char *name, writer *text)
{
    if (!edit || strcmp(edit->file, name) != 0) return true;
    if (!edit->find) {
        if (!edit->replace) return false;
        text->n = 0;
        put_bytes(text, edit->replace, strlen(edit->replace));
        return true;
    }
    put(text, 0, 1);
    const char *start = (const char *)text->data, *at = strstr(start, edit->find);
    if (!at) {
        print_error("%s holds no %s\n", name, edit->find);
        abort();
    }
    writer out = { 0 };
    put_bytes(&out, start, (size_t)(at - start));
    put_bytes(&out, edit->replace, strlen(edit->replace));
    put_bytes(&out, at + strlen(edit->find),
              text->n - 1 - (size_t)(at - start) - strlen(edit->find));
    free(text->data);
    *text = out;
    return true;
}

static inline void maker_text(const maker *m, const char *folder, const char *name, writer *text)
{
    if (maker_apply(m->edit, name, text)) maker_write(folder, name, text->data, text->n);
    free(text->data);
    *text = (writer){ 0 };
}

/* --- tensors --------------------------------------------------------------------------------- */

static inline void maker_flush(maker_state *s)
{
    char name[64] = "model.safetensors";
    if (s->m->n_shards)
        (void)snprintf(name, sizeof name, "model-%05d-of-%05d.safetensors", s->shard + 1,
                       s->m->n_shards);
    put_format(&s->header, "}");
    const bool is_there = maker_apply(s->m->edit, name, &s->header);
    writer out = { 0 };
    if (s->m->edit && !s->m->edit->find && strcmp(s->m->edit->file, name) == 0) {
        if (is_there) maker_write(s->folder, name, s->header.data, s->header.n);
    } else {
        put(&out, s->header.n, 8);
        put_bytes(&out, s->header.data, s->header.n);
        put_bytes(&out, s->data.data, s->data.n);
        maker_write(s->folder, name, out.data, out.n);
    }
    free(out.data);
    s->header.n = s->data.n = 0;
    s->n_in_shard = 0;
    s->shard++;
}

static inline void maker_value(maker_state *s)
{
    const float value = (float)(next_random(&s->seed) & 0xffff) / 32768.0f - 1.0f;
    const uint32_t bits = (uint32_t)float_bits(value);
    const char *dtype = s->m->dtype ? s->m->dtype : "F32";
    if (strcmp(dtype, "BF16") == 0)
        put(&s->data, bits >> 16, 2);
    else if (strcmp(dtype, "F16") == 0) /* sign, exponent of 2^-2 to 2^-1, some fraction */
        put(&s->data, (bits >> 16 & 0x8000u) | 0x3400u | (bits >> 10 & 0x3ffu), 2);
    else
        put(&s->data, bits, 4);
}

static inline void maker_tensor(maker_state *s, const char *name, const int *shape, int n_dims)
{
    size_t n = 1;
    const size_t begin = s->data.n;
    for (int d = 0; d < n_dims; d++) n *= (size_t)shape[d];
    for (size_t i = 0; i < n; i++) maker_value(s);
    put_format(&s->header, "%s\"%s\":{\"dtype\":\"%s\",\"shape\":[",
               s->n_in_shard ? "," : "{\"__metadata__\":{\"format\":\"pt\"},", name,
               s->m->dtype ? s->m->dtype : "F32");
    for (int d = 0; d < n_dims; d++) put_format(&s->header, "%s%d", d ? "," : "", shape[d]);
    put_format(&s->header, "],\"data_offsets\":[%zu,%zu]}", begin, s->data.n);
    put_format(&s->map, "%s\"%s\":\"model-%05d-of-%05d.safetensors\"", s->map.n ? "," : "", name,
               s->shard + 1, s->m->n_shards);
    s->n_in_shard++;
    if (s->m->n_shards > s->shard + 1 && s->n_in_shard >= 20) maker_flush(s);
}

/* "<base>.<layer>.<part>", or "<base>.<part>" for a layer below 0. */
static inline void maker_named(maker_state *s, const char *base, int layer, const char *part,
                               const int *shape, int n_dims)
{
    char name[512];
    const int n = layer < 0 ? snprintf(name, sizeof name, "%s.%s", base, part)
                            : snprintf(name, sizeof name, "%s.%d.%s", base, layer, part);
    if (n < 0 || (size_t)n >= sizeof name) abort();
    maker_tensor(s, name, shape, n_dims);
}

#define SHAPE(...) \
    (const int[]){ __VA_ARGS__ }, (int)(sizeof(const int[]){ __VA_ARGS__ } / sizeof(int))
#define T(name, ...) maker_tensor(s, name, SHAPE(__VA_ARGS__))
#define L(base, part, ...) maker_named(s, base, layer, part, SHAPE(__VA_ARGS__))
#define M(base, part, ...) maker_named(s, base, -1, part, SHAPE(__VA_ARGS__))

static inline void maker_text_tensors(maker_state *s, int e, int ff)
{
    const bool llava = s->m->kind == MAKE_LLAVA, nested = s->m->is_nested;
    const char *base = nested ? "model.language_model" : llava ? "language_model.model" : "model";
    const char *layers = nested  ? "model.language_model.layers"
                         : llava ? "language_model.model.layers"
                                 : "model.layers";
    if (!s->m->has_no_head)
        T(llava && !nested ? "language_model.lm_head.weight" : "lm_head.weight", 8, e);
    M(base, "embed_tokens.weight", 8, e);
    for (int layer = 0; layer < 2; layer++) {
        L(layers, "input_layernorm.weight", e);
        L(layers, "mlp.down_proj.weight", e, ff);
        L(layers, "mlp.gate_proj.weight", ff, e);
        L(layers, "mlp.up_proj.weight", ff, e);
        L(layers, "post_attention_layernorm.weight", e);
        L(layers, "self_attn.k_proj.bias", e / 2);
        L(layers, "self_attn.k_proj.weight", e / 2, e);
        L(layers, "self_attn.o_proj.weight", e, e);
        L(layers, "self_attn.q_proj.bias", e);
        L(layers, "self_attn.q_proj.weight", e, e);
        L(layers, "self_attn.v_proj.bias", e / 2);
        L(layers, "self_attn.v_proj.weight", e / 2, e);
    }
    M(base, "norm.weight", e);
}

static inline void maker_qwen_tensors(maker_state *s, int e, int v, int ff)
{
    const char *base = s->m->is_nested ? "model.visual" : "visual";
    const bool is_old = s->m->kind == MAKE_QWEN2;
    const char *blocks = s->m->is_nested ? "model.visual.blocks" : "visual.blocks";
    for (int layer = 0; layer < 2; layer++) {
        L(blocks, "attn.proj.bias", v);
        L(blocks, "attn.proj.weight", v, v);
        L(blocks, "attn.qkv.bias", 3 * v);
        L(blocks, "attn.qkv.weight", 3 * v, v);
        L(blocks, "norm1.weight", v);
        L(blocks, "norm2.weight", v);
        if (is_old) {
            L(blocks, "norm1.bias", v);
            L(blocks, "norm2.bias", v);
            L(blocks, "mlp.fc1.weight", 4 * v, v);
            L(blocks, "mlp.fc1.bias", 4 * v);
            L(blocks, "mlp.fc2.weight", v, 4 * v);
            L(blocks, "mlp.fc2.bias", v);
            continue;
        }
        L(blocks, "mlp.down_proj.bias", v);
        L(blocks, "mlp.down_proj.weight", v, ff);
        L(blocks, "mlp.gate_proj.bias", ff);
        L(blocks, "mlp.gate_proj.weight", ff, v);
        L(blocks, "mlp.up_proj.bias", ff);
        L(blocks, "mlp.up_proj.weight", ff, v);
    }
    M(base, "merger.ln_q.weight", v);
    if (is_old) M(base, "merger.ln_q.bias", v);
    M(base, "merger.mlp.0.bias", 4 * v);
    M(base, "merger.mlp.0.weight", 4 * v, 4 * v);
    M(base, "merger.mlp.2.bias", e);
    M(base, "merger.mlp.2.weight", e, 4 * v);
    M(base, "patch_embed.proj.weight", v, 3, 2, 2, 2);
}

static inline void maker_llava_tensors(maker_state *s, int e, int v, int ff)
{
    const bool nested = s->m->is_nested;
    const char *base = nested ? "model.vision_tower.vision_model" : "vision_tower.vision_model";
    const char *layers = nested ? "model.vision_tower.vision_model.encoder.layers"
                                : "vision_tower.vision_model.encoder.layers";
    const char *projector = nested ? "model.multi_modal_projector" : "multi_modal_projector";
    T(nested ? "model.image_newline" : "image_newline", e);
    M(base, "embeddings.patch_embedding.bias", v);
    M(base, "embeddings.patch_embedding.weight", v, 3, 2, 2);
    M(base, "embeddings.position_embedding.weight", 9, v);
    for (int layer = 0; layer < 2; layer++) {
        static const char *const parts[] = { "q_proj", "k_proj", "v_proj", "out_proj" };
        for (int i = 0; i < 4; i++) {
            char part[64];
            (void)snprintf(part, sizeof part, "self_attn.%s.weight", parts[i]);
            L(layers, part, v, v);
            (void)snprintf(part, sizeof part, "self_attn.%s.bias", parts[i]);
            L(layers, part, v);
        }
        L(layers, "layer_norm1.weight", v);
        L(layers, "layer_norm1.bias", v);
        L(layers, "layer_norm2.weight", v);
        L(layers, "layer_norm2.bias", v);
        L(layers, "mlp.fc1.weight", ff, v);
        L(layers, "mlp.fc1.bias", ff);
        L(layers, "mlp.fc2.weight", v, ff);
        L(layers, "mlp.fc2.bias", v);
    }
    M(base, "post_layernorm.weight", v);
    M(base, "post_layernorm.bias", v);
    M(projector, "linear_1.weight", e, v);
    M(projector, "linear_1.bias", e);
    M(projector, "linear_2.weight", e, e);
    M(projector, "linear_2.bias", e);
}

#undef T
#undef L
#undef M
#undef SHAPE

/* --- JSON ------------------------------------------------------------------------------------ */

static inline void maker_config(const maker *m, const char *folder, int e, int v)
{
    static const char *const types[] = { "qwen2_5_vl", "qwen2_vl", "llava_onevision" };
    writer w = { 0 };
    const bool is_llava = m->kind == MAKE_LLAVA, is_nested = m->is_nested || is_llava;
    put_format(&w, "{\"model_type\":\"%s\",\"tie_word_embeddings\":false,", types[m->kind]);
    if (is_nested) put_format(&w, "\"text_config\":{");
    if (is_llava) put_format(&w, "\"model_type\":\"qwen2\",");
    put_format(
        &w,
        "\"bos_token_id\":4,\"eos_token_id\":5,\"hidden_act\":\"silu\",\"hidden_size\":%d,"
        "\"intermediate_size\":%d,\"max_position_embeddings\":1000,\"num_attention_heads\":2,"
        "\"num_hidden_layers\":2,\"num_key_value_heads\":1,\"rms_norm_eps\":1e-06,"
        "\"use_sliding_window\":false,\"vocab_size\":8,",
        e, 2 * e);
    if (m->is_nested)
        put_format(&w, "\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":1000000.0");
    else
        put_format(&w, "\"rope_theta\":1000000.0,\"rope_scaling\":{\"type\":\"default\"");
    if (!is_llava) put_format(&w, ",\"mrope_section\":[%d,%d,%d]", e / 16, e / 16, e / 8);
    put_format(&w, "}%s,\"vision_config\":{", is_nested ? "}" : "");
    if (m->kind == MAKE_QWEN2_5)
        put_format(
            &w,
            "\"depth\":2,\"hidden_act\":\"silu\",\"hidden_size\":%d,\"intermediate_size\":24,"
            "\"num_heads\":2,\"in_chans\":3,\"out_hidden_size\":%d,\"window_size\":112,"
            "\"fullatt_block_indexes\":[1],",
            v, e);
    if (m->kind == MAKE_QWEN2)
        put_format(
            &w,
            "\"depth\":2,\"embed_dim\":%d,\"hidden_size\":%d,\"mlp_ratio\":4,\"num_heads\":2,"
            "\"hidden_act\":\"quick_gelu\",\"in_chans\":3,",
            v, e);
    if (is_llava)
        put_format(&w,
                   "\"model_type\":\"siglip_vision_model\",\"hidden_size\":%d,\"image_size\":7,"
                   "\"intermediate_size\":24,\"num_attention_heads\":2,\"num_hidden_layers\":2,",
                   v);
    else
        put_format(&w, "\"spatial_merge_size\":2,\"temporal_patch_size\":2,");
    put_format(&w, "\"patch_size\":2}");
    if (is_llava)
        put_format(&w, ",\"vision_feature_layer\":-1,\"vision_feature_select_strategy\":\"full\","
                       "\"projector_hidden_act\":\"gelu\"");
    put_format(&w, "}");
    maker_text(m, folder, "config.json", &w);
}

static inline void maker_tokenizer(const maker *m, const char *folder)
{
    writer w = { 0 };
    put_format(
        &w,
        "{\"normalizer\":{\"type\":\"NFC\"},\"post_processor\":null,\"pre_tokenizer\":{\"type\":"
        "\"Sequence\",\"pretokenizers\":[{\"type\":\"Split\",\"pattern\":{\"Regex\":\"%s\"}},"
        "{\"type\":\"ByteLevel\"}]},\"added_tokens\":[{\"id\":4,\"content\":\"<|endoftext|>\","
        "\"special\":true},{\"id\":5,\"content\":\"<|im_end|>\",\"special\":false},{\"id\":6,"
        "\"content\":\"<tool>\",\"special\":false}],\"model\":{\"type\":\"BPE\",\"vocab\":{\"a\":0,"
        "\"b\":1,\"ab\":2,\"\xc4\xa0\":3},\"merges\":[[\"a\",\"b\"]]}}",
        "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}| "
        "?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+");
    maker_text(m, folder, "tokenizer.json", &w);
    put_format(&w, "{\"add_bos_token\":false,\"bos_token\":null,\"eos_token\":\"<|im_end|>\","
                   "\"pad_token\":{\"content\":\"<|endoftext|>\"},\"chat_template\":\"{{ x }}\"}");
    maker_text(m, folder, "tokenizer_config.json", &w);
    put_format(&w, "{\"image_mean\":[0.5,0.25,0.5],\"image_std\":[0.5,0.5,0.25]%s}",
               m->pixel_limits ? m->pixel_limits : "");
    maker_text(m, folder, "preprocessor_config.json", &w);
}

/* Remove what is in a folder (files only) and say how many there were. */
static inline int maker_empty(const char *folder)
{
    int n = 0;
    DIR *dir = opendir(folder);
    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char path[1024];
        if (entry->d_name[0] == '.') continue;
        maker_path(path, sizeof path, folder, entry->d_name);
        if (unlink(path) == 0) n++;
    }
    if (dir) closedir(dir);
    return n;
}

static inline void make_checkpoint(const maker *m, const char *folder)
{
    const int scale = m->scale ? m->scale : 1, e = 32 * scale, v = 16 * scale;
    (void)mkdir(folder, 0777);
    (void)maker_empty(folder);
    maker_state s = { .m = m, .folder = folder, .seed = 7 };
    maker_text_tensors(&s, e, 2 * e);
    if (m->kind == MAKE_LLAVA)
        maker_llava_tensors(&s, e, v, 24);
    else
        maker_qwen_tensors(&s, e, v, 24);
    maker_flush(&s);
    writer index = { 0 };
    put_format(&index, "{\"metadata\":{\"total_size\":1},\"weight_map\":{");
    put_bytes(&index, s.map.data, s.map.n);
    put_format(&index, "}}");
    if (m->n_shards) maker_text(m, folder, "model.safetensors.index.json", &index);
    free(index.data);
    free(s.header.data);
    free(s.data.data);
    free(s.map.data);
    maker_config(m, folder, e, v);
    maker_tokenizer(m, folder);
}

#endif /* TESTS_CHECKPOINT_MAKER_H */
