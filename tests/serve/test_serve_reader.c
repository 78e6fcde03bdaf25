/* test_serve_reader.c - where requests begin and end, and bytes that two readers could read in two ways. */
#include "check.h"

#include "serve/front/http/reader.h"

#include <string.h>

typedef struct reading {
    s2_read end; /* MORE: incomplete */
    int status;  /* of a refusal */
    size_t n_used, n_body;
    char body[256];
} reading;

/* One request from the start of data, which arrives in pieces of `step` bytes. */
static reading read_request(const char *data, size_t n, size_t step)
{
    static char text[S2_READER_MAX_HEAD + 64];
    static s2_head head;
    s2_http_error error = { .status = 0 };
    s2_head_reader r = { 0 };
    reading out = { .end = S2_READ_MORE };
    size_t n_head = 0, n_here = 0;
    while (out.end == S2_READ_MORE && n_here < n) {
        n_here = n - n_here < step ? n : n_here + step;
        out.end = s2_read_head(&r, (const uint8_t *)data, n_here, &n_head, &error);
    }
    out.status = error.status;
    if (out.end != S2_READ_END) return out;
    memcpy(text, data, n_head);
    text[n_head] = '\0';
    if (!s2_head_split(text, n_head, &head, &error) || !s2_gate_check(&head, &error)) {
        out.end = S2_READ_REFUSED;
        out.status = error.status;
        return out;
    }
    s2_body_reader body;
    s2_body_begin(&body, &head);
    size_t at = n_head, used = 0;
    out.end = s2_read_body(&body, NULL, 0, &used, &error);
    while (out.end != S2_READ_END && out.end != S2_READ_REFUSED && at < n) {
        const size_t left = n - at;
        out.end = s2_read_body(&body, (const uint8_t *)data + at, left < step ? left : step, &used,
                               &error);
        if (out.end == S2_READ_PIECE) {
            assert_true(used > 0 && out.n_body + used <= sizeof out.body);
            memcpy(out.body + out.n_body, data + at, used);
            out.n_body += used;
        }
        at += used;
        if (out.end == S2_READ_PIECE) out.end = S2_READ_MORE;
    }
    if (out.end == S2_READ_MORE) /* the last byte of a body of known length ends it */
        out.end = s2_read_body(&body, NULL, 0, &used, &error);
    out.status = error.status;
    out.n_used = at;
    return out;
}

#define H "Host: a\r\n"
#define POST "POST / HTTP/1.1\r\n" H
#define CHUNKED POST "Transfer-Encoding: chunked\r\n\r\n"
#define CASE(what, text, status, body)            \
    {                                             \
        what, text, sizeof text - 1, status, body \
    }

static const struct {
    const char *what, *data;
    size_t n;
    int status; /* 0: complete, 1: more has to come */
    const char *body;
} cases[] = {
    CASE("plain", "GET / HTTP/1.1\r\n" H "\r\n", 0, ""),
    CASE("blanks around a value", "GET / HTTP/1.1\r\nHost: \t a \t\r\n\r\n", 0, ""),
    CASE("no blank before a value", "GET / HTTP/1.1\r\nHost:a\r\n\r\n", 0, ""),
    CASE("incomplete", "GET / HTTP/1.1\r\n" H "\r", 1, ""),
    CASE("a body", POST "Content-Length: 3\r\n\r\nabc", 0, "abc"),
    CASE("half a body", POST "Content-Length: 3\r\n\r\nab", 1, "ab"),
    CASE("no body", POST "Content-Length: 0\r\n\r\n", 0, ""),
    CASE("two chunks", CHUNKED "3\r\nabc\r\n0A\r\n0123456789\r\n0\r\n\r\n", 0, "abc0123456789"),
    CASE("a short extension", CHUNKED "3;a=\"b c\"\r\nabc\r\n0;x\r\n\r\n", 0, "abc"),
    CASE("a name is missing", "GET / HTTP/1.1\r\n" H ": x\r\n\r\n", 400, ""),
    CASE("a name is missing first", "GET / HTTP/1.1\r\n: x\r\n" H "\r\n", 400, ""),
    CASE("no colon", "GET / HTTP/1.1\r\n" H "x\r\n\r\n", 400, ""),
    CASE("NUL in a value", "GET / HTTP/1.1\r\n" H "x: a\0b\r\n\r\n", 400, ""),
    CASE("NUL in a name", "GET / HTTP/1.1\r\n" H "x\0y: a\r\n\r\n", 400, ""),
    CASE("a line ends with LF", "GET / HTTP/1.1\n" H "\r\n", 400, ""),
    CASE("a header ends with LF", "GET / HTTP/1.1\r\n" H "x: a\nContent-Length: 5\r\n\r\n", 400,
         ""),
    CASE("the head ends with LF", "GET / HTTP/1.1\r\n" H "\n", 400, ""),
    CASE("a header ends with CR", "GET / HTTP/1.1\r\n" H "x: a\rContent-Length: 5\r\n\r\n", 400,
         ""),
    CASE("CR CR LF", "GET / HTTP/1.1\r\n" H "x: a\r\r\n\r\n", 400, ""),
    CASE("a header in two lines", "GET / HTTP/1.1\r\n" H "x: a\r\n b\r\n\r\n", 400, ""),
    CASE("a header in two lines, tab", "GET / HTTP/1.1\r\n" H "x: a\r\n\tb\r\n\r\n", 400, ""),
    CASE("a blank before the first header", "GET / HTTP/1.1\r\n " H "\r\n", 400, ""),
    CASE("a blank before the colon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400, ""),
    CASE("an empty line first", "\r\nGET / HTTP/1.1\r\n" H "\r\n", 400, ""),
    CASE("no version", "GET /\r\n" H "\r\n", 400, ""),
    CASE("two blanks", "GET  / HTTP/1.1\r\n" H "\r\n", 400, ""),
    CASE("a blank at the end", "GET / HTTP/1.1 \r\n" H "\r\n", 400, ""),
    CASE("a tab between", "GET\t/\tHTTP/1.1\r\n" H "\r\n", 400, ""),
    CASE("TLS", "\x16\x03\x01\x02", 400, ""),
    CASE("both lengths", POST "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
         400, ""),
    CASE("two lengths", POST "Content-Length: 3\r\ncontent-length: 3\r\n\r\nabc", 400, ""),
    CASE("a chunk's size ends with LF", CHUNKED "3\nabc\r\n0\r\n\r\n", 400, ""),
    CASE("a chunk ends with LF", CHUNKED "3\r\nabc\n0\r\n\r\n", 400, "abc"),
    CASE("LF in an extension", CHUNKED "3;a\nabc\r\n0\r\n\r\n", 400, ""),
    CASE("NUL in an extension", CHUNKED "3;\0\r\nabc\r\n0\r\n\r\n", 400, ""),
    CASE("a blank after a size", CHUNKED "3 \r\nabc\r\n0\r\n\r\n", 400, ""),
    CASE("a blank before a size", CHUNKED " 3\r\nabc\r\n0\r\n\r\n", 400, ""),
    CASE("no size", CHUNKED "\r\nabc\r\n0\r\n\r\n", 400, ""),
    CASE("no size, an extension", CHUNKED ";a\r\n\r\n", 400, ""),
    CASE("0x", CHUNKED "0x3\r\nabc\r\n0\r\n\r\n", 400, ""),
    CASE("a sign", CHUNKED "+3\r\nabc\r\n0\r\n\r\n", 400, ""),
    CASE("nine digits", CHUNKED "000000003\r\nabc\r\n0\r\n\r\n", 400, ""),
    CASE("a chunk that is longer", CHUNKED "3\r\nabcd\r\n0\r\n\r\n", 400, "abc"),
    CASE("a trailer", CHUNKED "3\r\nabc\r\n0\r\nx: y\r\n\r\n", 400, "abc"),
    CASE("an end without CR", CHUNKED "0\r\n\n", 400, ""),
};

static void requests(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t step = 1; step <= cases[i].n; step++) {
            const reading got = read_request(cases[i].data, cases[i].n, step);
            const int status = got.end == S2_READ_END    ? 0
                               : got.end == S2_READ_MORE ? 1
                                                         : got.status;
            if (status != cases[i].status) print_error("%s, step %zu\n", cases[i].what, step);
            assert_int_equal(status, cases[i].status);
            assert_int_equal(got.n_body, strlen(cases[i].body));
            assert_memory_equal(got.body, cases[i].body, got.n_body);
            if (status == 0) assert_int_equal(got.n_used, cases[i].n); /* not one byte beyond */
        }
}

/* What follows a request belongs to the next one. */
static void two_requests(void **state)
{
    (void)state;
    static const char first[] = CHUNKED "3\r\nabc\r\n0\r\n\r\n";
    static const char both[] = CHUNKED "3\r\nabc\r\n0\r\n\r\nGET / HTTP/1.1\r\n" H "\r\n";
    for (size_t step = 1; step < sizeof both; step++) {
        const reading got = read_request(both, sizeof both - 1, step);
        assert_true(got.end == S2_READ_END && got.n_used == sizeof first - 1);
    }
}

static void sizes(void **state)
{
    (void)state;
    static char data[S2_READER_MAX_HEAD + 4096];
    const char start[] = "GET / HTTP/1.1\r\nHost: a\r\nx: ";
    memset(data, 'a', sizeof data);
    assert_int_equal(read_request(data, S2_READER_MAX_LINE, 1000).end, S2_READ_MORE);
    assert_int_equal(read_request(data, S2_READER_MAX_LINE + 1, 1000).status, 414);
    memcpy(data, start, sizeof start - 1);
    assert_int_equal(read_request(data, S2_READER_MAX_HEAD, 1000).end, S2_READ_MORE);
    assert_int_equal(read_request(data, S2_READER_MAX_HEAD + 1, 1000).status, 431);
    /* lines without an end, which nobody has to wait for */
    for (size_t i = 0, at = sizeof start - 4; i < 200; i++, at += 5)
        memcpy(data + at, "x:1\r\n", 5);
    assert_int_equal(read_request(data, sizeof start - 4 + 5 * 101, 7).status, 431);
    /* an extension */
    char chunk[S2_READER_MAX_EXTENSION + 64], text[sizeof chunk + 256];
    for (int more = 0; more < 2; more++) {
        memset(chunk, 'e', sizeof chunk);
        memcpy(chunk, "0;", 2);
        memcpy(chunk + 2 + S2_READER_MAX_EXTENSION + more, "\r\n\r\n", 5);
        const int n = snprintf(text, sizeof text, CHUNKED "%s", chunk);
        assert_int_equal(read_request(text, (size_t)n, 50).end,
                         more ? S2_READ_REFUSED : S2_READ_END);
    }
}

static void lists(void **state)
{
    (void)state;
    s2_head head = { .n_fields = 2 };
    head.field[0] = (s2_head_field){ "Accept", "close", 6, 5 };
    head.field[1] = (s2_head_field){ "connection", "keep-alive , Close", 10, 18 };
    assert_true(s2_head_lists(&head, "Connection", "close"));
    assert_true(s2_head_lists(&head, "Connection", "keep-alive"));
    assert_false(s2_head_lists(&head, "Connection", "keep"));
    head.field[1].value = "closed,";
    assert_false(s2_head_lists(&head, "Connection", "close"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(requests),
        cmocka_unit_test(two_requests),
        cmocka_unit_test(sizes),
        cmocka_unit_test(lists),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
