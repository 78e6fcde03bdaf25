/* decode_heif.c - HEIC and AVIF pictures through libheif, from memory.
 *
 * The size comes from the container and is admitted before anything is decoded; what
 * comes out is checked against it, because the coded picture may state another. libheif
 * rotates and mirrors by the container's own properties, which take the place of EXIF
 * orientation in these formats. It cannot be interrupted, so a server does not use it.
 */
#include "image/decoder.h"

#include <stdlib.h>
#include <string.h>

#include <libheif/heif.h>

static s2p_status explain_heif(struct heif_error why, const s2_source *source, s2p_error *error)
{
    switch (why.code) {
    case heif_error_Memory_allocation_error:
        if (why.subcode == heif_suberror_Security_limit_exceeded)
            return s2_fail(error, S2P_ELIMIT, "HEIF is beyond the decoder's limits");
        return s2_fail(error, S2P_ENOMEM, "out of memory in the HEIF decoder");
    case heif_error_Unsupported_filetype:
    case heif_error_Unsupported_feature:
    case heif_error_Decoder_plugin_error:
        if (why.subcode == heif_suberror_Unsupported_codec)
            return s2_fail(error, S2P_EUNSUPPORTED,
                           "this HEIF file uses a codec that libheif has no decoder for; convert "
                           "it to PNG or JPEG");
        break;
    default:
        break;
    }
    return s2_fail(error, S2P_EFORMAT, "HEIF is damaged or truncated (%zu bytes)", source->n_bytes);
}

/* Decoded pixels, as wide as admitted, to a canvas of their own. */
static s2p_status copy_pixels(const s2_source *source, const struct heif_image *decoded,
                              bool has_alpha, s2_image *out, s2p_error *error)
{
    const int width = heif_image_get_width(decoded, heif_channel_interleaved);
    const int height = heif_image_get_height(decoded, heif_channel_interleaved);
    TRY(s2_source_admit(source, "HEIF", width, height, error));
    int stride = 0;
    const uint8_t *from = heif_image_get_plane_readonly(decoded, heif_channel_interleaved, &stride);
    const int channels = has_alpha ? 4 : 3;
    if (!from || stride < channels * width)
        return s2_fail(error, S2P_EFORMAT, "HEIF picture has no pixels");
    uint8_t *pixels = s2_canvas_create(width, height, channels, error);
    if (!pixels) return S2P_ENOMEM;
    const size_t n_row = (size_t)channels * (size_t)width;
    for (int y = 0; y < height; y++)
        memcpy(pixels + n_row * (size_t)y, from + (ptrdiff_t)stride * y, n_row);
    if (has_alpha) s2_canvas_flatten(pixels, (size_t)width * (size_t)height);
    s2_image_adopt(out, pixels, width, height, S2_FORMAT_HEIF);
    return S2P_OK;
}

static s2p_status read_primary(const s2_source *source, struct heif_context *context, s2_image *out,
                               s2p_error *error)
{
    struct heif_image_handle *handle = NULL;
    struct heif_image *decoded = NULL;
    struct heif_error why =
        heif_context_read_from_memory_without_copy(context, source->bytes, source->n_bytes, NULL);
    if (why.code == heif_error_Ok) why = heif_context_get_primary_image_handle(context, &handle);
    s2p_status st = S2P_OK;
    bool has_alpha = false;
    if (why.code == heif_error_Ok) {
        st = s2_source_admit(source, "HEIF", heif_image_handle_get_width(handle),
                             heif_image_handle_get_height(handle), error);
        has_alpha =
            source->pixels == S2_PIXELS_VIEWER && heif_image_handle_has_alpha_channel(handle) != 0;
    }
    if (st == S2P_OK && why.code == heif_error_Ok) {
        struct heif_decoding_options *options = heif_decoding_options_alloc();
        if (options) {
            options->convert_hdr_to_8bit = 1;
            why = heif_decode_image(
                handle, &decoded, heif_colorspace_RGB,
                has_alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, options);
            heif_decoding_options_free(options);
        } else {
            st = s2_fail(error, S2P_ENOMEM, "out of memory in the HEIF decoder");
        }
    }
    if (st == S2P_OK && why.code != heif_error_Ok) st = explain_heif(why, source, error);
    if (st == S2P_OK) st = copy_pixels(source, decoded, has_alpha, out, error);
    heif_image_release(decoded);
    heif_image_handle_release(handle);
    return st;
}

static s2p_status decode_heif(const s2_source *source, s2_image *out, int *orientation,
                              s2p_error *error)
{
    (void)orientation;
    struct heif_context *context = heif_context_alloc();
    if (!context) return s2_fail(error, S2P_ENOMEM, "out of memory in the HEIF decoder");
    const int64_t most = source->limits.max_side;
    heif_context_set_maximum_image_size_limit(context, most > INT32_MAX ? INT32_MAX : (int)most);
    const s2p_status st = read_primary(source, context, out, error);
    heif_context_free(context);
    return st;
}

static bool is_heif(const s2_source *source)
{
    static const char *const brands[] = { "ftypheic", "ftypheix", "ftypheim",
                                          "ftypheis", "ftypmif1", "ftypavif" };
    for (size_t i = 0; i < sizeof brands / sizeof *brands; i++)
        if (s2_source_has(source, 4, brands[i], 8)) return true;
    return false;
}

const s2_decoder s2_decoder_heif = {
    .name = "a HEIC or AVIF", .is_unbounded = true, .knows = is_heif, .decode = decode_heif
};
