/* rasterize.c - run rsvg-convert, without a shell.
 *
 * PDF comes from the same SVG, so a figure is the same in both, with its fonts inside, which publishers
 * ask for, and as wide as the SVG says.
 */
#include "analyze/rasterize.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

/* The environment of this process, with a fixed date for the PDF: the same figure gives the same bytes.
 * free() the list. */
static char **dated_environment(char *date)
{
    size_t n = 0, kept = 0;
    while (environ[n]) n++;
    char **list = calloc(n + 2, sizeof *list);
    for (size_t i = 0; list && i < n; i++)
        if (strncmp(environ[i], "SOURCE_DATE_EPOCH=", 18) != 0) list[kept++] = environ[i];
    if (list) list[kept] = date;
    return list;
}

static bool convert(const char *folder, const char *name, const char *suffix, char *format,
                    char *size)
{
    char svg[4200], made[4200];
    char program[] = "rsvg-convert", output[] = "-o", end[] = "--";
    if (snprintf(svg, sizeof svg, "%s/%s.svg", folder, name) >= (int)sizeof svg ||
        snprintf(made, sizeof made, "%s/%s.%s", folder, name, suffix) >= (int)sizeof made)
        return false;
    char *const arguments[] = { program, format, size, output, made, end, svg, NULL };
    pid_t child;
    int status;
    char date[] = "SOURCE_DATE_EPOCH=0";
    char **environment = dated_environment(date);
    const bool is_started =
        environment && posix_spawnp(&child, program, NULL, NULL, arguments, environment) == 0;
    free(environment);
    if (!is_started) return false;
    return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool s2_rasterize(const char *folder, const char *name)
{
    char png[] = "--format=png", pdf[] = "--format=pdf", zoom[] = "--zoom=3", same[] = "--zoom=1";
    return convert(folder, name, "png", png, zoom) && convert(folder, name, "pdf", pdf, same);
}
