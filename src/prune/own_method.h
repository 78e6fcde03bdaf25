/* own_method.h - methods that the caller defines (s2p_method_make). */
#ifndef S2_PRUNE_OWN_METHOD_H
#define S2_PRUNE_OWN_METHOD_H

#include "prune/method.h"

/* Run the caller's function and check that it kept `budget` rows. The view passed the checks of
 * s2p_method_run. */
s2p_status s2p_own_method_run(const s2p_method *method, const s2p_view *view, int32_t budget,
                              s2p_plan *plan, s2p_error *error);

#endif /* S2_PRUNE_OWN_METHOD_H */
