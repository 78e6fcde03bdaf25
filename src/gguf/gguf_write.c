/* gguf_write.c - a GGUF file, written once from front to back.
 *
 * RELIABILITY R-CR4, R-DF. The header is complete before the first byte of data, since types and
 * shapes decide every offset; so the file is one stream, hashed as it goes. Its data lives in a
 * file without a name (O_TMPFILE) until it is whole: a process killed at any moment leaves the old
 * file or the new one, and no debris.
 */
#define _GNU_SOURCE /* O_TMPFILE, sync_file_range */

#include "gguf/gguf_write.h"

#include "base/buffer.h"
#include "base/checked.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define ALIGNMENT 32u
#define MAX_HEADER ((size_t)1 << 30)
#define MAX_TENSORS 65536u
#define FLUSH_EVERY ((uint64_t)64 << 20) /* the device works while we compute */

struct s2v_gguf_writer {
    char *path, *folder, *temp; /* temp: room for a name next to path */
    size_t temp_room;
    int fd;
    bool has_temp; /* the data has the name in `temp` */

    s2_buffer keys, tensors;
    uint64_t n_keys, n_tensors;
    uint64_t *sizes; /* [n_tensors] without padding */
    size_t n_room;
    uint64_t data; /* bytes of tensor data said so far, with padding */

    size_t current;   /* tensor being written */
    uint64_t written; /* of it */
    uint64_t n_bytes, flushed;
    s2_sha256_state hash;
};

static uint64_t padded(uint64_t n) { return (n + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT; }

/* --- create and free ------------------------------------------------------------------------- */

static char *copy_text(const char *text, size_t n, size_t room)
{
    char *copy = malloc(n + room + 1);
    if (!copy) return NULL;
    memcpy(copy, text, n);
    copy[n] = '\0';
    return copy;
}

s2p_status s2v_gguf_writer_create(s2v_gguf_writer **out, const char *path, s2p_error *error)
{
    *out = NULL;
    s2v_gguf_writer *writer = calloc(1, sizeof *writer);
    if (!writer) return s2_fail_memory(error, sizeof *writer, "a file writer");
    const char *slash = strrchr(path, '/');
    const size_t n = strlen(path), n_folder = slash ? (size_t)(slash - path) + 1 : 1;
    writer->fd = -1;
    writer->path = copy_text(path, n, 0);
    writer->folder = copy_text(slash ? path : ".", n_folder, 0);
    writer->temp_room = n + 48; /* ".<pid>-<attempt>.tmp" */
    writer->temp = copy_text(path, n, 48);
    s2_buffer_init(&writer->keys, MAX_HEADER);
    s2_buffer_init(&writer->tensors, MAX_HEADER);
    s2_sha256_start(&writer->hash);
    if (!writer->path || !writer->folder || !writer->temp) {
        s2v_gguf_writer_free(writer);
        return s2_fail_memory(error, 3 * n, "a file name");
    }
    *out = writer;
    return S2P_OK;
}

void s2v_gguf_writer_free(s2v_gguf_writer *writer)
{
    if (!writer) return;
    const int code = errno;
    if (writer->fd >= 0) close(writer->fd);
    if (writer->has_temp) unlink(writer->temp);
    s2_buffer_free(&writer->keys);
    s2_buffer_free(&writer->tensors);
    free(writer->sizes);
    free(writer->path);
    free(writer->folder);
    free(writer->temp);
    free(writer);
    errno = code;
}

/* --- the header ------------------------------------------------------------------------------ */

/* Little-endian, whatever the machine. */
static void store(uint8_t *out, uint64_t value, size_t width)
{
    for (size_t i = 0; i < width; i++) out[i] = (uint8_t)(value >> (8 * i));
}

static void put_number(s2_buffer *out, uint64_t value, size_t width)
{
    uint8_t bytes[8];
    store(bytes, value, width);
    s2_buffer_append(out, bytes, width);
}

static void put_bytes(s2_buffer *out, const char *data, size_t n)
{
    put_number(out, n, 8);
    if (n) s2_buffer_append(out, data, n);
}

static void put_name(s2v_gguf_writer *writer, const char *name, s2v_gguf_type type)
{
    put_bytes(&writer->keys, name, strlen(name));
    put_number(&writer->keys, (uint64_t)type, 4);
    writer->n_keys++;
}

static void put_list(s2v_gguf_writer *writer, const char *name, s2v_gguf_type item, size_t n)
{
    put_name(writer, name, S2V_GGUF_ARRAY);
    put_number(&writer->keys, (uint64_t)item, 4);
    put_number(&writer->keys, n, 8);
}

static uint32_t float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

void s2v_gguf_put_u32(s2v_gguf_writer *writer, const char *name, uint32_t value)
{
    put_name(writer, name, S2V_GGUF_U32);
    put_number(&writer->keys, value, 4);
}

void s2v_gguf_put_f32(s2v_gguf_writer *writer, const char *name, float value)
{
    put_name(writer, name, S2V_GGUF_F32);
    put_number(&writer->keys, float_bits(value), 4);
}

void s2v_gguf_put_bool(s2v_gguf_writer *writer, const char *name, bool value)
{
    put_name(writer, name, S2V_GGUF_BOOL);
    put_number(&writer->keys, value, 1);
}

void s2v_gguf_put_text(s2v_gguf_writer *writer, const char *name, const char *text)
{
    put_name(writer, name, S2V_GGUF_STRING);
    put_bytes(&writer->keys, text, strlen(text));
}

void s2v_gguf_put_i32s(s2v_gguf_writer *writer, const char *name, const int32_t *value, size_t n)
{
    put_list(writer, name, S2V_GGUF_I32, n);
    for (size_t i = 0; i < n; i++) put_number(&writer->keys, (uint32_t)value[i], 4);
}

void s2v_gguf_put_f32s(s2v_gguf_writer *writer, const char *name, const float *value, size_t n)
{
    put_list(writer, name, S2V_GGUF_F32, n);
    for (size_t i = 0; i < n; i++) put_number(&writer->keys, float_bits(value[i]), 4);
}

void s2v_gguf_put_bools(s2v_gguf_writer *writer, const char *name, const bool *value, size_t n)
{
    put_list(writer, name, S2V_GGUF_BOOL, n);
    for (size_t i = 0; i < n; i++) put_number(&writer->keys, value[i], 1);
}

void s2v_gguf_put_texts(s2v_gguf_writer *writer, const char *name, size_t n)
{
    put_list(writer, name, S2V_GGUF_STRING, n);
}

void s2v_gguf_put_item(s2v_gguf_writer *writer, const char *data, size_t size)
{
    put_bytes(&writer->keys, data, size);
}

void s2v_gguf_put_key(s2v_gguf_writer *writer, const s2v_gguf_key *key)
{
    put_bytes(&writer->keys, key->name.data, key->name.size);
    put_number(&writer->keys, (uint64_t)key->type, 4);
    if (key->type == S2V_GGUF_ARRAY) {
        put_number(&writer->keys, (uint64_t)key->item, 4);
        put_number(&writer->keys, key->count, 8);
    }
    if (key->n_bytes) s2_buffer_append(&writer->keys, key->value, key->n_bytes);
    writer->n_keys++;
}

static bool grow_sizes(s2v_gguf_writer *writer)
{
    if (writer->n_tensors < writer->n_room) return true;
    const size_t room = writer->n_room ? 2 * writer->n_room : 256;
    uint64_t *sizes = realloc(writer->sizes, room * sizeof *sizes);
    if (!sizes) return false;
    writer->sizes = sizes;
    writer->n_room = room;
    return true;
}

s2p_status s2v_gguf_put_tensor(s2v_gguf_writer *writer, const char *name, uint32_t type,
                               int32_t n_dims, const int64_t *ne, s2p_error *error)
{
    int64_t block = 0;
    size_t n_bytes = 0;
    if (!s2v_gguf_tensor_type(type, &block, &n_bytes) || n_dims < 1 || n_dims > S2V_GGUF_MAX_DIMS ||
        ne[0] < 1 || ne[0] % block != 0)
        return s2_fail(error, S2P_EINVAL, "tensor '%.64s' cannot be of type %" PRIu32, name, type);
    bool fits = s2_mul_size(n_bytes, (size_t)(ne[0] / block), &n_bytes);
    for (int32_t d = 1; d < n_dims; d++)
        fits = fits && ne[d] > 0 && s2_mul_size(n_bytes, (size_t)ne[d], &n_bytes);
    if (!fits || n_bytes > INT64_MAX / 2 || writer->data > INT64_MAX / 2 ||
        writer->n_tensors >= MAX_TENSORS)
        return s2_fail(error, S2P_ELIMIT, "tensor '%.64s' is too large for a file", name);
    if (!grow_sizes(writer))
        return s2_fail_memory(error, 16 * writer->n_room, "the tensors of a file");

    writer->sizes[writer->n_tensors++] = n_bytes;
    put_bytes(&writer->tensors, name, strlen(name));
    put_number(&writer->tensors, (uint64_t)n_dims, 4);
    for (int32_t d = 0; d < n_dims; d++) put_number(&writer->tensors, (uint64_t)ne[d], 8);
    put_number(&writer->tensors, type, 4);
    put_number(&writer->tensors, writer->data, 8);
    writer->data += padded(n_bytes);
    return S2P_OK;
}

uint64_t s2v_gguf_writer_size(const s2v_gguf_writer *writer)
{
    return padded(24 + writer->keys.size + writer->tensors.size) + writer->data;
}

/* --- the file -------------------------------------------------------------------------------- */

static s2p_status fail_write(const s2v_gguf_writer *writer, int code, s2p_error *error)
{
    s2_fail(error, S2P_EIO, "cannot write '%.120s' (%" PRIu64 " bytes): %s", writer->path,
            s2v_gguf_writer_size(writer), strerror(code));
    errno = code; /* S2P_EIO promises that errno has more */
    return S2P_EIO;
}

static s2p_status write_all(s2v_gguf_writer *writer, const void *data, size_t n, s2p_error *error)
{
    const uint8_t *at = data;
    s2_sha256_add(&writer->hash, data, n);
    writer->n_bytes += n;
    while (n > 0) {
        const ssize_t done = write(writer->fd, at, n);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return fail_write(writer, errno, error);
        at += done;
        n -= (size_t)done;
    }
#ifdef SYNC_FILE_RANGE_WRITE
    if (writer->n_bytes - writer->flushed >= FLUSH_EVERY) { /* a hint: failure is harmless */
        (void)sync_file_range(writer->fd, (off_t)writer->flushed,
                              (off_t)(writer->n_bytes - writer->flushed), SYNC_FILE_RANGE_WRITE);
        writer->flushed = writer->n_bytes;
    }
#endif
    return S2P_OK;
}

static s2p_status write_padding(s2v_gguf_writer *writer, s2p_error *error)
{
    static const uint8_t zeros[ALIGNMENT];
    const size_t n = (size_t)(padded(writer->n_bytes) - writer->n_bytes);
    return n ? write_all(writer, zeros, n, error) : S2P_OK;
}

/* Next name of a file next to the real one; false after a hundred. */
static bool next_temp(s2v_gguf_writer *writer, unsigned attempt)
{
    (void)snprintf(writer->temp, writer->temp_room, "%s.%ld-%u.tmp", writer->path, (long)getpid(),
                   attempt);
    return attempt < 100;
}

/* An unnamed file in the folder, or a temporary one where that does not exist. -1 and errno. */
static int open_output(s2v_gguf_writer *writer)
{
#ifdef O_TMPFILE
    if (access("/proc/self/fd", X_OK) == 0) { /* the way to give it a name later */
        const int fd = open(writer->folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
        if (fd >= 0) return fd;
    }
#endif
    for (unsigned attempt = 0; next_temp(writer, attempt); attempt++) {
        const int fd = open(writer->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        writer->has_temp = fd >= 0;
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

/* Before hours of work: is there room, and is this a place for a file? */
static s2p_status check_place(const s2v_gguf_writer *writer, s2p_error *error)
{
    struct stat info;
    if (stat(writer->path, &info) == 0 && !S_ISREG(info.st_mode)) {
        errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
        return s2_fail(error, S2P_EIO, "cannot write '%.120s': it is not a regular file",
                       writer->path);
    }
    struct statvfs space;
    if (statvfs(writer->folder, &space) != 0) return fail_write(writer, errno, error);
    const uint64_t block = space.f_frsize, n_blocks = space.f_bavail;
    const uint64_t need = s2v_gguf_writer_size(writer);
    if (need / (block ? block : 1) < n_blocks) return S2P_OK;
    s2_fail(error, S2P_EIO,
            "cannot write '%.120s': it needs %" PRIu64 " bytes, %" PRIu64 " are free", writer->path,
            need, n_blocks * block);
    errno = ENOSPC;
    return S2P_EIO;
}

/* Step over tensors that are complete (and those without a byte), with their padding. */
static s2p_status close_tensors(s2v_gguf_writer *writer, s2p_error *error)
{
    while (writer->current < writer->n_tensors &&
           writer->written == writer->sizes[writer->current]) {
        TRY(write_padding(writer, error));
        writer->current++;
        writer->written = 0;
    }
    return S2P_OK;
}

s2p_status s2v_gguf_writer_start(s2v_gguf_writer *writer, s2p_error *error)
{
    if (writer->keys.status != S2P_OK || writer->tensors.status != S2P_OK)
        return s2_fail_memory(error, writer->keys.size + writer->tensors.size, "a file's header");
    TRY(check_place(writer, error));
    writer->fd = open_output(writer);
    if (writer->fd < 0) return fail_write(writer, errno, error);

    uint8_t start[24] = { 'G', 'G', 'U', 'F' };
    store(start + 4, 3, 4);
    store(start + 8, writer->n_tensors, 8);
    store(start + 16, writer->n_keys, 8);
    TRY(write_all(writer, start, sizeof start, error));
    TRY(write_all(writer, writer->keys.data, writer->keys.size, error));
    TRY(write_all(writer, writer->tensors.data, writer->tensors.size, error));
    return write_padding(writer, error);
}

s2p_status s2v_gguf_writer_add(s2v_gguf_writer *writer, const void *data, size_t n,
                               s2p_error *error)
{
    if (writer->current >= writer->n_tensors ||
        n > writer->sizes[writer->current] - writer->written)
        return s2_fail(error, S2P_EINVAL, "too much data for the tensors of '%.120s'",
                       writer->path);
    TRY(write_all(writer, data, n, error));
    writer->written += n;
    return close_tensors(writer, error);
}

s2p_status s2v_gguf_writer_finish(s2v_gguf_writer *writer, uint8_t digest[32], s2p_error *error)
{
    if (writer->current != writer->n_tensors || writer->n_bytes != s2v_gguf_writer_size(writer))
        return s2_fail(error, S2P_EINVAL, "too little data for the tensors of '%.120s'",
                       writer->path);
    struct stat old; /* what only its owner may read stays so */
    if (stat(writer->path, &old) == 0 && fchmod(writer->fd, old.st_mode & 0777) != 0)
        return fail_write(writer, errno, error);
    if (fsync(writer->fd) != 0 && errno != EINVAL && errno != EROFS)
        return fail_write(writer, errno, error);
    s2_sha256_finish(&writer->hash, digest);
    return S2P_OK;
}

static void self_path(const s2v_gguf_writer *writer, char out[64])
{
    (void)snprintf(out, 64, "/proc/self/fd/%d", writer->fd);
}

s2p_status s2v_gguf_writer_open(const s2v_gguf_writer *writer, s2v_gguf **out, s2p_error *error)
{
    char self[64];
    self_path(writer, self);
    return s2v_gguf_open(out, writer->has_temp ? writer->temp : self, error);
}

/* Give the unnamed file a name next to the real one: only a rename can replace. */
static bool link_temp(s2v_gguf_writer *writer)
{
    char self[64];
    self_path(writer, self);
    for (unsigned attempt = 0; next_temp(writer, attempt); attempt++) {
        writer->has_temp = linkat(AT_FDCWD, self, AT_FDCWD, writer->temp, AT_SYMLINK_FOLLOW) == 0;
        if (writer->has_temp || errno != EEXIST) return writer->has_temp;
    }
    return false;
}

s2p_status s2v_gguf_writer_commit(s2v_gguf_writer *writer, s2p_error *error)
{
    if (!writer->has_temp && !link_temp(writer)) return fail_write(writer, errno, error);
    if (rename(writer->temp, writer->path) != 0) return fail_write(writer, errno, error);
    writer->has_temp = false;
    const int folder = open(writer->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) { /* the new name itself; where folders cannot be flushed, nothing is lost */
        (void)fsync(folder);
        close(folder);
    }
    return S2P_OK;
}
