/* safetensors.h - a checkpoint file whose whole header has been accepted.
 *
 * Layout: u64 n, n bytes of JSON, then the data the offsets count from:
 *
 *   {"__metadata__":{"format":"pt"},"w":{"dtype":"BF16","shape":[2,3],"data_offsets":[0,12]}, ...}
 *
 * Nothing is returned before everything was checked: the header lies inside the file, is JSON
 * without repeated keys, every type is known, every size is what type and shape say (64-bit checked
 * arithmetic), and the tensors cover the data exactly, without hole or overlap. Data is read with
 * pread, never mapped: a file that shrinks meanwhile ends in a sentence.
 */
#ifndef S2_CONVERT_SAFETENSORS_H
#define S2_CONVERT_SAFETENSORS_H

#include "base/error.h"

#include <stdbool.h>

#define S2V_ST_MAX_DIMS 8
#define S2V_ST_MAX_HEADER ((size_t)8 << 20) /* the largest published ones have 0.2 MB */
#define S2V_ST_MAX_TENSORS 16384u
#define S2V_ST_MAX_NAME 512u

typedef enum s2v_st_type {
    S2V_ST_BOOL,
    S2V_ST_U8,
    S2V_ST_I8,
    S2V_ST_F8_E5M2,
    S2V_ST_F8_E4M3,
    S2V_ST_I16,
    S2V_ST_U16,
    S2V_ST_F16,
    S2V_ST_BF16,
    S2V_ST_I32,
    S2V_ST_U32,
    S2V_ST_F32,
    S2V_ST_F64,
    S2V_ST_I64,
    S2V_ST_U64
} s2v_st_type;

typedef struct s2v_st_tensor {
    const char *name; /* UTF-8 without control characters */
    s2v_st_type type;
    int32_t n_dims;                 /* 0: one value */
    int64_t shape[S2V_ST_MAX_DIMS]; /* slowest first; unused entries are 1 */
    uint64_t n_values, n_bytes;
    uint64_t offset; /* of the first byte, from the start of the file */
} s2v_st_tensor;

typedef struct s2v_safetensors s2v_safetensors;

s2p_status s2v_safetensors_open(s2v_safetensors **out, const char *path, s2p_error *error);

/* The same on bytes in memory that outlive the object; `name` is for the sentence. */
s2p_status s2v_safetensors_parse(s2v_safetensors **out, const void *bytes, size_t n,
                                 const char *name, s2p_error *error);
void s2v_safetensors_close(s2v_safetensors *file); /* NULL is fine */

size_t s2v_safetensors_n_tensors(const s2v_safetensors *file);
uint64_t s2v_safetensors_n_bytes(const s2v_safetensors *file); /* of the whole file */
const char *s2v_safetensors_name(const s2v_safetensors *file); /* of the file, without folders */

/* In the order of the data. */
const s2v_st_tensor *s2v_safetensors_at(const s2v_safetensors *file, size_t index);

/* Bytes [from, from + n) of a tensor of this file. */
s2p_status s2v_safetensors_read(const s2v_safetensors *file, const s2v_st_tensor *tensor,
                                uint64_t from, size_t n, void *out, s2p_error *error);

/* "BF16" and bytes of one value. */
const char *s2v_st_type_name(s2v_st_type type, size_t *width);

#endif /* S2_CONVERT_SAFETENSORS_H */
