/* gguf.h - a model file whose whole header has been accepted.
 *
 * The file is mapped read-only and validated before anyone else sees a byte:
 * counts, lengths, types, shapes by checked 64-bit arithmetic, offset + size
 * within the file, no overlap, no duplicate names. What the
 * getters hand out is borrowed from the mapping until s2v_gguf_close.
 */
#ifndef S2_GGUF_H
#define S2_GGUF_H

#include "base/error.h"
#include "gguf/gguf_types.h"

#include <stdbool.h>

#define S2V_GGUF_MAX_DIMS 4

typedef struct s2v_gguf s2v_gguf;

typedef struct s2v_text { /* not NUL-terminated */
    const char *data;
    size_t size;
} s2v_text;

bool s2v_text_is(s2v_text text, const char *string);

typedef struct s2v_gguf_key {
    s2v_text name;
    s2v_gguf_type type;
    s2v_gguf_type item;   /* element type of an array */
    uint64_t count;       /* elements of an array, else 1 */
    const uint8_t *value; /* first byte: a string's length, an array's first element; unaligned */
    size_t n_bytes;       /* of the value */
} s2v_gguf_key;

typedef struct s2v_gguf_tensor {
    s2v_text name;
    uint32_t type; /* s2v_tensor_type: known, its rows are whole blocks */
    int32_t n_dims;
    int64_t ne[S2V_GGUF_MAX_DIMS]; /* fastest first; unused entries are 1 */
    uint64_t n_bytes;
    const uint8_t *data; /* inside the mapping */
    uint64_t offset;     /* of the data from s2v_gguf_data_offset */
} s2v_gguf_tensor;

s2p_status s2v_gguf_open(s2v_gguf **out, const char *path, s2p_error *error);

/* The same on bytes in memory that outlive the object; `name` is for the sentence. */
s2p_status s2v_gguf_parse(s2v_gguf **out, const void *bytes, size_t n, const char *name,
                          s2p_error *error);
void s2v_gguf_close(s2v_gguf *file); /* NULL is fine */

/* S2P_EIO: the file was overwritten, shortened or made longer since it was opened. Another file of
 * the same name is none of its business: the one that was opened stays. */
s2p_status s2v_gguf_check_unchanged(const s2v_gguf *file, s2p_error *error);

/* For showing a broken file. As s2v_gguf_open, but when the header is refused *out still holds what
 * was read before the mistake: keys and tensors so far, every tensor's data NULL. *out is NULL only
 * when the version and the counts could not be read. Sentences do not repeat the file's name. */
s2p_status s2v_gguf_examine(s2v_gguf **out, const char *path, s2p_error *error);

uint32_t s2v_gguf_version(const s2v_gguf *file);
size_t s2v_gguf_n_bytes(const s2v_gguf *file); /* of the whole file */
size_t s2v_gguf_n_keys(const s2v_gguf *file);
size_t s2v_gguf_n_tensors(const s2v_gguf *file);
size_t s2v_gguf_alignment(const s2v_gguf *file);
size_t s2v_gguf_data_offset(const s2v_gguf *file); /* 0 when there is no tensor */

/* What the header claims; the same as n_keys and n_tensors unless the file was refused. */
uint64_t s2v_gguf_claimed_keys(const s2v_gguf *file);
uint64_t s2v_gguf_claimed_tensors(const s2v_gguf *file);

const s2v_gguf_key *s2v_gguf_key_at(const s2v_gguf *file, size_t index);
const s2v_gguf_tensor *s2v_gguf_tensor_at(const s2v_gguf *file, size_t index);

/* By name, NULL when absent. Hashed: constant time. */
const s2v_gguf_key *s2v_gguf_find_key(const s2v_gguf *file, const char *name);
const s2v_gguf_tensor *s2v_gguf_find_tensor(const s2v_gguf *file, const char *name);

/* false when the key is absent or of another kind. Integers of any width are accepted when the
 * value fits; floats as f32 or f64. */
bool s2v_gguf_int(const s2v_gguf *file, const char *name, int64_t *out);
bool s2v_gguf_float(const s2v_gguf *file, const char *name, double *out);
bool s2v_gguf_bool(const s2v_gguf *file, const char *name, bool *out);
bool s2v_gguf_string(const s2v_gguf *file, const char *name, s2v_text *out);

/* Array elements. index < key->count; the element type must fit (checked, false otherwise). Strings
 * are walked once with a cursor, since they have no fixed width: start with *cursor = 0; false at
 * the end. A single value is an array of one. */
bool s2v_gguf_item_int(const s2v_gguf_key *key, uint64_t index, int64_t *out);
bool s2v_gguf_item_float(const s2v_gguf_key *key, uint64_t index, double *out);
bool s2v_gguf_item_bool(const s2v_gguf_key *key, uint64_t index, bool *out);
bool s2v_gguf_next_string(const s2v_gguf_key *key, size_t *cursor, s2v_text *out);

/* Let go of the pages of the mapping (after weights were copied elsewhere); reads still work. */
void s2v_gguf_release_pages(s2v_gguf *file);
void s2v_gguf_want_pages(s2v_gguf *file); /* the system may read them ahead */

typedef struct s2v_gguf_odd { /* values that are NaN or infinite */
    uint64_t count, first;    /* first: its index */
} s2v_gguf_odd;

/* Read every value of an F64, F32, F16 or BF16 tensor. false: another type, nothing was read. */
bool s2v_gguf_count_odd(const s2v_gguf_tensor *tensor, s2v_gguf_odd *out);

#endif /* S2_GGUF_H */
