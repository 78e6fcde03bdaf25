/* check.h - cmocka with the headers it wants in the order it wants them. */
#ifndef TESTS_CHECK_H
#define TESTS_CHECK_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* cmocka's assert_true with the case in the failure message. */
#define CHECK_CASE(condition, ...)               \
    do {                                         \
        if (!(condition)) {                      \
            print_error("case: " __VA_ARGS__);   \
            print_error("\n");                   \
            fail_msg("%s is false", #condition); \
        }                                        \
    } while (0)

/* A plain generator for seeded input; not the project's own. */
static inline uint32_t next_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8; /* the low bits of an LCG are poor */
}

static inline int32_t random_below(uint32_t *state, int32_t n)
{
    return (int32_t)(next_random(state) % (uint32_t)n);
}

#endif /* TESTS_CHECK_H */
