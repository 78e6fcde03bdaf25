/* room.c - the context counts the rows of the last layer, which are those that stay.
 *
 * Layers before a prune point see more rows while a prompt runs, and under methods that leave their
 * cache whole they remember more: past.h gives them wider memory. A context whose size was left open
 * grows in steps, first when a prompt needs it and then when an answer does, up to what the model was
 * trained with and memory allows.
 */
#include "engine/session/room.h"

#include "engine/offload.h"
#include "engine/session/memory.h"

#include <stdlib.h>

#define STEP 1024 /* tokens the context grows by at least, and a multiple of them */
#define NICE 256  /* sizes that are suggested are a multiple of this */

/* As many tokens as the model was trained with, and never less than usual. */
static int32_t most_of(const s2v_engine *engine)
{
    const int32_t trained = engine->model.decoder.p.n_ctx_train;
    return trained > S2V_USUAL_CONTEXT ? trained : S2V_USUAL_CONTEXT;
}

int32_t s2v_room_for(const s2v_engine *engine, int64_t n)
{
    const int32_t most = most_of(engine);
    const int64_t steps = (n + STEP - 1) / STEP * STEP;
    if (steps <= S2V_USUAL_CONTEXT) return S2V_USUAL_CONTEXT;
    return steps < most ? (int32_t)steps : most;
}

int32_t s2v_room_most(const s2v_session *s)
{
    const int32_t most = most_of(s->engine);
    return s->grows && most > s->past.n_ctx ? most : s->past.n_ctx;
}

static s2p_status grow(s2v_session *s, int64_t n, s2p_error *error)
{
    const int32_t before = s->past.n_ctx, n_ctx = s2v_room_for(s->engine, n);
    s2v_tokens *answer = &s->generated;
    int32_t *id = realloc(answer->id, (size_t)n_ctx * sizeof *id);
    if (!id) return s2_fail_memory(error, (size_t)n_ctx * sizeof *id, "an answer");
    answer->id = id;
    answer->capacity = (size_t)n_ctx;
    TRY(s2v_memory_grow(s, n_ctx, error));
    const s2v_engine *engine = s->engine;
    const s2p_status st =
        s2v_past_grow(&s->past, &engine->model.decoder, &engine->devices, n_ctx, error);
    if (st != S2P_OK) s->options.n_ctx = before;
    return st;
}

s2p_status s2v_room_make(s2v_session *s, int64_t n, const char *what, s2p_error *error)
{
    if (n <= s->past.n_ctx) return S2P_OK;
    if (n <= s2v_room_most(s)) return grow(s, n, error);
    const int64_t enough = (n + NICE - 1) / NICE * NICE;
    const char *more = enough <= 1 << 20 ? "" : ", which is more than any context can";
    return s2_fail(error, S2P_ELIMIT,
                   "%s are more than the context of %d%s: use -c %lld%s, fewer pictures or a "
                   "smaller budget",
                   what, s->past.n_ctx,
                   s->grows ? ", which is what the model was trained with" : "", (long long)enough,
                   more);
}

s2p_status s2v_room_for_token(s2v_session *s, s2p_error *error)
{
    s2v_past *past = &s->past;
    const int32_t n = s2v_past_length(past, past->n_layers - 1);
    if (n >= past->n_ctx && n >= s2v_room_most(s))
        return s2_fail(error, S2P_ELIMIT, "the context of %d tokens is full", past->n_ctx);
    if (n >= past->n_ctx) TRY(grow(s, (int64_t)n + 1, error));
    for (int32_t i = 0; i < past->n_layers; i++) /* one that is full gets room for all the rest */
        if (s2v_past_wider_bytes(past, i, 1) > 0)
            TRY(s2v_past_make_room(past, i, i + 1, past->n_ctx - n, error));
    return S2P_OK;
}
