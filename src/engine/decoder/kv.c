/* kv.c - memory of the cache, on the device of each layer. */
#include "engine/decoder/kv.h"

#include <stdlib.h>
#include <string.h>

static int64_t cache_row_width(const s2v_decoder *decoder)
{
    return (int64_t)decoder->p.n_kv_heads * decoder->p.head_dim;
}

s2v_kv_types s2v_kv_types_of(s2v_kv_type key_type, s2v_kv_type value_type)
{
    static const enum ggml_type types[] = {
        [S2V_KV_F16] = GGML_TYPE_F16, [S2V_KV_F32] = GGML_TYPE_F32, [S2V_KV_Q8_0] = GGML_TYPE_Q8_0
    };
    return (s2v_kv_types){ types[key_type],
                           types[value_type == S2V_KV_SAME ? key_type : value_type] };
}

uint64_t s2v_kv_bytes(const s2v_decoder *decoder, int32_t n_ctx, s2v_kv_types type)
{
    const int64_t n = cache_row_width(decoder);
    return (uint64_t)(ggml_row_size(type.k, n) + ggml_row_size(type.v, n)) * (uint64_t)n_ctx *
           (uint64_t)decoder->p.n_layers;
}

size_t s2v_kv_slot_bytes(const s2v_kv *kv) { return kv->k[0]->nb[1] + kv->v[0]->nb[1]; }

static s2p_status allocate_cache(s2v_kv *kv, int where, ggml_backend_dev_t device, s2p_error *error)
{
    if (!ggml_get_first_tensor(kv->ctx[where])) return S2P_OK;
    kv->buffer[where] = ggml_backend_alloc_ctx_tensors_from_buft(
        kv->ctx[where], ggml_backend_dev_buffer_type(device));
    if (!kv->buffer[where])
        return s2_fail(error, S2P_ENOMEM, "out of memory for a cache of %d tokens", kv->n_ctx);
    return S2P_OK;
}

static s2p_status check_type(enum ggml_type type, const s2v_decoder *decoder,
                             const s2v_devices *devices, s2p_error *error)
{
    if (cache_row_width(decoder) % ggml_blck_size(type) != 0 ||
        decoder->p.head_dim % ggml_blck_size(type) != 0)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "a cache of type %s needs heads of a multiple of %d", ggml_type_name(type),
                       (int)ggml_blck_size(type));
    /* GPUs read words: rows that end inside one come out wrong. A server of ggml's is another CPU. */
    ggml_backend_reg_t reg = ggml_backend_dev_backend_reg(devices->main);
    const size_t row = ggml_row_size(type, cache_row_width(decoder));
    if (decoder->first_on_device < decoder->p.n_layers && row % 4 != 0 &&
        strcmp(ggml_backend_reg_name(reg), "RPC") != 0)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "a cache of type %s has rows of %zu bytes here, which %s cannot read",
                       ggml_type_name(type), row, ggml_backend_dev_name(devices->main));
    return S2P_OK;
}

static s2p_status make_tables(s2v_kv *kv, const s2v_decoder *decoder, const s2v_devices *devices,
                              int32_t n_ctx, s2v_kv_types type, s2p_error *error)
{
    const size_t n = (size_t)decoder->p.n_layers;
    *kv = (s2v_kv){ .n_ctx = n_ctx, .n_layers = decoder->p.n_layers, .type = type };
    TRY(check_type(type.k, decoder, devices, error));
    TRY(check_type(type.v, decoder, devices, error));
    kv->k = calloc(2 * n, sizeof *kv->k);
    kv->n_slots = calloc(n, sizeof *kv->n_slots);
    const struct ggml_init_params params = { ggml_tensor_overhead() * 2 * n, NULL, true };
    for (int i = 0; i < 2; i++) kv->ctx[i] = ggml_init(params);
    if (!kv->k || !kv->n_slots || !kv->ctx[0] || !kv->ctx[1]) {
        s2v_kv_free(kv);
        return s2_fail(error, S2P_ENOMEM, "out of memory for the cache's table");
    }
    kv->v = kv->k + n;
    for (size_t i = 0; i < n; i++) {
        struct ggml_context *ctx = kv->ctx[(int32_t)i >= decoder->first_on_device];
        kv->k[i] = ggml_new_tensor_2d(ctx, type.k, cache_row_width(decoder), n_ctx);
        kv->v[i] = ggml_new_tensor_2d(ctx, type.v, cache_row_width(decoder), n_ctx);
    }
    return S2P_OK;
}

s2p_status s2v_kv_init(s2v_kv *kv, const s2v_decoder *decoder, const s2v_devices *devices,
                       int32_t n_ctx, s2v_kv_types type, s2p_error *error)
{
    TRY(make_tables(kv, decoder, devices, n_ctx, type, error));
    s2p_status st = allocate_cache(kv, 0, devices->cpu, error);
    if (st == S2P_OK) st = allocate_cache(kv, 1, devices->main, error);
    if (st != S2P_OK) s2v_kv_free(kv);
    return st;
}

s2p_status s2v_kv_outline(s2v_kv *kv, const s2v_decoder *decoder, const s2v_devices *devices,
                          int32_t n_ctx, s2v_kv_types type, s2p_error *error)
{
    TRY(make_tables(kv, decoder, devices, n_ctx, type, error));
    kv->buffer[0] = s2v_place_outline(kv->ctx[0], ggml_backend_dev_buffer_type(devices->cpu));
    kv->buffer[1] = s2v_place_outline(kv->ctx[1], ggml_backend_dev_buffer_type(devices->main));
    if (kv->buffer[0] && kv->buffer[1]) return S2P_OK;
    s2v_kv_free(kv);
    return s2_fail(error, S2P_ENOMEM, "out of memory for an outline");
}

void s2v_kv_free(s2v_kv *kv)
{
    for (int i = 0; i < 2; i++) {
        ggml_backend_buffer_free(kv->buffer[i]);
        ggml_free(kv->ctx[i]);
    }
    free(kv->k);
    free(kv->n_slots);
    *kv = (s2v_kv){ .n_ctx = 0 };
}

void s2v_kv_clear(s2v_kv *kv)
{
    if (kv->n_slots) memset(kv->n_slots, 0, (size_t)kv->n_layers * sizeof *kv->n_slots);
}

struct ggml_tensor *s2v_kv_rows(struct ggml_context *ctx, struct ggml_tensor *cache, int32_t first,
                                int32_t n)
{
    return ggml_view_2d(ctx, cache, cache->ne[0], n, cache->nb[1], (size_t)first * cache->nb[1]);
}

void s2v_kv_read(const s2v_kv *kv, int32_t layer, int32_t first, int32_t n, uint8_t *out)
{
    const size_t key = kv->k[layer]->nb[1], value = kv->v[layer]->nb[1];
    const size_t n_slots = (size_t)n, at = (size_t)first;
    if (n == 0) return;
    s2v_tensor_get(kv->k[layer], out, at * key, n_slots * key, kv->traffic);
    s2v_tensor_get(kv->v[layer], out + n_slots * key, at * value, n_slots * value, kv->traffic);
}

void s2v_kv_write(s2v_kv *kv, int32_t layer, int32_t first, int32_t n, const uint8_t *from)
{
    const size_t key = kv->k[layer]->nb[1], value = kv->v[layer]->nb[1];
    const size_t n_slots = (size_t)n, at = (size_t)first;
    if (n == 0) return;
    s2v_tensor_set(kv->k[layer], from, at * key, n_slots * key, kv->traffic);
    s2v_tensor_set(kv->v[layer], from + n_slots * key, at * value, n_slots * value, kv->traffic);
}
