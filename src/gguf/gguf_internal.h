/* gguf_internal.h - what the files of the GGUF reader share and nobody else sees. */
#ifndef S2_GGUF_GGUF_INTERNAL_H
#define S2_GGUF_GGUF_INTERNAL_H

#include "gguf/gguf.h"

/* --- limits --------------------------------------------------------- */

#define S2V_GGUF_MAX_TENSORS 65536u
#define S2V_GGUF_MAX_KEYS 65536u
#define S2V_GGUF_MAX_KEY_NAME ((size_t)64 << 10)
#define S2V_GGUF_MAX_TENSOR_NAME 63u /* ggml's 64 with the final NUL */
#define S2V_GGUF_MAX_STRING ((size_t)16 << 20)
#define S2V_GGUF_MAX_ITEMS ((uint64_t)16 << 20)
#define S2V_GGUF_MIN_ALIGNMENT 8u
#define S2V_GGUF_MAX_ALIGNMENT 65536u
#define S2V_GGUF_DEFAULT_ALIGNMENT 32u
#define S2V_GGUF_MAX_PROBES 256u

/* --- names -> indices -------------------------------------------------------------------- */

typedef struct s2v_name_slot {
    uint32_t tag;    /* hash bits that do not choose the slot */
    uint32_t number; /* index + 1; 0: free */
} s2v_name_slot;

typedef struct s2v_names {
    s2v_name_slot *slots;
    size_t n_slots; /* a power of two, at least twice the names; 0: no table */
} s2v_names;

/* Text of entry `index`; entries are the keys or the tensors. */
typedef s2v_text (*s2v_name_of)(const s2v_gguf *file, size_t index);

typedef enum s2v_names_result { S2V_NAME_ADDED, S2V_NAME_TWICE, S2V_NAME_CROWDED } s2v_names_result;

uint64_t s2v_name_hash(const char *data, size_t n);
bool s2v_names_init(s2v_names *names, size_t n); /* false: out of memory */
void s2v_names_free(s2v_names *names);

/* Add entry `index`. Crowded: the file's names were chosen to collide. */
s2v_names_result s2v_names_add(s2v_names *names, const s2v_gguf *file, s2v_name_of name_of,
                               size_t index);

/* Index + 1, 0 when absent. */
size_t s2v_names_find(const s2v_names *names, const s2v_gguf *file, s2v_name_of name_of,
                      s2v_text name);

/* --- the file ------------------------------------------------------------------------------ */

struct s2v_gguf {
    const uint8_t *bytes;
    size_t n_bytes;
    void *mapping; /* `bytes`, when they are a mapping of ours */
    int fd;        /* holds the lock; -1 when there is no file */

    uint32_t version; /* 0 until the counts below are known */
    uint64_t claimed_keys, claimed_tensors;
    s2v_gguf_key *keys;
    s2v_gguf_tensor *tensors;
    size_t n_keys, n_tensors; /* accepted so far */
    s2v_names key_names, tensor_names;
    size_t alignment, data_offset;
};

s2v_text s2v_gguf_key_name(const s2v_gguf *file, size_t index);
s2v_text s2v_gguf_tensor_name(const s2v_gguf *file, size_t index);

/* Little-endian number of 1 to 8 bytes; alignment and byte order of the machine do not matter. */
static inline uint64_t s2v_load(const uint8_t *at, size_t n)
{
    uint64_t value = 0;
    for (size_t i = 0; i < n; i++) value |= (uint64_t)at[i] << (8 * i);
    return value;
}

/* Bytes of a number or boolean; 0 for strings, arrays and unknown types. */
size_t s2v_gguf_width(uint32_t type);

/* Check and index the whole header of file->bytes. On failure the file holds what was read so far
 * and no tensor has data. `name` starts the sentence; NULL: nothing does. */
s2p_status s2v_gguf_check(s2v_gguf *file, const char *name, s2p_error *error);

#endif /* S2_GGUF_GGUF_INTERNAL_H */
