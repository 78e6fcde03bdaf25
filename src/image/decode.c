/* decode.c - the one door for pictures from outside.
 *
 * The format comes from the first bytes, never from a name. What we do not read
 * is refused by its name, so that a user knows what to convert.
 */
#include "image/image.h"

#include "base/clock.h"
#include "base/file.h"
#include "image/decoder.h"

#include <string.h>

extern const s2_decoder s2_decoder_jpeg;
extern const s2_decoder s2_decoder_png;
extern const s2_decoder s2_decoder_webp;

static const s2_decoder *const decoders[] = { &s2_decoder_jpeg, &s2_decoder_png, &s2_decoder_webp };

/* First bytes of files people do hand over. `at` skips bytes that vary. */
static const struct magic {
    const char *name;
    size_t at, n;
    const char *bytes;
} foreign[] = {
    { "a GIF", 0, 4, "GIF8" },
    { "a BMP", 0, 2, "BM" },
    { "a TIFF", 0, 4, "II*\0" },
    { "a TIFF", 0, 4, "MM\0*" },
    { "a BigTIFF", 0, 4, "II+\0" },
    { "a BigTIFF", 0, 4, "MM\0+" },
    { "an AVIF", 4, 8, "ftypavif" },
    { "an AVIF sequence", 4, 8, "ftypavis" },
    { "a HEIC", 4, 7, "ftyphei" }, /* heic, heix, heim, heis */
    { "a HEIC", 4, 7, "ftyphev" },
    { "a HEIF", 4, 8, "ftypmif1" },
    { "a HEIF", 4, 8, "ftypmsf1" },
    { "an MP4 or QuickTime video", 4, 4, "ftyp" },
    { "a JPEG XL", 0, 2, "\xFF\x0A" },
    { "a JPEG XL", 0, 8, "\0\0\0\x0CJXL " },
    { "a JPEG 2000", 0, 8, "\0\0\0\x0CjP  " },
    { "a JPEG 2000", 0, 4, "\xFF\x4F\xFF\x51" },
    { "a Photoshop", 0, 4, "8BPS" },
    { "a Windows icon", 0, 4, "\0\0\1\0" },
    { "an OpenEXR", 0, 4, "\x76\x2F\x31\x01" },
    { "a DirectDraw surface", 0, 4, "DDS " },
    { "a QOI", 0, 4, "qoif" },
    { "a MNG", 0, 4, "\x8AMNG" },
    { "a JNG", 0, 4, "\x8BJNG" },
    { "a PDF", 0, 5, "%PDF-" },
    { "a PostScript", 0, 4, "%!PS" },
    { "an SVG", 0, 4, "<svg" },
    { "an XML or SVG", 0, 5, "<?xml" },
    { "an HTML", 0, 5, "<!DOC" },
    { "an HTML", 0, 5, "<html" },
    { "a PNM", 0, 2, "P4" },
    { "a PNM", 0, 2, "P5" },
    { "a PNM", 0, 2, "P6" },
};

static s2p_status refuse_foreign(const s2_source *source, s2p_error *error)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const struct magic *m = &foreign[i];
        if (s2_source_has(source, m->at, m->bytes, m->n))
            return s2_fail(error, S2P_EUNSUPPORTED,
                           "this is %s file; JPEG, PNG and WebP pictures are read", m->name);
    }
    return s2_fail(error, S2P_EFORMAT,
                   "not a picture: %zu bytes that begin like no JPEG, PNG or WebP file",
                   source->n_bytes);
}

void s2_image_limits_init(s2_image_limits *limits)
{
    *limits = (s2_image_limits){
        .max_bytes = (size_t)20 << 20,
        .max_pixels = (int64_t)1 << 25,
        .max_side = 16384,
        .max_aspect = 200,
        .max_scans = 500,
        .max_seconds = 5.0,
        .strict = true,
    };
}

/* Let the decoder of its format loose on the bytes. */
static s2p_status decode_any(s2_source *source, const s2_image_limits *limits, s2_image *out,
                             int *orientation, s2p_error *error)
{
    if (limits)
        source->limits = *limits;
    else
        s2_image_limits_init(&source->limits);
    source->start_ms = s2_now_ms();

    if (!source->bytes || source->n_bytes == 0)
        return s2_fail(error, S2P_EFORMAT, "not a picture: 0 bytes");
    if (source->n_bytes > source->limits.max_bytes)
        return s2_fail(error, S2P_ELIMIT, "image is %zu bytes; the limit is %zu bytes",
                       source->n_bytes, source->limits.max_bytes);

    const s2_decoder *decoder = NULL;
    for (size_t i = 0; i < sizeof decoders / sizeof *decoders; i++)
        if (decoders[i]->knows(source)) decoder = decoders[i];
    return decoder ? decoder->decode(source, out, orientation, error)
                   : refuse_foreign(source, error);
}

s2p_status s2_image_measure(const void *bytes, size_t n_bytes, s2_size *out, s2p_error *error)
{
    s2_source source = { .bytes = bytes, .n_bytes = n_bytes, .measured = out };
    s2_image image = { 0 };
    int orientation = 1;
    const s2p_status st = decode_any(&source, NULL, &image, &orientation, error);
    s2_image_free(&image);
    return st == S2P_ECANCELLED ? S2P_OK : st;
}

s2p_status s2_image_decode(const void *bytes, size_t n_bytes, s2_pixels pixels,
                           const s2_image_limits *limits, s2_image *out, s2p_error *error)
{
    s2_source source = { .bytes = bytes, .n_bytes = n_bytes, .pixels = pixels };
    s2_image image = { 0 };
    int orientation = 1;
    s2p_status st = decode_any(&source, limits, &image, &orientation, error);
    if (st == S2P_OK && pixels == S2_PIXELS_VIEWER)
        st = s2_image_orient(&image, orientation, error);
    if (st != S2P_OK) {
        s2_image_free(&image);
        return st;
    }
    *out = image;
    return S2P_OK;
}

s2p_status s2_image_load(const char *path, s2_pixels pixels, const s2_image_limits *limits,
                         s2_image *out, s2p_error *error)
{
    s2_image_limits defaults;
    s2_image_limits_init(&defaults);
    if (!limits) limits = &defaults;

    s2_buffer file;
    s2_buffer_init(&file, limits->max_bytes);
    s2p_status st = s2_file_read(path, &file, error);
    if (st == S2P_OK) {
        s2p_error inner = { S2P_OK, "" };
        st = s2_image_decode(file.data, file.size, pixels, limits, out, &inner);
        if (st != S2P_OK)
            (void)s2_fail(error, st, "%s: %s", strcmp(path, "-") == 0 ? "standard input" : path,
                          inner.message);
    }
    s2_buffer_free(&file);
    return st;
}
