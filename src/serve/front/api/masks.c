/* masks.c - masks in a prune object: pictures that mark, by their light pixels, what boxes would. */
#include "serve/front/chat_request.h"

#include "ask/settings.h"

#include <stdio.h>
#include <string.h>

/* clang-format off */
static const s2_json_field fields[] = {
    { "data",    S2_JSON_OTHER, 0, 0 },
    { "kind",    S2_JSON_TEXT,  1, 10 },
    { "picture", S2_JSON_INT,   1, S2_CHAT_MAX_PICTURES },
    { .name = NULL },
};
/* clang-format on */

/* Its kind and its picture: of every one, and kept, where nothing is said. */
static bool read_place(const json_t *item, const char *param, s2a_box_kind *kind, int32_t *picture,
                       s2_http_error *error)
{
    char path[S2_JSON_PARAM], at[S2_JSON_PARAM];
    s2p_error why = { S2P_OK, "" };
    (void)snprintf(path, sizeof path, "%.60s.", param);
    if (s2_json_check_fields(item, fields, path, true, 0, at, &why) != S2P_OK)
        return s2_http_fail(error, 400, at, "%s", why.message);
    (void)s2_json_int(item, "picture", picture);
    const char *word = s2_json_string(item, "kind"), *known;
    if (!word) return true;
    for (size_t k = 0; (known = s2a_box_kind_name(k)); k++)
        if (strcmp(known, word) == 0) {
            *kind = (s2a_box_kind)k;
            return true;
        }
    (void)snprintf(at, sizeof at, "%.60s.kind", param);
    return s2_http_fail(error, 400, at, "%s must be keep, drop or blank", at);
}

static bool take(const s2_body *body, const json_t *item, const char *param, int32_t setting,
                 size_t max_bytes, s2_chat_request *out, s2_http_error *error)
{
    const json_t *data = json_is_object(item) ? json_object_get(item, "data") : item;
    s2a_box_kind kind = S2A_BOX_KEEP;
    int32_t picture = 0;
    if (json_is_object(item) && !read_place(item, param, &kind, &picture, error)) return false;
    if (!json_is_string(data))
        return s2_http_fail(error, 400, param,
                            "%s must be a picture in base64, or an object with it as \"data\"",
                            param);
    if (out->n_masks == S2_CHAT_MAX_MASKS)
        return s2_http_fail(error, 400, param, "%s: more than %d masks in one request", param,
                            S2_CHAT_MAX_MASKS);
    s2_buffer *file = &out->mask[out->n_masks++];
    s2_buffer_init(file, S2_FRAME_MAX);
    if (!s2_body_base64(body, data, param, file, error)) return false;
    if (file->size > max_bytes)
        return s2_http_fail(error, 400, param, "%s is too large: %zu bytes (limit %zu)", param,
                            file->size, max_bytes);
    json_t *list = json_object_get(out->job, "masks");
    if (!list && json_object_set_new(out->job, "masks", json_array()) == 0)
        list = json_object_get(out->job, "masks");
    return json_array_append_new(list, json_pack("{s:s,s:i,s:i,s:i}", "name", param, "kind",
                                                 (int)kind, "picture", (int)picture, "setting",
                                                 (int)setting)) == 0 ||
           s2_http_fail(error, 503, NULL, "out of memory");
}

bool s2_masks_take(const s2_body *body, json_t *prune, const char *path, int32_t setting,
                   size_t max_bytes, s2_chat_request *out, s2_http_error *error)
{
    const json_t *masks = json_object_get(prune, "masks");
    for (size_t i = 0; i < json_array_size(masks); i++) {
        char param[S2_JSON_PARAM];
        (void)snprintf(param, sizeof param, "%.40smasks[%zu]", path, i);
        if (!take(body, json_array_get(masks, i), param, setting, max_bytes, out, error))
            return false;
    }
    json_object_del(prune, "masks"); /* the engine has it with the job */
    return true;
}
