/*
 * Dates of HTTP: written, and read in all three forms.
 */
#include "httpd/http/date.h"
#include "tests/unit.h"

#include <stdint.h>
#include <string.h>

#define EXAMPLE 784111777  /* the one of RFC 9110 §5.6.7 */
#define NOW     1700000000 /* 2023 */

static void test_date_has_the_form_of_http(void **state)
{
    struct http_date date = {0};

    (void)state;
    http_date_update(&date, EXAMPLE);
    assert_string_equal(date.text, "Sun, 06 Nov 1994 08:49:37 GMT");
    http_date_update(&date, 1582934400 + 86399);
    assert_string_equal(date.text, "Sat, 29 Feb 2020 23:59:59 GMT");
    http_date_update(&date, INT64_MIN);
    assert_string_equal(date.text, "Sat, 01 Jan 0000 00:00:00 GMT");
    http_date_update(&date, INT64_MAX);
    assert_string_equal(date.text, "Fri, 31 Dec 9999 23:59:59 GMT");
}

static void test_each_form_is_read(void **state)
{
    static const struct {
        const char *text;
        time_t second; /* -1: none */
    } dates[] = {
        {"Sun, 06 Nov 1994 08:49:37 GMT", EXAMPLE},
        {"Sunday, 06-Nov-94 08:49:37 GMT", EXAMPLE},
        {"Sun Nov  6 08:49:37 1994", EXAMPLE},
        {"Sat Feb 29 23:59:59 2020", 1582934400 + 86399},
        {"Thu, 01 Jan 1970 00:00:00 GMT", 0},
        {"Wednesday, 01-Jan-70 00:00:00 GMT", 3155760000}, /* 2070: not more than 50 years ahead */
        {"Friday, 01-Jan-74 00:00:00 GMT", 126230400},     /* 1974: 2074 would be */
        {"", -1},
        {"Sun", -1},
        {"Sun,", -1},
        {"Sun, 06 Nov 1994 08:49:37", -1},
        {"Sun, 06 Nov 1994 08:49:37 GMT ", -1},
        {"Sun, 06 Nov 1994 08:49:37 CET", -1},
        {"Sun, 6 Nov 1994 08:49:37 GMT", -1},
        {"Sun, 06 nov 1994 08:49:37 GMT", -1},
        {"sun, 06 Nov 1994 08:49:37 GMT", -1},
        {"Sun, 00 Nov 1994 08:49:37 GMT", -1},
        {"Thu, 31 Nov 1994 08:49:37 GMT", -1},
        {"Mon, 29 Feb 2100 08:49:37 GMT", -1},
        {"Tue, 29 Feb 2000 00:00:00 GMT", 951782400},
        {"Sat, 31 Dec 2016 23:59:60 GMT", 1483228800}, /* a leap second */
        {"Sun, 06 Nov 1994 24:49:37 GMT", -1},
        {"Sun, 06 Nov 1994 08:60:37 GMT", -1},
        {"Sun, 06-Nov-1994 08:49:37 GMT", -1},
        {"Sunday, 06 Nov 1994 08:49:37 GMT", -1},
        {"Sun Nov 6 08:49:37 1994", -1},
        {"Sunday Nov  6 08:49:37 1994", -1},
        {"784111777", -1},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(dates) / sizeof(*dates); i++) {
        time_t second = -1;
        const bool read = http_date_parse(dates[i].text, strlen(dates[i].text), NOW, &second);

        if (read != (dates[i].second >= 0) || second != dates[i].second)
            fail_msg("%s: %ld", dates[i].text, (long)second);
    }
}

static void test_what_is_written_is_read_again(void **state)
{
    (void)state;
    for (time_t second = 0; second < 4102444800; second += 86400 * 37 + 3661) {
        struct http_date date = {0};
        time_t read;

        http_date_update(&date, second);
        assert_true(http_date_parse(date.text, HTTP_DATE_LENGTH, NOW, &read));
        assert_int_equal(read, second);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_date_has_the_form_of_http),
        cmocka_unit_test(test_each_form_is_read),
        cmocka_unit_test(test_what_is_written_is_read_again),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
