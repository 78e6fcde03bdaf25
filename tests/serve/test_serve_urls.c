/* test_serve_urls.c - which servers a picture may come from: names in every spelling, and addresses. */
#include "check.h"

#include "serve/front/pictures.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static bool is_public(const char *text)
{
    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    if (inet_pton(AF_INET, text, &v4.sin_addr) == 1)
        return s2_address_is_public((const struct sockaddr *)&v4);
    assert_int_equal(inet_pton(AF_INET6, text, &v6.sin6_addr), 1);
    return s2_address_is_public((const struct sockaddr *)&v6);
}

static void test_addresses(void **state)
{
    static const char *const closed[] = {
        "0.0.0.0",
        "0.255.255.255",
        "10.0.0.1",
        "10.255.255.255",
        "100.64.0.1",
        "100.127.255.255",
        "127.0.0.1",
        "127.255.255.254",
        "169.254.169.254",
        "169.254.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.0.0.8",
        "192.0.2.1",
        "192.88.99.1",
        "192.168.0.1",
        "192.168.255.255",
        "198.18.0.1",
        "198.19.255.255",
        "198.51.100.7",
        "203.0.113.7",
        "224.0.0.1",
        "239.255.255.250",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::ffff:127.0.0.1",
        "::ffff:10.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a00:1",
        "64:ff9b:1::1",
        "100::1",
        "2001::1",
        "2001:0:7f00:1::",
        "2001:10::1",
        "2001:20::1",
        "2001:db8::1",
        "2002:7f00:1::",
        "2002:a00:1::1",
        "3fff::1",
        "fc00::1",
        "fd12:3456::1",
        "fe80::1",
        "febf::1",
        "fec0::1",
        "ff02::1",
        "ff0e::1",
        "5f00::1",
    };
    static const char *const open[] = {
        "1.1.1.1",         "8.8.8.8",         "9.255.255.255",   "11.0.0.0",
        "100.63.255.255",  "100.128.0.0",     "128.0.0.1",       "169.253.1.1",
        "172.15.0.1",      "172.32.0.1",      "192.167.255.255", "198.17.255.255",
        "198.20.0.0",      "223.255.255.255", "2001:200::1",     "2001:4860:4860::8888",
        "2606:4700::1111", "2a00::1",         "3ffe::1",
    };
    (void)state;
    for (size_t i = 0; i < sizeof closed / sizeof *closed; i++)
        if (is_public(closed[i])) fail_msg("%s is public", closed[i]);
    for (size_t i = 0; i < sizeof open / sizeof *open; i++)
        if (!is_public(open[i])) fail_msg("%s is not public", open[i]);
    const struct sockaddr none = { .sa_family = AF_UNIX };
    assert_false(s2_address_is_public(&none));
}

static void test_lists(void **state)
{
    const char *list = "a.example,http://b.example,c.example:8443,http://10.0.0.5:9000,[::1]:444";
    (void)state;
    assert_true(s2_remote_allows(list, "https", "a.example", 443));
    assert_true(s2_remote_allows(list, "https", "A.EXAMPLE", 443));
    assert_false(s2_remote_allows(list, "http", "a.example", 80));
    assert_false(s2_remote_allows(list, "https", "a.example", 8443));
    assert_true(s2_remote_allows(list, "http", "b.example", 80));
    assert_false(s2_remote_allows(list, "https", "b.example", 443));
    assert_true(s2_remote_allows(list, "https", "c.example", 8443));
    assert_true(s2_remote_allows(list, "http", "10.0.0.5", 9000));
    assert_true(s2_remote_allows(list, "https", "[::1]", 444));
    assert_false(s2_remote_allows(list, "https", "x.a.example", 443));
    assert_false(s2_remote_allows(list, "https", "a.example.evil", 443));
    assert_false(s2_remote_allows(list, "ftp", "a.example", 443));
    assert_false(s2_remote_allows("", "https", "a.example", 443));
    assert_false(s2_remote_allows(NULL, "https", "a.example", 443));
    assert_true(s2_remote_allows("*", "https", "any.example", 443));
    assert_false(s2_remote_allows("*", "https", "any.example", 22));
    assert_false(s2_remote_allows("*", "http", "any.example", 80));
    /* a host opens one port: other services of that machine stay closed */
    static const long ports[] = { 0, 21, 22, 25, 80, 442, 444, 6379, 8080, 8443, 9000, 65535 };
    for (size_t i = 0; i < COUNT_OF(ports); i++)
        for (int is_plain = 0; is_plain < 2; is_plain++)
            CHECK_CASE(!s2_remote_allows("[::1],localhost,127.0.0.1,*", is_plain ? "http" : "https",
                                         "localhost", ports[i]),
                       "port %ld", ports[i]);
    assert_true(s2_remote_allows("*:8443", "https", "any.example", 8443));
    assert_false(s2_remote_allows("*:8443", "https", "any.example", 443));
    assert_false(s2_remote_allows("http://localhost:9000", "http", "localhost", 9001));

    struct sockaddr_in v4 = { .sin_family = AF_INET };
    struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
    assert_int_equal(inet_pton(AF_INET, "10.0.0.5", &v4.sin_addr), 1);
    assert_int_equal(inet_pton(AF_INET6, "::1", &v6.sin6_addr), 1);
    assert_true(s2_remote_names_address(list, (const struct sockaddr *)&v4));
    assert_true(s2_remote_names_address(list, (const struct sockaddr *)&v6));
    assert_int_equal(inet_pton(AF_INET, "10.0.0.6", &v4.sin_addr), 1);
    assert_false(s2_remote_names_address(list, (const struct sockaddr *)&v4));
    assert_false(s2_remote_names_address("*", (const struct sockaddr *)&v4));
}

/* Spellings that name another server, or none, to some parser. */
/* Lists that name no server, or a port there is not, are refused at the start. */
static void test_checks(void **state)
{
    static const char *const fine[] = { "*", "a.example", "a.example:8443", "http://10.0.0.5:9000",
                                        "a.example,https://[2001:db8::1]:443,*" };
    static const char *const wrong[] = {
        "a.example:0",    "a.example:65536",          "a.example:", "a.example:80x",
        "a.example:-1",   "a,b:99999999999999999999", "http://",    "ftp://a.example",
        "a.example/path", "user@a.example",           "a,,b",       "[::1]:x",
        "[::1,b]",        "[::1,a.example:443]:443"
    };
    s2p_error error;
    (void)state;
    for (size_t i = 0; i < COUNT_OF(fine); i++)
        CHECK_CASE(s2_remote_check_list(fine[i], &error) == S2P_OK, "%s", fine[i]);
    for (size_t i = 0; i < COUNT_OF(wrong); i++)
        CHECK_CASE(s2_remote_check_list(wrong[i], &error) == S2P_EINVAL, "%s", wrong[i]);
}

static void test_urls(void **state)
{
    static const char *const refused[] = {
        "https://evil.example/",
        "https://a.example@evil.example/",
        "https://user@a.example/",
        "https://user:word@a.example/",
        "https://a.example:22/",
        "https://a.example.:443.evil.example/",
        "https://evil.example#@a.example/",
        "https://evil.example?@a.example/",
        "https://evil.example\\@a.example/",
        "http://a.example/",
        "https://",
        "https:// a.example/",
        "https://a.example%00.evil.example/",
        "https://a.example%2eevil.example/",
        "https://127.0.0.1/",
        "https://0177.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://[::1]/",
        "https://[::ffff:127.0.0.1]/",
        "https://localhost/",
        "https://169.254.169.254/latest/meta-data/",
        "https://a.example:65536/",
        "https://a.example:x/",
        "https://a.example\t.evil.example/",
    };
    s2_http_error error;
    (void)state;
    if (!s2_remote_init()) skip();
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        if (s2_remote_check("a.example", refused[i], "image", &error))
            fail_msg("%s is allowed", refused[i]);
        assert_int_equal(error.status, 403);
    }
    assert_true(s2_remote_check("a.example", "https://a.example/x.png?y=1#z", "image", &error));
    assert_true(s2_remote_check("a.example", "https://A.example:443/x.png", "image", &error));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_addresses),
        cmocka_unit_test(test_lists),
        cmocka_unit_test(test_checks),
        cmocka_unit_test(test_urls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
