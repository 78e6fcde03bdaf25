/* guard.h - a call into ggml that may throw.
 *
 * Backends are written in C++; one that runs out of memory or loses its device during a graph throws
 * through ggml's C interface, which would end a C program.
 */
#ifndef S2_ENGINE_GUARD_H
#define S2_ENGINE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* call(user). False: it threw, and the exception's text is in what: [capacity]. `call` must not own
 * anything that would leak if an exception leaves it. */
bool s2v_guarded(void (*call)(void *user), void *user, char *what, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif /* S2_ENGINE_GUARD_H */
