/* tiny_llava.h - a LLaVA-OneVision pair with seeded random weights.
 *
 * The decoder is the one of tiny_model.h with plain positions. Views of 60x60 pixels have 4x4
 * tokens, and 4 pixels nobody sees; heads of 24 and a feed-forward width of 44 both need padding.
 */
#ifndef TESTS_TINY_LLAVA_H
#define TESTS_TINY_LLAVA_H

#include "tiny_run.h"

#define LLAVA_IMAGE 60
#define LLAVA_SIDE 4
#define LLAVA_TOKENS 16
#define LLAVA_VISION 48
#define LLAVA_HEADS 2
#define LLAVA_FF 44
#define LLAVA_BLOCKS 2

static inline void llava_text_of(tiny_file *f, int n_layers)
{
    tiny_text(f, &tiny_words, n_layers);
    tiny_find_key(f, "general.architecture")->text = "qwen2";
    for (size_t i = 0; i < f->n_keys; i++) {
        char *name = f->key[i].name;
        if (strncmp(name, "qwen2vl.", 8) == 0) memmove(name + 5, name + 7, strlen(name + 7) + 1);
        if (strcmp(name, "qwen2.rope.dimension_sections") == 0) tiny_drop_key(f, i--);
    }
}

static inline void llava_text(tiny_file *f) { llava_text_of(f, TINY_LAYERS); }

static inline void llava_block(tiny_file *f, int i)
{
    const uint64_t n = LLAVA_VISION, ff = LLAVA_FF;
    static const char *const square[] = { "attn_q", "attn_k", "attn_v", "attn_out" };
    char name[64];
    for (int m = 0; m < 4; m++) {
        (void)snprintf(name, sizeof name, "v.blk.%d.%s.weight", i, square[m]);
        tiny_add_tensor(f, name, 0, n, n);
        (void)snprintf(name, sizeof name, "v.blk.%d.%s.bias", i, square[m]);
        tiny_add_tensor(f, name, 0, n, 0);
    }
    tiny_add_tensor(f, "v.blk.%d.ln1.weight", i, n, 0);
    tiny_add_tensor(f, "v.blk.%d.ln2.weight", i, n, 0);
    tiny_add_tensor(f, "v.blk.%d.ln1.bias", i, n, 0)->centre = 0.0f;
    tiny_add_tensor(f, "v.blk.%d.ln2.bias", i, n, 0)->centre = 0.0f;
    tiny_add_tensor(f, "v.blk.%d.ffn_up.weight", i, n, ff)->spread = 0.5f; /* GELU bends */
    tiny_add_tensor(f, "v.blk.%d.ffn_up.bias", i, ff, 0);
    tiny_add_tensor(f, "v.blk.%d.ffn_down.weight", i, ff, n);
    tiny_add_tensor(f, "v.blk.%d.ffn_down.bias", i, n, 0);
}

static inline void llava_mmproj(tiny_file *f)
{
    const uint64_t n = LLAVA_VISION;
    *f = (tiny_file){ .words = NULL };
    tiny_text_key(f, "general.architecture", "clip");
    tiny_text_key(f, "clip.projector_type", "mlp");
    tiny_number(f, "clip.use_gelu", BOOL, 1);
    tiny_number(f, "clip.vision.block_count", U32, LLAVA_BLOCKS);
    tiny_number(f, "clip.vision.embedding_length", U32, (double)n);
    tiny_number(f, "clip.vision.attention.head_count", U32, LLAVA_HEADS);
    tiny_number(f, "clip.vision.patch_size", U32, TINY_PATCH);
    tiny_number(f, "clip.vision.image_size", U32, LLAVA_IMAGE);
    tiny_number(f, "clip.vision.projection_dim", U32, TINY_WIDTH);
    tiny_number(f, "clip.vision.attention.layer_norm_epsilon", F32, 1e-6);
    tiny_list(f, "clip.vision.image_mean", F32, 3, (const double[]){ 0.5, 0.5, 0.5 });
    tiny_list(f, "clip.vision.image_std", F32, 3, (const double[]){ 0.5, 0.5, 0.5 });
    tiny_list(f, "clip.vision.feature_layer", I32, 1, (const double[]){ LLAVA_BLOCKS });

    tiny_tensor *kernel = tiny_add_tensor(f, "v.patch_embd.weight", 0, 1, 1);
    kernel->n_dims = 4;
    kernel->spread = 0.05f;
    memcpy(kernel->ne, (const uint64_t[]){ TINY_PATCH, TINY_PATCH, 3, n }, sizeof kernel->ne);
    tiny_add_tensor(f, "v.patch_embd.bias", 0, n, 0);
    tiny_add_tensor(f, "v.position_embd.weight", 0, n, LLAVA_TOKENS)->spread = 0.5f;
    for (int i = 0; i < LLAVA_BLOCKS; i++) llava_block(f, i);
    tiny_add_tensor(f, "mm.0.weight", 0, n, TINY_WIDTH);
    tiny_add_tensor(f, "mm.0.bias", 0, TINY_WIDTH, 0);
    tiny_add_tensor(f, "mm.2.weight", 0, TINY_WIDTH, TINY_WIDTH);
    tiny_add_tensor(f, "mm.2.bias", 0, TINY_WIDTH, 0);
    tiny_add_tensor(f, "v.image_newline", 0, TINY_WIDTH, 0)->spread = 1.0f;
}

/* A question about one picture of this size. */
static inline question llava_question(const char *method, int32_t budget, int32_t width,
                                      int32_t height, s2v_framing view)
{
    static uint8_t pixels[400 * 400 * 3];
    question q = { .raw = "hello world <image> aaaa bcd", .n_images = 1 };
    q.image[0] = make_picture(pixels, width, height, 5);
    for (int i = 0; i < MAX_QUESTION_IMAGES; i++) s2v_image_options_init(&q.size[i]);
    q.size[0].framing = view;
    s2v_prune_options_init(&q.prune);
    q.prune.method = method;
    q.prune.budget.tokens = budget;
    return q;
}

#endif /* TESTS_TINY_LLAVA_H */
