/* gguf_promises.h - what must be true of every model file that was accepted. */
#ifndef TESTS_GGUF_PROMISES_H
#define TESTS_GGUF_PROMISES_H

#include "gguf/gguf.h"

#include <stdio.h>
#include <string.h>

#define PROMISED(condition)                  \
    do {                                     \
        if (!(condition)) return #condition; \
    } while (0)

static inline bool is_text(s2v_text text, const char *data, size_t n)
{
    return text.size == n && memcmp(text.data, data, n) == 0;
}

static inline bool lies_inside(const void *at, uint64_t size, const void *bytes, size_t n)
{
    const uintptr_t first = (uintptr_t)bytes, a = (uintptr_t)at;
    return a >= first && a <= first + n && size <= first + n - a;
}

static inline const char *key_promise(const s2v_gguf *file, const s2v_gguf_key *key,
                                      const void *bytes, size_t n)
{
    PROMISED(key->name.size >= 1 && key->name.size <= 65536);
    PROMISED(lies_inside(key->name.data, key->name.size, bytes, n));
    PROMISED(lies_inside(key->value, key->n_bytes, bytes, n));
    PROMISED(key->type <= S2V_GGUF_F64 && key->item <= S2V_GGUF_F64 && key->item != S2V_GGUF_ARRAY);
    PROMISED(key->type == S2V_GGUF_ARRAY || (key->count == 1 && key->item == key->type));
    char name[256];
    if (key->name.size < sizeof name) {
        (void)snprintf(name, sizeof name, "%.*s", (int)key->name.size, key->name.data);
        PROMISED(s2v_gguf_find_key(file, name) == key); /* so no other has this name */
    }
    size_t cursor = 0;
    uint64_t n_strings = 0, n_ints = 0, n_floats = 0, n_huge = 0;
    s2v_text text;
    while (s2v_gguf_next_string(key, &cursor, &text)) {
        PROMISED(lies_inside(text.data, text.size, bytes, n) && text.size <= (16u << 20));
        n_strings++;
    }
    for (uint64_t i = 0; i < key->count && i < 1000; i++) {
        int64_t whole;
        double real;
        const bool is_int = s2v_gguf_item_int(key, i, &whole);
        n_ints += is_int;
        n_huge += !is_int && key->item == S2V_GGUF_U64;
        n_floats += s2v_gguf_item_float(key, i, &real);
        if (key->item == S2V_GGUF_BOOL) PROMISED(key->value[i] <= 1);
    }
    const uint64_t seen = key->count < 1000 ? key->count : 1000;
    const bool is_string = key->item == S2V_GGUF_STRING, is_bool = key->item == S2V_GGUF_BOOL;
    const bool is_float = key->item == S2V_GGUF_F32 || key->item == S2V_GGUF_F64;
    PROMISED(n_strings == (is_string ? key->count : 0));
    PROMISED(!is_string || cursor == key->n_bytes);
    PROMISED(n_floats == (is_float ? seen : 0));
    PROMISED(n_ints + n_huge == (is_string || is_bool || is_float ? 0 : seen));
    PROMISED(!s2v_gguf_item_int(key, key->count, &(int64_t){ 0 }));
    PROMISED(!s2v_gguf_item_float(key, key->count, &(double){ 0 }));
    return NULL;
}

static inline const char *tensor_promise(const s2v_gguf *file, const s2v_gguf_tensor *t,
                                         const void *bytes, size_t n)
{
    int64_t block = 0;
    size_t block_bytes = 0;
    PROMISED(s2v_gguf_tensor_type(t->type, &block, &block_bytes));
    PROMISED(t->name.size >= 1 && t->name.size <= 63 && !memchr(t->name.data, 0, t->name.size));
    PROMISED(lies_inside(t->name.data, t->name.size, bytes, n));
    PROMISED(t->n_dims >= 1 && t->n_dims <= 4);
    double count = 1; /* 2^53 is enough: the file holds the data */
    for (int32_t d = 0; d < 4; d++) {
        PROMISED(t->ne[d] >= 1 && (d < t->n_dims || t->ne[d] == 1));
        count *= (double)t->ne[d];
    }
    PROMISED(t->ne[0] % block == 0);
    PROMISED((double)t->n_bytes == count / (double)block * (double)block_bytes);
    PROMISED(t->n_bytes > 0 && t->data && lies_inside(t->data, t->n_bytes, bytes, n));
    PROMISED((const uint8_t *)t->data ==
             (const uint8_t *)bytes + s2v_gguf_data_offset(file) + t->offset);
    PROMISED(t->offset % s2v_gguf_alignment(file) == 0);
    char name[64];
    (void)snprintf(name, sizeof name, "%.*s", (int)t->name.size, t->name.data);
    PROMISED(s2v_gguf_find_tensor(file, name) == t);
    return NULL;
}

/* The promise that was broken, NULL when all hold. */
static inline const char *gguf_broken_promise(const s2v_gguf *file, const void *bytes, size_t n)
{
    const size_t n_keys = s2v_gguf_n_keys(file), n_tensors = s2v_gguf_n_tensors(file);
    PROMISED(s2v_gguf_version(file) == 2 || s2v_gguf_version(file) == 3);
    PROMISED(s2v_gguf_n_bytes(file) == n);
    PROMISED(s2v_gguf_claimed_keys(file) == n_keys && s2v_gguf_claimed_tensors(file) == n_tensors);
    PROMISED(n_keys <= 65536 && n_tensors <= 65536);
    PROMISED(!s2v_gguf_key_at(file, n_keys) && !s2v_gguf_tensor_at(file, n_tensors));
    for (size_t i = 0; i < n_keys; i++) {
        const char *broken = key_promise(file, s2v_gguf_key_at(file, i), bytes, n);
        if (broken) return broken;
    }
    for (size_t i = 0; i < n_tensors; i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(file, i);
        const char *broken = tensor_promise(file, t, bytes, n);
        if (broken) return broken;
        for (size_t j = 0; j < i && n_tensors < 1000; j++) {
            const s2v_gguf_tensor *o = s2v_gguf_tensor_at(file, j);
            PROMISED(o->offset + o->n_bytes <= t->offset || t->offset + t->n_bytes <= o->offset);
        }
    }
    return NULL;
}

#endif /* TESTS_GGUF_PROMISES_H */
