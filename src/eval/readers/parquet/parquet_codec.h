/* parquet_codec.h - compressed pages through the system's libraries. */
#ifndef S2_EVAL_PARQUET_CODEC_H
#define S2_EVAL_PARQUET_CODEC_H

#include "base/error.h"

#include <stdbool.h>

enum { S2E_CODEC_NONE = 0, S2E_CODEC_SNAPPY = 1, S2E_CODEC_GZIP = 2, S2E_CODEC_ZSTD = 6 };

/* Can n_packed bytes of this codec be n_full bytes? Asked before memory is taken. Codecs that are not
 * known can. */
bool s2e_codec_can_hold(int32_t codec, size_t n_packed, size_t n_full);

/* Exactly n_full bytes to out. S2P_EUNSUPPORTED: a codec that is not known. */
s2p_status s2e_codec_decode(int32_t codec, const uint8_t *packed, size_t n_packed, uint8_t *out,
                            size_t n_full, s2p_error *error);

#endif /* S2_EVAL_PARQUET_CODEC_H */
