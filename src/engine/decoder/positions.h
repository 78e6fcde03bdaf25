/* positions.h - where each prompt token stands: in Qwen's three coordinates, or simply in a row. */
#ifndef S2_ENGINE_POSITIONS_H
#define S2_ENGINE_POSITIONS_H

#include "s2prune.h"

typedef struct s2v_segment { /* a run of text, or one picture */
    int32_t n_text;          /* tokens; 0 for a picture */
    s2p_grid grid;           /* merged token grid of the picture */
    int32_t n_rows;          /* rows it takes: its tokens, and newlines where a model has them */
    const int32_t *token;    /* [n_rows] which tokens of the grid they are; NULL: all of them */
} s2v_segment;

/* M-RoPE ids (time, row, column): pos[0..2] each [n tokens] out. Text counts on all three at once;
 * a picture spans its rows and columns from where the text stood, and the text goes on after the
 * largest id, whether or not the grid's last tokens are there. Returns the position of the first generated token. */
int32_t s2v_mrope(const s2v_segment *segment, size_t n_segments, int32_t *const pos[3]);

/* Plain RoPE: 0, 1, 2, ... over all rows, whatever they are. Returns their number. */
int32_t s2v_positions_plain(const s2v_segment *segment, size_t n_segments, int32_t *const pos[3]);

#endif /* S2_ENGINE_POSITIONS_H */
