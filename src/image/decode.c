/* decode.c - the one door for pictures from outside.
 *
 * The format comes from the first bytes, never from a name. What we do not read
 * is refused by its name, so that a user knows what to convert.
 */
#include "image/decode.h"

#include <string.h>
#include <time.h>

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

static bool starts_with(const s2_source *source, size_t at, const char *bytes, size_t n)
{
    return source->n_bytes >= at + n && memcmp(source->bytes + at, bytes, n) == 0;
}

static s2p_status refuse_foreign(const s2_source *source, s2p_error *error)
{
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        const struct magic *m = &foreign[i];
        if (starts_with(source, m->at, m->bytes, m->n))
            return s2_fail(error, S2P_EUNSUPPORTED,
                           "this is %s file; JPEG, PNG and WebP pictures are read", m->name);
    }
    return s2_fail(error, S2P_EFORMAT,
                   "not a picture: %zu bytes that begin like no JPEG, PNG or WebP file",
                   source->n_bytes);
}

static double now_seconds(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_MONOTONIC, &t) != 0) return 0.0;
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

bool s2_source_is_late(const s2_source *source)
{
    return now_seconds() - source->start > source->limits.max_seconds;
}

s2p_status s2_fail_late(const s2_source *source, const char *format, s2p_error *error)
{
    return s2_fail(error, S2P_ELIMIT, "%s took longer than %g s to decode", format,
                   source->limits.max_seconds);
}

s2p_status s2_source_admit(const s2_source *source, const char *format, int64_t width,
                           int64_t height, s2p_error *error)
{
    const s2_image_limits *limits = &source->limits;
    const long long w = width, h = height;
    if (width < 1 || height < 1)
        return s2_fail(error, S2P_EFORMAT, "%s header says %lldx%lld px", format, w, h);

    /* Pixels first: it is the limit people know and can raise. Both sides are below 2^32 in all
     * three formats, so the division is exact enough and nothing wraps. */
    if (height > limits->max_pixels / width)
        return s2_fail(error, S2P_ELIMIT,
                       "image is %lldx%lld px; the limit is %lld pixels (--max-image-pixels)", w, h,
                       (long long)limits->max_pixels);
    if (width > limits->max_side || height > limits->max_side)
        return s2_fail(error, S2P_ELIMIT, "image is %lldx%lld px; the limit is %d px per side", w,
                       h, (int)limits->max_side);
    const int64_t longer = width > height ? width : height;
    const int64_t shorter = width > height ? height : width;
    if (longer > shorter * limits->max_aspect)
        return s2_fail(error, S2P_ELIMIT,
                       "image is %lldx%lld px; the limit is an aspect ratio of %d to 1", w, h,
                       (int)limits->max_aspect);
    return S2P_OK;
}

s2p_status s2_image_decode(const void *bytes, size_t n_bytes, s2_pixels pixels,
                           const s2_image_limits *limits, s2_image *out, s2p_error *error)
{
    s2_source source = { .bytes = bytes, .n_bytes = n_bytes, .pixels = pixels };
    if (limits)
        source.limits = *limits;
    else
        s2_image_limits_init(&source.limits);
    source.start = now_seconds();

    if (!bytes || n_bytes == 0) return s2_fail(error, S2P_EFORMAT, "not a picture: 0 bytes");
    if (n_bytes > source.limits.max_bytes)
        return s2_fail(error, S2P_ELIMIT, "image is %zu bytes; the limit is %zu bytes", n_bytes,
                       source.limits.max_bytes);

    s2_image image = { 0 };
    int orientation = 1;
    s2p_status st;
    if (starts_with(&source, 0, "\xFF\xD8\xFF", 3))
        st = s2_decode_jpeg(&source, &image, &orientation, error);
    else if (starts_with(&source, 0, "\x89PNG\r\n\x1A\n", 8))
        st = s2_decode_png(&source, &image, &orientation, error);
    else if (starts_with(&source, 0, "RIFF", 4) && starts_with(&source, 8, "WEBP", 4))
        st = s2_decode_webp(&source, &image, &orientation, error);
    else
        st = refuse_foreign(&source, error);

    if (st == S2P_OK && pixels == S2_PIXELS_VIEWER)
        st = s2_image_orient(&image, orientation, error);
    if (st != S2P_OK) {
        s2_image_free(&image);
        return st;
    }
    *out = image;
    return S2P_OK;
}
