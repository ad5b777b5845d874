/*
 * Reply heads.
 */
#include "httpd/http/response.h"
#include "tests/unit.h"

#include <string.h>

static void test_error_reply_is_complete(void **state)
{
    struct http_date date = {0};
    char reply[ERROR_REPLY_MAX];
    size_t length;

    (void)state;
    http_date_update(&date, 784111777);
    length = response_error(reply, HTTP_METHOD_NOT_ALLOWED, &date, "", "Connection: close\r\n", false);
    assert_int_equal(length, strlen(reply));
    assert_string_equal(reply, "HTTP/1.1 405 Method Not Allowed\r\n"
                               "Server: trimtab-httpd\r\n"
                               "Date: Sun, 06 Nov 1994 08:49:37 GMT\r\n"
                               "Content-Type: text/plain\r\n"
                               "Content-Length: 23\r\n"
                               "Connection: close\r\n"
                               "Allow: GET, HEAD\r\n"
                               "\r\n"
                               "405 Method Not Allowed\n");
}

static void test_reply_to_head_has_the_length_but_no_body(void **state)
{
    struct http_date date = {0};
    char reply[ERROR_REPLY_MAX];
    size_t length;

    (void)state;
    http_date_update(&date, 0);
    length = response_error(reply, HTTP_NOT_FOUND, &date, "", "", true);
    assert_non_null(strstr(reply, "Content-Length: 14\r\n"));
    assert_string_equal(reply + length - 4, "\r\n\r\n");
}

static void test_connection_header_says_what_does_not_go_without_saying(void **state)
{
    (void)state;
    assert_string_equal(response_connection_header(true, 1), "");
    assert_string_equal(response_connection_header(true, 0), "Connection: keep-alive\r\n");
    assert_string_equal(response_connection_header(false, 1), "Connection: close\r\n");
    assert_string_equal(response_connection_header(false, 0), "Connection: close\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_error_reply_is_complete),
        cmocka_unit_test(test_reply_to_head_has_the_length_but_no_body),
        cmocka_unit_test(test_connection_header_says_what_does_not_go_without_saying),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
