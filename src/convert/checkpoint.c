/* checkpoint.c - find, open and cross-check the files of a checkpoint.
 *
 * With an index, every tensor it names must be in the file it names, and every tensor of the files
 * must be in the index: a shard of another download is noticed here and not as a wrong answer.
 */
#include "convert/convert_steps.h"

#include "base/json_limit.h"
#include "base/path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define INDEX "model.safetensors.index.json"
#define MAX_INDEX_BYTES ((size_t)16 << 20)
#define MAX_INDEX_VALUES ((size_t)1 << 18)

static bool exists(const char *folder, const char *name)
{
    char *path = s2_path_in(folder, name);
    const bool found = path && access(path, F_OK) == 0;
    free(path);
    return found;
}

void s2v_checkpoint_close(s2v_checkpoint *checkpoint)
{
    for (size_t i = 0; i < checkpoint->n_files; i++) s2v_safetensors_close(checkpoint->files[i]);
    checkpoint->n_files = 0;
}

static s2p_status open_one(s2v_checkpoint *out, const char *folder, const char *name,
                           s2p_error *error)
{
    char *path = s2_path_in(folder, name);
    if (!path) return s2_fail_memory(error, strlen(folder), "a file name");
    const s2p_status st = s2v_safetensors_open(&out->files[out->n_files], path, error);
    if (st == S2P_OK) out->n_files++;
    free(path);
    return st;
}

/* A plain name: an index must not lead out of its folder. */
static bool is_shard_name(const char *name)
{
    static const char end[] = ".safetensors";
    const size_t n = strlen(name);
    return n > sizeof end - 1 && n < 120 && name[0] != '.' && !strchr(name, '/') &&
           strcmp(name + n - (sizeof end - 1), end) == 0;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* The files an index names, each once, sorted. */
static s2p_status list_shards(json_t *map, const char *names[S2V_MAX_SHARDS], size_t *n_names,
                              s2p_error *error)
{
    const char *tensor;
    json_t *value;
    *n_names = 0;
    json_object_foreach(map, tensor, value)
    {
        const char *name = json_string_value(value);
        if (!name || !is_shard_name(name))
            return s2_fail(
                error, S2P_EFORMAT,
                INDEX ": tensor '%.64s' is not in a .safetensors file in the same folder", tensor);
        size_t i = 0;
        while (i < *n_names && strcmp(names[i], name) != 0) i++;
        if (i < *n_names) continue;
        if (i == S2V_MAX_SHARDS)
            return s2_fail(error, S2P_ELIMIT, INDEX ": more than %d files", S2V_MAX_SHARDS);
        names[(*n_names)++] = name;
    }
    if (*n_names == 0) return s2_fail(error, S2P_EFORMAT, INDEX ": 'weight_map' is empty");
    qsort(names, *n_names, sizeof *names, compare_names);
    return S2P_OK;
}

/* What is in the files must be promised; `left`, a copy of the map, keeps what was not met. */
static s2p_status check_files(const s2v_checkpoint *c, json_t *left, s2p_error *error)
{
    for (size_t f = 0; f < c->n_files; f++) {
        const char *file = s2v_safetensors_name(c->files[f]);
        const s2v_st_tensor *t;
        for (size_t i = 0; (t = s2v_safetensors_at(c->files[f], i)); i++) {
            const char *promised = json_string_value(json_object_get(left, t->name));
            if (!promised || strcmp(promised, file) != 0)
                return s2_fail(
                    error, S2P_EFORMAT, INDEX ": tensor '%.64s' is in '%.60s', %s", t->name, file,
                    promised ? "not where the index says" : "which the index does not list");
            (void)json_object_del(left, t->name);
        }
    }
    const char *name;
    json_t *value;
    json_object_foreach(left, name, value) return s2_fail(
        error, S2P_EFORMAT, INDEX ": tensor '%.64s' is not in '%.60s'", name,
        json_string_value(value));
    return S2P_OK;
}

static s2p_status open_shards(s2v_checkpoint *out, const char *folder, s2p_error *error)
{
    const char *names[S2V_MAX_SHARDS];
    size_t n_names = 0;
    json_t *index = NULL, *left = NULL;
    s2p_status st =
        s2_json_read_in(folder, INDEX, MAX_INDEX_BYTES, MAX_INDEX_VALUES, &index, error);
    if (st != S2P_OK) goto done;
    json_t *map = json_object_get(index, "weight_map");
    if (!json_is_object(map)) {
        st = s2_fail(error, S2P_EFORMAT, INDEX ": 'weight_map' is missing or not an object");
        goto done;
    }
    st = list_shards(map, names, &n_names, error);
    for (size_t i = 0; i < n_names && st == S2P_OK; i++)
        st = open_one(out, folder, names[i], error);
    if (st != S2P_OK) goto done;
    left = json_copy(map);
    st = left ? check_files(out, left, error) : s2_fail_memory(error, json_object_size(map), INDEX);
done:
    json_decref(left);
    json_decref(index);
    return st;
}

s2p_status s2v_checkpoint_open(s2v_checkpoint *out, const char *folder, s2p_error *error)
{
    s2p_status st;
    *out = (s2v_checkpoint){ .n_files = 0 };
    if (exists(folder, "model.safetensors"))
        st = open_one(out, folder, "model.safetensors", error);
    else if (exists(folder, INDEX))
        st = open_shards(out, folder, error);
    else if (exists(folder, "pytorch_model.bin") || exists(folder, "pytorch_model.bin.index.json"))
        st = s2_fail(error, S2P_EUNSUPPORTED,
                     "'%.120s' holds a Python pickle (pytorch_model.bin), which is never loaded; "
                     "save the model as safetensors",
                     folder);
    else {
        st = s2_fail(error, S2P_EIO, "'%.120s' holds neither model.safetensors nor " INDEX, folder);
        errno = ENOENT;
    }
    const int code = errno;
    if (st != S2P_OK) s2v_checkpoint_close(out);
    errno = code;
    return st;
}
