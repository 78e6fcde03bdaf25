/* parquet_page.h - a page of a Parquet column: header, levels and values, decompressed. */
#ifndef S2_EVAL_PARQUET_PAGE_H
#define S2_EVAL_PARQUET_PAGE_H

#include "base/error.h"
#include "eval/readers/input.h"

#include <stdbool.h>

/* parquet_codec.c: compressed pages through the system's libraries. */
enum { S2E_CODEC_NONE = 0, S2E_CODEC_SNAPPY = 1, S2E_CODEC_GZIP = 2, S2E_CODEC_ZSTD = 6 };

/* Can n_packed bytes of this codec be n_full bytes? Asked before memory is taken. Codecs that are not
 * known can. */
bool s2e_codec_can_hold(int32_t codec, size_t n_packed, size_t n_full);

/* Exactly n_full bytes to out. S2P_EUNSUPPORTED: a codec that is not known. */
s2p_status s2e_codec_decode(int32_t codec, const uint8_t *packed, size_t n_packed, uint8_t *out,
                            size_t n_full, s2p_error *error);

typedef enum s2e_encoding {
    S2E_ENCODING_PLAIN = 0,
    S2E_ENCODING_PLAIN_DICTIONARY = 2,
    S2E_ENCODING_RLE = 3,
    S2E_ENCODING_BIT_PACKED = 4,
    S2E_ENCODING_DELTA = 5,
    S2E_ENCODING_DELTA_LENGTH = 6,
    S2E_ENCODING_DELTA_BYTES = 7,
    S2E_ENCODING_RLE_DICTIONARY = 8,
    S2E_ENCODING_SPLIT = 9
} s2e_encoding;

typedef enum s2e_page_kind {
    S2E_PAGE_DATA,
    S2E_PAGE_INDEX,
    S2E_PAGE_DICTIONARY,
    S2E_PAGE_DATA_2
} s2e_page_kind;

typedef struct s2e_page {
    int32_t kind;           /* s2e_page_kind, or one to come */
    int32_t encoding;       /* s2e_encoding, or one to come */
    int32_t level_encoding; /* of levels that the page has: S2E_ENCODING_RLE in any we can read */
    int32_t n_values;       /* nulls included */
    uint32_t n_rep, n_def;  /* S2E_PAGE_DATA_2: bytes of the levels, before the values */
    uint64_t at, next;      /* in the file: the header, the byte after the page */
    uint8_t *data;          /* [size] */
    size_t size, capacity;
    uint8_t *packed; /* scratch for the compressed bytes */
    size_t packed_capacity;
} s2e_page;

/* The page at `at`, which ends before `end`; its memory is used again. S2P_ELIMIT: more than max bytes. */
s2p_status s2e_page_read(const s2e_input *input, uint64_t at, uint64_t end, int32_t codec,
                         size_t max, s2e_page *page, s2p_error *error);
void s2e_page_free(s2e_page *page); /* all-zero is fine */

#endif /* S2_EVAL_PARQUET_PAGE_H */
