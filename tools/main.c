/* main.c - the s2prune program. */
#include "program.h"
#include "report.h"

#include <stdlib.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#define LARGE_BYTES (128 << 10)

static const char *environment(const char *name) { return getenv(name); }

int main(int argc, char **argv)
{
#if defined(__GLIBC__)
    /* Left alone, the limit grows with what is freed, and the heap keeps a picture's buffers for good: the
     * peak would be above what `--dry-run` counts. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
    s2_report_signals();
    return s2_program(argc, argv, environment);
}
