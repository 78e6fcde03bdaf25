/* parquet_codec.c - snappy, gzip, zstd. */
#include "eval/readers/parquet/parquet_page.h"

#include <snappy-c.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

bool s2e_codec_can_hold(int32_t codec, size_t n_packed, size_t n_full)
{
    switch (codec) {
    case S2E_CODEC_NONE:
        return n_packed == n_full;
    case S2E_CODEC_SNAPPY: /* three bytes copy at most 64 */
        return n_full / 32 <= n_packed;
    case S2E_CODEC_GZIP: /* two bits and a bit copy at most 258 */
        return n_full / 1100 <= n_packed;
    case S2E_CODEC_ZSTD: /* four bytes repeat a byte 128 Ki times */
        return n_full / 40000 <= n_packed;
    default:
        return true;
    }
}

static bool decode_snappy(const uint8_t *packed, size_t n_packed, uint8_t *out, size_t n_full)
{
    size_t n = n_full;
    const char *in = (const char *)packed;
    return snappy_uncompressed_length(in, n_packed, &n) == SNAPPY_OK && n == n_full &&
           snappy_uncompress(in, n_packed, (char *)out, &n) == SNAPPY_OK && n == n_full;
}

/* Members of a gzip file one after the other, or a zlib stream, as writers differ. */
static s2p_status decode_gzip(const uint8_t *packed, size_t n_packed, uint8_t *out, size_t n_full,
                              bool *whole)
{
    z_stream stream;
    memset(&stream, 0, sizeof stream);
    if (inflateInit2(&stream, 15 + 32) != Z_OK) return S2P_ENOMEM; /* + 32: either header */
    size_t in = 0, done = 0;
    int code = Z_OK;
    while (code == Z_OK || (code == Z_STREAM_END && in < n_packed && done < n_full)) {
        if (code == Z_STREAM_END && inflateReset(&stream) != Z_OK) break;
        const size_t more_in = n_packed - in < UINT32_MAX / 2 ? n_packed - in : UINT32_MAX / 2;
        const size_t more_out = n_full - done < UINT32_MAX / 2 ? n_full - done : UINT32_MAX / 2;
        stream.next_in = (Bytef *)(uintptr_t)(packed + in);
        stream.avail_in = (uInt)more_in;
        stream.next_out = out + done;
        stream.avail_out = (uInt)more_out;
        code = inflate(&stream, Z_NO_FLUSH);
        in += more_in - stream.avail_in;
        done += more_out - stream.avail_out;
    }
    inflateEnd(&stream);
    *whole = code == Z_STREAM_END && done == n_full;
    return code == Z_MEM_ERROR ? S2P_ENOMEM : S2P_OK;
}

s2p_status s2e_codec_decode(int32_t codec, const uint8_t *packed, size_t n_packed, uint8_t *out,
                            size_t n_full, s2p_error *error)
{
    bool whole = false;
    if (n_full == 0 && n_packed == 0) return S2P_OK; /* a page of nulls */
    switch (codec) {
    case S2E_CODEC_NONE:
        whole = n_packed == n_full;
        if (whole) memcpy(out, packed, n_full);
        break;
    case S2E_CODEC_SNAPPY:
        whole = decode_snappy(packed, n_packed, out, n_full);
        break;
    case S2E_CODEC_GZIP:
        if (decode_gzip(packed, n_packed, out, n_full, &whole) != S2P_OK)
            return s2_fail_memory(error, n_full, "gzip");
        break;
    case S2E_CODEC_ZSTD:
        whole = ZSTD_decompress(out, n_full, packed, n_packed) == n_full;
        break;
    default:
        return s2_fail(error, S2P_EUNSUPPORTED,
                       "pages are compressed by codec %ld; snappy, gzip and zstd are read",
                       (long)codec);
    }
    if (whole) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "%zu compressed bytes do not decompress to %zu", n_packed,
                   n_full);
}
