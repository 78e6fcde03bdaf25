/* error.h - one way to fail: a status and one sentence with names and numbers. */
#ifndef S2_BASE_ERROR_H
#define S2_BASE_ERROR_H

#include "s2prune.h"

#if defined(__GNUC__)
#define S2_PRINTF(text, first) __attribute__((format(printf, text, first)))
#else
#define S2_PRINTF(text, first)
#endif

/* Go on only if `call` succeeded; for functions that own nothing yet. */
#define TRY(call)                        \
    do {                                 \
        const s2p_status try_ = (call);  \
        if (try_ != S2P_OK) return try_; \
    } while (0)

/* Fill *error (NULL is fine; a longer sentence is cut) and return `status`. */
s2p_status s2_fail(s2p_error *error, s2p_status status, const char *format, ...) S2_PRINTF(3, 4);

/* The sentence for an allocation that failed. */
s2p_status s2_fail_memory(s2p_error *error, size_t n_bytes, const char *what);

#endif /* S2_BASE_ERROR_H */
