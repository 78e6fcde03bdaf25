/* frame.h - one picture as the tower wants it and as the decoder gets it.
 *
 * The tower runs once for each view. The tokens of view 0 are part 0, rows side by side; the tokens of
 * part 1 are blended from those of the other views. A row that belongs to no part is a token of the
 * vocabulary or the model's newline, and is never pruned.
 */
#ifndef S2_ENGINE_FRAME_H
#define S2_ENGINE_FRAME_H

#include "s2vlm.h"

#include <stddef.h>

#define S2V_MAX_PARTS 2 /* the whole picture, and the same in tiles; decoder/rows.h has it too */

typedef struct s2v_part { /* tokens that may be pruned: a grid among the rows of a picture */
    s2p_grid grid;
    const int32_t *token; /* [n_tokens] those of the grid that are there, ascending, their rows side
                             by side; the frame's. NULL: all */
    int32_t n_tokens;
    int32_t first;      /* row of its first token */
    int32_t pitch;      /* rows from one line of the grid to the next */
    const int32_t *row; /* [tokens] instead: the row of each; the frame's. NULL: first and pitch */
    int32_t width, height; /* pixels the whole picture had for it */
} s2v_part;

typedef struct s2v_blend { /* weight * token of the view is a share of a token of part 1 */
    int32_t view, token, to;
    float weight;
} s2v_blend;

typedef struct s2v_frame { /* owned arrays */
    s2v_framing framing;   /* never S2V_FRAMING_AUTO */
    int32_t n_views;       /* times the tower runs */
    int32_t n_patches;     /* of one view */
    float *patches;        /* [n_views][n_patches][patch_row] in the tower's order */
    int32_t n_rows;        /* of the decoder */
    s2v_part part[S2V_MAX_PARTS];
    int32_t n_parts;
    s2v_blend *blend; /* of views 1 and up; NULL: there are none */
    size_t n_blend;
    int32_t *row;  /* what part[1].row points to; NULL: nothing */
    int32_t *kept; /* what part[0].token points to: the tokens that enter the tower; NULL: all */
    int32_t *
        text; /* [n_rows] the token of the vocabulary a row is, -1 where it is none; NULL: nowhere */
    void *own; /* what else the tower of this architecture reads: numbers without pointers or gaps,
                  so that two of them can be compared byte by byte; NULL: nothing */
    size_t n_own_bytes;
    uint8_t key[32]; /* of all that (tower_cache.h), where the session remembers */
} s2v_frame;

void s2v_frame_free(s2v_frame *frame);

/* Tokens of a picture that may be pruned, all parts together; and with those that do not enter the tower. */
int32_t s2v_frame_tokens(const s2v_frame *frame);
int32_t s2v_frame_all_tokens(const s2v_frame *frame);

static inline int32_t s2v_part_all_tokens(const s2v_part *part)
{
    return part->grid.rows * part->grid.cols;
}

static inline int32_t s2v_part_tokens(const s2v_part *part)
{
    return part->token ? part->n_tokens : s2v_part_all_tokens(part);
}

/* Which token of the grid the t-th that is there is. */
static inline int32_t s2v_part_token(const s2v_part *part, int32_t t)
{
    return part->token ? part->token[t] : t;
}

/* Where the t-th token that is there stands among the rows of its picture. */
static inline int32_t s2v_part_row(const s2v_part *part, int32_t t)
{
    if (part->row) return part->row[t];
    if (part->token) return part->first + t;
    return part->first + t / part->grid.cols * part->pitch + t % part->grid.cols;
}

#endif /* S2_ENGINE_FRAME_H */
