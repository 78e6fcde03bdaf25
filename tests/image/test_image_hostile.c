/* test_image_hostile.c - 2,000 hostile files of each format that came after JPEG, PNG and WebP.
 *
 * Seeds of the fuzz corpus are cut, flipped, spliced with each other and given extreme bytes. Each
 * file is decoded four ways: a typed error or a picture within the limits, and memory that stays
 * within them. Under `make test-sanitize` a report of a sanitizer ends the test.
 */
#include "base/sanitizer.h"
#include "test_files.h"

#include "base/random.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <sys/resource.h>

#if S2_HAS_SANITIZER
#include <sanitizer/lsan_interface.h>
#endif

#define N_FILES 2000
#define MAX_PIXELS (1 << 18)

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

/* All four ways to decode. Returns the status of the strict reference way. */
static s2p_status attempt(const blob *file)
{
    s2p_status first = S2P_OK;
    for (int way = 0; way < 4; way++) {
        s2_image_limits limits;
        s2_image_limits_init(&limits);
        limits.max_pixels = MAX_PIXELS;
        limits.strict = way < 2;
        s2_image image, untouched;
        memset(&image, 0x5A, sizeof image);
        untouched = image;
        s2p_error error = { S2P_OK, "" };
        const s2p_status st = s2_image_decode(file->data, file->size,
                                              way % 2 ? S2_PIXELS_VIEWER : S2_PIXELS_REFERENCE,
                                              &limits, &image, &error);
        if (way == 0) first = st;
        if (st == S2P_OK) {
            assert_true((int64_t)image.view.width * image.view.height <= MAX_PIXELS);
            volatile uint8_t sum = 0;
            for (ptrdiff_t i = 0; i < image.view.stride * image.view.height; i++)
                sum = (uint8_t)(sum + image.pixels[i]);
            s2_image_free(&image);
            continue;
        }
        assert_true(st == S2P_EFORMAT || st == S2P_EUNSUPPORTED || st == S2P_ELIMIT);
        assert_int_equal(error.status, st);
        assert_true(strlen(error.message) > 10 && !strchr(error.message, '\n'));
        assert_memory_equal(&image, &untouched, sizeof image);
    }
    return first;
}

/* One hostile file. The blob has exactly its size, so that a read past its end is seen. */
static blob spoil(const seeds *s, s2_random *random, int i)
{
    static const uint8_t extremes[] = { 0, 1, 0x7F, 0x80, 0xFF };
    const blob *seed = &s->file[s2_random_below(random, (uint32_t)s->n)];
    const blob *other = &s->file[s2_random_below(random, (uint32_t)s->n)];
    size_t size = seed->size;
    if (i % 4 == 0) size = s2_random_below(random, (uint32_t)seed->size);
    blob bad = blob_copy(seed->data, size);
    if (i % 4 == 1 && size > 0) { /* the head of one, the tail of another */
        const size_t cut = s2_random_below(random, (uint32_t)size);
        for (size_t k = cut; k < size && k < other->size; k++) bad.data[k] = other->data[k];
    }
    const uint32_t n = i % 4 == 0 ? 0 : 1 + s2_random_below(random, 6);
    for (uint32_t k = 0; k < n && size > 0; k++) {
        /* every other time near the front, where the headers are */
        const uint32_t reach = k % 2 && size > 64 ? 64 : (uint32_t)size;
        uint8_t *at = &bad.data[s2_random_below(random, reach)];
        if (i % 4 == 3)
            *at = extremes[s2_random_below(random, 5)];
        else
            *at ^= (uint8_t)(1u << s2_random_below(random, 8));
    }
    return bad;
}

static void hostile(const char *kind, long most_kilobytes)
{
    seeds s;
    seeds_load(&s, kind);
    assert_true(s.n >= 8);
    int n_read = 0;
    for (int i = 0; i < s.n; i++) n_read += attempt(&s.file[i]) == S2P_OK;
    if (n_read == 0) { /* a build without its library refuses all of them, in a sentence */
        seeds_free(&s);
        return;
    }
    assert_int_equal(n_read, s.n);
    const long before = peak_kilobytes();
    s2_random random = { 28 };
    for (int i = 0; i < N_FILES; i++) {
        blob bad = spoil(&s, &random, i);
        (void)attempt(&bad);
        free(bad.data);
    }
    if (!S2_HAS_SANITIZER) assert_true(peak_kilobytes() - before <= most_kilobytes);
    seeds_free(&s);
}

static void gifs(void **state)
{
    (void)state;
    hostile("gif", 8 * 1024);
}

static void bmps(void **state)
{
    (void)state;
    hostile("bmp", 8 * 1024);
}

/* libtiff may take a strip as large as the limit of pixels allows, 16 bytes each. */
static void tiffs(void **state)
{
    (void)state;
    hostile("tiff", 64 * 1024);
}

/* The decoders behind libheif keep threads and frames of their own, and dav1d loses 40 bytes for some
 * damaged files: leaks are not counted here. */
static void heifs(void **state)
{
    (void)state;
#if S2_HAS_SANITIZER
    __lsan_disable();
#endif
    hostile("heif", 256 * 1024);
#if S2_HAS_SANITIZER
    __lsan_enable();
#endif
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(gifs), cmocka_unit_test(bmps),
                                        cmocka_unit_test(tiffs), cmocka_unit_test(heifs) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
