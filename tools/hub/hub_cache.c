/* hub_cache.c - two layouts: huggingface_hub's, and the flat one of older llama.cpp.
 *
 *     <cache>/models--user--repo/refs/main             40 digits: the commit
 *     <cache>/models--user--repo/snapshots/<commit>/...  files, or links to ../../blobs
 *     <cache>/user_repo_file.gguf
 */
#include "hub/hub_steps.h"

#include "base/file.h"
#include "base/path.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define MAX_DEPTH 3

void s2_hub_caches_find(s2_env env, s2_hub_caches *out)
{
    static const struct {
        const char *variable, *below;
    } places[S2_HUB_CACHES] = {
        { "LLAMA_CACHE", "" },
        { "HF_HUB_CACHE", "" },
        { "HUGGINGFACE_HUB_CACHE", "" },
        { "HF_HOME", "/hub" },
        { "XDG_CACHE_HOME", "/huggingface/hub" },
        { "HOME", "/.cache/huggingface/hub" },
    };
    out->n = 0;
    for (size_t i = 0; i < S2_HUB_CACHES; i++) {
        const char *root = env(places[i].variable);
        if (!root || !root[0] || strlen(root) > S2_HUB_PATH / 2) continue;
        (void)snprintf(out->folder[out->n++], S2_HUB_PATH, "%s%s", root, places[i].below);
    }
}

typedef struct listing {
    s2_hub_file *file;
    int32_t n;
} listing;

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

static bool is_readable(const char *path)
{
    struct stat info; /* through the link: a blob that is gone does not count */
    return stat(path, &info) == 0 && S_ISREG(info.st_mode) && info.st_size > 0;
}

/* Files below root/below, names relative to root; with `prefix`, only those that begin so, less it. */
static void list_files(const char *root, const char *below, const char *prefix, int depth,
                       listing *out)
{
    char folder[S2_HUB_PATH + 512];
    (void)snprintf(folder, sizeof folder, "%s/%s", root, below);
    DIR *dir = opendir(folder);
    if (!dir) return;
    for (struct dirent *entry; (entry = readdir(dir)) && out->n < S2_HUB_FILES;) {
        if (entry->d_name[0] == '.' || strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
            continue;
        char name[1024], path[S2_HUB_PATH + 1536];
        (void)snprintf(name, sizeof name, "%.512s%s%.256s", below, below[0] ? "/" : "",
                       entry->d_name + strlen(prefix));
        (void)snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        if (is_folder(path) && depth > 1 && !prefix[0]) {
            list_files(root, name, prefix, depth - 1, out);
        } else if (s2_hub_is_file_name(name) && is_readable(path)) {
            out->file[out->n] = (s2_hub_file){ .path = "" };
            memcpy(out->file[out->n++].path, name, strlen(name) + 1);
        }
    }
    (void)closedir(dir);
}

static int by_path(const void *a, const void *b)
{
    return strcmp(((const s2_hub_file *)a)->path, ((const s2_hub_file *)b)->path);
}

static bool choose(listing *files, const s2_hub_repo *repo, const char *folder, const char *prefix,
                   s2_hub_pair *out)
{
    qsort(files->file, (size_t)files->n, sizeof *files->file, by_path);
    const int32_t model = s2_hub_choose_model(files->file, files->n, repo->quant);
    if (model < 0) return false;
    const int32_t mmproj = s2_hub_choose_mmproj(files->file, files->n, files->file[model].path);
    if (mmproj < 0) return false;
    const int n_model =
        snprintf(out->model, sizeof out->model, "%s/%s%s", folder, prefix, files->file[model].path);
    const int n_mmproj = snprintf(out->mmproj, sizeof out->mmproj, "%s/%s%s", folder, prefix,
                                  files->file[mmproj].path);
    return n_model < S2_HUB_PATH && n_mmproj < S2_HUB_PATH;
}

/* Of the commit refs/main names. */
static bool find_snapshot(const char *cache, const s2_hub_repo *repo, listing *files,
                          s2_hub_pair *out)
{
    char path[S2_HUB_PATH + 512], commit[41] = "";
    (void)snprintf(path, sizeof path, "%s/models--%s--%s/refs/main", cache, repo->user, repo->repo);
    FILE *file = s2_file_stream(path);
    if (!file) return false;
    const bool is_whole = fread(commit, 1, 40, file) == 40;
    (void)fclose(file);
    if (!is_whole || strspn(commit, "0123456789abcdef") != 40) return false;
    (void)snprintf(path, sizeof path, "%s/models--%s--%s/snapshots/%s", cache, repo->user,
                   repo->repo, commit);
    list_files(path, "", "", MAX_DEPTH, files);
    return choose(files, repo, path, "", out);
}

bool s2_hub_cache_find(const s2_hub_caches *caches, const s2_hub_repo *repo, s2_hub_pair *out)
{
    listing files = { .file = malloc(S2_HUB_FILES * sizeof *files.file) };
    bool is_found = false;
    for (int32_t i = 0; files.file && !is_found && i < caches->n; i++) {
        char prefix[2 * S2_HUB_NAME + 2];
        files.n = 0;
        is_found = find_snapshot(caches->folder[i], repo, &files, out);
        if (is_found) break;
        files.n = 0;
        (void)snprintf(prefix, sizeof prefix, "%s_%s_", repo->user, repo->repo);
        list_files(caches->folder[i], "", prefix, 1, &files);
        is_found = choose(&files, repo, caches->folder[i], prefix, out);
    }
    free(files.file);
    return is_found;
}
