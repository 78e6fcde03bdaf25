/* box_options.c - --keep-box, --drop-box, --blank-box and --mask. */
#include "asking/asker.h"

#include "base/error.h"

#include <stdlib.h>
#include <string.h>

s2p_status s2_ask_boxes(const ask_options *o, s2a_boxes *out, s2p_error *error)
{
    const struct {
        const char *name;
        const s2_list *list;
        s2a_box_kind kind;
    } lists[] = { { "--keep-box", &o->keep_boxes, S2A_BOX_KEEP },
                  { "--drop-box", &o->drop_boxes, S2A_BOX_DROP },
                  { "--blank-box", &o->blank_boxes, S2A_BOX_BLANK } };
    *out = (s2a_boxes){ .n = 0 };
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t i = 0; i < lists[k].list->n; i++)
            TRY(s2a_boxes_add(lists[k].name, lists[k].list->item[i], strlen(lists[k].list->item[i]),
                              lists[k].kind, out, error));
    for (size_t i = 0; i < o->masks.n; i++)
        TRY(s2a_boxes_add_mask("--mask", o->masks.item[i], out, error));
    return S2P_OK;
}

s2p_status s2_ask_read_mask(const char *path, void *user, s2_image *out, s2p_error *error)
{
    const ask_options *o = user;
    s2_image_limits limits;
    /* 0: of a command without the option, whose pictures are those of a benchmark */
    s2_image_limits_local(&limits, o->max_image_pixels > 0 ? o->max_image_pixels
                                                           : strtoll(S2_LOCAL_PIXELS, NULL, 10));
    return s2_picture_read(path, (s2_pixels)o->pixels, &limits, out, error);
}
