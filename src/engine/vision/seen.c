/* seen.c - know a picture again, and have its rows and what the tower did to it. */
#include "engine/vision/seen.h"

#include <stdlib.h>
#include <string.h>

static size_t patch_values(const s2v_frame *frame, int32_t patch_row)
{
    return (size_t)frame->n_views * (size_t)frame->n_patches * (size_t)patch_row;
}

/* The same patches may stand for other rows: with another grid, without newlines. */
static bool has_same_rows(const s2v_seen *seen, const s2v_frame *frame)
{
    if (seen->n_rows != frame->n_rows || seen->n_parts != frame->n_parts) return false;
    for (int32_t p = 0; p < frame->n_parts; p++) {
        const s2v_part *a = &seen->part[p], *b = &frame->part[p];
        if (a->grid.rows != b->grid.rows || a->grid.cols != b->grid.cols || a->first != b->first ||
            a->pitch != b->pitch || a->width != b->width || a->height != b->height)
            return false;
    }
    return true;
}

const float *s2v_seen_recall(const s2v_seen *seen, const s2v_frame *frame, int32_t patch_row)
{
    const size_t n = patch_values(frame, patch_row);
    if (!seen->rows || n != seen->n_patch_values || !has_same_rows(seen, frame)) return NULL;
    return memcmp(seen->patches, frame->patches, n * sizeof *seen->patches) == 0 ? seen->rows
                                                                                 : NULL;
}

float *s2v_seen_remember(s2v_seen *seen, const s2v_frame *frame, int32_t patch_row, int32_t n_embd)
{
    s2v_seen_forget(seen);
    seen->n_patch_values = patch_values(frame, patch_row);
    seen->n_row_values = (size_t)frame->n_rows * (size_t)n_embd;
    seen->n_rows = frame->n_rows;
    seen->n_parts = frame->n_parts;
    memcpy(seen->part, frame->part, sizeof seen->part);
    seen->patches = malloc(seen->n_patch_values * sizeof *seen->patches);
    seen->rows = malloc(seen->n_row_values * sizeof *seen->rows);
    if (!seen->patches || !seen->rows) {
        s2v_seen_forget(seen);
        return NULL;
    }
    memcpy(seen->patches, frame->patches, seen->n_patch_values * sizeof *seen->patches);
    return seen->rows;
}

void s2v_seen_remember_watched(s2v_seen *seen, const float *attn, const float *key, int32_t n,
                               int32_t key_dim)
{
    const size_t n_attn = (size_t)n * sizeof *attn, n_key = n_attn * (size_t)key_dim;
    float *own_attn = malloc(n_attn), *own_key = malloc(n_key);
    if (!seen->rows || !own_attn || !own_key) {
        free(own_attn);
        free(own_key);
        return;
    }
    free(seen->attn);
    free(seen->key);
    seen->attn = memcpy(own_attn, attn, n_attn);
    seen->key = memcpy(own_key, key, n_key);
    seen->key_dim = key_dim;
}

void s2v_seen_forget(s2v_seen *seen)
{
    free(seen->patches);
    free(seen->rows);
    free(seen->attn);
    free(seen->key);
    *seen = (s2v_seen){ .patches = NULL };
}
