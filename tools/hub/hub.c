/* hub.c - look, list, fetch. */
#include "hub/hub.h"

#include "base/file.h"
#include "base/json.h"
#include "base/path.h"
#include "hub/hub_steps.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_LISTING ((size_t)16 << 20)

typedef struct repository { /* as the hub describes it */
    char commit[41];
    s2_hub_file *file;
    int32_t n;
} repository;

/* --- listing ------------------------------------------------------------------------------ */

static s2p_status get_json(const s2_hub_server *server, const char *path, json_t **out,
                           s2p_error *error)
{
    s2_buffer text;
    s2_buffer_init(&text, MAX_LISTING);
    s2p_status st = s2_hub_get(server, path, &text, error);
    if (st == S2P_OK) st = s2_json_parse(text.data, text.size, path, out, error);
    s2_buffer_free(&text);
    return st;
}

static bool is_hex(const char *text, size_t n)
{
    return text && strlen(text) == n && strspn(text, "0123456789abcdef") == n;
}

static s2p_status list_repository(const s2_hub_server *server, const s2_hub_repo *repo,
                                  repository *out, s2p_error *error)
{
    char path[512];
    json_t *root = NULL;
    out->file = malloc(S2_HUB_FILES * sizeof *out->file);
    if (!out->file) return s2_fail_memory(error, S2_HUB_FILES * sizeof *out->file, "the listing");
    (void)snprintf(path, sizeof path, "api/models/%s/%s/revision/main", repo->user, repo->repo);
    TRY(get_json(server, path, &root, error));
    const char *commit = json_string_value(json_object_get(root, "sha"));
    const bool has_commit = is_hex(commit, 40);
    if (has_commit) memcpy(out->commit, commit, 41);
    json_decref(root);
    if (!has_commit)
        return s2_fail(error, S2P_EFORMAT, "%s/%s: the hub returned no commit", repo->user,
                       repo->repo);
    (void)snprintf(path, sizeof path, "api/models/%s/%s/tree/%s?recursive=true", repo->user,
                   repo->repo, out->commit);
    TRY(get_json(server, path, &root, error));
    size_t i;
    json_t *entry;
    json_array_foreach(root, i, entry)
    {
        const char *name = json_string_value(json_object_get(entry, "path"));
        const json_t *lfs = json_object_get(entry, "lfs");
        const json_t *size = json_object_get(lfs ? lfs : entry, "size");
        const char *sum = json_string_value(json_object_get(lfs, "oid"));
        /* a name that could leave its folder is not listed: nothing is written under it */
        if (!name || !s2_hub_is_file_name(name) || out->n == S2_HUB_FILES) continue;
        s2_hub_file *file = &out->file[out->n++];
        *file = (s2_hub_file){ .path = "" };
        memcpy(file->path, name, strlen(name) + 1);
        if (is_hex(sum, 64)) memcpy(file->sha256, sum, 65);
        if (json_is_integer(size) && json_integer_value(size) > 0)
            file->n_bytes = (uint64_t)json_integer_value(size);
    }
    json_decref(root);
    return S2P_OK;
}

/* --- fetching ----------------------------------------------------------------------------- */

/* Every folder of the path up to its last '/'. */
static s2p_status make_folders(const char *path, s2p_error *error)
{
    const int code = s2_make_parents(path);
    if (code == 0) return S2P_OK;
    return s2_fail(error, code == ENOSPC ? S2P_ENOMEM : S2P_EIO,
                   "cannot create the folder of '%.300s': %s", path, strerror(code));
}

/* <root>/blobs/<sum>, and snapshots/<commit>/<path> as a link to it. */
static s2p_status fetch_file(const s2_hub_server *server, const s2_hub_repo *repo,
                             const char *commit, const char *root, const s2_hub_file *file,
                             s2_progress *progress, char out[S2_HUB_PATH], s2p_error *error)
{
    char blob[S2_HUB_PATH], address[1024], link[1024] = "";
    const int n = snprintf(out, S2_HUB_PATH, "%s/snapshots/%s/%s", root, commit, file->path);
    if (n >= S2_HUB_PATH) return s2_fail(error, S2P_ELIMIT, "the path of the cache is too long");
    if (access(out, R_OK) == 0) return S2P_OK;
    TRY(make_folders(out, error));
    (void)snprintf(address, sizeof address, "%s/%s/resolve/%s/%s", repo->user, repo->repo, commit,
                   file->path);
    if (!file->sha256[0]) /* a small file outside LFS has no sum to be known by */
        return s2_hub_download(server, address, file, out, progress, error);
    (void)snprintf(blob, sizeof blob, "%.3900s/blobs/%s", root, file->sha256);
    TRY(make_folders(blob, error));
    if (access(blob, R_OK) != 0) TRY(s2_hub_download(server, address, file, blob, progress, error));
    for (const char *c = file->path; *c; c++)
        if (*c == '/') strncat(link, "../", sizeof link - strlen(link) - 1);
    const size_t used = strlen(link);
    (void)snprintf(link + used, sizeof link - used, "../../blobs/%s", file->sha256);
    (void)unlink(out); /* a link to a blob that is gone */
    if (symlink(link, out) != 0 && errno != EEXIST)
        return s2_fail(error, S2P_EIO, "cannot create '%.300s': %s", out, strerror(errno));
    return S2P_OK;
}

static s2p_status fetch_pair(const s2_hub_wish *wish, const s2_hub_repo *repo, const char *cache,
                             s2_hub_pair *out, s2p_error *error)
{
    const char *endpoint = wish->env("MODEL_ENDPOINT");
    if (!endpoint || !endpoint[0]) endpoint = wish->env("HF_ENDPOINT");
    if (!endpoint || !endpoint[0]) endpoint = "https://huggingface.co";
    char trimmed[512];
    (void)snprintf(trimmed, sizeof trimmed, "%.500s", endpoint);
    for (size_t n = strlen(trimmed); n > 0 && trimmed[n - 1] == '/'; n--) trimmed[n - 1] = '\0';
    const s2_hub_server server = { trimmed, wish->token ? wish->token : wish->env("HF_TOKEN") };
    repository listed = { .commit = "" };
    char root[S2_HUB_PATH], main_ref[S2_HUB_PATH];
    s2p_status st = list_repository(&server, repo, &listed, error);
    if (st != S2P_OK) goto done;
    const int32_t model = s2_hub_choose_model(listed.file, listed.n, repo->quant);
    const int32_t mmproj =
        model < 0 ? -1 : s2_hub_choose_mmproj(listed.file, listed.n, listed.file[model].path);
    if (model < 0 && repo->quant[0]) {
        char there[300];
        s2_hub_list_models(listed.file, listed.n, there, sizeof there);
        st = s2_fail(error, S2P_EIO, "%s/%s has no model '%.60s'%s%s", repo->user, repo->repo,
                     repo->quant, there[0] ? "; there are " : " in one file", there);
        goto done;
    }
    if (mmproj < 0) {
        st = s2_fail(error, S2P_EIO, "%s/%s has %d GGUF files, but no %s", repo->user, repo->repo,
                     listed.n, model < 0 ? "model in one file" : "mmproj (vision part)");
        goto done;
    }
    (void)snprintf(root, sizeof root, "%.3700s/models--%s--%s", cache, repo->user, repo->repo);
    st = fetch_file(&server, repo, listed.commit, root, &listed.file[model], wish->progress,
                    out->model, error);
    if (st == S2P_OK)
        st = fetch_file(&server, repo, listed.commit, root, &listed.file[mmproj], wish->progress,
                        out->mmproj, error);
    if (st != S2P_OK) goto done;
    (void)snprintf(main_ref, sizeof main_ref, "%.4000s/refs/main", root);
    st = make_folders(main_ref, error);
    if (st == S2P_OK) st = s2_file_write(main_ref, listed.commit, 40, error);
done:
    free(listed.file);
    return st;
}

s2p_status s2_hub_find(const s2_hub_wish *wish, s2_hub_pair *out, s2p_error *error)
{
    s2_hub_repo repo;
    TRY(s2_hub_read_name(wish->name, &repo, error));
    s2_hub_caches *caches = malloc(sizeof *caches);
    if (!caches) return s2_fail_memory(error, sizeof *caches, "the caches");
    s2_hub_caches_find(wish->env, caches);
    s2p_status st = S2P_OK;
    if (s2_hub_cache_find(caches, &repo, out))
        ; /* nothing to fetch */
    else if (wish->is_offline || caches->n == 0)
        st = s2_fail(error, S2P_EIO, "%s is in none of %d caches (the first is '%.200s')%s",
                     wish->name, caches->n, caches->n > 0 ? caches->folder[0] : "",
                     wish->is_offline ? ", and --offline prevents downloading it" : "");
    else
        st = fetch_pair(wish, &repo, caches->folder[0], out, error);
    free(caches);
    return st;
}
