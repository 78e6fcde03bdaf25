/* sized.h - structs from programs that were compiled with another version of a public header.
 *
 * Every options struct begins with `size_t size`. A smaller size is an older header: the fields it
 * does not have keep their defaults. A larger one is a newer header: it is accepted as long as the
 * fields unknown here are zero. New fields go to the end and begin behind the size of before, never
 * in its padding, which an older program does not set.
 */
#ifndef S2_BASE_SIZED_H
#define S2_BASE_SIZED_H

#include "base/error.h"

#include <string.h>

#define S2_SIZED_MAX ((size_t)1 << 16) /* a larger size was never set */

/* Defaults of `known` bytes into the caller's struct of `size` bytes. */
static inline void s2_sized_init(void *out, size_t size, const void *defaults, size_t known)
{
    memset(out, 0, size);
    memcpy(out, defaults, size < known ? size : known);
    memcpy(out, &size, sizeof size);
}

/* The caller's struct over the defaults in out[0..known). name: "s2v_engine_options". */
static inline s2p_status s2_sized_read(void *out, size_t known, const void *from, const char *name,
                                       s2p_error *error)
{
    size_t size;
    memcpy(&size, from, sizeof size);
    if (size <= sizeof size || size > S2_SIZED_MAX)
        return s2_fail(error, S2P_EINVAL, "%s has size %zu: set it up with %s_init", name, size,
                       name);
    for (size_t i = known; i < size; i++)
        if (((const unsigned char *)from)[i] != 0)
            return s2_fail(error, S2P_EINVAL,
                           "%s has %zu bytes and sets a field beyond the %zu bytes that this "
                           "version of the library knows",
                           name, size, known);
    memcpy(out, from, size < known ? size : known);
    memcpy(out, &known, sizeof known);
    return S2P_OK;
}

#endif /* S2_BASE_SIZED_H */
