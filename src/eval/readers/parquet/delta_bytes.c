/* delta_bytes.c - prefix lengths, suffix lengths, then all suffixes. */
#include "eval/readers/parquet/parquet_runs.h"

bool s2e_delta_bytes_start(s2e_delta_bytes *d, const uint8_t *at, const uint8_t *end,
                           uint64_t max_count)
{
    d->value.size = 0;
    d->value.status = S2P_OK;
    if (!s2e_delta_start(&d->prefixes, at, end, max_count)) return false;
    at = s2e_delta_end(&d->prefixes);
    if (!at || !s2e_delta_start(&d->lengths, at, end, max_count)) return false;
    d->at = s2e_delta_end(&d->lengths);
    d->end = end;
    return d->at != NULL;
}

bool s2e_delta_bytes_next(s2e_delta_bytes *d)
{
    int64_t prefix, n;
    if (!s2e_delta_next(&d->prefixes, &prefix) || !s2e_delta_next(&d->lengths, &n)) return false;
    if (prefix < 0 || (uint64_t)prefix > d->value.size || n < 0 || n > d->end - d->at) return false;
    d->value.size = (size_t)prefix;
    s2_buffer_append(&d->value, d->at, (size_t)n);
    d->at += n;
    return d->value.status == S2P_OK;
}
