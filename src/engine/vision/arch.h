/* arch.h - what a model architecture is: loading, vision, decoding.
 *
 * Each has a file in archs/ and a line in arch_table.c. An architecture builds graphs; graph.c allocates
 * and computes. What only one architecture needs is in its own files: its weights in
 * s2v_model.own, its order of patches in s2v_frame.own. Those that run on the shared decoder
 * (draw.c) name its functions; the signals that methods read inside the decoder (decoder_probe.c) are
 * built from the same pieces.
 */
#ifndef S2_ENGINE_ARCH_H
#define S2_ENGINE_ARCH_H

#include "engine/decoder/draw.h"
#include "engine/decoder/positions.h"
#include "engine/decoder/rows.h"
#include "engine/products/tower_nodes.h"
#include "engine/vision/frame.h"
#include "image/geometry.h"
#include "image/image.h"
#include "text/tokenizer.h"

#define S2V_MAX_TOWER_BLOCKS 2 /* of the tower probed at once */

_Static_assert(S2V_UNITS_OF_A_PICTURE == S2V_MAX_PARTS, "a unit is a part of a picture");

typedef struct s2v_tower { /* what all vision towers have; the rest belongs to the architecture */
    int32_t n_blocks, n_embd, n_ff, n_heads, head_dim, n_out;
    int32_t patch, merge; /* pixels per patch side, patches per token side */
    int32_t patch_values; /* 3 * patch * patch */
    int32_t patch_row;    /* the same, padded */
    float eps, mean[3], std[3];
    int64_t min_pixels, max_pixels; /* of a picture by default; 0: it has one size */
    int64_t file_max_pixels;        /* max_pixels in the file; 0: not given */
    const s2v_kernels *kernels;     /* its products and attention; NULL: ggml's operators */
    bool on_device;                 /* its weights are on the main device */
    bool is_fused;                  /* queries, keys and values are one matrix in the file */
    bool has_class_row;             /* before the patches; its attention is that of the patches */
    struct ggml_tensor *newline;    /* [n_out] for newline rows of a picture; NULL: none */
} s2v_tower;

typedef struct s2v_arch s2v_arch;

typedef struct s2v_model {
    const s2v_arch *arch;
    s2v_decoder decoder;
    s2v_tower tower;
    const s2v_tokenizer *tokenizer; /* the engine's, for text between tiles */
    void *own; /* sizes and weights known only to its architecture: one block of memory, owned */
} s2v_model;

void s2v_model_free(s2v_model *model); /* the arrays; tensors belong to the weights */

typedef struct s2v_tower_qk { /* queries and keys of one block: F32, n_embd values for each patch */
    int32_t block;
    struct ggml_tensor *q, *k;   /* as rotated, in the tower's order */
    struct ggml_tensor *plain_k; /* before RoPE; NULL in a tower without it */
    const s2v_windows *windows;  /* in which the block attends; NULL: everywhere */
} s2v_tower_qk;

typedef struct
    s2v_tower_stage { /* rows on their way through the tower, in its order; a class row first */
    const char *name; /* as in prompt/trace.h */
    int32_t index;    /* of a block */
    struct ggml_tensor *rows;
} s2v_tower_stage;

typedef struct s2v_tower_request { /* the caller sets n and the blocks; the tower fills the rest */
    int32_t n;
    bool wants_plain; /* plain_k too */
    s2v_tower_qk block[S2V_MAX_TOWER_BLOCKS];
    s2v_tower_stage *stage; /* [s2v_tower_stages] for a trace; NULL: not requested */
    int32_t n_stages;       /* filled */
    struct ggml_tensor
        *deepstack[S2V_MAX_DEEPSTACK]; /* [n_embd, tokens] in raster order, what decoder
                                                         layer i adds to them */
    const int32_t *raster; /* [tokens] the place of each raster token in the tower's order; NULL: in
                              raster order. The patches of a token are adjacent */
} s2v_tower_request;

struct s2v_arch {
    const char *title;       /* display name */
    const char *name;        /* general.architecture of the text model */
    const char *projector;   /* clip.projector_type of the mmproj */
    const char *chat_format; /* of text/template.h */
    bool
        has_class_row; /* its tower has v.class_embd, which distinguishes mmproj files of one projector */
    bool skips_tokens; /* tokens can be dropped before its tower: s2v_image_options.before_tower */
    bool any_size;     /* its tower accepts pictures of any size: s2v_image_options.width */

    s2p_status (*load)(s2v_model *model, s2v_loader *loader, s2v_gguf *text, s2v_gguf *mmproj,
                       int32_t gpu_layers, s2p_error *error);

    /* What S2V_FRAMING_AUTO stands for in a prompt; NULL: always S2V_FRAMING_BASE. */
    s2v_framing (*usual_framing)(int32_t n_images, bool is_pruned);

    /* usual: what S2V_FRAMING_AUTO stands for here. A picture without pixels gets only its grids and
     * rows, to count tokens. */
    s2p_status (*frame)(const s2v_model *model, const s2p_image *image,
                        const s2v_image_options *options, s2v_framing usual, s2v_frame *out,
                        s2p_error *error);

    /* The picture as a framing shows it before resizing, on which structure is measured: *size,
     * and its pixels in `out` unless that is NULL (owned by the caller; left empty where it is the
     * source itself). NULL: always the source. */
    s2p_status (*measured)(const s2v_model *model, s2v_framing framing, const s2p_image *source,
                           s2_size *size, s2_image *out, s2p_error *error);

    /* Tokens of one view, [n_embd, tokens] in raster order. Queries and keys of the blocks asked
     * for become outputs of the graph. */
    struct ggml_tensor *(*vision)(s2v_graph *graph, const s2v_model *model, const s2v_frame *frame,
                                  int32_t view, s2v_tower_request *request);

    /* The positions of the rows of a prompt; as in positions.h. */
    int32_t (*positions)(const s2v_segment *segment, size_t n_segments, int32_t *const pos[3]);

    /* Decoder layers [first, last) and the logits; as in decoder.h. */
    struct ggml_tensor *(*layers)(s2v_graph *graph, const s2v_decoder *decoder, s2v_past *past,
                                  struct ggml_tensor *h, const s2v_span *span, int32_t first,
                                  int32_t last);
    struct ggml_tensor *(*head)(s2v_graph *graph, const s2v_decoder *decoder,
                                struct ggml_tensor *h);
};

/* The most stages a tower shows: its blocks, and two before and one behind them. */
static inline int32_t s2v_tower_stages(const s2v_tower *tower) { return tower->n_blocks + 3; }

/* Nodes of a tower's graph, with all kinds of windows in it; ggml's operators take some for each kind. */
static inline int32_t s2v_tower_nodes(const s2v_model *model)
{
    const int32_t of_windows = model->tower.kernels ? 0 : 10 * S2V_WINDOW_KINDS;
    return (80 + of_windows) * (model->tower.n_blocks + 1);
}

/* By the architecture of the text model and the projector of the mmproj; NULL when unknown. */
const s2v_arch *s2v_arch_find(s2v_text name, s2v_text projector);

/* The first whose vision part this mmproj matches; NULL: none. */
const s2v_arch *s2v_arch_of_tower(s2v_text projector, const s2v_gguf *mmproj);

/* The message for a pair that s2v_arch_find does not know: what it is, and what is missing. Always
 * returns an error. */
s2p_status s2v_arch_refuse(s2v_text name, s2v_text projector, const s2v_gguf *mmproj,
                           s2p_error *error);

#endif /* S2_ENGINE_ARCH_H */
