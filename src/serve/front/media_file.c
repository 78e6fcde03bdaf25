/* media_file.c - opens one path component at a time, without following links: what was checked is what is
 * opened, even if the folder is changed meanwhile. */
#if defined(__linux__)
#define _GNU_SOURCE /* O_DIRECTORY, O_NOFOLLOW */
#endif
#include "serve/front/pictures.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCHEME "file://"
#define MAX_NAME 256 /* of one component */

/* The file, or -1. */
static int open_below(const char *folder, const char *path)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    while (fd >= 0) {
        char name[MAX_NAME];
        const size_t n = strcspn(path, "/");
        const bool is_last = path[n] == '\0';
        const bool is_name = n > 0 && n < sizeof name && strncmp(path, "..", n > 2 ? n : 2) != 0 &&
                             !(n == 1 && path[0] == '.');
        int next = -1;
        if (is_name) {
            (void)snprintf(name, sizeof name, "%.*s", (int)n, path);
            /* O_NONBLOCK: opening a pipe must not block */
            next = openat(fd, name,
                          O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
                              (is_last ? 0 : O_DIRECTORY));
        }
        close(fd);
        fd = next;
        if (is_last) break;
        path += n + 1;
    }
    return fd;
}

static bool read_all(int fd, size_t max_bytes, s2_buffer *out)
{
    struct stat info;
    if (fstat(fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_size <= 0 ||
        (uint64_t)info.st_size > max_bytes)
        return false;
    size_t left = (size_t)info.st_size;
    uint8_t *at = s2_buffer_extend(out, left);
    while (at && left > 0) {
        const ssize_t n = read(fd, at, left);
        if (n <= 0) return false;
        at += n;
        left -= (size_t)n;
    }
    return at != NULL;
}

bool s2_media_read(const char *folder, const char *url, const char *param, size_t max_bytes,
                   s2_buffer *out, s2_http_error *error)
{
    const size_t n = strlen(SCHEME);
    const int fd = strncmp(url, SCHEME, n) == 0 ? open_below(folder, url + n) : -1;
    const bool is_fine = fd >= 0 && read_all(fd, max_bytes, out);
    if (fd >= 0) close(fd);
    return is_fine || s2_http_fail(error, 400, param, "%s: the image could not be read", param);
}
