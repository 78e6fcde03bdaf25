/* arch.h - what a model architecture is: how to load it, how to see with it.
 *
 * One file in archs/ and one line in arch_table.c each. An architecture draws;
 * graph.c allocates and computes. The decoder is shared (decoder.c).
 */
#ifndef S2_ENGINE_ARCH_H
#define S2_ENGINE_ARCH_H

#include "engine/model/graph.h"
#include "engine/model/model.h"
#include "image/image.h"

#define S2V_WINDOW_KINDS 4 /* whole, cut at the right, cut at the bottom, cut at both */
#define S2V_MAX_PARTS 2    /* the whole picture, and the same in tiles */
#define S2V_MAX_PEEKS 2    /* blocks of the tower looked into at once */

typedef struct s2v_part { /* tokens that may be pruned: a grid among the rows of a picture */
    s2p_grid grid;
    int32_t first;         /* row of its first token */
    int32_t pitch;         /* rows from one line of the grid to the next */
    int32_t width, height; /* pixels the whole picture had for it */
} s2v_part;

typedef struct s2v_blend { /* weight * token is a share of the row */
    int32_t view, token, row;
    float weight;
} s2v_blend;

/* One picture as the tower wants it and as the decoder gets it; owned arrays. The tokens of view 0
 * are part 0 and the first rows. Other rows are blended from the other views; a row that belongs to
 * no part holds the model's newline and is never pruned. */
typedef struct s2v_frame {
    int32_t n_views;   /* times the tower runs */
    int32_t n_patches; /* of one view */
    float *patches;    /* [n_views][n_patches][patch_row] in the tower's order */
    int32_t *pos;      /* [4][n_patches] row, column, row, column; NULL: the tower knows */
    int32_t *raster; /* [tokens] where each raster token stands in the tower's order; NULL: there */
    int32_t n_windows[S2V_WINDOW_KINDS];      /* attention windows of each kind, in this order */
    int32_t window_patches[S2V_WINDOW_KINDS]; /* patches in one of them */

    int32_t n_rows; /* of the decoder */
    s2v_part part[S2V_MAX_PARTS];
    int32_t n_parts;
    s2v_blend *blend; /* of views 1 and up */
    size_t n_blend;
    s2v_framing framing; /* never S2V_FRAMING_AUTO; S2V_FRAMING_SQUARE: so is structure measured */
} s2v_frame;

void s2v_frame_free(s2v_frame *frame);

/* Where token `t` of a part stands among the rows of its picture. */
static inline int32_t s2v_part_row(const s2v_part *part, int32_t t)
{
    return part->first + t / part->grid.cols * part->pitch + t % part->grid.cols;
}

static inline int32_t s2v_part_tokens(const s2v_part *part)
{
    return part->grid.rows * part->grid.cols;
}

/* The picture in the middle of a square of the tower's mean colour; *out is owned by the caller. */
s2p_status s2v_square(const s2v_model *model, const s2p_image *image, s2_image *out,
                      s2p_error *error);

typedef struct s2v_peek { /* queries and keys of one block: F32, n_embd values for each patch */
    int32_t block;
    struct ggml_tensor *q, *k;   /* as rotated, in the tower's order */
    struct ggml_tensor *plain_k; /* before the rotation; NULL in a tower without one */
    bool is_full;                /* every patch sees every other; else inside its window */
} s2v_peek;

typedef struct s2v_peeks { /* asked for: n and the blocks; the tower fills the rest */
    int32_t n;
    bool wants_plain; /* plain_k too */
    s2v_peek block[S2V_MAX_PEEKS];
} s2v_peeks;

struct s2v_arch {
    const char *title;     /* as people call it */
    const char *name;      /* general.architecture of the text model */
    const char *projector; /* clip.projector_type of the mmproj */
    const char *template_name;
    s2p_status (*load)(s2v_model *model, s2v_loader *loader, s2v_gguf *text, s2v_gguf *mmproj,
                       int32_t gpu_layers, s2p_error *error);
    /* usual: what S2V_FRAMING_AUTO stands for in this prompt. */
    s2p_status (*frame)(const s2v_model *model, const s2p_image *image,
                        const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                        s2p_error *error);
    /* Tokens of one view, [n_embd, tokens] in raster order. peeks: NULL, or blocks whose queries
     * and keys become outputs of the graph. */
    struct ggml_tensor *(*vision)(s2v_graph *graph, const s2v_model *model, const s2v_frame *frame,
                                  int32_t view, s2v_peeks *peeks);
};

/* By the architecture of the text model and the projector of the mmproj; NULL when unknown. */
const s2v_arch *s2v_arch_find(s2v_text name, s2v_text projector);

/* Names for the sentence when nothing fits; NULL past the end. */
const s2v_arch *s2v_arch_at(size_t index);

#endif /* S2_ENGINE_ARCH_H */
