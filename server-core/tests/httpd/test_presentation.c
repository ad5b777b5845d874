/*
 * Header lines by path, from the sections that say them.
 */
#include "httpd/config/path_section.h"
#include "httpd/log.h"
#include "tests/unit.h"

#include <stdlib.h>
#include <string.h>

static struct presentation presentation;
static char complaint[512];
static char lines[PRESENTATION_LINES_MAX];

static int set_up(void **state)
{
    (void)state;
    log_divert(complaint, sizeof(complaint));
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    log_divert(NULL, 0);
    presentation_release(&presentation);
    return 0;
}

/* Begins a section that must be taken. */
static void begin(const char *prefix)
{
    assert_true(path_section_begin(&presentation, 0, prefix, "f:1"));
}

static bool set(const char *name, const char *text)
{
    return path_section_set(&presentation, name, text, "f:2");
}

static const char *lines_of(const char *path)
{
    presentation_lines(&presentation, path, CODING_NONE, 0, 784111777, lines);
    return lines;
}

static void test_longest_prefix_counts_alone(void **state)
{
    (void)state;
    begin("/assets/");
    assert_true(set("header", "A:1"));
    begin("/");
    assert_true(set("header", "B:   2  3"));
    assert_true(set("header", "C: x:y"));
    assert_string_equal(lines_of("assets/x.css"), "A: 1\r\n");
    assert_string_equal(lines_of("assets"), "B: 2  3\r\nC: x:y\r\n");
    assert_string_equal(lines_of(""), "B: 2  3\r\nC: x:y\r\n");
}

static void test_sections_of_a_host_are_its_own(void **state)
{
    (void)state;
    begin("/");
    assert_true(set("header", "A: own"));
    assert_true(path_section_begin(&presentation, 2, "/a/", "f:1"));
    assert_true(set("header", "B: of 2"));
    assert_string_equal(lines_of("a/f"), "A: own\r\n");
    assert_string_equal(lines_of("/2/a/f"), "B: of 2\r\n");
    assert_string_equal(lines_of("/2/f"), "");
    assert_string_equal(lines_of("/22/a/f"), "");
}

static void test_path_without_section_has_no_lines(void **state)
{
    (void)state;
    begin("/a");
    assert_true(set("header", "A: 1"));
    assert_string_equal(lines_of("b"), "");
}

static void test_expires_is_the_last_line(void **state)
{
    (void)state;
    begin("/");
    assert_true(set("expires_s", "60"));
    assert_true(set("header", "A: 1"));
    assert_int_equal(
        presentation_lines(&presentation, "f", CODING_GZIP, CODING_BIT(CODING_GZIP), 784111717, lines), 60);
    assert_string_equal(lines, "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\nA: 1\r\n"
                               "Cache-Control: max-age=60\r\nExpires: Sun, 06 Nov 1994 08:49:37 GMT\r\n");
}

static void test_mistakes_are_named(void **state)
{
    static const struct {
        const char *name, *text, *sentence;
    } mistakes[] = {
        {"header", "A", "expected Name: value"},
        {"header", ": 1", "expected Name: value"},
        {"header", "A: ", "expected Name: value"},
        {"header", "A B: 1", "expected a name of letters, digits and dashes"},
        {"header", "A: 1\r\nB: 2", "expected a value without control characters"},
        {"header", "content-length: 7", "the server itself says that"},
        {"expires_s", "1d", "expected, once, seconds from 0 to "},
        {"expires_s", "-1", "expected, once, seconds from 0 to "},
        {"expires_s", "99999999999", "expected, once, seconds from 0 to "},
        {"root", "/", "unknown key root in a section [path]: expected one of header, expires_s"},
    };

    (void)state;
    begin("/");
    for (size_t i = 0; i < sizeof(mistakes) / sizeof(*mistakes); i++) {
        *complaint = '\0';
        assert_false(set(mistakes[i].name, mistakes[i].text));
        assert_non_null(strstr(complaint, mistakes[i].sentence));
    }
    assert_true(set("expires_s", "0"));
    assert_false(set("expires_s", "1"));
    assert_false(path_section_begin(&presentation, 0, "/", "f:3"));
    assert_false(path_section_begin(&presentation, 0, "a", "f:3"));
    assert_false(path_section_begin(&presentation, 0, "", "f:3"));
}

static void test_lines_have_room_or_are_refused(void **state)
{
    char text[64];
    int count = 0;

    (void)state;
    begin("/");
    do
        snprintf(text, sizeof(text), "X-%d:%040d", count++, 0);
    while (set("header", text));
    assert_true(count > 20);
    assert_non_null(strstr(complaint, "too long together"));
    assert_true(set("expires_s", "1"));
    presentation_lines(&presentation, "f", CODING_GZIP, CODING_BIT(CODING_GZIP), 0, lines);
    assert_string_equal(lines + strlen(lines) - 5, "GMT\r\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_longest_prefix_counts_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_sections_of_a_host_are_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_path_without_section_has_no_lines, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_expires_is_the_last_line, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_mistakes_are_named, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lines_have_room_or_are_refused, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
