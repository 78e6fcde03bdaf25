/* test_serve_gate.c - heads that are let in and heads that are not; keys and names. */
#include "check.h"

#include "base/sha256.h"
#include "serve/front/routes.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

typedef struct head_case {
    const char *what, *method, *target, *version, *fields; /* "Name: value\n..." */
    int status;                                            /* 0: let in */
} head_case;

static void split(const char *fields, char *room, s2_head *head)
{
    (void)snprintf(room, 65536, "%s", fields);
    for (char *line = room; *line;) {
        char *colon = strchr(line, ':'), *end = strchr(line, '\n');
        *colon = *end = '\0';
        char *value = colon + 1 + (colon[1] == ' ');
        head->field[head->n_fields++] = (s2_head_field){ line, value, strlen(line), strlen(value) };
        line = end + 1;
    }
}

static char room[65536];

static int judge(const head_case *c, s2_head *head)
{
    s2_http_error error = { .status = 0 };
    *head = (s2_head){ .method = c->method, .target = c->target, .version = c->version };
    split(c->fields, room, head);
    const bool is_in = s2_gate_check(head, &error);
    if (!is_in) assert_true(error.message[0] && error.status >= 400);
    return is_in ? 0 : error.status;
}

#define GET "GET", "/health", "HTTP/1.1"
#define POST "POST", "/v1/chat/completions", "HTTP/1.1"

static const head_case cases[] = {
    { "plain", GET, "Host: localhost\n", 0 },
    { "HTTP/1.0", "GET", "/", "HTTP/1.0", "Host: a\n", 0 },
    { "length", POST, "Host: a\nContent-Length: 12\n", 0 },
    { "chunked", POST, "Host: a\nTransfer-Encoding: chunked\n", 0 },
    { "no host", GET, "Accept: a\n", 400 },
    { "two hosts", GET, "Host: a\nHost: a\n", 400 },
    { "two lengths", POST, "Host: a\nContent-Length: 1\nContent-Length: 1\n", 400 },
    { "length and coding", POST, "Host: a\nContent-Length: 1\nTransfer-Encoding: chunked\n", 400 },
    { "coding twice", POST, "Host: a\nTransfer-Encoding: chunked\nTransfer-Encoding: chunked\n",
      400 },
    { "coding list", POST, "Host: a\nTransfer-Encoding: gzip, chunked\n", 400 },
    { "coding identity", POST, "Host: a\nTransfer-Encoding: identity\n", 400 },
    { "coding in 1.0", "POST", "/", "HTTP/1.0", "Host: a\nTransfer-Encoding: chunked\n", 400 },
    { "length with sign", POST, "Host: a\nContent-Length: +1\n", 400 },
    { "negative length", POST, "Host: a\nContent-Length: -1\n", 400 },
    { "hex length", POST, "Host: a\nContent-Length: 0x10\n", 400 },
    { "length list", POST, "Host: a\nContent-Length: 1, 1\n", 400 },
    { "empty length", POST, "Host: a\nContent-Length: \n", 400 },
    { "huge length", POST, "Host: a\nContent-Length: 99999999999999999999\n", 400 },
    { "space in name", GET, "Host : a\n", 400 },
    { "bracket in name", GET, "Host: a\nx(y): 1\n", 400 },
    { "empty name", GET, "Host: a\n: 1\n", 400 },
    { "control in value", GET, "Host: a\nx: a\x01 b\n", 400 },
    { "delete in value", GET, "Host: a\nx: a\x7F b\n", 400 },
    { "tab in value", GET, "Host: a\nx: a\tb\n", 0 },
    { "gzip body", POST, "Host: a\nContent-Encoding: gzip\n", 415 },
    { "upgrade", GET, "Host: a\nUpgrade: websocket\n", 400 },
    { "two keys", GET, "Host: a\nAuthorization: Bearer a\nAuthorization: Bearer b\n", 400 },
    { "two origins", GET, "Host: a\nOrigin: http://a\nOrigin: http://b\n", 400 },
    { "star", "OPTIONS", "*", "HTTP/1.1", "Host: a\n", 400 },
    { "absolute", "GET", "http://a/health", "HTTP/1.1", "Host: a\n", 400 },
    { "empty target", "GET", "", "HTTP/1.1", "Host: a\n", 400 },
    { "NUL in target", "GET", "/a%00b", "HTTP/1.1", "Host: a\n", 400 },
    { "space in target", "GET", "/a b", "HTTP/1.1", "Host: a\n", 400 },
    { "letter beyond ASCII", "GET", "/\xC3\xA4", "HTTP/1.1", "Host: a\n", 400 },
    { "old version", "GET", "/", "HTTP/0.9", "Host: a\n", 400 },
    { "odd version", "GET", "/", "HTTP/9.9", "Host: a\n", 400 },
    { "odd method", "G(T", "/", "HTTP/1.1", "Host: a\n", 400 },
};

static void heads(void **state)
{
    (void)state;
    static s2_head head;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const int status = judge(&cases[i], &head);
        if (status != cases[i].status) print_error("%s\n", cases[i].what);
        assert_int_equal(status, cases[i].status);
    }
    /* sizes: at the limit and one beyond */
    static char target[S2_GATE_MAX_TARGET + 8], fields[70000];
    memset(target, 'a', sizeof target);
    target[0] = '/';
    target[S2_GATE_MAX_TARGET] = '\0';
    head_case c = { "", "GET", target, "HTTP/1.1", "Host: a\n", 0 };
    assert_int_equal(judge(&c, &head), 0);
    target[S2_GATE_MAX_TARGET] = 'a';
    target[S2_GATE_MAX_TARGET + 1] = '\0';
    assert_int_equal(judge(&c, &head), 414);
    size_t n = (size_t)snprintf(fields, sizeof fields, "Host: a\n");
    for (int i = 0; i < S2_GATE_MAX_FIELDS - 1; i++)
        n += (size_t)snprintf(fields + n, sizeof fields - n, "x%d: 1\n", i);
    c = (head_case){ "", GET, fields, 0 };
    assert_int_equal(judge(&c, &head), 0);
    (void)snprintf(fields + n, sizeof fields - n, "y: 1\n");
    assert_int_equal(judge(&c, &head), 431);
    n = (size_t)snprintf(fields, sizeof fields, "Host: a\nx: ");
    memset(fields + n, 'a', S2_GATE_MAX_HEADERS);
    (void)snprintf(fields + n + S2_GATE_MAX_HEADERS, 4, "\n");
    assert_int_equal(judge(&c, &head), 431);
    /* a NUL inside a value: the length says more than the text */
    c.fields = "Host: a\nx: abc\n";
    (void)judge(&c, &head);
    head.field[1].n_value++;
    s2_http_error error;
    assert_false(s2_gate_check(&head, &error));
}

static void keys(void **state)
{
    (void)state;
    s2_access access = { .host = "127.0.0.1" };
    s2_http_error wrong, missing;
    s2_head head = { .host = "localhost" };
    assert_true(s2_access_check_key(&access, &head, &wrong)); /* none is needed */
    assert_int_equal(s2_access_add_key(&access, "one", 3, NULL), S2P_OK);
    assert_int_equal(s2_access_add_key(&access, "two", 3, NULL), S2P_OK);
    assert_int_equal(s2_access_add_key(&access, "", 0, NULL), S2P_EINVAL);
    assert_int_equal(s2_access_add_key(&access, "a\0b", 3, NULL),
                     S2P_EINVAL); /* no header has it */
    assert_int_equal(s2_access_add_key(&access, "a ", 2, NULL), S2P_EINVAL);
    assert_int_equal(s2_access_add_key(&access, "\ta", 2, NULL), S2P_EINVAL);
    assert_int_equal(s2_access_add_key(&access, "a b", 3, NULL), S2P_OK);
    access.n_keys--;
    assert_false(s2_access_check_key(&access, &head, &missing));
    static const struct {
        const char *authorization, *api_key;
        bool is_in;
    } tries[] = {
        { "Bearer one", NULL, true },    { "bearer two", NULL, true }, { NULL, "one", true },
        { "Bearer three", NULL, false }, { "Bearer ", NULL, false },   { "Bearer on", NULL, false },
        { "Bearer onee", NULL, false },  { "Basic one", NULL, false }, { "one", NULL, false },
        { "Bearer  one", NULL, false },  { NULL, "", false },          { NULL, "ONE", false }
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        head.authorization = tries[i].authorization;
        head.api_key = tries[i].api_key;
        assert_int_equal(s2_access_check_key(&access, &head, &wrong), tries[i].is_in);
        if (!tries[i].is_in) { /* a wrong key and no key get the same answer */
            assert_int_equal(wrong.status, 401);
            assert_string_equal(wrong.message, missing.message);
        }
    }
}

static void names(void **state)
{
    (void)state;
    const s2_access access = { .host = "127.0.0.1",
                               .allowed_hosts = "a.example,b.example",
                               .cors_origins = "https://page.example" };
    static const struct {
        const char *host, *origin;
        bool is_in;
    } tries[] = {
        { "localhost:8080", NULL, true },
        { "127.0.0.1:8080", NULL, true },
        { "[::1]:8080", NULL, true },
        { "10.1.2.3", NULL, true },
        { "a.example", NULL, true },
        { "B.EXAMPLE:80", NULL, true },
        { "evil.example", NULL, false },
        { "a.example.evil.example", NULL, false },
        { "localhost.evil.example", NULL, false },
        { "[::1]", NULL, true },
        { "[::1]evil", NULL, false },
        { "[::1]:80evil", NULL, false },
        { "[::1", NULL, false },
        { "127.0.0.1:80x", NULL, false },
        { "127.0.0.1:99999", NULL, false },
        { "localhost:", NULL, false },
        { "127.0.0.1.evil.example", NULL, false },
        { "", NULL, false },
        { "localhost:8080", "http://localhost:8080", true },
        { "localhost:8080", "http://localhost:9090", false },
        { "localhost:8080", "http://evil.example", false },
        { "localhost:8080", "null", false },
        { "localhost:8080", "https://page.example", true },
        { "localhost:8080", "https://page.example.evil", false },
    };
    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++) {
        s2_http_error error;
        const s2_head head = { .host = tries[i].host, .origin = tries[i].origin };
        assert_int_equal(s2_access_check_names(&access, &head, &error), tries[i].is_in);
        if (!tries[i].is_in) assert_true(error.status == 403 || error.status == 400);
    }
    assert_true(s2_host_is_loopback("127.0.0.1") && s2_host_is_loopback("::1"));
    assert_false(s2_host_is_loopback("0.0.0.0") || s2_host_is_loopback("::") ||
                 s2_host_is_loopback("192.168.1.1"));
}

/* Health is for anyone; all else needs the key. */
static void routes(void **state)
{
    (void)state;
    const s2_route *r;
    size_t n_public = 0;
    for (size_t i = 0; (r = s2_route_at(i)); i++) {
        const char *allow;
        n_public += r->is_public;
        assert_true(!r->is_public || strstr(r->path, "health"));
        char path[128];
        const bool has_name = r->path[strlen(r->path) - 1] == '/';
        const size_t n = (size_t)snprintf(path, sizeof path, "%s%s", r->path, has_name ? "a" : "");
        assert_ptr_equal(s2_route_find(r->method, path, n, &allow), r);
        assert_null(s2_route_find("DELETE", path, n, &allow));
        assert_string_equal(allow, r->method);
        /* "/v1/models/" without a name is "/v1/models" */
        const s2_route *shorter = s2_route_find(r->method, path, n - 1, &allow);
        /* "/completions" without its last letter is llama-server's "/completion" */
        assert_true(shorter != r);
        assert_true(has_name || !shorter || strcmp(shorter->path, "/completion") == 0);
        path[n] = '/'; /* one '/' at the end is ignored, two are not */
        path[n + 1] = '/';
        assert_ptr_equal(s2_route_find(r->method, path, n + 1, &allow), r);
        assert_null(s2_route_find(r->method, path, n + 2, &allow));
    }
    assert_int_equal(n_public, 2);
}

static s2_address address_at(const char *text)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return s2_address_of((const struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return s2_address_of((const struct sockaddr *)&v6);
}

static void addresses(void **state)
{
    static s2_wrong_keys g;
    (void)state;
    assert_true(s2_address_is_local(address_at("127.0.0.1")) &&
                s2_address_is_local(address_at("::1")) &&
                s2_address_is_local(s2_address_of(NULL)) &&
                s2_address_is_local(address_at("::ffff:127.0.0.1")));
    assert_false(s2_address_is_local(address_at("127.0.0.2")) ||
                 s2_address_is_local(address_at("::2:0:0:0:1")));
    assert_true(
        s2_address_is_same(address_at("2001:db8::1"), address_at("2001:db8::2"))); /* one network */
    assert_false(s2_address_is_same(address_at("2001:db8::1"), address_at("2001:db8:0:1::1")));
    assert_true(s2_address_is_same(address_at("10.0.0.1"), address_at("::ffff:10.0.0.1")));

    const s2_address bad = address_at("10.0.0.1"), good = address_at("10.0.0.2");
    for (int i = 0; i < S2_MAX_WRONG_KEYS; i++) {
        assert_true(s2_wrong_keys_wait(&g, bad, 1000.0) == 0.0);
        s2_wrong_keys_add(&g, bad, 1000.0 + i);
    }
    const double last = 1000.0 + S2_MAX_WRONG_KEYS - 1;
    assert_true(s2_wrong_keys_wait(&g, bad, last) == S2_WRONG_KEY_MS);
    assert_true(s2_wrong_keys_wait(&g, good, last) == 0.0);
    assert_true(s2_wrong_keys_wait(&g, bad, last + S2_WRONG_KEY_MS) == 0.0);
    s2_wrong_keys_add(&g, bad, last + S2_WRONG_KEY_MS + 1); /* counted from one again */
    assert_true(s2_wrong_keys_wait(&g, bad, last + S2_WRONG_KEY_MS + 1) == 0.0);
    for (int i = 0; i < 100; i++) s2_wrong_keys_add(&g, address_at("127.0.0.1"), 2000.0);
    assert_true(s2_wrong_keys_wait(&g, address_at("127.0.0.1"), 2000.0) > 0.0); /* as any other */
    for (int i = 0; i < 3 * S2_N_ADDRESSES; i++) { /* a full table forgets the oldest */
        char text[32];
        (void)snprintf(text, sizeof text, "10.1.%d.%d", i / 250, i % 250);
        s2_wrong_keys_add(&g, address_at(text), 200000.0 + i);
    }
    for (int i = 0; i < S2_MAX_WRONG_KEYS; i++) s2_wrong_keys_add(&g, good, 300000.0);
    assert_true(s2_wrong_keys_wait(&g, good, 300000.0) > 0.0);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(heads), cmocka_unit_test(keys),
                                        cmocka_unit_test(names), cmocka_unit_test(routes),
                                        cmocka_unit_test(addresses) };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
