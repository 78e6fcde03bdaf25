/* file.c - whole files in, whole files out.
 *
 * Reading does not trust the size a file system reports: it reads until the end
 * or until the limit, so pipes and growing files are fine. Writing goes through
 * a temporary file in the same folder, is flushed to the device and renamed.
 *
 * Every open is O_NONBLOCK: a pipe that nobody else has open must end in a sentence, not in waiting.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK ((size_t)64 * 1024)
#define NOT_WAITING (O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/* --- opening ------------------------------------------------------------------------------ */

s2p_status s2_file_open(const char *path, s2_file_use use, int *fd, s2p_error *error)
{
    static const int flags[] = { [S2_FILE_READ] = O_RDONLY,
                                 [S2_FILE_OWN] = O_RDWR | O_CREAT | O_NOFOLLOW,
                                 [S2_FILE_OWN_APPEND] = O_RDWR | O_CREAT | O_NOFOLLOW | O_APPEND };
    const char *verb = use == S2_FILE_READ ? "open" : "write";
    struct stat info;
    const char *why = NULL;
    *fd = open(path, flags[use] | NOT_WAITING, 0666);
    if (*fd < 0) {
        const int code = errno;
        (void)s2_fail(error, S2P_EIO, "cannot %s '%.200s': %s", verb, path,
                      code == ELOOP && use != S2_FILE_READ ? "it is a symbolic link"
                                                           : strerror(code));
        errno = code; /* S2P_EIO promises that errno has more */
        return S2P_EIO;
    }
    if (fstat(*fd, &info) != 0 || !S_ISREG(info.st_mode))
        why = "it is not a regular file";
    else if (use != S2_FILE_READ && info.st_nlink > 1)
        why = "it has other names (hard links)";
    if (!why) return S2P_OK;
    close(*fd);
    *fd = -1;
    (void)s2_fail(error, S2P_EIO, "cannot %s '%.200s': %s", verb, path, why);
    errno = EINVAL;
    return S2P_EIO;
}

FILE *s2_file_stream(const char *path)
{
    int fd;
    if (s2_file_open(path, S2_FILE_READ, &fd, NULL) != S2P_OK) return NULL;
    FILE *file = fdopen(fd, "rb");
    if (!file) close(fd);
    return file;
}

/* --- reading ------------------------------------------------------------------------------ */

static s2p_status read_all(int fd, const char *path, s2_buffer *out, s2p_error *error)
{
    for (;;) {
        if (out->size == out->max) { /* full: one more byte would be too many */
            uint8_t extra;
            const ssize_t n = read(fd, &extra, 1);
            if (n == 0) return S2P_OK;
            if (n > 0)
                return s2_fail(error, S2P_ELIMIT, "'%s' is larger than the limit of %zu bytes",
                               path, out->max);
        }
        const size_t want = out->max - out->size < CHUNK ? out->max - out->size : CHUNK;
        uint8_t *at = want ? s2_buffer_extend(out, want) : NULL;
        if (want && !at) return s2_fail_memory(error, out->size + want, path);
        const ssize_t n = want ? read(fd, at, want) : -1;
        out->size -= want;
        if (n > 0) out->size += (size_t)n;
        if (n == 0) return S2P_OK;
        if (n < 0 && errno == EAGAIN) { /* the other end is open */
            (void)poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
            continue;
        }
        if (n < 0 && errno != EINTR)
            return s2_fail(error, S2P_EIO, "cannot read '%s': %s", path, strerror(errno));
    }
}

s2p_status s2_file_read(const char *path, s2_buffer *out, s2p_error *error)
{
    if (strcmp(path, "-") == 0) return read_all(STDIN_FILENO, "standard input", out, error);

    const int fd = open(path, O_RDONLY | NOT_WAITING);
    if (fd < 0) return s2_fail(error, S2P_EIO, "cannot open '%s': %s", path, strerror(errno));
    struct stat info = { .st_size = 0 };
    s2p_status st = S2P_OK;
    const size_t before = out->size;
    if (fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && (uint64_t)info.st_size > out->max)
        st = s2_fail(error, S2P_ELIMIT, "'%s' has %lld bytes; the limit is %zu", path,
                     (long long)info.st_size, out->max);
    if (st == S2P_OK) st = read_all(fd, path, out, error);
    if (st == S2P_OK && S_ISFIFO(info.st_mode) && out->size == before)
        st = s2_fail(error, S2P_EIO, "cannot read '%s': it is a pipe without a writer", path);
    close(fd);
    return st;
}

/* --- writing ------------------------------------------------------------------------------ */

int s2_write_all(int fd, const void *data, size_t n)
{
    const uint8_t *at = data;
    while (n > 0) {
        const ssize_t done = write(fd, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return errno;
        at += done;
        n -= (size_t)done;
    }
    return 0;
}

/* And on the device; 0, or errno of the first thing that went wrong. */
static int write_safely(int fd, const void *data, size_t n)
{
    const int code = s2_write_all(fd, data, n);
    if (code != 0) return code;
    return fsync(fd) != 0 && errno != EINVAL && errno != EROFS ? errno : 0;
}

static s2p_status fail_write(s2p_error *error, const char *path, size_t n, int code)
{
    errno = code; /* S2P_EIO promises that errno has more */
    return s2_fail(error, S2P_EIO, "cannot write '%s' (%zu bytes): %s", path, n, strerror(code));
}

/* A link in a folder of results must not lead to a device; those of the system, like /dev/stdout, do. */
static bool is_link_of_others(const char *path)
{
    struct stat info;
    return lstat(path, &info) == 0 && S_ISLNK(info.st_mode) && strncmp(path, "/dev/", 5) != 0 &&
           strncmp(path, "/proc/", 6) != 0;
}

/* Devices and pipes cannot be replaced by a rename; they are written in place. */
static s2p_status write_in_place(const char *path, const void *data, size_t n, s2p_error *error)
{
    if (is_link_of_others(path)) return fail_write(error, path, n, ELOOP);
    const int fd = open(path, O_WRONLY | NOT_WAITING);
    if (fd < 0 && errno == ENXIO) {
        (void)s2_fail(error, S2P_EIO, "cannot write '%s': it is a pipe without a reader", path);
        errno = ENXIO;
        return S2P_EIO;
    }
    if (fd < 0) return fail_write(error, path, n, errno);
    const int flags = fcntl(fd, F_GETFL);
    if (flags >= 0) (void)fcntl(fd, F_SETFL, flags & ~O_NONBLOCK); /* the reader may be slow */
    const int code = write_safely(fd, data, n);
    close(fd);
    return code ? fail_write(error, path, n, code) : S2P_OK;
}

/* A new file beside `path`, with the permissions an open with this mode would give; -1 and errno. */
static int open_beside(const char *path, mode_t mode, char *temp, size_t capacity)
{
    for (unsigned attempt = 0; attempt < 100; attempt++) {
        (void)snprintf(temp, capacity, "%s.%ld-%u.tmp", path, (long)getpid(), attempt);
        const int fd = open(temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

static s2p_status write_file(const char *path, mode_t mode, const void *data, size_t n,
                             s2p_error *error)
{
    struct stat info;
    const bool is_there = stat(path, &info) == 0;
    if (is_there && !S_ISREG(info.st_mode)) return write_in_place(path, data, n, error);

    const size_t capacity = strlen(path) + 48; /* ".<pid>-<attempt>.tmp" */
    char *temp = malloc(capacity);
    if (!temp) return s2_fail_memory(error, capacity, "a file name");

    int code = 0;
    if (is_there) mode &= info.st_mode; /* keep it as private as before */
    const int fd = open_beside(path, mode, temp, capacity);
    if (fd < 0) {
        code = errno;
    } else {
        code = write_safely(fd, data, n);
        if (is_there && fchmod(fd, mode) != 0 && code == 0) code = errno; /* whatever the umask */
        if (close(fd) != 0 && code == 0) code = errno;
        if (code == 0 && rename(temp, path) != 0) code = errno;
        if (code != 0) unlink(temp);
    }
    free(temp);
    return code ? fail_write(error, path, n, code) : S2P_OK;
}

s2p_status s2_file_write(const char *path, const void *data, size_t n, s2p_error *error)
{
    return write_file(path, 0666, data, n, error);
}

s2p_status s2_file_write_private(const char *path, const void *data, size_t n, s2p_error *error)
{
    return write_file(path, 0600, data, n, error);
}
