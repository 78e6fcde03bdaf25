/* path.c - take paths apart and put them together. */
#include "base/path.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

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

int s2_make_parents(const char *path)
{
    char *part = strdup(path);
    if (!part) return ENOMEM;
    int code = 0;
    for (size_t i = 1; part[0] && part[i] && code == 0; i++) {
        if (part[i] != '/' || part[i - 1] == '/') continue;
        part[i] = '\0';
        if (mkdir(part, 0777) != 0 && errno != EEXIST) {
            struct stat info; /* a folder on a read-only file system may say so before EEXIST */
            code = errno;
            if (stat(part, &info) == 0 && S_ISDIR(info.st_mode)) code = 0;
        }
        part[i] = '/';
    }
    free(part);
    return code;
}
