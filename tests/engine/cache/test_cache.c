/* test_cache.c - blocks in memory: the limit holds, the oldest unused goes first, what is in use
 * stays; from one thread and from several.
 */
#include "check.h"

#include "base/random.h"
#include "engine/cache/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define OVERHEAD 256 /* bytes of an entry besides its block, at most */
#define N_THREADS 4
#define N_OPERATIONS 10000

static s2v_cache *make(uint64_t max_bytes)
{
    s2v_cache *cache;
    const s2v_cache_options options = { .max_bytes = max_bytes };
    assert_int_equal(s2v_cache_create(&cache, &options, NULL), S2P_OK);
    return cache;
}

static const uint8_t *key_of(int which)
{
    static _Thread_local uint8_t key[S2V_KEY_BYTES];
    memset(key, 0, sizeof key);
    memcpy(key + 7, &which, sizeof which);
    return key;
}

static s2v_cache_stats count(s2v_cache *cache)
{
    s2v_cache_stats stats;
    s2v_cache_count(cache, &stats);
    assert_true(stats.bytes <= stats.limit);
    return stats;
}

/* Blocks are filled with their number; false: there was no room. */
static bool put(s2v_cache *cache, int which, size_t n)
{
    s2v_cache_block *block = s2v_cache_room(cache, n);
    if (!block) return false;
    assert_int_equal(block->n, n);
    memset(block->bytes, which, n);
    s2v_cache_keep(cache, block, key_of(which));
    s2v_cache_release(cache, block);
    return true;
}

static s2v_cache_block *find(s2v_cache *cache, int which)
{
    s2v_cache_block *block = s2v_cache_find(cache, key_of(which), 1);
    if (block)
        for (size_t i = 0; i < block->n; i += 1 + block->n / 7)
            assert_int_equal(block->bytes[i], which & 255);
    return block;
}

static bool has(s2v_cache *cache, int which)
{
    s2v_cache_block *block = find(cache, which);
    s2v_cache_release(cache, block);
    return block != NULL;
}

static void the_oldest_unused_goes_first(void **state)
{
    (void)state;
    s2v_cache *cache = make(3 * (1000 + OVERHEAD));
    for (int i = 1; i <= 3; i++) assert_true(put(cache, i, 1000));
    assert_true(has(cache, 1)); /* the newest now */
    assert_true(put(cache, 4, 1000));
    assert_true(has(cache, 1) && !has(cache, 2) && has(cache, 3) && has(cache, 4));
    s2v_cache_block *held = find(cache, 1);
    assert_true(put(cache, 5, 2000)); /* 3 and 4 go, 1 is older than both */
    assert_true(has(cache, 1) && !has(cache, 3) && !has(cache, 4) && has(cache, 5));
    assert_false(put(cache, 6, 2800)); /* 1 is in the way; 5 went for nothing */
    assert_true(has(cache, 1) && !has(cache, 6));
    s2v_cache_release(cache, held);
    assert_true(put(cache, 6, 2800));
    const s2v_cache_stats stats = count(cache);
    assert_true(stats.stored == 6 && stats.evictions == 5);
    assert_true(stats.hits == 8 && stats.misses == 4);
    s2v_cache_free(cache);
}

static void the_limit_is_one_of_everything(void **state)
{
    (void)state;
    s2v_cache *cache = make(4096);
    assert_null(s2v_cache_room(cache, 4096)); /* nor is what keeps it free */
    assert_null(s2v_cache_room(cache, SIZE_MAX));
    assert_null(s2v_cache_room(cache, 0));
    s2v_cache_block *filling = s2v_cache_room(cache, 2000); /* counts before it is kept */
    assert_non_null(filling);
    assert_false(put(cache, 1, 2000));
    s2v_cache_release(cache, filling);
    assert_int_equal(count(cache).bytes, 0);
    assert_true(put(cache, 1, 2000));
    s2v_cache_free(cache);
}

/* Two made the same: the first is what others find, the second lives as long as its maker. */
static void the_same_twice(void **state)
{
    (void)state;
    s2v_cache *cache = make(1 << 20);
    s2v_cache_block *a = s2v_cache_room(cache, 100), *b = s2v_cache_room(cache, 100);
    memset(a->bytes, 1, 100);
    memset(b->bytes, 1, 100);
    s2v_cache_keep(cache, a, key_of(1));
    s2v_cache_keep(cache, b, key_of(1));
    s2v_cache_block *found = find(cache, 1);
    assert_ptr_equal(found, a);
    s2v_cache_release(cache, found);
    s2v_cache_release(cache, a);
    const uint64_t both = count(cache).bytes;
    s2v_cache_release(cache, b);
    assert_true(count(cache).bytes == both / 2 && count(cache).stored == 1);
    assert_true(has(cache, 1));
    s2v_cache_free(cache);
}

/* The first of several keys that is there. */
static void several_keys(void **state)
{
    (void)state;
    s2v_cache *cache = make(1 << 20);
    uint8_t keys[2][S2V_KEY_BYTES];
    for (int i = 0; i < 2; i++) memcpy(keys[i], key_of(i), sizeof keys[i]);
    assert_null(s2v_cache_find(cache, keys[0], 2));
    put(cache, 1, 10);
    s2v_cache_block *block = s2v_cache_find(cache, keys[0], 2);
    assert_int_equal(block->bytes[0], 1);
    s2v_cache_release(cache, block);
    put(cache, 0, 10);
    block = s2v_cache_find(cache, keys[0], 2);
    assert_int_equal(block->bytes[0], 0);
    s2v_cache_refuse(cache, block); /* is not what it should be: gone */
    assert_true(!has(cache, 0) && has(cache, 1));
    s2v_cache_free(cache);
}

typedef struct worker {
    s2v_cache *cache;
    uint64_t seed;
    int n_found, n_put;
} worker;

/* Find, make, hold some for a while, forget all. */
static void *work(void *user)
{
    worker *w = user;
    s2_random random = { w->seed };
    s2v_cache_block *held[8] = { NULL };
    for (int i = 0; i < N_OPERATIONS / N_THREADS; i++) {
        const int which = (int)s2_random_below(&random, 40),
                  slot = (int)s2_random_below(&random, 8);
        s2v_cache_release(w->cache, held[slot]);
        held[slot] = find(w->cache, which);
        w->n_found += held[slot] != NULL;
        if (!held[slot]) w->n_put += put(w->cache, which, 100 + 37 * (size_t)which);
        if (s2_random_below(&random, 400) == 0) s2v_cache_clear(w->cache);
        s2v_cache_stats stats;
        s2v_cache_count(w->cache, &stats);
        if (stats.bytes > stats.limit) abort();
    }
    for (int i = 0; i < 8; i++) s2v_cache_release(w->cache, held[i]);
    return NULL;
}

static void threads_and_ten_thousand_operations(void **state)
{
    (void)state;
    s2v_cache *cache = make(16384);
    worker workers[N_THREADS];
    pthread_t thread[N_THREADS];
    int n_found = 0, n_put = 0;
    for (int i = 0; i < N_THREADS; i++) {
        workers[i] = (worker){ .cache = cache, .seed = (uint64_t)i };
        assert_int_equal(pthread_create(&thread[i], NULL, work, &workers[i]), 0);
    }
    for (int i = 0; i < N_THREADS; i++) {
        (void)pthread_join(thread[i], NULL);
        n_found += workers[i].n_found;
        n_put += workers[i].n_put;
    }
    const s2v_cache_stats stats = count(cache);
    assert_true(n_found > N_OPERATIONS / 10 && n_put > N_OPERATIONS / 10 && stats.evictions > 100);
    assert_int_equal(stats.hits, n_found);
    assert_int_equal(stats.hits + stats.misses, N_OPERATIONS);
    s2v_cache_clear(cache);
    assert_int_equal(count(cache).bytes, 0); /* memory is back at the start */
    s2v_cache_free(cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_oldest_unused_goes_first),
        cmocka_unit_test(the_limit_is_one_of_everything),
        cmocka_unit_test(the_same_twice),
        cmocka_unit_test(several_keys),
        cmocka_unit_test(threads_and_ten_thousand_operations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
