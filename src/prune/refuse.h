/* refuse.h - return a status with a message, without linking to base. */
#ifndef S2_PRUNE_REFUSE_H
#define S2_PRUNE_REFUSE_H

#include "s2prune.h"

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
s2p_status
s2p_refuse(s2p_error *error, s2p_status status, const char *format, ...);

#endif /* S2_PRUNE_REFUSE_H */
