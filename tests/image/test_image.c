/* test_image.c - the decode entry: formats by their first bytes, limits, policies, files, PNG out.
 */
#include "test_files.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <unistd.h>

static s2_image decoded(const blob *file, s2_pixels pixels)
{
    s2_image image = { 0 };
    s2p_error error = { S2P_OK, "" };
    if (s2_image_decode(file->data, file->size, pixels, NULL, &image, &error) != S2P_OK)
        fail_msg("%s", error.message);
    return image;
}

static void refused(const void *bytes, size_t n, const s2_image_limits *limits, s2p_status status,
                    const char *word)
{
    s2_image image, untouched;
    memset(&image, 0x33, sizeof image);
    untouched = image;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2_image_decode(bytes, n, S2_PIXELS_VIEWER, limits, &image, &error), status);
    if (!strstr(error.message, word)) fail_msg("'%s' lacks '%s'", error.message, word);
    assert_memory_equal(&image, &untouched, sizeof image);
    assert_int_equal(s2_image_decode(bytes, n, S2_PIXELS_VIEWER, limits, &image, NULL), status);
}

static void foreign_formats(void **state)
{
    (void)state;
    static const struct {
        const char *bytes;
        size_t n;
        const char *word;
    } cases[] = {
        { "\0\0\0\x1C"
          "ftypisom\0\0\0\0",
          16, "video file, which is not supported; convert it: ffmpeg" },
        { "%PDF-1.7\n", 9, "a PDF file, which is not supported; convert it: pdftoppm" },
        { "\xFF\x0A\0\0", 4, "a JPEG XL file" },
        { "\0\0\0\x0CJXL \r\n\x87\n", 12, "a JPEG XL file" },
        { "\0\0\0\x0CjP  \r\n\x87\n", 12, "a JPEG 2000 file" },
        { "\xFF\x4F\xFF\x51", 4, "a JPEG 2000 file" },
        { "<svg xmlns=", 11, "an SVG file" },
        { "<!DOCTYPE html>", 15, "an HTML file" },
        { "8BPS\0\1", 6, "a Photoshop file" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        refused(cases[i].bytes, cases[i].n, NULL, S2P_EUNSUPPORTED, cases[i].word);

    /* Decoders that cannot be held to the limits are left out where that is asked for. */
    s2_image_limits bounded;
    s2_image_limits_init(&bounded);
    bounded.bounded = true;
    static const char *const names[][3] = {
        { "tiff", "raw.tiff",
          "a TIFF file, which is not supported; convert it: convert FILE out.png" },
        { "heif", "heic-small.heif",
          "a HEIC file, which is not supported; convert it: heif-convert" },
        { "heif", "avif-small.heif",
          "an AVIF file, which is not supported; convert it: heif-convert" },
    };
    for (size_t i = 0; i < 3; i++) {
        blob file = read_seed(names[i][0], names[i][1]);
        refused(file.data, file.size, &bounded, S2P_EUNSUPPORTED, names[i][2]);
        free(file.data);
    }

    refused("", 0, NULL, S2P_EFORMAT, "0 bytes");
    refused(NULL, 0, NULL, S2P_EFORMAT, "0 bytes");
    refused("hello, world", 12, NULL, S2P_EFORMAT, "12 bytes");
    refused("\xFF\xD8", 2, NULL, S2P_EFORMAT, "2 bytes");
    refused("\xFF\xD8\xFF", 3, NULL, S2P_EFORMAT, "JPEG");
    refused("\x89PNG\r\n\x1A\n", 8, NULL, S2P_EFORMAT, "PNG");
    refused("RIFF\0\0\0\0WEBP", 12, NULL, S2P_EFORMAT, "WebP");
    refused("GIF89a\1\0\1\0", 10, NULL, S2P_EFORMAT, "GIF is truncated");
    refused("BM\x46\0\0\0\0\0", 8, NULL, S2P_EFORMAT, "BMP is truncated");
    refused("RIFF\0\0\0\0WAVE", 12, NULL, S2P_EFORMAT, "not a picture");
}

static void limits_are_inclusive(void **state)
{
    (void)state;
    static const char *const kinds[] = { "jpeg", "png", "webp", "gif", "bmp" };
    static const char *const names[] = { "gray.jpeg", "RGB.png", "lossy.webp", "gray.gif",
                                         "RGB.bmp" };
    for (int i = 0; i < 5; i++) {
        blob file = read_seed(kinds[i], names[i]);
        s2_image image = decoded(&file, S2_PIXELS_REFERENCE);
        const int32_t w = image.view.width, h = image.view.height;
        assert_true(w > h);
        s2_image_free(&image);

        s2_image_limits exact;
        s2_image_limits_init(&exact);
        exact.max_bytes = file.size;
        exact.max_pixels = (int64_t)w * h;
        exact.max_side = w;
        exact.max_aspect = (w + h - 1) / h;
        assert_int_equal(
            s2_image_decode(file.data, file.size, S2_PIXELS_REFERENCE, &exact, &image, NULL),
            S2P_OK);
        s2_image_free(&image);

        s2_image_limits less = exact;
        less.max_bytes--;
        refused(file.data, file.size, &less, S2P_ELIMIT, "bytes; the limit is");
        less = exact;
        less.max_pixels--;
        refused(file.data, file.size, &less, S2P_ELIMIT, " pixels");
        less = exact;
        less.max_side--;
        refused(file.data, file.size, &less, S2P_ELIMIT, "px per side");
        less = exact;
        less.max_aspect = w / h - 1 > 0 ? w / h - 1 : 0;
        refused(file.data, file.size, &less, S2P_ELIMIT, "aspect ratio");
        free(file.data);
    }
}

/* The size of a header is that of the picture; what is behind it does not matter. */
static void sizes_are_measured(void **state)
{
    (void)state;
    static const char *const kinds[] = { "jpeg", "png", "webp", "gif", "bmp" };
    static const char *const names[] = { "gray.jpeg", "RGB.png", "lossy.webp", "gray.gif",
                                         "RGB.bmp" };
    for (int i = 0; i < 5; i++) {
        blob file = read_seed(kinds[i], names[i]);
        s2_image image = decoded(&file, S2_PIXELS_REFERENCE);
        s2_size size = { 0, 0 };
        assert_int_equal(s2_image_measure(file.data, file.size, &size, NULL), S2P_OK);
        assert_int_equal(size.width, image.view.width);
        assert_int_equal(size.height, image.view.height);
        if (i != 2)
            assert_int_equal(s2_image_measure(file.data, file.size - 9, &size, NULL), S2P_OK);
        assert_int_equal(s2_image_measure(file.data, 12, &size, NULL), S2P_EFORMAT);
        s2_image_free(&image);
        free(file.data);
    }
    s2_size size;
    s2p_error error = { S2P_OK, "" };
    assert_int_equal(s2_image_measure("%PDF-1.7\n\n", 10, &size, &error), S2P_EUNSUPPORTED);
    assert_int_equal(s2_image_measure(NULL, 0, &size, &error), S2P_EFORMAT);
}

static void scans_are_counted(void **state)
{
    (void)state;
    blob file = read_seed("jpeg", "progressive.jpeg");
    int n_scans = 0;
    for (size_t at = 0; (at = jpeg_find(&file, at, 0xDA)) < file.size; at++) n_scans++;
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    limits.max_scans = n_scans;
    s2_image image;
    assert_int_equal(
        s2_image_decode(file.data, file.size, S2_PIXELS_REFERENCE, &limits, &image, NULL), S2P_OK);
    s2_image_free(&image);
    limits.max_scans = n_scans - 1;
    refused(file.data, file.size, &limits, S2P_ELIMIT, "scans");
    free(file.data);
}

/* A PNG of noise, large enough to be read in several pieces. */
static blob noise_png(void)
{
    static uint8_t noise[100 * 300];
    uint32_t state = 1;
    for (size_t i = 0; i < sizeof noise; i++) {
        state = state * 1664525u + 1013904223u;
        noise[i] = (uint8_t)(state >> 24);
    }
    const s2p_image view = { 100, 100, 300, noise };
    s2_buffer png;
    s2_buffer_init(&png, 1 << 20);
    assert_int_equal(s2_png_encode(&view, &png, NULL), S2P_OK);
    const blob file = blob_copy(png.data, png.size);
    s2_buffer_free(&png);
    return file;
}

/* Most of a file: refused when strict; else the PNG's first row is right, and the last
 * row of what cannot be guessed is gray. */
static void truncated_files(void **state)
{
    (void)state;
    static const char *const kinds[] = { "jpeg", "png", "webp", "bmp", "gif" };
    static const char *const names[] = { "baseline-s0.jpeg", "RGB.png", "lossless.webp", "RGB.bmp",
                                         "noise.gif" };
    static const char *const words[] = { "JPEG is truncated after", "PNG is truncated after",
                                         "WebP is truncated after", "BMP is truncated after",
                                         "GIF is truncated after" };
    for (int i = 0; i < 5; i++) {
        blob file = i == 1 ? noise_png() : read_seed(kinds[i], names[i]);
        s2_image whole = decoded(&file, S2_PIXELS_REFERENCE);
        s2_image_limits limits;
        s2_image_limits_init(&limits);
        const size_t cut = file.size * 9 / 10;
        refused(file.data, cut, &limits, S2P_EFORMAT, words[i]);

        limits.strict = false;
        s2_image part = { 0 };
        s2p_error error = { S2P_OK, "" };
        if (s2_image_decode(file.data, cut, S2_PIXELS_REFERENCE, &limits, &part, &error) != S2P_OK)
            fail_msg("%s: %s", names[i], error.message);
        assert_int_equal(part.view.height, whole.view.height);
        const size_t n = (size_t)whole.view.stride, all = n * (size_t)whole.view.height;
        if (i == 1) assert_memory_equal(part.pixels, whole.pixels, n);
        assert_memory_not_equal(part.pixels, whole.pixels, all);
        if (i == 1 || i == 2)
            for (size_t k = all - n; k < all; k++) assert_int_equal(part.pixels[k], 128);
        if (i == 3) /* from the bottom up */
            for (size_t k = 0; k < n; k++) assert_int_equal(part.pixels[k], 128);
        s2_image_free(&part);
        s2_image_free(&whole);
        free(file.data);
    }
}

/* A 2x1 picture by hand: red half clear over white, and opaque blue. */
static void alpha_over_white(void **state)
{
    (void)state;
    blob png = png_begin(2, 1, 8, 6, 0);
    /* zlib, stored block: filter 0, then 200 0 0 128, 0 0 255 255 */
    static const uint8_t body[] = { 0x78, 0x01, 1, 9, 0,   0xF6, 0xFF, 0,    200,  0,
                                    0,    128,  0, 0, 255, 255,  0x0B, 0xC6, 0x03, 0x47 };
    png_append_chunk(&png, "IDAT", body, sizeof body);
    png_append_chunk(&png, "IEND", NULL, 0);
    s2_image image = decoded(&png, S2_PIXELS_VIEWER);
    static const uint8_t over_white[] = { 227, 127, 127, 0, 0, 255 };
    assert_memory_equal(image.pixels, over_white, 6);
    s2_image_free(&image);
    image = decoded(&png, S2_PIXELS_REFERENCE);
    static const uint8_t dropped[] = { 200, 0, 0, 0, 0, 255 };
    assert_memory_equal(image.pixels, dropped, 6);
    s2_image_free(&image);
    free(png.data);
}

/* The letters a b c over d e f, as each EXIF orientation shows them. */
static void orientations(void **state)
{
    (void)state;
    static const struct {
        int width;
        const char *pixels;
    } expected[9] = { { 3, "abcdef" }, { 3, "abcdef" }, { 3, "cbafed" },
                      { 3, "fedcba" }, { 3, "defabc" }, { 2, "adbecf" },
                      { 2, "daebfc" }, { 2, "fcebda" }, { 2, "cfbead" } };
    for (int orientation = 0; orientation <= 9; orientation++) {
        blob png = png_begin(3, 2, 8, 0, 0);
        uint8_t exif[] = { 'M', 'M', 0, 42, 0, 0, 0,    8,
                           0,   2,   1, 0,  0, 3, 0,    0,
                           0,   1,   0, 0,  0, 0, 0x01, 0x12,
                           0,   3,   0, 0,  0, 1, 0,    (uint8_t)orientation,
                           0,   0,   0, 0,  0, 0 };
        png_append_chunk(&png, "eXIf", exif, sizeof exif);
        static const uint8_t body[] = { 0x78, 0x01, 1,   8,   0,   0xF7, 0xFF, 0,    'a', 'b',
                                        'c',  0,    'd', 'e', 'f', 0x09, 0x46, 0x02, 0x56 };
        png_append_chunk(&png, "IDAT", body, sizeof body);
        png_append_chunk(&png, "IEND", NULL, 0);
        const int shown = orientation >= 1 && orientation <= 8 ? orientation : 0;
        s2_image image = decoded(&png, S2_PIXELS_VIEWER);
        assert_int_equal(image.view.width, expected[shown].width);
        for (int i = 0; i < 6; i++)
            assert_int_equal(image.pixels[3 * i], expected[shown].pixels[i]);
        s2_image_free(&image);
        image = decoded(&png, S2_PIXELS_REFERENCE);
        assert_int_equal(image.view.width, 3);
        assert_int_equal(image.pixels[0], 'a');
        s2_image_free(&image);
        free(png.data);
    }
}

/* EXIF blocks with offsets and counts that point outside: orientation is simply not found. */
static void hostile_exif(void **state)
{
    (void)state;
    const uint8_t good[] = { 'I',  'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12,
                             0x01, 3,   0,  1, 0, 0, 0, 6, 0, 0, 0 };
    for (size_t cut = 0; cut <= sizeof good; cut++) {
        for (size_t at = 4; at < 18; at++) {
            blob exif = blob_copy(good, cut);
            if (at < cut) exif.data[at] = 0xFF;
            blob png = png_begin(1, 1, 8, 0, 0);
            png_append_chunk(&png, "eXIf", exif.data, exif.size);
            png_append_chunk(&png, "IDAT", "\x78\x9C\x63\x68\x00\x00\x00\x82\x00\x81", 10);
            png_append_chunk(&png, "IEND", NULL, 0);
            s2_image image = decoded(&png, S2_PIXELS_VIEWER);
            assert_int_equal(image.pixels[0], 0x80);
            s2_image_free(&image);
            free(png.data);
            free(exif.data);
        }
    }
}

static void files(void **state)
{
    (void)state;
    char path[] = "/tmp/s2prune-test-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
    blob file = read_seed("png", "RGB.png");
    s2p_error error;
    assert_int_equal(s2_file_write(path, file.data, file.size, &error), S2P_OK);
    s2_image image = { 0 };
    assert_int_equal(s2_image_load(path, S2_PIXELS_REFERENCE, NULL, &image, &error), S2P_OK);
    assert_int_equal(image.format, S2_FORMAT_PNG);
    s2_image_free(&image);

    assert_int_equal(s2_file_write(path, file.data, file.size / 2, &error), S2P_OK);
    assert_int_equal(s2_image_load(path, S2_PIXELS_REFERENCE, NULL, &image, &error), S2P_EFORMAT);
    assert_int_equal(error.status, S2P_EFORMAT);
    assert_non_null(strstr(error.message, path));
    assert_non_null(strstr(error.message, "truncated"));

    s2_image_limits limits;
    s2_image_limits_init(&limits);
    limits.max_bytes = 10;
    assert_int_equal(s2_image_load(path, S2_PIXELS_REFERENCE, &limits, &image, &error), S2P_ELIMIT);
    (void)unlink(path);
    assert_int_equal(s2_image_load(path, S2_PIXELS_REFERENCE, NULL, &image, &error), S2P_EIO);
    free(file.data);
}

/* What is written as PNG comes back the same, with a stride too; same picture, same bytes. */
static void png_round_trip(void **state)
{
    (void)state;
    uint8_t pixels[7 * 40];
    for (size_t i = 0; i < sizeof pixels; i++) pixels[i] = (uint8_t)(i * i * 31 + i / 7);
    const s2p_image view = { 13, 7, 40, pixels };
    s2_buffer a, b;
    s2_buffer_init(&a, 1 << 20);
    s2_buffer_init(&b, 1 << 20);
    s2p_error error;
    assert_int_equal(s2_png_encode(&view, &a, &error), S2P_OK);
    assert_int_equal(s2_png_encode(&view, &b, &error), S2P_OK);
    assert_int_equal(a.size, b.size);
    assert_memory_equal(a.data, b.data, a.size);
    const blob file = { a.data, a.size, a.size };
    s2_image image = decoded(&file, S2_PIXELS_REFERENCE);
    assert_int_equal(image.view.width, 13);
    for (int y = 0; y < 7; y++) assert_memory_equal(image.pixels + 39 * y, pixels + 40 * y, 39);
    s2_image_free(&image);

    s2_buffer tiny;
    s2_buffer_init(&tiny, 20);
    assert_int_equal(s2_png_encode(&view, &tiny, &error), S2P_ELIMIT);
    const s2p_image empty = { 0, 7, 0, pixels };
    assert_int_equal(s2_png_encode(&empty, &b, &error), S2P_EINVAL);
    s2_buffer_free(&tiny);
    s2_buffer_free(&a);
    s2_buffer_free(&b);
}

/* A detour through JPEG: about the same picture, closer at higher quality; a flat one exactly. */
static void jpeg_detour(void **state)
{
    (void)state;
    enum { W = 37, H = 23, STRIDE = 3 * W + 5 };
    uint8_t pixels[H * STRIDE];
    for (int y = 0; y < H; y++)
        for (int x = 0; x < 3 * W; x++) pixels[y * STRIDE + x] = (uint8_t)(40 + 4 * y + x / 3);
    const s2p_image view = { W, H, STRIDE, pixels }, empty = { 0, H, STRIDE, pixels };
    double error_of[2] = { 0.0, 0.0 };
    s2_buffer jpeg;
    s2p_error error;
    for (int i = 0; i < 2; i++) {
        s2_buffer_init(&jpeg, 1 << 20);
        assert_int_equal(s2_jpeg_encode(&view, i ? 95 : 40, &jpeg, &error), S2P_OK);
        const blob file = { jpeg.data, jpeg.size, jpeg.size };
        s2_image image = decoded(&file, S2_PIXELS_REFERENCE);
        assert_true(image.format == S2_FORMAT_JPEG && image.view.width == W);
        for (int y = 0; y < H; y++)
            for (int x = 0; x < 3 * W; x++) {
                const int off = image.pixels[3 * W * y + x] - pixels[y * STRIDE + x];
                error_of[i] += (double)(off * off) / (3 * W * H);
            }
        s2_image_free(&image);
        s2_buffer_free(&jpeg);
    }
    assert_true(error_of[1] < 1.0 && error_of[1] < error_of[0] && error_of[0] < 40.0);
    s2_buffer_init(&jpeg, 20);
    assert_int_equal(s2_jpeg_encode(&view, 75, &jpeg, &error), S2P_ELIMIT);
    assert_int_equal(s2_jpeg_encode(&empty, 75, &jpeg, &error), S2P_EINVAL);
    assert_int_equal(s2_jpeg_encode(&view, 101, &jpeg, &error), S2P_EINVAL);
    s2_buffer_free(&jpeg);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(jpeg_detour),          cmocka_unit_test(foreign_formats),
        cmocka_unit_test(limits_are_inclusive), cmocka_unit_test(sizes_are_measured),
        cmocka_unit_test(scans_are_counted),    cmocka_unit_test(truncated_files),
        cmocka_unit_test(alpha_over_white),     cmocka_unit_test(orientations),
        cmocka_unit_test(hostile_exif),         cmocka_unit_test(files),
        cmocka_unit_test(png_round_trip),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
