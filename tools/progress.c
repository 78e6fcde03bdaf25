/* progress.c - a bar on standard error while something takes long. */
#include "progress.h"

#include <stdio.h>
#include <unistd.h>

#define WIDTH 40

void s2_progress_start(s2_progress *progress, bool is_quiet)
{
    *progress = (s2_progress){ is_quiet || !isatty(STDERR_FILENO), -1 };
}

int s2_progress_show(s2_progress *progress, const char *step, double done)
{
    const int per_mille = done < 0.0 ? 0 : done > 1.0 ? 1000 : (int)(1000.0 * done);
    if (progress->is_quiet || per_mille == progress->shown) return 0;
    progress->shown = per_mille;
    char bar[WIDTH + 1];
    for (int i = 0; i < WIDTH; i++) bar[i] = i < per_mille * WIDTH / 1000 ? '#' : '.';
    bar[WIDTH] = '\0';
    (void)fprintf(stderr, "\r%s [%s] %3d%%\033[K", step, bar, per_mille / 10);
    return 0;
}

void s2_progress_clear(s2_progress *progress)
{
    if (!progress->is_quiet && progress->shown >= 0) (void)fprintf(stderr, "\r\033[K");
    progress->shown = -1;
}
