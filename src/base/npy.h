/* npy.h - NumPy's .npy files: how arrays enter and leave.
 *
 * Versions 1.0 to 3.0, C order, little-endian, types f4 f8 i4 i8 u1. The header is
 * parsed by a strict little grammar, the shape by checked arithmetic, and the
 * number of bytes must be exactly what the shape says.
 */
#ifndef S2_BASE_NPY_H
#define S2_BASE_NPY_H

#include "base/buffer.h"

#define S2_NPY_MAX_DIMS 4

typedef enum s2_dtype { S2_U8, S2_I32, S2_I64, S2_F32, S2_F64 } s2_dtype;

typedef struct s2_array {
    s2_dtype type;
    int32_t n_dims;
    int64_t shape[S2_NPY_MAX_DIMS]; /* unused entries are 1 */
    size_t count;                   /* product of shape */
    void *data;                     /* owned; aligned for its type; NULL when count is 0 */
} s2_array;

size_t s2_dtype_size(s2_dtype type);

/* `name` is for the sentence. On success the caller frees *out with s2_array_free. */
s2p_status s2_npy_parse(const void *bytes, size_t n, const char *name, s2_array *out,
                        s2p_error *error);
s2p_status s2_npy_read(const char *path, size_t max_bytes, s2_array *out, s2p_error *error);
void s2_array_free(s2_array *array);

/* Version 1.0, as numpy.save writes it: same bytes. */
s2p_status s2_npy_format(const s2_array *array, s2_buffer *out);
s2p_status s2_npy_write(const char *path, const s2_array *array, s2p_error *error);

#endif /* S2_BASE_NPY_H */
