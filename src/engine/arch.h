/* arch.h - what a model architecture is: how to load it, how to see with it.
 *
 * One file in archs/ and one line in arch_table.c each. An architecture draws;
 * graph.c allocates and computes. The decoder is shared (decoder.c).
 */
#ifndef S2_ENGINE_ARCH_H
#define S2_ENGINE_ARCH_H

#include "engine/graph.h"
#include "engine/model.h"

#define S2V_WINDOW_KINDS 4 /* whole, cut at the right, cut at the bottom, cut at both */

typedef struct s2v_frame { /* one picture as the tower wants it; owned arrays */
    int32_t width, height; /* pixels after resizing */
    s2p_grid grid;         /* tokens the decoder will see */
    int32_t n_patches;
    float *patches;  /* [n_patches][patch_row] in the tower's order */
    int32_t *pos;    /* [4][n_patches] row, column, row, column */
    int32_t *raster; /* [tokens] where each raster token stands in the tower's order */
    int32_t n_windows[S2V_WINDOW_KINDS];      /* attention windows of each kind, in this order */
    int32_t window_patches[S2V_WINDOW_KINDS]; /* patches in one of them */
} s2v_frame;

void s2v_frame_free(s2v_frame *frame);

struct s2v_arch {
    const char *name;      /* general.architecture of the text model */
    const char *projector; /* clip.projector_type of the mmproj */
    const char *template_name;
    s2p_status (*load)(s2v_model *model, s2v_loader *loader, s2v_gguf *text, s2v_gguf *mmproj,
                       int32_t gpu_layers, s2p_error *error);
    s2p_status (*frame)(const s2v_model *model, const s2p_image *image,
                        const s2v_image_options *options, s2v_frame *out, s2p_error *error);
    /* Visual rows [n_embd, tokens] in raster order. */
    struct ggml_tensor *(*vision)(s2v_graph *graph, const s2v_model *model, const s2v_frame *frame);
};

/* By the architecture of the text model and the projector of the mmproj; NULL when unknown. */
const s2v_arch *s2v_arch_find(s2v_text name, s2v_text projector);

/* Names for the sentence when nothing fits; NULL past the end. */
const s2v_arch *s2v_arch_at(size_t index);

#endif /* S2_ENGINE_ARCH_H */
