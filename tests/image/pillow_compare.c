/* pillow_compare.c - compare our pixels with expected ones that arrive on standard input.
 *
 * pillow_oracle.py starts this program and sends records: a line, then raw bytes.
 *   decode NAME reference|viewer N W H    N file bytes, then W*H*3 expected
 *   near NAME reference|viewer N W H D    the same; samples may differ by D
 *   reduce NAME P N W H                   N file bytes, decoded at a scale with at most P pixels
 *   refuse NAME reference|viewer N WORD   N file bytes; the sentence must contain WORD
 *   resize NAME w h W H                   w*h*3 bytes, then W*H*3 expected; also lanczos, bilinear
 *   detour NAME Q w h                     w*h*3 bytes, then the same after a JPEG of quality Q
 *   gray NAME w h                         w*h*3 bytes, then w*h expected
 *   end COUNT                             COUNT records were sent before
 * Exit code 0 only when every record agreed in every byte and the count is right.
 * `pillow_compare has tiff|heif` exits with 0 when the build reads this format.
 */
#include "image/image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long n_records, n_bad;

static void bad(const char *name, const char *why)
{
    n_bad++;
    fprintf(stderr, "%s: %s\n", name, why);
}

static uint8_t *take(size_t n)
{
    uint8_t *bytes = malloc(n ? n : 1);
    if (!bytes || fread(bytes, 1, n, stdin) != n) {
        fprintf(stderr, "the oracle sent too few bytes\n");
        exit(2);
    }
    return bytes;
}

static void compare_near(const char *name, const uint8_t *got, const uint8_t *expected, size_t n,
                         int tolerance)
{
    size_t n_differ = 0;
    int largest = 0;
    for (size_t i = 0; i < n; i++) {
        const int d = abs((int)got[i] - (int)expected[i]);
        n_differ += d > tolerance;
        if (d > largest) largest = d;
    }
    char why[96];
    (void)snprintf(why, sizeof why, "%zu of %zu bytes differ, by at most %d", n_differ, n, largest);
    if (n_differ) bad(name, why);
}

static void compare(const char *name, const uint8_t *got, const uint8_t *expected, size_t n)
{
    compare_near(name, got, expected, n, 0);
}

/* Decoded at a reduced scale, next to what libjpeg's scales give Pillow. */
static void check_reduce(const char *name, size_t most, size_t n, size_t w, size_t h)
{
    uint8_t *file = take(n), *expected = take(w * h * 3);
    s2_image image = { 0 };
    s2p_error error = { S2P_OK, "" };
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    limits.reduce_pixels = (int64_t)most;
    if (s2_image_decode(file, n, S2_PIXELS_REFERENCE, &limits, &image, &error) != S2P_OK)
        bad(name, error.message);
    else if ((size_t)image.view.width != w || (size_t)image.view.height != h)
        bad(name, "size");
    else if (image.stored.width <= image.view.width)
        bad(name, "the size in the file is not there");
    else
        compare(name, image.pixels, expected, w * h * 3);
    s2_image_free(&image);
    free(file);
    free(expected);
}

static void check_decode(const char *name, const char *policy, size_t n, size_t w, size_t h,
                         size_t tolerance)
{
    uint8_t *file = take(n), *expected = take(w * h * 3);
    s2_image image = { 0 };
    s2p_error error = { S2P_OK, "" };
    const s2_pixels pixels = strcmp(policy, "viewer") == 0 ? S2_PIXELS_VIEWER : S2_PIXELS_REFERENCE;
    if (s2_image_decode(file, n, pixels, NULL, &image, &error) != S2P_OK)
        bad(name, error.message);
    else if ((size_t)image.view.width != w || (size_t)image.view.height != h)
        bad(name, "size");
    else
        compare_near(name, image.pixels, expected, w * h * 3, (int)tolerance);
    s2_image_free(&image);
    free(file);
    free(expected);
}

static void check_refuse(const char *name, const char *policy, size_t n, const char *word)
{
    uint8_t *file = take(n);
    s2_image image = { 0 };
    s2p_error error = { S2P_OK, "" };
    const s2_pixels pixels = strcmp(policy, "viewer") == 0 ? S2_PIXELS_VIEWER : S2_PIXELS_REFERENCE;
    if (s2_image_decode(file, n, pixels, NULL, &image, &error) == S2P_OK)
        bad(name, "was accepted");
    else if (!strstr(error.message, word))
        bad(name, error.message);
    s2_image_free(&image);
    free(file);
}

static void check_resize(const char *name, size_t w, size_t h, size_t to_w, size_t to_h,
                         s2_filter filter, s2_resize how)
{
    uint8_t *in = take(w * h * 3), *expected = take(to_w * to_h * 3);
    const s2p_image view = { (int32_t)w, (int32_t)h, (ptrdiff_t)(3 * w), in };
    s2_image image = { 0 };
    s2p_error error = { S2P_OK, "" };
    if (s2_image_resize_with(&view, (int32_t)to_w, (int32_t)to_h, filter, how, &image, &error) !=
        S2P_OK)
        bad(name, error.message);
    else
        compare(name, image.pixels, expected, to_w * to_h * 3);
    s2_image_free(&image);
    free(in);
    free(expected);
}

static void check_detour(const char *name, size_t quality, size_t w, size_t h)
{
    uint8_t *in = take(w * h * 3), *expected = take(w * h * 3);
    const s2p_image view = { (int32_t)w, (int32_t)h, (ptrdiff_t)(3 * w), in };
    s2_image image = { 0 };
    s2p_error error = { S2P_OK, "" };
    s2_buffer jpeg;
    s2_buffer_init(&jpeg, (size_t)1 << 24);
    s2p_status st = s2_jpeg_encode(&view, (int32_t)quality, &jpeg, &error);
    if (st == S2P_OK)
        st = s2_image_decode(jpeg.data, jpeg.size, S2_PIXELS_REFERENCE, NULL, &image, &error);
    if (st != S2P_OK)
        bad(name, error.message);
    else
        compare(name, image.pixels, expected, w * h * 3);
    s2_image_free(&image);
    s2_buffer_free(&jpeg);
    free(in);
    free(expected);
}

static void check_gray(const char *name, size_t w, size_t h)
{
    uint8_t *in = take(w * h * 3), *expected = take(w * h), *got = malloc(w * h);
    const s2p_image view = { (int32_t)w, (int32_t)h, (ptrdiff_t)(3 * w), in };
    if (got) {
        s2_image_gray(&view, got);
        compare(name, got, expected, w * h);
    } else
        bad(name, "out of memory");
    free(in);
    free(expected);
    free(got);
}

/* The line split at spaces: kind, name and up to five more words. */
static int split(char *line, char *words[7])
{
    int n = 0;
    char *at = line;
    for (;;) {
        while (*at == ' ') at++;
        if (*at == '\0' || *at == '\n' || n == 7) return n;
        words[n++] = at;
        while (*at != ' ' && *at != '\0' && *at != '\n') at++;
        if (*at != '\0') *at++ = '\0';
    }
}

static size_t number(const char *word) { return (size_t)strtoull(word, NULL, 10); }

/* A file of the format that is cut after its first bytes: damaged, or of an unknown kind. */
static int has_format(const char *kind)
{
    static const uint8_t tiff[] = "II*\0\x08\0\0", heif[] = "\0\0\0\x18"
                                                            "ftypheic\0\0\0";
    s2_image image = { 0 };
    const bool is_tiff = strcmp(kind, "tiff") == 0;
    const s2p_status st =
        s2_image_decode(is_tiff ? tiff : heif, is_tiff ? sizeof tiff : sizeof heif,
                        S2_PIXELS_REFERENCE, NULL, &image, NULL);
    s2_image_free(&image);
    return st == S2P_EUNSUPPORTED ? 1 : 0;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "has") == 0) return has_format(argv[2]);
    char line[256];
    long n_expected = -1;
    while (fgets(line, sizeof line, stdin)) {
        char *w[7];
        const int n = split(line, w);
        if (n == 2 && strcmp(w[0], "end") == 0) {
            n_expected = strtol(w[1], NULL, 10);
            break;
        }
        n_records++;
        if (n == 6 && strcmp(w[0], "decode") == 0)
            check_decode(w[1], w[2], number(w[3]), number(w[4]), number(w[5]), 0);
        else if (n == 7 && strcmp(w[0], "near") == 0)
            check_decode(w[1], w[2], number(w[3]), number(w[4]), number(w[5]), number(w[6]));
        else if (n == 6 && strcmp(w[0], "reduce") == 0)
            check_reduce(w[1], number(w[2]), number(w[3]), number(w[4]), number(w[5]));
        else if (n == 5 && strcmp(w[0], "refuse") == 0)
            check_refuse(w[1], w[2], number(w[3]), w[4]);
        else if (n == 6 && strcmp(w[0], "resize") == 0)
            check_resize(w[1], number(w[2]), number(w[3]), number(w[4]), number(w[5]),
                         S2_FILTER_BICUBIC, S2_RESIZE_PILLOW);
        else if (n == 6 && strcmp(w[0], "lanczos") == 0)
            check_resize(w[1], number(w[2]), number(w[3]), number(w[4]), number(w[5]),
                         S2_FILTER_LANCZOS, S2_RESIZE_PILLOW);
        else if (n == 6 && strcmp(w[0], "lanczos13") == 0)
            check_resize(w[1], number(w[2]), number(w[3]), number(w[4]), number(w[5]),
                         S2_FILTER_LANCZOS, S2_RESIZE_PILLOW13);
        else if (n == 6 && strcmp(w[0], "bilinear") == 0)
            check_resize(w[1], number(w[2]), number(w[3]), number(w[4]), number(w[5]),
                         S2_FILTER_BILINEAR, S2_RESIZE_PILLOW);
        else if (n == 6 && strcmp(w[0], "bilinear13") == 0)
            check_resize(w[1], number(w[2]), number(w[3]), number(w[4]), number(w[5]),
                         S2_FILTER_BILINEAR, S2_RESIZE_PILLOW13);
        else if (n == 6 && strcmp(w[0], "resize13") == 0)
            check_resize(w[1], number(w[2]), number(w[3]), number(w[4]), number(w[5]),
                         S2_FILTER_BICUBIC, S2_RESIZE_PILLOW13);
        else if (n == 5 && strcmp(w[0], "detour") == 0)
            check_detour(w[1], number(w[2]), number(w[3]), number(w[4]));
        else if (n == 4 && strcmp(w[0], "gray") == 0)
            check_gray(w[1], number(w[2]), number(w[3]));
        else {
            fprintf(stderr, "unknown record '%s'\n", w[0]);
            return 2;
        }
    }
    printf("%ld records, %ld bad\n", n_records, n_bad);
    return n_bad == 0 && n_records > 0 && n_expected == n_records ? 0 : 1;
}
