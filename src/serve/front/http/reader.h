/* reader.h - the bytes of requests, read strictly: where a head ends and how a body is framed.
 *
 * RFC 9112 as two programs in a row can read it in one way only. Lines end with CR LF, never with one
 * of them; a header has a name; no header goes on in a second line; no byte is a control character;
 * chunk sizes have one to eight digits. Whatever else arrives is refused, and what follows it is
 * never read as another request.
 */
#ifndef S2_SERVE_HTTP_READER_H
#define S2_SERVE_HTTP_READER_H

#include "serve/front/gate.h"

#define S2_READER_MAX_HEAD ((size_t)48 << 10) /* bytes, with the request line */
#define S2_READER_MAX_LINE ((size_t)16 << 10) /* of the request line */
#define S2_READER_MAX_EXTENSION 256           /* of a chunk */

typedef enum s2_read {
    S2_READ_MORE,    /* goes on with the bytes that follow */
    S2_READ_PIECE,   /* of a body */
    S2_READ_END,     /* the head or the body is complete */
    S2_READ_REFUSED, /* error says why */
} s2_read;

typedef struct s2_head_reader { /* all zero: at the start of a request */
    size_t at, line;            /* bytes seen; where the line begins */
    size_t n_lines;
} s2_head_reader;

/* data[0..n): everything since the start of the head, so that a call sees what earlier ones saw.
 * S2_READ_END: the head is data[0..*n_head). */
s2_read s2_read_head(s2_head_reader *r, const uint8_t *data, size_t n, size_t *n_head,
                     s2_http_error *error);

/* The parts of a complete head, which s2_gate_check is to judge. text[0..n) is the head itself; it is
 * cut into strings that *out borrows. */
bool s2_head_split(char *text, size_t n, s2_head *out, s2_http_error *error);

/* Whether a header that is a list ("a, b") has this item. */
bool s2_head_lists(const s2_head *head, const char *name, const char *item);

typedef struct s2_body_reader {
    uint64_t left; /* bytes of the body or of the chunk */
    bool is_chunked;
    uint8_t step;
    uint16_t n_line; /* digits of the size, or bytes of the extension */
} s2_body_reader;

void s2_body_begin(s2_body_reader *r, const s2_head *head);

/* data[0..n): what comes next. *used: how many of them were read. S2_READ_PIECE: all of these are bytes
 * of the body. */
s2_read s2_read_body(s2_body_reader *r, const uint8_t *data, size_t n, size_t *used,
                     s2_http_error *error);

#endif /* S2_SERVE_HTTP_READER_H */
