/* run_folder.c - names of the files of a run. */
#include "eval/run/run_folder.h"

#include "base/path.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define WHOLE "results.sqlite"

s2p_status s2e_run_folder_make(const char *folder, s2p_error *error)
{
    struct stat info;
    int code = s2_make_parents(folder);
    if (code == 0 && mkdir(folder, 0777) == 0) return S2P_OK;
    code = code ? code : errno;
    if (code == EEXIST && stat(folder, &info) == 0 && S_ISDIR(info.st_mode)) return S2P_OK;
    errno = code;
    return s2_fail(error, S2P_EIO, "cannot make the folder '%.150s': %s", folder,
                   code == EEXIST ? "a file of that name is there" : strerror(code));
}

s2p_status s2e_run_file_of(const char *folder, s2e_shard shard, s2e_run_file *out, s2p_error *error)
{
    const int n = shard.n == 1 ? snprintf(out->path, sizeof out->path, "%s/" WHOLE, folder)
                               : snprintf(out->path, sizeof out->path, "%s/shard-%d-of-%d.sqlite",
                                          folder, shard.index, shard.n);
    out->index = shard.index;
    out->n = shard.n;
    return n < (int)sizeof out->path - 8
               ? S2P_OK
               : s2_fail(error, S2P_ELIMIT, "the path of the run is too long");
}

/* Whether a file name is one of ours, and of which shard. */
static bool is_store(const char *name, s2e_shard *out)
{
    char again[80];
    *out = (s2e_shard){ 0, 1, NULL };
    if (strcmp(name, WHOLE) == 0) return true;
    const char *of = strstr(name, "-of-");
    if (strncmp(name, "shard-", 6) != 0 || !of) return false;
    const long index = strtol(name + 6, NULL, 10), n = strtol(of + 4, NULL, 10);
    (void)snprintf(again, sizeof again, "shard-%ld-of-%ld.sqlite", index, n);
    if (strcmp(name, again) != 0 || n < 2 || n > S2E_MAX_SHARDS || index < 0 || index >= n)
        return false;
    *out = (s2e_shard){ (int32_t)index, (int32_t)n, NULL };
    return true;
}

static int compare_files(const void *a, const void *b)
{
    const s2e_run_file *x = a, *y = b;
    if (x->n != y->n) return x->n > y->n ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

s2p_status s2e_run_folder_list(const char *folder, s2e_run_file **out, size_t *n, s2p_error *error)
{
    *out = NULL;
    *n = 0;
    DIR *dir = opendir(folder);
    if (!dir)
        return s2_fail(error, S2P_EIO, "cannot open the run '%.150s': %s", folder, strerror(errno));
    s2p_status st = S2P_OK;
    for (const struct dirent *entry; st == S2P_OK && (entry = readdir(dir));) {
        s2e_shard shard;
        if (!is_store(entry->d_name, &shard)) continue;
        if (*n > S2E_MAX_SHARDS) {
            st = s2_fail(error, S2P_ELIMIT, "'%.150s' holds too many shards", folder);
            break;
        }
        s2e_run_file *more = realloc(*out, (*n + 1) * sizeof **out);
        if (!more) {
            st = s2_fail_memory(error, (*n + 1) * sizeof **out, "the list of shards");
            break;
        }
        *out = more;
        st = s2e_run_file_of(folder, shard, &more[*n], error);
        if (st == S2P_OK) ++*n;
    }
    (void)closedir(dir);
    if (st == S2P_OK && *n > 1) qsort(*out, *n, sizeof **out, compare_files);
    if (st != S2P_OK) {
        free(*out);
        *out = NULL;
        *n = 0;
    }
    return st;
}
