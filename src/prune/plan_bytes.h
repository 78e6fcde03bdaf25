/* plan_bytes.h - a plan to bytes and back, for the cache.
 *
 * Numbers are in this machine's byte order. Everything that is read back is checked, as
 * untrusted input: rectangles inside the grid, tokens distinct, numbers finite.
 */
#ifndef S2_PRUNE_PLAN_BYTES_H
#define S2_PRUNE_PLAN_BYTES_H

#include "s2prune.h"

#include <stddef.h>

/* Bytes of the plan, a multiple of 8. */
size_t s2p_plan_n_bytes(const s2p_plan *plan);

/* bytes: [s2p_plan_n_bytes] out. */
void s2p_plan_to_bytes(const s2p_plan *plan, uint8_t *bytes);

/* plan: created for the same grid. S2P_EINVAL: the n bytes are not such a plan; it then keeps
 * nothing. S2P_ENOMEM: no memory for its merges. */
s2p_status s2p_plan_from_bytes(s2p_plan *plan, const uint8_t *bytes, size_t n);

#endif /* S2_PRUNE_PLAN_BYTES_H */
