/* checked.h - size arithmetic that refuses to wrap. true: *out is the exact result. */
#ifndef S2_BASE_CHECKED_H
#define S2_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool s2_add_size(size_t a, size_t b, size_t *out)
{
    if (a > SIZE_MAX - b) return false;
    *out = a + b;
    return true;
}

static inline bool s2_mul_size(size_t a, size_t b, size_t *out)
{
    if (b != 0 && a > SIZE_MAX / b) return false;
    *out = a * b;
    return true;
}

#endif /* S2_BASE_CHECKED_H */
