/* tiny_model.h - a Qwen2.5-VL pair of a megabyte with seeded random weights, right or wrong.
 *
 * Four decoder layers of width 64 (two heads of 32, one KV head) and four vision blocks of width
 * 32 whose feed-forward width, 44, is no multiple of 32. Everything about a file stands in a table
 * that a test may change before it is written.
 */
#ifndef TESTS_TINY_MODEL_H
#define TESTS_TINY_MODEL_H

#include "vocabulary.h"

#include <ggml.h>
#include <math.h>
#include <stdbool.h>

#define TINY_LAYERS 4
#define TINY_BLOCKS 4
#ifndef TINY_WIDTH /* a test may want whole blocks of 256 */
#define TINY_WIDTH 64
#define TINY_FF 96
#endif
#define TINY_KV_WIDTH (TINY_WIDTH / 2)
#define TINY_VISION 32
#define TINY_VISION_FF 44
#define TINY_PATCH 14
#define TINY_TOKEN_SIDE 28 /* pixels of a visual token */
#define TINY_MAX_TENSORS 3300

typedef struct tiny_key {
    char name[64];
    uint64_t type, item; /* item: of an array */
    uint64_t n;          /* values */
    double value[8];
    const char *text; /* of a string */
} tiny_key;

typedef struct tiny_tensor {
    char name[64];
    uint32_t n_dims;
    uint64_t ne[4];
    uint32_t type;
    float centre, spread; /* uniform in centre +- spread */
    float poison;         /* 0: none; else every value is this one */
} tiny_tensor;

typedef struct tiny_file {
    tiny_key key[64];
    size_t n_keys;
    tiny_tensor tensor[TINY_MAX_TENSORS];
    size_t n_tensors;
    const vocabulary *words; /* NULL: no tokenizer */
} tiny_file;

/* --- the table ------------------------------------------------------------------ */

static inline tiny_key *tiny_add_key(tiny_file *f, const char *name, uint64_t type)
{
    tiny_key *key = &f->key[f->n_keys++];
    *key = (tiny_key){ .type = type, .n = 1 };
    (void)snprintf(key->name, sizeof key->name, "%s", name);
    return key;
}

static inline void tiny_text_key(tiny_file *f, const char *name, const char *text)
{
    tiny_add_key(f, name, STRING)->text = text;
}

static inline void tiny_number(tiny_file *f, const char *name, uint64_t type, double value)
{
    tiny_add_key(f, name, type)->value[0] = value;
}

static inline void tiny_list(tiny_file *f, const char *name, uint64_t item, uint64_t n,
                             const double *value)
{
    tiny_key *key = tiny_add_key(f, name, ARRAY);
    key->item = item;
    key->n = n;
    for (uint64_t i = 0; i < n; i++) key->value[i] = value[i];
}

/* Biases around 0, norms around 1, matrices so that a product keeps the size of its rows. */
static inline tiny_tensor *tiny_add_tensor(tiny_file *f, const char *pattern, int layer,
                                           uint64_t ne0, uint64_t ne1)
{
    tiny_tensor *t = &f->tensor[f->n_tensors++];
    const char *mark = strstr(pattern, "%d");
    *t = (tiny_tensor){ .n_dims = ne1 ? 2 : 1, .ne = { ne0, ne1 ? ne1 : 1, 1, 1 } };
    if (mark)
        (void)snprintf(t->name, sizeof t->name, "%.*s%d%s", (int)(mark - pattern), pattern, layer,
                       mark + 2);
    else
        (void)snprintf(t->name, sizeof t->name, "%s", pattern);
    const bool is_norm = strstr(pattern, "norm") || strstr(pattern, "ln");
    t->centre = is_norm ? 1.0f : 0.0f;
    t->spread = ne1 ? sqrtf(3.0f / (float)ne0) : 0.2f;
    return t;
}

static inline tiny_key *tiny_find_key(tiny_file *f, const char *name)
{
    for (size_t i = 0; i < f->n_keys; i++)
        if (strcmp(f->key[i].name, name) == 0) return &f->key[i];
    abort();
}

static inline tiny_tensor *tiny_find_tensor(tiny_file *f, const char *name)
{
    for (size_t i = 0; i < f->n_tensors; i++)
        if (strcmp(f->tensor[i].name, name) == 0) return &f->tensor[i];
    abort();
}

static inline void tiny_drop_key(tiny_file *f, size_t index)
{
    f->n_keys--;
    memmove(&f->key[index], &f->key[index + 1], (f->n_keys - index) * sizeof *f->key);
}

static inline void tiny_drop_tensor(tiny_file *f, size_t index)
{
    f->n_tensors--;
    memmove(&f->tensor[index], &f->tensor[index + 1], (f->n_tensors - index) * sizeof *f->tensor);
}

/* --- the two files --------------------------------------------------------------- */

static inline void tiny_text(tiny_file *f, const vocabulary *words, int n_layers)
{
    const uint64_t n = TINY_WIDTH, kv = TINY_KV_WIDTH, ff = TINY_FF;
    *f = (tiny_file){ .words = words };
    tiny_text_key(f, "general.architecture", "qwen2vl");
    tiny_text_key(f, "general.name", "tiny");
    tiny_number(f, "qwen2vl.block_count", U32, n_layers);
    tiny_number(f, "qwen2vl.context_length", U32, 4096);
    tiny_number(f, "qwen2vl.embedding_length", U32, (double)n);
    tiny_number(f, "qwen2vl.feed_forward_length", U32, (double)ff);
    tiny_number(f, "qwen2vl.attention.head_count", U32, 2);
    tiny_number(f, "qwen2vl.attention.head_count_kv", U32, 1);
    tiny_list(f, "qwen2vl.rope.dimension_sections", I32, 4,
              (const double[]){ kv / 8, kv / 2 - kv / 8 - kv * 3 / 16, kv * 3 / 16, 0 });
    tiny_number(f, "qwen2vl.rope.freq_base", F32, 1e6);
    tiny_number(f, "qwen2vl.attention.layer_norm_rms_epsilon", F32, 1e-6);

    tiny_add_tensor(f, "token_embd.weight", 0, n, N_VOCABULARY)->spread = 1.0f;
    for (int i = 0; i < n_layers; i++) {
        tiny_add_tensor(f, "blk.%d.attn_norm.weight", i, n, 0);
        tiny_add_tensor(f, "blk.%d.attn_q.weight", i, n, n);
        tiny_add_tensor(f, "blk.%d.attn_k.weight", i, n, kv);
        tiny_add_tensor(f, "blk.%d.attn_v.weight", i, n, kv);
        tiny_add_tensor(f, "blk.%d.attn_q.bias", i, n, 0);
        tiny_add_tensor(f, "blk.%d.attn_k.bias", i, kv, 0);
        tiny_add_tensor(f, "blk.%d.attn_v.bias", i, kv, 0);
        tiny_add_tensor(f, "blk.%d.attn_output.weight", i, n, n);
        tiny_add_tensor(f, "blk.%d.ffn_norm.weight", i, n, 0);
        tiny_add_tensor(f, "blk.%d.ffn_gate.weight", i, n, ff);
        tiny_add_tensor(f, "blk.%d.ffn_up.weight", i, n, ff);
        tiny_add_tensor(f, "blk.%d.ffn_down.weight", i, ff, n);
    }
    tiny_add_tensor(f, "output_norm.weight", 0, n, 0);
    tiny_add_tensor(f, "output.weight", 0, n, N_VOCABULARY);
}

static inline void tiny_mmproj(tiny_file *f, int n_blocks)
{
    const uint64_t n = TINY_VISION, ff = TINY_VISION_FF, wide = (uint64_t)TINY_VISION * 4;
    *f = (tiny_file){ .words = NULL };
    tiny_text_key(f, "general.architecture", "clip");
    tiny_text_key(f, "clip.projector_type", "qwen2.5vl_merger");
    tiny_number(f, "clip.vision.block_count", U32, n_blocks);
    tiny_number(f, "clip.vision.embedding_length", U32, (double)n);
    tiny_number(f, "clip.vision.attention.head_count", U32, 2);
    tiny_number(f, "clip.vision.patch_size", U32, TINY_PATCH);
    tiny_number(f, "clip.vision.projection_dim", U32, TINY_WIDTH);
    tiny_number(f, "clip.vision.n_wa_pattern", U32, 2);
    tiny_number(f, "clip.vision.attention.layer_norm_epsilon", F32, 1e-6);
    tiny_list(f, "clip.vision.image_mean", F32, 3, (const double[]){ 0.48, 0.46, 0.41 });
    tiny_list(f, "clip.vision.image_std", F32, 3, (const double[]){ 0.27, 0.26, 0.28 });

    for (int i = 0; i < 2; i++) {
        tiny_tensor *t =
            tiny_add_tensor(f, i ? "v.patch_embd.weight.1" : "v.patch_embd.weight", 0, 1, 1);
        *t = (tiny_tensor){ .n_dims = 4, .ne = { TINY_PATCH, TINY_PATCH, 3, n }, .spread = 0.05f };
        (void)snprintf(t->name, sizeof t->name, "v.patch_embd.weight%s", i ? ".1" : "");
    }
    for (int i = 0; i < n_blocks; i++) {
        tiny_add_tensor(f, "v.blk.%d.ln1.weight", i, n, 0);
        tiny_add_tensor(f, "v.blk.%d.ln2.weight", i, n, 0);
        tiny_add_tensor(f, "v.blk.%d.attn_q.weight", i, n, n);
        tiny_add_tensor(f, "v.blk.%d.attn_k.weight", i, n, n);
        tiny_add_tensor(f, "v.blk.%d.attn_v.weight", i, n, n);
        tiny_add_tensor(f, "v.blk.%d.attn_out.weight", i, n, n);
        tiny_add_tensor(f, "v.blk.%d.attn_q.bias", i, n, 0);
        tiny_add_tensor(f, "v.blk.%d.attn_k.bias", i, n, 0);
        tiny_add_tensor(f, "v.blk.%d.attn_v.bias", i, n, 0);
        tiny_add_tensor(f, "v.blk.%d.attn_out.bias", i, n, 0);
        tiny_add_tensor(f, "v.blk.%d.ffn_gate.weight", i, n, ff);
        tiny_add_tensor(f, "v.blk.%d.ffn_gate.bias", i, ff, 0);
        tiny_add_tensor(f, "v.blk.%d.ffn_up.weight", i, n, ff);
        tiny_add_tensor(f, "v.blk.%d.ffn_up.bias", i, ff, 0);
        tiny_add_tensor(f, "v.blk.%d.ffn_down.weight", i, ff, n);
        tiny_add_tensor(f, "v.blk.%d.ffn_down.bias", i, n, 0);
    }
    tiny_add_tensor(f, "v.post_ln.weight", 0, n, 0);
    tiny_add_tensor(f, "mm.0.weight", 0, wide, wide);
    tiny_add_tensor(f, "mm.0.bias", 0, wide, 0);
    tiny_add_tensor(f, "mm.2.weight", 0, wide, TINY_WIDTH);
    tiny_add_tensor(f, "mm.2.bias", 0, TINY_WIDTH, 0);
}

/* --- bytes ------------------------------------------------------------------------ */

static inline void tiny_put_value(writer *w, uint64_t type, double value)
{
    static const size_t width[] = { 1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8 };
    if (type == F32)
        put(w, float_bits((float)value), 4);
    else if (type == F64)
        put(w, double_bits(value), 8);
    else
        put(w, (uint64_t)(int64_t)value, width[type]);
}

static inline void tiny_put_key(writer *w, const tiny_key *key)
{
    if (key->type == STRING) {
        put_text_key(w, key->name, key->text);
        return;
    }
    if (key->type == ARRAY)
        put_array(w, key->name, key->item, key->n);
    else
        put_key(w, key->name, key->type);
    for (uint64_t i = 0; i < key->n; i++)
        tiny_put_value(w, key->type == ARRAY ? key->item : key->type, key->value[i]);
}

/* Six keys. */
static inline void tiny_put_words(writer *w, const vocabulary *v)
{
    put_text_key(w, "tokenizer.ggml.model", "gpt2");
    put_text_key(w, "tokenizer.ggml.pre", "qwen2");
    put_number(w, "tokenizer.ggml.eos_token_id", U32, (uint64_t)v->eos, 4);
    put_array(w, "tokenizer.ggml.tokens", STRING, v->n_tokens);
    for (size_t i = 0; i < v->n_tokens; i++) put_string(w, v->token[i], strlen(v->token[i]));
    put_array(w, "tokenizer.ggml.token_type", I32, v->n_tokens);
    for (size_t i = 0; i < v->n_tokens; i++) put(w, (uint32_t)v->type[i], 4);
    put_array(w, "tokenizer.ggml.merges", STRING, v->n_merges);
    for (size_t i = 0; i < v->n_merges; i++) put_string(w, v->merge[i], strlen(v->merge[i]));
}

static inline size_t tiny_bytes(const tiny_tensor *t)
{
    return ggml_row_size((enum ggml_type)t->type, (int64_t)t->ne[0]) *
           (size_t)(t->ne[1] * t->ne[2] * t->ne[3]);
}

/* The values depend on the tensor's name alone, so a file with one change differs there only. */
static inline void tiny_put_data(writer *w, const tiny_tensor *t)
{
    const size_t n = (size_t)(t->ne[0] * t->ne[1] * t->ne[2] * t->ne[3]), n_bytes = tiny_bytes(t);
    if (t->type == GGML_TYPE_I32) {
        put_zeros(w, n_bytes);
        return;
    }
    uint32_t state = 2166136261u;
    for (const char *c = t->name; *c; c++) state = (state ^ (uint8_t)*c) * 16777619u;
    float *value = malloc(n * sizeof *value);
    uint8_t *bytes = malloc(n_bytes);
    if (!value || !bytes) abort();
    for (size_t i = 0; i < n; i++) {
        state = state * 1664525u + 1013904223u;
        const float uniform = (float)(state >> 8) / (float)(1 << 23) - 1.0f;
        value[i] = t->poison == 0.0f ? t->centre + t->spread * uniform : t->poison;
    }
    if (t->type == GGML_TYPE_F32)
        memcpy(bytes, value, n_bytes);
    else
        (void)ggml_quantize_chunk((enum ggml_type)t->type, value, bytes, 0, (int64_t)(n / t->ne[0]),
                                  (int64_t)t->ne[0], NULL);
    put_bytes(w, bytes, n_bytes);
    free(bytes);
    free(value);
}

static inline void tiny_write(const tiny_file *f, const char *path)
{
    writer w = { .data = NULL };
    put_start(&w, 3, f->n_tensors, f->n_keys + (f->words ? 6 : 0));
    for (size_t i = 0; i < f->n_keys; i++) tiny_put_key(&w, &f->key[i]);
    if (f->words) tiny_put_words(&w, f->words);
    uint64_t offset = 0;
    for (size_t i = 0; i < f->n_tensors; i++) {
        const tiny_tensor *t = &f->tensor[i];
        put_tensor(&w, t->name, t->n_dims, t->ne, t->type, offset);
        offset += (tiny_bytes(t) + 31) / 32 * 32;
    }
    put_padding(&w, 32);
    for (size_t i = 0; i < f->n_tensors; i++) {
        tiny_put_data(&w, &f->tensor[i]);
        put_padding(&w, 32);
    }
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(w.data, 1, w.n, file) != w.n || fclose(file) != 0) abort();
    free(w.data);
}

#endif /* TESTS_TINY_MODEL_H */
