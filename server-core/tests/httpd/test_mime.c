/*
 * Media types by extension.
 */
#include "httpd/http/mime.h"
#include "tests/unit.h"

#include <string.h>

/* Makes a table of the lines of a file. */
static struct mime_types *read_lines(const char *lines, const char *charset)
{
    FILE *file = fmemopen((void *)(uintptr_t)lines, strlen(lines), "r");
    struct mime_types *types = mime_types_create(file, charset);

    assert_non_null(types);
    fclose(file);
    return types;
}

static void test_type_follows_the_extension_of_the_last_segment(void **state)
{
    struct mime_types *types = mime_types_create(NULL, NULL);

    (void)state;
    assert_string_equal(mime_type(types, "a/b.html"), "text/html");
    assert_string_equal(mime_type(types, "a.JPG"), "image/jpeg");
    assert_string_equal(mime_type(types, "a.html/b"), "application/octet-stream");
    assert_string_equal(mime_type(types, "a.unknown"), "application/octet-stream");
    assert_string_equal(mime_type(types, "a."), "application/octet-stream");
    assert_string_equal(mime_type(types, ""), "application/octet-stream");
    mime_types_destroy(types);
}

static void test_file_counts_before_our_own_and_its_first_line_before_others(void **state)
{
    struct mime_types *types = read_lines("# types\n"
                                          "text/x-own\t\thtml one two # three\n"
                                          "text/none\n"
                                          "text/later one\n"
                                          "no-slash four\n"
                                          "text/a;b=c five\n",
                                          NULL);

    (void)state;
    assert_string_equal(mime_type(types, "a.html"), "text/x-own");
    assert_string_equal(mime_type(types, "a.one"), "text/x-own");
    assert_string_equal(mime_type(types, "a.TWO"), "text/x-own");
    for (const char *const *path = (const char *const[]){"a.three", "a.four", "a.five", NULL}; *path; path++)
        assert_string_equal(mime_type(types, *path), "application/octet-stream");
    assert_string_equal(mime_type(types, "a.css"), "text/css");
    mime_types_destroy(types);
}

static void test_texts_get_the_charset_and_nothing_else_does(void **state)
{
    struct mime_types *types = read_lines("application/javascript js\napplication/xml xml\n", "utf-8");

    (void)state;
    assert_string_equal(mime_type(types, "a.html"), "text/html; charset=utf-8");
    assert_string_equal(mime_type(types, "a.js"), "application/javascript; charset=utf-8");
    assert_string_equal(mime_type(types, "a.xml"), "application/xml");
    assert_string_equal(mime_type(types, "a.png"), "image/png");
    assert_string_equal(mime_type(types, "a.unknown"), "application/octet-stream");
    mime_types_destroy(types);
}

static void test_type_that_is_too_long_is_not_taken(void **state)
{
    char line[2 * MIME_TYPE_MAX];
    struct mime_types *types;

    (void)state;
    memset(line, 'x', sizeof(line));
    memcpy(line, "text/", 5);
    strcpy(line + MIME_TYPE_MAX, " long\n");
    types = read_lines(line, NULL);
    assert_string_equal(mime_type(types, "a.long"), "application/octet-stream");
    mime_types_destroy(types);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_type_follows_the_extension_of_the_last_segment),
        cmocka_unit_test(test_file_counts_before_our_own_and_its_first_line_before_others),
        cmocka_unit_test(test_texts_get_the_charset_and_nothing_else_does),
        cmocka_unit_test(test_type_that_is_too_long_is_not_taken),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
