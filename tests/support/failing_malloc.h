/* failing_malloc.h - fail the n-th allocation of a call.
 *
 * For programs linked with --wrap=malloc,calloc,realloc: include in one file. Leaks show up under
 * the address sanitizer.
 */
#ifndef TESTS_FAILING_MALLOC_H
#define TESTS_FAILING_MALLOC_H

#include <stddef.h>

static int allocations_left = -1; /* allocations that still succeed; negative: all do */
static int allocations_seen;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *old, size_t size);

static int must_fail(void)
{
    allocations_seen++;
    return allocations_left >= 0 && allocations_left-- == 0;
}

void *__wrap_malloc(size_t size) { return must_fail() ? NULL : __real_malloc(size); }

void *__wrap_calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *old, size_t size)
{
    return must_fail() ? NULL : __real_realloc(old, size);
}

#endif /* TESTS_FAILING_MALLOC_H */
