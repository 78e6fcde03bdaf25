/* profile.c - a profile checked as untrusted input. */
#include "ask/profile.h"

#include "base/error.h"
#include "base/file.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const s2_json_field file_fields[] = {
    { "schema",   S2_JSON_TEXT,   1, 40 },
    { "setting",  S2_JSON_OBJECT, 0, 0 },
    { "promise",  S2_JSON_OBJECT, 0, 0 },
    { "model",    S2_JSON_OBJECT, 0, 0 },
    { "measured", S2_JSON_OBJECT, 0, 0 },
    { "search",   S2_JSON_LIST,   0, 4096 },
    { .name = NULL },
};
static const s2_json_field setting_fields[] = {
    { "method",         S2_JSON_TEXT, 1, 40 },
    { "budget",         S2_JSON_TEXT, 1, S2A_BUDGET_TEXT - 1 },
    { "min_confidence", S2_JSON_REAL, S2A_LEAST_CONFIDENCE, 1 },
    { "image_size",     S2_JSON_TEXT, 1, 16 },
    { .name = NULL },
};
static const s2_json_field promise_fields[] = {
    { "max_loss",   S2_JSON_REAL, 0, 100 },
    { "confidence", S2_JSON_REAL, 0, 1 },
    { "loss",       S2_JSON_TEXT, 1, 40 },
    { "unit",       S2_JSON_TEXT, 1, 40 },
    { .name = NULL },
};
static const s2_json_field model_fields[] = {
    { "name",          S2_JSON_TEXT, 1, S2A_PROFILE_NAME - 1 },
    { "bytes",         S2_JSON_INT,  1, S2_JSON_MAX_SEED },
    { "sha256",        S2_JSON_TEXT, 64, 64 },
    { "mmproj_sha256", S2_JSON_TEXT, 64, 64 },
    { .name = NULL },
};
/* clang-format on */

static s2p_status fail_in(const char *name, const s2p_error *why, s2p_error *error)
{
    return s2_fail(error, S2P_EFORMAT, "%.200s: %.400s", name, why->message);
}

static s2p_status check(const json_t *object, const s2_json_field *fields, const char *path,
                        const char *name, s2p_error *error)
{
    char param[S2_JSON_PARAM];
    s2p_error why = { S2P_OK, "" };
    if (!object || json_is_null(object)) return S2P_OK;
    if (s2_json_check_fields(object, fields, path, true, 0, param, &why) == S2P_OK) return S2P_OK;
    return fail_in(name, &why, error);
}

static s2p_status read_size(const char *text, const char *name, s2a_profile *out, s2p_error *error)
{
    s2v_image_options size;
    s2p_error why = { S2P_OK, "" };
    s2v_image_options_init(&size);
    if (!strchr(text, ',') && s2a_sizes_read("image_size", text, &size, 1, &why) == S2P_OK) {
        out->width = size.width;
        out->height = size.height;
        return S2P_OK;
    }
    if (!why.message[0]) (void)s2_fail(&why, S2P_EFORMAT, "image_size must be a single size");
    return fail_in(name, &why, error);
}

static s2p_status read_setting(const json_t *object, const char *name, s2a_profile *out,
                               s2p_error *error)
{
    s2a_setting setting = { .method = NULL };
    s2p_error why = { S2P_OK, "" };
    TRY(check(object, setting_fields, "setting.", name, error));
    const char *method = s2_json_string(object, "method"),
               *budget = s2_json_string(object, "budget");
    const char *size = s2_json_string(object, "image_size");
    if (!method) return s2_fail(error, S2P_EFORMAT, "%.200s: setting has no method", name);
    if (s2a_method_read("setting.method", method, strlen(method), &out->method, &why) != S2P_OK)
        return fail_in(name, &why, error);
    s2a_setting_use(&setting, out->method);
    if (s2a_keeps_all(&setting) != !budget)
        return s2_fail(error, S2P_EFORMAT,
                       budget ? "%.200s: method '%s' keeps every token and takes no budget"
                              : "%.200s: method '%s' needs a budget",
                       name, out->method);
    if (budget) {
        if (s2a_budget_read_steps("setting.budget", budget, strlen(budget), S2P_MAX_TOKENS,
                                  &setting.budget, &why) != S2P_OK)
            return fail_in(name, &why, error);
        (void)s2a_budget_text(setting.budget, out->budget);
    }
    out->min_confidence = json_number_value(json_object_get(object, "min_confidence"));
    if (out->min_confidence > 0.0 && setting.budget.n_more == 0)
        return s2_fail(error, S2P_EFORMAT,
                       "%.200s: min_confidence needs a sequence of budgets, such as 64..192", name);
    return size ? read_size(size, name, out, error) : S2P_OK;
}

static s2p_status read_root(const json_t *root, const char *name, s2a_profile *out,
                            s2p_error *error)
{
    if (!json_is_object(root)) return s2_fail(error, S2P_EFORMAT, "%.200s is not a profile", name);
    const char *schema = s2_json_string(root, "schema");
    if (!schema || strcmp(schema, S2A_PROFILE_SCHEMA) != 0)
        return s2_fail(error, S2P_EFORMAT, "%.200s is not a profile of s2prune tune (schema %.60s)",
                       name, schema ? schema : "missing");
    TRY(check(root, file_fields, "", name, error));
    const json_t *promise = json_object_get(root, "promise"),
                 *model = json_object_get(root, "model");
    TRY(check(promise, promise_fields, "promise.", name, error));
    TRY(check(model, model_fields, "model.", name, error));
    if (!json_is_object(json_object_get(root, "setting")))
        return s2_fail(error, S2P_EFORMAT, "%.200s: setting is missing", name);
    out->max_loss = json_number_value(json_object_get(promise, "max_loss"));
    out->confidence = json_number_value(json_object_get(promise, "confidence"));
    out->model_bytes = json_integer_value(json_object_get(model, "bytes"));
    const char *file = s2_json_string(model, "name");
    (void)snprintf(out->model, sizeof out->model, "%s", file ? file : "");
    return read_setting(json_object_get(root, "setting"), name, out, error);
}

s2p_status s2a_profile_parse(const void *text, size_t n, const char *name, s2a_profile *out,
                             s2p_error *error)
{
    json_t *root = NULL;
    *out = (s2a_profile){ .method = NULL };
    if (n > S2A_MAX_PROFILE)
        return s2_fail(error, S2P_ELIMIT, "%.200s: a profile has at most %zu bytes", name,
                       S2A_MAX_PROFILE);
    TRY(s2_json_parse(text, n, name, &root, error));
    const s2p_status st = read_root(root, name, out, error);
    json_decref(root);
    if (st != S2P_OK) *out = (s2a_profile){ .method = NULL };
    return st;
}

s2p_status s2a_profile_read(const char *path, s2a_profile *out, s2p_error *error)
{
    s2_buffer text;
    *out = (s2a_profile){ .method = NULL };
    s2_buffer_init(&text, S2A_MAX_PROFILE);
    s2p_status st = s2_file_read(path, &text, error);
    if (st == S2P_OK) st = s2a_profile_parse(text.data, text.size, path, out, error);
    s2_buffer_free(&text);
    return st;
}

const char *s2a_profile_text(const s2a_profile *p, char out[S2A_PROFILE_TEXT])
{
    const char *mark = ":";
    size_t n = (size_t)snprintf(out, S2A_PROFILE_TEXT, "%s", p->method);
    if (p->budget[0]) {
        n += (size_t)snprintf(out + n, S2A_PROFILE_TEXT - n, "%sbudget=%s", mark, p->budget);
        mark = ",";
    }
    if (p->min_confidence > 0.0) {
        n += (size_t)snprintf(out + n, S2A_PROFILE_TEXT - n, "%smin-confidence=%.15g", mark,
                              p->min_confidence);
        mark = ",";
    }
    if (p->width > 0)
        (void)snprintf(out + n, S2A_PROFILE_TEXT - n, "%simage-size=%dx%d", mark, p->width,
                       p->height);
    return out;
}
