/* decode_gif.c - the first frame of a GIF, our own decoder.
 *
 * A GIF is a list of blocks: the screen, extensions, then frames of LZW codes that
 * grow from 3 to at most 12 bits. The canvas is the screen, or larger where the
 * frame reaches beyond it, as in Pillow. Every code writes its pixels from the last
 * to the first, straight through the palette, so nothing but the canvas is allocated.
 */
#include "image/decoder.h"

#include <stdlib.h>
#include <string.h>

#define SCREEN_BYTES 13u
#define FRAME_BYTES 9u
#define MAX_CODE_BITS 12u
#define MAX_CODES (1u << MAX_CODE_BITS)
#define NO_CODE MAX_CODES

typedef struct gif {
    const s2_source *source;
    size_t at; /* the next byte */
    int64_t width, height;
    uint32_t x0, y0, frame_width, frame_height;
    bool is_interlaced;
    int transparent;         /* index, or -1 */
    uint8_t palette[256][3]; /* gray where the file has no color, as in Pillow */
} gif;

typedef struct codes { /* bits of the sub-blocks, lowest first */
    const s2_source *source;
    size_t at, block_end;
    uint32_t bits;
    unsigned n_bits;
    bool is_over;
} codes;

typedef struct target { /* where the next pixel of the frame goes */
    const gif *g;
    uint8_t *pixels;
    uint32_t x, row;
    unsigned pass; /* of an interlaced frame */
    size_t n_left;
} target;

static s2p_status fail_cut(const s2_source *source, s2p_error *error)
{
    return s2_fail(error, S2P_EFORMAT, "GIF is truncated after %zu bytes", source->n_bytes);
}

/* The next n bytes, NULL when the file has fewer. */
static const uint8_t *take(gif *g, size_t n)
{
    if (g->source->n_bytes - g->at < n) return NULL;
    const uint8_t *p = g->source->bytes + g->at;
    g->at += n;
    return p;
}

static uint32_t read_le16(const uint8_t *p) { return (uint32_t)(p[0] | p[1] << 8); }

/* The color table that `flags` announce. A palette in use keeps nothing of an earlier one. */
static bool read_palette(gif *g, uint8_t flags)
{
    if (!(flags & 0x80)) return true;
    const size_t n = (size_t)2 << (flags & 7);
    const uint8_t *colours = take(g, 3 * n);
    if (!colours) return false;
    for (size_t i = 0; i < 256; i++) memset(g->palette[i], (int)i, 3);
    memcpy(g->palette, colours, 3 * n);
    return true;
}

/* An extension: its label, then sub-blocks. Of the graphic control only the transparency matters. */
static bool read_extension(gif *g)
{
    const uint8_t *label = take(g, 1);
    for (bool is_first = true; label; is_first = false) {
        const uint8_t *size = take(g, 1);
        const uint8_t *block = size ? take(g, *size) : NULL;
        if (!block) return false;
        if (*size == 0) return true;
        if (is_first && *label == 0xF9 && *size >= 4 && (block[0] & 1)) g->transparent = block[3];
    }
    return false;
}

/* Everything up to the codes of the first frame. */
static s2p_status read_gif_head(gif *g, s2p_error *error)
{
    const uint8_t *screen = take(g, SCREEN_BYTES);
    if (!screen || !read_palette(g, screen[10])) return fail_cut(g->source, error);
    for (;;) {
        const uint8_t *kind = take(g, 1);
        if (!kind) return fail_cut(g->source, error);
        if (*kind == ',') break;
        if (*kind == ';') return s2_fail(error, S2P_EFORMAT, "GIF has no picture");
        if (*kind != '!')
            return s2_fail(error, S2P_EFORMAT, "GIF is damaged: block type 0x%02X at byte %zu",
                           (unsigned)*kind, g->at - 1);
        if (!read_extension(g)) return fail_cut(g->source, error);
    }
    const uint8_t *frame = take(g, FRAME_BYTES);
    if (!frame) return fail_cut(g->source, error);
    g->x0 = read_le16(frame);
    g->y0 = read_le16(frame + 2);
    g->frame_width = read_le16(frame + 4);
    g->frame_height = read_le16(frame + 6);
    g->is_interlaced = (frame[8] & 0x40) != 0;
    if (g->frame_width == 0 || g->frame_height == 0)
        return s2_fail(error, S2P_EFORMAT, "GIF frame is %ux%u px", (unsigned)g->frame_width,
                       (unsigned)g->frame_height);
    const uint32_t right = g->x0 + g->frame_width, bottom = g->y0 + g->frame_height;
    g->width = read_le16(screen + 6) > right ? read_le16(screen + 6) : right;
    g->height = read_le16(screen + 8) > bottom ? read_le16(screen + 8) : bottom;
    TRY(s2_source_admit(g->source, "GIF", g->width, g->height, error));
    return read_palette(g, frame[8]) ? S2P_OK : fail_cut(g->source, error);
}

/* The next code of n bits; is_over once the data end. */
static uint32_t next_code(codes *c, unsigned n)
{
    while (c->n_bits < n) {
        if (c->at == c->block_end) {
            if (c->at == c->source->n_bytes || c->source->bytes[c->at] == 0) {
                c->is_over = true;
                return 0;
            }
            c->block_end = c->at + 1 + c->source->bytes[c->at];
            if (c->block_end > c->source->n_bytes) c->block_end = c->source->n_bytes;
            c->at++;
            continue;
        }
        c->bits |= (uint32_t)c->source->bytes[c->at++] << c->n_bits;
        c->n_bits += 8;
    }
    const uint32_t code = c->bits & ((1u << n) - 1);
    c->bits >>= n;
    c->n_bits -= n;
    return code;
}

/* Interlaced frames come as rows 0, 8, 16 ..., then 4, 12 ..., then 2, 6 ..., then the odd ones. */
static void next_row(target *t)
{
    static const uint32_t first[] = { 0, 4, 2, 1, 0 }, step[] = { 8, 8, 4, 2, 1 };
    t->x = 0;
    if (!t->g->is_interlaced) {
        t->row++;
        return;
    }
    t->row += step[t->pass];
    while (t->row >= t->g->frame_height && t->pass < 3) t->row = first[++t->pass];
}

static void put_pixel(target *t, uint8_t index)
{
    const gif *g = t->g;
    const size_t at = (size_t)(g->y0 + t->row) * (size_t)g->width + g->x0 + t->x;
    memcpy(t->pixels + 3 * at, g->palette[index], 3);
    t->n_left--;
    if (++t->x == g->frame_width) next_row(t);
}

/* Codes to pixels. Strings are chains of (prefix, last byte), unrolled through a stack. */
static s2p_status read_gif_pixels(gif *g, uint8_t *pixels, s2p_error *error)
{
    uint16_t prefix[MAX_CODES];
    uint8_t last[MAX_CODES], stack[MAX_CODES];
    const uint8_t *start = take(g, 1);
    if (!start) return fail_cut(g->source, error);
    if (*start < 1 || *start > 8)
        return s2_fail(error, S2P_EFORMAT, "GIF codes begin with %d bits; 1 to 8 are valid",
                       (int)*start);
    const uint32_t clear = 1u << *start, end = clear + 1;
    codes c = { .source = g->source, .at = g->at, .block_end = g->at };
    target t = { .g = g, .pixels = pixels, .n_left = (size_t)g->frame_width * g->frame_height };
    uint32_t n_codes = clear + 2, before = NO_CODE;
    unsigned n_bits = *start + 1u;
    uint8_t first = 0; /* of the string of `before` */
    for (uint32_t i = 0; t.n_left > 0; i++) {
        if (i % 1024 == 0 && s2_source_is_late(g->source))
            return s2_fail_late(g->source, "GIF", error);
        const uint32_t code = next_code(&c, n_bits);
        if (c.is_over || code == end) break;
        if (code == clear) {
            n_codes = clear + 2;
            n_bits = *start + 1u;
            before = NO_CODE;
            continue;
        }
        if (code > n_codes || (code == n_codes && before == NO_CODE) ||
            (before == NO_CODE && code > clear))
            return s2_fail(error, S2P_EFORMAT, "GIF is damaged: code %u of %u near byte %zu",
                           (unsigned)code, (unsigned)n_codes, c.at);
        size_t n = 0;
        uint32_t k = code;
        if (code == n_codes) { /* the string before, and its first byte again */
            stack[n++] = first;
            k = before;
        }
        for (; k > end; k = prefix[k]) stack[n++] = last[k];
        first = (uint8_t)k;
        stack[n++] = first;
        while (n > 0 && t.n_left > 0) put_pixel(&t, stack[--n]);
        if (before != NO_CODE && n_codes < MAX_CODES) {
            prefix[n_codes] = (uint16_t)before;
            last[n_codes++] = first;
            if (n_codes == 1u << n_bits && n_bits < MAX_CODE_BITS) n_bits++;
        }
        before = code;
    }
    if (t.n_left == 0 || !g->source->limits.strict) return S2P_OK;
    if (c.at == g->source->n_bytes) return fail_cut(g->source, error);
    return s2_fail(error, S2P_EFORMAT, "GIF picture data ends too early");
}

static s2p_status decode_gif(const s2_source *source, s2_image *out, int *orientation,
                             s2p_error *error)
{
    (void)orientation;
    gif g = { .source = source, .transparent = -1 };
    for (size_t i = 0; i < 256; i++) memset(g.palette[i], (int)i, 3);
    TRY(read_gif_head(&g, error));
    if (g.transparent >= 0 && source->pixels == S2_PIXELS_VIEWER)
        memset(g.palette[g.transparent], 255, 3); /* over white */
    uint8_t *pixels = s2_canvas_create(g.width, g.height, 3, error);
    if (!pixels) return S2P_ENOMEM;
    const uint8_t *ground = g.palette[g.transparent >= 0 ? g.transparent : 0];
    const size_t n_pixels = (size_t)g.width * (size_t)g.height;
    for (size_t i = 0; i < n_pixels; i++) memcpy(pixels + 3 * i, ground, 3);
    const s2p_status st = read_gif_pixels(&g, pixels, error);
    if (st != S2P_OK) {
        free(pixels);
        return st;
    }
    s2_image_adopt(out, pixels, g.width, g.height, S2_FORMAT_GIF);
    return S2P_OK;
}

static bool is_gif(const s2_source *source)
{
    return s2_source_has(source, 0, "GIF87a", 6) || s2_source_has(source, 0, "GIF89a", 6);
}

const s2_decoder s2_decoder_gif = { .name = "a GIF", .knows = is_gif, .decode = decode_gif };
