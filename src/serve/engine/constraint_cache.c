/* constraint_cache.c - by SHA-256 of kind and text; the least recently used leaves. */
#include "serve/engine/constraint_cache.h"

#include "base/sha256.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    s2v_constraint_kind kind;
} kinds[] = { { "json_schema", S2V_JSON_SCHEMA },
              { "json_object", S2V_JSON_OBJECT },
              { "gbnf", S2V_GBNF },
              { "tools", S2V_TOOL_CALLS } };

static void forget(s2_constraint_cache *cache, size_t i)
{
    s2v_constraint_free(cache->entry[i].constraint);
    cache->entry[i].constraint = NULL;
}

/* Space for one more entry of n_bytes; its index. */
static size_t make_room(s2_constraint_cache *cache, size_t n_bytes)
{
    for (;;) {
        size_t oldest = 0, vacant = S2_CONSTRAINT_CACHE, sum = n_bytes;
        for (size_t i = 0; i < S2_CONSTRAINT_CACHE; i++) {
            if (!cache->entry[i].constraint) {
                vacant = i;
                continue;
            }
            sum += s2v_constraint_bytes(cache->entry[i].constraint);
            if (!cache->entry[oldest].constraint ||
                cache->entry[i].used < cache->entry[oldest].used)
                oldest = i;
        }
        if (vacant < S2_CONSTRAINT_CACHE &&
            (sum <= S2_CONSTRAINT_CACHE_BYTES || !cache->entry[oldest].constraint))
            return vacant;
        forget(cache, oldest);
    }
}

s2p_status s2_constraint_get(s2_constraint_cache *cache, s2v_engine *engine, const json_t *job,
                             s2v_constraint **out, char param[S2_JSON_PARAM], s2p_error *error)
{
    const char *kind = s2_json_string(job, "kind"), *name = s2_json_string(job, "param");
    const json_t *text = json_object_get(job, "text");
    const char *bytes = json_string_value(text);
    const size_t n = json_string_length(text);
    size_t k = 0;
    *out = NULL;
    if (!job) return S2P_OK;
    (void)snprintf(param, S2_JSON_PARAM, "%s", name ? name : "");
    while (k < sizeof kinds / sizeof *kinds && (!kind || strcmp(kind, kinds[k].name) != 0)) k++;
    if (k == sizeof kinds / sizeof *kinds || !bytes)
        return s2_fail(error, S2P_EFORMAT, "the constraint has no kind or no text");
    uint8_t key[32];
    s2_sha256_state sha;
    s2_sha256_start(&sha);
    s2_sha256_add(&sha, kind, strlen(kind) + 1);
    s2_sha256_add(&sha, bytes, n);
    s2_sha256_finish(&sha, key);
    for (size_t i = 0; i < S2_CONSTRAINT_CACHE; i++) {
        if (!cache->entry[i].constraint || memcmp(cache->entry[i].key, key, sizeof key) != 0)
            continue;
        cache->entry[i].used = ++cache->clock;
        *out = s2v_constraint_share(cache->entry[i].constraint);
        return S2P_OK;
    }
    s2p_error why = { S2P_OK, "" };
    const s2p_status st = s2v_constraint_create(out, engine, kinds[k].kind, bytes, n, &why);
    if (st != S2P_OK) /* tools name their own places */
        return kinds[k].kind == S2V_TOOL_CALLS ? s2_fail(error, st, "%s", why.message)
                                               : s2_fail(error, st, "%s: %s", param, why.message);
    const size_t i = make_room(cache, s2v_constraint_bytes(*out));
    memcpy(cache->entry[i].key, key, sizeof key);
    cache->entry[i].constraint = s2v_constraint_share(*out);
    cache->entry[i].used = ++cache->clock;
    return S2P_OK;
}

void s2_constraint_cache_free(s2_constraint_cache *cache)
{
    for (size_t i = 0; i < S2_CONSTRAINT_CACHE; i++) forget(cache, i);
}
