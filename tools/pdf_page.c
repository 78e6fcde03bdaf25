/* pdf_page.c - run `pdftoppm` as a child process and read the PNG it writes to its output.
 *
 * A PDF is a program, and its readers have a long record of defects: it is drawn in a process of its
 * own, under limits of memory, time and files. Only programs that a user starts on their own files
 * come here; the server refuses PDF files.
 */
#include "pdf_page.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_PAGE 999999
#define CPU_SECONDS 30
#define ALL_MS 60e3
#define CHUNK ((size_t)1 << 16)
#define NOT_FOUND 127

int32_t s2_pdf_split(const char *path, char *file, size_t n_file)
{
    (void)snprintf(file, n_file, "%s", path);
    const char *mark = strrchr(path, '#');
    struct stat info;
    if (!mark || mark == path || strlen(path) >= n_file || stat(path, &info) == 0) return 0;
    const size_t n_digits = strspn(mark + 1, "0123456789");
    if (n_digits < 1 || n_digits > 6 || mark[1 + n_digits] != '\0') return 0;
    file[mark - path] = '\0';
    return (int32_t)strtol(mark + 1, NULL, 10);
}

static void limit(int what, rlim_t value)
{
    (void)setrlimit(what, &(struct rlimit){ value, value });
}

/* Only what may be called between fork and exec. */
static _Noreturn void become_pdftoppm(const char *file, const char *page, int out)
{
    char side[] = "2048";
    (void)alarm((unsigned)(ALL_MS / 1e3) + 5); /* should this program die first */
    limit(RLIMIT_CPU, CPU_SECONDS);
    limit(RLIMIT_AS, (rlim_t)2 << 30);
    limit(RLIMIT_FSIZE, 0);
    limit(RLIMIT_CORE, 0);
    const int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(out, 1) < 0 || dup2(null, 2) < 0) _exit(1);
    (void)execlp("pdftoppm", "pdftoppm", "-png", "-singlefile", "-scale-to", side, "-f", page, "-l",
                 page, file, (char *)NULL);
    _exit(errno == ENOENT ? NOT_FOUND : 1);
}

/* All that the child writes; false: too late or too much. */
static bool read_output(int fd, s2_buffer *png)
{
    const double start = s2_now_ms();
    for (;;) {
        const double left = ALL_MS - (s2_now_ms() - start);
        struct pollfd one = { .fd = fd, .events = POLLIN };
        if (left <= 0.0) return false;
        if (poll(&one, 1, (int)left + 1) < 0 && errno != EINTR) return false;
        if (!one.revents) continue;
        uint8_t piece[CHUNK];
        const ssize_t n = read(fd, piece, sizeof piece);
        if (n == 0) return true;
        if (n < 0 && errno != EINTR) return false;
        if (n > 0) s2_buffer_append(png, piece, (size_t)n);
        if (png->status != S2P_OK) return false;
    }
}

s2p_status s2_pdf_draw(const char *file, int32_t page, s2_buffer *png, s2p_error *error)
{
    int ends[2];
    char number[16], safe[4200];
    if (page < 1 || page > MAX_PAGE)
        return s2_fail(error, S2P_EINVAL, "pages of '%.80s' are counted from 1", file);
    (void)snprintf(number, sizeof number, "%d", (int)page);
    /* A name must not be taken for an option. */
    if ((size_t)snprintf(safe, sizeof safe, "%s%s", file[0] == '-' ? "./" : "", file) >=
        sizeof safe)
        return s2_fail(error, S2P_EINVAL, "the name of the PDF file is too long");
    if (pipe(ends) != 0)
        return s2_fail(error, S2P_EIO, "cannot start pdftoppm: %s", strerror(errno));
    const pid_t pid = fork();
    if (pid == 0) become_pdftoppm(safe, number, ends[1]);
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return s2_fail(error, S2P_EIO, "cannot start pdftoppm: %s", strerror(errno));
    }
    const size_t before = png->size;
    const bool is_read = read_output(ends[0], png);
    (void)close(ends[0]);
    if (!is_read) (void)kill(pid, SIGKILL);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) continue;
    if (WIFEXITED(status) && WEXITSTATUS(status) == NOT_FOUND)
        return s2_fail(
            error, S2P_EUNSUPPORTED,
            "cannot read '%.80s': pages of PDF files are drawn by pdftoppm, which is not "
            "installed (Debian: apt install poppler-utils)",
            file);
    if (!is_read)
        return s2_fail(error, S2P_ELIMIT, "page %d of '%.80s' took longer than %d s to draw",
                       (int)page, file, (int)(ALL_MS / 1e3));
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0 || png->size == before)
        return s2_fail(error, S2P_EFORMAT,
                       "cannot draw page %d of '%.80s': the file has no such page, is damaged or "
                       "encrypted",
                       (int)page, file);
    return S2P_OK;
}
