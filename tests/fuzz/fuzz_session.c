/* fuzz_session.c - any bytes as a saved session: refused with a sentence, or every number of it in
 * range and every array inside the bytes. The hash and the length are put right first, else no
 * mutation would come past them. */
#include "fuzz.h"

#include "base/sha256.h"
#include "engine/session/session_file.h"

#include <math.h>
#include <string.h>

enum { LENGTH_AT = 96, N_HASH = 32 };

static void check(const uint8_t *bytes, size_t n)
{
    const s2v_session_shape shape = {
        .n_layers = 2, .n_vocab = 8, .n_ctx = 16, .kv_type = 0, .slot_bytes = 32
    };
    s2v_session_bytes got;
    s2p_error error = { .status = S2P_OK };
    if (s2v_session_file_check(bytes, n, "input", &shape, &got, &error) != S2P_OK) {
        PROMISE(error.status != S2P_OK && error.message[0]);
        return;
    }
    ACCEPTED();
    const s2v_place *p = &got.place;
    const uint8_t *end = bytes + n - N_HASH;
    size_t n_cache = 0;
    for (int32_t i = 0; i < shape.n_layers; i++) {
        PROMISE(got.n_slots[i] >= 0);
        PROMISE(i < shape.n_layers - 1 || got.n_slots[i] <= shape.n_ctx); /* others may be longer */
        n_cache += (size_t)got.n_slots[i] * (size_t)shape.slot_bytes;
    }
    PROMISE(got.cache >= bytes && got.cache + n_cache == end);
    PROMISE(p->next_pos >= 0 && p->pending >= -1 && p->pending < shape.n_vocab);
    PROMISE(p->n_tokens <= (size_t)shape.n_ctx && p->n_held <= S2V_STOP_MAX_BYTES);
    PROMISE(p->detokenizer.n_held <= sizeof p->detokenizer.held);
    for (size_t i = 0; i < p->n_tokens; i++)
        PROMISE(p->tokens[i] >= 0 && p->tokens[i] < shape.n_vocab);
    for (int32_t i = 0; p->logits && i < shape.n_vocab; i++) PROMISE(isfinite(p->logits[i]));
    unsigned sum = 0; /* the sanitizer looks on */
    for (size_t i = 0; i < p->n_held; i++) sum += p->held[i];
    for (size_t i = 0; i < n_cache; i++) sum += got.cache[i];
    PROMISE(sum <= 255 * (p->n_held + n_cache));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *bytes = calloc(1, size > 0 ? size : 1);
    if (!bytes) return 0;
    if (size > 0) memcpy(bytes, data, size);
    check(bytes, size);
    if (size >= LENGTH_AT + sizeof(uint64_t) + N_HASH) {
        const uint64_t n = size;
        memcpy(bytes + LENGTH_AT, &n, sizeof n);
        s2_sha256(bytes, size - N_HASH, bytes + size - N_HASH);
        check(bytes, size);
    }
    free(bytes);
    return 0;
}
