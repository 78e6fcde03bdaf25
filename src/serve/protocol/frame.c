/* frame.c - frames to bytes and back. */
#include "serve/protocol/frame.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#define RECEIVED_AT_ONCE ((size_t)256 << 10)

static void put_u32(uint8_t *out, uint32_t value)
{
    for (int i = 0; i < 4; i++) out[i] = (uint8_t)(value >> (8 * i));
}

static uint32_t get_u32(const uint8_t *in)
{
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) value |= (uint32_t)in[i] << (8 * i);
    return value;
}

void s2_frame_header(s2_frame_type type, uint64_t request, size_t n, uint8_t out[S2_FRAME_HEADER])
{
    memset(out, 0, S2_FRAME_HEADER);
    put_u32(out, (uint32_t)n);
    out[4] = (uint8_t)type;
    put_u32(out + 8, (uint32_t)request);
    put_u32(out + 12, (uint32_t)(request >> 32));
}

s2p_status s2_frame_parse(const uint8_t *bytes, size_t n, s2_frame *out, size_t *used,
                          s2p_error *error)
{
    *used = 0;
    if (n < S2_FRAME_HEADER) return S2P_OK;
    const uint32_t length = get_u32(bytes);
    if (length > S2_FRAME_MAX)
        return s2_fail(error, S2P_ELIMIT, "a frame of %u bytes; the limit is %zu", length,
                       S2_FRAME_MAX);
    if (bytes[4] < S2_FRAME_JOB || bytes[4] > S2_FRAME_BEAT || bytes[5] || bytes[6] || bytes[7])
        return s2_fail(error, S2P_EFORMAT, "a frame of type %d", bytes[4]);
    if (n - S2_FRAME_HEADER < length) return S2P_OK;
    *out = (s2_frame){ .type = (s2_frame_type)bytes[4],
                       .request = get_u32(bytes + 8) | (uint64_t)get_u32(bytes + 12) << 32,
                       .payload = bytes + S2_FRAME_HEADER,
                       .n = length };
    *used = S2_FRAME_HEADER + length;
    return S2P_OK;
}

/* --- a job ------------------------------------------------------------------------ */

static void put_blob(s2_buffer *out, s2_blob blob)
{
    uint8_t length[4];
    put_u32(length, (uint32_t)blob.n);
    s2_buffer_append(out, length, sizeof length);
    if (blob.n > 0) s2_buffer_append(out, blob.data, blob.n);
}

void s2_job_encode(s2_frame_type type, const s2_job_parts *parts, uint64_t request, s2_buffer *out)
{
    size_t n = 4 + parts->json.n;
    for (size_t i = 0; i < parts->n_blobs; i++) n += 4 + parts->blob[i].n;
    if (n > S2_FRAME_MAX) out->status = S2P_ELIMIT;
    uint8_t header[S2_FRAME_HEADER];
    s2_frame_header(type, request, n, header);
    s2_buffer_append(out, header, sizeof header);
    put_blob(out, parts->json);
    for (size_t i = 0; i < parts->n_blobs; i++) put_blob(out, parts->blob[i]);
}

static bool take_blob(const uint8_t **at, const uint8_t *end, s2_blob *out)
{
    if (end - *at < 4) return false;
    const uint32_t n = get_u32(*at);
    if ((size_t)(end - *at) - 4 < n) return false;
    *out = (s2_blob){ *at + 4, n };
    *at += 4 + (size_t)n;
    return true;
}

s2p_status s2_job_decode(const uint8_t *payload, size_t n, s2_job_parts *out, s2p_error *error)
{
    const uint8_t *at = payload, *const end = payload + n;
    *out = (s2_job_parts){ .n_blobs = 0 };
    bool is_whole = take_blob(&at, end, &out->json);
    while (is_whole && at < end && out->n_blobs < S2_JOB_MAX_BLOBS)
        is_whole = take_blob(&at, end, &out->blob[out->n_blobs++]);
    if (is_whole && at == end) return S2P_OK;
    return s2_fail(error, S2P_EFORMAT, "a job of %zu bytes does not add up", n);
}

/* --- sockets ----------------------------------------------------------------------- */

bool s2_frame_send(int fd, const void *bytes, size_t n)
{
    const uint8_t *at = bytes;
    while (n > 0) {
        const ssize_t sent = send(fd, at, n, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent <= 0) return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

bool s2_frame_receive(int fd, s2_buffer *into)
{
    uint8_t *room = s2_buffer_extend(into, RECEIVED_AT_ONCE);
    if (!room) return false;
    ssize_t n;
    do n = recv(fd, room, RECEIVED_AT_ONCE, 0);
    while (n < 0 && errno == EINTR);
    into->size -= RECEIVED_AT_ONCE - (n > 0 ? (size_t)n : 0);
    return n > 0;
}
