/* manifest.c - what was run, on what, with what. */
#include "analyze/manifest.h"

#include "base/file.h"
#include "base/path.h"
#include "base/sha256.h"
#include "bench/bench.h"
#include "commit.h"
#include "eval/run/fingerprint.h"
#include "s2vlm.h"

#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define BOOTSTRAP_SEED 1 /* of every interval; see base/statistics.h */

static json_t *command_json(const s2_manifest *m)
{
    json_t *list = json_array();
    (void)json_array_append_new(list, json_string("s2prune"));
    (void)json_array_append_new(list, json_string(m->words->command));
    for (int i = 0; i < m->words->n; i++) {
        /* A file name may be any bytes. */
        json_t *word = json_string(m->words->word[i]);
        (void)json_array_append_new(list, word ? word : json_string("(not UTF-8)"));
    }
    return list;
}

static json_t *machine_json(const s2_manifest *m)
{
    bench_machine machine;
    s2_machine_start(&machine);
    return json_pack("{s:s, s:i, s:f, s:s, s:s}", "cpu", machine.cpu, "cores", machine.n_cores,
                     "memory_gib", machine.memory_gib, "kernels", s2v_kernels_usual(0), "device",
                     m->device ? m->device : "auto");
}

static s2p_status file_json(const s2_manifest *m, const char *path, json_t **out, s2p_error *error)
{
    char hash[S2_SHA256_HEX];
    struct stat info;
    *out = json_null();
    if (!path) return S2P_OK;
    TRY(s2e_file_hash(path, m->progress, m->user, hash, error));
    const long long bytes = stat(path, &info) == 0 ? (long long)info.st_size : 0;
    *out = json_pack("{s:s, s:I, s:s}", "file", s2_base_name(path), "bytes", (json_int_t)bytes,
                     "sha256", hash);
    return *out ? S2P_OK : s2_fail(error, S2P_EFORMAT, "the name of a model file is not UTF-8");
}

static s2p_status data_json(const s2_manifest *m, json_t *out, s2p_error *error)
{
    for (int32_t i = 0; i < m->n_sets; i++) {
        char hash[S2_SHA256_HEX];
        TRY(s2e_set_hash(m->set[i], m->progress, m->user, hash, error));
        json_t *one = json_pack("{s:s, s:s?, s:i, s:i, s:s}", "task", m->task[i], "folder",
                                m->folder[i], "samples", m->set[i]->n_samples, "pictures",
                                m->set[i]->n_pictures, "sha256", hash);
        if (!one) return s2_fail(error, S2P_EFORMAT, "the name of a data folder is not UTF-8");
        (void)json_array_append_new(out, one);
    }
    return S2P_OK;
}

/* What run_config.json has, without what may differ between machines. */
static json_t *run_json(const char *folder, json_t *values)
{
    char hash[S2_SHA256_HEX];
    const char *key;
    json_t *value, *is = json_object();
    json_object_foreach(values, key, value)
    {
        if (strncmp(key, S2E_IS, strlen(S2E_IS)) == 0)
            (void)json_object_set(is, key + strlen(S2E_IS), value);
    }
    s2e_fingerprint_hash(values, hash);
    return json_pack("{s:s, s:s, s:s?, s:o}", "folder", folder, "fingerprint", hash, "model",
                     s2_json_string(values, S2E_ABOUT "model"), "is", is);
}

/* "name: value" lines as an object. */
static json_t *settings_json(const char *lines)
{
    json_t *out = json_object();
    for (const char *at = lines; at && *at;) {
        const char *end = strchr(at, '\n'), *colon = strchr(at, ':');
        const size_t n = end ? (size_t)(end - at) : strlen(at);
        if (colon && colon < at + n) {
            char name[64];
            const char *value = colon + 1;
            while (value < at + n && *value == ' ') value++;
            (void)snprintf(name, sizeof name, "%.*s", (int)(colon - at < 60 ? colon - at : 60), at);
            (void)json_object_set_new(out, name, json_stringn(value, (size_t)(at + n - value)));
        }
        at = end ? end + 1 : NULL;
    }
    return out;
}

static s2p_status make(const s2_manifest *m, json_t *root, s2p_error *error)
{
    char date[32] = "";
    const time_t now = time(NULL);
    struct tm utc;
    json_t *model, *mmproj, *data = json_array(), *runs = json_array();
    if (gmtime_r(&now, &utc)) (void)strftime(date, sizeof date, "%Y-%m-%dT%H:%M:%SZ", &utc);
    (void)json_object_set_new(root, "schema", json_string("s2prune.manifest/1"));
    (void)json_object_set_new(root, "command", command_json(m));
    (void)json_object_set_new(root, "date", json_string(date));
    (void)json_object_set_new(root, "program",
                              json_pack("{s:s, s:s, s:s}", "version", s2p_version(), "commit",
                                        s2_commit(), "ggml", s2v_backend_version()));
    (void)json_object_set_new(root, "machine", machine_json(m));
    (void)json_object_set_new(root, "data", data);
    (void)json_object_set_new(root, "runs", runs);
    for (int32_t i = 0; i < m->n_runs; i++)
        (void)json_array_append_new(runs, run_json(m->run[i], m->values[i]));
    (void)json_object_set_new(root, "settings", settings_json(m->settings));
    (void)json_object_set_new(root, "seeds",
                              json_pack("{s:I, s:i, s:i}", "first", (json_int_t)m->seed, "runs",
                                        m->n_seeds, "bootstrap", BOOTSTRAP_SEED));
    TRY(file_json(m, m->model, &model, error));
    (void)json_object_set_new(root, "model", model);
    TRY(file_json(m, m->mmproj, &mmproj, error));
    (void)json_object_set_new(root, "mmproj", mmproj);
    return data_json(m, data, error);
}

s2p_status s2_manifest_save(const s2_manifest *manifest, const char *folder, s2p_error *error)
{
    char path[4300];
    json_t *root = json_object();
    s2_buffer text;
    s2_buffer_init(&text, (size_t)16 << 20);
    s2p_status st = root ? make(manifest, root, error) : s2_fail_memory(error, 64, "the manifest");
    if (st == S2P_OK) {
        st = s2_json_write(root, 9, &text);
        s2_buffer_append(&text, "\n", 1);
        if (st != S2P_OK) st = s2_fail(error, st, "no memory for the manifest");
    }
    if (st == S2P_OK && snprintf(path, sizeof path, "%s/" S2_MANIFEST_NAME, folder) >= 4300)
        st = s2_fail(error, S2P_ELIMIT, "the path of the folder is too long");
    if (st == S2P_OK) st = s2_file_write(path, text.data, text.size, error);
    s2_buffer_free(&text);
    json_decref(root);
    return st;
}
