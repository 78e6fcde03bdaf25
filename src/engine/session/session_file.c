/* session_file.c - save a conversation and go on with it in another process.
 *
 * A file is read whole into memory no larger than the session's own cache or what is available, every
 * count in it is compared with its length, and its hash with its bytes; only then does the session change.
 */
#include "engine/session/session_file.h"

#include "base/file.h"
#include "base/sha256.h"
#include "engine/session/room.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define VERSION 2
#define ORDER 0x01020304u /* other machines read it as another number */
#define MAX_POSITION (1 << 30)
#define MAX_SLOTS (1 << 20) /* of a layer before the last, which may have been left whole */

static const char magic[8] = { 'S', '2', 'V', 'T', 'A', 'L', 'K', '\n' };

typedef struct head { /* without gaps */
    char magic[8];
    uint32_t version, order;
    uint8_t model[32];
    int32_t n_layers, n_vocab, kv_type, slot_bytes;
    int32_t next_pos, pending, n_logits, n_tokens;
    int32_t n_held, n_partial;
    uint8_t partial[8]; /* of an unfinished character */
    uint64_t n_bytes;   /* of the whole file */
    int32_t kv_type_v;
    int32_t state_bytes, attends_every; /* of layers without slots; which have them. 0, 0: all */
    int32_t thinks, thought_budget;     /* of the answer; 0: it has no thoughts; 0: no limit */
    uint8_t zeros[4];
} head;

_Static_assert(sizeof(head) == 128, "a head has 128 bytes");

/* --- the model ----------------------------------------------------------------------------- */

#define SAMPLE 64 /* bytes at the start and in the middle of every tensor */

/* The text model is known by its size, its whole header and samples of its weights. */
static s2v_session_shape shape_of(const s2v_session *s)
{
    const s2v_gguf *file = s->engine->text;
    const s2v_session_options *o = &s->options;
    s2v_session_shape shape = {
        .n_layers = s->past.n_layers,
        .n_vocab = s->engine->model.decoder.p.n_vocab,
        .n_ctx = s2v_room_most(s),
        .kv_type = (int32_t)o->kv_type,
        .kv_type_v = (int32_t)(o->kv_type_v == S2V_KV_SAME ? o->kv_type : o->kv_type_v),
        .slot_bytes = (int32_t)s2v_past_slot_bytes(&s->past),
        .state_bytes = (int32_t)s2v_past_state_bytes(&s->past),
        .attends_every = s->engine->model.decoder.p.attends_every,
    };
    s2_sha256_state h;
    s2_sha256_start(&h);
    const uint64_t n_bytes = s2v_gguf_n_bytes(file);
    const size_t n_header = s2v_gguf_data_offset(file);
    s2_sha256_add(&h, &n_bytes, sizeof n_bytes);
    for (size_t i = 0; i < s2v_gguf_n_tensors(file); i++) {
        const s2v_gguf_tensor *t = s2v_gguf_tensor_at(file, i);
        if (i == 0) s2_sha256_add(&h, t->data - t->offset - n_header, n_header);
        const size_t n = t->n_bytes / 2 < SAMPLE ? (size_t)(t->n_bytes / 2) : SAMPLE;
        s2_sha256_add(&h, t->data, n);
        s2_sha256_add(&h, t->data + t->n_bytes / 2, n);
    }
    s2_sha256_finish(&h, shape.model);
    return shape;
}

/* --- lengths ------------------------------------------------------------------------------- */

static uint64_t padded(int32_t n) { return ((uint64_t)n + 7) / 8 * 8; }

/* Bytes before the cache; of the numbers only n_layers, n_tokens, n_logits and n_held count. */
static uint64_t bytes_before_cache(const head *h)
{
    const uint64_t words = (uint64_t)h->n_layers + (uint64_t)h->n_tokens + (uint64_t)h->n_logits;
    return sizeof *h + (words + words % 2) * 4 + padded(h->n_held);
}

/* --- checking ------------------------------------------------------------------------------- */

static bool is_between(int32_t x, int32_t low, int32_t high) { return x >= low && x <= high; }

static s2p_status check_head(const head *h, size_t n, const char *name,
                             const s2v_session_shape *shape, s2p_error *error)
{
    if (memcmp(h->magic, magic, sizeof magic) != 0)
        return s2_fail(error, S2P_EFORMAT, "'%s' is not a saved session", name);
    if (h->version != VERSION || h->order != ORDER)
        return s2_fail(error, S2P_EFORMAT,
                       "'%s' was saved by another version or on a different kind of machine", name);
    if (h->n_bytes != n)
        return s2_fail(error, S2P_EFORMAT, "'%s' has %zu bytes and should have %llu", name, n,
                       (unsigned long long)h->n_bytes);
    if (memcmp(h->model, shape->model, sizeof h->model) != 0 || h->n_layers != shape->n_layers ||
        h->n_vocab != shape->n_vocab)
        return s2_fail(error, S2P_EFORMAT, "'%s' was saved with another model", name);
    if (h->kv_type != shape->kv_type || h->kv_type_v != shape->kv_type_v ||
        h->slot_bytes != shape->slot_bytes || h->state_bytes != shape->state_bytes ||
        (h->state_bytes > 0 && h->attends_every != shape->attends_every))
        return s2_fail(error, S2P_EFORMAT, "'%s' has a different cache type than the session",
                       name);
    const bool is_right = is_between(h->next_pos, 0, MAX_POSITION) &&
                          is_between(h->pending, -1, h->n_vocab - 1) &&
                          (h->n_logits == 0 || h->n_logits == h->n_vocab) && h->n_tokens >= 0 &&
                          is_between(h->n_held, 0, S2V_STOP_MAX_BYTES) &&
                          is_between(h->n_partial, 0, (int32_t)sizeof h->partial) &&
                          is_between(h->thinks, 0, 1) && h->thought_budget >= 0;
    if (!is_right) return s2_fail(error, S2P_EFORMAT, "'%s' is damaged: a count is wrong", name);
    if (h->n_tokens > shape->n_ctx)
        return s2_fail(error, S2P_ELIMIT, "'%s' has an answer of %d tokens; the context holds %d",
                       name, h->n_tokens, shape->n_ctx);
    return S2P_OK;
}

s2p_status s2v_session_file_check(const uint8_t *bytes, size_t n, const char *name,
                                  const s2v_session_shape *shape, s2v_session_bytes *out,
                                  s2p_error *error)
{
    enum { N_HASH = 32 };
    head h;
    if (n < sizeof h + N_HASH)
        return s2_fail(error, S2P_EFORMAT, "'%s' is too short for a saved session", name);
    memcpy(&h, bytes, sizeof h);
    TRY(check_head(&h, n, name, shape, error));
    const uint64_t before = bytes_before_cache(&h);
    if (before + N_HASH > n)
        return s2_fail(error, S2P_EFORMAT, "'%s' ends before its cache begins", name);
    const int32_t *words = (const int32_t *)(const void *)(bytes + sizeof h);
    uint64_t n_cache = 0;
    for (int32_t i = 0; i < h.n_layers; i++) {
        if (words[i] < 0) return s2_fail(error, S2P_EFORMAT, "'%s' is damaged", name);
        if (words[i] > (i < h.n_layers - 1 ? MAX_SLOTS : shape->n_ctx))
            return s2_fail(error, S2P_ELIMIT,
                           "'%s' has %d tokens in the cache; the context holds %d", name, words[i],
                           shape->n_ctx);
        n_cache += h.state_bytes > 0 && (i + 1) % h.attends_every != 0
                       ? (words[i] > 0 ? (uint64_t)h.state_bytes : 0)
                       : (uint64_t)words[i] * (uint64_t)h.slot_bytes;
    }
    if (before + n_cache + N_HASH != n)
        return s2_fail(error, S2P_EFORMAT, "'%s' has a cache of a different length", name);
    uint8_t hash[N_HASH];
    s2_sha256(bytes, n - N_HASH, hash);
    if (memcmp(hash, bytes + n - N_HASH, N_HASH) != 0)
        return s2_fail(error, S2P_EFORMAT, "'%s': checksum mismatch: the file is damaged", name);

    const int32_t *tokens = words + h.n_layers;
    const float *logits = (const float *)(const void *)(tokens + h.n_tokens);
    for (int32_t i = 0; i < h.n_tokens; i++)
        if (!is_between(tokens[i], 0, h.n_vocab - 1))
            return s2_fail(error, S2P_EFORMAT, "'%s' has a token %d", name, tokens[i]);
    for (int32_t i = 0; i < h.n_logits; i++)
        if (!isfinite(logits[i]))
            return s2_fail(error, S2P_EFORMAT, "'%s' has a logit that is not a number", name);
    *out = (s2v_session_bytes){
        .place = { .next_pos = h.next_pos,
                   .pending = h.pending,
                   .thinks = h.thinks == 1,
                   .thought_budget = h.thought_budget,
                   .tokens = tokens,
                   .n_tokens = (size_t)h.n_tokens,
                   .logits = h.n_logits > 0 ? logits : NULL,
                   .held = bytes + before - padded(h.n_held),
                   .n_held = (size_t)h.n_held,
                   .detokenizer = { .n_held = (size_t)h.n_partial } },
        .n_slots = words,
        .cache = bytes + before,
    };
    memcpy(out->place.detokenizer.held, h.partial, sizeof h.partial);
    return S2P_OK;
}

/* --- saving ---------------------------------------------------------------------------------- */

s2p_status s2v_session_save(const s2v_session *s, const char *path, s2p_error *error)
{
    if (s->is_busy) return s2_fail(error, S2P_EINVAL, "the session is in a prefill");
    const s2v_session_shape shape = shape_of(s);
    s2v_place place;
    s2v_place_get(s, &place);
    head h = { .version = VERSION,
               .order = ORDER,
               .n_layers = shape.n_layers,
               .n_vocab = shape.n_vocab,
               .kv_type = shape.kv_type,
               .kv_type_v = shape.kv_type_v,
               .slot_bytes = shape.slot_bytes,
               .state_bytes = shape.state_bytes,
               .attends_every = shape.state_bytes > 0 ? shape.attends_every : 0,
               .next_pos = place.next_pos,
               .pending = place.pending,
               .thinks = place.thinks,
               .thought_budget = place.thought_budget,
               .n_logits = place.logits ? shape.n_vocab : 0,
               .n_tokens = (int32_t)place.n_tokens,
               .n_held = (int32_t)place.n_held,
               .n_partial = (int32_t)place.detokenizer.n_held };
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.model, shape.model, sizeof h.model);
    memcpy(h.partial, place.detokenizer.held, place.detokenizer.n_held);
    h.n_bytes = bytes_before_cache(&h) + 32;
    for (int32_t i = 0; i < h.n_layers; i++)
        h.n_bytes += s2v_past_snapshot_bytes(&s->past, i, s2v_past_length(&s->past, i));
    uint8_t *bytes = calloc(1, (size_t)h.n_bytes);
    if (!bytes) return s2_fail_memory(error, (size_t)h.n_bytes, "a saved session");

    uint8_t *at = bytes;
    memcpy(at, &h, sizeof h);
    at += sizeof h;
    for (int32_t i = 0; i < h.n_layers; i++, at += sizeof i) {
        const int32_t n = s2v_past_length(&s->past, i);
        memcpy(at, &n, sizeof n);
    }
    if (h.n_tokens > 0) memcpy(at, place.tokens, (size_t)h.n_tokens * sizeof *place.tokens);
    at += (size_t)h.n_tokens * sizeof *place.tokens;
    if (h.n_logits > 0) memcpy(at, place.logits, (size_t)h.n_logits * sizeof *place.logits);
    at = bytes + bytes_before_cache(&h) - padded(h.n_held);
    if (h.n_held > 0) memcpy(at, place.held, (size_t)h.n_held);
    at = bytes + bytes_before_cache(&h);
    for (int32_t i = 0; i < h.n_layers; i++) {
        const int32_t n = s2v_past_length(&s->past, i);
        s2v_past_snapshot(&s->past, i, 0, n, at);
        at += s2v_past_snapshot_bytes(&s->past, i, n);
    }
    s2_sha256(bytes, (size_t)(at - bytes), at);
    const s2p_status st = s2_file_write_private(path, bytes, (size_t)h.n_bytes, error);
    free(bytes);
    return st;
}

/* --- restoring ------------------------------------------------------------------------------- */

s2p_status s2v_session_restore(s2v_session *s, const char *path, s2p_error *error)
{
    if (s->is_busy) return s2_fail(error, S2P_EINVAL, "the session is in a prefill");
    const s2v_session_shape shape = shape_of(s);
    const head most = { .n_layers = shape.n_layers,
                        .n_tokens = shape.n_ctx,
                        .n_logits = shape.n_vocab,
                        .n_held = S2V_STOP_MAX_BYTES };
    uint64_t cache =
        ((uint64_t)shape.slot_bytes * (uint64_t)shape.n_ctx + (uint64_t)shape.state_bytes) *
        (uint64_t)shape.n_layers;
    const uint64_t available = s2v_memory_available(s->engine->memory_fd);
    if (cache < available) cache = available; /* layers left whole */
    s2_buffer bytes;
    s2_buffer_init(&bytes, (size_t)(bytes_before_cache(&most) + cache + 32));
    s2p_status st = s2_file_read(path, &bytes, error);
    s2v_session_bytes accepted;
    if (st == S2P_OK)
        st = s2v_session_file_check(bytes.data, bytes.size, path, &shape, &accepted, error);
    if (st == S2P_OK) {
        s2v_session_reset(s);
        s2v_plans_free(&s->plans);
        const uint8_t *at = accepted.cache;
        const int32_t n_layers = s->past.n_layers;
        st = s2v_room_make(s, accepted.n_slots[n_layers - 1], "the saved tokens", error);
        for (int32_t i = 0; st == S2P_OK && i < n_layers; i++) {
            st = s2v_past_make_room(&s->past, i, i + 1, accepted.n_slots[i], error);
            if (st == S2P_OK) s2v_past_restore(&s->past, i, accepted.n_slots[i], at);
            at += s2v_past_snapshot_bytes(&s->past, i, accepted.n_slots[i]);
        }
        if (st == S2P_OK) st = s2v_place_set(s, &accepted.place, error);
        if (st != S2P_OK) s2v_session_reset(s);
    }
    s2_buffer_free(&bytes);
    return st;
}
