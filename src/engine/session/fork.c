/* fork.c - copy what a conversation has come to into a session of its own.
 *
 * Slots go through the host, layer by layer: both caches may be on a device, and a copy there would
 * need a graph for what takes milliseconds.
 */
#include "engine/session/answer.h"

#include <stdlib.h>

static s2p_status copy_slots(s2v_kv *to, const s2v_kv *from, s2p_error *error)
{
    int32_t most = 0;
    for (int32_t i = 0; i < from->n_layers; i++)
        if (from->n_slots[i] > most) most = from->n_slots[i];
    if (most > to->n_ctx)
        return s2_fail(error, S2P_ELIMIT, "%d tokens are in the cache; the fork's holds %d", most,
                       to->n_ctx);
    if (most == 0) return S2P_OK;
    const size_t n_bytes = (size_t)most * s2v_kv_slot_bytes(from);
    uint8_t *slots = malloc(n_bytes);
    if (!slots) return s2_fail_memory(error, n_bytes, "the slots of a layer");
    for (int32_t i = 0; i < from->n_layers; i++) {
        s2v_kv_read(from, i, 0, from->n_slots[i], slots);
        s2v_kv_write(to, i, 0, from->n_slots[i], slots);
        to->n_slots[i] = from->n_slots[i];
    }
    free(slots);
    return S2P_OK;
}

static s2p_status go_on(s2v_session *s, const s2v_session *from, bool has_its_stops,
                        s2p_error *error)
{
    if (has_its_stops) {
        s2v_stop *stop;
        TRY(s2v_stop_copy(&stop, from->stop, error));
        s2v_stop_free(s->stop);
        s->stop = stop;
    }
    TRY(copy_slots(&s->kv, &from->kv, error));
    s2v_place place;
    s2v_place_get(from, &place);
    return s2v_place_set(s, &place, error);
}

s2p_status s2v_session_fork(s2v_session **out, const s2v_session *from,
                            const s2v_session_options *options, s2p_error *error)
{
    *out = NULL;
    s2v_session_options own = from->options;
    if (options)
        TRY(s2v_session_options_read(&own, options, error));
    else
        own.sampling.n_stop = 0; /* copied below */
    if (from->is_busy) return s2_fail(error, S2P_EINVAL, "the session is in a prefill");
    const s2v_kv_types types = s2v_kv_types_of(own.kv_type, own.kv_type_v);
    if (types.k != from->kv.type.k || types.v != from->kv.type.v)
        return s2_fail(error, S2P_EINVAL, "a fork has a cache of the same type");
    TRY(s2v_session_create(out, from->engine, &own, error));
    const s2p_status st = go_on(*out, from, options == NULL, error);
    if (st == S2P_OK) return S2P_OK;
    s2v_session_free(*out);
    *out = NULL;
    return st;
}
