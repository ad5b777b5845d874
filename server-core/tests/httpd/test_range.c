/*
 * What Range headers ask for, and bodies of several parts.
 */
#include "httpd/http/range.h"
#include "tests/unit.h"

#include <stdio.h>
#include <string.h>

/* Writes what the header asks for of 1000 bytes: "all", "none" or "0-9 20-29". */
static void ask(const char *value, uint64_t size, char *text)
{
    struct byte_range ranges[RANGES_MAX];
    unsigned count;
    int length = 0;

    switch (range_parse(value, strlen(value), size, ranges, &count)) {
    case RANGE_WHOLE:
        strcpy(text, "all");
        return;
    case RANGE_UNSATISFIABLE:
        strcpy(text, "none");
        return;
    case RANGE_PARTS:
        break;
    }
    assert_in_range(count, 1, RANGES_MAX);
    for (unsigned i = 0; i < count; i++)
        length += sprintf(text + length, "%s%lu-%lu", i ? " " : "", (unsigned long)ranges[i].first,
                          (unsigned long)ranges[i].end - 1);
}

static void test_each_header_asks_for_what_the_standard_says(void **state)
{
    static const struct {
        const char *value, *asked;
    } cases[] = {
        {"bytes=0-9", "0-9"},
        {"Bytes=0-9", "0-9"},
        {"bytes=0-0", "0-0"},
        {"bytes=990-", "990-999"},
        {"bytes=-10", "990-999"},
        {"bytes=-5000", "0-999"},
        {"bytes=0-5000", "0-999"},
        {"bytes=999-18446744073709551615", "999-999"},
        {"bytes=0-99999999999999999999999999", "0-999"},
        {"bytes=0-9,20-29", "0-9 20-29"},
        {"bytes=20-29,0-9", "20-29 0-9"},
        {"bytes=20-29 ,\t0-9", "20-29 0-9"},
        {"bytes=,0-9,,20-29,", "0-9 20-29"},
        {"bytes=0-9,10-19", "0-19"},
        {"bytes=50-60,0-9,5-20", "0-20 50-60"},
        {"bytes=0-,0-,0-,0-", "0-999"},
        {"bytes=0-9,5000-", "0-9"},
        {"bytes=1000-", "none"},
        {"bytes=1000-2000,3000-", "none"},
        {"bytes=-0", "none"},
        {"bytes=99999999999999999999-", "none"},
        {"bytes=9-0", "all"},
        {"bytes=0-9,9-0", "all"},
        {"bytes=", "all"},
        {"bytes", "all"},
        {"bytes=-", "all"},
        {"bytes=a-b", "all"},
        {"bytes=0-9x", "all"},
        {"bytes=0-9 20-29", "all"},
        {"bytes= 0-9", "0-9"},
        {"bytes=1 - 2", "all"},
        {"bytes=+1-2", "all"},
        {"items=0-9", "all"},
        {"", "all"},
        {"bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16,18-18,20-20,22-22,24-24,26-26,28-28,30-30",
         "0-0 2-2 4-4 6-6 8-8 10-10 12-12 14-14 16-16 18-18 20-20 22-22 24-24 26-26 28-28 30-30"},
        {"bytes=0-0,2-2,4-4,6-6,8-8,10-10,12-12,14-14,16-16,18-18,20-20,22-22,24-24,26-26,28-28,30-30,32-32",
         "all"}, /* one more than is served in pieces */
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        char text[1024];

        ask(cases[i].value, 1000, text);
        if (strcmp(text, cases[i].asked) != 0)
            fail_msg("%s: %s, not %s", cases[i].value, text, cases[i].asked);
    }
}

static void test_empty_file_has_no_ranges(void **state)
{
    char text[64];

    (void)state;
    ask("bytes=0-", 0, text);
    assert_string_equal(text, "all");
    ask("bytes=-1", 0, text);
    assert_string_equal(text, "all");
}

static void test_multipart_has_the_length_that_it_announces(void **state)
{
    struct multipart multipart = {
        .count = 2, .size = 1000, .type = "text/plain", .ranges = {{0, 10}, {990, 1000}}};
    char text[MULTIPART_TEXT_MAX], expected[MULTIPART_TEXT_MAX];
    uint64_t length = 0;

    (void)state;
    multipart_begin(&multipart);
    assert_int_equal(strlen(multipart.boundary), MULTIPART_BOUNDARY_LENGTH);
    for (unsigned i = 0; i <= multipart.count; i++) {
        const size_t text_length = multipart_text(&multipart, i, text);

        assert_int_equal(text_length, strlen(text));
        length += text_length + (i < multipart.count ? 10 : 0);
    }
    assert_int_equal(multipart_length(&multipart), length);
    snprintf(expected, sizeof(expected),
             "\r\n--%s\r\nContent-Type: text/plain\r\nContent-Range: bytes 990-999/1000\r\n\r\n",
             multipart.boundary);
    multipart_text(&multipart, 1, text);
    assert_string_equal(text, expected);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_header_asks_for_what_the_standard_says),
        cmocka_unit_test(test_empty_file_has_no_ranges),
        cmocka_unit_test(test_multipart_has_the_length_that_it_announces),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
