/* gguf_writer.h - write model files into memory, the wrong ones too.
 *
 * Nothing here checks anything: a test says every number that goes into the file.
 */
#ifndef TESTS_GGUF_WRITER_H
#define TESTS_GGUF_WRITER_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { U8, I8, U16, I16, U32, I32, F32, BOOL, STRING, ARRAY, U64, I64, F64 }; /* value types */

typedef struct writer {
    uint8_t *data;
    size_t n, capacity;
} writer;

static inline void put_bytes(writer *w, const void *data, size_t n)
{
    if (n == 0) return;
    if (w->n + n > w->capacity) {
        w->capacity = 2 * (w->n + n);
        w->data = realloc(w->data, w->capacity);
        if (!w->data) abort();
    }
    memcpy(w->data + w->n, data, n);
    w->n += n;
}

static inline void put(writer *w, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) put_bytes(w, &(uint8_t){ (uint8_t)(value >> (8 * i)) }, 1);
}

static inline void put_zeros(writer *w, size_t n)
{
    static const uint8_t zeros[4096];
    for (; n > sizeof zeros; n -= sizeof zeros) put_bytes(w, zeros, sizeof zeros);
    put_bytes(w, zeros, n);
}

static inline void put_string(writer *w, const char *text, size_t n)
{
    put(w, n, 8);
    put_bytes(w, text, n);
}

static inline void put_start(writer *w, uint32_t version, uint64_t n_tensors, uint64_t n_keys)
{
    put_bytes(w, "GGUF", 4);
    put(w, version, 4);
    put(w, n_tensors, 8);
    put(w, n_keys, 8);
}

/* Name and type; the value is the caller's. */
static inline void put_key(writer *w, const char *name, uint64_t type)
{
    put_string(w, name, strlen(name));
    put(w, type, 4);
}

static inline void put_number(writer *w, const char *name, uint64_t type, uint64_t value,
                              size_t width)
{
    put_key(w, name, type);
    put(w, value, width);
}

static inline void put_array(writer *w, const char *name, uint64_t item, uint64_t count)
{
    put_key(w, name, ARRAY);
    put(w, item, 4);
    put(w, count, 8);
}

static inline void put_tensor(writer *w, const char *name, uint32_t n_dims, const uint64_t *ne,
                              uint64_t type, uint64_t offset)
{
    put_string(w, name, strlen(name));
    put(w, n_dims, 4);
    for (uint32_t d = 0; d < n_dims; d++) put(w, ne[d], 8);
    put(w, type, 4);
    put(w, offset, 8);
}

static inline void put_padding(writer *w, size_t alignment)
{
    while (w->n % alignment != 0) put(w, 0, 1);
}

static inline uint64_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline uint64_t double_bits(double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Every kind of key and four tensors, 4 KiB, no byte to spare at the end. */
static inline size_t put_valid(writer *w) /* returns where the header ends */
{
    put_start(w, 3, 4, 20);
    put_key(w, "general.architecture", STRING);
    put_string(w, "qwen2vl", 7);
    put_number(w, "general.alignment", U32, 64, 4);
    put_number(w, "n.u8", U8, 200, 1);
    put_number(w, "n.i8", I8, 0xff, 1);
    put_number(w, "n.u16", U16, 60000, 2);
    put_number(w, "n.i16", I16, 0x8000, 2);
    put_number(w, "n.u32", U32, 0xffffffffu, 4);
    put_number(w, "n.i32", I32, 0x80000000u, 4);
    put_number(w, "n.f32", F32, float_bits(1.5f), 4);
    put_number(w, "n.true", BOOL, 1, 1);
    put_number(w, "n.false", BOOL, 0, 1);
    put_number(w, "n.u64", U64, UINT64_MAX, 8);
    put_number(w, "n.i64", I64, UINT64_C(1) << 63, 8);
    put_number(w, "n.f64", F64, double_bits(-0.1), 8);
    put_array(w, "a.i32", I32, 4);
    for (uint32_t i = 0; i < 4; i++) put(w, i == 3 ? UINT32_MAX : 8 * i, 4);
    put_array(w, "a.f32", F32, 3);
    for (int i = 0; i < 3; i++) put(w, float_bits(0.25f * (float)i), 4);
    put_array(w, "a.bool", BOOL, 3);
    put(w, 0x010001, 3);
    put_array(w, "a.string", STRING, 3);
    put_string(w, "one", 3);
    put_string(w, "", 0);
    put_string(w, "\0\xff!", 3);
    put_array(w, "a.empty", U8, 0);
    put_key(w, "empty", STRING);
    put_string(w, "", 0);

    const uint64_t ne[4][4] = { { 8, 4, 2, 2 }, { 3, 5, 1, 1 }, { 256, 2, 1, 1 }, { 7, 1, 1, 1 } };
    put_tensor(w, "four", 4, ne[0], 0, 1024);   /* F32: 512 bytes, not in the order of the file */
    put_tensor(w, "half", 2, ne[1], 1, 0);      /* F16: 30 bytes */
    put_tensor(w, "blocks", 2, ne[2], 12, 64);  /* Q4_K: 288 bytes */
    put_tensor(w, "last", 1, ne[3], 30, 0xc00); /* BF16: 14 bytes, after a hole */
    const size_t header = w->n;
    put_padding(w, 64);
    put_zeros(w, 0xc00 + 14);
    return header;
}

#endif /* TESTS_GGUF_WRITER_H */
