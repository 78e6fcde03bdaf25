/* tower_cache.c - know a picture again, and have its rows and what the tower attended to.
 *
 * A block is a head, the rows, and with attention one number and one key for each token.
 */
#include "engine/vision/tower_cache.h"

#include "base/checked.h"
#include "base/sha256.h"

#include <math.h>
#include <string.h>

/* --- the key ---------------------------------------------------------------------------- */

static void add_ints(s2_sha256_state *h, const int32_t *x, size_t n)
{
    s2_sha256_add(h, x, n * sizeof *x);
}

/* Lists carry their length, so that no two keys run together to the same bytes. */
static void add_bytes(s2_sha256_state *h, const void *bytes, size_t n)
{
    const uint64_t length = bytes ? n : 0;
    s2_sha256_add(h, &length, sizeof length);
    if (length > 0) s2_sha256_add(h, bytes, n);
}

void s2v_tower_key(const s2v_model *model, const uint8_t identity[32], int32_t n_threads,
                   s2v_frame *f)
{
    const int32_t shape[] = { n_threads, f->n_views, f->n_patches,
                              f->n_rows, f->n_parts, (int32_t)f->framing };
    s2_sha256_state h;
    s2_sha256_start(&h);
    s2_sha256_add(&h, identity, 32);
    add_ints(&h, shape, sizeof shape / sizeof *shape);
    for (int32_t p = 0; p < f->n_parts; p++) {
        const s2v_part *part = &f->part[p];
        const int32_t place[] = { part->grid.rows, part->grid.cols, part->first,
                                  part->pitch,     part->width,     part->height };
        add_ints(&h, place, sizeof place / sizeof *place);
        add_bytes(&h, part->row, (size_t)s2v_part_tokens(part) * sizeof *part->row);
    }
    add_bytes(&h, f->text, (size_t)f->n_rows * sizeof *f->text);
    add_bytes(&h, f->own, f->n_own_bytes);
    add_bytes(&h, f->blend, f->n_blend * sizeof *f->blend); /* has no gaps */
    const size_t n = (size_t)f->n_views * (size_t)f->n_patches;
    add_bytes(&h, f->patches, n * (size_t)model->tower.patch_row * sizeof *f->patches);
    s2_sha256_finish(&h, f->key);
}

/* [0]: with attention, [1]: without. */
static void keys_of(const s2v_frame *f, uint8_t keys[2][S2V_KEY_BYTES])
{
    static const char with[] = "with attention";
    s2_sha256_state h;
    s2_sha256_start(&h);
    s2_sha256_add(&h, with, sizeof with);
    s2_sha256_add(&h, f->key, sizeof f->key);
    s2_sha256_finish(&h, keys[0]);
    memcpy(keys[1], f->key, sizeof f->key);
}

/* --- the block -------------------------------------------------------------------------- */

static const char kind[8] = { 't', 'o', 'w', 'e', 'r', ' ', '1', '\n' };

typedef struct head { /* a multiple of 8 bytes without gaps */
    char kind[8];
    int32_t n_rows, n_embd, n_tokens, key_dim; /* key_dim 0: without attention */
    double made_ms;
} head;

static bool are_finite(const float *x, size_t n)
{
    bool is_finite = true;
    for (size_t i = 0; i < n; i++) is_finite = is_finite && isfinite(x[i]);
    return is_finite;
}

/* Floats after the head. */
static bool count_floats(const head *h, size_t *rows, size_t *all)
{
    size_t keys;
    return s2_mul_size((size_t)h->n_rows, (size_t)h->n_embd, rows) &&
           s2_mul_size((size_t)h->n_tokens, (size_t)h->key_dim + (h->key_dim > 0), &keys) &&
           s2_add_size(*rows, keys, all) && *all <= (SIZE_MAX - sizeof *h) / sizeof(float);
}

bool s2v_tower_parse(const uint8_t *bytes, size_t n, s2v_tower_shape shape, s2v_tower_known *out)
{
    head h;
    size_t n_rows, n_all;
    if (n < sizeof h) return false;
    memcpy(&h, bytes, sizeof h);
    if (memcmp(h.kind, kind, sizeof kind) != 0 || h.n_rows != shape.n_rows ||
        h.n_embd != shape.n_embd || h.n_tokens != shape.n_tokens ||
        (h.key_dim != 0 && h.key_dim != shape.key_dim) || !isfinite(h.made_ms) ||
        !count_floats(&h, &n_rows, &n_all) || n != sizeof h + n_all * sizeof(float))
        return false;
    const float *floats = (const float *)(const void *)(bytes + sizeof h);
    if (!are_finite(floats, n_all)) return false;
    const bool has_attention = h.key_dim > 0;
    out->rows = floats;
    out->attn = has_attention ? floats + n_rows : NULL;
    out->key = has_attention ? floats + n_rows + h.n_tokens : NULL;
    out->key_dim = h.key_dim;
    out->made_ms = h.made_ms;
    return true;
}

/* The rows of the picture, then what is added to them after each of the first layers. */
static int32_t stored_rows(const s2v_model *model, const s2v_frame *frame)
{
    return frame->n_rows * (1 + model->decoder.p.n_deepstack);
}

bool s2v_tower_recall(s2v_cache *cache, const s2v_model *model, const s2v_frame *frame,
                      bool wants_attention, s2v_tower_known *out)
{
    uint8_t keys[2][S2V_KEY_BYTES];
    keys_of(frame, keys);
    *out = (s2v_tower_known){ .block = NULL };
    out->block = s2v_cache_find(cache, keys[0], wants_attention ? 1 : 2);
    if (!out->block) return false;
    const s2v_tower_shape shape = { stored_rows(model, frame), model->decoder.p.n_embd,
                                    s2v_frame_tokens(frame), model->tower.head_dim };
    if (s2v_tower_parse(out->block->bytes, out->block->n, shape, out) &&
        (out->attn || !wants_attention))
        return true;
    s2v_cache_refuse(cache, out->block);
    return false;
}

s2v_cache_block *s2v_tower_room(s2v_cache *cache, const s2v_model *model, const s2v_frame *frame,
                                const s2v_tower_probe *probe, double made_ms, float **rows)
{
    head h = { .n_rows = stored_rows(model, frame),
               .n_embd = model->decoder.p.n_embd,
               .n_tokens = s2v_frame_tokens(frame),
               .key_dim = probe ? probe->key_dim : 0,
               .made_ms = made_ms };
    memcpy(h.kind, kind, sizeof kind);
    size_t n_rows, n_all;
    if (!count_floats(&h, &n_rows, &n_all)) return NULL;
    s2v_cache_block *block = s2v_cache_room(cache, sizeof h + n_all * sizeof(float));
    if (!block) return NULL;
    memcpy(block->bytes, &h, sizeof h);
    *rows = (float *)(void *)(block->bytes + sizeof h);
    if (!probe) return block;
    const size_t n = (size_t)h.n_tokens;
    memcpy(*rows + n_rows, probe->attn, n * sizeof **rows);
    memcpy(*rows + n_rows + n, probe->key, n * (size_t)h.key_dim * sizeof **rows);
    return block;
}

void s2v_tower_keep(s2v_cache *cache, const s2v_frame *frame, s2v_cache_block *block)
{
    uint8_t keys[2][S2V_KEY_BYTES];
    head h;
    memcpy(&h, block->bytes, sizeof h);
    keys_of(frame, keys);
    s2v_cache_keep(cache, block, keys[h.key_dim > 0 ? 0 : 1]);
    s2v_cache_release(cache, block);
}
