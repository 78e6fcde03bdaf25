/* cache.h - what an engine remembers for all its sessions: blocks of bytes by key.
 *
 * There are two kinds of blocks, and this file knows neither: what the tower made of a picture
 * (vision/tower_cache.h) and what is left of a prompt before its question (run/prefix.h). A key is
 * SHA-256 of everything the block depends on, so two blocks of one key are equal.
 *
 * All blocks together never take more than the limit, those in use and those being filled
 * included. What was not used for longest goes first; a block in use never does: where only such
 * blocks are in the way nothing is remembered, and no prefill fails for it. With a folder
 * (cache_file.h) blocks are written there too, and looked for there.
 *
 * Any number of threads. A block is changed by nobody once it is kept.
 */
#ifndef S2_ENGINE_CACHE_H
#define S2_ENGINE_CACHE_H

#include "engine/cache/cache_file.h"
#include "s2vlm.h"

typedef struct s2v_cache s2v_cache;

typedef struct s2v_cache_block { /* borrowed from the cache until it is released */
    uint8_t *bytes;              /* [n], aligned as malloc does */
    size_t n;
} s2v_cache_block;

typedef struct s2v_cache_options {
    uint64_t max_bytes;
    const char *folder; /* NULL: none */
    uint64_t max_folder_bytes;
    s2v_note_callback note; /* NULL, or told of files that are not believed */
    void *user;
} s2v_cache_options;

s2p_status s2v_cache_create(s2v_cache **out, const s2v_cache_options *options, s2p_error *error);
void s2v_cache_free(s2v_cache *cache); /* NULL is fine; no block is in use any more */

/* The block of the first of n_keys keys that is there, now in use; NULL: none is. */
s2v_cache_block *s2v_cache_find(s2v_cache *cache, const uint8_t *keys, size_t n_keys);

/* Room for a block, in use: fill and keep it, or release it. NULL: there is none. */
s2v_cache_block *s2v_cache_room(s2v_cache *cache, size_t n);

/* It is filled: others may find it. It stays in use. */
void s2v_cache_keep(s2v_cache *cache, s2v_cache_block *block, const uint8_t *key);

/* No longer in use. NULL is fine. */
void s2v_cache_release(s2v_cache *cache, s2v_cache_block *block);

/* A block that was found is not what its key says: forget it, tell, and release it. */
void s2v_cache_refuse(s2v_cache *cache, s2v_cache_block *block);

/* Forget all that is not in use; files stay. NULL is fine. */
void s2v_cache_clear(s2v_cache *cache);

void s2v_cache_count(s2v_cache *cache, s2v_cache_stats *out);

#endif /* S2_ENGINE_CACHE_H */
