/* gguf_names.h - from a name to the index of what has it; for the reader of GGUF. */
#ifndef S2_GGUF_NAMES_H
#define S2_GGUF_NAMES_H

#include "gguf/gguf.h"

#define S2V_GGUF_MAX_PROBES 256u

typedef struct s2v_name_slot {
    uint32_t tag;    /* hash bits that do not choose the slot */
    uint32_t number; /* index + 1; 0: free */
} s2v_name_slot;

typedef struct s2v_names {
    const s2v_text *first; /* name of entry 0; the next is `stride` bytes on */
    size_t stride;
    s2v_name_slot *slots;
    size_t n_slots; /* a power of two, at least twice the names; 0: no table */
} s2v_names;

typedef enum s2v_names_result { S2V_NAME_ADDED, S2V_NAME_TWICE, S2V_NAME_CROWDED } s2v_names_result;

uint64_t s2v_name_hash(const char *data, size_t n);

/* Room for n entries whose names lie in structs of `stride` bytes. false: out of memory. */
bool s2v_names_init(s2v_names *names, const s2v_text *first, size_t stride, size_t n);
void s2v_names_free(s2v_names *names);

/* Add entry `index`. Crowded: the file's names were chosen to collide. */
s2v_names_result s2v_names_add(s2v_names *names, size_t index);

/* Index + 1, 0 when absent. */
size_t s2v_names_find(const s2v_names *names, const char *name);

#endif /* S2_GGUF_NAMES_H */
