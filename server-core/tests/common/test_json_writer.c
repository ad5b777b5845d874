/*
 * Documents written by common/json_writer, compared with their exact text.
 */
#include "common/json_writer.h"
#include "tests/unit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static char *text;
static size_t text_length;
static struct json_writer json;

static int open_memory(void **state)
{
    (void)state;
    json_begin(&json, open_memstream(&text, &text_length));
    return json.out ? 0 : -1;
}

static int close_memory(void **state)
{
    (void)state;
    fclose(json.out);
    free(text);
    return 0;
}

static void assert_written(const char *expected)
{
    fflush(json.out);
    assert_string_equal(text, expected);
}

static void test_commas_stand_between_elements_only(void **state)
{
    (void)state;
    json_open_object(&json);
    json_key(&json, "a");
    json_open_array(&json);
    json_unsigned(&json, 1);
    json_open_object(&json);
    json_close_object(&json);
    json_null(&json);
    json_close_array(&json);
    json_member_boolean(&json, "b", true);
    json_key(&json, "c");
    json_open_array(&json);
    json_close_array(&json);
    json_close_object(&json);
    json_end_line(&json);
    assert_written("{\"a\":[1,{},null],\"b\":true,\"c\":[]}\n");
}

static void test_a_second_document_starts_without_comma(void **state)
{
    (void)state;
    json_signed(&json, -3);
    json_end_line(&json);
    json_boolean(&json, false);
    json_end_line(&json);
    assert_written("-3\nfalse\n");
}

static void test_quotes_backslashes_and_controls_are_escaped(void **state)
{
    (void)state;
    json_string(&json, "a\"b\\c\n\x01");
    assert_written("\"a\\\"b\\\\c\\u000a\\u0001\"");
}

static void test_valid_utf8_passes_and_other_bytes_are_replaced(void **state)
{
    (void)state;
    json_string(&json, "\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xFF \xC0\xAF \xED\xA0\x80 \xE2\x82");
    assert_written("\"\xC3\xA9 \xE2\x82\xAC \xF0\x9F\x98\x80 \xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD "
                   "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD \xEF\xBF\xBD\xEF\xBF\xBD\"");
}

static void test_numbers_read_back_as_the_same_value(void **state)
{
    const double values[] = {0.1, 1.0 / 3, 1e300, -2.5, 123456789.123456};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
        char *start = text;

        json_number(&json, values[i]);
        json_end_line(&json);
        fflush(json.out);
        start = strrchr(text, '\n');
        while (start > text && start[-1] != '\n')
            start--;
        assert_true(strtod(start, NULL) == values[i]);
    }
}

static void test_numbers_that_json_cannot_say_become_null(void **state)
{
    (void)state;
    json_open_array(&json);
    json_number(&json, NAN);
    json_number(&json, INFINITY);
    json_unsigned(&json, UINT64_MAX);
    json_close_array(&json);
    assert_written("[null,null,18446744073709551615]");
}

#define JSON_TEST(name) cmocka_unit_test_setup_teardown(name, open_memory, close_memory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        JSON_TEST(test_commas_stand_between_elements_only),
        JSON_TEST(test_a_second_document_starts_without_comma),
        JSON_TEST(test_quotes_backslashes_and_controls_are_escaped),
        JSON_TEST(test_valid_utf8_passes_and_other_bytes_are_replaced),
        JSON_TEST(test_numbers_read_back_as_the_same_value),
        JSON_TEST(test_numbers_that_json_cannot_say_become_null),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
