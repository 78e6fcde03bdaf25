/* prune_object.c - method, budget, grid, allocator, selector, parameters.
 *
 * The front has checked types and ranges; names are known here only.
 */
#include "serve/engine/prune_object.h"

#include "base/error.h"
#include "base/suggest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *method_at(const void *context, size_t index)
{
    (void)context;
    return s2v_method_name(index);
}

static s2p_status use_method(const char *source, const char *name, s2a_setting *setting,
                             s2p_error *error)
{
    const char *known;
    size_t i = 0;
    while ((known = s2v_method_name(i)) && strcasecmp(known, name) != 0) i++;
    if (known) {
        s2a_setting_use(setting, known);
        return S2P_OK;
    }
    const char *near = s2_suggest(name, method_at, NULL);
    if (near)
        return s2_fail(error, S2P_EINVAL, "%s: unknown method '%.40s' (did you mean '%s'?)", source,
                       name, near);
    return s2_fail(error, S2P_EINVAL, "%s: unknown method '%.40s'; GET /v1/prune/methods has them",
                   source, name);
}

/* "s2prune-64", "fastv-11%", "full". */
static s2p_status use_virtual(const char *name, s2a_setting *setting, s2p_error *error)
{
    const char *dash = strrchr(name, '-');
    char method[64];
    const bool has_budget = dash && dash[1] >= '0' && dash[1] <= '9';
    const size_t n = has_budget ? (size_t)(dash - name) : strlen(name);
    (void)snprintf(method, sizeof method, "%.*s", n < 60 ? (int)n : 60, name);
    TRY(use_method("model", method, setting, error));
    if (!has_budget) return S2P_OK;
    return s2a_budget_read("model: the budget", dash + 1, strlen(dash + 1), S2P_MAX_TOKENS,
                           &setting->budget, error);
}

/* A name of a table, as the table spells it; NULL: none. */
static const char *find_name(const char *(*name_at)(size_t index), const char *name)
{
    const char *known;
    for (size_t i = 0; (known = name_at(i)); i++)
        if (strcasecmp(known, name) == 0) return known;
    return NULL;
}

static s2p_status use_parameters(const json_t *object, s2a_setting *setting, s2p_error *error)
{
    void *at = json_object_iter((json_t *)(uintptr_t)object);
    for (; at; at = json_object_iter_next((json_t *)(uintptr_t)object, at)) {
        char text[128];
        const json_t *value = json_object_iter_value(at);
        const int n = json_is_integer(value)
                          ? snprintf(text, sizeof text, "%s=%lld", json_object_iter_key(at),
                                     (long long)json_integer_value(value))
                          : snprintf(text, sizeof text, "%s=%.17g", json_object_iter_key(at),
                                     json_number_value(value));
        if (n < 0 || (size_t)n >= sizeof text)
            return s2_fail(error, S2P_EINVAL, "prune.parameters: no name is so long");
        TRY(s2a_settings_set("prune.parameters", text, setting, 1, error));
    }
    return S2P_OK;
}

static s2p_status use_choice(const json_t *object, s2a_setting *setting, const char **param,
                             s2p_error *error)
{
    const char *allocator = s2_json_string(object, "allocator");
    const char *selector = s2_json_string(object, "selector");
    *param = "prune.allocator";
    if (allocator && !(setting->choice.allocator = find_name(s2p_allocator_name, allocator)))
        return s2_fail(error, S2P_EINVAL, "prune.allocator: unknown allocator '%.40s'", allocator);
    *param = "prune.selector";
    if (selector && !(setting->choice.selector = find_name(s2p_selector_name, selector)))
        return s2_fail(error, S2P_EINVAL, "prune.selector: unknown selector '%.40s'", selector);
    (void)s2_json_int(object, "grid", &setting->choice.side);
    const json_t *seed = json_object_get(object, "seed");
    if (json_is_integer(seed)) setting->choice.seed = (uint64_t)json_integer_value(seed);
    const char *mode = s2_json_string(object, "mode");
    if (mode) setting->published = strcmp(mode, "published") == 0;
    return S2P_OK;
}

static s2p_status use_budget(const json_t *value, s2a_setting *setting, s2p_error *error)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    const char *written = json_is_string(value) ? json_string_value(value) : text;
    return s2a_budget_read("prune.budget", written, strlen(written), S2P_MAX_TOKENS,
                           &setting->budget, error);
}

static bool has_word(const json_t *array, const char *word)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        const char *text = json_string_value(json_array_get(array, i));
        if (text && strcmp(text, word) == 0) return true;
    }
    return false;
}

s2p_status s2_prune_wish_read(const json_t *object, const char *virtual_name,
                              const s2a_setting *usual, const uint64_t *seed, s2_prune_wish *out,
                              const char **param, s2p_error *error)
{
    *out = (s2_prune_wish){ .setting = *usual };
    if (seed) out->setting.choice.seed = *seed;
    *param = "model";
    if (virtual_name) {
        TRY(use_virtual(virtual_name, &out->setting, error));
        out->has_budget = true;
    }
    if (!object) return S2P_OK;
    const char *method = s2_json_string(object, "method");
    *param = "prune.method";
    if (method) TRY(use_method("prune.method", method, &out->setting, error));
    const json_t *budget = json_object_get(object, "budget");
    *param = "prune.budget";
    if (budget && !json_is_null(budget)) {
        TRY(use_budget(budget, &out->setting, error));
        out->has_budget = true;
    }
    TRY(use_choice(object, &out->setting, param, error));
    *param = "prune.parameters";
    TRY(use_parameters(json_object_get(object, "parameters"), &out->setting, error));
    const json_t *keep = json_object_get(object, "keep"),
                 *wants = json_object_get(object, "return");
    size_t n_keep;
    out->keep = s2_json_ints(keep, &n_keep);
    out->n_keep = (int32_t)n_keep;
    out->wants_tokens = has_word(wants, "tokens");
    out->wants_regions = has_word(wants, "regions");
    out->wants_scores = has_word(wants, "scores");
    return S2P_OK;
}

void s2_prune_wish_free(s2_prune_wish *wish)
{
    free(wish->keep);
    wish->keep = NULL;
}

int32_t s2_detail_budget(const char *map, const char *detail)
{
    s2a_item item;
    while (s2a_next_item(&map, &item)) {
        const size_t n = strlen(detail);
        if (item.n <= n || strncasecmp(item.text, detail, n) != 0 || item.text[n] != '=') continue;
        const s2a_item value = { item.text + n + 1, item.n - n - 1 };
        if (s2a_item_is(value, "full")) return S2P_MAX_TOKENS;
        const long count = strtol(value.text, NULL, 10);
        return count >= 1 && count <= S2P_MAX_TOKENS ? (int32_t)count : 0;
    }
    return 0;
}
