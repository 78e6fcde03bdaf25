/* cache_file.c - blocks as files: written whole or not at all, read with every byte checked. */
#define _DEFAULT_SOURCE /* flock */
#include "engine/cache/cache_file.h"

#include "base/file.h"
#include "base/sha256.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define NAME_BYTES (S2_SHA256_HEX + 16) /* digits, suffix, NUL */
#define HEX_DIGITS (S2_SHA256_HEX - 1)
#define MOST_LOCK_TRIES 100 /* 10 ms each */
#define HOLDER_TEXT 32
#define HOLDER_FORMAT "process %-12ld\n" /* of one length: the file is only ever overwritten */
static const char suffix[] = ".s2cache", unfinished[] = ".tmp", lock_name[] = ".lock";

struct s2v_cache_folder {
    int fd;
    uint64_t max_bytes, n_bytes;
};

/* --- the head ------------------------------------------------------------------------- */

static const char magic[8] = { 'S', '2', 'C', 'A', 'C', 'H', 'E', '\n' };

typedef struct head { /* numbers in this machine's byte order, as shown by version */
    char magic[8];
    uint32_t version, n_head;
    uint64_t n_block;
    uint8_t key[S2V_KEY_BYTES];
    uint8_t spare[8];   /* 0 */
    uint8_t digest[32]; /* of all before it and the block */
} head;

_Static_assert(sizeof(head) == S2V_CACHE_FILE_HEAD, "a head has no gaps");

static void digest_of(const head *h, const uint8_t *block, size_t n, uint8_t out[32])
{
    s2_sha256_state state;
    s2_sha256_start(&state);
    s2_sha256_add(&state, h, offsetof(head, digest));
    s2_sha256_add(&state, block, n);
    s2_sha256_finish(&state, out);
}

void s2v_cache_head_make(const uint8_t *key, const uint8_t *block, size_t n,
                         uint8_t out[S2V_CACHE_FILE_HEAD])
{
    head h = { .version = S2V_CACHE_FILE_VERSION, .n_head = sizeof h, .n_block = n };
    memcpy(h.magic, magic, sizeof magic);
    memcpy(h.key, key, sizeof h.key);
    digest_of(&h, block, n, h.digest);
    memcpy(out, &h, sizeof h);
}

s2p_status s2v_cache_head_check(const uint8_t bytes[S2V_CACHE_FILE_HEAD], uint64_t n_file,
                                const uint8_t *key, size_t *n, s2p_error *error)
{
    static const uint8_t zeros[8];
    head h;
    memcpy(&h, bytes, sizeof h);
    *n = 0;
    if (memcmp(h.magic, magic, sizeof magic) != 0)
        return s2_fail(error, S2P_EFORMAT, "it is not a cache file");
    if (h.version != S2V_CACHE_FILE_VERSION || h.n_head != sizeof h)
        return s2_fail(error, S2P_EFORMAT, "it has version %u, expected %d", h.version,
                       S2V_CACHE_FILE_VERSION);
    if (n_file < sizeof h || h.n_block != n_file - sizeof h || h.n_block > SIZE_MAX / 2)
        return s2_fail(error, S2P_EFORMAT, "it has %llu bytes, expected %llu",
                       (unsigned long long)n_file, (unsigned long long)h.n_block + sizeof h);
    if (memcmp(h.key, key, sizeof h.key) != 0 || memcmp(h.spare, zeros, sizeof zeros) != 0)
        return s2_fail(error, S2P_EFORMAT, "its key does not match");
    *n = (size_t)h.n_block;
    return S2P_OK;
}

/* --- the folder ------------------------------------------------------------------------- */

static void name_of(const uint8_t *key, const char *end, char out[NAME_BYTES])
{
    s2_sha256_hex(key, out);
    (void)snprintf(out + HEX_DIGITS, NAME_BYTES - HEX_DIGITS, "%s", end);
}

/* Is it digits of a key, then `end`? */
static bool is_named(const char *name, const char *end)
{
    return strspn(name, "0123456789abcdef") == HEX_DIGITS && strcmp(name + HEX_DIGITS, end) == 0;
}

typedef struct kept_file {
    char name[NAME_BYTES];
    uint64_t n_bytes;
    struct timespec used;
} kept_file;

typedef struct listing { /* owned */
    kept_file *file;
    size_t n;
    uint64_t n_bytes;
} listing;

static int compare_use(const void *a, const void *b)
{
    const kept_file *x = a, *y = b;
    if (x->used.tv_sec != y->used.tv_sec) return x->used.tv_sec < y->used.tv_sec ? -1 : 1;
    if (x->used.tv_nsec != y->used.tv_nsec) return x->used.tv_nsec < y->used.tv_nsec ? -1 : 1;
    return strcmp(x->name, y->name);
}

/* Blocks of the folder, oldest use first. is_locked: temporary files are removed, because no
 * writer is active. */
static bool list_files(const s2v_cache_folder *folder, bool is_locked, listing *out)
{
    *out = (listing){ .n = 0 };
    size_t room = 0;
    bool has_memory = true;
    const int fd = openat(folder->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !dir) close(fd);
    if (!dir) return false;
    const struct dirent *entry;
    while (has_memory && (entry = readdir(dir))) {
        struct stat info;
        if (is_locked && is_named(entry->d_name, unfinished))
            unlinkat(folder->fd, entry->d_name, 0);
        if (!is_named(entry->d_name, suffix) ||
            fstatat(folder->fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0)
            continue;
        if (out->n == room) {
            room = room ? 2 * room : 64;
            kept_file *grown = realloc(out->file, room * sizeof *grown);
            has_memory = grown != NULL;
            if (!has_memory) break;
            out->file = grown;
        }
        kept_file *file = &out->file[out->n++];
        memcpy(file->name, entry->d_name, HEX_DIGITS + sizeof suffix); /* is_named: it fits */
        file->n_bytes = info.st_size > 0 ? (uint64_t)info.st_size : 0;
        file->used = info.st_mtim;
        out->n_bytes += file->n_bytes;
    }
    closedir(dir);
    if (out->n > 0) qsort(out->file, out->n, sizeof *out->file, compare_use);
    return has_memory;
}

s2p_status s2v_cache_folder_open(s2v_cache_folder **out, const char *path, uint64_t max_bytes,
                                 s2p_error *error)
{
    *out = NULL;
    if (mkdir(path, 0700) != 0 && errno != EEXIST)
        return s2_fail(error, S2P_EIO, "cannot make the cache folder '%s': %s", path,
                       strerror(errno));
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (fd < 0)
        return s2_fail(error, S2P_EIO, "cannot open the cache folder '%s': %s", path,
                       strerror(errno));
    struct stat info;
    s2p_status st = S2P_OK;
    if (fstat(fd, &info) != 0 || info.st_uid != geteuid())
        st = s2_fail(error, S2P_EIO, "the cache folder '%s' belongs to another user", path);
    else if (info.st_mode & (S_IWGRP | S_IWOTH))
        st = s2_fail(error, S2P_EIO,
                     "the cache folder '%s' is writable by other users; it must be private", path);
    s2v_cache_folder *folder = st == S2P_OK ? malloc(sizeof *folder) : NULL;
    if (st == S2P_OK && !folder) st = s2_fail_memory(error, sizeof *folder, "the cache folder");
    if (st != S2P_OK) {
        close(fd);
        return st;
    }
    *folder = (s2v_cache_folder){ .fd = fd, .max_bytes = max_bytes };
    listing files;
    if (list_files(folder, false, &files)) folder->n_bytes = files.n_bytes;
    free(files.file);
    *out = folder;
    return S2P_OK;
}

void s2v_cache_folder_close(s2v_cache_folder *folder)
{
    if (!folder) return;
    close(folder->fd);
    free(folder);
}

uint64_t s2v_cache_folder_bytes(const s2v_cache_folder *folder) { return folder->n_bytes; }

/* --- reading ----------------------------------------------------------------------------- */

static bool read_all(int fd, uint8_t *out, size_t n)
{
    while (n > 0) {
        const ssize_t got = read(fd, out, n);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        out += got;
        n -= (size_t)got;
    }
    return true;
}

s2p_status s2v_cache_file_open(const s2v_cache_folder *folder, const uint8_t *key,
                               s2v_cache_reader *out, s2p_error *error)
{
    char name[NAME_BYTES];
    name_of(key, suffix, name);
    out->fd = openat(folder->fd, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (out->fd < 0 && errno == ENOENT) return S2P_EIO;
    if (out->fd < 0) return s2_fail(error, S2P_EFORMAT, "%s", strerror(errno));
    struct stat info;
    s2p_status st = S2P_OK;
    if (fstat(out->fd, &info) != 0 || !S_ISREG(info.st_mode) || info.st_uid != geteuid())
        st = s2_fail(error, S2P_EFORMAT, "it is not a regular file of this user");
    else if (!read_all(out->fd, out->head, sizeof out->head))
        st = s2_fail(error, S2P_EFORMAT, "it has %lld bytes", (long long)info.st_size);
    if (st == S2P_OK)
        st = s2v_cache_head_check(out->head, (uint64_t)info.st_size, key, &out->n, error);
    if (st != S2P_OK) s2v_cache_file_drop(out);
    return st;
}

s2p_status s2v_cache_file_read(s2v_cache_reader *reader, uint8_t *block, s2p_error *error)
{
    head h;
    uint8_t digest[32];
    memcpy(&h, reader->head, sizeof h);
    s2p_status st = S2P_OK;
    if (!read_all(reader->fd, block, reader->n)) {
        st = s2_fail(error, S2P_EFORMAT, "it ends before its %zu bytes", reader->n);
    } else {
        digest_of(&h, block, reader->n, digest);
        if (memcmp(digest, h.digest, sizeof digest) != 0)
            st = s2_fail(error, S2P_EFORMAT, "checksum mismatch");
    }
    if (st == S2P_OK) (void)futimens(reader->fd, NULL); /* used now; what stays unused goes first */
    s2v_cache_file_drop(reader);
    return st;
}

void s2v_cache_file_drop(s2v_cache_reader *reader)
{
    close(reader->fd);
    reader->fd = -1;
}

/* --- writing ----------------------------------------------------------------------------- */

/* With the folder locked: remove the files not used for longest until the block fits, write a temporary
 * file and rename it. No flush to the device: after a power failure the checksum detects damage. */
static int write_block(s2v_cache_folder *folder, const uint8_t *key, const uint8_t *block, size_t n)
{
    char name[NAME_BYTES], beside[NAME_BYTES];
    uint8_t bytes[S2V_CACHE_FILE_HEAD];
    const uint64_t n_more = n + sizeof bytes;
    name_of(key, suffix, name);
    name_of(key, unfinished, beside);
    listing files;
    bool has_room = list_files(folder, true, &files);
    for (size_t i = 0; has_room && i < files.n; i++) {
        const bool is_replaced = strcmp(files.file[i].name, name) == 0;
        if (!is_replaced && files.n_bytes + n_more <= folder->max_bytes) continue;
        if (unlinkat(folder->fd, files.file[i].name, 0) == 0)
            files.n_bytes -= files.file[i].n_bytes;
    }
    has_room = has_room && files.n_bytes + n_more <= folder->max_bytes;
    folder->n_bytes = files.n_bytes;
    free(files.file);
    if (!has_room) return 0;

    s2v_cache_head_make(key, block, n, bytes);
    const int fd = openat(folder->fd, beside, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (fd < 0) return errno;
    int code = s2_write_all(fd, bytes, sizeof bytes);
    if (code == 0) code = s2_write_all(fd, block, n);
    if (close(fd) != 0 && code == 0) code = errno;
    if (code == 0 && renameat(folder->fd, beside, folder->fd, name) != 0) code = errno;
    if (code != 0) unlinkat(folder->fd, beside, 0);
    if (code == 0) folder->n_bytes += n + sizeof bytes;
    return code;
}

/* Other processes write blocks, too, which takes milliseconds; a lock that is held longer is not
 * waited for. 0, or errno; the caller closes *lock, which releases it. */
static int take_lock(const s2v_cache_folder *folder, int *lock, char holder[HOLDER_TEXT])
{
    static const struct timespec pause = { .tv_nsec = 10000000 };
    struct stat info;
    *lock =
        openat(folder->fd, lock_name, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (*lock < 0 || fstat(*lock, &info) != 0) return errno;
    if (!S_ISREG(info.st_mode)) return EINVAL;
    for (int i = 0; i < MOST_LOCK_TRIES; i++) {
        if (flock(*lock, LOCK_EX | LOCK_NB) == 0) {
            const int n = snprintf(holder, HOLDER_TEXT, HOLDER_FORMAT, (long)getpid());
            (void)s2_write_all(*lock, holder,
                               (size_t)n); /* a courtesy: a full disk may refuse it */
            return 0;
        }
        if (errno != EINTR && errno != EWOULDBLOCK) return errno;
        (void)nanosleep(&pause, NULL);
    }
    char text[HOLDER_TEXT] = "";
    long pid = 0;
    if (pread(*lock, text, sizeof text - 1, 0) > 0 && strncmp(text, "process ", 8) == 0)
        pid = strtol(text + 8, NULL, 10);
    (void)snprintf(holder, HOLDER_TEXT, pid > 0 ? "process %ld" : "another process", pid);
    return EWOULDBLOCK;
}

s2p_status s2v_cache_file_write(s2v_cache_folder *folder, const uint8_t *key, const uint8_t *block,
                                size_t n, s2p_error *error)
{
    if (n > folder->max_bytes || folder->max_bytes - n < S2V_CACHE_FILE_HEAD) return S2P_OK;
    int lock;
    char holder[HOLDER_TEXT] = "";
    int code = take_lock(folder, &lock, holder);
    if (code == EWOULDBLOCK) {
        close(lock);
        return s2_fail(error, S2P_EIO, "%s has had the folder locked for a second", holder);
    }
    if (code == 0) code = write_block(folder, key, block, n);
    if (lock >= 0) close(lock); /* and with it the lock */
    if (code == 0) return S2P_OK;
    return s2_fail(error, S2P_EIO, "cannot write %zu bytes: %s", n, strerror(code));
}
