/* counted_malloc.h - count the allocations of our own code, and let one of them fail.
 *
 * For programs linked with copies of our libraries in which malloc, calloc and realloc are called
 * s2_test_malloc and so on (engine.cmake). ggml keeps the real ones: it aborts when memory runs
 * out, so only ours can be made to fail, and only ours are counted. Leaks show up under the address
 * sanitizer.
 */
#ifndef TESTS_COUNTED_MALLOC_H
#define TESTS_COUNTED_MALLOC_H

#include <stdbool.h>
#include <stdlib.h>

static int n_ours, left = -1; /* allocations seen; those that still succeed, negative: all */

void *s2_test_malloc(size_t size);
void *s2_test_calloc(size_t count, size_t size);
void *s2_test_realloc(void *old, size_t size);

static bool must_fail(void)
{
    n_ours++;
    return left >= 0 && left-- == 0;
}

void *s2_test_malloc(size_t size) { return must_fail() ? NULL : malloc(size); }
void *s2_test_calloc(size_t count, size_t size) { return must_fail() ? NULL : calloc(count, size); }
void *s2_test_realloc(void *old, size_t size) { return must_fail() ? NULL : realloc(old, size); }

#endif /* TESTS_COUNTED_MALLOC_H */
