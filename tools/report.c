/* report.c - the one place where the program speaks and decides its exit code.
 *
 * Results are built in memory and leave in one go: a full disk or a closed pipe is noticed, and no
 * half of a JSON object is followed by an error.
 */
#include "report.h"

#include "base/file.h"
#include "base/markup.h"
#include "image/image.h"
#include "progress.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *s2_output_name(size_t index)
{
    static const char *const names[] = { [S2_OUTPUT_TEXT] = "text", [S2_OUTPUT_JSON] = "json" };
    return index < sizeof names / sizeof *names ? names[index] : NULL;
}

int s2_exit_code(s2p_status status)
{
    switch (status) {
    case S2P_OK:
        return S2_EXIT_OK;
    case S2P_EINVAL:
    case S2P_EBUDGET:
        return S2_EXIT_USAGE;
    case S2P_ENOMEM:
        return S2_EXIT_RESOURCES;
    case S2P_EIO:
    case S2P_EFORMAT:
    case S2P_EUNSUPPORTED:
    case S2P_ELIMIT:
        return S2_EXIT_INPUT;
    case S2P_ECANCELLED:
        return S2_EXIT_INTERRUPTED;
    }
    return S2_EXIT_FAILURE;
}

/* File names and values may hold line breaks and escape sequences; a terminal must not obey them.
 */
void s2_report_tell(const char *format, ...)
{
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    s2_buffer clean;
    s2_buffer_init(&clean, sizeof text);
    s2_terminal_append(&clean, text, strlen(text), false);
    s2_progress_step_aside();
    (void)fprintf(stderr, "%.*s\n", (int)clean.size, (const char *)clean.data);
    s2_buffer_free(&clean);
}

void s2_report_line(const char *prefix, const char *text)
{
    s2_report_tell("%s: %s", prefix, text);
}

bool s2_report_say(const char *text, size_t n)
{
    s2_buffer clean;
    s2_buffer_init(&clean, S2_OUTPUT_MAX);
    s2_progress_step_aside();
    if (isatty(STDOUT_FILENO)) {
        s2_terminal_append(&clean, text, n, true);
        text = (const char *)clean.data;
        n = clean.size;
    }
    const bool is_said =
        clean.status == S2P_OK && fwrite(text, 1, n, stdout) == n && fflush(stdout) == 0;
    const int code = clean.status == S2P_OK ? errno : ENOMEM;
    s2_buffer_free(&clean);
    errno = code;
    return is_said;
}

int s2_report_error(s2p_status status, const s2p_error *error)
{
    const bool has_sentence = error && error->status == status && error->message[0];
    s2_report_line("error", has_sentence ? error->message : s2p_status_text(status));
    return s2_exit_code(status);
}

void s2_report_notes(const char *lines)
{
    while (*lines) {
        char line[512];
        const size_t n = strcspn(lines, "\n");
        (void)snprintf(line, sizeof line, "%.*s", (int)(n < 500 ? n : 500), lines);
        s2_report_line("note", line);
        lines += n + (lines[n] == '\n');
    }
}

int s2_exit_of_write(int code)
{
    const bool is_full = code == ENOSPC || code == EDQUOT || code == EFBIG;
    return is_full ? S2_EXIT_RESOURCES : S2_EXIT_FAILURE;
}

int s2_report_no_folder(const s2p_error *error)
{
    (void)s2_report_error(error->status, error);
    return S2_EXIT_RESOURCES;
}

static bool is_quiet; /* the whole program speaks through this file */

void s2_report_be_quiet(void) { is_quiet = true; }

void s2_report_wrote(const char *path)
{
    if (!is_quiet) s2_report_tell("wrote %s", path);
}

static int print_bytes(const s2_buffer *out)
{
    s2p_error error = { S2P_OK, "" };
    if (out->status != S2P_OK) {
        s2_fail(&error, out->status, "cannot hold the result in memory (%zu bytes so far)",
                out->size);
        return s2_report_error(out->status, &error);
    }
    for (size_t done = 0; done < out->size;) {
        const ssize_t n = write(STDOUT_FILENO, out->data + done, out->size - done);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            const int code = errno;
            s2_fail(&error, S2P_EIO, "cannot write to standard output: %s", strerror(code));
            s2_report_error(S2P_EIO, &error);
            return s2_exit_of_write(code);
        }
        done += (size_t)n;
    }
    return S2_EXIT_OK;
}

/* On a terminal nothing that came from a file or a model is obeyed. */
static int print_on_terminal(const s2_buffer *out)
{
    s2_buffer clean;
    s2_buffer_init(&clean, S2_OUTPUT_MAX);
    s2_terminal_append(&clean, (const char *)out->data, out->size, true);
    const int code = print_bytes(&clean);
    s2_buffer_free(&clean);
    return code;
}

int s2_report_print(const s2_buffer *out)
{
    s2_progress_step_aside();
    return out->status == S2P_OK && isatty(STDOUT_FILENO) ? print_on_terminal(out)
                                                          : print_bytes(out);
}

int s2_report_save(const char *path, const s2_buffer *out)
{
    s2p_error error = { S2P_OK, "" };
    if (out->status != S2P_OK) {
        s2_fail(&error, out->status, "cannot hold '%s' in memory (%zu bytes so far)", path,
                out->size);
        return s2_report_error(out->status, &error);
    }
    sigset_t stops, before;
    sigemptyset(&stops);
    sigaddset(&stops, SIGINT);
    sigaddset(&stops, SIGTERM);
    sigprocmask(SIG_BLOCK, &stops, &before);
    const s2p_status st = s2_file_write(path, out->data, out->size, &error);
    const int code = errno;
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (st == S2P_OK) return S2_EXIT_OK;
    const int exit_code = s2_report_error(st, &error);
    return st == S2P_EIO ? s2_exit_of_write(code) : exit_code;
}

int s2_report_print_made(s2p_status status, s2_buffer *out, const s2p_error *error)
{
    const int code = status == S2P_OK ? s2_report_print(out) : s2_report_error(status, error);
    s2_buffer_free(out);
    return code;
}

int s2_report_save_made(const char *path, s2p_status status, s2_buffer *out, const s2p_error *error)
{
    const int code = status == S2P_OK ? s2_report_save(path, out) : s2_report_error(status, error);
    if (code == S2_EXIT_OK) s2_report_wrote(path);
    s2_buffer_free(out);
    return code;
}

int s2_report_save_png(const char *path, const s2p_image *picture)
{
    s2p_error error = { S2P_OK, "" };
    s2_buffer bytes;
    s2_buffer_init(&bytes, S2_OUTPUT_MAX);
    const s2p_status st = s2_png_encode(picture, &bytes, &error);
    return s2_report_save_made(path, st, &bytes, &error);
}

static void on_interrupt(int signal_number)
{
    static const char text[] = "error: interrupted\n";
    (void)signal_number;
    s2_progress_step_aside();
    if (write(STDERR_FILENO, text, sizeof text - 1) < 0) _exit(S2_EXIT_INTERRUPTED);
    _exit(S2_EXIT_INTERRUPTED);
}

void s2_report_signals(void)
{
    struct sigaction action = { .sa_handler = on_interrupt };
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    action.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &action, NULL);
    sigaction(SIGXFSZ, &action, NULL);
}

const char *s2_report_size(double bytes, char out[S2_SIZE_TEXT])
{
    static const char *const units[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
    size_t unit = 0;
    for (; bytes >= 1024 && unit + 1 < sizeof units / sizeof *units; unit++) bytes /= 1024;
    (void)snprintf(out, S2_SIZE_TEXT, "%.*f %s", unit ? 1 : 0, bytes, units[unit]);
    return out;
}
