/* fingerprint.c - one configuration for one run. */
#include "eval/run/fingerprint.h"

#include "base/file.h"
#include "base/sha256.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is_identity(const char *key) { return strncmp(key, S2E_IS, strlen(S2E_IS)) == 0; }

static s2p_status take_value(const char *key, const char *value, void *user, s2p_error *error)
{
    if (json_object_set_new(user, key, json_string(value)) == 0) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "a value of the run is not UTF-8, or out of memory");
}

s2p_status s2e_fingerprint_load(s2e_store *store, json_t **out, s2p_error *error)
{
    *out = json_object();
    if (!*out) return s2_fail_memory(error, 64, "the configuration");
    const s2p_status st = s2e_store_values(store, take_value, *out, error);
    if (st != S2P_OK) {
        json_decref(*out);
        *out = NULL;
    }
    return st;
}

/* --- comparing -------------------------------------------------------------------- */

#define SHOWN 130u /* bytes of a value in a sentence */

/* The whole value where it fits. Of a longer one the part from a little before the first difference:
 * hashes and lists are long. */
static const char *differing(const char *a, const char *b)
{
    size_t i = 0;
    if (strlen(a) <= SHOWN && strlen(b) <= SHOWN) return a;
    while (a[i] && a[i] == b[i]) i++;
    while (i > 0 && ((unsigned char)a[i] & 0xc0) == 0x80) i--;
    return i > 12 ? a + i - 12 : a;
}

s2p_status s2e_fingerprint_compare(const json_t *theirs, const json_t *mine, const char *name,
                                   s2p_error *error)
{
    const json_t *side[2] = { theirs, mine };
    const char *key, *first = NULL;
    json_t *value, *all = json_object();
    int n_others = 0;
    for (int i = 0; i < 2; i++)
        json_object_foreach((json_t *)(uintptr_t)side[i], key, value) if (is_identity(key))(void)
            json_object_set(all, key, json_true());
    json_object_foreach(all, key, value)
    {
        const json_t *a = json_object_get(theirs, key), *b = json_object_get(mine, key);
        if (a && b && json_equal(a, b)) continue;
        if (first) n_others++;
        if (!first || strcmp(key, first) < 0) first = key;
    }
    s2p_status st = S2P_OK;
    if (first) {
        const char *a = json_string_value(json_object_get(theirs, first));
        const char *b = json_string_value(json_object_get(mine, first));
        char more[40] = "";
        if (n_others) (void)snprintf(more, sizeof more, "; %d more differ", n_others);
        const char *shown = first + strlen(S2E_IS);
        st = a && b ? s2_fail(error, S2P_EINVAL,
                              "'%.60s' is another run: %s is '%.130s' there, '%.130s' here%s", name,
                              shown, differing(a, b), differing(b, a), more)
                    : s2_fail(error, S2P_EINVAL, "'%.60s' is another run: %s is '%.260s' %s%s",
                              name, shown,
                              a   ? a
                              : b ? b
                                  : "",
                              a ? "there, and not set here" : "here, and not set there", more);
    }
    json_decref(all);
    return st;
}

s2p_status s2e_fingerprint_agree(s2e_store *store, const json_t *mine, const char *name,
                                 s2p_error *error)
{
    json_t *theirs;
    TRY(s2e_fingerprint_load(store, &theirs, error));
    s2p_status st = S2P_OK;
    if (json_object_size(theirs) > 0) {
        st = s2e_fingerprint_compare(theirs, mine, name, error);
    } else {
        const char *key;
        json_t *value;
        json_object_foreach((json_t *)(uintptr_t)mine, key, value) if (st == S2P_OK) st =
            s2e_store_set(store, key, json_string_value(value), error);
        if (st == S2P_OK) st = s2e_store_commit(store, error);
    }
    json_decref(theirs);
    return st;
}

/* --- hashes ------------------------------------------------------------------------ */

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void s2e_fingerprint_hash(const json_t *values, char *out)
{
    const size_t n = json_object_size(values);
    const char **name = malloc((n + 1) * sizeof *name);
    size_t n_names = 0;
    const char *key;
    json_t *value;
    uint8_t digest[32] = { 0 };
    if (name) {
        json_object_foreach((json_t *)(uintptr_t)values, key, value) if (is_identity(key))
            name[n_names++] = key;
        qsort(name, n_names, sizeof *name, compare_names);
        s2_sha256_state hash;
        s2_sha256_start(&hash);
        for (size_t i = 0; i < n_names; i++) {
            const char *text = json_string_value(json_object_get(values, name[i]));
            s2_sha256_add(&hash, name[i], strlen(name[i]) + 1);
            s2_sha256_add(&hash, text ? text : "", strlen(text ? text : "") + 1);
        }
        s2_sha256_finish(&hash, digest);
    }
    free(name);
    s2_sha256_hex(digest, out);
}

s2p_status s2e_file_hash(const char *path, int (*progress)(double done, void *user), void *user,
                         char *out, s2p_error *error)
{
    enum { PIECE = 1 << 20 };
    FILE *file = s2_file_stream(path);
    if (!file) return s2_fail(error, S2P_EIO, "cannot open '%.150s': %s", path, strerror(errno));
    uint8_t *bytes = malloc(PIECE), digest[32];
    s2p_status st = bytes ? S2P_OK : s2_fail_memory(error, PIECE, "the hash of a file");
    double size = 0.0, read = 0.0;
    if (st == S2P_OK && fseeko(file, 0, SEEK_END) == 0) {
        size = (double)ftello(file);
        rewind(file);
    }
    s2_sha256_state hash;
    s2_sha256_start(&hash);
    size_t n = 0;
    while (st == S2P_OK && (n = fread(bytes, 1, PIECE, file)) > 0) {
        s2_sha256_add(&hash, bytes, n);
        read += (double)n;
        if (progress && size > 0.0 && progress(read / size, user) != 0)
            st = s2_fail(error, S2P_ECANCELLED, "interrupted while reading '%.150s'", path);
    }
    if (st == S2P_OK && ferror(file))
        st = s2_fail(error, S2P_EIO, "cannot read '%.150s': %s", path, strerror(errno));
    s2_sha256_finish(&hash, digest);
    s2_sha256_hex(digest, out);
    free(bytes);
    (void)fclose(file);
    return st;
}
