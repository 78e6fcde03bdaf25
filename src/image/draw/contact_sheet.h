/* contact_sheet.h - many pictures of one size side by side, each with two lines below it. */
#ifndef S2_IMAGE_CONTACT_SHEET_H
#define S2_IMAGE_CONTACT_SHEET_H

#include "image/image.h"

#define S2_SHEET_MAX_PIXELS ((int64_t)1 << 25)

typedef struct s2_sheet {
    s2_image image;           /* s2_image_free(&sheet.image) */
    int32_t n_tiles, columns; /* columns: a multiple of group */
    int32_t group;
    int32_t tile_width, tile_height; /* the picture of a tile */
    int32_t scale;                   /* of the letters */
} s2_sheet;

typedef struct s2_sheet_tile {
    const s2p_image *picture; /* of any size, fitted in; NULL: an empty frame */
    const char *title, *note; /* first line, left and right; NULL leaves it out */
    const char *text, *mark;  /* second line, left and right */
    bool is_right;            /* the mark is good news */
} s2_sheet_tile;

/* An empty sheet with a heading, for n_tiles pictures shaped like width x height: as many columns
 * as make it a little wider than high, `group` tiles in a row never apart (n_tiles is a multiple of
 * it). More tiles are smaller ones. S2P_ELIMIT: too many to be seen within S2_SHEET_MAX_PIXELS.
 * *out is untouched unless S2P_OK. */
s2p_status s2_sheet_create(const char *title, int32_t n_tiles, int32_t group, int32_t width,
                           int32_t height, s2_sheet *out, s2p_error *error);

/* Draw tile `index`, row by row from the upper left. Text is ASCII, as in letters.c. */
s2p_status s2_sheet_place(s2_sheet *sheet, int32_t index, const s2_sheet_tile *tile,
                          s2p_error *error);

/* Where the picture of tile `index` stands on the sheet, in pixels. */
s2p_rect s2_sheet_at(const s2_sheet *sheet, int32_t index);

#endif /* S2_IMAGE_CONTACT_SHEET_H */
