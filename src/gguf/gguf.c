/* gguf.c - map a model file, check it, and return its contents.
 *
 * The file is opened once, locked shared and mapped read-only. Another program
 * may ignore the lock and write all the same, so the getters compare every length
 * they read again with the bytes that were accepted: a change under us gives
 * wrong text, never a read outside.
 */
#define _DEFAULT_SOURCE /* madvise; posix_madvise does nothing here in glibc */

#include "gguf/gguf_parse.h"

#include "base/path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif
#include <unistd.h>

#if defined(__APPLE__)
#define WRITTEN st_mtimespec
#else
#define WRITTEN st_mtim
#endif

/* --- open and close ----------------------------------------------------------------------- */

static s2p_status create_file(s2v_gguf **out, s2p_error *error)
{
    *out = calloc(1, sizeof **out);
    if (!*out) return s2_fail_memory(error, sizeof **out, "a model file");
    (*out)->fd = -1;
    return S2P_OK;
}

void s2v_gguf_close(s2v_gguf *file)
{
    if (!file) return;
    if (file->mapping) munmap(file->mapping, file->n_bytes);
    if (file->fd >= 0) close(file->fd);
    free(file->name);
    s2v_names_free(&file->key_names);
    s2v_names_free(&file->tensor_names);
    free(file->keys);
    free(file->tensors);
    free(file);
}

static s2p_status fail_open(s2p_error *error, const char *path)
{
    const int code = errno;
    s2_fail(error, S2P_EIO, "cannot open '%.120s': %s", path, strerror(code));
    errno = code; /* S2P_EIO promises that errno has more */
    return S2P_EIO;
}

static s2p_status map_file(s2v_gguf *file, const char *path, s2p_error *error)
{
    /* Not blocking: a pipe without a writer must end in a sentence, not in waiting. */
    file->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (file->fd < 0) return fail_open(error, path);
    struct stat info;
    if (fstat(file->fd, &info) != 0) return fail_open(error, path);
    if (!S_ISREG(info.st_mode)) {
        errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
        return s2_fail(error, S2P_EIO, "cannot open '%.120s': it is not a regular file", path);
    }
    if ((uint64_t)info.st_size > SIZE_MAX)
        return s2_fail(error, S2P_ELIMIT, "'%.120s' has %lld bytes, too many for this machine",
                       path, (long long)info.st_size);
    file->changed = info.WRITTEN;
    if (!(file->name = strdup(s2_base_name(path))))
        return s2_fail_memory(error, strlen(path), "a file name");
    (void)flock(file->fd, LOCK_SH | LOCK_NB); /* best effort: not every file system can */
    if (info.st_size == 0) return S2P_OK;     /* the check has a sentence for it */

    void *mapping = mmap(NULL, (size_t)info.st_size, PROT_READ, MAP_PRIVATE, file->fd, 0);
    if (mapping == MAP_FAILED && errno == ENOMEM)
        return s2_fail_memory(error, (size_t)info.st_size, s2_base_name(path));
    if (mapping == MAP_FAILED) return fail_open(error, path);
    file->mapping = mapping;
    file->bytes = mapping;
    file->n_bytes = (size_t)info.st_size;
    return S2P_OK;
}

/* The size decided what is inside the file; if it moved meanwhile, nothing is certain. */
static s2p_status check_size(const s2v_gguf *file, const char *path, s2p_error *error)
{
    struct stat info;
    if (fstat(file->fd, &info) != 0) return fail_open(error, path);
    if ((uint64_t)info.st_size == file->n_bytes) return S2P_OK;
    errno = EBUSY;
    return s2_fail(error, S2P_EIO, "'%.120s' changed from %zu to %lld bytes while it was read",
                   path, file->n_bytes, (long long)info.st_size);
}

/* Without a path: the C library of Debian 12 asks for "" next to the descriptor, which a sandbox that
 * allows no paths cannot tell from others. */
static int ask_about(int fd, struct stat *info)
{
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
    return (int)syscall(SYS_fstat, fd, info);
#else
    return fstat(fd, info);
#endif
}

s2p_status s2v_gguf_check_unchanged(const s2v_gguf *file, s2p_error *error)
{
    struct stat info;
    if (file->fd < 0 || ask_about(file->fd, &info) != 0) return S2P_OK;
    if ((uint64_t)info.st_size != file->n_bytes)
        return s2_fail(error, S2P_EIO,
                       "the model file '%.120s' changed from %zu to %lld bytes while it was in use",
                       file->name, file->n_bytes, (long long)info.st_size);
    const struct timespec now = info.WRITTEN;
    if (now.tv_sec == file->changed.tv_sec && now.tv_nsec == file->changed.tv_nsec) return S2P_OK;
    return s2_fail(error, S2P_EIO, "the model file '%.120s' was overwritten while it was in use",
                   file->name);
}

/* `name` starts the sentences of the check. keep: leave a refused file in *out. */
static s2p_status open_file(s2v_gguf **out, const char *path, const char *name, bool keep,
                            s2p_error *error)
{
    s2v_gguf *file = NULL;
    *out = NULL;
    s2p_status st = create_file(&file, error);
    if (st == S2P_OK) st = map_file(file, path, error);
    if (st == S2P_OK) st = s2v_gguf_check(file, name, error);
    if (st == S2P_OK) st = check_size(file, path, error);
    if (st == S2P_OK || (keep && file && file->version != 0)) {
        for (size_t i = 0; st != S2P_OK && i < file->n_tensors; i++) file->tensors[i].data = NULL;
        *out = file;
        return st;
    }
    const int code = errno;
    s2v_gguf_close(file);
    errno = code;
    return st;
}

s2p_status s2v_gguf_open(s2v_gguf **out, const char *path, s2p_error *error)
{
    return open_file(out, path, s2_base_name(path), false, error);
}

s2p_status s2v_gguf_examine(s2v_gguf **out, const char *path, s2p_error *error)
{
    return open_file(out, path, NULL, true, error);
}

s2p_status s2v_gguf_parse(s2v_gguf **out, const void *bytes, size_t n, const char *name,
                          s2p_error *error)
{
    s2v_gguf *file = NULL;
    *out = NULL;
    TRY(create_file(&file, error));
    file->bytes = bytes;
    file->n_bytes = n;
    const s2p_status st = s2v_gguf_check(file, name, error);
    if (st == S2P_OK)
        *out = file;
    else
        s2v_gguf_close(file);
    return st;
}

void s2v_gguf_release_pages(s2v_gguf *file)
{
    if (file->mapping) (void)madvise(file->mapping, file->n_bytes, MADV_DONTNEED);
}

void s2v_gguf_want_pages(s2v_gguf *file)
{
    if (file->mapping) (void)madvise(file->mapping, file->n_bytes, MADV_WILLNEED);
}

/* --- what is in it --------------------------------------------------------------------------- */

uint32_t s2v_gguf_version(const s2v_gguf *file) { return file->version; }
size_t s2v_gguf_n_bytes(const s2v_gguf *file) { return file->n_bytes; }
size_t s2v_gguf_n_keys(const s2v_gguf *file) { return file->n_keys; }
size_t s2v_gguf_n_tensors(const s2v_gguf *file) { return file->n_tensors; }
uint64_t s2v_gguf_claimed_keys(const s2v_gguf *file) { return file->claimed_keys; }
uint64_t s2v_gguf_claimed_tensors(const s2v_gguf *file) { return file->claimed_tensors; }
size_t s2v_gguf_alignment(const s2v_gguf *file) { return file->alignment; }
size_t s2v_gguf_data_offset(const s2v_gguf *file) { return file->data_offset; }

const s2v_gguf_key *s2v_gguf_key_at(const s2v_gguf *file, size_t index)
{
    return index < file->n_keys ? &file->keys[index] : NULL;
}

const s2v_gguf_tensor *s2v_gguf_tensor_at(const s2v_gguf *file, size_t index)
{
    return index < file->n_tensors ? &file->tensors[index] : NULL;
}

const s2v_gguf_key *s2v_gguf_find_key(const s2v_gguf *file, const char *name)
{
    const size_t number = s2v_names_find(&file->key_names, name);
    return number ? &file->keys[number - 1] : NULL;
}

const s2v_gguf_tensor *s2v_gguf_find_tensor(const s2v_gguf *file, const char *name)
{
    const size_t number = s2v_names_find(&file->tensor_names, name);
    return number ? &file->tensors[number - 1] : NULL;
}

bool s2v_text_is(s2v_text text, const char *string)
{
    return text.size == strlen(string) && memcmp(text.data, string, text.size) == 0;
}

/* --- values ----------------------------------------------------------------------------------- */

/* Read two's complement of `width` bytes. */
static int64_t sign_extend(uint64_t bits, size_t width)
{
    const uint64_t sign = UINT64_C(1) << (8 * width - 1);
    const uint64_t wide = (bits ^ sign) - sign;
    int64_t value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

bool s2v_gguf_item_int(const s2v_gguf_key *key, uint64_t index, int64_t *out)
{
    if (index >= key->count) return false;
    const size_t width = s2v_gguf_width(key->item);
    if (width == 0) return false;
    const uint64_t bits = s2v_load(key->value + (size_t)index * width, width);
    switch (key->item) {
    case S2V_GGUF_U8:
    case S2V_GGUF_U16:
    case S2V_GGUF_U32:
    case S2V_GGUF_U64:
        if (bits > INT64_MAX) return false;
        *out = (int64_t)bits;
        return true;
    case S2V_GGUF_I8:
    case S2V_GGUF_I16:
    case S2V_GGUF_I32:
    case S2V_GGUF_I64:
        *out = sign_extend(bits, width);
        return true;
    default:
        return false;
    }
}

bool s2v_gguf_item_float(const s2v_gguf_key *key, uint64_t index, double *out)
{
    if (index >= key->count) return false;
    if (key->item == S2V_GGUF_F32) {
        const uint32_t bits = (uint32_t)s2v_load(key->value + (size_t)index * 4, 4);
        float value;
        memcpy(&value, &bits, sizeof value);
        *out = (double)value;
        return true;
    }
    if (key->item != S2V_GGUF_F64) return false;
    const uint64_t bits = s2v_load(key->value + (size_t)index * 8, 8);
    memcpy(out, &bits, sizeof *out);
    return true;
}

/* The string at *cursor of the value, which the mapping may have changed since it was accepted. */
static bool string_at(const s2v_gguf_key *key, size_t *cursor, s2v_text *out)
{
    if (*cursor > key->n_bytes || key->n_bytes - *cursor < 8) return false;
    const uint64_t size = s2v_load(key->value + *cursor, 8);
    if (size > key->n_bytes - *cursor - 8) return false;
    *out = (s2v_text){ (const char *)key->value + *cursor + 8, (size_t)size };
    *cursor += 8 + (size_t)size;
    return true;
}

bool s2v_gguf_next_string(const s2v_gguf_key *key, size_t *cursor, s2v_text *out)
{
    return key->item == S2V_GGUF_STRING && string_at(key, cursor, out);
}

/* A key that is one value, not an array. */
static const s2v_gguf_key *find_scalar(const s2v_gguf *file, const char *name)
{
    const s2v_gguf_key *key = s2v_gguf_find_key(file, name);
    return key && key->type != S2V_GGUF_ARRAY ? key : NULL;
}

bool s2v_gguf_item_bool(const s2v_gguf_key *key, uint64_t index, bool *out)
{
    if (index >= key->count || key->item != S2V_GGUF_BOOL) return false;
    *out = key->value[index] != 0;
    return true;
}

bool s2v_gguf_int(const s2v_gguf *file, const char *name, int64_t *out)
{
    const s2v_gguf_key *key = find_scalar(file, name);
    return key && s2v_gguf_item_int(key, 0, out);
}

bool s2v_gguf_float(const s2v_gguf *file, const char *name, double *out)
{
    const s2v_gguf_key *key = find_scalar(file, name);
    return key && s2v_gguf_item_float(key, 0, out);
}

bool s2v_gguf_bool(const s2v_gguf *file, const char *name, bool *out)
{
    const s2v_gguf_key *key = find_scalar(file, name);
    if (!key || key->type != S2V_GGUF_BOOL) return false;
    *out = key->value[0] != 0;
    return true;
}

bool s2v_gguf_string(const s2v_gguf *file, const char *name, s2v_text *out)
{
    const s2v_gguf_key *key = find_scalar(file, name);
    size_t cursor = 0;
    return key && key->type == S2V_GGUF_STRING && string_at(key, &cursor, out);
}

/* --- numbers of a tensor ---------------------------------------------------------------------- */

/* A float is NaN or infinite exactly when all bits of its exponent are set. */
static bool exponent_is_full(const uint8_t *value, size_t size, uint64_t exponent)
{
    return (s2v_load(value, size) & exponent) == exponent;
}

bool s2v_gguf_count_odd(const s2v_gguf_tensor *tensor, s2v_gguf_odd *out)
{
    static const struct {
        uint32_t type;
        size_t size;
        uint64_t exponent;
    } floats[] = { { S2V_TENSOR_F32, 4, 0x7f800000u },
                   { S2V_TENSOR_F16, 2, 0x7c00u },
                   { S2V_TENSOR_F64, 8, UINT64_C(0x7ff0000000000000) },
                   { S2V_TENSOR_BF16, 2, 0x7f80u } };

    *out = (s2v_gguf_odd){ 0, 0 };
    for (size_t f = 0; f < sizeof floats / sizeof *floats; f++) {
        if (floats[f].type != tensor->type || !tensor->data) continue;
        const size_t size = floats[f].size;
        for (uint64_t i = 0; i < tensor->n_bytes / size; i++) {
            if (!exponent_is_full(tensor->data + i * size, size, floats[f].exponent)) continue;
            if (out->count++ == 0) out->first = i;
        }
        return true;
    }
    return false;
}
