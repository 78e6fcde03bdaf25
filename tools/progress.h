/* progress.h - how far long work is, on standard error.
 *
 *     auto    a bar on a terminal, erased when the work is done; nothing elsewhere
 *     plain   a line every two seconds, for logs
 *     json    a line of JSON ten times a second: {"step":..,"done":0.25,"seconds":1.5,"eta":4.5}
 *     none    nothing
 */
#ifndef S2_TOOLS_PROGRESS_H
#define S2_TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>

typedef enum s2_progress_form {
    S2_PROGRESS_AUTO,
    S2_PROGRESS_PLAIN,
    S2_PROGRESS_JSON,
    S2_PROGRESS_NONE
} s2_progress_form;
const char *s2_progress_name(size_t index); /* NULL past the end */

typedef struct s2_progress {
    s2_progress_form form; /* auto only on a terminal */
    int shown;             /* per mille, -1: nothing yet */
    char step[64];         /* what is being done, since start_ms */
    double start_ms, last_ms;
} s2_progress;

/* With is_quiet and `auto` nothing is shown. */
void s2_progress_start(s2_progress *progress, s2_progress_form form, bool is_quiet);

/* An s2v_progress_callback without its last argument; always 0. The time left is told from the
 * pace of the step so far, or by `detail`, which replaces it. */
int s2_progress_show(s2_progress *progress, const char *step, double done);
int s2_progress_show_detail(s2_progress *progress, const char *step, double done,
                            const char *detail);
void s2_progress_clear(s2_progress *progress);

/* Whoever writes a line on standard error erases the bar first. Safe in a signal handler. */
void s2_progress_step_aside(void);

/* Of the terminal behind a descriptor; 80 where it does not say. */
int s2_progress_columns(int descriptor);

/* "0:55", "1:02:03" */
void s2_progress_time(double seconds, char *out, size_t capacity);

#endif /* S2_TOOLS_PROGRESS_H */
