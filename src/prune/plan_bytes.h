/* plan_bytes.h - a plan as bytes and back, for who remembers it.
 *
 * Numbers are as this machine has them. What is read back is checked as if a stranger
 * had written it: rectangles inside the grid, tokens distinct, numbers finite.
 */
#ifndef S2_PRUNE_PLAN_BYTES_H
#define S2_PRUNE_PLAN_BYTES_H

#include "s2prune.h"

#include <stddef.h>

/* Bytes of the plan, a multiple of 8. */
size_t s2p_plan_n_bytes(const s2p_plan *plan);

/* bytes: [s2p_plan_n_bytes] out. */
void s2p_plan_to_bytes(const s2p_plan *plan, uint8_t *bytes);

/* plan: made for the same grid. S2P_EINVAL: these are not the n bytes of such a plan; it then keeps
 * nothing. S2P_ENOMEM: no memory for its merges. */
s2p_status s2p_plan_from_bytes(s2p_plan *plan, const uint8_t *bytes, size_t n);

#endif /* S2_PRUNE_PLAN_BYTES_H */
