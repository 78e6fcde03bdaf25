/* signals.h - the table of signals that methods read, and which of them a view has. */
#ifndef S2_PRUNE_SIGNALS_H
#define S2_PRUNE_SIGNALS_H

#include "s2prune.h"

/* Those that a decoder layer gives. */
uint32_t s2p_signals_of_decoder(void);

/* Check that each available signal among `signals` has its shape, and that a letter has the same
 * size in all of them. `who` begins the message: "method 'dart'". */
s2p_status s2p_view_check_shapes(const s2p_view *view, const s2p_plan *plan, uint32_t signals,
                                 const char *who, s2p_error *error);

/* Check that it has no NaN and no infinity. */
s2p_status s2p_view_check_values(const s2p_view *view, uint32_t signals, const char *who,
                                 s2p_error *error);

#endif /* S2_PRUNE_SIGNALS_H */
