/* fork.c - copy what a conversation has come to into a session of its own.
 *
 * Slots and states go through the host, layer by layer: both caches may be on a device, and a copy there would
 * need a graph for what takes milliseconds.
 */
#include "engine/session/answer.h"
#include "engine/session/room.h"

#include <stdlib.h>

s2p_status s2v_session_fork(s2v_session **out, const s2v_session *from,
                            const s2v_session_options *options, s2p_error *error)
{
    *out = NULL;
    s2v_session_options own = from->options;
    if (options)
        TRY(s2v_session_options_read(&own, options, error));
    else
        own.sampling.n_stop = 0; /* copied below */
    const int32_t n_left = s2v_session_length(from);
    if (from->is_busy) return s2_fail(error, S2P_EINVAL, "the session is in a prefill");
    const s2v_kv_types types = s2v_kv_types_of(own.kv_type, own.kv_type_v);
    if (types.k != from->past.type.k || types.v != from->past.type.v)
        return s2_fail(error, S2P_EINVAL, "a fork must have a cache of the same type");
    s2v_session *s;
    TRY(s2v_session_create(&s, from->engine, &own, error));
    s2p_status st = S2P_OK;
    if (!options) {
        s2v_stop *stop;
        st = s2v_stop_copy(&stop, from->stop, error);
        if (st == S2P_OK) s2v_stop_free(s->stop);
        if (st == S2P_OK) s->stop = stop;
    }
    const size_t most = s2v_past_largest_snapshot(&from->past);
    uint8_t *rows = NULL;
    if (!options) s->grows = from->grows;
    if (st == S2P_OK && n_left > s2v_room_most(s))
        st = s2_fail(error, S2P_ELIMIT, "%d tokens are in the cache; the fork's holds %d", n_left,
                     s->past.n_ctx);
    if (st == S2P_OK) st = s2v_room_make(s, n_left, "the tokens in the cache", error);
    if (st == S2P_OK && most > 0) rows = malloc(most);
    if (st == S2P_OK && most > 0 && !rows) st = s2_fail_memory(error, most, "the slots of a layer");
    for (int32_t i = 0; st == S2P_OK && i < from->past.n_layers; i++) {
        const int32_t n = s2v_past_length(&from->past, i);
        s2v_past_snapshot(&from->past, i, 0, n, rows);
        st = s2v_past_make_room(&s->past, i, i + 1, n, error);
        if (st == S2P_OK) s2v_past_restore(&s->past, i, n, rows);
    }
    free(rows);
    s2v_place place;
    s2v_place_get(from, &place);
    if (st == S2P_OK) st = s2v_place_set(s, &place, error);
    if (st == S2P_OK)
        *out = s;
    else
        s2v_session_free(s);
    return st;
}
