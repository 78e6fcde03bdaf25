/* gguf_names.c - find keys and tensors by name.
 *
 * Open addressing, at most half full. The hash has no secret, so a file can be
 * made whose names all want one slot; a limit on the probes turns that from
 * quadratic time into a refusal. Ordinary names never come near it: at half load a
 * run of 256 has a chance below 1e-20.
 */
#include "gguf/gguf_names.h"

#include <stdlib.h>
#include <string.h>

uint64_t s2v_name_hash(const char *data, size_t n)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a ... */
    for (size_t i = 0; i < n; i++) hash = (hash ^ (uint8_t)data[i]) * UINT64_C(0x100000001b3);
    hash ^= hash >> 32; /* ... whose low bits alone are poor */
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ (hash >> 32);
}

bool s2v_names_init(s2v_names *names, const s2v_text *first, size_t stride, size_t n)
{
    size_t n_slots = 2;
    while (n_slots < 2 * n) n_slots *= 2;
    names->first = first;
    names->stride = stride;
    names->slots = calloc(n_slots, sizeof *names->slots);
    names->n_slots = names->slots ? n_slots : 0;
    return names->slots != NULL;
}

void s2v_names_free(s2v_names *names)
{
    free(names->slots);
    *names = (s2v_names){ .n_slots = 0 };
}

static s2v_text name_at(const s2v_names *names, size_t index)
{
    return *(const s2v_text *)(const void *)((const char *)names->first + index * names->stride);
}

/* The slot that holds `name`, or the free one where it belongs; NULL after too many probes. */
static s2v_name_slot *seek_slot(const s2v_names *names, s2v_text name)
{
    const uint64_t hash = s2v_name_hash(name.data, name.size);
    const uint32_t tag = (uint32_t)(hash >> 32);
    for (size_t i = 0; i < S2V_GGUF_MAX_PROBES && i < names->n_slots; i++) {
        s2v_name_slot *slot = &names->slots[(hash + i) & (names->n_slots - 1)];
        if (slot->number == 0) return slot;
        if (slot->tag != tag) continue;
        const s2v_text other = name_at(names, slot->number - 1);
        if (other.size == name.size && memcmp(other.data, name.data, name.size) == 0) return slot;
    }
    return NULL;
}

s2v_names_result s2v_names_add(s2v_names *names, size_t index)
{
    const s2v_text name = name_at(names, index);
    s2v_name_slot *slot = seek_slot(names, name);
    if (!slot) return S2V_NAME_CROWDED;
    if (slot->number != 0) return S2V_NAME_TWICE;
    slot->tag = (uint32_t)(s2v_name_hash(name.data, name.size) >> 32);
    slot->number = (uint32_t)index + 1;
    return S2V_NAME_ADDED;
}

size_t s2v_names_find(const s2v_names *names, const char *name)
{
    const s2v_name_slot *slot = seek_slot(names, (s2v_text){ name, strlen(name) });
    return slot ? slot->number : 0;
}
