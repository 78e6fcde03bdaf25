/* sight.h - what rows see of the slots before them and of each other, as masks of attention.
 *
 * A row sees itself and what is before it. Three things change that:
 *
 *     a window      of a layer: slots whose position is too far behind are not seen. Positions are those
 *                   of the whole prompt, so that pruning widens no window
 *     pictures      in some models the rows of one picture see each other in both directions, whatever
 *                   the window. They have to run together (s2v_sight_chunk)
 *     masked rows   which no other row sees, for tests
 */
#ifndef S2_ENGINE_SIGHT_H
#define S2_ENGINE_SIGHT_H

#include "engine/decoder/past.h"
#include "engine/decoder/rows.h"

typedef struct s2v_sight {
    const s2v_past *past;
    const s2v_decoder_params *p;
    int32_t layer;    /* its slots */
    int32_t window;   /* 0: none */
    int32_t n_before; /* slots from before this prompt */
    int32_t first, n; /* the rows that look */
    int32_t n_seen;   /* rows of the prompt there are to be seen: s2v_sight_end */
} s2v_sight;

/* [n][n_before + n_seen] */
void s2v_sight_fill(const s2v_sight *sight, const s2v_rows *rows, ggml_fp16_t *mask);

/* The same as an input of the graph being drawn, which may have one of each `which`: 0 or 1. */
s2p_status s2v_sight_mask(const s2v_sight *sight, s2v_rows *rows, s2v_graph *graph, int which,
                          struct ggml_tensor **out, s2p_error *error);

/* Cells a mask of n rows takes behind another in one input: devices read it in wide steps. */
size_t s2v_sight_cells(int32_t width, int32_t n);

typedef struct s2v_row_masks { /* of single rows, one of each of several pasts; all zero: empty */
    struct ggml_tensor *
        *mask;               /* [pasts][n_layers], NULL where a row sees every slot. NULL: no layer
                                  has a window. Owned */
    ggml_fp16_t *cells;      /* owned; borrowed by the graph they were drawn into */
    size_t n_masks, n_cells; /* there is room for */
} s2v_row_masks;

/* Masks of a row of text at pos[i] behind the slots of past[i], for i below n, as one input of the graph
 * being drawn; none where all of them see every slot. */
s2p_status s2v_row_masks_draw(s2v_row_masks *masks, s2v_graph *graph, const s2v_decoder *decoder,
                              const s2v_past *const *past, const int32_t *pos, int32_t n,
                              s2p_error *error);
/* Memory for a row of a context of n_ctx, so that a token allocates nothing. */
s2p_status s2v_row_masks_reserve(s2v_row_masks *masks, const s2v_decoder *decoder, int32_t n_ctx,
                                 s2p_error *error);
void s2v_row_masks_free(s2v_row_masks *masks);

/* How many rows of the prompt rows [0, last) may see: all of them, and the rest of a picture. */
int32_t s2v_sight_end(const s2v_decoder_params *p, const s2v_rows *rows, int32_t last);

/* How many rows from `at` on, below `end`, go together: at most n_batch, and no picture in two parts. */
int32_t s2v_sight_chunk(const s2v_decoder_params *p, const s2v_rows *rows, int32_t at, int32_t end,
                        int32_t n_batch);

#endif /* S2_ENGINE_SIGHT_H */
