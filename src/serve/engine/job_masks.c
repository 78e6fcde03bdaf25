/* job_masks.c - masks of a request: files that come behind its pictures, and "masks", which says what they
 * are of. */
#include "serve/engine/jobs.h"

#include "base/error.h"

#include <string.h>

size_t s2_job_pictures(const s2_job_parts *parts, const json_t *json)
{
    const size_t n_masks = json_array_size(json_object_get(json, "masks"));
    return parts->n_blobs > n_masks ? parts->n_blobs - n_masks : 0;
}

s2p_status s2_job_masks_add(const json_t *json, int32_t setting, s2a_boxes *boxes, s2p_error *error)
{
    const json_t *list = json_object_get(json, "masks");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        const char *name = s2_json_string(one, "name");
        int32_t kind = -1, picture = 0, of = 0;
        (void)s2_json_int(one, "kind", &kind);
        (void)s2_json_int(one, "picture", &picture);
        (void)s2_json_int(one, "setting", &of);
        if (!name || kind < S2A_BOX_KEEP || kind > S2A_BOX_BLANK || picture < 0)
            return s2_fail(error, S2P_EFORMAT, "mask %zu has neither name nor kind", i + 1);
        if (of == setting)
            TRY(s2a_boxes_put_mask(name, name, (s2a_box_kind)kind, picture, boxes, error));
    }
    return S2P_OK;
}

s2p_status s2_job_mask(const char *name, void *user, s2_image *out, s2p_error *error)
{
    const s2_job_mask_source *from = user;
    const json_t *list = json_object_get(from->json, "masks");
    const size_t n_pictures = s2_job_pictures(from->parts, from->json);
    s2p_error why = { S2P_OK, "" };
    if (from->is_cancelled && atomic_load(from->is_cancelled))
        return s2_fail(error, S2P_ECANCELLED, "the client has disconnected");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *known = s2_json_string(json_array_get(list, i), "name");
        if (!known || strcmp(known, name) != 0 || n_pictures + i >= from->parts->n_blobs) continue;
        const s2_blob *file = &from->parts->blob[n_pictures + i];
        const s2p_status st = s2_image_decode(file->data, file->n, from->setup->pixels,
                                              &from->setup->limits, out, &why);
        return st == S2P_OK ? st : s2_fail(error, st, "%.60s: %s", name, why.message);
    }
    return s2_fail(error, S2P_EFORMAT, "%.60s is missing", name);
}
