/* verify_geometry.c - sizes, resizing, positions and the picture recipes themselves. */
#include "engine/decoder/positions.h"
#include "image/geometry.h"
#include "verify/synth.h"
#include "verify/checks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define QWEN_FACTOR 28
#define QWEN_MERGE 2
#define ONEVISION_TILE 384
#define ONEVISION_BASE 27
#define MAX_PROMPT (1 << 22) /* tokens of an mrope case */

/* --- pictures from recipes ------------------------------------------------ */

static bool make_picture(const char *kind, int64_t seed, int32_t width, int32_t height,
                         s2_image *out, s2_verdict *verdict)
{
    s2p_error error = { S2P_OK, "" };
    if (kind && seed >= 0 && seed <= UINT32_MAX &&
        s2_synth_picture(kind, (uint32_t)seed, width, height, out, &error) == S2P_OK)
        return true;
    s2_malformed(verdict, "%s", error.message[0] ? error.message : "not a picture recipe");
    return false;
}

bool s2_golden_is_picture(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path,
               *dot = strrchr(name, '.');
    return strncmp(name, "img_", 4) == 0 && dot && strcmp(dot, ".png") == 0;
}

/* "img_rects_1017_168x168.png" -> its four parts. */
static bool read_name(const char *path, char kind[32], long number[3])
{
    const char *slash = strrchr(path, '/'), *at = (slash ? slash + 1 : path) + 4;
    const size_t n = strcspn(at, "_");
    if (n == 0 || n >= 32) return false;
    memcpy(kind, at, n);
    kind[n] = '\0';
    at += n;
    for (int i = 0; i < 3; i++) {
        if (*at != (i < 2 ? '_' : 'x') || at[1] < '0' || at[1] > '9') return false;
        char *end;
        number[i] = strtol(at + 1, &end, 10);
        if (number[i] > INT32_MAX) return false;
        at = end;
    }
    return strcmp(at, ".png") == 0;
}

void s2_golden_check_picture(const char *path, s2_verdict *verdict)
{
    char kind[32];
    long number[3]; /* seed, width, height */
    *verdict = (s2_verdict){ .n_cases = 1, .label = "picture" };
    s2_buffer_init(&verdict->lines, 4096);
    s2_image stored = { .pixels = NULL }, made = { .pixels = NULL };
    s2_image_limits limits;
    s2_image_limits_init(&limits);
    s2p_error error = { S2P_OK, "" };
    if (!read_name(path, kind, number))
        s2_malformed(verdict, "the name is not img_<kind>_<seed>_<width>x<height>.png");
    else if (s2_image_load(path, S2_PIXELS_REFERENCE, &limits, &stored, &error) != S2P_OK)
        s2_malformed(verdict, "%s", error.message);
    else if (make_picture(kind, number[0], (int32_t)number[1], (int32_t)number[2], &made,
                          verdict) &&
             s2_same_number(verdict, "width", stored.view.width, made.view.width) &&
             s2_same_number(verdict, "height", stored.view.height, made.view.height))
        for (int32_t y = 0; y < made.view.height && !verdict->case_failed; y++)
            if (memcmp(stored.view.pixels + y * stored.view.stride,
                       made.view.pixels + y * made.view.stride, (size_t)made.view.width * 3) != 0)
                s2_differs(verdict, "row %d is not what the recipe gives", y);
    verdict->n_failed = verdict->case_failed;
    s2_image_free(&stored);
    s2_image_free(&made);
}

/* --- resize --------------------------------------------------------------- */

static uint8_t *packed(const s2p_image *view)
{
    const size_t row = (size_t)view->width * 3;
    uint8_t *bytes = malloc(row * (size_t)view->height);
    for (int32_t y = 0; bytes && y < view->height; y++)
        memcpy(bytes + (size_t)y * row, view->pixels + y * view->stride, row);
    return bytes;
}

void s2_check_resize(const json_t *c, s2_verdict *verdict)
{
    int32_t width, height, new_width, new_height, pillow = 12; /* a case may name its version */
    int64_t seed;
    s2_image in = { .pixels = NULL }, out = { .pixels = NULL };
    s2p_error error = { S2P_OK, "" };
    if (!s2_take_int(c, "w", &width, verdict) || !s2_take_int(c, "h", &height, verdict) ||
        !s2_take_int(c, "W", &new_width, verdict) || !s2_take_int(c, "H", &new_height, verdict) ||
        !s2_take_wide(c, "seed", &seed, verdict) ||
        (json_object_get(c, "pillow") && !s2_take_int(c, "pillow", &pillow, verdict)) ||
        !make_picture(s2_json_string(c, "kind"), seed, width, height, &in, verdict))
        return;
    const s2p_status st =
        s2_image_resize_as(&in.view, new_width, new_height,
                           pillow >= 13 ? S2_RESIZE_PILLOW13 : S2_RESIZE_PILLOW, &out, &error);
    if (s2_expects_error(c, "crc32")) {
        if (st == S2P_OK) s2_differs(verdict, "expected an error, got a picture");
    } else if (st != S2P_OK) {
        s2_differs(verdict, "refused: %s", error.message);
    } else {
        /* CRC and sum of all bytes, and the first pixels of a few rows to see where it went wrong. */
        const size_t row = (size_t)out.view.width * 3, n = row * (size_t)out.view.height;
        uint8_t *bytes = packed(&out.view);
        int64_t crc, sum, got = 0;
        if (bytes && s2_take_wide(c, "crc32", &crc, verdict) &&
            s2_take_wide(c, "sum", &sum, verdict)) {
            const json_t *rows = json_object_get(c, "rows"), *first = json_object_get(c, "first8");
            for (size_t i = 0; i < json_array_size(rows) && i < json_array_size(first); i++) {
                const int64_t y = json_integer_value(json_array_get(rows, i));
                const json_t *values = json_array_get(first, i);
                for (size_t k = 0;
                     k < json_array_size(values) && k < row && y >= 0 && y < out.view.height; k++)
                    if (!s2_same_number(verdict, "pixel",
                                        json_integer_value(json_array_get(values, k)),
                                        bytes[(size_t)y * row + k]))
                        break;
            }
            for (size_t i = 0; i < n; i++) got += bytes[i];
            (void)(s2_same_number(verdict, "sum of bytes", sum, got) &&
                   s2_same_number(verdict, "CRC-32", crc, s2_crc32(bytes, n)));
        }
        free(bytes);
    }
    s2_image_free(&in);
    s2_image_free(&out);
}

/* --- sizes ---------------------------------------------------------------- */

void s2_check_smart_resize(const json_t *c, s2_verdict *verdict)
{
    s2_size in, out = { 0, 0 };
    int64_t min_pixels, max_pixels;
    int32_t factor = QWEN_FACTOR;
    if (!s2_take_int(c, "h", &in.height, verdict) || !s2_take_int(c, "w", &in.width, verdict) ||
        !s2_take_wide(c, "min", &min_pixels, verdict) ||
        !s2_take_wide(c, "max", &max_pixels, verdict) ||
        (json_object_get(c, "factor") && !s2_take_int(c, "factor", &factor, verdict)))
        return;
    const s2p_status st = s2_smart_resize(in, factor, min_pixels, max_pixels, &out);
    s2_ints expected;
    if (s2_expects_error(c, "out")) {
        if (st == S2P_OK)
            s2_differs(verdict, "expected an error, got %d x %d", out.height, out.width);
    } else if (st != S2P_OK) {
        s2_differs(verdict, "refused: %s", s2p_status_text(st));
    } else if (s2_take_ints(c, "out", &expected, verdict)) {
        s2_same_ints(verdict, "height, width", &expected,
                     (const int32_t[]){ out.height, out.width }, 2);
        free(expected.data);
    }
}

void s2_check_anyres(const json_t *c, s2_verdict *verdict)
{
    s2_size in;
    int32_t views, unpadded, newlines, total;
    s2_ints best;
    if (!s2_take_int(c, "h", &in.height, verdict) || !s2_take_int(c, "w", &in.width, verdict) ||
        !s2_take_int(c, "views", &views, verdict) ||
        !s2_take_int(c, "unpadded", &unpadded, verdict) ||
        !s2_take_int(c, "newlines", &newlines, verdict) ||
        !s2_take_int(c, "total", &total, verdict) || !s2_take_ints(c, "best", &best, verdict))
        return;
    if (in.height < 1 || in.width < 1) {
        s2_malformed(verdict, "a picture of %d x %d", in.width, in.height);
    } else {
        const s2_anyres got = s2_anyres_plan(in, ONEVISION_TILE, ONEVISION_BASE);
        const int32_t size[2] = { got.best.height, got.best.width };
        s2_same_ints(verdict, "best height, width", &best, size, 2);
        s2_same_number(verdict, "views", views, got.n_views);
        s2_same_number(verdict, "unpadded tokens", unpadded, got.rows * got.cols);
        s2_same_number(verdict, "newlines", newlines, got.rows);
        s2_same_number(verdict, "tokens", total, got.n_tokens);
    }
    free(best.data);
}

/* --- positions ------------------------------------------------------------ */

/* A number: so many text tokens. [h, w]: a picture of h x w patches. False on anything else. */
static bool read_segment(const json_t *value, s2v_segment *out, int64_t *n_tokens)
{
    size_t n = 0;
    int32_t *sides = s2_json_ints(value, &n);
    bool ok = false;
    *out = (s2v_segment){ .n_text = 0 };
    if (json_is_integer(value)) {
        const json_int_t count = json_integer_value(value);
        ok = count >= 0 && count <= MAX_PROMPT;
        if (ok) out->n_text = (int32_t)count;
    } else if (n == 2 && sides[0] >= QWEN_MERGE && sides[1] >= QWEN_MERGE) {
        out->grid = (s2p_grid){ sides[0] / QWEN_MERGE, sides[1] / QWEN_MERGE };
        ok = out->grid.rows <= S2P_MAX_SIDE && out->grid.cols <= S2P_MAX_SIDE;
    }
    free(sides);
    if (!ok) return false;
    *n_tokens += out->n_text + (int64_t)out->grid.rows * out->grid.cols;
    return *n_tokens <= MAX_PROMPT;
}

void s2_check_mrope(const json_t *c, s2_verdict *verdict)
{
    const json_t *list = json_object_get(c, "segments");
    const size_t n_segments = json_array_size(list);
    s2v_segment *segment = calloc(n_segments + 1, sizeof *segment);
    int64_t n = 0;
    bool ok = segment != NULL && n_segments > 0;
    for (size_t i = 0; ok && i < n_segments; i++)
        ok = read_segment(json_array_get(list, i), &segment[i], &n);
    if (!ok) s2_malformed(verdict, "'segments' is not a list of text counts and [h, w] pictures");
    int32_t n_expected, next_expected;
    int32_t *values = ok ? calloc(3 * (size_t)n + 1, sizeof *values) : NULL;
    if (values && s2_take_int(c, "n", &n_expected, verdict) &&
        s2_take_int(c, "next_pos", &next_expected, verdict) &&
        s2_same_number(verdict, "tokens", n_expected, n)) {
        int32_t *const pos[3] = { values, values + n, values + 2 * n };
        const int32_t next = s2v_mrope(segment, n_segments, pos);
        s2_same_number(verdict, "next position", next_expected, next);
        s2_ints expected;
        if (json_object_get(c, "pos") && s2_take_ints(c, "pos", &expected, verdict)) {
            s2_same_ints(verdict, "positions", &expected, values, 3 * (size_t)n);
            free(expected.data);
        }
        const json_t *delta = json_object_get(c, "rope_delta");
        if (delta) s2_same_number(verdict, "rope delta", json_integer_value(delta), next - n);
    }
    free(values);
    free(segment);
}

/* --- the recipes' own building blocks ------------------------------------- */

void s2_check_prng(const json_t *c, s2_verdict *verdict)
{
    static const char prefix[] = "xorshift32_seed";
    const json_t *hashes = json_object_get(c, "hash32"), *crcs = json_object_get(c, "crc");
    json_t *root = json_deep_copy(c); /* jansson iterates over objects it could change */
    for (void *it = json_object_iter(root); it; it = json_object_iter_next(root, it)) {
        const char *key = json_object_iter_key(it);
        const json_t *values = json_object_iter_value(it);
        if (strncmp(key, prefix, sizeof prefix - 1) != 0) continue;
        s2_xorshift draw = { (uint32_t)strtoul(key + sizeof prefix - 1, NULL, 10) };
        for (size_t i = 0; i < json_array_size(values); i++)
            s2_same_number(verdict, "xorshift32", json_integer_value(json_array_get(values, i)),
                           s2_xorshift_next(&draw));
    }
    json_decref(root);
    for (size_t i = 0; i < json_array_size(hashes); i++) {
        uint32_t v[5] = { 0 };
        size_t n = 0;
        for (; n < 5; n++) {
            const json_t *value = json_array_get(json_array_get(hashes, i), n);
            if (!json_is_integer(value)) break;
            v[n] = (uint32_t)json_integer_value(value);
        }
        if (n < 5)
            s2_malformed(verdict, "a row of 'hash32' is not five numbers");
        else
            s2_same_number(verdict, "hash32", v[4], s2_hash32(v[0], v[1], v[2], v[3]));
    }
    for (size_t i = 0; i < json_array_size(crcs); i++) { /* [kind, seed, width, height, crc] */
        const json_t *row = json_array_get(crcs, i), *crc = json_array_get(row, 4);
        const json_int_t seed = json_integer_value(json_array_get(row, 1));
        const json_int_t width = json_integer_value(json_array_get(row, 2));
        const json_int_t height = json_integer_value(json_array_get(row, 3));
        s2_image picture;
        if (!json_is_integer(crc) || width < 1 || width > INT32_MAX || height < 1 ||
            height > INT32_MAX) {
            s2_malformed(verdict, "a row of 'crc' is not [kind, seed, width, height, crc]");
            continue;
        }
        if (!make_picture(json_string_value(json_array_get(row, 0)), seed, (int32_t)width,
                          (int32_t)height, &picture, verdict))
            continue;
        const size_t n = (size_t)picture.view.width * (size_t)picture.view.height * 3;
        s2_same_number(verdict, "CRC-32 of a recipe", json_integer_value(crc),
                       s2_crc32(picture.pixels, n));
        s2_image_free(&picture);
    }
}
