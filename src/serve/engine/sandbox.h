/* sandbox.h - what the engine process may still ask of the kernel once its model is loaded. */
#ifndef S2_SERVE_SANDBOX_H
#define S2_SERVE_SANDBOX_H

#include "base/error.h"

/* From now on, for all threads: no new privileges, programs, processes or sockets, no path looked up
 * or opened, no signal to another process, no memory that can be executed. What was opened before can be
 * used. A call that is not on the list ends the process; docs/SERVER.md has the list. Linux on x86-64 and
 * arm64; elsewhere S2P_EUNSUPPORTED. */
s2p_status s2_sandbox_enter(s2p_error *error);

/* Whether this system can. */
int s2_sandbox_is_here(void);

#endif /* S2_SERVE_SANDBOX_H */
