/* decode_webp.c - still WebP pictures through libwebp's incremental decoder.
 *
 * The file is in memory; it is shown to the decoder in growing pieces, so that
 * the clock can be read in between and a cut file gives the rows it has.
 */
#include "image/decoder.h"

#include <stdlib.h>
#include <string.h>

#include <webp/decode.h>

#define RIFF_HEAD_BYTES 12u
#define CHUNK_HEAD_BYTES 8u
#define PIECE_BYTES ((size_t)64 << 10)

static s2p_status explain_webp(VP8StatusCode code, const s2_source *source, s2p_error *error)
{
    switch (code) {
    case VP8_STATUS_OUT_OF_MEMORY:
        return s2_fail(error, S2P_ENOMEM, "out of memory in the WebP decoder");
    case VP8_STATUS_UNSUPPORTED_FEATURE:
        return s2_fail(error, S2P_EUNSUPPORTED, "WebP uses a feature that is not supported");
    case VP8_STATUS_SUSPENDED:
    case VP8_STATUS_NOT_ENOUGH_DATA:
        return s2_fail(error, S2P_EFORMAT, "WebP is truncated after %zu bytes", source->n_bytes);
    default:
        return s2_fail(error, S2P_EFORMAT, "WebP is damaged (code %d)", (int)code);
    }
}

static size_t read_le32(const uint8_t *p)
{
    return (size_t)p[0] | (size_t)p[1] << 8 | (size_t)p[2] << 16 | (size_t)p[3] << 24;
}

/* RIFF: chunks of type, little-endian length, data padded to even. EXIF comes after the picture. */
static int find_orientation(const s2_source *source)
{
    const uint8_t *bytes = source->bytes;
    size_t at = RIFF_HEAD_BYTES;
    while (at <= source->n_bytes && source->n_bytes - at >= CHUNK_HEAD_BYTES) {
        const uint8_t *head = bytes + at;
        const size_t n = read_le32(head + 4);
        at += CHUNK_HEAD_BYTES;
        if (n > source->n_bytes - at) break;
        if (memcmp(head, "EXIF", 4) == 0) return s2_exif_orientation(bytes + at, n);
        at += n + (n & 1);
    }
    return 1;
}

/* Decode all that is there. A cut file is fine when not strict: its missing rows are gray. */
static s2p_status read_webp_rows(const s2_source *source, WebPIDecoder *decoder, uint8_t *pixels,
                                 size_t stride, int height, s2p_error *error)
{
    VP8StatusCode code = VP8_STATUS_SUSPENDED;
    for (size_t shown = 0; shown < source->n_bytes && code == VP8_STATUS_SUSPENDED;) {
        const size_t left = source->n_bytes - shown;
        shown += left < PIECE_BYTES ? left : PIECE_BYTES;
        code = WebPIUpdate(decoder, source->bytes, shown);
        if (s2_source_is_late(source)) return s2_fail_late(source, "WebP", error);
    }
    if (code == VP8_STATUS_OK) return S2P_OK;
    if (code != VP8_STATUS_SUSPENDED || source->limits.strict)
        return explain_webp(code, source, error);

    int n_rows = 0;
    if (!WebPIDecGetRGB(decoder, &n_rows, NULL, NULL, NULL)) n_rows = 0;
    memset(pixels + stride * (size_t)n_rows, 128, stride * (size_t)(height - n_rows));
    return S2P_OK;
}

static s2p_status decode_webp(const s2_source *source, s2_image *out, int *orientation,
                              s2p_error *error)
{
    WebPBitstreamFeatures features;
    const VP8StatusCode code = WebPGetFeatures(source->bytes, source->n_bytes, &features);
    if (code != VP8_STATUS_OK) return explain_webp(code, source, error);
    TRY(s2_source_admit(source, "WebP", features.width, features.height, error));
    if (features.has_animation)
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "animated WebP is not supported; convert it to a still picture");

    const size_t n_riff = read_le32(source->bytes + 4); /* of what follows these 8 bytes */
    if (source->limits.strict && n_riff > source->n_bytes - 8)
        return explain_webp(VP8_STATUS_NOT_ENOUGH_DATA, source, error);

    const bool with_alpha = features.has_alpha && source->pixels == S2_PIXELS_VIEWER;
    const int channels = with_alpha ? 4 : 3;
    uint8_t *pixels = s2_canvas_create(features.width, features.height, channels, error);
    if (!pixels) return S2P_ENOMEM;
    const size_t stride = (size_t)channels * (size_t)features.width;
    WebPIDecoder *decoder = WebPINewRGB(with_alpha ? MODE_RGBA : MODE_RGB, pixels,
                                        stride * (size_t)features.height, (int)stride);
    const s2p_status st =
        decoder ? read_webp_rows(source, decoder, pixels, stride, features.height, error)
                : explain_webp(VP8_STATUS_OUT_OF_MEMORY, source, error);
    WebPIDelete(decoder);
    if (st != S2P_OK) {
        free(pixels);
        return st;
    }
    if (with_alpha) s2_canvas_flatten(pixels, (size_t)features.width * (size_t)features.height);
    s2_image_adopt(out, pixels, features.width, features.height, S2_FORMAT_WEBP);
    if (source->pixels == S2_PIXELS_VIEWER) *orientation = find_orientation(source);
    return S2P_OK;
}

static bool is_webp(const s2_source *source)
{
    return s2_source_has(source, 0, "RIFF", 4) && s2_source_has(source, 8, "WEBP", 4);
}

const s2_decoder s2_decoder_webp = { .name = "a WebP", .knows = is_webp, .decode = decode_webp };
