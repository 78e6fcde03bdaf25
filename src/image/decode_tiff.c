/* decode_tiff.c - the first page of a TIFF through libtiff, from memory.
 *
 * libtiff reads through callbacks; once the time is up they return nothing, so the
 * decoder ends. Its memory is bounded by the size that was admitted. Its sentences
 * are dropped; ours say what is known. A page is rotated as its tag says under both
 * policies, because Pillow does that too.
 */
#include "image/decoder.h"

#include <stdio.h> /* SEEK_SET */
#include <stdlib.h>
#include <string.h>

#include <tiffio.h>

#define MIN_ALLOCATION ((size_t)16 << 20)

typedef struct memory { /* what libtiff takes for a file */
    const s2_source *source;
    uint64_t at;
    bool is_cut, is_late;
} memory;

static tmsize_t read_bytes(thandle_t handle, void *to, tmsize_t n)
{
    memory *m = handle;
    if (s2_source_is_late(m->source)) m->is_late = true;
    if (n <= 0 || m->is_late) return 0;
    const uint64_t left = m->at < m->source->n_bytes ? m->source->n_bytes - m->at : 0;
    const uint64_t step = (uint64_t)n < left ? (uint64_t)n : left;
    if (step < (uint64_t)n) m->is_cut = true;
    if (step > 0) memcpy(to, m->source->bytes + m->at, (size_t)step);
    m->at += step;
    return (tmsize_t)step;
}

static tmsize_t write_bytes(thandle_t handle, void *from, tmsize_t n)
{
    (void)handle, (void)from, (void)n;
    return 0;
}

static toff_t seek_bytes(thandle_t handle, toff_t offset, int whence)
{
    memory *m = handle;
    m->at = whence == SEEK_CUR   ? m->at + offset
            : whence == SEEK_END ? m->source->n_bytes + offset
                                 : offset;
    return m->at;
}

static int close_bytes(thandle_t handle)
{
    (void)handle;
    return 0;
}

static toff_t count_bytes(thandle_t handle)
{
    const memory *m = handle;
    return m->source->n_bytes;
}

static int drop_message(TIFF *tiff, void *user, const char *module, const char *format,
                        va_list list)
{
    (void)tiff, (void)user, (void)module, (void)format, (void)list;
    return 1; /* handled */
}

static TIFF *open_tiff(memory *m)
{
    TIFFOpenOptions *options = TIFFOpenOptionsAlloc();
    if (!options) return NULL;
    const size_t most = 16 * m->source->n_bytes + MIN_ALLOCATION;
    const int64_t pixels = 16 * m->source->limits.max_pixels; /* bytes of a strip that is a page */
    TIFFOpenOptionsSetMaxSingleMemAlloc(
        options, (tmsize_t)((int64_t)most > pixels ? (int64_t)most : pixels));
    TIFFOpenOptionsSetErrorHandlerExtR(options, drop_message, NULL);
    TIFFOpenOptionsSetWarningHandlerExtR(options, drop_message, NULL);
    TIFF *tiff = TIFFClientOpenExt("picture", "rm", m, read_bytes, write_bytes, seek_bytes,
                                   close_bytes, count_bytes, NULL, NULL, options);
    TIFFOpenOptionsFree(options);
    return tiff;
}

static s2p_status explain_tiff(const memory *m, s2p_error *error)
{
    if (m->is_late) return s2_fail_late(m->source, "TIFF", error);
    if (m->is_cut)
        return s2_fail(error, S2P_EFORMAT, "TIFF is truncated after %zu bytes", m->source->n_bytes);
    return s2_fail(error, S2P_EFORMAT, "TIFF is damaged");
}

/* Strips or tiles as large as a page of the file may be, not larger: a tile of 65,536 pixels a side
 * in a picture of one pixel is refused here. */
static s2p_status check_pieces(const s2_source *source, TIFF *tiff, uint32_t width, uint32_t height,
                               s2p_error *error)
{
    uint32_t w = width, h = height;
    if (TIFFIsTiled(tiff)) {
        (void)TIFFGetField(tiff, TIFFTAG_TILEWIDTH, &w);
        (void)TIFFGetField(tiff, TIFFTAG_TILELENGTH, &h);
    }
    const int64_t most = source->limits.max_pixels;
    if (w >= 1 && h >= 1 && h <= most / w) return S2P_OK;
    return s2_fail(error, S2P_ELIMIT, "TIFF has tiles of %ux%u px; the limit is %lld pixels",
                   (unsigned)w, (unsigned)h, (long long)most);
}

/* Raw color next to alpha: libtiff would multiply them. Returns whether the file did already. */
static bool keep_alpha_apart(TIFF *tiff)
{
    uint16_t n = 0, *kinds = NULL;
    if (!TIFFGetField(tiff, TIFFTAG_EXTRASAMPLES, &n, &kinds) || n == 0) return false;
    const bool is_multiplied = kinds[0] == EXTRASAMPLE_ASSOCALPHA;
    if (kinds[0] == EXTRASAMPLE_UNASSALPHA) kinds[0] = EXTRASAMPLE_ASSOCALPHA;
    return is_multiplied;
}

/* libtiff's words of four samples become bytes of three, in place. */
static void unpack(uint32_t *raster, size_t n, bool is_multiplied, bool is_viewer)
{
    uint8_t *bytes = (uint8_t *)raster;
    for (size_t i = 0; i < n; i++) {
        const uint32_t word = raster[i];
        const unsigned alpha = TIFFGetA(word);
        uint8_t rgba[4] = { (uint8_t)TIFFGetR(word), (uint8_t)TIFFGetG(word),
                            (uint8_t)TIFFGetB(word), (uint8_t)alpha };
        for (size_t c = 0; is_multiplied && alpha > 0 && c < 3; c++) {
            const unsigned value = 255u * rgba[c] / alpha;
            rgba[c] = (uint8_t)(value > 255 ? 255 : value);
        }
        memcpy(bytes + (is_viewer ? 4 : 3) * i, rgba, is_viewer ? 4 : 3);
    }
    if (is_viewer) s2_canvas_flatten(bytes, n);
}

static s2p_status read_page(const memory *m, TIFF *tiff, s2_image *out, int *orientation,
                            s2p_error *error)
{
    const s2_source *source = m->source;
    uint32_t width = 0, height = 0;
    uint16_t turned = ORIENTATION_TOPLEFT;
    char why[1024] = "";
    (void)TIFFGetField(tiff, TIFFTAG_IMAGEWIDTH, &width);
    (void)TIFFGetField(tiff, TIFFTAG_IMAGELENGTH, &height);
    TRY(s2_source_admit(source, "TIFF", width, height, error));
    TRY(check_pieces(source, tiff, width, height, error));
    if (!TIFFRGBAImageOK(tiff, why))
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "TIFF has a layout or compression that is not supported; convert it, for "
                       "example with ImageMagick: convert FILE out.png");
    (void)TIFFGetFieldDefaulted(tiff, TIFFTAG_ORIENTATION, &turned);
    (void)TIFFSetField(tiff, TIFFTAG_ORIENTATION,
                       ORIENTATION_TOPLEFT); /* rows as they are stored */
    const bool is_multiplied = keep_alpha_apart(tiff);

    uint32_t *raster = (uint32_t *)(void *)s2_canvas_create(width, height, 4, error);
    if (!raster) return S2P_ENOMEM;
    const size_t n = (size_t)width * height;
    memset(raster, 0x80, 4 * n); /* rows may be missing */
    const bool is_whole = TIFFReadRGBAImageOriented(tiff, width, height, raster,
                                                    ORIENTATION_TOPLEFT, source->limits.strict);
    if (m->is_late || (source->limits.strict && (!is_whole || m->is_cut))) {
        free(raster);
        return explain_tiff(m, error);
    }
    unpack(raster, n, is_multiplied, source->pixels == S2_PIXELS_VIEWER);
    s2_image_adopt(out, (uint8_t *)raster, width, height, S2_FORMAT_TIFF);
    if (turned < 2 || turned > 8) return S2P_OK;
    *orientation = 1;
    const s2p_status st = s2_image_orient(out, turned, error);
    if (st != S2P_OK) s2_image_free(out);
    return st;
}

static s2p_status decode_tiff(const s2_source *source, s2_image *out, int *orientation,
                              s2p_error *error)
{
    memory m = { .source = source };
    TIFF *tiff = open_tiff(&m);
    if (!tiff) return explain_tiff(&m, error);
    const s2p_status st = read_page(&m, tiff, out, orientation, error);
    TIFFClose(tiff);
    return st;
}

static bool is_tiff(const s2_source *source)
{
    return s2_source_has(source, 0, "II*\0", 4) || s2_source_has(source, 0, "MM\0*", 4) ||
           s2_source_has(source, 0, "II+\0", 4) || s2_source_has(source, 0, "MM\0+", 4);
}

const s2_decoder s2_decoder_tiff = {
    .name = "a TIFF", .is_unbounded = true, .knows = is_tiff, .decode = decode_tiff
};
