/* bpe.c - merges by rank, without going quadratic on a long word.
 *
 * The symbols of a word form a linked list. A heap holds the pairs that could join,
 * best first: smallest rank, then leftmost, packed into one number each. A join makes
 * up to two new pairs and leaves the old ones of its neighbors in the heap; such a stale
 * entry is recognized by the pair there no longer having its rank. Each join puts in at most
 * two entries and takes one out, so 2n entries always suffice.
 */
#include "text/bpe.h"

#include "base/checked.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>

/* --- the table of merges ------------------------------------------------------ */

#define MAX_PROBES 4096u /* half full and well mixed, a few dozen are already rare */

static size_t home_of_pair(const s2v_merges *merges, int32_t left, int32_t right)
{
    uint64_t z = (uint64_t)(uint32_t)left << 32 | (uint32_t)right;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return (size_t)(z ^ (z >> 31)) & (merges->n_slots - 1);
}

s2p_status s2v_merges_init(s2v_merges *merges, size_t n, s2p_error *error)
{
    size_t n_slots = 16, n_bytes;
    *merges = (s2v_merges){ .slot = NULL };
    while (n_slots / 2 < n && n_slots <= SIZE_MAX / 4) n_slots *= 2;
    if (n_slots / 2 < n || !s2_mul_size(n_slots, sizeof(s2v_merge), &n_bytes))
        return s2_fail(error, S2P_ELIMIT, "%zu merges are too many", n);
    merges->slot = malloc(n_bytes);
    if (!merges->slot) return s2_fail_memory(error, n_bytes, "the table of merges");
    merges->n_slots = n_slots;
    for (size_t i = 0; i < n_slots; i++) merges->slot[i] = (s2v_merge){ .left = -1 };
    return S2P_OK;
}

void s2v_merges_free(s2v_merges *merges)
{
    free(merges->slot);
    *merges = (s2v_merges){ .slot = NULL };
}

s2p_status s2v_merges_add(s2v_merges *merges, s2v_merge merge)
{
    size_t at = home_of_pair(merges, merge.left, merge.right);
    for (size_t i = 0; i < MAX_PROBES; i++, at = (at + 1) & (merges->n_slots - 1)) {
        s2v_merge *slot = &merges->slot[at];
        if (slot->left == merge.left && slot->right == merge.right) return S2P_EINVAL;
        if (slot->left >= 0) continue;
        *slot = merge;
        return S2P_OK;
    }
    return S2P_ELIMIT;
}

const s2v_merge *s2v_merges_find(const s2v_merges *merges, int32_t left, int32_t right)
{
    size_t at = home_of_pair(merges, left, right);
    for (; merges->slot[at].left >= 0; at = (at + 1) & (merges->n_slots - 1))
        if (merges->slot[at].left == left && merges->slot[at].right == right)
            return &merges->slot[at];
    return NULL;
}

/* --- joining -------------------------------------------------------------------- */

#define NONE INT32_MAX /* no symbol on that side */

typedef struct symbol {
    int32_t token; /* -1 once joined to the one on its left */
    int32_t before, after;
} symbol;

struct s2v_bpe {
    symbol *symbols;
    uint64_t *heap;  /* rank << 32 | index of the left symbol; smallest first */
    size_t capacity; /* symbols; the heap has twice as many */
    size_t n_heap;
};

s2p_status s2v_bpe_create(s2v_bpe **out, s2p_error *error)
{
    *out = calloc(1, sizeof **out);
    return *out ? S2P_OK : s2_fail_memory(error, sizeof **out, "the merging of words");
}

void s2v_bpe_free(s2v_bpe *bpe)
{
    if (!bpe) return;
    free(bpe->symbols);
    free(bpe->heap);
    free(bpe);
}

static s2p_status reserve_symbols(s2v_bpe *bpe, size_t n, s2p_error *error)
{
    if (n <= bpe->capacity) return S2P_OK;
    const size_t capacity = n < 64 ? 64 : n;
    size_t n_bytes;
    if (n > INT32_MAX - 1 || !s2_mul_size(2 * capacity, sizeof *bpe->heap, &n_bytes))
        return s2_fail(error, S2P_ELIMIT, "a word of %zu bytes is too long", n);
    free(bpe->symbols);
    free(bpe->heap);
    bpe->symbols = malloc(capacity * sizeof *bpe->symbols);
    bpe->heap = malloc(n_bytes);
    bpe->capacity = bpe->symbols && bpe->heap ? capacity : 0;
    return bpe->capacity ? S2P_OK : s2_fail_memory(error, n_bytes, "the merging of words");
}

static void heap_push(s2v_bpe *bpe, uint64_t entry)
{
    assert(bpe->n_heap < 2 * bpe->capacity);
    size_t i = bpe->n_heap++;
    for (; i > 0 && entry < bpe->heap[(i - 1) / 2]; i = (i - 1) / 2)
        bpe->heap[i] = bpe->heap[(i - 1) / 2];
    bpe->heap[i] = entry;
}

static uint64_t heap_pop(s2v_bpe *bpe)
{
    uint64_t *heap = bpe->heap;
    const uint64_t best = heap[0], last = heap[--bpe->n_heap];
    size_t i = 0;
    for (size_t child = 1; child < bpe->n_heap; child = 2 * i + 1) {
        if (child + 1 < bpe->n_heap && heap[child + 1] < heap[child]) child++;
        if (heap[child] >= last) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return best;
}

/* The merge of the symbol `at` with the one after it, NULL when there is none. */
static const s2v_merge *merge_at(const s2v_bpe *bpe, const s2v_merges *merges, int32_t at)
{
    const symbol *s = &bpe->symbols[at];
    if (s->token < 0 || s->after == NONE) return NULL;
    return s2v_merges_find(merges, s->token, bpe->symbols[s->after].token);
}

static void propose(s2v_bpe *bpe, const s2v_merges *merges, int32_t at)
{
    const s2v_merge *merge = at != NONE ? merge_at(bpe, merges, at) : NULL;
    if (merge) heap_push(bpe, (uint64_t)merge->rank << 32 | (uint32_t)at);
}

s2p_status s2v_bpe_join(s2v_bpe *bpe, const s2v_merges *merges, int32_t *token, size_t *n,
                        s2p_error *error)
{
    if (*n < 2) return S2P_OK;
    TRY(reserve_symbols(bpe, *n, error));

    const int32_t n_symbols = (int32_t)*n;
    for (int32_t i = 0; i < n_symbols; i++)
        bpe->symbols[i] =
            (symbol){ token[i], i > 0 ? i - 1 : NONE, i + 1 < n_symbols ? i + 1 : NONE };
    bpe->n_heap = 0;
    for (int32_t i = 0; i < n_symbols; i++) propose(bpe, merges, i);

    while (bpe->n_heap > 0) {
        const uint64_t best = heap_pop(bpe);
        const int32_t at = (int32_t)(best & INT32_MAX);
        const s2v_merge *merge = merge_at(bpe, merges, at);
        if (!merge || (uint64_t)merge->rank != best >> 32) continue;
        symbol *left = &bpe->symbols[at], *right = &bpe->symbols[left->after];
        left->token = merge->token;
        left->after = right->after;
        right->token = -1;
        if (right->after != NONE) bpe->symbols[right->after].before = at;
        propose(bpe, merges, left->before);
        propose(bpe, merges, at);
    }

    size_t n_left = 0;
    for (int32_t i = 0; i < n_symbols; i++)
        if (bpe->symbols[i].token >= 0) token[n_left++] = bpe->symbols[i].token;
    *n = n_left;
    return S2P_OK;
}
