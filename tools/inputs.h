/* inputs.h - pictures and arrays a user hands over, checked before anyone computes with them. */
#ifndef S2_TOOLS_INPUTS_H
#define S2_TOOLS_INPUTS_H

#include "base/npy.h"
#include "image/image.h"
#include "options.h"

/* A picture file, a page of a PDF ("paper.pdf#3"; "paper.pdf" is its first), "-" for standard input, or
 * an .npy of uint8 [height][width][3] or [height][width]. A note says when it is read at a reduced
 * scale. */
s2p_status s2_picture_read(const char *path, s2_pixels pixels, const s2_image_limits *limits,
                           s2_image *out, s2p_error *error);

/* The same from an array at hand; `name` opens the sentence. */
s2p_status s2_picture_of_array(const s2_array *array, const char *name,
                               const s2_image_limits *limits, s2_image *out, s2p_error *error);

typedef struct s2_tensor {
    float *data; /* every value finite; free(data) */
    int32_t n_dims, shape[3];
} s2_tensor;

typedef struct s2_sizes { /* what the letters of a shape stand for */
    s2p_grid grid;        /* 'n': its tokens; 'c': one more, for a class token */
    int32_t n_prompt;     /* 'L': rows of the prompt; 0: any number */
    int32_t n_alive;      /* 'a': tokens still there; 0: all of the grid */
} s2_sizes;

/* float32 or float64 from an .npy file; `field` opens the sentence. shapes: one letter a dimension,
 * "nd" or "qn|n" for either; '1' is one, letters not in s2_sizes are any number. S2P_EFORMAT:
 * another shape or type, or a value that is not finite. */
s2p_status s2_tensor_read(const char *path, const char *field, const char *shapes,
                          const s2_sizes *sizes, s2_tensor *out, s2p_error *error);
s2p_status s2_tensor_of_array(const s2_array *array, const char *path, const char *field,
                              const char *shapes, const s2_sizes *sizes, s2_tensor *out,
                              s2p_error *error);

typedef struct s2_matrix {
    float *data; /* [rows][cols], every value finite; free(data) */
    int32_t rows, cols;
} s2_matrix;

/* A tensor of one row or many. */
s2p_status s2_matrix_read(const char *path, const char *field, const char *shapes, s2p_grid grid,
                          s2_matrix *out, s2p_error *error);

/* Words for both pixel policies: "reference", "viewer". */
const char *s2_pixels_name(size_t index);

/* Refuse, in terms of the options, what the library would refuse in its own. side 0: by the rule.
 */
s2p_status s2_check_budget(s2p_grid grid, int32_t budget, int32_t side, s2p_error *error);

#endif /* S2_TOOLS_INPUTS_H */
