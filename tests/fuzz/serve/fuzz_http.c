/* fuzz_http.c - any bytes as what a client sends on one connection: heads and bodies, one after the other,
 * whole and in pieces. The first byte says how large the pieces are. */
#include "fuzz.h"

#include "serve/front/http/reader.h"

#include <string.h>

#define MAX_REQUESTS 64

typedef struct reading {
    size_t n, head[MAX_REQUESTS], end[MAX_REQUESTS]; /* of the requests that are complete */
    uint64_t sum;                                    /* of their bodies */
    int status;                                      /* of the refusal, 0: none */
} reading;

static void read_all(const uint8_t *data, size_t size, size_t step, reading *out)
{
    static char text[S2_READER_MAX_HEAD + 1];
    static s2_head head;
    s2_http_error error = { .status = 0 };
    size_t at = 0;
    memset(out, 0, sizeof *out);
    while (at < size && out->n < MAX_REQUESTS) {
        s2_head_reader r = { 0 };
        s2_read got = S2_READ_MORE;
        size_t n_head = 0, n_here = 0, used = 0;
        const size_t left = size - at;
        while (got == S2_READ_MORE && n_here < left) {
            n_here = left - n_here < step ? left : n_here + step;
            got = s2_read_head(&r, data + at, n_here, &n_head, &error);
        }
        out->status = error.status;
        if (got != S2_READ_END) break;
        PROMISE(n_head <= n_here && n_head <= S2_READER_MAX_HEAD);
        memcpy(text, data + at, n_head);
        text[n_head] = '\0';
        PROMISE(strlen(text) == n_head);
        const bool is_in =
            s2_head_split(text, n_head, &head, &error) && s2_gate_check(&head, &error);
        out->status = error.status;
        if (!is_in) break;
        PROMISE(head.host && !(head.is_chunked && head.content_length >= 0));
        out->head[out->n] = at += n_head;
        s2_body_reader body;
        s2_body_begin(&body, &head);
        int64_t n_body = 0;
        for (got = S2_READ_MORE;;) {
            const size_t here = size - at < step ? size - at : step;
            got = s2_read_body(&body, data + at, here, &used, &error);
            PROMISE(used <= here);
            for (size_t i = 0; got == S2_READ_PIECE && i < used; i++)
                out->sum = out->sum * 31 + data[at + i] + 1;
            if (got == S2_READ_PIECE) n_body += (int64_t)used;
            at += used;
            if (got == S2_READ_END || got == S2_READ_REFUSED || used == 0) break;
        }
        out->status = error.status;
        if (got != S2_READ_END) break;
        PROMISE(head.is_chunked || n_body == (head.content_length > 0 ? head.content_length : 0));
        out->end[out->n++] = at;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static reading whole, pieces;
    if (size < 1) return 0;
    const size_t step = 1 + data[0] % 32;
    read_all(data + 1, size - 1, size, &whole);
    read_all(data + 1, size - 1, step, &pieces);
    if (whole.n > 0) ACCEPTED();
    PROMISE(memcmp(&whole, &pieces, sizeof whole) == 0);
    return 0;
}
