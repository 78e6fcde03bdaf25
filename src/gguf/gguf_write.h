/* gguf_write.h - write a GGUF file of any size with little memory.
 *
 * Say all keys and all tensors (name, type, shape), start, hand over the data of the tensors in the
 * order they were said, in pieces of any size, finish, commit. Until the commit nothing is seen
 * under the file's name: the data goes into an unnamed file of the same folder (or a temporary one
 * where the system has no unnamed files), is flushed to the device and renamed.
 */
#ifndef S2_GGUF_GGUF_WRITE_H
#define S2_GGUF_GGUF_WRITE_H

#include "base/sha256.h"
#include "gguf/gguf.h"

typedef struct s2v_gguf_writer s2v_gguf_writer;

s2p_status s2v_gguf_writer_create(s2v_gguf_writer **out, const char *path, s2p_error *error);
void s2v_gguf_writer_free(s2v_gguf_writer *writer); /* leaves nothing behind; NULL is fine */

/* Keys. A failure (memory) sticks and is reported by s2v_gguf_writer_start. */
void s2v_gguf_put_u32(s2v_gguf_writer *writer, const char *name, uint32_t value);
void s2v_gguf_put_f32(s2v_gguf_writer *writer, const char *name, float value);
void s2v_gguf_put_bool(s2v_gguf_writer *writer, const char *name, bool value);
void s2v_gguf_put_text(s2v_gguf_writer *writer, const char *name, const char *text);
void s2v_gguf_put_i32s(s2v_gguf_writer *writer, const char *name, const int32_t *value, size_t n);
void s2v_gguf_put_f32s(s2v_gguf_writer *writer, const char *name, const float *value, size_t n);
void s2v_gguf_put_bools(s2v_gguf_writer *writer, const char *name, const bool *value, size_t n);
void s2v_gguf_put_texts(s2v_gguf_writer *writer, const char *name, size_t n); /* n items follow */
void s2v_gguf_put_item(s2v_gguf_writer *writer, const char *data, size_t size);
void s2v_gguf_put_key(s2v_gguf_writer *writer, const s2v_gguf_key *key); /* as it is elsewhere */

/* ne: fastest first. The row ne[0] must be whole blocks of the type. */
s2p_status s2v_gguf_put_tensor(s2v_gguf_writer *writer, const char *name, uint32_t type,
                               int32_t n_dims, const int64_t *ne, s2p_error *error);

/* Bytes the file will have; known once all keys and tensors were said. */
uint64_t s2v_gguf_writer_size(const s2v_gguf_writer *writer);

/* Create the file and write its header. S2P_EIO with ENOSPC when it cannot fit on the device. */
s2p_status s2v_gguf_writer_start(s2v_gguf_writer *writer, s2p_error *error);
s2p_status s2v_gguf_writer_add(s2v_gguf_writer *writer, const void *data, size_t n,
                               s2p_error *error);

/* Everything is there and on the device; *digest is of the whole file. */
s2p_status s2v_gguf_writer_finish(s2v_gguf_writer *writer, uint8_t digest[32], s2p_error *error);

/* The finished file through the validator, before it has its name. The caller closes *out. */
s2p_status s2v_gguf_writer_open(const s2v_gguf_writer *writer, s2v_gguf **out, s2p_error *error);

/* Give it its name. */
s2p_status s2v_gguf_writer_commit(s2v_gguf_writer *writer, s2p_error *error);

#endif /* S2_GGUF_GGUF_WRITE_H */
