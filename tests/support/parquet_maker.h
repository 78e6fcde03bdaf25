/* parquet_maker.h - a plain Parquet file of two columns, written as it grows: index and image. */
#ifndef TESTS_PARQUET_MAKER_H
#define TESTS_PARQUET_MAKER_H

#include "base/buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct parquet_maker {
    FILE *file;
    uint64_t at;
    s2_buffer groups; /* the row groups of the footer */
    int n_groups;
    int64_t n_rows;
} parquet_maker;

static inline void thrift_varint(s2_buffer *out, uint64_t value)
{
    for (; value > 127; value >>= 7) s2_buffer_append(out, &(uint8_t){ (uint8_t)(value | 128) }, 1);
    s2_buffer_append(out, &(uint8_t){ (uint8_t)value }, 1);
}

/* A field whose number is `step` after the last one; type 5: i32, 6: i64, 8: text, 9: list, 12: struct. */
static inline void thrift_head(s2_buffer *out, int step, int type)
{
    s2_buffer_append(out, &(uint8_t){ (uint8_t)(step << 4 | type) }, 1);
}

static inline void thrift_number(s2_buffer *out, int step, int type, int64_t value)
{
    thrift_head(out, step, type);
    thrift_varint(out, (uint64_t)value << 1 ^ (uint64_t)(value >> 63));
}

static inline void thrift_text(s2_buffer *out, int step, const char *text)
{
    thrift_head(out, step, 8);
    thrift_varint(out, strlen(text));
    s2_buffer_append(out, text, strlen(text));
}

static inline void thrift_stop(s2_buffer *out) { s2_buffer_append(out, "", 1); }

static inline void maker_write(parquet_maker *m, const void *bytes, size_t n)
{
    if (fwrite(bytes, 1, n, m->file) != n) abort();
    m->at += n;
}

static inline void maker_open(parquet_maker *m, const char *path)
{
    *m = (parquet_maker){ .file = fopen(path, "wb") };
    if (!m->file) abort();
    s2_buffer_init(&m->groups, (size_t)1 << 24);
    maker_write(m, "PAR1", 4);
}

/* A page of n plain values, and its ColumnChunk. */
static inline void maker_chunk(parquet_maker *m, const char *name, int type, int n,
                               const s2_buffer *values)
{
    const uint64_t start = m->at;
    s2_buffer head;
    s2_buffer_init(&head, 4096);
    thrift_number(&head, 1, 5, 0); /* DATA_PAGE */
    thrift_number(&head, 1, 5, (int64_t)values->size);
    thrift_number(&head, 1, 5, (int64_t)values->size);
    thrift_head(&head, 2, 12);
    thrift_number(&head, 1, 5, n);
    thrift_number(&head, 1, 5, 0); /* PLAIN */
    thrift_number(&head, 1, 5, 3);
    thrift_number(&head, 1, 5, 3);
    thrift_stop(&head);
    thrift_stop(&head);
    maker_write(m, head.data, head.size);
    maker_write(m, values->data, values->size);
    s2_buffer_free(&head);

    s2_buffer *g = &m->groups;
    thrift_number(g, 2, 6, (int64_t)start);
    thrift_head(g, 1, 12);
    thrift_number(g, 1, 5, type);
    thrift_head(g, 1, 9);
    s2_buffer_append(g, "\x15\x00", 2); /* encodings: PLAIN */
    thrift_head(g, 1, 9);
    s2_buffer_append(g, "\x18", 1);
    thrift_varint(g, strlen(name));
    s2_buffer_append(g, name, strlen(name));
    thrift_number(g, 1, 5, 0); /* UNCOMPRESSED */
    thrift_number(g, 1, 6, n);
    thrift_number(g, 1, 6, (int64_t)(m->at - start));
    thrift_number(g, 1, 6, (int64_t)(m->at - start));
    thrift_number(g, 2, 6, (int64_t)start);
    thrift_stop(g);
    thrift_stop(g);
}

/* A row group: n pictures of `size` bytes, each of one repeated byte that is its index. */
static inline void maker_group(parquet_maker *m, int n, size_t size)
{
    s2_buffer indices, pictures;
    s2_buffer_init(&indices, (size_t)1 << 24);
    s2_buffer_init(&pictures, (size_t)1 << 30);
    for (int i = 0; i < n; i++) {
        const int64_t index = m->n_rows + i;
        const uint32_t length = (uint32_t)size;
        s2_buffer_append(&indices, &index, sizeof index);
        s2_buffer_append(&pictures, &length, sizeof length);
        uint8_t *at = s2_buffer_extend(&pictures, size);
        if (!at) abort();
        memset(at, (int)(index & 255), size);
    }
    m->n_groups++;
    m->n_rows += n;
    thrift_head(&m->groups, 1, 9);
    s2_buffer_append(&m->groups, "\x2C", 1); /* two structs */
    maker_chunk(m, "index", 2, n, &indices);
    maker_chunk(m, "image", 6, n, &pictures);
    thrift_number(&m->groups, 1, 6, (int64_t)pictures.size);
    thrift_number(&m->groups, 1, 6, n);
    thrift_stop(&m->groups);
    s2_buffer_free(&indices);
    s2_buffer_free(&pictures);
}

static inline void maker_close(parquet_maker *m)
{
    s2_buffer f;
    s2_buffer_init(&f, (size_t)1 << 25);
    thrift_number(&f, 1, 5, 1);
    thrift_head(&f, 1, 9);
    s2_buffer_append(&f, "\x3C", 1); /* three structs */
    thrift_text(&f, 4, "root");
    thrift_number(&f, 1, 5, 2);
    thrift_stop(&f);
    thrift_number(&f, 1, 5, 2); /* INT64 */
    thrift_number(&f, 2, 5, 0); /* REQUIRED */
    thrift_text(&f, 1, "index");
    thrift_stop(&f);
    thrift_number(&f, 1, 5, 6); /* BYTE_ARRAY */
    thrift_number(&f, 2, 5, 0);
    thrift_text(&f, 1, "image");
    thrift_stop(&f);
    thrift_number(&f, 1, 6, m->n_rows);
    thrift_head(&f, 1, 9);
    s2_buffer_append(&f, "\xFC", 1);
    thrift_varint(&f, (uint64_t)m->n_groups);
    s2_buffer_append(&f, m->groups.data, m->groups.size);
    thrift_stop(&f);
    const uint32_t n = (uint32_t)f.size;
    maker_write(m, f.data, f.size);
    maker_write(m, &n, sizeof n);
    maker_write(m, "PAR1", 4);
    if (fclose(m->file) != 0) abort();
    s2_buffer_free(&f);
    s2_buffer_free(&m->groups);
}

#endif /* TESTS_PARQUET_MAKER_H */
