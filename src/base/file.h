/* file.h - whole files in, whole files out. */
#ifndef S2_BASE_FILE_H
#define S2_BASE_FILE_H

#include "base/buffer.h"

#include <stdio.h>

typedef enum s2_file_use {
    S2_FILE_READ, /* links are followed: the user named it, or it was found */
    S2_FILE_OWN,  /* a lock, a partial download: read and written, created if it is not there; not
                          through a link, and with one name only */
    S2_FILE_OWN_APPEND /* the same, written at its end */
} s2_file_use;

/* Open a regular file; anything else is refused, and no pipe is waited for. On failure *fd is -1. */
s2p_status s2_file_open(const char *path, s2_file_use use, int *fd, s2p_error *error);

/* A regular file to be read; NULL and errno. */
FILE *s2_file_stream(const char *path);

/* Read all of `path` ("-" is standard input) into an initialized buffer; its max is the limit. A pipe
 * is read until its writers close it; S2P_EIO if there is none. */
s2p_status s2_file_read(const char *path, s2_buffer *out, s2p_error *error);

/* Write through a temporary file in the same folder and rename: the old file or the new one,
 * never half of one. The new one has the permissions of the old one. */
s2p_status s2_file_write(const char *path, const void *data, size_t n, s2p_error *error);

/* The same, a file only its owner may read and write. */
s2p_status s2_file_write_private(const char *path, const void *data, size_t n, s2p_error *error);

/* All n bytes to an open file, whatever interrupts; 0, or errno of what went wrong. */
int s2_write_all(int fd, const void *data, size_t n);

#endif /* S2_BASE_FILE_H */
