/* decode_bmp.c - Windows and OS/2 bitmaps, our own decoder.
 *
 * 1, 4 and 8 bits with a palette, plain or run-length encoded; 16, 24 and 32 bits
 * with the usual or given masks. Rows are stored from the bottom up unless the height
 * is negative, and are padded to four bytes. A sample of n bits becomes v * 255 / max, as in Pillow.
 */
#include "image/decoder.h"

#include <stdlib.h>
#include <string.h>

#define FILE_HEAD_BYTES 14u
#define CORE_HEAD_BYTES 12u
#define INFO_HEAD_BYTES 40u
#define MASKS_AT (FILE_HEAD_BYTES + INFO_HEAD_BYTES)

enum { RAW = 0, RLE8 = 1, RLE4 = 2, BITFIELDS = 3, ALPHA_BITFIELDS = 6 };

typedef struct mask {
    uint32_t max; /* largest sample; 0: the channel is absent */
    unsigned shift;
} mask;

typedef struct bmp {
    const s2_source *source;
    int64_t width, height;
    bool is_top_down;
    uint32_t n_bits, compression;
    size_t data; /* where the rows begin */
    uint8_t palette[256][3];
    mask channel[4]; /* red, green, blue, alpha */
} bmp;

static s2p_status fail_cut(const s2_source *source, s2p_error *error)
{
    return s2_fail(error, S2P_EFORMAT, "BMP is truncated after %zu bytes", source->n_bytes);
}

static uint32_t read_le(const uint8_t *p, size_t n)
{
    uint32_t value = 0;
    for (size_t i = n; i > 0; i--) value = value << 8 | p[i - 1];
    return value;
}

static bool read_mask(uint32_t bits, mask *out)
{
    *out = (mask){ 0, 0 };
    if (bits == 0) return true;
    while (!(bits & 1)) bits >>= 1, out->shift++;
    out->max = bits;
    return (bits & (bits + 1)) == 0; /* without holes */
}

/* Masks of 16, 24 and 32 bits: given after or in the header, or the usual ones. */
static s2p_status read_masks(bmp *b, size_t n_head, s2p_error *error)
{
    const bool is_given = b->compression == BITFIELDS || b->compression == ALPHA_BITFIELDS;
    uint32_t bits[4] = { 0xFF0000, 0xFF00, 0xFF, 0 };
    if (b->n_bits == 16) bits[0] = 0x7C00, bits[1] = 0x3E0, bits[2] = 0x1F;
    if (is_given) {
        const size_t n = n_head >= 56 || b->compression == ALPHA_BITFIELDS ? 4 : 3;
        if (b->source->n_bytes < MASKS_AT + 4 * n) return fail_cut(b->source, error);
        uint32_t given[4] = { 0, 0, 0, 0 };
        for (size_t i = 0; i < n; i++) given[i] = read_le(b->source->bytes + MASKS_AT + 4 * i, 4);
        if (given[0] | given[1] | given[2]) memcpy(bits, given, sizeof bits);
    }
    for (size_t i = 0; i < 4; i++)
        if (!read_mask(bits[i], &b->channel[i]))
            return s2_fail(error, S2P_EFORMAT, "BMP mask 0x%08X is not contiguous",
                           (unsigned)bits[i]);
    return S2P_OK;
}

static s2p_status read_bmp_palette(bmp *b, size_t n_head, uint32_t n_colours, s2p_error *error)
{
    const size_t entry = n_head == CORE_HEAD_BYTES ? 3 : 4;
    const size_t most = (size_t)1 << b->n_bits;
    const size_t n = n_colours == 0 || n_colours > most ? most : n_colours;
    const size_t at = FILE_HEAD_BYTES + n_head;
    if ((b->source->n_bytes - at) / entry < n) return fail_cut(b->source, error);
    for (size_t i = 0; i < 256; i++) memset(b->palette[i], (int)i, 3);
    for (size_t i = 0; i < n; i++) {
        const uint8_t *bgr = b->source->bytes + at + entry * i;
        for (size_t c = 0; c < 3; c++) b->palette[i][c] = bgr[2 - c];
    }
    return S2P_OK;
}

static s2p_status check_kind(const bmp *b, s2p_error *error)
{
    const uint32_t n = b->n_bits, kind = b->compression;
    const bool is_raw =
        kind == RAW && (n == 1 || n == 4 || n == 8 || n == 16 || n == 24 || n == 32);
    const bool is_masked = (kind == BITFIELDS || kind == ALPHA_BITFIELDS) && (n == 16 || n == 32);
    if (is_raw || is_masked || (kind == RLE8 && n == 8) || (kind == RLE4 && n == 4)) return S2P_OK;
    return s2_fail(error, S2P_EUNSUPPORTED,
                   "BMP of %u bits per pixel with compression %u is not supported; convert it to "
                   "PNG",
                   (unsigned)n, (unsigned)kind);
}

static s2p_status read_bmp_head(bmp *b, s2p_error *error)
{
    const s2_source *source = b->source;
    const uint8_t *p = source->bytes;
    if (source->n_bytes < FILE_HEAD_BYTES + CORE_HEAD_BYTES) return fail_cut(source, error);
    const size_t n_head = read_le(p + 14, 4);
    const bool is_core = n_head == CORE_HEAD_BYTES;
    if (!is_core && n_head != 40 && n_head != 52 && n_head != 56 && n_head != 64 && n_head != 108 &&
        n_head != 124)
        return s2_fail(error, S2P_EFORMAT, "not a picture: a BMP header of %zu bytes is not valid",
                       n_head);
    if (source->n_bytes < FILE_HEAD_BYTES + n_head) return fail_cut(source, error);
    uint32_t n_colours = 0;
    b->data = read_le(p + 10, 4);
    b->width = is_core ? (int64_t)read_le(p + 18, 2) : (int32_t)read_le(p + 18, 4);
    b->height = is_core ? (int64_t)read_le(p + 20, 2) : (int32_t)read_le(p + 22, 4);
    b->n_bits = read_le(p + (is_core ? 24 : 28), 2);
    if (!is_core) {
        b->compression = read_le(p + 30, 4);
        n_colours = read_le(p + 46, 4);
    }
    b->is_top_down = b->height < 0;
    if (b->is_top_down) b->height = -b->height;
    TRY(s2_source_admit(source, "BMP", b->width, b->height, error));
    TRY(check_kind(b, error));
    return b->n_bits <= 8 ? read_bmp_palette(b, n_head, n_colours, error)
                          : read_masks(b, n_head, error);
}

/* A row of plain samples, with alpha when `channels` is 4. */
static void convert_row(const bmp *b, const uint8_t *from, uint8_t *to, size_t channels)
{
    const size_t n_bytes = b->n_bits / 8;
    for (size_t x = 0; x < (size_t)b->width; x++) {
        if (b->n_bits <= 8) {
            const size_t at = x * b->n_bits;
            const unsigned shift = 8 - b->n_bits - (unsigned)(at % 8);
            const unsigned index = (unsigned)from[at / 8] >> shift & ((1u << b->n_bits) - 1);
            memcpy(to + 3 * x, b->palette[index], 3);
            continue;
        }
        const uint32_t word = read_le(from + n_bytes * x, n_bytes);
        for (size_t c = 0; c < channels; c++) {
            const mask *m = &b->channel[c];
            const uint32_t sample = m->max ? word >> m->shift & m->max : 0;
            to[channels * x + c] =
                (uint8_t)(m->max ? (uint64_t)sample * 255 / m->max : (c == 3 ? 255 : 0));
        }
    }
}

static uint8_t *row_of(const bmp *b, uint8_t *pixels, int64_t row, size_t channels)
{
    const int64_t y = b->is_top_down ? row : b->height - 1 - row;
    return pixels + (size_t)y * (size_t)b->width * channels;
}

static s2p_status read_bmp_rows(const bmp *b, uint8_t *pixels, size_t channels, s2p_error *error)
{
    const s2_source *source = b->source;
    const size_t n_row = ((size_t)b->width * b->n_bits + 31) / 32 * 4;
    const size_t n_used =
        ((size_t)b->width * b->n_bits + 7) / 8; /* the last one's padding may lack */
    for (int64_t row = 0; row < b->height; row++) {
        const size_t at = b->data + (size_t)row * n_row;
        if (at > source->n_bytes || source->n_bytes - at < n_used) {
            if (source->limits.strict) return fail_cut(source, error);
            break;
        }
        convert_row(b, source->bytes + at, row_of(b, pixels, row, channels), channels);
        if (row % 16 == 0 && s2_source_is_late(source)) return s2_fail_late(source, "BMP", error);
    }
    return S2P_OK;
}

typedef struct runs { /* of a run-length encoded picture */
    const bmp *b;
    uint8_t *pixels;
    int64_t x, row;
} runs;

/* One pixel; what is beyond its row or the picture is dropped, as viewers do. */
static void put_pixel(runs *r, unsigned index)
{
    if (r->x < r->b->width && r->row < r->b->height)
        memcpy(row_of(r->b, r->pixels, r->row, 3) + 3 * r->x, r->b->palette[index], 3);
    r->x++;
}

/* n pixels: one byte again and again, or n that follow. */
static void put_pixels(runs *r, const uint8_t *from, size_t n, bool is_run)
{
    for (size_t i = 0; i < n; i++) {
        const uint8_t byte = r->b->n_bits == 8 ? from[is_run ? 0 : i] : from[is_run ? 0 : i / 2];
        put_pixel(r, r->b->n_bits == 8 ? byte : i % 2 ? byte & 15u : (unsigned)byte >> 4);
    }
}

/* Pairs: count and byte, or 0 and an escape: end of row, end of picture, a jump, pixels as they are. */
static s2p_status read_runs(const bmp *b, uint8_t *pixels, s2p_error *error)
{
    const uint8_t *bytes = b->source->bytes;
    const size_t n_bytes = b->source->n_bytes;
    runs r = { .b = b, .pixels = pixels };
    for (size_t at = b->data, i = 0; r.row < b->height; i++) {
        if (at > n_bytes || n_bytes - at < 2)
            return b->source->limits.strict ? fail_cut(b->source, error) : S2P_OK;
        if (i % 1024 == 0 && s2_source_is_late(b->source))
            return s2_fail_late(b->source, "BMP", error);
        const uint8_t count = bytes[at], what = bytes[at + 1];
        at += 2;
        if (count > 0) {
            put_pixels(&r, &what, count, true);
        } else if (what == 0) {
            r.x = 0;
            r.row++;
        } else if (what == 1) {
            return S2P_OK;
        } else {
            const size_t n = what == 2 ? 2 : b->n_bits == 8 ? what : (what + 1u) / 2;
            if (n_bytes - at < n)
                return b->source->limits.strict ? fail_cut(b->source, error) : S2P_OK;
            if (what == 2) {
                r.x += bytes[at];
                r.row += bytes[at + 1];
            } else {
                put_pixels(&r, bytes + at, what, false);
            }
            at += n + (n & 1);
        }
    }
    return S2P_OK;
}

static s2p_status decode_bmp(const s2_source *source, s2_image *out, int *orientation,
                             s2p_error *error)
{
    (void)orientation;
    bmp b = { .source = source };
    TRY(read_bmp_head(&b, error));
    const bool is_rle = b.compression == RLE8 || b.compression == RLE4;
    const bool with_alpha = source->pixels == S2_PIXELS_VIEWER && b.channel[3].max > 0;
    const size_t channels = with_alpha ? 4 : 3;
    const size_t n_pixels = (size_t)b.width * (size_t)b.height;
    uint8_t *pixels = s2_canvas_create(b.width, b.height, (int)channels, error);
    if (!pixels) return S2P_ENOMEM;
    if (is_rle) /* pixels that are jumped over have color 0 */
        for (size_t i = 0; i < n_pixels; i++) memcpy(pixels + 3 * i, b.palette[0], 3);
    else if (!source->limits.strict)
        memset(pixels, 128, channels * n_pixels); /* rows may be missing */
    const s2p_status st =
        is_rle ? read_runs(&b, pixels, error) : read_bmp_rows(&b, pixels, channels, error);
    if (st != S2P_OK) {
        free(pixels);
        return st;
    }
    if (with_alpha) s2_canvas_flatten(pixels, n_pixels);
    s2_image_adopt(out, pixels, b.width, b.height, S2_FORMAT_BMP);
    return S2P_OK;
}

static bool is_bmp(const s2_source *source) { return s2_source_has(source, 0, "BM", 2); }

const s2_decoder s2_decoder_bmp = { .name = "a BMP", .knows = is_bmp, .decode = decode_bmp };
