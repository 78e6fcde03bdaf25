/* display.c - a picture in a terminal.
 *
 * kitty: the PNG itself, base64 in escape sequences of at most 4096 characters.
 * Blocks: each character is two pixels, the upper half block in one color over the
 * background in the other. ASCII: ten shades. Two pixel rows to a character row in
 * all of them, since a character is about twice as high as wide.
 */
#include "image/draw/display.h"

#include "image/base64.h"
#include "image/image.h"

#include <stdlib.h>
#include <string.h>

#define KITTY_CHUNK 4096u
#define MAX_COLUMNS 1000
#define MAX_TALL 4 /* pixel rows per column; narrower beyond that */

static s2p_status render_kitty(const s2p_image *picture, int32_t columns, s2_buffer *out,
                               s2p_error *error)
{
    s2_buffer png, text;
    s2_buffer_init(&png, out->max);
    s2_buffer_init(&text, out->max);
    s2p_status st = s2_png_encode(picture, &png, error);
    if (st == S2P_OK) s2_base64_append(&text, png.data, png.size);
    if (st == S2P_OK && text.status != S2P_OK)
        st = s2_fail(error, text.status, "picture too large");
    for (size_t at = 0; st == S2P_OK && at < text.size; at += KITTY_CHUNK) {
        const size_t left = text.size - at;
        const size_t n = left < KITTY_CHUNK ? left : KITTY_CHUNK;
        const int has_more = left > n;
        /* f=100: PNG; a=T: show it; c: columns; q=2: no answer from the terminal */
        if (at == 0)
            s2_buffer_printf(out, "\033_Ga=T,f=100,q=2,c=%d,m=%d;", (int)columns, has_more);
        else
            s2_buffer_printf(out, "\033_Gm=%d;", has_more);
        s2_buffer_append(out, text.data + at, n);
        s2_buffer_append(out, "\033\\", 2);
    }
    s2_buffer_append(out, "\n", 1);
    s2_buffer_free(&text);
    s2_buffer_free(&png);
    return st;
}

static void append_blocks(const s2p_image *image, s2_buffer *out)
{
    for (int32_t y = 0; y < image->height; y += 2) {
        const uint8_t *upper = image->pixels + image->stride * y, *lower = upper + image->stride;
        for (int32_t x = 0; x < image->width; x++, upper += 3, lower += 3) {
            if (x == 0 || memcmp(upper, upper - 3, 3) != 0)
                s2_buffer_printf(out, "\033[38;2;%d;%d;%dm", upper[0], upper[1], upper[2]);
            if (x == 0 || memcmp(lower, lower - 3, 3) != 0)
                s2_buffer_printf(out, "\033[48;2;%d;%d;%dm", lower[0], lower[1], lower[2]);
            s2_buffer_append(out, "\xE2\x96\x80", 3); /* U+2580 upper half block */
        }
        s2_buffer_append(out, "\033[0m\n", 5);
    }
}

static s2p_status append_ascii(const s2p_image *image, s2_buffer *out, s2p_error *error)
{
    static const char shades[] = " .:-=+*#%@";
    const size_t n = (size_t)image->width * (size_t)image->height;
    uint8_t *gray = malloc(n);
    if (!gray) return s2_fail_memory(error, n, "a gray picture");
    s2_image_gray(image, gray);
    for (int32_t y = 0; y < image->height; y += 2) {
        const uint8_t *upper = gray + (size_t)y * (size_t)image->width;
        for (int32_t x = 0; x < image->width; x++)
            s2_buffer_append(out, &shades[(upper[x] + upper[x + image->width]) * 10 / 511], 1);
        s2_buffer_append(out, "\n", 1);
    }
    free(gray);
    return S2P_OK;
}

s2p_status s2_display_render(const s2p_image *picture, s2_display how, int32_t columns,
                             s2_buffer *out, s2p_error *error)
{
    if (how == S2_DISPLAY_NONE) return S2P_OK;
    if (columns < 1 || picture->width < 1 || picture->height < 1)
        return s2_fail(error, S2P_EINVAL, "cannot show %dx%d px in %d columns", (int)picture->width,
                       (int)picture->height, (int)columns);
    if (columns > MAX_COLUMNS) columns = MAX_COLUMNS;
    if (how == S2_DISPLAY_KITTY) {
        TRY(render_kitty(picture, columns, out, error));
    } else {
        int64_t wide = columns;
        int64_t high = (wide * picture->height + picture->width / 2) / picture->width;
        if (high > MAX_TALL * wide) {
            high = MAX_TALL * wide;
            wide = (high * picture->width + picture->height / 2) / picture->height;
        }
        s2_image small;
        TRY(s2_image_resize(picture, (int32_t)(wide > 0 ? wide : 1),
                            (int32_t)((high + 1) / 2 * 2 > 0 ? (high + 1) / 2 * 2 : 2), &small,
                            error));
        s2p_status st = S2P_OK;
        if (how == S2_DISPLAY_BLOCKS)
            append_blocks(&small.view, out);
        else
            st = append_ascii(&small.view, out, error);
        s2_image_free(&small);
        if (st != S2P_OK) return st;
    }
    return out->status == S2P_OK
               ? S2P_OK
               : s2_fail(error, out->status, "the picture for the terminal is too large");
}
