/* fenced.h - arrays that end, or begin, at a page nobody may touch: reading or writing one byte too
 * far ends the program. */
#ifndef TESTS_FENCED_H
#define TESTS_FENCED_H

#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

typedef struct fenced { /* pages between two that fault */
    uint8_t *map;
    size_t page, inner;
} fenced;

static inline fenced fenced_create(size_t n_bytes)
{
    fenced f = { .page = (size_t)sysconf(_SC_PAGESIZE) };
    f.inner = (n_bytes + f.page - 1) / f.page * f.page;
    const int zero = open("/dev/zero", O_RDWR);
    void *map = mmap(NULL, f.inner + 2 * f.page, PROT_NONE, MAP_PRIVATE, zero, 0);
    close(zero);
    if (map == MAP_FAILED) abort();
    f.map = map;
    if (mprotect(f.map + f.page, f.inner, PROT_READ | PROT_WRITE)) abort();
    return f;
}

static inline void fenced_free(fenced f) { munmap(f.map, f.inner + 2 * f.page); }

/* n bytes that touch the fence behind them, or the one before them. */
static inline void *fenced_bytes(fenced f, size_t n, bool at_end)
{
    return f.map + f.page + (at_end ? f.inner - n : 0);
}

#endif /* TESTS_FENCED_H */
