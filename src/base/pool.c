/* pool.c - blocks in a list; a piece larger than a block gets one of its own. */
#include "base/pool.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_BYTES ((size_t)64 << 10)

struct s2_pool_block {
    struct s2_pool_block *next;
    size_t used, size;
    max_align_t data[];
};

void *s2_pool_take(s2_pool *pool, size_t n)
{
    const size_t unit = sizeof(max_align_t);
    size_t size, whole;
    if (!s2_add_size(n ? n : 1, unit - 1, &size)) return NULL;
    size = size / unit * unit;
    struct s2_pool_block *block = pool->block;
    if (!block || block->size - block->used < size) {
        const size_t room = size > BLOCK_BYTES ? size : BLOCK_BYTES;
        if (!s2_add_size(room, sizeof *block, &whole)) return NULL;
        block = calloc(1, whole);
        if (!block) return NULL;
        block->size = room;
        block->next = pool->block;
        pool->block = block;
    }
    void *piece = (char *)block->data + block->used;
    block->used += size;
    return piece;
}

char *s2_pool_text(s2_pool *pool, const char *text, size_t n)
{
    char *out = n < SIZE_MAX ? s2_pool_take(pool, n + 1) : NULL;
    if (out && n) memcpy(out, text, n);
    return out;
}

char *s2_pool_copy(s2_pool *pool, const char *text)
{
    return s2_pool_text(pool, text, strlen(text));
}

void s2_pool_free(s2_pool *pool)
{
    for (struct s2_pool_block *block = pool->block, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    pool->block = NULL;
}
