/* tower_cache.c - know a picture again, and have its rows and what the tower attended to. */
#include "engine/vision/tower_cache.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static size_t patch_values(const s2v_frame *frame, int32_t patch_row)
{
    return (size_t)frame->n_views * (size_t)frame->n_patches * (size_t)patch_row;
}

/* The same patches may stand for other rows: with another grid, without newlines. */
static bool has_same_rows(const s2v_tower_cache *cache, const s2v_frame *frame)
{
    if (cache->n_rows != frame->n_rows || cache->n_parts != frame->n_parts) return false;
    for (int32_t p = 0; p < frame->n_parts; p++) {
        const s2v_part *a = &cache->part[p], *b = &frame->part[p];
        if (a->grid.rows != b->grid.rows || a->grid.cols != b->grid.cols || a->first != b->first ||
            a->pitch != b->pitch || a->width != b->width || a->height != b->height)
            return false;
    }
    return true;
}

const float *s2v_tower_cache_find(const s2v_tower_cache *cache, const s2v_frame *frame,
                                  int32_t patch_row)
{
    const size_t n = patch_values(frame, patch_row);
    if (!cache->rows || n != cache->n_patch_values || !has_same_rows(cache, frame)) return NULL;
    return memcmp(cache->patches, frame->patches, n * sizeof *cache->patches) == 0 ? cache->rows
                                                                                   : NULL;
}

float *s2v_tower_cache_start(s2v_tower_cache *cache, const s2v_frame *frame, int32_t patch_row,
                             int32_t n_embd)
{
    s2v_tower_cache_clear(cache);
    cache->n_patch_values = patch_values(frame, patch_row);
    cache->n_row_values = (size_t)frame->n_rows * (size_t)n_embd;
    cache->n_rows = frame->n_rows;
    cache->n_parts = frame->n_parts;
    memcpy(cache->part, frame->part, sizeof cache->part);
    cache->patches = malloc(cache->n_patch_values * sizeof *cache->patches);
    cache->rows = malloc(cache->n_row_values * sizeof *cache->rows);
    if (!cache->patches || !cache->rows) {
        s2v_tower_cache_clear(cache);
        return NULL;
    }
    memcpy(cache->patches, frame->patches, cache->n_patch_values * sizeof *cache->patches);
    return cache->rows;
}

void s2v_tower_cache_add_probe(s2v_tower_cache *cache, const float *attn, const float *key,
                               int32_t n, int32_t key_dim)
{
    const size_t n_attn = (size_t)n * sizeof *attn, n_key = n_attn * (size_t)key_dim;
    float *own_attn = malloc(n_attn), *own_key = malloc(n_key);
    if (!cache->rows || !own_attn || !own_key) {
        free(own_attn);
        free(own_key);
        return;
    }
    free(cache->attn);
    free(cache->key);
    cache->attn = memcpy(own_attn, attn, n_attn);
    cache->key = memcpy(own_key, key, n_key);
    cache->key_dim = key_dim;
}

void s2v_tower_cache_clear(s2v_tower_cache *cache)
{
    free(cache->patches);
    free(cache->rows);
    free(cache->attn);
    free(cache->key);
    *cache = (s2v_tower_cache){ .patches = NULL };
}
