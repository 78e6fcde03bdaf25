/* kv.h - the key-value cache: one row of keys and one of values per layer and slot.
 *
 * Each layer counts its own slots, because pruning may leave early layers longer
 * than later ones. Rows are written after RoPE, so a slot needs no position.
 */
#ifndef S2_ENGINE_KV_H
#define S2_ENGINE_KV_H

#include "engine/backend/graph.h"
#include "engine/decoder/decoder.h"

typedef struct s2v_kv_types { /* of keys and of values */
    enum ggml_type k, v;
} s2v_kv_types;

typedef struct s2v_kv {
    int32_t n_ctx, n_layers;
    s2v_kv_types type;
    bool is_plain; /* attention over it is drawn in its steps, not as one fused node */
    struct ggml_tensor **k, **v; /* [n_layers], each [n_kv_heads * head_dim, n_ctx] */
    int32_t *n_slots;            /* [n_layers] filled, from the first */
    struct ggml_context *ctx[2]; /* CPU, main device */
    ggml_backend_buffer_t buffer[2];
    s2v_traffic *traffic; /* borrowed */
} s2v_kv;

/* value_type: 0 as the keys, else 1 + an s2v_kv_type. Both are in range. */
s2v_kv_types s2v_kv_types_of(s2v_kv_type key_type, s2v_kv_type value_type);

uint64_t s2v_kv_bytes(const s2v_decoder *decoder, int32_t n_ctx, s2v_kv_types type);
size_t s2v_kv_slot_bytes(const s2v_kv *kv); /* a key and a value, the same in all layers */

s2p_status s2v_kv_init(s2v_kv *kv, const s2v_decoder *decoder, const s2v_devices *devices,
                       int32_t n_ctx, s2v_kv_types type, s2p_error *error);
/* The same without memory, to measure graphs with. */
s2p_status s2v_kv_outline(s2v_kv *kv, const s2v_decoder *decoder, const s2v_devices *devices,
                          int32_t n_ctx, s2v_kv_types type, s2p_error *error);
void s2v_kv_free(s2v_kv *kv);
void s2v_kv_clear(s2v_kv *kv);

/* Rows [first, first + n) of a cache tensor. */
struct ggml_tensor *s2v_kv_rows(struct ggml_context *ctx, struct ggml_tensor *cache, int32_t first,
                                int32_t n);

/* Keys of n slots of a layer from `first` on, then their values: n * s2v_kv_slot_bytes. */
void s2v_kv_read(const s2v_kv *kv, int32_t layer, int32_t first, int32_t n, uint8_t *out);
void s2v_kv_write(s2v_kv *kv, int32_t layer, int32_t first, int32_t n, const uint8_t *from);

#endif /* S2_ENGINE_KV_H */
