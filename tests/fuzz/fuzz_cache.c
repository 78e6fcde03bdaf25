/* fuzz_cache.c - any bytes as what a cache file holds: refused, or every part lies inside them and a
 * plan keeps its promises. The first byte says which of the parsers reads the rest.
 */
#include "fuzz.h"

#include "base/sha256.h"
#include "engine/cache/cache_file.h"
#include "engine/prompt/prefix_bytes.h"
#include "engine/vision/tower_cache.h"
#include "prune/plan_bytes.h"

#include <math.h>
#include <string.h>

static void try_head(const uint8_t *data, size_t n)
{
    uint8_t head[S2V_CACHE_FILE_HEAD] = { 0 }, key[S2V_KEY_BYTES] = { 0 };
    size_t n_block;
    memcpy(head, data, n < sizeof head ? n : sizeof head);
    memcpy(key, head + 24, sizeof key); /* the right one */
    if (s2v_cache_head_check(head, n, key, &n_block, NULL) == S2P_OK)
        PROMISE(ACCEPTED() && n_block + sizeof head == n);
    key[0] ^= 1;
    PROMISE(s2v_cache_head_check(head, n, key, &n_block, NULL) == S2P_EFORMAT);
}

static void try_prefix(const uint8_t *data, size_t n)
{
    s2v_prefix_parts parts;
    if (!s2v_prefix_parse(data, n, 2, 1, 32, 64, &parts)) return;
    ACCEPTED();
    size_t n_slots = 0;
    for (int32_t i = 0; i < 2; i++) {
        PROMISE(parts.layer[i].n_ran >= 0 && parts.layer[i].n_left >= 0);
        n_slots += (size_t)parts.layer[i].n_left;
        if (parts.layer[i].has_ran) n_slots += (size_t)parts.layer[i].n_ran;
    }
    PROMISE(parts.plans + parts.plan_bytes[0] == parts.slots);
    PROMISE(parts.slots + n_slots * 32 == data + n);
}

static void try_tower(const uint8_t *data, size_t n)
{
    s2v_tower_known known;
    const s2v_tower_shape shape = { .n_rows = 3, .n_embd = 4, .n_tokens = 2, .key_dim = 5 };
    if (!s2v_tower_parse(data, n, shape, &known)) return;
    ACCEPTED();
    for (int i = 0; i < 12; i++) PROMISE(isfinite(known.rows[i]));
    for (int i = 0; known.attn && i < 2; i++) PROMISE(isfinite(known.attn[i]));
    for (int i = 0; known.key && i < 10; i++) PROMISE(isfinite(known.key[i]));
}

static void try_plan(const uint8_t *data, size_t n)
{
    s2p_plan *plan;
    if (s2p_plan_create(&plan, (s2p_grid){ .rows = 3, .cols = 4 }) != S2P_OK) return;
    if (s2p_plan_from_bytes(plan, data, n) == S2P_OK) {
        ACCEPTED();
        int32_t n_keep;
        const int32_t *keep = s2p_plan_keep(plan, &n_keep);
        for (int32_t i = 0; i < n_keep; i++) PROMISE(keep[i] >= 0 && keep[i] < 12);
        for (int32_t i = 1; i < n_keep; i++) PROMISE(keep[i - 1] < keep[i]);
        const s2p_layout l = s2p_plan_layout(plan);
        for (int32_t i = 0; i < l.side * l.side; i++)
            PROMISE(l.region[i].row0 >= 0 && l.region[i].row1 <= 3 && l.region[i].col1 <= 4);
        uint8_t *again = malloc(s2p_plan_n_bytes(plan)); /* and back to the same */
        if (again) s2p_plan_to_bytes(plan, again);
        PROMISE(!again || s2p_plan_from_bytes(plan, again, s2p_plan_n_bytes(plan)) == S2P_OK);
        free(again);
    }
    s2p_plan_free(plan);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const parsers[])(const uint8_t *, size_t) = { try_head, try_prefix, try_tower,
                                                                try_plan };
    if (size < 1) return 0;
    const size_t n = size - 1;
    uint8_t *bytes = malloc(n + 1); /* aligned, and its end is watched */
    if (!bytes) return 0;
    if (n > 0) memcpy(bytes, data + 1, n);
    parsers[data[0] % 4](bytes, n);
    free(bytes);
    return 0;
}
