/* parameters.h - parameter values of a method, checked against its table of parameters. */
#ifndef S2_PRUNE_PARAMETERS_H
#define S2_PRUNE_PARAMETERS_H

#include "s2prune.h"

/* S2P_EINVAL for a value that s2p_parameters_set would not have made. */
s2p_status s2p_parameters_check(const s2p_method *method, const s2p_parameters *parameters,
                                s2p_error *error);

#endif /* S2_PRUNE_PARAMETERS_H */
