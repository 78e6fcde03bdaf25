/* frame.h - how the two processes of the server talk: frames on a Unix socket.
 *
 *     length   4 bytes   of the payload, little endian
 *     type     1 byte
 *     zero     3 bytes
 *     request  8 bytes   whose frame it is; 0: nobody's
 *     payload
 *
 * The front sends JOB, QUICK, CANCEL and PING, the engine the others. Neither trusts the other: the engine may be
 * in the hands of a hostile picture, so a frame is checked before a byte of it is used.
 */
#ifndef S2_SERVE_FRAME_H
#define S2_SERVE_FRAME_H

#include "base/buffer.h"

#include <stdbool.h>

#define S2_FRAME_HEADER 16u
#define S2_FRAME_MAX ((size_t)64 << 20) /* bytes of a payload */

typedef enum s2_frame_type {
    S2_FRAME_JOB = 1,     /* s2_job_encode: takes a session of the engine */
    S2_FRAME_QUICK = 2,   /* the same: takes none, and is done between two graphs of others */
    S2_FRAME_CANCEL = 3,  /* nothing */
    S2_FRAME_HELLO = 4,   /* JSON: what the model is; once, when it is loaded */
    S2_FRAME_LOADING = 5, /* JSON: {"step":,"done":} until then */
    S2_FRAME_TEXT = 6,    /* UTF-8, whole characters: the answer goes on */
    S2_FRAME_EVENT = 7,   /* JSON: something on the way, for who streams */
    S2_FRAME_DONE = 8,    /* JSON: the result; ends the job */
    S2_FRAME_BYTES = 9,   /* a picture or a document: the result; ends the job */
    S2_FRAME_ERROR = 10,  /* JSON: {"status":,"message":, ...}; ends the job */
    S2_FRAME_TOKENS = 11, /* JSON: {"text":,"tokens":[]}: TEXT, and how likely its tokens were */
    S2_FRAME_BROKEN = 12, /* text: a sentence that says why this process ends now */
    S2_FRAME_PING = 13,   /* nothing: is the engine alive? */
    S2_FRAME_BEAT = 14    /* 8 bytes, the answer: a number that grows while it computes */
} s2_frame_type;

typedef struct s2_frame {
    s2_frame_type type;
    uint64_t request;
    const uint8_t *payload; /* [n] borrowed */
    size_t n;
} s2_frame;

/* The header of a frame with n bytes of payload. */
void s2_frame_header(s2_frame_type type, uint64_t request, size_t n, uint8_t out[S2_FRAME_HEADER]);

/* The frame bytes[0..n) begin with, its payload still inside them. *used: its bytes, 0 when more
 * must come first. S2P_EFORMAT: no frame; S2P_ELIMIT: too long a one. */
s2p_status s2_frame_parse(const uint8_t *bytes, size_t n, s2_frame *out, size_t *used,
                          s2p_error *error);

/* --- a job ------------------------------------------------------------------------ */

#define S2_JOB_MAX_BLOBS 32

typedef struct s2_blob {
    const uint8_t *data;
    size_t n;
} s2_blob;

typedef struct s2_job_parts {       /* all borrowed */
    s2_blob json;                   /* what to do */
    s2_blob blob[S2_JOB_MAX_BLOBS]; /* files of pictures */
    size_t n_blobs;
} s2_job_parts;

/* Append a JOB or QUICK frame, header included. */
void s2_job_encode(s2_frame_type type, const s2_job_parts *parts, uint64_t request, s2_buffer *out);

/* The payload of such a frame; S2P_EFORMAT: it is none. */
s2p_status s2_job_decode(const uint8_t *payload, size_t n, s2_job_parts *out, s2p_error *error);

/* --- sockets ----------------------------------------------------------------------- */

/* All n bytes to a blocking socket; false: the other side is gone. */
bool s2_frame_send(int fd, const void *bytes, size_t n);

/* What is there to be read, appended; false: the other side is gone, or there is no memory. */
bool s2_frame_receive(int fd, s2_buffer *into);

#endif /* S2_SERVE_FRAME_H */
