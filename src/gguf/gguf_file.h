/* gguf_file.h - an open file as the reader itself sees it: gguf.c holds it, gguf_parse.c fills it. */
#ifndef S2_GGUF_FILE_H
#define S2_GGUF_FILE_H

#include "gguf/gguf_names.h"

#include <time.h>

struct s2v_gguf {
    const uint8_t *bytes;
    size_t n_bytes;
    void *mapping;           /* `bytes`, when they are a mapping of ours */
    int fd;                  /* holds the lock; -1 when there is no file */
    char *name;              /* of the file, without its folder */
    struct timespec changed; /* when it was written last */

    uint32_t version; /* 0 until the counts below are known */
    uint64_t claimed_keys, claimed_tensors;
    s2v_gguf_key *keys;
    s2v_gguf_tensor *tensors;
    size_t n_keys, n_tensors; /* accepted so far */
    s2v_names key_names, tensor_names;
    size_t alignment, data_offset;
};

/* Little-endian number of 1 to 8 bytes; alignment and byte order of the machine do not matter. */
static inline uint64_t s2v_load(const uint8_t *at, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

#endif /* S2_GGUF_FILE_H */
