/* tiny_gemma.h - a Gemma 3 pair with seeded random weights.
 *
 * The decoder of tiny_model.h without biases, with norms of heads and of what a layer adds; five of its six
 * layers see a window of 12 positions, which is less than the 4x4 tokens of a picture. The tower of
 * tiny_llava.h on 8x8 patches, of which 2x2 become a token.
 */
#ifndef TESTS_TINY_GEMMA_H
#define TESTS_TINY_GEMMA_H

#include "tiny_tiles.h"

#define GEMMA_LAYERS 6
#define GEMMA_WINDOW 12
#define GEMMA_IMAGE 112
#define GEMMA_PATCHES 64
#define GEMMA_TOKENS 16

static inline void gemma_text_of(tiny_file *f, int n_layers)
{
    tiles_text(f, n_layers, "qwen3");
    tiny_find_key(f, "general.architecture")->text = "gemma3";
    for (size_t i = 0; i < f->n_keys; i++) {
        char *name = f->key[i].name;
        if (strncmp(name, "qwen3.", 6) != 0) continue;
        memmove(name + 7, name + 6, strlen(name + 6) + 1);
        memcpy(name, "gemma3.", 7);
    }
    tiny_number(f, "gemma3.attention.key_length", U32, TINY_WIDTH / 2);
    tiny_number(f, "gemma3.attention.sliding_window", U32, GEMMA_WINDOW);
    tiny_text_key(f, "gemma3.rope.scaling.type", "linear");
    tiny_number(f, "gemma3.rope.scaling.factor", F32, 8);
    for (int i = 0; i < n_layers; i++) {
        tiny_add_tensor(f, "blk.%d.attn_q_norm.weight", i, TINY_WIDTH / 2, 0);
        tiny_add_tensor(f, "blk.%d.attn_k_norm.weight", i, TINY_WIDTH / 2, 0);
        tiny_add_tensor(f, "blk.%d.post_attention_norm.weight", i, TINY_WIDTH, 0);
        tiny_add_tensor(f, "blk.%d.post_ffw_norm.weight", i, TINY_WIDTH, 0);
    }
}

static inline void gemma_text(tiny_file *f) { gemma_text_of(f, GEMMA_LAYERS); }

static inline void gemma_mmproj(tiny_file *f)
{
    tiles_mmproj(f, "gemma3", GEMMA_PATCHES);
    tiny_find_key(f, "clip.vision.image_size")->value[0] = GEMMA_IMAGE;
    tiny_add_tensor(f, "v.post_ln.weight", 0, LLAVA_VISION, 0);
    tiny_add_tensor(f, "v.post_ln.bias", 0, LLAVA_VISION, 0)->centre = 0.0f;
    tiny_add_tensor(f, "mm.soft_emb_norm.weight", 0, LLAVA_VISION, 0);
    tiny_add_tensor(f, "mm.input_projection.weight", 0, TINY_WIDTH, LLAVA_VISION);
}

#endif /* TESTS_TINY_GEMMA_H */
