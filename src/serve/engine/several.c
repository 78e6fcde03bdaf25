/* several.c - several answers to one prompt: it runs once, in the slot that leads, and each further answer is
 * a fork of that session in a vacant slot. The front leaves room for them.
 */
#include "serve/engine/scheduler.h"

s2_slot *s2_slot_leader(s2_slot *slot) { return slot->group.leader ? slot->group.leader : slot; }

static s2_slot *find_vacant(s2_scheduler *s)
{
    for (int32_t i = 0; i < s->n_slots; i++)
        if (!s->slot[i].from) return &s->slot[i];
    return NULL;
}

s2p_status s2_slot_fork(s2_scheduler *s, s2_slot *p, s2p_error *error)
{
    s2v_session_options options = p->ask.session;
    for (int32_t k = 1; k < p->ask.n_answers; k++) {
        s2_slot *other = find_vacant(s);
        s2v_session *session = NULL;
        if (!other)
            return s2_fail(error, S2P_ELIMIT, "no free session for answer %d of %d", k + 1,
                           p->ask.n_answers);
        options.sampling.seed = p->ask.session.sampling.seed + (uint64_t)k;
        s2v_session_free(other->session); /* before the next one takes its memory */
        other->session = NULL;
        TRY(s2v_session_fork(&session, p->session, &options, error));
        other->session = session;
        other->from = p->from;
        other->group = (s2_slot_group){ .leader = p, .index = k };
        other->ask = p->ask; /* borrowed: is_read stays false */
        other->i_setting = p->i_setting;
        other->stats = p->stats;
    }
    return S2P_OK;
}

bool s2_slot_over(s2_scheduler *s, s2_slot *p, bool is_stopped)
{
    s2_slot_group *all = &s2_slot_leader(p)->group;
    p->group.is_over = true;
    all->n_over++;
    all->n_generated += p->generation.n_tokens;
    s2_outbox_json(s->outbox, S2_FRAME_EVENT, p->from->request,
                   json_pack("{s:i,s:s}", "index", p->group.index, "finish_reason",
                             is_stopped ? "stop" : "length"));
    return all->n_over == p->ask.n_answers;
}
