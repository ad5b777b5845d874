/*
 * URLs, taken apart or refused with a sentence.
 */
#include "loadgen/url.h"
#include "tests/unit.h"

#include <stdio.h>

/* The parts of every accepted form. */
static void test_url_is_taken_apart(void **state)
{
    (void)state;
    static const struct {
        const char *text, *host, *port, *authority, *path;
    } cases[] = {
        {"http://127.0.0.1:8000", "127.0.0.1", "8000", "127.0.0.1:8000", "/"},
        {"http://example/", "example", "80", "example", "/"},
        {"http://example:1/a/b?c=d", "example", "1", "example:1", "/a/b?c=d"},
        {"http://example?c=d", "example", "80", "example", "/?c=d"},
        {"http://[::1]:65535/a:b", "::1", "65535", "[::1]:65535", "/a:b"},
        {"http://[::1]", "::1", "80", "[::1]", "/"},
        {"https://example/a", "example", "443", "example", "/a"},
        {"https://example:8443", "example", "8443", "example:8443", "/"},
        {"mariadb://user@example/shop", "example", "3306", "example", "/shop"},
        {"mariadb://user@[::1]:3307/shop", "::1", "3307", "[::1]:3307", "/shop"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct url url;
        char error[512] = "";
        if (!url_parse(&url, cases[i].text, error, sizeof(error)))
            fail_msg("%s", error);
        assert_string_equal(cases[i].host, url.host);
        assert_string_equal(cases[i].port, url.port);
        assert_string_equal(cases[i].authority, url.authority);
        assert_string_equal(cases[i].path, url.path);
        assert_int_equal(url_scheme_of(cases[i].text), url.scheme);
    }
}

/* Each wrong URL is refused with what is wrong about it. */
static void test_wrong_url_is_refused_with_its_fault(void **state)
{
    (void)state;
    static const struct {
        const char *text, *fault;
    } cases[] = {
        {"", "expected http://HOST[:PORT][/PATH], or https"},
        {"ftp://a/", "expected http://HOST[:PORT][/PATH], or https"},
        {"https://", "the host is missing"},
        {"http://", "the host is missing"},
        {"http://:80/", "the host is missing"},
        {"http://[]/", "the host is missing"},
        {"http://a:0/", "expected a port from 1 to 65535"},
        {"http://a:65536/", "expected a port from 1 to 65535"},
        {"http://a:/", "expected a port from 1 to 65535"},
        {"http://a:b:c/", "expected a port from 1 to 65535"},
        {"http://[::1]80/", "expected a port from 1 to 65535"},
        {"http://[::1/", "the IPv6 address lacks its closing bracket"},
        {"http://user@a/", "user names and fragments are not supported"},
        {"mariadb://user@/shop", "the host is missing"},
        {"mariadb://user@a/shop?b", "expected mariadb://USER@HOST[:PORT]/DATABASE"},
        {"http://a/#b", "user names and fragments are not supported"},
        {"http://a/b c", "a URL holds no spaces, control or non-ASCII characters"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct url url;
        char error[512] = "", expected[512];
        snprintf(expected, sizeof(expected), "--url %s: %s", cases[i].text, cases[i].fault);
        assert_false(url_parse(&url, cases[i].text, error, sizeof(error)));
        assert_string_equal(expected, error);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_url_is_taken_apart),
        cmocka_unit_test(test_wrong_url_is_refused_with_its_fault),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
