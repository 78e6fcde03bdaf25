/* file.h - whole files in, whole files out. */
#ifndef S2_BASE_FILE_H
#define S2_BASE_FILE_H

#include "base/buffer.h"

/* Read all of `path` ("-" is standard input) into an initialised buffer; its max is the limit. */
s2p_status s2_file_read(const char *path, s2_buffer *out, s2p_error *error);

/* Write through a temporary file in the same folder and rename: the old file or the new one,
 * never half of one. The new one has the permissions of the old one. */
s2p_status s2_file_write(const char *path, const void *data, size_t n, s2p_error *error);

/* The same, a file only its owner may read and write. */
s2p_status s2_file_write_private(const char *path, const void *data, size_t n, s2p_error *error);

/* All n bytes to an open file, whatever interrupts; 0, or errno of what went wrong. */
int s2_write_all(int fd, const void *data, size_t n);

#endif /* S2_BASE_FILE_H */
