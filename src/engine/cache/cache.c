/* cache.c - a list of blocks, the last used first, and one lock.
 *
 * A picture takes tens of megabytes, so there are few blocks: searching a list takes far less time
 * than the hash of a key.
 */
#include "engine/cache/cache.h"

#include "base/sha256.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct entry {
    s2v_cache_block block; /* first: a pointer to it is one to the entry */
    uint8_t key[S2V_KEY_BYTES];
    int n_users;
    bool is_listed;
    struct entry *newer, *older;
} entry;

struct s2v_cache {
    pthread_mutex_t lock;   /* of everything below but the folder */
    entry *newest, *oldest; /* listed */
    s2v_cache_stats stats;
    bool cannot_write;        /* that was said once */
    pthread_mutex_t writing;  /* one thread at a time, and its count */
    s2v_cache_folder *folder; /* NULL: none */
    s2v_note_callback note;
    void *user;
};

s2p_status s2v_cache_create(s2v_cache **out, const s2v_cache_options *options, s2p_error *error)
{
    *out = NULL;
    s2v_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return s2_fail_memory(error, sizeof *cache, "the cache");
    (void)pthread_mutex_init(&cache->lock, NULL);
    (void)pthread_mutex_init(&cache->writing, NULL);
    cache->stats.limit = options->max_bytes;
    cache->note = options->note;
    cache->user = options->user;
    if (options->folder) {
        const s2p_status st = s2v_cache_folder_open(&cache->folder, options->folder,
                                                    options->max_folder_bytes, error);
        if (st != S2P_OK) {
            s2v_cache_free(cache);
            return st;
        }
    }
    *out = cache;
    return S2P_OK;
}

void s2v_cache_free(s2v_cache *cache)
{
    if (!cache) return;
    s2v_cache_clear(cache);
    s2v_cache_folder_close(cache->folder);
    (void)pthread_mutex_destroy(&cache->writing);
    (void)pthread_mutex_destroy(&cache->lock);
    free(cache);
}

/* --- the list, under the lock ----------------------------------------------------------- */

static void list(s2v_cache *cache, entry *e)
{
    e->is_listed = true;
    e->newer = NULL;
    e->older = cache->newest;
    if (e->older)
        e->older->newer = e;
    else
        cache->oldest = e;
    cache->newest = e;
}

static void unlist(s2v_cache *cache, entry *e)
{
    e->is_listed = false;
    *(e->newer ? &e->newer->older : &cache->newest) = e->older;
    *(e->older ? &e->older->newer : &cache->oldest) = e->newer;
}

/* Of the block and of what keeps it. */
static uint64_t size_of(const entry *e) { return sizeof *e + e->block.n; }

static void drop(s2v_cache *cache, entry *e)
{
    cache->stats.bytes -= size_of(e);
    free(e->block.bytes);
    free(e);
}

static entry *find_listed(const s2v_cache *cache, const uint8_t *key)
{
    for (entry *e = cache->newest; e; e = e->older)
        if (memcmp(e->key, key, sizeof e->key) == 0) return e;
    return NULL;
}

static entry *use(s2v_cache *cache, entry *e)
{
    unlist(cache, e);
    list(cache, e);
    e->n_users++;
    return e;
}

/* --- blocks ----------------------------------------------------------------------------- */

s2v_cache_block *s2v_cache_room(s2v_cache *cache, size_t n)
{
    const uint64_t limit = cache->stats.limit; /* never changes */
    if (n == 0 || n > limit || limit - n < sizeof(entry)) return NULL;
    const uint64_t needed = n + sizeof(entry);
    s2v_cache_stats *t = &cache->stats;
    (void)pthread_mutex_lock(&cache->lock);
    for (entry *old = cache->oldest, *newer; old && t->bytes > limit - needed; old = newer) {
        newer = old->newer;
        if (old->n_users > 0) continue; /* in use */
        unlist(cache, old);
        drop(cache, old);
        t->evictions++;
    }
    const bool fits = t->bytes <= limit - needed;
    if (fits) t->bytes += needed;
    (void)pthread_mutex_unlock(&cache->lock);
    if (!fits) return NULL;

    entry *e = calloc(1, sizeof *e);
    if (e) e->block = (s2v_cache_block){ malloc(n), n };
    if (e && e->block.bytes) {
        e->n_users = 1;
        return &e->block;
    }
    free(e);
    (void)pthread_mutex_lock(&cache->lock);
    t->bytes -= needed;
    (void)pthread_mutex_unlock(&cache->lock);
    return NULL;
}

void s2v_cache_release(s2v_cache *cache, s2v_cache_block *block)
{
    if (!block) return;
    entry *e = (entry *)block;
    (void)pthread_mutex_lock(&cache->lock);
    if (--e->n_users == 0 && !e->is_listed) drop(cache, e);
    (void)pthread_mutex_unlock(&cache->lock);
}

void s2v_cache_clear(s2v_cache *cache)
{
    if (!cache) return;
    (void)pthread_mutex_lock(&cache->lock);
    for (entry *e = cache->oldest, *newer; e; e = newer) {
        newer = e->newer;
        if (e->n_users > 0) continue;
        unlist(cache, e);
        drop(cache, e);
    }
    (void)pthread_mutex_unlock(&cache->lock);
}

/* --- files ------------------------------------------------------------------------------- */

static void tell(s2v_cache *cache, const uint8_t *key, const char *what, const char *why)
{
    char name[S2_SHA256_HEX], text[320];
    s2_sha256_hex(key, name);
    (void)snprintf(text, sizeof text, "%s %.16s...: %.200s", what, name, why);
    if (cache->note) cache->note(text, cache->user);
}

static void count_refused(s2v_cache *cache, const uint8_t *key, const char *why)
{
    (void)pthread_mutex_lock(&cache->lock);
    cache->stats.disk_refused++;
    (void)pthread_mutex_unlock(&cache->lock);
    tell(cache, key, "the cache file is not used, its contents are computed anew:", why);
}

/* In memory from now on, and in use. */
static entry *read_file(s2v_cache *cache, const uint8_t *key)
{
    s2v_cache_reader reader;
    s2p_error error = { S2P_OK, "" };
    s2p_status st = s2v_cache_file_open(cache->folder, key, &reader, &error);
    if (st == S2P_EIO) return NULL;
    s2v_cache_block *block = NULL;
    if (st == S2P_OK) {
        block = s2v_cache_room(cache, reader.n);
        if (!block) {
            s2v_cache_file_drop(&reader);
            return NULL;
        }
        st = s2v_cache_file_read(&reader, block->bytes, &error);
    }
    if (st != S2P_OK) {
        s2v_cache_release(cache, block);
        count_refused(cache, key, error.message);
        return NULL;
    }
    (void)pthread_mutex_lock(&cache->lock);
    entry *e = find_listed(cache, key); /* another thread was faster */
    entry *mine = (entry *)block;
    if (e) {
        use(cache, e);
        drop(cache, mine);
    } else {
        e = mine;
        memcpy(e->key, key, sizeof e->key);
        list(cache, e);
    }
    cache->stats.disk_hits++;
    (void)pthread_mutex_unlock(&cache->lock);
    return e;
}

static void write_file(s2v_cache *cache, const uint8_t *key, const s2v_cache_block *block)
{
    s2p_error error = { S2P_OK, "" };
    (void)pthread_mutex_lock(&cache->writing);
    const s2p_status st = s2v_cache_file_write(cache->folder, key, block->bytes, block->n, &error);
    (void)pthread_mutex_unlock(&cache->writing);
    if (st == S2P_OK) return;
    (void)pthread_mutex_lock(&cache->lock);
    const bool is_news = !cache->cannot_write;
    cache->cannot_write = true;
    (void)pthread_mutex_unlock(&cache->lock);
    if (is_news) tell(cache, key, "the cache folder stays as it is:", error.message);
}

/* --- finding and keeping ------------------------------------------------------------------ */

s2v_cache_block *s2v_cache_find(s2v_cache *cache, const uint8_t *keys, size_t n_keys)
{
    entry *e = NULL;
    (void)pthread_mutex_lock(&cache->lock);
    for (size_t i = 0; !e && i < n_keys; i++) e = find_listed(cache, keys + i * S2V_KEY_BYTES);
    if (e) use(cache, e);
    (void)pthread_mutex_unlock(&cache->lock);
    for (size_t i = 0; !e && cache->folder && i < n_keys; i++)
        e = read_file(cache, keys + i * S2V_KEY_BYTES);
    (void)pthread_mutex_lock(&cache->lock);
    if (e)
        cache->stats.hits++;
    else
        cache->stats.misses++;
    (void)pthread_mutex_unlock(&cache->lock);
    return e ? &e->block : NULL;
}

void s2v_cache_keep(s2v_cache *cache, s2v_cache_block *block, const uint8_t *key)
{
    entry *e = (entry *)block;
    (void)pthread_mutex_lock(&cache->lock);
    const bool is_new = !find_listed(cache, key); /* two sessions may have made the same */
    if (is_new) {
        memcpy(e->key, key, sizeof e->key);
        list(cache, e);
        cache->stats.stored++;
    }
    (void)pthread_mutex_unlock(&cache->lock);
    if (is_new && cache->folder) write_file(cache, key, block);
}

void s2v_cache_refuse(s2v_cache *cache, s2v_cache_block *block)
{
    entry *e = (entry *)block;
    uint8_t key[S2V_KEY_BYTES];
    (void)pthread_mutex_lock(&cache->lock);
    memcpy(key, e->key, sizeof key);
    if (e->is_listed) unlist(cache, e);
    cache->stats.hits--;
    cache->stats.misses++;
    (void)pthread_mutex_unlock(&cache->lock);
    s2v_cache_release(cache, block);
    count_refused(cache, key, "it belongs to something else");
}

void s2v_cache_count(s2v_cache *cache, s2v_cache_stats *out)
{
    (void)pthread_mutex_lock(&cache->lock);
    *out = cache->stats;
    (void)pthread_mutex_unlock(&cache->lock);
    if (!cache->folder) return;
    (void)pthread_mutex_lock(&cache->writing);
    out->disk_bytes = s2v_cache_folder_bytes(cache->folder);
    (void)pthread_mutex_unlock(&cache->writing);
}
