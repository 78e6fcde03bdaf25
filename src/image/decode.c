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
extern const s2_decoder s2_decoder_gif;
extern const s2_decoder s2_decoder_bmp;
extern const s2_decoder s2_decoder_tiff;
extern const s2_decoder s2_decoder_heif;

static const s2_decoder *const decoders[] = {
    &s2_decoder_jpeg, &s2_decoder_png, &s2_decoder_webp, &s2_decoder_gif, &s2_decoder_bmp,
#if S2_HAS_TIFF
    &s2_decoder_tiff,
#endif
#if S2_HAS_HEIF
    &s2_decoder_heif,
#endif
};

#define BY_IMAGEMAGICK "convert FILE out.png"
#define BY_HEIF "heif-convert FILE out.png"

/* First bytes of files people do hand over, and the command that makes a picture of them. `at` skips
 * bytes that vary. Formats we read are listed too, for builds without their library. */
static const struct magic {
    const char *name;
    size_t at, n;
    const char *bytes;
    const char *command; /* NULL: nothing to convert */
} foreign[] = {
    { "a TIFF", 0, 4, "II*\0", BY_IMAGEMAGICK },
    { "a TIFF", 0, 4, "MM\0*", BY_IMAGEMAGICK },
    { "a BigTIFF", 0, 4, "II+\0", BY_IMAGEMAGICK },
    { "a BigTIFF", 0, 4, "MM\0+", BY_IMAGEMAGICK },
    { "an AVIF", 4, 8, "ftypavif", BY_HEIF },
    { "an AVIF sequence", 4, 8, "ftypavis", "ffmpeg -i FILE -frames:v 1 out.png" },
    { "a HEIC", 4, 7, "ftyphei", BY_HEIF }, /* heic, heix, heim, heis */
    { "a HEIC", 4, 7, "ftyphev", BY_HEIF },
    { "a HEIF", 4, 8, "ftypmif1", BY_HEIF },
    { "a HEIF", 4, 8, "ftypmsf1", BY_HEIF },
    { "an MP4 or QuickTime video", 4, 4, "ftyp", "ffmpeg -i FILE -frames:v 1 out.png" },
    { "a JPEG XL", 0, 2, "\xFF\x0A", "djxl FILE out.png" },
    { "a JPEG XL", 0, 8, "\0\0\0\x0CJXL ", "djxl FILE out.png" },
    { "a JPEG 2000", 0, 8, "\0\0\0\x0CjP  ", "opj_decompress -i FILE -o out.png" },
    { "a JPEG 2000", 0, 4, "\xFF\x4F\xFF\x51", "opj_decompress -i FILE -o out.png" },
    { "a Photoshop", 0, 4, "8BPS", "convert 'FILE[0]' out.png" },
    { "a Windows icon", 0, 4, "\0\0\1\0", "convert 'FILE[0]' out.png" },
    { "an OpenEXR", 0, 4, "\x76\x2F\x31\x01", BY_IMAGEMAGICK },
    { "a DirectDraw surface", 0, 4, "DDS ", BY_IMAGEMAGICK },
    { "a QOI", 0, 4, "qoif", "ffmpeg -i FILE out.png" },
    { "a MNG", 0, 4, "\x8AMNG", "convert 'FILE[0]' out.png" },
    { "a JNG", 0, 4, "\x8BJNG", BY_IMAGEMAGICK },
    { "a PDF", 0, 5, "%PDF-", "pdftoppm -png -r 150 -f 1 -singlefile FILE out" },
    { "a PostScript", 0, 4, "%!PS", "gs -q -o out.png -sDEVICE=png16m -r150 FILE" },
    { "an SVG", 0, 4, "<svg", "rsvg-convert -o out.png FILE" },
    { "an XML or SVG", 0, 5, "<?xml", "rsvg-convert -o out.png FILE" },
    { "an HTML", 0, 5, "<!DOC", NULL },
    { "an HTML", 0, 5, "<html", NULL },
    { "a PNM", 0, 2, "P4", BY_IMAGEMAGICK },
    { "a PNM", 0, 2, "P5", BY_IMAGEMAGICK },
    { "a PNM", 0, 2, "P6", BY_IMAGEMAGICK },
};

static s2p_status refuse_foreign(const s2_source *source, s2p_error *error)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const struct magic *m = &foreign[i];
        if (!s2_source_has(source, m->at, m->bytes, m->n)) continue;
        return m->command
                   ? s2_fail(error, S2P_EUNSUPPORTED,
                             "this is %s file, which is not supported; convert it: %s", m->name,
                             m->command)
                   : s2_fail(error, S2P_EUNSUPPORTED, "this is %s file, not a picture", m->name);
    }
    return s2_fail(error, S2P_EFORMAT,
                   "not a picture: %zu bytes, but not a JPEG, PNG, WebP, GIF or BMP file",
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

void s2_image_limits_local(s2_image_limits *limits, int64_t max_pixels)
{
    s2_image_limits_init(limits);
    limits->max_bytes = (size_t)512 << 20;
    limits->reduce_pixels = limits->max_pixels;
    limits->max_pixels = max_pixels;
    limits->max_side = 65535;
    limits->max_seconds = 60.0;
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
    if (decoder && decoder->is_unbounded && source->limits.bounded) decoder = NULL;
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
