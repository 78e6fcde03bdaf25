/* prefix_bytes.c - sizes and offsets of a prefix's parts, which are checked before use. */
#include "engine/prompt/prefix_bytes.h"

#include "base/checked.h"

#include <math.h>
#include <string.h>

#define MOST_SLOTS (1 << 20) /* of a context */
static const char kind[8] = { 'p', 'r', 'e', 'f', 'i', 'x', '3', '\n' };

/* Of all layers; false: too many. */
static bool count_slots(const s2v_prefix_head *h, const s2v_prefix_layer *layer, size_t *out)
{
    size_t n = 0, n_states = 0, slots, states;
    for (int32_t i = 0; i < h->n_layers; i++) {
        if (layer[i].is_state)
            n_states += layer[i].n_left > 0;
        else
            n += (size_t)layer[i].n_left + (layer[i].has_ran ? (size_t)layer[i].n_ran : 0);
    }
    return h->slot_bytes <= SIZE_MAX / 2 && s2_mul_size(n, (size_t)h->slot_bytes, &slots) &&
           h->state_bytes <= SIZE_MAX / 2 &&
           s2_mul_size(n_states, (size_t)h->state_bytes, &states) &&
           s2_add_size(slots, states, out);
}

static size_t before_plans(const s2v_prefix_head *h)
{
    return sizeof *h + (size_t)h->n_layers * sizeof(s2v_prefix_layer) +
           (size_t)h->n_plans * sizeof(uint64_t);
}

size_t s2v_prefix_n_bytes(const s2v_prefix_head *h, const s2v_prefix_layer *layer)
{
    size_t slots, n;
    if (h->n_plan_bytes > SIZE_MAX / 2 || !count_slots(h, layer, &slots) ||
        !s2_add_size(before_plans(h) + (size_t)h->n_plan_bytes, slots, &n))
        return 0;
    return n;
}

s2v_prefix_places s2v_prefix_begin(uint8_t *bytes, const s2v_prefix_head *head,
                                   const s2v_prefix_layer *layer)
{
    s2v_prefix_head h = *head;
    memcpy(h.kind, kind, sizeof kind);
    memcpy(bytes, &h, sizeof h);
    memcpy(bytes + sizeof h, layer, (size_t)h.n_layers * sizeof *layer);
    uint8_t *plans = bytes + before_plans(&h);
    return (s2v_prefix_places){
        .plan_bytes = (uint64_t *)(void *)(plans - (size_t)h.n_plans * sizeof(uint64_t)),
        .plans = plans,
        .slots = plans + h.n_plan_bytes,
    };
}

static bool is_head_right(const s2v_prefix_head *h)
{
    if (memcmp(h->kind, kind, sizeof kind) != 0 || !isfinite(h->made_ms) || h->image_tokens < 0 ||
        h->n_stages < 0 || h->n_stages > S2V_MAX_STAGES)
        return false;
    for (int32_t i = 0; i < h->n_stages; i++)
        if (h->stage_after[i] < -1 || h->stage_after[i] >= h->n_layers || h->stage_tokens[i] < 0)
            return false;
    return true;
}

bool s2v_prefix_parse(const uint8_t *bytes, size_t n, int32_t n_layers, int32_t n_plans,
                      uint64_t slot_bytes, uint64_t state_bytes, s2v_prefix_parts *out)
{
    s2v_prefix_head h;
    if (n < sizeof h) return false;
    memcpy(&h, bytes, sizeof h);
    if (h.n_layers != n_layers || h.n_plans != n_plans || h.slot_bytes != slot_bytes ||
        h.state_bytes != state_bytes || !is_head_right(&h) || n < before_plans(&h) ||
        h.n_plan_bytes > n - before_plans(&h) || h.n_plan_bytes % 8 != 0)
        return false;
    const s2v_prefix_layer *layer = (const void *)(bytes + sizeof h);
    for (int32_t i = 0; i < h.n_layers; i++) {
        const s2v_prefix_layer *l = &layer[i];
        if (l->n_ran < 0 || l->n_ran > MOST_SLOTS || l->n_left < 0 || l->n_left > MOST_SLOTS ||
            l->has_ran < 0 || l->has_ran > 1 || (!l->has_ran && l->n_ran != l->n_left) ||
            l->is_state < 0 || l->is_state > 1 || (l->is_state && l->has_ran))
            return false;
    }
    if (s2v_prefix_n_bytes(&h, layer) != n) return false;
    const uint64_t *plan_bytes = (const void *)(layer + h.n_layers);
    uint64_t left = h.n_plan_bytes;
    for (int32_t i = 0; i < h.n_plans; i++) {
        if (plan_bytes[i] > left || plan_bytes[i] % 8 != 0) return false;
        left -= plan_bytes[i];
    }
    if (left != 0) return false;
    *out = (s2v_prefix_parts){ .head = h,
                               .layer = layer,
                               .plan_bytes = plan_bytes,
                               .plans = bytes + before_plans(&h),
                               .slots = bytes + before_plans(&h) + h.n_plan_bytes };
    return true;
}
