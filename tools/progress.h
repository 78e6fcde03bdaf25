/* progress.h - a bar on standard error while something takes long. */
#ifndef S2_TOOLS_PROGRESS_H
#define S2_TOOLS_PROGRESS_H

#include <stdbool.h>

typedef struct s2_progress {
    bool is_quiet;
    int shown; /* per mille, -1: nothing yet */
} s2_progress;

/* Nothing is shown when quiet was asked for or standard error is not a terminal. */
void s2_progress_start(s2_progress *progress, bool is_quiet);

/* An s2v_progress_callback without its last argument; always 0. */
int s2_progress_show(s2_progress *progress, const char *step, double done);
void s2_progress_clear(s2_progress *progress);

#endif /* S2_TOOLS_PROGRESS_H */
