/* cache.h - the cache of an engine, shared by all its sessions: blocks of bytes by key.
 *
 * There are two kinds of blocks, which this file does not distinguish: the tower's output for a picture
 * (vision/tower_cache.h) and the state of a prompt before its question (prompt/prefix.h). A key is the
 * SHA-256 of everything the block depends on, so two blocks with the same key are equal.
 *
 * All blocks together never exceed the limit, including those in use and those being filled. The
 * least recently used block is evicted first, but never a block in use: if only such blocks could
 * make room, the new one is not stored, and the prefill does not fail. With a folder
 * (cache_file.h), blocks are also written to it and read from it.
 *
 * Any number of threads may call. A block never changes after it is kept.
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
    s2v_note_callback note; /* NULL, or called for damaged files */
    void *user;
} s2v_cache_options;

s2p_status s2v_cache_create(s2v_cache **out, const s2v_cache_options *options, s2p_error *error);
void s2v_cache_free(s2v_cache *cache); /* NULL is fine; no block may be in use */

/* The block of the first of n_keys keys that is found, now in use; NULL: none is found. */
s2v_cache_block *s2v_cache_find(s2v_cache *cache, const uint8_t *keys, size_t n_keys);

/* Allocate a block, in use: fill and keep it, or release it. NULL: no room. */
s2v_cache_block *s2v_cache_room(s2v_cache *cache, size_t n);

/* The block is filled and can now be found. It stays in use. */
void s2v_cache_keep(s2v_cache *cache, s2v_cache_block *block, const uint8_t *key);

/* No longer in use. NULL is fine. */
void s2v_cache_release(s2v_cache *cache, s2v_cache_block *block);

/* A block that was found is invalid: remove it, report it, and release it. */
void s2v_cache_refuse(s2v_cache *cache, s2v_cache_block *block);

/* Remove all blocks that are not in use; files are kept. NULL is fine. */
void s2v_cache_clear(s2v_cache *cache);

void s2v_cache_count(s2v_cache *cache, s2v_cache_stats *out);

#endif /* S2_ENGINE_CACHE_H */
