/* fuzz.h - what a fuzz target declares, and how it says that a promise was broken. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Set by a target whose parser accepted its input. */
extern int fuzz_is_accepted;
#define ACCEPTED() (fuzz_is_accepted = 1)

/* Changes a byte or two to others of their kind, so that most inputs stay what they are. */
void fuzz_change(uint8_t *data, size_t size, uint32_t seed);

#define PROMISE(condition)                                                          \
    do {                                                                            \
        if (!(condition)) {                                                         \
            fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                \
        }                                                                           \
    } while (0)

#endif /* TESTS_FUZZ_H */
