/* lock.c - a record lock of POSIX, which network file systems know too, and who holds it. */
#include "eval/run/store.h"

#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct s2e_lock {
    int fd;
};

/* "process 123 on host", as the holder wrote it; a sentence must be able to show it. */
static void read_holder(int fd, char *out, size_t capacity)
{
    const ssize_t n = pread(fd, out, capacity - 1, 0);
    out[n > 0 ? n : 0] = '\0';
    out[strcspn(out, "\r\n")] = '\0';
    if (!out[0]) (void)snprintf(out, capacity, "another process");
}

void s2e_lock_holder(int fd, bool is_writer, char *out, size_t capacity)
{
    struct flock asked = { .l_type = is_writer ? F_WRLCK : F_RDLCK, .l_whence = SEEK_SET };
    if (fd >= 0 && fcntl(fd, F_GETLK, &asked) == 0 && asked.l_type != F_UNLCK && asked.l_pid > 0)
        (void)snprintf(out, capacity, "process %ld", (long)asked.l_pid);
    else
        (void)snprintf(out, capacity, "another process");
}

void s2e_lock_sign(const s2e_lock *lock)
{
    const int fd = lock->fd;
    char host[128] = "", text[192];
    if (gethostname(host, sizeof host - 1) != 0) host[0] = '\0';
    const int n = snprintf(text, sizeof text, "process %ld on %s\n", (long)getpid(), host);
    if (ftruncate(fd, 0) == 0 && n > 0 && pwrite(fd, text, (size_t)n, 0) < 0)
        errno = 0; /* informative only: a full disk may refuse it */
}

s2p_status s2e_lock_take(const char *path, s2e_lock **out, s2p_error *error)
{
    char name[4200], holder[192];
    *out = NULL;
    if (snprintf(name, sizeof name, "%s.lock", path) >= (int)sizeof name)
        return s2_fail(error, S2P_ELIMIT, "the path of the run is too long");
    int fd;
    TRY(s2_file_open(name, S2_FILE_OWN, &fd, error));
    const struct flock whole = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
    s2e_lock *lock = malloc(sizeof *lock);
    if (lock && fcntl(fd, F_SETLK, &whole) == 0) {
        lock->fd = fd;
        *out = lock;
        return S2P_OK;
    }
    const int code = errno;
    const bool has_memory = lock != NULL;
    read_holder(fd, holder, sizeof holder);
    free(lock);
    close(fd);
    if (!has_memory) return s2_fail_memory(error, sizeof *lock, "a lock");
    errno = code;
    if (code != EACCES && code != EAGAIN)
        return s2_fail(error, S2P_EIO, "cannot lock '%.150s': %s", name, strerror(code));
    return s2_fail(error, S2P_EIO, "'%.100s' is being written by %.100s", path, holder);
}

void s2e_lock_release(s2e_lock *lock)
{
    if (!lock) return;
    close(lock->fd);
    free(lock);
}
