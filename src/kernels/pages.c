/* pages.c - large pages: 2 MiB instead of 4 KiB on most machines.
 *
 * A block of rows, a panel and the rows of the result are hundreds of small pages, more than the
 * first-level table of translations holds.
 */
#if defined(__linux__)
#define _GNU_SOURCE /* madvise */
#endif
#include "kernels/pages.h"

#if defined(__linux__)
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

void s2v_huge_pages(void *memory, size_t n_bytes)
{
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    const uintptr_t first = (uintptr_t)memory / page * page;
    const uintptr_t last = ((uintptr_t)memory + n_bytes + page - 1) / page * page;
    if (n_bytes < ((size_t)1 << 20)) return;
    (void)madvise((void *)first, last - first, MADV_HUGEPAGE); /* a wish: refusing is fine */
}
#else
void s2v_huge_pages(void *memory, size_t n_bytes) { (void)memory, (void)n_bytes; }
#endif
