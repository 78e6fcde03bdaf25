/* exif.c - find the orientation tag in an EXIF block, and rotate a picture by it.
 *
 * EXIF is a TIFF file inside the picture: a byte order, an offset to the first
 * directory, entries of 12 bytes. Only tag 0x0112 of that directory is looked at;
 * every offset comes from outside and is checked against the block.
 */
#include "image/decoder.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define TAG_ORIENTATION 0x0112u
#define TYPE_SHORT 3u

typedef struct tiff {
    const uint8_t *bytes;
    size_t n;
    bool is_big_endian;
} tiff;

/* Two or four bytes at `at`, which the caller has checked. */
static uint32_t read_uint(const tiff *t, size_t at, size_t n)
{
    uint32_t value = 0;
    for (size_t i = 0; i < n; i++)
        value = value << 8 | t->bytes[at + (t->is_big_endian ? i : n - 1 - i)];
    return value;
}

int s2_exif_orientation(const uint8_t *blob, size_t n)
{
    if (n >= 6 && memcmp(blob, "Exif\0\0", 6) == 0) blob += 6, n -= 6;
    if (n < 8 || (memcmp(blob, "II*\0", 4) != 0 && memcmp(blob, "MM\0*", 4) != 0)) return 1;
    const tiff t = { blob, n, blob[0] == 'M' };

    const size_t directory = read_uint(&t, 4, 4);
    if (directory > n - 2) return 1;
    const size_t n_entries = read_uint(&t, directory, 2);
    for (size_t i = 0; i < n_entries; i++) {
        const size_t entry = directory + 2 + 12 * i;
        if (entry > n || n - entry < 12) return 1;
        if (read_uint(&t, entry, 2) != TAG_ORIENTATION) continue;
        const bool is_one_short =
            read_uint(&t, entry + 2, 2) == TYPE_SHORT && read_uint(&t, entry + 4, 4) == 1;
        const uint32_t value = read_uint(&t, entry + 8, 2);
        return is_one_short && value >= 1 && value <= 8 ? (int)value : 1;
    }
    return 1;
}

s2p_status s2_image_orient(s2_image *image, int orientation, s2p_error *error)
{
    if (orientation <= 1) return S2P_OK;
    const s2p_image *in = &image->view;
    const bool is_swapped = orientation >= 5;
    const bool from_right = orientation == 2 || orientation == 3 || orientation >= 7;
    const bool from_bottom =
        orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;

    s2_image rotated;
    TRY(s2_image_create(is_swapped ? in->height : in->width, is_swapped ? in->width : in->height,
                        &rotated, error));

    /* One step along the source's x and y; a step right in the result is one or the other. */
    const ptrdiff_t along_x = from_right ? -3 : 3;
    const ptrdiff_t along_y = from_bottom ? -in->stride : in->stride;
    const ptrdiff_t right = is_swapped ? along_y : along_x;
    const ptrdiff_t down = is_swapped ? along_x : along_y;
    const uint8_t *first = in->pixels + (from_right ? 3 * ((ptrdiff_t)in->width - 1) : 0) +
                           (from_bottom ? in->stride * ((ptrdiff_t)in->height - 1) : 0);
    uint8_t *to = rotated.pixels;
    for (ptrdiff_t y = 0; y < rotated.view.height; y++)
        for (ptrdiff_t x = 0; x < rotated.view.width; x++, to += 3)
            memcpy(to, first + y * down + x * right, 3);

    rotated.format = image->format;
    rotated.stored =
        is_swapped ? (s2_size){ image->stored.height, image->stored.width } : image->stored;
    s2_image_free(image);
    *image = rotated;
    return S2P_OK;
}
