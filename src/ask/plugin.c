/* plugin.c - load a shared object and let it add its methods. */
#include "ask/plugin.h"

#include "base/file.h"
#include "base/sha256.h"
#include "base/sized.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define MAX_FILE ((size_t)1 << 28)
#define MAX_VERSION 64

struct s2a_plugin {
    void *code;
    char path
        []; /* "./" for dlopen, which looks for a name without a slash elsewhere; then as given */
};

typedef struct loading { /* what s2p_host.context is while the plug-in runs */
    s2a_plugin_adder add;
    void *user;
    const char *path;
    char hash[S2_SHA256_HEX];
    int32_t n;
    s2p_status status; /* of the first method that was refused, whatever the plug-in makes of it */
    s2p_error error;
} loading;

static bool is_version(const char *text)
{
    const size_t n = strlen(text);
    for (size_t i = 0; i < n; i++)
        if (text[i] < ' ' || text[i] > '~') return false;
    return n <= MAX_VERSION;
}

static s2p_status read_added(const s2p_method_definition *definition, const char *version,
                             s2p_method_definition *out, s2p_error *error)
{
    if (!definition) return s2_fail(error, S2P_EINVAL, "a method needs a definition");
    if (version && !is_version(version))
        return s2_fail(error, S2P_EINVAL, "a version must have at most %d printable characters",
                       MAX_VERSION);
    s2p_method_definition_init(out);
    return s2_sized_read(out, sizeof *out, definition, "s2p_method_definition", error);
}

static s2p_status add(void *context, const s2p_method_definition *definition, const char *version,
                      s2p_error *error)
{
    loading *l = context;
    s2p_method_definition d;
    s2p_error why = { S2P_OK, "" };
    s2p_status st = read_added(definition, version, &d, &why);
    if (st == S2P_OK) st = l->add(l->user, &d, version ? version : "", l->hash, &why);
    if (st == S2P_OK) {
        l->n++;
        return st;
    }
    if (l->status == S2P_OK) {
        l->status = st;
        l->error = why;
    }
    return s2_fail(error, st, "%s", why.message);
}

static s2p_status hash_file(const char *path, char out[S2_SHA256_HEX], s2p_error *error)
{
    uint8_t digest[32];
    s2_buffer bytes;
    s2_buffer_init(&bytes, MAX_FILE);
    const s2p_status st = s2_file_read(path, &bytes, error);
    if (st == S2P_OK) {
        s2_sha256(bytes.data, bytes.size, digest);
        s2_sha256_hex(digest, out);
    }
    s2_buffer_free(&bytes);
    return st;
}

static s2p_status run_entry(s2a_plugin *plugin, loading *l, s2p_error *error)
{
    s2p_plugin_function entry;
    s2p_error why = { S2P_OK, "" };
    void *symbol = dlsym(plugin->code, "s2p_plugin");
    if (!symbol)
        return s2_fail(error, S2P_EFORMAT,
                       "'%.300s' is not a plug-in: it has no function s2p_plugin", l->path);
    memcpy(&entry, &symbol, sizeof entry); /* ISO C has no cast between the two */
    const s2p_host host = { .size = sizeof host,
                            .abi = S2P_PLUGIN_ABI,
                            .context = l,
                            .add = add,
                            .definition_init = s2p_method_definition_init_sized,
                            .signal_at = s2p_signal_at,
                            .coarse_side = s2p_coarse_side,
                            .partition = s2p_partition,
                            .laplacian = s2p_laplacian,
                            .variance = s2p_variance,
                            .normalise = s2p_normalise,
                            .budget = s2p_budget,
                            .cells = s2p_cells,
                            .select = s2p_select };
    s2p_status st = entry(&host, &why);
    why.message[sizeof why.message - 1] = '\0';
    if (l->status != S2P_OK) {
        st = l->status;
        why = l->error;
    } else if (st == S2P_OK && l->n == 0) {
        st = S2P_EFORMAT;
        (void)s2_fail(&why, st, "it adds no method");
    } else if ((int)st < 0 || st > S2P_ECANCELLED) {
        st = S2P_EFORMAT;
    }
    if (st == S2P_OK) return st;
    return s2_fail(error, st, "'%.200s': %s", l->path,
                   why.message[0] ? why.message : s2p_status_text(st));
}

s2p_status s2a_plugin_load(const char *path, s2a_plugin_adder adder, void *user, s2a_plugin **out,
                           s2p_error *error)
{
    loading l = { .add = adder, .user = user, .path = path };
    *out = NULL;
    TRY(hash_file(path, l.hash, error));
    s2a_plugin *plugin = calloc(1, sizeof *plugin + strlen(path) + 3);
    if (!plugin) return s2_fail_memory(error, strlen(path), "a plug-in");
    memcpy(plugin->path, "./", 2);
    memcpy(plugin->path + 2, path, strlen(path) + 1);
    plugin->code = dlopen(plugin->path + (strchr(path, '/') ? 2 : 0), RTLD_NOW | RTLD_LOCAL);
    s2p_status st = S2P_OK;
    if (!plugin->code) {
        const char *why = dlerror();
        st = s2_fail(error, S2P_EFORMAT, "'%.200s' cannot be loaded: %.250s", path,
                     why ? why : "it is not a shared object");
    }
    *out = plugin; /* closed by the caller, after the methods it added */
    return st == S2P_OK ? run_entry(plugin, &l, error) : st;
}

void s2a_plugin_close(s2a_plugin *plugin)
{
    if (!plugin) return;
    if (plugin->code) (void)dlclose(plugin->code);
    free(plugin);
}

const char *s2a_plugin_path(const s2a_plugin *plugin) { return plugin->path + 2; }
