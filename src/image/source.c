/* source.c - limits of size and time, asked by every decoder. */
#include "image/decoder.h"

#include "base/clock.h"

#include <string.h>

bool s2_source_has(const s2_source *source, size_t at, const char *bytes, size_t n)
{
    return source->n_bytes >= at + n && memcmp(source->bytes + at, bytes, n) == 0;
}

bool s2_source_is_late(const s2_source *source)
{
    return s2_now_ms() - source->start_ms > 1e3 * source->limits.max_seconds;
}

s2p_status s2_fail_late(const s2_source *source, const char *format, s2p_error *error)
{
    return s2_fail(error, S2P_ELIMIT, "%s took longer than %g s to decode", format,
                   source->limits.max_seconds);
}

s2p_status s2_source_admit(const s2_source *source, const char *format, int64_t width,
                           int64_t height, s2p_error *error)
{
    const s2_image_limits *limits = &source->limits;
    const long long w = width, h = height;
    if (width < 1 || height < 1)
        return s2_fail(error, S2P_EFORMAT, "%s header says %lldx%lld px", format, w, h);

    /* Pixels first: it is the limit people know and can raise. Both sides are below 2^32 in all
     * three formats, so the division is exact enough and nothing wraps. */
    if (height > limits->max_pixels / width) {
        if (limits->too_many) *limits->too_many = true;
        return s2_fail(error, S2P_ELIMIT, "image is %lldx%lld px; the limit is %lld pixels", w, h,
                       (long long)limits->max_pixels);
    }
    if (width > limits->max_side || height > limits->max_side)
        return s2_fail(error, S2P_ELIMIT, "image is %lldx%lld px; the limit is %d px per side", w,
                       h, (int)limits->max_side);
    const int64_t longer = width > height ? width : height;
    const int64_t shorter = width > height ? height : width;
    if (longer > shorter * limits->max_aspect)
        return s2_fail(error, S2P_ELIMIT,
                       "image is %lldx%lld px; the limit is an aspect ratio of %d to 1", w, h,
                       (int)limits->max_aspect);
    if (!source->measured) return S2P_OK;
    *source->measured = (s2_size){ (int32_t)width, (int32_t)height };
    return S2P_ECANCELLED;
}
