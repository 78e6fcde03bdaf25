/* main.c - the s2prune program. */
#include "faster_build.h"
#include "file_watch.h"
#include "program.h"
#include "report.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>
#if defined(__GLIBC__)
#include <malloc.h>
#endif

#define LARGE_BYTES (128 << 10)

static const char *environment(const char *name) { return getenv(name); }

/* Standard input, output and error that are closed are taken: the next file that is opened would get
 * the number, and what is printed. Reading from and writing to these still fails. */
static void secure_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) >= 0) continue;
        if (open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY) < 0) (void)open("/", O_RDONLY);
    }
}

int main(int argc, char **argv)
{
    secure_descriptors();
    s2_faster_build(argc, argv);
    /* ggml would start a debugger as it dies: seconds, and addresses in the log */
    (void)setenv("GGML_NO_BACKTRACE", "1", 0);
#if defined(__GLIBC__)
    /* Left alone, the limit grows with what is freed, and the heap keeps a picture's buffers for good: the
     * peak would be above what `--dry-run` counts. */
    (void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
    s2_report_signals();
    s2_watch_start();
    return s2_program(argc, argv, environment);
}
