/* prune_object.c - the prune object of a request to a setting.
 *
 * Method, budget and parameters are parsed by the functions that the command line uses.
 */
#include "ask/settings.h"

#include "base/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* clang-format off */
const s2_json_field s2a_prune_fields[] = {
    { "method",     S2_JSON_TEXT,   1, 40 },
    { "budget",     S2_JSON_OTHER,  0, 0 }, /* 64, "11%", "auto" or "64..192" */
    { "min_confidence", S2_JSON_REAL, 0.001, 1 },
    { "grid",       S2_JSON_INT,    0, S2P_MAX_SIDE },
    { "allocator",  S2_JSON_TEXT,   1, 40 },
    { "selector",   S2_JSON_TEXT,   1, 40 },
    { "mode",       S2_JSON_TEXT,   1, 40 },
    { "after",      S2_JSON_INT,    S2P_BEFORE_DECODER, 1000 },
    { "positions",  S2_JSON_TEXT,   1, 40 },
    { "before_tower", S2_JSON_TEXT, 1, 60 },
    { "seed",       S2_JSON_INT,    0, S2_JSON_MAX_SEED },
    { "keep",       S2_JSON_LIST,   1, 16384 },
    { "keep_boxes", S2_JSON_LIST,   0, S2A_MAX_BOXES },
    { "drop_boxes", S2_JSON_LIST,   0, S2A_MAX_BOXES },
    { "blank_boxes", S2_JSON_LIST,  0, S2A_MAX_BOXES },
    { "masks",      S2_JSON_LIST,   0, S2A_MAX_BOXES }, /* read by the front of the server: files */
    { "parameters", S2_JSON_OBJECT, 0, 0 },
    { "return",     S2_JSON_LIST,   0, 8 },
    { .name = NULL },
};
/* clang-format on */

/* A field that is present and not null. */
static json_t *given(const json_t *object, const char *name)
{
    json_t *value = json_object_get(object, name);
    return json_is_null(value) ? NULL : value;
}

/* A JSON string must say more than a number: "64" is refused, 64 is not. */
static s2p_status read_budget(const json_t *value, const char *source, s2a_budget *out,
                              s2p_error *error)
{
    char text[S2A_BUDGET_TEXT] = "";
    const char *written = json_string_value(value);
    if (json_is_integer(value))
        (void)snprintf(text, sizeof text, "%lld", (long long)json_integer_value(value));
    else if (written && strlen(written) < sizeof text &&
             strspn(written, "0123456789.%auto") == strlen(written) &&
             strspn(written, "0123456789") < strlen(written))
        (void)snprintf(text, sizeof text, "%s", written);
    if (!text[0])
        return s2_fail(error, S2P_EINVAL,
                       "%s must be a whole number, a share like \"11%%\", \"auto\", or budgets "
                       "that grow like \"64..192\"",
                       source);
    return s2a_budget_read_steps(source, text, strlen(text), S2P_MAX_TOKENS, out, error);
}

/* [10, 20, 300, 40] in pixels, or "10%,0,25%,100%", "2:10,20,300,40" as on the command line. */
static s2p_status read_box(const json_t *item, const char *source, s2a_box_kind kind,
                           s2a_boxes *boxes, s2p_error *error)
{
    char text[160] = "";
    size_t n = 0;
    if (json_is_string(item))
        return s2a_boxes_add(source, json_string_value(item), json_string_length(item), kind, boxes,
                             error);
    for (size_t i = 0; i < json_array_size(item) && i < 5 && n < sizeof text; i++) {
        const json_t *number = json_array_get(item, i);
        const double value = json_number_value(number);
        if (!json_is_number(number) || !(value >= 0.0) || value > 1e9)
            return s2_fail(error, S2P_EINVAL, "%s: a box is four numbers from 0 to 1000000000",
                           source);
        n += (size_t)snprintf(text + n, sizeof text - n, "%s%.6f", i ? "," : "", value);
    }
    return s2a_boxes_add(source, text, n, kind, boxes, error);
}

static s2p_status read_boxes(const json_t *object, const char *path, s2a_boxes *boxes,
                             char param[S2_JSON_PARAM], s2p_error *error)
{
    static const char *const names[] = { [S2A_BOX_KEEP] = "keep_boxes",
                                         [S2A_BOX_DROP] = "drop_boxes",
                                         [S2A_BOX_BLANK] = "blank_boxes" };
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        const json_t *list = json_object_get(object, names[k]);
        (void)snprintf(param, S2_JSON_PARAM, "%.40s%s", path, names[k]);
        for (size_t i = 0; i < json_array_size(list); i++)
            TRY(read_box(json_array_get(list, i), param, (s2a_box_kind)k, boxes, error));
    }
    return S2P_OK;
}

s2p_status s2a_prune_check(const json_t *object, const char *path, char param[S2_JSON_PARAM],
                           s2p_error *error)
{
    s2a_budget budget;
    TRY(s2_json_check_fields(object, s2a_prune_fields, path, true, 0, param, error));
    (void)snprintf(param, S2_JSON_PARAM, "%.40sbudget", path);
    if (given(object, "budget")) TRY(read_budget(given(object, "budget"), param, &budget, error));
    const json_t *words = json_object_get(object, "return");
    (void)snprintf(param, S2_JSON_PARAM, "%.40sreturn", path);
    for (size_t i = 0; i < json_array_size(words); i++) {
        const char *word = json_string_value(json_array_get(words, i));
        if (!word || (strcmp(word, "tokens") != 0 && strcmp(word, "regions") != 0 &&
                      strcmp(word, "scores") != 0))
            return s2_fail(error, S2P_EINVAL, "%s must list tokens, regions or scores", param);
    }
    const char *mode = s2_json_string(object, "mode");
    (void)snprintf(param, S2_JSON_PARAM, "%.40smode", path);
    if (mode && strcmp(mode, "default") != 0 && strcmp(mode, "published") != 0)
        return s2_fail(error, S2P_EINVAL, "%s must be default or published", param);
    const char *positions = s2_json_string(object, "positions");
    (void)snprintf(param, S2_JSON_PARAM, "%.40spositions", path);
    if (positions && strcmp(positions, "kept") != 0 && strcmp(positions, "renumbered") != 0)
        return s2_fail(error, S2P_EINVAL, "%s must be kept or renumbered", param);
    const json_t *keep = json_object_get(object, "keep");
    json_int_t last = -1;
    (void)snprintf(param, S2_JSON_PARAM, "%.40skeep", path);
    for (size_t i = 0; i < json_array_size(keep); i++) {
        const json_t *token = json_array_get(keep, i);
        if (!json_is_integer(token) || json_integer_value(token) <= last ||
            json_integer_value(token) >= S2P_MAX_TOKENS)
            return s2_fail(error, S2P_EINVAL, "%s must be distinct token indices, ascending",
                           param);
        last = json_integer_value(token);
    }
    s2a_boxes boxes = { .n = 0 };
    TRY(read_boxes(object, path, &boxes, param, error));
    const char *before = s2_json_string(object, "before_tower");
    s2a_setting unused = { .has_before = false };
    (void)snprintf(param, S2_JSON_PARAM, "%.40sbefore_tower", path);
    if (before) TRY(s2a_before_read(param, before, &unused, error));
    const char *key;
    json_t *value;
    (void)snprintf(param, S2_JSON_PARAM, "%.40sparameters", path);
    json_object_foreach(json_object_get(object, "parameters"), key, value)
    {
        if (!json_is_number(value))
            return s2_fail(error, S2P_EINVAL, "%s.%.40s must be a number", param, key);
    }
    param[0] = '\0';
    return S2P_OK;
}

/* "s2prune-64", "fastv-11%", "full". */
static s2p_status use_virtual(const char *name, s2a_setting *setting, s2p_error *error)
{
    const char *dash = strrchr(name, '-'), *method;
    const bool has_budget = dash && dash[1] >= '0' && dash[1] <= '9';
    const size_t n = has_budget ? (size_t)(dash - name) : strlen(name);
    TRY(s2a_method_read("model", name, n, &method, error));
    s2a_setting_use(setting, method);
    if (!has_budget) return S2P_OK;
    return s2a_budget_read("model: the budget", dash + 1, strlen(dash + 1), S2P_MAX_TOKENS,
                           &setting->budget, error);
}

/* An allocator or a selector: the name as in its table. */
static s2p_status find_name(const json_t *object, const char *field, const char *source,
                            const char *(*name_at)(size_t index), const char **out,
                            s2p_error *error)
{
    const char *name = s2_json_string(object, field), *known;
    if (!name) return S2P_OK;
    for (size_t i = 0; (known = name_at(i)); i++)
        if (strcasecmp(known, name) == 0) {
            *out = known;
            return S2P_OK;
        }
    return s2_fail(error, S2P_EINVAL, "%s: unknown %s '%.40s'", source, field, name);
}

static bool has_word(const json_t *array, const char *word)
{
    for (size_t i = 0; i < json_array_size(array); i++)
        if (strcmp(json_string_value(json_array_get(array, i)), word) == 0) return true;
    return false;
}

s2p_status s2a_prune_read(const json_t *object, const char *path, const char *virtual_name,
                          const s2a_setting *usual, const uint64_t *seed, s2a_prune_request *out,
                          char param[S2_JSON_PARAM], s2p_error *error)
{
    s2a_setting *setting = &out->setting;
    *out = (s2a_prune_request){ .setting = *usual, .has_budget = virtual_name != NULL };
    if (seed) setting->choice.seed = *seed;
    (void)snprintf(param, S2_JSON_PARAM, "model");
    if (virtual_name) TRY(use_virtual(virtual_name, setting, error));
    TRY(s2a_prune_check(object, path, param, error));
    const char *method = s2_json_string(object, "method"), *known;
    (void)snprintf(param, S2_JSON_PARAM, "%.40smethod", path);
    if (method) {
        TRY(s2a_method_read(param, method, strlen(method), &known, error));
        s2a_setting_use(setting, known);
    }
    (void)snprintf(param, S2_JSON_PARAM, "%.40sbudget", path);
    if (given(object, "budget")) {
        TRY(read_budget(given(object, "budget"), param, &setting->budget, error));
        out->has_budget = true;
    }
    const json_t *confidence = given(object, "min_confidence");
    if (confidence) setting->min_confidence = json_number_value(confidence);
    (void)snprintf(param, S2_JSON_PARAM, "%.40sallocator", path);
    TRY(find_name(object, "allocator", param, s2p_allocator_name, &setting->choice.allocator,
                  error));
    (void)snprintf(param, S2_JSON_PARAM, "%.40sselector", path);
    TRY(find_name(object, "selector", param, s2p_selector_name, &setting->choice.selector, error));
    (void)s2_json_int(object, "grid", &setting->choice.side);
    const json_t *own_seed = given(object, "seed");
    if (own_seed) setting->choice.seed = (uint64_t)json_integer_value(own_seed);
    const char *mode = s2_json_string(object, "mode");
    if (mode) setting->published = strcmp(mode, "published") == 0;
    const char *positions = s2_json_string(object, "positions");
    if (positions) setting->is_renumbered = strcmp(positions, "renumbered") == 0;
    const char *before = s2_json_string(object, "before_tower");
    (void)snprintf(param, S2_JSON_PARAM, "%.40sbefore_tower", path);
    if (before) TRY(s2a_before_read(param, before, setting, error));
    (void)snprintf(param, S2_JSON_PARAM, "%.40safter", path);
    if (given(object, "after")) {
        setting->has_after = s2_json_int(object, "after", &setting->after);
        TRY(s2a_settings_check_after(param, setting, 1, 0, error));
    } else if (s2a_settings_check_after(param, setting, 1, 0, NULL) != S2P_OK) {
        setting->has_after = false; /* the server's layer is for methods that can prune there */
    }

    const char *key;
    json_t *value;
    (void)snprintf(param, S2_JSON_PARAM, "%.40sparameters", path);
    json_object_foreach(json_object_get(object, "parameters"), key, value)
    {
        char text[S2_JSON_PARAM];
        const int n =
            json_is_integer(value)
                ? snprintf(text, sizeof text, "%s=%lld", key, (long long)json_integer_value(value))
                : snprintf(text, sizeof text, "%s=%.17g", key, json_number_value(value));
        if (n < 0 || (size_t)n >= sizeof text)
            return s2_fail(error, S2P_EINVAL, "%s: parameter name too long", param);
        TRY(s2a_settings_set(param, text, setting, 1, error));
    }
    size_t n_keep;
    out->keep = s2_json_ints(json_object_get(object, "keep"), &n_keep);
    out->n_keep = (int32_t)n_keep;
    TRY(read_boxes(object, path, &out->boxes, param, error));
    const json_t *words = json_object_get(object, "return");
    out->wants_tokens = has_word(words, "tokens");
    out->wants_regions = has_word(words, "regions");
    out->wants_scores = has_word(words, "scores");
    param[0] = '\0';
    return S2P_OK;
}

void s2a_prune_request_free(s2a_prune_request *request)
{
    free(request->keep);
    request->keep = NULL;
}

/* --- details ------------------------------------------------------------------------------- */

int32_t s2a_detail_budget(const char *map, const char *detail)
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

s2p_status s2a_detail_map_check(const char *source, const char *map, s2p_error *error)
{
    static const char *const names[] = { "low=", "auto=", "high=" };
    s2a_item item;
    while (s2a_next_item(&map, &item)) {
        size_t n = 0;
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            if (strncmp(item.text, names[i], strlen(names[i])) == 0) n = strlen(names[i]);
        const s2a_item value = { item.text + n, item.n - (n < item.n ? n : item.n) };
        char *end = NULL;
        const long count = strtol(value.text, &end, 10);
        const bool is_count = end == item.text + item.n && count >= 1 && count <= S2P_MAX_TOKENS;
        if (n > 0 && (is_count || s2a_item_is(value, "full") || s2a_item_is(value, "default")))
            continue;
        return s2_fail(error, S2P_EINVAL,
                       "%s '%.*s' is not low, auto or high with a budget: low=64, auto=default, "
                       "high=full",
                       source, item.n < 80 ? (int)item.n : 80, item.text);
    }
    return S2P_OK;
}
