/* tower_cache.h - the tower's output for a picture, cached for all sessions.
 *
 * The first of two stages: it serves every method and every question. The key is the SHA-256 of the
 * tower's input (patches, their order and grid, which rows they become: another shape, framing or
 * resize gives another key) and of what computes it (the mmproj, kernels and their precision,
 * device, threads). Rows stored with the attention of the last block, for methods that need it, have
 * a separate key; they also serve methods that do not need it.
 */
#ifndef S2_ENGINE_TOWER_CACHE_H
#define S2_ENGINE_TOWER_CACHE_H

#include "engine/cache/cache.h"
#include "engine/vision/tower_probe.h"

/* Set frame->key, after its patches are set. identity: of the mmproj and of what computes with it. */
void s2v_tower_key(const s2v_model *model, const uint8_t identity[32], int32_t n_threads,
                   s2v_frame *frame);

typedef struct s2v_tower_known { /* arrays are the block's */
    s2v_cache_block *block;      /* to be released */
    const float *rows; /* [n_rows][n_embd], and as often again as the model has deepstack layers */
    const float *attn, *key; /* as in s2v_tower_probe; NULL: not cached */
    int32_t key_dim;
    double made_ms; /* the tower's time for them */
} s2v_tower_known;

/* Look up a picture with a key; false: not cached, or without the attention. */
bool s2v_tower_recall(s2v_cache *cache, const s2v_model *model, const s2v_frame *frame,
                      bool wants_attention, s2v_tower_known *out);

/* Allocate its block, with `probe` unless that is NULL. rows: [n_rows][n_embd], to be filled, then
 * s2v_tower_keep. NULL: no room. */
s2v_cache_block *s2v_tower_room(s2v_cache *cache, const s2v_model *model, const s2v_frame *frame,
                                const s2v_tower_probe *probe, double made_ms, float **rows);
void s2v_tower_keep(s2v_cache *cache, const s2v_frame *frame, s2v_cache_block *block);

typedef struct s2v_tower_shape { /* the expected shape of a block */
    int32_t n_rows, n_embd, n_tokens, key_dim;
} s2v_tower_shape;

/* The parts of a block of n bytes; false unless it has that shape and its numbers are finite. */
bool s2v_tower_parse(const uint8_t *bytes, size_t n, s2v_tower_shape shape, s2v_tower_known *out);

#endif /* S2_ENGINE_TOWER_CACHE_H */
