/* boxes.h - parts of pictures that a user marks: always kept, removed before the decoder, or painted over.
 *
 *     10,20,300,40          x, y, width and height in pixels of the picture as it is displayed
 *     10%,0,25%,100%        shares of its width and height, also mixed
 *     2:10,20,300,40        of the second picture; without a number: of every picture
 *
 * Only a painted box ensures privacy: its pixels are overwritten before anything else reads the
 * picture. The tower has seen the contents of a dropped box, and the tokens around it may reveal them.
 */
#ifndef S2_ASK_BOXES_H
#define S2_ASK_BOXES_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

typedef enum s2a_box_kind { S2A_BOX_KEEP, S2A_BOX_DROP, S2A_BOX_BLANK } s2a_box_kind;

typedef struct s2a_box {
    s2a_box_kind kind;
    int32_t picture;  /* from 1; 0: every picture */
    double at[4];     /* x, y, width, height */
    bool is_share[4]; /* in percent of the picture's width or height */
    const char *mask; /* NULL, or a mask used instead: a picture file of the same size; borrowed */
} s2a_box;

#define S2A_MAX_BOXES 64

typedef struct s2a_boxes {
    s2a_box box[S2A_MAX_BOXES];
    int32_t n;
} s2a_boxes;

/* "keep", "drop", "blank". */
const char *s2a_box_kind_name(size_t index);

/* Add a box parsed from text[0..n). `source` begins error messages. S2P_EINVAL: not a box. S2P_ELIMIT:
 * too many boxes. */
s2p_status s2a_boxes_add(const char *source, const char *text, size_t n, s2a_box_kind kind,
                         s2a_boxes *boxes, s2p_error *error);

/* "[2:][keep:|drop:|blank:]FILE"; without a word the mask keeps. text is borrowed. */
s2p_status s2a_boxes_add_mask(const char *source, const char *text, s2a_boxes *boxes,
                              s2p_error *error);

/* The same from separate values. picture: from 1, 0: every one. path is borrowed. */
s2p_status s2a_boxes_put_mask(const char *source, const char *path, s2a_box_kind kind,
                              int32_t picture, s2a_boxes *boxes, s2p_error *error);

/* S2P_EINVAL: a box refers to a picture that does not exist. */
s2p_status s2a_boxes_check(const s2a_boxes *boxes, int32_t n_pictures, s2p_error *error);

#endif /* S2_ASK_BOXES_H */
