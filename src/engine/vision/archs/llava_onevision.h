/* llava_onevision.h - the towers of LLaVA-OneVision and LLaVA-1.5: s2v_model.own of such a model. */
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
    struct ggml_tensor *class_embd, *pre_norm, *pre_norm_bias; /* CLIP only */
    s2v_activation activation;
    s2v_merger merger;
    llava_block block[]; /* [n_blocks] */
} llava_tower;

/* The tower of an mmproj, after the decoder. is_clip: a class row, a norm before the blocks and quick
 * GELU, as LLaVA-1.5 has; otherwise SigLIP. */
s2p_status s2v_llava_load_tower(s2v_model *model, s2v_loader *loader, s2v_gguf *mmproj,
                                bool is_clip, s2p_error *error);

/* As s2v_arch.vision. */
struct ggml_tensor *s2v_llava_vision(s2v_graph *graph, const s2v_model *model,
                                     const s2v_frame *frame, int32_t view,
                                     s2v_tower_request *request);

#endif /* S2_ENGINE_LLAVA_ONEVISION_H */
