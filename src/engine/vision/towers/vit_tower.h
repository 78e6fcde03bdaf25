/* vit_tower.h - towers with learned positions: CLIP, SigLIP, InternViT. s2v_model.own of such a model. */
#ifndef S2_ENGINE_VIT_TOWER_H
#define S2_ENGINE_VIT_TOWER_H

#include "engine/vision/towers/tower.h"
#include "image/image.h"

typedef struct vit_projector { /* from the rows of a token to the decoder: names of its tensors */
    const char *norm;          /* before it, "%s.weight" and "%s.bias"; NULL: none */
    bool norms_patches;        /* each patch separately, not the row of all patches of a token */
    float norm_eps;            /* 0: the tower's */
    const char *first,
        *second; /* matrices with biases, erf GELU in between; second NULL: one, without */
    const char *
        pooled_norm; /* RMS, of the mean of a token's patches, which takes the place of all of them;
                                `first` is stored with rows and columns exchanged. NULL: not so */
} vit_projector;

typedef struct vit_style { /* how the towers of one kind are built */
    const char *title;
    bool has_class_row; /* before the patches */
    bool has_pre_norm;  /* before the first block */
    bool has_patch_bias;
    bool has_layer_scale; /* what a block adds is multiplied by a vector first */
    bool is_merged; /* clip.vision.projector.scale_factor patches along each side are a token */
    int32_t usual_merge; /* without the key; 0: the key is required */
    bool is_quick;       /* clip.use_gelu is false */
    s2v_activation activation;
    vit_projector projector;
} vit_style;

typedef struct vit_block {
    s2v_block base;
    struct ggml_tensor *norm1_bias, *norm2_bias;
    struct ggml_tensor *scale1, *scale2; /* of what is added; NULL: none */
    s2v_packed_block packed; /* instead of all but the scales, on the tower's own kernels */
} vit_block;

typedef struct vit_tower {
    int32_t image, patches, side; /* pixels, patches and tokens per side of a view */
    s2v_heads heads;
    s2v_windows whole;            /* the patches of a view */
    s2_filter filter;             /* pictures are resized with */
    bool has_tiles;               /* views of tiles come in OneVision's 36 sizes */
    int32_t min_tiles, max_tiles; /* of a picture in tiles: how many in all, */
    int32_t longest;              /* or pixels of its longer side before it is cut */
    vit_style style;
    struct ggml_tensor *patch_embd; /* F32 [patch_row, n_embd] */
    struct ggml_tensor *patch_bias, *pos_embd;
    struct ggml_tensor *class_embd, *pre_norm, *pre_norm_bias; /* NULL: without */
    struct ggml_tensor *merger_norm, *merger_norm_bias;
    struct ggml_tensor *pooled_norm, *pooled; /* pooled: [outputs, n_embd] */
    s2v_merger merger;                        /* of a projector with one matrix: its first half */
    int32_t *order;    /* [rows of a view] their places in pos_embd; NULL: as they are */
    vit_block block[]; /* [n_blocks], then what `order` points to */
} vit_tower;

/* The tower of an mmproj, after the decoder. */
s2p_status s2v_vit_load(s2v_model *model, s2v_loader *loader, s2v_gguf *mmproj,
                        const vit_style *style, s2p_error *error);

/* As s2v_arch.vision. */
struct ggml_tensor *s2v_vit_vision(s2v_graph *graph, const s2v_model *model, const s2v_frame *frame,
                                   int32_t view, s2v_tower_request *request);

/* The view whose first pixel is (top, left), as patches: those of a token are adjacent. */
void s2v_vit_cut_view(const s2v_model *model, const s2p_image *image, int32_t top, int32_t left,
                      float *patches);

/* Memory for the patches of all views of a frame. */
s2p_status s2v_vit_reserve(const s2v_tower *tower, s2v_frame *frame, s2p_error *error);

#endif /* S2_ENGINE_VIT_TOWER_H */
