/* png_write.c - 8-bit RGB PNG through libspng, row by row into a buffer. */
#include "image/image.h"

#include <spng.h>

static int write_bytes(spng_ctx *ctx, void *user, void *bytes, size_t n)
{
    (void)ctx;
    s2_buffer *out = user;
    s2_buffer_append(out, bytes, n);
    return out->status == S2P_OK ? SPNG_OK : SPNG_IO_ERROR;
}

static int write_picture(spng_ctx *ctx, const s2p_image *image, s2_buffer *out)
{
    struct spng_ihdr head = { .width = (uint32_t)image->width,
                              .height = (uint32_t)image->height,
                              .bit_depth = 8,
                              .color_type = SPNG_COLOR_TYPE_TRUECOLOR };
    int code = spng_set_png_stream(ctx, write_bytes, out);
    if (code == SPNG_OK) code = spng_set_ihdr(ctx, &head);
    if (code == SPNG_OK)
        code = spng_encode_image(ctx, NULL, 0, SPNG_FMT_PNG,
                                 SPNG_ENCODE_PROGRESSIVE | SPNG_ENCODE_FINALIZE);
    for (int32_t y = 0; y < image->height && code == SPNG_OK; y++)
        code = spng_encode_row(ctx, image->pixels + image->stride * y, (size_t)3 * head.width);
    return code;
}

s2p_status s2_png_encode(const s2p_image *image, s2_buffer *out, s2p_error *error)
{
    if (image->width < 1 || image->height < 1)
        return s2_fail(error, S2P_EINVAL, "cannot write a PNG of %dx%d px", (int)image->width,
                       (int)image->height);
    spng_ctx *ctx = spng_ctx_new(SPNG_CTX_ENCODER);
    const int code = ctx ? write_picture(ctx, image, out) : SPNG_EMEM;
    spng_ctx_free(ctx);
    if (code == SPNG_EOI) return S2P_OK; /* libspng's word for: the last row is written */
    if (out->status == S2P_ELIMIT)
        return s2_fail(error, S2P_ELIMIT, "PNG of %dx%d px is larger than %zu bytes",
                       (int)image->width, (int)image->height, out->max);
    return s2_fail(error, S2P_ENOMEM, "out of memory while writing a PNG of %dx%d px",
                   (int)image->width, (int)image->height);
}
