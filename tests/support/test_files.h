/* test_files.h - picture files for tests: seeds from the fuzz corpus, and pieces to build bad ones.
 *
 * A test program that cannot read its seeds or has no memory ends at once: it has nothing to say.
 */
#ifndef S2_TEST_FILES_H
#define S2_TEST_FILES_H

#include "base/file.h"
#include "image/image.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SEEDS 64

typedef struct blob {
    uint8_t *data;
    size_t size, capacity; /* capacity 0: exactly size */
} blob;

typedef struct seeds {
    blob file[MAX_SEEDS];
    char name[MAX_SEEDS][64];
    int n;
} seeds;

static inline void *must(void *p)
{
    if (!p) abort();
    return p;
}

static inline blob blob_copy(const uint8_t *data, size_t size)
{
    blob b = { must(malloc(size ? size : 1)), size, size };
    if (size) memcpy(b.data, data, size);
    return b;
}

static inline void blob_append(blob *b, const void *data, size_t n)
{
    if (b->size + n > b->capacity) {
        b->capacity = 2 * (b->size + n);
        b->data = must(realloc(b->data, b->capacity));
    }
    memcpy(b->data + b->size, data, n);
    b->size += n;
}

static inline blob read_seed(const char *kind, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s/%s", S2_TEST_CORPUS, kind, name);
    s2_buffer buffer;
    s2_buffer_init(&buffer, 1 << 20);
    s2p_error error;
    if (s2_file_read(path, &buffer, &error) != S2P_OK) {
        fprintf(stderr, "%s\n", error.message);
        abort();
    }
    const blob b = blob_copy(buffer.data, buffer.size);
    s2_buffer_free(&buffer);
    return b;
}

static inline int compare_names(const void *a, const void *b) { return strcmp(a, b); }

/* All seeds of one format, in the order of their names. */
static inline void seeds_load(seeds *s, const char *kind)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", S2_TEST_CORPUS, kind);
    DIR *folder = must(opendir(path));
    s->n = 0;
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL && s->n < MAX_SEEDS;)
        if (entry->d_name[0] != '.')
            (void)snprintf(s->name[s->n++], sizeof s->name[0], "%.63s", entry->d_name);
    (void)closedir(folder);
    qsort(s->name, (size_t)s->n, sizeof s->name[0], compare_names);
    for (int i = 0; i < s->n; i++) s->file[i] = read_seed(kind, s->name[i]);
}

static inline void seeds_free(seeds *s)
{
    for (int i = 0; i < s->n; i++) free(s->file[i].data);
}

static inline void put_be32(uint8_t *p, uint32_t v)
{
    for (int i = 0; i < 4; i++) p[i] = (uint8_t)(v >> (24 - 8 * i));
}

static inline uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* PNG's CRC, bit by bit, on purpose another way than the code under test. */
static inline uint32_t png_crc(const uint8_t *p, size_t n)
{
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        crc ^= p[i];
        for (int k = 0; k < 8; k++) crc = crc & 1 ? crc >> 1 ^ 0xEDB88320u : crc >> 1;
    }
    return ~crc;
}

static inline void png_append_chunk(blob *png, const char *type, const void *data, size_t n)
{
    uint8_t word[4];
    put_be32(word, (uint32_t)n);
    blob_append(png, word, 4);
    const size_t start = png->size;
    blob_append(png, type, 4);
    if (n) blob_append(png, data, n);
    put_be32(word, png_crc(png->data + start, n + 4));
    blob_append(png, word, 4);
}

static inline blob png_begin(uint32_t width, uint32_t height, int depth, int colour, int interlace)
{
    blob png = blob_copy((const uint8_t *)"\x89PNG\r\n\x1A\n", 8);
    uint8_t head[13] = { 0 };
    put_be32(head, width);
    put_be32(head + 4, height);
    head[8] = (uint8_t)depth;
    head[9] = (uint8_t)colour;
    head[12] = (uint8_t)interlace;
    png_append_chunk(&png, "IHDR", head, sizeof head);
    return png;
}

/* Bits of a deflate stream, least significant first. */
typedef struct bits {
    blob out;
    unsigned byte, n;
} bits;

static inline void bits_put(bits *b, unsigned value, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        b->byte |= (value >> i & 1u) << b->n;
        if (++b->n == 8) {
            const uint8_t byte = (uint8_t)b->byte;
            blob_append(&b->out, &byte, 1);
            b->byte = b->n = 0;
        }
    }
}

/* A zlib stream of 1 + 258 * n zero bytes, 13 bits per 258: a bomb. */
static inline blob zlib_bomb(size_t n)
{
    bits b = { blob_copy((const uint8_t *)"\x78\x9C", 2), 0, 0 };
    bits_put(&b, 1, 1);    /* last block */
    bits_put(&b, 1, 2);    /* fixed codes */
    bits_put(&b, 0x0C, 8); /* literal 0: 00110000, first bit first */
    for (size_t i = 0; i < n; i++) {
        bits_put(&b, 0xA3, 8); /* length 258: code 285, 11000101 */
        bits_put(&b, 0, 5);    /* distance 1 */
    }
    bits_put(&b, 0, 7); /* end of block */
    bits_put(&b, 0, (8 - b.n) % 8);
    const uint32_t total =
        (uint32_t)((1 + 258 * n) % 65521); /* Adler-32 of zeros: s1 = 1, s2 = n */
    const uint8_t adler[4] = { (uint8_t)(total >> 8), (uint8_t)total, 0, 1 };
    blob_append(&b.out, adler, 4);
    return b.out;
}

/* Offset of the first JPEG marker 0xFF `marker` at or after `from`, the file's size when none. */
static inline size_t jpeg_find(const blob *jpeg, size_t from, int marker)
{
    for (size_t i = from; i + 1 < jpeg->size; i++)
        if (jpeg->data[i] == 0xFF && jpeg->data[i + 1] == marker) return i;
    return jpeg->size;
}

#endif /* S2_TEST_FILES_H */
