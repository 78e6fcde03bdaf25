/* llava_onevision.h - sizes and weights of LLaVA-OneVision's tower: s2v_model.own of such a model. */
#ifndef S2_ENGINE_LLAVA_ONEVISION_H
#define S2_ENGINE_LLAVA_ONEVISION_H

#include "engine/vision/archs/tower.h"

typedef struct llava_block {
    s2v_block base;
    struct ggml_tensor *norm1_bias, *norm2_bias;
    s2v_packed_block packed; /* instead of all of these, on the tower's own kernels */
} llava_block;

typedef struct llava_tower {
    int32_t image, side; /* pixels and tokens per side of a view */
    s2v_heads heads;
    s2v_windows whole;              /* the patches of a view */
    bool has_tiles;                 /* views of tiles come in OneVision's 36 sizes */
    struct ggml_tensor *patch_embd; /* F32 [patch_row, n_embd] */
    struct ggml_tensor *patch_bias, *pos_embd;
    s2v_merger merger;
    llava_block block[]; /* [n_blocks] */
} llava_tower;

#endif /* S2_ENGINE_LLAVA_ONEVISION_H */
