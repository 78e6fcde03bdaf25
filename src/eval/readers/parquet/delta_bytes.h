/* delta_bytes.h - texts that begin as the one before did: DELTA_BYTE_ARRAY. */
#ifndef S2_EVAL_DELTA_BYTES_H
#define S2_EVAL_DELTA_BYTES_H

#include "base/buffer.h"
#include "eval/readers/parquet/parquet_runs.h"

typedef struct s2e_delta_bytes {
    s2e_delta prefixes, lengths; /* bytes of the value before, bytes of its own */
    const uint8_t *at, *end;     /* of the next one's own bytes */
    s2_buffer value;             /* the value read last; its max is the limit */
} s2e_delta_bytes;

/* `value` keeps its memory; init it before the first start. */
bool s2e_delta_bytes_start(s2e_delta_bytes *d, const uint8_t *at, const uint8_t *end,
                           uint64_t max_count);
/* False: there is none, it is broken, or value.status has why it was not stored. */
bool s2e_delta_bytes_next(s2e_delta_bytes *d);

#endif /* S2_EVAL_DELTA_BYTES_H */
