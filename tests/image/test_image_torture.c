/* test_image_torture.c - fail the 1st, 2nd, ... allocation of every image call.
 *
 * Linked with --wrap: our own allocations fail, those inside the decoders do not.
 * Each refusal is S2P_ENOMEM and leaves nothing behind (live blocks are counted).
 */
#include "image/draw/display.h"
#include "image/draw/overlay.h"
#include "test_files.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static long countdown = -1; /* allocations that still succeed; negative: all do */
static long n_live;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void __real_free(void *p);
void __wrap_free(void *p);

static bool is_refused(void)
{
    if (countdown < 0) return false;
    return countdown-- == 0;
}

static void *counted(void *p)
{
    if (p) n_live++;
    return p;
}

void *__wrap_malloc(size_t size) { return is_refused() ? NULL : counted(__real_malloc(size)); }

void *__wrap_calloc(size_t count, size_t size)
{
    return is_refused() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *old, size_t size)
{
    if (is_refused()) return NULL;
    return old ? __real_realloc(old, size) : counted(__real_realloc(NULL, size));
}

void __wrap_free(void *p)
{
    if (p) n_live--;
    __real_free(p);
}

typedef s2p_status (*job)(const void *input, s2p_error *error);

/* Run until no allocation is left to fail; returns how many failed in turn. */
static long torture(job run, const void *input)
{
    for (long n = 0;; n++) {
        const long before = n_live;
        s2p_error error = { S2P_OK, "" };
        countdown = n;
        const s2p_status st = run(input, &error);
        const bool is_done = countdown >= 0;
        countdown = -1;
        assert_int_equal(n_live, before);
        if (is_done) {
            assert_int_equal(st, S2P_OK);
            return n;
        }
        assert_int_equal(st, S2P_ENOMEM);
        assert_int_equal(error.status, S2P_ENOMEM);
        assert_true(strlen(error.message) > 10);
    }
}

static s2p_status run_decode(const void *input, s2p_error *error)
{
    const blob *file = input;
    s2_image image = { 0 };
    const s2p_status st =
        s2_image_decode(file->data, file->size, S2_PIXELS_VIEWER, NULL, &image, error);
    s2_image_free(&image);
    return st;
}

static s2p_status run_load(const void *input, s2p_error *error)
{
    s2_image image = { 0 };
    const s2p_status st = s2_image_load(input, S2_PIXELS_VIEWER, NULL, &image, error);
    s2_image_free(&image);
    return st;
}

static s2p_status run_resize(const void *input, s2p_error *error)
{
    s2_image image = { 0 };
    const s2p_status st = s2_image_resize(input, 31, 9, &image, error);
    s2_image_free(&image);
    return st;
}

static s2p_status run_draw(const void *input, s2p_error *error)
{
    s2_image image = { 0 };
    const s2p_status st = s2_overlay_draw(input, &image, error);
    s2_image_free(&image);
    return st;
}

static s2p_status run_svg(const void *input, s2p_error *error)
{
    s2_buffer out;
    s2_buffer_init(&out, 1 << 24);
    const s2p_status st = s2_overlay_svg(input, &out, error);
    s2_buffer_free(&out);
    return st;
}

static s2p_status run_display(const void *input, s2_display how, s2p_error *error)
{
    s2_buffer out;
    s2_buffer_init(&out, 1 << 24);
    const s2p_status st = s2_display_render(input, how, 20, &out, error);
    s2_buffer_free(&out);
    return st;
}

static s2p_status run_kitty(const void *input, s2p_error *error)
{
    return run_display(input, S2_DISPLAY_KITTY, error);
}

static s2p_status run_blocks(const void *input, s2p_error *error)
{
    return run_display(input, S2_DISPLAY_BLOCKS, error);
}

static s2p_status run_ascii(const void *input, s2p_error *error)
{
    return run_display(input, S2_DISPLAY_ASCII, error);
}

static void decoders(void **state)
{
    (void)state;
    static const char *const names[] = { "exif6.jpeg", "exif5.png", "exif7.webp" };
    static const char *const kinds[] = { "jpeg", "png", "webp" };
    for (int i = 0; i < 3; i++) {
        blob file = read_seed(kinds[i], names[i]);
        assert_int_equal(torture(run_decode, &file), 2); /* the pixels, and the turned ones */
        free(file.data);
    }
    assert_true(torture(run_load, S2_TEST_CORPUS "/png/exif5.png") >= 3);
}

static void drawing(void **state)
{
    (void)state;
    blob file = read_seed("png", "RGB.png");
    s2_image image = { 0 };
    assert_int_equal(s2_image_decode(file.data, file.size, S2_PIXELS_VIEWER, NULL, &image, NULL),
                     S2P_OK);
    const s2p_rect all = { 0, 0, 2, 2 };
    const int32_t share = 1, keep = 3;
    const s2p_layout layout = {
        .grid = { 2, 2 }, .side = 1, .budget = 1, .region = &all, .share = &share, .cell = &all
    };
    const s2_overlay overlay = {
        .picture = &image.view, .layout = &layout, .keep = &keep, .n_keep = 1, .caption = "caption"
    };
    assert_true(torture(run_resize, &image.view) >= 8);
    assert_true(torture(run_draw, &overlay) >= 9);
    assert_true(torture(run_svg, &overlay) >= 2);
    assert_true(torture(run_kitty, &image.view) >= 3);
    assert_true(torture(run_blocks, &image.view) >= 8);
    assert_true(torture(run_ascii, &image.view) >= 9);
    s2_image_free(&image);
    free(file.data);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(decoders), cmocka_unit_test(drawing) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
