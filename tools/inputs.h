/* inputs.h - pictures and arrays a user hands over, checked before anyone computes with them. */
#ifndef S2_TOOLS_INPUTS_H
#define S2_TOOLS_INPUTS_H

#include "base/npy.h"
#include "image/image.h"
#include "options.h"

/* A picture file, "-" for standard input, or an .npy of uint8 [height][width][3] or
 * [height][width]. */
s2p_status s2_picture_read(const char *path, s2_pixels pixels, const s2_image_limits *limits,
                           s2_image *out, s2p_error *error);

/* The same from an array at hand; `name` opens the sentence. */
s2p_status s2_picture_of_array(const s2_array *array, const char *name,
                               const s2_image_limits *limits, s2_image *out, s2p_error *error);

typedef enum s2_shape {                  /* for n tokens */
                        S2_SHAPE_TOKENS, /* [n] */
                        S2_SHAPE_ROWS,   /* [n][d] */
                        S2_SHAPE_QUERIES /* [q][n], or [n] for one query */
} s2_shape;

typedef struct s2_matrix {
    float *data; /* [rows][cols], every value finite; free(data) */
    int32_t rows, cols;
} s2_matrix;

/* float32 or float64 from an .npy file; `field` opens the sentence. S2P_EFORMAT: another shape or
 * type, or a value that is not finite. */
s2p_status s2_matrix_read(const char *path, const char *field, s2_shape shape, s2p_grid grid,
                          s2_matrix *out, s2p_error *error);

/* Words for both pixel policies: "reference", "viewer". */
const char *s2_pixels_name(size_t index);

/* Refuse, in terms of the options, what the library would refuse in its own. side 0: by the rule.
 */
s2p_status s2_check_budget(s2p_grid grid, int32_t budget, int32_t side, s2p_error *error);

#endif /* S2_TOOLS_INPUTS_H */
