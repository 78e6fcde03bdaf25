/* kill_points.c - kill -9 while files are written: the old file or the new one, never half.
 *
 *   kill_points PROGRAM FOLDER N
 *
 * A checkpoint is made, converted and quantised once to know the result and how long it takes. Then
 * each command runs N times with an old file in place and is killed at a moment of that span, drawn
 * from a seeded generator. RELIABILITY R-CR4.
 */
#include "checkpoint_maker.h"

#include "base/random.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>

typedef struct target { /* a file that is written, and what it may hold */
    char path[600];
    writer before, after;
} target;

static double now_seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static pid_t start(char *const argv[])
{
    const pid_t child = fork();
    if (child != 0) return child;
    const int null = open("/dev/null", O_WRONLY);
    if (null >= 0) (void)dup2(null, STDOUT_FILENO);
    execv(argv[0], argv);
    _exit(127);
}

static int run(char *const argv[])
{
    int status = -1;
    return waitpid(start(argv), &status, 0) > 0 ? status : -1;
}

static bool read_whole(const char *path, writer *out)
{
    FILE *file = fopen(path, "rb");
    uint8_t bytes[4096];
    out->n = 0;
    for (size_t n; file && (n = fread(bytes, 1, sizeof bytes, file)) > 0;) put_bytes(out, bytes, n);
    if (file) fclose(file);
    return file != NULL;
}

static bool equals(const writer *a, const writer *b)
{
    return a->n == b->n && memcmp(a->data, b->data, a->n) == 0;
}

static void put_old(const target *t)
{
    FILE *file = fopen(t->path, "wb");
    if (!file || fwrite(t->before.data, 1, t->before.n, file) != t->before.n || fclose(file) != 0)
        abort();
}

/* 0: the old file, 1: the new one, -1: neither. */
static int which(const target *t)
{
    writer found = { 0 };
    const bool there = read_whole(t->path, &found);
    const int result = !there                       ? -1
                       : equals(&found, &t->before) ? 0
                       : equals(&found, &t->after)  ? 1
                                                    : -1;
    free(found.data);
    return result;
}

static int check_command(char *const argv[], target *targets, int n_targets, int n)
{
    const double begin = now_seconds();
    if (run(argv) != 0) {
        fprintf(stderr, "%s %s fails without being killed\n", argv[0], argv[1]);
        return 1;
    }
    const double span = 1.2 * (now_seconds() - begin);
    for (int i = 0; i < n_targets; i++) {
        if (!read_whole(targets[i].path, &targets[i].after)) return 1;
        for (int b = 0; b < 5000; b++) put(&targets[i].before, (uint64_t)b * 7, 1);
    }
    s2_random random = { 1 };
    int n_new = 0, n_killed = 0;
    for (int round = 0; round < n; round++) {
        for (int i = 0; i < n_targets; i++) put_old(&targets[i]);
        const double wait = span * (double)(s2_random_next(&random) >> 11) / 9007199254740992.0;
        const pid_t child = start(argv);
        const struct timespec t = { (time_t)wait, (long)(1e9 * (wait - (double)(time_t)wait)) };
        (void)nanosleep(&t, NULL);
        (void)kill(child, SIGKILL);
        int status = 0;
        if (waitpid(child, &status, 0) == child && WIFSIGNALED(status)) n_killed++;
        for (int i = 0; i < n_targets; i++) {
            const int found = which(&targets[i]);
            if (found < 0) {
                fprintf(stderr, "round %d: %s is neither the old file nor the new one\n", round,
                        targets[i].path);
                return 1;
            }
            n_new += found;
        }
    }
    printf("%s: %d rounds, %d killed while running, %d of %d files were new\n", argv[1], n,
           n_killed, n_new, n * n_targets);
    return 0;
}

int main(int argc, char **argv)
{
    char from[600], folder[500];
    if (argc != 4) {
        fprintf(stderr, "usage: %s PROGRAM FOLDER N\n", argv[0]);
        return 2;
    }
    (void)snprintf(folder, sizeof folder, "%s", argv[2]);
    (void)mkdir(folder, 0777);
    (void)maker_empty(folder);
    (void)snprintf(from, sizeof from, "%s/from", folder);
    make_checkpoint(&(maker){ .kind = MAKE_QWEN2_5, .scale = 8 }, from);
    const int n = (int)strtol(argv[3], NULL, 10);

    target pair[2] = { 0 }, small[1] = { 0 };
    (void)snprintf(pair[0].path, sizeof pair[0].path, "%s/m.gguf", folder);
    (void)snprintf(pair[1].path, sizeof pair[1].path, "%s/mm.gguf", folder);
    (void)snprintf(small[0].path, sizeof small[0].path, "%s/small.gguf", folder);
    char *const convert[] = { argv[1],      (char[]){ "convert" },
                              from,         (char[]){ "--outfile" },
                              pair[0].path, (char[]){ "--mmproj-out" },
                              pair[1].path, (char[]){ "-q" },
                              NULL };
    char *const quantize[] = { argv[1],       (char[]){ "quantize" }, pair[0].path,
                               small[0].path, (char[]){ "Q4_K_M" },   (char[]){ "-q" },
                               NULL };
    if (check_command(convert, pair, 2, n) != 0 || run(convert) != 0) return 1;
    if (check_command(quantize, small, 1, n) != 0) return 1;

    (void)maker_empty(from);
    for (int i = 0; i < 2; i++) {
        free(pair[i].before.data);
        free(pair[i].after.data);
    }
    free(small[0].before.data);
    free(small[0].after.data);
    return 0;
}
