/* guard.h - a call into ggml that may throw.
 *
 * Backends are C++; one that runs out of memory or loses its device in the middle of a graph throws
 * through ggml's C interface, and a program of C would end there.
 */
#ifndef S2_ENGINE_GUARD_H
#define S2_ENGINE_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* call(user). False: it threw, and what it said is in what: [capacity]. `call` owns nothing that is
 * lost when it is left where it stands. */
bool s2v_guarded(void (*call)(void *user), void *user, char *what, size_t capacity);

#ifdef __cplusplus
}
#endif
#endif /* S2_ENGINE_GUARD_H */
