/* parquet_runs.c - "Encodings" of parquet-format, least significant bit first. */
#include "eval/readers/parquet/parquet_runs.h"

#define MAX_BLOCK ((uint64_t)1 << 20)

static bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    *out = 0;
    for (unsigned shift = 0; shift < 64 && *at < end; shift += 7) {
        const uint8_t byte = *(*at)++;
        *out |= (uint64_t)(byte & 0x7F) << shift;
        if (!(byte & 0x80)) return true;
    }
    return false;
}

static uint64_t zigzag(uint64_t value) { return value >> 1 ^ (0 - (value & 1)); }

/* `width` bits (at most 64) that begin at a bit of n bytes; bits beyond them are zero. */
static uint64_t bits_at(const uint8_t *bytes, uint64_t n, uint64_t bit, uint32_t width)
{
    uint64_t value = 0, byte = bit / 8;
    uint32_t have = 0, skip = (uint32_t)(bit % 8);
    while (have < width && byte < n) {
        value |= (uint64_t)(bytes[byte++] >> skip) << have;
        have += 8 - skip;
        skip = 0;
    }
    return width < 64 ? value & (((uint64_t)1 << width) - 1) : value;
}

void s2e_runs_start(s2e_runs *runs, const uint8_t *at, const uint8_t *end, uint32_t width)
{
    *runs = (s2e_runs){ .at = at, .end = end, .width = width };
}

/* The next run's header. */
static bool open_run(s2e_runs *r)
{
    uint64_t head;
    if (r->packed) r->at += r->n_bytes;
    r->packed = false;
    if (!take_varint(&r->at, r->end, &head) || head > UINT32_MAX) return false;
    r->left = head >> 1;
    if (head & 1) {
        const uint64_t room = (uint64_t)(r->end - r->at);
        r->packed = true;
        r->left *= 8;
        r->bit = 0;
        r->n_bytes = (head >> 1) * r->width;
        if (r->n_bytes > room) { /* the last group may stand there without its padding */
            r->n_bytes = room;
            r->left = r->width ? room * 8 / r->width : r->left;
        }
        return true;
    }
    const uint32_t n_bytes = (r->width + 7) / 8;
    if ((uint64_t)(r->end - r->at) < n_bytes) return false;
    r->value = 0;
    for (uint32_t i = 0; i < n_bytes; i++) r->value |= (uint32_t)r->at[i] << (8 * i);
    r->at += n_bytes;
    return true;
}

bool s2e_runs_next(s2e_runs *runs, uint32_t *out)
{
    *out = 0;
    while (runs->left == 0)
        if (!open_run(runs)) return false;
    runs->left--;
    if (!runs->packed) {
        *out = runs->value;
        return true;
    }
    *out = (uint32_t)bits_at(runs->at, runs->n_bytes, runs->bit, runs->width);
    runs->bit += runs->width;
    return true;
}

bool s2e_delta_start(s2e_delta *delta, const uint8_t *at, const uint8_t *end, uint64_t max_count)
{
    uint64_t n_block, n_mini, n, first;
    *delta = (s2e_delta){ .end = end };
    if (!take_varint(&at, end, &n_block) || !take_varint(&at, end, &n_mini) ||
        !take_varint(&at, end, &n) || !take_varint(&at, end, &first))
        return false;
    if (n_block == 0 || n_block > MAX_BLOCK || n_mini == 0 || n_mini > n_block ||
        n_block % n_mini || n_block / n_mini % 8 || n > max_count)
        return false;
    delta->at = at;
    delta->n_block = (uint32_t)n_block;
    delta->n_mini = (uint32_t)n_mini;
    delta->mini_size = (uint32_t)(n_block / n_mini);
    delta->left = n;
    delta->value = zigzag(first);
    return true;
}

static bool open_block(s2e_delta *d)
{
    uint64_t min_delta;
    if (!take_varint(&d->at, d->end, &min_delta) || (uint64_t)(d->end - d->at) < d->n_mini)
        return false;
    d->min_delta = zigzag(min_delta);
    d->width = d->at;
    d->at += d->n_mini;
    d->mini = d->in_mini = 0;
    d->open = true;
    return true;
}

static uint64_t mini_bytes(const s2e_delta *d)
{
    return (uint64_t)d->mini_size / 8 * d->width[d->mini];
}

/* Work out the number after the next one. */
static bool advance(s2e_delta *d)
{
    if (!d->open && !open_block(d)) return false;
    const uint32_t width = d->width[d->mini];
    const uint64_t n = mini_bytes(d);
    if (width > 64 || n > (uint64_t)(d->end - d->at)) return false;
    d->value += d->min_delta + bits_at(d->at, n, (uint64_t)d->in_mini * width, width);
    if (++d->in_mini == d->mini_size) {
        d->at += n;
        d->in_mini = 0;
        d->open = ++d->mini < d->n_mini;
    }
    return true;
}

bool s2e_delta_next(s2e_delta *delta, int64_t *out)
{
    if (delta->left == 0) return false;
    *out = (int64_t)delta->value;
    if (--delta->left == 0) return true;
    if (advance(delta)) return true;
    delta->left = 0;
    return false;
}

const uint8_t *s2e_delta_end(const s2e_delta *delta)
{
    s2e_delta d = *delta;                    /* at its start */
    uint64_t left = d.left ? d.left - 1 : 0; /* the first number is in the header */
    while (left > 0) {
        if (!open_block(&d)) return NULL;
        for (; d.mini < d.n_mini && left > 0; d.mini++) {
            const uint64_t n = mini_bytes(&d);
            if (d.width[d.mini] > 64 || n > (uint64_t)(d.end - d.at)) return NULL;
            d.at += n;
            left -= left < d.mini_size ? left : d.mini_size;
        }
    }
    return d.at;
}
