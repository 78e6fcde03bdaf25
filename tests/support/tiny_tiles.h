/* tiny_tiles.h - InternVL3, InternVL3.5, SmolVLM and LLaVA-1.5 pairs with seeded random weights.
 *
 * Views of 56x56 pixels have 4x4 patches and 2x2 tokens, with LLaVA-1.5 4x4. The towers are tiny_llava.h's
 * with what they add; the decoders are its decoder, and that without biases under another name.
 */
#ifndef TESTS_TINY_TILES_H
#define TESTS_TINY_TILES_H

#include "tiny_llava.h"

#define TILE 56
#define TILE_PATCHES 16
#define TILE_TOKENS 4
#define TILE_WIDE (4 * LLAVA_VISION) /* of a token before the projector */

/* Special tokens take the place of fillers. */
static inline void tiles_words(vocabulary *v)
{
    static const char *const names[] = {
        "<img>",
        "</img>",
        "<fake_token_around_image>",
        "<global-img>",
        "<row_1_col_1>",
        "<row_1_col_2>",
        "<row_2_col_1>",
        "<row_2_col_2>",
        "<end_of_utterance>",
        "<start_of_image>",
        "<end_of_image>",
        "<start_of_turn>",
        "<end_of_turn>",
        "<think>",
        "</think>",
    };
    vocabulary_init(v);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)snprintf(v->token[N_VOCABULARY - 1 - i], sizeof v->token[0], "%s", names[i]);
        v->type[N_VOCABULARY - 1 - i] = S2V_TOKEN_CONTROL;
    }
}

static inline void tiles_drop(tiny_file *f, const char *name)
{
    tiny_drop_tensor(f, (size_t)(tiny_find_tensor(f, name) - f->tensor));
}

/* What both have. */
static inline void tiles_mmproj(tiny_file *f, const char *projector, uint64_t n_positions)
{
    static const char *const dropped[] = { "mm.0.weight", "mm.0.bias", "mm.2.weight", "mm.2.bias",
                                           "v.image_newline" };
    llava_mmproj(f);
    tiny_find_key(f, "clip.projector_type")->text = projector;
    tiny_find_key(f, "clip.vision.image_size")->value[0] = TILE;
    tiny_find_tensor(f, "v.position_embd.weight")->ne[1] = n_positions;
    tiny_drop_key(f, (size_t)(tiny_find_key(f, "clip.vision.feature_layer") - f->key));
    tiny_number(f, "clip.vision.projector.scale_factor", U32, 2);
    for (size_t i = 0; i < sizeof dropped / sizeof *dropped; i++) tiles_drop(f, dropped[i]);
}

static inline void internvl_mmproj(tiny_file *f)
{
    tiles_mmproj(f, "internvl", TILE_PATCHES + 1);
    tiny_add_tensor(f, "v.class_embd", 0, LLAVA_VISION, 0)->spread = 0.5f;
    for (int i = 0; i < LLAVA_BLOCKS; i++) {
        tiny_add_tensor(f, "v.blk.%d.ls1.weight", i, LLAVA_VISION, 0)->spread = 0.8f;
        tiny_add_tensor(f, "v.blk.%d.ls2.weight", i, LLAVA_VISION, 0)->spread = 0.8f;
    }
    tiny_add_tensor(f, "mm.model.mlp.0.weight", 0, TILE_WIDE, 0)->centre = 1.0f;
    tiny_add_tensor(f, "mm.model.mlp.0.bias", 0, TILE_WIDE, 0);
    tiny_add_tensor(f, "mm.model.mlp.1.weight", 0, TILE_WIDE, TINY_WIDTH);
    tiny_add_tensor(f, "mm.model.mlp.1.bias", 0, TINY_WIDTH, 0);
    tiny_add_tensor(f, "mm.model.mlp.3.weight", 0, TINY_WIDTH, TINY_WIDTH);
    tiny_add_tensor(f, "mm.model.mlp.3.bias", 0, TINY_WIDTH, 0);
}

static inline void smolvlm_mmproj(tiny_file *f)
{
    tiles_mmproj(f, "idefics3", TILE_PATCHES);
    tiny_number(f, "clip.vision.preproc_image_size", U32, 2 * TILE);
    tiny_add_tensor(f, "v.post_ln.weight", 0, LLAVA_VISION, 0);
    tiny_add_tensor(f, "v.post_ln.bias", 0, LLAVA_VISION, 0)->centre = 0.0f;
    tiny_add_tensor(f, "mm.model.fc.weight", 0, TILE_WIDE, TINY_WIDTH);
}

/* The decoder without biases, under a name of five letters. */
static inline void tiles_text(tiny_file *f, int n_layers, const char *name)
{
    static const char *const dropped[] = { "attn_q.bias", "attn_k.bias", "attn_v.bias" };
    llava_text_of(f, n_layers);
    tiny_find_key(f, "general.architecture")->text = name;
    for (size_t i = 0; i < f->n_keys; i++)
        if (strncmp(f->key[i].name, "qwen2.", 6) == 0) memcpy(f->key[i].name, name, 5);
    for (int i = 0; i < 3 * n_layers; i++) {
        char tensor[64];
        (void)snprintf(tensor, sizeof tensor, "blk.%d.%s", i / 3, dropped[i % 3]);
        tiles_drop(f, tensor);
    }
}

static inline void smolvlm_text(tiny_file *f, int n_layers) { tiles_text(f, n_layers, "llama"); }

/* Norms of heads, whose width is a key. */
static inline void internvl3_5_text(tiny_file *f, int n_layers)
{
    tiles_text(f, n_layers, "qwen3");
    tiny_number(f, "qwen3.attention.key_length", U32, TINY_WIDTH / 2);
    for (int i = 0; i < n_layers; i++) {
        tiny_add_tensor(f, "blk.%d.attn_q_norm.weight", i, TINY_WIDTH / 2, 0);
        tiny_add_tensor(f, "blk.%d.attn_k_norm.weight", i, TINY_WIDTH / 2, 0);
    }
}

/* CLIP: a class row, a norm before the first block, quick GELU. */
static inline void llava15_mmproj(tiny_file *f)
{
    llava_mmproj(f);
    tiny_find_key(f, "clip.use_gelu")->value[0] = 0;
    tiny_find_key(f, "clip.vision.image_size")->value[0] = TILE;
    tiny_find_tensor(f, "v.position_embd.weight")->ne[1] = TILE_PATCHES + 1;
    tiles_drop(f, "v.patch_embd.bias");
    tiles_drop(f, "v.image_newline");
    tiny_add_tensor(f, "v.class_embd", 0, LLAVA_VISION, 0)->spread = 0.5f;
    tiny_add_tensor(f, "v.pre_ln.weight", 0, LLAVA_VISION, 0);
    tiny_add_tensor(f, "v.pre_ln.bias", 0, LLAVA_VISION, 0)->centre = 0.0f;
}

#endif /* TESTS_TINY_TILES_H */
