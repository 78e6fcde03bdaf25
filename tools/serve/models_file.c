/* models_file.c - read and check the file of --models before anything is loaded. */
#define _GNU_SOURCE /* sysconf */
#include "serve/models_file.h"

#include "base/file.h"
#include "base/json.h"
#include "program.h"
#include "serve/serve_options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE ((size_t)1 << 20)
#define MAX_NAME 128
#define MAX_WORDS 600
#define MAX_VALUE 256

typedef struct reading {
    const char *path;
    char *const *argv;
    s2_pool *pool;
    s2_front_model *model; /* being read */
    char *word[MAX_WORDS + 1];
    size_t n_words;
    s2p_error *error;
} reading;

static const char *environment(const char *name) { return getenv(name); }

static s2p_status add_word(reading *r, const char *text)
{
    char *copy = s2_pool_copy(r->pool, text);
    if (!copy || r->n_words == MAX_WORDS)
        return s2_fail(r->error, S2P_ELIMIT, "%s: too many options for %s", r->path,
                       r->model->name);
    r->word[r->n_words++] = copy;
    r->word[r->n_words] = NULL;
    return S2P_OK;
}

/* A file of the model, relative to the folder of the list; its size is added. */
static s2p_status add_file(reading *r, const char *option, const json_t *value)
{
    char full[4096];
    struct stat about;
    if (!json_is_string(value) || json_string_length(value) == 0)
        return s2_fail(r->error, S2P_EINVAL, "%s: %s of model %s must be the name of a file",
                       r->path, option, r->model->name);
    const char *name = json_string_value(value), *slash = strrchr(r->path, '/');
    const int n_folder = name[0] == '/' || !slash ? 0 : (int)(slash - r->path) + 1;
    const int n = snprintf(full, sizeof full, "%.*s%s", n_folder, r->path, name);
    if (n < 0 || (size_t)n >= sizeof full || stat(full, &about) != 0 || !S_ISREG(about.st_mode))
        return s2_fail(r->error, S2P_EIO, "%s: model %s: there is no file '%.200s'", r->path,
                       r->model->name, full);
    r->model->bytes += (uint64_t)about.st_size;
    TRY(add_word(r, option));
    return add_word(r, full);
}

/* "budget": 32 becomes --budget 32; true is a flag alone, false nothing. */
static s2p_status add_default(reading *r, const char *key, const json_t *value)
{
    char option[64], text[MAX_VALUE];
    (void)snprintf(option, sizeof option, "--%.50s", key);
    const s2_option *row = s2_serve_rows;
    while (row->name && strcmp(row->name, option) != 0) row++;
    const bool is_own = row->name && strcmp(row->group, "Server") != 0 &&
                        strcmp(row->name, "--model") != 0 && strcmp(row->name, "--mmproj") != 0;
    if (!is_own)
        return s2_fail(r->error, S2P_EINVAL,
                       "%s: model %s: '%.50s' is not an option of a single model", r->path,
                       r->model->name, key);
    if (json_is_false(value)) return S2P_OK;
    TRY(add_word(r, option));
    if (json_is_true(value)) return S2P_OK;
    if (json_is_string(value))
        (void)snprintf(text, sizeof text, "%s", json_string_value(value));
    else if (json_is_integer(value))
        (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        (void)snprintf(text, sizeof text, "%.9g", json_real_value(value));
    else
        return s2_fail(r->error, S2P_EINVAL,
                       "%s: model %s: '%.50s' must be a number, a string, true or false", r->path,
                       r->model->name, key);
    return add_word(r, text);
}

static s2p_status read_name(reading *r, const json_t *object, const s2_front_options *out)
{
    const char *name = s2_json_string(object, "name");
    bool is_fine = name && *name && strlen(name) <= MAX_NAME;
    for (const char *c = name; is_fine && *c; c++)
        is_fine = (unsigned char)*c > 0x20 && (unsigned char)*c < 0x7F && *c != '@' && *c != ',';
    if (!is_fine)
        return s2_fail(r->error, S2P_EINVAL,
                       "%s: every model needs a name of 1 to %d printable characters without "
                       "spaces, '@' and ','",
                       r->path, MAX_NAME);
    for (int32_t i = 0; i < out->n_models; i++)
        if (strcmp(out->model[i].name, name) == 0)
            return s2_fail(r->error, S2P_EINVAL, "%s: two models are called %s", r->path, name);
    r->model->name = s2_pool_copy(r->pool, name);
    return r->model->name ? S2P_OK : s2_fail_memory(r->error, strlen(name), "the models");
}

static s2p_status read_model(reading *r, const json_t *object, const s2_front_options *out)
{
    static const char *const known[] = { "name", "model", "mmproj", "pinned", "defaults" };
    const char *key;
    json_t *value;
    s2_parsed parsed;
    r->n_words = 0;
    TRY(read_name(r, object, out));
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        size_t i = 0;
        while (i < sizeof known / sizeof *known && strcmp(known[i], key) != 0) i++;
        if (i == sizeof known / sizeof *known)
            return s2_fail(r->error, S2P_EINVAL,
                           "%s: model %s: '%.50s' is not known; there are name, model, mmproj, "
                           "pinned, defaults",
                           r->path, r->model->name, key);
    }
    for (size_t i = 0; r->argv[i]; i++) TRY(add_word(r, r->argv[i]));
    const size_t first = 2; /* after the program and the command */
    TRY(add_file(r, "--model", json_object_get(object, "model")));
    value = json_object_get(object, "mmproj");
    if (value) TRY(add_file(r, "--mmproj", value));
    TRY(add_word(r, "--alias"));
    TRY(add_word(r, r->model->name));
    value = json_object_get(object, "pinned");
    if (value && !json_is_boolean(value))
        return s2_fail(r->error, S2P_EINVAL, "%s: model %s: pinned must be true or false", r->path,
                       r->model->name);
    r->model->is_pinned = json_is_true(value);
    json_t *defaults = json_object_get(object, "defaults");
    if (defaults && !json_is_object(defaults))
        return s2_fail(r->error, S2P_EINVAL, "%s: model %s: defaults must be an object", r->path,
                       r->model->name);
    json_object_foreach(defaults, key, value) TRY(add_default(r, key, value));
    serve_options *values = calloc(1, sizeof *values);
    if (!values) return s2_fail_memory(r->error, sizeof *values, "the options");
    s2p_error why = { S2P_OK, "" };
    const s2p_status st = s2_options_parse(&s2_cmd_serve_engine, (int)(r->n_words - first),
                                           r->word + first, environment, values, &parsed, &why);
    free(values);
    if (st != S2P_OK)
        return s2_fail(r->error, st, "%s: model %s: %.300s", r->path, r->model->name, why.message);
    char **words = s2_pool_take(r->pool, (r->n_words + 1) * sizeof *words);
    if (!words) return s2_fail_memory(r->error, r->n_words * sizeof *words, "the models");
    memcpy(words, r->word, (r->n_words + 1) * sizeof *words);
    r->model->argv = words;
    return S2P_OK;
}

/* Pinned models fit together, and any other one beside them. */
static s2p_status check_memory(reading *r, int32_t memory_mib, s2_front_options *out)
{
    const uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t pinned = 0, largest = 0;
    const char *name = "";
    out->models_bytes = memory_mib > 0 ? (uint64_t)memory_mib << 20 : all / 5 * 4;
    for (int32_t i = 0; i < out->n_models; i++) {
        if (out->model[i].is_pinned) pinned += out->model[i].bytes;
        if (out->model[i].is_pinned || out->model[i].bytes < largest) continue;
        largest = out->model[i].bytes;
        name = out->model[i].name;
    }
    if (pinned + largest <= out->models_bytes) return S2P_OK;
    return s2_fail(r->error, S2P_ELIMIT,
                   "%s: pinned models (%llu MiB)%s%s need more than --models-memory (%llu MiB)",
                   r->path, (unsigned long long)(pinned >> 20), *name ? " and " : "", name,
                   (unsigned long long)(out->models_bytes >> 20));
}

static s2p_status read_list(reading *r, const json_t *json, int32_t memory_mib,
                            s2_front_options *out)
{
    const json_t *list = json_object_get(json, "models");
    const size_t n = json_array_size(list);
    if (n < 1 || n > S2_FRONT_MAX_MODELS)
        return s2_fail(r->error, S2P_EINVAL, "%s: \"models\" must be a list of 1 to %d models",
                       r->path, S2_FRONT_MAX_MODELS);
    for (size_t i = 0; i < n; i++) {
        r->model = &out->model[out->n_models];
        *r->model = (s2_front_model){ .name = "" };
        TRY(read_model(r, json_array_get(list, i), out));
        out->n_models++;
    }
    if (n == 1) out->model[0].is_pinned = true;
    return check_memory(r, memory_mib, out);
}

s2p_status s2_models_file_read(const char *path, char *const *argv, int32_t memory_mib,
                               s2_pool *pool, s2_front_options *out, s2p_error *error)
{
    s2_buffer text;
    json_t *json = NULL;
    s2_buffer_init(&text, MAX_FILE);
    reading *r = calloc(1, sizeof *r);
    s2p_status st = r ? S2P_OK : s2_fail_memory(error, sizeof *r, "the models");
    if (st == S2P_OK) st = s2_file_read(path, &text, error);
    if (st == S2P_OK) st = s2_json_parse(text.data, text.size, path, &json, error);
    if (st == S2P_OK) {
        *r = (reading){ .path = path, .argv = argv, .pool = pool, .error = error };
        out->n_models = 0;
        st = read_list(r, json, memory_mib, out);
    }
    json_decref(json);
    s2_buffer_free(&text);
    free(r);
    return st;
}
