/* fuzz_boxes.c - any text as a box and as a mask: refused with a sentence, or a box of finite numbers that
 * lies on a picture or is refused there. */
#include "fuzz.h"

#include "ask/regions.h"

#include <math.h>
#include <string.h>

static s2p_status no_mask(const char *path, void *user, s2_image *out, s2p_error *error)
{
    (void)path, (void)user, (void)out;
    return s2_fail(error, S2P_EIO, "no file");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static s2a_boxes boxes;
    s2p_error error = { S2P_OK, "" };
    s2_image image;
    boxes.n = 0;
    char *text = malloc(size + 1);
    if (!text || s2_image_create(13, 7, &image, NULL) != S2P_OK) {
        free(text);
        return 0;
    }
    memset(image.pixels, 0, (size_t)image.view.stride * 7);
    if (size > 0) memcpy(text, data, size);
    text[size] = '\0';
    const s2a_box_kind kind = (s2a_box_kind)(size % 3);
    if (s2a_boxes_add("box", text, size, kind, &boxes, &error) == S2P_OK) {
        s2a_regions regions;
        ACCEPTED();
        PROMISE(boxes.n == 1);
        for (int k = 0; k < 4; k++)
            PROMISE(isfinite(boxes.box[0].at[k]) && boxes.box[0].at[k] >= 0.0);
        if (s2a_boxes_apply(&boxes, 0, &image, no_mask, NULL, &regions, &error) == S2P_OK) {
            uint8_t mark[12];
            const s2_size shown = { 13, 7 };
            PROMISE(regions.n <= 1);
            s2a_regions_mark(&regions, shown, shown, (s2p_grid){ 3, 4 }, mark);
            s2a_regions_free(&regions);
        } else {
            PROMISE(error.message[0]);
        }
    } else {
        PROMISE(boxes.n == 0 && error.status != S2P_OK && error.message[0]);
    }
    if (s2a_boxes_add_mask("mask", text, &boxes, &error) == S2P_OK)
        PROMISE(boxes.box[boxes.n - 1].mask[0] && boxes.box[boxes.n - 1].picture <= 1000);
    s2_image_free(&image);
    free(text);
    return 0;
}
