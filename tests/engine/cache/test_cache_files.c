/* test_cache_files.c - blocks as files: private, within their limit, believed only when every byte is
 * as it was written; whoever kills a writer, and however many write.
 *
 * Arguments: a folder of its own, and how many writers are killed.
 */
#include "check.h"

#include "base/random.h"
#include "base/sha256.h"
#include "engine/cache/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MIB ((uint64_t)1 << 20)

static const char *work;
static char folder[512];
static int n_kills, n_notes;
static char last_note[512];

static void keep_note(const char *text, void *user)
{
    (void)user;
    n_notes++;
    (void)snprintf(last_note, sizeof last_note, "%s", text);
}

static int start_empty(void **state)
{
    (void)state;
    static int n;
    char command[700];
    (void)snprintf(folder, sizeof folder, "%s/cache-%d", work, n++);
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    n_notes = 0;
    return system(command);
}

static s2v_cache *open_limited(uint64_t max_folder_bytes)
{
    s2v_cache *cache;
    s2p_error error = { S2P_OK, "" };
    const s2v_cache_options options = { .max_bytes = 8 * MIB,
                                        .folder = folder,
                                        .max_folder_bytes = max_folder_bytes,
                                        .note = keep_note };
    CHECK_CASE(s2v_cache_create(&cache, &options, &error) == S2P_OK, "%s", error.message);
    return cache;
}

static const uint8_t *key_of(int which)
{
    static uint8_t key[S2V_KEY_BYTES];
    s2_sha256(&which, sizeof which, key);
    return key;
}

/* A block of which any part shows which one it is. */
static void fill(uint8_t *bytes, size_t n, int which)
{
    s2_random random = { (uint64_t)which };
    for (size_t i = 0; i < n; i++) bytes[i] = (uint8_t)s2_random_next(&random);
}

static size_t size_of(int which) { return 300 + (size_t)which * 1013 % 60000; }

static void put(s2v_cache *cache, int which)
{
    s2v_cache_block *block = s2v_cache_room(cache, size_of(which));
    assert_non_null(block);
    fill(block->bytes, block->n, which);
    s2v_cache_keep(cache, block, key_of(which));
    s2v_cache_release(cache, block);
}

/* As it was written, or not at all. */
static bool has(s2v_cache *cache, int which)
{
    static uint8_t expected[70000];
    s2v_cache_block *block = s2v_cache_find(cache, key_of(which), 1);
    if (!block) return false;
    assert_int_equal(block->n, size_of(which));
    fill(expected, block->n, which);
    assert_memory_equal(block->bytes, expected, block->n);
    s2v_cache_release(cache, block);
    return true;
}

static s2v_cache_stats count(s2v_cache *cache)
{
    s2v_cache_stats stats;
    s2v_cache_count(cache, &stats);
    return stats;
}

static void path_of(int which, char out[700])
{
    char name[S2_SHA256_HEX];
    s2_sha256_hex(key_of(which), name);
    (void)snprintf(out, 700, "%s/%s.s2cache", folder, name);
}

/* Bytes of all files whose name ends so; *n: how many. */
static uint64_t weigh(const char *end, int *n)
{
    uint64_t n_bytes = 0;
    *n = 0;
    DIR *dir = opendir(folder);
    assert_non_null(dir);
    for (const struct dirent *e; (e = readdir(dir));) {
        char path[900];
        struct stat info;
        const size_t length = strlen(e->d_name);
        if (length < strlen(end) || strcmp(e->d_name + length - strlen(end), end) != 0) continue;
        (void)snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
        if (stat(path, &info) != 0) continue;
        n_bytes += (uint64_t)info.st_size;
        ++*n;
    }
    closedir(dir);
    return n_bytes;
}

static void another_process_finds_it(void **state)
{
    (void)state;
    s2v_cache *first = open_limited(MIB);
    for (int i = 0; i < 5; i++) put(first, i);
    s2v_cache_free(first);
    struct stat info;
    char path[700];
    assert_int_equal(stat(folder, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0700);
    path_of(3, path);
    assert_int_equal(stat(path, &info), 0);
    assert_int_equal(info.st_mode & 0777, 0600);

    s2v_cache *second = open_limited(MIB);
    int n;
    assert_int_equal(count(second).disk_bytes, weigh(".s2cache", &n));
    assert_int_equal(n, 5);
    for (int i = 0; i < 5; i++) assert_true(has(second, i));
    for (int i = 0; i < 5; i++) assert_true(has(second, i)); /* in memory now */
    assert_false(has(second, 5));
    const s2v_cache_stats stats = count(second);
    assert_true(stats.hits == 10 && stats.disk_hits == 5 && stats.misses == 1);
    assert_true(stats.stored == 0 && stats.disk_refused == 0 && n_notes == 0);
    s2v_cache_free(second);
}

static void the_longest_unused_goes_first(void **state)
{
    (void)state;
    uint64_t room = 0;
    for (int i = 0; i < 4; i++) room += size_of(i) + S2V_CACHE_FILE_HEAD;
    s2v_cache *cache = open_limited(room);
    for (int i = 0; i < 4; i++) {
        put(cache, i);
        char path[700];
        path_of(i, path);
        const struct timespec used[2] = { { 1000 + i, 0 }, { 1000 + i, 0 } };
        assert_int_equal(utimensat(AT_FDCWD, path, used, 0), 0);
    }
    s2v_cache_clear(cache);
    assert_true(has(cache, 0)); /* from its file: used now */
    put(cache, 4);
    s2v_cache_clear(cache);
    assert_true(has(cache, 0) && !has(cache, 1) && has(cache, 4));
    int n;
    assert_true(weigh(".s2cache", &n) <= room);
    s2v_cache_free(cache);

    cache = open_limited(size_of(7)); /* its head does not fit: in memory only */
    put(cache, 7);
    assert_true(has(cache, 7) && n_notes == 0);
    s2v_cache_clear(cache);
    assert_false(has(cache, 7));
    s2v_cache_free(cache);
}

/* --- files that are not to be believed --------------------------------------------------- */

static size_t read_file(const char *path, uint8_t *bytes, size_t capacity)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    const size_t n = fread(bytes, 1, capacity, file);
    (void)fclose(file);
    return n;
}

static void write_file(const char *path, const uint8_t *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

static void assert_refused(s2v_cache *cache, int which, const char *why)
{
    const uint64_t refused = count(cache).disk_refused;
    n_notes = 0;
    CHECK_CASE(!has(cache, which), "%s was believed", why);
    CHECK_CASE(count(cache).disk_refused == refused + 1 && n_notes == 1, "%s: %d notes", why,
               n_notes);
    CHECK_CASE(strstr(last_note, "computed anew"), "%s", last_note);
}

static void every_bit_and_every_length(void **state)
{
    (void)state;
    static uint8_t bytes[2000], other[2000];
    char path[700], second[700];
    s2v_cache *cache = open_limited(MIB);
    put(cache, 0);
    put(cache, 60);
    path_of(0, path);
    path_of(60, second);
    const size_t n = read_file(path, bytes, sizeof bytes);
    assert_int_equal(n, size_of(0) + S2V_CACHE_FILE_HEAD);
    for (size_t i = 0; i < n; i++) {
        s2v_cache_clear(cache);
        bytes[i] ^= (uint8_t)(1u << i % 8);
        write_file(path, bytes, n);
        assert_refused(cache, 0, "a changed bit");
        bytes[i] ^= (uint8_t)(1u << i % 8);
    }
    for (size_t i = 0; i < n; i += 1 + i / 9) {
        s2v_cache_clear(cache);
        write_file(path, bytes, i);
        assert_refused(cache, 0, "a shorter file");
    }
    write_file(path, bytes, n);
    FILE *file = fopen(path, "ab");
    assert_true(file && fputc(0, file) == 0 && fclose(file) == 0);
    s2v_cache_clear(cache);
    assert_refused(cache, 0, "a longer file");
    const size_t n_other = read_file(second, other, sizeof other); /* right, but of another key */
    write_file(path, other, n_other);
    assert_refused(cache, 0, "the file of another block");
    assert_int_equal(unlink(path), 0);
    (void)snprintf(second, sizeof second, "%s/elsewhere", folder);
    write_file(second, bytes, n); /* right, but not here */
    assert_int_equal(symlink(second, path), 0);
    assert_refused(cache, 0, "a link");
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_refused(cache, 0, "a folder");
    assert_int_equal(rmdir(path), 0);

    write_file(path, bytes, 17); /* what is not believed is replaced */
    put(cache, 0);
    s2v_cache_clear(cache);
    n_notes = 0;
    assert_true(has(cache, 0) && n_notes == 0);
    s2v_cache_free(cache);
}

static void folders_of_others(void **state)
{
    (void)state;
    s2v_cache *cache;
    s2p_error error;
    const s2v_cache_options options = { .max_bytes = MIB, .folder = folder };
    assert_int_equal(mkdir(folder, 0700), 0);
    assert_int_equal(chmod(folder, 0770), 0);
    assert_int_equal(s2v_cache_create(&cache, &options, &error), S2P_EIO);
    assert_null(cache);
    assert_non_null(strstr(error.message, "writable by other users"));
    assert_int_equal(rmdir(folder), 0);
    write_file(folder, (const uint8_t *)"x", 1);
    assert_int_equal(s2v_cache_create(&cache, &options, &error), S2P_EIO);
    assert_int_equal(unlink(folder), 0);
    (void)snprintf(folder + strlen(folder), 20, "/missing/deeper");
    assert_int_equal(s2v_cache_create(&cache, &options, &error), S2P_EIO);
    assert_non_null(strstr(error.message, "missing/deeper"));
}

/* A folder that goes away, or a full one: a note, and memory serves. */
static void writing_fails(void **state)
{
    (void)state;
    s2v_cache *cache = open_limited(MIB);
    char command[700];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
    put(cache, 1);
    put(cache, 2);
    assert_true(has(cache, 1) && has(cache, 2) && !has(cache, 3));
    assert_int_equal(n_notes, 1);
    assert_non_null(strstr(last_note, "stays as it is"));
    s2v_cache_free(cache);
}

/* --- killed, and together ---------------------------------------------------------------- */

static void sleep_us(long us)
{
    const struct timespec time = { 0, us * 1000 };
    (void)nanosleep(&time, NULL);
}

/* A process that writes without end, from when this returns on. */
static pid_t start_writer(int first, uint64_t limit)
{
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid != 0) {
        assert_true(pid > 0);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        (void)close(ready[0]);
        (void)close(ready[1]);
        return pid;
    }
    s2v_cache *cache = open_limited(limit);
    if (write(ready[1], &byte, 1) != 1) _exit(1);
    for (int i = 0;; i++) {
        put(cache, first + i % 40);
        s2v_cache_clear(cache);
    }
}

static void killed_writers(void **state)
{
    (void)state;
    s2_random random = { 5 };
    int n_left = 0, n_believed = 0, n;
    for (int round = 0; round < n_kills; round++) {
        const pid_t pid = start_writer(0, MIB / 2);
        sleep_us((long)s2_random_below(&random, 8000));
        assert_int_equal(kill(pid, SIGKILL), 0);
        assert_int_equal(waitpid(pid, NULL, 0), pid);
        (void)weigh(".tmp", &n);
        n_left += n;
        s2v_cache *cache = open_limited(MIB / 2);
        for (int i = 0; i < 40; i++) n_believed += has(cache, i); /* whole, or not there */
        assert_int_equal(count(cache).disk_refused, 0);
        put(cache, 77); /* no lock is left, and what a dead one left goes */
        (void)weigh(".tmp", &n);
        assert_int_equal(n, 0);
        assert_true(weigh(".s2cache", &n) <= MIB / 2);
        s2v_cache_free(cache);
    }
    (void)printf("          %d killed, %d files half written, %d blocks believed\n", n_kills,
                 n_left, n_believed);
    assert_true(n_believed > 0 && n_notes == 0);
}

static void writers_together(void **state)
{
    (void)state;
    pid_t pid[3];
    const uint64_t limit = 200000;
    int n, n_found = 0;
    for (int i = 0; i < 3; i++) pid[i] = start_writer(20 * i, limit);
    s2v_cache *cache = open_limited(limit);
    for (int i = 0; i < 60; i++) {
        s2v_cache_clear(cache);
        for (int which = 0; which < 80; which += 7) n_found += has(cache, which);
        assert_true(weigh(".s2cache", &n) <= limit);
        sleep_us(1000);
    }
    for (int i = 0; i < 3; i++) {
        assert_int_equal(kill(pid[i], SIGKILL), 0);
        assert_int_equal(waitpid(pid[i], NULL, 0), pid[i]);
    }
    assert_true(n_found > 0 && count(cache).disk_refused == 0 && n_notes == 0);
    s2v_cache_free(cache);
}

/* A process that was stopped while it had the lock: one second, a note that names it, and memory serves. */
static void a_stopped_writer(void **state)
{
    (void)state;
    char lock[600], who[40];
    s2v_cache *cache = open_limited(MIB);
    put(cache, 1);
    (void)snprintf(lock, sizeof lock, "%s/.lock", folder);
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        const int fd = open(lock, O_RDWR);
        if (fd < 0 || flock(fd, LOCK_EX) != 0) _exit(1);
        (void)dprintf(fd, "process %-12ld\n", (long)getpid());
        if (write(ready[1], &byte, 1) != 1) _exit(1);
        for (;;) pause();
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(kill(pid, SIGSTOP), 0);
    put(cache, 2);
    put(cache, 3);
    (void)snprintf(who, sizeof who, "process %ld has had", (long)pid);
    assert_int_equal(n_notes, 1);
    CHECK_CASE(strstr(last_note, who), "%s", last_note);
    assert_true(has(cache, 2) && has(cache, 3));
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, NULL, 0), pid);
    s2v_cache_free(cache);
    n_notes = 0;
    cache = open_limited(MIB); /* what a dead one wrote into the lock keeps nobody away */
    put(cache, 4);
    s2v_cache_clear(cache);
    assert_true(has(cache, 4) && n_notes == 0);
    s2v_cache_free(cache);
    (void)close(ready[0]);
    (void)close(ready[1]);
}

int main(int argc, char **argv)
{
    if (argc != 3) return 2;
    work = argv[1];
    n_kills = (int)strtol(argv[2], NULL, 10);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(another_process_finds_it, start_empty),
        cmocka_unit_test_setup(the_longest_unused_goes_first, start_empty),
        cmocka_unit_test_setup(every_bit_and_every_length, start_empty),
        cmocka_unit_test_setup(folders_of_others, start_empty),
        cmocka_unit_test_setup(writing_fails, start_empty),
        cmocka_unit_test_setup(a_stopped_writer, start_empty),
        cmocka_unit_test_setup(killed_writers, start_empty),
        cmocka_unit_test_setup(writers_together, start_empty),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
