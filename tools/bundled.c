/* bundled.c - find what was shipped, wherever the program runs from. */
#define _XOPEN_SOURCE 700 /* readlink */

#include "bundled.h"

#include "base/file.h"
#include "base/path.h"
#include "base/sha256.h"
#include "report.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_MODEL_BYTES ((size_t)16 << 20)
#define MAX_ROOT 3500 /* leaves room for the file below it */

void s2_program_folder(char *out, size_t capacity)
{
    const ssize_t n = readlink("/proc/self/exe", out, capacity - 1);
    out[n > 0 ? n : 0] = '\0';
    char *slash = strrchr(out, '/');
    if (slash) *slash = '\0';
}

/* `file` below one of the folders that may hold `kind` ("models", "data"). */
static bool find(const char *kind, const char *environment, const char *file,
                 char out[S2_BUNDLED_PATH])
{
    char folder[MAX_ROOT], root[6][MAX_ROOT + 64];
    const char *given = environment ? getenv(environment) : NULL;
    int n = 0;
    if (given && given[0] && strlen(given) < MAX_ROOT)
        (void)snprintf(root[n++], sizeof root[0], "%s", given);
    s2_program_folder(folder, sizeof folder);
    if (folder[0]) {
        (void)snprintf(root[n++], sizeof root[0], "%s/../%s", folder, kind);
        (void)snprintf(root[n++], sizeof root[0], "%s/../share/s2prune/%s", folder, kind);
        /* from libexec/s2prune/LEVEL, see faster_build.c */
        (void)snprintf(root[n++], sizeof root[0], "%s/../../../share/s2prune/%s", folder, kind);
    }
    (void)snprintf(root[n++], sizeof root[0], "%s/%s", S2_INSTALLED_FILES, kind);
    if (S2_SOURCE_FILES[0]) /* "" in packages */
        (void)snprintf(root[n++], sizeof root[0], "%s/%s", S2_SOURCE_FILES, kind);
    for (int i = 0; i < n; i++)
        if (snprintf(out, S2_BUNDLED_PATH, "%s/%s", root[i], file) < S2_BUNDLED_PATH &&
            access(out, R_OK) == 0)
            return true;
    return false;
}

/* Whether `path` is the file this version came with. One that cannot be read is left to whoever
 * opens it. */
static bool is_shipped(const char *path, const char *sha256)
{
    s2_buffer bytes;
    s2_buffer_init(&bytes, MAX_MODEL_BYTES);
    const s2p_status st = s2_file_read(path, &bytes, NULL);
    uint8_t digest[32];
    char hex[S2_SHA256_HEX];
    s2_sha256(bytes.data, bytes.size, digest);
    s2_sha256_hex(digest, hex);
    s2_buffer_free(&bytes);
    return st == S2P_EIO || (st == S2P_OK && strcmp(hex, sha256) == 0);
}

static void note_foreign(const char *path, const char *sha256)
{
    if (!is_shipped(path, sha256))
        (void)fprintf(
            stderr, "note: %s is not the file that s2prune was released with; answers may differ\n",
            path);
}

/* The one mmproj in the folder of the model; several are a question only the user can answer. */
static s2p_status find_beside(const char *model, bool is_quiet, s2_bundled_model *storage,
                              s2p_error *error)
{
    const size_t n_folder = (size_t)(s2_base_name(model) - model);
    char folder[MAX_ROOT] = ".";
    if (n_folder >= sizeof folder) return S2P_OK;
    if (n_folder > 0) {
        memcpy(folder, model, n_folder);
        folder[n_folder] = '\0';
    }
    DIR *dir = opendir(folder);
    if (!dir) return S2P_OK;
    int n = 0;
    for (struct dirent *entry; (entry = readdir(dir));) {
        if (!strstr(entry->d_name, "mmproj") || !s2_path_has_suffix(entry->d_name, ".gguf"))
            continue;
        n++;
        (void)snprintf(storage->mmproj, sizeof storage->mmproj, "%s/%s",
                       n_folder > 0 ? folder : ".", entry->d_name);
    }
    (void)closedir(dir);
    if (n == 1 && !is_quiet) {
        char line[400];
        (void)snprintf(line, sizeof line, "vision part: '%.300s'", storage->mmproj);
        s2_report_line("note", line);
    }
    if (n > 1) {
        storage->mmproj[0] = '\0';
        return s2_fail(error, S2P_EINVAL,
                       "-m alone: there are %d mmproj files next to '%.200s'; name one with -mm", n,
                       model);
    }
    return S2P_OK;
}

s2p_status s2_bundled_complete(const char **model, const char **mmproj, bool is_quiet,
                               s2_bundled_model *storage, s2p_error *error)
{
    const char *const given[] = { *model, *mmproj };
    for (size_t i = 0; i < 2; i++)
        if (given[i] && access(given[i], F_OK) != 0)
            return s2_fail(error, S2P_EIO, "%s '%.300s': %s", i == 0 ? "-m" : "-mm", given[i],
                           strerror(errno));
    if (*model && *mmproj) return S2P_OK;
    if (*model) TRY(find_beside(*model, is_quiet, storage, error));
    if (*model && storage->mmproj[0]) {
        *mmproj = storage->mmproj;
        return S2P_OK;
    }
    if (*model || *mmproj)
        return s2_fail(error, S2P_EINVAL, "%s needs the other file of the model too: %s",
                       *model ? "-m" : "-mm", *model ? "add -mm MMPROJ.gguf" : "add -m MODEL.gguf");
    static const char text[] = S2_BUNDLED_NAME "/" S2_BUNDLED_NAME "-f16.gguf";
    static const char vision[] = S2_BUNDLED_NAME "/mmproj-" S2_BUNDLED_NAME "-f16.gguf";
    if (!find("models", "S2PRUNE_MODELS", text, storage->model) ||
        !find("models", "S2PRUNE_MODELS", vision, storage->mmproj))
        return s2_fail(error, S2P_EIO,
                       "the bundled model is not installed: set S2PRUNE_MODELS to the folder that "
                       "holds " S2_BUNDLED_NAME ", or give -m and -mm");
    *model = storage->model;
    *mmproj = storage->mmproj;
    if (is_quiet) return S2P_OK;
    (void)fprintf(stderr, "note: no -m given; the bundled model " S2_BUNDLED_NAME
                          " answers (it knows drawn test scenes only)\n");
    note_foreign(storage->model, S2_BUNDLED_SHA256);
    note_foreign(storage->mmproj, S2_BUNDLED_MMPROJ_SHA256);
    return S2P_OK;
}

s2p_status s2_bundled_data(const char *task, char out[S2_BUNDLED_PATH], s2p_error *error)
{
    if (find("data", NULL, task, out)) return S2P_OK;
    return s2_fail(error, S2P_EIO, "the data of '%.60s' are not installed; give --data-dir", task);
}
