/* decode_png.c - PNG through libspng, which is shown only the chunks it needs.
 *
 * The picture is in IHDR, PLTE, tRNS and IDAT. Text, color profiles and animation
 * frames are cut out of the stream before the decoder sees them, so a compressed
 * text or profile that would unfold to gigabytes is never unfolded. eXIf is read
 * here. Rows are decoded one by one, with a look at the clock in between.
 */
#include "image/decoder.h"

#include <stdlib.h>
#include <string.h>

#include <spng.h>

#define SIGNATURE_BYTES 8u
#define CHUNK_FRAME_BYTES 12u              /* length, type, CRC */
#define MAX_SIDE_CHUNK ((size_t)8 << 20)   /* of a chunk that is not picture data */
#define MAX_CACHE_BYTES ((size_t)16 << 20) /* what libspng may keep */
#define ROWS_PER_CLOCK 16u

typedef struct chunk {
    const uint8_t *frame; /* length, type, data, CRC */
    size_t n_data;
} chunk;

typedef struct stream { /* the file without what we leave out */
    const uint8_t *bytes;
    size_t n_bytes, at;
    size_t shown_end; /* bytes up to here are shown */
    bool has_trns;    /* show tRNS too */
} stream;

static bool is_type(const chunk *c, const char *type) { return memcmp(c->frame + 4, type, 4) == 0; }

static uint32_t read_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* The chunk at `at`; false when the file ends before the chunk does. */
static bool chunk_at(const uint8_t *bytes, size_t n_bytes, size_t at, chunk *out)
{
    if (n_bytes - at < CHUNK_FRAME_BYTES) return false;
    *out = (chunk){ bytes + at, read_be32(bytes + at) };
    return out->n_data <= n_bytes - at - CHUNK_FRAME_BYTES;
}

/* Critical chunks have a capital first letter; unknown ones are for the decoder to refuse. */
static bool is_shown(const stream *s, const chunk *c)
{
    return !(c->frame[4] & 0x20) || (s->has_trns && is_type(c, "tRNS"));
}

/* spng's reader: the next n bytes of the shown chunks. */
static int read_shown(spng_ctx *ctx, void *user, void *to, size_t n)
{
    (void)ctx;
    stream *s = user;
    uint8_t *out = to;
    while (n > 0) {
        if (s->at == s->shown_end) {
            chunk c;
            const bool is_whole = chunk_at(s->bytes, s->n_bytes, s->at, &c);
            if (is_whole && !is_shown(s, &c)) {
                s->at += CHUNK_FRAME_BYTES + c.n_data;
                s->shown_end = s->at;
                continue;
            }
            s->shown_end = is_whole ? s->at + CHUNK_FRAME_BYTES + c.n_data : s->n_bytes;
            if (s->at == s->shown_end) return SPNG_IO_EOF;
        }
        const size_t left = s->shown_end - s->at;
        const size_t step = left < n ? left : n;
        memcpy(out, s->bytes + s->at, step);
        s->at += step;
        out += step;
        n -= step;
    }
    return SPNG_OK;
}

/* CRC-32 of PNG, four bits at a time; only eXIf needs it here. */
static uint32_t crc32_of(const uint8_t *bytes, size_t n)
{
    static const uint32_t table[16] = {
        0x00000000, 0x1DB71064, 0x3B6E20C8, 0x26D930AC, 0x76DC4190, 0x6B6B51F4,
        0x4DB26158, 0x5005713C, 0xEDB88320, 0xF00F9344, 0xD6D6A3E8, 0xCB61B38C,
        0x9B64C2B0, 0x86D3D2D4, 0xA00AE278, 0xBDBDF21C,
    };
    uint32_t crc = 0xFFFFFFFFu;
    for (size_t i = 0; i < n; i++) {
        crc = table[(crc ^ bytes[i]) & 15] ^ (crc >> 4);
        crc = table[(crc ^ (unsigned)bytes[i] >> 4) & 15] ^ (crc >> 4);
    }
    return ~crc;
}

/* One walk over the chunk list before any decoding: sizes, end mark, EXIF. */
static s2p_status walk_chunks(const s2_source *source, int *orientation, bool *has_trns,
                              s2p_error *error)
{
    bool has_end = false;
    for (size_t at = SIGNATURE_BYTES; !has_end;) {
        chunk c;
        if (!chunk_at(source->bytes, source->n_bytes, at, &c)) {
            if (!source->limits.strict) break;
            return s2_fail(error, S2P_EFORMAT, "PNG is truncated after %zu bytes", source->n_bytes);
        }
        if (c.n_data > MAX_SIDE_CHUNK && !is_type(&c, "IDAT"))
            return s2_fail(error, S2P_ELIMIT,
                           "PNG chunk at byte %zu has %zu bytes; the limit is %zu", at, c.n_data,
                           MAX_SIDE_CHUNK);
        if (is_type(&c, "eXIf")) {
            if (crc32_of(c.frame + 4, c.n_data + 4) != read_be32(c.frame + 8 + c.n_data))
                return s2_fail(error, S2P_EFORMAT,
                               "PNG chunk eXIf at byte %zu has a wrong checksum", at);
            *orientation = s2_exif_orientation(c.frame + 8, c.n_data);
        }
        if (is_type(&c, "tRNS")) *has_trns = true;
        has_end = is_type(&c, "IEND");
        at += CHUNK_FRAME_BYTES + c.n_data;
    }
    return S2P_OK;
}

static s2p_status explain_png(int code, s2p_error *error)
{
    switch (code) {
    case SPNG_EMEM:
        return s2_fail(error, S2P_ENOMEM, "out of memory in the PNG decoder");
    case SPNG_ECHUNK_LIMITS:
    case SPNG_EUSER_WIDTH:
    case SPNG_EUSER_HEIGHT:
    case SPNG_EOVERFLOW:
        return s2_fail(error, S2P_ELIMIT, "PNG is beyond the decoder's limits");
    case SPNG_EWIDTH:
    case SPNG_EHEIGHT:
        return s2_fail(error, S2P_EFORMAT, "PNG header has a side of 0 px");
    case SPNG_EBIT_DEPTH:
    case SPNG_ECOLOR_TYPE:
    case SPNG_ECOMPRESSION_METHOD:
    case SPNG_EFILTER_METHOD:
    case SPNG_EINTERLACE_METHOD:
    case SPNG_EIHDR_SIZE:
    case SPNG_ENOIHDR:
        return s2_fail(error, S2P_EFORMAT, "PNG header is not valid");
    case SPNG_ECHUNK_CRC:
        return s2_fail(error, S2P_EFORMAT, "PNG chunk has a wrong checksum");
    case SPNG_ECHUNK_UNKNOWN_CRITICAL:
        return s2_fail(error, S2P_EUNSUPPORTED, "PNG has a critical chunk of an unknown kind");
    case SPNG_IO_EOF:
    case SPNG_EIDAT_TOO_SHORT:
        return s2_fail(error, S2P_EFORMAT, "PNG picture data ends too early");
    case SPNG_EIDAT_STREAM:
    case SPNG_EFILTER:
    case SPNG_EZLIB:
        return s2_fail(error, S2P_EFORMAT, "PNG picture data is damaged");
    default:
        return s2_fail(error, S2P_EFORMAT, "PNG is damaged (code %d)", code);
    }
}

/* Rows come in file order; an interlaced picture visits each row up to seven times. */
static s2p_status read_png_rows(const s2_source *source, spng_ctx *ctx, uint8_t *pixels,
                                size_t stride, s2p_error *error)
{
    int code = SPNG_OK;
    for (unsigned i = 0; code == SPNG_OK; i++) {
        struct spng_row_info row;
        code = spng_get_row_info(ctx, &row);
        if (code == SPNG_OK) code = spng_decode_row(ctx, pixels + stride * row.row_num, stride);
        if (i % ROWS_PER_CLOCK == 0 && s2_source_is_late(source))
            return s2_fail_late(source, "PNG", error);
    }
    if (code == SPNG_EOI) code = spng_decode_chunks(ctx); /* the rest of IDAT has a checksum too */
    if (code == SPNG_OK) return S2P_OK;
    const bool is_cut = code == SPNG_IO_EOF || code == SPNG_EIDAT_TOO_SHORT;
    return is_cut && !source->limits.strict ? S2P_OK : explain_png(code, error);
}

/* Gray of 16 bits as Pillow converts it to RGB: what is above 255 becomes 255. */
static s2p_status read_wide_gray(const s2_source *source, spng_ctx *ctx,
                                 const struct spng_ihdr *head, s2_image *out, s2p_error *error)
{
    const int code = spng_decode_image(ctx, NULL, 0, SPNG_FMT_RAW, SPNG_DECODE_PROGRESSIVE);
    if (code != SPNG_OK) return explain_png(code, error);
    const size_t n = (size_t)head->width * head->height;
    uint8_t *wide = calloc(n, 2), *pixels = NULL; /* rows may be missing */
    s2p_status st = wide ? S2P_OK : s2_fail_memory(error, 2 * n, "a gray picture of 16 bits");
    if (st == S2P_OK) st = read_png_rows(source, ctx, wide, 2 * (size_t)head->width, error);
    if (st == S2P_OK) pixels = s2_canvas_create(head->width, head->height, 3, error);
    if (st == S2P_OK && !pixels) st = S2P_ENOMEM;
    for (size_t i = 0; st == S2P_OK && i < n; i++)
        memset(pixels + 3 * i, wide[2 * i] ? 255 : wide[2 * i + 1], 3); /* upper byte first */
    if (st == S2P_OK) s2_image_adopt(out, pixels, head->width, head->height, S2_FORMAT_PNG);
    free(wide);
    return st;
}

static s2p_status read_picture(const s2_source *source, spng_ctx *ctx, bool has_trns, s2_image *out,
                               s2p_error *error)
{
    struct spng_ihdr head;
    int code = spng_get_ihdr(ctx, &head);
    if (code != SPNG_OK) return explain_png(code, error);

    if (source->pixels == S2_PIXELS_REFERENCE && head.bit_depth == 16 &&
        head.color_type == SPNG_COLOR_TYPE_GRAYSCALE)
        return read_wide_gray(source, ctx, &head, out, error);

    const bool has_alpha = has_trns || head.color_type == SPNG_COLOR_TYPE_GRAYSCALE_ALPHA ||
                           head.color_type == SPNG_COLOR_TYPE_TRUECOLOR_ALPHA;
    const bool with_alpha = has_alpha && source->pixels == S2_PIXELS_VIEWER;
    const int channels = with_alpha ? 4 : 3;
    code = spng_decode_image(ctx, NULL, 0, with_alpha ? SPNG_FMT_RGBA8 : SPNG_FMT_RGB8,
                             SPNG_DECODE_PROGRESSIVE | (with_alpha ? SPNG_DECODE_TRNS : 0));
    if (code != SPNG_OK) return explain_png(code, error);

    uint8_t *pixels = s2_canvas_create(head.width, head.height, channels, error);
    if (!pixels) return S2P_ENOMEM;
    const size_t stride = (size_t)channels * head.width;
    if (!source->limits.strict) memset(pixels, 128, stride * head.height); /* rows may be missing */
    const s2p_status st = read_png_rows(source, ctx, pixels, stride, error);
    if (st != S2P_OK) {
        free(pixels);
        return st;
    }
    if (with_alpha) s2_canvas_flatten(pixels, (size_t)head.width * head.height);
    s2_image_adopt(out, pixels, head.width, head.height, S2_FORMAT_PNG);
    return S2P_OK;
}

static s2p_status decode_png(const s2_source *source, s2_image *out, int *orientation,
                             s2p_error *error)
{
    /* IHDR is always first and has a fixed place: refuse by size before anything else is looked at.
     */
    chunk head;
    if (source->n_bytes < SIGNATURE_BYTES + CHUNK_FRAME_BYTES + 13 ||
        !chunk_at(source->bytes, source->n_bytes, SIGNATURE_BYTES, &head) || head.n_data != 13 ||
        !is_type(&head, "IHDR"))
        return s2_fail(error, S2P_EFORMAT, "PNG does not begin with a header");
    TRY(s2_source_admit(source, "PNG", read_be32(head.frame + 8), read_be32(head.frame + 12),
                        error));

    bool has_trns = false;
    TRY(walk_chunks(source, orientation, &has_trns, error));
    const bool has_alpha_channel = (head.frame[8 + 9] & 4) != 0; /* bit of the color type */
    has_trns = has_trns && !has_alpha_channel && source->pixels == S2_PIXELS_VIEWER;

    stream shown = { .bytes = source->bytes,
                     .n_bytes = source->n_bytes,
                     .shown_end = SIGNATURE_BYTES,
                     .has_trns = has_trns };
    spng_ctx *ctx = spng_ctx_new(0);
    if (!ctx) return s2_fail(error, S2P_ENOMEM, "out of memory in the PNG decoder");
    int code = spng_set_crc_action(ctx, SPNG_CRC_ERROR, SPNG_CRC_ERROR);
    if (code == SPNG_OK) code = spng_set_chunk_limits(ctx, source->n_bytes, MAX_CACHE_BYTES);
    if (code == SPNG_OK) code = spng_set_png_stream(ctx, read_shown, &shown);
    const s2p_status st = code == SPNG_OK ? read_picture(source, ctx, has_trns, out, error)
                                          : explain_png(code, error);
    spng_ctx_free(ctx);
    return st;
}

static bool is_png(const s2_source *source)
{
    return s2_source_has(source, 0, "\x89PNG\r\n\x1A\n", 8);
}

const s2_decoder s2_decoder_png = { .name = "a PNG", .knows = is_png, .decode = decode_png };
