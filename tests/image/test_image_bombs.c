/* test_image_bombs.c - small files that ask for much.
 *
 * The header bombs run first, in a fresh process: the peak of resident memory may
 * not grow by more than 32 MB. That figure is not taken under a
 * sanitizer, whose shadow memory is not ours.
 */
#include "base/sanitizer.h"
#include "test_files.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <sys/resource.h>

static long peak_kilobytes(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
#ifdef __APPLE__
    return usage.ru_maxrss / 1024;
#else
    return usage.ru_maxrss;
#endif
}

/* Decode in both policies; expect a status and a word in the sentence; bound the memory. */
static void expect(blob file, s2p_status status, const char *word)
{
    const long before = peak_kilobytes();
    for (int policy = 0; policy < 2; policy++) {
        s2_image image = { 0 };
        s2p_error error = { S2P_OK, "" };
        const s2p_status st =
            s2_image_decode(file.data, file.size, (s2_pixels)policy, NULL, &image, &error);
        if (st != status || !strstr(error.message, word))
            fail_msg("status %d, '%s'; expected %d, '%s'", (int)st, error.message, (int)status,
                     word);
        s2_image_free(&image);
    }
    if (!S2_HAS_SANITIZER) assert_true(peak_kilobytes() - before <= 32 * 1024);
    free(file.data);
}

/* A PNG whose header promises much and whose data are a bomb that would deliver it. */
static blob png_bomb(uint32_t width, uint32_t height, int depth, int colour)
{
    blob png = png_begin(width, height, depth, colour, 0);
    if (colour == 3) png_append_chunk(&png, "PLTE", "\0\0\0\xFF\xFF\xFF", 6);
    blob body = zlib_bomb(100000);
    png_append_chunk(&png, "IDAT", body.data, body.size);
    png_append_chunk(&png, "IEND", NULL, 0);
    free(body.data);
    return png;
}

static void png_headers(void **state)
{
    (void)state;
    expect(png_bomb(50000, 50000, 8, 2), S2P_ELIMIT,
           "50000x50000 px; the limit is 33554432 pixels");
    expect(png_bomb(65535, 500, 16, 6), S2P_ELIMIT, "65535x500 px; the limit is 16384 px per side");
    expect(png_bomb(60000, 60000, 1, 3), S2P_ELIMIT, "60000x60000");
    expect(png_bomb(0xFFFFFFFFu, 0xFFFFFFFFu, 8, 2), S2P_ELIMIT, "4294967295x4294967295");
    expect(png_bomb(0x7FFFFFFF, 1, 8, 2), S2P_ELIMIT, "2147483647x1");
    expect(png_bomb(201, 1, 8, 2), S2P_ELIMIT, "aspect ratio of 200");
    expect(png_bomb(0, 10, 8, 2), S2P_EFORMAT, "0x10");
}

static void jpeg_header(void **state)
{
    (void)state;
    blob jpeg = read_seed("jpeg", "baseline-s0.jpeg");
    uint8_t *frame = jpeg.data + jpeg_find(&jpeg, 0, 0xC0);
    frame[5] = frame[7] = 65500 >> 8;
    frame[6] = frame[8] = 65500 & 255;
    uint8_t body[2048] = { 0 };
    blob_append(&jpeg, body, sizeof body);
    expect(jpeg, S2P_ELIMIT, "65500x65500 px; the limit is 33554432 pixels");

    jpeg = read_seed("jpeg", "progressive.jpeg");
    frame = jpeg.data + jpeg_find(&jpeg, 0, 0xC2);
    memset(frame + 5, 0xFF, 4); /* beyond what the format allows */
    expect(jpeg, S2P_ELIMIT, "65535x65535");
}

static void webp_header(void **state)
{
    (void)state;
    /* VP8L: signature, 14 bits of width - 1, 14 bits of height - 1, alpha, version. */
    const uint32_t sides = 16382u | 16382u << 14;
    const uint8_t file[] = { 'R',
                             'I',
                             'F',
                             'F',
                             32,
                             0,
                             0,
                             0,
                             'W',
                             'E',
                             'B',
                             'P',
                             'V',
                             'P',
                             '8',
                             'L',
                             20,
                             0,
                             0,
                             0,
                             0x2F,
                             (uint8_t)sides,
                             (uint8_t)(sides >> 8),
                             (uint8_t)(sides >> 16),
                             (uint8_t)(sides >> 24),
                             0,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0,
                             0 };
    expect(blob_copy(file, sizeof file), S2P_ELIMIT, "16383x16383 px; the limit is 33554432");
}

/* 129 MB of text or profile in 100 kB: never unfolded, so the picture simply decodes. */
static void png_side_chunks(void **state)
{
    (void)state;
    static const char *const kinds[] = { "zTXt", "iCCP", "iTXt" };
    for (size_t i = 0; i < 3; i++) {
        blob png = png_begin(1, 1, 8, 0, 0);
        blob bomb = zlib_bomb(500000);
        const char head[] = "name\0"; /* keyword, its NUL, method 0 (the string's own NUL) */
        blob chunk = blob_copy((const uint8_t *)head, sizeof head);
        if (i == 2) blob_append(&chunk, "\1\0\0", 3);
        blob_append(&chunk, bomb.data, bomb.size);
        png_append_chunk(&png, kinds[i], chunk.data, chunk.size);
        png_append_chunk(&png, "IDAT", "\x78\x9C\x63\x68\x00\x00\x00\x82\x00\x81", 10); /* 00 80 */
        png_append_chunk(&png, "IEND", NULL, 0);
        expect(png, S2P_OK, "");
        free(chunk.data);
        free(bomb.data);
    }
    blob png = png_begin(1, 1, 8, 0, 0);
    uint8_t *large = must(calloc(9, 1 << 20));
    png_append_chunk(&png, "tEXt", large, (size_t)9 << 20);
    free(large);
    expect(png, S2P_ELIMIT, "9437184 bytes; the limit is 8388608");
}

/* The last scan of a progressive picture again and again. */
static blob scan_bomb(int n_scans, int side)
{
    blob seed = read_seed("jpeg", "progressive-gray.jpeg");
    uint8_t *frame = seed.data + jpeg_find(&seed, 0, 0xC2);
    frame[5] = frame[7] = (uint8_t)(side >> 8);
    frame[6] = frame[8] = (uint8_t)side;
    size_t last = 0;
    for (size_t at = 0; (at = jpeg_find(&seed, at, 0xDA)) < seed.size; at++) last = at;
    const size_t n = seed.size - 2 - last;
    blob out = { must(malloc(last + n * (size_t)n_scans + 2)), 0, 0 };
    memcpy(out.data, seed.data, last);
    out.size = last;
    for (int i = 0; i < n_scans; i++, out.size += n)
        memcpy(out.data + out.size, seed.data + last, n);
    memcpy(out.data + out.size, "\xFF\xD9", 2);
    out.size += 2;
    free(seed.data);
    return out;
}

static void jpeg_scans(void **state)
{
    (void)state;
    blob bomb = scan_bomb(80000, 256);
    assert_true(bomb.size <= (size_t)20 << 20); /* so that not the size is refused */
    expect(bomb, S2P_ELIMIT, "more than 500 scans");
}

/* Time alone stops a decoder too: no scan limit, next to no time. */
static void too_slow(void **state)
{
    (void)state;
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    limits.max_scans = INT32_MAX;
    limits.max_seconds = 1e-9;
    blob files[3] = { scan_bomb(1000, 1024), read_seed("png", "RGB.png"),
                      read_seed("webp", "lossy.webp") };
    for (int i = 0; i < 3; i++) {
        s2_image image = { 0 };
        s2p_error error = { S2P_OK, "" };
        assert_int_equal(s2_image_decode(files[i].data, files[i].size, S2_PIXELS_REFERENCE, &limits,
                                         &image, &error),
                         S2P_ELIMIT);
        assert_non_null(strstr(error.message, "to decode"));
        free(files[i].data);
    }
}

static void too_many_bytes(void **state)
{
    (void)state;
    blob file = read_seed("jpeg", "gray.jpeg");
    const size_t n = ((size_t)20 << 20) + 1;
    file.data = must(realloc(file.data, n));
    file.size = n;
    expect(file, S2P_ELIMIT, "20971521 bytes; the limit is 20971520 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(png_headers),    cmocka_unit_test(jpeg_header),
        cmocka_unit_test(webp_header),    cmocka_unit_test(png_side_chunks),
        cmocka_unit_test(jpeg_scans),     cmocka_unit_test(too_slow),
        cmocka_unit_test(too_many_bytes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
