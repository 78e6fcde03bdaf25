/* parquet_runs.h - numbers as Parquet packs them: runs and bit-packed groups, and differences.
 *
 * Both are read one number at a time and hold no memory: a few bytes can stand for billions.
 */
#ifndef S2_EVAL_PARQUET_RUNS_H
#define S2_EVAL_PARQUET_RUNS_H

#include "base/buffer.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct s2e_runs { /* RLE / bit-packing hybrid: levels, dictionary indices, booleans */
    const uint8_t *at, *end;
    uint32_t width; /* bits of a number, at most 32 */
    bool packed;    /* the current run */
    uint64_t left;  /* numbers left in it */
    uint32_t value; /* of a run of equal numbers */
    uint64_t bit;   /* of a packed run: where the next number is, from `at` */
    uint64_t n_bytes;
} s2e_runs;

void s2e_runs_start(s2e_runs *runs, const uint8_t *at, const uint8_t *end, uint32_t width);
bool s2e_runs_next(s2e_runs *runs, uint32_t *out); /* false: there is none */

typedef struct s2e_delta { /* DELTA_BINARY_PACKED */
    const uint8_t *at, *end;
    uint32_t n_block, n_mini,
        mini_size;  /* numbers in a block, parts of a block, numbers in a part */
    uint64_t left;  /* numbers to come, the next one included */
    uint64_t value; /* the next one, modulo 2^64 */
    uint64_t min_delta;
    const uint8_t *width;   /* [n_mini] of the block */
    uint32_t mini, in_mini; /* part of the block, numbers of it that were read */
    bool open;              /* a block is */
} s2e_delta;

/* The header; at most max_count numbers. */
bool s2e_delta_start(s2e_delta *delta, const uint8_t *at, const uint8_t *end, uint64_t max_count);
bool s2e_delta_next(s2e_delta *delta, int64_t *out); /* false: none is left, or it is broken */
/* Where the numbers end, found without reading them; NULL: it is broken. */
const uint8_t *s2e_delta_end(const s2e_delta *delta);

/* delta_bytes.c: texts that begin as the one before did: DELTA_BYTE_ARRAY. */
typedef struct s2e_delta_bytes {
    s2e_delta prefixes, lengths; /* bytes of the value before, bytes of its own */
    const uint8_t *at, *end;     /* of the next one's own bytes */
    s2_buffer value;             /* the value read last; its max is the limit */
} s2e_delta_bytes;

/* `value` keeps its memory; init it before the first start. */
bool s2e_delta_bytes_start(s2e_delta_bytes *d, const uint8_t *at, const uint8_t *end,
                           uint64_t max_count);
/* False at the end, if the data is broken, or if the value was not stored (see value.status). */
bool s2e_delta_bytes_next(s2e_delta_bytes *d);

#endif /* S2_EVAL_PARQUET_RUNS_H */
