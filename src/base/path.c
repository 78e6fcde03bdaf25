/* path.c - take paths apart and put them together. */
#include "base/path.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

const char *s2_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

char *s2_path_in(const char *folder, const char *name)
{
    const size_t n = strlen(folder) + strlen(name) + 2;
    char *path = malloc(n);
    if (path) (void)snprintf(path, n, "%s/%s", folder, name);
    return path;
}

bool s2_path_has_suffix(const char *path, const char *suffix)
{
    const size_t n = strlen(path), n_suffix = strlen(suffix);
    return n > n_suffix && path[n - n_suffix - 1] != '/' &&
           strcasecmp(path + n - n_suffix, suffix) == 0;
}
