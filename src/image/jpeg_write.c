/* jpeg_write.c - JPEG through libjpeg-turbo's libjpeg API, the encoder Pillow uses.
 *
 * As in decode_jpeg.c, errors leave by longjmp and all state lives in the caller's frame.
 */
#include "image/image.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdio.h> /* jpeglib.h needs FILE */
#include <stdlib.h>

#include <jpeglib.h>

typedef struct writer {
    struct jpeg_compress_struct jpeg;
    struct jpeg_error_mgr errors;
    jmp_buf leave;
    unsigned char *bytes; /* libjpeg's own memory: free() */
    unsigned long n_bytes;
} writer;

_Noreturn static void leave(j_common_ptr jpeg)
{
    writer *w = jpeg->client_data;
    longjmp(w->leave, 1);
}

static void say_nothing(j_common_ptr jpeg) { (void)jpeg; }

/* false: libjpeg gave up. */
static bool write_jpeg(writer *w, const s2p_image *image, int32_t quality)
{
    if (setjmp(w->leave) != 0) return false;
    jpeg_create_compress(&w->jpeg);
    jpeg_mem_dest(&w->jpeg, &w->bytes, &w->n_bytes);
    w->jpeg.image_width = (JDIMENSION)image->width;
    w->jpeg.image_height = (JDIMENSION)image->height;
    w->jpeg.input_components = 3;
    w->jpeg.in_color_space = JCS_RGB;
    jpeg_set_defaults(&w->jpeg);
    jpeg_set_quality(&w->jpeg, quality, TRUE);
    jpeg_start_compress(&w->jpeg, TRUE);
    while (w->jpeg.next_scanline < w->jpeg.image_height) {
        JSAMPROW row =
            (JSAMPROW)(uintptr_t)(image->pixels + image->stride * (ptrdiff_t)w->jpeg.next_scanline);
        (void)jpeg_write_scanlines(&w->jpeg, &row, 1);
    }
    jpeg_finish_compress(&w->jpeg);
    return true;
}

s2p_status s2_jpeg_encode(const s2p_image *image, int32_t quality, s2_buffer *out, s2p_error *error)
{
    writer w = { .bytes = NULL };
    if (image->width < 1 || image->height < 1 || image->width > JPEG_MAX_DIMENSION ||
        image->height > JPEG_MAX_DIMENSION || quality < 1 || quality > 100)
        return s2_fail(error, S2P_EINVAL, "cannot write a JPEG of %dx%d px and quality %d",
                       (int)image->width, (int)image->height, (int)quality);
    w.jpeg.err = jpeg_std_error(&w.errors);
    w.errors.error_exit = leave;
    w.errors.output_message = say_nothing;
    w.jpeg.client_data = &w;
    const bool is_written = write_jpeg(&w, image, quality);
    jpeg_destroy_compress(&w.jpeg);
    if (is_written) s2_buffer_append(out, w.bytes, w.n_bytes);
    free(w.bytes);
    if (!is_written)
        return s2_fail(error, S2P_ENOMEM, "out of memory while writing a JPEG of %dx%d px",
                       (int)image->width, (int)image->height);
    return out->status == S2P_OK
               ? S2P_OK
               : s2_fail(error, out->status, "JPEG of %dx%d px is larger than %zu bytes",
                         (int)image->width, (int)image->height, out->max);
}
