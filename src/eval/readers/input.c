/* input.c - pread, so that a file that shrinks while it is read is a short read and no signal. */
#include "eval/readers/input.h"

#include "base/file.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define WINDOW ((size_t)256 << 10)

s2p_status s2e_input_open(s2e_input *input, const char *path, s2p_error *error)
{
    *input = (s2e_input){ .fd = -1 };
    struct stat info;
    if (stat(path, &info) != 0)
        return s2_fail(error, S2P_EIO, "cannot open '%s': %s", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return s2_fail(error, S2P_EIO, "cannot read '%s': it is not a regular file", path);
    int fd;
    TRY(s2_file_open(path, S2_FILE_READ, &fd, error));
    uint8_t *window = malloc(WINDOW);
    if (!window) {
        close(fd);
        return s2_fail_memory(error, WINDOW, path);
    }
    *input = (s2e_input){ .path = path,
                          .name = s2_base_name(path),
                          .fd = fd,
                          .size = (uint64_t)info.st_size,
                          .window = window };
    return S2P_OK;
}

void s2e_input_close(s2e_input *input)
{
    if (!input->window) return;
    close(input->fd);
    free(input->window);
    *input = (s2e_input){ .fd = -1 };
}

/* Up to n bytes; fewer only at the end of the file. */
static s2p_status read_some(const s2e_input *input, uint64_t at, uint8_t *out, size_t n,
                            size_t *n_read, s2p_error *error)
{
    *n_read = 0;
    while (*n_read < n) {
        const ssize_t more = pread(input->fd, out + *n_read, n - *n_read, (off_t)(at + *n_read));
        if (more < 0 && errno == EINTR) continue;
        if (more < 0)
            return s2_fail(error, S2P_EIO, "cannot read '%s': %s", input->path, strerror(errno));
        if (more == 0) break;
        *n_read += (size_t)more;
    }
    return S2P_OK;
}

s2p_status s2e_input_fill(s2e_input *input, bool *end, s2p_error *error)
{
    *end = false;
    if (input->at < input->n) return S2P_OK;
    input->start += input->n;
    input->n = input->at = 0;
    TRY(read_some(input, input->start, input->window, WINDOW, &input->n, error));
    *end = input->n == 0;
    return S2P_OK;
}

void s2e_input_seek(s2e_input *input, uint64_t at)
{
    input->start = at;
    input->n = input->at = 0;
}

uint64_t s2e_input_tell(const s2e_input *input) { return input->start + input->at; }

s2p_status s2e_input_read(const s2e_input *input, uint64_t at, void *out, size_t n,
                          s2p_error *error)
{
    size_t n_read = 0;
    if (at > (uint64_t)INT64_MAX - n)
        return s2_fail(error, S2P_EFORMAT, "%s: byte %llu is beyond any file", input->name,
                       (unsigned long long)at);
    TRY(read_some(input, at, out, n, &n_read, error));
    if (n_read == n) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "%s: it ends at byte %llu, %zu bytes at %llu were expected",
                   input->name, (unsigned long long)(at + n_read), n, (unsigned long long)at);
}
