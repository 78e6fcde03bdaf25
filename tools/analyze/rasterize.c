/* rasterize.c - run rsvg-convert, without a shell. */
#include "analyze/analyze_command.h"

#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

bool s2_rasterize(const char *folder, const char *name)
{
    char svg[4200], png[4200];
    char program[] = "rsvg-convert", zoom[] = "--zoom=2", output[] = "-o", end[] = "--";
    if (snprintf(svg, sizeof svg, "%s/%s.svg", folder, name) >= (int)sizeof svg ||
        snprintf(png, sizeof png, "%s/%s.png", folder, name) >= (int)sizeof png)
        return false;
    char *const arguments[] = { program, zoom, output, png, end, svg, NULL };
    pid_t child;
    int status;
    if (posix_spawnp(&child, program, NULL, NULL, arguments, environ) != 0) return false;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}
