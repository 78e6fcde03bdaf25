/* file_watch.c - descriptors and sizes of the files, and sentences made beforehand: the handler only compares
 * and writes. The library installs no handler; a program that uses it decides for itself.
 */
#define _DEFAULT_SOURCE /* syscall */
#include "file_watch.h"

#include "base/file.h"
#include "base/path.h"
#include "report.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/syscall.h>
#endif

#define MOST_FILES 4

static struct {
    int fd;
    off_t size;
    char sentence[320];
} watched[MOST_FILES];
static size_t n_watched;
static void (*tell_other)(const char *sentence);

/* Not fstat, which asks for a path in some C libraries, and a sandbox allows none. */
static int ask_about(int fd, struct stat *info)
{
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))
    return (int)syscall(SYS_fstat, fd, info);
#else
    return fstat(fd, info);
#endif
}

static void on_bus_error(int number, siginfo_t *about, void *context)
{
    static const char unknown[] =
        "a file cannot be read any more: it became shorter while it was in use, or its disk fails";
    const char *sentence = unknown;
    struct stat info;
    (void)context;
    if (about->si_code != BUS_ADRERR) { /* no file: broken memory, an address that is not aligned */
        (void)signal(number, SIG_DFL);
        (void)raise(number);
        return;
    }
    for (size_t i = 0; i < n_watched; i++)
        if (ask_about(watched[i].fd, &info) == 0 && info.st_size < watched[i].size)
            sentence = watched[i].sentence;
    if (tell_other) tell_other(sentence);
    (void)s2_write_all(STDERR_FILENO, "error: ", 7);
    (void)s2_write_all(STDERR_FILENO, sentence, strlen(sentence));
    (void)s2_write_all(STDERR_FILENO, "\n", 1);
    _exit(S2_EXIT_INPUT);
}

void s2_watch_start(void)
{
    struct sigaction action = { .sa_sigaction = on_bus_error, .sa_flags = SA_SIGINFO };
    sigemptyset(&action.sa_mask);
    (void)sigaction(SIGBUS, &action, NULL);
}

void s2_watch_file(const char *path)
{
    struct stat info;
    int fd;
    if (n_watched == MOST_FILES || s2_file_open(path, S2_FILE_READ, &fd, NULL) != S2P_OK) return;
    if (fstat(fd, &info) != 0) {
        (void)close(fd);
        return;
    }
    char name[160]; /* a terminal must not obey it */
    (void)snprintf(name, sizeof name, "%.150s", s2_base_name(path));
    for (char *c = name; *c; c++)
        if ((unsigned char)*c < 0x20 || (unsigned char)*c > 0x7e) *c = '?';
    watched[n_watched].fd = fd;
    watched[n_watched].size = info.st_size;
    (void)snprintf(watched[n_watched].sentence, sizeof watched[n_watched].sentence,
                   "the model file '%s' became shorter than its %lld bytes while it was in use",
                   name, (long long)info.st_size);
    n_watched++;
}

void s2_watch_tell(void (*tell)(const char *sentence)) { tell_other = tell; }
