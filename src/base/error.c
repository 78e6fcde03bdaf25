/* error.c - fill the sentence. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>

s2p_status s2_fail(s2p_error *error, s2p_status status, const char *format, ...)
{
    if (!error) return status;
    error->status = status;
    va_list args;
    va_start(args, format);
    const int n = vsnprintf(error->message, sizeof error->message, format, args);
    va_end(args);
    if (n < 0) error->message[0] = '\0';
    return status;
}

s2p_status s2_fail_memory(s2p_error *error, size_t n_bytes, const char *what)
{
    return s2_fail(error, S2P_ENOMEM, "out of memory: %zu bytes for %s", n_bytes, what);
}
