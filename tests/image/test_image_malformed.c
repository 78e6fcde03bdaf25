/* test_image_malformed.c - broken pictures: a typed error or a picture, never anything else.
 *
 * More than 500 files per format are made here from the seeds of the fuzz corpus:
 * cut, bit-flipped, with pieces swapped, repeated, removed or given impossible values.
 */
#include "test_files.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static long n_tried;

/* All four ways to decode. Returns the status of the strict reference way. */
static s2p_status attempt(const uint8_t *data, size_t size)
{
    s2p_status first = S2P_OK;
    n_tried++;
    for (int way = 0; way < 4; way++) {
        s2_image_limits limits;
        s2_image_limits_init(&limits);
        limits.max_pixels = 1 << 20;
        limits.strict = way < 2;
        s2_image image, untouched;
        memset(&image, 0x5A, sizeof image);
        untouched = image;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2_image_decode(
            data, size, way % 2 ? S2_PIXELS_VIEWER : S2_PIXELS_REFERENCE, &limits, &image, &error);
        if (way == 0) first = st;
        if (st == S2P_OK) {
            assert_in_range(image.view.width, 1, 16384);
            assert_in_range(image.view.height, 1, 16384);
            s2_image_free(&image);
            continue;
        }
        assert_true(st == S2P_EFORMAT || st == S2P_EUNSUPPORTED || st == S2P_ELIMIT);
        assert_int_equal(error.status, st);
        assert_true(strlen(error.message) > 10);
        assert_null(strchr(error.message, '\n'));
        assert_memory_equal(&image, &untouched, sizeof image);
    }
    return first;
}

/* An exact-size copy, so that a read past the end is seen by the sanitizer. */
static s2p_status attempt_prefix(const blob *file, size_t size)
{
    blob cut = blob_copy(file->data, size);
    const s2p_status st = attempt(cut.data, size);
    free(cut.data);
    return st;
}

static void cut_and_flip(const char *kind, size_t n_tail)
{
    seeds s;
    seeds_load(&s, kind);
    assert_true(s.n >= 9);
    s2_random random = { 5 };
    for (int i = 0; i < s.n; i++) {
        const blob *seed = &s.file[i];
        const bool is_read = attempt(seed->data, seed->size) == S2P_OK;
        assert_true(is_read || strstr(s.name[i], "animated.webp"));
        for (size_t k = 0; k < 100; k++) {
            const size_t size = seed->size * k / 100;
            const s2p_status st = attempt_prefix(seed, size);
            if (size + n_tail < seed->size) assert_int_not_equal(st, S2P_OK); /* strict */
        }
        for (int k = 0; k < 60; k++) {
            blob bad = blob_copy(seed->data, seed->size);
            const uint32_t n_flips = 1 + s2_random_below(&random, 4);
            for (uint32_t f = 0; f < n_flips; f++)
                bad.data[s2_random_below(&random, (uint32_t)bad.size)] ^=
                    (uint8_t)(1u << s2_random_below(&random, 8));
            (void)attempt(bad.data, bad.size);
            free(bad.data);
        }
    }
    seeds_free(&s);
}

/* --- PNG ------------------------------------------------------------------ */

typedef struct piece {
    const uint8_t *data;
    size_t size;
} piece;

/* Chunks of a PNG, or segments of a JPEG up to and with the first scan. */
static int png_pieces(const blob *png, piece *out, int max)
{
    int n = 0;
    for (size_t at = 8; at + 12 <= png->size && n < max; n++) {
        out[n] = (piece){ png->data + at, get_be32(png->data + at) + 12 };
        at += out[n].size;
    }
    return n;
}

static int jpeg_pieces(const blob *jpeg, piece *out, int max)
{
    int n = 0;
    for (size_t at = 2; at + 4 <= jpeg->size && n < max;) {
        const bool is_scan = jpeg->data[at + 1] == 0xDA;
        const size_t size =
            is_scan ? jpeg->size - at : 2 + ((size_t)jpeg->data[at + 2] << 8 | jpeg->data[at + 3]);
        out[n++] = (piece){ jpeg->data + at, size };
        at += size;
    }
    return n;
}

static int webp_pieces(const blob *webp, piece *out, int max)
{
    int n = 0;
    for (size_t at = 12; at + 8 <= webp->size && n < max; n++) {
        const size_t body = webp->data[at + 4] | (size_t)webp->data[at + 5] << 8;
        out[n] = (piece){ webp->data + at, 8 + body + (body & 1) };
        at += out[n].size;
    }
    return n;
}

/* Every pair of pieces swapped, every piece removed, repeated, cut short. */
static void rearrange(const char *kind, size_t n_head, int (*pieces_of)(const blob *, piece *, int))
{
    seeds s;
    seeds_load(&s, kind);
    for (int i = 0; i < s.n; i++) {
        piece p[64];
        const int n = pieces_of(&s.file[i], p, 64);
        assert_true(n >= 1);
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n + 3; b++) { /* b < n: swap; then remove, repeat, cut */
                if (b == a) continue;
                blob bad = blob_copy(s.file[i].data, n_head);
                for (int k = 0; k < n; k++) {
                    const int from = b < n && k == a ? b : b < n && k == b ? a : k;
                    if (b == n && k == a) continue;
                    blob_append(&bad, p[from].data, p[from].size - (b == n + 2 && k == a ? 1 : 0));
                    if (b == n + 1 && k == a) blob_append(&bad, p[k].data, p[k].size);
                }
                (void)attempt(bad.data, bad.size);
                free(bad.data);
            }
        }
    }
    seeds_free(&s);
}

static void png_checksums(void **state)
{
    (void)state;
    seeds s;
    seeds_load(&s, "png");
    for (int i = 0; i < s.n; i++) {
        piece p[64];
        const int n = png_pieces(&s.file[i], p, 64);
        for (int k = 0; k < n; k++) {
            const size_t at = (size_t)(p[k].data - s.file[i].data) + p[k].size - 1;
            s.file[i].data[at] ^= 1;
            const s2p_status st = attempt(s.file[i].data, s.file[i].size);
            /* What we read must be right; what we leave out may be anything. */
            if (memcmp(p[k].data + 4, "IHDR", 4) == 0 || memcmp(p[k].data + 4, "IDAT", 4) == 0 ||
                memcmp(p[k].data + 4, "PLTE", 4) == 0 || memcmp(p[k].data + 4, "eXIf", 4) == 0)
                assert_int_equal(st, S2P_EFORMAT);
            s.file[i].data[at] ^= 1;
        }
    }
    seeds_free(&s);
}

/* Every bit depth with every colour type, and odd methods: only the legal ones may decode. */
static void png_headers(void **state)
{
    (void)state;
    blob seed = read_seed("png", "RGB.png");
    for (int depth = 0; depth <= 17; depth++) {
        for (int colour = 0; colour <= 7; colour++) {
            for (int method = 0; method < 4; method++) {
                uint8_t *head = seed.data + 16;
                head[8] = (uint8_t)depth;
                head[9] = (uint8_t)colour;
                head[10] = method == 1;
                head[11] = method == 2;
                head[12] = method == 3 ? 2 : 0;
                put_be32(seed.data + 29, png_crc(seed.data + 12, 17));
                const s2p_status st = attempt(seed.data, seed.size);
                const bool is_power = depth == 1 || depth == 2 || depth == 4;
                const bool is_legal =
                    ((colour == 0 || colour == 3) && is_power) ||
                    ((colour == 0 || colour == 2 || colour == 3 || colour == 4 || colour == 6) &&
                     depth == 8) ||
                    ((colour == 0 || colour == 2 || colour == 4 || colour == 6) && depth == 16);
                if (!is_legal || method != 0) assert_int_equal(st, S2P_EFORMAT);
            }
        }
    }
    free(seed.data);
}

static void png_malformed(void **state)
{
    (void)state;
    n_tried = 0;
    cut_and_flip("png", 0);
    rearrange("png", 8, png_pieces);
    assert_true(n_tried >= 500);
}

/* --- JPEG ----------------------------------------------------------------- */

static void jpeg_malformed(void **state)
{
    (void)state;
    n_tried = 0;
    cut_and_flip("jpeg", 2);
    rearrange("jpeg", 2, jpeg_pieces);
    assert_true(n_tried >= 500);
}

/* Each byte of the tables and of the frame header with several values. */
static void jpeg_tables(void **state)
{
    (void)state;
    static const uint8_t values[] = { 0, 1, 0x7F, 0x80, 0xFF };
    static const char *const names[] = { "baseline-s2.jpeg", "progressive-gray.jpeg" };
    for (int i = 0; i < 2; i++) {
        blob seed = read_seed("jpeg", names[i]);
        piece p[64];
        const int n = jpeg_pieces(&seed, p, 64);
        for (int k = 0; k < n; k++) {
            const size_t at = (size_t)(p[k].data - seed.data);
            const size_t n_bytes = p[k].size < 24 ? p[k].size : 24;
            for (size_t b = 1; b < n_bytes; b++) {
                const uint8_t old = seed.data[at + b];
                for (size_t v = 0; v < sizeof values; v++) {
                    seed.data[at + b] = values[v];
                    (void)attempt(seed.data, seed.size);
                }
                seed.data[at + b] = old;
            }
        }
        free(seed.data);
    }
}

/* Kinds we refuse by name, and the one we leave to the decoder. */
static void jpeg_kinds(void **state)
{
    (void)state;
    blob seed = read_seed("jpeg", "baseline-s0.jpeg");
    uint8_t *frame = seed.data + jpeg_find(&seed, 0, 0xC0);
    frame[4] = 12;
    assert_int_equal(attempt(seed.data, seed.size), S2P_EUNSUPPORTED);
    frame[4] = 8;
    for (int kind = 0xC3; kind <= 0xCF; kind++) {
        if (kind == 0xC4 || kind == 0xC8 || kind == 0xC9 || kind == 0xCA || kind == 0xCC) continue;
        frame[1] = (uint8_t)kind;
        assert_int_equal(attempt(seed.data, seed.size), S2P_EUNSUPPORTED);
    }
    frame[1] = 0xC9; /* arithmetic coding, but the data are Huffman's */
    (void)attempt(seed.data, seed.size);
    frame[1] = 0xC0;
    assert_int_equal(attempt(seed.data, seed.size), S2P_OK);
    free(seed.data);

    seed = read_seed("jpeg", "cmyk.jpeg");
    assert_int_equal(attempt(seed.data, seed.size), S2P_OK);
    free(seed.data);
}

/* --- WebP ----------------------------------------------------------------- */

static void webp_malformed(void **state)
{
    (void)state;
    n_tried = 0;
    cut_and_flip("webp", 0);
    rearrange("webp", 12, webp_pieces);
    assert_true(n_tried >= 500);
}

static void webp_headers(void **state)
{
    (void)state;
    seeds s;
    seeds_load(&s, "webp");
    for (int i = 0; i < s.n; i++) {
        for (size_t at = 4; at < 40 && at < s.file[i].size; at++) {
            const uint8_t old = s.file[i].data[at];
            for (unsigned v = 0; v < 256; v += 15) {
                s.file[i].data[at] = (uint8_t)v;
                (void)attempt(s.file[i].data, s.file[i].size);
            }
            s.file[i].data[at] = old;
        }
    }
    seeds_free(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_malformed),  cmocka_unit_test(png_checksums),
        cmocka_unit_test(png_headers),    cmocka_unit_test(jpeg_malformed),
        cmocka_unit_test(jpeg_tables),    cmocka_unit_test(jpeg_kinds),
        cmocka_unit_test(webp_malformed), cmocka_unit_test(webp_headers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
