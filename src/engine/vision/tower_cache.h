/* tower_cache.h - the tower's output for a picture, remembered.
 *
 * Many questions about one picture need the tower once. A picture is known again by
 * comparing everything the tower would read, so a recalled row is the row it would
 * have computed. What its last block attended to is remembered too, if somebody asked for it.
 */
#ifndef S2_ENGINE_TOWER_CACHE_H
#define S2_ENGINE_TOWER_CACHE_H

#include "engine/vision/frame.h"

typedef struct s2v_tower_cache {
    float *patches; /* what the tower read */
    float *rows;    /* what it gave, [tokens][n_embd] */
    size_t n_patch_values, n_row_values;
    int32_t n_rows, n_parts; /* and where they stand */
    s2v_part part[S2V_MAX_PARTS];
    float *attn, *key; /* as in s2v_tower_probe; NULL: nobody asked */
    int32_t key_dim;
} s2v_tower_cache;

/* The rows of this picture; NULL when it is not the one remembered. patch_row: floats per patch. */
const float *s2v_tower_cache_find(const s2v_tower_cache *cache, const s2v_frame *frame,
                                  int32_t patch_row);

/* Remember a picture instead of the one before. Room for its rows, [tokens][n_embd], to be filled
 * by the caller; NULL without memory: then nothing is remembered. */
float *s2v_tower_cache_start(s2v_tower_cache *cache, const s2v_frame *frame, int32_t patch_row,
                             int32_t n_embd);

/* Remember what the tower attended to as well, a copy of attn [n] and key [n][key_dim]; not without
 * memory. */
void s2v_tower_cache_add_probe(s2v_tower_cache *cache, const float *attn, const float *key,
                               int32_t n, int32_t key_dim);
void s2v_tower_cache_clear(s2v_tower_cache *cache);

#endif /* S2_ENGINE_TOWER_CACHE_H */
